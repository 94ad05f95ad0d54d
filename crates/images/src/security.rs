//! Security descriptors as Windows stores them, for files in layers and for registry keys.
//!
//! Self-relative, owned by the administrators, with the system as group: header, owner, group, list of entries.

pub(crate) const CONTAINER_INHERIT: u8 = 2;
const OBJECT_INHERIT: u8 = 1;
const INHERIT_ONLY: u8 = 8;

const FILE_ALL: u32 = 0x001f_01ff;
const FILE_READ_EXECUTE: u32 = 0x0012_00a9;
const FILE_ADD_SUBDIRECTORY: u32 = 4;
const FILE_ADD_FILE: u32 = 2;
const GENERIC_ALL: u32 = 0x1000_0000;

/// An account by its well-known identifier: the authority, then the parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sid(u8, &'static [u32]);

pub(crate) const ADMINISTRATORS: Sid = Sid(5, &[32, 544]);
pub(crate) const USERS: Sid = Sid(5, &[32, 545]);
pub(crate) const SYSTEM: Sid = Sid(5, &[18]);
const CREATOR_OWNER: Sid = Sid(3, &[0]);

/// An entry that allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ace {
    pub(crate) sid: Sid,
    pub(crate) rights: u32,
    pub(crate) flags: u8,
}

/// `O:BAG:SYD:(A;;FA;;;BA)(A;;FA;;;SY)(A;;0x1200a9;;;BU)`, which builders give to files.
pub(crate) fn file() -> Vec<u8> {
    descriptor(&[
        Ace { sid: ADMINISTRATORS, rights: FILE_ALL, flags: 0 },
        Ace { sid: SYSTEM, rights: FILE_ALL, flags: 0 },
        Ace { sid: USERS, rights: FILE_READ_EXECUTE, flags: 0 },
    ])
}

/// `O:BAG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;FA;;;BA)(A;OICIIO;GA;;;CO)(A;OICI;0x1200a9;;;BU)(A;CI;LC;;;BU)(A;CI;DC;;;BU)`,
/// which builders give to directories.
pub(crate) fn directory() -> Vec<u8> {
    let all = OBJECT_INHERIT | CONTAINER_INHERIT;
    descriptor(&[
        Ace { sid: ADMINISTRATORS, rights: FILE_ALL, flags: all },
        Ace { sid: SYSTEM, rights: FILE_ALL, flags: all },
        Ace { sid: ADMINISTRATORS, rights: FILE_ALL, flags: 0 },
        Ace { sid: CREATOR_OWNER, rights: GENERIC_ALL, flags: all | INHERIT_ONLY },
        Ace { sid: USERS, rights: FILE_READ_EXECUTE, flags: all },
        Ace { sid: USERS, rights: FILE_ADD_SUBDIRECTORY, flags: CONTAINER_INHERIT },
        Ace { sid: USERS, rights: FILE_ADD_FILE, flags: CONTAINER_INHERIT },
    ])
}

pub(crate) fn descriptor(entries: &[Ace]) -> Vec<u8> {
    const HEADER: u32 = 20;
    const REVISION: u8 = 1;
    /// Self-relative, with a list.
    const CONTROL: u16 = 0x8004;
    let (owner, group, list) = (sid(ADMINISTRATORS), sid(SYSTEM), acl(entries));
    let group_at = HEADER + size(&owner);
    let list_at = group_at + size(&group);
    let mut bytes = vec![REVISION, 0];
    bytes.extend(CONTROL.to_le_bytes());
    bytes.extend([HEADER, group_at, 0, list_at].iter().flat_map(|word| word.to_le_bytes()));
    [bytes, owner, group, list].concat()
}

fn acl(entries: &[Ace]) -> Vec<u8> {
    const REVISION: u16 = 2;
    let body: Vec<u8> = entries.iter().flat_map(|entry| ace(*entry)).collect();
    let length = u16::try_from(body.len() + 8).expect("a list has few entries");
    let count = u16::try_from(entries.len()).expect("a list has few entries");
    let head = [REVISION, length, count, 0];
    head.iter().flat_map(|word| word.to_le_bytes()).chain(body).collect()
}

fn ace(entry: Ace) -> Vec<u8> {
    const ALLOWED: u8 = 0;
    let sid = sid(entry.sid);
    let length = u16::try_from(sid.len() + 8).expect("an identifier has few parts");
    let mut bytes = vec![ALLOWED, entry.flags];
    bytes.extend(length.to_le_bytes());
    bytes.extend(entry.rights.to_le_bytes());
    bytes.extend(sid);
    bytes
}

fn sid(Sid(authority, parts): Sid) -> Vec<u8> {
    let count = u8::try_from(parts.len()).expect("an identifier has few parts");
    let head = [1, count, 0, 0, 0, 0, 0, authority];
    head.into_iter().chain(parts.iter().flat_map(|part| part.to_le_bytes())).collect()
}

fn size(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("an identifier has few parts")
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;

    use super::*;

    /// What images made by others carry for the same text.
    #[test]
    fn descriptors_are_those_that_other_builders_write() {
        let known = "AQAEgBQAAAAkAAAAAAAAADAAAAABAgAAAAAABSAAAAAgAgAAAQEAAAAAAAUSAAAAAgBMAAMAAAAAABgA/wEfAAECAAAAAAAF\
                     IAAAACACAAAAABQA/wEfAAEBAAAAAAAFEgAAAAAAGACpABIAAQIAAAAAAAUgAAAAIQIAAA==";
        assert_eq!(BASE64_STANDARD.encode(file()), known);
        let known = "AQAEgBQAAAAkAAAAAAAAADAAAAABAgAAAAAABSAAAAAgAgAAAQEAAAAAAAUSAAAAAgCoAAcAAAAAAxgA/wEfAAECAAAAAAAF\
                     IAAAACACAAAAAxQA/wEfAAEBAAAAAAAFEgAAAAAAGAD/AR8AAQIAAAAAAAUgAAAAIAIAAAALFAAAAAAQAQEAAAAAAAMAAAAA\
                     AAMYAKkAEgABAgAAAAAABSAAAAAhAgAAAAIYAAQAAAABAgAAAAAABSAAAAAhAgAAAAIYAAIAAAABAgAAAAAABSAAAAAhAgAA";
        assert_eq!(BASE64_STANDARD.encode(directory()), known);
    }
}
