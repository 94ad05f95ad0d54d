//! Limits of a living job, and its counters.

use crate::support::Machine;

// proves: RT-14 sim
#[test]
fn memory_and_processor_limits_of_a_living_job_are_replaced() {
    let machine = Machine::new();
    let mut started = machine.start("live", &[], &["sleep", "600"]);
    started.expect("started");
    let processors = std::thread::available_parallelism().expect("a number").get();
    let mut set = |limits: &str| {
        started.tell(limits);
        started.expect("limited");
        let of = |function: &str| machine.sim.calls_of(function).pop().unwrap_or_default();
        (of("Limits"), of("CpuRate"))
    };
    let (memory, cpu) = set("limits memory=67108864 cpu=500");
    assert_eq!(memory, "Limits job=porthole-start-live flags=0x2200 memory=67108864 processes=0 -> 0x0");
    let rate = 5000 / processors;
    assert_eq!(cpu, format!("CpuRate job=porthole-start-live flags=0x5 value={rate} -> 0x0"));
    let (memory, cpu) = set("limits memory=134217728 weight=5000");
    assert!(memory.contains("memory=134217728"), "{memory}");
    assert_eq!(cpu, "CpuRate job=porthole-start-live flags=0x3 value=5 -> 0x0");
    let (memory, cpu) = set("limits");
    assert!(memory.contains("flags=0x2000 memory=0"), "{memory}");
    assert_eq!(cpu, "CpuRate job=porthole-start-live flags=0x0 value=0 -> 0x0");
    started.tell("terminate");
    assert_eq!(started.end(), "137");
}

// proves: HP-08 sim
#[test]
fn the_counters_of_the_job_are_reported() {
    let machine = Machine::new();
    let mut started = machine.start("count", &[], &["eat", "8"]);
    started.expect_output("ate 8 MiB");
    started.tell("limits memory=268435456");
    started.expect("limited");
    started.tell("stats");
    let stats = started.expect("JobStats ");
    for part in [
        "memory_bytes: 17895424",
        "memory_peak_bytes: 35790848",
        "read_bytes: 333000",
        "write_bytes: 444000",
        "memory_limit_bytes: Some(268435456)",
    ] {
        assert!(stats.contains(part), "{part}: {stats}");
    }
    assert!(!stats.contains("working_set_bytes: 0"), "{stats}");
    started.tell("terminate");
    assert_eq!(started.end(), "137");
    let enabled = machine.sim.calls_of("IoAttribution");
    assert_eq!(enabled, ["IoAttribution job=porthole-start-count flags=0x1 -> 0x0"]);
}
