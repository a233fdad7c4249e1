//! HotSpot as the judge: classes with a probe before every instruction, and a handler around every
//! synchronized method, load under full verification, and javac runs from them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use support::{Jdk, run, write_file};
use unsnarl_classfile::edit::{ClassEditor, CodeEditor, CodeError, EditError};
use unsnarl_classfile::{Instruction, Opcode, flags};
use unsnarl_testing::report;

const MODULES: [&str; 4] = ["java.base", "java.logging", "java.xml", "jdk.compiler"];

/// Code that leaves the stack as it was.
#[derive(Clone, Copy)]
enum Probe {
    /// `iconst_0; pop`
    Push,
    /// A call of a method that does nothing.
    Call,
}

const HOOK: &str = "java/lang/ProbeHook";
const HOOK_SOURCE: &str =
    "package java.lang; public class ProbeHook { public static void probe() {} }";

#[derive(Default, Debug)]
struct Counts {
    classes: usize,
    methods: usize,
    probes: usize,
    handlers: usize,
    /// Methods that would have become too long and were left as they are.
    too_long: Vec<String>,
}

#[test]
fn classes_full_of_pushes_verify() {
    for jdk in support::jdks() {
        verify_all(&jdk, Probe::Push);
    }
}

#[test]
fn classes_full_of_calls_verify() {
    for jdk in support::jdks() {
        verify_all(&jdk, Probe::Call);
    }
}

/// 33,000 instructions in the middle of real methods: every jump across them needs its long form, and
/// every condition among those a frame that nobody wrote.
#[test]
fn far_jumps_in_real_methods_verify() {
    for jdk in support::jdks() {
        let folder = tempfile::tempdir().unwrap();
        let mut names = String::new();
        let (mut methods, mut conditions) = (0, 0);
        for class in jdk.classes(Some(&MODULES)).iter().step_by(5) {
            let bytes = jdk.bytes(class);
            let mut editor = ClassEditor::open(&bytes).unwrap();
            let bodies = editor
                .methods
                .keys()
                .filter_map(|method| Some((method, editor.open_code(method).unwrap()?)));
            let most = bodies.max_by_key(|(_, code)| crossing(code));
            let Some((method, mut code)) = most.filter(|(_, code)| crossing(code) > 0) else {
                continue;
            };
            let middle = code.instructions().count() / 2;
            let (node, _) = code.instructions().nth(middle).expect("a body is not empty");
            for _ in 0..33_000 {
                code.insert_before(node, Instruction::Plain(Opcode::Nop));
            }
            match editor.set_code(method, &code) {
                Ok(()) => {}
                Err(EditError::Code { source: CodeError::TooLong { .. }, .. }) => continue,
                Err(error) => panic!("{}: {error}", class.path),
            }
            methods += 1;
            conditions += crossing(&code);
            let path = folder.path().join(&class.module).join(&class.path);
            write_file(&path, &editor.write().unwrap());
            names += &list_line(class);
        }
        let result = load(&jdk, folder.path(), &MODULES, &names);
        report(&format!(
            "{}: {conditions} conditions in {methods} methods widened: {result:?}",
            jdk.name()
        ));
        assert!(conditions > 1000);
        assert_eq!((result.refused, result.other), (0, 0), "{}", result.output);
    }
}

/// How many conditional jumps lead from one half of a body to the other.
fn crossing(code: &CodeEditor) -> usize {
    let middle = code.instructions().nth(code.instructions().count() / 2).map(|(node, _)| node);
    let first: HashSet<_> = code.nodes().take_while(|&node| Some(node) != middle).collect();
    let place = |node| first.contains(&node);
    let jumps = code.instructions().filter(|(node, instruction)| match instruction {
        Instruction::Jump { opcode, target } => {
            let target = code.binding(*target).expect("a bound label");
            opcode.negated().is_some() && place(*node) != place(target)
        }
        _ => false,
    });
    jumps.count()
}

