//! Is a body a faithful translation of its bytecode? An answer that does not know how the SSA form was
//! built.
//!
//! For every place in the code it computes, for each local variable and each place on the operand
//! stack, the set of SSA values that it certainly equals: the greatest solution of a data-flow problem
//! in which a join keeps the values that arrive on all edges, and adds a phi if its inputs are among
//! what arrives on its edges. Whenever an instruction takes operands, those of its statement must be in
//! the sets. An exception may leave at any instruction that can throw, with the variables as they are
//! there. Every reachable instruction must have its statement, once, and no statement may be left over.
//!
//! Misses: methods with subroutines, where blocks have several copies.

use smallvec::SmallVec;
use unsnarl_classfile::read::{ClassFile, Code};
use unsnarl_classfile::{Instruction, Opcode, Pc};
use unsnarl_entity::EntityId;
use unsnarl_program::body::{BlockId, Body, Edge, Operation, Statement, Value};
use unsnarl_program::names::Names;

/// SSA values that are equal to a variable.
pub(crate) type Equal = SmallVec<[Value; 2]>;

/// The variables at one place in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) locals: Vec<Equal>,
    /// The operand stack; whether a value takes two words.
    pub(crate) stack: Vec<(Equal, bool)>,
}

pub(crate) struct Validator<'v> {
    pub(crate) class: &'v ClassFile<'v>,
    pub(crate) names: &'v Names,
    pub(crate) body: &'v Body,
    code: &'v Code<'v>,
    instructions: &'v [(Pc, Instruction<Pc>)],
    /// The number of the instruction at an offset, if one begins there.
    index_at: Vec<Option<usize>>,
    /// Whether an instruction is reached by a jump or from the one in front of it.
    entered: Vec<bool>,
    /// The first instruction of each block, once a way to it is known.
    starts: Vec<Option<Pc>>,
    /// What arrives on each edge, in the order of the predecessors.
    arriving: Vec<Vec<Option<State>>>,
    dirty: Vec<bool>,
    /// In which block an instruction is.
    covered: Vec<Option<BlockId>>,
}

/// A block while its instructions are run.
pub(crate) struct Run<'v> {
    pub(crate) pc: Pc,
    pub(crate) state: State,
    statements: std::vec::IntoIter<&'v Statement>,
    /// Values that the block defines and that arrive from its last round in a loop.
    old: Vec<Value>,
    /// The variables at all instructions that can throw.
    thrown: Option<Vec<Equal>>,
}

/// Checks a body against its code; the error says where they part.
pub(crate) fn validate(
    class: &ClassFile<'_>,
    code: &Code<'_>,
    body: &Body,
    names: &Names,
) -> Result<(), String> {
    let instructions: Vec<_> = code.instructions().map(|i| i.expect("readable")).collect();
    let length = usize::from(code.length());
    let mut entered = vec![false; length + 1];
    let mut index_at = vec![None; length + 1];
    for (index, (pc, instruction)) in instructions.iter().enumerate() {
        index_at[usize::from(pc.0)] = Some(index);
        instruction.targets().for_each(|target| entered[usize::from(target.0)] = true);
        let next = instructions.get(index + 1).map_or(length, |(pc, _)| usize::from(pc.0));
        entered[next] |= !instruction.ends_flow();
    }
    let arriving = body.blocks.values().map(|block| vec![None; block.predecessors.len()]).collect();
    let mut validator = Validator {
        class,
        names,
        body,
        code,
        covered: vec![None; instructions.len()],
        instructions: &instructions,
        index_at,
        entered,
        starts: vec![None; body.blocks.len()],
        arriving,
        dirty: vec![false; body.blocks.len()],
    };
    validator.starts[0] = Some(Pc(0));
    validator.dirty[0] = true;
    while let Some(block) = validator.dirty.iter().position(|&dirty| dirty) {
        validator.dirty[block] = false;
        let block = BlockId::from_index(block);
        validator.block(block).map_err(|problem| format!("{block}: {problem}"))?;
    }
    validator.check_coverage()
}

