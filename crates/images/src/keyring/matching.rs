//! Which credential is for which image: the kubelet's rules, because pull secrets are written for them.
//!
//! A key is a host whose parts may be patterns (`*.example.com`), with the very port, and the beginning of a path. Of
//! several that fit, the one whose text sorts last comes first, which puts longer paths before shorter ones.

use super::{Credential, Keyring};

/// What a credential is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    host: String,
    port: String,
    /// With its leading slash, or empty.
    path: String,
}

/// What credentials are looked for.
#[derive(Debug)]
pub(super) struct Target(Key);

const DOCKER: &str = "docker.io";
/// The name by which credential helpers know Docker's registry.
const DOCKER_SERVER: &str = "https://index.docker.io/v1/";

// === impl Keyring ===

impl Keyring {
    /// Whether any of these is for the repository, but for those that programs know: no program is run.
    pub fn is_for(&self, registry: &str, repository: &str) -> bool {
        let Some(target) = Target::parse(registry, repository) else { return false };
        self.rings.iter().flat_map(|ring| &ring.entries).any(|(key, _)| key.fits(&target))
    }
}

// === impl Key ===

impl Key {
    /// From any of the forms found in configurations: with or without a scheme, `/v1/` and `/v2/` meaning nothing.
    pub(super) fn parse(text: &str) -> Option<Key> {
        let text = text.trim();
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or(text);
        let (authority, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
        let (host, port) = split_port(authority)?;
        let path = if path.starts_with("/v1/") || path.starts_with("/v2/") { &path[3..] } else { path };
        let path = if matches!(path, "/" | "/v1" | "/v2") { "" } else { path };
        let host = if is_docker(&host) { DOCKER.to_owned() } else { host };
        Some(Key { host, port: port.to_owned(), path: path.to_owned() })
    }

    pub(super) fn fits(&self, target: &Target) -> bool {
        let Target(target) = target;
        let (mine, its) = (self.host.split('.'), target.host.split('.'));
        self.port == target.port
            && mine.clone().count() == its.clone().count()
            && target.path.starts_with(&self.path)
            // An address in brackets is no pattern.
            && (self.host == target.host
                || mine.zip(its).all(|(pattern, part)| is_match(pattern.as_bytes(), part.as_bytes())))
    }

    fn text(&self) -> String {
        let colon = if self.port.is_empty() { "" } else { ":" };
        format!("{}{colon}{}{}", self.host, self.port, self.path)
    }
}

/// The order in which credentials are tried; those of one key stay in theirs.
pub(super) fn sort(entries: &mut [(Key, Credential)]) {
    entries.sort_by_key(|(key, _)| std::cmp::Reverse(key.text()));
}

// === impl Target ===

impl Target {
    pub(super) fn parse(registry: &str, repository: &str) -> Option<Target> {
        Key::parse(&format!("{registry}/{repository}")).map(Target)
    }

    /// Whether `credHelpers` of this name is for it.
    pub(super) fn is_registry(&self, name: &str) -> bool {
        Key::parse(name).is_some_and(|key| key.host == self.0.host && key.port == self.0.port)
    }

