//! Names as DNS has them.

const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// What is wrong with a lower-case RFC 1123 subdomain; both complaints can come together.
pub(crate) fn subdomain(name: &str) -> impl Iterator<Item = &'static str> {
    let long = (name.len() > LONGEST_NAME).then_some("must be no more than 253 bytes");
    let odd = (!name.split('.').all(is_lower_label))
        .then_some("must be a DNS name: lower-case letters, digits, '-' and '.', such as 'example.com'");
    long.into_iter().chain(odd)
}

/// A DNS name in either case, as Active Directory has them.
pub(crate) fn is_domain(name: &str) -> bool {
    name.split('.')
        .all(|label| label.len() <= LONGEST_LABEL && is_label(label, |byte| byte.is_ascii_alphanumeric()))
}

/// The API server sets no limit to a label of a subdomain, only to the whole.
fn is_lower_label(label: &str) -> bool {
    is_label(label, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

fn is_label(label: &str, may_end: impl Fn(u8) -> bool) -> bool {
    let bytes = label.as_bytes();
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return false };
    may_end(first) && may_end(last) && bytes.iter().all(|&byte| may_end(byte) || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subdomains() {
        let complaints = |name: &str| subdomain(name).count();
        for good in ["a", "0", "a-b.c", "webapp1-credspec", &"a".repeat(253)] {
            assert_eq!(complaints(good), 0, "{good}");
        }
        for bad in ["", ".", "a.", ".a", "a..b", "A", "a_b", "-a", "a-", "a.-b", "ä", "a b", "a\n"] {
            assert_eq!(complaints(bad), 1, "{bad}");
        }
        assert_eq!(subdomain(&"a".repeat(254)).collect::<Vec<_>>(), ["must be no more than 253 bytes"]);
        assert_eq!(complaints(&"A".repeat(254)), 2);
    }

    #[test]
    fn domains() {
        let (longest, long) = ("a".repeat(63), "a".repeat(64));
        for good in ["example.com", "EXAMPLE", "a", "0.1", "a-B.c", &longest, &format!("{longest}.{longest}")]
        {
            assert!(is_domain(good), "{good}");
        }
        for bad in ["", "a.", ".a", "a..b", "-a", "a-", "a_b", "a b", "é", &long] {
            assert!(!is_domain(bad), "{bad}");
        }
    }
}
