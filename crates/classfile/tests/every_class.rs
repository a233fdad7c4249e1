//! Every class of every JDK on the machine: decoded to the last attribute, written back, and every
//! body taken apart and put together again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::sync::Mutex;

use unsnarl_classfile::Result;
use unsnarl_classfile::edit::ClassEditor;
use unsnarl_classfile::read::{Attribute, Attributes, ClassFile, ConstantPool};

#[derive(Default)]
struct Counts {
    classes: usize,
    attributes: BTreeMap<String, usize>,
    instructions: usize,
    failures: Vec<String>,
}

#[test]
fn everything_in_every_class_is_decoded() {
    for jdk in support::jdks() {
        let counts = Mutex::new(Counts::default());
        support::for_each(&jdk.classes(None), |class| {
            let bytes = jdk.bytes(class);
            let mut mine = Counts { classes: 1, ..Counts::default() };
            if let Err(error) = decode_class(&bytes, &mut mine) {
                mine.failures.push(format!("{}: {error}", class.path));
            }
            let mut counts = counts.lock().unwrap();
            counts.classes += mine.classes;
            counts.instructions += mine.instructions;
            counts.failures.extend(mine.failures);
            for (name, count) in mine.attributes {
                *counts.attributes.entry(name).or_default() += count;
            }
        });
        let counts = counts.into_inner().unwrap();
        unsnarl_testing::report(&format!(
            "{}: {} classes, {} instructions, {} failures, attributes {:?}",
            jdk.name(),
            counts.classes,
            counts.instructions,
            counts.failures.len(),
            counts.attributes
        ));
        assert!(counts.failures.is_empty(), "{:#?}", counts.failures);
        let unknown: Vec<_> =
            counts.attributes.keys().filter(|name| name.starts_with("unknown ")).collect();
        let jdk_own = ["ModuleTarget", "ModuleHashes", "ModuleResolution"];
        assert!(
            unknown.iter().all(|name| jdk_own.contains(&name.trim_start_matches("unknown "))),
            "{unknown:?}"
        );
    }
}

fn decode_class(bytes: &[u8], counts: &mut Counts) -> Result<()> {
    let class = ClassFile::read(bytes)?;
    for index in class.pool.indices() {
        class.pool.get(index)?;
    }
    decode_attributes(&class.attributes, &class.pool, counts)?;
    for member in class.fields.iter().chain(&class.methods) {
        decode_attributes(&member.attributes, &class.pool, counts)?;
    }
    Ok(())
}

fn decode_attributes<'a>(
    attributes: &Attributes<'a>,
    pool: &ConstantPool<'a>,
    counts: &mut Counts,
) -> Result<()> {
    for attribute in attributes.iter() {
        let mut name = String::from_utf8_lossy(pool.utf8(attribute.name)?).into_owned();
        match attribute.decode(pool)? {
            Attribute::Code(code) => {
                for instruction in code.instructions() {
                    instruction?;
                    counts.instructions += 1;
                }
                decode_attributes(&code.attributes, pool, counts)?;
            }
            Attribute::Record(components) => {
                for component in components {
                    decode_attributes(&component.attributes, pool, counts)?;
                }
            }
            Attribute::Unknown { .. } => name = format!("unknown {name}"),
            _ => {}
        }
        *counts.attributes.entry(name).or_default() += 1;
    }
    Ok(())
}

#[test]
fn unedited_classes_are_written_back_byte_for_byte() {
    for jdk in support::jdks() {
        let different = Mutex::new(Vec::new());
        let classes = jdk.classes(None);
        support::for_each(&classes, |class| {
            let bytes = jdk.bytes(class);
            let written = ClassEditor::open(&bytes).unwrap().write().unwrap();
            if written != bytes {
                different.lock().unwrap().push(class.path.clone());
            }
        });
        let different = different.into_inner().unwrap();
        unsnarl_testing::report(&format!(
            "{}: {} classes, {} differ",
            jdk.name(),
            classes.len(),
            different.len()
        ));
        assert!(different.is_empty(), "{different:#?}");
    }
}

/// A compiler that does not use the shortest form (`wide` without need, an extended frame with a small
/// offset) would differ here; javac always does.
#[test]
fn reemitted_bodies_are_the_same() {
    for jdk in support::jdks() {
        let different = Mutex::new(Vec::new());
        let bodies = Mutex::new(0);
        support::for_each(&jdk.classes(None), |class| {
            let bytes = jdk.bytes(class);
            let mut editor = ClassEditor::open(&bytes).unwrap();
            let mut opened = 0;
            for method in editor.methods.keys() {
                let described = |editor: &ClassEditor<'_>| {
                    let name = String::from_utf8_lossy(editor.method_name(method)).into_owned();
                    format!("{} {name}", class.path)
                };
                let code = editor
                    .open_code(method)
                    .unwrap_or_else(|error| panic!("{}: {error}", described(&editor)));
                let Some(code) = code else { continue };
                opened += 1;
                let before = editor.write().unwrap();
                editor
                    .set_code(method, &code)
                    .unwrap_or_else(|error| panic!("{}: {error}", described(&editor)));
                if editor.write().unwrap() != before {
                    different.lock().unwrap().push(described(&editor));
                }
            }
            *bodies.lock().unwrap() += opened;
        });
        let different = different.into_inner().unwrap();
        unsnarl_testing::report(&format!(
            "{}: {} bodies, {} differ",
            jdk.name(),
            bodies.into_inner().unwrap(),
            different.len()
        ));
        assert!(different.is_empty(), "{different:#?}");
    }
}
