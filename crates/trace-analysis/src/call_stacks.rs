//! From where the method that a thread is in was called, as one small id, so that it can be kept with every
//! access: the calls of all threads are one tree. Without events of methods there is only its root.

use unsnarl_entity::{EntityId, SecondaryMap, UniqueMap, entity_id};
use unsnarl_events::{Event, MethodId, Operation, SiteId, ThreadId};

entity_id! {
    /// A chain of calls.
    pub struct CallStackId("calls");
}

impl CallStackId {
    /// No call at all.
    pub fn none() -> Self {
        Self::from_index(0)
    }
}

/// The calls that threads are in.
#[derive(Debug, Default)]
pub struct CallStacks {
    /// The innermost call and those around it; the first chain, of no call, is not in it.
    chains: UniqueMap<CallStackId, Call>,
    /// What every thread has entered and not left, the innermost last.
    open: SecondaryMap<ThreadId, Vec<(MethodId, CallStackId)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Call {
    at: SiteId,
    within: CallStackId,
}

impl CallStacks {
    /// Takes in what an event enters or leaves.
    #[inline]
    pub fn on(&mut self, event: &Event) {
        match event.operation {
            Operation::Enter(method) => {
                let call = Call { at: event.site, within: self.of(event.thread) };
                let index = self.chains.intern(call).index() + 1;
                self.open[event.thread].push((method, CallStackId::from_index(index)));
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
    pub fn of(&self, thread: ThreadId) -> CallStackId {
        self.open[thread].last().map_or_else(CallStackId::none, |entered| entered.1)
    }

    /// The places of a chain of calls, the innermost first.
    pub fn sites(&self, calls: CallStackId) -> impl Iterator<Item = SiteId> {
        let call = |calls: CallStackId| {
            Some(self.chains[CallStackId::from_index(calls.index().checked_sub(1)?)])
        };
        let calls = std::iter::successors(call(calls), move |inner| call(inner.within));
        calls.map(|call| call.at)
    }
}
