//! As whom a container runs: what its `runAsUserName`, or its image's user, means on this host.

use os::host::Account as OwnAccount;
use os::user::{Known, Service};
use plan::Style;
use plan::account::{Account, AccountError};

use super::{Host, host_style};
use crate::config::{ContainerConfig, RunAs};

/// Who it is, before anybody is logged on or made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Whom {
    /// As ourselves: nobody needs to log on.
    Own,
    Service(Service),
    /// A temporary user in this local group.
    Group(String),
    User(String),
    /// A group managed service account.
    Gmsa(String),
}

#[derive(Debug, thiserror::Error)]
pub enum AccountRefused {
    #[error(transparent)]
    Name(#[from] AccountError),
    #[error(
        "this host knows neither a group nor a user {0:?}: wanted NT AUTHORITY\\SYSTEM, \\LocalService, \
         \\NetworkService or a local group"
    )]
    Unknown(String),
    #[error("ask this host for {name:?}")]
    Ask { name: String, source: std::io::Error },
    #[error("a group managed service account needs a Windows host in a domain, and this is none")]
    Gmsa,
    #[error("the credential specification of a group managed service account: {0}")]
    CredentialSpec(String),
}

/// Accounts that exist inside isolated Windows containers only, and stand in many images.
const OF_ISOLATED: [&str; 2] = ["ContainerAdministrator", "ContainerUser"];

pub(super) fn whom(
    config: &ContainerConfig,
    host: Host<'_>,
    warnings: &mut Vec<String>,
) -> Result<Whom, AccountRefused> {
    if let Some(spec) = &config.credential_spec {
        let account = gmsa(spec)?;
        return if host_style() == Style::Windows {
            Ok(Whom::Gmsa(account))
        } else {
            Err(AccountRefused::Gmsa)
        };
    }
    let Some(name) = config.user.as_deref().or_else(|| of_the_image(config, warnings)) else {
        return Ok(Whom::Own);
    };
    if host.options.run_as == RunAs::Inherit {
        warnings.push(format!(
            "runs as {}, not as {name}: hostProcess.runAs is inherit",
            host.facts.account.name
        ));
        return Ok(Whom::Own);
    }
    if is_own(name, &host.facts.account) {
        return Ok(Whom::Own);
    }
    match Account::parse(name, &host.facts.hostname)? {
        Account::System => Ok(Whom::Service(Service::System)),
        Account::LocalService => Ok(Whom::Service(Service::LocalService)),
        Account::NetworkService => Ok(Whom::Service(Service::NetworkService)),
        Account::Local(local) => known(local),
    }
}

/// A group wins over a user of the same name, as everywhere.
fn known(name: String) -> Result<Whom, AccountRefused> {
    match os::user::known(&name) {
        Ok(Known::Group) => Ok(Whom::Group(name)),
        Ok(Known::User) => Ok(Whom::User(name)),
        Ok(Known::Nobody) => Err(AccountRefused::Unknown(name)),
        Err(source) => Err(AccountRefused::Ask { name, source }),
    }
}

fn of_the_image<'c>(config: &'c ContainerConfig, warnings: &mut Vec<String>) -> Option<&'c str> {
    let user = config.image.runs.user.as_str();
    if OF_ISOLATED.iter().any(|known| user.eq_ignore_ascii_case(known)) {
        warnings.push(format!("{user} of the image is no account of the host: it runs as porthole does"));
        return None;
    }
    // A group beside the user is the image's own, of which the host knows nothing.
    let user = user.split(':').next().unwrap_or_default();
    (!user.is_empty()).then_some(user)
}

/// SYSTEM is the account of the machine itself: LocalSystem on Windows, root on its twin.
pub(crate) fn is_own(wanted: &str, own: &OwnAccount) -> bool {
    let system = matches!(Account::parse(wanted, ""), Ok(Account::System));
    wanted.eq_ignore_ascii_case(&own.name)
        || wanted == own.id
        || system && ["0", "S-1-5-18"].contains(&own.id.as_str())
}

/// The account of a credential specification, as a logon wants it.
fn gmsa(spec: &str) -> Result<String, AccountRefused> {
    let bad = |why: &str| AccountRefused::CredentialSpec(why.to_owned());
    let spec: serde_json::Value = serde_json::from_str(spec).map_err(|e| bad(&e.to_string()))?;
    let account = &spec["ActiveDirectoryConfig"]["GroupManagedServiceAccounts"][0];
    match (account["Scope"].as_str(), account["Name"].as_str()) {
        (Some(scope), Some(name)) => Ok(format!("{scope}\\{name}$")),
        _ => Err(bad("it names no account: wanted ActiveDirectoryConfig.GroupManagedServiceAccounts")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(name: &str, id: &str) -> OwnAccount {
        OwnAccount { name: name.into(), id: id.into(), elevated: true }
    }

    // proves: HP-10 pure
    #[test]
    fn our_own_account_by_every_name() {
        for (wanted, name, id, expected) in [
            ("nt authority\\system", "root", "0", true),
            ("SYSTEM", "NT AUTHORITY\\SYSTEM", "S-1-5-18", true),
            ("host\\ME", "HOST\\me", "S-1-5-21-1", true),
            ("NT AUTHORITY\\SYSTEM", "HOST\\me", "S-1-5-21-1", false),
            ("NT AUTHORITY\\Local Service", "root", "0", false),
            ("1000", "me", "1000", true),
        ] {
            assert_eq!(is_own(wanted, &own(name, id)), expected, "{wanted} {name}");
        }
    }

    #[test]
    fn a_credential_specification_names_its_account() {
        let spec =
            r#"{"ActiveDirectoryConfig":{"GroupManagedServiceAccounts":[{"Name":"web","Scope":"CORP"}]}}"#;
        assert_eq!(gmsa(spec).unwrap(), "CORP\\web$");
        for bad in ["", "{}", "[]"] {
            assert!(matches!(gmsa(bad), Err(AccountRefused::CredentialSpec(_))), "{bad}");
        }
    }
}
