//! Text as Win32 wants it: UTF-16 with a null, environment blocks, quoted command lines.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::windows::ffi::{OsStrExt, OsStringExt};

pub(crate) fn wide(text: impl AsRef<OsStr>) -> io::Result<Vec<u16>> {
    let mut wide: Vec<u16> = text.as_ref().encode_wide().collect();
    if wide.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "text with a null character"));
    }
    wide.push(0);
    Ok(wide)
}

/// The text up to the first null.
pub(crate) fn narrow(wide: &[u16]) -> String {
    let end = wide.iter().position(|unit| *unit == 0).unwrap_or(wide.len());
    OsString::from_wide(&wide[..end]).to_string_lossy().into_owned()
}

/// The text at a pointer, or nothing at null.
///
/// # Safety
/// `at` must be null or lead to a text that ends with a null.
pub(crate) unsafe fn narrow_at(at: *const u16) -> String {
    if at.is_null() {
        return String::new();
    }
    // SAFETY: the caller promises a null at the end.
    unsafe {
        let length = (0..).take_while(|unit| *at.add(*unit) != 0).count();
        narrow(std::slice::from_raw_parts(at, length))
    }
}

/// The variables of an environment block; those without a name (`=C:=C:\dir`) are not for programs.
///
/// # Safety
/// `block` must lead to texts that end with a null each, and an empty one after the last.
pub(crate) unsafe fn parse_environment(block: *const u16) -> Vec<(String, String)> {
    let (mut variables, mut at) = (Vec::new(), block);
    loop {
        // SAFETY: the caller promises another text, if only an empty one.
        let length = unsafe { (0..).take_while(|unit| *at.add(*unit) != 0).count() };
        if length == 0 {
            return variables;
        }
        // SAFETY: so many units are before the null, and after it the next text begins.
        let text = unsafe {
            let text = narrow(std::slice::from_raw_parts(at, length));
            at = at.add(length + 1);
            text
        };
        let named = text.split_once('=').filter(|(name, _)| !name.is_empty());
        variables.extend(named.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}

/// `NAME=VALUE` after `NAME=VALUE`, sorted without regard to case as the system expects, ended by an empty one.
pub(crate) fn environment_block(env: &[(String, String)]) -> io::Result<Vec<u16>> {
    let mut sorted: Vec<&(String, String)> = env.iter().collect();
    sorted.sort_by_key(|(name, _)| name.to_uppercase());
    let mut block = Vec::new();
    for (name, value) in sorted {
        block.extend(wide(format!("{name}={value}"))?);
    }
    if block.is_empty() {
        block.push(0);
    }
    block.push(0);
    Ok(block)
}

/// One command line out of separate arguments, by the rules that the C runtime splits it again.
pub(crate) fn command_line(args: &[&OsStr]) -> OsString {
    let quoted: Vec<Vec<u16>> = args.iter().map(|arg| quote(arg)).collect();
    OsString::from_wide(&quoted.join(&u16::from(b' ')))
}

fn quote(arg: &OsStr) -> Vec<u16> {
    let (quote, backslash) = (u16::from(b'"'), u16::from(b'\\'));
    let mut text = vec![quote];
    let mut backslashes = 0;
    for unit in arg.encode_wide() {
        if unit == quote {
            text.extend(std::iter::repeat_n(backslash, backslashes + 1));
        }
        backslashes = if unit == backslash { backslashes + 1 } else { 0 };
        text.push(unit);
    }
    text.extend(std::iter::repeat_n(backslash, backslashes));
    text.push(quote);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(env: &[(&str, &str)]) -> String {
        let env: Vec<(String, String)> =
            env.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        OsString::from_wide(&environment_block(&env).unwrap()).into_string().unwrap()
    }

    #[test]
    fn an_environment_block_is_sorted_without_regard_to_case() {
        assert_eq!(block(&[("b", "2"), ("A", "1"), ("C", "")]), "A=1\0b=2\0C=\0\0");
        assert_eq!(block(&[]), "\0\0");
    }

    #[test]
    fn arguments_survive_the_c_runtime() {
        let line = command_line(&[OsStr::new(r"C:\a b\"), OsStr::new(r#"say "hi" \"#), OsStr::new("")]);
        assert_eq!(line.to_str().unwrap(), r#""C:\a b\\" "say \"hi\" \\" """#);
    }

    #[test]
    fn an_environment_block_is_read_back() {
        let env = [("A".to_owned(), "1=2".to_owned()), ("b".to_owned(), String::new())];
        let block: Vec<u16> = "=C:=C:\\\0".encode_utf16().chain(environment_block(&env).unwrap()).collect();
        // SAFETY: the block ends with an empty text.
        assert_eq!(unsafe { parse_environment(block.as_ptr()) }, env);
    }

    #[test]
    fn a_null_in_text_is_refused() {
        assert!(wide("a\0b").is_err());
    }
}
