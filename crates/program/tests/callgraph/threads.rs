//! `fixtures/threads`: every way to start a thread.
//!
//! `//~ start KIND NAMES` on the line that starts it: all starts that are found there, and a line
//! without expectation starts nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::fixture::{self, Debts};

#[test]
fn thread_starts_are_found_where_they_are() {
    let debts = fixture::check("threads", |fixture, analysed| {
        let mut found: BTreeMap<(u16, String), BTreeSet<String>> = BTreeMap::new();
        for (edge, kind) in analysed.graph.thread_starts() {
            let targets = analysed.targets(edge.callee);
            let Some(line) = analysed.line(edge) else { continue };
            if !analysed.is_own(edge.caller) {
                continue;
            }
            let names = found.entry((line, format!("start {}", kind.word()))).or_default();
            names.extend(targets.iter().map(|&target| analysed.short_name(target)));
        }
        found.retain(|_, names| !names.is_empty());
        fixture.compare(&["start"], true, &found)
    });
    assert_eq!(debts, Debts { misses: 0, false_: 6 }, "docs/models.md publishes the counts");
}
