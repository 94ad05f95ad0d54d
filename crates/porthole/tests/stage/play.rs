//! A root directory, an image and pods on a stage, and porthole at work on them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use testbed::image::{self, ImageBuilder, Layer};
use testbed::wine::{Sim, Wine, WineBuilder};

use super::eventually;
use super::host::{Host, Output, Seen, Started};

#[derive(Debug)]
pub(crate) struct Stage {
    pub host: Host,
    dir: tempfile::TempDir,
}

/// A porthole in the background, mostly `up`, with everything it says.
#[derive(Debug)]
pub(crate) struct Running<'s> {
    stage: &'s Stage,
    started: Started,
    said: Arc<Mutex<Vec<String>>>,
    readers: Vec<JoinHandle<()>>,
}

// === impl Stage ===

impl Stage {
    pub(crate) fn twin() -> Stage {
        let dir = tempfile::tempdir().unwrap();
        Stage::new(Host::Twin { dir: dir.path().to_owned() }, dir)
    }

    pub(crate) fn wine() -> Stage {
        Stage::on_wine(Wine::builder())
    }

    /// Wine with the simulated libraries of `testbed/sim`, and what they were asked.
    pub(crate) fn simulated() -> (Stage, Sim) {
        let stage = Stage::on_wine(Wine::builder().simulated().unwrap());
        let Host::Wine { wine } = &stage.host else { unreachable!("made so above") };
        let sim = wine.sim().unwrap();
        (stage, sim)
    }

    /// Windows of this build.
    pub(crate) fn of_build(build: u32) -> Stage {
        Stage::on_wine(Wine::builder().registry(
            r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion",
            "CurrentBuildNumber",
            build.to_string(),
        ))
    }

    fn on_wine(builder: WineBuilder) -> Stage {
        let dir = tempfile::tempdir().unwrap();
        let program = |name: &str| {
            let path = PathBuf::from(std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set")));
            path.parent().unwrap().to_owned()
        };
        let builder = builder
            .bind(dir.path())
            .bind(program("PORTHOLE_EXE"))
            .bind(program("FIXTURE_EXE"))
            .bind(super::examples());
        Stage::new(Host::Wine { wine: builder.start().unwrap() }, dir)
    }

    fn new(host: Host, dir: tempfile::TempDir) -> Stage {
        let app = dir.path().join("app");
        fs::create_dir(&app).unwrap();
        let (_, fixture) = host.programs();
        fs::copy(&fixture, app.join(fixture.file_name().unwrap())).unwrap();
        Stage { host, dir }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    pub(crate) fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    /// Writes a pod of one container that runs the fixture with these arguments; its file.
    pub(crate) fn pod(&self, name: &str, arguments: &[&str]) -> PathBuf {
        self.pod_with(name, arguments, "")
    }

    /// The same with more lines for the pod's spec, indented by two.
    pub(crate) fn pod_with(&self, name: &str, arguments: &[&str], spec: &str) -> PathBuf {
        let words: Vec<_> = ["./fixture"].iter().chain(arguments).map(|word| format!("{word:?}")).collect();
        let text = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  hostNetwork: true\n\
             \x20 terminationGracePeriodSeconds: 20\n{spec}\
             \x20 securityContext: {{windowsOptions: {{hostProcess: true}}}}\n\
             \x20 containers:\n  - name: main\n    image: dir:app\n    command: [{}]\n",
            words.join(", ")
        );
        self.file(&format!("{name}.yaml"), &text)
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes an OCI archive of an image for this host that runs the fixture.
    pub(crate) fn archive(&self, name: &str) {
        let (_, fixture) = self.host.programs();
        let image = match self.host {
            Host::Twin { .. } => {
                let layer = Layer::new().host_file("bin/fixture", &fixture, 0o755).unwrap();
                ImageBuilder::new("linux", "amd64").layer(layer).entrypoint(["/bin/fixture"])
            }
            Host::Wine { .. } => image::windows_program(&fixture).unwrap(),
        };
        image.env("FROM_IMAGE", "yes").write_oci_archive(self.dir.path().join(name)).unwrap();
    }

    fn arguments(&self, verb: &str, rest: &[&str]) -> Vec<String> {
        let root = ["--root".to_owned(), self.host.path(&self.root())];
        let verb = std::iter::once(verb.to_owned());
        verb.chain(root).chain(rest.iter().map(|word| (*word).to_owned())).collect()
    }

    /// Runs porthole to its end.
    pub(crate) fn porthole(&self, verb: &str, rest: &[&str]) -> Output {
        self.run(&self.arguments(verb, rest))
    }

    /// Runs porthole with exactly these arguments.
    pub(crate) fn run(&self, arguments: &[String]) -> Output {
        self.host.run(&self.host.programs().0, arguments)
    }

    /// `porthole up` of this file, running.
    pub(crate) fn up(&self, file: &std::path::Path, rest: &[&str]) -> Running<'_> {
        self.start("up", &[&[self.host.path(file).as_str()], rest].concat())
    }

    /// Any verb, running.
    pub(crate) fn start(&self, verb: &str, rest: &[&str]) -> Running<'_> {
        self.begin(&self.arguments(verb, rest))
    }

