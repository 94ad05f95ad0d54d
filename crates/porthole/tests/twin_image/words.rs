//! What each verb says of itself.

use super::desk::Desk;

#[test]
fn every_verb_has_help_with_examples() {
    let desk = Desk::new();
    for verb in ["pull", "push", "ls", "inspect", "rm", "save", "load", "fsck", "gc", "build", "explain"] {
        let help = desk.run(&[verb, "--help"]);
        assert_eq!(help.code, 0, "{verb}: {}", help.stderr);
        assert!(
            help.stdout.contains("Examples:") && help.stdout.contains(&format!("porthole image {verb}")),
            "{}",
            help.stdout
        );
    }
}
