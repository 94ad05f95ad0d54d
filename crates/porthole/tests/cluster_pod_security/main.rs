//! Our Pod Security verdicts beside those of the real admission plugin, on generated pods: they must be the same
//! to the letter.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Instant;

use rules::Kind;
use rules::pod_security::table;
use serde_json::Value;
use testbed::api::{Api, Call};
use testbed::control_plane::{ControlPlane, Options};

mod case;
mod dice;
mod ephemeral;
mod pod;
mod repair;
mod room;
mod twist;
mod volumes;

use case::Case;
use dice::Dice;
use room::{Room, Said, rooms};
use twist::{TWISTS, index};

/// Random ones after every twist and every pair.
const RANDOM: usize = 1500;
/// Each pair is tried in this many rooms.
const ROOMS_PER_PAIR: usize = 2;

struct Bench {
    api: Api,
    rooms: Vec<Room>,
    /// Kept up for as long as the tests run.
    _plane: ControlPlane,
}

/// One cluster for all tests of this file; its guard ends it with the process.
static BENCH: LazyLock<Bench> = LazyLock::new(|| {
    let plane = ControlPlane::start(Options::default()).expect("a control plane");
    let api = Api::connect(&plane.kubeconfig()).expect("an API server");
    let rooms = rooms();
    for room in &rooms {
        api.namespace(&room.name, &room.labels()).expect("a namespace");
    }
    Bench { api, rooms, _plane: plane }
});

/// An answer that is not ours.
#[derive(Debug)]
struct Difference {
    case: Case,
    server: Said,
    ours: Said,
}

/// What came of many cases.
#[derive(Debug, Default)]
struct Tally {
    /// Policies that were asked.
    evaluations: usize,
    /// Checks that refused something.
    ids: BTreeSet<&'static str>,
    differences: Vec<Difference>,
}

// === impl Bench ===

impl Bench {
    fn compare(&self, cases: &[Case]) -> Tally {
        let objects: Vec<_> = cases.iter().map(Case::object).collect();
        let calls: Vec<_> = objects.iter().map(|object| Call::create(object).expect("a call")).collect();
        let answers = self.api.send_all(&calls).expect("answers");
        let mut tally = Tally::default();
        for ((case, object), answer) in cases.iter().zip(&objects).zip(&answers) {
            let server = Said::from(answer);
            let (ours, findings) = case.room.verdict(object);
            tally.evaluations += case.room.evaluations(&server);
            tally.ids.extend(findings.iter().map(|finding| finding.id));
            if server != ours {
                tally.differences.push(Difference { case: case.clone(), server, ours });
            }
        }
        tally
    }

    fn shrunk(&self, difference: Difference) -> Difference {
        let smaller = difference.case.smaller().find_map(|case| self.difference(case));
        smaller.map_or(difference, |smaller| self.shrunk(smaller))
    }

    fn difference(&self, case: Case) -> Option<Difference> {
        let object = case.object();
        let (server, (ours, _)) = (self.says(&object), case.room.verdict(&object));
        (server != ours).then_some(Difference { case, server, ours })
    }

    fn says(&self, object: &Value) -> Said {
        (&self.api.send(&Call::create(object).expect("a call")).expect("an answer")).into()
    }

    /// Every twist in every room, every pair in some, and more at once.
    fn cases(&self, dice: &mut Dice) -> Vec<Case> {
        let all = || 0..TWISTS.len();
        let mut cases = Vec::new();
        for room in &self.rooms {
            cases.push(Case::new(Kind::Pod, room, [], dice));
            cases.extend(all().map(|twist| Case::new(Kind::Pod, room, [twist], dice)));
        }
        for (one, two) in all().flat_map(|one| (0..one).map(move |two| (one, two))) {
            cases.extend((0..ROOMS_PER_PAIR).map(|_| self.case(Kind::Pod, [one, two], dice)));
        }
        let templates: Vec<_> = Kind::all().filter(|kind| kind.is_template()).collect();
        for number in 0..RANDOM {
            let twists: BTreeSet<_> = (0..dice.below(10)).map(|_| dice.below(TWISTS.len())).collect();
            let kind = if number % 3 == 0 { *dice.pick(&templates) } else { Kind::Pod };
            cases.push(self.case(kind, twists, dice));
        }
        cases
    }

    fn case(&self, kind: Kind, twists: impl IntoIterator<Item = usize>, dice: &mut Dice) -> Case {
        let room = dice.pick(&self.rooms);
        Case::new(kind, room, twists, dice)
    }
}

/// Prints the smallest objects that differ, then fails. A handful shows the pattern.
fn assert_same(bench: &Bench, differences: Vec<Difference>) {
    let count = differences.len();
    for difference in differences.into_iter().take(5) {
        let Difference { case, server, ours } = bench.shrunk(difference);
        println!("a difference in namespace {}: {:?}\n{}", case.room.name, case.names(), case.object());
        println!("API server: {server:?}\n      ours: {ours:?}\n");
    }
    assert_eq!(count, 0, "differences, the smallest above");
}

// proves: HP-19 cluster
#[test]
fn the_plugin_and_we_say_the_same_to_the_letter() {
    let bench = &*BENCH;
    let begun = Instant::now();
    let cases = bench.cases(&mut Dice::from_environment());
    let Tally { evaluations, ids, differences } = bench.compare(&cases);
    let took = begun.elapsed().as_secs_f64();
    println!("{} objects, {evaluations} evaluations in {took:.1} s", cases.len());
    assert_same(bench, differences);
    assert!(evaluations >= 3000, "only {evaluations}");
    assert_eq!(ids, table().iter().map(|check| check.id).collect(), "checks that were seen to refuse");
}

// proves: HP-19 cluster
#[test]
fn only_a_privileged_namespace_takes_a_host_process_pod() {
    let bench = &*BENCH;
    for room in &bench.rooms {
        for way in ["HostProcess by the pod", "HostProcess by the containers"] {
            let case = Case::new(Kind::Pod, room, [index(way), index("windows")], &mut Dice::new(1));
            match bench.says(&case.object()) {
                Said::Taken { .. } => assert!(room.is_open(), "{} took it", room.name),
                Said::Refused(why) => {
                    assert!(!room.is_open() && why.contains("hostProcess=true)"), "{}: {why}", room.name);
                }
                Said::Other(what) => panic!("{}: {what}", room.name),
            }
        }
    }
}
