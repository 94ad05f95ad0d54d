//! As whom a HostProcess container runs: what a `runAsUserName` means before the host is asked.
//!
//! CRI carries no password, so only accounts that need none can be had: the three service accounts, and a local group,
//! for which a temporary user is made. Everything else is refused with what could be written instead.

/// What a name means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Account {
    /// `NT AUTHORITY\SYSTEM`.
    System,
    /// `NT AUTHORITY\LocalService`.
    LocalService,
    /// `NT AUTHORITY\NetworkService`.
    NetworkService,
    /// A name without a domain, or with that of the host: a local group if there is one of that name.
    Local(String),
}

/// Why nobody can run under a name, with what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    #[error(
        "the user name is empty: wanted NT AUTHORITY\\SYSTEM, \\LocalService, \\NetworkService or a local group"
    )]
    Empty,
    #[error(
        "{0:?} is an account of a domain, whose password no pod can give: \
         wanted a service account, a local group, or gmsaCredentialSpecName"
    )]
    Domain(String),
    #[error("{0:?} is a virtual service account: wanted NT AUTHORITY\\LocalService or a local group")]
    Virtual(String),
    #[error("{0:?} is not a name Windows knows: it has {1:?}, which none may have")]
    Character(String, char),
}

/// A temporary user is named after its container, as far as Windows lets a name be long.
pub const LONGEST_USER: usize = 20;

/// In the order of [`Account`], lower case and without spaces.
const SERVICES: [(&[&str], Account); 3] = [
    (&["system", "localsystem", "s-1-5-18"], Account::System),
    (&["localservice", "s-1-5-19"], Account::LocalService),
    (&["networkservice", "s-1-5-20"], Account::NetworkService),
];

const FORBIDDEN: &str = "\"/[]:;|=,+*?<>";

// === impl Account ===

impl Account {
    /// Reads a `runAsUserName` or an image's user. `host` is the host's own name, a domain of its own.
    pub fn parse(name: &str, host: &str) -> Result<Account, AccountError> {
        let (domain, user) =
            name.split_once('\\').map_or((None, name), |(domain, user)| (Some(domain), user));
        if user.trim().is_empty() {
            return Err(AccountError::Empty);
        }
        if let Some(account) = service(domain, user) {
            return Ok(account);
        }
        if let Some(strange) = user.chars().find(|c| FORBIDDEN.contains(*c) || c.is_control() || *c == '\\') {
            return Err(AccountError::Character(name.to_owned(), strange));
        }
        match domain {
            _ if user.contains('@') => Err(AccountError::Domain(name.to_owned())),
            Some(domain) if domain.eq_ignore_ascii_case("nt service") => {
                Err(AccountError::Virtual(name.to_owned()))
            }
            Some(domain) if !is_of_the_host(domain, host) => Err(AccountError::Domain(name.to_owned())),
            _ => Ok(Account::Local(user.to_owned())),
        }
    }

    /// The well-known identifier, which is the same on every Windows, whatever its language.
    pub fn sid(&self) -> Option<&'static str> {
        match self {
            Account::System => Some("S-1-5-18"),
            Account::LocalService => Some("S-1-5-19"),
            Account::NetworkService => Some("S-1-5-20"),
            Account::Local(_) => None,
        }
    }
}

/// The name of the temporary user of this container.
pub fn temporary_user(container_id: &str) -> &str {
    container_id.char_indices().nth(LONGEST_USER).map_or(container_id, |(at, _)| &container_id[..at])
}

fn service(domain: Option<&str>, user: &str) -> Option<Account> {
    if domain.is_some_and(|domain| !domain.eq_ignore_ascii_case("nt authority")) {
        return None;
    }
    let plain = user.replace(' ', "").to_ascii_lowercase();
    SERVICES.iter().find(|(names, _)| names.contains(&plain.as_str())).map(|(_, account)| account.clone())
}

fn is_of_the_host(domain: &str, host: &str) -> bool {
    [".", "BUILTIN", host].iter().any(|own| domain.eq_ignore_ascii_case(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str) -> Result<Account, AccountError> {
        Account::parse(name, "NODE-1")
    }

    // proves: HP-10 pure
    #[test]
    fn service_accounts_in_any_case_with_or_without_a_space() {
        for (account, names) in [
            (Account::System, ["NT AUTHORITY\\SYSTEM", "nt authority\\system", "System", "LocalSystem"]),
            (
                Account::LocalService,
                ["NT AUTHORITY\\Local Service", "NT Authority\\LocalService", "LOCAL SERVICE", "S-1-5-19"],
            ),
            (
                Account::NetworkService,
                [
                    "NT AUTHORITY\\NetworkService",
                    "nt authority\\network service",
                    "NETWORK SERVICE",
                    "s-1-5-20",
                ],
            ),
        ] {
            for name in names {
                assert_eq!(parsed(name), Ok(account.clone()), "{name}");
            }
            assert!(account.sid().is_some());
        }
    }

    // proves: HP-10 pure
    #[test]
    fn a_local_name_with_or_without_the_hosts_own() {
        for name in ["hpc-users", ".\\hpc-users", "node-1\\hpc-users", "BUILTIN\\hpc-users"] {
            assert_eq!(parsed(name), Ok(Account::Local("hpc-users".into())), "{name}");
        }
        assert_eq!(parsed("Remote Desktop Users"), Ok(Account::Local("Remote Desktop Users".into())));
        assert_eq!(Account::Local("x".into()).sid(), None);
    }

    // proves: HP-10 pure
    #[test]
    fn what_needs_a_password_is_refused_by_name() {
        for name in ["CORP\\alice", "alice@corp.example", "CORP\\SYSTEM"] {
            assert_eq!(parsed(name), Err(AccountError::Domain(name.into())), "{name}");
        }
        assert!(matches!(parsed("NT SERVICE\\w3svc"), Err(AccountError::Virtual(_))));
        for name in ["", " ", "CORP\\", "NT AUTHORITY\\ "] {
            assert_eq!(parsed(name), Err(AccountError::Empty), "{name:?}");
        }
        for (name, strange) in [("a:b", ':'), ("a\\b\\c", '\\'), ("a*", '*'), ("a\n", '\n')] {
            let name = if name == "a\\b\\c" { "node-1\\b\\c" } else { name };
            assert_eq!(parsed(name), Err(AccountError::Character(name.into(), strange)));
        }
        let said = parsed("CORP\\alice").unwrap_err().to_string();
        assert!(said.contains("a local group"), "{said}");
    }

    #[test]
    fn a_temporary_user_has_a_name_that_windows_takes() {
        assert_eq!(temporary_user("0123456789abcdef0123456789"), "0123456789abcdef0123");
        assert_eq!(temporary_user("short"), "short");
        assert_eq!(temporary_user(&"ä".repeat(30)).chars().count(), 20);
    }
}
