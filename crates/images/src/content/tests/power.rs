//! A machine that lost its power, seen by who wants an image: files that never reached the disk are made again.

use super::*;
use crate::platform::{Host, Isolation};
use crate::policy::PullPolicy;
use crate::progress::Caller;
use crate::reference::Reference;
use crate::registry::Access;
use crate::sample::Sample;
use crate::source::Source;
use crate::store::{Files, Store, Wanted};

/// What the disk has after the power came back: the layer under its name, of another boot, with an empty file.
fn lose_power(image: &Path) {
    let place = image.parent().unwrap();
    for note in ["layer.json", "flat.json"] {
        let path = place.join(note);
        if let Ok(text) = std::fs::read_to_string(&path) {
            let boot = os::host::boot_id().unwrap();
            assert!(text.contains(&boot), "{text}");
            std::fs::write(&path, text.replace(&boot, "the boot before")).unwrap();
        }
    }
    std::fs::write(image.join("a"), "").unwrap();
}

fn files(files: &Files) -> &Path {
    match files {
        Files::Dir(dir) => dir,
        Files::Layers { lower, .. } => &lower[0],
    }
}

#[test]
fn an_image_that_power_loss_hit_is_made_again_from_its_blobs() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("x.tar");
    Sample::default().image("linux", &[("a", "the whole of it")]).write(&archive);
    let open = || Store::open(&dir.path().join("images")).unwrap();
    let name = Reference::parse("example.com/app:1").unwrap();
    open().load(&archive, &name, "linux", "amd64").unwrap();
    std::fs::remove_file(&archive).unwrap();
    let (source, host, access) = (Source::Reference(name), Host::new("linux", "amd64"), Access::default());
    let (policy, isolation) = (Some(PullPolicy::Never), Isolation::HostProcess);
    let wanted = Wanted { source: &source, policy, host: &host, isolation, access: &access, pin: None };
    let ensured = || open().ensure(&wanted, Caller::silent()).unwrap();
    let body = |image: &crate::store::Image| std::fs::read_to_string(files(&image.files).join("a")).unwrap();
    lose_power(files(&ensured().files));
    assert_eq!(body(&ensured()), "the whole of it");
    if open().content().settle().unwrap() > 0 {
        lose_power(files(&ensured().files));
        assert_eq!(body(&ensured()), "", "what was synced is trusted: this can only be somebody's doing");
    }
}
