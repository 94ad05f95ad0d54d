//! Terminals: Wine's own pseudo consoles.
//!
//! Wine connects a program to its pseudo console and leaves it without standard streams, and it cannot resize; so the
//! program here talks to the console by name, and a change of size is only seen to be asked for.

use crate::support::Machine;

#[test]
fn what_a_program_shows_and_what_is_typed_go_through_the_terminal() {
    let machine = Machine::new();
    let mut started = machine.start("tty", &["terminal=100x30"], &["terminal"]);
    started.expect_output("size=100x30");
    started.tell("type now");
    started.expect_output("now=100x30");
    started.tell("type bye");
    assert_eq!(started.end(), "0");
}

#[test]
fn a_change_of_size_reaches_the_console() {
    let machine = Machine::new();
    let mut started = machine.start("resize", &["terminal=80x25"], &["terminal"]);
    started.expect_output("size=80x25");
    started.tell("resize 120x40");
    assert_eq!(
        started.expect("refused "),
        "the pseudo console answered 0x80004001",
        "Wine implements it now"
    );
    started.tell("resize 0x40");
    assert_eq!(started.expect("refused "), "not a terminal's size: 0 by 40");
    started.tell("terminate");
    assert_eq!(started.end(), "137");
}

#[test]
fn an_input_that_ends_is_no_hang_up() {
    let machine = Machine::new();
    let mut started = machine.start("closed", &["terminal=80x25"], &["terminal"]);
    started.expect_output("size=80x25");
    started.tell("close");
    started.tell("stats");
    let stats = started.expect("JobStats ");
    assert!(!stats.contains("processes: 0"), "{stats}");
    started.tell("terminate");
    assert_eq!(started.end(), "137", "it was there until then");
}

#[test]
fn a_process_with_pipes_has_no_size() {
    let machine = Machine::new();
    let mut started = machine.start("pipes", &[], &["sleep", "600"]);
    started.expect("started");
    started.tell("resize 80x25");
    assert_eq!(started.expect("refused "), "the process has no terminal");
    started.tell("terminate");
    assert_eq!(started.end(), "137");
}

#[test]
fn a_size_that_no_terminal_has_is_refused() {
    let machine = Machine::new();
    let said = machine.start("none", &["terminal=0x25"], &["terminal"]).expect("refused ");
    assert_eq!(said, "make a terminal: not a terminal's size: 0 by 25");
}
