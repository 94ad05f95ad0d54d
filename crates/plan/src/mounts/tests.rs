use super::*;

const WINDOWS: Root<'_> = Root { style: Style::Windows, drive: "C:" };
const BIND: Container<'_> = Container { root: WINDOWS, mode: Mode::Bind, image: "C:\\hpc" };
const SYMLINK: Container<'_> = Container { root: WINDOWS, mode: Mode::Symlink, image: "C:\\hpc\\c1" };

fn volume<'a>(host_path: &'a str, container_path: &'a str) -> Volume<'a> {
    Volume {
        host_path,
        container_path,
        readonly: false,
        shallow: false,
        source: Source::Directory,
        propagation: Propagation::Private,
        peers: Peers::None,
    }
}

fn bound(source: &str, target: &str, readonly: bool, file: bool) -> Step {
    let (source, target) = (source.into(), target.into());
    Step::Bind { source, target, readonly, shallow: false, propagation: Propagation::Private, file }
}

fn bind(source: &str, target: &str) -> Step {
    bound(source, target, false, false)
}

fn one(volume: Volume<'_>, container: &Container<'_>) -> Result<Plan, MountError> {
    plan(&[volume], container)
}

// proves: HP-11 pure
// proves: HP-12 pure
#[test]
fn a_bound_volume_is_at_its_path_and_below_the_image() {
    let plan = one(volume("C:\\vol\\1", "/var/run/secrets"), &BIND).unwrap();
    assert_eq!(
        plan.steps,
        [bind("C:\\vol\\1", "C:\\var\\run\\secrets"), bind("C:\\vol\\1", "C:\\hpc\\var\\run\\secrets")]
    );
    let readonly = Volume { readonly: true, source: Source::File, ..volume("C:\\f", "D:\\f.txt") };
    let plan = one(readonly, &BIND).unwrap();
    let expected = |target: &str| bound("C:\\f", target, true, true);
    assert_eq!(plan.steps, [expected("D:\\f.txt"), expected("C:\\hpc\\f.txt")]);
    assert_eq!(plan.warnings, [""; 0]);
}

// proves: HP-12 pure
#[test]
fn a_linked_volume_is_below_the_image_without_its_drive() {
    for mode in [Mode::Symlink, Mode::Host] {
        let plan = one(volume("C:\\vol\\1", "D:\\data"), &Container { mode, ..SYMLINK }).unwrap();
        let link = Step::Link { at: "C:\\hpc\\c1\\data".into(), to: "C:\\vol\\1".into(), file: false };
        assert_eq!(plan.steps, [link]);
    }
    let readonly = Volume { readonly: true, ..volume("C:\\v", "/v") };
    let plan = one(readonly, &SYMLINK).unwrap();
    assert!(
        plan.warnings[0].contains("C:\\hpc\\c1\\v") && plan.warnings[0].contains("read-only"),
        "{plan:?}"
    );
}

#[test]
fn a_source_without_a_drive_is_on_the_systems() {
    let missing = Volume { source: Source::Missing, ..volume("/var/log", "/logs") };
    let container = Container { root: Root { drive: "E:", ..WINDOWS }, ..SYMLINK };
    let made = Step::MakeSource { path: "E:\\var\\log".into() };
    let link = Step::Link { at: "C:\\hpc\\c1\\logs".into(), to: "E:\\var\\log".into(), file: false };
    assert_eq!(one(missing, &container).unwrap().steps, [made, link]);
    let bound = one(volume("\\v", "\\v"), &Container { mode: Mode::Bind, ..container }).unwrap();
    assert_eq!(bound.steps[0], bind("E:\\v", "C:\\v"));
}

#[test]
fn outer_volumes_come_first_and_missing_sources_are_made() {
    let inner = volume("C:\\2", "C:\\a\\b");
    let outer = Volume { source: Source::Missing, ..volume("C:\\1", "C:\\a") };
    let steps = plan(&[inner, outer], &SYMLINK).unwrap().steps;
    let link = |at: &str, to: &str| Step::Link { at: at.into(), to: to.into(), file: false };
    assert_eq!(
        steps,
        [
            Step::MakeSource { path: "C:\\1".into() },
            link("C:\\hpc\\c1\\a", "C:\\1"),
            link("C:\\hpc\\c1\\a\\b", "C:\\2")
        ]
    );
}

// proves: HP-13 pure
#[test]
fn pipes_and_sockets_are_refused_by_source_and_by_destination() {
    for mode in [Mode::Bind, Mode::Symlink, Mode::Host] {
        let container = Container { mode, ..BIND };
        for refused in [volume("\\\\.\\pipe\\x", "C:\\x"), volume("C:\\x", "//./pipe/x")] {
            let error = one(refused, &container).unwrap_err();
            assert!(
                matches!(&error, MountError::Pipe { .. }) && error.to_string().contains("own path"),
                "{error}"
            );
        }
        let socket = Volume { source: Source::Socket, ..volume("C:\\run\\x.sock", "C:\\x.sock") };
        let error = one(socket, &container).unwrap_err().to_string();
        assert!(error.contains("Unix socket") && error.contains("C:\\\\run\\\\x.sock"), "{error}");
    }
}

// proves: HP-11 pure
#[test]
fn what_would_hide_the_system_or_the_image_is_refused() {
    for path in ["C:\\", "C:", "/", "c:\\windows\\", "C:/Windows/System32", "C:\\hpc"] {
        let error = one(volume("C:\\v", path), &BIND).unwrap_err();
        assert!(matches!(error, MountError::Protected { .. }), "{path}: {error}");
    }
    for path in ["C:\\Windows\\Temp\\x", "D:\\", "C:\\hpc\\data", "C:\\hpcx"] {
        one(volume("C:\\v", path), &BIND).unwrap();
    }
    one(volume("C:\\v", "D:\\"), &SYMLINK).unwrap_err();
    one(volume("C:\\v", "C:\\Windows"), &SYMLINK).unwrap();
    let root = Root { style: Style::Unix, drive: "" };
    let unix = Container { root, mode: Mode::Bind, image: "/image" };
    for path in ["/", "/proc", "/dev/", "/image"] {
        one(volume("/v", path), &unix).unwrap_err();
    }
    one(volume("/v", "/Windows"), &unix).unwrap();
    one(volume("/v", "/dev/shm"), &unix).unwrap();
}

#[test]
fn two_at_one_place_are_refused() {
    let twice = [volume("C:\\1", "C:\\data"), volume("C:\\2", "c:/Data/")];
    assert_eq!(plan(&twice, &BIND), Err(MountError::Twice { path: "C:\\Data".into() }));
    let drives = [volume("C:\\1", "C:\\data"), volume("C:\\2", "D:\\data")];
    plan(&drives, &BIND).unwrap();
    let error = plan(&drives, &SYMLINK).unwrap_err();
    assert_eq!(
        error,
        MountError::Collide {
            first: "C:\\data".into(),
            second: "D:\\data".into(),
            path: "C:\\hpc\\c1\\data".into()
        }
    );
    let none = Volume { host_path: "", ..volume("", "C:\\x") };
    assert_eq!(one(none, &BIND), Err(MountError::NoSource { path: "C:\\x".into() }));
    assert!(matches!(one(volume("C:\\v", "x"), &BIND), Err(MountError::Destination(_))));
}
