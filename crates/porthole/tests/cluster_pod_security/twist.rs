//! What can be changed about a pod that a check might look at, one thing each. Together they make the cases.

use serde_json::{Value, json};

use crate::dice::Dice;
use crate::pod::{containers, lasting, push, remove, some};
use crate::volumes;

/// One change.
pub(crate) struct Twist {
    pub(crate) name: &'static str,
    pub(crate) apply: fn(&mut Value, &mut Dice),
}

const fn twist(name: &'static str, apply: fn(&mut Value, &mut Dice)) -> Twist {
    Twist { name, apply }
}

pub(crate) const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
pub(crate) const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
pub(crate) const SECCOMP: &str = "container.seccomp.security.alpha.kubernetes.io/";

const HOSTS: &[&str] = &["example.org", "127.0.0.1", "10.0.0.1"];

#[rustfmt::skip]
pub(crate) const TWISTS: &[Twist] = &[
    twist("pod unconfined by AppArmor", |pod, _| pod["spec"]["securityContext"]["appArmorProfile"] = json!({"type": "Unconfined"})),
    twist("container unconfined by AppArmor", |pod, dice| some(pod, dice)["securityContext"]["appArmorProfile"] = json!({"type": "Unconfined"})),
    twist("container unconfined by AppArmor annotation", |pod, dice| annotate(pod, dice, APP_ARMOR, "unconfined")),
    twist("AppArmor profile of the node", |pod, dice| some(pod, dice)["securityContext"]["appArmorProfile"] = json!({"type": "Localhost", "localhostProfile": "p"})),
    twist("pod with the runtime's AppArmor profile", |pod, _| pod["spec"]["securityContext"]["appArmorProfile"] = json!({"type": "RuntimeDefault"})),
    twist("AppArmor annotation that is fine", |pod, dice| { let value = *dice.pick(&["runtime/default", "localhost/p"]); annotate(pod, dice, APP_ARMOR, value) }),
    twist("capability beyond the default", |pod, dice| add(pod, dice, &["NET_RAW", "SYS_ADMIN", "CAP_SYS_ADMIN", "ALL", "chown"])),
    twist("default capability", |pod, dice| add(pod, dice, &["AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"])),
    twist("capability for low ports", |pod, dice| add(pod, dice, &["NET_BIND_SERVICE"])),
    twist("not all capabilities dropped", |pod, dice| some(pod, dice)["securityContext"]["capabilities"]["drop"] = json!(["NET_RAW", "all"])),
    twist("no word on capabilities", |pod, dice| remove(&mut some(pod, dice)["securityContext"], "capabilities")),
    twist("hostNetwork", |pod, _| pod["spec"]["hostNetwork"] = json!(true)),
    twist("hostPID", |pod, _| pod["spec"]["hostPID"] = json!(true)),
    twist("hostIPC", |pod, _| pod["spec"]["hostIPC"] = json!(true)),
    twist("no hostNetwork", |pod, _| pod["spec"]["hostNetwork"] = json!(false)),
    twist("hostPath volume", |pod, dice| volumes::add(pod, dice, &volumes::REFUSED[..1])),
    twist("refused volume", |pod, dice| volumes::add(pod, dice, volumes::REFUSED)),
    twist("another refused volume", |pod, dice| volumes::add(pod, dice, volumes::REFUSED)),
    twist("allowed volume", |pod, dice| volumes::add(pod, dice, volumes::ALLOWED)),
    twist("volume without a source", |pod, dice| volumes::add(pod, dice, &[("", "{}")])),
    twist("hostPort", |pod, dice| { let port = free_port(pod, dice); push(&mut some(pod, dice)["ports"], json!({"containerPort": port, "hostPort": port})) }),
    twist("another hostPort", |pod, dice| { let port = free_port(pod, dice); push(&mut some(pod, dice)["ports"], json!({"containerPort": port, "hostPort": port})) }),
    twist("port", |pod, dice| { let port = free_port(pod, dice); push(&mut some(pod, dice)["ports"], json!({"containerPort": port})) }),
    twist("port with hostPort 0", |pod, dice| { let port = free_port(pod, dice); push(&mut some(pod, dice)["ports"], json!({"containerPort": port, "hostPort": 0})) }),
    twist("liveness at a host", |pod, dice| { let host = *dice.pick(HOSTS); lasting(pod, dice)["livenessProbe"] = json!({"httpGet": {"port": 1, "host": host}}) }),
    twist("readiness at a host", |pod, dice| { let host = *dice.pick(HOSTS); lasting(pod, dice)["readinessProbe"] = json!({"tcpSocket": {"port": 1, "host": host}}) }),
    twist("startup at a host", |pod, dice| { let host = *dice.pick(HOSTS); lasting(pod, dice)["startupProbe"] = json!({"httpGet": {"port": 1, "host": host}}) }),
    twist("postStart at a host", |pod, dice| { let host = *dice.pick(HOSTS); lasting(pod, dice)["lifecycle"]["postStart"] = json!({"httpGet": {"port": 1, "host": host}}) }),
    twist("preStop at a host", |pod, dice| { let host = *dice.pick(HOSTS); lasting(pod, dice)["lifecycle"]["preStop"] = json!({"tcpSocket": {"port": 1, "host": host}}) }),
    twist("probe of the pod itself", |pod, dice| lasting(pod, dice)["readinessProbe"] = json!({"httpGet": {"port": 1, "host": ""}})),
    twist("privileged", |pod, dice| some(pod, dice)["securityContext"]["privileged"] = json!(true)),
    twist("not privileged", |pod, dice| some(pod, dice)["securityContext"]["privileged"] = json!(false)),
    twist("procMount unmasked", |pod, dice| some(pod, dice)["securityContext"]["procMount"] = json!("Unmasked")),
    twist("procMount default", |pod, dice| some(pod, dice)["securityContext"]["procMount"] = json!("Default")),
    twist("user namespace", |pod, _| pod["spec"]["hostUsers"] = json!(false)),
    twist("host's users", |pod, _| pod["spec"]["hostUsers"] = json!(true)),
    twist("SELinux type of the pod", |pod, dice| pod["spec"]["securityContext"]["seLinuxOptions"]["type"] = selinux_type(dice)),
    twist("SELinux type of a container", |pod, dice| some(pod, dice)["securityContext"]["seLinuxOptions"]["type"] = selinux_type(dice)),
    twist("SELinux user", |pod, dice| some(pod, dice)["securityContext"]["seLinuxOptions"]["user"] = json!("u")),
    twist("SELinux role of the pod", |pod, _| pod["spec"]["securityContext"]["seLinuxOptions"]["role"] = json!("r")),
    twist("SELinux level", |pod, dice| some(pod, dice)["securityContext"]["seLinuxOptions"]["level"] = json!("s0")),
    twist("pod without seccomp", |pod, _| pod["spec"]["securityContext"]["seccompProfile"] = json!({"type": "Unconfined"})),
    twist("container without seccomp", |pod, dice| some(pod, dice)["securityContext"]["seccompProfile"] = json!({"type": "Unconfined"})),
    twist("no word on seccomp", |pod, _| remove(&mut pod["spec"]["securityContext"], "seccompProfile")),
    twist("container's own seccomp", |pod, dice| some(pod, dice)["securityContext"]["seccompProfile"] = json!({"type": "Localhost", "localhostProfile": "p"})),
    twist("seccomp by every container", |pod, _| { remove(&mut pod["spec"]["securityContext"], "seccompProfile"); containers(pod).for_each(|c| c["securityContext"]["seccompProfile"] = json!({"type": "RuntimeDefault"})) }),
    twist("pod without seccomp by annotation", |pod, _| pod["metadata"]["annotations"][SECCOMP_POD] = json!("unconfined")),
    twist("container without seccomp by annotation", |pod, dice| annotate(pod, dice, SECCOMP, "unconfined")),
    twist("seccomp annotation that is fine", |pod, dice| { let value = *dice.pick(&["runtime/default", "docker/default", "localhost/p"]); annotate(pod, dice, SECCOMP, value) }),
    twist("forbidden sysctl", |pod, dice| sysctl(pod, dice, &["kernel.msgmax", "fs.mqueue.msg_max", "net.core.somaxconn", "vm.swappiness"])),
    twist("sysctl allowed at some time", |pod, dice| sysctl(pod, dice, SYSCTLS)),
    twist("another sysctl allowed at some time", |pod, dice| sysctl(pod, dice, SYSCTLS)),
    twist("HostProcess by the pod", |pod, _| pod["spec"]["securityContext"]["windowsOptions"]["hostProcess"] = json!(true)),
    twist("HostProcess by the containers", |pod, _| containers(pod).for_each(|c| c["securityContext"]["windowsOptions"]["hostProcess"] = json!(true))),
    twist("not HostProcess", |pod, _| pod["spec"]["securityContext"]["windowsOptions"]["hostProcess"] = json!(false)),
    twist("escalation allowed", |pod, dice| some(pod, dice)["securityContext"]["allowPrivilegeEscalation"] = json!(true)),
    twist("no word on escalation", |pod, dice| remove(&mut some(pod, dice)["securityContext"], "allowPrivilegeEscalation")),
    twist("pod may be root", |pod, _| pod["spec"]["securityContext"]["runAsNonRoot"] = json!(false)),
    twist("container may be root", |pod, dice| some(pod, dice)["securityContext"]["runAsNonRoot"] = json!(false)),
    twist("pod has no word on root", |pod, _| remove(&mut pod["spec"]["securityContext"], "runAsNonRoot")),
    twist("container is not root", |pod, dice| some(pod, dice)["securityContext"]["runAsNonRoot"] = json!(true)),
    twist("pod is root", |pod, _| pod["spec"]["securityContext"]["runAsUser"] = json!(0)),
    twist("container is root", |pod, dice| some(pod, dice)["securityContext"]["runAsUser"] = json!(0)),
    twist("container is user 1", |pod, dice| some(pod, dice)["securityContext"]["runAsUser"] = json!(1)),
    twist("windows", |pod, _| pod["spec"]["os"] = json!({"name": "windows"})),
    twist("linux", |pod, _| pod["spec"]["os"] = json!({"name": "linux"})),
    twist("container without a security context", |pod, dice| remove(some(pod, dice), "securityContext")),
    twist("pod without a security context", |pod, _| remove(&mut pod["spec"], "securityContext")),
];

