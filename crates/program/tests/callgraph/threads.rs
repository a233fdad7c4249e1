//! `fixtures/threads`: every way to start a thread.
//!
//! `//~ start KIND NAMES` on the line that starts it: all starts that are found there, and a line
//! without expectation starts nothing.

use std::collections::{BTreeMap, BTreeSet};

use libtest_mimic::Trial;

use crate::fixture::{self, Debts};

/// Thread starts are found where they are.
pub(crate) fn trials() -> Vec<Trial> {
    fixture::trials("threads", Debts { misses: 0, false_: 6 }, |fixture, analysed| {
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
    })
}
