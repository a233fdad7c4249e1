//! Another parser as a witness: on every class of java.base both see the same members, the same
//! instructions at the same offsets and the same handlers and frames.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use java_bytecode::raw::ParseOptions;
use java_bytecode::raw::attribute::{RawAttribute, RawAttributeCode};
use java_bytecode::raw::constant_pool::ConstantPoolIndex;
use java_bytecode::raw::file::RawClassFile;
use java_bytecode::simple::code::CodePos;
use unsnarl_classfile::mutf8;
use unsnarl_classfile::read::{Attribute, ClassFile, Code};

#[test]
fn another_parser_sees_the_same() {
    for jdk in support::jdks() {
        let classes = jdk.classes(Some(&["java.base"]));
        let instructions = std::sync::atomic::AtomicUsize::new(0);
        support::for_each(&classes, |class| {
            let bytes = jdk.bytes(class);
            let count = compare(&bytes, &class.path);
            instructions.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
        });
        unsnarl_testing::report(&format!(
            "{}: {} classes and {} instructions compared",
            jdk.name(),
            classes.len(),
            instructions.into_inner()
        ));
    }
}

fn compare(bytes: &[u8], path: &str) -> usize {
    let ours = ClassFile::read(bytes).unwrap();
    let theirs = RawClassFile::parse(bytes.to_vec().into(), ParseOptions::default()).unwrap();
    let text = |index: ConstantPoolIndex| theirs.constant_pool.entry_utf8(index).unwrap();
    assert_eq!(ours.major_version, theirs.major_version, "{path}");
    assert_eq!(ours.access, theirs.access_flags.bits(), "{path}");
    assert_eq!(ours.this_class.0, theirs.this_class.0, "{path}");
    let interfaces: Vec<_> = theirs.interfaces.iter().map(|index| index.0).collect();
    assert_eq!(ours.interfaces.iter().map(|i| i.0).collect::<Vec<_>>(), interfaces, "{path}");
    assert_eq!(ours.attributes.len(), theirs.attributes.attributes.len(), "{path}");

    assert_eq!(ours.fields.len(), theirs.fields.len(), "{path}");
    for (our, their) in ours.fields.iter().zip(&theirs.fields) {
        assert_eq!(mutf8::to_str(ours.member_name(our)), text(their.name_index), "{path}");
        let descriptor = mutf8::to_str(ours.member_descriptor(our));
        assert_eq!(descriptor, text(their.descriptor_index), "{path}");
        assert_eq!(our.access, their.access_flags.bits(), "{path}");
    }
    assert_eq!(ours.methods.len(), theirs.methods.len(), "{path}");
    let mut instructions = 0;
    for (our, their) in ours.methods.iter().zip(&theirs.methods) {
        let name = mutf8::to_str(ours.member_name(our));
        assert_eq!(name, text(their.name_index), "{path}");
        let descriptor = mutf8::to_str(ours.member_descriptor(our));
        assert_eq!(descriptor, text(their.descriptor_index), "{path}");
        assert_eq!(our.access, their.access_flags.bits(), "{path}");
        let code = their.attributes.attributes.iter().find_map(|attribute| match attribute {
            RawAttribute::Code(code) => Some(code),
            _ => None,
        });
        match (ours.code(our).unwrap(), code) {
            (None, None) => {}
            (Some(our), Some(their)) => {
                instructions += compare_code(&ours, &our, their, &format!("{path} {name}"));
            }
            _ => panic!("{path} {name}: only one sees a body"),
        }
    }
    instructions
}

fn compare_code(
    class: &ClassFile<'_>,
    ours: &Code<'_>,
    theirs: &RawAttributeCode,
    place: &str,
) -> usize {
    assert_eq!((ours.max_stack, ours.max_locals), (theirs.max_stack, theirs.max_locals), "{place}");
    let mut count = 0;
    for instruction in ours.instructions() {
        let (pc, instruction) = instruction.unwrap();
        let their = &theirs.code.instructions()[count];
        let offset = theirs.code.instr_to_byte(CodePos(count as u32)).unwrap();
        assert_eq!(
            (u32::from(pc.0), mnemonic(instruction.opcode().mnemonic())),
            (offset, mnemonic(&format!("{their:?}"))),
            "{place}"
        );
        count += 1;
    }
    assert_eq!(count, theirs.code.instructions().len(), "{place}");
    assert_eq!(ours.handlers.len(), theirs.exception_table.len(), "{place}");
    let frames = |attribute: &RawAttribute| match attribute {
        RawAttribute::StackMapTable(table) => Some(table.0.len()),
        _ => None,
    };
    let their_frames = theirs.attributes.attributes.iter().find_map(frames);
    let our_frames = ours.attributes.find(&class.pool, b"StackMapTable").unwrap();
    let our_frames = our_frames.map(|table| match table.decode(&class.pool).unwrap() {
        Attribute::StackMapTable(frames) => frames.len(),
        other => panic!("{other:?}"),
    });
    assert_eq!(our_frames, their_frames, "{place}");
    count
}

/// A name without case, underscores and operands. Wide forms are not instructions of their own here.
fn mnemonic(text: &str) -> String {
    let name = text.split(['(', ' ', '{']).next().unwrap_or_default();
    name.trim_start_matches("Wide").replace('_', "").to_lowercase()
}
