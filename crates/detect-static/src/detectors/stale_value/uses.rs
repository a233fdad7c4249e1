//! What a method does with values that come from reads or from its callers.

use smallvec::SmallVec;
use unsnarl_entity::EntityId;
use unsnarl_program::body::{
    BlockId, InvokeKind, Operation, PureKind, Statement, StatementId, Value,
};
use unsnarl_symbolic::{Accessed, EventId};

use super::base::Base;
use super::branches::Decided;
use super::flow::{Flow, State, taints};
use super::reads::is_same_variable;
use super::summary::{Source, Stale, Summary, Taint, Taints, Taken, Use, Write};

/// What was found in a method.
#[derive(Default)]
pub(super) struct Found {
    pub(super) summary: Summary,
    pub(super) stale: Vec<Stale>,
    pub(super) taken: Taken,
}

/// A branch that depends on values of interest.
struct Branch {
    id: StatementId,
    values: SmallVec<[Value; 4]>,
    taints: Taints,
    decided: Decided,
}

/// Goes through a method.
pub(super) fn find(flow: &Flow<'_, '_, '_>, is_strict: bool) -> Found {
    let states = flow.states();
    let reached = || {
        let states = states.iter().map(Option::as_ref);
        flow.body.blocks.keys().zip(states).filter_map(|(block, state)| Some((block, state?)))
    };
    let branches = reached().filter_map(|(block, state)| branch(flow, block, state.clone()));
    let branches: Vec<Branch> = branches.collect();
    let mut search =
        Search { flow, is_strict, branches, writes: Vec::new(), found: Found::default() };
    for (block, state) in reached() {
        let mut state = state.clone();
        for (id, statement) in flow.body.block_statements(block) {
            search.look(block, id, statement, &state);
            flow.step(id, statement, &mut state);
        }
    }
    search.finish()
}

fn branch(flow: &Flow<'_, '_, '_>, block: BlockId, mut state: State) -> Option<Branch> {
    let last = StatementId::from_index(flow.body.blocks[block].end.index() - 1);
    let operation = &flow.body.statements[last].operation;
    if !matches!(operation, Operation::Branch { .. } | Operation::Switch { .. }) {
        return None;
    }
    for (id, statement) in flow.body.block_statements(block) {
        flow.step(id, statement, &mut state);
    }
    let values = operation.operands();
    let taints = taints(&state, values.iter().copied());
    (!taints.is_empty()).then(|| Branch {
        id: last,
        values,
        taints,
        decided: Decided::by(flow.body, block),
    })
}

struct Search<'s, 'f, 'd, 'm> {
    flow: &'s Flow<'f, 'd, 'm>,
    is_strict: bool,
    branches: Vec<Branch>,
    writes: Vec<(BlockId, Write)>,
    found: Found,
}

impl Search<'_, '_, '_, '_> {
    fn look(&mut self, block: BlockId, id: StatementId, statement: &Statement, state: &State) {
        let flow = self.flow;
        let operation = &statement.operation;
        for &event in flow.accesses.writes(flow.instance, id) {
            self.note_taken(id, event, state);
            let base = flow.base(operation);
            let write = Write { event, base, checked: self.checked(block, state), depth: 0 };
            for taint in taints(state, stored(operation)) {
                self.note(taint, Use::Stored(write.clone()));
            }
            self.writes.push((block, write));
        }
        match operation {
            Operation::Invoke { arguments, .. } => {
                self.look_into(block, id, operation, arguments, state);
                for lock in flow.waits(id) {
                    self.found.summary.add_wait(&lock);
                }
            }
            Operation::Return(Some(value)) => {
                let ended = flow.describe.execution.ended_by_return(flow.instance);
                let returned =
                    flow.released(&taints(state, [*value]), (flow.method, id), |guard| {
                        ended.iter().any(|lock| lock.may_be(guard))
                    });
                self.found.summary.add_returned(&returned);
            }
            _ => {}
        }
        if self.is_strict && !is_copy(operation) {
            let place = (flow.method, id);
            let used = Use::Any { place, is_shown: self.is_shown(id, statement) };
            for taint in taints(state, operation.operands()) {
                if matches!(taint.source, Source::Read(_)) {
                    self.note(taint, used.clone());
                }
            }
        }
    }

