//! Kills at random moments: whatever the agent or a holder was doing, the next `up` goes on and leaves nothing.
//! The runtime below it is killed two hundred times more, in its own tests.
//!
//! The moments come from a seed, printed when a round fails; `PORTHOLE_SEED` plays the same moments again.

mod moments;
#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use moments::Moments;
use stage::{Stage, eventually};

/// Says which round failed, with everything needed to play it again.
#[derive(Debug)]
struct Round<'s> {
    stage: &'s Stage,
    seed: u64,
    number: u32,
    moment: Duration,
}

// === impl Round ===

impl Drop for Round<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "round {} failed, killed after {:?}: PORTHOLE_SEED={}",
                self.number, self.moment, self.seed
            );
            eprintln!("processes: {:?}", self.stage.host.processes());
            eprintln!("cgroups: {:?}", self.stage.jobs());
            for dir in ["pods", "run"] {
                let listed = Command::new("find").arg(self.stage.root().join(dir)).output();
                eprintln!(
                    "{dir}: {}",
                    listed.map(|it| String::from_utf8_lossy(&it.stdout).into_owned()).unwrap_or_default()
                );
            }
        }
    }
}

/// Pods that run on: a plain one, one with descendants, one that waits for an init container.
fn lasting(stage: &Stage) -> Vec<PathBuf> {
    let init =
        "  initContainers:\n  - {name: first, image: \"dir:app\", command: [./fixture, exit, \"0\"]}\n";
    vec![
        stage.pod("steady", &["graceful", "bye"]),
        stage.pod("family", &["generations", "3"]),
        stage.pod_with("later", &["lines", "0", "20"], init),
    ]
}

/// Pods that end: one well, one badly and again and again.
fn ending(stage: &Stage) -> Vec<PathBuf> {
    let never = "  restartPolicy: Never\n";
    vec![stage.pod_with("ends", &["print", "done"], never), stage.pod("fails", &["exit", "3"])]
}

fn in_one_file(stage: &Stage, files: &[PathBuf]) -> PathBuf {
    let texts: Vec<_> = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    stage.file("all.yaml", &texts.join("---\n"))
}

/// Whether the pod's main container was started, again or not, or adopted.
fn runs(said: &[String], pod: &str) -> bool {
    let [started, adopted] = ["started", "was running"].map(|what| format!("default/{pod}/main {what}"));
    said.iter().any(|line| line.starts_with(&started) || line.starts_with(&adopted))
}

fn holders(stage: &Stage) -> Vec<u32> {
    stage.host.processes().into_iter().filter(|seen| seen.is_holder()).map(|seen| seen.pid).collect()
}

/// Whether the processes of all lasting pods are there, each under a holder that is not the dead one.
fn all_run(stage: &Stage, dead: u32) -> bool {
    let holders = holders(stage);
    holders.len() == 3 && !holders.contains(&dead) && stage.workers().len() == 1 + 3 + 1
}

#[test]
fn an_agent_killed_at_any_moment_leaves_nothing_that_the_next_one_cannot_take_up() {
    let stage = Stage::twin();
    let file = in_one_file(&stage, &[lasting(&stage), ending(&stage)].concat());
    let mut moments = Moments::new();
    for number in 0..30 {
        let moment = moments.before(Duration::from_millis(400));
        let _round = Round { stage: &stage, seed: moments.seed, number, moment };
        let up = stage.up(&file, &[]);
        std::thread::sleep(moment);
        up.kill();
        // Answers, whatever it finds.
        assert!(stage.ps().is_array());
        let up = stage.up(&file, &[]);
        for pod in ["steady", "family", "later"] {
            eventually(&format!("{pod} runs"), || runs(&up.said(), pod).then_some(()));
        }
        up.interrupt();
        let (code, said) = up.wait();
        assert_eq!(code, 0, "{said:#?}");
        assert!(!said.iter().any(|line| line.contains("HolderDied")), "no holder died: {said:#?}");
        stage.assert_nothing_left();
    }
}

#[test]
fn a_holder_killed_at_any_moment_is_replaced_and_nothing_is_left() {
    let stage = Stage::twin();
    let file = in_one_file(&stage, &lasting(&stage));
    let mut moments = Moments::new();
    for number in 0..10 {
        let moment = moments.before(Duration::from_millis(200));
        let _round = Round { stage: &stage, seed: moments.seed, number, moment };
        let up = stage.up(&file, &[]);
        stage.holder();
        std::thread::sleep(moment);
        let holders = holders(&stage);
        let chosen = usize::try_from(moments.next() % holders.len() as u64).unwrap();
        let killed = Command::new("kill").args(["-9", &holders[chosen].to_string()]).status().unwrap();
        assert!(killed.success(), "no holder of a lasting pod ends by itself");
        eventually("every pod runs, in holders that live", || all_run(&stage, holders[chosen]).then_some(()));
        std::thread::sleep(moments.before(Duration::from_millis(50)));
        up.interrupt();
        let (code, said) = up.wait();
        assert_eq!(code, 0, "{said:#?}");
        stage.assert_nothing_left();
    }
}
