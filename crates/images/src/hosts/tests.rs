use proptest::prelude::*;

use super::*;

fn parsed(text: &str, registry: &str) -> Result<Vec<Host>, String> {
    file::parse(text, Path::new("/certs.d/x/hosts.toml"), registry).map_err(|e| e.to_string())
}

fn addresses(hosts: &[Host]) -> Vec<&str> {
    hosts.iter().map(|host| host.base.as_str()).collect()
}

#[test]
fn without_files_a_registry_is_asked_at_its_own_address() {
    for (registry, base) in [
        ("example.com", "https://example.com/v2/"),
        ("example.com:5000", "https://example.com:5000/v2/"),
        ("docker.io", "https://registry-1.docker.io/v2/"),
        ("localhost:5000", "http://localhost:5000/v2/"),
        ("127.0.0.1:5000", "http://127.0.0.1:5000/v2/"),
        ("[::1]:5000", "http://[::1]:5000/v2/"),
    ] {
        let hosts = Hosts::default().of(registry).unwrap();
        assert_eq!(addresses(&hosts), [base]);
        assert!(!hosts[0].stands_in && hosts[0].abilities == EVERYTHING, "{registry}");
    }
}

#[test]
fn a_file_as_containerd_documents_it() {
    let text = r#"
        server = "https://docker.io"
        ca = "top.pem"
        dial_timeout = "1m30s"
        [host."https://public-mirror.example.com"]
          capabilities = ["pull"]
          skip_verify = true
          dial_timeout = "3s"
        [host."http://mirror.example.com:5000"]
          capabilities = ["pull", "resolve"]
          ca = ["/etc/certs/a.pem", "b.pem"]
          client = [["client.cert", "client.key"]]
          [host."http://mirror.example.com:5000".header]
            x-custom = ["one", "two"]
            authorization = "Basic hunter2"
        [host."https://harbor.example.com/v2/proxy/"]
          override_path = true
        [host."a.example.com"]
          dial_timeout = "0s"
    "#;
    let hosts = parsed(text, "docker.io").unwrap();
    let wanted = [
        "https://public-mirror.example.com/v2/",
        "http://mirror.example.com:5000/v2/",
        "https://harbor.example.com/v2/proxy/",
        "https://a.example.com/v2/",
        "https://registry-1.docker.io/v2/",
    ];
    assert_eq!(addresses(&hosts), wanted);
    assert_eq!(hosts.iter().map(|host| host.stands_in).collect::<Vec<_>>(), [true, true, true, true, false]);
    assert!(
        hosts[0].skip_verify && hosts[0].abilities == Abilities { pull: true, resolve: false, push: false }
    );
    assert_eq!(hosts[1].ca, [Path::new("/etc/certs/a.pem"), Path::new("/certs.d/x/b.pem")]);
    let pair = (PathBuf::from("/certs.d/x/client.cert"), Some(PathBuf::from("/certs.d/x/client.key")));
    assert_eq!(hosts[1].client, Some(pair));
    let headers = [("x-custom", "one"), ("x-custom", "two"), ("authorization", "Basic hunter2")];
    assert_eq!(hosts[1].headers, headers.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let timeouts: Vec<_> = hosts.iter().map(|host| host.dial_timeout.map(|limit| limit.as_secs())).collect();
    assert_eq!(timeouts, [Some(3), None, None, None, Some(90)]);
    assert_eq!((hosts[3].abilities, &hosts[4].ca[..]), (EVERYTHING, &["/certs.d/x/top.pem".into()][..]));
}

#[test]
fn paths_end_in_v2_unless_that_is_not_wanted() {
    for (address, exactly, base) in [
        ("https://h", false, "https://h/v2/"),
        ("https://h/", false, "https://h/v2/"),
        ("https://h/v2", false, "https://h/v2/"),
        ("https://h/proxy", false, "https://h/proxy/v2/"),
        ("https://h/v2/proxy", true, "https://h/v2/proxy/"),
        ("https://h", true, "https://h/"),
        ("h:5000", false, "https://h:5000/v2/"),
        ("localhost:5000", false, "http://localhost:5000/v2/"),
        ("127.0.0.1/proxy", false, "http://127.0.0.1/proxy/v2/"),
    ] {
        assert_eq!(Host::at(address, "r", exactly).unwrap().base.as_str(), base, "{address}");
    }
    for address in ["ftp://h", "https://", "file:///x", "h:port"] {
        assert!(Host::at(address, "r", false).is_err(), "{address}");
    }
}

#[test]
fn what_is_wrong_in_a_file_is_named_and_no_header_with_it() {
    for (text, why) in [
        ("server = 7", "server of r: wanted a text"),
        ("capabilities = [\"fly\"]", "capabilities of r: wanted a list of \"pull\""),
        ("skip_verify = \"yes\"", "skip_verify of r: wanted true or false"),
        ("ca = 1", "ca of r: wanted a path"),
        ("client = [\"a\", \"b\", \"c\"]", "client of r: wanted one file"),
        ("client = [[\"a\", \"b\"], [\"c\", \"d\"]]", "client of r: wanted one file"),
        ("dial_timeout = 3", "hosts.toml: dial_timeout of r: wanted a duration, such as \"3s\""),
        ("[host.\"h\"]\ndial_timeout = \"soon\"", "hosts.toml: dial_timeout of h: wanted a duration"),
        ("dial_timeout = \"-3s\"", "hosts.toml: dial_timeout of r: wanted a duration"),
        ("host = 1", "host of r: wanted a table"),
        ("[host.\"ftp://x\"]", "hosts.toml: \"ftp://x\" is no address"),
        ("server = \"1.2.3.400\"", "hosts.toml: \"1.2.3.400\" is no address"),
        ("[header]\nauthorization = [[\"hunter2\"]]", "header of r: wanted a table of texts"),
        ("\n[header]\nauthorization = \"hunter2", "hosts.toml is not the TOML it should be: line 3: "),
    ] {
        let said = parsed(text, "r").unwrap_err();
        assert!(said.contains(why) && !said.contains("hunter2"), "{text}: {said}");
    }
}

#[test]
fn directories_are_looked_for_by_the_registrys_name() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(root.path().join(name)).unwrap();
        std::fs::write(root.path().join(name).join("hosts.toml"), text).unwrap();
    };
    let hosts = Hosts::default().with_dir(root.path());
    let base = |registry| addresses(&hosts.of(registry).unwrap()).join(" ");
    assert_eq!(base("example.com:5000"), "https://example.com:5000/v2/");
    write("_default", "[host.\"https://all.example.com\"]");
    assert_eq!(base("example.com:5000"), "https://all.example.com/v2/ https://example.com:5000/v2/");
    write("example.com_5000_", "server = \"http://mine:1\"");
    assert_eq!(base("example.com:5000"), "http://mine:1/v2/");
    assert_eq!(base("example.com"), "https://all.example.com/v2/ https://example.com/v2/");
    // Only certificates, as docker has them.
    std::fs::create_dir(root.path().join("127.0.0.1_5000_")).unwrap();
    std::fs::write(root.path().join("127.0.0.1_5000_/ca.crt"), "x").unwrap();
    let found = hosts.of("127.0.0.1:5000").unwrap();
    assert_eq!((addresses(&found), found[0].ca.len()), (vec!["https://127.0.0.1:5000/v2/"], 1));
}

