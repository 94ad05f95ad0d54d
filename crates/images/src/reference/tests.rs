use proptest::prelude::*;

use super::*;

const DIGEST: &str = "sha256:0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f";

fn whole(text: &str) -> String {
    Reference::parse(text).map_or_else(|e| e.to_string(), |reference| reference.to_string())
}

#[test]
fn defaults_are_filled_in() {
    for (text, expected) in [
        ("busybox", "docker.io/library/busybox:latest"),
        ("busybox:1.37", "docker.io/library/busybox:1.37"),
        ("docker.io/busybox", "docker.io/library/busybox:latest"),
        ("index.docker.io/busybox", "docker.io/library/busybox:latest"),
        ("team/app", "docker.io/team/app:latest"),
        ("test.com:5000", "docker.io/library/test.com:5000"),
        ("host:5000/app", "host:5000/app:latest"),
        ("Registry/app:1", "Registry/app:1"),
        ("Team/app", "Team/app:latest"),
        ("Localhost/app", "Localhost/app:latest"),
        ("localhost/app:1", "localhost/app:1"),
        ("localhost:5000/a/b/c:1", "localhost:5000/a/b/c:1"),
        ("127.0.0.1:5000/app", "127.0.0.1:5000/app:latest"),
        ("registry.k8s.io/pause:3.10.2", "registry.k8s.io/pause:3.10.2"),
        ("[::1]:5000/app", "[::1]:5000/app:latest"),
        ("[2001:db8::1]/team/app:1", "[2001:db8::1]/team/app:1"),
    ] {
        assert_eq!(whole(text), expected, "{text}");
    }
}

#[test]
fn a_digest_stands_with_or_without_a_tag() {
    for registry in ["example.com", "[::1]:5000"] {
        for name in [format!("{registry}/app@{DIGEST}"), format!("{registry}/app:1@{DIGEST}")] {
            assert_eq!(whole(&name), name);
        }
    }
}

#[test]
fn what_is_no_name_is_refused_with_the_reason() {
    let (long_tag, long_name) = (format!("app:{}", "t".repeat(129)), "a/".repeat(128) + "b");
    let long_with_library = "a".repeat(250);
    let sha512 = format!("app@sha512:{}", "0".repeat(128));
    let (upper, id) = (format!("app@{}", DIGEST.replace('f', "F")), "0f".repeat(32));
    for (text, why) in [
        ("", "it is empty"),
        ("Busybox", "upper-case letters"),
        ("Team/App", "upper-case letters"),
        ("team/App", "upper-case letters"),
        ("Team_/app", "\"Team_\" is not the name of a host"),
        ("example.com/Team/app", "upper-case letters"),
        ("busybox:", "its tag is empty"),
        ("busybox:-1", "its tag begins with \"-\""),
        ("busybox:a:b", "':' can be in no tag"),
        (&long_tag, "its tag has 129 characters, more than 128"),
        (&long_name, "its name has 257 characters, more than 255"),
        (&long_with_library, "its name has 258 characters, more than 255"),
        (&id, "are an id and no name"),
        ("a b", "' ' can be in no name"),
        ("a\tb", "'\\t' can be in no name"),
        ("http://host/app", "does not begin with http://"),
        ("app:größe", "'ö' is not an ASCII character"),
        ("app@", "\"\" after the @ is no digest"),
        ("app@latest", "\"latest\" after the @ is no digest"),
        ("app@sha256:00", "has 2 characters after sha256:, wanted 64"),
        ("app@md5:00000000000000000000000000000000", "its digest is \"md5\", wanted sha256"),
        (&sha512, "its digest is \"sha512\", wanted sha256"),
        (&upper, "not hexadecimal in lower case"),
        ("a@b@c", "\"b@c\" after the @"),
        ("/app", "a part of its name is empty"),
        ("a//b", "a part of its name is empty"),
        ("example.com/", "a part of its name is empty"),
        ("-app", "begins or ends with a separator"),
        ("app_", "begins or ends with a separator"),
        ("a..b", "\"..\" separates nothing"),
        ("a___b", "\"___\" separates nothing"),
        ("a+b", "'+' can be in no name"),
        ("host:port/app", "\"port\" is not a port"),
        ("host:/app", "\"\" is not a port"),
        ("host:65536/app", "there is no port 65536"),
        ("-host.com/app", "\"-host.com\" is not the name of a host"),
        ("a..com/app", "\"a..com\" is not the name of a host"),
        ("[::1/app", "a bracket is not closed"),
        ("[1.2.3.4]/app", "is not an IPv6 address"),
        ("[::1]app/b", "a port or a slash"),
        ("[::1]:5000", "no name follows"),
    ] {
        let said = whole(text);
        assert!(said.contains(why) && said.contains("wanted [REGISTRY/]NAME"), "{text}: {said}");
    }
}

