//! Passwords that nobody ever types: those of temporary users.

use std::io;
use std::ptr::null_mut;

use windows_sys::Win32::Security::Cryptography::{BCRYPT_USE_SYSTEM_PREFERRED_RNG, BCryptGenRandom};

use super::handle::size_of;

/// One of each kind, so that a policy for complex passwords is content.
const KINDS: [&[u8]; 4] =
    [b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz", b"0123456789", b"!#%()*+,-./:;=?@[]^_{}~"];
const LENGTH: usize = 32;

pub(crate) fn random() -> io::Result<String> {
    let mut numbers = [0u32; LENGTH];
    let size = size_of::<[u32; LENGTH]>();
    let flags = BCRYPT_USE_SYSTEM_PREFERRED_RNG;
    // SAFETY: the buffer is as long as we say; the flag asks for no algorithm's handle.
    let status = unsafe { BCryptGenRandom(null_mut(), numbers.as_mut_ptr().cast(), size, flags) };
    if status < 0 {
        return Err(io::Error::other(format!("no random numbers for a password: status {status:#x}")));
    }
    Ok(from_numbers(&numbers))
}

/// The kinds take turns; 32 characters of them are worth 137 bits.
fn from_numbers(numbers: &[u32; LENGTH]) -> String {
    let pick = |(at, number): (usize, &u32)| {
        let kind = KINDS[at % KINDS.len()];
        char::from(kind[*number as usize % kind.len()])
    };
    numbers.iter().enumerate().map(pick).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_has_every_kind_of_character_and_no_other() {
        let password = random().unwrap();
        assert_eq!(password.len(), LENGTH);
        for kind in KINDS {
            assert_eq!(password.bytes().filter(|byte| kind.contains(byte)).count(), LENGTH / KINDS.len());
        }
    }

    #[test]
    fn no_two_are_alike() {
        assert_ne!(random().unwrap(), random().unwrap());
        assert_ne!(from_numbers(&[0; LENGTH]), from_numbers(&[1; LENGTH]));
    }
}
