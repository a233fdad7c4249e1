//! The 202 instructions of the JVM (JVMS 6.5).

macro_rules! opcodes {
    ($($variant:ident $mnemonic:literal)+) => {
        /// An instruction of the JVM. The variants are its mnemonics, in the order of their numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "the names are the documentation")]
        pub enum Opcode { $($variant),+ }

        const ALL: &[Opcode] = &[$(Opcode::$variant),+];
        const MNEMONICS: &[&str] = &[$($mnemonic),+];
    };
}

opcodes! {
    Nop "nop" AConstNull "aconst_null" IConstM1 "iconst_m1" IConst0 "iconst_0" IConst1 "iconst_1"
    IConst2 "iconst_2" IConst3 "iconst_3" IConst4 "iconst_4" IConst5 "iconst_5" LConst0 "lconst_0"
    LConst1 "lconst_1" FConst0 "fconst_0" FConst1 "fconst_1" FConst2 "fconst_2" DConst0 "dconst_0"
    DConst1 "dconst_1" BiPush "bipush" SiPush "sipush" Ldc "ldc" LdcW "ldc_w" Ldc2W "ldc2_w"
    ILoad "iload" LLoad "lload" FLoad "fload" DLoad "dload" ALoad "aload" ILoad0 "iload_0"
    ILoad1 "iload_1" ILoad2 "iload_2" ILoad3 "iload_3" LLoad0 "lload_0" LLoad1 "lload_1"
    LLoad2 "lload_2" LLoad3 "lload_3" FLoad0 "fload_0" FLoad1 "fload_1" FLoad2 "fload_2"
    FLoad3 "fload_3" DLoad0 "dload_0" DLoad1 "dload_1" DLoad2 "dload_2" DLoad3 "dload_3"
    ALoad0 "aload_0" ALoad1 "aload_1" ALoad2 "aload_2" ALoad3 "aload_3" IALoad "iaload"
    LALoad "laload" FALoad "faload" DALoad "daload" AALoad "aaload" BALoad "baload"
    CALoad "caload" SALoad "saload" IStore "istore" LStore "lstore" FStore "fstore"
    DStore "dstore" AStore "astore" IStore0 "istore_0" IStore1 "istore_1" IStore2 "istore_2"
    IStore3 "istore_3" LStore0 "lstore_0" LStore1 "lstore_1" LStore2 "lstore_2" LStore3 "lstore_3"
    FStore0 "fstore_0" FStore1 "fstore_1" FStore2 "fstore_2" FStore3 "fstore_3" DStore0 "dstore_0"
    DStore1 "dstore_1" DStore2 "dstore_2" DStore3 "dstore_3" AStore0 "astore_0" AStore1 "astore_1"
    AStore2 "astore_2" AStore3 "astore_3" IAStore "iastore" LAStore "lastore" FAStore "fastore"
    DAStore "dastore" AAStore "aastore" BAStore "bastore" CAStore "castore" SAStore "sastore"
    Pop "pop" Pop2 "pop2" Dup "dup" DupX1 "dup_x1" DupX2 "dup_x2" Dup2 "dup2" Dup2X1 "dup2_x1"
    Dup2X2 "dup2_x2" Swap "swap" IAdd "iadd" LAdd "ladd" FAdd "fadd" DAdd "dadd" ISub "isub"
    LSub "lsub" FSub "fsub" DSub "dsub" IMul "imul" LMul "lmul" FMul "fmul" DMul "dmul"
    IDiv "idiv" LDiv "ldiv" FDiv "fdiv" DDiv "ddiv" IRem "irem" LRem "lrem" FRem "frem"
    DRem "drem" INeg "ineg" LNeg "lneg" FNeg "fneg" DNeg "dneg" IShl "ishl" LShl "lshl"
    IShr "ishr" LShr "lshr" IUshr "iushr" LUshr "lushr" IAnd "iand" LAnd "land" IOr "ior"
    LOr "lor" IXor "ixor" LXor "lxor" IInc "iinc" I2L "i2l" I2F "i2f" I2D "i2d" L2I "l2i"
    L2F "l2f" L2D "l2d" F2I "f2i" F2L "f2l" F2D "f2d" D2I "d2i" D2L "d2l" D2F "d2f" I2B "i2b"
    I2C "i2c" I2S "i2s" LCmp "lcmp" FCmpL "fcmpl" FCmpG "fcmpg" DCmpL "dcmpl" DCmpG "dcmpg"
    IfEq "ifeq" IfNe "ifne" IfLt "iflt" IfGe "ifge" IfGt "ifgt" IfLe "ifle" IfICmpEq "if_icmpeq"
    IfICmpNe "if_icmpne" IfICmpLt "if_icmplt" IfICmpGe "if_icmpge" IfICmpGt "if_icmpgt"
    IfICmpLe "if_icmple" IfACmpEq "if_acmpeq" IfACmpNe "if_acmpne" Goto "goto" Jsr "jsr" Ret "ret"
    TableSwitch "tableswitch" LookupSwitch "lookupswitch" IReturn "ireturn" LReturn "lreturn"
    FReturn "freturn" DReturn "dreturn" AReturn "areturn" Return "return" GetStatic "getstatic"
    PutStatic "putstatic" GetField "getfield" PutField "putfield" InvokeVirtual "invokevirtual"
    InvokeSpecial "invokespecial" InvokeStatic "invokestatic" InvokeInterface "invokeinterface"
    InvokeDynamic "invokedynamic" New "new" NewArray "newarray" ANewArray "anewarray"
    ArrayLength "arraylength" AThrow "athrow" CheckCast "checkcast" InstanceOf "instanceof"
    MonitorEnter "monitorenter" MonitorExit "monitorexit" Wide "wide"
    MultiANewArray "multianewarray" IfNull "ifnull" IfNonNull "ifnonnull" GotoW "goto_w"
    JsrW "jsr_w"
}

