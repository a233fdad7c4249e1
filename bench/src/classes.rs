//! Reading, lowering and rewriting the classes of the JDK.

use std::hint::black_box;

use java_bytecode::raw::ParseOptions;
use java_bytecode::raw::file::RawClassFile;
use unsnarl_classfile::Opcode;
use unsnarl_classfile::edit::{ClassEditor, EditError};
use unsnarl_classfile::read::{Attributes, ClassFile, ConstantPool};
use unsnarl_classpath::{ClassPath, JdkChoice, Options};
use unsnarl_program::{ClassId, Program};

use crate::measure::{best_of_three, own_memory};

const SIZES: [usize; 4] = [1_000, 3_000, 9_000, 27_000];

/// Prints a row for each number of classes.
pub(crate) fn run() -> Result<(), String> {
    let path = open_jdk()?;
    let classes = evenly(&path, usize::MAX)?;
    println!("JDK {} classes, one core, best of three", classes.len());
    println!(
        "{:>8} {:>12} {:>12} {:>10} {:>12} {:>12} {:>12} {:>10}",
        "classes",
        "read/s",
        "decode/s",
        "of peer",
        "SSA meth./s",
        "re-emit/s",
        "probes/s",
        "B/class"
    );
    for size in SIZES {
        let classes = evenly(&path, size)?;
        let count = classes.len() as f64;
        let read = best_of_three(|| {
            for bytes in &classes {
                let _ = black_box(ClassFile::read(bytes));
            }
        });
        let decode = best_of_three(|| classes.iter().for_each(|bytes| decode_all(bytes)));
        let peer = best_of_three(|| {
            for bytes in &classes {
                let _ =
                    black_box(RawClassFile::parse(bytes.to_vec().into(), ParseOptions::default()));
            }
        });
        let (methods, lowering) = lower_all(&path, size);
        let reemit = best_of_three(|| {
            for bytes in &classes {
                let _ = black_box(rewrite(bytes, false));
            }
        });
        let probes = best_of_three(|| {
            for bytes in &classes {
                let _ = black_box(rewrite(bytes, true));
            }
        });
        println!(
            "{:>8} {:>12.0} {:>12.0} {:>9.2}x {:>12.0} {:>12.0} {:>12.0} {:>10}",
            classes.len(),
            count / read,
            count / decode,
            peer / decode,
            methods as f64 / lowering,
            count / reemit,
            count / probes,
            memory_of(size)
                .map_or("?".to_owned(), |bytes| (bytes / classes.len() as u64).to_string()),
        );
    }
    println!(
        "read: structure only. decode: every attribute and instruction as well, and the time of"
    );
    println!(
        "java-bytecode's raw parser over ours. SSA: methods lowered per second. re-emit: all bodies"
    );
    println!(
        "opened and written back. probes: the same with two instructions before every instruction."
    );
    println!("B/class: memory of a loaded program without bodies, the mapped image aside.");
    Ok(())
}

/// The memory of a program with so many classes, measured in a process of its own.
fn memory_of(size: usize) -> Option<u64> {
    let program = std::env::current_exe().ok()?;
    let output = std::process::Command::new(program).args(["memory", &size.to_string()]).output();
    String::from_utf8(output.ok()?.stdout).ok()?.trim().parse().ok()
}

/// Prints how much memory a program with so many classes takes.
pub(crate) fn print_memory(count: &str) -> Result<(), String> {
    let count: usize = count.parse().map_err(|error| format!("{count}: {error}"))?;
    let path = open_jdk()?;
    let before = own_memory().ok_or("this system does not tell about memory")?;
    let mut program = Program::new(&path);
    load(&mut program, count);
    let after = own_memory().ok_or("this system does not tell about memory")?;
    println!("{}", after.saturating_sub(before));
    Ok(())
}

fn open_jdk() -> Result<ClassPath, String> {
    let path = ClassPath::open(&Options {
        inputs: Vec::new(),
        class_path: Vec::new(),
        jdk: JdkChoice::from_environment(),
        release: None,
    });
    match path.entries().len() {
        0 => Err("no JDK found: set JAVA_HOME".to_owned()),
        _ => Ok(path),
    }
}

/// About `count` classes, taken evenly from the whole image.
fn evenly(path: &ClassPath, count: usize) -> Result<Vec<&[u8]>, String> {
    let total = path.entries().len();
    let step = (total / count.min(total)).max(1);
    path.entries()
        .step_by(step)
        .take(count)
        .map(|entry| path.read(entry).map_err(|error| error.to_string()))
        .collect()
}

fn load(program: &mut Program<'_>, count: usize) -> Vec<ClassId> {
    let path = program.path();
    let total = path.entries().len();
    let step = (total / count.min(total)).max(1);
    path.entries().step_by(step).take(count).filter_map(|entry| program.class_at(entry)).collect()
}

/// How many methods were lowered, and in how many seconds.
fn lower_all(path: &ClassPath, count: usize) -> (usize, f64) {
    let mut program = Program::new(path);
    let classes = load(&mut program, count);
    let mut methods = 0;
    let seconds = best_of_three(|| {
        methods = 0;
        for &class in &classes {
            for method in program.classes()[class].methods.clone() {
                methods += usize::from(matches!(program.lower(method), Ok(Some(_))));
            }
        }
    });
    (methods, seconds)
}

fn decode_all(bytes: &[u8]) {
    let Ok(class) = ClassFile::read(bytes) else { return };
    decode_attributes(&class.attributes, &class.pool);
    for member in class.fields.iter().chain(&class.methods) {
        decode_attributes(&member.attributes, &class.pool);
    }
    for method in &class.methods {
        if let Ok(Some(code)) = class.code(method) {
            for instruction in code.instructions() {
                let _ = black_box(instruction);
            }
            decode_attributes(&code.attributes, &class.pool);
        }
    }
}

fn decode_attributes<'a>(attributes: &Attributes<'a>, pool: &ConstantPool<'a>) {
    for attribute in attributes.iter() {
        let _ = black_box(attribute.decode(pool));
    }
}

fn rewrite(bytes: &[u8], probes: bool) -> Option<Vec<u8>> {
    let mut class = ClassEditor::open(bytes).ok()?;
    for method in class.methods.keys() {
        // A method that grows past the limit stays as it is.
        let _: Result<(), EditError> = (|| {
            let Some(mut code) = class.open_code(method)? else { return Ok(()) };
            if probes {
                let nodes: Vec<_> = code.instructions().map(|(node, _)| node).collect();
                code.grow_stack(1);
                for node in nodes {
                    let mut probe = code.before(node, &mut class.pool);
                    probe.plain(Opcode::IConst0).plain(Opcode::Pop);
                }
            }
            class.set_code(method, &code)
        })();
    }
    class.write().ok()
}
