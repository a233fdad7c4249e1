//! Loops over arrays whose accesses can be reported together when the loop is left.
//!
//! A loop of the shape that compilers give to `for (i = a; …; i += c) … array[i + k] …`: it is entered at its first
//! instruction only, its instructions lie one after the other, and nothing in it can synchronize, so that it does
//! not matter where in it an access is reported. An access takes part if every round comes to it, the array is in a variable
//! that the loop does not assign or in a final field of `this`, and the index is a variable to which every round adds the
//! same constant, plus a constant. The elements are then known from the variable's first and last value.
//!
//! Whatever else the loop accesses has probes of its own. Two things are taken for harmless that need not be: that a field
//! of another class is resolved, which may call a class loader of the program, and that a final field keeps its value.

mod shape;
mod values;

use unsnarl_classfile::edit::{CodeEditor, LabelId, NodeId, PoolEditor};
use unsnarl_classfile::read::Constant;
use unsnarl_classfile::{ConstantIndex, Instruction, Opcode};
use unsnarl_recording::Volatility;

use self::shape::{Region, Text};
use self::values::Accesses;
use crate::pure_calls::PureMethods;

/// More accesses than these have probes of their own.
const MOST_ACCESSES: usize = 16;

/// A loop whose accesses to arrays are reported when it is left.
#[derive(Debug)]
pub(crate) struct ArrayLoop {
    /// The first and the last instruction; the last one jumps back.
    pub(crate) first: NodeId,
    pub(crate) last: NodeId,
    /// The variable that counts, and what every round adds to it.
    pub(crate) counter: u16,
    pub(crate) step: i16,
    /// In the order of the text.
    pub(crate) accesses: Vec<LoopAccess>,
    pub(crate) exits: Vec<Exit>,
}

/// An access that every round of a loop comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoopAccess {
    pub(crate) node: NodeId,
    pub(crate) array: ArrayPlace,
    /// The index is the value that the counter has when the round begins, plus this.
    pub(crate) offset: i16,
    pub(crate) is_write: bool,
}

/// Where an array is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrayPlace {
    Local(u16),
    FieldOfThis(ConstantIndex),
}

/// How a loop is left, but for exceptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// By a jump under a condition, to this label.
    Branches(NodeId, LabelId),
    /// By a `goto` or a return.
    Leaves(NodeId),
    /// By going on after the last instruction.
    FallsOut,
}

/// What is to be looked at.
pub(crate) struct Method<'m> {
    pub(crate) code: &'m CodeEditor,
    /// The class that declares it.
    pub(crate) class: &'m [u8],
    /// Whether `this` is there and its final fields have their values.
    pub(crate) has_constructed_this: bool,
    pub(crate) volatility: &'m dyn Fn(ConstantIndex) -> Volatility,
    pub(crate) pure_methods: &'m PureMethods,
}

/// The loops of a method, none of which contains another.
pub(crate) fn find(method: &Method<'_>, pool: &PoolEditor<'_>) -> Vec<ArrayLoop> {
    let text = Text::new(method.code);
    text.regions()
        .into_iter()
        .filter(|region| {
            text.within(region).iter().all(|(_, it)| !may_synchronize(method, it, pool))
        })
        .filter_map(|region| array_loop(method, &text, &region, pool))
        .collect()
}

fn array_loop(
    method: &Method<'_>,
    text: &Text<'_>,
    region: &Region,
    pool: &PoolEditor<'_>,
) -> Option<ArrayLoop> {
    let exits = text.exits(region)?;
    let found = Accesses::find(method, text, region, pool)?;
    let (counter, step, mut accesses) = found.of_one_counter()?;
    accesses.truncate(MOST_ACCESSES);
    let within = text.within(region);
    let (first, last) = (within.first()?.0, within.last()?.0);
    Some(ArrayLoop { first, last, counter, step, accesses, exits })
}

/// Whether an instruction may release or acquire something, or run code that does.
fn may_synchronize(
    method: &Method<'_>,
    instruction: &Instruction<LabelId>,
    pool: &PoolEditor<'_>,
) -> bool {
    match *instruction {
        Instruction::Plain(opcode) => {
            matches!(opcode, Opcode::MonitorEnter | Opcode::MonitorExit)
        }
        Instruction::Local { .. }
        | Instruction::Push { .. }
        | Instruction::Increment { .. }
        | Instruction::Jump { .. }
        | Instruction::TableSwitch { .. }
        | Instruction::LookupSwitch { .. }
        | Instruction::NewArray { .. } => false,
        Instruction::LoadConstant { constant, .. } => !is_simple(pool.get(constant)),
        Instruction::Field { opcode, field } => {
            let is_plain =
                matches!((method.volatility)(field), Volatility::Plain | Volatility::Final);
            let is_static = matches!(opcode, Opcode::GetStatic | Opcode::PutStatic);
            let is_own = pool.member(field).is_some_and(|field| field.class == method.class);
            !is_plain || is_static && !is_own
        }
        Instruction::Invoke { opcode, method: called } => !pool.member(called).is_some_and(|it| {
            method.pure_methods.call(opcode, it.class, it.name, it.descriptor).is_some()
        }),
        Instruction::InvokeDynamic { .. }
        | Instruction::Type { .. }
        | Instruction::MultiNewArray { .. } => true,
    }
}

/// Whether a constant can be loaded without loading a class or calling a bootstrap method.
pub(crate) fn is_simple(constant: Option<Constant<'_>>) -> bool {
    matches!(
        constant,
        Some(
            Constant::Integer(_)
                | Constant::Float(_)
                | Constant::Long(_)
                | Constant::Double(_)
                | Constant::String { .. }
        )
    )
}
