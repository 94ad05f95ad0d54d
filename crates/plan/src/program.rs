//! Where the executable of a container may be.
//!
//! Pure: this lists the places in the order in which they are tried; the caller, who has a file system,
//! takes the first that is a file. A name with a separator is a path and is looked for under the image
//! first, so that an image's own `bin/app` or `/bin/app` is found before the host's; a bare name is looked
//! for in the image's root and then on the path. On Windows the name as written comes before the name with
//! an extension added.

use crate::Style;
use crate::drive::Root;

/// What decides where a program is looked for. Paths are texts in the style's own notation.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    pub root: Root<'a>,
    /// The container's image as a directory.
    pub image: &'a str,
    pub cwd: &'a str,
    /// The value of the PATH variable.
    pub path: &'a str,
}

const EXTENSIONS: [&str; 2] = [".exe", ".com"];

// === impl Places ===

impl Places<'_> {
    /// The paths to try for this program, most wanted first, without repetition.
    pub fn candidates(&self, program: &str) -> Vec<String> {
        let mut places = Vec::new();
        for base in self.bases(program) {
            for name in self.spellings(&base) {
                if !places.contains(&name) {
                    places.push(name);
                }
            }
        }
        places
    }

    fn bases(&self, program: &str) -> Vec<String> {
        let style = self.root.style;
        match style.kind_of(program) {
            // A drive names the host's file and nothing else.
            Kind::Drive => vec![program.to_owned()],
            Kind::Rooted => {
                let inside = program.trim_start_matches(|c| style.is_separator(c));
                vec![style.join(self.image, inside), self.root.place(program)]
            }
            Kind::Relative => vec![style.join(self.cwd, program), style.join(self.image, program)],
            Kind::Bare => {
                let on_path = self.path.split(style.path_sign()).filter(|dir| !dir.is_empty());
                let on_path = on_path.map(|dir| style.join(&self.directory(dir), program));
                std::iter::once(style.join(self.image, program)).chain(on_path).collect()
            }
        }
    }

    /// A directory on the path: a relative one is the container's, never that of whoever looks.
    fn directory(&self, dir: &str) -> String {
        let style = self.root.style;
        if style.is_absolute(dir) { self.root.place(dir) } else { style.join(self.cwd, dir) }
    }

    fn spellings(&self, base: &str) -> Vec<String> {
        let mut all = vec![base.to_owned()];
        if self.root.style == Style::Windows {
            all.extend(EXTENSIONS.iter().map(|extension| format!("{base}{extension}")));
        }
        all
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Drive,
    Rooted,
    Relative,
    Bare,
}

// === impl Style ===

impl Style {
    fn kind_of(self, program: &str) -> Kind {
        let mut chars = program.chars();
        let (first, second) = (chars.next(), chars.next());
        if self == Style::Windows && second == Some(':') {
            Kind::Drive
        } else if first.is_some_and(|c| self.is_separator(c)) {
            Kind::Rooted
        } else if program.contains(|c| self.is_separator(c)) {
            Kind::Relative
        } else {
            Kind::Bare
        }
    }

    pub(crate) fn is_separator(self, c: char) -> bool {
        c == '/' || self == Style::Windows && c == '\\'
    }

    /// What stands between the parts of a path.
    pub(crate) fn sign(self) -> char {
        match self {
            Style::Unix => '/',
            Style::Windows => '\\',
        }
    }

    fn path_sign(self) -> char {
        match self {
            Style::Unix => ':',
            Style::Windows => ';',
        }
    }

    /// Joins a directory and a relative path in this style's notation.
    pub fn join(self, dir: &str, name: &str) -> String {
        let (sign, name) = match self {
            Style::Unix => ('/', name.to_owned()),
            Style::Windows => ('\\', name.replace('/', "\\")),
        };
        let dir = dir.strip_suffix(|c| self.is_separator(c)).unwrap_or(dir);
        format!("{dir}{sign}{name}")
    }

    /// Whether a path starts at a root of the host: `/x`, `C:\x`, `\x`.
    pub fn is_absolute(self, path: &str) -> bool {
        matches!(self.kind_of(path), Kind::Drive | Kind::Rooted)
    }
}

// === impl Root ===

