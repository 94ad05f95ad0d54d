//! How far a pull is, as somebody at a terminal sees it and as a file gets it.

use super::desk::Desk;
use super::person::Person;
use super::window::Window;

/// Room for the longest line, which has a name and a digest.
const COLUMNS: u16 = 200;

/// What names a layer in a line for people.
fn short(digest: &str) -> &str {
    &digest["sha256:".len()..][..12]
}

#[test]
fn at_a_terminal_each_layer_has_a_bar_and_the_result_comes_last() {
    let desk = Desk::new();
    let image = Desk::image("one");
    let name = desk.push(&image, "try/app:1");
    let mut command = desk.command(&["pull", &name]);
    // What the gate was started in must not matter.
    command.env("TERM", "xterm").env_remove("NO_COLOR");
    let mut person = Person::runs(&command, (COLUMNS, 30), "pull");
    assert_eq!(person.code(), 0, "{}", person.seen());
    let window = Window::showing(&person.seen(), COLUMNS);
    let lines = window.lines();
    let result = lines.last().expect("a line");
    assert!(result.starts_with(&format!("{} {name}, ", image.digest())), "{lines:#?}");
    let bars: Vec<_> = lines.iter().filter(|line| line.contains(&format!("[{}]", "=".repeat(30)))).collect();
    let layers: Vec<_> = image.blobs().iter().filter(|(_, bytes)| bytes.starts_with(&[0x1f, 0x8b])).collect();
    assert_eq!((bars.len(), layers.len()), (2, 2), "{lines:#?}");
    for (digest, _) in layers {
        let of_layer = |bar: &&&String| bar.starts_with(short(digest)) && bar.ends_with(" done");
        assert_eq!(bars.iter().filter(of_layer).count(), 1, "{digest}: {lines:#?}");
    }
    // The lines for people stand above the bars, and nothing is left of the bars before they were full.
    let told = lines.iter().filter(|line| line.starts_with("porthole: ")).count();
    assert_eq!(lines.len(), told + bars.len() + 1, "{lines:#?}");
    assert_eq!(window.sequences(), ["[1A", "[1B", "[2K"]);
}

#[test]
fn a_file_gets_lines_and_no_escape_sequences() {
    let desk = Desk::new();
    let image = Desk::image("one");
    let name = desk.push(&image, "try/app:1");
    let pulled = desk.ok(&["pull", &name]);
    assert!(!pulled.stderr.contains('\x1b') && !pulled.stderr.contains('\r'), "{:?}", pulled.stderr);
    assert!(!pulled.stdout.contains('\x1b'), "{:?}", pulled.stdout);
    assert_eq!(pulled.stderr.lines().filter(|line| line.ends_with(" done")).count(), 2, "{}", pulled.stderr);
}
