//! Images that are small to send and large to remember.

use std::process::Command;

use images::unpack::UnpackError;
use images::{Caller, ImageError, Reference, Store};
use testbed::image::{Image, ImageBuilder, Layer};

use crate::support::{World, pull};

const STORE: &str = "TWIN_PULL_HOSTILE_STORE";
const REFERENCE: &str = "TWIN_PULL_HOSTILE_REFERENCE";
/// What the whole process may need, of which the names are the most.
const MOST_MEMORY: u64 = 350 << 20;

/// As long as a name may be: 70 directories of its own in some that all names share.
fn deep(layer: u32, number: u32) -> String {
    let shared = format!("{}/", "x".repeat(249)).repeat(12);
    format!("{shared}{}f", format!("{layer:05}{number:09}/").repeat(70))
}

/// Layers of some kilobytes that need 200 MiB each, because all their directories are implied.
fn deep_image() -> Image {
    let layer = |layer| {
        let mut tar = tar::Builder::new(Vec::new());
        for number in 0..280 {
            let mut header = tar::Header::new_gnu();
            header.set_size(0);
            tar.append_data(&mut header, deep(layer, number), &[][..]).unwrap();
        }
        Layer::of_tar(tar.into_inner().unwrap())
    };
    let builder = ImageBuilder::new("linux", "amd64").entrypoint(["/bin/app"]);
    (0..4).map(layer).fold(builder, ImageBuilder::layer).build().unwrap()
}

/// The most memory this process ever had.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
}

/// Each layer alone would pass. The process that pulls is this test again, told by a variable.
#[test]
fn layers_side_by_side_share_what_their_names_may_take() {
    if let Ok(store) = std::env::var(STORE) {
        return work(&store);
    }
    let world = World::with(&deep_image());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "hostile::layers_side_by_side_share_what_their_names_may_take", "--nocapture"]);
    command.env(STORE, world.dir()).env(REFERENCE, world.reference("try/app:1").to_string());
    let ended = command.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{ended:?}");
    let peak =
        said.lines().find_map(|line| line.strip_prefix("refused at ")).unwrap_or_else(|| panic!("{said}"));
    assert!(peak.parse::<u64>().unwrap() < MOST_MEMORY, "{peak} bytes");
    world.assert_sound(true);
}

fn work(store: &str) {
    let store = Store::open(store.as_ref()).unwrap();
    let reference = Reference::parse(&std::env::var(REFERENCE).expect("set with the store")).unwrap();
    let pulled = pull(&store, &reference, Caller::silent());
    let refused = matches!(pulled, Err(ImageError::Layer { source: UnpackError::Names { .. }, .. }));
    println!("{} at {}", if refused { "refused" } else { "taken" }, peak());
}
