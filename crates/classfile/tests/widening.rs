//! Jumps that became too long, switches at every alignment, and what the JVM makes of them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::build::{add_static, call_all, empty_class, filler, jump, local, plain};
use unsnarl_classfile::edit::{ClassEditor, CodeEditor};
use unsnarl_classfile::read::ClassFile;
use unsnarl_classfile::{Instruction, Opcode, VerificationType};

use Opcode::*;
use VerificationType::{Integer, Long, Object, Uninitialized};

const JAVA_8: u16 = 52;

/// A condition on ints, with its meaning.
type IntTest = (Opcode, fn(i32, i32) -> bool);
/// A condition on references, with its meaning.
type ObjectTest = (Opcode, fn(Option<&str>, Option<&str>) -> bool);

const ON_ZERO: [IntTest; 6] = [
    (IfEq, |a, _| a == 0),
    (IfNe, |a, _| a != 0),
    (IfLt, |a, _| a < 0),
    (IfGe, |a, _| a >= 0),
    (IfGt, |a, _| a > 0),
    (IfLe, |a, _| a <= 0),
];
const ON_INTS: [IntTest; 6] = [
    (IfICmpEq, |a, b| a == b),
    (IfICmpNe, |a, b| a != b),
    (IfICmpLt, |a, b| a < b),
    (IfICmpGe, |a, b| a >= b),
    (IfICmpGt, |a, b| a > b),
    (IfICmpLe, |a, b| a <= b),
];
const ON_NULL: [ObjectTest; 2] = [(IfNull, |a, _| a.is_none()), (IfNonNull, |a, _| a.is_some())];
const ON_OBJECTS: [ObjectTest; 2] = [(IfACmpEq, |a, b| a == b), (IfACmpNe, |a, b| a != b)];

/// `static int name(arguments) { return condition ? 1 : 0; }` with 33,000 bytes between.
///
/// Under the condition lie an uninitialized object (twice) and a long variable, so that the frame
/// after the jump has something to get wrong.
fn far_condition(class: &mut ClassEditor<'_>, opcode: Opcode, letter: &str, arguments: usize) {
    let name = format!("test_{}", opcode.mnemonic());
    let descriptor = format!("({})I", letter.repeat(arguments));
    add_static(class, &name, &descriptor, |code, class| {
        let object = class.pool.add_class(b"java/lang/Object").unwrap();
        let far = code.new_label();
        let wide_local = code.new_local(2);
        plain(code, &[LConst1]);
        local(code, LStore, wide_local);
        let new = code.append(Instruction::Type { opcode: New, class: object });
        plain(code, &[Dup]);
        for argument in 0..arguments {
            local(code, if letter == "I" { ILoad } else { ALoad }, argument as u16);
        }
        jump(code, opcode, far);
        filler(code, 33_000);
        finish(code, class, wide_local, IConst0);
        code.bind_at_end(far).unwrap();
        let argument = if letter == "I" { Integer } else { Object(object) };
        let mut locals = vec![argument; arguments];
        locals.push(Long);
        code.set_frame(far, locals, vec![Uninitialized(new); 2]);
        finish(code, class, wide_local, IConst1);
    });
}

/// Makes the object on the stack, adds the long variable (1) to `result` and takes it off again.
fn finish(code: &mut CodeEditor, class: &mut ClassEditor<'_>, wide_local: u16, result: Opcode) {
    let end = code.append(Instruction::Plain(IReturn));
    code.before(end, &mut class.pool)
        .invoke(
            InvokeSpecial,
            unsnarl_classfile::read::MemberKind::Method,
            "java/lang/Object",
            "<init>",
            "()V",
        )
        .unwrap()
        .plain(Pop)
        .plain(result)
        .plain(I2L)
        .local(LLoad, wide_local)
        .plain(LMul)
        .plain(L2I);
}

#[test]
fn every_condition_reaches_far() {
    let bytes = empty_class("Far", JAVA_8);
    let mut class = ClassEditor::open(&bytes).unwrap();
    let mut expected = Vec::new();
    let ints = [-1, 0, 1];
    let texts = [None, Some("a"), Some("b")];
    let shown = |text: Option<&str>| text.unwrap_or("null").to_owned();
    for (opcode, test) in ON_ZERO {
        far_condition(&mut class, opcode, "I", 1);
        for a in ints {
            expected.push(format!("test_{opcode}({a}) = {}", i32::from(test(a, 0))));
        }
    }
    for (opcode, test) in ON_INTS {
        far_condition(&mut class, opcode, "I", 2);
        for (a, b) in ints.into_iter().flat_map(|a| ints.map(|b| (a, b))) {
            expected.push(format!("test_{opcode}({a},{b}) = {}", i32::from(test(a, b))));
        }
    }
    for (opcode, test) in ON_NULL {
        far_condition(&mut class, opcode, "Ljava/lang/Object;", 1);
        for a in texts {
            expected.push(format!("test_{opcode}({}) = {}", shown(a), i32::from(test(a, None))));
        }
    }
    for (opcode, test) in ON_OBJECTS {
        far_condition(&mut class, opcode, "Ljava/lang/Object;", 2);
        for (a, b) in texts.into_iter().flat_map(|a| texts.map(|b| (a, b))) {
            let result = i32::from(test(a, b));
            expected.push(format!("test_{opcode}({},{}) = {result}", shown(a), shown(b)));
        }
    }
    let written = class.write().unwrap();
    for jdk in support::jdks() {
        let output = call_all(&jdk, "Far", &written);
        let mut lines: Vec<_> = output.lines().map(str::to_owned).collect();
        lines.sort();
        expected.sort();
        assert_eq!(lines, expected, "{}", jdk.name());
    }
}

