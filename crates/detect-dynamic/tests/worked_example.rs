//! The worked example of `CONTRIBUTING.md`, which shows the part between the two marks, runs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use unsnarl_entity::EntityId;
use unsnarl_events::LockId;
use unsnarl_trace_analysis::Options;

use support::tables;

// [example]
// Variables that two threads write, at least one of them without holding any lock.
//
// A simple lock discipline, weaker than [Savage97 §2]: which locks are held does not matter.
//
// Guarantees: both writes happened, and one of their threads held no lock. Misses: reads, and two threads that
// hold different locks. Reports wrongly: every order that is not made by locks.

use unsnarl_entity::SecondaryMap;
use unsnarl_events::{
    Event, EventKind, EventKinds, Filters, Operation, SiteId, Tables, ThreadId, VariableId,
};
use unsnarl_findings::{Access, AccessKind, Evidence, Finding, Rule, Subject};
use unsnarl_trace_analysis::describe;
use unsnarl_trace_analysis::{Analysis, AnalysisEntry, Flagged, Needs, Outcome};

/// The line in the table.
const ENTRY: AnalysisEntry = AnalysisEntry {
    name: "unlocked-write",
    rule: Rule::LocksetRace,
    summary: "variables that two threads write, one of them without a lock",
    is_default: false,
    needs: |_| NEEDS,
    make: |_| Box::new(UnlockedWrite::default()),
};

const NEEDS: Needs = Needs {
    events: EventKinds::of(&[EventKind::Access, EventKind::Lock]),
    tolerates: Filters::NONE,
    exact: false,
    array_ranges: false,
    every_access: true,
    handles_retirement: false,
};

#[derive(Default)]
struct UnlockedWrite {
    /// How many locks a thread holds, counting each as often as it was entered.
    held: SecondaryMap<ThreadId, u32>,
    /// The first write to a variable.
    first: SecondaryMap<VariableId, Option<Write>>,
    findings: Vec<Finding>,
}

#[derive(Clone, Copy)]
struct Write {
    thread: ThreadId,
    site: SiteId,
    is_locked: bool,
}

impl Analysis for UnlockedWrite {
    fn on_batch(&mut self, events: &[Event], tables: &Tables, flagged: &mut Vec<Flagged>) {
        for &Event { thread, site, operation } in events {
            match operation {
                Operation::Acquire(_) => self.held[thread] += 1,
                Operation::Release(_) => self.held[thread] = self.held[thread].saturating_sub(1),
                // The id may come again, for another variable.
                Operation::Forget(variable) => self.first[variable] = None,
                Operation::Write(variable) => {
                    let write = Write { thread, site, is_locked: self.held[thread] > 0 };
                    let first = *self.first[variable].get_or_insert(write);
                    if first.thread != thread && !(first.is_locked && write.is_locked) {
                        let event = Flagged { site, variable: variable.into() };
                        self.findings.push(finding(event, [first, write], tables));
                        flagged.push(event);
                    }
                }
                _ => {}
            }
        }
    }

    fn finish(self: Box<Self>, _: &Tables) -> Outcome {
        Outcome { findings: self.findings, ..Outcome::default() }
    }
}

fn finding(event: Flagged, writes: [Write; 2], tables: &Tables) -> Finding {
    let variable = event.variable(tables);
    let message = format!("{variable} is written by two threads, by one without a lock");
    let accesses = writes.map(|write| {
        let stack = vec![describe::frame(write.site, tables)];
        Access::new(AccessKind::Write, stack).by(describe::thread(write.thread, tables))
    });
    let (subject, detector) = (Subject::variable(variable), "dynamic/unlocked-write");
    Finding::new(ENTRY.rule, subject, Evidence::Predicted, detector, message, accesses.to_vec())
}
// [example]

/// Shows a trace to the detector: thread, operation.
fn findings(trace: &[(usize, Operation)]) -> Vec<Finding> {
    let tables = tables();
    let mut detector = (ENTRY.make)(&Options::default());
    let mut flagged = Vec::new();
    for (site, &(thread, operation)) in trace.iter().enumerate() {
        let (thread, site) = (ThreadId::from_index(thread), SiteId::from_index(site));
        detector.on_batch(&[Event { thread, site, operation }], &tables, &mut flagged);
    }
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
