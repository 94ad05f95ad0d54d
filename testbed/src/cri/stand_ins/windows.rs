//! The stand-ins for Windows: what critest.exe asks for, from our own program.

use std::path::Path;

use anyhow::Result;

use super::{BUSYBOX, CRI_TOOLS, NGINX, Named, without_registry};
use crate::image::{Image, ImageBuilder, Layer, windows_program};
use crate::registry::Registry;

/// The program that all of them have at their root, under the name that its file has.
pub const PROGRAM: &str = "fixture.exe";

/// Puts all of them into a registry; `fixture` is the Windows program that serves and waits.
pub fn push(registry: &Registry, fixture: &Path) -> Result<()> {
    // Where containers of Windows images start.
    let waiting = windows_program(fixture)?.entrypoint([PROGRAM, "pause"]).workdir(r"C:\");
    let serving = waiting.clone().entrypoint([PROGRAM, "web", "80", "nginx"]);
    let mut all = vec![
        Named { name: without_registry(BUSYBOX), image: waiting.build()? },
        Named { name: without_registry(NGINX), image: serving.build()? },
        Named { name: "pause:3.9".into(), image: marked(&waiting, "pause")? },
    ];
    for name in ["latest:latest", "tag:test", "tag:all", "1:latest", "2:latest", "3:latest"] {
        all.push(tool_image(name, marked(&waiting, name)?));
    }
    // Three tags of one image.
    let same = marked(&waiting, "tags")?;
    for tag in 1..=3 {
        all.push(tool_image(&format!("tags:{tag}"), same.clone()));
    }
    all.iter().try_for_each(|named| registry.push(&named.image, &named.name))
}

fn marked(base: &ImageBuilder, name: &str) -> Result<Image> {
    base.clone().layer(Layer::new().directory("Hives", 0o755).file("Files/test-image", name, 0o644)).build()
}

fn tool_image(name: &str, image: Image) -> Named {
    Named { name: format!("{CRI_TOOLS}/win-test-image-{name}"), image }
}
