//! Class files without frames, which the JVM's old verifier judges by the code alone.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use unsnarl_classfile::edit::ClassEditor;
use unsnarl_classfile::{Instruction, Opcode};
use unsnarl_instrument::{Plan, SiteNumbers, rewrite};
use unsnarl_recording::{FieldName, Volatility};
use unsnarl_testing::{Jdk, run};

const SOURCE: &str = "class A {
    int x;
    int locked(Object lock) {
        synchronized (lock) { x++; if (x > 9) return -1; }
        return x;
    }
    void nested(Object one, Object two) {
        for (int i = 0; i < 3; i++) synchronized (one) { synchronized (two) { x += i; } }
    }
}";

/// Links the class that it is named, which verifies it.
const LINK: &str = "class Link {
    public static void main(String[] names) throws Exception {
        Class.forName(names[0], false, Link.class.getClassLoader()).getDeclaredConstructors();
        System.out.println(\"linked\");
    }
}";

/// The last class-file version whose methods have no frames, at its place in a class file.
const WITHOUT_FRAMES: [u8; 2] = 49_u16.to_be_bytes();

#[test]
fn synchronized_blocks_of_old_compilers_verify() {
    for jdk in unsnarl_testing::jdks() {
        let folder = tempfile::tempdir().unwrap();
        for (name, source) in [("A", SOURCE), ("Link", LINK)] {
            let file = folder.path().join(format!("{name}.java"));
            std::fs::write(&file, source).unwrap();
            jdk.compile([file.as_path()], folder.path());
        }
        let class = folder.path().join("A.class");
        let mut as_javac_does = std::fs::read(&class).unwrap();
        as_javac_does[6..8].copy_from_slice(&WITHOUT_FRAMES);
        let as_eclipse_does = with_caught_on_the_stack(&as_javac_does);
        for bytes in [as_javac_does, as_eclipse_does] {
            std::fs::write(&class, &bytes).unwrap();
            link(&jdk, folder.path());
            let unknown = |_: &FieldName| Volatility::Unknown;
            let numbers = SiteNumbers::default();
            let rewritten = rewrite(&bytes, &Plan::default(), &numbers, &unknown, false);
            let rewritten = rewritten.unwrap().unwrap();
            assert_eq!(rewritten.notes, [""; 0]);
            std::fs::write(&class, rewritten.bytes).unwrap();
            link(&jdk, folder.path());
        }
    }
}

fn link(jdk: &Jdk, classes: &Path) {
    let mut java = jdk.command("java");
    java.args(["-XX:+UnlockDiagnosticVMOptions", "-XX:+BytecodeVerificationLocal"]);
    let output = run(java.arg("-cp").arg(classes).args(["Link", "A"]));
    assert!(output.contains("linked"), "{}: {output}", jdk.name());
}

/// Where javac stores what a handler caught, releases the monitor, loads it and throws it, Eclipse's compiler
/// leaves it on the stack.
fn with_caught_on_the_stack(class: &[u8]) -> Vec<u8> {
    let mut class = ClassEditor::open(class).unwrap();
    let mut removed = 0;
    for method in class.methods.keys() {
        let Some(mut code) = class.open_code(method).unwrap() else { continue };
        let nodes = code.instructions().map(|(node, it)| (node, it.opcode().long_form()));
        let nodes: Vec<_> = nodes.collect();
        for five in nodes.windows(5) {
            let [store, _, leave, load, throw] = five else { unreachable!("windows of five") };
            let is_handler = (store.1, leave.1, load.1, throw.1)
                == (Opcode::AStore, Opcode::MonitorExit, Opcode::ALoad, Opcode::AThrow);
            if is_handler {
                for node in [store.0, load.0] {
                    let removed_one = code.remove(node);
                    assert!(matches!(removed_one, Some(Instruction::Local { .. })));
                    removed += 1;
                }
            }
        }
        class.set_code(method, &code).unwrap();
    }
    assert_eq!(removed, 6, "three blocks");
    class.write().unwrap()
}
