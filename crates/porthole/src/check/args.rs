//! The arguments of `porthole check`.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};
use rules::pod_security::{Level, Version};

use crate::cli::Output;

pub const EXAMPLES: &str = "Examples:
  porthole check pod.yaml
  porthole check manifests/ --level restricted
  kustomize build . | porthole check -
  porthole check -o json agent.yaml | jq '.[] | select(.allowed | not)'
  porthole check --policy hostprocess-policy.yaml daemonset.yaml
  porthole check --covers

Files are YAML or JSON, with several documents or lists. Kinds without a pod in them are passed over.
Nothing is sent anywhere. Exit codes: 0 all allowed, 1 one is not, 2 a file cannot be read, or wrong use.";

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Files, directories (every .yaml, .yml and .json under them) or - for standard input
    #[arg(required_unless_present = "covers", conflicts_with = "covers", value_name = "FILE|DIR|-")]
    pub files: Vec<PathBuf>,
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Output,
    /// How the API server's flag of that name is set
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set, num_args = 0..=1,
          default_missing_value = "true", require_equals = true)]
    pub allow_privileged: bool,
    /// Whether HostProcess containers may be used at all
    #[arg(long, value_enum, default_value_t, require_equals = false)]
    pub host_process: Switch,
    /// Also demand this Pod Security level
    #[arg(long, value_name = "baseline|restricted")]
    pub level: Option<Level>,
    /// The version of the Pod Security levels
    #[arg(long, value_name = "v1.N", default_value_t = Version::Latest)]
    pub policy_version: Version,
    /// Also demand that this HostProcessPolicy allows it
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Say which fields the rules cover, and check nothing
    #[arg(long)]
    pub covers: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    #[default]
    On,
    Off,
}
