//! One instruction with its operands, the same shape for reading (targets are offsets) and for
//! editing (targets are labels).

use crate::{ConstantIndex, Opcode};

/// The offset of an instruction in its method's code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pc(pub u16);

impl std::fmt::Debug for Pc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "@{}", self.0)
    }
}

/// An instruction; `T` is what jumps lead to.
///
/// `wide` is not an instruction here: operands have room for the wide form, and the writer takes it
/// when it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction<T> {
    /// An instruction without operands.
    Plain(Opcode),
    /// `bipush` and `sipush`.
    Push {
        /// Which of the two.
        opcode: Opcode,
        /// The number to push.
        value: i16,
    },
    /// `ldc`, `ldc_w` and `ldc2_w`.
    LoadConstant {
        /// Which of the three; `ldc` becomes `ldc_w` when the index needs it.
        opcode: Opcode,
        /// What to load.
        constant: ConstantIndex,
    },
    /// A load or store of a local variable in its long or short form (`aload`, `aload_0`), or `ret`.
    Local {
        /// Type, direction and form.
        opcode: Opcode,
        /// The variable; for the short forms it repeats what the opcode says.
        local: u16,
    },
    /// `iinc`.
    Increment {
        /// The variable.
        local: u16,
        /// What to add.
        amount: i16,
    },
    /// A conditional or unconditional jump, also `jsr`.
    Jump {
        /// The condition, and whether it is the wide form of `goto` or `jsr`.
        opcode: Opcode,
        /// Where to.
        target: T,
    },
    /// `tableswitch`.
    TableSwitch {
        /// Where to go with any other key.
        default: T,
        /// The key of the first target.
        low: i32,
        /// One target a key.
        targets: Vec<T>,
    },
    /// `lookupswitch`.
    LookupSwitch {
        /// Where to go with any other key.
        default: T,
        /// Keys, ascending, and their targets.
        cases: Vec<(i32, T)>,
    },
    /// Access to a field.
    Field {
        /// Direction, and whether it is static.
        opcode: Opcode,
        /// A field reference.
        field: ConstantIndex,
    },
    /// A call of a method, but for `invokedynamic`. The argument count that `invokeinterface` carries
    /// follows from the descriptor and is not kept.
    Invoke {
        /// The kind of call.
        opcode: Opcode,
        /// A method reference.
        method: ConstantIndex,
    },
    /// `invokedynamic`.
    InvokeDynamic {
        /// A dynamic call site.
        call_site: ConstantIndex,
    },
    /// `new`, `anewarray`, `checkcast` and `instanceof`.
    Type {
        /// Which of the four.
        opcode: Opcode,
        /// The class or array type.
        class: ConstantIndex,
    },
    /// `newarray`.
    NewArray {
        /// The number of the element type (table 6.5.newarray-A): 4 `boolean` to 11 `long`.
        element: u8,
    },
    /// `multianewarray`.
    MultiNewArray {
        /// The array type.
        class: ConstantIndex,
        /// How many dimensions are created.
        dimensions: u8,
    },
}

impl<T> Instruction<T> {
    /// A load or store in its shortest form; `opcode` is the long one, such as `aload`.
    pub fn local(opcode: Opcode, local: u16) -> Self {
        Self::Local { opcode: opcode.with_implied_local(local).unwrap_or(opcode), local }
    }

    /// Its opcode.
    pub fn opcode(&self) -> Opcode {
        match *self {
            Self::Plain(opcode)
            | Self::Push { opcode, .. }
            | Self::LoadConstant { opcode, .. }
            | Self::Local { opcode, .. }
            | Self::Jump { opcode, .. }
            | Self::Field { opcode, .. }
            | Self::Invoke { opcode, .. }
            | Self::Type { opcode, .. } => opcode,
            Self::Increment { .. } => Opcode::IInc,
            Self::TableSwitch { .. } => Opcode::TableSwitch,
            Self::LookupSwitch { .. } => Opcode::LookupSwitch,
            Self::InvokeDynamic { .. } => Opcode::InvokeDynamic,
            Self::NewArray { .. } => Opcode::NewArray,
            Self::MultiNewArray { .. } => Opcode::MultiANewArray,
        }
    }

