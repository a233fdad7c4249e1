//! Probes put at random places of real methods, some of them taken out again: without the probes the
//! written body is the old one, instruction by instruction and jump by jump, and so are its tables.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::HashMap;
use std::sync::OnceLock;

use proptest::prelude::*;
use unsnarl_classfile::edit::{ClassEditor, CodeEditor};
use unsnarl_classfile::read::{Attribute, ClassFile, Code};
use unsnarl_classfile::{Instruction, Opcode, Pc};

/// With all the probes that a case can have, a body of this length needs no long jumps.
const MAX_LENGTH: u16 = 20_000;

/// No instruction of the JDK pushes this.
const MARK: i16 = -23_456;

/// Some hundred classes, small and large.
fn classes() -> &'static [Vec<u8>] {
    static CLASSES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    CLASSES.get_or_init(|| {
        let jdks = support::jdks();
        let modules = ["java.base", "jdk.compiler"];
        let sample = |jdk: &support::Jdk| {
            let classes = jdk.classes(Some(&modules));
            classes.iter().step_by(31).map(|class| jdk.bytes(class)).collect::<Vec<_>>()
        };
        jdks.iter().flat_map(sample).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn probes_can_be_taken_out_again(
        class in any::<prop::sample::Index>(),
        edits in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..3u8, 1..40usize), 1..60
        ),
    ) {
        let bytes = class.get(classes());
        let before = ClassFile::read(bytes).unwrap();
        let mut editor = ClassEditor::open(bytes).unwrap();
        for (method, original) in editor.methods.keys().zip(&before.methods) {
            let code = before.code(original).unwrap();
            if code.is_some_and(|code| code.length() <= MAX_LENGTH) {
                let mut code = editor.open_code(method).unwrap().unwrap();
                edit(&mut code, &edits);
                editor.set_code(method, &code).unwrap();
            }
        }
        let written = editor.write().unwrap();
        let after = ClassFile::read(&written).unwrap();
        for (old, new) in before.methods.iter().zip(&after.methods) {
            let Some(old) = before.code(old).unwrap() else { continue };
            let new = after.code(new).unwrap().unwrap();
            prop_assert_eq!(strip(&before, &old), strip(&after, &new));
        }
    }
}

/// Inserts probes before or after instructions, and removes some of them.
fn edit(code: &mut CodeEditor, edits: &[(prop::sample::Index, u8, usize)]) {
    code.grow_stack(1);
    let nodes: Vec<_> = code.instructions().map(|(node, _)| node).collect();
    let mut probes = Vec::new();
    for (place, kind, count) in edits {
        let node = nodes[place.index(nodes.len())];
        for _ in 0..*count {
            let push = Instruction::Push { opcode: Opcode::SiPush, value: MARK };
            let first = if *kind == 0 && !code.instruction(node).unwrap().ends_flow() {
                code.insert_after(node, push)
            } else {
                code.insert_before(node, push)
            };
            probes.push((first, code.insert_after(first, Instruction::Plain(Opcode::Pop))));
        }
        if *kind == 2 {
            let (push, pop) = probes.swap_remove(place.index(probes.len()));
            code.remove(push).unwrap();
            code.remove(pop).unwrap();
        }
    }
}

/// A body in terms of the numbers of its instructions, probes not counted.
#[derive(Debug, PartialEq)]
struct Stripped {
    instructions: Vec<Instruction<usize>>,
    handlers: Vec<(usize, usize, usize)>,
    lines: Vec<(usize, u16)>,
    frames: Vec<usize>,
    variables: Vec<(usize, u16)>,
}

fn strip(class: &ClassFile<'_>, code: &Code<'_>) -> Stripped {
    let all: Vec<_> = code.instructions().map(Result::unwrap).collect();
    let is_mark = |i: &Instruction<Pc>| matches!(i, Instruction::Push { value: MARK, .. });
    let mut number = HashMap::new();
    let mut kept = Vec::new();
    let mut rest = all.into_iter();
    while let Some((pc, instruction)) = rest.next() {
        number.insert(pc.0, kept.len());
        if is_mark(&instruction) {
            let (pop, _) = rest.next().unwrap();
            number.insert(pop.0, usize::MAX);
        } else {
            kept.push(instruction);
        }
    }
    number.insert(code.length(), kept.len());
    let number = |pc: Pc| *number.get(&pc.0).unwrap_or_else(|| panic!("nothing at {pc:?}"));
    let map = |instruction: Instruction<Pc>| {
        instruction.try_map_targets(|target| Ok::<_, ()>(number(target))).unwrap()
    };
    let mut stripped = Stripped {
        instructions: kept.into_iter().map(map).collect(),
        handlers: code
            .handlers
            .iter()
            .map(|entry| (number(entry.start), number(entry.end), number(entry.handler)))
            .collect(),
        lines: Vec::new(),
        frames: Vec::new(),
        variables: Vec::new(),
    };
    for attribute in code.attributes.iter() {
        match attribute.decode(&class.pool).unwrap() {
            Attribute::LineNumberTable(lines) => {
                stripped.lines = lines.iter().map(|l| (number(l.start), l.line)).collect();
            }
            Attribute::StackMapTable(frames) => {
                stripped.frames = frames.iter().map(|frame| number(frame.at)).collect();
            }
            Attribute::LocalVariableTable(variables) => {
                let range = |v: &unsnarl_classfile::read::LocalVariable| {
                    let end = number(Pc(v.start.0 + v.length));
                    (number(v.start) * 100_000 + end, v.local)
                };
                stripped.variables = variables.iter().map(range).collect();
            }
            _ => {}
        }
    }
    stripped
}
