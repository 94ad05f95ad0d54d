//! A certificate of our own: a CA that is made once, and serving certificates that it signs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use k8s_openapi::ByteString;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{ServerName, UnixTime};

use crate::tls::{Pair, PairError, chain, not_after, provider};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const CA_LIFE: Duration = DAY.saturating_mul(3650);
const CA_RENEWAL: Duration = DAY.saturating_mul(730);
const LIFE: Duration = DAY.saturating_mul(365);
const RENEWAL: Duration = DAY.saturating_mul(120);
/// Clocks differ: a certificate is good from a little while ago.
const SLACK: Duration = Duration::from_secs(60 * 60);

const CA_CERT: &str = "ca.crt";
const CA_KEY: &str = "ca.key";
const CERT: &str = "tls.crt";
const KEY: &str = "tls.key";

/// CA and serving certificate, as the Secret keeps them, in PEM.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// What clients are to trust: the CA, and the one before it while its certificates may be in use.
    pub(crate) ca: String,
    ca_key: String,
    certificate: String,
    key: String,
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("make a certificate")]
    Make(#[from] rcgen::Error),
    #[error(transparent)]
    Pair(#[from] PairError),
}

// === impl Identity ===

impl Identity {
    /// A new CA and a certificate for these names.
    pub(crate) fn make(names: &[String], now: SystemTime) -> Result<Self, IdentityError> {
        let key = KeyPair::generate()?;
        let ca = ca_params(now).self_signed(&key)?.pem();
        Self { ca, ca_key: key.serialize_pem(), certificate: String::new(), key: String::new() }
            .reissue(names, now)
    }

    /// None if the Secret has nothing in it yet, or nothing of use.
    pub(crate) fn read(data: &BTreeMap<String, ByteString>) -> Option<Self> {
        let text =
            |name: &str| String::from_utf8(data.get(name)?.0.clone()).ok().filter(|text| !text.is_empty());
        Some(Self { ca: text(CA_CERT)?, ca_key: text(CA_KEY)?, certificate: text(CERT)?, key: text(KEY)? })
    }

    pub(crate) fn data(&self) -> BTreeMap<String, ByteString> {
        let fields =
            [(CA_CERT, &self.ca), (CA_KEY, &self.ca_key), (CERT, &self.certificate), (KEY, &self.key)];
        fields
            .into_iter()
            .map(|(name, text)| (name.to_owned(), ByteString(text.clone().into_bytes())))
            .collect()
    }

    pub(crate) fn pair(&self) -> Result<Pair, PairError> {
        Pair::from_pem(self.certificate.as_bytes(), self.key.as_bytes())
    }

    /// What should be in its place now; itself, as a rule.
    pub(crate) fn renewed(&self, names: &[String], now: SystemTime) -> Result<Self, IdentityError> {
        if !self.has_ca(now + CA_RENEWAL) {
            let mut made = Self::make(names, now)?;
            if self.has_ca(now) {
                made.ca += first_pem(&self.ca);
            }
            return Ok(made);
        }
        if self.serves(names, now + RENEWAL) { Ok(self.clone()) } else { self.clone().reissue(names, now) }
    }

    fn reissue(mut self, names: &[String], now: SystemTime) -> Result<Self, IdentityError> {
        let issuer = Issuer::new(ca_params(now), KeyPair::from_pem(&self.ca_key)?);
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, "porthole-webhook");
        (params.not_before, params.not_after) = ((now - SLACK).into(), (now + LIFE).into());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        self.certificate = params.signed_by(&key, &issuer)?.pem();
        self.key = key.serialize_pem();
        Ok(self)
    }

    /// Whether a CA is there, with its key, and will be at this time.
    fn has_ca(&self, at: SystemTime) -> bool {
        let ca = chain(self.ca.as_bytes()).ok().and_then(|chain| chain.into_iter().next());
        let Some(ca) = ca else { return false };
        let lasts = not_after(&ca).is_ok_and(|end| u64::try_from(end).is_ok_and(|end| end > seconds(at)));
        lasts && Pair::from_pem(self.ca.as_bytes(), self.ca_key.as_bytes()).is_ok()
    }

    /// Whether a client that trusts the CA would take the certificate for each of the names at this time.
    fn serves(&self, names: &[String], at: SystemTime) -> bool {
        self.verifier().is_some_and(|(verifier, pair)| {
            let [end, rest @ ..] = pair.chain() else { return false };
            names.iter().all(|name| {
                let at = UnixTime::since_unix_epoch(Duration::from_secs(seconds(at)));
                let Ok(name) = ServerName::try_from(name.as_str()) else { return false };
                verifier.verify_server_cert(end, rest, &name, &[], at).is_ok()
            })
        })
    }

    fn verifier(&self) -> Option<(Arc<WebPkiServerVerifier>, Pair)> {
        let mut roots = RootCertStore::empty();
        roots.add(chain(self.ca.as_bytes()).ok()?.into_iter().next()?).ok()?;
        let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider());
        Some((builder.build().ok()?, self.pair().ok()?))
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// The same subject each time: what an issuer says of itself must be what the CA's certificate says.
fn ca_params(now: SystemTime) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "porthole-webhook-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    (params.not_before, params.not_after) = ((now - SLACK).into(), (now + CA_LIFE).into());
    params
}