    /// Whether the opcode is one of those that its variant is for, and `newarray` has an element type.
    /// What the reader makes always fits.
    pub fn is_well_formed(&self) -> bool {
        use Opcode::*;
        match *self {
            Self::Plain(opcode) => opcode.is_plain(),
            Self::Push { opcode, .. } => matches!(opcode, BiPush | SiPush),
            Self::LoadConstant { opcode, .. } => matches!(opcode, Ldc | LdcW | Ldc2W),
            Self::Local { opcode, .. } => {
                opcode == Ret
                    || (ILoad..=ALoad3).contains(&opcode)
                    || (IStore..=AStore3).contains(&opcode)
            }
            Self::Jump { opcode, .. } => {
                opcode.negated().is_some() || matches!(opcode, Goto | GotoW | Jsr | JsrW)
            }
            Self::Field { opcode, .. } => (GetStatic..=PutField).contains(&opcode),
            Self::Invoke { opcode, .. } => (InvokeVirtual..=InvokeInterface).contains(&opcode),
            Self::Type { opcode, .. } => matches!(opcode, New | ANewArray | CheckCast | InstanceOf),
            Self::NewArray { element } => (4..=11).contains(&element),
            Self::Increment { .. }
            | Self::TableSwitch { .. }
            | Self::LookupSwitch { .. }
            | Self::InvokeDynamic { .. }
            | Self::MultiNewArray { .. } => true,
        }
    }

    /// Whether control never goes on to the next instruction.
    pub fn ends_flow(&self) -> bool {
        use Opcode::*;
        matches!(
            self.opcode(),
            Goto | GotoW
                | Ret
                | TableSwitch
                | LookupSwitch
                | IReturn
                | LReturn
                | FReturn
                | DReturn
                | AReturn
                | Return
                | AThrow
        )
    }

    /// Where it may jump to, with repetitions.
    pub fn targets(&self) -> impl Iterator<Item = &T> {
        let (first, table, cases): (Option<&T>, &[T], &[(i32, T)]) = match self {
            Self::Jump { target, .. } => (Some(target), &[], &[]),
            Self::TableSwitch { default, targets, .. } => (Some(default), targets, &[]),
            Self::LookupSwitch { default, cases } => (Some(default), &[], cases),
            _ => (None, &[], &[]),
        };
        first.into_iter().chain(table).chain(cases.iter().map(|(_, target)| target))
    }

    /// The same instruction with other targets; an error of `map` is passed on.
    pub fn try_map_targets<U, E>(
        self,
        mut map: impl FnMut(T) -> Result<U, E>,
    ) -> Result<Instruction<U>, E> {
        Ok(match self {
            Self::Plain(opcode) => Instruction::Plain(opcode),
            Self::Push { opcode, value } => Instruction::Push { opcode, value },
            Self::LoadConstant { opcode, constant } => {
                Instruction::LoadConstant { opcode, constant }
            }
            Self::Local { opcode, local } => Instruction::Local { opcode, local },
            Self::Increment { local, amount } => Instruction::Increment { local, amount },
            Self::Jump { opcode, target } => Instruction::Jump { opcode, target: map(target)? },
            Self::TableSwitch { default, low, targets } => Instruction::TableSwitch {
                default: map(default)?,
                low,
                targets: targets.into_iter().map(map).collect::<Result<_, _>>()?,
            },
            Self::LookupSwitch { default, cases } => Instruction::LookupSwitch {
                default: map(default)?,
                cases: cases
                    .into_iter()
                    .map(|(key, target)| Ok((key, map(target)?)))
                    .collect::<Result<_, _>>()?,
            },
            Self::Field { opcode, field } => Instruction::Field { opcode, field },
            Self::Invoke { opcode, method } => Instruction::Invoke { opcode, method },
            Self::InvokeDynamic { call_site } => Instruction::InvokeDynamic { call_site },
            Self::Type { opcode, class } => Instruction::Type { opcode, class },
            Self::NewArray { element } => Instruction::NewArray { element },
            Self::MultiNewArray { class, dimensions } => {
                Instruction::MultiNewArray { class, dimensions }
            }
        })
    }
}
