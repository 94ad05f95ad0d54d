use std::ptr::null_mut;

use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::Security::Authorization::{
    ConvertSecurityDescriptorToStringSecurityDescriptorW, SDDL_REVISION_1,
};
use windows_sys::Win32::Security::GetFileSecurityW;

use super::super::text::narrow_at;
use super::*;

/// The list of a file, as text.
fn list_of(path: &Path) -> String {
    let name = wide(path).unwrap();
    let (mut words, mut needed) = (vec![0u64; 512], 0);
    let room = u32::try_from(std::mem::size_of_val(words.as_slice())).unwrap();
    let descriptor: PSECURITY_DESCRIPTOR = words.as_mut_ptr().cast();
    // SAFETY: the path ends with a null, and the buffer is as long as we say.
    let got = unsafe {
        GetFileSecurityW(name.as_ptr(), DACL_SECURITY_INFORMATION, descriptor, room, &raw mut needed)
    };
    check(got).unwrap();
    let mut text = null_mut();
    // SAFETY: the descriptor was just filled in; the text ends with a null and is freed after it was copied.
    unsafe {
        check(ConvertSecurityDescriptorToStringSecurityDescriptorW(
            descriptor,
            SDDL_REVISION_1,
            DACL_SECURITY_INFORMATION,
            &raw mut text,
            null_mut(),
        ))
        .unwrap();
        let copied = narrow_at(text);
        LocalFree(text.cast());
        copied
    }
}

/// What everybody may do with a file, as its list says.
fn everyone(path: &Path) -> Option<String> {
    let list = list_of(path);
    let entry = list.split(['(', ')']).find(|entry| entry.ends_with(";;;WD"))?;
    entry.split(';').nth(2).map(str::to_owned)
}

/// `D:(A;;FA;;;SY)`, self-relative.
const SYSTEM_ONLY: [u8; 48] = [
    1, 0, 4, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 2, 0, 28, 0, 1, 0, 0, 0, 0, 0, 20, 0,
    0xff, 1, 0x1f, 0, 1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0,
];

/// Wine keeps of a list what fits into the mode of a file: what its owner and what everybody may read, write and run.
/// So this looks at everybody, who before may read and run; Windows says all (`FA`), Wine all that a mode can say.
#[test]
fn who_may_do_what_is_what_the_layer_says() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = Dir::open(temporary.path()).unwrap();
    let all = Descriptor::Text("D:P(A;;FA;;;SY)(A;;FA;;;WD)".to_owned());
    let none = Descriptor::SelfRelative(SYSTEM_ONLY.to_vec());
    for (what, descriptor, wanted) in [("all", all, &["FA", "0x1301ff"][..]), ("none", none, &[])] {
        let attributes = Attributes { descriptor: Some(descriptor), ..Attributes::default() };
        let (file, below) =
            (OsString::from(format!("{what}.file")), OsString::from(format!("{what}.directory")));
        let opened = dir.create(&file, 0).unwrap();
        let refused = [
            dir.finish(&file, opened, &attributes).unwrap(),
            dir.make(&below).unwrap().set(&attributes).unwrap(),
        ];
        assert!(refused.iter().all(Vec::is_empty), "{refused:?}");
        for name in [file, below] {
            let found = everyone(&dir.at(&name).unwrap());
            assert_eq!(found.is_some(), !wanted.is_empty(), "{name:?}: {found:?}");
            assert!(found.iter().all(|rights| wanted.contains(&rights.as_str())), "{name:?}: {found:?}");
        }
    }
}

/// What is asked of the system, not what it keeps: under Wine a file was made when it was last changed.
#[test]
fn the_time_of_creation_is_asked_for_beside_that_of_the_last_change() {
    let time = |seconds| Some(Time { seconds, nanos: 500_000_000 });
    let at = |seconds: u64| SystemTime::UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 500);
    let wanted =
        Attributes { modified: time(1_500_000_000), created: time(1_400_000_000), ..Attributes::default() };
    let both = FileTimes::new().set_modified(at(1_500_000_000)).set_created(at(1_400_000_000));
    assert_eq!(format!("{:?}", times(&wanted).unwrap()), format!("{both:?}"));
}

/// `C:` joined to a path would be the directory that we were started in.
#[test]
fn what_is_not_one_name_leads_nowhere() {
    let temporary = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(temporary.path().join("root/a")).unwrap();
    std::fs::write(temporary.path().join("outside"), "").unwrap();
    let dir = Dir::open(&temporary.path().join("root")).unwrap();
    for text in
        ["", ".", "..", "C:", "C:x", "f:s", r"..\outside", "a/../../outside", r"\outside", r"\\server\share"]
    {
        let name = OsStr::new(text);
        let refused = [
            dir.child(name).map(drop),
            dir.make(name).map(drop),
            dir.create(name, 0).map(drop),
            dir.hard_link(OsStr::new("h"), &dir, name),
            dir.set_child(name, &Attributes::default()).map(drop),
            dir.remove(name).map(drop),
        ];
        for answer in refused {
            assert_eq!(answer.map_err(|error| error.kind()), Err(io::ErrorKind::InvalidInput), "{text:?}");
        }
    }
    assert!(temporary.path().join("outside").is_file());
}
