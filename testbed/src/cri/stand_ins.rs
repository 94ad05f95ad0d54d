//! Stand-ins for the images that critest and kubelets ask for, made here because no public registry can be reached.
//!
//! Each offers what the original is wanted for: users and groups, tags, a shell, a web server at its port, a program
//! with another's rights. Only a digest cannot be had this way.

use std::path::Path;

use anyhow::Result;

use crate::image::{Image, ImageBuilder, Layer, busybox, linux};
use crate::registry::Registry;

pub mod windows;

/// The image whose shell most specs use; its name as a client writes it.
pub const BUSYBOX: &str = "registry.k8s.io/e2e-test-images/busybox:1.29-2";
/// A web server at port 80.
pub const NGINX: &str = "registry.k8s.io/e2e-test-images/nginx:1.14-2";
/// What containerd and kubelets take for a sandbox.
pub const PAUSE: &str = "registry.k8s.io/pause:3.10.2";

/// Programs that the originals' busybox has and Debian's has not, each as far as specs use it.
pub(super) const PROGRAMS: &[(&str, &str)] = &[
    ("ipcs", "#!/bin/sh\n# -m\nexec /bin/busybox awk '{print $1, $2}' /proc/sysvipc/shm\n"),
    ("pgrep", "#!/bin/sh\nexec /bin/busybox pidof \"$1\"\n"),
];

const CRI_TOOLS: &str = "k8s-staging-cri-tools";
/// The accounts that the originals have, from their Dockerfiles and from busybox's own files.
const PASSWD: &str = "\
root:x:0:0:root:/root:/bin/sh
www-data:x:33:33:www-data:/var/www:/bin/false
nobody:x:65534:65534:nobody:/home:/bin/false
default-user:x:1000:1000::/home/default-user:/bin/sh
";
const GROUP: &str = "\
root:x:0:
www-data:x:33:
users:x:100:
nogroup:x:65534:
default-user:x:1000:
group-defined-in-image:x:50000:default-user
";

/// One image under one name, without the registry.
struct Named {
    name: String,
    image: Image,
}

/// Puts all of them into a registry; `fixture` is the static program that serves, waits and tells.
pub fn push(registry: &Registry, fixture: &Path) -> Result<()> {
    let base = base()?;
    let all = [shells(&base)?, users(&base)?, servers(&base, fixture)?];
    all.iter().flatten().try_for_each(|named| registry.push(&named.image, &named.name))
}

/// Images of a shell and a file that tells them apart.
fn shells(base: &ImageBuilder) -> Result<Vec<Named>> {
    let mut all = vec![Named { name: without_registry(BUSYBOX), image: base.build()? }];
    for name in [
        "image-latest:latest",
        "image-tag:test",
        "image-tag:all",
        "image-1:latest",
        "image-2:latest",
        "image-3:latest",
    ] {
        all.push(tool_image(name, marked(base, name))?);
    }
    // Three tags of one image.
    let same = marked(base, "image-tags");
    for tag in 1..=3 {
        all.push(tool_image(&format!("image-tags:{tag}"), same.clone())?);
    }
    Ok(all)
}

/// Images that say who runs their processes.
fn users(base: &ImageBuilder) -> Result<Vec<Named>> {
    let of = |name: &str, user: &str| tool_image(&format!("image-{name}:latest"), base.clone().user(user));
    Ok(vec![
        of("user-uid", "1002")?,
        of("user-username", "www-data")?,
        of("user-uid-group", "1003:users")?,
        of("user-username-group", "www-data:100")?,
        of("predefined-group", "1000")?,
    ])
}

fn servers(base: &ImageBuilder, fixture: &Path) -> Result<Vec<Named>> {
    let program = Layer::new().host_file("usr/sbin/nginx", fixture, 0o755)?.directory("var/run", 0o755);
    let nginx = |port: &str| {
        let words = ["/usr/sbin/nginx", "web", port, "nginx: master process", "/var/run/nginx.pid"];
        base.clone().layer(program.clone()).entrypoint(words).cmd([""; 0])
    };
    let httpd = Layer::new().host_file("usr/sbin/httpd-stand-in", fixture, 0o755)?;
    let words = ["/usr/sbin/httpd-stand-in", "web", "80", "httpd"];
    let httpd = base.clone().layer(httpd).entrypoint(words).cmd([""; 0]);
    let escalating = Layer::new().host_file("nnp", fixture, 0o4755)?;
    let escalating = base.clone().layer(escalating).entrypoint(["/nnp", "effective-uid"]).cmd([""; 0]);
    let waiting = Layer::new().host_file("pause", fixture, 0o755)?;
    // One spec counts the tags of 3.9: the newer one must be another image.
    let pause = |version: &str| -> Result<Image> {
        let version = Layer::new().file("version", version, 0o644);
        linux()
            .layer(waiting.clone())
            .layer(version)
            .entrypoint(["/pause", "pause"])
            .user("65535:65535")
            .build()
    };
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    Ok(vec![
        Named { name: without_registry(NGINX), image: nginx("80").build()? },
        Named { name: format!("{CRI_TOOLS}/hostnet-nginx-{arch}:latest"), image: nginx("12003").build()? },
        Named { name: "e2e-test-images/httpd:2.4.39-4".into(), image: httpd.build()? },
        Named { name: "e2e-test-images/nonewprivs:1.3".into(), image: escalating.build()? },
        Named { name: "pause:3.9".into(), image: pause("3.9")? },
        Named { name: without_registry(PAUSE), image: pause("3.10.2")? },
    ])
}

fn base() -> Result<ImageBuilder> {
    let accounts = Layer::new().file("etc/passwd", PASSWD, 0o644).file("etc/group", GROUP, 0o644);
    let with = |layer: Layer, (name, text): &(&str, &str)| layer.file(&format!("bin/{name}"), *text, 0o755);
    // One spec hides `ls` and nothing else, so it is no link to the whole.
    let programs = PROGRAMS.iter().fold(accounts, with).host_file("bin/ls", "/bin/busybox", 0o755)?;
    Ok(busybox()?.layer(programs))
}

fn marked(base: &ImageBuilder, name: &str) -> ImageBuilder {
    base.clone().layer(Layer::new().file("test-image", name, 0o644))
}

fn tool_image(name: &str, image: ImageBuilder) -> Result<Named> {
    Ok(Named { name: format!("{CRI_TOOLS}/test-{name}"), image: image.build()? })
}

fn without_registry(name: &str) -> String {
    name.split_once('/').map_or(name, |(_, rest)| rest).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_registry_is_without_the_registry() {
        assert_eq!(without_registry(BUSYBOX), "e2e-test-images/busybox:1.29-2");
        assert_eq!(without_registry("plain"), "plain");
    }
}
