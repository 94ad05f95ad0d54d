//! Blobs on their way, however they are cut.

use proptest::prelude::*;

use super::*;

fn begin(world: &World, bytes: &[u8]) -> (Flight, Ingest) {
    let digest = Digest::of(bytes);
    let flight = world.flight(Key::Blob(digest.clone()));
    (flight, world.content.ingest(&digest, bytes.len() as u64).unwrap())
}

#[test]
fn a_blob_gets_its_name_when_it_is_whole() {
    let world = World::new();
    let (_flight, mut ingest) = begin(&world, b"hello");
    ingest.append(b"hel").unwrap();
    assert!(world.content.blob(&Digest::of(b"hello")).unwrap().is_none());
    ingest.append(b"lo").unwrap();
    assert_eq!(text(ingest.commit().unwrap()), "hello");
    assert!(world.files(INGEST).is_empty());
}

#[test]
fn a_cut_blob_is_continued() {
    let world = World::new();
    let (flight, mut ingest) = begin(&world, b"hello");
    ingest.append(b"hel").unwrap();
    drop((ingest, flight));
    world.again();
    let (_flight, mut ingest) = begin(&world, b"hello");
    assert_eq!(ingest.offset(), 3);
    ingest.append(b"lo").unwrap();
    assert_eq!(text(ingest.commit().unwrap()), "hello");
}

#[test]
fn a_blob_that_is_too_short_stays_and_one_that_is_too_long_is_refused() {
    let world = World::new();
    let (flight, mut ingest) = begin(&world, b"hello");
    ingest.append(b"hel").unwrap();
    let error = ingest.append(b"low").unwrap_err();
    assert!(matches!(error, DepotError::TooLong { size: 5, .. }), "{error}");
    let error = ingest.commit().unwrap_err();
    assert!(matches!(error, DepotError::Short { size: 5, found: 3, .. }), "{error}");
    drop(flight);
    assert_eq!(begin(&world, b"hello").1.offset(), 3);
}

#[test]
fn a_damaged_blob_is_removed() {
    let world = World::new();
    let (flight, mut ingest) = begin(&world, b"hello");
    ingest.append(b"jello").unwrap();
    let error = ingest.commit().unwrap_err();
    assert!(matches!(&error, DepotError::Damaged { resumed: 0, .. }), "{error}");
    assert!(world.files(INGEST).is_empty() && world.files(BLOBS).is_empty());
    drop(flight);
    assert_eq!(begin(&world, b"hello").1.offset(), 0);
}

#[test]
fn leftovers_that_are_longer_than_the_blob_are_forgotten() {
    let world = World::new();
    std::fs::write(world.content.ingest_path(&Digest::of(b"hello")), "hello and more").unwrap();
    let (_flight, mut ingest) = begin(&world, b"hello");
    assert_eq!(ingest.offset(), 0);
    ingest.append(b"hello").unwrap();
    assert_eq!(text(ingest.commit().unwrap()), "hello");
}

/// What happens to a download between two appends.
#[derive(Debug, Clone, Copy)]
enum Step {
    Append(usize),
    Cut,
    Restart,
    /// Power loss left other bytes than were written.
    Rot,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (1usize..40).prop_map(Step::Append),
        3 => Just(Step::Cut),
        1 => Just(Step::Restart),
        1 => Just(Step::Rot),
    ];
    proptest::collection::vec(step, 0..24)
}

fn rot(path: &Path) -> bool {
    let mut bytes = std::fs::read(path).unwrap();
    let Some(first) = bytes.first_mut() else { return false };
    *first ^= 1;
    std::fs::write(path, bytes).unwrap();
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However it comes, a blob with a name is the right one; with nothing rotten it always gets there.
    #[test]
    fn a_blob_is_right_or_absent(body in proptest::collection::vec(any::<u8>(), 0..200), steps in steps()) {
        let world = World::new();
        let digest = Digest::of(&body);
        let open = || world.content.ingest(&digest, body.len() as u64).unwrap();
        let _flight = world.flight(Key::Blob(digest.clone()));
        let (mut ingest, mut rotten) = (open(), false);
        let at = |ingest: &Ingest| usize::try_from(ingest.offset()).unwrap();
        for step in steps {
            match step {
                Step::Append(length) => {
                    let from = at(&ingest);
                    ingest.append(&body[from..body.len().min(from + length)]).unwrap();
                }
                Step::Cut => { drop(ingest); ingest = open(); }
                Step::Restart => { ingest.restart().unwrap(); rotten = false; }
                Step::Rot => {
                    drop(ingest);
                    rotten ^= rot(&world.content.ingest_path(&digest));
                    ingest = open();
                }
            }
        }
        let from = at(&ingest);
        ingest.append(&body[from..]).unwrap();
        let committed = ingest.commit();
        prop_assert_eq!(committed.is_err(), rotten);
        let found = world.content.blob(&digest).unwrap();
        prop_assert_eq!(found.is_none(), rotten);
        if let Some(mut file) = found {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).unwrap();
            prop_assert_eq!(bytes, body);
        }
        prop_assert!(world.files(INGEST).is_empty());
    }
}
