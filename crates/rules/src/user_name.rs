//! `windowsOptions.runAsUserName`: `USER` or `DOMAIN\USER`. Lengths are in bytes.

use crate::dns;

const LONGEST_DOMAIN: usize = 255;
const LONGEST_NETBIOS: usize = 15;
const LONGEST_USER: usize = 104;

/// What is wrong with a user name. The first three complaints come alone, the rest together.
pub(crate) fn complaints(name: &str) -> Vec<&'static str> {
    if name.is_empty() {
        return vec!["must not be empty"];
    }
    if name.bytes().any(|byte| byte.is_ascii_control()) {
        return vec!["must have no control characters"];
    }
    let Some((domain, user)) = name.split_once('\\') else { return of_user(name).collect() };
    if user.contains('\\') {
        return vec!["must have no more than one backslash"];
    }
    of_domain(domain).chain(of_user(user)).collect()
}

fn of_domain(domain: &str) -> impl Iterator<Item = &'static str> {
    let long = domain.len() > LONGEST_DOMAIN;
    let odd = !is_netbios(domain) && !dns::is_domain(domain);
    let long = long.then_some("its domain must be no more than 255 bytes");
    long.into_iter().chain(odd.then_some("its domain must be a NetBIOS or a DNS name"))
}

fn of_user(user: &str) -> impl Iterator<Item = &'static str> {
    let length = match user.len() {
        0 => Some("its user must not be empty"),
        1..=LONGEST_USER => None,
        _ => Some("its user must be no more than 104 bytes"),
    };
    let blank = !user.is_empty() && user.bytes().all(|byte| byte == b'.' || byte == b' ');
    let odd =
        user.contains(['"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']']);
    let blank = blank.then_some("its user must not be of dots and spaces only");
    let odd = odd.then_some(r#"its user must have none of "/\:;|=,+*?<>@[]"#);
    length.into_iter().chain(blank).chain(odd)
}

/// 1 to 15 characters (not bytes), no dot at the start.
fn is_netbios(domain: &str) -> bool {
    let length = domain.chars().count();
    let odd = domain.contains(['\\', '/', ':', '*', '?', '"', '<', '>', '|']);
    (1..=LONGEST_NETBIOS).contains(&length) && !odd && !domain.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_users_type() {
        let long_domain = format!("{}\\u", [&"a".repeat(63); 4].map(String::as_str).join("."));
        for good in [
            "Administrator",
            r"NT AUTHORITY\SYSTEM",
            r"NT AUTHORITY\Local service",
            r"NT AUTHORITY\NetworkService",
            "ContainerAdministrator",
            r"example.com\jane",
            r"CORP\jane.doe",
            r"corp-1\ä",
            "a b",
            ". a",
            "$'`~!#%^&(){}-_",
            &"u".repeat(104),
            &"é".repeat(52),
            r"123456789012345\u",
            r"ééééééééééééééé\u",
            r"a.b\u",
            r"a-very-long-domain.example\u",
            &long_domain,
        ] {
            assert_eq!(complaints(good), [""; 0], "{good}");
        }
        assert_eq!(long_domain.len(), 255 + 2);
    }

    #[test]
    fn names_with_one_fault() {
        for (bad, complaint) in [
            ("", "must not be empty"),
            ("a\tb", "control"),
            ("a\u{7f}", "control"),
            ("\0", "control"),
            ("\n\\\\", "control"),
            (r"a\b\c", "one backslash"),
            (r"\\", "one backslash"),
            (r"\u", "NetBIOS"),
            (r".corp\u", "NetBIOS"),
            (r"1234567890123456_\u", "NetBIOS"),
            (r"éééééééééééééééé\u", "NetBIOS"),
            (r"a:b\u", "NetBIOS"),
            (r"a/b\u", "NetBIOS"),
            (r"a*b\u", "NetBIOS"),
            (r"a?b\u", "NetBIOS"),
            ("a\"b\\u", "NetBIOS"),
            (r"a<b\u", "NetBIOS"),
            (r"a>b\u", "NetBIOS"),
            (r"a|b\u", "NetBIOS"),
            (r"CORP\", "user must not be empty"),
            (".", "dots and spaces"),
            (" . ", "dots and spaces"),
            (r"CORP\..", "dots and spaces"),
            ("jane@example.com", "none of"),
            ("CORP/jane", "none of"),
            (r"CORP\a[", "none of"),
            (&"u".repeat(105), "104 bytes"),
            (&"é".repeat(53), "104 bytes"),
        ] {
            let found = complaints(bad);
            assert_eq!(found.len(), 1, "{bad}: {found:?}");
            assert!(found[0].contains(complaint), "{bad}: {found:?}");
        }
    }

    #[test]
    fn each_of_the_odd_characters_is_refused() {
        for odd in "\"/:;|=,+*?<>@[]".chars() {
            assert_eq!(complaints(&format!("a{odd}b")).len(), 1, "{odd}");
        }
    }

    #[test]
    fn faults_of_domain_and_user_add_up() {
        let long = "a".repeat(256);
        assert_eq!(complaints(&format!(r"{long}\u")).len(), 2);
        assert_eq!(complaints(&format!(r"{long}\{long}@")).len(), 4);
        assert_eq!(complaints(r"\").len(), 2);
        assert_eq!(complaints(&".".repeat(105)).len(), 2);
    }
}
