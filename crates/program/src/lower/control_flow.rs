//! Instructions, blocks and edges of one method.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unsnarl_classfile::read::Code;
use unsnarl_classfile::{ConstantIndex, Instruction, Opcode, Pc};
use unsnarl_entity::{EntityId, PrimaryMap, entity_id};

use super::{LowerError, Result};
use crate::body::{BlockId, Edge};

/// What a block is a copy of.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum BlockOrigin {
    /// In front of the first instruction, where that is the target of a jump: a loop must not lead
    /// back to where the arguments are.
    Prologue,
    /// Where an exception arrives, if the handler can be reached without one as well.
    Landing(usize),
    /// The instructions from this one on.
    At(usize),
}

entity_id! {
    /// A chain of subroutine calls that are under way; the first one is empty.
    struct ContextId("context");
}

/// More copies of blocks than this are not made for subroutines: no compiler nests them so deeply.
const MOST_BLOCKS: usize = 200_000;

pub(super) struct ControlFlow {
    pub(super) instructions: Vec<(Pc, Instruction<Pc>)>,
    /// Reachable blocks in reverse postorder.
    pub(super) blocks: PrimaryMap<BlockId, FlowBlock>,
}

pub(super) struct FlowBlock {
    /// The first instruction, as an index into `instructions`.
    pub(super) first: usize,
    /// One past the last instruction; a block without instructions just goes on.
    pub(super) end: usize,
    /// Successors of the last instruction: the jump targets in the order of
    /// `Instruction::targets`, then the instruction after it if it can go there.
    pub(super) successors: SmallVec<[BlockId; 2]>,
    /// Exception handlers in the order in which they are tried.
    pub(super) handlers: SmallVec<[BlockId; 1]>,
    /// If an exception arrives here: what the handlers catch, in order; nothing is everything.
    pub(super) catches: Option<SmallVec<[ConstantIndex; 1]>>,
    pub(super) predecessors: SmallVec<[Edge; 2]>,
}

/// A call of a subroutine.
struct Context {
    caller: ContextId,
    /// The first instruction of the subroutine.
    entry: usize,
    /// The instruction after the `jsr`.
    return_to: usize,
}

struct Builder<'c> {
    handlers: &'c [unsnarl_classfile::read::ExceptionHandler],
    instructions: Vec<(Pc, Instruction<Pc>)>,
    /// Index of the instruction that begins at an offset; `NONE` in the middle of one.
    index_at: Vec<u32>,
    /// Whether a block begins at an instruction.
    leaders: Vec<bool>,
    /// Whether an instruction can be reached by a jump or from the one before it.
    entered: Vec<bool>,
    contexts: PrimaryMap<ContextId, Context>,
    subroutines: FxHashMap<(ContextId, usize), ContextId>,
}

const NONE: u32 = u32::MAX;

impl ControlFlow {
    pub(super) fn new(code: &Code<'_>) -> Result<Self> {
        let instructions = code.instructions().collect::<std::result::Result<Vec<_>, _>>()?;
        let mut index_at = vec![NONE; usize::from(code.length()) + 1];
        for (index, (pc, _)) in instructions.iter().enumerate() {
            index_at[usize::from(pc.0)] = index as u32;
        }
        // The end of a handler's range may be the end of the code.
        index_at[usize::from(code.length())] = instructions.len() as u32;
        let leaders = vec![false; instructions.len() + 1];
        let entered = leaders.clone();
        let mut builder = Builder {
            handlers: &code.handlers,
            instructions,
            index_at,
            leaders,
            entered,
            contexts: PrimaryMap::new(),
            subroutines: FxHashMap::default(),
        };
        builder.find_leaders()?;
        builder.connect()
    }
}

