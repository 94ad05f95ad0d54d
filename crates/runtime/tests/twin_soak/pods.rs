//! Pods that come and go: made, started, asked, stopped, removed.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::flat::Series;
use crate::in_tenths;
use crate::traces::Traces;
use crate::world::{World, eventually, mount};

/// How much memory may be kept by chance.
const AGENT_KIB: u64 = 512;
const GRACE: Duration = Duration::from_secs(60);
/// A group of every Debian system, so that some pods get a temporary user.
const GROUP: &str = "games";

#[derive(Debug, Serialize)]
pub(crate) struct Lived {
    pub(crate) processes: Vec<Series>,
    /// What there was more of in the end than after the first tenth.
    pub(crate) left: Vec<String>,
}

pub(crate) fn soak(world: &World, pods: u32) -> Lived {
    let volume = world.volume("volume", "kept");
    let mut agent = Series::new("agent", AGENT_KIB);
    let traces = in_tenths(
        pods,
        |number| live(world, &volume, number),
        || {
            let traces = eventually("the holders are gone", || {
                Some(Traces::of(world)).filter(|traces| traces.holders == 0)
            });
            agent.look(std::process::id());
            traces
        },
    );
    let left = traces.first().zip(traces.last()).map(|(first, last)| last.beyond(first));
    Lived { processes: vec![agent], left: left.unwrap_or_default() }
}

/// One pod's life. Its mount point is made on the host and goes with it, as does the user that some have.
fn live(world: &World, volume: &Path, number: u32) {
    let runtime = world.runtime();
    let pod = world.pod(&format!("pod-{number}"));
    let mut config = world.config("main", &["pause"]);
    config.mounts = vec![mount(volume, &world.path("way/to/target"))];
    config.user = (number % 20 == 9).then(|| GROUP.to_owned());
    let id = world.start(&pod, config);
    world.says(&id, "ready");
    assert!(runtime.pod_stats(&pod).unwrap().processes() > 0);
    let argv = ["./fixture", "print", "here"].map(str::to_owned);
    assert_eq!(runtime.exec_sync(&id, &argv, Some(GRACE)).unwrap().code, 0);
    // Others are killed by their removal.
    if number.is_multiple_of(2) {
        runtime.stop(&id, GRACE).unwrap();
        assert_eq!(runtime.wait(&id).unwrap().code, 0);
    }
    runtime.remove_pod(&pod).unwrap();
}
