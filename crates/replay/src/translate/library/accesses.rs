//! Accesses that library methods make.

use unsnarl_events::{Operation, Problem, Variable};
use unsnarl_models::{ModelPlace, Range, RangeEnd};
use unsnarl_recording::records::Volatility;

use super::LibraryCalls;
use super::call::Call;
use super::operands::Target;
use crate::translate::emitter::{Emitter, Strided};

/// How many elements one call may access where each is an event, which takes twenty bytes.
const MOST_ELEMENTS: u64 = 1 << 20;
/// How many elements one event is about.
const MOST_TOGETHER: usize = 1 << 16;

impl LibraryCalls {
    /// An access to what is in an object of the library, as a whole.
    pub(super) fn contents_access(
        &mut self,
        place: &ModelPlace,
        write: bool,
        call: &Call,
        emit: &mut Emitter<'_>,
    ) {
        if matches!(place, ModelPlace::Variable { .. } | ModelPlace::Element(_)) {
            return;
        }
        for value in self.values(place, call) {
            let Some(class) = emit.resolver.descriptions.class_name_of(value.0) else { continue };
            let field = emit.resolver.declared_field(&class, b"contents", Volatility::Plain);
            let object = emit.resolver.accessed(value.0);
            let variable = emit.resolver.variable(Variable::Field(object, field));
            let operation = emit.resolver.access(variable, write, false);
            emit.push(operation);
        }
    }

    /// An access that the library makes. One to a variable that is volatile stays what it is.
    pub(super) fn library_access(
        &mut self,
        place: &ModelPlace,
        write: bool,
        call: &Call,
        emit: &mut Emitter<'_>,
    ) {
        let ModelPlace::Variable { object, selector } = place else { return };
        let Some(Target::Variable(variable, volatile)) =
            self.variable_of(object, selector, call, emit.resolver)
        else {
            return;
        };
        if let Variable::Element(array, first) = emit.resolver.tables.variables[variable] {
            emit.elements(array, Strided { first, distance: 1, more: 0 }, write);
        } else {
            let operation = emit.resolver.access(variable, write, volatile);
            emit.push(operation);
        }
    }
}

/// Accesses to elements of an array, one after another, or to all fields of an object.
pub(super) fn range_accesses(
    place: &ModelPlace,
    range: &Range,
    write: bool,
    call: &Call,
    emit: &mut Emitter<'_>,
) {
    let ModelPlace::Element(array) = place else {
        if let (Some(object), false, &Range::ALL) = (call.operand(place), write, range) {
            field_reads(object, emit);
        }
        return;
    };
    let Some((from, end)) = ends(array, range, call) else { return };
    let Some(array) = call.operand(array).map(|array| emit.resolver.accessed(array)) else {
        return;
    };
    let count = u64::from(end - from);
    if count > MOST_ELEMENTS && !emit.resolver.requested.keeps_elements {
        emit.problems.add(|| Problem {
            place: "the elements of an array".into(),
            expected: "not more than a million that one call accesses, for detectors that look at each; these are left out",
            found: count.to_string(),
        });
        return;
    }
    for first in (from..end).step_by(MOST_TOGETHER) {
        let more = (end - first - 1).min(MOST_TOGETHER as u32 - 1) as u16;
        emit.elements(array, Strided { first, distance: 1, more }, write);
    }
}

/// All fields of an object are read that are neither volatile nor final, as far as its classes are known.
fn field_reads(object: u64, emit: &mut Emitter<'_>) {
    let Some(class) = emit.resolver.descriptions.class_name_of(object) else { return };
    let fields: Vec<(Vec<u8>, Vec<u8>)> = emit
        .resolver
        .descriptions
        .classes
        .plain_fields(&class)
        .map(|(class, name)| (class.to_vec(), name.to_vec()))
        .collect();
    let object = emit.resolver.accessed(object);
    for (class, name) in fields {
        let field = emit.resolver.declared_field(&class, &name, Volatility::Plain);
        let variable = emit.resolver.variable(Variable::Field(object, field));
        emit.push(Operation::Read(variable));
    }
}

/// The first element of a range and the one after its last; none if something of it was not recorded, or it is not in the
/// array.
fn ends(array: &ModelPlace, range: &Range, call: &Call) -> Option<(u32, u32)> {
    let number =
        |place: &ModelPlace| call.operand(place).and_then(|number| u32::try_from(number).ok());
    let length = || call.length(array).and_then(|length| u32::try_from(length).ok());
    let from = match &range.from {
        Some(from) => number(from)?,
        None => 0,
    };
    let end = match &range.end {
        Some(RangeEnd::Count(count)) => from.checked_add(number(count)?)?,
        Some(RangeEnd::Before(end)) => number(end)?.min(length()?),
        None => length()?,
    };
    (from <= end).then_some((from, end))
}
