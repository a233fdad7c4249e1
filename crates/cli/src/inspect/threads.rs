//! `--what threads`: where threads are started and what they run.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anstyle::Style;
use serde::Serialize;
use unsnarl_commands::Phases;
use unsnarl_commands::analysis::execute;
use unsnarl_program::MethodId;
use unsnarl_program::body::StatementId;
use unsnarl_program::heap::OriginKind;

use super::dot::Graph;
use super::{Inspection, View, write};
use crate::output::Output;

#[derive(Serialize)]
struct Threads {
    schema: &'static str,
    entry_points: Vec<String>,
    thread_starts: Vec<StartView>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct StartView {
    kind: &'static str,
    class: String,
    method: String,
    file: Option<String>,
    line: Option<u16>,
    /// What runs in the new thread.
    runs: Vec<String>,
    /// The abstract threads that the analyses distinguish.
    threads: Vec<ThreadView>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct ThreadView {
    name: String,
    /// Whether it stands for one thread at run time, not for any number.
    unique: bool,
}

pub(super) fn show(inspection: &mut Inspection<'_>, output: &mut Output) -> anyhow::Result<()> {
    inspection.classes()?;
    let graph = inspection.session.call_graph();
    let threads = abstract_threads(inspection, output);
    let mut starts: Vec<StartView> = Vec::new();
    let mut previous = None;
    for (edge, kind) in graph.thread_starts() {
        if !inspection.shows_method(edge.caller) {
            continue;
        }
        let runs = inspection.session.program.lambda_target(edge.callee);
        let program = &inspection.session.program;
        let runs = program.method_text(runs);
        let place = (edge.caller, edge.statement, kind.word());
        if previous.replace(place) == Some(place)
            && let Some(start) = starts.last_mut()
        {
            start.runs.push(runs);
            continue;
        }
        let caller = &program.methods()[edge.caller];
        let body = program.lowered_body(edge.caller);
        starts.push(StartView {
            kind: kind.word(),
            class: program.class_text(caller.class),
            method: program.names.text(caller.name).into_owned(),
            file: program.source_file(caller.class),
            line: body.map(|body| body.statements[edge.statement].line).filter(|&line| line != 0),
            runs: vec![runs],
            threads: threads.get(&place).cloned().unwrap_or_default(),
        });
    }
    starts.iter_mut().for_each(|start| start.runs.sort_unstable());
    starts.sort_by(|a, b| {
        let key = |start: &StartView| {
            (start.class.clone(), start.line, start.method.clone(), start.runs.clone())
        };
        key(a).cmp(&key(b))
    });
    let view = Threads {
        schema: "unsnarl.inspect.threads/1",
        entry_points: graph
            .entries
            .iter()
            .map(|&method| inspection.session.program.method_text(method))
            .collect(),
        thread_starts: starts,
        notes: inspection.session.notes(),
    };
    write(&view, inspection.arguments.format, output)
}

/// The method and the statement that start threads, and how.
type Site = (MethodId, StatementId, &'static str);

/// The abstract threads that each place starts. There are none without an entry point, and for the whole
/// JDK nobody waits for them.
fn abstract_threads(
    inspection: &mut Inspection<'_>,
    output: &Output,
) -> BTreeMap<Site, Vec<ThreadView>> {
    let mut threads: BTreeMap<Site, Vec<ThreadView>> = BTreeMap::new();
    if inspection.arguments.inputs.is_empty() {
        return threads;
    }
    let mut phases = Phases::new(output.messages());
    let Ok(execution) = execute(&mut inspection.session, &mut phases) else { return threads };
    phases.finish();
    let heap = &execution.heap;
    for (id, origin) in heap.origins.iter() {
        let (Some(start), OriginKind::Started(kind)) = (&origin.start, origin.kind) else {
            continue;
        };
        let site = (heap.instances[start.instance].method, start.statement, kind.word());
        let name = execution.thread_name(&inspection.session.program, id);
        let view = ThreadView { name, unique: execution.is_unique_thread(id) };
        threads.entry(site).or_default().push(view);
    }
    for views in threads.values_mut() {
        views.sort_unstable();
        views.dedup();
    }
    threads
}

impl StartView {
    fn place(&self) -> String {
        let place = format!("{}.{}", self.class, self.method);
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{place} ({file}:{line})"),
            _ => place,
        }
    }
}

impl View for Threads {
    fn text(&self, out: &mut dyn Write, title: Style) -> io::Result<()> {
        for start in &self.thread_starts {
            writeln!(out, "{title}{}{title:#} started by {}", start.kind, start.place())?;
            for run in &start.runs {
                writeln!(out, "    runs {run}")?;
            }
            for thread in &start.threads {
                let number = if thread.unique { "one thread" } else { "any number of threads" };
                writeln!(out, "    is {}: {number}", thread.name)?;
            }
        }
        if self.thread_starts.is_empty() {
            writeln!(out, "no thread is started")?;
        }
        for note in &self.notes {
            writeln!(out, "note: {note}")?;
        }
        Ok(())
    }

    fn dot(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut graph = Graph::begin(out, "threads")?;
        for start in &self.thread_starts {
            for run in &start.runs {
                graph.edge(&start.place(), run, start.kind)?;
            }
        }
        Ok(graph.end()?)
    }
}
