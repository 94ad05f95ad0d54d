//! Durations as containerd's files have them, which are Go's: `3s`, `1m30s`, `1.5h`, `250ms`.

use std::time::Duration;

const UNITS: [(&str, f64); 8] = [
    ("h", 3600.0),
    ("m", 60.0),
    ("s", 1.0),
    ("ms", 1e-3),
    // The sign for micro is in Unicode twice, and Go takes both.
    ("us", 1e-6),
    ("\u{b5}s", 1e-6),
    ("\u{3bc}s", 1e-6),
    ("ns", 1e-9),
];

/// A duration, which may be zero. Go knows also negative ones, with which nothing could be reached.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    match rest {
        // The only one that needs no unit.
        "0" => return Some(Duration::ZERO),
        "" => return None,
        _ => {}
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !is_number(c))?);
        let (unit, after) = after.split_at(after.find(is_number).unwrap_or(after.len()));
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
        seconds += number.parse::<f64>().ok()? * factor;
        rest = after;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

fn is_number(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_as_a_duration() {
        for (text, milliseconds) in [
            ("3s", 3000),
            ("+3s", 3000),
            ("1m30s", 90_000),
            ("1h1m1s1ms", 3_661_001),
            ("250ms", 250),
            ("1.5s", 1500),
            (".5s", 500),
            ("2.s", 2000),
            ("0m1s", 1000),
            ("30s1m", 90_000),
            ("5000us", 5),
            ("5000\u{b5}s", 5),
            ("5000\u{3bc}s", 5),
            ("7000000ns", 7),
            ("0", 0),
            ("+0", 0),
            ("0s", 0),
            ("0h0m", 0),
            ("0.1ns", 0),
        ] {
            assert_eq!(parse(text), Some(Duration::from_millis(milliseconds)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_or_a_negative_one() {
        for text in [
            "",
            "3",
            "s",
            "+",
            "3 s",
            " 3s",
            "3s ",
            "3sec",
            "3S",
            "1d",
            "1e3s",
            "1.2.3s",
            ".s",
            "3s5",
            "-3s",
            "00",
            "inf",
            "NaNs",
            "ten seconds",
            "99999999999999999999h",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
