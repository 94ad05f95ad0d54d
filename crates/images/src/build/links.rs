//! Where a path of an image leads: what it names is looked for with the image's root as `/`, and never above it.
//! [`Below`](super::below::Below) asks for what layers list, `COPY --from` for what was unpacked.

use std::borrow::Cow;

/// So many links may be on the way.
const MOST_LINKS: usize = 40;
const LONGEST_PATH: usize = 4096;

/// The path without links; `None` if they lead round in a circle, or to where no system would follow. `link` is asked
/// what the link under a path says, which has no link before its last part, and says `None` for what is no link.
pub(super) fn real<'a, E>(
    path: &'a str,
    mut link: impl FnMut(&str) -> Result<Option<Cow<'a, str>>, E>,
) -> Result<Option<String>, E> {
    // A link's text comes before what follows the link. Each is read from where it was left.
    let mut left = vec![(Cow::Borrowed(path), 0)];
    let (mut real, mut links) = (String::new(), 0);
    while let Some((text, at)) = left.last_mut() {
        let Some(rest) = text.get(*at..) else {
            left.pop();
            continue;
        };
        let part = rest.split('/').next().unwrap_or_default();
        *at += part.len() + 1;
        let above = match part {
            "" | "." => continue,
            ".." => real.rfind('/').unwrap_or_default(),
            _ => {
                let above = real.len();
                real.extend((above > 0).then_some('/'));
                real.push_str(part);
                if real.len() > LONGEST_PATH {
                    return Ok(None);
                }
                let Some(to) = link(&real)? else { continue };
                links += 1;
                if links > MOST_LINKS {
                    return Ok(None);
                }
                let rooted = to.starts_with('/');
                left.push((to, 0));
                if rooted { 0 } else { above }
            }
        };
        real.truncate(above);
    }
    Ok(Some(real))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    const LINKS: [(&str, &str); 9] = [
        ("etc/localtime", "/usr/share/zoneinfo/UTC"),
        ("lib", "usr/lib"),
        ("bin", "/usr/./bin/"),
        ("usr/bin/sh", "dash"),
        ("var/run", "../run"),
        ("up", "../../../etc"),
        ("one", "/two"),
        ("two", "lib/../../one"),
        ("top", "/"),
    ];

    fn real_of(path: &str) -> Option<String> {
        let find = |path: &str| LINKS.iter().find(|(name, _)| *name == path);
        let Ok(real) = real::<Infallible>(path, |path| Ok(find(path).map(|(_, to)| Cow::Borrowed(*to))));
        real
    }

    #[test]
    fn paths_lead_where_they_would_in_the_image() {
        for (path, wanted) in [
            ("", ""),
            ("etc/passwd", "etc/passwd"),
            ("/etc//./passwd/", "etc/passwd"),
            ("etc/localtime", "usr/share/zoneinfo/UTC"),
            ("lib/x", "usr/lib/x"),
            ("bin/sh", "usr/bin/dash"),
            ("var/run/lock", "run/lock"),
            ("up/localtime", "usr/share/zoneinfo/UTC"),
            ("../../lib", "usr/lib"),
            ("lib/..", "usr"),
            ("top/top/lib", "usr/lib"),
            ("none/../bin", "usr/bin"),
        ] {
            assert_eq!(real_of(path).as_deref(), Some(wanted), "{path}");
        }
    }

    #[test]
    fn circles_and_longest_ways_have_an_end() {
        let links = |count| "lib/../../".repeat(count);
        assert!(real_of(&links(MOST_LINKS)).is_some());
        for path in ["one", "two/x", &links(MOST_LINKS + 1), &"d/".repeat(LONGEST_PATH)] {
            assert_eq!(real_of(path), None, "{path}");
        }
    }
}
