//! Which accesses of a loop have an index that goes on by the same distance in every round.

use std::collections::{HashMap, HashSet};

use unsnarl_classfile::edit::{LabelId, NodeId, PoolEditor};
use unsnarl_classfile::{FieldType, Instruction, MethodDescriptor, Opcode};
use unsnarl_recording::Volatility;

use super::shape::{Region, Text};
use super::{ArrayPlace, LoopAccess, Method};
use crate::redundancy::{effect, is_store};

/// Steps and offsets beyond this have no room in the argument of the hook.
const FARTHEST: i32 = 2047;

/// The accesses of a loop, each with the variable that counts.
#[derive(Debug)]
pub(super) struct Accesses {
    found: Vec<(u16, LoopAccess)>,
    steps: HashMap<u16, i16>,
}

impl Accesses {
    /// Nothing if what is on the stack cannot be followed.
    pub(super) fn find(
        method: &Method<'_>,
        text: &Text<'_>,
        region: &Region,
        pool: &PoolEditor<'_>,
    ) -> Option<Self> {
        let optional = text.optional(region);
        let within = text.within(region);
        let mut assigned = HashSet::new();
        let mut increments: HashMap<u16, Vec<(usize, i16)>> = HashMap::new();
        for (place, (_, instruction)) in within.iter().enumerate() {
            match **instruction {
                Instruction::Local { opcode, local } if is_store(opcode) => {
                    assigned.insert(local);
                    let long = opcode.long_form();
                    if matches!(long, Opcode::LStore | Opcode::DStore) {
                        assigned.insert(local.saturating_add(1));
                    }
                }
                Instruction::Increment { local, amount } => {
                    increments.entry(local).or_default().push((place, amount));
                }
                _ => {}
            }
        }
        let counters = increments
            .iter()
            .filter(|(local, _)| !assigned.contains(local))
            .filter_map(|(&local, increments)| match increments[..] {
                [(place, amount)] if !optional[place] && is_near(amount.into()) && amount != 0 => {
                    Some((local, (place, amount)))
                }
                _ => None,
            })
            .collect();
        let mut walk =
            Walk { method, pool, assigned, counters, stack: Vec::new(), found: Vec::new() };
        // All jumps to a place in the loop lead ahead, but for those to its beginning.
        let mut stacks: HashMap<usize, Vec<Value>> = HashMap::new();
        let targets = text.targets(region);
        let mut follows = true;
        for (place, &(node, instruction)) in within.iter().enumerate() {
            let here = region.first + place;
            if targets.iter().any(|&(_, to)| to == here) {
                let jumped = stacks.remove(&here)?;
                walk.stack = if follows { merged(&walk.stack, &jumped)? } else { jumped };
            }
            walk.instruction(place, node, instruction, !optional[place])?;
            for &(_, to) in targets.iter().filter(|&&(from, _)| from == here) {
                let stack = match stacks.get(&to) {
                    Some(known) => merged(known, &walk.stack)?,
                    None => walk.stack.clone(),
                };
                stacks.insert(to, stack);
            }
            follows = !instruction.ends_flow();
        }
        let steps = walk.counters.iter().map(|(&local, &(_, amount))| (local, amount)).collect();
        Some(Self { found: walk.found, steps })
    }

    /// The counter that most accesses use, what every round adds to it, and these accesses.
    pub(super) fn of_one_counter(self) -> Option<(u16, i16, Vec<LoopAccess>)> {
        let uses = |counter: u16| self.found.iter().filter(|(it, _)| *it == counter).count();
        let counters = self.found.iter().map(|&(counter, _)| counter);
        let counter = counters.max_by_key(|&counter| (uses(counter), counter))?;
        let accesses = self.found.iter().filter(|(it, _)| *it == counter);
        Some((counter, self.steps[&counter], accesses.map(|&(_, access)| access).collect()))
    }
}

/// What is known on two ways; nothing if they do not fit together.
fn merged(one: &[Value], other: &[Value]) -> Option<Vec<Value>> {
    let known = |(one, other): (&Value, &Value)| if one == other { *one } else { Value::Other };
    (one.len() == other.len()).then(|| one.iter().zip(other).map(known).collect())
}

fn is_near(distance: i32) -> bool {
    (-FARTHEST..=FARTHEST).contains(&distance)
}

/// What is known of a word on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Other,
    This,
    Array(ArrayPlace),
    Constant(i32),
    /// What a counter has at the beginning of the round, plus a constant.
    Index(u16, i32),
}

struct Walk<'w> {
    method: &'w Method<'w>,
    pool: &'w PoolEditor<'w>,
    assigned: HashSet<u16>,
    /// With the place where they are incremented, and by how much.
    counters: HashMap<u16, (usize, i16)>,
    stack: Vec<Value>,
    found: Vec<(u16, LoopAccess)>,
}

