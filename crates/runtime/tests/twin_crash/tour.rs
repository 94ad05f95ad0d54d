//! Every verb once, over containers that need everything a container can need.

use std::fs;
use std::path::Path;
use std::time::Duration;

use holder::protocol::Rotate;
use os::job::JobLimits;
use runtime::config::{ContainerConfig, Mode, Termination, TerminationPolicy};
use runtime::logs::LogReader;
use runtime::{ContainerId, PodId};

use crate::agent::Agent;

const GRACE: Duration = Duration::from_secs(20);

// === impl Agent ===

impl Agent {
    /// Goes on whatever a verb answers, and ends with nothing left.
    pub(crate) fn tour(&self) {
        let pods = [("bound", Mode::Bind), ("linked", Mode::Symlink)]
            .map(|(name, mode)| self.run_pod(self.place.pod(name, mode)));
        let [Some(bound), Some(linked)] = pods else { panic!("no pod needs a holder to be there") };
        let main = self.begin(&bound, self.with_everything());
        let links = self.begin(&linked, self.with_links());
        if let Some(links) = &links {
            self.use_while_it_runs(links);
        }
        self.talk_and_end(&bound);
        if let Some(links) = &links {
            self.stop(links, GRACE);
        }
        if let Some(main) = &main {
            self.stop(main, Duration::ZERO);
            self.remove(main);
        }
        self.ledger.note(format_args!("verb stop_pod"));
        self.verb("stop_pod", self.runtime.stop_pod(&linked));
        [linked, bound].iter().for_each(|pod| self.remove_pod(pod));
        self.again();
    }

    fn begin(&self, pod: &PodId, config: ContainerConfig) -> Option<ContainerId> {
        let id = self.create(pod, config)?;
        self.start(&id, false)?;
        self.until(&id, "it is ready", || !self.said(&id).is_empty());
        Some(id)
    }

    /// A temporary user, a mount point on the host, last words.
    fn with_everything(&self) -> ContainerConfig {
        let made = self.place.path("made/for/it");
        let last_words = self.place.path("made/words").display().to_string();
        ContainerConfig {
            user: Some("games".to_owned()),
            mounts: vec![self.place.mount("outer", &made)],
            termination: Some(Termination { path: last_words, policy: TerminationPolicy::File }),
            ..self.place.container("main", &["pause"])
        }
    }

    /// A volume linked into the image, and one into that.
    fn with_links(&self) -> ContainerConfig {
        let mounts = [("outer", "/v"), ("inner", "/v/deep")];
        ContainerConfig {
            mounts: mounts.map(|(source, at)| self.place.mount(source, Path::new(at))).to_vec(),
            ..self.place.container("links", &["graceful", "bye"])
        }
    }

    fn use_while_it_runs(&self, id: &ContainerId) {
        let argv = ["./fixture", "print", "inside"].map(str::to_owned);
        self.ledger.note(format_args!("verb exec"));
        self.verb("exec", self.runtime.exec_sync(id, &argv, Some(GRACE)));
        self.ledger.note(format_args!("verb attach"));
        drop(self.verb("attach", self.runtime.attach(id, false)));
        self.ledger.note(format_args!("verb stats"));
        self.verb("stats", self.runtime.stats(id));
        self.ledger.note(format_args!("verb update"));
        let limits = JobLimits { processes: Some(50), ..JobLimits::default() };
        self.verb("update", self.runtime.update(id, limits));
        self.ledger.note(format_args!("verb reopen_log"));
        let Ok(log) = self.runtime.status(id).map(|status| status.log) else { return };
        // A kubelet does that.
        drop(fs::rename(&log, log.with_extension("moved")));
        self.verb("reopen_log", self.runtime.reopen_log(id));
    }

    /// A container whose volume is not there yet, whose log is rotated, and which ends by itself.
    fn talk_and_end(&self, pod: &PodId) {
        let source = self.place.mount("source", &self.place.path("made/of/source"));
        let config = ContainerConfig {
            rotate: Some(Rotate { max_bytes: 600, files: 3 }),
            mounts: vec![source],
            ..self.place.container("talks", &["lines", "20", "0"])
        };
        let Some(id) = self.create(pod, config) else { return };
        if self.start(&id, true).is_some() {
            self.wait(&id);
        }
        self.remove(&id);
    }

    fn said(&self, id: &ContainerId) -> String {
        let Ok(status) = self.runtime.status(id) else { return String::new() };
        let mut text = String::new();
        let read = LogReader::new(&status.log).read(|entry| {
            text.push_str(&String::from_utf8_lossy(entry.text));
            Ok(())
        });
        // A log that is not there yet says nothing.
        read.map(|_| text).unwrap_or_default()
    }

    /// Whatever happened, the next pod runs.
    fn again(&self) {
        self.ledger.note(format_args!("verb again"));
        self.place.assert_usable(&self.runtime, "again", "after the tour");
        let pod = PodId::parse("again").expect("a name");
        self.runtime.remove_pod(&pod).expect("it can be removed");
    }
}
