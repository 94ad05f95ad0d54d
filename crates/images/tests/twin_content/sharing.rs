//! Many at once, all alive.

use images::collect::{Disk, Thresholds};
use images::content::DepotError;

use crate::processes::{Running, World, bytes_of, eventually};
use crate::scene::{ALONE, APP, COUSIN, PARTS, blob};

const FULL: Disk = Disk { total: 1 << 40, available: 0 };

#[test]
fn many_processes_and_threads_load_and_unpack_each_layer_once() {
    let world = World::new();
    world.content();
    let pulls: Vec<Running> =
        (0..12).map(|n| world.pull(if n % 2 == 0 { "app" } else { "cousin" })).collect();
    pulls.into_iter().for_each(Running::succeed);
    let layers = ["base", "hat", "middle", "top"];
    let expected: Vec<String> = layers
        .iter()
        .map(|layer| format!("load {layer} 0"))
        .chain(layers.iter().map(|layer| format!("unpack {layer}")))
        .collect();
    assert_eq!(world.logged(), expected);
    let content = world.content();
    APP.verify(&content);
    COUSIN.verify(&content);
    assert!(content.fsck(false).unwrap().found.is_empty());
    world.assert_empties();
}

#[test]
fn threads_of_one_process_load_once_too() {
    let world = World::new();
    let (content, log) = (world.content(), world.log());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let counted = crate::scene::Counted(&log);
            let content = &content;
            scope.spawn(move || {
                APP.pull(content, &counted, |content| {
                    APP.verify(content);
                    Ok(())
                })
                .unwrap()
            });
        }
    });
    assert_eq!(world.logged().len(), 2 * APP.layers.len(), "{:?}", world.logged());
}

/// While some pull and look at what they hold, others remove all that nobody holds.
#[test]
fn collections_never_take_what_a_pull_holds() {
    let world = World::new();
    world.content();
    let pulls = ["app", "cousin", "app"].map(|image| world.start(&["churn", image, "25"]));
    let mut collectors = [0, 1].map(|_| world.start(&["collect"]));
    pulls.into_iter().for_each(Running::succeed);
    collectors.iter_mut().for_each(Running::go_on);
    collectors.into_iter().for_each(Running::succeed);
    assert!(world.content().fsck(false).unwrap().found.iter().all(|it| it.to_string().contains("no image")));
    world.assert_empties();
}

/// Images are removed beside them, so that the pulls begin anew; other pulls are killed, which leaves half a download.
#[test]
fn what_agents_let_go_of_is_never_what_a_pull_holds() {
    let world = World::new();
    world.content();
    let pulls = ["app", "cousin", "app"].map(|image| world.start(&["churn", image, "25"]));
    let mut others = ["collect", "tend", "tend"].map(|act| world.start(&[act]));
    let download = world.store().join("ingest").join(blob(ALONE.layers[0]).hex());
    for _ in 0..5 {
        let mut given_up = world.start(&["halt", ALONE.image]);
        given_up.expect_all(vec![format!("at {} 16384", ALONE.layers[0])]);
        assert!(download.exists(), "its lease and its flight keep it");
        given_up.kill();
        eventually("what nobody goes on with is gone", || !download.exists());
    }
    pulls.into_iter().for_each(Running::succeed);
    others.iter_mut().for_each(Running::go_on);
    others.into_iter().for_each(Running::succeed);
    assert!(world.content().fsck(false).unwrap().found.iter().all(|it| it.to_string().contains("no image")));
    world.assert_empties();
}

#[test]
fn a_lease_ends_with_its_process_and_not_before() {
    let world = World::new();
    world.pull("app").succeed();
    let mut holder = world.start(&["hold", "app"]);
    holder.expect("holding");
    let content = world.content();
    assert!(content.collect(&Thresholds::default(), FULL).unwrap().images.is_empty());
    let error = content.remove(&APP.reference().to_string(), true).unwrap_err();
    assert!(matches!(error, DepotError::InUse { .. }), "{error}");
    holder.kill();
    assert_eq!(content.collect(&Thresholds::default(), FULL).unwrap().images, [APP.record().id]);
    world.assert_empties();
}

#[test]
fn open_files_do_not_stop_a_removal() {
    let world = World::new();
    world.pull("app").succeed();
    let mut reader = world.start(&["open", "app"]);
    reader.expect("opened");
    let removed = world.content().remove(&APP.reference().to_string(), false).unwrap();
    assert_eq!(removed.bytes, bytes_of(&APP));
    assert!(world.rest().is_empty(), "{:?}", world.rest());
    reader.go_on();
    let size = PARTS * (16 << 10);
    reader.expect(&format!("read {size} {size}"));
    reader.succeed();
    world.pull("app").succeed();
    APP.verify(&world.content());
}
