//! From where the method that a thread is in was called, as one small id, so that it can be kept with every
//! access: the calls of all threads are one tree. Without events of methods there is only its root.

use unsnarl_entity::{EntityId, SecondaryMap, UniqueMap, entity_id};
use unsnarl_trace::{Event, MethodId, Operation, SiteId, ThreadId};

entity_id! {
    /// A chain of calls.
    pub(crate) struct CallsId("calls");
}

impl CallsId {
    /// No call at all.
    pub(crate) fn none() -> Self {
        Self::from_index(0)
    }
}

/// The calls that threads are in.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// The innermost call and those around it; the first chain, of no call, is not in it.
    chains: UniqueMap<CallsId, Call>,
    /// What every thread has entered and not left, the innermost last.
    open: SecondaryMap<ThreadId, Vec<(MethodId, CallsId)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Call {
    at: SiteId,
    within: CallsId,
}

impl Calls {
    /// Takes in what an event enters or leaves.
    #[inline]
    pub(crate) fn on(&mut self, event: &Event) {
        match event.operation {
            Operation::Enter(method) => {
                let call = Call { at: event.site, within: self.of(event.thread) };
                let index = self.chains.intern(call).index() + 1;
                self.open[event.thread].push((method, CallsId::from_index(index)));
            }
            // With it goes what was entered in it and not left. An exit without an entry changes nothing.
            Operation::Exit(method) => {
                let open = &mut self.open[event.thread];
                if let Some(place) = open.iter().rposition(|entered| entered.0 == method) {
                    open.truncate(place);
                }
            }
            Operation::End => self.open[event.thread].clear(),
            _ => {}
        }
    }

    /// From where a thread is called now.
    #[inline]
    pub(crate) fn of(&self, thread: ThreadId) -> CallsId {
        self.open[thread].last().map_or_else(CallsId::none, |entered| entered.1)
    }

    /// The places of a chain of calls, the innermost first.
    pub(crate) fn sites(&self, calls: CallsId) -> impl Iterator<Item = SiteId> {
        let call =
            |calls: CallsId| Some(self.chains[CallsId::from_index(calls.index().checked_sub(1)?)]);
        let calls = std::iter::successors(call(calls), move |inner| call(inner.within));
        calls.map(|call| call.at)
    }
}
