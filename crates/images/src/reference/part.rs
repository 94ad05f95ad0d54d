//! The parts of a name, each with the sentence that says what is wrong with it.

use std::net::Ipv6Addr;

const LONGEST_NAME: usize = 255;
const LONGEST_TAG: usize = 128;

/// What can be in no part of a name.
pub(super) fn characters(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    if let Some(strange) = text.chars().find(|c| !c.is_ascii()) {
        return Err(format!("{strange:?} is not an ASCII character"));
    }
    if let Some(strange) = text.chars().find(|c| c.is_whitespace() || c.is_control()) {
        return Err(format!("{strange:?} can be in no name"));
    }
    match text.split_once("://") {
        Some((scheme, _)) => Err(format!("a name does not begin with {scheme}://")),
        None => Ok(()),
    }
}

/// `sha256:` and 64 digits: what we can check.
pub(super) fn digest(text: &str) -> Result<&str, String> {
    let (algorithm, hex) =
        text.split_once(':').ok_or_else(|| format!("{text:?} after the @ is no digest"))?;
    if algorithm != "sha256" {
        return Err(format!("its digest is {algorithm:?}, wanted sha256"));
    }
    if hex.len() != 64 {
        return Err(format!("its digest has {} characters after sha256:, wanted 64", hex.len()));
    }
    if crate::blobs::is_digest(text) {
        Ok(text)
    } else {
        Err("its digest is not hexadecimal in lower case".to_owned())
    }
}

/// The registry, if the name begins with one, and the rest. A host has a dot, a port, brackets or an upper-case
/// letter, which no repository has, or is `localhost`; anything else before the first slash belongs to the repository.
pub(super) fn registry(name: &str) -> Result<(Option<&str>, &str), String> {
    if name.starts_with('[') {
        return at_ipv6(name);
    }
    let Some((first, rest)) = name.split_once('/') else { return Ok((None, name)) };
    let marks_a_host = |byte: u8| matches!(byte, b'.' | b':' | b'A'..=b'Z');
    if first != "localhost" && !first.bytes().any(marks_a_host) {
        return Ok((None, name));
    }
    let (host, port) = first.split_once(':').map_or((first, None), |(host, port)| (host, Some(port)));
    host_name(host)?;
    self::port(port)?;
    Ok((Some(first), rest))
}

fn at_ipv6(name: &str) -> Result<(Option<&str>, &str), String> {
    let end = name.find(']').ok_or("a bracket is not closed")?;
    let address = &name[1..end];
    address.parse::<Ipv6Addr>().map_err(|_| format!("{address:?} is not an IPv6 address"))?;
    let (after, rest) = name[end + 1..].split_once('/').ok_or("no name follows the address")?;
    let number = after.strip_prefix(':');
    if number.is_none() && !after.is_empty() {
        return Err("after an address comes a port or a slash".to_owned());
    }
    port(number)?;
    Ok((Some(&name[..end + 1 + after.len()]), rest))
}

fn host_name(host: &str) -> Result<(), String> {
    let sound = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(inner)
    };
    if host.split('.').all(sound) { Ok(()) } else { Err(format!("{host:?} is not the name of a host")) }
}

fn port(port: Option<&str>) -> Result<(), String> {
    match port {
        Some(text) if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(format!("{text:?} is not a port"))
        }
        Some(text) if text.parse::<u16>().is_err() => Err(format!("there is no port {text}")),
        _ => Ok(()),
    }
}

/// The name before a tag, and the tag.
pub(super) fn tag(rest: &str) -> Result<(&str, Option<&str>), String> {
    let Some((name, tag)) = rest.split_once(':') else { return Ok((rest, None)) };
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    if tag.is_empty() {
        return Err("its tag is empty".to_owned());
    }
    if tag.len() > LONGEST_TAG {
        return Err(format!("its tag has {} characters, more than {LONGEST_TAG}", tag.len()));
    }
    if tag.starts_with(['.', '-']) {
        return Err(format!("its tag begins with {:?}", &tag[..1]));
    }
    match tag.bytes().find(|byte| !sound(*byte)) {
        Some(strange) => Err(format!("{:?} can be in no tag", char::from(strange))),
        None => Ok((name, Some(tag))),
    }
}

/// Of the whole path, with what is filled in: the name as we write it must be one too.
pub(super) fn length(path: &str) -> Result<(), String> {
    match path.len() {
        0..=LONGEST_NAME => Ok(()),
        length => Err(format!("its name has {length} characters, more than {LONGEST_NAME}")),
    }
}

pub(super) fn repository(path: &str) -> Result<(), String> {
    let is_id = path.len() == 64 && path.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_id {
        return Err("64 hexadecimal digits are an id and no name".to_owned());
    }
    path.split('/').try_for_each(component)
}

/// Letters and digits, between which one `.`, one or two `_` or any number of `-` may stand.
fn component(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("a part of its name is empty".to_owned());
    }
    if let Some(strange) = text.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '.' | '_' | '-')) {
        let upper = strange.is_ascii_uppercase();
        return Err(if upper {
            "its name has upper-case letters".to_owned()
        } else {
            format!("{strange:?} can be in no name")
        });
    }
    let separators = text.split(|c: char| c.is_ascii_alphanumeric()).filter(|between| !between.is_empty());
    let edge = |c: char| !c.is_ascii_alphanumeric();
    if text.starts_with(edge) || text.ends_with(edge) {
        return Err(format!("{text:?} begins or ends with a separator"));
    }
    for between in separators {
        if !matches!(between, "." | "_" | "__") && !between.bytes().all(|byte| byte == b'-') {
            return Err(format!("{between:?} separates nothing in a name"));
        }
    }
    Ok(())
}
