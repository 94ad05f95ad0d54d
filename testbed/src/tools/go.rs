//! Programs written in Go, built from the module proxy with the versions that our `go.mod` files pin.
//!
//! A build is pure Go (no C compiler, runs in any chroot) and keyed by tool, version and target system.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::cache::Entry;
use super::{progress, repo_root};

/// One Go program that [`go_tool`] can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoTool {
    pub name: &'static str,
    /// Directory of the Go module that pins the version, from the repository's root.
    pub module: &'static str,
    pub package: &'static str,
    pub version: &'static str,
    pub goos: &'static str,
    /// Added to `-s -w`.
    pub ldflags: &'static str,
    /// Some programs are published as Go tests only (`critest`).
    pub is_test: bool,
}

const WINDOWS: &str = "windows";
/// The newest that a module of ours asks for; README says so too.
const NEEDED: &str = "needs Go 1.26.6 or newer";

const KUBERNETES: GoTool = GoTool {
    name: "",
    module: "testbed/control-plane",
    package: "",
    version: "v1.36.3",
    goos: "linux",
    // Without it kubeadm thinks that it is v0.0.0 and refuses.
    ldflags: "-X k8s.io/component-base/version.gitVersion=v1.36.3",
    is_test: false,
};

const CONTAINERD: GoTool = GoTool {
    module: "testbed/go-tools/containerd",
    version: "v2.4.2",
    ldflags: "-X github.com/containerd/containerd/v2/version.Version=v2.4.2",
    ..KUBERNETES
};

const CRI_TOOLS: GoTool = GoTool {
    module: "testbed/go-tools/cri-tools",
    version: "v1.36.0",
    ldflags: "-X sigs.k8s.io/cri-tools/pkg/version.Version=v1.36.0",
    ..KUBERNETES
};

/// Every Go program the tests and benches use.
pub const GO_TOOLS: &[GoTool] = &[
    GoTool { name: "kube-apiserver", package: "k8s.io/kubernetes/cmd/kube-apiserver", ..KUBERNETES },
    GoTool {
        name: "kube-controller-manager",
        package: "k8s.io/kubernetes/cmd/kube-controller-manager",
        ..KUBERNETES
    },
    GoTool { name: "kube-scheduler", package: "k8s.io/kubernetes/cmd/kube-scheduler", ..KUBERNETES },
    GoTool { name: "kubeadm", package: "k8s.io/kubernetes/cmd/kubeadm", ..KUBERNETES },
    GoTool { name: "kubectl", package: "k8s.io/kubernetes/cmd/kubectl", ..KUBERNETES },
    GoTool { name: "kubelet", package: "k8s.io/kubernetes/cmd/kubelet", ..KUBERNETES },
    GoTool { name: "agnhost", package: "k8s.io/kubernetes/test/images/agnhost", ..KUBERNETES },
    GoTool {
        name: "etcd",
        module: "testbed/go-tools/etcd",
        package: "go.etcd.io/etcd/server/v3",
        version: "v3.6.5",
        ldflags: "",
        ..KUBERNETES
    },
    GoTool {
        name: "kubeconform",
        module: "testbed/go-tools/kubeconform",
        package: "github.com/yannh/kubeconform/cmd/kubeconform",
        version: "v0.8.0",
        ldflags: "-X main.version=v0.8.0",
        ..KUBERNETES
    },
    GoTool {
        name: "registry",
        module: "testbed/go-tools/registry",
        package: "github.com/distribution/distribution/v3/cmd/registry",
        version: "v3.0.0",
        ldflags: "",
        ..KUBERNETES
    },
    GoTool {
        name: "containerd",
        package: "github.com/containerd/containerd/v2/cmd/containerd",
        ..CONTAINERD
    },
    GoTool {
        name: "containerd-shim-runc-v2",
        package: "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
        ..CONTAINERD
    },
    GoTool { name: "ctr", package: "github.com/containerd/containerd/v2/cmd/ctr", ..CONTAINERD },
    GoTool { name: "crictl", package: "sigs.k8s.io/cri-tools/cmd/crictl", ..CRI_TOOLS },
    GoTool { name: "critest", package: "sigs.k8s.io/cri-tools/cmd/critest", is_test: true, ..CRI_TOOLS },
];

