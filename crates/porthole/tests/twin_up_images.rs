//! `porthole up` of pods whose images are in layers, and for how long their images are kept.

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

use std::path::PathBuf;

use images::{Content, Digest};
use stage::{Stage, eventually};
use testbed::image::{ImageBuilder, Layer};

/// A pod that runs the fixture of an archive.
fn pod(stage: &Stage, name: &str, archive: &str, arguments: &[&str]) -> PathBuf {
    let file = stage.pod(name, arguments);
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("image: dir:app", &format!("image: \"oci-archive:{archive}\""));
    stage.file(&format!("{name}.yaml"), &text.replace("./fixture", "/bin/fixture"))
}

fn content(stage: &Stage) -> Content {
    Content::open(&stage.root().join("images")).unwrap()
}

fn owners(stage: &Stage) -> Vec<String> {
    content(stage).pins().unwrap().into_iter().map(|pin| pin.owner).collect()
}

#[test]
fn a_pods_image_is_kept_until_the_pod_is_removed() {
    let stage = Stage::twin();
    stage.archive("image.tar");
    let up = stage.up(&pod(&stage, "web", "image.tar", &["graceful", "bye"]), &[]);
    up.wait_for("default/web/main started");
    let pins = content(&stage).pins().unwrap();
    assert!(pins.len() == 1 && pins[0].owner.starts_with("pod default/web "), "{pins:?}");
    let refused = content(&stage).remove(pins[0].id.as_str(), true).unwrap_err().to_string();
    assert!(refused.contains("is used by pod default/web"), "{refused}");
    up.interrupt();
    let (code, said) = up.wait();
    assert_eq!(code, 0, "{said:#?}");
    stage.assert_nothing_left();
    content(&stage).remove(pins[0].id.as_str(), false).expect("nobody uses it any more");
}

/// Killed between the pull and the pod's first record, an agent leaves a pin that is nobody's.
#[test]
fn what_a_killed_agent_kept_is_released_unless_its_pod_is_there() {
    let stage = Stage::twin();
    stage.archive("image.tar");
    let web = pod(&stage, "web", "image.tar", &["graceful", "bye"]);
    let up = stage.up(&web, &[]);
    up.wait_for("default/web/main started");
    let kept = owners(&stage);
    let id: Digest = content(&stage).pins().unwrap()[0].id.clone();
    content(&stage).pin("pod default/never 00000000-0000-0000-0000-000000000000 0123", &id).unwrap();
    content(&stage).pin("somebody else", &id).unwrap();
    up.kill();
    let (code, said) = stage.up(&stage.pod("other", &["exit", "0"]), &["--once"]).wait();
    assert_eq!(code, 0, "{said:#?}");
    let mut expected = kept.clone();
    expected.push("somebody else".to_owned());
    assert_eq!(owners(&stage), expected, "the pod runs on, and we do not release what is not ours");
    content(&stage).unpin("somebody else").unwrap();
    let up = stage.up(&web, &[]);
    up.wait_for("default/web/main was running");
    up.interrupt();
    assert_eq!(up.wait().0, 0);
    stage.assert_nothing_left();
}

#[test]
fn a_changed_pod_keeps_its_new_image() {
    let stage = Stage::twin();
    stage.archive("image.tar");
    let up = stage.up(&pod(&stage, "web", "image.tar", &["graceful", "one"]), &[]);
    up.wait_for("default/web/main started");
    let before = owners(&stage);
    up.kill();
    let up = stage.up(&pod(&stage, "web", "image.tar", &["graceful", "two"]), &[]);
    up.wait_for("default/web/main started");
    let after =
        eventually("the old pod's image is released", || Some(owners(&stage)).filter(|all| all.len() == 1));
    assert_ne!(after, before);
    up.interrupt();
    assert_eq!(up.wait().0, 0);
    stage.assert_nothing_left();
}

/// Docker allows 127 layers; their paths together do not fit into the page that mount(2) takes.
#[test]
fn a_pod_runs_on_more_layers_than_a_mount_can_name() {
    let stage = Stage::twin();
    let (_, fixture) = stage.host.programs();
    let program = Layer::new().host_file("bin/fixture", fixture, 0o755).unwrap();
    let mut image = ImageBuilder::new("linux", "amd64").layer(program).entrypoint(["/bin/fixture"]);
    for number in 1..120 {
        let word = Layer::new().file("etc/word", format!("layer {number}"), 0o644);
        image = image
            .layer(word.file(&format!("etc/{number}"), "", 0o644).whiteout(&format!("etc/{}", number - 1)));
    }
    image.write_oci_archive(stage.dir().join("image.tar")).unwrap();
    let read = |path: &str| {
        let file = pod(&stage, "web", "image.tar", &["read", path]);
        let text = std::fs::read_to_string(&file).unwrap();
        let file = stage.file("web.yaml", &text.replace("    command", "    workingDir: /etc\n    command"));
        stage.up(&file, &["--once"]).wait()
    };
    let (code, said) = read("word");
    assert!(code == 0 && said.iter().any(|line| line.contains("layer 119")), "{said:#?}");
    assert_ne!(read("118").0, 0, "a later layer hides it");
    stage.assert_nothing_left();
}
