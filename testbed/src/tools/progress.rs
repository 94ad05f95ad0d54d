//! Long steps say that they are alive: a line at the start, one every half minute, one at the end.
//!
//! Lines go to standard error, the same on a terminal and in a CI log.

use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

const BEAT: Duration = Duration::from_secs(30);
/// How much of a failed command's output an error quotes.
const QUOTED_LINES: usize = 40;

/// Runs `work` under a title.
pub fn step<T>(title: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let begun = Instant::now();
    eprintln!("{title} …");
    let (done, finished) = mpsc::channel::<()>();
    let beating = title.to_owned();
    let beat = thread::spawn(move || {
        while finished.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{beating}: {} s …", begun.elapsed().as_secs());
        }
    });
    let result = work();
    drop(done);
    let _ = beat.join();
    let word = if result.is_ok() { "done" } else { "failed" };
    eprintln!("{title}: {word} in {:.1} s", begun.elapsed().as_secs_f64());
    result
}

/// Runs a command to its end, silently; an error quotes the tail of what it said.
pub fn run(command: &mut Command) -> Result<Output> {
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("start {}", shown(command)))?;
    if !output.status.success() {
        bail!("{} ended with {}:\n{}", shown(command), output.status, tail(&output));
    }
    Ok(output)
}

/// A command's standard output as text, without the newline at its end.
pub fn text_of(command: &mut Command) -> Result<String> {
    let output = run(command)?;
    let text = String::from_utf8(output.stdout).with_context(|| format!("output of {}", shown(command)))?;
    Ok(text.trim_end().to_owned())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn tail(output: &Output) -> String {
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_command_quotes_what_it_said() {
        let error =
            run(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"])).expect_err("exit 3");
        let text = error.to_string();
        assert!(text.contains("exit status: 3") && text.contains("out\nerr"), "{text}");
    }

    #[test]
    fn only_the_tail_of_long_output_is_quoted() {
        let error = run(Command::new("sh").args(["-c", "seq 1 100; exit 1"])).expect_err("exit 1");
        let text = error.to_string();
        assert!(text.ends_with("\n100") && text.contains("\n61\n") && !text.contains("\n60\n"), "{text}");
    }

    #[test]
    fn a_step_hands_its_result_through() {
        assert_eq!(step("counting", || Ok(2)).expect("ok"), 2);
        assert!(step("failing", || -> Result<()> { bail!("no") }).is_err());
    }
}
