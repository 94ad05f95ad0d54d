//! What is looked at again and again while we serve: the policy, and the certificate's files or Secret.
//!
//! What is new and good is used from the next request on. What is new and bad is told and counted, and the old stays.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rules::ApiOptions;

use crate::cluster::Cluster;
use crate::follow::{self, Follower, PERIOD, Step, chain};
use crate::judge::Judge;
use crate::state::State;
use crate::tls::Pair;
use crate::{Certificate, Settings, WebhookError, judge, pair};

/// How often Secret and configuration are looked at: somebody may have applied the manifest again, or replaced the CA.
const CLUSTER_PERIOD: Duration = Duration::from_secs(10);

/// One thing to look at.
#[derive(Debug)]
pub(crate) enum Refresh {
    Policy { path: PathBuf, options: ApiOptions, follower: Follower },
    Files { certificate: PathBuf, key: PathBuf, follower: Follower },
    Cluster { cluster: Box<Cluster>, last: Option<String> },
}

pub(crate) fn policy(settings: &Settings) -> Result<(Judge, Refresh), WebhookError> {
    let (path, options) = (settings.policy.clone(), settings.options);
    let paths = vec![path.clone()];
    let contents = follow::read(&paths).map_err(WebhookError::Unreadable)?;
    let judge = judge(&path, &contents, &options)?;
    Ok((judge, Refresh::Policy { path, options, follower: Follower::new(paths, contents) }))
}

pub(crate) async fn certificate(from: &Certificate) -> Result<(Pair, Refresh), WebhookError> {
    match from {
        Certificate::Files { certificate, key } => {
            let (certificate, key) = (certificate.clone(), key.clone());
            let paths = vec![certificate.clone(), key.clone()];
            let contents = follow::read(&paths).map_err(WebhookError::Unreadable)?;
            let pair = pair(&certificate, &key, &contents)?;
            Ok((pair, Refresh::Files { certificate, key, follower: Follower::new(paths, contents) }))
        }
        Certificate::SelfSigned(own) => {
            let cluster = Box::new(Cluster::find(own.clone()).await?);
            let pair = cluster.sync().await?;
            Ok((pair, Refresh::Cluster { cluster, last: None }))
        }
    }
}

// === impl Refresh ===

impl Refresh {
    /// Looks for ever.
    pub(crate) async fn run(mut self, state: Arc<State>) {
        loop {
            tokio::time::sleep(self.period()).await;
            self.once(&state).await;
        }
    }

    fn period(&self) -> Duration {
        match self {
            Self::Policy { .. } | Self::Files { .. } => PERIOD,
            Self::Cluster { .. } => CLUSTER_PERIOD,
        }
    }

    async fn once(&mut self, state: &State) {
        match self {
            Self::Policy { path, options, follower } => {
                let Some(reading) = look(follower).await else { return };
                let step = follower.step(reading, |contents| judge(path, contents, options));
                report(state, "policy", step, |judge| state.set_judge(judge));
            }
            Self::Files { certificate, key, follower } => {
                let Some(reading) = look(follower).await else { return };
                let step = follower.step(reading, |contents| pair(certificate, key, contents));
                report(state, "certificate", step, |pair| state.set_pair(pair));
            }
            Self::Cluster { cluster, last } => {
                let step = match cluster.sync().await {
                    Ok(pair) if state.serving.is(&pair) => Step::Same,
                    Ok(pair) => Step::New(pair),
                    Err(error) => Step::Unfit(chain(&error)),
                };
                let told = matches!(&step, Step::Unfit(why) if last.as_ref() == Some(why));
                *last = if let Step::Unfit(why) = &step { Some(why.clone()) } else { None };
                report(state, "certificate", if told { Step::Same } else { step }, |pair| {
                    state.set_pair(pair)
                });
            }
        }
    }
}

async fn look(follower: &Follower) -> Option<follow::Reading> {
    tokio::task::spawn_blocking(follower.look()).await.ok()
}

fn report<T>(state: &State, what: &'static str, step: Step<T>, take: impl FnOnce(T)) {
    match step {
        Step::Same => {}
        Step::New(value) => {
            take(value);
            state.metrics.reload(what, true);
            state.say(&format!("took a new {what}"));
        }
        Step::Unfit(why) => {
            state.metrics.reload(what, false);
            state.say(&format!("kept the old {what}: {why}"));
        }
    }
}