/// A loop whose body is too long for the jump back, with all of `goto`, a condition after which a
/// frame already stands, and one after which none does.
#[test]
fn jumps_reach_far_back() {
    let bytes = empty_class("Back", JAVA_8);
    let mut class = ClassEditor::open(&bytes).unwrap();
    add_static(&mut class, "conditional", "(I)I", |code, _| {
        let counter = code.new_local(1);
        let start = code.new_label();
        plain(code, &[IConst0]);
        local(code, IStore, counter);
        code.bind_at_end(start).unwrap();
        code.set_frame(start, vec![Integer, Integer], vec![]);
        filler(code, 40_000);
        code.append(Instruction::Increment { local: counter, amount: 1 });
        local(code, ILoad, counter);
        code.append(Instruction::Push { opcode: BiPush, value: 5 });
        jump(code, IfICmpLt, start);
        local(code, ILoad, counter);
        plain(code, &[IReturn]);
    });
    add_static(&mut class, "unconditional", "(I)I", |code, _| {
        let counter = code.new_local(1);
        let [start, go_on] = [code.new_label(), code.new_label()];
        plain(code, &[IConst0]);
        local(code, IStore, counter);
        code.bind_at_end(start).unwrap();
        code.set_frame(start, vec![Integer, Integer], vec![]);
        filler(code, 40_000);
        code.append(Instruction::Increment { local: counter, amount: 1 });
        local(code, ILoad, counter);
        code.append(Instruction::Push { opcode: BiPush, value: 7 });
        jump(code, IfICmpNe, go_on);
        local(code, ILoad, counter);
        plain(code, &[IReturn]);
        code.bind_at_end(go_on).unwrap();
        code.set_frame(go_on, vec![Integer, Integer], vec![]);
        jump(code, Goto, start);
    });
    add_static(&mut class, "with_frame_behind", "(I)I", |code, _| {
        let [start, end] = [code.new_label(), code.new_label()];
        code.bind_at_end(start).unwrap();
        code.set_frame(start, vec![Integer], vec![]);
        filler(code, 40_000);
        code.append(Instruction::Increment { local: 0, amount: 1 });
        local(code, ILoad, 0);
        jump(code, IfLe, start);
        code.bind_at_end(end).unwrap();
        code.set_frame(end, vec![Integer], vec![]);
        code.append(Instruction::Increment { local: 0, amount: 1 });
        local(code, ILoad, 0);
        code.append(Instruction::Push { opcode: BiPush, value: 9 });
        jump(code, IfICmpLt, end);
        local(code, ILoad, 0);
        plain(code, &[IReturn]);
    });
    let written = class.write().unwrap();
    let opcodes = opcodes_of(&written);
    assert_eq!(opcodes.iter().filter(|&&opcode| opcode == GotoW).count(), 3);
    for jdk in support::jdks() {
        let output = call_all(&jdk, "Back", &written);
        for line in [
            "conditional(0) = 5",
            "unconditional(0) = 7",
            "with_frame_behind(-1) = 9",
            "with_frame_behind(1) = 9",
        ] {
            assert!(output.contains(line), "{output}");
        }
    }
}

/// Before stack map frames there were subroutines.
#[test]
fn subroutines_reach_far() {
    let bytes = empty_class("Subroutine", 48);
    let mut class = ClassEditor::open(&bytes).unwrap();
    add_static(&mut class, "far", "(I)I", |code, _| {
        let address = code.new_local(1);
        let subroutine = code.new_label();
        jump(code, Jsr, subroutine);
        local(code, ILoad, 0);
        plain(code, &[IReturn]);
        filler(code, 33_000);
        code.bind_at_end(subroutine).unwrap();
        local(code, AStore, address);
        code.append(Instruction::Increment { local: 0, amount: 100 });
        code.append(Instruction::Local { opcode: Ret, local: address });
    });
    let written = class.write().unwrap();
    assert!(opcodes_of(&written).contains(&JsrW));
    for jdk in support::jdks() {
        let output = call_all(&jdk, "Subroutine", &written);
        assert!(output.contains("far(-1) = 99\nfar(0) = 100\nfar(1) = 101"), "{output}");
    }
}

