//! Starts pods through the library and says how long each took: what `cargo xtask bench start` measures.
//!
//! `start ROOT APP HOLDER PODS`: the root of a node of its own, the directory that is the image, the program that
//! holds pods, and how many of them. One line of JSON when all run; they are removed when stdin ends.

use std::io::{self, Read};
use std::path::Path;
use std::time::Instant;

use images::document::Runs;
use images::{Files, Image};
use os::job::JobLimits;
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
    Ok(PodConfig {
        id: PodId::parse(&name)?,
        namespace: "default".to_owned(),
        uid: name.clone(),
        name,
        attempt: 0,
        host_process: true,
        host_network: true,
        handler: String::new(),
        hostname: String::new(),
        labels: Default::default(),
        annotations: Default::default(),
        log_directory: None,
        mode: None,
        origin: None,
    })
}

fn container(app: &Path) -> ContainerConfig {
    ContainerConfig {
        name: "main".to_owned(),
        attempt: 0,
        image: Image { id: None, files: Files::Dir(app.to_owned()), runs: Runs::default() },
        image_ref: "dir:app".to_owned(),
        command: ["./fixture", "sleep", "3600"].map(str::to_owned).into(),
        args: Vec::new(),
        working_dir: String::new(),
        env: Vec::new(),
        mounts: Vec::new(),
        user: None,
        host_process: None,
        credential_spec: None,
        limits: JobLimits::default(),
        log_path: None,
        stdin: false,
        stdin_once: false,
        tty: false,
        termination: None,
        rotate: None,
        labels: Default::default(),
        annotations: Default::default(),
        scratch_bytes: None,
    }
}
