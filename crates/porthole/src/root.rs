//! Where state is kept when nobody says.

use std::path::PathBuf;

/// Says where, if no flag does.
pub const VARIABLE: &str = "PORTHOLE_ROOT";

/// The root for this account: the machine's for an administrator, the user's own otherwise.
pub fn default() -> PathBuf {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    match (os::path::WINDOWS, os::elevated()) {
        (true, true) => from("ProgramData").unwrap_or_else(|| "C:\\ProgramData".into()).join("Porthole"),
        (true, false) => from("LOCALAPPDATA").unwrap_or_else(std::env::temp_dir).join("Porthole"),
        (false, true) => "/var/lib/porthole".into(),
        (false, false) => from("XDG_STATE_HOME")
            .or_else(|| from("HOME").map(|home| home.join(".local/state")))
            .unwrap_or_else(std::env::temp_dir)
            .join("porthole"),
    }
}
