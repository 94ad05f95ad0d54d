//! A test that cannot run here says so by name: nothing passes silently.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::thread;

/// Ends the calling test as skipped, with the reason.
///
/// Under `cargo xtask test` the file named by `PORTHOLE_SKIPS` gets a line `test name<TAB>reason`, and the run counts
/// the test as skipped instead of passed.
///
/// ```
/// fn needs_a_mainframe() {
///     if !std::path::Path::new("/dev/mainframe").exists() {
///         testbed::skip!("no mainframe at {}", "/dev/mainframe");
///     }
///     panic!("not reached");
/// }
/// needs_a_mainframe();
/// ```
#[macro_export]
macro_rules! skip {
    ($($reason:tt)*) => {{
        $crate::skip::record(&::std::format!($($reason)*));
        return ::std::default::Default::default();
    }};
}

/// What [`skip!`](crate::skip!) does before it returns. A skip that cannot be written down fails the test.
pub fn record(reason: &str) {
    let thread = thread::current();
    // libtest names each test's thread after the test.
    let name = thread.name().unwrap_or("unnamed test");
    eprintln!("skipped: {name}: {reason}");
    if let Some(path) = env::var_os("PORTHOLE_SKIPS").filter(|path| !path.is_empty()) {
        let line = line(name, reason);
        let appended = OpenOptions::new().create(true).append(true).open(&path);
        appended
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .unwrap_or_else(|error| panic!("write the skip of {name} to {}: {error}", path.display()));
    }
}

fn line(name: &str, reason: &str) -> String {
    // One record is one line whatever the reason quotes.
    let reason = reason.replace(['\n', '\r', '\t'], " ");
    format!("{name}\t{reason}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_line_with_one_tab() {
        assert_eq!(line("a::b", "no\tx:\nreally"), "a::b\tno x: really\n");
    }
}
