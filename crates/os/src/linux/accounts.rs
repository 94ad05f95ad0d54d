//! `/etc/passwd` and `/etc/group`, read as text. Lines that are not what they should be are passed over, as the C library
//! does it.

use std::io;

/// Both files, as they were when they were read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accounts {
    pub(crate) users: String,
    pub(crate) groups: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct User<'a> {
    pub(crate) name: &'a str,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) home: &'a str,
    pub(crate) shell: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group<'a> {
    pub(crate) name: &'a str,
    pub(crate) gid: u32,
    members: &'a str,
}

// === impl Accounts ===

impl Accounts {
    pub(crate) fn read() -> io::Result<Self> {
        Ok(Self { users: read("/etc/passwd")?, groups: read("/etc/group")? })
    }

    pub(crate) fn users(&self) -> impl Iterator<Item = User<'_>> {
        self.users.lines().filter_map(User::parse)
    }

    pub(crate) fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        self.groups.lines().filter_map(Group::parse)
    }

    pub(crate) fn user(&self, name: &str) -> Option<User<'_>> {
        self.users().find(|user| user.name == name)
    }

    pub(crate) fn user_of(&self, uid: u32) -> Option<User<'_>> {
        self.users().find(|user| user.uid == uid)
    }

    pub(crate) fn group(&self, name: &str) -> Option<Group<'_>> {
        self.groups().find(|group| group.name == name)
    }

    /// All the groups a user is in, its own first, each once.
    pub(crate) fn groups_of(&self, user: &User<'_>) -> Vec<u32> {
        let mut all = vec![user.gid];
        for group in self.groups().filter(|group| group.has(user.name)) {
            if !all.contains(&group.gid) {
                all.push(group.gid);
            }
        }
        all
    }
}

/// A host without the file has nobody in it.
fn read(path: &str) -> io::Result<String> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(io::Error::new(error.kind(), format!("read {path}: {error}"))),
    }
}

// === impl User ===

impl<'a> User<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, uid, gid, _, home, shell] = fields[..] else { return None };
        Some(Self { name: named(name)?, uid: id(uid)?, gid: id(gid)?, home, shell })
    }
}

// === impl Group ===

impl<'a> Group<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, gid, members] = fields[..] else { return None };
        Some(Self { name: named(name)?, gid: id(gid)?, members })
    }

    fn has(&self, user: &str) -> bool {
        self.members.split(',').any(|member| member.trim() == user)
    }
}

/// Comments, and the signs by which name services are asked for, are nobody's name.
fn named(name: &str) -> Option<&str> {
    (!name.is_empty() && !name.starts_with(['#', '+', '-']) && name.trim() == name).then_some(name)
}

/// Digits alone, and not the number that the kernel takes for none.
fn id(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|id| plain && *id != u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn accounts() -> Accounts {
        let users = "root:x:0:0:root:/root:/bin/sh\n# a comment\n+::::::\nbroken:x:1\nneg:x:-1:0::/:/\n\
                     ann:x:1000:1000:Ann,,,:/home/ann:/bin/bash\nmax:x:4294967295:1::/:/\nplus:x:+7:1::/:/\n";
        let groups =
            "root:x:0:\nann:x:1000:\nwheel:x:10:root,ann\naudio:x:29:annette, ann\ndouble:x:10:ann\n";
        Accounts { users: users.to_owned(), groups: groups.to_owned() }
    }

    #[test]
    fn users_are_found_by_name_and_number() {
        let accounts = accounts();
        let ann = User { name: "ann", uid: 1000, gid: 1000, home: "/home/ann", shell: "/bin/bash" };
        assert_eq!(accounts.user("ann"), Some(ann));
        assert_eq!(accounts.user_of(1000), Some(ann));
        assert_eq!((accounts.user("Ann"), accounts.user("")), (None, None));
    }

    #[test]
    fn lines_that_are_not_accounts_are_passed_over() {
        let accounts = accounts();
        let names: Vec<&str> = accounts.users().map(|user| user.name).collect();
        assert_eq!(names, ["root", "ann"]);
    }

    #[test]
    fn a_user_is_in_its_own_group_and_in_those_that_list_it() {
        let accounts = accounts();
        assert_eq!(accounts.groups_of(&accounts.user("ann").unwrap()), [1000, 10, 29]);
        assert_eq!(accounts.groups_of(&accounts.user("root").unwrap()), [0, 10]);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_stumble(users in ".*", groups in ".*", name in ".*") {
            let accounts = Accounts { users, groups };
            if let Some(user) = accounts.user(&name) {
                prop_assert_eq!(user.name, name.as_str());
                prop_assert!(accounts.groups_of(&user).contains(&user.gid));
            }
            accounts.group(&name);
        }

        #[test]
        fn what_was_written_is_read(
            name in "[a-z_][a-z0-9_-]{0,30}", uid in 0..u32::MAX, gid in 0..u32::MAX, home in "/[a-zA-Z0-9/ ]*",
            before in "([^\n]{0,40}\n){0,5}",
        ) {
            let users = format!("{before}{name}:x:{uid}:{gid}::{home}:/bin/sh\n");
            let accounts = Accounts { groups: format!("g:x:7:a,{name}\n"), users };
            prop_assume!(!before.lines().any(|line| line.starts_with(&name)));
            let user = accounts.user(&name).unwrap();
            prop_assert_eq!((user.uid, user.gid, user.home), (uid, gid, home.as_str()));
            prop_assert!(accounts.groups_of(&user).contains(&7));
        }
    }
}
