//! A call of a library method: what was recorded of it, and the calls that a thread is in.

use std::sync::Arc;

use smallvec::SmallVec;
use unsnarl_events::{LockId, SiteId, ThreadId};
use unsnarl_models::{MethodModel, ModelPlace};
use unsnarl_recording::class_table::arguments;
use unsnarl_recording::format::{
    OPERAND_ELEMENT, OPERAND_LENGTH, OPERAND_RETURNED, OPERAND_THREAD,
};

use super::models::KnownCall;

/// How many calls may be open in a thread, including those that have failed without an event.
const MOST_OPEN: usize = 4096;
/// How many of them are searched for the one that calls a function.
const MOST_FAILED: usize = 8;

/// What an operand of a sentence stands for: an object by its id, or something that only models know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Value(pub(crate) u64);

impl Value {
    /// Ids of objects are smaller.
    const OF_MODELS: u64 = 1 << 63;

    pub(crate) fn of_models(number: usize) -> Self {
        Self(Self::OF_MODELS | number as u64)
    }

    pub(crate) fn is_object(self) -> bool {
        self.0 != 0 && self.0 < Self::OF_MODELS
    }
}

/// A call that has begun.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Its number in its thread.
    pub(crate) number: u32,
    pub(crate) site: SiteId,
    pub(crate) thread: ThreadId,
    /// Its model, while it is open.
    pub(crate) model: Option<Arc<MethodModel>>,
    pub(crate) receiver: Value,
    operands: Operands,
    arguments: Arguments,
    /// What it returned, when it has.
    pub(crate) result: Option<u64>,
    /// The lock that it has released to wait.
    pub(crate) waits_for: Option<LockId>,
    /// What each `start` among its sentences, by its index, has started.
    pub(crate) started: SmallVec<[(usize, Value); 1]>,
}

impl Call {
    /// The ids of the objects that an operand consists of; none if it is null or was not recorded.
    pub(crate) fn operand(&self, place: &ModelPlace) -> Option<u64> {
        let position = match place {
            ModelPlace::This => return Some(self.receiver.0).filter(|&id| id != 0),
            ModelPlace::Result => return self.result.filter(|&id| id != 0),
            ModelPlace::Thread => OPERAND_THREAD,
            place => self.position(place)?,
        };
        self.operands.iter().find(|operand| operand.0 == position).map(|operand| operand.1)
    }

    /// How many elements an argument has, if that was recorded.
    pub(crate) fn length(&self, place: &ModelPlace) -> Option<u64> {
        let position = self.position(place)? | OPERAND_LENGTH;
        self.operands.iter().find(|operand| operand.0 == position).map(|operand| operand.1)
    }

    /// The argument after another one.
    pub(crate) fn operand_after(&self, place: &ModelPlace) -> Option<u64> {
        let position = self.position(place)? + 1;
        self.operands.iter().find(|operand| operand.0 == position).map(|operand| operand.1)
    }

    /// The elements of an argument that were recorded.
    pub(crate) fn elements(&self, place: &ModelPlace) -> impl Iterator<Item = Value> {
        let position = self.position(place).map(|position| position | OPERAND_ELEMENT);
        let elements = self.operands.iter().filter(move |operand| Some(operand.0) == position);
        elements.map(|operand| Value(operand.1))
    }

    fn position(&self, place: &ModelPlace) -> Option<u64> {
        match place {
            ModelPlace::Argument(position) => Some(u64::from(*position)),
            ModelPlace::Last => self.arguments.count.checked_sub(1),
            _ => None,
        }
    }

    /// Whether an operand is a number, not the id of an object.
    pub(crate) fn is_number(&self, place: &ModelPlace) -> bool {
        self.has(self.arguments.numbers, place)
    }

    /// Whether an operand is a `long`: an offset in an object, not an index.
    pub(crate) fn is_offset(&self, place: &ModelPlace) -> bool {
        self.has(self.arguments.longs, place)
    }

    fn has(&self, bits: u64, place: &ModelPlace) -> bool {
        let position = self.position(place).and_then(|position| u32::try_from(position).ok());
        position.and_then(|position| bits.checked_shr(position)).is_some_and(|bits| bits & 1 != 0)
    }
}

