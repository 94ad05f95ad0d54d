//! Files with holes, in the four ways that GNU tar has written them.

use std::io::{self, BufRead, Read};

use tar::{GnuExtSparseHeader, Header};

use super::members::BLOCK;
use super::pax::Records;

/// Where a run of data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) at: u64,
    pub(super) length: u64,
}

/// More runs than this is an attack: a map of them would fill the memory.
const MOST: usize = 1 << 16;

/// The map in an old header and the blocks that follow it. `None` if it cannot be read.
pub(super) fn of_header(
    header: &Header,
    mut block: impl FnMut() -> io::Result<[u8; BLOCK]>,
) -> io::Result<Option<Vec<Segment>>> {
    let Some(gnu) = header.as_gnu() else { return Ok(None) };
    let mut segments = Vec::new();
    let mut whole = true;
    let mut add = |run: &tar::GnuSparseHeader| match (run.is_empty(), run.offset(), run.length()) {
        (true, ..) => {}
        (false, Ok(at), Ok(length)) if segments.len() < MOST => segments.push(Segment { at, length }),
        _ => whole = false,
    };
    gnu.sparse.iter().for_each(&mut add);
    let mut more = gnu.is_extended();
    while more {
        let mut next = GnuExtSparseHeader::new();
        next.as_mut_bytes().copy_from_slice(&block()?);
        next.sparse().iter().for_each(&mut add);
        more = next.is_extended();
    }
    Ok(whole.then_some(segments))
}

/// The map in PAX records, or, in the newest version, at the start of the data.
pub(super) fn of_records(
    records: &Records,
    body: &mut impl BufRead,
    limit: usize,
) -> io::Result<Option<Vec<Segment>>> {
    if records.text("GNU.sparse.major") == Some("1") {
        return in_data(body, limit);
    }
    let numbers = match records.text("GNU.sparse.map") {
        Some(map) => map.split(',').map(|number| number.parse().ok()).collect(),
        None => pairs(records),
    };
    Ok(numbers.and_then(|numbers: Vec<u64>| segments(&numbers)))
}

/// The first version writes a record for each number.
fn pairs(records: &Records) -> Option<Vec<u64>> {
    let wanted = ["GNU.sparse.offset", "GNU.sparse.numbytes"];
    let of_map = records.iter().filter(|(key, _)| wanted.contains(key));
    of_map.map(|(_, value)| std::str::from_utf8(value).ok()?.parse().ok()).collect()
}

fn in_data(body: &mut impl BufRead, limit: usize) -> io::Result<Option<Vec<Segment>>> {
    let mut read = 0;
    let mut number = || -> io::Result<Option<u64>> {
        let mut line = Vec::new();
        // The longest number, and a byte to end it.
        read += body.by_ref().take(21).read_until(b'\n', &mut line)?;
        let text = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok());
        Ok(text.and_then(|text| text.parse().ok()).filter(|_| read <= limit))
    };
    let Some(count) = number()?.and_then(|count| usize::try_from(count).ok()) else { return Ok(None) };
    if count > MOST {
        return Ok(None);
    }
    let mut numbers = Vec::new();
    for _ in 0..2 * count {
        let Some(next) = number()? else { return Ok(None) };
        numbers.push(next);
    }
    let padding = read.next_multiple_of(BLOCK) - read;
    io::copy(&mut body.take(padding as u64), &mut io::sink())?;
    Ok(segments(&numbers))
}

fn segments(numbers: &[u64]) -> Option<Vec<Segment>> {
    let (pairs, rest) = numbers.as_chunks::<2>();
    (rest.is_empty() && pairs.len() <= MOST)
        .then(|| pairs.iter().map(|[at, length]| Segment { at: *at, length: *length }).collect())
}

/// Whether the runs lie one after the other in the file and use up the data exactly.
pub(super) fn fit(segments: &[Segment], size: u64, data: u64) -> bool {
    let mut end = 0;
    let mut sum = 0u64;
    for Segment { at, length } in segments {
        match (at.checked_add(*length), sum.checked_add(*length)) {
            (Some(next), Some(total)) if *at >= end && next <= size => (end, sum) = (next, total),
            _ => return false,
        }
    }
    sum == data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_must_be_in_order_inside_and_used_up() {
        let run = |at, length| Segment { at, length };
        assert!(fit(&[run(0, 2), run(4, 1), run(10, 0)], 10, 3));
        assert!(!fit(&[run(0, 2)], 10, 3), "less than the data");
        assert!(!fit(&[run(0, 2), run(1, 1)], 10, 3), "overlapping");
        assert!(!fit(&[run(9, 2)], 10, 2), "beyond the end");
        assert!(!fit(&[run(u64::MAX, 2)], 10, 2), "around the corner");
    }

    #[test]
    fn the_map_at_the_start_of_the_data() {
        let mut data = b"2\n0\n5\n100\n3\n".to_vec();
        data.resize(BLOCK, 0);
        data.extend(b"hello---");
        let mut body = data.as_slice();
        let found = in_data(&mut body, 1000).unwrap().unwrap();
        assert_eq!(found, [Segment { at: 0, length: 5 }, Segment { at: 100, length: 3 }]);
        assert_eq!(body, b"hello---");
        for bad in [&b"x\n"[..], b"1\n0\n", b"99999999\n", b"1\n0\n99999999999999999999999\n", b""] {
            assert_eq!(in_data(&mut &*bad, 1000).unwrap(), None);
        }
    }
}
