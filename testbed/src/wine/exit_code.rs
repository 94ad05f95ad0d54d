//! The whole exit code: Windows has 32 bits, the Unix process that Wine makes of a program only eight.
//!
//! `%errorlevel%` of a batch file is the one place where Wine shows all of them.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{Output, WineCommand};

// === impl WineCommand ===

impl WineCommand<'_> {
    /// Runs it to its end and returns the whole 32-bit exit code. A `cmd.exe` is its parent then.
    pub fn exit_code(mut self, timeout: Duration) -> Result<(u32, Output)> {
        let wine = self.wine;
        self.check_visible()?;
        let place = tempfile::Builder::new().prefix("exit-").tempdir_in(&wine.prefix);
        let place = place.with_context(|| format!("create a directory in {}", wine.prefix.display()))?;
        let (batch, file) = (place.path().join("run.bat"), place.path().join("code"));
        let text = batch_text(&self.words(), &wine.windows_path(&file));
        fs::write(&batch, text).with_context(|| format!("write {}", batch.display()))?;
        self.program = "cmd".into();
        self.args = vec!["/c".into(), wine.windows_path(&batch).into()];
        let output = self.output(timeout)?;
        let code = fs::read_to_string(&file).with_context(|| format!("no exit code; {output:?}"))?;
        let code: i32 = code.trim().parse().with_context(|| format!("exit code {code:?}"))?;
        Ok((code.cast_unsigned(), output))
    }
}

fn batch_text(words: &[String], code_file: &str) -> String {
    let quoted: Vec<_> = words.iter().map(|word| quoted(word)).collect();
    format!("@echo off\r\n{}\r\n>\"{code_file}\" echo %errorlevel%\r\n", quoted.join(" "))
}

/// How Windows programs split their command line, and a doubled percent sign for the batch file.
fn quoted(word: &str) -> String {
    let mut text = String::from("\"");
    let mut backslashes = 0;
    for letter in word.chars() {
        if letter == '\\' {
            backslashes += 1;
            continue;
        }
        let wanted = if letter == '"' { 2 * backslashes + 1 } else { backslashes };
        text.push_str(&r"\".repeat(wanted));
        backslashes = 0;
        text.push(letter);
        text.push_str(if letter == '%' { "%" } else { "" });
    }
    text.push_str(&r"\".repeat(2 * backslashes));
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_a_batch_file_are_quoted_for_the_program() {
        assert_eq!(quoted(r"a b\"), r#""a b\\""#);
        assert_eq!(quoted(r#"say "x\""#), r#""say \"x\\\"""#);
        assert_eq!(quoted(r"100%\n"), r#""100%%\n""#);
        assert_eq!(quoted(""), r#""""#);
    }
}
