//! `fixtures/callgraph`: who calls whom.
//!
//! `//~ calls NAMES`: exactly these methods of the program are called by that line, by itself, through
//! library code, as a class initializer or by reflection. `//~ later NAMES`: the same of calls that a
//! library makes later. `//~ unreachable` on the first line of a method: nothing calls it; every method
//! without it is reachable. `//~ component NAMES`: the method on that line and these call each other.

use std::collections::{BTreeMap, BTreeSet};

use libtest_mimic::Trial;
use unsnarl_classfile::flags;
use unsnarl_program::callgraph::EdgeKind;

use crate::fixture::{self, Analysed, Debts, Fixture};

/// Calls lead where they do.
pub(crate) fn trials() -> Vec<Trial> {
    fixture::trials("callgraph", Debts { misses: 5, false_: 8 }, |fixture, analysed| {
        let mut differences = fixture.compare(&["calls", "later"], false, &calls(analysed));
        differences.extend(fixture.compare(&["component"], false, &components(analysed)));
        differences.extend(reachability(fixture, analysed));
        differences
    })
}

fn calls(analysed: &Analysed<'_>) -> BTreeMap<(u16, String), BTreeSet<String>> {
    let mut found: BTreeMap<(u16, String), BTreeSet<String>> = BTreeMap::new();
    for edge in &analysed.graph.edges {
        let word = match edge.kind {
            EdgeKind::Start(_) => continue,
            EdgeKind::Later => "later",
            _ => "calls",
        };
        let Some(line) = analysed.line(edge).filter(|_| analysed.is_own(edge.caller)) else {
            continue;
        };
        let targets = analysed.targets(edge.callee);
        let names = found.entry((line, word.to_owned())).or_default();
        names.extend(targets.iter().map(|&target| analysed.short_name(target)));
    }
    found
}

fn components(analysed: &Analysed<'_>) -> BTreeMap<(u16, String), BTreeSet<String>> {
    let mut found = BTreeMap::new();
    for component in analysed.graph.components.iter().filter(|component| component.len() > 1) {
        let names: BTreeSet<String> =
            component.iter().map(|&method| analysed.short_name(method)).collect();
        for &method in component {
            if let Some(line) = analysed.first_line(method) {
                found.insert((line, "component".to_owned()), names.clone());
            }
        }
    }
    found
}

fn reachability(fixture: &Fixture, analysed: &mut Analysed<'_>) -> Vec<String> {
    let marked = fixture.lines("unreachable");
    let mut differences = Vec::new();
    let mut met = BTreeSet::new();
    for method in analysed.methods() {
        let Some(line) = analysed.first_line(method) else { continue };
        let name = analysed.short_name(method);
        let is_reachable = analysed.graph.is_reachable(method);
        let place = format!("{}.java:{line}: {name}", fixture.name);
        if fixture.is_missed(line) {
            if is_reachable {
                differences.push(format!("{place} is no longer a known miss"));
            }
        } else if marked.contains(&line) {
            met.insert(line);
            if is_reachable {
                differences.push(format!("{place} is reachable"));
            }
        } else if !is_reachable && !is_implicit(analysed, &name, method) {
            differences.push(format!("{place} is not reachable"));
        }
    }
    let lost = marked.difference(&met);
    differences.extend(lost.map(|line| format!("{}.java:{line}: no method", fixture.name)));
    differences
}

/// What compilers add without being asked need not be used.
fn is_implicit(analysed: &Analysed<'_>, name: &str, method: unsnarl_program::MethodId) -> bool {
    let data = &analysed.program.methods()[method];
    let is_synthetic = data.access & flags::SYNTHETIC != 0 && name != "lambda";
    let simple = name.rsplit('.').next().unwrap_or(name);
    is_synthetic
        || ["<init>", "values", "valueOf", "toString", "hashCode", "equals"].contains(&simple)
}
