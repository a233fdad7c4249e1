//! `--what oug`: object use graphs, the life of one object each.

use std::io::{self, Write};

use anstyle::Style;
use anyhow::bail;
use serde::Serialize;
use unsnarl_commands::Phases;
use unsnarl_commands::analysis::execute;
use unsnarl_program::Program;
use unsnarl_program::heap::ObjectId;
use unsnarl_symbolic::{Accessed, Execution, ObjectUseGraph, Sharing, Use, UseId};

use super::dot::Graph;
use super::heap::{CodeSite, ObjectView, is_chosen, object_text, objects};
use super::{Inspection, View, write};
use crate::args::InspectArguments;
use crate::output::Output;

#[derive(Serialize)]
struct UseGraphs {
    schema: &'static str,
    graphs: Vec<GraphView>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct GraphView {
    object: ObjectView,
    nodes: Vec<NodeView>,
    control_flow: Vec<(String, String)>,
    reference_flow: Vec<(String, String)>,
    thread_control: Vec<(String, String)>,
}

#[derive(Serialize)]
struct NodeView {
    id: String,
    kind: &'static str,
    thread: String,
    place: CodeSite,
    /// The variable that is accessed, or that holds the reference.
    variable: Option<String>,
    /// The threads that are started or joined.
    threads: Vec<String>,
    locks: Vec<String>,
    new_safe: bool,
    start_safe: bool,
    join_safe: bool,
}

pub(super) fn show(inspection: &mut Inspection<'_>, output: &mut Output) -> anyhow::Result<()> {
    inspection.session.classes()?;
    let mut phases = Phases::new(output.messages());
    let execution = execute(&mut inspection.session, &mut phases)?;
    phases.enter("object use graphs");
    let objects = chosen(inspection, &execution)?;
    let program = &inspection.session.program;
    let graphs = objects.into_iter().map(|(id, object)| {
        let graph = execution.object_use_graph(program, id);
        view(program, &execution, object, &graph)
    });
    let graphs = graphs.collect();
    phases.finish();
    let notes = inspection.session.notes();
    let view = UseGraphs { schema: "unsnarl.inspect.oug/1", graphs, notes };
    write(&view, inspection.arguments.format, output)
}

/// The objects that `--object` names; else those of `--class`; else those that several threads use.
fn chosen(
    inspection: &Inspection<'_>,
    execution: &Execution<'_>,
) -> anyhow::Result<Vec<(ObjectId, ObjectView)>> {
    let InspectArguments { class, objects: wanted, .. } = inspection.arguments;
    let mut objects = objects(inspection, execution);
    if wanted.is_empty() {
        objects.retain(|&(id, _)| {
            let object = &execution.heap.objects[id];
            is_chosen(inspection, object.object, object.made.map(|(method, _)| method))
                && (class.is_some() || execution.sharing(id) != Sharing::OneThread)
        });
        return Ok(objects);
    }
    for name in wanted {
        if !objects.iter().any(|(_, object)| object.id == *name) {
            let known = match objects.len() {
                0 => "there is none".to_owned(),
                1 => "there is o1 alone".to_owned(),
                count => format!("they go from o1 to o{count}"),
            };
            let filter = class.as_ref().map(|class| format!(" --class '{class}'"));
            bail!(
                "no object has the id '{name}'; the ids are those of inspect --what heap{}, and {known}",
                filter.unwrap_or_default()
            );
        }
    }
    objects.retain(|(_, object)| wanted.contains(&object.id));
    Ok(objects)
}

fn view(
    program: &Program<'_>,
    execution: &Execution<'_>,
    object: ObjectView,
    graph: &ObjectUseGraph,
) -> GraphView {
    let named = |edges: &[(UseId, UseId)]| {
        edges.iter().map(|(from, to)| (from.to_string(), to.to_string())).collect()
    };
    GraphView {
        object,
        nodes: graph
            .nodes
            .iter()
            .map(|(id, node)| node_view(program, execution, id, node))
            .collect(),
        control_flow: named(&graph.control_flow),
        reference_flow: named(&graph.reference_flow),
        thread_control: named(&graph.thread_control),
    }
}

fn node_view(program: &Program<'_>, execution: &Execution<'_>, id: UseId, node: &Use) -> NodeView {
    let method = execution.heap.instances[node.instance].method;
    let lock = |object: &ObjectId| object_text(program, execution.heap.objects[*object].object).1;
    NodeView {
        id: id.to_string(),
        kind: node.kind.word(),
        thread: execution.thread_name(program, node.thread),
        place: CodeSite::of(program, method, node.statement),
        variable: node.variable.map(|variable| match variable {
            Accessed::Field(field) => program.names.text(program.fields()[field].name).into_owned(),
            Accessed::Element => "[]".to_owned(),
            Accessed::Contents => "contents".to_owned(),
            Accessed::Slot(name) => program.names.text(name).into_owned(),
        }),
        threads: node
            .threads
            .iter()
            .map(|&thread| execution.thread_name(program, thread))
            .collect(),
        locks: node
            .guards
            .iter()
            .map(|guard| guard.objects.iter().map(lock).collect::<Vec<_>>().join(" or "))
            .collect(),
        new_safe: node.is_new_safe,
        start_safe: node.is_start_safe,
        join_safe: node.is_join_safe,
    }
}

impl NodeView {
    /// `PUT balance in bank.Account.update (Account.java:8) by Teller, holding bank.Account`.
    fn line(&self) -> String {
        let mut line = self.kind.to_owned();
        if let Some(variable) = &self.variable {
            line.push_str(&format!(" {variable}"));
        }
        if !self.threads.is_empty() {
            line.push_str(&format!(" of {}", self.threads.join(", ")));
        }
        line.push_str(&format!(" in {} by {}", self.place, self.thread));
        if !self.locks.is_empty() {
            line.push_str(&format!(", holding {}", self.locks.join(", ")));
        }
        for (holds, word) in [
            (self.new_safe, "NEW-safe"),
            (self.start_safe, "START-safe"),
            (self.join_safe, "JOIN-safe"),
        ] {
            if holds {
                line.push_str(&format!(", {word}"));
            }
        }
        line
    }
}

impl View for UseGraphs {
    fn text(&self, out: &mut dyn Write, title: Style) -> io::Result<()> {
        for graph in &self.graphs {
            let object = &graph.object;
            writeln!(out, "{title}{}{title:#}{}", object.title(), object.origin())?;
            writeln!(out, "    {}", object.reach())?;
            for node in &graph.nodes {
                writeln!(out, "    {:<4} {}", node.id, node.line())?;
                for (word, edges) in [
                    ("then", &graph.control_flow),
                    ("loaded at", &graph.reference_flow),
                    ("thread control", &graph.thread_control),
                ] {
                    let to = edges.iter().filter(|(from, _)| *from == node.id);
                    let to: Vec<&str> = to.map(|(_, to)| to.as_str()).collect();
                    if !to.is_empty() {
                        writeln!(out, "           {word} {}", to.join(", "))?;
                    }
                }
            }
        }
        if self.graphs.is_empty() {
            writeln!(out, "no object is shared; --class and --object name objects to look at")?;
        }
        for note in &self.notes {
            writeln!(out, "note: {note}")?;
        }
        Ok(())
    }

    fn dot(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut picture = Graph::begin(out, "oug")?;
        for graph in &self.graphs {
            let object = &graph.object;
            let id = |node: &str| format!("{}.{node}", object.id);
            let label =
                format!("{}\n{}\n{}\n", object.title(), object.origin().trim(), object.reach());
            picture.node(&object.id, &label)?;
            for node in &graph.nodes {
                picture.node(&id(&node.id), &format!("{} {}\n", node.id, node.line()))?;
            }
            for (edges, label) in [
                (&graph.control_flow, ""),
                (&graph.reference_flow, "reference"),
                (&graph.thread_control, "thread"),
            ] {
                for (from, to) in edges {
                    picture.edge(&id(from), &id(to), label)?;
                }
            }
        }
        Ok(picture.end()?)
    }
}
