//! Registry hives with nothing in them but a root key: what Windows wants to find in a base layer.
//!
//! Older importers were content with empty files; Windows Server 2025 and Windows 11 23H2 load them and refuse
//! the layer (error 0x3f1) if they are no hives. The bytes depend on the name only, so that images built anywhere
//! are the same.
//!
//! A hive (format `regf` 1.3) is a base block of 4096 bytes and bins of cells. Here it is one bin with two cells:
//! the root key (`nk`) and its security descriptor (`sk`).

use crate::security::{self, Ace};

/// Where Windows looks for them in a base layer.
pub const DIRECTORY: &str = "Windows/System32/config";
/// The five that its importer asks for.
pub const NAMES: [&str; 5] = ["DEFAULT", "SAM", "SECURITY", "SOFTWARE", "SYSTEM"];

const BLOCK: usize = 4096;
const BIN_HEADER: usize = 32;
/// The first of January 1970, as Windows counts.
const TIME: u64 = 116_444_736_000_000_000;
const NONE: u32 = u32::MAX;
/// A root key, not to be deleted, with a name of ASCII characters.
const ROOT_FLAGS: u16 = 0x04 | 0x08 | 0x20;
const KEY_ALL_ACCESS: u32 = 0x000f_003f;
const KEY_READ: u32 = 0x0002_0019;

/// A hive of this name with an empty root key.
///
/// # Panics
/// If the name is not one of a hive: longer than 31 characters, or not ASCII.
pub fn empty(name: &str) -> Vec<u8> {
    assert!(name.is_ascii() && name.len() < 32, "{name:?} is no name of a hive");
    let mut hive = base_block(name);
    hive.extend(bin(name));
    hive
}

fn base_block(name: &str) -> Vec<u8> {
    let mut block = Vec::with_capacity(BLOCK);
    block.extend(b"regf");
    // Equal sequence numbers: written completely, no log to replay.
    put(&mut block, &[1, 1]);
    block.extend(TIME.to_le_bytes());
    // Version 1.3, a primary file, in the one format there is; the root key is the first cell.
    put(&mut block, &[1, 3, 0, 1, of(BIN_HEADER), of(BLOCK), 1]);
    block.extend(name.encode_utf16().flat_map(u16::to_le_bytes));
    block.resize(BLOCK, 0);
    let sum = checksum(&block);
    block[508..512].copy_from_slice(&sum.to_le_bytes());
    block
}

/// All words before it, folded; the two values that mean "none" are kept out.
fn checksum(block: &[u8]) -> u32 {
    let words = block[..508].as_chunks::<4>().0.iter();
    match words.fold(0, |sum, word| sum ^ u32::from_le_bytes(*word)) {
        0 => 1,
        u32::MAX => u32::MAX - 1,
        sum => sum,
    }
}

fn bin(name: &str) -> Vec<u8> {
    let mut bin = Vec::with_capacity(BLOCK);
    bin.extend(b"hbin");
    put(&mut bin, &[0, of(BLOCK), 0, 0]);
    bin.extend(TIME.to_le_bytes());
    put(&mut bin, &[0]);
    let key_size = cell_size(76 + name.len());
    let security_at = of(BIN_HEADER + key_size);
    cell(&mut bin, &key(name, security_at));
    cell(&mut bin, &key_security(security_at));
    // What is left is one free cell: its size is not negative.
    let rest = of(BLOCK - bin.len());
    put(&mut bin, &[rest]);
    bin.resize(BLOCK, 0);
    bin
}

fn key(name: &str, security_at: u32) -> Vec<u8> {
    let mut key = Vec::new();
    key.extend(b"nk");
    key.extend(ROOT_FLAGS.to_le_bytes());
    key.extend(TIME.to_le_bytes());
    // Access bits, parent (a root has none), subkeys stable and volatile with their lists, values with theirs.
    put(&mut key, &[0, 0, 0, 0, NONE, NONE, 0, NONE, security_at, NONE]);
    // Longest names and data below, a field of the kernel's own.
    put(&mut key, &[0, 0, 0, 0, 0]);
    key.extend(short(name.len()).to_le_bytes());
    key.extend([0, 0]);
    key.extend(name.as_bytes());
    key
}

/// The list of descriptors is a ring; the only one points to itself.
fn key_security(at: u32) -> Vec<u8> {
    let inherited = security::CONTAINER_INHERIT;
    let descriptor = security::descriptor(&[
        Ace { sid: security::ADMINISTRATORS, rights: KEY_ALL_ACCESS, flags: inherited },
        Ace { sid: security::SYSTEM, rights: KEY_ALL_ACCESS, flags: inherited },
        Ace { sid: security::USERS, rights: KEY_READ, flags: inherited },
    ]);
    let mut record = Vec::new();
    record.extend(b"sk\0\0");
    put(&mut record, &[at, at, 1, of(descriptor.len())]);
    record.extend(descriptor);
    record
}

/// A cell in use has its size as a negative number before it, a multiple of eight.
fn cell(bin: &mut Vec<u8>, content: &[u8]) {
    let size = cell_size(content.len());
    put(bin, &[of(size).wrapping_neg()]);
    bin.extend(content);
    bin.resize(bin.len() + size - 4 - content.len(), 0);
}

fn cell_size(content: usize) -> usize {
    (4 + content).next_multiple_of(8)
}

fn put(bytes: &mut Vec<u8>, words: &[u32]) {
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

fn of(size: usize) -> u32 {
    u32::try_from(size).expect("sizes here are below 4096")
}

fn short(size: usize) -> u16 {
    u16::try_from(size).expect("sizes here are below 4096")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn a_hive_is_two_blocks_with_a_right_sum() {
        for name in NAMES {
            let hive = empty(name);
            assert_eq!(hive.len(), 2 * BLOCK, "{name}");
            let sum = (0..127).fold(0, |sum, i| sum ^ word(&hive, 4 * i));
            assert_eq!(word(&hive, 508), sum, "{name}");
            assert_eq!((word(&hive, 4), word(&hive, 8)), (1, 1), "{name}");
        }
    }

    #[test]
    fn the_cells_fill_the_bin() {
        for name in NAMES {
            let hive = empty(name);
            let (mut at, mut found) = (BLOCK + BIN_HEADER, Vec::new());
            while at < hive.len() {
                let size = word(&hive, at).cast_signed();
                assert_eq!((size % 8, at % 8), (0, 0), "{name} at {at}");
                found.push((size < 0).then(|| hive[at + 4..at + 6].to_vec()));
                at += usize::try_from(size.unsigned_abs()).unwrap();
            }
            assert_eq!(at, hive.len(), "{name}");
            assert_eq!(found, [Some(b"nk".to_vec()), Some(b"sk".to_vec()), None], "{name}");
        }
    }

    #[test]
    fn the_root_key_points_to_its_security() {
        let hive = empty("SYSTEM");
        let root = BLOCK + word(&hive, 36) as usize + 4;
        assert_eq!(&hive[root..root + 2], b"nk");
        let security = BLOCK + word(&hive, root + 44) as usize + 4;
        assert_eq!(&hive[security..security + 2], b"sk");
        assert_eq!(&hive[root + 76..root + 82], b"SYSTEM");
    }
}
