//! What the head of an answer says about the bytes that follow. Pure: every registry that answers ranges in its own way
//! is a line in a table of tests.

use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderMap};

use super::answer::PullError;

/// Where the bytes of an answer belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Course {
    /// Bytes to pass over: a registry that knows no ranges begins at the beginning.
    pub(super) skip: u64,
    /// Where in the blob the answer ends.
    pub(super) end: u64,
    /// Whether it is the rest of the blob, though less was asked for.
    pub(super) whole: bool,
}

/// What was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) registry: &'a str,
    pub(super) digest: &'a str,
    pub(super) size: u64,
    pub(super) at: u64,
    pub(super) end: u64,
}

// === impl Asked ===

impl Asked<'_> {
    /// None where the whole blob is wanted: the plainest question is the best understood.
    pub(super) fn range(&self) -> Option<String> {
        match (self.at, self.end == self.size) {
            (0, true) => None,
            (at, true) => Some(format!("bytes={at}-")),
            (at, false) => Some(format!("bytes={at}-{}", self.end - 1)),
        }
    }

    pub(super) fn course(&self, status: u16, headers: &HeaderMap) -> Result<Course, PullError> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let length: Option<u64> = text(CONTENT_LENGTH).and_then(|length| length.parse().ok());
        if status != 206 {
            return match length {
                Some(found) if found != self.size => Err(self.wrong_size(found)),
                _ => Ok(Course { skip: self.at, end: self.size, whole: true }),
            };
        }
        let range =
            text(CONTENT_RANGE).ok_or_else(|| self.strange("a part that says not which".to_owned()))?;
        let (first, last, total) =
            content_range(range).ok_or_else(|| self.strange(format!("the part {range:?}")))?;
        if let Some(found) = total.filter(|total| *total != self.size) {
            return Err(self.wrong_size(found));
        }
        let fits = first == self.at && last >= first && last < self.end;
        if !fits || length.is_some_and(|length| length != last - first + 1) {
            let why = format!("bytes {range} where {} to {} were asked for", self.at, self.end - 1);
            return Err(self.strange(why));
        }
        Ok(Course { skip: 0, end: last + 1, whole: false })
    }

    fn wrong_size(&self, found: u64) -> PullError {
        let (registry, digest) = (self.registry.to_owned(), self.digest.to_owned());
        PullError::WrongSize { registry, digest, wanted: self.size, found }
    }

    fn strange(&self, why: String) -> PullError {
        PullError::Strange { registry: self.registry.to_owned(), why }
    }
}

/// `bytes FIRST-LAST/TOTAL`, the total may be unknown.
fn content_range(text: &str) -> Option<(u64, u64, Option<u64>)> {
    let (range, total) = text.trim().strip_prefix("bytes")?.trim_start().split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let total = if total.trim() == "*" { None } else { Some(total.trim().parse().ok()?) };
    Some((first.trim().parse().ok()?, last.trim().parse().ok()?, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(at: u64, end: u64) -> Asked<'static> {
        Asked { registry: "r", digest: "d", size: 100, at, end }
    }

    fn judged(asked: Asked<'_>, status: u16, range: &str, length: &str) -> Result<Course, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in [(CONTENT_RANGE, range), (CONTENT_LENGTH, length)] {
            if !value.is_empty() {
                headers.insert(name, value.parse().unwrap());
            }
        }
        asked.course(status, &headers).map_err(|e| e.to_string())
    }

    #[test]
    fn only_parts_are_asked_for_as_ranges() {
        let ranges = [(0, 100), (10, 100), (0, 50), (50, 60)].map(|(at, end)| asked(at, end).range());
        let wanted = [None, Some("bytes=10-"), Some("bytes=0-49"), Some("bytes=50-59")];
        assert_eq!(ranges, wanted.map(|text| text.map(str::to_owned)));
    }

    #[test]
    fn answers_as_registries_give_them() {
        let part = |end| Ok(Course { skip: 0, end, whole: false });
        let whole = |skip| Ok(Course { skip, end: 100, whole: true });
        for (at, end, status, range, length, course) in [
            (0, 100, 200, "", "100", whole(0)),
            (0, 100, 200, "", "", whole(0)),
            // Knows no ranges.
            (10, 50, 200, "", "100", whole(10)),
            (10, 50, 206, "bytes 10-49/100", "40", part(50)),
            (10, 50, 206, "bytes 10-49/*", "", part(50)),
            (10, 100, 206, "bytes 10-99/100", "", part(100)),
            // Less than asked for is allowed.
            (10, 50, 206, "bytes 10-19/100", "10", part(20)),
        ] {
            assert_eq!(judged(asked(at, end), status, range, length), course, "{status} {range}");
        }
    }

    #[test]
    fn answers_that_are_wrong_say_how() {
        for (status, range, length, why) in [
            (200, "", "99", "has 99 bytes of d, of which the manifest says 100"),
            (206, "bytes 10-49/200", "40", "has 200 bytes"),
            (206, "", "40", "says not which"),
            (206, "bytes 0-39/100", "40", "where 10 to 49 were asked for"),
            (206, "bytes 10-60/100", "", "where 10 to 49"),
            (206, "bytes 10-9/100", "", "where 10 to 49"),
            (206, "bytes 10-49/100", "39", "where 10 to 49"),
            (206, "pages 1-2/3", "", "the part"),
            (206, "bytes 10-18446744073709551615/*", "", "where 10 to 49"),
        ] {
            let said = judged(asked(10, 50), status, range, length).unwrap_err();
            assert!(said.contains(why), "{status} {range}: {said}");
        }
    }
}
