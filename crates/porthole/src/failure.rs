//! How a command ends when it does not succeed, and the code that says so.

/// The documented exit codes.
pub mod code {
    pub const OK: i32 = 0;
    /// The answer is no: a pod may not run, a capability is missing.
    pub const NO: i32 = 1;
    /// The command was used wrongly, or a file cannot be read.
    pub const USAGE: i32 = 2;
    /// The environment does not allow it.
    pub const ENVIRONMENT: i32 = 3;
    /// Stopped by Ctrl-C before the work was done.
    pub const INTERRUPTED: i32 = 130;
}

/// An error with the exit code it leads to.
#[derive(Debug)]
pub struct Failure {
    pub code: i32,
    pub error: anyhow::Error,
}

pub type Outcome = Result<i32, Failure>;

/// Gives an error its exit code.
pub trait Exit<T> {
    fn or_no(self) -> Result<T, Failure>;
    fn or_usage(self) -> Result<T, Failure>;
    fn or_environment(self) -> Result<T, Failure>;
}

// === impl Failure ===

impl Failure {
    pub fn new(code: i32, error: impl Into<anyhow::Error>) -> Failure {
        Failure { code, error: error.into() }
    }

    /// The error and its causes on one line, each cause once. Names that others gave may be in it: of those a terminal
    /// obeys nothing.
    pub fn line(&self) -> String {
        let causes = self.error.chain().skip(1).map(ToString::to_string);
        let line = causes.fold(self.error.to_string(), |text, cause| {
            if text.ends_with(&cause) { text } else { format!("{text}: {cause}") }
        });
        line.replace(|sign: char| sign.is_control() && sign != '\n', "\u{fffd}")
    }
}

// === impl Exit ===

impl<T, E: Into<anyhow::Error>> Exit<T> for Result<T, E> {
    fn or_no(self) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(code::NO, error))
    }

    fn or_usage(self) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(code::USAGE, error))
    }

    fn or_environment(self) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(code::ENVIRONMENT, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_once() {
        let error = anyhow::anyhow!("disk full").context("write x: disk full").context("start");
        assert_eq!(Failure::new(code::NO, error).line(), "start: write x: disk full");
    }

    #[test]
    fn a_name_in_an_error_moves_no_cursor() {
        let error = anyhow::anyhow!("no file").context("write a\x1b[2J\rb\u{9b}c\nand d");
        let line = Failure::new(code::NO, error).line();
        assert_eq!(line, "write a\u{fffd}[2J\u{fffd}b\u{fffd}c\nand d: no file");
    }
}