/// The tests above mean something only if a wrong frame is found.
#[test]
fn a_broken_frame_is_refused() {
    for jdk in support::jdks() {
        let folder = tempfile::tempdir().unwrap();
        let mut names = String::new();
        let mut broken = 0;
        for class in jdk.classes(Some(&["java.logging"])) {
            let bytes = jdk.bytes(&class);
            let mut editor = ClassEditor::open(&bytes).unwrap();
            for method in editor.methods.keys() {
                let Some(mut code) = editor.open_code(method).unwrap() else { continue };
                let target = code.instructions().find_map(|(_, i)| i.targets().next().copied());
                if editor.methods[method].access & flags::STATIC == 0
                    && let Some(target) = target
                {
                    code.set_frame(target, Vec::new(), Vec::new());
                    editor.set_code(method, &code).unwrap();
                    broken += 1;
                    break;
                }
            }
            write_file(
                &folder.path().join("java.logging").join(&class.path),
                &editor.write().unwrap(),
            );
            names += &list_line(&class);
        }
        let result = load(&jdk, folder.path(), &["java.logging"], &names);
        report(&format!("{}: {broken} classes broken: {result:?}", jdk.name()));
        assert!(result.refused > 10 && result.refused <= broken, "{}", result.output);
    }
}

fn verify_all(jdk: &Jdk, probe: Probe) {
    let folder = tempfile::tempdir().unwrap();
    let (counts, names) = instrument_modules(jdk, probe, folder.path());
    report(&format!("{}: {counts:?}", jdk.name()));
    let result = load(jdk, folder.path(), &MODULES, &names);
    report(&format!("{}: {result:?}", jdk.name()));
    assert_eq!((result.refused, result.other), (0, 0), "{}", result.output);
    assert_eq!(result.linked, counts.classes);
    compile_with_probes(jdk, folder.path());
}

/// Rewrites the modules into folders of their names; returns the list of classes for `Load`.
fn instrument_modules(jdk: &Jdk, probe: Probe, folder: &Path) -> (Counts, String) {
    let total = Mutex::new((Counts::default(), String::new()));
    support::for_each(&jdk.classes(Some(&MODULES)), |class| {
        if class.path == "module-info.class" {
            return;
        }
        let mut counts = Counts { classes: 1, ..Counts::default() };
        let bytes = jdk.bytes(class);
        let changed = instrument(&bytes, probe, &mut counts);
        write_file(&folder.join(&class.module).join(&class.path), &changed);
        let (total, names) = &mut *total.lock().unwrap();
        total.classes += 1;
        total.methods += counts.methods;
        total.probes += counts.probes;
        total.handlers += counts.handlers;
        total.too_long.extend(counts.too_long.iter().map(|m| format!("{} {m}", class.path)));
        *names += &list_line(class);
    });
    if matches!(probe, Probe::Call) {
        let source = folder.join("ProbeHook.java");
        write_file(&source, HOOK_SOURCE.as_bytes());
        let target = folder.join("java.base");
        let patch = format!("java.base={}", folder.display());
        let mut javac = Command::new(jdk.tool("javac"));
        javac.arg("--patch-module").arg(patch).arg("-d").arg(target).arg(source);
        let (success, output) = run(&mut javac);
        assert!(success, "{output}");
    }
    total.into_inner().unwrap()
}

fn list_line(class: &support::ImageClass) -> String {
    let name = class.path.trim_end_matches(".class").replace('/', ".");
    match name.as_str() {
        "module-info" => String::new(),
        _ => format!("{} {name}\n", class.module),
    }
}

