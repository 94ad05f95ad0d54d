//! How the server is set up. The defaults are what kubelets and their runtimes have always had.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use crate::pulse;

#[derive(Debug, Clone)]
pub struct Config {
    /// Loopback by default: whoever has a token's URL needs nothing else.
    pub address: SocketAddr,
    /// `HOST:PORT` for URLs where clients reach the server by another name than its address.
    pub advertise: Option<String>,
    /// Plain HTTP without.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// How long a client may take to open the streams it has asked for.
    pub stream_creation: Duration,
    /// How long a session lives on which nothing is said.
    pub idle: Duration,
    /// How often somebody whose words nobody takes is asked, without words, whether he is still there.
    pub murmur: Duration,
    /// How long a token waits for its client.
    pub token_life: Duration,
    /// How many tokens may wait.
    pub most_tokens: usize,
    /// How many connections may be making their request; more wait in the system's queue.
    pub most_connections: usize,
    /// How many sessions there may be at once; more are refused.
    pub most_sessions: usize,
}

// === impl Config ===

impl Default for Config {
    fn default() -> Config {
        Config {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            advertise: None,
            tls: None,
            stream_creation: Duration::from_secs(30),
            idle: Duration::from_secs(4 * 60 * 60),
            murmur: pulse::EVERY,
            token_life: Duration::from_secs(60),
            most_tokens: 1000,
            most_connections: 1000,
            most_sessions: 4096,
        }
    }
}
