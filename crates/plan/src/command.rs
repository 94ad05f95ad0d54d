//! Which words a container runs.
//!
//! The pod's `command` replaces the image's entrypoint and its default arguments; the pod's `args` replace
//! only the default arguments. This is the table in the Kubernetes documentation, as code.

/// What image and pod say, each empty if it says nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct Words<'a> {
    pub entrypoint: &'a [String],
    pub cmd: &'a [String],
    pub command: &'a [String],
    pub args: &'a [String],
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("nothing to run: the pod sets no command and the image has neither entrypoint nor cmd")]
pub struct NothingToRun;

// === impl Words ===

impl Words<'_> {
    pub fn resolve(self) -> Result<Vec<String>, NothingToRun> {
        let words = match (self.command, self.args) {
            ([], []) => [self.entrypoint, self.cmd].concat(),
            ([], args) => [self.entrypoint, args].concat(),
            (command, args) => [command, args].concat(),
        };
        if words.first().is_none_or(String::is_empty) { Err(NothingToRun) } else { Ok(words) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &str) -> Vec<String> {
        list.split_whitespace().map(str::to_owned).collect()
    }

    fn resolved(entrypoint: &str, cmd: &str, command: &str, args: &str) -> Result<Vec<String>, NothingToRun> {
        Words {
            entrypoint: &words(entrypoint),
            cmd: &words(cmd),
            command: &words(command),
            args: &words(args),
        }
        .resolve()
    }

    #[test]
    fn the_documented_table() {
        for (entrypoint, cmd, command, args, expected) in [
            ("/ep-1", "foo bar", "", "", "/ep-1 foo bar"),
            ("/ep-1", "foo bar", "/ep-2", "", "/ep-2"),
            ("/ep-1", "foo bar", "", "zoo boo", "/ep-1 zoo boo"),
            ("/ep-1", "foo bar", "/ep-2", "zoo boo", "/ep-2 zoo boo"),
            ("", "sh -c ls", "", "", "sh -c ls"),
            ("", "sh", "", "ls -l", "ls -l"),
        ] {
            assert_eq!(resolved(entrypoint, cmd, command, args).unwrap(), words(expected));
        }
    }

    #[test]
    fn nothing_is_refused() {
        assert_eq!(resolved("", "", "", ""), Err(NothingToRun));
        let empty = [String::new()];
        assert_eq!(Words { command: &empty, ..Words::default() }.resolve(), Err(NothingToRun));
    }
}
