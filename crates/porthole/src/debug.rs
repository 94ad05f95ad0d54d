//! `porthole debug`: for those who test porthole itself.

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::cli::Output;
use crate::facts::show;
use crate::failure::Outcome;
use crate::table::table;

#[derive(Debug, Subcommand)]
pub enum DebugVerb {
    /// List the places at which a debug build can be made to die
    #[command(
        after_help = "Examples:\n  porthole debug failpoints\n  PORTHOLE_FAIL=container-recorded=abort porthole up pod.yaml\n\n\
            NAME=abort:3 dies at the third time that the place is passed. A release build passes them all."
    )]
    Failpoints(FailpointsArgs),
}

#[derive(Debug, Args)]
pub struct FailpointsArgs {
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Output,
}

/// One place, as `-o json` prints it.
#[derive(Debug, Serialize)]
struct Place {
    name: &'static str,
    what: &'static str,
    /// The part of porthole that comes by.
    of: &'static str,
    /// What to set.
    setting: String,
}

pub fn debug(verb: &DebugVerb) -> Outcome {
    match verb {
        DebugVerb::Failpoints(args) => failpoints(args),
    }
}

fn failpoints(args: &FailpointsArgs) -> Outcome {
    let places = places();
    show(&places, args.output, || {
        let row = |place: &Place| [place.of, place.name, place.what].map(str::to_owned).to_vec();
        table(&["OF", "NAME", "WHAT"], &places.iter().map(row).collect::<Vec<_>>())
    })
}

fn places() -> Vec<Place> {
    let tables = [
        ("images", images::fail::POINTS),
        ("runtime", runtime::fail::POINTS),
        ("holder", holder::fail::POINTS),
    ];
    let place = |of, point: &failpoint::Point| Place {
        name: point.name,
        what: point.what,
        of,
        setting: format!("{}={}", failpoint::VARIABLE, failpoint::setting(point.name, 1)),
    };
    tables.iter().flat_map(|(of, points)| points.iter().map(|point| place(*of, point))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_a_name_of_its_own() {
        let mut names: Vec<_> = places().into_iter().map(|place| place.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(all > images::fail::POINTS.len() + runtime::fail::POINTS.len());
    }
}
