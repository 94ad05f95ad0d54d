//! An image's configuration while it is built: what the base said, and what the instructions changed.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::time;
use crate::document::Platform;

/// Fields that are not known here pass through from the base.
#[derive(Debug, Clone, Default)]
pub(super) struct Config {
    pub(super) top: BTreeMap<String, Value>,
    /// What a container of the image runs, and how.
    runs: BTreeMap<String, Value>,
    diff_ids: Vec<String>,
    history: Vec<Value>,
}

// === impl Config ===

impl Config {
    pub(super) fn new(platform: &Platform) -> Config {
        let Platform { os, architecture, variant, .. } = platform;
        let top = [("os", Some(os)), ("architecture", Some(architecture)), ("variant", variant.as_ref())];
        let said = |(name, value): (&str, Option<&String>)| Some((name.to_owned(), value?.as_str().into()));
        Config { top: top.into_iter().filter_map(said).collect(), ..Config::default() }
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Config, serde_json::Error> {
        let mut top: BTreeMap<String, Value> = serde_json::from_slice(bytes)?;
        let mut take = |name: &str| top.remove(name).unwrap_or_default();
        let runs = serde_json::from_value(take("config")).unwrap_or_default();
        let history = serde_json::from_value(take("history")).unwrap_or_default();
        let rootfs = take("rootfs");
        let diff_ids = rootfs.get("diff_ids").cloned().unwrap_or_default();
        Ok(Config { runs, diff_ids: serde_json::from_value(diff_ids)?, history, top })
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.top.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    pub(super) fn diff_ids(&self) -> &[String] {
        &self.diff_ids
    }

    pub(super) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.runs.insert(name.to_owned(), value.into());
    }

    pub(super) fn unset(&mut self, name: &str) {
        self.runs.remove(name);
    }

    pub(super) fn word(&self, name: &str) -> Option<&str> {
        self.runs.get(name).and_then(Value::as_str)
    }

    pub(super) fn list(&self, name: &str) -> Vec<String> {
        self.runs.get(name).cloned().and_then(|list| serde_json::from_value(list).ok()).unwrap_or_default()
    }

    /// Sets an entry of an object such as `Labels`.
    pub(super) fn set_in(&mut self, name: &str, key: &str, value: Value) {
        let old = self.runs.get(name).cloned().unwrap_or_default();
        let mut map: BTreeMap<String, Value> = serde_json::from_value(old).unwrap_or_default();
        map.insert(key.to_owned(), value);
        self.set(name, json!(map));
    }

    /// Windows does not tell `Path` from `PATH`.
    pub(super) fn set_env(&mut self, name: &str, value: &str, windows: bool) {
        let mut list = self.list("Env");
        let line = format!("{name}={value}");
        match list.iter_mut().find(|line| value_of(line, name, windows).is_some()) {
            Some(found) => *found = line,
            None => list.push(line),
        }
        self.set("Env", list);
    }

    pub(super) fn env(&self, name: &str, windows: bool) -> Option<String> {
        self.list("Env").iter().find_map(|line| value_of(line, name, windows).map(str::to_owned))
    }

    pub(super) fn note(&mut self, text: &str, layer: Option<&str>, seconds: u64) {
        let mut entry: BTreeMap<&str, Value> =
            [("created", time::rfc3339(seconds).into()), ("created_by", text.into())].into();
        match layer {
            Some(diff_id) => self.diff_ids.push(diff_id.to_owned()),
            None => drop(entry.insert("empty_layer", true.into())),
        }
        self.history.push(json!(entry));
    }

    pub(super) fn bytes(&self, seconds: u64) -> Vec<u8> {
        let mut top = self.top.clone();
        top.insert("created".to_owned(), time::rfc3339(seconds).into());
        top.insert("config".to_owned(), json!(self.runs));
        top.insert("history".to_owned(), json!(self.history));
        let rootfs: BTreeMap<&str, Value> =
            [("diff_ids", json!(self.diff_ids)), ("type", "layers".into())].into();
        top.insert("rootfs".to_owned(), json!(rootfs));
        serde_json::to_vec(&top).expect("maps with text keys can be written")
    }
}

/// What a line of the environment gives this variable, if it is about it.
fn value_of<'a>(line: &'a str, name: &str, windows: bool) -> Option<&'a str> {
    let (found, value) = line.split_once('=').unwrap_or((line, ""));
    (found == name || windows && found.eq_ignore_ascii_case(name)).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_base_says_stays_unless_it_is_changed() {
        let base = r#"{"os":"windows","architecture":"amd64","os.version":"10.0.20348.1","os.features":["win32k"],
            "config":{"Env":["Path=C:\\Windows"],"Cmd":["a"],"Odd":1},"rootfs":{"type":"layers","diff_ids":["sha256:x"]},
            "history":[{"created_by":"base"}]}"#;
        let mut config = Config::parse(base.as_bytes()).unwrap();
        config.set_env("PATH", "D", true);
        config.set_env("NEW", "1=2", true);
        config.set_in("Labels", "b", "2".into());
        config.set_in("Labels", "a", "1".into());
        config.note("COPY", Some("sha256:y"), 0);
        config.note("USER", None, 0);
        let found: Value = serde_json::from_slice(&config.bytes(0)).unwrap();
        assert_eq!(found["config"]["Env"], json!(["PATH=D", "NEW=1=2"]));
        assert_eq!((&found["config"]["Odd"], &found["os.features"]), (&json!(1), &json!(["win32k"])));
        assert_eq!(found["rootfs"]["diff_ids"], json!(["sha256:x", "sha256:y"]));
        assert_eq!(found["config"]["Labels"].to_string(), r#"{"a":"1","b":"2"}"#);
        assert_eq!(found["history"].as_array().unwrap().len(), 3);
        assert_eq!(found["created"], "1970-01-01T00:00:00Z");
        assert_eq!(config.env("NEW", false).as_deref(), Some("1=2"));
        assert_eq!((config.env("new", false), config.env("path", true).as_deref()), (None, Some("D")));
    }
}
