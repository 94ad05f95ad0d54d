//! Simulated system libraries in a [`Wine`](super::Wine): what they were asked, and what they are to answer.
//!
//! What is proved with them is proved at the level `sim`: that our program makes the right calls in the right order and
//! understands the answers, not that Windows does what we think. See `testbed/sim`.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context, Result};

use super::{Wine, WineBuilder};
use crate::tools::windows;

/// Where the libraries keep their state, on the machine's drive C.
const PLACE: &str = "drive_c/porthole-sim";
/// The names under which the one library is installed.
const NAMES: [&str; 3] = ["bindfltapi.dll", "computenetwork.dll", "netapi32.dll"];
/// And those that a stock kubelet needs beside them.
const KUBELETS: [&str; 2] = ["pdh.dll", "vmcompute.dll"];

/// Built once by each test program.
fn library() -> Result<PathBuf> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    match BUILT.get() {
        Some(library) => Ok(library.clone()),
        None => windows::build_dll("sim", "dev").map(|library| BUILT.get_or_init(|| library).clone()),
    }
}

/// The simulation's state, seen from outside.
#[derive(Debug)]
pub struct Sim {
    place: PathBuf,
}

// === impl WineBuilder ===

impl WineBuilder {
    /// Installs the simulated libraries; builds them on first use.
    pub fn simulated(self) -> Result<Self> {
        self.simulated_as(&NAMES)
    }

    /// Installs the simulated libraries, with those that a stock kubelet cannot do without.
    pub fn simulated_for_kubelet(self) -> Result<Self> {
        self.simulated()?.simulated_as(&KUBELETS)
    }

    pub(super) fn simulated_as(self, names: &[&str]) -> Result<Self> {
        let library = library()?;
        let dir = library.parent().context("a library has a directory")?.join("simulated");
        fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
        let mut builder = self;
        for name in names {
            let to = dir.join(name);
            // Another test may be copying the file as it is: a name that appears is whole.
            let half = dir.join(format!("{name}-{}-{:?}", std::process::id(), std::thread::current().id()));
            fs::copy(&library, &half)
                .and_then(|_| fs::rename(&half, &to))
                .with_context(|| format!("make {}", to.display()))?;
            builder = builder.dll(to);
        }
        Ok(builder)
    }
}

// === impl Wine ===

impl Wine {
    /// The state of the libraries that [`WineBuilder::simulated`] installed.
    pub fn sim(&self) -> Result<Sim> {
        let place = self.prefix().join(PLACE);
        for dir in ["users", "groups", "networks", "namespaces"] {
            let dir = place.join(dir);
            fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
        }
        Ok(Sim { place })
    }
}

// === impl Sim ===

impl Sim {
    /// What was called and answered, in order.
    pub fn calls(&self) -> Vec<String> {
        self.lines("calls")
    }

    /// The calls of one function.
    pub fn calls_of(&self, function: &str) -> Vec<String> {
        let start = format!("{function} ");
        self.calls().into_iter().filter(|call| call.starts_with(&start)).collect()
    }

    /// From now on calls of the function whose record holds the text are answered so.
    pub fn fault(&self, function: &str, text: &str, answer: u32) -> Result<()> {
        let path = self.place.join("faults");
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let line = format!("{function} {text} {answer:#x}\n");
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .with_context(|| format!("write {}", path.display()))
    }

    pub fn forget_faults(&self) -> Result<()> {
        self.write("faults", "")
    }

    /// A local group without members.
    pub fn group(&self, name: &str) -> Result<()> {
        self.write(&format!("groups/{}", name.to_ascii_lowercase()), "")
    }

    /// The identifiers in a group.
    pub fn members(&self, group: &str) -> Vec<String> {
        self.lines(&format!("groups/{}", group.to_ascii_lowercase()))
    }

    /// A local user that is not ours.
    pub fn user(&self, name: &str, password: &str) -> Result<()> {
        let text = format!("{name}\n900\n{password}\n513\nsomebody\n");
        self.write(&format!("users/{}", name.to_ascii_lowercase()), &text)
    }

    /// The names of all local users.
    pub fn users(&self) -> Vec<String> {
        self.names("users")
    }

    /// Joins the host to a domain which has these managed accounts.
    pub fn join_domain(&self, name: &str, managed: &[&str]) -> Result<()> {
        self.write("domain", &format!("{name}\n{}\n", managed.join("\n")))
    }

    /// A network of the host, as its network service lists it.
    pub fn network(&self, id: &str) -> Result<()> {
        self.write(&format!("networks/{id}"), "{}")
    }

    /// The identifiers of the network namespaces that there are.
    pub fn namespaces(&self) -> Vec<String> {
        self.names("namespaces")
    }

    fn names(&self, dir: &str) -> Vec<String> {
        let files = fs::read_dir(self.place.join(dir)).into_iter().flatten().flatten();
        let mut names: Vec<_> = files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.place.join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.place.join(name);
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))
    }
}
