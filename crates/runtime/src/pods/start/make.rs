//! Everything that a container needs to start, made in order; and what to tell the holder.

use std::path::Path;

use holder::protocol::Launch;
use os::terminal::Size;
use os::user::Identity;

use super::Starting;
use crate::config::Groups;
use crate::error::StartError;
use crate::fail;
use crate::journal::Effect;
use crate::prepare::{Prepared, Whom};

/// What a terminal is until somebody says otherwise.
const TERMINAL: Size = Size { columns: 80, rows: 25 };

// === impl Starting ===

impl Starting<'_> {
    pub(super) fn make(&mut self, mut prepared: Prepared) -> Result<Launch, StartError> {
        let identity = with_groups(self.identity(&prepared.whom)?, &self.config.groups);
        if identity != Identity::Own {
            let account = os::user::environment(&identity)
                .map_err(|source| StartError::Account { name: format!("{:?}", prepared.whom), source })?;
            prepared = self.runtime.prepare(self.pod, self.container, self.config, Some(account))?;
        }
        let dir = &self.container.dir;
        if self.config.termination.is_some() {
            let what = || dir.termination().display().to_string();
            make_writable_file(&dir.termination())
                .map_err(|source| StartError::Make { what: what(), source })?;
            fail::point("termination-made");
        }
        let view = self.view(&prepared)?;
        let env = prepared.env.into_variables();
        self.remember(&env, &identity)?;
        let room = &prepared.room;
        Ok(Launch {
            id: self.container.id.to_string(),
            job: self.runtime.inner.node.layout.job(&self.container.id),
            program: room.for_everybody(Path::new(&prepared.start.program)),
            command_line: plan::quote::command_line(&prepared.start.argv),
            argv: prepared.start.argv,
            env,
            cwd: room.directory_for_everybody(&room.cwd),
            overlay: None,
            view,
            identity,
            stdin: self.config.stdin,
            stdin_once: self.config.stdin_once,
            terminal: self.config.tty.then_some(TERMINAL),
            rotate: self.config.rotate,
            limits: self.config.limits.clone(),
            log: self.container.life().record.log.clone(),
            exit: dir.exit(),
        })
    }

    /// For programs that are run inside it later. A password is not written down.
    fn remember(&self, env: &[(String, String)], identity: &Identity) -> Result<(), StartError> {
        if !matches!(identity, Identity::Own | Identity::Local { .. }) {
            let identity = Some(identity.clone());
            self.container.rewrite(|record| record.identity = identity).map_err(StartError::Record)?;
        }
        if let Some(secret) = &mut self.container.life().secret {
            secret.started = Some((env.to_vec(), identity.clone()));
        }
        Ok(())
    }

    fn identity(&mut self, whom: &Whom) -> Result<Identity, StartError> {
        let (name, identity) = match whom {
            Whom::Own => return Ok(Identity::Own),
            Whom::Gmsa(account) => return Ok(Identity::Gmsa { account: account.clone() }),
            Whom::Service(service) => (format!("{service:?}"), os::user::resolve_service(*service)),
            Whom::User(name) => (name.clone(), os::user::by_name(name)),
            Whom::Group(group) => {
                let name = self.runtime.inner.node.layout.temporary_user(&self.container.id);
                self.journal.record(&Effect::User { name: name.clone() })?;
                fail::point("user-noted");
                let made = os::user::make_temporary(&name, group);
                fail::point("user-made");
                (format!("a temporary user in the group {group}"), made)
            }
        };
        identity.map_err(|source| StartError::Account { name, source })
    }
}

/// Numbers that were asked for take the place of the account's own, where accounts are numbers.
fn with_groups(identity: Identity, asked: &Groups) -> Identity {
    if *asked == Groups::default() {
        return identity;
    }
    match (identity, os::user::own_ids()) {
        (Identity::Ids { uid, gid, .. }, _) | (Identity::Own, Some((uid, gid))) => {
            let gid = asked.own.unwrap_or(gid);
            let groups = std::iter::once(gid).chain(asked.further.iter().copied()).collect();
            Identity::Ids { uid, gid, groups }
        }
        (other, _) => other,
    }
}

/// Whoever the container runs as may write its last words.
fn make_writable_file(path: &Path) -> std::io::Result<()> {
    let file = std::fs::File::create(path)?;
    let mut permissions = file.metadata()?.permissions();
    #[expect(
        clippy::permissions_set_readonly_false,
        reason = "everybody may write: the way there is closed"
    )]
    permissions.set_readonly(false);
    std::fs::set_permissions(path, permissions)
}
