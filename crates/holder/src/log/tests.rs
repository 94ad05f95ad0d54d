use proptest::prelude::*;

use super::*;

fn logged(input: &[u8]) -> Vec<(bool, Vec<u8>)> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.log");
    Log::open(&path).unwrap().copy(Stream::Stdout, &mut &input[..]).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    bytes
        .split_inclusive(|b| *b == b'\n')
        .map(|line| {
            let entry = Entry::parse(line).unwrap();
            assert_eq!(entry.stream, Stream::Stdout);
            assert_eq!((entry.time.len(), &entry.time[19..20]), (30, "."), "{}", entry.time);
            (entry.partial, entry.text.to_vec())
        })
        .collect()
}

#[test]
fn lines_become_full_entries_and_a_rest_a_part() {
    assert_eq!(
        logged(b"a\n\nb c\r\nrest"),
        [(false, b"a".to_vec()), (false, b"".to_vec()), (false, b"b c\r".to_vec()), (true, b"rest".to_vec())]
    );
    assert_eq!(logged(b""), []);
}

#[test]
fn a_long_line_is_cut_at_the_agreed_size() {
    let mut input = vec![b'x'; LONGEST_PART * 2 + 3];
    input.push(b'\n');
    let lengths: Vec<_> = logged(&input).iter().map(|(partial, text)| (*partial, text.len())).collect();
    assert_eq!(lengths, [(true, LONGEST_PART), (true, LONGEST_PART), (false, 3)]);
}

#[test]
fn a_second_opening_appends() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.log");
    for text in ["one\n", "two\n"] {
        Log::open(&path).unwrap().copy(Stream::Stderr, &mut text.as_bytes()).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<_> = text.lines().map(|l| Entry::parse(l.as_bytes()).unwrap()).collect();
    assert_eq!(lines.iter().map(|e| e.text).collect::<Vec<_>>(), [b"one", b"two"]);
    assert!(lines.iter().all(|e| e.stream == Stream::Stderr));
}

#[test]
fn a_log_that_cannot_be_written_drains_the_stream_and_says_so() {
    let log = Log { file: Mutex::new(File::open(std::env::current_exe().unwrap()).unwrap()) };
    let mut input: &[u8] = &[b"x\n".repeat(5000), b"tail".to_vec()].concat();
    assert!(log.copy(Stream::Stdout, &mut input).is_err());
    assert!(input.is_empty());
}

#[test]
fn broken_streams_end_the_copy() {
    struct Breaking(io::ErrorKind, bool);
    impl Read for Breaking {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if std::mem::replace(&mut self.1, false) {
                buffer[0] = b'a';
                return Ok(1);
            }
            Err(self.0.into())
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(&dir.path().join("l")).unwrap();
    log.copy(Stream::Stdout, &mut Breaking(io::ErrorKind::BrokenPipe, true)).unwrap();
    let error = log.copy(Stream::Stdout, &mut Breaking(io::ErrorKind::PermissionDenied, true)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    assert_eq!(std::fs::read_to_string(dir.path().join("l")).unwrap().lines().count(), 2);
}

#[test]
fn lines_that_are_no_entries_are_named() {
    let cases: [(&[u8], EntryError); 6] = [
        (b"", EntryError::Short),
        (b"t stdout F", EntryError::Short),
        (b"t stdin F x", EntryError::Stream),
        (b"t stdout X x", EntryError::Tag),
        (b"t stdout X:F x", EntryError::Tag),
        (b"\xff stdout F x", EntryError::Time),
    ];
    for (line, error) in cases {
        assert_eq!(Entry::parse(line), Err(error), "{line:?}");
    }
    assert!(Entry::parse(b"t stderr P:x  two  ").is_ok_and(|e| e.partial && e.text == b" two  "));
}

proptest! {
    #[test]
    fn what_was_written_can_be_put_together_again(
        lines in proptest::collection::vec("[^\n]{0,40}", 0..20), rest in "[^\n]{0,9}", size in 1usize..40
    ) {
        let input = lines.iter().fold(String::new(), |all, line| all + line + "\n") + &rest;
        let mut buffer = LineBuffer::default();
        let mut out = Vec::new();
        let mut emit = |text: &[u8], partial: bool| {
            out.extend_from_slice(text);
            if !partial {
                out.push(b'\n');
            }
        };
        for chunk in input.as_bytes().chunks(size) {
            buffer.push(chunk, &mut emit);
        }
        buffer.finish(&mut emit);
        prop_assert_eq!(out, input.as_bytes());
    }

    #[test]
    fn foreign_lines_never_panic(line in proptest::collection::vec(any::<u8>(), 0..100)) {
        drop(Entry::parse(&line));
    }
}
