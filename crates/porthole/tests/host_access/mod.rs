//! A pod that goes everywhere on its host: one container for each kind of access, and what outside sees of it (HP-28).

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;

use serde_json::json;

use crate::stage::{Stage, accept, eventually};

/// What came of one visit. The pod is gone when this is there: effects are what outlived it.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) mode: &'static str,
    said: Vec<String>,
    /// What the peer outside heard from the container's listener, and the container's pipe or socket.
    pub(crate) heard: [String; 2],
    /// Whether the neighbour outside was still there.
    pub(crate) neighbour_lives: bool,
}

/// One container: its name and its words.
pub(crate) type Guest<'a> = (&'a str, Vec<String>);

/// Where containers and outside meet.
pub(crate) struct Meeting {
    /// Served by outside, and by a container.
    pub(crate) endpoints: [String; 2],
    /// A program outside that a container is to end.
    pub(crate) neighbour: PathBuf,
}

pub(crate) fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// Has the guests visit the host in this mode. `guests` is told the address of a listener outside.
pub(crate) fn visit(
    stage: &Stage,
    mode: &'static str,
    meeting: &Meeting,
    guests: impl FnOnce(&str) -> Vec<Guest<'static>>,
) -> Visit {
    let (_, fixture) = stage.host.programs();
    std::fs::copy(&fixture, &meeting.neighbour).unwrap();
    let name = meeting.neighbour.file_name().unwrap().to_str().unwrap();
    let lives = || stage.host.processes().iter().any(|seen| seen.name == name);
    let mut neighbour = stage.host.start(&meeting.neighbour, &["sleep", "600"]);
    eventually("the neighbour lives", || lives().then_some(()));
    let mut server = stage.host.start(&fixture, &["serve", &meeting.endpoints[0]]);
    let mut lines = BufReader::new(server.streams().0).lines();
    assert_eq!(lines.next().unwrap().unwrap().trim_end(), "serving");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answering = std::thread::spawn(move || answer_one(&listener));

    let file = stage.file("visit.yaml", &pod(mode, &guests(&address)));
    let up = stage.up(&file, &["--once"]);
    let line = up.wait_for("| listening ");
    let dialled = dial(line.rsplit_once(' ').unwrap().1.trim_end());
    up.wait_for("| serving");
    let connected = stage.host.run(&fixture, &["connect".to_owned(), meeting.endpoints[1].clone()]);
    let (_, said) = up.wait();
    answering.join().unwrap();
    let neighbour_lives = lives();
    if neighbour_lives {
        neighbour.kill();
    }
    stage.assert_nothing_left();
    Visit { mode, said, heard: [dialled, connected.stdout.trim().to_owned()], neighbour_lives }
}

/// One pod of them all.
pub(crate) fn pod(mode: &str, guests: &[Guest<'_>]) -> String {
    let container = |(name, words): &Guest<'_>| json!({"name": name, "image": "dir:app", "command": words});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "visit", "annotations": {"porthole.dev/hostprocess-mode": mode}},
        "spec": {
            "hostNetwork": true, "restartPolicy": "Never",
            "securityContext": {"windowsOptions": {"hostProcess": true}},
            "containers": guests.iter().map(container).collect::<Vec<_>>(),
        }
    })
    .to_string()
}

fn answer_one(listener: &TcpListener) {
    let peer = accept(listener);
    let mut line = String::new();
    BufReader::new(&peer).read_line(&mut line).unwrap();
    writeln!(&peer, "outside heard {}", line.trim_end()).unwrap();
}

fn dial(address: &str) -> String {
    let peer = TcpStream::connect(address).unwrap();
    writeln!(&peer, "hello").unwrap();
    let mut answer = String::new();
    BufReader::new(&peer).read_line(&mut answer).unwrap();
    answer.trim_end().to_owned()
}

// === impl Visit ===

impl Visit {
    /// The lines of one container.
    pub(crate) fn said_by(&self, name: &str) -> Vec<&str> {
        let start = format!("default/visit/{name} | ");
        self.said.iter().filter_map(|line| line.split_once(&start)).map(|(_, text)| text.trim_end()).collect()
    }

    /// That the container came to a good end.
    pub(crate) fn assert_good(&self, name: &str) {
        let wanted = format!("default/visit/{name} ended with code 0 ");
        assert!(
            self.said.iter().any(|line| line.contains(&wanted)),
            "{}: {name}: {:#?}",
            self.mode,
            self.said
        );
    }

    pub(crate) fn assert_says(&self, name: &str, words: &str) {
        self.assert_good(name);
        let said = self.said_by(name);
        assert!(said.iter().any(|line| line.contains(words)), "{}: {name}: {words:?}: {said:?}", self.mode);
    }
}
