//! Programs and ports that are asked for wrongly.

use cri::api::*;

use super::table;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

table! { EXEC_SYNC = "ExecSync": runtime.exec_sync(ExecSyncRequest), |s, it|
    "without a command", InvalidArgument, it.container_id = s.running.clone();
    "with an empty command", InvalidArgument,
        { it.container_id = s.running.clone(); it.cmd = vec![String::new()] };
    "with a character 0", InvalidArgument,
        { it.container_id = s.running.clone(); it.cmd = words(&["./fixture", "\0"]) };
    "with a negative time", InvalidArgument,
        { it.container_id = s.running.clone(); it.cmd = words(&["./fixture"]); it.timeout = -1 };
    "of a program that is not there", InvalidArgument,
        { it.container_id = s.running.clone(); it.cmd = words(&["./no-such-program"]) };
    "without a container", InvalidArgument, it.cmd = words(&["x"]);
    "in nobody", NotFound, { it.container_id = "nobody".into(); it.cmd = words(&["x"]) };
    "in what does not run", FailedPrecondition,
        { it.container_id = s.created.clone(); it.cmd = words(&["x"]) };
}

table! { EXEC = "Exec": runtime.exec(ExecRequest), |s, it|
    "without a command", InvalidArgument, { it.container_id = s.running.clone(); it.stdout = true };
    "without a stream", InvalidArgument, { it.container_id = s.running.clone(); it.cmd = words(&["x"]) };
    "with a terminal and stderr", InvalidArgument,
        {
            it.container_id = s.running.clone();
            it.cmd = words(&["x"]);
            it.tty = true;
            it.stdin = true;
            it.stdout = true;
            it.stderr = true
        };
    "without a container", InvalidArgument, { it.cmd = words(&["x"]); it.stdout = true };
    "in nobody", NotFound, { it.container_id = "nobody".into(); it.cmd = words(&["x"]); it.stdout = true };
    "in what does not run", FailedPrecondition,
        { it.container_id = s.created.clone(); it.cmd = words(&["x"]); it.stdout = true };
}

table! { ATTACH = "Attach": runtime.attach(AttachRequest), |s, it|
    "without a stream", InvalidArgument, it.container_id = s.running.clone();
    "with a terminal and stderr", InvalidArgument,
        { it.container_id = s.running.clone(); it.tty = true; it.stderr = true };
    "to nobody", NotFound, { it.container_id = "nobody".into(); it.stdout = true };
    "to what does not run", FailedPrecondition, { it.container_id = s.created.clone(); it.stdout = true };
}

table! { PORT_FORWARD = "PortForward": runtime.port_forward(PortForwardRequest), |s, it|
    "to port 0", InvalidArgument, { it.pod_sandbox_id = s.pod.clone(); it.port = vec![0] };
    "to port -1", InvalidArgument, { it.pod_sandbox_id = s.pod.clone(); it.port = vec![-1] };
    "to port 65_536", InvalidArgument, { it.pod_sandbox_id = s.pod.clone(); it.port = vec![65_536] };
    "of nobody", NotFound, { it.pod_sandbox_id = "nobody".into(); it.port = vec![80] };
}