#[rustfmt::skip]
const SYSCTLS: &[&str] = &[
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
];

/// The twist of that name.
pub(crate) fn index(name: &str) -> usize {
    TWISTS.iter().position(|twist| twist.name == name).unwrap_or_else(|| panic!("no twist {name:?}"))
}

fn annotate(pod: &mut Value, dice: &mut Dice, prefix: &str, value: &str) {
    let name = some(pod, dice)["name"].as_str().expect("a name").to_owned();
    pod["metadata"]["annotations"][format!("{prefix}{name}")] = json!(value);
}

fn add(pod: &mut Value, dice: &mut Dice, names: &[&str]) {
    let name = *dice.pick(names);
    push(&mut some(pod, dice)["securityContext"]["capabilities"]["add"], json!(name));
}

fn selinux_type(dice: &mut Dice) -> Value {
    json!(dice.pick(&[
        "spc_t",
        "container_t",
        "container_engine_t",
        "container_init_t",
        "a_t",
        "container_kvm_t"
    ]))
}

/// The same sysctl twice is not for Pod Security to refuse.
fn sysctl(pod: &mut Value, dice: &mut Dice, names: &[&str]) {
    let list = &mut pod["spec"]["securityContext"]["sysctls"];
    let name = *dice.pick(names);
    if list.as_array().is_none_or(|set| set.iter().all(|sysctl| sysctl["name"] != name)) {
        push(list, json!({"name": name, "value": "1"}));
    }
}

/// A port that no container of the pod has yet.
fn free_port(pod: &mut Value, dice: &mut Dice) -> usize {
    let is_taken = |port: &Value, number: usize| port["containerPort"] == number;
    loop {
        let number = *dice.pick(&[80, 443, 8080, 9, 53, 3000, 10250]);
        if !containers(pod)
            .any(|c| c["ports"].as_array().is_some_and(|all| all.iter().any(|p| is_taken(p, number))))
        {
            return number;
        }
    }
}