impl<'v> Validator<'v> {
    fn block(&mut self, block: BlockId) -> Result<(), String> {
        let body = self.body;
        let start = self.starts[block.index()].expect("only blocks that were reached are dirty");
        let statements: Vec<&Statement> = body
            .block_statements(block)
            .map(|(_, statement)| statement)
            .filter(|statement| !matches!(statement.operation, Operation::Phi(_)))
            .collect();
        let Some(&last) = statements.last() else { return Err("no statement".to_owned()) };
        let state = self.entry_state(block);
        let range = body.blocks[block].start..body.blocks[block].end;
        let values =
            state.locals.iter().chain(state.stack.iter().map(|(equal, _)| equal)).flatten();
        let old = values
            .filter(|&&value| {
                range.contains(&body.values[value].definition)
                    && !matches!(body.definition(value).operation, Operation::Phi(_))
            })
            .copied()
            .collect();
        let mut run =
            Run { pc: start, state, statements: statements.into_iter(), old, thrown: None };
        if block == body.entry() {
            self.parameters(&mut run)?;
        }
        let lands = run.catches()?;
        let entry_is_target =
            self.entered[0] || self.code.handlers.iter().any(|handler| handler.handler == Pc(0));
        let is_empty = (lands && self.entered[usize::from(start.0)])
            || (block == body.entry() && entry_is_target);
        let next = if is_empty { Some(start) } else { self.instructions(block, &mut run)? };
        if let Some(next) = next {
            let Some(Statement { operation: Operation::Goto(target), .. }) = run.take() else {
                return Err(format!("no jump to {next:?}"));
            };
            self.arrive(
                *target,
                next,
                Edge { from: block, exceptional: false },
                run.state.clone(),
            )?;
        } else {
            let leads = self.leads_to(last.pc, &last.operation)?;
            for (target, pc) in leads {
                let edge = Edge { from: block, exceptional: false };
                self.arrive(target, pc, edge, run.state.clone())?;
            }
        }
        if run.take().is_some() {
            return Err("statements without an instruction".to_owned());
        }
        let handlers = body.blocks[block].handlers.as_slice();
        match run.thrown {
            Some(locals) => {
                for &handler in handlers {
                    let state = State { locals: locals.clone(), stack: Vec::new() };
                    let pc = body.block_statements(handler).next().expect("a block has one").1.pc;
                    let edge = Edge { from: block, exceptional: true };
                    self.arrive(handler, pc, edge, state)?;
                }
                Ok(())
            }
            None if handlers.is_empty() => Ok(()),
            None => Err("handlers where nothing throws".to_owned()),
        }
    }

    /// Runs the instructions of a block; returns where it goes on if its last one does not jump.
    fn instructions(&mut self, block: BlockId, run: &mut Run<'v>) -> Result<Option<Pc>, String> {
        let instructions = self.instructions;
        loop {
            let pc = run.pc;
            let index = self.index(pc)?;
            let instruction = &instructions[index].1;
            if *self.covered[index].get_or_insert(block) != block {
                return Err(format!("{pc:?} is in two blocks"));
            }
            if can_throw(instruction) {
                run.note_throw();
                self.check_handlers(block, pc)?;
            }
            let problem = |problem: String| format!("{pc:?} {instruction:?}: {problem}");
            self.instruction(run, instruction).map_err(problem)?;
            if instruction.ends_flow() || instruction.targets().next().is_some() {
                return Ok(None);
            }
            run.pc = self.behind(index);
            let ends = |statement: &Statement| {
                statement.pc == pc && matches!(statement.operation, Operation::Goto(_))
            };
            if run.peek().is_some_and(ends) {
                return Ok(Some(run.pc));
            }
        }
    }

    fn index(&self, pc: Pc) -> Result<usize, String> {
        let index = self.index_at.get(usize::from(pc.0)).copied().flatten();
        index.ok_or_else(|| format!("no instruction at {pc:?}"))
    }

    fn behind(&self, index: usize) -> Pc {
        self.instructions.get(index + 1).map_or(Pc(self.code.length()), |&(pc, _)| pc)
    }