impl Walk<'_> {
    fn instruction(
        &mut self,
        place: usize,
        node: NodeId,
        instruction: &Instruction<LabelId>,
        is_certain: bool,
    ) -> Option<()> {
        use Opcode::*;
        match *instruction {
            Instruction::Plain(opcode) => self.plain(node, opcode, is_certain)?,
            Instruction::Push { value, .. } => self.stack.push(Value::Constant(value.into())),
            Instruction::LoadConstant { opcode, .. } => {
                self.change(0, if opcode == Ldc2W { 2 } else { 1 })?;
            }
            Instruction::Local { opcode, local } => self.local(place, opcode, local)?,
            Instruction::Increment { .. } => {}
            Instruction::Jump { opcode, .. } => match opcode {
                Goto | GotoW => {}
                _ if (IfICmpEq..=IfACmpNe).contains(&opcode) => self.change(2, 0)?,
                _ => self.change(1, 0)?,
            },
            Instruction::TableSwitch { .. } | Instruction::LookupSwitch { .. } => {
                self.change(1, 0)?;
            }
            Instruction::Field { opcode, field } => {
                let member = self.pool.member(field)?;
                let slots = FieldType::parse(member.descriptor)?.slots();
                match opcode {
                    GetStatic => self.change(0, slots)?,
                    PutStatic => self.change(slots, 0)?,
                    PutField => self.change(slots + 1, 0)?,
                    _ => {
                        let is_fixed = self.stack.pop()? == Value::This
                            && member.class == self.method.class
                            && (self.method.volatility)(field) == Volatility::Final;
                        if is_fixed && member.descriptor.starts_with(b"[") {
                            self.stack.push(Value::Array(ArrayPlace::FieldOfThis(field)));
                        } else {
                            self.change(0, slots)?;
                        }
                    }
                }
            }
            Instruction::Invoke { opcode, method } => {
                let member = self.pool.member(method)?;
                let descriptor = MethodDescriptor::parse(member.descriptor)?;
                let receiver = usize::from(opcode != InvokeStatic);
                let results = descriptor.result().map_or(0, FieldType::slots);
                self.change(descriptor.parameter_slots() + receiver, results)?;
            }
            Instruction::NewArray { .. } => self.change(1, 1)?,
            Instruction::InvokeDynamic { .. }
            | Instruction::Type { .. }
            | Instruction::MultiNewArray { .. } => return None,
        }
        Some(())
    }

    /// Takes words off the stack and puts others there of which nothing is known.
    fn change(&mut self, popped: usize, pushed: usize) -> Option<()> {
        let left = self.stack.len().checked_sub(popped)?;
        self.stack.truncate(left);
        self.stack.resize(left + pushed, Value::Other);
        Some(())
    }

    fn local(&mut self, place: usize, opcode: Opcode, local: u16) -> Option<()> {
        let long = opcode.long_form();
        let is_kept = !self.assigned.contains(&local);
        match long {
            Opcode::ALoad if local == 0 && is_kept && self.method.has_constructed_this => {
                self.stack.push(Value::This);
            }
            Opcode::ALoad if is_kept => {
                self.stack.push(Value::Array(ArrayPlace::Local(local)));
            }
            Opcode::ILoad => {
                let value = self.counters.get(&local).map(|&(increment, amount)| {
                    Value::Index(local, if place > increment { amount.into() } else { 0 })
                });
                self.stack.push(value.unwrap_or(Value::Other));
            }
            Opcode::ALoad | Opcode::FLoad => self.change(0, 1)?,
            Opcode::LLoad | Opcode::DLoad => self.change(0, 2)?,
            Opcode::IStore | Opcode::FStore | Opcode::AStore => self.change(1, 0)?,
            Opcode::LStore | Opcode::DStore => self.change(2, 0)?,
            _ => return None,
        }
        Some(())
    }

    fn plain(&mut self, node: NodeId, opcode: Opcode, is_certain: bool) -> Option<()> {
        use Opcode::*;
        match opcode {
            IConstM1 | IConst0 | IConst1 | IConst2 | IConst3 | IConst4 | IConst5 => {
                self.stack.push(Value::Constant(opcode as i32 - IConst0 as i32));
            }
            IAdd | ISub => {
                let (right, left) = (self.stack.pop()?, self.stack.pop()?);
                self.stack.push(match (left, right) {
                    (Value::Index(counter, offset), Value::Constant(more)) if opcode == IAdd => {
                        Value::Index(counter, offset.saturating_add(more))
                    }
                    (Value::Index(counter, offset), Value::Constant(less)) => {
                        Value::Index(counter, offset.saturating_sub(less))
                    }
                    (Value::Constant(more), Value::Index(counter, offset)) if opcode == IAdd => {
                        Value::Index(counter, offset.saturating_add(more))
                    }
                    _ => Value::Other,
                });
            }
            Pop => self.change(1, 0)?,
            Pop2 => self.change(2, 0)?,
            Dup => self.duplicate(1, 0)?,
            DupX1 => self.duplicate(1, 1)?,
            DupX2 => self.duplicate(1, 2)?,
            Dup2 => self.duplicate(2, 0)?,
            Dup2X1 => self.duplicate(2, 1)?,
            Dup2X2 => self.duplicate(2, 2)?,
            Swap => {
                let (upper, lower) = (self.stack.pop()?, self.stack.pop()?);
                self.stack.extend([upper, lower]);
            }
            _ => {
                let (popped, pushed, _) = effect(opcode)?;
                if is_certain && (IALoad..=SALoad).contains(&opcode) {
                    self.access(node, 0, false)?;
                } else if is_certain && (IAStore..=SAStore).contains(&opcode) {
                    self.access(node, popped - 2, true)?;
                }
                self.change(popped, pushed)?;
            }
        }
        Some(())
    }

    /// An access to an array, with a value of so many words above array and index.
    fn access(&mut self, node: NodeId, value_words: usize, is_write: bool) -> Option<()> {
        let index = self.stack.len().checked_sub(value_words + 1)?;
        let array = index.checked_sub(1)?;
        if let (Value::Array(array), Value::Index(counter, offset)) =
            (self.stack[array], self.stack[index])
            && is_near(offset)
        {
            let offset = offset as i16;
            self.found.push((counter, LoopAccess { node, array, offset, is_write }));
        }
        Some(())
    }

    fn duplicate(&mut self, count: usize, under: usize) -> Option<()> {
        let start = self.stack.len().checked_sub(count)?;
        let place = start.checked_sub(under)?;
        let copied = self.stack[start..].to_vec();
        self.stack.splice(place..place, copied);
        Some(())
    }
}
