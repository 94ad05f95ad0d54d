//! What is tried: one entry or more per rule, with the values at its edges.

use serde_json::{Value, json};

use super::Mutation;

/// How many values of a text stand for its rule in pairs; the rest are edges.
const REPRESENTATIVES: usize = 2;

/// For objects that are made.
pub(crate) fn mutations() -> Vec<Mutation> {
    let mut all: Vec<_> = pod_fields().into_iter().map(|(path, value)| Mutation::new(path, value)).collect();
    all.extend(texts("securityContext."));
    all.extend(container("containers.0"));
    // A second container is there for what containers must agree on.
    all.extend(container("containers.1").take(3));
    all.extend(container("initContainers.0"));
    all.extend(container("ephemeralContainers.0"));
    all.extend(ports());
    all
}

/// For ephemeral containers that come to a pod that exists.
pub(crate) fn debug_mutations() -> Vec<Mutation> {
    let mut all: Vec<_> = container("ephemeralContainers.0").collect();
    all.extend(container("ephemeralContainers.1").take(4));
    all
}

#[rustfmt::skip]
fn pod_fields() -> Vec<(&'static str, Value)> {
    vec![
        ("os", json!({})),
        ("os.name", json!("linux")),
        ("os.name", json!("windows")),
        ("os.name", json!("")),
        ("os.name", json!("Windows")),
        ("hostNetwork", json!(true)),
        ("hostNetwork", json!(false)),
        ("hostUsers", json!(true)),
        ("hostUsers", json!(false)),
        ("hostPID", json!(true)),
        ("hostPID", json!(false)),
        ("hostIPC", json!(true)),
        ("shareProcessNamespace", json!(true)),
        ("shareProcessNamespace", json!(false)),
        ("resources", json!({})),
        ("resources", json!({"limits": {"cpu": "1"}})),
        ("setHostnameAsFQDN", json!(true)),
        ("hostnameOverride", json!("a.example")),
        ("hostnameOverride", json!("")),
        ("hostnameOverride", json!("Ä_b")),
        ("hostnameOverride", json!("a".repeat(64))),
        ("hostnameOverride", json!("a".repeat(65))),
        ("hostnameOverride", json!("B".repeat(254))),
        ("securityContext", json!(null)),
        ("securityContext.appArmorProfile", json!({"type": "RuntimeDefault"})),
        ("securityContext.seLinuxOptions", json!({})),
        ("securityContext.seccompProfile", json!({"type": "RuntimeDefault"})),
        ("securityContext.fsGroup", json!(0)),
        ("securityContext.fsGroupChangePolicy", json!("Always")),
        ("securityContext.sysctls", json!([])),
        ("securityContext.sysctls", json!([{"name": "vm.swappiness", "value": "1"}])),
        ("securityContext.runAsUser", json!(0)),
        ("securityContext.runAsGroup", json!(1)),
        ("securityContext.runAsNonRoot", json!(true)),
        ("securityContext.supplementalGroups", json!([])),
        ("securityContext.supplementalGroups", json!([1])),
        ("securityContext.supplementalGroupsPolicy", json!("Merge")),
        ("securityContext.seLinuxChangePolicy", json!("Recursive")),
        ("securityContext.windowsOptions", json!({})),
        ("securityContext.windowsOptions.hostProcess", json!(true)),
        ("securityContext.windowsOptions.hostProcess", json!(false)),
    ]
}

/// What a container can say, beginning with what containers must agree on.
fn container(place: &str) -> impl Iterator<Item = Mutation> {
    let context =
        |field: &str, value: Value| Mutation::new(format!("{place}.securityContext.{field}"), value);
    let own = vec![
        context("windowsOptions.hostProcess", json!(true)),
        context("windowsOptions.hostProcess", json!(false)),
        context("privileged", json!(true)),
        context("windowsOptions", json!({})),
        context("privileged", json!(false)),
        context("appArmorProfile", json!({"type": "Unconfined"})),
        context("seLinuxOptions", json!({"level": "s0"})),
        context("seccompProfile", json!({"type": "Unconfined"})),
        context("capabilities", json!({})),
        context("capabilities", json!({"add": ["CAP_SYS_ADMIN"]})),
        context("readOnlyRootFilesystem", json!(false)),
        context("allowPrivilegeEscalation", json!(true)),
        context("allowPrivilegeEscalation", json!(false)),
        context("procMount", json!("Default")),
        context("procMount", json!("Unmasked")),
        context("procMount", json!("Odd")),
        context("runAsUser", json!(1)),
        context("runAsGroup", json!(0)),
        context("runAsNonRoot", json!(false)),
        // Without effect on a server with its default gates, whatever the value.
        Mutation::new(format!("{place}.lifecycle.stopSignal"), "SIGTERM"),
        Mutation::new(format!("{place}.lifecycle.stopSignal"), "SIGODD"),
    ];
    own.into_iter().chain(texts(&format!("{place}.securityContext.")))
}

