//! One package out of a Debian archive, of a suite this machine need not have configured.
//!
//! The archive is the one that the machine's own apt uses; the chain of trust is apt's: signed release file, hash of
//! the index, hash of the package. apt's helper does the transfers, so its proxy settings hold.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::tools::{debian, progress};

const HELPER: &str = "/usr/lib/apt/apt-helper";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Packages for all architectures are listed here too; the `binary-all` index is not meant for clients
/// (`No-Support-for-Architecture-all` in the release file) and may lag behind the signature.
const INDEX_DIR: &str = "main/binary-amd64";
const INDEX: &str = "main/binary-amd64/Packages.xz";

/// A package as the archive's index lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub version: String,
    pub file: String,
    pub sha256: String,
}

/// Every version of a package in a suite; `scratch` keeps the downloads.
pub fn versions(suite: &str, package: &str, scratch: &Path) -> Result<Vec<Listed>> {
    let base = format!("{}/dists/{suite}", debian::mirror()?);
    let release = scratch.join(format!("{suite}.InRelease"));
    download(&format!("{base}/InRelease"), &release, None)?;
    let text = verified(&release)?;
    let hash = index_hash(&text, INDEX).with_context(|| format!("{suite} has no {INDEX}"))?;
    let index = scratch.join(format!("{suite}.Packages.xz"));
    // By its hash: the plain name may already be the next index while the archive is being updated.
    download(&format!("{base}/{INDEX_DIR}/by-hash/SHA256/{hash}"), &index, Some(hash))?;
    let list = progress::text_of(Command::new(HELPER).arg("cat-file").arg(&index))?;
    Ok(listed(&list, package))
}

/// Downloads a package and unpacks it into `dir`.
pub fn unpack(package: &Listed, scratch: &Path, dir: &Path) -> Result<()> {
    let deb = scratch.join("package.deb");
    download(&format!("{}/{}", debian::mirror()?, package.file), &deb, Some(&package.sha256))?;
    progress::run(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(dir))?;
    Ok(fs::remove_file(deb)?)
}

fn download(uri: &str, to: &Path, sha256: Option<&str>) -> Result<()> {
    let mut helper = Command::new(HELPER);
    helper.arg("download-file").arg(uri).arg(to);
    if let Some(hash) = sha256 {
        helper.arg(format!("SHA256:{hash}"));
    }
    progress::run(&mut helper)?;
    Ok(())
}

fn verified(release: &Path) -> Result<String> {
    let mut check = Command::new("gpgv");
    check.args(["--keyring", KEYRING, "--output", "-"]).arg(release);
    progress::text_of(&mut check).with_context(|| format!("check the signature of {}", release.display()))
}

fn index_hash<'a>(release: &'a str, index: &str) -> Option<&'a str> {
    let hashes = release.lines().skip_while(|line| *line != "SHA256:").skip(1);
    let mut rows = hashes.take_while(|line| line.starts_with(' ')).map(str::split_whitespace);
    rows.find_map(|mut row| match (row.next(), row.next(), row.next()) {
        (Some(hash), Some(_size), Some(name)) if name == index => Some(hash),
        _ => None,
    })
}

fn listed(index: &str, package: &str) -> Vec<Listed> {
    let stanzas = index.split("\n\n");
    let ours = stanzas.filter(|stanza| field(stanza, "Package") == Some(package));
    ours.filter_map(|stanza| {
        Some(Listed {
            version: field(stanza, "Version")?.into(),
            file: field(stanza, "Filename")?.into(),
            sha256: field(stanza, "SHA256")?.into(),
        })
    })
    .collect()
}

fn field<'a>(stanza: &'a str, name: &str) -> Option<&'a str> {
    stanza.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// The first package whose upstream version is exactly `release`; the error lists what there was.
pub fn of_release<'a>(found: &'a [Listed], release: &str) -> Result<&'a Listed> {
    let upstream = |listed: &Listed| listed.version.split(['+', '-', '~']).next() == Some(release);
    if let Some(listed) = found.iter().find(|listed| upstream(listed)) {
        return Ok(listed);
    }
    let versions: Vec<_> = found.iter().map(|listed| listed.version.as_str()).collect();
    bail!(
        "wanted version {release}, found {}",
        if versions.is_empty() { "none".into() } else { versions.join(", ") }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGES: &str = "Package: rust-src\nVersion: 1.94.1+dfsg1-1\nFilename: pool/a.deb\nSHA256: aa\n\n\
        Package: rust-src-extra\nVersion: 1.95.0\nFilename: pool/x.deb\nSHA256: xx\n\n\
        Package: rust-src\nVersion: 1.95.0+dfsg1-2~bpo13+1\nFilename: pool/b.deb\nSHA256: bb\nDescription: one\n two\n";

    #[test]
    fn all_versions_of_just_this_package_are_listed() {
        let found = listed(PACKAGES, "rust-src");
        let files: Vec<_> = found.iter().map(|listed| listed.file.as_str()).collect();
        assert_eq!(files, ["pool/a.deb", "pool/b.deb"]);
    }

    #[test]
    fn the_release_must_match_exactly() {
        let found = listed(PACKAGES, "rust-src");
        assert_eq!(of_release(&found, "1.95.0").expect("there").sha256, "bb");
        let error = of_release(&found, "1.95").expect_err("not there").to_string();
        assert_eq!(error, "wanted version 1.95, found 1.94.1+dfsg1-1, 1.95.0+dfsg1-2~bpo13+1");
    }

    #[test]
    fn an_incomplete_stanza_is_not_listed() {
        assert_eq!(listed("Package: p\nVersion: 1\nFilename: f\n", "p"), []);
    }

    #[test]
    fn the_index_hash_is_the_sha256_one() {
        let release = "MD5Sum:\n 11 5 main/binary-amd64/Packages.xz\nSHA256:\n 22 5 main/binary-amd64/Packages\n 33 5 main/binary-amd64/Packages.xz\n";
        assert_eq!(index_hash(release, INDEX), Some("33"));
        assert_eq!(index_hash(release, "main/other"), None);
    }
}
