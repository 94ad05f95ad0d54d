//! `$(NAME)` in commands, arguments and variables, as Kubernetes expands it.
//!
//! A known name is replaced, an unknown one left as it stands, and `$$` is one dollar, so that `$$(NAME)`
//! is the text `$(NAME)`. There is no nesting and no second pass.

/// Expands the text; `lookup` gives a variable's value.
pub fn expand<'v>(text: &str, lookup: impl Fn(&str) -> Option<&'v str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some((name, after)) = reference(rest) {
            match lookup(name) {
                Some(value) => out.push_str(value),
                None => out.extend(["$(", name, ")"]),
            }
            rest = after;
        } else {
            out.push('$');
        }
    }
    out.push_str(rest);
    out
}

/// The name in a text that starts with `(NAME)`, and what follows it.
fn reference(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('(')?.split_once(')')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> String {
        expand(text, |name| match name {
            "A" => Some("one"),
            "EMPTY" => Some(""),
            "NESTED" => Some("$(A)"),
            _ => None,
        })
    }

    #[test]
    fn as_kubernetes_documents_it() {
        for (text, expected) in [
            ("$(A)", "one"),
            ("x$(A)y$(A)", "xoneyone"),
            ("$(EMPTY)", ""),
            ("$(UNKNOWN)", "$(UNKNOWN)"),
            ("$$(A)", "$(A)"),
            ("$$$(A)", "$one"),
            ("$$$$(A)", "$$(A)"),
            ("$(NESTED)", "$(A)"),
            ("$A ${A}", "$A ${A}"),
            ("$(A", "$(A"),
            ("$", "$"),
            ("$$", "$"),
            ("costs 5$ ", "costs 5$ "),
            ("", ""),
        ] {
            assert_eq!(expanded(text), expected, "{text}");
        }
    }
}
