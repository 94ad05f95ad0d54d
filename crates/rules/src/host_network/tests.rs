use serde_json::{Value, json};

use crate::Kind;
use crate::api::tests::{found, pod, subject};

fn with_ports(lists: &[Value], network: bool) -> Value {
    let containers: Vec<_> =
        lists.iter().map(|ports| json!({"name": "c", "image": "i", "ports": ports})).collect();
    json!({"hostNetwork": network, "containers": containers})
}

// proves: HP-09 pure
#[test]
fn on_the_hosts_network_a_port_is_the_hosts() {
    let ports = json!([{"containerPort": 80}, {"containerPort": 81, "hostPort": 81}, {"containerPort": 82, "hostPort": 83}]);
    let both = with_ports(&[json!([{"containerPort": 1, "hostPort": 0}]), ports], true);
    assert_eq!(found(&pod(&both)), ["Invalid spec.containers[1].ports[2].hostPort 83"]);
    let template = found(&subject(Kind::Deployment, &both));
    assert_eq!(template, ["Invalid spec.template.spec.containers[1].ports[2].hostPort 83"]);
    let own = with_ports(&[json!([{"containerPort": 82, "hostPort": 83}])], false);
    assert_eq!(found(&pod(&own)), [""; 0]);
}

#[test]
fn init_containers_may_say_what_they_like() {
    let init = json!({"name": "i", "image": "i", "ports": [{"containerPort": 82, "hostPort": 83}]});
    assert_eq!(found(&pod(&json!({"hostNetwork": true, "initContainers": [init]}))), [""; 0]);
}

#[test]
fn a_port_of_the_host_is_taken_once() {
    let port = |container: i32, host: i32| json!({"containerPort": container, "hostPort": host});
    let twice = with_ports(&[json!([port(80, 8080)]), json!([port(80, 80), port(81, 8080)])], false);
    assert_eq!(found(&pod(&twice)), [r#"Duplicate spec.containers[1].ports[1].hostPort "TCP//8080""#]);
    let apart = json!([port(1, 8080), {"containerPort": 1, "hostPort": 8080, "protocol": "UDP"},
        {"containerPort": 1, "hostPort": 8080, "hostIP": "10.0.0.1"}, {"containerPort": 1}, {"containerPort": 1}]);
    assert_eq!(found(&pod(&with_ports(&[apart], false))), [""; 0]);
    let named = json!([{"containerPort": 1, "hostPort": 1, "hostIP": "::", "protocol": "UDP"},
        {"containerPort": 1, "hostPort": 1, "hostIP": "::", "protocol": "UDP"}]);
    assert_eq!(
        found(&pod(&with_ports(&[named], false))),
        [r#"Duplicate spec.containers[0].ports[1].hostPort "UDP/::/1""#]
    );
    let default = json!([{"containerPort": 1, "hostPort": 1, "protocol": ""}, port(2, 1)]);
    assert_eq!(found(&pod(&with_ports(&[default], false))).len(), 1);
}

#[test]
fn a_pods_ports_are_filled_in_and_a_templates_are_not() {
    let same = with_ports(&[json!([{"containerPort": 80}]), json!([{"containerPort": 80}])], true);
    assert_eq!(found(&pod(&same)), [r#"Duplicate spec.containers[1].ports[0].hostPort "TCP//80""#]);
    assert_eq!(found(&subject(Kind::Deployment, &same)), [""; 0]);
    let own = with_ports(&[json!([{"containerPort": 80}]), json!([{"containerPort": 80}])], false);
    assert_eq!(found(&pod(&own)), [""; 0]);
}

#[test]
fn init_containers_are_in_conflict_with_themselves_only() {
    let port = json!({"containerPort": 1, "hostPort": 1});
    let init = |ports: &Value| json!({"name": "i", "image": "i", "ports": ports});
    let apart = json!({"initContainers": [init(&json!([port])), init(&json!([port]))]});
    assert_eq!(found(&pod(&apart)), [""; 0]);
    let twice = json!({"initContainers": [{"name": "a"}, init(&json!([port, port]))]});
    assert_eq!(found(&pod(&twice)), [r#"Duplicate spec.initContainers[0].ports[1].hostPort "TCP//1""#]);
}

#[test]
fn a_pod_on_the_hosts_network_has_the_hosts_name() {
    let of = |name: &str, rest: &Value| {
        let mut spec = rest.clone();
        spec["hostnameOverride"] = json!(name);
        found(&pod(&spec))
    };
    let forbidden = r#"Forbidden spec.hostnameOverride """#;
    assert_eq!(of("a.b", &json!({})), [""; 0]);
    assert_eq!(of("a.b", &json!({"hostNetwork": false, "setHostnameAsFQDN": false})), [""; 0]);
    assert_eq!(of("a.b", &json!({"hostNetwork": true})), [forbidden]);
    assert_eq!(of("a.b", &json!({"setHostnameAsFQDN": true})), [forbidden]);
    assert_eq!(of("a.b", &json!({"hostNetwork": true, "setHostnameAsFQDN": true})), [forbidden, forbidden]);
    assert_eq!(of(&"a".repeat(64), &json!({})), [""; 0]);
    assert_eq!(of(&"a".repeat(65), &json!({})), [r#"TooLong spec.hostnameOverride """#]);
    assert_eq!(of("A_b", &json!({})), [r#"Invalid spec.hostnameOverride "A_b""#]);
    assert_eq!(of("", &json!({})), [r#"Invalid spec.hostnameOverride """#]);
}
