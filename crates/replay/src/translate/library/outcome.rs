//! How calls end: what the later events of a thread say about it, and the outcomes that sentences of models depend on.

use unsnarl_models::Outcome;
use unsnarl_recording::chunks::{RawEvent, RawEvents};
use unsnarl_recording::format::Kind;

/// Whether it is known how a call ends: it has, or one around it has.
pub(crate) fn is_decided(number: u32, following: RawEvents<'_>) -> bool {
    let decides = |event: RawEvent| match event.kind {
        Kind::CallEnds | Kind::CallFails => event.site <= number,
        kind => kind == Kind::ThreadEnd,
    };
    { following }.any(decides)
}

/// Whether a call that has begun will have an outcome.
pub(crate) fn will_hold(
    number: u32,
    following: RawEvents<'_>,
) -> impl Fn(Option<&Outcome>) -> bool {
    move |when| {
        when.is_none() || ending(number, following).is_some_and(|result| holds(when, result))
    }
}

/// How a call ends: with what it returned, or with the id of the exception's `Class`.
#[derive(Clone, Copy)]
pub(crate) enum Ending {
    Returned(u64),
    Failed(u64),
}

/// What a call returned; none if it failed, or if that is not known yet.
pub(crate) fn ending(number: u32, following: RawEvents<'_>) -> Option<u64> {
    for event in following {
        match event.kind {
            Kind::CallEnds if event.site == number => return Some(event.words[1]),
            // A call around this one has ended.
            Kind::CallEnds if event.site < number => return None,
            Kind::CallFails if event.site <= number => return None,
            Kind::ThreadEnd => return None,
            _ => {}
        }
    }
    None
}

/// Whether a call that returned this has an outcome.
pub(crate) fn holds(when: Option<&Outcome>, result: u64) -> bool {
    let number = result.cast_signed();
    match when {
        None | Some(Outcome::Normal | Outcome::Finished) => true,
        Some(Outcome::True) => result == 1,
        Some(Outcome::False | Outcome::Null | Outcome::Zero) => result == 0,
        Some(Outcome::NonNull | Outcome::NonZero) => result != 0,
        Some(Outcome::Positive) => number > 0,
        Some(Outcome::Negative) => number < 0,
        Some(Outcome::Exception | Outcome::Throws(_)) => false,
    }
}
