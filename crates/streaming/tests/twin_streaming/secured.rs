//! The same behind TLS.

use std::sync::Arc;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use streaming::Config;
use streaming::client::{Dialled, Remote};
use streaming::status::Outcome;
use tokio_rustls::TlsConnector;

use crate::house::{House, NEW, all, streams};

fn configs() -> (ServerConfig, ClientConfig) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let certificate = made.cert.der().clone();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .expect("a pair");
    let mut roots = RootCertStore::empty();
    roots.add(certificate).expect("a certificate");
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    (server, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_run_behind_tls() {
    let (server, client) = configs();
    let house = House::with(Config { tls: Some(Arc::new(server)), ..Config::default() }).await;
    let connector = TlsConnector::from(Arc::new(client));
    for how in NEW {
        let url = house.exec_url("produce 32", "o");
        let (address, path) =
            url.strip_prefix("https://").and_then(|rest| rest.split_once('/')).expect("a URL");
        let stream = tokio::net::TcpStream::connect(address).await.expect("reached");
        let name = ServerName::try_from("localhost").expect("a name");
        let stream = connector.connect(name, stream).await.expect("trusted");
        let dialled = Dialled::over(stream, "localhost", &format!("/{path}"));
        let mut remote = Remote::open(dialled, streams("o"), how).await.expect("opened");
        let (stdout, _, outcome) = all(&mut remote).await;
        assert_eq!((stdout.len(), outcome), (32 << 16, Outcome::Succeeded), "{how:?}");
    }
}