    /// Where the exceptions of an instruction are handled.
    fn handlers_of(&self, pc: Pc) -> Vec<Pc> {
        let mut handlers: Vec<Pc> = Vec::new();
        for handler in &self.code.handlers {
            if handler.start <= pc && pc < handler.end {
                if !handlers.contains(&handler.handler) {
                    handlers.push(handler.handler);
                }
                if handler.catch_type.is_none() {
                    break;
                }
            }
        }
        handlers
    }

    /// The handlers of a block are those of the exception table, in its order.
    fn check_handlers(&self, block: BlockId, pc: Pc) -> Result<(), String> {
        let expected = self.handlers_of(pc);
        let first = |&handler: &BlockId| {
            self.body.block_statements(handler).next().expect("a block has statements").1.pc
        };
        let found: Vec<Pc> = self.body.blocks[block].handlers.iter().map(first).collect();
        match found == expected {
            true => Ok(()),
            false => Err(format!("{pc:?} is handled at {found:?}, not at {expected:?}")),
        }
    }

    /// Where a terminator goes, by block and by instruction.
    fn leads_to(&self, pc: Pc, operation: &Operation) -> Result<Vec<(BlockId, Pc)>, String> {
        let index = self.index(pc)?;
        let instruction = &self.instructions[index].1;
        let mut expected: Vec<Pc> = instruction.targets().copied().collect();
        let targets = match operation {
            // The default is the first target of the instruction and the last of the statement.
            Operation::Switch { cases, default, .. } => {
                let cases = cases.iter().map(|&(_, target)| target);
                [*default].into_iter().chain(cases).collect()
            }
            Operation::Branch { then, otherwise, .. } => {
                expected.push(self.behind(index));
                vec![*then, *otherwise]
            }
            Operation::Goto(target) => vec![*target],
            _ => Vec::new(),
        };
        match targets.len() == expected.len() {
            true => Ok(targets.into_iter().zip(expected).collect()),
            false => Err(format!("{} targets for {instruction:?}", targets.len())),
        }
    }

    fn arrive(&mut self, to: BlockId, pc: Pc, edge: Edge, state: State) -> Result<(), String> {
        if *self.starts[to.index()].get_or_insert(pc) != pc {
            return Err(format!("{to} begins at {:?} and {pc:?}", self.starts[to.index()]));
        }
        let edges = &self.body.blocks[to].predecessors;
        let Some(position) = edges.iter().position(|&other| other == edge) else {
            return Err(format!("no edge to {to}"));
        };
        let old = &mut self.arriving[to.index()][position];
        if old.as_ref() != Some(&state) {
            *old = Some(state);
            self.dirty[to.index()] = true;
        }
        Ok(())
    }

    /// Joins what arrives at a block.
    fn entry_state(&self, block: BlockId) -> State {
        let known: Vec<(usize, &State)> = self.arriving[block.index()]
            .iter()
            .enumerate()
            .filter_map(|(position, state)| Some((position, state.as_ref()?)))
            .collect();
        let phis: Vec<(Value, &[Value])> = self
            .body
            .block_statements(block)
            .map_while(|(_, statement)| match &statement.operation {
                Operation::Phi(inputs) => Some((statement.result?, inputs.as_slice())),
                _ => None,
            })
            .collect();
        let Some(&(_, first)) = known.first() else {
            let locals = vec![Equal::new(); usize::from(self.code.max_locals)];
            return State { locals, stack: Vec::new() };
        };
        let join = |slot: &dyn Fn(&State) -> Option<Equal>| -> Equal {
            let arriving: Vec<(usize, Equal)> = known
                .iter()
                .map(|&(position, state)| (position, slot(state).unwrap_or_default()))
                .collect();
            let mut equal: Equal = arriving[0].1.clone();
            equal.retain(|value| {
                arriving[1..].iter().all(|(_, other)| other.contains(value))
                    && !phis.iter().any(|(phi, _)| phi == value)
            });
            equal.extend(phis.iter().filter_map(|&(phi, inputs)| {
                let fits = |(position, other): &(usize, Equal)| other.contains(&inputs[*position]);
                arriving.iter().all(fits).then_some(phi)
            }));
            equal
        };
        State {
            locals: (0..first.locals.len())
                .map(|local| join(&|state| state.locals.get(local).cloned()))
                .collect(),
            stack: (0..first.stack.len())
                .map(|depth| {
                    let slot =
                        |state: &State| state.stack.get(depth).map(|(equal, _)| equal.clone());
                    (join(&slot), first.stack[depth].1)
                })
                .collect(),
        }
    }

