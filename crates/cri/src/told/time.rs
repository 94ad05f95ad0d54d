//! Moments as records write them, and as CRI counts them: nanoseconds since 1970.

use std::time::{SystemTime, UNIX_EPOCH};

/// 0, which CRI takes for "not yet", for what cannot be read.
pub fn nanos(text: &str) -> i64 {
    parse(text).unwrap_or(0)
}

pub fn now() -> i64 {
    of(SystemTime::now())
}

pub fn of(moment: SystemTime) -> i64 {
    moment.duration_since(UNIX_EPOCH).ok().and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}

/// `2026-11-15T03:31:00.000000000Z`, and nothing else: these are our own.
fn parse(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (clock, fraction) = time.split_once('.')?;
    let mut clock = clock.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if fraction.len() != 9 || !(1..=12).contains(&month) || !(1..=9999).contains(&year) {
        return None;
    }
    let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction.parse().ok()?)
}

/// Days since 1970; years begin in March here, so that the leap day is their last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use holder::clock::rfc3339;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_records_say_is_read_again(seconds in 0_u64..9_000_000_000, nanos_ in 0_u32..1_000_000_000) {
            let moment = UNIX_EPOCH + Duration::new(seconds, nanos_);
            prop_assert_eq!(nanos(&rfc3339(moment)), of(moment));
        }

        #[test]
        fn nothing_else_is_a_moment(text in ".{0,40}") {
            nanos(&text);
        }
    }

    #[test]
    fn what_is_no_moment_is_not_yet() {
        for text in [
            "",
            "t",
            "2026-11-15T03:31:00Z",
            "2026-13-15T03:31:00.000000000Z",
            "9999999999999-01-01T00:00:00.0Z",
        ] {
            assert_eq!(nanos(text), 0, "{text}");
        }
    }
}
