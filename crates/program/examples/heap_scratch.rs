use std::path::PathBuf;
use std::time::Instant;
use unsnarl_models::Models;
use unsnarl_program::Program;
use unsnarl_program::callgraph::{CallGraph, Entries, EntryPoints};
use unsnarl_program::heap::Heap;
use unsnarl_program::path::{ClassPath, Options};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let path = ClassPath::open(&Options {
        inputs: vec![PathBuf::from(&a[1])],
        class_path: Vec::new(),
        jdk: unsnarl_program::path::JdkChoice::from_environment(),
        release: None,
    });
    let models = Models::builtin();
    let entries = match a.get(2).map(|s| s.as_str()) {
        None => Entries::Main,
        Some("lib") => Entries::Library,
        Some(e) => Entries::Patterns(vec![e.to_owned()]),
    };
    let mut program = Program::new(&path);
    let points = EntryPoints::find(&mut program, &models, &entries);
    let t = Instant::now();
    let graph = CallGraph::build(&mut program, &models, &points);
    eprintln!("vta {:?} methods {} edges {}", t.elapsed(), graph.methods.len(), graph.edges.len());
    let t = Instant::now();
    let heap = Heap::build(&mut program, &models, &points, false);
    eprintln!(
        "heap {:?} instances {} methods {} objects {} origins {}",
        t.elapsed(),
        heap.instances.len(),
        heap.instances.values().map(|i| i.method).collect::<std::collections::HashSet<_>>().len(),
        heap.objects.len(),
        heap.origins.len()
    );
    eprintln!("{:?}", heap.widened);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    eprintln!("{}", status.lines().find(|l| l.starts_with("VmHWM")).unwrap());
    if a.len() > 3 {
        for (id, o) in heap.origins.iter() {
            eprintln!(
                "{id} {:?} {:?}",
                o.kind,
                o.entries
                    .iter()
                    .map(|&e| program.method_text(heap.instances[e].method))
                    .collect::<Vec<_>>()
            );
        }
    }
}
