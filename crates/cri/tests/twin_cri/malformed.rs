//! Requests that are wrong: each is refused with the right code, and nothing is done.

mod container_calls;
mod containers;
mod images;
mod mounts;
mod pod_calls;
mod pods;
mod streams;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;

use cri::api::*;
use tonic::{Code, Request, Response, Status};

use crate::world::World;

/// What is there while the wrong requests come.
pub(super) struct Scene<'w> {
    pub(super) world: &'w World,
    pub(super) pod: String,
    pub(super) running: String,
    pub(super) created: String,
}

type Answer<'c> = Pin<Box<dyn Future<Output = Result<(), Status>> + 'c>>;

/// A call, what is wrong with it, and the code it must get.
pub(super) struct Row {
    pub(super) what: &'static str,
    pub(super) code: Code,
    pub(super) call: for<'c> fn(&'c Scene<'_>) -> Answer<'c>,
}

/// The rows of one call, each a line: what is wrong with it, its code, and how the request becomes so. The request is
/// either a good one that a function of that name changes, or an empty one that is filled.
macro_rules! table {
    ($name:ident = $call:literal: $make:ident, |$it:ident| $($what:literal, $code:ident, $change:expr;)+) => {
        pub(super) const $name: &[super::Row] = &[$(super::Row {
            what: concat!($call, " ", $what),
            code: tonic::Code::$code,
            call: |scene| Box::pin($make(scene, |$it| $change)),
        }),+];
    };
    (
        $name:ident = $call:literal: $client:ident.$verb:ident($request:ident), |$s:ident, $it:ident|
        $($what:literal, $code:ident, $change:expr;)+
    ) => {
        pub(super) const $name: &[super::Row] = &[$(super::Row {
            what: concat!($call, " ", $what),
            code: tonic::Code::$code,
            call: |scene| {
                let fill: fn(&super::Scene<'_>, &mut $request) = |$s, $it| {
                    // Not every row needs both.
                    let _ = (&$s, &$it);
                    $change
                };
                let mut request = $request::default();
                fill(scene, &mut request);
                Box::pin(async { super::done(scene.world.$client().$verb(request)).await })
            },
        }),+];
    };
}
use table;

const TABLES: &[&[Row]] = &[
    pods::RUN_POD_SANDBOX,
    pods::RUN_CHANGED,
    pod_calls::STOP_POD_SANDBOX,
    pod_calls::REMOVE_POD_SANDBOX,
    pod_calls::POD_SANDBOX_STATUS,
    pod_calls::POD_SANDBOX_STATS,
    pod_calls::UPDATE_POD_SANDBOX_RESOURCES,
    pod_calls::PORT_FORWARD,
    pod_calls::LIST_POD_SANDBOX,
    pod_calls::UPDATE_RUNTIME_CONFIG,
    containers::CREATE_CONTAINER,
    mounts::MOUNTS,
    container_calls::CREATE_CONTAINER,
    container_calls::START_CONTAINER,
    container_calls::STOP_CONTAINER,
    container_calls::REMOVE_CONTAINER,
    container_calls::CONTAINER_STATUS,
    container_calls::CONTAINER_STATS,
    container_calls::REOPEN_CONTAINER_LOG,
    container_calls::UPDATE_CONTAINER_RESOURCES,
    container_calls::LIST_CONTAINERS,
    container_calls::LIST_CONTAINER_STATS,
    images::IMAGE_STATUS,
    images::PULL_IMAGE,
    images::REMOVE_IMAGE,
    images::LIST_IMAGES,
    streams::EXEC_SYNC,
    streams::EXEC,
    streams::ATTACH,
    streams::PORT_FORWARD,
];

/// Forgets what an answer says.
pub(super) async fn done<T>(answer: impl Future<Output = Result<Response<T>, Status>>) -> Result<(), Status> {
    answer.await.map(drop)
}

// proves: RT-01 twin
#[test]
fn a_hundred_wrong_requests_get_their_codes_and_leave_no_trace() {
    let world = World::new();
    let pod = world.pod("web");
    let running = world.start(&pod, world.config("running", &["pause"]));
    let created = world.create(&pod, world.config("created", &["pause"]));
    world.says("running.log", "ready");
    let scene = Scene { world: &world, pod, running, created };
    let rows = || TABLES.iter().copied().flatten();
    let names: BTreeSet<&str> = rows().map(|row| row.what).collect();
    assert_eq!((names.len(), rows().count()), (184, 184), "each has its name");
    let before = (world.traces(), statuses(&world));
    for row in rows() {
        match world.wait((row.call)(&scene)) {
            Err(status) => assert_eq!(status.code(), row.code, "{}: {status:?}", row.what),
            Ok(()) => panic!("{} was done", row.what),
        }
        let after = (world.traces(), statuses(&world));
        assert_eq!(after, before, "{} left a trace", row.what);
    }
    world.end();
}

fn statuses(world: &World) -> Vec<(String, i32)> {
    let all = world.ok(world.runtime().list_containers(ListContainersRequest::default())).containers;
    all.into_iter().map(|container| (container.id, container.state)).collect()
}

#[test]
fn bytes_that_are_no_message_and_verbs_that_nobody_knows() {
    let world = World::new();
    let before = world.traces();
    let raw = |path: &'static str| {
        let mut client = tonic::client::Grpc::new(world.channel());
        world.wait(async move {
            client.ready().await.map_err(|e| Status::unknown(e.to_string()))?;
            let codec = tonic_prost::ProstCodec::<Nonsense, Nonsense>::default();
            let path = path.parse().expect("a path");
            client.unary(Request::new(Nonsense { bytes: vec![0xff; 40] }), path, codec).await.map(drop)
        })
    };
    let unknown = raw("/runtime.v1.RuntimeService/CheckpointContainer").unwrap_err();
    assert_eq!(unknown.code(), Code::Unimplemented, "{unknown:?}");
    let old = raw("/runtime.v1alpha2.RuntimeService/Version").unwrap_err();
    assert_eq!(old.code(), Code::Unimplemented, "{old:?}");
    // Field 1 is a message there, and these bytes are none.
    let broken = raw("/runtime.v1.RuntimeService/RunPodSandbox").unwrap_err();
    assert_eq!(broken.code(), Code::Internal, "{broken:?}");
    assert_eq!(world.traces(), before);
}

#[derive(Clone, PartialEq, prost::Message)]
struct Nonsense {
    #[prost(bytes = "vec", tag = "1")]
    bytes: Vec<u8>,
}
