//! What a test may choose about a machine.

use std::path::PathBuf;

/// Choices for [`Machine::start`](super::Machine::start).
///
/// ```no_run
/// use testbed::machine::{Machine, Options};
///
/// let options = Options::default().share("/tmp/build").on_boot("/tmp/build/porthole", ["node"]);
/// let machine = Machine::start("node-1", options)?;
/// # anyhow::Ok(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub(super) shared: Vec<PathBuf>,
    pub(super) on_boot: Vec<Vec<String>>,
}

// === impl Options ===

impl Options {
    /// Shows a file or directory of the host at the same path inside, also where the machine has its own
    /// directory above it (`/run`, `/tmp`, `/var/lib`, `/var/log`, `/etc`). The Go-built
    /// tools are always shown.
    #[must_use]
    pub fn share(mut self, path: impl Into<PathBuf>) -> Self {
        self.shared.push(path.into());
        self
    }

    /// A command that is started in the background at every boot, the first included. Its output goes to
    /// `/var/log/on-boot.log` inside.
    #[must_use]
    pub fn on_boot<S: Into<String>>(
        mut self,
        program: impl Into<String>,
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        self.on_boot.push(words(program, args));
        self
    }
}

pub(super) fn words<S: Into<String>>(
    program: impl Into<String>,
    args: impl IntoIterator<Item = S>,
) -> Vec<String> {
    std::iter::once(program.into()).chain(args.into_iter().map(Into::into)).collect()
}

/// The shell text that starts these commands in the background.
pub(super) fn on_boot_script(commands: &[Vec<String>]) -> String {
    let quoted = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
    let line = |command: &Vec<String>| {
        let words: Vec<String> = command.iter().map(quoted).collect();
        format!("setsid {} >> /var/log/on-boot.log 2>&1 < /dev/null &\n", words.join(" "))
    };
    commands.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_shell_unchanged() {
        let script = on_boot_script(&[words("/bin/a b", ["it's", "$HOME"])]);
        assert_eq!(
            script,
            "setsid '/bin/a b' 'it'\\''s' '$HOME' >> /var/log/on-boot.log 2>&1 < /dev/null &\n"
        );
    }
}