fn first_pem(text: &str) -> &str {
    const END: &str = "-----END CERTIFICATE-----";
    text.find(END).map_or(text, |at| text[..at + END.len()].trim_start())
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["web.ns.svc", "web", "10.1.2.3"].map(str::to_owned).into()
    }

    fn made() -> (Identity, SystemTime) {
        let now = SystemTime::now();
        (Identity::make(&names(), now).expect("made"), now)
    }

    #[test]
    fn it_serves_its_names_and_survives_the_secret() {
        let (identity, now) = made();
        assert!(identity.serves(&names(), now));
        assert!(!identity.serves(&["other.ns.svc".into()], now));
        assert!(!identity.serves(&names(), now + LIFE + DAY));
        assert!(Identity::read(&identity.data()) == Some(identity));
        assert!(Identity::read(&BTreeMap::new()).is_none());
    }

    #[test]
    fn it_is_renewed_in_time_by_the_same_ca() {
        let (identity, now) = made();
        assert!(identity.renewed(&names(), now + DAY).expect("same") == identity);
        let later = now + LIFE - RENEWAL + DAY;
        let renewed = identity.renewed(&names(), later).expect("renewed");
        assert_eq!(renewed.ca, identity.ca);
        assert!(renewed != identity && renewed.serves(&names(), later + RENEWAL));
        let more = [names(), vec!["new.ns.svc".to_owned()]].concat();
        assert!(
            identity.renewed(&more, now).expect("renewed").serves(&more, now),
            "a new name is a new certificate"
        );
    }

    #[test]
    fn a_new_ca_comes_with_the_old_one_beside_it() {
        let (identity, now) = made();
        let later = now + CA_LIFE - CA_RENEWAL + DAY;
        let renewed = identity.renewed(&names(), later).expect("renewed");
        assert!(renewed.serves(&names(), later + RENEWAL));
        assert!(renewed.ca.contains(identity.ca.trim()) && renewed.ca.trim() != identity.ca.trim());
        assert_eq!(chain(renewed.ca.as_bytes()).expect("chain").len(), 2);
        let again = renewed.renewed(&names(), later + CA_LIFE - CA_RENEWAL + DAY).expect("renewed");
        assert_eq!(chain(again.ca.as_bytes()).expect("chain").len(), 2, "not more with each");
    }

    #[test]
    fn what_is_broken_is_made_anew() {
        let (identity, now) = made();
        let (other, _) = made();
        let torn = Identity { ca_key: other.ca_key, ..identity.clone() };
        assert!(torn.renewed(&names(), now).expect("made").serves(&names(), now));
        let foreign = Identity { certificate: other.certificate, key: other.key, ..identity.clone() };
        let mended = foreign.renewed(&names(), now).expect("made");
        assert!(mended.ca == identity.ca && mended.serves(&names(), now));
    }
}
