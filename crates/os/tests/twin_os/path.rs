//! Spellings of paths on the real file system.

use std::path::{Path, PathBuf};

use os::path::canonical;

/// A directory, by the name that it has.
fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let real = canonical(dir.path()).unwrap();
    (dir, real)
}

#[test]
fn one_place_has_one_spelling_also_before_it_is_there() {
    let (_dir, real) = place();
    assert!(real.is_absolute() && real.is_dir(), "{}", real.display());
    let expected = real.join("state");
    let text = real.display().to_string();
    let spellings = ["state", "state/", "./state", "state/.", "other/../state", "state//", "state/deep/.."];
    for there in [false, true] {
        for spelling in spellings {
            let asked = PathBuf::from(format!("{text}/{spelling}"));
            assert_eq!(canonical(&asked).unwrap(), expected, "{spelling}, there: {there}");
        }
        assert_eq!(canonical(&expected.join("new/er")).unwrap(), expected.join("new/er"));
        for dir in ["state/deep", "other"] {
            std::fs::create_dir_all(real.join(dir)).unwrap();
        }
    }
}

#[test]
fn what_is_relative_is_so_to_the_working_directory() {
    let here = canonical(&std::env::current_dir().unwrap()).unwrap();
    assert_eq!(canonical(Path::new("not-there")).unwrap(), here.join("not-there"));
    assert!(canonical(Path::new("")).is_err());
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_is_where_it_leads() {
        let (_dir, real) = place();
        std::fs::create_dir(real.join("state")).unwrap();
        symlink("state", real.join("link")).unwrap();
        for spelling in ["link", "link/", "state/../link"] {
            assert_eq!(canonical(&real.join(spelling)).unwrap(), real.join("state"), "{spelling}");
        }
        assert_eq!(canonical(&real.join("link/new")).unwrap(), real.join("state/new"));
        assert_eq!(canonical(Path::new("//usr")).unwrap(), Path::new("/usr"));
    }

    #[test]
    fn a_link_to_what_has_no_name_is_where_it_stands() {
        let (_dir, real) = place();
        symlink("nowhere", real.join("link")).unwrap();
        assert_eq!(canonical(&real.join("link")).unwrap(), real.join("link"));
        let (pipe, _other) = std::io::pipe().unwrap();
        let asked = PathBuf::from(format!("/dev/fd/{}", pipe.as_raw_fd()));
        assert_eq!(canonical(&asked).unwrap(), asked, "of every process the same");
    }

    #[test]
    fn what_is_below_a_file_is_an_error_that_names_it() {
        let (_dir, real) = place();
        std::fs::write(real.join("file"), "").unwrap();
        let asked = real.join("file/below");
        let error = canonical(&asked).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: ", asked.display())), "{error}");
    }
}

#[cfg(windows)]
mod windows {
    use super::*;

    #[test]
    fn letters_are_those_of_the_disk() {
        let (_dir, real) = place();
        let expected = real.join("State");
        std::fs::create_dir(&expected).unwrap();
        let text = expected.display().to_string();
        assert!(!text.starts_with('\\'), "{text}");
        for asked in [text.to_lowercase(), text.to_uppercase(), text.replace('\\', "/"), format!("{text}\\")]
        {
            assert_eq!(canonical(Path::new(&asked)).unwrap(), expected, "{asked}");
        }
    }
}