    /// Exactly these arguments, running.
    pub(crate) fn begin(&self, arguments: &[String]) -> Running<'_> {
        let mut started = self.host.start(&self.host.programs().0, arguments);
        let said = Arc::new(Mutex::new(Vec::new()));
        let (stdout, stderr) = started.streams();
        let read = |stream| {
            let said = said.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    said.lock().unwrap().push(line);
                }
            })
        };
        let readers = [stdout, stderr].map(read).into();
        Running { stage: self, started, said, readers }
    }

    /// `porthole ps -o json`.
    pub(crate) fn ps(&self) -> Value {
        let output = self.porthole("ps", &["-o", "json"]);
        assert_eq!(output.code, 0, "{}", output.stderr);
        serde_json::from_str(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", output.stdout))
    }

    /// The first container of the only pod.
    pub(crate) fn container(&self) -> Value {
        self.ps()[0]["containers"][0].clone()
    }

    pub(crate) fn holder(&self) -> Seen {
        eventually("a holder runs", || self.host.processes().into_iter().find(Seen::is_holder))
    }

    /// The containers' own processes.
    pub(crate) fn workers(&self) -> Vec<Seen> {
        self.host.processes().into_iter().filter(|seen| !seen.is_holder() && !seen.is_guard()).collect()
    }

    /// kill -9 of the only holder; its containers are gone at once.
    pub(crate) fn kill_the_holder(&self) {
        let holder = self.holder();
        let (begun, limit) = (Instant::now(), self.host.at_once());
        holder.kill();
        eventually("the containers end", || self.workers().is_empty().then_some(()));
        let took = begun.elapsed();
        assert!(took < limit, "the containers outlived their holder by {took:?}, more than {limit:?}");
    }

    /// No process, job, mount, socket or pod directory is left of the play, and no image is kept for it.
    pub(crate) fn assert_nothing_left(&self) {
        self.assert_left(&[]);
    }

    /// The same where the last porthole was killed: its note is there, for the next one.
    pub(crate) fn assert_a_note_is_left(&self) {
        self.assert_left(&["run/tenure"]);
    }

    fn assert_left(&self, wanted: &[&str]) {
        eventually("no process is left", || self.host.processes().is_empty().then_some(()));
        let names = |dir: &str| {
            let entries = fs::read_dir(self.root().join(dir)).unwrap();
            entries.map(|e| format!("{dir}/{}", e.unwrap().file_name().display())).collect::<Vec<_>>()
        };
        assert_eq!([names("pods"), names("run")].concat(), wanted);
        let pins = fs::read_dir(self.root().join("images/pins")).unwrap().count();
        assert_eq!(pins, 0, "images are kept for pods that are gone");
        // Where containers saw their images, and their copies of these.
        let seen = match &self.host {
            Host::Twin { .. } => ["hpc", "hpc-images"].map(|name| self.root().join(name)),
            Host::Wine { wine } => [r"C:\hpc", r"C:\hpc-images"].map(|dir| wine.host_path(dir).unwrap()),
        };
        let left = seen.iter().filter_map(|dir| fs::read_dir(dir).ok()).flatten();
        assert_eq!(left.map(|entry| entry.unwrap().path()).collect::<Vec<_>>(), Vec::<PathBuf>::new());
        if let Host::Twin { dir } = &self.host {
            let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
            assert!(!mounts.contains(dir.to_str().unwrap()), "{mounts}");
            assert_eq!(self.jobs(), Vec::<PathBuf>::new());
        }
    }

    /// The control groups of this root, in whichever version.
    pub(crate) fn jobs(&self) -> Vec<PathBuf> {
        let layout = runtime::layout::Layout::new(&self.root());
        let any = runtime::ContainerId::of(&runtime::PodId::parse("x").unwrap(), "x", 0);
        let parent = layout.job(&any).parent;
        testbed::cgroup::groups(&parent).unwrap()
    }
}

/// A test that fails must not leave its containers to the next one.
impl Drop for Stage {
    fn drop(&mut self) {
        if let Host::Twin { .. } = self.host {
            for seen in self.host.processes() {
                seen.end();
            }
        }
    }
}

// === impl Running ===

impl Running<'_> {
    pub(crate) fn said(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }

    /// Waits for a line with these words; the line.
    pub(crate) fn wait_for(&self, words: &str) -> String {
        let find = || self.said().into_iter().find(|line| line.contains(words));
        let deadline = Instant::now() + super::PATIENCE;
        loop {
            if let Some(line) = find() {
                return line;
            }
            assert!(Instant::now() < deadline, "never said {words:?}, but: {:#?}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// kill -9, from outside.
    pub(crate) fn kill(mut self) {
        self.started.kill();
    }

    /// Ctrl-C for `up`.
    pub(crate) fn interrupt(&self) {
        match &self.stage.host {
            Host::Twin { .. } => {
                let Started::Twin(child) = &self.started else { unreachable!("a twin's stage") };
                let sent =
                    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
                assert!(sent.unwrap().success());
            }
            Host::Wine { wine } => {
                // The agent's process id in Windows' own numbers.
                let pid = fs::read_to_string(self.stage.root().join("lock.pid")).unwrap();
                let (_, fixture) = self.stage.host.programs();
                let sent = wine.run(&fixture, ["interrupt", pid.trim()], super::PATIENCE).unwrap();
                assert_eq!(sent.code, 0, "{sent:?}");
            }
        }
    }

    pub(crate) fn wait(mut self) -> (i32, Vec<String>) {
        let code = self.started.wait();
        // Under Wine others may keep the pipes open: what was said has arrived long before this limit.
        let limit = Instant::now() + Duration::from_secs(1);
        while !self.readers.iter().all(JoinHandle::is_finished) && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(5));
        }
        (code, self.said())
    }
}
