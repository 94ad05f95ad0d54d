//! The defects: at least one for each tier.

use super::Defect;
use crate::tier::Tier;

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "crooked-line",
        tier: Tier::Lint,
        file: "crates/plan/src/quote.rs",
        find: "pub fn command_line(",
        replace: "pub   fn command_line(",
        why: "source that rustfmt would change",
    },
    Defect {
        name: "bare-quotes",
        tier: Tier::Unit,
        file: "crates/plan/src/quote.rs",
        find: "pub fn command_line(words: &[String]) -> String {",
        replace: "pub fn command_line(words: &[String]) -> String {\n    if words.len() > 1 {\n        return words.join(\" \");\n    }",
        why: "a Windows command line without quoting, so that arguments with spaces fall apart",
    },
    Defect {
        name: "unbounded-frame",
        tier: Tier::Fuzz,
        file: "crates/holder/src/protocol.rs",
        find: "body.split_first().ok_or(FrameError::Empty)?",
        replace: "(&body[0], &body[1..])",
        why: "an empty frame from a broken peer panics the holder",
    },
];
