//! The programs in `fixtures/ssa`, one behaviour each, from every compiler on the machine.
//!
//! Each has `static String run(int seed)`. The first line may say `//@ release: 16`: the oldest
//! language level that the program needs, 8 if it is missing.

use std::path::Path;
use std::sync::Arc;

use libtest_mimic::Trial;
use unsnarl_testing::{Cache, Source};

use crate::java::{self, Compiler};

const SEEDS: i32 = 24;

/// The file with what the JVM printed, beside the classes of a program.
const EXPECTED: &str = "expected.txt";

/// A test of each program with each compiler.
pub(crate) fn trials() -> Vec<Trial> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/ssa");
    let paths = unsnarl_testing::files_of(&folder, "java").into_iter();
    let fixtures: Vec<Source> = paths.map(Source::read).collect();
    assert!(fixtures.len() >= 40, "fixtures were lost");
    let mut trials = Vec::new();
    for compiler in java::compilers().into_iter().map(Arc::new) {
        let chosen = fixtures.iter().filter(|it| oldest_release(it) <= compiler.release);
        let group: Arc<Vec<Source>> = Arc::new(chosen.cloned().collect());
        for index in 0..group.len() {
            let (compiler, group) = (Arc::clone(&compiler), Arc::clone(&group));
            let name = format!("ssa/{}/{}", group[index].name, compiler.word());
            trials.push(Trial::test(name, move || {
                runs_alike(&compiler, &group[index], &group);
                Ok(())
            }));
        }
    }
    trials
}

/// The JVM runs all programs of a compiler at once, and what it printed is kept; the interpreter runs one.
fn runs_alike(compiler: &Compiler, fixture: &Source, group: &[Source]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures/ssa").join(compiler.word());
    let cache = Cache::new(folder, (compiler.version(), java::DRIVER, SEEDS));
    let classes = cache.get(fixture, group, |missing, to| {
        let sources: Vec<_> = missing.iter().map(|source| source.path.clone()).collect();
        compiler.compile(&sources, to);
        let methods: Vec<String> = missing.iter().map(|source| run_method(source)).collect();
        let printed = java::run_in_jvm(&compiler.jdk, to, &methods, SEEDS);
        unsnarl_testing::move_apart(to).expect("files can be moved within a folder");
        for source in missing {
            let start = format!("{}(", run_method(source));
            let lines: Vec<&str> =
                printed.lines().filter(|line| line.starts_with(&start)).collect();
            let file = to.join(&source.name).join(EXPECTED);
            std::fs::write(file, lines.join("\n")).expect("a writable folder");
        }
    });
    let expected = std::fs::read_to_string(classes.join(EXPECTED)).expect("it was written");
    java::compare_with(&expected, &compiler.jdk, &classes, &[run_method(fixture)], SEEDS);
}

fn run_method(source: &Source) -> String {
    format!("{}.run", source.name)
}

fn oldest_release(source: &Source) -> u16 {
    match source.text.lines().next().and_then(|line| line.strip_prefix("//@ release: ")) {
        Some(release) => release.trim().parse().expect("a number"),
        None => 8,
    }
}
