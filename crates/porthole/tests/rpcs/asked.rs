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
    if !leads_away(request, scene) {
        return;
    }
    let here = Reference::parse(&scene.pulled).expect("a name");
    let Some(Value::Message(image)) = request.get_field_by_name_mut("image") else { return };
    let long =
        image.get_field_by_name("image").is_some_and(|name| name.as_str().is_some_and(|it| it.len() > 100));
    let other = format!("{}/{}", here.registry(), if long { "x" } else { "none/other" });
    image.set_field_by_name("image", Value::String(other));
}

fn leads_away(request: &DynamicMessage, scene: &Scene) -> bool {
    let image = request.get_field_by_name("image");
    let name = image.as_ref().and_then(|image| image.as_message()?.get_field_by_name("image"));
    let name = name.as_ref().and_then(|name| name.as_str()).unwrap_or_default();
    let here = Reference::parse(&scene.pulled).expect("a name");
    Reference::parse(name).is_ok_and(|name| name.registry() != here.registry())
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
        let pulls = call.name == "PullImage";
        if pulls {
            stay_here(&mut message, scene);
        }
        let good = message.encode_to_vec();
        let mut bytes = good.clone();
        if let (Some((place, by)), 1..) = (spoil, bytes.len()) {
            let length = bytes.len();
            bytes[usize::from(place) % length] ^= by;
        }
        match DynamicMessage::decode(method.input(), bytes.as_slice()) {
            Ok(spoilt) if pulls && leads_away(&spoilt, scene) => {
                Asked { bytes: good, message: Some(message), seed }
            }
            read => Asked { bytes, message: read.ok(), seed },
        }
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