    /// What callees do with arguments, and what they write.
    fn look_into(
        &mut self,
        block: BlockId,
        id: StatementId,
        operation: &Operation,
        arguments: &[Value],
        state: &State,
    ) {
        let flow = self.flow;
        for (_, summary) in flow.callees(id) {
            let checked = self.checked(block, state);
            let here = |write: &Write| {
                let mut write = write.clone();
                write.base = flow.outward(write.base.as_ref(), operation);
                write.checked.extend(checked.iter().copied());
                write
            };
            for write in &summary.writes {
                self.writes.push((block, here(write)));
            }
            for (parameter, used) in &summary.uses {
                let Some(&argument) = arguments.get(usize::from(*parameter)) else { continue };
                let used = match used {
                    Use::Stored(write) => Use::Stored(here(write)),
                    Use::Decides { branch, is_loop, write } => {
                        Use::Decides { branch: *branch, is_loop: *is_loop, write: here(write) }
                    }
                    Use::Any { .. } => used.clone(),
                };
                for taint in taints(state, [argument]) {
                    self.note(taint, used.clone());
                }
            }
        }
    }

    /// The variables that were read again to decide about a block, and are still locked.
    fn checked(&self, block: BlockId, state: &State) -> SmallVec<[Accessed; 1]> {
        let mut checked = SmallVec::new();
        for branch in self.branches.iter().filter(|branch| branch.decided.leads_to(block)) {
            for taint in taints(state, branch.values.iter().copied()) {
                if let (Source::Read(read), None) = (taint.source, taint.release) {
                    let accessed = self.flow.event(read).accessed;
                    if !checked.contains(&accessed) {
                        checked.push(accessed);
                    }
                }
            }
        }
        checked
    }

    /// A variable is written: who has read it in the same scope has taken the value away.
    fn note_taken(&mut self, id: StatementId, write: EventId, state: &State) {
        let flow = self.flow;
        let current = state.values().flatten().filter(|taint| taint.released == 0);
        let read = current.filter_map(|taint| match taint.source {
            Source::Read(read) => Some(read),
            Source::Parameter(_) => None,
        });
        let written = flow.event(write);
        for read in read.chain(flow.accesses.read(flow.instance, id)) {
            if is_same_variable(flow.event(read), written) {
                self.found.taken.insert((read, write));
            }
        }
    }

    /// Whether a value only becomes part of a text, or is handed to a library that returns nothing.
    fn is_shown(&self, id: StatementId, statement: &Statement) -> bool {
        match &statement.operation {
            Operation::Pure { kind, .. } => *kind == PureKind::Concatenate,
            Operation::Invoke { .. } => {
                statement.result.is_none() && self.flow.callees(id).next().is_none()
            }
            _ => false,
        }
    }

    fn note(&mut self, taint: Taint, used: Use) {
        let flow = self.flow;
        let (read, release) = match (taint.source, taint.release) {
            (Source::Parameter(number), _) => return self.found.summary.add_use(number, used),
            (Source::Read(_), None) => return,
            (Source::Read(read), Some(release)) => (read, release),
        };
        let is_about_it = |write: &Write| {
            is_same_variable(flow.event(read), flow.event(write.event))
                || flow.accesses.is_guarded_alike(flow.describe, read, write.event)
        };
        let is_noticed = match &used {
            Use::Stored(write) => !self.is_under_construction(write),
            Use::Decides { write, .. } => !self.is_under_construction(write) && is_about_it(write),
            Use::Any { .. } => true,
        };
        if is_noticed {
            let (method, base) = (flow.method, taint.base);
            self.found.stale.push(Stale { method, read, base, release, used });
        }
    }

    /// Whether a constructor writes to what it makes.
    fn is_under_construction(&self, write: &Write) -> bool {
        let program = self.flow.describe.program;
        program.methods()[self.flow.method].name == program.names.known.init
            && write.base.as_ref().is_some_and(Base::is_own)
    }

    fn finish(mut self) -> Found {
        let branches = std::mem::take(&mut self.branches);
        let writes = std::mem::take(&mut self.writes);
        for branch in &branches {
            let place = (self.flow.method, branch.id);
            for (block, write) in &writes {
                if !branch.decided.contains(*block) {
                    continue;
                }
                let is_loop = branch.decided.loops(*block);
                let used = Use::Decides { branch: place, is_loop, write: write.clone() };
                for taint in &branch.taints {
                    self.note(taint.clone(), used.clone());
                }
            }
        }
        for (_, write) in &writes {
            self.found.summary.add_write(write);
        }
        self.found
    }
}

/// The values that an operation stores, or hands to a library that stores something.
fn stored(operation: &Operation) -> SmallVec<[Value; 4]> {
    match operation {
        Operation::PutField { value, .. }
        | Operation::PutStatic { value, .. }
        | Operation::ArrayStore { value, .. } => SmallVec::from_slice(&[*value]),
        Operation::Invoke { kind, arguments, .. } => {
            let receivers = usize::from(*kind != InvokeKind::Static);
            arguments.iter().skip(receivers).copied().collect()
        }
        _ => SmallVec::new(),
    }
}

/// Whether an operation hands a value on as it is: that is no use.
fn is_copy(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Phi(_)
            | Operation::Cast { .. }
            | Operation::Return(_)
            | Operation::MonitorExit(_)
    )
}