impl Root<'_> {
    /// Where a working directory may be, most wanted first: a path from the root is the image's before the host's.
    pub(crate) fn places_of_a_directory(&self, asked: &str, image: &str) -> Vec<String> {
        let style = self.style;
        let inside = || style.join(image, asked.trim_start_matches(|c| style.is_separator(c)));
        match style.kind_of(asked) {
            _ if asked.is_empty() => vec![image.to_owned()],
            Kind::Drive => vec![asked.to_owned()],
            Kind::Rooted => vec![inside(), self.place(asked)],
            Kind::Relative | Kind::Bare => vec![inside()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIX: Root<'_> = Root { style: Style::Unix, drive: "" };
    const WINDOWS: Root<'_> = Root { style: Style::Windows, drive: "C:" };

    fn unix(program: &str) -> Vec<String> {
        Places { root: UNIX, image: "/image", cwd: "/work", path: "/usr/bin::/bin/" }.candidates(program)
    }

    fn windows(program: &str) -> Vec<String> {
        Places { root: WINDOWS, image: "C:\\hpc\\", cwd: "C:\\w", path: "C:\\a;D:\\b" }
            .candidates(program)
            .into_iter()
            .filter(|place| !place.ends_with(".com"))
            .collect()
    }

    // proves: HP-15 pure
    #[test]
    fn a_bare_name_is_the_images_then_the_paths() {
        assert_eq!(unix("app"), ["/image/app", "/usr/bin/app", "/bin/app"]);
        assert_eq!(
            windows("cmd"),
            [
                "C:\\hpc\\cmd",
                "C:\\hpc\\cmd.exe",
                "C:\\a\\cmd",
                "C:\\a\\cmd.exe",
                "D:\\b\\cmd",
                "D:\\b\\cmd.exe"
            ]
        );
    }

    // proves: HP-15 pure
    #[test]
    fn a_relative_path_is_looked_for_from_the_working_directory_then_the_image() {
        assert_eq!(unix("bin/app"), ["/work/bin/app", "/image/bin/app"]);
        assert_eq!(unix("./app"), ["/work/./app", "/image/./app"]);
        for spelling in ["bin/x.exe", "bin\\x.exe"] {
            assert_eq!(windows(spelling)[0], "C:\\w\\bin\\x.exe");
            assert!(windows(spelling).contains(&"C:\\hpc\\bin\\x.exe".to_owned()));
        }
    }

    // proves: HP-15 pure
    #[test]
    fn a_rooted_path_is_the_images_before_the_hosts() {
        assert_eq!(unix("/bin/sh"), ["/image/bin/sh", "/bin/sh"]);
        assert_eq!(windows("\\bin/x")[..2], ["C:\\hpc\\bin\\x", "C:\\hpc\\bin\\x.exe"]);
        assert_eq!(windows("//x")[0], "C:\\hpc\\x");
    }

    // proves: HP-15 pure
    #[test]
    fn a_rooted_path_of_the_host_is_on_the_systems_drive_also_on_the_path() {
        let root = Root { drive: "E:", ..WINDOWS };
        let places = Places { root, image: "C:\\hpc", cwd: "D:\\w", path: "\\a;/b;c;\\\\server\\d" };
        assert_eq!(places.candidates("/x.exe")[3], "E:\\x.exe");
        let found = places.candidates("x").into_iter().filter(|place| place.ends_with("\\x"));
        let wanted = ["C:\\hpc\\x", "E:\\a\\x", "E:\\b\\x", "D:\\w\\c\\x", "\\\\server\\d\\x"];
        assert_eq!(found.collect::<Vec<_>>(), wanted);
        assert_eq!(root.places_of_a_directory("/w", "C:\\hpc"), ["C:\\hpc\\w", "E:\\w"]);
    }

    // proves: HP-15 pure
    #[test]
    fn a_drive_is_the_hosts_alone() {
        assert_eq!(windows("C:\\Windows\\x.exe"), ["C:\\Windows\\x.exe", "C:\\Windows\\x.exe.exe"]);
        assert_eq!(unix("C:x"), ["/image/C:x", "/usr/bin/C:x", "/bin/C:x"]);
    }

    #[test]
    fn extensions_come_after_the_name_as_written_and_only_on_windows() {
        let places = Places { root: WINDOWS, image: "C:\\i", cwd: "C:\\i", path: "" };
        assert_eq!(places.candidates("a/b"), ["C:\\i\\a\\b", "C:\\i\\a\\b.exe", "C:\\i\\a\\b.com"]);
        assert_eq!(unix("x").len(), 3);
    }

    #[test]
    fn what_is_absolute() {
        for (path, on_unix, on_windows) in [
            ("/x", true, true),
            ("x/y", false, false),
            ("\\x", false, true),
            ("d:\\x", false, true),
            ("", false, false),
        ] {
            assert_eq!(
                (Style::Unix.is_absolute(path), Style::Windows.is_absolute(path)),
                (on_unix, on_windows)
            );
        }
    }
}