fn texts(place: &str) -> Vec<Mutation> {
    let options = |field: &str, values: Vec<String>| {
        let path = format!("{place}windowsOptions.{field}");
        let one =
            move |(i, value)| Mutation { edge: i >= REPRESENTATIVES, ..Mutation::new(path.clone(), value) };
        values.into_iter().enumerate().map(one)
    };
    let specs = vec![String::new(), "{}".into(), "x".repeat(65537), "x".repeat(65536)];
    let names = options("gmsaCredentialSpecName", credential_spec_names());
    names.chain(options("gmsaCredentialSpec", specs)).chain(options("runAsUserName", user_names())).collect()
}

fn user_names() -> Vec<String> {
    let (domain, long_domain) = (["a".repeat(63).as_str(); 4].join("."), "a".repeat(256));
    let fixed = [
        r"NT AUTHORITY\SYSTEM",
        r"corp\a\b",
        "",
        "Administrator",
        r"CORP\jane",
        r"example.com\jane",
        "jane@corp",
        "CORP/jane",
        r"\jane",
        r"CORP\",
        r"\",
        r"\\",
        r".corp\jane",
        r"c:rp\jane",
        r"corp.\jane",
        "..",
        " ",
        r"CORP\. .",
        "a\tb",
        "a\u{7f}",
        "a\u{85}b",
        "\0",
        r"ééééééééééééééé\ü",
        r"éééééééééééééééé\ü",
        r"123456789012345\u",
        r"1234567890123456\u",
        r"1234567890123456_\u",
        "[a]",
        "\"a\"",
        "<&>",
        "日本語",
        "a\\\u{2028}",
    ];
    let mut all: Vec<_> = fixed.into_iter().map(str::to_owned).collect();
    all.extend(["u".repeat(104), "u".repeat(105), "é".repeat(52), "é".repeat(53), ".".repeat(105)]);
    all.extend([
        format!(r"{domain}\u"),
        format!(r"{long_domain}\u"),
        format!(r"{long_domain}\{}@", "u".repeat(105)),
    ]);
    all
}

fn credential_spec_names() -> Vec<String> {
    let mut all: Vec<_> = ["webapp1.spec", "Web_App", "", "-a", "a-", "a..b", "ä"].map(str::to_owned).into();
    all.extend(["a".repeat(253), "a".repeat(254), "A".repeat(254)]);
    all
}

fn ports() -> Vec<Mutation> {
    let one = |container: u16, host: Option<u16>| json!({"containerPort": container, "hostPort": host});
    let udp = json!({"containerPort": 80, "hostPort": 80, "protocol": "UDP", "hostIP": "10.0.0.1"});
    vec![
        Mutation::new("containers.0.ports", vec![one(80, None)]),
        Mutation::new("containers.0.ports", vec![one(80, Some(80)), udp.clone()]),
        Mutation::new("containers.0.ports", vec![one(80, Some(8080))]),
        Mutation::new("containers.0.ports", vec![one(80, Some(0)), one(80, None)]),
        Mutation::new("containers.0.ports", vec![udp.clone(), udp]),
        Mutation::new("containers.1.ports", vec![one(80, None), one(81, None)]),
        Mutation::new("containers.1.ports", vec![one(80, Some(80)), one(81, Some(8080))]),
        Mutation::new("initContainers.0.ports", vec![one(80, Some(8080)), one(81, None)]),
        Mutation::new("initContainers.1.ports", vec![one(80, Some(81)), one(81, None), one(82, Some(81))]),
    ]
}
