//! What a body does when it is changed: labels, handlers, frames, limits.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::build::{add_static, call_all, empty_class, filler, jump, local, plain};
use unsnarl_classfile::edit::{ClassEditor, CodeError, EditError, Handler, MethodId, PoolError};
use unsnarl_classfile::read::{
    Attribute, ClassFile, Code, Constant, ExceptionHandler, MemberKind, StackMapFrame,
};
use unsnarl_classfile::{Frame, Instruction, Opcode, Pc, VerificationType, flags};

use Opcode::*;
use VerificationType::{Integer, Object, Top, Uninitialized};

const JAVA_8: u16 = 52;

fn with_code<T>(bytes: &[u8], method: &str, look: impl FnOnce(&ClassFile<'_>, Code<'_>) -> T) -> T {
    let class = ClassFile::read(bytes).unwrap();
    let named = |member: &&_| class.member_name(member) == method.as_bytes();
    let member = class.methods.iter().find(named).expect("a method of this name");
    look(&class, class.code(member).unwrap().expect("a body"))
}

fn opcodes(bytes: &[u8], method: &str) -> Vec<Opcode> {
    with_code(bytes, method, |_, code| {
        code.instructions().map(|instruction| instruction.unwrap().1.opcode()).collect()
    })
}

fn frames(bytes: &[u8], method: &str) -> Vec<StackMapFrame> {
    with_code(bytes, method, |class, code| {
        let table = code.attributes.find(&class.pool, b"StackMapTable").unwrap();
        match table.map(|table| table.decode(&class.pool).unwrap()) {
            None => Vec::new(),
            Some(Attribute::StackMapTable(frames)) => frames,
            Some(other) => panic!("{other:?}"),
        }
    })
}

