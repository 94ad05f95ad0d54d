//! Requests that are wrong: each is refused with the right code, and nothing is done.

mod containers;
mod images;
mod pods;
mod streams;

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
    let rows: Vec<_> = [pods::ROWS, containers::ROWS, images::ROWS, streams::ROWS].concat_rows();
    assert!(rows.len() >= 100, "{} rows", rows.len());
    let before = (world.traces(), statuses(&world));
    for row in rows {
        match world.wait((row.call)(&scene)) {
            Err(status) => assert_eq!(status.code(), row.code, "{}: {status:?}", row.what),
            Ok(()) => panic!("{} was done", row.what),
        }
        let after = (world.traces(), statuses(&world));
        assert_eq!(after, before, "{} left a trace", row.what);
    }
    world.end();
}

trait Rows {
    fn concat_rows(&self) -> Vec<&'static Row>;
}

impl<const N: usize> Rows for [&'static [Row]; N] {
    fn concat_rows(&self) -> Vec<&'static Row> {
        self.iter().flat_map(|rows| rows.iter()).collect()
    }
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
