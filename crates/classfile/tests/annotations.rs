//! Annotations of every shape, and type annotations that follow their instructions.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::process::Command;

use support::build::call_in;
use support::{Jdk, run, write_file};
use unsnarl_classfile::edit::{ClassEditor, Handler};
use unsnarl_classfile::read::{
    Attribute, Attributes, ClassFile, Code, ConstantPool, ElementValue, TypeTarget,
};
use unsnarl_classfile::{Instruction, Opcode, Pc};

fn compiled(jdk: &Jdk) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("Annotated.java");
    write_file(&source, include_bytes!("java/Annotated.java"));
    let mut javac = Command::new(jdk.tool("javac"));
    let (success, output) = run(javac.args(["-g", "-d"]).arg(folder.path()).arg(&source));
    assert!(success, "{output}");
    folder
}

/// What a type annotation is on, by the opcode of its instruction or by what it names otherwise, and
/// its value.
fn marks(bytes: &[u8]) -> Vec<(String, i32)> {
    let class = ClassFile::read(bytes).unwrap();
    let method = class.methods.iter().find(|method| class.member_name(method) == b"run").unwrap();
    let code = class.code(method).unwrap().unwrap();
    let opcode = |at: Pc| {
        let found = code.instructions().map(Result::unwrap).find(|(pc, _)| *pc == at);
        found.unwrap_or_else(|| panic!("no instruction at {at:?}")).1.opcode()
    };
    let mut marks = Vec::new();
    for annotation in type_annotations(&code, &class.pool) {
        let target = match annotation.target {
            TypeTarget::Instruction { kind, at } => format!("{kind:x} {}", opcode(at)),
            TypeTarget::TypeArgument { kind, at, index } => {
                format!("{kind:x} {} {index}", opcode(at))
            }
            TypeTarget::Catch { handler } => {
                let caught = code.handlers[usize::from(handler)].catch_type.unwrap();
                format!("catch {}", String::from_utf8_lossy(class.pool.class_name(caught).unwrap()))
            }
            TypeTarget::LocalVariable { kind, ranges } => {
                assert!(ranges.iter().all(|range| opcode(range.start) != Opcode::Nop));
                format!("{kind:x} variable {}", ranges[0].local)
            }
            other => panic!("{other:?}"),
        };
        let ElementValue::Constant { tag: b'I', value } = annotation.annotation.elements[0].value
        else {
            panic!("not an int")
        };
        let unsnarl_classfile::read::Constant::Integer(value) = class.pool.get(value).unwrap()
        else {
            panic!("not an int")
        };
        marks.push((target, value));
    }
    marks
}

fn type_annotations<'a>(
    code: &Code<'a>,
    pool: &ConstantPool<'a>,
) -> Vec<unsnarl_classfile::read::TypeAnnotation> {
    let mut all = Vec::new();
    for attribute in code.attributes.iter() {
        if let Attribute::RuntimeVisibleTypeAnnotations(annotations) =
            attribute.decode(pool).unwrap()
        {
            all.extend(annotations);
        }
    }
    all
}

#[test]
fn type_annotations_follow_their_instructions() {
    for jdk in support::jdks() {
        let folder = compiled(&jdk);
        let path = folder.path().join("Annotated.class");
        let bytes = std::fs::read(&path).unwrap();
        let before = marks(&bytes);
        // javac puts the annotation of a cast that it left out, and of a call, on what comes next.
        for kind in ["40 ", "41 ", "43 instanceof", "44 new", "45 invokedynamic", "47 ", "49 "] {
            assert!(before.iter().any(|(target, _)| target.starts_with(kind)), "{kind} {before:?}");
        }
        assert!(before.iter().any(|(target, _)| target == "catch java/lang/Exception"));

        let mut class = ClassEditor::open(&bytes).unwrap();
        let method = class.find_method(b"run", b"(I)I").unwrap();
        let mut code = class.open_code(method).unwrap().unwrap();
        // A handler in front of all others shifts the numbers of those that are annotated.
        let [start, end, handler] = std::array::from_fn(|_| code.new_label());
        let (first, _) = code.instructions().next().unwrap();
        let (second, _) = code.instructions().nth(1).unwrap();
        code.bind_before(start, first).unwrap();
        code.bind_before(end, second).unwrap();
        code.bind_at_end(handler).unwrap();
        code.append(Instruction::Plain(Opcode::AThrow));
        let throwable = class.pool.add_class(b"java/lang/Throwable").unwrap();
        let object = unsnarl_classfile::VerificationType::Object(throwable);
        code.set_frame(handler, vec![], vec![object]);
        code.add_handler_first(Handler { start, end, handler, catch_type: Some(throwable) });
        code.grow_stack(1);
        let nodes: Vec<_> = code.instructions().map(|(node, _)| node).collect();
        for node in nodes {
            code.before(node, &mut class.pool).plain(Opcode::IConst0).plain(Opcode::Pop);
        }
        class.set_code(method, &code).unwrap();
        let written = class.write().unwrap();
        assert_eq!(marks(&written), before);

        let plain = call_in(&jdk, folder.path(), "Annotated");
        std::fs::write(&path, &written).unwrap();
        assert_eq!(call_in(&jdk, folder.path(), "Annotated"), plain);
    }
}

#[test]
fn an_annotation_goes_with_its_instruction() {
    let jdk = support::jdks().remove(0);
    let folder = compiled(&jdk);
    let bytes = std::fs::read(folder.path().join("Annotated.class")).unwrap();
    let before = marks(&bytes);
    let mut class = ClassEditor::open(&bytes).unwrap();
    let method = class.find_method(b"run", b"(I)I").unwrap();
    let mut code = class.open_code(method).unwrap().unwrap();
    let is_instance_of = |i: &Instruction<_>| i.opcode() == Opcode::InstanceOf;
    let (node, _) = code.instructions().find(|(_, i)| is_instance_of(i)).unwrap();
    code.remove(node);
    class.set_code(method, &code).unwrap();
    let after = marks(&class.write().unwrap());
    let expected: Vec<_> =
        before.into_iter().filter(|(target, _)| target != "43 instanceof").collect();
    assert_eq!(after, expected);
}

#[test]
fn defaults_are_decoded() {
    let jdk = support::jdks().remove(0);
    let folder = compiled(&jdk);
    let bytes = std::fs::read(folder.path().join("Annotated$Outer.class")).unwrap();
    let class = ClassFile::read(&bytes).unwrap();
    let default = |name: &[u8]| {
        let method = class.methods.iter().find(|m| class.member_name(m) == name).unwrap();
        default_of(&method.attributes, &class.pool)
    };
    let ElementValue::Array(marks) = default(b"marks") else { panic!("not an array") };
    let ElementValue::Annotation(mark) = &marks[0] else { panic!("not an annotation") };
    assert_eq!(mark.elements.len(), 2);
    assert!(matches!(&mark.elements[1].value, ElementValue::Array(names) if names.len() == 2));
    let ElementValue::Class(descriptor) = default(b"type") else { panic!("not a class") };
    assert_eq!(class.pool.utf8(descriptor).unwrap(), b"[I");
    let ElementValue::Enum { name, .. } = default(b"kind") else { panic!("not an enum") };
    assert_eq!(class.pool.utf8(name).unwrap(), b"FIELD");
}

fn default_of<'a>(attributes: &Attributes<'a>, pool: &ConstantPool<'a>) -> ElementValue {
    let attribute = attributes.find(pool, b"AnnotationDefault").unwrap().unwrap();
    match attribute.decode(pool).unwrap() {
        Attribute::AnnotationDefault(value) => value,
        other => panic!("{other:?}"),
    }
}
