//! Named pipes by their names, in every spelling Windows takes.

/// `\\.\pipe\x`, `//./pipe/x`, `\\?\pipe\x`, `npipe:…`, in any case, on this machine or another.
pub(super) fn is_pipe(path: &str) -> bool {
    let plain = path.replace('/', "\\").to_ascii_lowercase();
    let plain = plain.strip_prefix("npipe:").map_or(plain.as_str(), |rest| rest.trim_start_matches('\\'));
    if plain.starts_with("pipe\\") || path.to_ascii_lowercase().starts_with("npipe:") {
        return true;
    }
    let Some(rest) = plain.strip_prefix("\\\\") else { return false };
    let mut parts = rest.split('\\').filter(|part| !part.is_empty());
    let (machine, what) = (parts.next(), parts.next());
    let what = if what == Some("globalroot") { parts.nth(1) } else { what };
    machine.is_some() && matches!(what, Some("pipe" | "namedpipe"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: HP-13 pure
    #[test]
    fn pipes_in_every_spelling() {
        for pipe in [
            "\\\\.\\pipe\\docker_engine",
            "//./pipe/containerd",
            "\\\\.\\PIPE\\x",
            "\\\\?\\pipe\\x",
            "\\\\server\\pipe\\x",
            "\\\\.\\\\pipe\\x",
            "\\\\?\\GLOBALROOT\\Device\\NamedPipe\\x",
            "npipe:////./pipe/x",
            "NPIPE://x",
        ] {
            assert!(is_pipe(pipe), "{pipe}");
        }
    }

    #[test]
    fn paths_that_only_sound_like_it() {
        for path in [
            "C:\\pipe\\x",
            "/pipe/x",
            "\\pipe\\x",
            "C:\\a\\pipe",
            "\\\\server\\share\\pipe",
            "",
            "\\\\",
            "\\\\.",
        ] {
            assert!(!is_pipe(path), "{path}");
        }
    }
}