impl Opcode {
    /// The instruction with this number, if there is one.
    pub fn from_byte(byte: u8) -> Option<Self> {
        ALL.get(usize::from(byte)).copied()
    }

    /// The number in the class file.
    pub fn byte(self) -> u8 {
        self as u8
    }

    /// The name in the specification.
    pub fn mnemonic(self) -> &'static str {
        MNEMONICS[usize::from(self.byte())]
    }

    /// Whether it stands alone: no operands, and none implied as in `aload_0`.
    pub fn is_plain(self) -> bool {
        use Opcode::*;
        let has_operands = |first, last| (first..=last).contains(&self);
        !(has_operands(BiPush, ALoad3)
            || has_operands(IStore, AStore3)
            || self == IInc
            || has_operands(IfEq, LookupSwitch)
            || has_operands(GetStatic, ANewArray)
            || has_operands(CheckCast, InstanceOf)
            || has_operands(Wide, JsrW))
    }

    /// For the short form of a load or store such as `aload_2`, its long form and the variable.
    pub fn implied_local(self) -> Option<(Self, u16)> {
        let (short, long) = match self {
            _ if (Self::ILoad0..=Self::ALoad3).contains(&self) => (Self::ILoad0, Self::ILoad),
            _ if (Self::IStore0..=Self::AStore3).contains(&self) => (Self::IStore0, Self::IStore),
            _ => return None,
        };
        let distance = self.byte() - short.byte();
        let long = ALL[usize::from(long.byte() + distance / 4)];
        Some((long, u16::from(distance % 4)))
    }

    /// The long form of a load or store such as `aload_2`; any other opcode itself.
    #[must_use]
    pub fn long_form(self) -> Self {
        self.implied_local().map_or(self, |(long, _)| long)
    }

    /// For the long form of a load or store and a variable from 0 to 3, the short form.
    pub fn with_implied_local(self, local: u16) -> Option<Self> {
        let (short, long) = match self {
            _ if (Self::ILoad..=Self::ALoad).contains(&self) => (Self::ILoad0, Self::ILoad),
            _ if (Self::IStore..=Self::AStore).contains(&self) => (Self::IStore0, Self::IStore),
            _ => return None,
        };
        let kind = self.byte() - long.byte();
        (local < 4).then(|| ALL[usize::from(short.byte() + 4 * kind) + usize::from(local)])
    }

    /// For a conditional jump, the one that jumps exactly when this one does not.
    pub fn negated(self) -> Option<Self> {
        use Opcode::*;
        Some(match self {
            IfEq => IfNe,
            IfNe => IfEq,
            IfLt => IfGe,
            IfGe => IfLt,
            IfGt => IfLe,
            IfLe => IfGt,
            IfICmpEq => IfICmpNe,
            IfICmpNe => IfICmpEq,
            IfICmpLt => IfICmpGe,
            IfICmpGe => IfICmpLt,
            IfICmpGt => IfICmpLe,
            IfICmpLe => IfICmpGt,
            IfACmpEq => IfACmpNe,
            IfACmpNe => IfACmpEq,
            IfNull => IfNonNull,
            IfNonNull => IfNull,
            _ => return None,
        })
    }
}

impl std::fmt::Display for Opcode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.mnemonic())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_agree_with_the_specification() {
        for (byte, name) in [
            (0x00, "nop"),
            (0x15, "iload"),
            (0x2a, "aload_0"),
            (0x36, "istore"),
            (0x57, "pop"),
            (0x60, "iadd"),
            (0x84, "iinc"),
            (0x99, "ifeq"),
            (0xa7, "goto"),
            (0xac, "ireturn"),
            (0xb6, "invokevirtual"),
            (0xc4, "wide"),
            (0xc9, "jsr_w"),
        ] {
            let opcode = Opcode::from_byte(byte).unwrap();
            assert_eq!((opcode.byte(), opcode.mnemonic()), (byte, name));
        }
        assert_eq!(Opcode::from_byte(0xca), None);
    }

    #[test]
    fn short_forms_and_long_forms_belong_together() {
        assert_eq!(Opcode::ALoad2.implied_local(), Some((Opcode::ALoad, 2)));
        assert_eq!(Opcode::LStore3.implied_local(), Some((Opcode::LStore, 3)));
        assert_eq!(Opcode::ALoad.implied_local(), None);
        for &opcode in ALL {
            if let Some((long, local)) = opcode.implied_local() {
                assert_eq!(long.with_implied_local(local), Some(opcode));
                assert_eq!(long.with_implied_local(4), None);
            }
        }
        assert_eq!(Opcode::Ret.with_implied_local(0), None);
    }

    #[test]
    fn negation_is_its_own_inverse() {
        let conditional: Vec<_> = ALL.iter().filter_map(|o| Some((o, o.negated()?))).collect();
        assert_eq!(conditional.len(), 16);
        for (opcode, negated) in conditional {
            assert_eq!(negated.negated(), Some(*opcode));
        }
    }
}
