//! porthole.exe pulls an image by reference, under Wine: Windows' sockets, files and index entry.

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

use stage::Stage;
use testbed::image::{self, Image, ImageBuilder};
use testbed::registry::{Fault, Options, Registry, Wrong};

#[test]
fn a_pod_runs_by_reference_after_a_cut_and_then_without_a_registry() {
    let registry = Registry::start(Options::default()).expect("a registry");
    let exe = std::env::var_os("FIXTURE_EXE").expect("FIXTURE_EXE is set by the gate");
    let windows = image::windows_program(exe).expect("a program").env("WORD", "pulled-word").build();
    let linux = ImageBuilder::new("linux", "amd64").build().expect("made");
    let index = Image::index(&[linux, windows.expect("made")]);
    registry.push(&index, "try/app:1").expect("pushed");
    registry
        .fault(Fault::new(Wrong::Cut { after: 1000 }).method("GET").path("/v2/*/blobs/*").after(1).times(1));

    let stage = Stage::wine();
    let file = stage.pod("web", &[]);
    let text = std::fs::read_to_string(&file).expect("written");
    let text = text
        .replace("dir:app", &format!("{}/try/app:1", registry.address()))
        .replace("command: [\"./fixture\"]", "args: [env, WORD]");
    std::fs::write(&file, text).expect("written");
    let run = || {
        let (code, said) = stage.up(&file, &["--once"]).wait();
        assert_eq!(code, 0, "{said:#?}");
        assert!(said.iter().any(|line| line.contains("| pulled-word")), "{said:#?}");
        said
    };
    let said = run();
    assert!(said.iter().any(|line| line.contains("trying again in 0.")), "{said:#?}");
    let moved = registry.requests();
    // The configuration, the layer that was cut, the layer.
    assert_eq!(moved.iter().filter(|request| request.path.contains("/blobs/")).count(), 3, "{moved:?}");

    registry.refuse();
    let said = run();
    assert!(!said.iter().any(|line| line.contains("pulling")), "{said:#?}");
    stage.assert_nothing_left();
}
