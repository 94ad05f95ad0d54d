//! The serving certificate, which may change while connections are open.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// A certificate chain with its key, known to belong together.
#[derive(Debug, Clone)]
pub struct Pair {
    key: Arc<CertifiedKey>,
    /// Seconds since 1970.
    pub not_after: i64,
}

/// The pair that the next handshake gets.
pub struct Serving {
    pair: RwLock<Pair>,
}

/// Why a certificate cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    #[error("the certificate file has no certificate in it")]
    NoCertificate,
    #[error("the certificate is not PEM")]
    Certificate(#[source] rustls::pki_types::pem::Error),
    #[error("the private key is not PEM")]
    Key(#[source] rustls::pki_types::pem::Error),
    #[error("certificate and private key do not go together")]
    Mismatch(#[source] rustls::Error),
    #[error("the certificate's validity cannot be read")]
    Validity(#[source] yasna::ASN1Error),
}

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// TLS 1.2 and later, with whatever certificate is the present one at each handshake.
pub(crate) fn config(serving: Arc<Serving>) -> Result<ServerConfig, rustls::Error> {
    let builder = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?;
    let mut config = builder.with_no_client_auth().with_cert_resolver(serving);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

// === impl Pair ===

impl Pair {
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, PairError> {
        let chain = chain(certificate)?;
        let not_after =
            not_after(chain.first().ok_or(PairError::NoCertificate)?).map_err(PairError::Validity)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(PairError::Key)?;
        let key = CertifiedKey::from_der(chain, key, &provider()).map_err(PairError::Mismatch)?;
        Ok(Self { key: Arc::new(key), not_after })
    }

    pub(crate) fn chain(&self) -> &[CertificateDer<'static>] {
        &self.key.cert
    }
}

/// The certificates of a PEM text, in order.
pub(crate) fn chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, PairError> {
    CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(PairError::Certificate)
}

/// `Certificate → tbsCertificate → validity → notAfter`; the rest is passed over.
pub(crate) fn not_after(certificate: &[u8]) -> yasna::ASN1Result<i64> {
    yasna::parse_der(certificate, |reader| {
        reader.read_sequence(|certificate| {
            let end = certificate.next().read_sequence(|tbs| {
                tbs.read_optional(|reader| {
                    reader.read_tagged(yasna::Tag::context(0), |inner| inner.read_u8())
                })?;
                for _serial_algorithm_issuer in 0..3 {
                    tbs.next().read_der()?;
                }
                let end = tbs.next().read_sequence(|validity| {
                    validity.next().read_der()?;
                    read_time(validity.next())
                });
                while tbs.read_optional(|reader| reader.read_der())?.is_some() {}
                end
            });
            certificate.next().read_der()?;
            certificate.next().read_der()?;
            end
        })
    })
}

fn read_time(reader: yasna::BERReader<'_, '_>) -> yasna::ASN1Result<i64> {
    match reader.lookahead_tag()? {
        yasna::tags::TAG_UTCTIME => Ok(reader.read_utctime()?.datetime().unix_timestamp()),
        _ => Ok(reader.read_generalized_time()?.datetime().unix_timestamp()),
    }
}

// === impl Serving ===

impl Serving {
    pub fn new(pair: Pair) -> Self {
        Self { pair: RwLock::new(pair) }
    }

    /// Open connections keep theirs.
    pub fn swap(&self, pair: Pair) {
        *self.pair.write().unwrap_or_else(PoisonError::into_inner) = pair;
    }

    pub fn not_after(&self) -> i64 {
        self.pair.read().unwrap_or_else(PoisonError::into_inner).not_after
    }

    /// Whether this is the pair in use.
    pub fn is(&self, pair: &Pair) -> bool {
        self.pair.read().unwrap_or_else(PoisonError::into_inner).chain() == pair.chain()
    }
}

impl ResolvesServerCert for Serving {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.pair.read().unwrap_or_else(PoisonError::into_inner).key))
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving").field("not_after", &self.not_after()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(year: i32) -> (String, String) {
        let key = rcgen::KeyPair::generate().expect("key");
        let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).expect("parameters");
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        (params.self_signed(&key).expect("signed").pem(), key.serialize_pem())
    }

    #[test]
    fn the_end_of_validity_is_read_in_both_notations() {
        for (year, seconds) in [(2030, 1_893_456_000), (2060, 2_840_140_800)] {
            let (certificate, key) = made(year);
            assert_eq!(
                Pair::from_pem(certificate.as_bytes(), key.as_bytes()).expect("pair").not_after,
                seconds
            );
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let ((certificate, key), (_, other)) = (made(2030), made(2030));
        let error =
            |c: &str, k: &str| Pair::from_pem(c.as_bytes(), k.as_bytes()).expect_err("bad").to_string();
        assert!(error(&certificate, &other).contains("do not go together"));
        assert!(error("", &key).contains("no certificate"));
        assert!(error(&certificate, "").contains("private key is not PEM"));
        let torn = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(error(torn, &key).contains("validity cannot be read"));
    }
}
