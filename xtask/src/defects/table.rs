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
        caught_by: "rustfmt",
        why: "source that rustfmt would change",
    },
    Defect {
        name: "bare-quotes",
        tier: Tier::Unit,
        file: "crates/plan/src/quote.rs",
        find: "pub fn command_line(words: &[String]) -> String {",
        replace: "pub fn command_line(words: &[String]) -> String {\n    if words.len() > 1 {\n        return words.join(\" \");\n    }",
        caught_by: "quote::tests::what_people_type",
        why: "a Windows command line without quoting, so that arguments with spaces fall apart",
    },
    Defect {
        name: "empty-frame",
        tier: Tier::Fuzz,
        file: "crates/holder/src/protocol.rs",
        find: "body.split_first().ok_or(FrameError::Empty)?",
        replace: "(&body[0], &body[1..])",
        caught_by: "holder_frame",
        why: "an empty frame from a broken peer panics the holder",
    },
    Defect {
        name: "plain-signal",
        tier: Tier::Twin,
        file: "crates/os/src/linux/process.rs",
        find: "code: 128 + signal.cast_unsigned()",
        replace: "code: signal.cast_unsigned()",
        caught_by: "job::three_generations_are_killed_as_one",
        why: "a killed process on Linux ends with a code that could be its own",
    },
    Defect {
        name: "lost-exit-code",
        tier: Tier::Wine,
        file: "crates/os/src/windows/job.rs",
        find: "TerminateJobObject(self.handle.as_raw_handle(), exit_code)",
        replace: "TerminateJobObject(self.handle.as_raw_handle(), exit_code & 1)",
        caught_by: "three_generations_are_gone_with_the_exit_code_as_seen_from_outside",
        why: "a killed job on Windows does not end with the code that was asked for",
    },
    Defect {
        name: "timid-api-server",
        tier: Tier::Cluster,
        file: "testbed/src/control_plane/layout.rs",
        find: "--allow-privileged=true",
        replace: "--allow-privileged=false",
        caught_by: "starts_within_30_seconds_with_all_that_a_join_needs",
        why: "an API server that lets no HostProcess pod in",
    },
    Defect {
        name: "generous-user-name",
        tier: Tier::Cluster,
        file: "crates/rules/src/user_name.rs",
        find: "const LONGEST_USER: usize = 104;",
        replace: "const LONGEST_USER: usize = 105;",
        caught_by: "the_rules_say_what_the_api_server_says",
        why: "a rule that lets through what the API server refuses",
    },
    Defect {
        name: "misplaced-blobs",
        tier: Tier::Foreign,
        file: "testbed/src/image/layout.rs",
        find: "digest.replace(':', \"/\")",
        replace: "digest.replace(':', \"-\")",
        caught_by: "skopeo_reads_an_oci_archive",
        why: "an image layout whose blobs are not where the specification says",
    },
];
