//! Many who want the same: each thing moves once.

use std::process::Command;
use std::sync::Barrier;

use images::{Caller, Image, Reference, Store};

use crate::support::{World, image_of, pull, total};

const STORE: &str = "TWIN_PULL_STORE";
const REFERENCE: &str = "TWIN_PULL_REFERENCE";

fn assert_each_moved_once(world: &World, expected: u64) {
    let (asked, bytes) = world.moved();
    assert!(asked.values().all(|times| *times == 1), "{asked:?}");
    assert_eq!(bytes, expected);
    world.assert_sound(false);
}

#[test]
fn fifty_threads_move_each_blob_once() {
    let image = image_of(0..8, 200_000);
    let world = World::with(&image);
    let (start, store) = (Barrier::new(50), world.store());
    let reference = world.reference("try/app:1");
    let pulled: Vec<Image> = std::thread::scope(|scope| {
        let one = |own: bool| {
            // Half of them as another process would: with a store of their own in the same place.
            let store = if own { world.store() } else { store.clone() };
            start.wait();
            pull(&store, &reference, Caller::silent()).unwrap()
        };
        let threads: Vec<_> = (0..50).map(|number| scope.spawn(move || one(number % 2 == 0))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(pulled.iter().all(|image| *image == pulled[0]));
    assert_each_moved_once(&world, total(&image));
}

/// The processes are this test again, told by a variable to be one of them.
#[test]
fn eight_processes_move_each_blob_once() {
    if let Ok(store) = std::env::var(STORE) {
        return work(&store);
    }
    let image = image_of(0..8, 200_000);
    let world = World::with(&image);
    let worker = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "flight::eight_processes_move_each_blob_once", "--nocapture"]);
        command.env(STORE, world.dir()).env(REFERENCE, world.reference("try/app:1").to_string());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let workers: Vec<_> = (0..8).map(|_| worker()).collect();
    for worker in workers {
        let ended = worker.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success() && said.contains("pulled 8 layers"), "{ended:?}");
    }
    assert_each_moved_once(&world, total(&image));
}

/// What each of several processes does.
fn work(store: &str) {
    let store = Store::open(store.as_ref()).unwrap();
    let reference = Reference::parse(&std::env::var(REFERENCE).expect("set with the store")).unwrap();
    let image = pull(&store, &reference, Caller::silent()).unwrap();
    println!("pulled {} layers", crate::support::lower(&image).len());
}