/// The arguments of a call, as the descriptor of the method has them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arguments {
    count: u64,
    /// A bit for each of the first 64 that is a number, not an object, and for each that is a `long`.
    numbers: u64,
    longs: u64,
}

impl Arguments {
    pub(crate) fn of(descriptor: &[u8]) -> Self {
        let mut all = Self::default();
        for letter in arguments(descriptor) {
            let bit = 1u64.checked_shl(all.count as u32).unwrap_or(0);
            if !matches!(letter, b'L' | b'[') {
                all.numbers |= bit;
            }
            if letter == b'J' {
                all.longs |= bit;
            }
            all.count += 1;
        }
        all
    }
}

/// Operands by their positions.
type Operands = SmallVec<[(u64, u64); 2]>;

/// The calls that a thread is in.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadCalls {
    /// Those of the next call, or of the task that ends next.
    operands: Operands,
    /// How many calls have begun.
    count: u32,
    open: Vec<Call>,
    /// The tasks that it runs, one inside the other.
    pub(crate) tasks: Vec<Value>,
}

impl ThreadCalls {
    /// All values that the thread's calls and tasks are about.
    pub(crate) fn values(&self) -> impl Iterator<Item = Value> {
        let operands = self.operands.iter().chain(self.open.iter().flat_map(|call| &call.operands));
        let operands = operands.map(|operand| Value(operand.1));
        let receivers = self.open.iter().map(|call| call.receiver);
        let started = self.open.iter().flat_map(|call| &call.started).map(|started| started.1);
        operands.chain(receivers).chain(started).chain(self.tasks.iter().copied())
    }

    /// The number that its next call has.
    pub(crate) fn next_number(&self) -> u32 {
        self.count.wrapping_add(1).max(1)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.open.len() == MOST_OPEN
    }

    pub(crate) fn add_operand(&mut self, position: u64, value: u64) {
        self.operands.push((position, value));
    }

    /// What the task that ends has returned, if that was recorded.
    pub(crate) fn take_returned(&mut self) -> Option<Value> {
        let operands = std::mem::take(&mut self.operands);
        let returned = operands.iter().find(|operand| operand.0 == OPERAND_RETURNED);
        returned.map(|operand| Value(operand.1))
    }

    /// The next call, with the operands that were recorded. Its model is for whoever keeps it open.
    #[inline]
    pub(crate) fn next(
        &mut self,
        known: &KnownCall,
        receiver: u64,
        thread: ThreadId,
        site: SiteId,
    ) -> Call {
        self.count = self.next_number();
        Call {
            number: self.count,
            site,
            thread,
            model: None,
            receiver: Value(receiver),
            operands: std::mem::take(&mut self.operands),
            arguments: known.arguments,
            result: None,
            waits_for: None,
            started: SmallVec::new(),
        }
    }

    /// Keeps a call until it ends.
    #[inline]
    pub(crate) fn open(&mut self, call: Call) {
        // The outermost ones may have failed long ago, without an event.
        if self.is_full() {
            self.open.drain(..MOST_OPEN / 2);
        }
        self.open.push(call);
    }

    /// A call ends. Calls that began later and have not ended have failed.
    pub(crate) fn close(&mut self, number: u32) -> Option<Call> {
        let index = self.open.iter().rposition(|call| call.number == number)?;
        self.open.truncate(index + 1);
        self.open.pop()
    }

    /// The open calls that may call a function which begins or ends, the innermost first.
    pub(crate) fn innermost(&self) -> impl Iterator<Item = &Call> {
        self.open.iter().rev().take(MOST_FAILED)
    }

    /// The thread has left a task, and all tasks inside it. Whether it was in it.
    pub(crate) fn leave_task(&mut self, task: Value) -> bool {
        let Some(index) = self.tasks.iter().rposition(|&running| running == task) else {
            return false;
        };
        self.tasks.truncate(index);
        true
    }
}

#[cfg(test)]
impl Call {
    /// A call of a method without arguments that has returned.
    pub(crate) fn returned(receiver: Value, result: u64) -> Self {
        use unsnarl_entity::EntityId;

        let known = KnownCall { model: None, arguments: Arguments::default(), begins: false };
        let (thread, site) = (ThreadId::from_index(0), SiteId::from_index(0));
        let call = ThreadCalls::default().next(&known, receiver.0, thread, site);
        Self { result: Some(result), ..call }
    }
}
