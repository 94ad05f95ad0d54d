//! One fuzzer for every target; `FUZZ_TARGET` names it. libFuzzer brings the `main`.
#![no_main]

use std::sync::OnceLock;

use fuzz::{TARGETS, Target};

static CHOSEN: OnceLock<&Target> = OnceLock::new();

libfuzzer_sys::fuzz_target!(|data: &[u8]| (CHOSEN.get_or_init(chosen).run)(data));

fn chosen() -> &'static Target {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("no fuzz target {name:?}"))
}
