//! The detector `happens-before` against Goldilocks [Elmas07, the algorithm], which knows no clocks.
//!
//! After [Wood08, algorithm 2.2]: an access has a set of the threads that know of it, and of the locks and
//! volatile variables through which others learn of it. The algorithm keeps the set of the last access alone and does
//! not tell reads from writes; here every access has its set, so that every racing event is found.

mod support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use support::{told, trace, variable_of};
use unsnarl_events::{ChannelId, Event, LockId, Operation, ThreadId, VariableId};

/// Who knows of an access, and through what others learn of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Member {
    Thread(ThreadId),
    Lock(LockId),
    /// A lock that was released by one who shared it: other sharers learn nothing from it.
    SharedLock(LockId),
    Volatile(ChannelId),
}

struct Access {
    variable: VariableId,
    is_write: bool,
    set: BTreeSet<Member>,
}

impl Access {
    fn on(&mut self, event: &Event) {
        use Operation::*;
        let own = Member::Thread(event.thread);
        match event.operation {
            Release(lock) | Wait(lock) => self.pass(own, Member::Lock(lock)),
            ReleaseShared(lock) => self.pass(own, Member::SharedLock(lock)),
            Acquire(lock) | Wake(lock) => {
                self.pass(Member::Lock(lock), own);
                self.pass(Member::SharedLock(lock), own);
            }
            AcquireShared(lock) => self.pass(Member::Lock(lock), own),
            Send(channel) => self.pass(own, Member::Volatile(channel)),
            Receive(channel) => self.pass(Member::Volatile(channel), own),
            Fork(child) => self.pass(own, Member::Thread(child)),
            Join(child) => self.pass(Member::Thread(child), own),
            _ => {}
        }
    }

    fn pass(&mut self, from: Member, to: Member) {
        if self.set.contains(&from) {
            self.set.insert(to);
        }
    }
}

fn goldilocks(events: &[Event]) -> Vec<usize> {
    let mut accesses: Vec<Access> = Vec::new();
    let mut racing = Vec::new();
    for (position, event) in events.iter().enumerate() {
        let Some((variable, is_write)) = variable_of(event) else {
            accesses.iter_mut().for_each(|access| access.on(event));
            continue;
        };
        let own = Member::Thread(event.thread);
        let races = |earlier: &Access| {
            earlier.variable == variable
                && (earlier.is_write || is_write)
                && !earlier.set.contains(&own)
        };
        if accesses.iter().any(races) {
            racing.push(position);
        }
        accesses.push(Access { variable, is_write, set: BTreeSet::from([own]) });
    }
    racing
}

proptest! {
    #![proptest_config(support::cases(3000))]

    #[test]
    fn goldilocks_and_clocks_tell_the_same_events(events in trace()) {
        prop_assert_eq!(told("happens-before", &events), goldilocks(&events));
    }
}
