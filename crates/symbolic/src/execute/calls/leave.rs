//! The end of a call: what the callee knows, in the names of the caller.

use std::sync::Arc;

use unsnarl_program::body::Value;
use unsnarl_program::heap::ObjectId;

use super::Names;
use crate::execute::memory::Left;
use crate::execute::state::{Fresh, Lock, State, Taken, has_all, unite};
use crate::execute::{Executor, Frame};
use crate::facts::path::{Path, Root};

impl Executor<'_, '_> {
    /// The state of the caller after the callee has returned.
    pub(super) fn leave(
        &mut self,
        frame: &Frame,
        left: Left,
        names: &Names,
        result: Option<Value>,
        before: &State,
    ) -> State {
        let mut after = before.clone();
        let exit = Arc::clone(&self.outcomes[left.outcome]);
        let inner = &exit.state;
        let effects = self.facts.may_effects.effects(left.effects);
        if after.collected.iter().any(|put| effects.may_start(put.1)) {
            after.collected.retain(|put| !effects.may_start(put.1));
        }
        after.unite_started(&effects.started);
        after.unite_sent(&effects.sent);
        if after.joined != inner.joined {
            after.joined = inner.joined.clone();
        }
        if !has_all(&after.joined_some, &inner.joined_some) {
            unite(&mut after.joined_some, &inner.joined_some);
        }
        // The callee may have started more of them.
        if !after.last_started.is_empty() {
            after.last_started.clear();
        }
        let outward: Vec<(Path, Path)> = {
            let of = |path: &Path| self.outward(frame, names, path).map(|to| (path.clone(), to));
            let fresh = inner.fresh.iter().map(|fresh| &fresh.path);
            let locks = inner.locks.iter().filter_map(|lock| lock.path.as_ref());
            let joined = inner.joined_paths.iter().map(|(path, _)| path);
            let conditional = exit.if_nonzero.iter().chain(&exit.if_zero).flatten();
            let received = inner.received.iter().chain(conditional);
            let received = received.filter_map(|(_, path)| path.as_ref());
            fresh.chain(locks).chain(joined).chain(received).filter_map(of).collect()
        };
        let outward = |path: &Path| {
            let found = outward.iter().find(|(from, _)| from == path);
            found.map(|(_, to)| to.clone())
        };
        for (path, thread) in &inner.joined_paths {
            if let Some(path) = outward(path) {
                let joined = (path, *thread);
                if let Err(at) = after.joined_paths.binary_search(&joined) {
                    after.joined_paths.insert(at, joined);
                }
            }
        }
        for (channel, path) in &inner.received {
            after.add_received((*channel, path.as_ref().and_then(outward)));
        }
        if let Some(result) = result {
            for (is_nonzero, received) in [(true, &exit.if_nonzero), (false, &exit.if_zero)] {
                for (channel, path) in received.iter().flatten() {
                    let received = (*channel, path.as_ref().and_then(outward));
                    if !after.received.contains(&received) {
                        after.received_if.push((result, is_nonzero, received.0, received.1));
                    }
                }
            }
            if !after.received_if.is_sorted_by(|one, other| one < other) {
                after.received_if.sort_unstable();
                after.received_if.dedup();
            }
        }
        // A callee for many knows what is fresh only if that is so for all callers; of the rest nobody
        // knows what became of it.
        for path in &names.carried {
            let is_still =
                inner.fresh.iter().any(|fresh| outward(&fresh.path).as_ref() == Some(path));
            if !is_still && let Some(fresh) = after.fresh(path) {
                let objects = Arc::clone(&self.sets[fresh.objects]);
                after.keep_fresh(|fresh| !fresh.path.begins_with(path));
                self.escape(&objects, &mut after);
            }
        }
        if left.is_merged {
            self.leave_merged(frame, names, inner, &outward, &mut after);
            return after;
        }
        for fresh in &inner.fresh {
            if let Some(path) = outward(&fresh.path) {
                self.hold(&self.sets[fresh.objects], fresh, &mut after);
                after.add_fresh(Fresh { path, ..fresh.clone() });
            }
        }
        leave_locks(&mut after, inner, &names.lock_numbers, &outward);
        if let (Some(holders), Some(result)) = (&exit.fresh_result, result) {
            self.make(frame, result, holders.clone(), &mut after);
        }
        after
    }

    /// What a callee for many has stored: into what is not fresh here, it escapes.
    fn leave_merged(
        &self,
        frame: &Frame,
        names: &Names,
        inner: &State,
        outward: &impl Fn(&Path) -> Option<Path>,
        after: &mut State,
    ) {
        for fresh in &inner.fresh {
            let path = outward(&fresh.path);
            if let Some(known) = path.and_then(|path| after.fresh(&path)) {
                let objects = known.objects;
                let fresh = Fresh { is_assumed: known.is_assumed, ..fresh.clone() };
                self.hold(&self.sets[objects], &fresh, after);
            }
        }
        for &value in names.arguments.iter().flatten() {
            if after.fresh(&self.strict_path(frame, value)).is_none() {
                let objects = self.facts.heap.points_to(frame.instance, value);
                let is_watched = |object: &ObjectId| {
                    objects.binary_search(object).is_ok() && !self.facts.sharing.is_private(*object)
                };
                after.keep_fresh(|fresh| !fresh.holders.iter().any(is_watched));
            }
        }
    }

    /// A path of the callee in the names of the caller.
    fn outward(&self, frame: &Frame, names: &Names, path: &Path) -> Option<Path> {
        match path.root {
            Root::Static(_) | Root::Class(_) => Some(path.clone()),
            Root::Outer(number) => {
                let root = *names.outer.get(usize::from(number))?;
                Some(Path { root, steps: path.steps.clone() })
            }
            Root::Parameter(number) => {
                let value = (*names.arguments.get(usize::from(number))?)?;
                path.rebase(&self.strict_path(frame, value))
            }
            Root::Value(_) => None,
        }
    }
}

/// Locks that the callee released or acquired for its caller.
fn leave_locks(
    after: &mut State,
    inner: &State,
    lock_numbers: &[u8],
    outward: &impl Fn(&Path) -> Option<Path>,
) {
    let is_held = |number: Option<u8>| {
        number == Some(u8::MAX) || inner.locks.iter().any(|inner| inner.inherited == number)
    };
    let mut lock_numbers = (0..after.locks.len()).map(|at| lock_numbers.get(at).copied());
    if !lock_numbers.clone().all(is_held) {
        after.locks.retain(|lock| {
            if !lock_numbers.next().is_some_and(is_held) {
                lock.count -= 1;
            }
            lock.count > 0
        });
    }
    for lock in inner.locks.iter().filter(|lock| lock.inherited.is_none()) {
        let path = lock.path.as_ref().and_then(outward);
        match after
            .locks
            .iter_mut()
            .find(|held| held.mode == lock.mode && held.path.is_some() && held.path == path)
        {
            Some(held) => held.count = held.count.saturating_add(lock.count),
            None => after.locks.push(Lock { path, taken: Taken::Now, ..lock.clone() }),
        }
    }
}
