//! `porthole image gc`: frees what nobody uses, by the kubelet's rules or all of it.

use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use images::collect::Thresholds;
use images::digest::Digest;
use serde::Serialize;

use super::amount::{bytes, duration};
use super::{content, depot, show};
use crate::cli::{Output, Root};
use crate::failure::{Exit, Failure, Outcome, code};

pub(super) const EXAMPLES: &str = "Examples:
  porthole image gc                     if the disk is used more than 85 %, down to 80 %
  porthole image gc --max-age 7d        also what nobody used for a week
  porthole image gc --all               everything that no container uses

What a container uses or a pull under way needs always stays.";

#[derive(Debug, Args)]
pub struct GcArgs {
    /// Free nothing while the disk is used less than this
    #[arg(long, value_name = "PERCENT", default_value_t = 85, value_parser = clap::value_parser!(u8).range(0..=100))]
    high: u8,
    /// Free until the disk is used no more than this
    #[arg(long, value_name = "PERCENT", default_value_t = 80, value_parser = clap::value_parser!(u8).range(0..=100))]
    low: u8,
    /// Leave images that were pulled within this time
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration)]
    min_age: Duration,
    /// Also free images that nobody used for so long
    #[arg(long, value_name = "TIME", value_parser = duration)]
    max_age: Option<Duration>,
    /// Free every image that no container uses
    #[arg(long, conflicts_with_all = ["high", "low", "min_age", "max_age"])]
    all: bool,
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    root: Root,
}

/// What was freed, as `-o json` prints it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Freed {
    images: Vec<FreedImage>,
    /// Also of blobs and layers that belonged to no image.
    freed_bytes: u64,
    /// What would have to be freed besides, and is in use or too young.
    missing_bytes: u64,
}

#[derive(Debug, Serialize)]
struct FreedImage {
    id: String,
    names: Vec<String>,
}

pub(super) fn gc(args: &GcArgs) -> Outcome {
    if args.low > args.high {
        let error = anyhow!("--low {} is above --high {}: wanted the other way round", args.low, args.high);
        return Err(Failure::new(code::USAGE, error));
    }
    let content = content(&args.root)?;
    // Afterwards nobody knows what they were called.
    let names = content.names().all().map_err(depot)?;
    let disk = os::file::disk(content.dir()).or_environment()?;
    let collected = content.collect(&args.thresholds(), disk).map_err(depot)?;
    let image = |id: &Digest| FreedImage {
        id: id.to_string(),
        names: names.iter().filter(|(_, named)| named.id == *id).map(|(name, _)| name.clone()).collect(),
    };
    let freed = Freed {
        images: collected.images.iter().map(image).collect(),
        freed_bytes: collected.bytes,
        missing_bytes: collected.missing,
    };
    show(&freed, args.output, || freed.text())
}

// === impl GcArgs ===

impl GcArgs {
    fn thresholds(&self) -> Thresholds {
        if self.all {
            return Thresholds::ALL;
        }
        let GcArgs { high, low, min_age, max_age, .. } = *self;
        Thresholds { high, low, all: false, min_age, max_age }
    }
}

// === impl Freed ===

impl Freed {
    fn text(&self) -> String {
        let line = |image: &FreedImage| {
            let name = image.names.first().map_or("<none>", String::as_str);
            format!("deleted {} {name}\n", image.id)
        };
        let lines: String = self.images.iter().map(line).collect();
        let missing = match self.missing_bytes {
            0 => String::new(),
            missing => format!("; {} more were wanted, and are in use or too young", bytes(missing)),
        };
        format!("{lines}freed {}{missing}\n", bytes(self.freed_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_freed_and_what_was_not() {
        let id = format!("sha256:{}", "ab".repeat(32));
        let image = FreedImage { id: id.clone(), names: vec!["example.com/app:1".into()] };
        let freed = Freed { images: vec![image], freed_bytes: 12_300_000, missing_bytes: 5_000 };
        let text = freed.text();
        let last = "freed 12.3 MB; 5.0 kB more were wanted, and are in use or too young";
        assert_eq!(text, format!("deleted {id} example.com/app:1\n{last}\n"));
        let nothing = Freed { images: vec![], freed_bytes: 0, missing_bytes: 0 };
        assert_eq!(nothing.text(), "freed 0 B\n");
    }
}
