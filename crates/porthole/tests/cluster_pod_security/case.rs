//! One object to send: a kind, a namespace and some twists. Any of its twists can be left out again.

use rules::Kind;
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::pod::base;
use crate::repair::repair;
use crate::room::Room;
use crate::twist::TWISTS;

#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) kind: Kind,
    pub(crate) room: Room,
    /// Each with its own dice, so that leaving one out changes no other.
    twists: Vec<(usize, Dice)>,
}

// === impl Case ===

impl Case {
    pub(crate) fn new(
        kind: Kind,
        room: &Room,
        twists: impl IntoIterator<Item = usize>,
        dice: &mut Dice,
    ) -> Self {
        let twists = twists.into_iter().map(|twist| (twist, Dice::new(dice.throw()))).collect();
        Self { kind, room: room.clone(), twists }
    }

    pub(crate) fn object(&self) -> Value {
        let mut pod = base();
        for (twist, dice) in &self.twists {
            (TWISTS[*twist].apply)(&mut pod, &mut dice.clone());
        }
        repair(&mut pod, self.kind.is_template());
        self.wrapped(pod)
    }

    /// The names of what makes it special.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.twists.iter().map(|(twist, _)| TWISTS[*twist].name).collect()
    }

    /// The same with one twist less, in every way.
    pub(crate) fn smaller(&self) -> impl Iterator<Item = Self> {
        (0..self.twists.len()).map(|gone| {
            let mut smaller = self.clone();
            smaller.twists.remove(gone);
            smaller
        })
    }

    fn wrapped(&self, mut pod: Value) -> Value {
        let kind = self.kind;
        let metadata = json!({"name": "x", "namespace": self.room.name});
        let mut object = json!({"apiVersion": kind.api_version(), "kind": kind.name(), "metadata": metadata});
        if kind == Kind::Pod {
            object["metadata"]["annotations"] = pod["metadata"]["annotations"].take();
            object["spec"] = pod["spec"].take();
            return object;
        }
        pod["metadata"]["labels"] = json!({"app": "x"});
        match kind {
            Kind::PodTemplate => {}
            Kind::ReplicationController => object["spec"]["selector"] = json!({"app": "x"}),
            Kind::Job => pod["spec"]["restartPolicy"] = json!("Never"),
            Kind::CronJob => {
                pod["spec"]["restartPolicy"] = json!("Never");
                object["spec"]["schedule"] = json!("* * * * *");
            }
            _ => object["spec"]["selector"] = json!({"matchLabels": {"app": "x"}}),
        }
        let path = kind.spec_path().strip_suffix(".spec").expect("a template");
        *path.split('.').fold(&mut object, |at, step| &mut at[step]) = pod;
        object
    }
}
