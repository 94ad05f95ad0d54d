//! Giving back the program pages that work needed and resting does not.
//!
//! The kernel maps a program's pages sixteen at a time, so a process that once ran through its start has most of its
//! code mapped for good, and its share of that memory is its own where few others run the same code. A holder rests
//! for days. A thread that waits in the kernel needs no page of the program at all: whoever drops them all as the last
//! thing before it waits has next to nothing, and pays with a few dozen small faults when there is something to do.

use std::ops::Range;

/// Drops every page that can be had again from the page cache, and the free part of the heap. To be called right before
/// a long wait: what runs after it is mapped again.
pub(crate) fn rest() {
    // Without the list nothing is given back, and nothing is wrong either.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let dropped: Vec<Range<usize>> = maps.lines().filter_map(never_written).collect();
    drop(maps);
    give_back_heap();
    for range in dropped {
        let (start, length) = (std::ptr::with_exposed_provenance_mut(range.start), range.len());
        // SAFETY: these pages are mapped privately from a file and never written, so they are read again unchanged.
        unsafe { libc::madvise(start, length, libc::MADV_DONTNEED) };
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

/// The part of this process that a line of its maps is about, if it is what a file holds and nothing else: code, and
/// what stands before it in the file. Read-only data further behind may hold addresses that the loader wrote, which are
/// in no file.
fn never_written(line: &str) -> Option<Range<usize>> {
    let mut fields = line.split_ascii_whitespace();
    let (range, rights, offset) = (fields.next()?, fields.next()?, fields.next()?);
    let (start, end) = range.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    let code = rights == "r-xp";
    let head = rights == "r--p" && number(offset)? == 0;
    ((code || head) && fields.nth(2)?.starts_with('/')).then_some(number(start)?..number(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_files_hold_and_nobody_wrote_counts() {
        let range = 0x55d0_c0a0_0000..0x55d0_c0a1_0000;
        for kept in ["r-xp 00002000", "r-xp 00000000", "r--p 00000000"] {
            let line = format!("55d0c0a00000-55d0c0a10000 {kept} 08:01 131  /usr/bin/x");
            assert_eq!(never_written(&line), Some(range.clone()), "{line}");
        }
        for other in [
            "55d0c0a00000-55d0c0a10000 r--p 00002000 08:01 131  /usr/bin/x",
            "55d0c0a00000-55d0c0a10000 rw-p 00002000 08:01 131  /usr/bin/x",
            "55d0c0a00000-55d0c0a10000 rwxp 00002000 08:01 131  /usr/bin/x",
            "7ffd1000-7ffd2000 r-xp 00000000 00:00 0  [vdso]",
            "7ffd1000-7ffd2000 r-xp 00000000 00:00 0",
            "",
        ] {
            assert_eq!(never_written(other), None, "{other}");
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