/// Version 50 may go without frames; one frame among none would be worse than none.
#[test]
fn a_body_without_frames_gets_none() {
    let bytes = empty_class("Frameless", 50);
    let mut class = ClassEditor::open(&bytes).unwrap();
    let method = add_static(&mut class, "negative", "(I)I", |code, _| {
        let negative = code.new_label();
        local(code, ILoad, 0);
        jump(code, IfLt, negative);
        plain(code, &[IConst0, IReturn]);
        code.bind_at_end(negative).unwrap();
        plain(code, &[IConst1, IReturn]);
    });
    let mut code = class.open_code(method).unwrap().unwrap();
    let (node, _) = code.instructions().nth(2).unwrap();
    for _ in 0..33_000 {
        code.insert_before(node, Instruction::Plain(Nop));
    }
    class.set_code(method, &code).unwrap();
    let written = class.write().unwrap();
    let read = ClassFile::read(&written).unwrap();
    let code = read.code(&read.methods[0]).unwrap().unwrap();
    assert!(code.attributes.is_empty() && opcodes_of(&written).contains(&GotoW));
    for jdk in support::jdks() {
        let output = call_all(&jdk, "Frameless", &written);
        assert!(output.contains("negative(-1) = 1\nnegative(0) = 0"), "{output}");
    }
}

#[test]
fn switches_are_padded_at_every_alignment() {
    let bytes = empty_class("Switch", JAVA_8);
    let mut class = ClassEditor::open(&bytes).unwrap();
    for alignment in 0..4 {
        for table in [true, false] {
            let name = format!("{}{alignment}", if table { "table" } else { "lookup" });
            add_static(&mut class, &name, "(I)I", |code, _| {
                filler(code, alignment);
                local(code, ILoad, 0);
                let [default, zero, one] = std::array::from_fn(|_| code.new_label());
                code.append(if table {
                    Instruction::TableSwitch { default, low: 0, targets: vec![zero, one] }
                } else {
                    Instruction::LookupSwitch { default, cases: vec![(0, zero), (1, one)] }
                });
                for (label, value) in [(zero, 10), (one, 11), (default, 99)] {
                    code.bind_at_end(label).unwrap();
                    code.set_frame(label, vec![Integer], vec![]);
                    code.append(Instruction::Push { opcode: BiPush, value });
                    plain(code, &[IReturn]);
                }
            });
        }
    }
    let written = class.write().unwrap();
    for jdk in support::jdks() {
        let output = call_all(&jdk, "Switch", &written);
        for name in ["table", "lookup"] {
            for alignment in 0..4 {
                for (key, value) in [(-1, 99), (0, 10), (1, 11)] {
                    let line = format!("{name}{alignment}({key}) = {value}");
                    assert!(output.contains(&line), "{line} is missing in {output}");
                }
            }
        }
    }
}

/// Locals and constants beyond 255 take their wide forms.
#[test]
fn wide_operands_are_written_when_needed() {
    let bytes = empty_class("Wide", JAVA_8);
    let mut class = ClassEditor::open(&bytes).unwrap();
    for value in 0..300 {
        class.pool.add_integer(100_000 + value).unwrap();
    }
    add_static(&mut class, "sum", "(I)I", |code, class| {
        code.max_locals = 400;
        let end = code.append(Instruction::Plain(IReturn));
        let mut here = code.before(end, &mut class.pool);
        here.local(ILoad, 0).local(IStore, 300);
        here.instruction(Instruction::Increment { local: 300, amount: 1000 });
        here.instruction(Instruction::Increment { local: 300, amount: 1 });
        here.local(ILoad, 300).int(100_299).unwrap().plain(IAdd);
        here.int(200).unwrap().plain(IAdd).int(7).unwrap().plain(IAdd).int(-1).unwrap().plain(IAdd);
    });
    let written = class.write().unwrap();
    assert!(opcodes_of(&written).contains(&LdcW));
    for jdk in support::jdks() {
        let output = call_all(&jdk, "Wide", &written);
        assert!(output.contains("sum(0) = 101506"), "{output}");
    }
}

fn opcodes_of(bytes: &[u8]) -> Vec<Opcode> {
    let class = ClassFile::read(bytes).unwrap();
    let bodies = class.methods.iter().map(|method| class.code(method).unwrap().unwrap());
    bodies
        .flat_map(|code| code.instructions())
        .map(|instruction| instruction.unwrap().1.opcode())
        .collect()
}
