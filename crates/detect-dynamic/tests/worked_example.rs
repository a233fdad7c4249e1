//! The worked example of `CONTRIBUTING.md`, which shows the part between the two marks, runs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use unsnarl_detect_dynamic::Options;
use unsnarl_entity::EntityId;
use unsnarl_trace::LockId;

use support::tables;

// [example]
// Variables that two threads write, at least one of them without holding any lock.
//
// A simple lock discipline, weaker than [Savage97 §2]: which locks are held does not matter.
//
// Guarantees: both writes happened, and one of their threads held no lock. Misses: reads, and two threads that
// hold different locks. Reports wrongly: every order that is not made by locks.

use unsnarl_detect_dynamic::{Checked, Detector, DetectorEntry, EventKind, Needs, RacingEvent};
use unsnarl_entity::SecondaryMap;
use unsnarl_findings::{Access, AccessKind, Evidence, Finding, Rule, Subject};
use unsnarl_trace::{Event, Operation, SiteId, Tables, ThreadId, VariableId};

/// The line in the table.
const ENTRY: DetectorEntry = DetectorEntry {
    name: "unlocked-write",
    rule: Rule::LocksetRace,
    summary: "variables that two threads write, one of them without a lock",
    is_default: false,
    needs: Needs { events: &[EventKind::Access, EventKind::Lock], tolerates: &[], exact: false },
    make: |_| Box::new(UnlockedWrite::default()),
};

#[derive(Default)]
struct UnlockedWrite {
    /// How many locks a thread holds, counting each as often as it was entered.
    held: SecondaryMap<ThreadId, u32>,
    /// The first write to a variable.
    first: SecondaryMap<VariableId, Option<Write>>,
    flagged: Vec<RacingEvent>,
    pairs: Vec<(VariableId, Write, Write)>,
}

#[derive(Clone, Copy)]
struct Write {
    thread: ThreadId,
    site: SiteId,
    is_locked: bool,
}

impl Detector for UnlockedWrite {
    fn on(&mut self, event: &Event, _: &Tables) {
        match event.operation {
            Operation::Acquire(_) => self.held[event.thread] += 1,
            Operation::Release(_) => {
                let held = &mut self.held[event.thread];
                *held = held.saturating_sub(1);
            }
            // The id may come again, for another variable.
            Operation::Forget(variable) => self.first[variable] = None,
            Operation::Write(variable) => {
                let is_locked = self.held[event.thread] > 0;
                let write = Write { thread: event.thread, site: event.site, is_locked };
                let first = *self.first[variable].get_or_insert(write);
                if first.thread != write.thread && !(first.is_locked && write.is_locked) {
                    self.flagged.push(RacingEvent { site: event.site, variable: variable.into() });
                    self.pairs.push((variable, first, write));
                }
            }
            _ => {}
        }
    }

    fn take_racing_events(&mut self) -> Vec<RacingEvent> {
        std::mem::take(&mut self.flagged)
    }

    fn finish(self: Box<Self>, tables: &Tables) -> Checked {
        let findings = self.pairs.iter().map(|&(variable, first, second)| {
            let access = |write: Write| {
                let event = RacingEvent { site: write.site, variable: variable.into() };
                let name = tables.text(tables.threads[write.thread].name).into_owned();
                Access::new(AccessKind::Write, vec![event.frame(tables)]).by(name)
            };
            let event = RacingEvent { site: second.site, variable: variable.into() };
            let variable = event.variable(tables);
            let message = format!("{variable} is written by two threads, by one without a lock");
            let subject = Subject::variable(variable);
            let accesses = vec![access(first), access(second)];
            let (rule, detector) = (ENTRY.rule, "dynamic/unlocked-write");
            Finding::new(rule, subject, Evidence::Predicted, detector, message, accesses)
        });
        Checked { findings: findings.collect(), ..Checked::default() }
    }
}
// [example]

/// Shows a trace to the detector: thread, operation.
fn findings(trace: &[(usize, Operation)]) -> Vec<Finding> {
    let tables = tables();
    let mut detector = (ENTRY.make)(&Options::default());
    for (site, &(thread, operation)) in trace.iter().enumerate() {
        let (thread, site) = (ThreadId::from_index(thread), SiteId::from_index(site));
        detector.on(&Event { thread, site, operation }, &tables);
    }
    let flagged = detector.take_racing_events();
    let outcome = detector.finish(&tables);
    assert_eq!(flagged.len(), outcome.findings.len());
    outcome.findings
}

#[test]
fn a_write_without_a_lock_is_reported() {
    let (lock, variable) = (LockId::from_index(0), VariableId::from_index(0));
    let locked = [
        (0, Operation::Acquire(lock)),
        (0, Operation::Write(variable)),
        (0, Operation::Release(lock)),
    ];
    let trace = [&locked[..], &[(1, Operation::Write(variable))]].concat();
    let found = findings(&trace);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message, "V0 is written by two threads, by one without a lock");
    assert_eq!(found[0].accesses.len(), 2);
}

#[test]
fn writes_with_locks_are_not_reported() {
    let (lock, variable) = (LockId::from_index(0), VariableId::from_index(0));
    let mut trace = Vec::new();
    for thread in 0..2 {
        trace.push((thread, Operation::Acquire(lock)));
        trace.push((thread, Operation::Write(variable)));
        trace.push((thread, Operation::Release(lock)));
    }
    assert!(findings(&trace).is_empty());
}

#[test]
fn contributing_shows_this_example() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../CONTRIBUTING.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mark = "// [example]\n";
    let example = include_str!("worked_example.rs").split(mark).nth(1).unwrap().trim();
    let shown = page.split("<!-- worked example -->\n```rust\n").nth(1).expect("the page has it");
    let shown = shown.split("\n```").next().unwrap();
    assert_eq!(shown, example, "copy the example of {} to CONTRIBUTING.md", file!());
}
