//! Which places a sentence talks about.

use crate::{Call, Effect, ModelPlace, Range, Reflect};

/// The slots that hold what is in a collection, by convention.
pub const CONTENTS: [&str; 3] = ["element", "key", "value"];

impl ModelPlace {
    /// What the place is a part of: `this` of `this.owner`.
    pub fn root(&self) -> &ModelPlace {
        match self {
            ModelPlace::Slot(of, _) | ModelPlace::Element(of) => of.root(),
            ModelPlace::Variable { object, .. } => object.root(),
            _ => self,
        }
    }

    /// The place and all that it is made of, the whole first.
    pub fn parts(&self) -> Vec<&ModelPlace> {
        let mut parts = vec![self];
        match self {
            ModelPlace::Slot(of, _) | ModelPlace::Element(of) => parts.extend(of.parts()),
            ModelPlace::Variable { object, selector } => {
                parts.extend(object.parts());
                parts.extend(selector.parts());
            }
            _ => {}
        }
        parts
    }

    /// Whether it needs to be known what the method returns.
    pub fn is_of_result(&self) -> bool {
        match self {
            ModelPlace::Result => true,
            ModelPlace::Slot(of, _) | ModelPlace::Element(of) => of.is_of_result(),
            ModelPlace::Variable { object, selector } => {
                object.is_of_result() || selector.is_of_result()
            }
            _ => false,
        }
    }
}

impl Call {
    /// All places that the call talks about.
    pub fn places(&self) -> Vec<&ModelPlace> {
        std::iter::once(&self.receiver).chain(&self.arguments).chain(&self.result).collect()
    }
}

impl Effect {
    /// All places that the sentence talks about.
    pub fn places(&self) -> Vec<&ModelPlace> {
        match self {
            Effect::Acquire { lock, .. } | Effect::Release { lock, .. } => vec![lock],
            Effect::Wait { on, lock, .. } => std::iter::once(on).chain(lock).collect(),
            Effect::Notify { on, .. } => vec![on],
            Effect::Send { channel, within, .. } | Effect::Receive { channel, within, .. } => {
                std::iter::once(channel).chain(within).collect()
            }
            Effect::Start { call, groups, after, .. } => {
                let mut places = call.places();
                places.extend(groups.iter().chain(after));
                places
            }
            Effect::Join { group: place, .. }
            | Effect::Serial(place)
            | Effect::Limited(place)
            | Effect::Return(place) => vec![place],
            Effect::Read { place, range, .. } | Effect::Write { place, range, .. } => {
                let range = range.iter().flat_map(Range::places);
                std::iter::once(place).chain(range).collect()
            }
            Effect::Call(call) | Effect::Later(call) => call.places(),
            Effect::Flow { from, to } | Effect::Copy { from, to } => vec![from, to],
            Effect::Reflect(reflect) => reflect.places(),
        }
    }
}

impl Reflect {
    fn places(&self) -> Vec<&ModelPlace> {
        match self {
            Reflect::Class { name, to } => vec![name, to],
            Reflect::Member { class, name, to, .. } => {
                std::iter::once(class).chain(name).chain([to]).collect()
            }
            Reflect::New { what, arguments, to } => {
                std::iter::once(what).chain(arguments).chain([to]).collect()
            }
            Reflect::Call { what, on, arguments, to } => {
                std::iter::once(what).chain(on).chain(arguments).chain([to]).collect()
            }
            Reflect::Proxy { interfaces, handler, to } => vec![interfaces, handler, to],
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{ModelPlace, parse};

    #[test]
    fn places_are_taken_apart() {
        let effect = parse("start arg0.run() as pool-task in this.executor, result").unwrap();
        let places = effect.places();
        let text: Vec<_> = places.iter().map(ToString::to_string).collect();
        assert_eq!(text, ["arg0", "this.executor", "result"]);
        assert_eq!(places[1].root(), &ModelPlace::This);
        assert!(places[2].is_of_result() && !places[1].is_of_result());
        let effect = parse("send arg0[this] when true").unwrap();
        let parts: Vec<_> = effect.places()[0].parts().iter().map(ToString::to_string).collect();
        assert_eq!(parts, ["arg0[this]", "arg0", "this"]);
    }
}