impl Builder<'_> {
    fn index(&self, pc: Pc) -> Result<usize> {
        match self.index_at.get(usize::from(pc.0)) {
            Some(&index) if index != NONE => Ok(index as usize),
            _ => Err(LowerError::code(pc, "the beginning of an instruction")),
        }
    }

    fn instruction_index(&self, pc: Pc) -> Result<usize> {
        let index = self.index(pc)?;
        if index == self.instructions.len() {
            return Err(LowerError::code(pc, "an instruction before the end of the code"));
        }
        Ok(index)
    }

    fn find_leaders(&mut self) -> Result<()> {
        let count = self.instructions.len();
        self.leaders[0] = true;
        // How many ranges begin minus how many end: positive inside a protected range.
        let mut depth_change = vec![0i32; count + 1];
        for handler in self.handlers {
            let (start, end) = (self.index(handler.start)?, self.index(handler.end)?);
            if start >= end {
                return Err(LowerError::code(handler.start, "a handler's range that is not empty"));
            }
            for leader in [start, end, self.instruction_index(handler.handler)?] {
                self.leaders[leader] = true;
            }
            depth_change[start] += 1;
            depth_change[end] -= 1;
        }
        let mut depth = 0;
        for (index, change) in depth_change.into_iter().enumerate().take(count) {
            depth += change;
            let instruction = &self.instructions[index].1;
            let mut jumps = false;
            for &target in instruction.targets() {
                jumps = true;
                let target = self.instruction_index(target)?;
                self.leaders[target] = true;
                self.entered[target] = true;
            }
            self.entered[index + 1] |= !instruction.ends_flow();
            if jumps || instruction.ends_flow() || (depth > 0 && assigns_local(instruction)) {
                self.leaders[index + 1] = true;
            }
        }
        Ok(())
    }

    /// Explores the blocks depth first and numbers them in reverse postorder.
    fn connect(mut self) -> Result<ControlFlow> {
        let root = self.contexts.push(Context {
            caller: ContextId::from_index(0),
            entry: usize::MAX,
            return_to: usize::MAX,
        });
        let mut found: FxHashMap<(BlockOrigin, ContextId), usize> = FxHashMap::default();
        let mut blocks: Vec<Draft> = Vec::new();
        let mut postorder: Vec<usize> = Vec::new();
        // The block, and which of its edges to follow next.
        let mut stack: Vec<(usize, usize)> = Vec::new();
        let entry = if self.entered[0] || self.handlers.iter().any(|handler| handler.handler.0 == 0)
        {
            BlockOrigin::Prologue
        } else {
            BlockOrigin::At(0)
        };
        found.insert((entry, root), 0);
        blocks.push(self.draft(entry, root)?);
        stack.push((0, 0));
        while let Some((block, edge)) = stack.last_mut() {
            let Some(&key) = blocks[*block].edges.get(*edge) else {
                postorder.push(*block);
                stack.pop();
                continue;
            };
            *edge += 1;
            if let Entry::Vacant(vacant) = found.entry(key) {
                if blocks.len() == MOST_BLOCKS {
                    return Err(LowerError::code(Pc(0), "subroutines that nest less deeply"));
                }
                vacant.insert(blocks.len());
                stack.push((blocks.len(), 0));
                blocks.push(self.draft(key.0, key.1)?);
            }
        }

        let mut number = vec![0; blocks.len()];
        for (position, &block) in postorder.iter().rev().enumerate() {
            number[block] = position;
        }
        let id = |key| BlockId::from_index(number[found[key]]);
        let mut ordered: PrimaryMap<BlockId, FlowBlock> = postorder
            .iter()
            .rev()
            .map(|&block| {
                let Draft { first, end, edges, normal } = &blocks[block];
                let mut handlers: SmallVec<[BlockId; 1]> = SmallVec::new();
                for handler in edges[*normal..].iter().map(id) {
                    if !handlers.contains(&handler) {
                        handlers.push(handler);
                    }
                }
                FlowBlock {
                    first: *first,
                    end: *end,
                    successors: edges[..*normal].iter().map(id).collect(),
                    handlers,
                    catches: None,
                    predecessors: SmallVec::new(),
                }
            })
            .collect();
        self.add_predecessors(&mut ordered)?;
        Ok(ControlFlow { instructions: self.instructions, blocks: ordered })
    }

    fn add_predecessors(&self, blocks: &mut PrimaryMap<BlockId, FlowBlock>) -> Result<()> {
        for from in blocks.keys() {
            let FlowBlock { successors, handlers, .. } = &blocks[from];
            let (successors, handlers) = (successors.clone(), handlers.clone());
            let edges = successors.iter().map(|&to| (to, false));
            for (to, exceptional) in edges.chain(handlers.iter().map(|&to| (to, true))) {
                let edge = Edge { from, exceptional };
                let predecessors = &mut blocks[to].predecessors;
                // Edges of one block arrive one after the other, normal ones first.
                if !predecessors.iter().rev().take(2).any(|other| *other == edge) {
                    predecessors.push(edge);
                }
            }
            for &to in &handlers {
                if blocks[to].catches.is_none() {
                    let first = self.instructions[blocks[to].first].0;
                    let mut types: SmallVec<[ConstantIndex; 1]> = SmallVec::new();
                    for handler in self.handlers.iter().filter(|h| h.handler == first) {
                        match handler.catch_type {
                            None => {
                                types.clear();
                                break;
                            }
                            Some(class) if !types.contains(&class) => types.push(class),
                            Some(_) => {}
                        }
                    }
                    blocks[to].catches = Some(types);
                }
            }
        }
        Ok(())
    }

    fn draft(&mut self, place: BlockOrigin, context: ContextId) -> Result<Draft> {
        let first = match place {
            BlockOrigin::At(first) => first,
            BlockOrigin::Prologue => return Ok(Draft::empty(0, context)),
            BlockOrigin::Landing(handler) => return Ok(Draft::empty(handler, context)),
        };
        let mut end = first + 1;
        while !self.leaders[end] && end < self.instructions.len() {
            end += 1;
        }
        let (pc, last) = &self.instructions[end - 1];
        let pc = *pc;
        let mut edges = Vec::new();
        match last {
            Instruction::Jump { opcode: Opcode::Jsr | Opcode::JsrW, target } => {
                let entry = self.instruction_index(*target)?;
                let subroutine = self.call_subroutine(context, entry, end, pc)?;
                edges.push((BlockOrigin::At(entry), subroutine));
            }
            Instruction::Local { opcode: Opcode::Ret, local } => {
                let (return_to, caller) = self.return_from_subroutine(context, *local, pc)?;
                edges.push((BlockOrigin::At(return_to), caller));
            }
            instruction => {
                for &target in instruction.targets() {
                    edges.push((BlockOrigin::At(self.instruction_index(target)?), context));
                }
                if !instruction.ends_flow() {
                    if end == self.instructions.len() {
                        return Err(LowerError::code(pc, "an instruction that ends the method"));
                    }
                    edges.push((BlockOrigin::At(end), context));
                }
            }
        }
        let normal = edges.len();
        if self.instructions[first..end].iter().any(|(_, instruction)| can_throw(instruction)) {
            let start = self.instructions[first].0;
            for handler in self.handlers {
                if handler.start <= start && start < handler.end {
                    let target = self.instruction_index(handler.handler)?;
                    let place = if self.entered[target] {
                        BlockOrigin::Landing(target)
                    } else {
                        BlockOrigin::At(target)
                    };
                    edges.push((place, context));
                    if handler.catch_type.is_none() {
                        break;
                    }
                }
            }
        }
        Ok(Draft { first, end, edges, normal })
    }

    fn call_subroutine(
        &mut self,
        caller: ContextId,
        entry: usize,
        return_to: usize,
        pc: Pc,
    ) -> Result<ContextId> {
        if return_to == self.instructions.len() {
            return Err(LowerError::code(pc, "an instruction behind `jsr`"));
        }
        // No subroutine calls itself. One that seems to was left without `ret`, by a jump or an
        // exception, and with it all that it had called.
        let left = self.chain(caller).find(|&context| self.contexts[context].entry == entry);
        let caller = left.map_or(caller, |context| self.contexts[context].caller);
        let contexts = &mut self.contexts;
        Ok(*self
            .subroutines
            .entry((caller, return_to))
            .or_insert_with(|| contexts.push(Context { caller, entry, return_to })))
    }

    /// A subroutine stores its return address first of all, which shows to which of the calls that
    /// are under way a `ret` belongs: code may leave an inner subroutine without returning from it.
    fn return_from_subroutine(
        &self,
        context: ContextId,
        local: u16,
        pc: Pc,
    ) -> Result<(usize, ContextId)> {
        let stores_address = |entry: usize| {
            matches!(
                &self.instructions[entry].1,
                Instruction::Local { opcode, local: stored }
                    if *stored == local
                        && (*opcode == Opcode::AStore
                            || (Opcode::AStore0..=Opcode::AStore3).contains(opcode))
            )
        };
        self.chain(context)
            .map(|context| &self.contexts[context])
            .find(|context| stores_address(context.entry))
            .map(|context| (context.return_to, context.caller))
            .ok_or_else(|| {
                LowerError::code(pc, "`ret` inside a subroutine that stored its address")
            })
    }

    /// The calls that are under way, innermost first.
    fn chain(&self, context: ContextId) -> impl Iterator<Item = ContextId> + '_ {
        std::iter::successors(Some(context), |&context| Some(self.contexts[context].caller))
            .take_while(|context| context.index() != 0)
    }
}

