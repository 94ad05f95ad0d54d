//! From the runtime itself to pods and containers, and back to nothing.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testbed::cri::stand_ins::BUSYBOX;

use super::{PATIENCE, Walk, of_all};

// === impl Walk ===

impl Walk<'_> {
    pub(super) fn runtime(&mut self) -> Result<()> {
        let version = self.says(&["version"])?;
        ensure!(version.contains("porthole"), "version: {version}");
        self.saw("version", "names porthole");
        let info = self.document(&["info"])?;
        let conditions = info["status"]["conditions"].as_array().context("info has no conditions")?;
        let ready = conditions.iter().filter(|one| one["status"] == true).count();
        ensure!(ready == 2 && conditions.len() == 2, "info: {info}");
        self.saw("info", "RuntimeReady and NetworkReady");
        Ok(())
    }

    pub(super) fn images(&mut self) -> Result<()> {
        self.says(&["pull", BUSYBOX])?;
        let images = self.document(&["images", "-o", "json"])?;
        let tags: Vec<_> = of_all(&images, "images", "repoTags").collect();
        ensure!(tags == [&json!([BUSYBOX])], "images: {images}");
        self.saw("pull, images", "the image by its tag");
        Ok(())
    }

    pub(super) fn sandbox(&mut self) -> Result<()> {
        // Kubelets make it before they name it.
        let logs = self.world.make_dir("logs/walk")?;
        let config = json!({
            "metadata": {"name": "walk", "namespace": "default", "uid": "walk-1", "attempt": 0},
            "log_directory": logs,
            "windows": {"security_context": {"host_process": true}},
        });
        self.pod_file = self.world.write("pod.json", &config.to_string())?;
        self.refused_without_the_field(config.clone())?;
        self.pod = self.says(&["runp", &self.pod_file.clone()])?;
        let pods = self.document(&["pods", "-o", "json"])?;
        let states: Vec<_> = of_all(&pods, "items", "state").collect();
        ensure!(states == ["SANDBOX_READY"], "pods: {pods}");
        self.saw("runp, pods", "a HostProcess pod, SANDBOX_READY");
        Ok(())
    }

    fn refused_without_the_field(&mut self, mut config: Value) -> Result<()> {
        config["windows"] = json!({});
        let file = self.world.write("plain.json", &config.to_string())?;
        let refused = self.world.crictl(&["runp", &file], PATIENCE)?;
        let why = "not a HostProcess pod";
        ensure!(refused.code != 0 && refused.stderr.contains(why), "runp without the field: {refused:?}");
        self.saw("runp of a pod without the field", "refused: isolated containers are not supported yet");
        Ok(())
    }

    /// A container of the fixture's verb that has said its first word.
    pub(super) fn started(&mut self, name: &str, words: &[&str]) -> Result<String> {
        let command: Vec<_> = ["fixture.exe"].iter().chain(words).collect();
        let config = json!({
            "metadata": {"name": name, "attempt": 0},
            "image": {"image": BUSYBOX},
            "command": command,
            "log_path": format!("{name}.log"),
            "stdin": words == ["echo"],
            "windows": {"security_context": {"host_process": true}},
        });
        let file = self.world.write(&format!("{name}.json"), &config.to_string())?;
        let id = self.says(&["create", &self.pod, &file, &self.pod_file])?;
        let started = self.says(&["start", &id])?;
        ensure!(started == id, "start: {started}");
        self.saw(format!("create, start ({name})"), "its id, twice");
        Ok(id)
    }

    pub(super) fn listed(&mut self, id: &str) -> Result<()> {
        self.wait_for_log(id, "ready")?;
        self.saw("logs", "what the container said");
        let running = self.document(&["ps", "-o", "json"])?;
        let ids: Vec<_> = of_all(&running, "containers", "id").collect();
        ensure!(ids == [id], "ps: {running}");
        self.saw("ps", "the container, running");
        let stats = self.document(&["stats", "-o", "json", id])?;
        let memory = stats["stats"][0]["memory"]["workingSetBytes"]["value"].as_str();
        let memory: u64 = memory.and_then(|text| text.parse().ok()).unwrap_or_default();
        ensure!(memory > 0, "stats: {stats}");
        self.saw("stats", "memory in use");
        Ok(())
    }

    pub(super) fn removed(&mut self) -> Result<()> {
        let all = self.document(&["ps", "-a", "-o", "json"])?;
        let ids: Vec<_> = of_all(&all, "containers", "id").filter_map(Value::as_str).collect();
        ensure!(ids.len() == 4, "ps -a: {all}");
        for id in ids {
            self.says(&["rm", "--force", id])?;
        }
        let left = self.document(&["ps", "-a", "-o", "json"])?;
        ensure!(of_all(&left, "containers", "id").count() == 0, "ps -a: {left}");
        self.saw("rm", "no container left");
        let pod = self.pod.clone();
        self.says(&["stopp", &pod])?;
        self.says(&["rmp", &pod])?;
        let left = self.document(&["pods", "-o", "json"])?;
        ensure!(of_all(&left, "items", "id").count() == 0, "pods: {left}");
        self.world.wait_until_nothing_is_left()?;
        self.says(&["rmi", BUSYBOX])?;
        self.saw("stopp, rmp, rmi", "no pod, no program of it and no image left");
        Ok(())
    }
}
