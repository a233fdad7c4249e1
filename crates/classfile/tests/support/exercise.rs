//! Does to a class all that can be done with this crate. The fuzz targets call it with bytes that they
//! make up, the tests with those that once made it fail.

use unsnarl_classfile::edit::{ClassEditor, CodeEditor, Handler, LabelId, NodeId};
use unsnarl_classfile::read::{Attribute, Attributes, ClassFile, ConstantPool};
use unsnarl_classfile::{
    FieldType, Instruction, MethodDescriptor, Opcode, VerificationType, mutf8,
};

/// Whatever the bytes are, reading them ends with a class or an error: every constant, every attribute
/// and every instruction is decoded.
pub(crate) fn read(bytes: &[u8]) {
    let Ok(class) = ClassFile::read(bytes) else { return };
    let pool = &class.pool;
    for index in pool.indices() {
        let _ = pool.get(index);
        let _ = pool.class_name(index);
        let _ = pool.string(index);
        let _ = pool.member(index);
        let _ = pool.method_handle(index);
        let _ = pool.method_type(index);
        let _ = pool.invoke_dynamic(index);
        let _ = pool.dynamic_constant(index);
        let _ = pool.module_name(index);
        let _ = pool.package_name(index);
        if let Ok(text) = pool.utf8(index) {
            let _ = mutf8::to_str(text);
            if let Some(descriptor) = MethodDescriptor::parse(text) {
                let _ = (descriptor.parameters().count(), descriptor.parameter_slots());
            }
            if let Some(field) = FieldType::parse(text) {
                let _ = (field.element(), field.class_name(), field.slots());
            }
        }
    }
    let _ = (class.name(), class.super_name(), class.interface_names().count());
    decode(&class.attributes, pool, 0);
    for member in class.fields.iter().chain(&class.methods) {
        let _ = (class.member_name(member), class.member_descriptor(member));
        let _ = class.code(member);
        decode(&member.attributes, pool, 0);
    }
}

/// Attributes nest in code and in record components, which a file may put into one another.
fn decode<'a>(attributes: &Attributes<'a>, pool: &ConstantPool<'a>, depth: usize) {
    if depth > 3 {
        return;
    }
    for attribute in attributes.iter() {
        match attribute.decode(pool) {
            Ok(Attribute::Code(code)) => {
                for instruction in code.instructions().flatten() {
                    let _ = (instruction.1.targets().count(), instruction.1.ends_flow());
                }
                let _ = code.line_numbers(pool);
                decode(&code.attributes, pool, depth + 1);
            }
            Ok(Attribute::Record(components)) => {
                for component in components {
                    decode(&component.attributes, pool, depth + 1);
                }
            }
            _ => {}
        }
    }
}

/// How many bytes at the front of the editor's input say what is to be done.
const SCRIPT: usize = 32;

/// Whatever is done to a class, the result is an error or a class that can be read and opened again.
pub(crate) fn edit(bytes: &[u8]) {
    let Some((script, bytes)) = bytes.split_at_checked(SCRIPT) else { return };
    let Ok(mut class) = ClassEditor::open(bytes) else { return };
    let unedited = class.write().expect("nothing was added");
    assert!(unedited == bytes, "a class without changes is written as it was");

    let mut changed = Vec::new();
    for method in class.methods.keys() {
        let Ok(Some(mut code)) = class.open_code(method) else { continue };
        // A body that is not touched is written as well as it was read.
        if class.clone().set_code(method, &code).is_ok() {
            follow(script, &mut code, &mut class);
        }
        if class.set_code(method, &code).is_ok() {
            changed.push(method);
        }
    }
    let _ = class.add_field(0, b"added", b"J");
    let _ = class.add_interface(b"added/Interface");
    let Ok(written) = class.write() else { return };
    let again = ClassFile::read(&written).expect("what is written can be read");
    let again = ClassEditor::new(again);
    for method in changed {
        again.open_code(method).expect("a written body can be opened");
    }
}

fn follow(script: &[u8], code: &mut CodeEditor, class: &mut ClassEditor<'_>) {
    let mut labels: Vec<LabelId> = code.nodes().filter_map(|node| code.label(node)).collect();
    let mut nodes: Vec<NodeId> = code.instructions().map(|(node, _)| node).collect();
    for step in script.chunks_exact(2) {
        nodes.retain(|&node| !code.is_removed(node));
        if nodes.is_empty() {
            return;
        }
        let node = nodes[usize::from(step[1]) * 7 % nodes.len()];
        let label = labels.get(usize::from(step[1]) % labels.len().max(1)).copied();
        match step[0] % 16 {
            0 => drop(code.remove(node)),
            1 => {
                let mut here = code.before(node, &mut class.pool);
                here.plain(Opcode::IConst0).plain(Opcode::Pop);
            }
            2 => drop(code.before(node, &mut class.pool).string("probe").map(drop)),
            3 => {
                let mut here = code.before(node, &mut class.pool);
                let _ = here.invoke_static("probe/Hook", "probe", "(JI)V").map(drop);
            }
            4 => drop(code.catch_all(&mut class.pool)),
            5 => {
                let label = code.new_label();
                let bound = code.bind_before(label, node);
                bound.expect("a new label is not bound");
                labels.push(label);
            }
            6 => {
                if let Some(target) = label {
                    nodes.push(
                        code.insert_after(node, Instruction::Jump { opcode: Opcode::IfEq, target }),
                    );
                }
            }
            7 => {
                for _ in 0..usize::from(step[1]) * 256 {
                    code.insert_before(node, Instruction::Plain(Opcode::Nop));
                }
            }
            8 => {
                if let (Some(start), Some(&end)) = (label, labels.first()) {
                    code.add_handler(Handler { start, end, handler: end, catch_type: None });
                }
            }
            9 => {
                if let Some(label) = label {
                    let stack = vec![VerificationType::Uninitialized(node)];
                    code.set_frame(label, vec![VerificationType::Long], stack);
                }
            }
            10 => {
                let local = u16::from(step[1]) * 3;
                code.replace(node, Instruction::local(Opcode::LStore, local));
            }
            11 => {
                if let Some(default) = label {
                    let targets = labels.clone();
                    let low = i32::MAX - i32::from(step[1]);
                    code.insert_before(node, Instruction::TableSwitch { default, low, targets });
                }
            }
            12 => {
                let label = code.new_label();
                code.bind_at_end(label).expect("a new label is not bound");
                labels.push(label);
            }
            13 => {
                let amount = i16::from(step[1]) * 100;
                code.insert_before(node, Instruction::Increment { local: 300, amount });
            }
            14 => {
                if let Some(target) = label {
                    code.replace(node, Instruction::Jump { opcode: Opcode::Goto, target });
                }
            }
            _ => code.grow_stack(u16::from(step[1]) * 256),
        }
    }
}
