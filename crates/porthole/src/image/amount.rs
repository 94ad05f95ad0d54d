//! Bytes and times as people read them.

use std::time::{Duration, SystemTime};

const UNITS: [(&str, u64); 4] =
    [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];

/// `12.3 MB`: the units that registries and disk makers count in.
pub(crate) fn bytes(count: u64) -> String {
    match UNITS.iter().find(|(_, unit)| count >= *unit) {
        Some((name, unit)) => format!("{}.{} {name}", count / unit, count % unit / (unit / 10)),
        None => format!("{count} B"),
    }
}

/// `3m`, `2h`, `5d`: how long ago, as `kubectl get` says it.
pub(super) fn age(then: SystemTime, now: SystemTime) -> String {
    let seconds = now.duration_since(then).unwrap_or_default().as_secs();
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A time as JSON has it, in RFC 3339.
pub(super) fn stamp(when: SystemTime) -> String {
    images::build::rfc3339(when.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs())
}

/// `90s`, `2m`, `12h`, `7d`, for arguments.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("wanted a number and s, m, h or d, found {text:?}");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let number: u64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
    let factor = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    number.checked_mul(factor).map(Duration::from_secs).ok_or_else(wrong)
}

/// The start of a digest, as much as tells images apart.
pub(super) fn short(digest: &str) -> &str {
    let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
    hex.get(..12).unwrap_or(hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in_the_unit_that_fits() {
        for (count, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (12_345_678, "12.3 MB"),
            (999_999_999, "999.9 MB"),
            (5_000_000_000, "5.0 GB"),
            (u64::MAX, "18446744.0 TB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn ages_in_the_unit_that_fits() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(10_000_000);
        for (seconds, text) in [(0, "0s"), (119, "119s"), (120, "2m"), (7_200, "2h"), (172_800, "2d")] {
            assert_eq!(age(now - Duration::from_secs(seconds), now), text);
        }
        assert_eq!(age(now + Duration::from_secs(5), now), "0s", "a clock that was set back");
    }

    #[test]
    fn durations_as_they_are_typed() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("7d"), Ok(Duration::from_secs(604_800)));
        for bad in ["", "s", "2", "2w", "-1s", "1.5h", "2ä", "99999999999999999999d", "999999999999999999d"]
        {
            assert!(duration(bad).unwrap_err().contains("wanted a number"), "{bad}");
        }
    }

    #[test]
    fn digests_are_cut_where_they_tell_apart() {
        assert_eq!(short(&format!("sha256:{}", "ab".repeat(32))), "abababababab");
        assert_eq!(short("sha256:ab"), "ab");
    }
}