#[test]
fn limits_are_the_last_that_is_taken() {
    let tag = format!("docker.io/library/app:{}", "t".repeat(128));
    assert_eq!(whole(&tag), tag);
    let name = format!("example.com/{}:1", "a/".repeat(127) + "b");
    assert_eq!(whole(&name), name);
    for text in ["a--b", "a__b", "a.b", "a_b-c", "0/1"] {
        assert!(Reference::parse(text).is_ok(), "{text}");
    }
}

#[test]
fn only_this_host_is_local() {
    let local = |text: &str| Reference::parse(text).unwrap().is_local();
    for text in
        ["localhost/a", "localhost:5000/a", "127.0.0.1/a", "127.8.9.1:80/a", "[::1]/a", "[::1]:5000/a"]
    {
        assert!(local(text), "{text}");
    }
    for text in
        ["a", "128.0.0.1/a", "127.0.0.1.example.com/a", "localhost.example.com/a", "[::2]/a", "0.0.0.0/a"]
    {
        assert!(!local(text), "{text}");
    }
}

#[test]
fn latest_is_the_tag_or_nothing_at_all() {
    let latest = |text: &str| Reference::parse(text).unwrap().is_latest();
    assert!(latest("a") && latest("a:latest") && latest(&format!("a:latest@{DIGEST}")));
    assert!(!latest("a:1") && !latest(&format!("a@{DIGEST}")));
}

proptest! {
    #[test]
    fn the_whole_name_means_the_same(
        registry in "(|localhost/|[a-z]{0,2}[A-Z][A-Za-z0-9]{0,5}/|[a-z]{1,8}\\.[a-z]{2,5}(:[1-9][0-9]{0,3})?/|\\[::1\\](:[1-9][0-9]{0,3})?/)",
        name in "[a-z0-9]{1,9}([._-][a-z0-9]{1,9}){0,2}(/[a-z0-9]{1,9}){0,2}",
        tag in "(|:[A-Za-z0-9_][A-Za-z0-9_.-]{0,20})",
        digest in "(|@sha256:[0-9a-f]{64})",
    ) {
        // Without a registry, what has a dot before the first slash is read as one.
        let first = name.split_once('/').map(|(first, _)| first);
        prop_assume!(!registry.is_empty() || first.is_none_or(|first| !first.contains('.')));
        let text = format!("{registry}{name}{tag}{digest}");
        let parsed = Reference::parse(&text).unwrap();
        let whole = parsed.to_string();
        prop_assert_eq!(Reference::parse(&whole), Ok(parsed.clone()));
        let tail = if tag.is_empty() && digest.is_empty() { ":latest".to_owned() } else { format!("{tag}{digest}") };
        prop_assert!(whole.ends_with(&format!("{name}{tail}")), "{}", whole);
        if !registry.is_empty() {
            prop_assert_eq!(format!("{}/", parsed.registry()), registry);
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,60}") {
        drop(Reference::parse(&text));
    }

}

proptest! {
    // Few of these are references: it takes many to meet the odd ones.
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    // What oci-client takes and we do not is what no registry takes: its hosts may begin with a dash, its ports are
    // any digits, its names may be ids, and it knows no IPv6. A host that only an upper-case letter marks, as Docker
    // has it, is the first part of a name at Docker's for it.
    #[test]
    fn another_parser_reads_the_same(text in "[a-cA0:/@._-]{0,12}(:[a-c0.]{0,3})?") {
        let ours = Reference::parse(&text);
        let theirs = oci_client::Reference::try_from(text.as_str());
        if let (Ok(ours), Ok(theirs)) = (&ours, &theirs) {
            let upper_alone = !ours.registry().contains(['.', ':']) && ours.registry().contains(char::is_uppercase);
            let before = if upper_alone { "docker.io/" } else { "" };
            prop_assert_eq!(format!("{before}{ours}"), theirs.to_string());
        }
        prop_assert!(ours.is_err() || theirs.is_ok(), "{} is {:?} for the other", text, theirs);
    }

    #[test]
    fn what_is_almost_a_reference_is_refused_or_means_the_same(text in "[a-cA0\\[\\]:/@._-]{0,12}") {
        if let Ok(parsed) = Reference::parse(&text) {
            prop_assert_eq!(Reference::parse(&parsed.to_string()), Ok(parsed));
        }
    }
}