    fn parameters(&self, run: &mut Run<'v>) -> Result<(), String> {
        let mut local = 0;
        while let Some(Statement { operation: Operation::Parameter(_), result, .. }) = run.peek() {
            let value = result.ok_or("a parameter without a value")?;
            run.take();
            *run.state.locals.get_mut(local).ok_or("too many parameters")? =
                Equal::from_elem(value, 1);
            local += if self.names.is_wide(self.body.values[value].ty) { 2 } else { 1 };
        }
        Ok(())
    }

    /// The instructions that were run are those that can be reached.
    fn check_coverage(&self) -> Result<(), String> {
        let mut reached = vec![false; self.instructions.len()];
        let mut work = vec![Pc(0)];
        while let Some(pc) = work.pop() {
            let index = self.index(pc)?;
            if std::mem::replace(&mut reached[index], true) {
                continue;
            }
            let instruction = &self.instructions[index].1;
            work.extend(instruction.targets());
            if !instruction.ends_flow() {
                work.push(self.behind(index));
            }
            if can_throw(instruction) {
                work.extend(self.handlers_of(pc));
            }
        }
        let differs = |&index: &usize| reached[index] != self.covered[index].is_some();
        match (0..reached.len()).find(differs) {
            Some(index) => {
                let pc = self.instructions[index].0;
                Err(format!("{pc:?} can be reached or has statements, but not both"))
            }
            None => Ok(()),
        }
    }
}

impl<'v> Run<'v> {
    pub(crate) fn peek(&self) -> Option<&'v Statement> {
        self.statements.as_slice().first().copied()
    }

    /// The next statement.
    pub(crate) fn take(&mut self) -> Option<&'v Statement> {
        self.statements.next()
    }

    /// Starts with the exception that was caught, if the block begins with one.
    fn catches(&mut self) -> Result<bool, String> {
        let Some(Statement { operation: Operation::Catch(_), result, .. }) = self.peek() else {
            return Ok(false);
        };
        let value = result.ok_or("a caught exception without a value")?;
        self.take();
        self.forget(value);
        self.state.stack.push((Equal::from_elem(value, 1), false));
        Ok(true)
    }

    /// An exception may leave here: only what is equal at all such places is known to handlers.
    fn note_throw(&mut self) {
        match &mut self.thrown {
            None => self.thrown = Some(self.state.locals.clone()),
            Some(thrown) => {
                for (thrown, now) in thrown.iter_mut().zip(&self.state.locals) {
                    thrown.retain(|value| now.contains(value));
                }
            }
        }
    }

    /// A value is defined again: what equals its old self does not equal it any more.
    pub(crate) fn forget(&mut self, value: Value) {
        if self.old.contains(&value) {
            let stack = self.state.stack.iter_mut().map(|(equal, _)| equal);
            let thrown = self.thrown.iter_mut().flatten();
            for equal in self.state.locals.iter_mut().chain(stack).chain(thrown) {
                equal.retain(|other| *other != value);
            }
        }
    }
}

fn can_throw(instruction: &Instruction<Pc>) -> bool {
    use Opcode::*;
    matches!(
        instruction.opcode(),
        IALoad
            | LALoad
            | FALoad
            | DALoad
            | AALoad
            | BALoad
            | CALoad
            | SALoad
            | IAStore
            | LAStore
            | FAStore
            | DAStore
            | AAStore
            | BAStore
            | CAStore
            | SAStore
            | IDiv
            | LDiv
            | IRem
            | LRem
            | ArrayLength
            | AThrow
            | MonitorEnter
            | MonitorExit
            | GetStatic
            | PutStatic
            | GetField
            | PutField
            | InvokeVirtual
            | InvokeSpecial
            | InvokeStatic
            | InvokeInterface
            | InvokeDynamic
            | New
            | NewArray
            | ANewArray
            | MultiANewArray
            | CheckCast
            | Ldc
            | LdcW
            | Ldc2W
    )
}
