//! Who asks a registry, and which way: accounts, mirrors, certificates.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use images::hosts::Hosts;
use images::keyring::Keyring;
use images::{Access, Reference};
use k8s_openapi::api::core::v1::Secret;

use crate::cli::Root;
use crate::failure::{Exit, Failure, code};
use crate::manifest;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Registry")]
pub(super) struct AccessArgs {
    /// The account; its password comes from standard input
    #[arg(long, value_name = "NAME", requires = "password_stdin")]
    user: Option<String>,
    /// Read the password from standard input: an argument could be seen by others
    #[arg(long, requires = "user")]
    password_stdin: bool,
    /// Accounts as `docker login` keeps them [default: $DOCKER_CONFIG/config.json, ~/.docker/config.json]
    #[arg(long, value_name = "FILE")]
    docker_config: Option<PathBuf>,
    /// A Kubernetes pull secret, YAML or JSON; may be given several times
    #[arg(long, value_name = "FILE")]
    pull_secret: Vec<PathBuf>,
    /// Mirrors and certificates for each registry, as containerd's certs.d [default: ROOT/certs.d]
    #[arg(long, value_name = "DIR", env = HOSTS_VARIABLE)]
    hosts_dir: Option<PathBuf>,
}

const HOSTS_VARIABLE: &str = "PORTHOLE_HOSTS_DIR";
/// Under the root, when nobody says otherwise.
const HOSTS_DIR: &str = "certs.d";
/// The types of pull secrets, and where each has what it holds.
const SECRETS: [(&str, &str); 2] =
    [("kubernetes.io/dockerconfigjson", ".dockerconfigjson"), ("kubernetes.io/dockercfg", ".dockercfg")];

const WANTED: &str = "wanted a Secret of type kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg";

/// A pull secret: what it is called in errors, its type, what it holds.
pub(crate) struct PullSecret {
    name: String,
    kind: String,
    bytes: Vec<u8>,
}

// === impl AccessArgs ===

impl AccessArgs {
    /// Everything that was said and is found for these images. What was said first is tried first.
    pub(super) fn open(&self, root: &Root, images: &[Reference]) -> Result<Access, Failure> {
        let mut keyring = Keyring::default();
        if let Some(user) = &self.user {
            let password = password()?;
            for registry in registries(images) {
                keyring = keyring.with_password(registry, user, &password);
            }
        }
        let secrets =
            self.pull_secret.iter().map(|path| PullSecret::read(path)).collect::<Result<Vec<_>, _>>();
        self.found(root, keyring, &secrets.or_usage()?)
    }

    /// The same for a build, which takes its bases from registries. Only an account has to know which they are.
    pub(super) fn open_for_bases(
        &self,
        root: &Root,
        bases: impl FnOnce() -> Result<Vec<Reference>, Failure>,
    ) -> Result<Access, Failure> {
        let Some(user) = &self.user else { return self.open(root, &[]) };
        let bases = bases()?;
        check_bases(user, &bases)?;
        self.open(root, &bases)
    }

    /// After what was said, what is found without being said.
    fn found(&self, root: &Root, keyring: Keyring, secrets: &[PullSecret]) -> Result<Access, Failure> {
        let each = secrets.iter().map(|secret| (&*secret.name, &*secret.kind, &*secret.bytes));
        let mut keyring = keyring.with_pull_secrets(each).or_usage()?;
        if let Some(path) = self.docker_config.clone().or_else(docker_config) {
            keyring = keyring.with_docker_config(&path).or_usage()?;
        }
        Ok(Access { keyring, hosts: Hosts::default().with_dir(&self.hosts_dir(root)?) })
    }

    fn hosts_dir(&self, root: &Root) -> Result<PathBuf, Failure> {
        match &self.hosts_dir {
            Some(dir) if !dir.is_dir() => {
                let error = anyhow!("--hosts-dir {}: wanted a directory", dir.display());
                Err(Failure::new(code::USAGE, error))
            }
            Some(dir) => Ok(dir.clone()),
            None => Ok(root.path().or_environment()?.join(HOSTS_DIR)),
        }
    }
}

fn registries(images: &[Reference]) -> BTreeSet<&str> {
    images.iter().map(Reference::registry).collect()
}

/// The line does not say whose account it is: the bases must, since no registry is shown the password of another.
fn check_bases(user: &str, bases: &[Reference]) -> Result<(), Failure> {
    let registries: Vec<_> = registries(bases).into_iter().collect();
    let found = match registries.as_slice() {
        [_] => return Ok(()),
        [] => "none".to_owned(),
        several => {
            let several = several.join(" and ");
            format!("{several}: --docker-config and --pull-secret say of each account whose it is")
        }
    };
    let wanted = "FROM and COPY --from to name images of one registry";
    Err(Failure::new(code::USAGE, anyhow!("--user {user}: wanted {wanted}, found {found}")))
}

