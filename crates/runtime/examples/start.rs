//! Starts pods through the library and says how long each took: what `cargo xtask bench start` measures.
//!
//! `start ROOT APP HOLDER PODS`: the root of a node of its own, the directory that is the image, the program that
//! holds pods, and how many of them. One line of JSON when all run; they are removed when stdin ends.

use std::io::{self, Read};
use std::path::Path;
use std::time::Instant;

use images::document::Runs;
use images::{Files, Image};
use runtime::config::{ContainerConfig, PodConfig};
use runtime::{Node, PodId, Runtime};
use serde_json::json;

const LOOKS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [root, app, holder, pods] = words.as_slice() else {
        return Err("wanted ROOT APP HOLDER PODS".into());
    };
    let runtime = Runtime::open(Node::open(Path::new(root), &std::fs::read(holder)?)?);
    let (mut ids, mut starts) = (Vec::new(), Vec::new());
    for number in 0..pods.parse::<usize>()? {
        let begun = Instant::now();
        let pod = runtime.run_pod(pod(number)?)?;
        let container = runtime.create(&pod, container(Path::new(app)))?;
        runtime.start(&container)?;
        starts.push(milliseconds(begun));
        ids.push(pod);
    }
    let mut looks = Vec::new();
    for _ in 0..LOOKS {
        let begun = Instant::now();
        let seen = runtime.all_stats();
        looks.push(milliseconds(begun));
        if seen.iter().filter(|pod| pod.processes() > 0).count() != ids.len() {
            return Err(format!("{} of {} pods have statistics", seen.len(), ids.len()).into());
        }
    }
    println!("{}", json!({"starts": starts, "stats": looks}));
    io::stdin().read_to_end(&mut Vec::new())?;
    for pod in ids {
        runtime.remove_pod(&pod)?;
    }
    Ok(())
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

fn pod(number: usize) -> Result<PodConfig, Box<dyn std::error::Error>> {
    let name = format!("pod-{number}");
    Ok(PodConfig::host_process(PodId::parse(&name)?, &name))
}

fn container(app: &Path) -> ContainerConfig {
    let image = Image { id: None, files: Files::Dir(app.to_owned()), runs: Runs::default() };
    let command = ["./fixture", "sleep", "3600"].map(str::to_owned).into();
    ContainerConfig { command, ..ContainerConfig::new("main", image) }
}
