//! Whose variable wins: the system's, then the image's, then the pod's; the last one said stands.

use crate::Style;

/// An environment under construction, in the order in which its names first appeared.
#[derive(Debug, Clone)]
pub struct Environment {
    style: Style,
    variables: Vec<(String, String)>,
}

// === impl Environment ===

impl Environment {
    pub fn new(style: Style) -> Environment {
        Environment { style, variables: Vec::new() }
    }

    /// Sets a variable, over any earlier one of that name. Empty values count.
    pub fn set(&mut self, name: &str, value: &str) {
        let style = self.style;
        match self.variables.iter_mut().find(|(known, _)| style.same_name(known, name)) {
            Some((_, known)) => value.clone_into(known),
            None => self.variables.push((name.to_owned(), value.to_owned())),
        }
    }

    /// Sets what an image gives as `NAME=VALUE`. An entry without a sign is a name with no value.
    pub fn set_entry(&mut self, entry: &str) {
        // Windows keeps a current directory per drive in names like `=C:`: the sign at the start is part of it.
        let sign = entry.char_indices().skip(1).find(|(_, c)| *c == '=').map(|(at, _)| at);
        match sign {
            Some(at) => self.set(&entry[..at], &entry[at + 1..]),
            None if !entry.is_empty() => self.set(entry, ""),
            None => {}
        }
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(known, _)| self.style.same_name(known, name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn into_variables(self) -> Vec<(String, String)> {
        self.variables
    }
}

// === impl Style ===

impl Style {
    fn same_name(self, a: &str, b: &str) -> bool {
        match self {
            Style::Unix => a == b,
            Style::Windows => a.to_uppercase() == b.to_uppercase(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(style: Style, entries: &[&str]) -> Vec<(String, String)> {
        let mut environment = Environment::new(style);
        entries.iter().for_each(|entry| environment.set_entry(entry));
        environment.into_variables()
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn the_last_one_said_stands_in_the_first_ones_place() {
        assert_eq!(built(Style::Unix, &["A=1", "B=2", "A=3"]), [pair("A", "3"), pair("B", "2")]);
    }

    #[test]
    fn names_differ_by_case_only_where_the_system_says_so() {
        assert_eq!(built(Style::Unix, &["Path=a", "PATH=b"]), [pair("Path", "a"), pair("PATH", "b")]);
        assert_eq!(built(Style::Windows, &["Path=a", "PATH=b"]), [pair("Path", "b")]);
    }

    #[test]
    fn odd_entries_of_images() {
        assert_eq!(
            built(Style::Unix, &["A=", "B", "C=x=y", ""]),
            [pair("A", ""), pair("B", ""), pair("C", "x=y")]
        );
        assert_eq!(built(Style::Windows, &["=C:=C:\\dir"]), [pair("=C:", "C:\\dir")]);
        assert_eq!(built(Style::Unix, &["ä=1"]), [pair("ä", "1")]);
    }

    #[test]
    fn a_value_can_be_asked_for() {
        let mut environment = Environment::new(Style::Windows);
        environment.set("Temp", "x");
        assert_eq!((environment.get("TEMP"), environment.get("TMP")), (Some("x"), None));
    }
}
