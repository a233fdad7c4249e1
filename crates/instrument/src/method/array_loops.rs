//! Loops that report what they have accessed in arrays when they are left, also by an exception.
//!
//! Three variables above those of the method hold what the counter had at first, what it has in this round, and the
//! number of the last access that the round came to. They have values in all of the loop and nowhere else, so the
//! frames in the loop get them, and the code at its exits is the only code with frames of its own.

use std::collections::HashMap;

use unsnarl_classfile::Opcode::{self, *};
use unsnarl_classfile::edit::{
    CodeEditor, CodeError, Handler, Inserter, LabelId, NodeId, PoolEditor, PoolError,
};
use unsnarl_classfile::{Instruction, VerificationType, flags};
use unsnarl_recording::{SiteNumber, SiteOperation};

use super::MethodRewriter;
use crate::call_probe::{handlers_around, invoke};
use crate::hooks;
use crate::loops::{self, ArrayLoop, ArrayPlace, Exit, LoopAccess};
use crate::probe::EXTRA_STACK;

type Type = VerificationType<NodeId>;

/// How many words the hooks take.
const ARGUMENTS: u16 = 6;

impl MethodRewriter<'_, '_> {
    /// Lets loops report their accesses at their exits. These need no other probe.
    pub(super) fn array_loops(
        &mut self,
        lines: &HashMap<NodeId, Option<u16>>,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        let is_static = self.member.access & flags::STATIC != 0;
        let found = {
            let volatility = |field| self.volatility_of(field, pool);
            let method = loops::Method {
                code: &self.code,
                class: self.class.name(),
                has_constructed_this: !is_static
                    && self.class.member_name(self.member) != b"<init>",
                volatility: &volatility,
                pure_methods: self.pure_methods,
            };
            loops::find(&method, pool)
        };
        let Some(behind) = self.first_local.checked_add(3) else { return Ok(()) };
        let variables = Variables::from(self.first_local);
        for array_loop in found {
            let Some(types) = types(&self.code, &array_loop, variables.start, pool)? else {
                continue;
            };
            let mut sites = Vec::new();
            for &access in &array_loop.accesses {
                let line = lines.get(&access.node).copied().flatten();
                sites.push((access, self.site(line, SiteOperation::Element)));
                self.redundancy.unprobed.insert(access.node);
            }
            if self.first_local != behind {
                // Other probes in the loop have variables of their own.
                self.first_local = behind;
                self.code.max_locals = self.code.max_locals.max(behind);
                self.code.grow_stack(ARGUMENTS - EXTRA_STACK);
            }
            Rewriting { code: &mut self.code, array_loop, sites, variables }.run(types, pool)?;
        }
        Ok(())
    }
}

/// The variables of the probes.
#[derive(Clone, Copy)]
struct Variables {
    start: u16,
    now: u16,
    reached: u16,
}

impl From<u16> for Variables {
    fn from(first: u16) -> Self {
        Self { start: first, now: first + 1, reached: first + 2 }
    }
}

/// What the verifier must know.
struct Types {
    /// The frames in the loop, with the new variables.
    frames: Vec<(LabelId, Vec<Type>, Vec<Type>)>,
    /// What the handler of the loop finds in the variables.
    in_handler: Vec<Type>,
}

/// The types in and around a loop. Nothing if the loop has to stay as it is: something is on the stack where it is entered,
/// an object is not initialized, a variable that the probes read has no certain value, or a handler around the
/// loop may need one that the handler of the loop would not have.
fn types(
    code: &CodeEditor,
    array_loop: &ArrayLoop,
    first_local: u16,
    pool: &mut PoolEditor<'_>,
) -> Result<Option<Types>, CodeError> {
    if !code.has_frames() {
        return Ok(Some(Types { frames: Vec::new(), in_handler: Vec::new() }));
    }
    let header = labels_before(code, array_loop.first).unwrap_or(array_loop.first);
    let frames = code.frames_between(header, array_loop.last, pool)?;
    let lasting = code.lasting_between(array_loop.first, array_loop.last, pool)?;
    let Some((locals, stack)) = code.known_before(array_loop.first, pool)? else {
        return Ok(None);
    };
    let is_uninitialized =
        |it: &Type| matches!(it, Type::UninitializedThis | Type::Uninitialized(_));
    let (before, kept) = (slots(&locals), slots(&lasting));
    let at = |slot: u16| kept.get(usize::from(slot));
    let is_reference = |slot| matches!(at(slot), Some(Type::Object(_) | Type::Null));
    let has_all = at(array_loop.counter) == Some(&Type::Integer)
        && array_loop.accesses.iter().all(|access| match access.array {
            ArrayPlace::Local(local) => is_reference(local),
            ArrayPlace::FieldOfThis(_) => is_reference(0),
        });
    let loses = (0..before.len()).any(|slot| kept.get(slot) != Some(&before[slot]));
    let is_covered = !handlers_around(code, array_loop.first).is_empty();
    if !stack.is_empty() || locals.iter().any(is_uninitialized) || !has_all || loses && is_covered {
        return Ok(None);
    }
    let frames = frames.into_iter();
    let frames =
        frames.map(|(label, (locals, stack))| (label, extended(locals, first_local), stack));
    Ok(Some(Types { frames: frames.collect(), in_handler: extended(lasting, first_local) }))
}

