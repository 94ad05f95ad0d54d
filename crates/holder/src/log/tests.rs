use proptest::prelude::*;

use super::*;

fn logged(input: &[u8]) -> Vec<(bool, Vec<u8>)> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.log");
    Log::open(&path, None).unwrap().copy(Stream::Stdout, &mut &input[..], |_| {}).unwrap();
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
        Log::open(&path, None).unwrap().copy(Stream::Stderr, &mut text.as_bytes(), |_| {}).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<_> = text.lines().map(|l| Entry::parse(l.as_bytes()).unwrap()).collect();
    assert_eq!(lines.iter().map(|e| e.text).collect::<Vec<_>>(), [b"one", b"two"]);
    assert!(lines.iter().all(|e| e.stream == Stream::Stderr));
}

#[test]
fn a_log_that_cannot_be_written_drains_the_stream_and_says_so() {
    let path = std::env::current_exe().unwrap();
    let written = Written { file: File::open(&path).unwrap(), size: 0, full: u64::MAX };
    let log = Log { path, rotate: None, written: Mutex::new(written) };
    let mut input: &[u8] = &[b"x\n".repeat(5000), b"tail".to_vec()].concat();
    let mut besides = 0;
    assert!(log.copy(Stream::Stdout, &mut input, |bytes| besides += bytes.len()).is_err());
    assert!(input.is_empty());
    assert_eq!(besides, 10_004);
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
    let log = Log::open(&dir.path().join("l"), None).unwrap();
    log.copy(Stream::Stdout, &mut Breaking(io::ErrorKind::BrokenPipe, true), |_| {}).unwrap();
    let mut denied = Breaking(io::ErrorKind::PermissionDenied, true);
    let error = log.copy(Stream::Stdout, &mut denied, |_| {}).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    assert_eq!(std::fs::read_to_string(dir.path().join("l")).unwrap().lines().count(), 2);
}

fn texts(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap();
    let lines = bytes.split_inclusive(|b| *b == b'\n');
    lines.map(|line| String::from_utf8(Entry::parse(line).unwrap().text.to_vec()).unwrap()).collect()
}

#[test]
fn a_full_log_goes_on_in_a_new_file_and_no_line_is_lost_or_cut() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.log");
    let log = Log::open(&path, Some(Rotate { max_bytes: 500, files: 100 })).unwrap();
    let input: String = (0..100).map(|i| format!("line {i}\n")).collect();
    log.copy(Stream::Stdout, &mut input.as_bytes(), |_| {}).unwrap();
    let files = files(&path).unwrap();
    assert!(files.len() > 5, "{files:?}");
    let all: Vec<String> = files.iter().flat_map(|path| texts(path)).collect();
    assert_eq!(all, (0..100).map(|i| format!("line {i}")).collect::<Vec<_>>());
    for file in &files {
        assert!(std::fs::metadata(file).unwrap().len() <= 500, "{}", file.display());
    }
}

#[test]
fn an_entry_longer_than_a_file_may_be_stands_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.log");
    let log = Log::open(&path, Some(Rotate { max_bytes: 100, files: 9 })).unwrap();
    let input = format!("{}\nb\n{}\n", "a".repeat(300), "c".repeat(300));
    log.copy(Stream::Stdout, &mut input.as_bytes(), |_| {}).unwrap();
    let lengths: Vec<_> = files(&path).unwrap().iter().map(|file| texts(file).concat().len()).collect();
    assert_eq!(lengths, [300, 1, 300]);
}

#[test]
fn a_log_that_cannot_be_renamed_goes_on_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gone/0.log");
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    let log = Log::open(&path, Some(Rotate { max_bytes: 100, files: 2 })).unwrap();
    let kept = dir.path().join("kept");
    std::fs::hard_link(&path, &kept).unwrap();
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    let input = "0123456789\n".repeat(50);
    log.copy(Stream::Stdout, &mut input.as_bytes(), |_| {}).unwrap();
    assert_eq!(texts(&kept).len(), 50);
}

#[test]
fn after_a_rename_by_somebody_else_a_reopened_log_has_its_old_name() {
    let dir = tempfile::tempdir().unwrap();
    let (path, aside) = (dir.path().join("0.log"), dir.path().join("0.log.20261115-134255"));
    let log = Log::open(&path, None).unwrap();
    let put = |text: &str| log.copy(Stream::Stdout, &mut text.as_bytes(), |_| {}).unwrap();
    put("one\n");
    std::fs::rename(&path, &aside).unwrap();
    put("two\n");
    log.reopen().unwrap();
    put("three\n");
    log.reopen().unwrap();
    put("four\n");
    assert_eq!(texts(&aside), ["one", "two"]);
    assert_eq!(texts(&path), ["three", "four"]);
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