/// A class with one static method `(I)I` that is written once and opened again.
fn one_method(
    descriptor: &str,
    write: impl FnOnce(&mut unsnarl_classfile::edit::CodeEditor, &mut ClassEditor<'_>),
) -> Vec<u8> {
    let bytes = empty_class("One", JAVA_8);
    let mut class = ClassEditor::open(&bytes).unwrap();
    add_static(&mut class, "one", descriptor, write);
    class.write().unwrap()
}

const ONLY: usize = 0;

fn method_id(class: &ClassEditor<'_>, index: usize) -> MethodId {
    class.methods.keys().nth(index).unwrap()
}

#[test]
fn fields_methods_and_interfaces_are_added() {
    let bytes = empty_class("Added", JAVA_8);
    let mut class = ClassEditor::open(&bytes).unwrap();
    class.access |= flags::FINAL;
    class.add_interface(b"java/lang/Runnable").unwrap();
    class.add_interface(b"java/io/Serializable").unwrap();
    class.add_interface(b"java/io/Serializable").unwrap();
    assert!(class.remove_interface(b"java/lang/Runnable"));
    assert!(!class.remove_interface(b"java/lang/Runnable"));
    class.add_field(flags::STATIC | flags::PRIVATE, b"counter", b"I").unwrap();
    add_static(&mut class, "count", "(I)I", |code, class| {
        let end = code.append(Instruction::Plain(IReturn));
        let mut here = code.before(end, &mut class.pool);
        here.field(GetStatic, "Added", "counter", "I").unwrap().int(40).unwrap().plain(IAdd);
        here.plain(Dup).field(PutStatic, "Added", "counter", "I").unwrap();
    });
    add_static(&mut class, "text", "()Ljava/lang/String;", |code, class| {
        let end = code.append(Instruction::Plain(AReturn));
        let mut here = code.before(end, &mut class.pool);
        here.class("Added").unwrap();
        here.invoke_virtual("java/lang/Class", "getName", "()Ljava/lang/String;").unwrap();
        here.string(" 🧶").unwrap();
        here.invoke_virtual("java/lang/String", "concat", "(Ljava/lang/String;)Ljava/lang/String;")
            .unwrap();
    });
    let written = class.write().unwrap();
    let read = ClassFile::read(&written).unwrap();
    assert_eq!(read.access & flags::FINAL, flags::FINAL);
    assert_eq!(read.interface_names().collect::<Vec<_>>(), [b"java/io/Serializable"]);
    assert_eq!(read.member_name(&read.fields[0]), b"counter");
    for jdk in support::jdks() {
        let output = call_all(&jdk, "Added", &written);
        assert!(output.starts_with("count(-1) = 40\ncount(0) = 80\ncount(1) = 120"), "{output}");
        assert!(output.contains("text() = Added "), "{output}");
    }
}

/// A probe before an instruction comes after its labels: jumps run it; ranges that start there have
/// it, ranges that end there have not.
#[test]
fn probes_stand_between_labels_and_instructions() {
    let bytes = one_method("(I)I", |code, class| {
        let [start, end, handler] = std::array::from_fn(|_| code.new_label());
        code.bind_at_end(start).unwrap();
        local(code, ILoad, 0);
        code.bind_at_end(end).unwrap();
        plain(code, &[IReturn]);
        code.bind_at_end(handler).unwrap();
        let throwable = class.pool.add_class(b"java/lang/Throwable").unwrap();
        code.set_frame(handler, vec![Integer], vec![Object(throwable)]);
        plain(code, &[AThrow]);
        code.add_handler(Handler { start, end, handler, catch_type: None });
    });
    let mut class = ClassEditor::open(&bytes).unwrap();
    let method = method_id(&class, ONLY);
    let mut code = class.open_code(method).unwrap().unwrap();
    let nodes: Vec<_> = code.instructions().map(|(node, _)| node).collect();
    for node in nodes {
        code.insert_before(node, Instruction::Plain(Nop));
    }
    class.set_code(method, &code).unwrap();
    let written = class.write().unwrap();
    assert_eq!(opcodes(&written, "one"), [Nop, ILoad0, Nop, IReturn, Nop, AThrow]);
    let handlers = with_code(&written, "one", |_, code| code.handlers);
    let expected = ExceptionHandler { start: Pc(0), end: Pc(2), handler: Pc(4), catch_type: None };
    assert_eq!(handlers, [expected]);
    assert_eq!(frames(&written, "one")[0].at, Pc(4));
}

/// A frame names the `new`, not the place in front of it, where a probe may stand.
#[test]
fn frames_follow_the_new_of_an_uninitialized_object() {
    let bytes = one_method("(I)I", |code, class| {
        let object = class.pool.add_class(b"java/lang/Object").unwrap();
        let join = code.new_label();
        let new = code.append(Instruction::Type { opcode: New, class: object });
        plain(code, &[Dup]);
        local(code, ILoad, 0);
        jump(code, IfEq, join);
        plain(code, &[Nop]);
        code.bind_at_end(join).unwrap();
        code.set_frame(join, vec![Integer], vec![Uninitialized(new); 2]);
        let end = code.append(Instruction::Plain(IReturn));
        let mut here = code.before(end, &mut class.pool);
        here.invoke(InvokeSpecial, MemberKind::Method, "java/lang/Object", "<init>", "()V")
            .unwrap();
        here.plain(Pop).int(3).unwrap();
    });
    let mut class = ClassEditor::open(&bytes).unwrap();
    let method = method_id(&class, ONLY);
    let mut code = class.open_code(method).unwrap().unwrap();
    let new = code.first_instruction().unwrap();
    code.insert_before(new, Instruction::Plain(IConst0));
    code.insert_before(new, Instruction::Plain(Pop));
    class.set_code(method, &code).unwrap();
    let written = class.write().unwrap();
    assert_eq!(
        frames(&written, "one")[0].frame,
        Frame::Full { locals: vec![Integer], stack: vec![Uninitialized(Pc(2)); 2] }
    );
    for jdk in support::jdks() {
        assert!(call_all(&jdk, "One", &written).contains("one(0) = 3"));
    }

    code.remove(new);
    let error = class.set_code(method, &code).unwrap_err();
    assert!(
        matches!(&error, EditError::Code { source: CodeError::RemovedNew(node), .. } if *node == new)
    );
    assert!(error.to_string().starts_with("method one(I)I: "), "{error}");
}

/// Two frames on one place become one full frame; the later one holds.
#[test]
fn frames_merge_when_the_code_between_them_is_removed() {
    let bytes = one_method("(I)I", |code, _| {
        let variable = code.new_local(1);
        let [first, second, third] = std::array::from_fn(|_| code.new_label());
        local(code, ILoad, 0);
        jump(code, IfEq, first);
        plain(code, &[Nop]);
        code.bind_at_end(first).unwrap();
        code.set_frame(first, vec![Integer], vec![]);
        plain(code, &[IConst1]);
        local(code, IStore, variable);
        code.bind_at_end(second).unwrap();
        code.set_frame(second, vec![Integer, Integer], vec![]);
        plain(code, &[Nop]);
        code.bind_at_end(third).unwrap();
        code.set_frame(third, vec![Integer], vec![]);
        local(code, ILoad, 0);
        plain(code, &[IReturn]);
    });
    let mut class = ClassEditor::open(&bytes).unwrap();
    let method = method_id(&class, ONLY);
    let mut code = class.open_code(method).unwrap().unwrap();
    let between: Vec<_> = code
        .instructions()
        .filter(|(_, i)| matches!(i.opcode(), IConst1 | IStore1 | Nop))
        .map(|(node, _)| node)
        .collect();
    for node in between {
        code.remove(node).unwrap();
        assert!(code.is_removed(node) && code.remove(node).is_none());
    }
    class.set_code(method, &code).unwrap();
    let written = class.write().unwrap();
    let expected =
        StackMapFrame { at: Pc(4), frame: Frame::Full { locals: vec![Integer], stack: vec![] } };
    assert_eq!(frames(&written, "one"), [expected]);
    for jdk in support::jdks() {
        assert!(call_all(&jdk, "One", &written).contains("one(1) = 1"));
    }
}

/// A frame that is replaced does not change what later frames of the file are relative to.
#[test]
fn a_replaced_frame_leaves_later_ones_alone() {
    let bytes = one_method("(I)I", |code, _| {
        let variable = code.new_local(1);
        let [first, second] = std::array::from_fn(|_| code.new_label());
        plain(code, &[IConst1]);
        local(code, IStore, variable);
        code.bind_at_end(first).unwrap();
        code.set_frame(first, vec![Integer, Integer], vec![]);
        local(code, ILoad, 0);
        jump(code, IfEq, second);
        plain(code, &[Nop]);
        code.bind_at_end(second).unwrap();
        code.set_frame(second, vec![Integer, Integer], vec![]);
        local(code, ILoad, variable);
        plain(code, &[IReturn]);
    });
    let mut class = ClassEditor::open(&bytes).unwrap();
    let method = method_id(&class, ONLY);
    let mut code = class.open_code(method).unwrap().unwrap();
    let (_, label) = code.nodes().find_map(|n| Some((n, code.label(n)?))).unwrap();
    code.set_frame(label, vec![Integer], vec![]);
    class.set_code(method, &code).unwrap();
    let frames = frames(&class.write().unwrap(), "one");
    let full = |locals| Frame::Full { locals, stack: vec![] };
    assert_eq!(frames.len(), 2);
    assert_eq!(frames[0].frame, full(vec![Integer]));
    assert_eq!(frames[1].frame, full(vec![Integer, Integer]));
}

#[test]
fn a_handler_around_the_body_knows_what_lasts() {
    let bytes = empty_class("Around", JAVA_8);
    let mut class = ClassEditor::open(&bytes).unwrap();
    let method = add_static(&mut class, "divide", "(IIJLjava/lang/Object;)I", |code, _| {
        local(code, ILoad, 0);
        local(code, ILoad, 1);
        plain(code, &[IDiv, Dup]);
        local(code, IStore, 1);
        plain(code, &[IConst0]);
        local(code, IStore, 3); // half of the long
        plain(code, &[IReturn]);
    });
    let mut code = class.open_code(method).unwrap().unwrap();
    let throw = code.catch_all(&mut class.pool).unwrap();
    code.before(throw, &mut class.pool).plain(Pop).local(ILoad, 0);
    code.replace(throw, Instruction::Plain(IReturn));
    class.set_code(method, &code).unwrap();
    let written = class.write().unwrap();
    let object = with_code(&written, "divide", |class, _| {
        let is_object = |&index: &_| class.pool.class_name(index) == Ok(&b"java/lang/Object"[..]);
        class.pool.indices().find(is_object).unwrap()
    });
    let Frame::Full { locals, stack } = &frames(&written, "divide")[0].frame else {
        panic!("not a full frame")
    };
    assert_eq!(*locals, [Integer, Top, Top, Top, Object(object)]);
    assert_eq!(stack.len(), 1);

    let method = class.add_method(flags::PUBLIC, b"lost", b"()V").unwrap();
    let mut code = class.new_code(method);
    plain(&mut code, &[AConstNull]);
    local(&mut code, AStore, 0);
    plain(&mut code, &[Return]);
    assert_eq!(code.catch_all(&mut class.pool), Err(CodeError::ThisOverwritten));
    let method = class.add_method(flags::PUBLIC, b"<init>", b"()V").unwrap();
    let mut code = class.new_code(method);
    plain(&mut code, &[Return]);
    assert_eq!(code.catch_all(&mut class.pool), Err(CodeError::Constructor));
}

#[test]
fn the_handler_around_the_body_is_the_last_resort() {
    let bytes = empty_class("Resort", JAVA_8);
    let mut class = ClassEditor::open(&bytes).unwrap();
    let method = add_static(&mut class, "divide", "(I)I", |code, class| {
        let [start, end, handler] = std::array::from_fn(|_| code.new_label());
        let arithmetic = class.pool.add_class(b"java/lang/ArithmeticException").unwrap();
        code.bind_at_end(start).unwrap();
        plain(code, &[IConst5]);
        local(code, ILoad, 0);
        plain(code, &[IDiv, IReturn]);
        code.bind_at_end(end).unwrap();
        code.bind_at_end(handler).unwrap();
        code.set_frame(handler, vec![Integer], vec![Object(arithmetic)]);
        let throw = code.append(Instruction::Plain(AThrow));
        code.before(throw, &mut class.pool).plain(Pop);
        code.before(throw, &mut class.pool).plain(AConstNull);
        code.add_handler(Handler { start, end, handler, catch_type: Some(arithmetic) });
    });
    let mut code = class.open_code(method).unwrap().unwrap();
    let throw = code.catch_all(&mut class.pool).unwrap();
    let mut here = code.before(throw, &mut class.pool);
    // The first handler throws a NullPointerException; this one sees it.
    here.type_instruction(InstanceOf, "java/lang/NullPointerException").unwrap();
    here.int(40).unwrap().plain(IAdd);
    code.replace(throw, Instruction::Plain(IReturn));
    code.grow_stack(1);
    class.set_code(method, &code).unwrap();
    let written = class.write().unwrap();
    for jdk in support::jdks() {
        let output = call_all(&jdk, "Resort", &written);
        assert!(output.contains("(-1) = -5") && output.contains("(0) = 41"), "{output}");
    }
}

#[test]
fn an_empty_range_is_left_out() {
    let bytes = one_method("(I)I", |code, class| {
        let [start, end, handler] = std::array::from_fn(|_| code.new_label());
        code.bind_at_end(start).unwrap();
        plain(code, &[Nop]);
        code.bind_at_end(end).unwrap();
        plain(code, &[IConst0, IReturn]);
        code.bind_at_end(handler).unwrap();
        let throwable = class.pool.add_class(b"java/lang/Throwable").unwrap();
        code.set_frame(handler, vec![Integer], vec![Object(throwable)]);
        plain(code, &[AThrow]);
        code.add_handler(Handler { start, end, handler, catch_type: None });
    });
    let mut class = ClassEditor::open(&bytes).unwrap();
    let method = method_id(&class, ONLY);
    let mut code = class.open_code(method).unwrap().unwrap();
    let nop = code.first_instruction().unwrap();
    code.remove(nop);
    class.set_code(method, &code).unwrap();
    let written = class.write().unwrap();
    assert!(with_code(&written, "one", |_, code| code.handlers).is_empty());
}

#[test]
fn code_that_is_too_long_leaves_the_class_as_it_was() {
    let bytes = one_method("(I)I", |code, _| plain(code, &[IConst0, IReturn]));
    let mut class = ClassEditor::open(&bytes).unwrap();
    let method = method_id(&class, ONLY);
    let mut code = class.open_code(method).unwrap().unwrap();
    let first = code.first_instruction().unwrap();
    for _ in 0..65_533 {
        code.insert_before(first, Instruction::Plain(Nop));
    }
    class.clone().set_code(method, &code).expect("65,535 bytes fit");
    code.insert_before(first, Instruction::Plain(Nop));
    let error = class.set_code(method, &code).unwrap_err();
    assert_eq!(
        error.to_string(),
        "method one(I)I: 65536 bytes of code: a method holds 65535 at most"
    );
    filler(&mut code, 300_000);
    assert!(class.set_code(method, &code).is_err());
    assert_eq!(class.write().unwrap(), bytes);
}

#[test]
fn a_full_constant_pool_is_an_error() {
    let bytes = empty_class("Full", JAVA_8);
    let mut class = ClassEditor::open(&bytes).unwrap();
    let mut added = 0;
    let error = loop {
        match class.pool.add_integer(added) {
            Ok(_) => added += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((error, class.pool.count(), added), (PoolError::Full, 65535, 65530));
    assert_eq!(class.pool.add_integer(7), class.pool.add_integer(7), "what is there is found");
    assert_eq!(class.pool.add_long(1), Err(PoolError::Full));
    assert_eq!(class.pool.add_utf8(&[b'a'; 70_000]), Err(PoolError::StringTooLong(70_000)));
    assert!(matches!(class.add_field(0, b"field", b"I"), Err(EditError::Pool(PoolError::Full))));
    let written = class.write().unwrap();
    assert_eq!(ClassFile::read(&written).unwrap().pool.count(), 65535);
    assert!(ClassFile::read(&written).unwrap().fields.is_empty());
}

#[test]
fn too_many_members_are_an_error() {
    let bytes = empty_class("Many", JAVA_8);
    let mut class = ClassEditor::open(&bytes).unwrap();
    for _ in 0..65_535 {
        class.add_field(0, b"field", b"I").unwrap();
        class.add_method(flags::ABSTRACT, b"method", b"()V").unwrap();
    }
    let error = class.add_field(0, b"field", b"I").unwrap_err();
    assert_eq!(error.to_string(), "65536 fields: a class file holds 65535 at most");
    let error = class.add_method(0, b"method", b"()V").unwrap_err();
    assert_eq!(error.to_string(), "65536 methods: a class file holds 65535 at most");
    let written = class.write().unwrap();
    assert_eq!(ClassFile::read(&written).unwrap().methods.len(), 65_535);
}

#[test]
fn constants_are_found_again() {
    let bytes = empty_class("Found", JAVA_8);
    let mut class = ClassEditor::open(&bytes).unwrap();
    assert_eq!(class.pool.add_class(b"java/lang/Object").unwrap().0, 4);
    assert!(class.pool.is_original());
    let long = class.pool.add_long(5).unwrap();
    let double = class.pool.add_double(5).unwrap();
    assert_eq!((long.0, double.0), (5, 7), "a long takes two indices");
    assert_eq!(class.pool.add_long(5).unwrap(), long);
    assert_eq!(class.pool.get(long), Some(Constant::Long(5)));
    assert_eq!(class.pool.get(unsnarl_classfile::ConstantIndex(6)), None);
    let method = class.pool.add_member(MemberKind::Method, b"A", b"b", b"()V").unwrap();
    assert_eq!(class.pool.member(method).unwrap().descriptor, b"()V");
    let written = class.write().unwrap();
    let read = ClassFile::read(&written).unwrap();
    assert_eq!(read.pool.member(method).unwrap().class, b"A");
}

#[test]
fn wrong_labels_are_errors() {
    let bytes = empty_class("Labels", JAVA_8);
    let mut class = ClassEditor::open(&bytes).unwrap();
    let method = class.add_method(flags::STATIC, b"m", b"()V").unwrap();
    let mut code = class.new_code(method);
    let source = |result: Result<(), EditError>| match result {
        Err(EditError::Code { source, .. }) => source,
        other => panic!("{other:?}"),
    };
    assert_eq!(source(class.set_code(method, &code)), CodeError::Empty);
    let label = code.new_label();
    jump(&mut code, Goto, label);
    assert_eq!(source(class.set_code(method, &code)), CodeError::UnboundLabel(label));
    code.bind_at_end(label).unwrap();
    assert_eq!(source(class.set_code(method, &code)), CodeError::JumpToEnd(label));
    assert_eq!(code.bind_at_end(label), Err(CodeError::BoundTwice(label)));
    plain(&mut code, &[Return]);
    class.set_code(method, &code).unwrap();
}

#[test]
fn interface_calls_count_their_arguments() {
    let bytes = one_method("(I)I", |code, class| {
        let end = code.append(Instruction::Plain(IReturn));
        let mut here = code.before(end, &mut class.pool);
        here.plain(AConstNull).plain(AConstNull).long(7).unwrap().plain(IConst0);
        here.invoke(InvokeInterface, MemberKind::InterfaceMethod, "I", "m", "([JJI)I").unwrap();
    });
    let code = with_code(&bytes, "one", |_, code| code.bytes().to_vec());
    assert_eq!(code[code.len() - 3..], [5, 0, IReturn.byte()]);
}

/// The list stays a list whatever is taken out and put in.
#[test]
fn nodes_are_linked_in_both_directions() {
    let bytes = empty_class("List", JAVA_8);
    let mut class = ClassEditor::open(&bytes).unwrap();
    let method = class.add_method(flags::STATIC, b"m", b"()V").unwrap();
    let mut code = class.new_code(method);
    assert_eq!((code.first(), code.last()), (None, None));
    let one = code.append(Instruction::Plain(IConst1));
    let three = code.append(Instruction::Plain(IConst3));
    let two = code.insert_before(three, Instruction::Plain(IConst2));
    let four = code.insert_after(three, Instruction::Plain(IConst4));
    let forward = |code: &unsnarl_classfile::edit::CodeEditor| code.nodes().collect::<Vec<_>>();
    assert_eq!(forward(&code), [one, two, three, four]);
    assert_eq!(code.replace(two, Instruction::Plain(Nop)), Some(Instruction::Plain(IConst2)));
    code.remove(one);
    code.remove(four);
    assert_eq!(forward(&code), [two, three]);
    assert_eq!((code.previous(three), code.next(three)), (Some(two), None));
    code.remove(two);
    code.remove(three);
    assert_eq!((code.first(), code.last()), (None, None));
    let again = code.append(Instruction::Plain(Return));
    assert_eq!(forward(&code), [again]);
}

/// A body with this content, as some other compiler might have written it.
fn foreign_body(content: &[u8]) -> Vec<u8> {
    let bytes = one_method("(I)I", |code, _| plain(code, &[IConst0, IReturn]));
    let mut class = ClassEditor::open(&bytes).unwrap();
    let method = method_id(&class, ONLY);
    class.pool.add_utf8(b"StackMapTable").unwrap();
    class.pool.add_utf8(b"LineNumberTable").unwrap();
    class.methods[method].attributes.set(&mut class.pool, b"Code", content.to_vec()).unwrap();
    class.write().unwrap()
}

/// Opens every body and writes it again.
fn reemit(bytes: &[u8]) -> Vec<u8> {
    let mut class = ClassEditor::open(bytes).unwrap();
    for method in class.methods.keys() {
        let code = class.open_code(method).unwrap().unwrap();
        class.set_code(method, &code).unwrap();
    }
    class.write().unwrap()
}

/// The long forms of other compilers become short; the meaning stays.
#[test]
fn needless_long_forms_become_short() {
    // wide iload 0; ifeq +4; nop; iconst_3; ireturn, with an extended frame at offset 8.
    let content = [
        &[0, 2, 0, 1, 0, 0, 0, 10][..],
        &[0xC4, 0x15, 0, 0, 0x99, 0, 4, 0, 6, 0xAC],
        &[0, 0, 0, 1, 0, 8, 0, 0, 0, 5, 0, 1, 251, 0, 8],
    ];
    let bytes = foreign_body(&content.concat());
    let class = ClassFile::read(&bytes).unwrap();
    let name = class.pool.indices().find(|&i| class.pool.utf8(i) == Ok(b"StackMapTable")).unwrap();
    assert_eq!(name.0, 8, "as written above");
    let written = reemit(&bytes);
    assert_eq!(written.len(), bytes.len() - 4);
    assert_eq!(frames(&written, "one"), [StackMapFrame { at: Pc(6), frame: Frame::Same }]);
    for jdk in support::jdks() {
        assert!(call_all(&jdk, "One", &written).contains("one(0) = 3"));
    }
}

/// The JVM does not care where a line begins, so neither do we: it moves to the next instruction.
#[test]
fn lines_inside_an_instruction_move_to_the_next() {
    // sipush 5; ireturn, with lines at 0, 1, 3 and far beyond the end.
    let content = [
        &[0, 2, 0, 1, 0, 0, 0, 4, 0x11, 0, 5, 0xAC, 0, 0, 0, 1][..],
        &[0, 9, 0, 0, 0, 18, 0, 4, 0, 0, 0, 1, 0, 1, 0, 2, 0, 3, 0, 3, 255, 255, 0, 4],
    ];
    let written = reemit(&foreign_body(&content.concat()));
    let lines = with_code(&written, "one", |class, code| code.line_numbers(&class.pool).unwrap());
    let lines: Vec<_> = lines.iter().map(|line| (line.start.0, line.line)).collect();
    assert_eq!(lines, [(0, 1), (3, 2), (3, 3)]);
}

#[test]
fn a_jump_into_an_instruction_is_refused() {
    let content = [0, 2, 0, 1, 0, 0, 0, 4, 0xA7, 0, 1, 0xAC, 0, 0, 0, 0];
    let bytes = foreign_body(&content);
    let class = ClassEditor::open(&bytes).unwrap();
    let error = class.open_code(method_id(&class, ONLY)).unwrap_err();
    assert!(error.to_string().contains("expected an instruction where a jump"), "{error}");
}

#[test]
fn an_opcode_of_another_kind_is_refused() {
    let bytes = empty_class("Kind", JAVA_8);
    let mut class = ClassEditor::open(&bytes).unwrap();
    let method = class.add_method(flags::STATIC, b"m", b"()V").unwrap();
    for wrong in [
        Instruction::Plain(ILoad),
        Instruction::Plain(ALoad0),
        Instruction::Plain(Wide),
        Instruction::Local { opcode: IAdd, local: 0 },
        Instruction::Push { opcode: Ldc, value: 0 },
        Instruction::NewArray { element: 3 },
    ] {
        let mut code = class.new_code(method);
        let node = code.append(wrong);
        let error = class.set_code(method, &code).unwrap_err();
        let EditError::Code { source: CodeError::Malformed { node: named, .. }, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(named, node);
    }
}