/// Whether these are here or can be built, for whoever will need one much later.
pub fn can_be_had(names: &[&str]) -> Result<()> {
    let tools = names.iter().map(|name| in_table(name)).collect::<Result<Vec<_>>>()?;
    if tools.iter().all(|tool| tool.entry().is_there()) { Ok(()) } else { must_be_there() }
}

fn must_be_there() -> Result<()> {
    let asked = Command::new("go").arg("version").output();
    asked.map(drop).with_context(|| format!("look for go ({NEEDED})"))
}

/// The path of a Go program, built on first use.
///
/// ```no_run
/// let kubectl = testbed::tools::go_tool("kubectl")?;
/// # anyhow::Ok(())
/// ```
pub fn go_tool(name: &str) -> Result<PathBuf> {
    in_table(name)?.provide()
}

/// The path of a Go program for Windows, built on first use; it needs Wine to run here.
pub fn windows_go_tool(name: &str) -> Result<PathBuf> {
    GoTool { goos: WINDOWS, ..*in_table(name)? }.provide()
}

fn in_table(name: &str) -> Result<&'static GoTool> {
    let tool = GO_TOOLS.iter().find(|tool| tool.name == name);
    tool.with_context(|| format!("no Go tool {name} in the table of testbed::tools::go"))
}

// === impl GoTool ===

impl GoTool {
    /// The path of the program, built if it is not in the cache.
    pub fn provide(&self) -> Result<PathBuf> {
        let file = self.file_name();
        let dir = self.entry().provide(|dir| self.build(&dir.join(&file)))?;
        Ok(dir.join(&file))
    }

    fn entry(&self) -> Entry {
        let Self { name, version, goos, .. } = self;
        Entry::new(format!("go/{name}-{version}-{goos}"), format!("build {name} {version} ({goos})"))
    }

    fn file_name(&self) -> String {
        let suffix = if self.goos == WINDOWS { ".exe" } else { "" };
        format!("{}{suffix}", self.name)
    }

    fn build(&self, output: &Path) -> Result<()> {
        let module = repo_root()?.join(self.module);
        let mut go = Command::new("go");
        go.args(if self.is_test { &["test", "-c"][..] } else { &["build"] });
        go.args(["-trimpath", "-ldflags", &self.link_flags(), "-o"]).arg(output).arg(self.package);
        go.current_dir(&module).env("CGO_ENABLED", "0").env("GOOS", self.goos).env("GOWORK", "off");
        progress::run(&mut go)
            .with_context(|| format!("build {} in {} ({NEEDED})", self.package, module.display()))?;
        Ok(())
    }

    fn link_flags(&self) -> String {
        format!("-s -w {}", self.ldflags).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_complete() {
        let names: HashSet<_> = GO_TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), GO_TOOLS.len());
        assert!(GO_TOOLS.iter().all(|tool| !tool.name.is_empty() && !tool.package.is_empty()));
    }

    #[test]
    fn each_version_is_the_one_its_module_pins() {
        let root = repo_root().expect("root");
        for tool in GO_TOOLS {
            let path = root.join(tool.module).join("go.mod");
            let pins = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let pinned = pins.lines().any(|line| {
                let mut words = line.trim().trim_start_matches("require ").split_whitespace();
                let module = words.next().unwrap_or_default();
                !module.is_empty() && tool.package.starts_with(module) && words.next() == Some(tool.version)
            });
            assert!(pinned, "{} does not require {} {}", path.display(), tool.package, tool.version);
        }
    }

    #[test]
    fn a_windows_program_is_named_as_windows_wants_it() {
        assert_eq!(GoTool { name: "kubelet", ..KUBERNETES }.file_name(), "kubelet");
        assert_eq!(GoTool { name: "kubelet", goos: WINDOWS, ..KUBERNETES }.file_name(), "kubelet.exe");
    }

    #[test]
    fn an_unknown_tool_is_named() {
        assert!(go_tool("kubectx").expect_err("unknown").to_string().contains("kubectx"));
    }
}
