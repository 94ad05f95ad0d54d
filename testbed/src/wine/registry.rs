//! Registry values as a `.reg` document, so that any number of them costs one process.

use std::fmt::Write;

/// What a registry value holds; numbers and strings convert by themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistryValue {
    Dword(u32),
    Text(String),
    /// `REG_EXPAND_SZ`: `%NAME%` is replaced when it is read.
    Expand(String),
    Binary(Vec<u8>),
}

#[derive(Debug, Clone)]
pub(super) struct Entry {
    key: String,
    name: String,
    value: RegistryValue,
}

// === impl RegistryValue ===

impl From<u32> for RegistryValue {
    fn from(value: u32) -> Self {
        Self::Dword(value)
    }
}

impl From<&str> for RegistryValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for RegistryValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl RegistryValue {
    fn data(&self) -> String {
        match self {
            Self::Dword(value) => format!("dword:{value:08x}"),
            Self::Text(text) => quoted(text),
            Self::Expand(text) => format!("hex(2):{}", hex(&wide(text))),
            Self::Binary(bytes) => format!("hex:{}", hex(bytes)),
        }
    }
}

// === impl Entry ===

impl Entry {
    pub(super) fn new(key: &str, name: &str, value: RegistryValue) -> Self {
        Self { key: long_key(key), name: name.to_owned(), value }
    }
}

/// The document in the encoding that Windows writes: UTF-16 with a byte order mark.
pub(super) fn document(entries: &[Entry]) -> Vec<u8> {
    let mut text = String::from("\u{feff}Windows Registry Editor Version 5.00\r\n");
    for Entry { key, name, value } in entries {
        let _ = write!(text, "\r\n[{key}]\r\n{}={}\r\n", quoted(name), value.data());
    }
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn long_key(key: &str) -> String {
    let (hive, rest) = key.split_once('\\').unwrap_or((key, ""));
    let hive = match hive {
        "HKLM" => "HKEY_LOCAL_MACHINE",
        "HKCU" => "HKEY_CURRENT_USER",
        "HKU" => "HKEY_USERS",
        "HKCR" => "HKEY_CLASSES_ROOT",
        other => other,
    };
    format!(r"{hive}\{rest}")
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', r#"\""#))
}

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_value_is_written_as_windows_does() {
        assert_eq!(RegistryValue::from(4046).data(), "dword:00000fce");
        assert_eq!(RegistryValue::from(r#"C:\a "b""#).data(), r#""C:\\a \"b\"""#);
        assert_eq!(RegistryValue::Expand("%A".into()).data(), "hex(2):25,00,41,00,00,00");
        assert_eq!(RegistryValue::Binary(vec![1, 255]).data(), "hex:01,ff");
    }

    #[test]
    fn a_document_starts_with_its_mark_and_names_long_keys() {
        let bytes = document(&[Entry::new(r"HKLM\SOFTWARE\X", "UBR", 1.into())]);
        assert_eq!(bytes[..2], [0xff, 0xfe]);
        let units: Vec<u16> = bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        let text = String::from_utf16(&units).expect("UTF-16");
        assert!(text.ends_with("[HKEY_LOCAL_MACHINE\\SOFTWARE\\X]\r\n\"UBR\"=dword:00000001\r\n"), "{text}");
    }
}
