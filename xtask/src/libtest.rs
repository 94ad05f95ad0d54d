//! What a test program printed, taken apart.
//!
//! libtest's stable output is lines for people. They are counted against the summary at the end: output that does
//! not add up is a failure, so that a test whose line got lost cannot vanish from the gate.

/// One test's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ok,
    Failed,
    /// With the reason of `#[ignore = "…"]`, if one was given.
    Ignored(Option<String>),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) tests: Vec<(String, Outcome)>,
    passed: usize,
    failed: usize,
    ignored: usize,
    summaries: usize,
}

/// Reads one program's output, or that of several one after the other (as doc tests are).
pub(crate) fn parse(output: &str) -> Report {
    let mut report = Report::default();
    let mut open: Option<String> = None;
    for line in output.lines() {
        if let Some(summary) = line.strip_prefix("test result: ") {
            report.add_summary(summary);
        } else if let Some((name, outcome)) = finished(line) {
            report.tests.push((name, outcome));
            open = None;
        } else if let Some(name) = started(line) {
            open = Some(name);
        } else if let Some(outcome) = open.as_ref().and_then(|_| outcome(line)) {
            // The test wrote to standard output between its name and its verdict.
            report.tests.extend(open.take().map(|name| (name, outcome)));
        }
    }
    report
}

// === impl Report ===

impl Report {
    /// Why the lines cannot be believed, if they cannot.
    pub(crate) fn doubt(&self) -> Option<String> {
        if self.summaries == 0 {
            return Some("the program ended before its summary".into());
        }
        let count = |wanted: fn(&Outcome) -> bool| self.tests.iter().filter(|(_, o)| wanted(o)).count();
        let seen = [
            count(|o| *o == Outcome::Ok),
            count(|o| *o == Outcome::Failed),
            count(|o| matches!(o, Outcome::Ignored(_))),
        ];
        let said = [self.passed, self.failed, self.ignored];
        (seen != said)
            .then(|| format!("lines and summary differ: passed, failed, ignored {seen:?}, said {said:?}"))
    }

    fn add_summary(&mut self, summary: &str) {
        self.summaries += 1;
        self.passed += number_before(summary, " passed");
        self.failed += number_before(summary, " failed");
        self.ignored += number_before(summary, " ignored");
    }
}

fn number_before(text: &str, word: &str) -> usize {
    let before = text.split(word).next().unwrap_or_default();
    before.rsplit(' ').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

fn finished(line: &str) -> Option<(String, Outcome)> {
    let (name, end) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    Some((clean(name), outcome(end)?))
}

fn started(line: &str) -> Option<String> {
    let (name, _) = line.strip_prefix("test ")?.split_once(" ... ")?;
    Some(clean(name))
}

fn clean(name: &str) -> String {
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    name.strip_suffix(" - compile")
        .or_else(|| name.strip_suffix(" - compile fail"))
        .unwrap_or(name)
        .to_owned()
}

fn outcome(text: &str) -> Option<Outcome> {
    match text.trim_end() {
        "ok" => Some(Outcome::Ok),
        "FAILED" => Some(Outcome::Failed),
        "ignored" => Some(Outcome::Ignored(None)),
        other => other.strip_prefix("ignored, ").map(|reason| Outcome::Ignored(Some(reason.to_owned()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(report: &Report) -> Vec<&str> {
        report.tests.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn every_kind_of_end_is_read() {
        let report = parse(
            "\nrunning 5 tests\ntest a::one ... ok\ntest a::two ... FAILED\ntest three ... ignored, needs a Mac\n\
             test four ... ignored\ntest five - should panic ... ok\n\nfailures:\n    a::two\n\n\
             test result: FAILED. 2 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        );
        assert_eq!(names(&report), ["a::one", "a::two", "three", "four", "five"]);
        assert_eq!(report.tests[2].1, Outcome::Ignored(Some("needs a Mac".into())));
        assert_eq!(report.tests[3].1, Outcome::Ignored(None));
        assert_eq!(report.doubt(), None);
    }

    #[test]
    fn doc_tests_have_spaces_in_their_names() {
        let report = parse(
            "test testbed/src/a.rs - a::b (line 9) - compile ... ok\n\
             test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n",
        );
        assert_eq!(names(&report), ["testbed/src/a.rs - a::b (line 9)"]);
        assert_eq!(report.doubt(), None);
    }

    #[test]
    fn output_between_name_and_verdict_does_not_hide_the_test() {
        let report = parse(
            "test noisy ... from a child\nmore ... of it\nok\ntest quiet ... ok\n\
             test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
        );
        assert_eq!(names(&report), ["noisy", "quiet"]);
        assert_eq!(report.doubt(), None);
    }

    #[test]
    fn windows_line_ends_do_not_matter() {
        let report = parse("test a ... ok\r\ntest result: ok. 1 passed; 0 failed; 0 ignored\r\n");
        assert_eq!(report.tests, [("a".to_owned(), Outcome::Ok)]);
        assert_eq!(report.doubt(), None);
    }

    #[test]
    fn an_aborted_program_is_doubted() {
        assert!(parse("test a ... ok\n").doubt().expect("doubt").contains("before its summary"));
    }

    #[test]
    fn a_lost_line_is_doubted() {
        let report = parse("test a ... ok\ntest result: ok. 2 passed; 0 failed; 0 ignored\n");
        assert!(report.doubt().expect("doubt").contains("differ"));
    }

    #[test]
    fn summaries_of_several_programs_add_up() {
        let text = "test a ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored\n\
                    test b ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
        assert_eq!(parse(text).doubt(), None);
    }
}
