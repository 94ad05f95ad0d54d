//! The holder's program, carried inside this one so that there is one file to install.

/// `porthole-hold`, built for the same target by `build.rs`.
pub const HOLDER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/porthole-hold"));

#[cfg(test)]
mod tests {
    use super::*;

    /// The promise of SPECIFICATION.md.
    #[test]
    fn the_holder_is_small() {
        assert!(HOLDER.len() <= 700_000, "{} bytes", HOLDER.len());
        assert!(HOLDER.len() > 100_000, "{} bytes: is this a program?", HOLDER.len());
    }
}
