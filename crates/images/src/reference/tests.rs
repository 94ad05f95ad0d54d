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
    for (text, why) in [
        ("", "at least one component"),
        ("Busybox", "invalid reference format"),
        ("Team/app", "upper-case letters"),
        ("busybox:", "invalid reference format"),
        ("a b", "invalid reference format"),
        ("http://host/app", "invalid reference format"),
        ("app:größe", "'ö' is not an ASCII character"),
        ("app@sha256:00", "invalid reference format"),
        ("app@md5:00000000000000000000000000000000", "unsupported digest algorithm"),
        ("[::1/app", "a bracket is not closed"),
        ("[1.2.3.4]/app", "is not an IPv6 address"),
        ("[::1]app", "a port or a slash"),
        ("[::1]:5000", "no name follows"),
    ] {
        let said = whole(text);
        assert!(said.contains(why) && said.contains("wanted [REGISTRY/]NAME"), "{text}: {said}");
    }
    let sha512 = format!("app@sha512:{}", "0".repeat(128));
    for digest in [sha512, format!("app@{}", DIGEST.replace('f', "F"))] {
        assert!(whole(&digest).contains("not sha256 in lower case"), "{digest}");
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
        registry in "(|localhost/|[a-z]{1,8}\\.[a-z]{2,5}(:[1-9][0-9]{0,4})?/|\\[::1\\](:[1-9][0-9]{0,3})?/)",
        name in "[a-z0-9]{1,9}([._-][a-z0-9]{1,9}){0,2}(/[a-z0-9]{1,9}){0,2}",
        tag in "(|:[A-Za-z0-9_][A-Za-z0-9_.-]{0,20})",
        digest in "(|@sha256:[0-9a-f]{64})",
    ) {
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

    #[test]
    fn what_is_almost_a_reference_is_refused_or_means_the_same(text in "[a-cA0\\[\\]:/@._-]{0,12}") {
        if let Ok(parsed) = Reference::parse(&text) {
            prop_assert_eq!(Reference::parse(&parsed.to_string()), Ok(parsed));
        }
    }
}