#[test]
fn a_directory_as_docker_has_it_may_say_who_we_are() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("example.com");
    std::fs::create_dir(&dir).unwrap();
    let hosts = Hosts::default().with_dir(root.path());
    let client = |hosts: &Hosts| hosts.of("example.com").map(|mut found| found.remove(0).client);
    std::fs::write(dir.join("other.key"), "x").unwrap();
    assert_eq!(client(&hosts).unwrap(), None);
    std::fs::write(dir.join("me.cert"), "x").unwrap();
    assert_eq!(client(&hosts).unwrap(), Some((dir.join("me.cert"), None)));
    std::fs::write(dir.join("me.key"), "x").unwrap();
    assert_eq!(client(&hosts).unwrap(), Some((dir.join("me.cert"), Some(dir.join("me.key")))));
    std::fs::write(dir.join("you.cert"), "x").unwrap();
    let said = client(&hosts).unwrap_err().to_string();
    assert!(said.contains("2 are for clients (*.cert), wanted one"), "{said}");
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,200}", registry in "\\PC{0,30}") {
        drop(parsed(&text, &registry));
    }

    #[test]
    fn mirrors_come_in_the_order_of_the_file_and_the_registry_last(
        names in proptest::collection::hash_set("[a-z]{3,8}", 0..6),
    ) {
        let names: Vec<_> = names.into_iter().collect();
        let text: String = names.iter().map(|name| format!("[host.\"https://{name}.test\"]\n")).collect();
        let hosts = parsed(&text, "r.test").unwrap();
        let bases: Vec<_> = hosts.iter().map(|host| host.base.host_str().unwrap().to_owned()).collect();
        let wanted: Vec<_> = names.iter().map(String::as_str).chain(["r"]).map(|name| format!("{name}.test")).collect();
        prop_assert_eq!(bases, wanted);
    }
}
