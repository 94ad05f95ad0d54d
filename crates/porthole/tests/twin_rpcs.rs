//! Every RPC of a running `porthole cri`, asked with good requests that were changed at random, field by field, and with
//! bytes that are no requests: each gets the right code, nothing panics, and who is refused has changed nothing.
//!
//! In the gate they are the same every time; others, and more of them, by `PROPTEST_CASES=5000 cargo xtask test
//! --tier twin`.

mod rpcs;
#[expect(dead_code, reason = "more is done with it by others")]
mod served;

use cri::api::ContainerState;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use protox::prost_reflect::{DynamicMessage, MethodDescriptor};
use tonic::Code;

use rpcs::asked::Asked;
use rpcs::{CALLS, Call, Scene, Service, Traces};

/// Of each RPC, in the gate.
const CASES: u32 = 60;
const FEW: u32 = 20;
/// A thousand may wait for their streams, of three RPCs together.
const WAITING: u32 = 300;

/// What is there, and all that can be seen of it.
struct Stand {
    scene: Scene,
    traces: Traces,
}

// proves: RT-01 twin
#[test]
fn whatever_an_rpc_is_asked_it_answers_with_the_right_code_and_who_is_refused_has_changed_nothing() {
    let service = Service::start();
    service.push();
    let scene = service.scene();
    let names: Vec<_> = service.methods().iter().map(|method| method.name().to_owned()).collect();
    assert_eq!((names.len(), CALLS.len()), (40, 40), "{names:?}");
    // So that to pull it again changes nothing.
    let (pull, row) = find(&service, "PullImage");
    service.call(&pull, &(row.seed)(&scene)).unwrap();
    let mut stand = Stand { traces: service.traces(), scene };
    let files = service.open_files();
    let mut wrong = Vec::new();
    for method in service.methods() {
        let (method, call) = find(&service, method.name());
        let mut runner = runner(&method);
        let tapes =
            (prop::collection::vec(any::<u8>(), 0..24), prop::option::weighted(0.1, any::<(u8, u8)>()));
        let found = {
            let stand = std::cell::RefCell::new(&mut stand);
            runner.run(&tapes, |(tape, spoil)| {
                let mut stand = stand.borrow_mut();
                let asked = Asked::new(&method, call, &stand.scene, &tape, spoil);
                judge(&service, &method, call, &asked, &mut stand)
            })
        };
        if let Err(found) = found {
            wrong.push(format!("{}: {found}", method.full_name()));
            stand.renew(&service);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    served::eventually("no more files are open than before", || {
        (service.open_files() <= files).then_some(())
    });
    service.end(&stand.scene);
}

fn runner(method: &MethodDescriptor) -> TestRunner {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    // Where there is nothing to change, bytes can be spoilt.
    let cases = match method.name() {
        _ if method.input().fields().len() == 0 => FEW,
        "Exec" | "Attach" | "PortForward" => asked.unwrap_or(CASES).min(WAITING),
        _ => asked.unwrap_or(CASES),
    };
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    match asked {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    }
}

fn find(service: &Service, name: &str) -> (MethodDescriptor, &'static Call) {
    let method = service.methods().iter().find(|method| method.name() == name).expect(name);
    (method.clone(), CALLS.iter().find(|call| call.name == name).expect(name))
}

fn judge(
    service: &Service,
    method: &MethodDescriptor,
    call: &Call,
    asked: &Asked,
    stand: &mut Stand,
) -> Result<(), TestCaseError> {
    let answer = service.call(method, &asked.bytes);
    let (code, said) = match &answer {
        Ok(_) => (Code::Ok, ""),
        Err(status) => (status.code(), status.message()),
    };
    let right = asked.right(call, &stand.scene);
    prop_assert!(right.contains(&code), "{code:?} {said:?}, not one of {right:?}, to {}", asked.shown());
    let same = |what: &str| {
        let after = service.traces();
        let before = &stand.traces;
        prop_assert!(after == *before, "{what} left {after:#?} of {before:#?}, asked {}", asked.shown());
        Ok(())
    };
    match answer {
        Err(_) => {
            same("what was refused")?;
            let again = service.call(method, &asked.bytes).expect_err("refused again").code();
            prop_assert_eq!(again, code, "the second time, to {}", asked.shown());
        }
        Ok(bytes) => {
            let told = DynamicMessage::decode(method.output(), bytes.as_slice());
            prop_assert!(told.is_ok(), "its answer is none: {:?}", told);
            if call.changes {
                follow(service, call, &told.expect("just looked at"))?;
                stand.renew(service);
            } else {
                same("what changes nothing")?;
            }
        }
    }
    // Of a panic it would say something.
    service.open_files();
    Ok(())
}

/// What was made works as far as its maker was told: a pod is ready, and a container runs or says why not.
fn follow(service: &Service, call: &Call, told: &DynamicMessage) -> Result<(), TestCaseError> {
    let id = |name: &str| told.get_field_by_name(name).and_then(|id| id.as_str().map(str::to_owned));
    if let (Some(id), "RunPodSandbox") = (id("pod_sandbox_id"), call.name) {
        prop_assert!(service.pod_is_ready(&id), "{}", id);
    }
    if let (Some(id), "CreateContainer") = (id("container_id"), call.name) {
        let (started, status) = service.start_container(&id);
        let state = status.state();
        match started {
            Ok(()) => prop_assert!(matches!(
                state,
                ContainerState::ContainerRunning | ContainerState::ContainerExited
            )),
            Err(error) => {
                prop_assert_eq!(error.code(), Code::FailedPrecondition, "{:?}", error);
                let end = (state, status.reason.as_str(), status.exit_code);
                prop_assert_eq!(end, (ContainerState::ContainerExited, "StartError", 128), "{:?}", error);
            }
        }
    }
    Ok(())
}

// === impl Stand ===

impl Stand {
    fn renew(&mut self, service: &Service) {
        self.scene = service.scene();
        self.traces = service.traces();
    }
}