struct Draft {
    first: usize,
    end: usize,
    edges: Vec<(BlockOrigin, ContextId)>,
    /// How many of the edges are not exceptional; they come first.
    normal: usize,
}

impl Draft {
    /// A block without instructions in front of `next`.
    fn empty(next: usize, context: ContextId) -> Self {
        Self { first: next, end: next, edges: vec![(BlockOrigin::At(next), context)], normal: 1 }
    }
}

fn assigns_local(instruction: &Instruction<Pc>) -> bool {
    match instruction {
        Instruction::Increment { .. } => true,
        Instruction::Local { opcode, .. } => *opcode >= Opcode::IStore && *opcode != Opcode::Ret,
        _ => false,
    }
}

/// Must agree with [`Operation::can_throw`](crate::body::Operation::can_throw) on what instructions
/// become.
fn can_throw(instruction: &Instruction<Pc>) -> bool {
    use Opcode::*;
    match instruction {
        Instruction::LoadConstant { .. }
        | Instruction::Field { .. }
        | Instruction::Invoke { .. }
        | Instruction::InvokeDynamic { .. }
        | Instruction::NewArray { .. }
        | Instruction::MultiNewArray { .. } => true,
        Instruction::Type { opcode, .. } => *opcode != InstanceOf,
        Instruction::Plain(opcode) => {
            (IALoad..=SALoad).contains(opcode)
                || (IAStore..=SAStore).contains(opcode)
                || matches!(
                    opcode,
                    IDiv | LDiv | IRem | LRem | ArrayLength | AThrow | MonitorEnter | MonitorExit
                )
        }
        _ => false,
    }
}
