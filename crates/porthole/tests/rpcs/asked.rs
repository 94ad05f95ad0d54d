//! A request that was good once, and the codes that it may get now.

use images::Reference;
use prost::Message;
use protox::prost_reflect::{DynamicMessage, MethodDescriptor, ReflectMessage, Value};
use tonic::Code;

use super::calls::Call;
use super::change::{Tape, change};
use super::scene::Scene;

pub(crate) struct Asked {
    pub(crate) bytes: Vec<u8>,
    /// None if the bytes are no message any more.
    message: Option<DynamicMessage>,
    seed: DynamicMessage,
}

/// A test asks no other machine for an image.
fn stay_here(request: &mut DynamicMessage, scene: &Scene) {
    let Some(Value::Message(image)) = request.get_field_by_name_mut("image") else { return };
    let name = image
        .get_field_by_name("image")
        .and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default();
    let here = Reference::parse(&scene.pulled).expect("a name");
    if Reference::parse(&name).is_ok_and(|name| name.registry() != here.registry()) {
        let other = format!("{}/{}", here.registry(), if name.len() > 100 { "x" } else { "none/other" });
        image.set_field_by_name("image", Value::String(other));
    }
}

// === impl Asked ===

impl Asked {
    pub(crate) fn new(
        method: &MethodDescriptor,
        call: &Call,
        scene: &Scene,
        tape: &[u8],
        spoil: Option<(u8, u8)>,
    ) -> Asked {
        let seed = DynamicMessage::decode(method.input(), (call.seed)(scene).as_slice()).expect("a seed");
        let mut message = seed.clone();
        change(&mut message, &mut Tape(tape), &scene.words());
        if call.name == "PullImage" {
            stay_here(&mut message, scene);
        }
        let mut bytes = message.encode_to_vec();
        if let (Some((place, by)), 1..) = (spoil, bytes.len()) {
            let length = bytes.len();
            bytes[usize::from(place) % length] ^= by;
        }
        let message = DynamicMessage::decode(method.input(), bytes.as_slice()).ok();
        Asked { bytes, message, seed }
    }

    /// As a person would write it.
    pub(crate) fn shown(&self) -> String {
        self.message.as_ref().map_or_else(|| format!("{:?}", self.bytes), DynamicMessage::to_string)
    }

    /// The codes that it may get.
    pub(crate) fn right(&self, call: &Call, scene: &Scene) -> Vec<Code> {
        let Some(message) = &self.message else { return vec![Code::Internal] };
        if call.refusals == [Code::Unimplemented] {
            return call.refusals.to_vec();
        }
        if *message == self.seed {
            return vec![Code::Ok];
        }
        self.by_id(message, call, scene)
            .map_or_else(|| [&[Code::Ok], call.refusals].concat(), |code| vec![code])
    }

    /// If only whom it is about was changed, and that leaves no choice.
    fn by_id(&self, message: &DynamicMessage, call: &Call, scene: &Scene) -> Option<Code> {
        let (name, known) =
            [("container_id", vec![&scene.running, &scene.created]), ("pod_sandbox_id", vec![&scene.pod])]
                .into_iter()
                .find(|(name, _)| self.seed.descriptor().get_field_by_name(name).is_some())?;
        let mut otherwise = message.clone();
        otherwise.set_field_by_name(name, self.seed.get_field_by_name(name)?.into_owned());
        let id = message.get_field_by_name(name)?;
        let id = id.as_str().filter(|_| otherwise == self.seed)?;
        if id.is_empty() || id.len() > 253 || id.chars().any(char::is_control) {
            return Some(Code::InvalidArgument);
        }
        let found = known.iter().filter(|known| known.starts_with(id)).count();
        let missing = if call.refusals.contains(&Code::NotFound) { Code::NotFound } else { Code::Ok };
        (found == 0).then_some(missing)
    }
}
