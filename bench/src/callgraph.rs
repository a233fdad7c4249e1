//! Call graphs of real programs.

use std::path::{Path, PathBuf};
use std::time::Instant;

use unsnarl_classpath::{ClassPath, JdkChoice, Options, Role};
use unsnarl_models::Models;
use unsnarl_program::Program;
use unsnarl_program::callgraph::{CallGraph, Entries, EntryPoints};

use crate::measure::peak_memory;

/// Jars as Debian installs them, smallest program first, with where they begin; nothing means as a
/// library.
const DEBIAN: [(&str, Option<&str>); 6] = [
    ("/usr/share/java/hsqldb.jar", Some("org.hsqldb.server.Server.main")),
    ("/usr/share/java/h2.jar", Some("org.h2.tools.Server.main")),
    ("/usr/share/java/derby.jar", None),
    ("/usr/share/java/lucene-core-4.10.4.jar", None),
    ("/usr/share/java/jython.jar", Some("org.python.util.jython.main")),
    ("/usr/share/java/jython.jar", None),
];

/// Prints a row for each jar.
pub(crate) fn run(jars: &[&str]) -> Result<(), String> {
    println!(
        "{:<28} {:>8} {:>8} {:>9} {:>9} {:>8} {:>8} {:>8}",
        "call graph of", "classes", "methods", "reached", "edges", "starts", "seconds", "peak MB"
    );
    let given: Vec<(&str, Option<&str>)> = jars.iter().map(|&jar| (jar, None)).collect();
    let all: &[(&str, Option<&str>)] = if given.is_empty() { &DEBIAN } else { &given };
    for &(jar, entry) in all {
        if !Path::new(jar).exists() {
            println!("{jar}: not installed");
            continue;
        }
        row(jar, entry);
    }
    println!("peak MB is that of the process so far: run one jar alone for its own.");
    Ok(())
}

fn row(jar: &str, entry: Option<&str>) {
    let start = Instant::now();
    let path = ClassPath::open(&Options {
        inputs: vec![PathBuf::from(jar)],
        class_path: Vec::new(),
        jdk: JdkChoice::from_environment(),
        release: None,
    });
    let models = Models::builtin();
    let mut program = Program::new(&path);
    let entries = match entry {
        Some(entry) => Entries::Patterns(vec![entry.to_owned()]),
        None => Entries::Library,
    };
    let points = EntryPoints::find(&mut program, &models, &entries);
    let graph = CallGraph::build(&mut program, &models, &points);
    let seconds = start.elapsed().as_secs_f64();
    let classes = path.entries().filter(|&entry| path.role(entry) == Role::Input).count();
    let mut starts: Vec<_> =
        graph.thread_starts().map(|(edge, _)| (edge.caller, edge.statement)).collect();
    starts.dedup();
    let name = Path::new(jar).file_name().map(|name| name.to_string_lossy().into_owned());
    println!(
        "{:<28} {:>8} {:>8} {:>9} {:>9} {:>8} {:>8.2} {:>8}",
        format!(
            "{} {}",
            name.unwrap_or_default(),
            if entry.is_some() { "main" } else { "library" }
        ),
        classes,
        program.methods().len(),
        graph.methods.len(),
        graph.edges.len(),
        starts.len(),
        seconds,
        peak_memory().map_or("?".to_owned(), |bytes| (bytes >> 20).to_string()),
    );
}
