//! What containerd is asked to do side by side, and whether it heard.
//!
//! It ignores an option that it does not know and unpacks one layer after the other then, without a word: it would be
//! no peer.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use testbed::tools::progress;
use toml::{Table, Value};

const PLUGIN: &str = "io.containerd.transfer.v1.local";
/// More than this machine has cores: layers wait for the network, too.
const AT_ONCE: i64 = 8;
const CHUNK: i64 = 8 << 20;
/// Layers, parts of layers, unpacking.
const OPTIONS: &[(&str, i64)] = &[
    ("max_concurrent_downloads", AT_ONCE),
    ("concurrent_layer_fetch_buffer", CHUNK),
    ("max_concurrent_unpacks", AT_ONCE),
];

/// The lines of containerd's configuration.
pub(super) fn section() -> String {
    let lines = OPTIONS.iter().map(|(name, value)| format!("{name} = {value}\n"));
    format!("[plugins.'{PLUGIN}']\n{}", lines.collect::<String>())
}

/// Fails unless this containerd has all options and takes our values for them.
pub(super) fn check(containerd: &Path, config: &Path) -> Result<()> {
    let dump = |what: &str| {
        let mut command = Command::new(containerd);
        progress::text_of(command.arg("--config").arg(config).args(["config", what]))
    };
    heard(&dump("default")?, &dump("dump")?)
}

/// A dump also has what was written for a plugin that there is not, so the defaults say what there is.
fn heard(default: &str, dump: &str) -> Result<()> {
    let (default, dump) = (options_of(default)?, options_of(dump)?);
    for (name, value) in OPTIONS {
        ensure!(default.contains_key(*name), "containerd has no option {name} in {PLUGIN}");
        let found = dump.get(*name);
        ensure!(
            found == Some(&Value::Integer(*value)),
            "containerd takes {name} = {found:?}: wanted {value}"
        );
    }
    Ok(())
}

fn options_of(config: &str) -> Result<Table> {
    let config: Table = config.parse().context("read containerd's configuration")?;
    let plugin = config.get("plugins").and_then(|plugins| plugins.get(PLUGIN)).and_then(Value::as_table);
    Ok(plugin.cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT: &str = "version = 4\n[plugins]\n  [plugins.'io.containerd.transfer.v1.local']\n    \
        max_concurrent_downloads = 3\n    concurrent_layer_fetch_buffer = 0\n    max_concurrent_unpacks = 1\n";

    fn refused(default: &str, dump: &str) -> String {
        heard(default, dump).expect_err("refused").to_string()
    }

    #[test]
    fn a_containerd_that_takes_the_options_is_a_peer() {
        heard(DEFAULT, &section()).expect("heard");
    }

    #[test]
    fn an_option_that_was_not_taken_is_named() {
        let said = refused(DEFAULT, DEFAULT);
        assert_eq!(said, "containerd takes max_concurrent_downloads = Some(Integer(3)): wanted 8");
    }

    #[test]
    fn an_option_that_there_is_not_is_named_though_the_dump_has_it() {
        let older = DEFAULT.replace("max_concurrent_unpacks", "max_unpacks");
        let said = refused(&older, &section());
        assert_eq!(
            said,
            "containerd has no option max_concurrent_unpacks in io.containerd.transfer.v1.local"
        );
        assert!(refused("version = 5\n", &section()).contains("no option"), "the plugin has another name");
    }
}
