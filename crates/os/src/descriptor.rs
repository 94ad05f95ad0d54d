//! Security descriptors out of foreign hands: every length and offset is checked before a system call sees them.
//!
//! The calls that take a self-relative descriptor trust its offsets, so a made-up one would let them read past it.

const HEADER: usize = 20;
const ACL_HEADER: usize = 8;
const ACE_HEADER: usize = 4;
const SID_HEADER: usize = 8;
const SELF_RELATIVE: u16 = 0x8000;
const DACL_PRESENT: u16 = 0x0004;
const MOST_SUB_AUTHORITIES: usize = 15;

/// Whether these bytes are one whole self-relative descriptor that has a list of who may do what.
pub fn is_sound(bytes: &[u8]) -> bool {
    sound(bytes).is_some()
}

fn sound(bytes: &[u8]) -> Option<()> {
    let control = half(bytes, 2)?;
    let wanted = SELF_RELATIVE | DACL_PRESENT;
    if bytes.first() != Some(&1) || control & wanted != wanted {
        return None;
    }
    for at in [4, 8] {
        let offset = offset(bytes, at)?;
        if offset != 0 {
            sid(bytes.get(offset..)?)?;
        }
    }
    let (system, discretionary) = (offset(bytes, 12)?, offset(bytes, 16)?);
    if system != 0 {
        list(bytes.get(system..)?)?;
    }
    // No list at all would mean that everybody may do everything.
    if discretionary == 0 { None } else { list(bytes.get(discretionary..)?) }
}

fn sid(bytes: &[u8]) -> Option<()> {
    let count = usize::from(*bytes.get(1)?);
    let whole =
        bytes.first() == Some(&1) && count <= MOST_SUB_AUTHORITIES && bytes.len() >= SID_HEADER + 4 * count;
    whole.then_some(())
}

fn list(bytes: &[u8]) -> Option<()> {
    let (size, count) = (usize::from(half(bytes, 2)?), half(bytes, 4)?);
    let mut entries = bytes.get(ACL_HEADER..size)?;
    for _ in 0..count {
        let length = usize::from(half(entries, 2)?);
        if length < ACE_HEADER + SID_HEADER || length % 4 != 0 {
            return None;
        }
        let (entry, rest) = entries.split_at_checked(length)?;
        plain_entry(entry)?;
        entries = rest;
    }
    Some(())
}

/// Allowed and denied entries hold a mask and a SID; the other kinds are not for files or not checked by us.
fn plain_entry(entry: &[u8]) -> Option<()> {
    let known = entry.first().is_some_and(|kind| *kind <= 1);
    if known { sid(entry.get(ACE_HEADER + 4..)?) } else { Some(()) }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn offset(bytes: &[u8], at: usize) -> Option<usize> {
    let offset = usize::try_from(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?)).ok()?;
    (offset == 0 || offset >= HEADER && offset % 4 == 0).then_some(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `D:(A;;FA;;;SY)`, written by hand.
    fn system_only() -> Vec<u8> {
        let mut bytes = vec![1, 0, 0x04, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0];
        bytes.extend([2, 0, 28, 0, 1, 0, 0, 0]);
        bytes.extend([0, 0, 20, 0, 0xff, 1, 0x1f, 0, 1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0]);
        bytes
    }

    #[test]
    fn a_whole_descriptor_is_sound_and_any_shorter_one_is_not() {
        let whole = system_only();
        assert!(is_sound(&whole));
        for length in 0..whole.len() {
            assert!(!is_sound(&whole[..length]), "{length}");
        }
    }

    #[test]
    fn offsets_and_sizes_that_lie_are_seen() {
        let lies = [
            ("revision", 0, 2),
            ("not self-relative", 3, 0),
            ("owner beyond the end", 4, 200),
            ("list beyond the end", 16, 60),
            ("list at an odd place", 16, 21),
            ("list in the header", 16, 4),
            ("no list", 16, 0),
            ("list larger than the descriptor", 22, 255),
            ("more entries than there are", 24, 2),
            ("entry larger than the list", 30, 255),
            ("entry of no size", 30, 0),
            ("account of another revision", 36, 9),
            ("account larger than its entry", 37, 15),
        ];
        for (what, at, byte) in lies {
            let mut bytes = system_only();
            bytes[at] = byte;
            assert!(!is_sound(&bytes), "{what}");
        }
    }
}
