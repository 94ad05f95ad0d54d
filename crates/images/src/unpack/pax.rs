//! PAX records: `LENGTH KEY=VALUE` lines before a header.

/// The records before one header; the last of a key counts.
#[derive(Debug, Default)]
pub(super) struct Records(Vec<(String, Vec<u8>)>);

// === impl Records ===

impl Records {
    /// `None` if a record is not whole.
    pub(super) fn parse(mut body: &[u8]) -> Option<Records> {
        let mut records = Vec::new();
        while !body.is_empty() {
            let space = body.iter().take(20).position(|byte| *byte == b' ')?;
            let length: usize = std::str::from_utf8(&body[..space]).ok()?.parse().ok()?;
            let record = body.get(space + 1..length)?.strip_suffix(b"\n")?;
            let equals = record.iter().position(|byte| *byte == b'=')?;
            let key = std::str::from_utf8(&record[..equals]).ok()?;
            records.push((key.to_owned(), record[equals + 1..].to_vec()));
            body = &body[length..];
        }
        Some(Records(records))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_slice()))
    }

    /// An empty value takes a record back.
    pub(super) fn bytes(&self, wanted: &str) -> Option<&[u8]> {
        let found = self.0.iter().rev().find(|(key, _)| key == wanted)?;
        Some(found.1.as_slice()).filter(|value| !value.is_empty())
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        std::str::from_utf8(self.bytes(key)?).ok()
    }

    pub(super) fn is_sparse(&self) -> bool {
        self.0.iter().any(|(key, _)| key.starts_with("GNU.sparse."))
    }

    pub(super) fn sparse_name(&self) -> Option<&[u8]> {
        self.bytes("GNU.sparse.name")
    }

    /// How large a file with holes is, as two versions of the format write it.
    pub(super) fn sparse_size(&self) -> Option<u64> {
        self.text("GNU.sparse.realsize").or_else(|| self.text("GNU.sparse.size"))?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_as_they_are_written() {
        let records = Records::parse(b"12 path=a/b\n14 path=later\n19 SCHILY.xattr.a=\n").unwrap();
        assert_eq!(records.text("path"), Some("later"));
        assert_eq!((records.bytes("SCHILY.xattr.a"), records.iter().count()), (None, 3));
        assert!(Records::parse(b"").unwrap().bytes("path").is_none());
    }

    #[test]
    fn records_that_are_not_whole() {
        let bad: [&[u8]; 8] = [
            b"x",
            b"12 path=a",
            b"9999999 path=a\n",
            b"0 \n",
            b"3 \n",
            b"6 path\n",
            b"-1 a=b\n",
            b"18446744073709551615 a=\n",
        ];
        for body in bad {
            assert!(Records::parse(body).is_none(), "{}", String::from_utf8_lossy(body));
        }
    }
}
