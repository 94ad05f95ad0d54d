//! Giving back the program pages that starting needed and resting does not.
//!
//! The kernel maps a program's pages sixteen at a time, so a process that once ran through its start has most of its
//! code mapped for good, and its share of that memory is its own where few others run the same code. A holder rests
//! for days: dropping its clean code pages and asking for single ones from then on leaves what it really uses.

use std::ops::Range;

/// A part of this process that is mapped from a file and not written.
#[derive(Debug, PartialEq, Eq)]
struct Mapped {
    range: Range<usize>,
    /// Code is never changed. Read-only data may hold addresses that the loader wrote, which are in no file.
    code: bool,
}

/// Asks for single pages from now on and drops every code page; those that are needed come back from the page cache.
pub(crate) fn rest() {
    give_back_heap();
    // Without the list nothing is given back, and nothing is wrong either.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for mapped in maps.lines().filter_map(mapped) {
        let (start, length) = (std::ptr::with_exposed_provenance_mut(mapped.range.start), mapped.range.len());
        // SAFETY: the first call only changes how pages are read ahead; the second drops pages of code that is mapped
        // privately from a file and never written, so that they are read again unchanged.
        unsafe {
            libc::madvise(start, length, libc::MADV_RANDOM);
            if mapped.code {
                libc::madvise(start, length, libc::MADV_DONTNEED);
            }
        }
    }
}

/// One heap for all threads, which here mostly wait: each would get one of its own, and keep what it once used.
#[cfg(target_env = "gnu")]
fn give_back_heap() {
    // SAFETY: the first call is a setting, the second returns free pages of the heap to the kernel.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::malloc_trim(0);
    }
}

/// Other C libraries have one heap anyway.
#[cfg(not(target_env = "gnu"))]
fn give_back_heap() {}

fn mapped(line: &str) -> Option<Mapped> {
    let mut fields = line.split_ascii_whitespace();
    let (range, rights, path) = (fields.next()?, fields.next()?, fields.nth(3)?);
    let (start, end) = range.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    let range = address(start)?..address(end)?;
    (["r-xp", "r--p"].contains(&rights) && path.starts_with('/'))
        .then_some(Mapped { range, code: rights == "r-xp" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_files_hold_and_nobody_writes_counts() {
        let range = 0x55d0_c0a0_0000..0x55d0_c0a1_0000;
        for (rights, code) in [("r-xp", true), ("r--p", false)] {
            let line = format!("55d0c0a00000-55d0c0a10000 {rights} 00002000 08:01 131  /usr/bin/x");
            assert_eq!(mapped(&line), Some(Mapped { range: range.clone(), code }));
        }
        for other in [
            "55d0c0a00000-55d0c0a10000 rw-p 00002000 08:01 131  /usr/bin/x",
            "55d0c0a00000-55d0c0a10000 rwxp 00002000 08:01 131  /usr/bin/x",
            "7ffd1000-7ffd2000 r-xp 00000000 00:00 0  [vdso]",
            "7ffd1000-7ffd2000 r-xp 00000000 00:00 0",
            "",
        ] {
            assert_eq!(mapped(other), None, "{other}");
        }
    }

    #[test]
    fn a_process_goes_on_after_a_rest() {
        let before = std::time::Instant::now();
        rest();
        assert!(before.elapsed().as_secs() < 5);
        assert_eq!(format!("{:?}", vec![1, 2]), "[1, 2]");
    }
}
