//! A deadlock that happened: when the trace ends, threads wait for locks that they hold among themselves.
//!
//! [vonPraun04 §6.2] calls it mutual wait and looks for it before the program runs; here the program hangs in it. A
//! thread waits for a lock from its request on until it does anything else. The JDK tells such cycles of platform threads;
//! here virtual threads and the locks of `java.util.concurrent` are among them.
//!
//! Guarantees: every thread of a cycle had asked for a lock that the next one held, when the trace ended.
//!
//! Misses: threads that wait for anything other than locks, or for a lock with a time limit.

use rustc_hash::FxHashMap;
use unsnarl_entity::SecondaryMap;
use unsnarl_findings::{Evidence, Rule};
use unsnarl_trace::{Event, Filter, LockId, Operation, Tables, ThreadId};

use crate::detector::{Checked, Detector, DetectorEntry, EventKind, Needs, RacingEvent};
use crate::kept_locks::KeptLockId;
use crate::locksets::{Held, Mode};
use crate::races::Surroundings;
use crate::waiting_cycle::{self, Acquisition, Cycle};

/// The line in the table.
pub(crate) const ENTRY: DetectorEntry = DetectorEntry {
    name: "deadlock",
    rule: Rule::LockOrderCycle,
    summary: "threads that wait for each other's locks when the run ends",
    is_default: true,
    needs: Needs { events: &EventKind::PROGRESS, tolerates: &Filter::ALL, exact: false },
    make: |_| Box::new(Deadlock::default()),
};

const CYCLE: Cycle = Cycle {
    detector: "dynamic/deadlock",
    evidence: Evidence::Observed,
    verdict: "they wait for each other when the run ends",
};

#[derive(Default)]
struct Deadlock {
    surroundings: Surroundings,
    /// What each thread waits for.
    waiting: SecondaryMap<ThreadId, Option<Acquisition>>,
}

impl Detector for Deadlock {
    #[inline]
    fn on(&mut self, event: &Event, tables: &Tables) {
        match event.operation {
            // Told by a thread about others, or only if somebody else has asked for it.
            Operation::Forget(_)
            | Operation::ForgetElements(_)
            | Operation::Allocate(_)
            | Operation::Store(_) => {}
            Operation::ForgetChannel(_) => {}
            Operation::ForgetLock(_) | Operation::Swept => {
                let waiting = &mut self.waiting;
                self.surroundings.forget(event, tables, |kept| {
                    waiting.values_mut().flatten().for_each(|acquisition| acquisition.show(kept));
                });
            }
            Operation::Request(lock) => {
                self.waiting[event.thread] = Some(self.request(event, lock))
            }
            access if access.is_access() => self.waiting[event.thread] = None,
            _ => {
                self.waiting[event.thread] = None;
                self.surroundings.on(event);
            }
        }
    }

    fn takes_elements(&self) -> bool {
        true
    }

    fn looks_at_accesses(&self) -> bool {
        false
    }

    fn takes_dead(&self) -> bool {
        true
    }

    fn take_racing_events(&mut self) -> Vec<RacingEvent> {
        Vec::new()
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Checked {
        let holders = self.holders();
        let mut findings = Vec::new();
        let mut seen: SecondaryMap<ThreadId, bool> = SecondaryMap::new();
        for (thread, _) in self.waiting.iter() {
            if let Some(cycle) = self.cycle(thread, &holders, &mut seen) {
                findings.push(waiting_cycle::finding(&CYCLE, &cycle, &self.surroundings, tables));
            }
        }
        Checked { findings, ..Checked::default() }
    }
}

impl Deadlock {
    fn request(&mut self, event: &Event, lock: LockId) -> Acquisition {
        let Surroundings { locksets, calls, .. } = &mut self.surroundings;
        Acquisition {
            thread: event.thread,
            held: locksets.held(event.thread),
            acquired: Held { lock: locksets.known.of(lock), mode: Mode::Exclusive },
            site: event.site,
            calls: calls.of(event.thread),
        }
    }

    /// Who holds each lock that a thread waits for.
    fn holders(&self) -> FxHashMap<KeptLockId, Vec<ThreadId>> {
        let locksets = &self.surroundings.locksets;
        let wanted = self.waiting.iter().filter_map(|(_, step)| step.map(|it| it.acquired.lock));
        let mut holders: FxHashMap<KeptLockId, Vec<ThreadId>> =
            wanted.map(|lock| (lock, Vec::new())).collect();
        for (thread, _) in self.waiting.iter() {
            for held in locksets.held_by(thread).filter_map(|held| locksets.known.find(held)) {
                if let Some(holders) = holders.get_mut(&held) {
                    holders.push(thread);
                }
            }
        }
        holders
    }

    /// Goes from a thread to one that holds what it waits for, and on, until a thread comes again. Each thread is gone
    /// through once.
    fn cycle(
        &self,
        first: ThreadId,
        holders: &FxHashMap<KeptLockId, Vec<ThreadId>>,
        seen: &mut SecondaryMap<ThreadId, bool>,
    ) -> Option<Vec<Acquisition>> {
        let mut path: Vec<Acquisition> = Vec::new();
        let mut thread = first;
        loop {
            if let Some(start) = path.iter().position(|step| step.thread == thread) {
                return Some(path.split_off(start));
            }
            if std::mem::replace(&mut seen[thread], true) {
                return None;
            }
            let step = self.waiting[thread]?;
            path.push(step);
            let holders = holders.get(&step.acquired.lock)?;
            thread = *holders.iter().find(|&&other| other != thread)?;
        }
    }
}
