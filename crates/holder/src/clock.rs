//! Time stamps for logs and records.
//!
//! The holder needs one rendering (RFC 3339, UTC, nanoseconds, as kubelets read it from CRI logs) and no
//! time zones, so a calendar library would be most of its size.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SECONDS_PER_DAY: u64 = 86_400;

/// The moment in the form `2026-11-15T03:31:00.000000000Z`. Times before 1970 read as 1970.
pub fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let (days, second) = (since.as_secs() / SECONDS_PER_DAY, since.as_secs() % SECONDS_PER_DAY);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:09}Z", since.subsec_nanos())
}

pub fn now() -> String {
    rfc3339(SystemTime::now())
}

/// Year, month and day of the given day after 1970-01-01, in the Gregorian calendar.
///
/// Years start in March here, so that the leap day is the last day of a year and months follow one formula.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, nanos: u32) -> String {
        rfc3339(UNIX_EPOCH + Duration::new(seconds, nanos))
    }

    #[test]
    fn known_moments() {
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(at(951_782_400, 7), "2000-02-29T00:00:00.000000007Z");
        assert_eq!(at(951_868_799, 999_999_999), "2000-02-29T23:59:59.999999999Z");
        assert_eq!(at(1_000_000_000, 1), "2001-09-09T01:46:40.000000001Z");
        assert_eq!(at(1_735_689_599, 0), "2024-12-31T23:59:59.000000000Z");
        assert_eq!(at(1_740_787_200, 0), "2025-03-01T00:00:00.000000000Z");
        assert_eq!(at(4_107_542_400, 0), "2100-03-01T00:00:00.000000000Z");
        assert_eq!(at(4_107_456_000, 0), "2100-02-28T00:00:00.000000000Z");
    }

    #[test]
    fn each_day_follows_the_one_before() {
        let length = |year: u64, month: u64| match month {
            2 if year.is_multiple_of(400) || year.is_multiple_of(4) && !year.is_multiple_of(100) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..200_000 {
            assert_eq!(civil(days), (year, month, day));
            day += 1;
            if day > length(year, month) {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }

    #[test]
    fn before_the_epoch_is_the_epoch() {
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_secs(5)), at(0, 0));
    }
}
