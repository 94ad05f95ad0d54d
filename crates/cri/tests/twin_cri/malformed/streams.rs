//! Programs and ports that are asked for wrongly.

use cri::api::*;
use tonic::Code;

use super::{Row, done};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

pub(super) const ROWS: &[Row] = &[
    Row {
        what: "ExecSync without a command",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().exec_sync(ExecSyncRequest {
                    container_id: s.running.clone(),
                    cmd: vec![],
                    timeout: 0,
                }))
                .await
            })
        },
    },
    Row {
        what: "ExecSync with an empty command",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().exec_sync(ExecSyncRequest {
                    container_id: s.running.clone(),
                    cmd: vec![String::new()],
                    timeout: 0,
                }))
                .await
            })
        },
    },
    Row {
        what: "ExecSync with a character 0",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().exec_sync(ExecSyncRequest {
                    container_id: s.running.clone(),
                    cmd: words(&["./fixture", "\0"]),
                    timeout: 0,
                }))
                .await
            })
        },
    },
    Row {
        what: "ExecSync with a negative time",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().exec_sync(ExecSyncRequest {
                    container_id: s.running.clone(),
                    cmd: words(&["./fixture"]),
                    timeout: -1,
                }))
                .await
            })
        },
    },
    Row {
        what: "ExecSync of a program that is not there",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().exec_sync(ExecSyncRequest {
                    container_id: s.running.clone(),
                    cmd: words(&["./no-such-program"]),
                    timeout: 0,
                }))
                .await
            })
        },
    },
    Row {
        what: "ExecSync without a container",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world.runtime().exec_sync(ExecSyncRequest { cmd: words(&["x"]), ..Default::default() }),
                )
                .await
            })
        },
    },
    Row {
        what: "ExecSync in nobody",
        code: Code::NotFound,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().exec_sync(ExecSyncRequest {
                    container_id: "nobody".into(),
                    cmd: words(&["x"]),
                    timeout: 0,
                }))
                .await
            })
        },
    },
    Row {
        what: "ExecSync in what does not run",
        code: Code::FailedPrecondition,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().exec_sync(ExecSyncRequest {
                    container_id: s.created.clone(),
                    cmd: words(&["x"]),
                    timeout: 0,
                }))
                .await
            })
        },
    },
    Row {
        what: "Exec without a command",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().exec(ExecRequest {
                    container_id: s.running.clone(),
                    stdout: true,
                    ..Default::default()
                }))
                .await
            })
        },
    },
    Row {
        what: "Exec without a stream",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().exec(ExecRequest {
                    container_id: s.running.clone(),
                    cmd: words(&["x"]),
                    ..Default::default()
                }))
                .await
            })
        },
    },
    Row {
        what: "Exec with a terminal and stderr",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().exec(ExecRequest {
                    container_id: s.running.clone(),
                    cmd: words(&["x"]),
                    tty: true,
                    stdin: true,
                    stdout: true,
                    stderr: true,
                }))
                .await
            })
        },
    },
    Row {
        what: "Exec without a container",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().exec(ExecRequest {
                    container_id: String::new(),
                    cmd: words(&["x"]),
                    stdout: true,
                    ..Default::default()
                }))
                .await
            })
        },
    },
    Row {
        what: "Exec in nobody",
        code: Code::NotFound,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().exec(ExecRequest {
                    container_id: "nobody".into(),
                    cmd: words(&["x"]),
                    stdout: true,
                    ..Default::default()
                }))
                .await
            })
        },
    },
    Row {
        what: "Exec in what does not run",
        code: Code::FailedPrecondition,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().exec(ExecRequest {
                    container_id: s.created.clone(),
                    cmd: words(&["x"]),
                    stdout: true,
                    ..Default::default()
                }))
                .await
            })
        },
    },
    Row {
        what: "Attach without a stream",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .runtime()
                        .attach(AttachRequest { container_id: s.running.clone(), ..Default::default() }),
                )
                .await
            })
        },
    },
    Row {
        what: "Attach with a terminal and stderr",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().attach(AttachRequest {
                    container_id: s.running.clone(),
                    tty: true,
                    stderr: true,
                    ..Default::default()
                }))
                .await
            })
        },
    },
    Row {
        what: "Attach to nobody",
        code: Code::NotFound,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().attach(AttachRequest {
                    container_id: "nobody".into(),
                    stdout: true,
                    ..Default::default()
                }))
                .await
            })
        },
    },
    Row {
        what: "Attach to what does not run",
        code: Code::FailedPrecondition,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().attach(AttachRequest {
                    container_id: s.created.clone(),
                    stdout: true,
                    ..Default::default()
                }))
                .await
            })
        },
    },
    Row {
        what: "PortForward to port 0",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .runtime()
                        .port_forward(PortForwardRequest { pod_sandbox_id: s.pod.clone(), port: vec![0] }),
                )
                .await
            })
        },
    },
    Row {
        what: "PortForward to port -1",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .runtime()
                        .port_forward(PortForwardRequest { pod_sandbox_id: s.pod.clone(), port: vec![-1] }),
                )
                .await
            })
        },
    },
    Row {
        what: "PortForward to port 65_536",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world.runtime().port_forward(PortForwardRequest {
                        pod_sandbox_id: s.pod.clone(),
                        port: vec![65_536],
                    }),
                )
                .await
            })
        },
    },
    Row {
        what: "PortForward of nobody",
        code: Code::NotFound,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .runtime()
                        .port_forward(PortForwardRequest { pod_sandbox_id: "nobody".into(), port: vec![80] }),
                )
                .await
            })
        },
    },
];
