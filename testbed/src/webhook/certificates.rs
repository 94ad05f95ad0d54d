//! A CA for a test, and the pairs it issues.

use std::path::Path;

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};

/// A CA that lives as long as the test.
#[derive(Debug)]
pub struct Ca {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A serving certificate and its key, PEM.
#[derive(Debug, Clone)]
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

// === impl Ca ===

impl Ca {
    pub fn new() -> Result<Self> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let pem = params.self_signed(&key)?.pem();
        Ok(Self { pem, issuer: Issuer::new(params, key) })
    }

    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A new pair for these names and addresses.
    pub fn issue(&self, names: &[&str]) -> Result<Pair> {
        let key = KeyPair::generate()?;
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let certificate = CertificateParams::new(names)?.signed_by(&key, &self.issuer)?.pem();
        Ok(Pair { certificate, key: key.serialize_pem() })
    }
}

// === impl Pair ===

impl Pair {
    /// Writes `tls.crt` and `tls.key` one after the other, as a careless script would.
    pub fn write(&self, dir: &Path) -> Result<()> {
        for (name, text) in [("tls.crt", &self.certificate), ("tls.key", &self.key)] {
            let path = dir.join(name);
            std::fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        }
        Ok(())
    }
}
