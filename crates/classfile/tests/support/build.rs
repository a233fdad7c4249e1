//! Classes made by hand, and a JVM to run them in.

#![allow(dead_code, reason = "every test takes what it needs")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use unsnarl_classfile::edit::{ClassEditor, CodeEditor, LabelId, MethodId, NodeId};
use unsnarl_classfile::{Instruction, Opcode, flags};

use super::{Jdk, run, write_file};

/// A public class without members.
pub(crate) fn empty_class(name: &str, major_version: u16) -> Vec<u8> {
    let mut bytes = vec![0xCA, 0xFE, 0xBA, 0xBE, 0, 0];
    bytes.extend(major_version.to_be_bytes());
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

/// Adds a public static method; `write` gives it its body.
pub(crate) fn add_static(
    class: &mut ClassEditor<'_>,
    name: &str,
    descriptor: &str,
    write: impl FnOnce(&mut CodeEditor, &mut ClassEditor<'_>),
) -> MethodId {
    let access = flags::PUBLIC | flags::STATIC;
    let method = class.add_method(access, name.as_bytes(), descriptor.as_bytes()).unwrap();
    let mut code = class.new_code(method);
    code.max_stack = 8;
    write(&mut code, class);
    class.set_code(method, &code).unwrap();
    method
}

/// Appends instructions without operands.
pub(crate) fn plain(code: &mut CodeEditor, opcodes: &[Opcode]) {
    for &opcode in opcodes {
        code.append(Instruction::Plain(opcode));
    }
}

/// Appends a load or store.
pub(crate) fn local(code: &mut CodeEditor, opcode: Opcode, local: u16) -> NodeId {
    code.append(Instruction::local(opcode, local))
}

/// Appends a jump.
pub(crate) fn jump(code: &mut CodeEditor, opcode: Opcode, target: LabelId) -> NodeId {
    code.append(Instruction::Jump { opcode, target })
}

/// Appends `count` instructions that do nothing.
pub(crate) fn filler(code: &mut CodeEditor, count: usize) {
    for _ in 0..count {
        code.append(Instruction::Plain(Opcode::Nop));
    }
}

/// Loads a class in a JVM under full verification and calls its static methods with all combinations of
/// -1, 0 and 1 for an `int` and `null`, "a" and "b" for an `Object`. The lines are `name(-1,0) = 5`.
pub(crate) fn call_all(jdk: &Jdk, name: &str, bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    write_file(&folder.path().join(format!("{name}.class")), bytes);
    call_in(jdk, folder.path(), name)
}

/// As [`call_all`], with a class that lies in a folder.
pub(crate) fn call_in(jdk: &Jdk, folder: &Path, name: &str) -> String {
    let class_path = std::env::join_paths([folder, &caller(jdk)]).unwrap();
    let mut java = Command::new(jdk.tool("java"));
    java.args(["-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-cp"]).arg(class_path);
    let (success, output) = run(java.arg("Call").arg(name));
    assert!(success, "{output}");
    output
}

/// The folder of the compiled `Call`, made once for all tests.
fn caller(jdk: &Jdk) -> PathBuf {
    let source = include_bytes!("../java/Call.java");
    let mut hasher = DefaultHasher::new();
    (source, &jdk.home).hash(&mut hasher);
    let shared = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = shared.join(format!("call-{:016x}", hasher.finish()));
    if !folder.join("Call.class").is_file() {
        let own = tempfile::tempdir_in(shared).unwrap().keep();
        let path = own.join("Call.java");
        write_file(&path, source);
        let (success, output) = run(Command::new(jdk.tool("javac")).arg("-d").arg(&own).arg(&path));
        assert!(success, "{output}");
        // Another test may have been faster; then its folder serves as well.
        if std::fs::rename(&own, &folder).is_err() {
            std::fs::remove_dir_all(&own).unwrap();
        }
    }
    folder
}