fn instrument(bytes: &[u8], probe: Probe, counts: &mut Counts) -> Vec<u8> {
    let mut class = ClassEditor::open(bytes).unwrap();
    for method in class.methods.keys() {
        let Some(mut code) = class.open_code(method).unwrap() else { continue };
        // With anything but a `return` in it every object of the JVM has a finalizer, which ends its
        // life before it has begun.
        if class.original().name() == b"java/lang/Object"
            && class.method_name(method) == b"finalize"
        {
            continue;
        }
        counts.methods += 1;
        let probes = insert_probes(&mut code, &mut class, probe);
        let is_synchronized = class.methods[method].access & flags::SYNCHRONIZED != 0;
        if is_synchronized {
            code.catch_all(&mut class.pool).unwrap();
        }
        match class.set_code(method, &code) {
            Ok(()) => {
                counts.probes += probes;
                counts.handlers += usize::from(is_synchronized);
            }
            Err(EditError::Code { method, source: CodeError::TooLong { length } }) => {
                counts.too_long.push(format!("{method} ({length} bytes)"));
            }
            Err(error) => panic!("{error}"),
        }
    }
    class.write().unwrap()
}

fn insert_probes(code: &mut CodeEditor, class: &mut ClassEditor<'_>, probe: Probe) -> usize {
    code.grow_stack(1);
    let mut probes = 0;
    let mut next = code.first();
    while let Some(node) = next {
        next = code.next(node);
        if code.instruction(node).is_none() {
            continue;
        }
        probes += 1;
        let mut here = code.before(node, &mut class.pool);
        match probe {
            Probe::Push => {
                here.plain(Opcode::IConst0).plain(Opcode::Pop);
            }
            Probe::Call => {
                here.invoke_static(HOOK, "probe", "()V").unwrap();
            }
        }
    }
    probes
}

struct Loaded {
    linked: usize,
    refused: usize,
    other: usize,
    output: String,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} linked, {} refused, {} other", self.linked, self.refused, self.other)
    }
}

/// A `java` that takes modules from below `folder` and verifies all it loads.
fn patched_java(jdk: &Jdk, folder: &Path, modules: &[&str]) -> Command {
    let mut java = Command::new(jdk.tool("java"));
    java.args(["-Xshare:off", "-XX:+UnlockDiagnosticVMOptions"]);
    java.args(["-XX:+BytecodeVerificationLocal", "-XX:+BytecodeVerificationRemote"]);
    for module in modules {
        let path = folder.join(module);
        java.arg("--patch-module").arg(format!("{module}={}", path.display()));
        java.arg("--add-modules").arg(module);
    }
    java
}

fn load(jdk: &Jdk, folder: &Path, modules: &[&str], names: &str) -> Loaded {
    let (source, list) = (folder.join("Load.java"), folder.join("classes.txt"));
    write_file(&source, unsnarl_testing::LOAD.as_bytes());
    write_file(&list, names.as_bytes());
    let (success, output) = run(Command::new(jdk.tool("javac")).arg("-d").arg(folder).arg(&source));
    assert!(success, "{output}");
    let mut java = patched_java(jdk, folder, modules);
    let (success, output) = run(java.arg("-cp").arg(folder).arg("Load").arg(&list));
    assert!(success, "{output}");
    let last = output.lines().rfind(|line| line.starts_with("linked ")).expect("a last line");
    let numbers: Vec<usize> = last.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [linked, refused, other] = numbers[..] else { panic!("{output}") };
    Loaded { linked, refused, other, output }
}

/// javac, itself full of probes, compiles a program, and the JVM full of probes runs it.
fn compile_with_probes(jdk: &Jdk, folder: &Path) {
    let source = folder.join("Hello.java");
    let classes = folder.join("hello");
    write_file(&source, include_bytes!("java/Hello.java"));
    let mut javac = patched_java(jdk, folder, &MODULES);
    javac.arg("com.sun.tools.javac.Main").arg("-d").arg(&classes).arg(&source);
    let (success, output) = run(&mut javac);
    assert!(success, "{output}");
    let mut java = patched_java(jdk, folder, &MODULES);
    let (success, output) = run(java.arg("-cp").arg(&classes).arg("Hello"));
    assert!(success && output.contains("hello, world; you!\nclosed"), "{output}");
}
