//! Where a link's text leads inside the image: pure, so that Windows' reading of it is tested everywhere.
//!
//! A link may be made with any text: base images of Windows bring `Users\All Users` → `C:\ProgramData`, and what a
//! container follows is the container's matter. That holds for a HostProcess image in a plain directory too, where
//! the system takes such a link to the host's own `C:\ProgramData`: the container's processes follow it with their
//! own rights, which no link widens. But what *we* write, with our rights, goes through a link only by the steps
//! found here, each of which must be one name and no more to this host.

use super::Names;

/// The steps of a link, from where it stands or from the image's root.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) rooted: bool,
    /// Names and `..`.
    pub(crate) steps: Vec<Vec<u8>>,
}

// === impl Names ===

impl Names {
    /// The steps of a link's text, or why this host would read one of them as something else.
    pub(crate) fn way(self, text: &[u8]) -> Result<Way, &'static str> {
        let slash = |byte: &u8| *byte == b'/' || self.windows && *byte == b'\\';
        let (on_a_drive, text) = if self.windows { without_drive(text)? } else { (false, text) };
        let mut steps = Vec::new();
        for step in text.split(slash).filter(|step| !step.is_empty() && *step != b".") {
            if step != b".." {
                self.check(step)?;
            }
            steps.push(step.to_vec());
        }
        Ok(Way { rooted: on_a_drive || text.first().is_some_and(slash), steps })
    }
}

/// The drive of an image is its root, whatever its letter. The two prefixes are how the system gives back the text
/// of a link that was made with a drive.
fn without_drive(text: &[u8]) -> Result<(bool, &[u8]), &'static str> {
    let verbatim = [br"\\?\", br"\??\"].into_iter().find_map(|prefix| text.strip_prefix(prefix));
    match (verbatim.unwrap_or(text), verbatim) {
        ([letter, b':', rest @ ..], _) if letter.is_ascii_alphabetic() => Ok((true, rest)),
        (_, Some(_)) | ([b'/' | b'\\', b'/' | b'\\', ..], _) => {
            Err("it leads to a share or a device of Windows")
        }
        (plain, None) => Ok((false, plain)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOWS: Names = Names { windows: true, fold: true };
    const LINUX: Names = Names { windows: false, fold: false };

    fn way(names: Names, text: &str) -> String {
        match names.way(text.as_bytes()) {
            Ok(Way { rooted, steps }) => {
                let steps: Vec<_> = steps.iter().map(|step| String::from_utf8_lossy(step)).collect();
                format!("{}{}", if rooted { "/" } else { "" }, steps.join(" "))
            }
            Err(why) => why.to_owned(),
        }
    }

    #[test]
    fn links_as_windows_reads_them() {
        let table = [
            ("dir/./file", "dir file"),
            (r"..\up\\file", ".. up file"),
            ("/dir", "/dir"),
            (r"\dir", "/dir"),
            (r"C:\Windows\x", "/Windows x"),
            (r"\\?\C:\Windows", "/Windows"),
            (r"\??\d:\Windows", "/Windows"),
            ("C:Windows", "/Windows"),
            ("C:", "/"),
            (r"\\?\C:\a/../../b", "/a .. .. b"),
            (r"\\server\share", "it leads to a share or a device of Windows"),
            (r"/\server", "it leads to a share or a device of Windows"),
            (r"\\?\Volume{1}\x", "it leads to a share or a device of Windows"),
            ("./C:", "it holds a character that means something to Windows"),
            (r"a\C:b", "it holds a character that means something to Windows"),
            ("file:stream", "it holds a character that means something to Windows"),
            ("dir/.. ", "it ends with a dot or a space, which Windows drops"),
            ("dir/aux.txt", "it is a device on Windows"),
        ];
        for (text, wanted) in table {
            assert_eq!(way(WINDOWS, text), wanted, "{text}");
        }
    }

    #[test]
    fn linux_knows_only_the_slash() {
        let table = [(r"C:\Windows", r"C:\Windows"), ("//a/../NUL", "/a .. NUL"), (r"\a:b/c ", r"\a:b c ")];
        for (text, wanted) in table {
            assert_eq!(way(LINUX, text), wanted, "{text}");
        }
    }
}