/// How images are pulled by a service: with what is found without arguments.
pub(crate) fn of_this_host(root: &Root) -> Result<Access, Failure> {
    of_pod(root, &[])
}

/// How a pod's images are pulled: first with the secrets that it names.
pub(crate) fn of_pod(root: &Root, secrets: &[PullSecret]) -> Result<Access, Failure> {
    let hosts_dir = std::env::var_os(HOSTS_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    AccessArgs { hosts_dir, ..AccessArgs::default() }.found(root, Keyring::default(), secrets)
}

/// Where `docker login` keeps what it was told, if it was.
fn docker_config() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").or_else(|| set("USERPROFILE")).map(|home| home.join(".docker"));
    set("DOCKER_CONFIG").or_else(home).map(|dir| dir.join("config.json")).filter(|path| path.is_file())
}

/// The first line of standard input: editors and `echo` end it, a password has no end of line.
fn password() -> Result<String, Failure> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("read the password from standard input").or_usage()?;
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(Failure::new(code::USAGE, anyhow!("--password-stdin: standard input is empty"))),
        password => Ok(password.to_owned()),
    }
}

// === impl PullSecret ===

impl PullSecret {
    fn read(path: &Path) -> anyhow::Result<PullSecret> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(|| format!("read {name}"))?;
        PullSecret::parse(&text, name)
    }

    fn parse(text: &str, name: String) -> anyhow::Result<PullSecret> {
        let Some(secret) = serde_saphyr::from_str(text).ok().and_then(manifest::secret) else {
            bail!("{name} is no Secret: {WANTED}")
        };
        PullSecret::of(secret, name)
    }

    /// What is wrong is said without a word of what is in it.
    pub(crate) fn of(secret: Secret, name: String) -> anyhow::Result<PullSecret> {
        let kind = secret.type_.unwrap_or_default();
        let Some((_, key)) = SECRETS.iter().find(|(known, _)| *known == kind) else {
            bail!("{name} has the type {kind:?}: {WANTED}");
        };
        let plain =
            secret.string_data.as_ref().and_then(|data| data.get(*key)).map(|text| text.clone().into_bytes());
        let bytes = plain.or_else(|| secret.data?.remove(*key).map(|bytes| bytes.0));
        Ok(PullSecret { bytes: bytes.with_context(|| format!("{name} has no data {key:?}"))?, name, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_of_a_build_is_for_one_registry() {
        let check = |bases: &[&str]| {
            let bases: Vec<_> = bases.iter().map(|text| Reference::parse(text).unwrap()).collect();
            check_bases("jane", &bases).map_err(|failure| (failure.code, failure.error.to_string()))
        };
        assert_eq!(check(&["a.test/x:1"]), Ok(()));
        assert_eq!(check(&["a.test/x:1", "a.test/y:2"]), Ok(()));
        for (bases, why) in [
            (&["b.test/x:1", "busybox:1.37", "b.test/y:1"][..], "b.test and docker.io: --docker-config"),
            // Another port is another registry.
            (&["a.test/x:1", "a.test:5000/x:1"], "found a.test and a.test:5000"),
            (&[], "of one registry, found none"),
        ] {
            let (code, said) = check(bases).unwrap_err();
            assert_eq!(code, code::USAGE);
            assert!(said.starts_with("--user jane: ") && said.contains(why), "{said}");
        }
    }

    #[test]
    fn pull_secrets_as_kubectl_prints_them() {
        let parsed = |text: &str| PullSecret::parse(text, "secret.yaml".into());
        let data = "{apiVersion: v1, kind: Secret, type: kubernetes.io/dockerconfigjson, data: {.dockerconfigjson: e30=}}";
        assert_eq!(parsed(data).unwrap().bytes, b"{}");
        let plain =
            "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/dockercfg\nstringData:\n  .dockercfg: '{}'\n";
        assert_eq!(parsed(plain).unwrap().kind, "kubernetes.io/dockercfg");
        let block =
            "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/dockercfg\ndata:\n  .dockercfg: |\n    e30=\n";
        assert_eq!(parsed(block).unwrap().bytes, b"{}");
        for (bad, why) in [
            ("{kind: Secret, type: Opaque, data: {a: c2VjcmV0}}", "has the type \"Opaque\""),
            ("{type: kubernetes.io/dockercfg, data: {a: c2VjcmV0}}", "has no data \".dockercfg\""),
            ("[secret]", "is no Secret"),
        ] {
            let error = parsed(bad).map(drop).unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains("c2VjcmV0"), "{error}");
        }
    }
}
