//! Rule `stale-value`: block-local atomicity [Artho04 §3]. A value that was read from a shared variable under
//! a lock is used after the lock was given back, when another thread may have changed the variable.
//!
//! Artho, Havelund and Biere keep for each register whether its value is shared and in which monitor block it was read,
//! and report every use in another block. `--strict` does that, but for three things. A use in a block
//! nested in that of the read is none, for the lock of the read is still held: the formula of [Artho04 §3] has it, the
//! text of [Artho04 §4] does not. Returning a value is no use of it, but what the caller does with the value is. And a
//! variable counts only if another thread may write it while the value is held, so that what is read before the
//! start or after the end of the other threads does not [Artho04 §5.3].
//!
//! By default the monitor block of a value is that of the locks which keep the *others* from writing: an inner
//! lock that none of them takes makes nothing stale. And only uses that make a difference to others are
//! reported: the value, or what is computed from it, is stored in a shared variable, or decides whether a
//! shared variable is written that is guarded by the same lock.
//!
//! Methods are analysed in the contexts of the heap; calls are summaries of what they return, store, decide,
//! write and wait for. The benign patterns of [Artho04 §5.3, §5.4, §6.4] are reported with a reason that
//! lowers the confidence, as a note.
//!
//! **Guarantees**: the variable is shared, some other thread writes it under a lock that the reader
//! held, unordered with the read; the lock is given back on some way from the read to the use.
//! **Misses**: values on their way through fields and collections; values read without a lock (a data race);
//! locks of one abstract object are one lock, so that what is read under one account's lock and used under
//! another's is not stale while either is held; what goes through callbacks. **Reports wrongly** where no
//! way leads from read to use as the program goes, and where an old value is as good as a new one.

mod base;
mod branches;
mod flow;
mod reads;
mod report;
mod summary;
mod uses;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_program::heap::{EdgeKind, InstanceId};

use crate::wording::describe::Describe;
use crate::{Input, Output};
use flow::Flow;
use reads::Accesses;
use summary::{Stale, Summary, Taken};

/// The name in findings.
pub(crate) const NAME: &str = "static/block-local";
/// How often a method is gone through at most: recursion through more methods than this is cut.
const ROUNDS: usize = 6;

/// Finds stale values.
pub(crate) fn run(input: &Input<'_, '_>, output: &mut Output) {
    let describe = input.describe;
    let accesses = Accesses::new(describe, input.options);
    let (stale, taken) = analyse(describe, &accesses, input.options.strict);
    let before = output.findings.len();
    output.findings.extend(report::findings(describe, &accesses, stale, &taken));
    output.stats.push(("stale_values", (output.findings.len() - before) as u64));
}

/// Goes through all methods, callees before their callers, until nothing changes.
fn analyse(
    describe: &Describe<'_, '_>,
    accesses: &Accesses,
    is_strict: bool,
) -> (Vec<Stale>, Taken) {
    let heap = &describe.execution.heap;
    let order = callees_first(describe);
    let active: FxHashSet<InstanceId> = accesses.instances().collect();
    let callers = callers(describe, &order);
    let mut summaries: FxHashMap<InstanceId, Summary> = FxHashMap::default();
    let mut found: BTreeMap<InstanceId, Vec<Stale>> = BTreeMap::new();
    let mut taken = Taken::default();
    let mut open: BTreeSet<usize> =
        (0..order.len()).filter(|&at| active.contains(&order[at])).collect();
    let mut rounds: FxHashMap<InstanceId, usize> = FxHashMap::default();
    while let Some(at) = open.pop_first() {
        let instance = order[at];
        let round = rounds.entry(instance).or_default();
        *round += 1;
        let method = heap.instances[instance].method;
        let Some(body) = describe.program.lowered_body(method).filter(|_| *round <= ROUNDS) else {
            continue;
        };
        let flow = Flow { describe, accesses, summaries: &summaries, instance, method, body };
        let uses = uses::find(&flow, is_strict);
        taken.extend(uses.taken);
        found.insert(instance, uses.stale);
        let known = summaries.get(&instance);
        let is_new = known.map_or(!uses.summary.is_empty(), |known| *known != uses.summary);
        if is_new {
            summaries.insert(instance, uses.summary);
            open.extend(callers.get(&instance).into_iter().flatten());
        }
    }
    (found.into_values().flatten().collect(), taken)
}

/// The methods of the input, callees before their callers where there is no recursion.
fn callees_first(describe: &Describe<'_, '_>) -> Vec<InstanceId> {
    let heap = &describe.execution.heap;
    let is_input = |instance: InstanceId| {
        let method = heap.instances[instance].method;
        describe.is_input(describe.program.methods()[method].class)
    };
    let mut seen: FxHashSet<InstanceId> = FxHashSet::default();
    let mut order = Vec::new();
    for root in heap.instances.keys().filter(|&instance| is_input(instance)) {
        let mut open = vec![(root, false)];
        while let Some((instance, is_done)) = open.pop() {
            if is_done {
                order.push(instance);
            } else if seen.insert(instance) {
                open.push((instance, true));
                let callees = heap.calls_of(instance).iter();
                let callees = callees.filter(|call| call.kind == EdgeKind::Call);
                let callees = callees.map(|call| call.callee).filter(|&callee| is_input(callee));
                open.extend(callees.filter(|callee| !seen.contains(callee)).map(|c| (c, false)));
            }
        }
    }
    order
}

/// Who calls each method, by the place in the order.
fn callers(describe: &Describe<'_, '_>, order: &[InstanceId]) -> FxHashMap<InstanceId, Vec<usize>> {
    let mut callers: FxHashMap<InstanceId, Vec<usize>> = FxHashMap::default();
    for (at, &instance) in order.iter().enumerate() {
        for call in describe.execution.heap.calls_of(instance) {
            if call.kind == EdgeKind::Call {
                callers.entry(call.callee).or_default().push(at);
            }
        }
    }
    callers
}
