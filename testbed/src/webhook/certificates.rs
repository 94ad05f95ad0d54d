//! A CA for a test, and the pairs it issues.

use std::path::Path;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CrlDistributionPoint,
    DistinguishedName, DnType, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, date_time_ymd,
};

/// A CA that lives as long as the test.
#[derive(Debug)]
pub struct Ca {
    pem: String,
    /// Where its certificates say that their revocation can be looked up.
    revocations: Option<String>,
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
        params.distinguished_name = named("the authority of a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let pem = params.self_signed(&key)?.pem();
        Ok(Self { pem, revocations: None, issuer: Issuer::new(params, key) })
    }

    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Certificates that are issued from now on name this address for [`Self::revocations`].
    #[must_use]
    pub fn publishing_at(self, url: String) -> Self {
        Self { revocations: Some(url), ..self }
    }

    /// The list of what it called back, DER: nothing, and that holds for as long as its certificates.
    pub fn revocations(&self) -> Result<Vec<u8>> {
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(1975, 1, 1),
            next_update: date_time_ymd(4096, 1, 1),
            crl_number: 1.into(),
            issuing_distribution_point: None,
            revoked_certs: Vec::new(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        Ok(list.signed_by(&self.issuer)?.der().to_vec())
    }

    /// A new pair for these names and addresses.
    pub fn issue(&self, names: &[&str]) -> Result<Pair> {
        let key = KeyPair::generate()?;
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = named("somebody in a test");
        let place = |url: &String| CrlDistributionPoint { uris: vec![url.clone()] };
        params.crl_distribution_points = self.revocations.iter().map(place).collect();
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Pair { certificate, key: key.serialize_pem() })
    }
}

/// Windows takes a certificate of its issuer's name for one that signed itself.
fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
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
