//! Bytes before they are a tar file: packed, cut, without an end.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}

fn run(bytes: &[u8], how: &Unpack<'_>) -> Result<(World, Report), UnpackError> {
    let world = World::new();
    let report = how.run(bytes, &world.root())?;
    Ok((world, report))
}

fn layer() -> Vec<u8> {
    let noise: String = (0..200_000u32)
        .map(|n| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 27) as u8 % 26))
        .collect();
    Layer::new().file("f", "packed").file("large", &noise).bytes()
}

#[test]
fn gzip_zstd_and_plain_give_the_same_files_and_the_same_diff_id() {
    let plain = layer();
    let in_two = [gzip(&plain[..700]), gzip(&plain[700..])].concat();
    let zstd = zstd::encode_all(plain.as_slice(), 3).unwrap();
    let in_frames =
        [zstd::encode_all(&plain[..700], 3).unwrap(), zstd::encode_all(&plain[700..], 3).unwrap()].concat();
    let wanted = crate::sample::digest(&plain);
    for packed in [plain.clone(), gzip(&plain), in_two, zstd, in_frames] {
        let (world, report) = run(&packed, &Unpack::default()).unwrap();
        assert_eq!((report.diff_id.as_str(), report.bytes), (wanted.as_str(), plain.len() as u64));
        assert_eq!((world.read("f"), world.read("large").len()), ("packed".into(), 200_000));
        assert_eq!((report.entries, report.size), (2, 200_006));
    }
}

#[test]
fn a_media_type_that_lies_is_an_error() {
    let how = Unpack { media_type: Some("application/vnd.oci.image.layer.v1.tar+gzip"), ..Unpack::default() };
    assert!(run(&gzip(&layer()), &how).is_ok());
    let error = run(&layer(), &how).unwrap_err();
    assert_eq!(error.to_string(), "the layer is not compressed: wanted compressed with gzip");
    let error = run(&zstd::encode_all(layer().as_slice(), 1).unwrap(), &how).unwrap_err();
    assert_eq!(error.to_string(), "the layer is compressed with zstd: wanted compressed with gzip");
}

#[test]
fn a_layer_that_is_cut_or_damaged_is_an_error_that_names_the_last_file() {
    let plain = layer();
    let error = run(&plain[..2000], &Unpack::default()).unwrap_err();
    assert!(error.to_string().contains(r#"after "large""#), "{error}");
    for packed in [gzip(&plain), zstd::encode_all(plain.as_slice(), 3).unwrap()] {
        let cut = run(&packed[..packed.len() / 2], &Unpack::default()).unwrap_err();
        assert!(matches!(cut, UnpackError::Read { .. }), "{cut}");
        let mut damaged = packed.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 40].fill(0x55);
        assert!(run(&damaged, &Unpack::default()).is_err());
    }
}

#[test]
fn what_follows_the_end_counts_for_the_diff_id() {
    let mut plain = layer();
    plain.extend([0; 10_240]);
    plain.extend(b"and a remark");
    let (_, report) = run(&gzip(&plain), &Unpack::default()).unwrap();
    assert_eq!(report.diff_id, crate::sample::digest(&plain));
}

#[test]
fn a_layer_has_limits() {
    let limited = |limits| Unpack { limits, ..Unpack::default() };
    let usual = Limits::default();
    let bomb = gzip(&Layer::new().file("zeros", &"\0".repeat(3_000_000)).bytes());
    let error = run(&bomb, &limited(Limits { bytes: 1_000_000, ..usual })).unwrap_err();
    assert!(matches!(error, UnpackError::Bytes { limit: 1_000_000 }), "{error}");
    let after = gzip(&[Layer::new().file("f", "").bytes(), vec![0; 3_000_000]].concat());
    let error = run(&after, &limited(Limits { bytes: 1_000_000, ..usual })).unwrap_err();
    assert!(matches!(error, UnpackError::Bytes { .. }), "{error}");
    let error = run(&layer(), &limited(Limits { entries: 1, ..usual })).unwrap_err();
    assert!(matches!(error, UnpackError::Entries { limit: 1 }), "{error}");
    let deep = Layer::new().file("1/2/3/4", "").bytes();
    assert!(run(&deep, &limited(Limits { depth: 4, ..usual })).is_ok());
    let error = run(&deep, &limited(Limits { depth: 3, ..usual })).unwrap_err();
    assert!(matches!(error, UnpackError::Deep { limit: 3, .. }), "{error}");
    let error = run(&deep, &limited(Limits { path: 6, ..usual })).unwrap_err();
    assert!(matches!(error, UnpackError::Long { limit: 6, .. }), "{error}");
}

#[test]
fn links_do_not_lead_deeper_than_the_limit() {
    let how = Unpack { limits: Limits { depth: 4, ..Limits::default() }, ..Unpack::default() };
    let bytes = Layer::new().dir("a/b/c").symlink("l", "a/b/c").file("l/d/e/f", "").bytes();
    assert!(matches!(run(&bytes, &how), Err(UnpackError::Deep { .. })));
}

/// Ends the one who comes and goes, also when an assertion fails.
struct Done<'d>(&'d AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Files of which every fifth is written again, every seventh linked to, and every eleventh becomes a directory, each
/// while a helper may still be at it.
fn restless() -> (Vec<u8>, BTreeMap<String, String>) {
    let (mut layer, mut wanted) = (Layer::new(), BTreeMap::new());
    for number in 0..400 {
        let (name, body) = (format!("f{number}"), format!("{number}-").repeat(number * 7 % 9_000));
        layer = layer.file(&name, &body);
        if number % 5 == 0 {
            layer = layer.file(&name, "again");
        }
        let body = if number % 5 == 0 { "again".to_owned() } else { body };
        if number % 7 == 0 {
            layer = layer.hard_link(&format!("l{number}"), &name);
            wanted.insert(format!("l{number}"), body.clone());
        }
        if number % 11 == 0 {
            layer = layer.dir(&name).file(&format!("{name}/in"), &body);
            wanted.insert(format!("{name}/in"), body);
        } else {
            wanted.insert(name, body);
        }
    }
    (layer.bytes(), wanted)
}

/// Whether helpers are used may change at any chunk and any file, and nobody sees a difference.
#[test]
fn with_and_without_helpers_the_files_and_the_digest_are_the_same() {
    let (plain, wanted) = restless();
    let unpacked = |crowd: &Crowd| {
        let world = World::new();
        let names = Budget::new(1 << 20);
        let report = Unpack::default().run_among((crowd, &names), plain.as_slice(), &world.root()).unwrap();
        assert_eq!(report.diff_id, crate::sample::digest(&plain));
        for (name, body) in &wanted {
            assert!(world.read(name) == *body, "{name}");
        }
    };
    unpacked(&Crowd::of(1));
    unpacked(&Crowd::of(usize::MAX));
    let (crowd, done) = (Crowd::of(2), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let coming_and_going = || {
            while !done.load(Ordering::Relaxed) {
                drop(crowd.enter());
            }
        };
        scope.spawn(coming_and_going);
        let _done = Done(&done);
        (0..3).for_each(|_| unpacked(&crowd));
    });
}
