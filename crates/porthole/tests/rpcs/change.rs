//! Good messages made strange, field by field, by their description: what comes out is a message still, and deep enough
//! to get past the first question that is asked of it.

use protox::prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, ReflectMessage, Value};

/// What decides: random bytes, and nothing more to decide once they are used up. A shorter one changes less.
#[derive(Debug)]
pub(crate) struct Tape<'b>(pub(crate) &'b [u8]);

/// Limits of what is usual and of what fits.
const NUMBERS: [i64; 14] =
    [0, 1, -1, 2, 3, 100, 1000, 65_536, 1 << 20, i32::MAX as i64, 1 << 32, 1 << 40, i64::MAX, i64::MIN];

/// A list that is longer than anybody means.
const MANY: usize = 300;

/// Changes fields until the tape is at its end.
pub(crate) fn change(message: &mut DynamicMessage, tape: &mut Tape<'_>, words: &[String]) {
    while !tape.0.is_empty() {
        one(message, tape, words);
    }
}

fn one(message: &mut DynamicMessage, tape: &mut Tape<'_>, words: &[String]) {
    let fields: Vec<FieldDescriptor> = message.descriptor().fields().collect();
    let Some(field) = tape.pick(&fields) else {
        // A message without fields is as strange as it can be.
        tape.0 = &[];
        return;
    };
    if tape.below(6) == 5 {
        return message.clear_field(field);
    }
    match message.get_field_mut(field) {
        Value::List(list) => lengthen(list, &field.kind(), tape, words),
        Value::Map(map) => {
            map.insert(MapKey::String(tape.word(words)), Value::String(tape.word(words)));
        }
        // One that was not there is now, and has one field.
        Value::Message(inner) => one(inner, tape, words),
        plain => *plain = value(&field.kind(), tape, words),
    }
}

fn lengthen(list: &mut Vec<Value>, kind: &Kind, tape: &mut Tape<'_>, words: &[String]) {
    let new = value(kind, tape, words);
    match (tape.below(8), list.len()) {
        (0, _) => list.resize(list.len() + MANY, new),
        (1..=3, length @ 1..) => list[tape.below(length)] = new,
        _ => list.push(new),
    }
}

fn value(kind: &Kind, tape: &mut Tape<'_>, words: &[String]) -> Value {
    let number = |tape: &mut Tape<'_>| *tape.pick(&NUMBERS).unwrap_or(&0);
    let small = |tape: &mut Tape<'_>| i32::try_from(number(tape)).unwrap_or(i32::MIN);
    match kind {
        Kind::Bool => Value::Bool(tape.below(2) == 1),
        Kind::String => Value::String(tape.word(words)),
        Kind::Bytes => Value::Bytes(tape.word(words).into_bytes().into()),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(small(tape)),
        Kind::Uint32 | Kind::Fixed32 => Value::U32(small(tape).cast_unsigned()),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(number(tape)),
        Kind::Uint64 | Kind::Fixed64 => Value::U64(number(tape).cast_unsigned()),
        Kind::Enum(_) => Value::EnumNumber(small(tape)),
        Kind::Message(inner) => {
            let mut message = DynamicMessage::new(inner.clone());
            (0..2).for_each(|_| one(&mut message, tape, words));
            Value::Message(message)
        }
        Kind::Float | Kind::Double => unreachable!("CRI asks for no fractions"),
    }
}

// === impl Tape ===

impl Tape<'_> {
    fn below(&mut self, bound: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first) % bound
    }

    fn pick<'t, T>(&mut self, all: &'t [T]) -> Option<&'t T> {
        if all.is_empty() { None } else { all.get(self.below(all.len())) }
    }

    fn word(&mut self, words: &[String]) -> String {
        self.pick(words).cloned().unwrap_or_default()
    }
}
