//! Which methods threads are in, and from where these were called.
//!
//! The event of entering a method names the last site of the thread that could call. That is the caller,
//! unless a library called back more than once: then it is where the caller called last. A method may be left
//! without an event, such as a constructor that throws: the next event in the code of a caller shows it. What
//! this cannot see is a constructor that fails and is caught by the same constructor further up.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_events::{MethodId, Operation, Site, SiteId};

use super::emitter::Emitter;
use super::ids::known_sites;

/// The methods that threads have entered and not left.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    /// By the number of the thread, the innermost last.
    open: FxHashMap<u64, Vec<OpenMethod>>,
    /// All methods that report when they are entered.
    entered: FxHashSet<MethodId>,
    without_line: FxHashMap<MethodId, SiteId>,
}

#[derive(Debug)]
struct OpenMethod {
    method: MethodId,
    /// Where it has called last, as far as that is known.
    calls_at: Option<SiteId>,
}

impl Stacks {
    /// Whether no thread is in a method that reports when it is entered.
    pub(super) fn are_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The thread enters the method of the site, and could last call at `caller`, 0 if that is over.
    pub(super) fn enter(&mut self, number: u64, caller: u64, emit: &mut Emitter<'_>) {
        let method = emit.resolver.method(emit.site);
        let unknown = emit.resolver.site(0);
        let caller = u32::try_from(caller).ok().filter(|&caller| caller != 0);
        let caller = caller.map(|caller| emit.resolver.site(caller));
        if let Some(caller) = caller {
            self.leave_what_was_left(number, caller, emit);
        }
        let innermost = self.innermost(number);
        let caller = caller.filter(|&caller| innermost == Some(emit.resolver.method(caller)));
        let innermost = self.open.entry(number).or_default().last_mut();
        emit.site = match innermost {
            None => unknown,
            Some(innermost) => {
                innermost.calls_at = caller.or(innermost.calls_at);
                match (innermost.calls_at, innermost.method) {
                    (Some(site), _) => site,
                    (None, method) => self.without_line(method, emit),
                }
            }
        };
        self.open.entry(number).or_default().push(OpenMethod { method, calls_at: None });
        self.entered.insert(method);
        emit.push(Operation::Enter(method));
    }

    /// The thread leaves the method of the site, and all that it called.
    pub(super) fn exit(&mut self, number: u64, emit: &mut Emitter<'_>) {
        let method = emit.resolver.method(emit.site);
        if self.innermost(number) == Some(method) {
            self.open.get_mut(&number).and_then(Vec::pop);
            emit.push(Operation::Exit(method));
        }
    }

    /// The thread is in the method of a site: what that called was left, with or without an event.
    pub(super) fn leave_what_was_left(
        &mut self,
        number: u64,
        site: SiteId,
        emit: &mut Emitter<'_>,
    ) {
        if self.are_empty() {
            return;
        }
        let method = emit.resolver.method(site);
        let Some(open) = self.open.get_mut(&number) else { return };
        if open.last().is_none_or(|innermost| innermost.method == method)
            || !self.entered.contains(&method)
        {
            return;
        }
        if let Some(position) = open.iter().rposition(|open| open.method == method) {
            for left in open.drain(position + 1..).rev() {
                emit.push(Operation::Exit(left.method));
            }
        }
    }

    /// The thread has ended.
    pub(super) fn forget_thread(&mut self, number: u64) {
        self.open.remove(&number);
    }

    fn innermost(&self, number: u64) -> Option<MethodId> {
        self.open.get(&number)?.last().map(|innermost| innermost.method)
    }

    fn without_line(&mut self, method: MethodId, emit: &mut Emitter<'_>) -> SiteId {
        let sites = known_sites(&mut emit.resolver.tables.sites);
        let new = || sites.push(Site { method, line: None });
        *self.without_line.entry(method).or_insert_with(new)
    }
}