/// One entry a slot.
fn slots(locals: &[Type]) -> Vec<Type> {
    let slots = |it: &Type| std::iter::once(*it).chain((it.slots() == 2).then_some(Type::Top));
    locals.iter().flat_map(slots).collect()
}

/// Variables with those of the probes after them.
fn extended(mut locals: Vec<Type>, first_local: u16) -> Vec<Type> {
    let used = slots(&locals).len();
    locals.extend(std::iter::repeat_n(Type::Top, usize::from(first_local) - used));
    locals.extend([Type::Integer; 3]);
    locals
}

/// The first of the labels that stand in front of an instruction.
fn labels_before(code: &CodeEditor, node: NodeId) -> Option<NodeId> {
    std::iter::successors(code.previous(node), |&node| code.previous(node))
        .take_while(|&node| code.label(node).is_some())
        .last()
}

struct Rewriting<'r> {
    code: &'r mut CodeEditor,
    array_loop: ArrayLoop,
    sites: Vec<(LoopAccess, SiteNumber)>,
    variables: Variables,
}

impl Rewriting<'_> {
    fn run(mut self, types: Types, pool: &mut PoolEditor<'_>) -> Result<(), CodeError> {
        let ArrayLoop { first, last, counter, .. } = self.array_loop;
        let Variables { start: first_value, now, reached } = self.variables;
        let around = handlers_around(self.code, first);
        let before = labels_before(self.code, first).unwrap_or(first);
        for variable in [first_value, now] {
            self.code.before(before, pool).local(ILoad, counter).local(IStore, variable);
        }
        self.code.before(before, pool).plain(IConst0).local(IStore, reached);
        for (label, locals, stack) in types.frames {
            self.code.set_frame(label, locals, stack);
        }
        let [start, end, outside, handler, behind] = [(); 5].map(|()| self.code.new_label());
        // The handler's range begins where the loop does. If it began after what is put in here, it would cut the first
        // block of the loop in two, and HotSpot would not take the loop for one that counts: three times as slow.
        self.code.bind_before(start, first)?;
        let mut round = self.code.before(first, pool);
        round.local(ILoad, counter).local(IStore, now).plain(IConst0).local(IStore, reached);
        for (number, (access, _)) in (1..).zip(&self.sites) {
            self.code.before(access.node, pool).int(number)?.local(IStore, reached);
        }

        self.code.bind_after(end, last)?;
        self.code.bind_at_end(outside)?;
        for exit in std::mem::take(&mut self.array_loop.exits) {
            match exit {
                Exit::Leaves(node) => self.report(node, pool)?,
                Exit::FallsOut => {
                    if let Some(next) = self.code.next(last) {
                        self.report(next, pool)?;
                    }
                }
                Exit::Branches(node, target) => self.branch(node, target, pool)?,
            }
        }
        self.code.bind_at_end(handler)?;
        let throw = self.code.append(Instruction::Plain(AThrow));
        self.report(throw, pool)?;
        self.code.bind_at_end(behind)?;
        if self.code.has_frames() {
            let throwable = Type::Object(pool.add_class(b"java/lang/Throwable")?);
            self.code.set_frame(handler, types.in_handler, vec![throwable]);
        }
        self.code.add_handler_first(Handler { start, end, handler, catch_type: None });
        for outer in around {
            self.code.add_handler(Handler { start: outside, end: behind, ..outer });
        }
        Ok(())
    }

    /// The jump goes to code at the end of the method that reports and goes on to where the jump went.
    fn branch(
        &mut self,
        node: NodeId,
        target: LabelId,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        let known = match self.code.next(node) {
            Some(next) => self.code.known_before(next, pool)?,
            None => None,
        };
        let label = self.code.new_label();
        self.code.bind_at_end(label)?;
        let jump = self.code.append(Instruction::Jump { opcode: Goto, target });
        self.report(jump, pool)?;
        if let Some(&Instruction::Jump { opcode, .. }) = self.code.instruction(node) {
            self.code.replace(node, Instruction::Jump { opcode, target: label });
        }
        if let (true, Some((locals, stack))) = (self.code.has_frames(), known) {
            self.code.set_frame(label, locals, stack);
        }
        Ok(())
    }

    /// Reports all accesses of the loop in front of a node.
    fn report(&mut self, node: NodeId, pool: &mut PoolEditor<'_>) -> Result<(), PoolError> {
        let Variables { start, now, reached } = self.variables;
        let step = i32::from(self.array_loop.step);
        let mut code: Inserter<'_, '_> = self.code.before(node, pool);
        for (number, &(access, site)) in (1..).zip(&self.sites) {
            match access.array {
                ArrayPlace::Local(local) => code.local(ALoad, local),
                ArrayPlace::FieldOfThis(field) => code
                    .local(ALoad, 0)
                    .instruction(Instruction::Field { opcode: Opcode::GetField, field }),
            };
            code.local(ILoad, start).local(ILoad, now).local(ILoad, reached);
            code.int(shape(step, access.offset.into(), number))?.int(site.0.cast_signed())?;
            invoke(&mut code, if access.is_write { hooks::LOOP_WRITE } else { hooks::LOOP_READ })?;
        }
        Ok(())
    }
}

/// Step and offset, twelve bits each, and the number of an access.
fn shape(step: i32, offset: i32, number: i32) -> i32 {
    step << 20 | (offset & 0xFFF) << 8 | number
}
