use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> Dockerfile {
    Dockerfile::parse(text).unwrap()
}

/// What follows `FROM scratch`.
fn after_from(text: &str) -> Vec<What> {
    let file = parsed(&format!("FROM scratch\n{text}"));
    file.instructions.into_iter().skip(1).map(|each| each.what).collect()
}

fn error(text: &str) -> String {
    Dockerfile::parse(text).unwrap_err().to_string()
}

fn list(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn comments_continuations_and_empty_lines() {
    let file = parsed(
        "# a comment\n\n  from scratch\n\nENV A=1 \\\n  # in between\n\n    B=2\\ 2 \\  \n C=3\nUSER x\r\n",
    );
    let lines: Vec<_> = file.instructions.iter().map(|each| (each.line, each.text.as_str())).collect();
    assert_eq!(lines, [(3, "from scratch"), (5, "ENV A=1     B=2\\ 2  C=3"), (10, "USER x")]);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        file.instructions[1].what,
        What::Env(vec![pair("A", "1"), pair("B", "2\\ 2"), pair("C", "3")])
    );
}

#[test]
fn the_escape_directive_is_for_windows_paths() {
    let file = parsed(
        "# syntax=docker/dockerfile:1\n# escape=`\nFROM scratch\nCOPY a `\n C:\\app\\\nWORKDIR C:\\app\\",
    );
    assert_eq!(file.escape, '`');
    assert!(matches!(&file.instructions[1].what, What::Copy(copy) if copy.target == "C:\\app\\"));
    assert_eq!(file.instructions[2].what, What::Workdir("C:\\app\\".into()));
    // After a comment it is one itself.
    assert_eq!(parsed("# hello\n# escape=`\nFROM scratch").escape, '\\');
    assert_eq!(
        error("# escape=x\nFROM scratch"),
        "line 1: the directive escape wants a backslash or a backtick, found \"x\""
    );
    assert!(
        error("# escape=`\n# escape=`\nFROM scratch")
            .starts_with("line 2: the directive escape wants to be given once")
    );
}

#[test]
fn stages_and_platforms() {
    let file = parsed("ARG V=1\nFROM --platform=windows/amd64 base:$V AS Build\nFROM scratch as x");
    assert_eq!(
        file.instructions[1].what,
        What::From {
            image: "base:$V".into(),
            stage: Some("build".into()),
            platform: Some("windows/amd64".into())
        }
    );
    for bad in ["FROM", "FROM a b", "FROM a AS", "FROM a AS b c"] {
        assert!(
            error(bad).starts_with("line 1: FROM wants IMAGE or IMAGE AS STAGE"),
            "{bad}: {}",
            error(bad)
        );
    }
}

#[test]
fn copies_with_flags_lists_and_quotes() {
    let copies = after_from(
        "COPY --from=build --chown=1:2 --chmod=755 --link a b /c/\nADD [\"with space\", \"/d\"]\nCOPY \"x y\" z",
    );
    let What::Copy(first) = &copies[0] else { panic!("{copies:?}") };
    assert_eq!((first.from.as_deref(), first.chmod.as_deref()), (Some("build"), Some("755")));
    assert_eq!((&first.sources, first.target.as_str()), (&list(&["a", "b"]), "/c/"));
    let What::Copy(second) = &copies[1] else { panic!("{copies:?}") };
    assert!(second.add);
    assert_eq!(second.sources, ["with space"]);
    let What::Copy(third) = &copies[2] else { panic!("{copies:?}") };
    assert_eq!(third.sources, ["\"x y\""]);
    let bad = error("FROM scratch\nCOPY --parents a b");
    assert_eq!(
        bad,
        "line 2: COPY does not know the flag --parents: wanted --from=, --chown=, --chmod=, --exclude= or --link"
    );
    assert!(error("FROM scratch\nADD --from=x a b").contains("does not know the flag --from"));
    assert_eq!(error("FROM scratch\nCOPY a"), "line 2: COPY wants SOURCE… TARGET, found \"a\"");
}

#[test]
fn commands_in_both_forms() {
    let exec = Command::Exec(list(&["a.exe", "b c"]));
    assert_eq!(after_from("ENTRYPOINT [\"a.exe\", \"b c\"]"), [What::Entrypoint(exec)]);
    assert_eq!(after_from("CMD echo  hi && x"), [What::Cmd(Command::Shell("echo  hi && x".into()))]);
    let file = parsed("FROM scratch\nCMD ['a']");
    assert_eq!(file.instructions[1].what, What::Cmd(Command::Shell("['a']".into())));
    assert!(file.warnings[0].starts_with("line 2: CMD is no JSON list"), "{:?}", file.warnings);
    assert_eq!(after_from("CMD []"), [What::Cmd(Command::Exec(vec![]))]);
}

#[test]
fn pairs_new_and_old() {
    let env = after_from("ENV A=\"x y\" B=\nENV PATH C:\\a b\nLABEL k=v");
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(env[0], What::Env(vec![pair("A", "\"x y\""), pair("B", "")]));
    assert_eq!(env[1], What::Env(vec![pair("PATH", "C:\\a b")]));
    assert_eq!(error("FROM scratch\nENV A=1 B"), "line 2: ENV wants NAME=VALUE, found \"A=1 B\"");
    assert_eq!(error("FROM scratch\nLABEL"), "line 2: LABEL wants NAME=VALUE, found \"\"");
}

#[test]
fn what_is_not_done_is_said() {
    for text in ["COPY <<EOF /x\nhello\nEOF", "RUN <<-'EOF'\nhello\nEOF", "ADD <<A <<B /x/"] {
        let found = error(&format!("FROM scratch\n{text}"));
        assert!(found.starts_with("line 2:") && found.contains("here-document"), "{found}");
    }
    assert!(error("FROM scratch\nONBUILD COPY a b").contains("ONBUILD is not supported"));
    assert!(
        error("FROM scratch\nFRMO x")
            .starts_with("line 2: \"FRMO\" is no instruction: wanted one of FROM, ARG")
    );
    assert_eq!(error("# nothing"), "line 1: there is no instruction: wanted at least FROM");
    assert_eq!(
        error("ARG A\nENV B=1\nFROM x"),
        "line 2: the first instruction is ENV: wanted FROM, or ARG before it"
    );
    assert_eq!(after_from("RUN a << b"), [What::Run]);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_with_a_line(text in "(FROM|COPY|ENV|RUN|[ a-z\\\\\"'\\[\\]{}$=#`<\n]){0,40}") {
        let count = text.lines().count().max(1);
        match Dockerfile::parse(&text) {
            Ok(file) => prop_assert!(file.instructions.iter().all(|each| each.line <= count)),
            Err(e) => prop_assert!((1..=count).contains(&e.line), "{}", e),
        }
    }
}
