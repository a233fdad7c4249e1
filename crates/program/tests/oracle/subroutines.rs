//! Subroutines of old class files (`jsr` and `ret`), put together by hand in shapes that compilers
//! wrote and in some that only the specification allows (JVMS 4.10.2.6).

use unsnarl_classfile::edit::{ClassEditor, CodeEditor, Handler, LabelId};
use unsnarl_classfile::{Instruction, Opcode, flags};

use crate::java;

const SEEDS: i32 = 12;

/// The last version before stack map frames, and before `jsr` was forbidden.
const OLD_VERSION: u16 = 48;

type Write = fn(&mut Assembler<'_, '_>);

const METHODS: [(&str, Write); 8] = [
    ("calledTwice", called_twice),
    ("lastlyOnException", lastly_on_exception),
    ("nested", nested),
    ("threeDeep", three_deep),
    ("leftByJump", left_by_jump),
    ("leftByException", left_by_exception),
    ("returnsForOuter", returns_for_outer),
    ("keepsTypesApart", keeps_types_apart),
];

pub(crate) fn subroutines_run_alike() {
    let empty = empty_class("Old");
    let mut class = ClassEditor::open(&empty).expect("a class");
    for (name, write) in METHODS {
        let access = flags::PUBLIC | flags::STATIC;
        let method = class.add_method(access, name.as_bytes(), b"(I)I").expect("room");
        let mut code = class.new_code(method);
        code.max_stack = 8;
        code.max_locals = 8;
        write(&mut Assembler { code: &mut code, class: &mut class });
        class.set_code(method, &code).expect("code that can be written");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = class.write().expect("a class that can be written");
    std::fs::write(folder.path().join("Old.class"), bytes).expect("a writable folder");
    let methods: Vec<String> = METHODS.iter().map(|(name, _)| format!("Old.{name}")).collect();
    for jdk in java::jdks() {
        let name = format!("by hand, {}", jdk.home.display());
        java::compare(&jdk.home, &name, folder.path(), &methods, SEEDS);
    }
}

/// Writes one method; its argument is variable 0.
struct Assembler<'m, 'a> {
    code: &'m mut CodeEditor,
    class: &'m mut ClassEditor<'a>,
}

impl Assembler<'_, '_> {
    fn label(&mut self) -> LabelId {
        self.code.new_label()
    }

    fn here(&mut self, label: LabelId) -> &mut Self {
        self.code.bind_at_end(label).expect("a label that is bound once");
        self
    }

    fn plain(&mut self, opcode: Opcode) -> &mut Self {
        self.code.append(Instruction::Plain(opcode));
        self
    }

    fn local(&mut self, opcode: Opcode, local: u16) -> &mut Self {
        self.code.append(match opcode {
            Opcode::Ret => Instruction::Local { opcode, local },
            _ => Instruction::local(opcode, local),
        });
        self
    }

    fn jump(&mut self, opcode: Opcode, target: LabelId) -> &mut Self {
        self.code.append(Instruction::Jump { opcode, target });
        self
    }

    fn int(&mut self, value: i16) -> &mut Self {
        self.code.append(Instruction::Push { opcode: Opcode::SiPush, value });
        self
    }

    fn add(&mut self, local: u16, amount: i16) -> &mut Self {
        self.code.append(Instruction::Increment { local, amount });
        self
    }

    fn handler(&mut self, start: LabelId, end: LabelId, handler: LabelId, class: Option<&str>) {
        let catch_type =
            class.map(|name| self.class.pool.add_class(name.as_bytes()).expect("room"));
        self.code.add_handler(Handler { start, end, handler, catch_type });
    }
}

use Opcode::{
    AConstNull, ALoad, AStore, AThrow, Goto, IAdd, IDiv, ILoad, IMul, IRem, IReturn, IStore, ISub,
    IfEq, IfLt, IfNe, Jsr, LStore, Pop, Ret,
};

/// One subroutine, called from two places with other values in the variables.
fn called_twice(a: &mut Assembler<'_, '_>) {
    let subroutine = a.label();
    a.int(3).local(IStore, 1).jump(Jsr, subroutine);
    a.local(ILoad, 1).local(ILoad, 0).plain(IMul).local(IStore, 1).jump(Jsr, subroutine);
    a.local(ILoad, 1).plain(IReturn);
    a.here(subroutine).local(AStore, 2);
    a.local(ILoad, 1).int(10).plain(IMul).local(ILoad, 0).plain(ISub).local(IStore, 1);
    a.local(Ret, 2);
}

/// What compilers made of `try { x = 1; x = 60 / seed % 4; } finally { x += 100; }`.
fn lastly_on_exception(a: &mut Assembler<'_, '_>) {
    let [start, end, handler, lastly, done, arithmetic] = std::array::from_fn(|_| a.label());
    a.int(0).local(IStore, 1);
    a.here(start).int(1).local(IStore, 1);
    a.int(60).local(ILoad, 0).int(4).plain(IRem).plain(IDiv).local(IStore, 1);
    a.jump(Jsr, lastly).jump(Goto, done);
    a.here(handler).local(AStore, 2).jump(Jsr, lastly).local(ALoad, 2).plain(AThrow);
    a.here(lastly).local(AStore, 3).add(1, 100).local(Ret, 3);
    a.here(done).local(ILoad, 1).plain(IReturn);
    a.here(end);
    a.here(arithmetic).plain(Pop).local(ILoad, 1).int(7).plain(IMul).plain(IReturn);
    a.handler(start, handler, handler, None);
    a.handler(start, done, arithmetic, Some("java/lang/ArithmeticException"));
}

/// A subroutine that calls another one from two places.
fn nested(a: &mut Assembler<'_, '_>) {
    let [outer, inner] = std::array::from_fn(|_| a.label());
    a.local(ILoad, 0).local(IStore, 1).jump(Jsr, outer).add(1, 1000).jump(Jsr, outer);
    a.local(ILoad, 1).plain(IReturn);
    a.here(outer).local(AStore, 2).jump(Jsr, inner).add(1, 5).jump(Jsr, inner).local(Ret, 2);
    a.here(inner).local(AStore, 3).local(ILoad, 1).int(3).plain(IMul).local(IStore, 1);
    a.local(Ret, 3);
}

/// Three subroutines under way at once, each called from two places.
fn three_deep(a: &mut Assembler<'_, '_>) {
    let [outer, middle, inner] = std::array::from_fn(|_| a.label());
    a.local(ILoad, 0).local(IStore, 1).jump(Jsr, outer).add(1, 7).jump(Jsr, outer);
    a.local(ILoad, 1).plain(IReturn);
    for (subroutine, called, address) in [(outer, middle, 2), (middle, inner, 3)] {
        a.here(subroutine).local(AStore, address).jump(Jsr, called).add(1, 5);
        a.jump(Jsr, called).local(Ret, address);
    }
    a.here(inner).local(AStore, 4).local(ILoad, 1).int(3).plain(IMul).local(IStore, 1);
    a.local(Ret, 4);
}

/// A loop whose subroutine goes back to the head of the loop now and then, without `ret`.
fn left_by_jump(a: &mut Assembler<'_, '_>) {
    let [head, done, subroutine] = std::array::from_fn(|_| a.label());
    a.int(0).local(IStore, 1).local(ILoad, 0).local(IStore, 2);
    a.here(head).add(2, -1).local(ILoad, 2).jump(IfLt, done);
    a.jump(Jsr, subroutine).add(1, 50).jump(Goto, head);
    a.here(subroutine).local(AStore, 3).add(1, 1);
    a.local(ILoad, 2).int(3).plain(IRem).jump(IfEq, head).local(Ret, 3);
    a.here(done).local(ILoad, 1).plain(IReturn);
}

/// An exception inside the subroutine, or before it, is caught outside, where the subroutine is called
/// again.
fn left_by_exception(a: &mut Assembler<'_, '_>) {
    let [subroutine, start, end, handler, last] = std::array::from_fn(|_| a.label());
    a.int(1).local(IStore, 1);
    a.here(start).int(60).local(ILoad, 0).int(4).plain(IRem).plain(IDiv).local(IStore, 1);
    a.jump(Jsr, subroutine).local(ILoad, 1).plain(IReturn);
    a.here(subroutine).local(AStore, 2).add(1, 10);
    a.local(ILoad, 1).local(ILoad, 0).int(3).plain(IRem).plain(IDiv).local(IStore, 1);
    a.here(end).local(Ret, 2);
    a.here(handler).plain(Pop).local(ILoad, 0).local(ILoad, 1).plain(IAdd).local(IStore, 0);
    a.local(ILoad, 0).int(3).plain(IRem).jump(IfEq, last);
    a.jump(Jsr, subroutine).local(ILoad, 1).int(1000).plain(IAdd).plain(IReturn);
    a.here(last).int(-1).plain(IReturn);
    a.handler(start, end, handler, None);
}

/// The inner subroutine returns for the outer one, with the same `ret`.
fn returns_for_outer(a: &mut Assembler<'_, '_>) {
    let [outer, inner, out] = std::array::from_fn(|_| a.label());
    a.int(0).local(IStore, 1).jump(Jsr, outer).add(1, 1).jump(Jsr, outer);
    a.local(ILoad, 1).plain(IReturn);
    a.here(outer).local(AStore, 2).add(1, 200).add(0, 1);
    a.local(ILoad, 0).int(3).plain(IRem).jump(IfNe, out).jump(Jsr, inner);
    a.here(inner).local(AStore, 3).add(1, 30);
    a.here(out).local(Ret, 2);
}

/// A variable that the subroutine does not touch holds an int in one call and an object or a long in
/// the others.
fn keeps_types_apart(a: &mut Assembler<'_, '_>) {
    let subroutine = a.label();
    a.int(5).local(IStore, 1).int(7).local(IStore, 2).jump(Jsr, subroutine);
    a.local(ILoad, 2).local(ILoad, 1).plain(IAdd).local(IStore, 1);
    a.plain(AConstNull).local(AStore, 2).jump(Jsr, subroutine);
    a.local(ALoad, 2).plain(Pop).plain(Opcode::LConst1).local(LStore, 2).jump(Jsr, subroutine);
    a.local(Opcode::LLoad, 2).plain(Opcode::L2I).local(ILoad, 1).plain(IAdd).plain(IReturn);
    a.here(subroutine).local(AStore, 5);
    a.local(ILoad, 1).local(ILoad, 0).plain(IAdd).local(IStore, 1).local(Ret, 5);
}

/// A public class without members.
fn empty_class(name: &str) -> Vec<u8> {
    let mut bytes = vec![0xCA, 0xFE, 0xBA, 0xBE, 0, 0];
    bytes.extend(OLD_VERSION.to_be_bytes());
    bytes.extend([0, 5]);
    for (text, class) in [(name, 1u16), ("java/lang/Object", 3)] {
        bytes.push(1);
        bytes.extend((text.len() as u16).to_be_bytes());
        bytes.extend(text.as_bytes());
        bytes.push(7);
        bytes.extend(class.to_be_bytes());
    }
    bytes.extend((flags::PUBLIC | flags::SUPER).to_be_bytes());
    bytes.extend([0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}
