//! Accounts of the twin: what `/etc/passwd` and `/etc/group` say, and users of a container's lifetime.

use std::io;

use super::accounts::{Accounts, User};
use super::temporary::Records;
use crate::user::{Identity, Known, Service};

/// What login programs give everybody.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

pub(crate) fn known(name: &str) -> io::Result<Known> {
    let accounts = Accounts::read()?;
    Ok(if accounts.group(name).is_some() {
        Known::Group
    } else if accounts.user(name).is_some() || name.parse::<u32>().is_ok() {
        Known::User
    } else {
        Known::Nobody
    })
}

pub(crate) fn by_name(name: &str) -> io::Result<Identity> {
    let accounts = Accounts::read()?;
    let number = name.parse().ok();
    let Some(user) = accounts.user(name).or_else(|| accounts.user_of(number?)) else {
        // As with containers everywhere: a number without a name is in root's group.
        let nobody = || not_found(&format!("user {name:?} in /etc/passwd"));
        return Ok(Identity::Ids { uid: number.ok_or_else(nobody)?, gid: 0, groups: vec![0] });
    };
    Ok(Identity::Ids { uid: user.uid, gid: user.gid, groups: accounts.groups_of(&user) })
}

pub(crate) fn own_ids() -> Option<(u32, u32)> {
    Some((rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()))
}

pub(crate) fn resolve_service(service: Service) -> io::Result<Identity> {
    match service {
        Service::System => Ok(Identity::Ids { uid: 0, gid: 0, groups: vec![0] }),
        Service::LocalService => by_name("daemon"),
        Service::NetworkService => by_name("nobody"),
    }
}

pub(crate) fn make_temporary(name: &str, group: &str) -> io::Result<Identity> {
    if !crate::elevated() {
        let text = format!("only root can make the user {name:?} of group {group:?}");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    let accounts = Accounts::read()?;
    let gid = accounts.group(group).ok_or_else(|| not_found(&format!("group {group:?} in /etc/group")))?.gid;
    let uid = Records::of_the_host().make(name, &accounts)?;
    Ok(Identity::Ids { uid, gid, groups: vec![gid] })
}

/// Who cannot make one has none to remove, also where one was noted down before it was refused.
pub(crate) fn remove_temporary(name: &str) -> io::Result<()> {
    if crate::elevated() { Records::of_the_host().remove(name) } else { Ok(()) }
}

/// The directory is root's, so another account has none and sees none.
pub(crate) fn temporary() -> io::Result<Vec<String>> {
    if crate::elevated() { Records::of_the_host().names() } else { Ok(Vec::new()) }
}

pub(crate) fn environment(identity: &Identity) -> io::Result<Vec<(String, String)>> {
    let uid = match identity {
        Identity::Own => rustix::process::geteuid().as_raw(),
        Identity::Ids { uid, .. } => *uid,
        Identity::Service(service) => return environment(&resolve_service(*service)?),
        Identity::Local { .. } | Identity::Gmsa { .. } => {
            let text = format!("{} is an account of Windows", identity.name());
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
    };
    let accounts = Accounts::read()?;
    let temporary = Records::of_the_host().name_of(uid);
    Ok(variables(uid, accounts.user_of(uid), temporary))
}

/// Who has no entry has the root for a home, as services without one have.
fn variables(uid: u32, user: Option<User<'_>>, temporary: Option<String>) -> Vec<(String, String)> {
    let name = user.map(|user| user.name.to_owned()).or(temporary).unwrap_or_else(|| uid.to_string());
    let or = |text: &str, otherwise: &str| if text.is_empty() { otherwise } else { text }.to_owned();
    let home = or(user.map_or("", |user| user.home), "/");
    let shell = or(user.map_or("", |user| user.shell), "/bin/sh");
    let all = [("HOME", home), ("USER", name.clone()), ("LOGNAME", name), ("SHELL", shell)];
    let all = all.into_iter().chain([("PATH", PATH.to_owned())]);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn not_found(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("there is no {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'a>(variables: &'a [(String, String)], name: &str) -> &'a str {
        &variables.iter().find(|(known, _)| known == name).unwrap().1
    }

    #[test]
    fn variables_are_the_accounts_or_sensible() {
        let user = User { name: "ann", uid: 5, gid: 5, home: "/home/ann", shell: "" };
        let found = variables(5, Some(user), None);
        assert_eq!(
            (of(&found, "HOME"), of(&found, "LOGNAME"), of(&found, "SHELL")),
            ("/home/ann", "ann", "/bin/sh")
        );
        let found = variables(5, None, Some("c0ffee".to_owned()));
        assert_eq!((of(&found, "HOME"), of(&found, "USER")), ("/", "c0ffee"));
        assert_eq!(of(&variables(5, None, None), "USER"), "5");
    }

    #[test]
    fn root_is_a_user_everywhere_and_a_name_nobody_has_is_nobody() {
        assert_ne!(known("root").unwrap(), Known::Nobody);
        assert_eq!(known("no-such-account-here").unwrap(), Known::Nobody);
        let error = by_name("no-such-account-here").unwrap_err();
        assert!(
            error.kind() == io::ErrorKind::NotFound && error.to_string().contains("no-such-account-here")
        );
        let Identity::Ids { uid, .. } = by_name("root").unwrap() else { panic!("numbers") };
        assert_eq!(uid, 0);
        assert_eq!(by_name("0").unwrap(), by_name("root").unwrap());
        assert_eq!(known("1999999999").unwrap(), Known::User);
        let numbered = Identity::Ids { uid: 1_999_999_999, gid: 0, groups: vec![0] };
        assert_eq!(by_name("1999999999").unwrap(), numbered);
    }

    #[test]
    fn system_is_root() {
        let system = resolve_service(Service::System).unwrap();
        assert_eq!(system, Identity::Ids { uid: 0, gid: 0, groups: vec![0] });
        assert_eq!(of(&environment(&Identity::Service(Service::System)).unwrap(), "USER"), "root");
    }
}
