//! `--what ssa`: the bodies of methods.

use std::io::{self, Write};

use anstyle::Style;
use serde::Serialize;
use unsnarl_program::body::Body;
use unsnarl_program::{MethodId, StatementText};

use super::dot::Graph;
use super::{Inspection, View, write};
use crate::output::Output;

#[derive(Serialize)]
struct Ssa {
    schema: &'static str,
    methods: Vec<MethodView>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct MethodView {
    class: String,
    method: String,
    descriptor: String,
    #[serde(skip)]
    title: String,
    blocks: Vec<BlockView>,
}

#[derive(Serialize)]
struct BlockView {
    block: String,
    predecessors: Vec<String>,
    successors: Vec<String>,
    handlers: Vec<String>,
    statements: Vec<StatementView>,
}

#[derive(Serialize)]
struct StatementView {
    pc: u16,
    line: Option<u16>,
    text: String,
    /// The type of the value that is defined.
    #[serde(rename = "type")]
    ty: Option<String>,
}

pub(super) fn show(inspection: &mut Inspection<'_>, output: &mut Output) -> anyhow::Result<()> {
    let mut methods = Vec::new();
    for class in inspection.classes()? {
        for method in inspection.session.program.classes()[class].methods.clone() {
            if inspection.shows_method(method)
                && let Some(body) = inspection.session.program.body(method)
            {
                methods.push(view(inspection, method, &body));
            }
        }
    }
    let view = Ssa { schema: "unsnarl.inspect.ssa/1", methods, notes: inspection.session.notes() };
    write(&view, inspection.arguments.format, output)
}

fn view(inspection: &Inspection<'_>, method: MethodId, body: &Body) -> MethodView {
    let program = &inspection.session.program;
    let data = &program.methods()[method];
    let names = &program.names;
    let blocks = body.blocks.iter().map(|(id, block)| {
        let statements = body.block_statements(id).map(|(_, statement)| StatementView {
            pc: statement.pc.0,
            line: (statement.line != 0).then_some(statement.line),
            text: StatementText { names, statement }.to_string(),
            ty: statement.result.map(|value| names.type_text(body.values[value].ty)),
        });
        let mut successors: Vec<String> =
            body.terminator(id).operation.targets().iter().map(ToString::to_string).collect();
        successors.dedup();
        BlockView {
            block: id.to_string(),
            predecessors: block.predecessors.iter().map(|edge| edge.from.to_string()).collect(),
            successors,
            handlers: block.handlers.iter().map(ToString::to_string).collect(),
            statements: statements.collect(),
        }
    });
    MethodView {
        class: program.class_text(data.class),
        method: names.text(data.name).into_owned(),
        descriptor: names.text(data.descriptor).into_owned(),
        title: program.method_text(method),
        blocks: blocks.collect(),
    }
}

impl View for Ssa {
    fn text(&self, out: &mut dyn Write, title: Style) -> io::Result<()> {
        for method in &self.methods {
            writeln!(out, "{title}{}{title:#}", method.title)?;
            for block in &method.blocks {
                write!(out, "  {}:", block.block)?;
                if !block.predecessors.is_empty() {
                    write!(out, "  from {}", block.predecessors.join(", "))?;
                }
                if !block.handlers.is_empty() {
                    write!(out, "  on exception {}", block.handlers.join(", "))?;
                }
                writeln!(out)?;
                for statement in &block.statements {
                    let line = statement.line.map_or(String::new(), |line| line.to_string());
                    write!(out, "  {line:>6} @{:<5} {}", statement.pc, statement.text)?;
                    match &statement.ty {
                        Some(ty) => writeln!(out, " : {ty}")?,
                        None => writeln!(out)?,
                    }
                }
            }
            writeln!(out)?;
        }
        Ok(())
    }

    fn dot(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut graph = Graph::begin(out, "ssa")?;
        for (number, method) in self.methods.iter().enumerate() {
            let id = |block: &str| format!("{number}.{block}");
            for (position, block) in method.blocks.iter().enumerate() {
                let title =
                    if position == 0 { format!("{}\n", method.title) } else { String::new() };
                let mut label = format!("{title}{}:\n", block.block);
                for statement in &block.statements {
                    label.push_str(&format!("{}\n", statement.text));
                }
                graph.node(&id(&block.block), &label)?;
                for successor in &block.successors {
                    graph.edge(&id(&block.block), &id(successor), "")?;
                }
                for handler in &block.handlers {
                    graph.edge(&id(&block.block), &id(handler), "exception")?;
                }
            }
        }
        Ok(graph.end()?)
    }
}