    /// As credential helpers want it named.
    pub(super) fn server(&self) -> String {
        if self.0.host == DOCKER && self.0.port.is_empty() {
            return DOCKER_SERVER.to_owned();
        }
        Key { path: String::new(), ..self.0.clone() }.text()
    }
}

fn is_docker(host: &str) -> bool {
    matches!(host, DOCKER | "index.docker.io" | "registry-1.docker.io")
}

fn split_port(authority: &str) -> Option<(String, &str)> {
    let split = match authority.strip_prefix('[') {
        Some(rest) => {
            let end = rest.find(']')? + 2;
            let (host, port) = authority.split_at(end);
            (host, port.strip_prefix(':').or_else(|| port.is_empty().then_some(""))?)
        }
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    let sound = !split.0.is_empty() && split.1.bytes().all(|byte| byte.is_ascii_digit());
    sound.then(|| (split.0.to_ascii_lowercase(), split.1))
}

/// `*`, `?` and `[a-z]` within one part of a host's name. Only the last `*` ever takes more than it did: what comes
/// before it fits already, and tenants, who write the patterns, must not say how long this takes.
fn is_match(mut pattern: &[u8], mut text: &[u8]) -> bool {
    // What follows the last `*`, and the text behind what that took.
    let mut star: Option<(&[u8], &[u8])> = None;
    loop {
        if let [b'*', rest @ ..] = pattern {
            (pattern, star) = (rest, Some((rest, text)));
        } else if let Some(left) = step(pattern, text) {
            (pattern, text) = left;
        } else if pattern.is_empty() && text.is_empty() {
            return true;
        } else {
            let Some((rest, [_, tail @ ..])) = star else { return false };
            (pattern, text, star) = (rest, tail, Some((rest, tail)));
        }
    }
}

/// What is left of both when the pattern's next piece, which is no `*`, takes the next byte.
fn step<'p, 't>(pattern: &'p [u8], text: &'t [u8]) -> Option<(&'p [u8], &'t [u8])> {
    let (byte, tail) = text.split_first()?;
    let (first, rest) = pattern.split_first()?;
    let end = if *first == b'[' { rest.iter().position(|each| *each == b']') } else { None };
    let (fits, rest) = match end {
        Some(end) => (in_class(&rest[..end], *byte), &rest[end + 1..]),
        None => (*first == b'?' || first == byte, rest),
    };
    fits.then_some((rest, tail))
}

fn in_class(class: &[u8], byte: u8) -> bool {
    let (negated, class) = class.strip_prefix(b"^").map_or((false, class), |rest| (true, rest));
    let mut rest = class;
    let mut found = false;
    while let Some((&low, tail)) = rest.split_first() {
        let (high, tail) = match tail {
            [b'-', high, tail @ ..] => (*high, tail),
            _ => (low, tail),
        };
        found |= (low..=high).contains(&byte);
        rest = tail;
    }
    found != negated
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fits(key: &str, image: &str) -> bool {
        let (registry, repository) = image.split_once('/').unwrap();
        Key::parse(key).unwrap().fits(&Target::parse(registry, repository).unwrap())
    }

    #[test]
    fn keys_as_the_kubelet_reads_them() {
        for (key, image, expected) in [
            ("example.com", "example.com/app", true),
            ("https://example.com", "example.com/app", true),
            ("http://example.com/v2/", "example.com/app", true),
            ("https://example.com/v1/", "example.com/app", true),
            ("Example.COM", "example.com/app", true),
            ("example.com", "other.com/app", false),
            ("example.com", "a.example.com/app", false),
            ("*.example.com", "a.example.com/app", true),
            ("*.example.com", "example.com/app", false),
            ("*.example.com", "a.b.example.com/app", false),
            ("*.*.example.com", "a.b.example.com/app", true),
            ("prefix*.example.com", "prefix1.example.com/app", true),
            ("example.*", "example.org/app", true),
            ("reg?.example.com", "reg1.example.com/app", true),
            ("reg[0-3].example.com", "reg2.example.com/app", true),
            ("reg[^0-3].example.com", "reg2.example.com/app", false),
            // The port must be the very one.
            ("example.com:5000", "example.com:5000/app", true),
            ("example.com", "example.com:5000/app", false),
            ("example.com:5000", "example.com/app", false),
            ("*.example.com:5000", "a.example.com:5001/app", false),
            ("[::1]:5000", "[::1]:5000/app", true),
            // A path is a beginning of the path.
            ("example.com/team", "example.com/team/app", true),
            ("example.com/team", "example.com/other/app", false),
            ("example.com/te", "example.com/team/app", true),
            ("example.com/team/app", "example.com/team", false),
            // Docker's registry has many names.
            ("https://index.docker.io/v1/", "docker.io/library/busybox", true),
            ("docker.io", "docker.io/library/busybox", true),
            ("registry-1.docker.io", "docker.io/library/busybox", true),
            ("index.docker.io/team", "docker.io/team/app", true),
            ("docker.io.evil.com", "docker.io/library/busybox", false),
        ] {
            assert_eq!(fits(key, image), expected, "{key} {image}");
        }
    }

    /// It was tried with every share of the text for each star: this never ended.
    #[test]
    fn twenty_stars_are_refused_at_once() {
        let (key, host) = (format!("{}b.com", "*a".repeat(20)), format!("{}.com", "a".repeat(200)));
        assert!(!fits(&key, &format!("{host}/app")));
        assert!(fits(&key, &format!("{}b.com/app", "a".repeat(200))));
    }

    /// By every way there is, which short texts survive.
    fn is_match_by_trying(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern, text) {
            ([], []) => true,
            ([b'*', rest @ ..], _) => (0..=text.len()).any(|taken| is_match_by_trying(rest, &text[taken..])),
            ([b'?', rest @ ..], [_, tail @ ..]) => is_match_by_trying(rest, tail),
            ([b'[', class @ ..], [byte, tail @ ..]) if class.contains(&b']') => {
                let end = class.iter().position(|each| *each == b']').unwrap();
                in_class(&class[..end], *byte) && is_match_by_trying(&class[end + 1..], tail)
            }
            ([first, rest @ ..], [byte, tail @ ..]) => first == byte && is_match_by_trying(rest, tail),
            _ => false,
        }
    }

    #[test]
    fn what_is_no_host_is_no_key() {
        for text in ["", "https://", "/path", ":5000", "host:port", "[::1", "[::1]x"] {
            assert_eq!(Key::parse(text), None, "{text}");
        }
    }

    #[test]
    fn longer_paths_are_tried_first() {
        let keys = ["example.com", "example.com/team/app", "*.com", "example.com/team"];
        let token = |text: &str| Credential::Token(text.to_owned());
        let mut entries: Vec<_> = keys.map(|key| (Key::parse(key).unwrap(), token(key))).into();
        sort(&mut entries);
        let order: Vec<_> = entries.iter().map(|(key, _)| key.text()).collect();
        assert_eq!(order, ["example.com/team/app", "example.com/team", "example.com", "*.com"]);
    }

    #[test]
    fn helpers_know_servers_by_these_names() {
        let server = |registry| Target::parse(registry, "a/b").unwrap().server();
        assert_eq!(server("docker.io"), "https://index.docker.io/v1/");
        assert_eq!(
            (server("example.com:5000"), server("[::1]:1")),
            ("example.com:5000".into(), "[::1]:1".into())
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn patterns_match_what_they_match_by_trying(
            pattern in r"(\*|\?|a|b|\[|\]|\^|-|\\|\[\^?[ab]-?[ab]?\]){0,8}",
            text in r"[ab\[\]\\-]{0,8}",
        ) {
            let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
            prop_assert_eq!(is_match(pattern, text), is_match_by_trying(pattern, text));
        }
    }

    proptest! {
        #[test]
        fn a_host_fits_itself_and_a_star_in_any_part(
            parts in proptest::collection::vec("[a-z0-9-]{1,6}", 1..5),
            port in "(:[1-9][0-9]{0,3})?",
            at in any::<prop::sample::Index>(),
        ) {
            let host = format!("{}{port}", parts.join("."));
            prop_assume!(!is_docker(&host));
            let image = format!("{host}/team/app");
            prop_assert!(fits(&host, &image));
            let mut starred = parts.clone();
            starred[at.index(parts.len())] = "*".into();
            prop_assert!(fits(&format!("{}{port}", starred.join(".")), &image), "{:?}", starred);
            let longer = format!("*.{host}");
            prop_assert!(!fits(&longer, &image));
        }

        #[test]
        fn nothing_panics(key in "\\PC{0,20}", registry in "\\PC{0,20}") {
            if let (Some(key), Some(target)) = (Key::parse(&key), Target::parse(&registry, "a")) {
                key.fits(&target);
            }
        }
    }
}
