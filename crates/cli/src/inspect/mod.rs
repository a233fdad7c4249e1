//! `unsnarl inspect`: shows what the analyses see. One file for each `--what`.

mod callgraph;
mod classes;
mod dot;
mod heap;
mod oug;
mod ssa;
mod summary;
mod threads;

use std::io::Write;

use anstyle::Style;
use serde::Serialize;
use unsnarl_commands::session::{self, Session};
use unsnarl_program::pattern::fits;
use unsnarl_program::{ClassId, MethodId};

use crate::ExitStatus;
use crate::args::{Format, InspectArguments, What};
use crate::output::Output;

/// Runs the command.
pub(crate) fn run(arguments: &InspectArguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    if !arguments.objects.is_empty() && arguments.what != What::Oug {
        anyhow::bail!("--object chooses object use graphs: it goes with --what oug");
    }
    let program = arguments.program.options();
    let path = session::open(&arguments.inputs, &program)?;
    let models = session::models(&program.models)?;
    let session = Session::new(&arguments.inputs, &program, &path, &models);
    let mut inspection = Inspection { arguments, session };
    match arguments.what {
        What::Summary => summary::show(&mut inspection, output)?,
        What::Classes => classes::show(&mut inspection, output)?,
        What::Ssa => ssa::show(&mut inspection, output)?,
        What::Callgraph => callgraph::show(&mut inspection, output)?,
        What::Threads => threads::show(&mut inspection, output)?,
        What::Heap => heap::show(&mut inspection, output)?,
        What::Oug => oug::show(&mut inspection, output)?,
    }
    inspection.session.report_problems(output.messages());
    Ok(ExitStatus::Clean)
}

/// A program, and what the user wants to see of it.
struct Inspection<'a> {
    arguments: &'a InspectArguments,
    session: Session<'a>,
}

impl Inspection<'_> {
    /// The classes to look at that `--class` lets through.
    fn classes(&mut self) -> anyhow::Result<Vec<ClassId>> {
        let mut classes = self.session.classes()?;
        classes.retain(|&class| self.shows_class(class));
        Ok(classes)
    }

    /// Whether `--class` lets a class through.
    fn shows_class(&self, class: ClassId) -> bool {
        let pattern = self.arguments.class.as_deref();
        pattern.is_none_or(|pattern| fits(pattern, &self.session.program.class_text(class)))
    }

    /// Whether `--class` and `--method` let a method through.
    fn shows_method(&self, method: MethodId) -> bool {
        let program = &self.session.program;
        let data = &program.methods()[method];
        let (class, name) = (program.class_text(data.class), program.names.text(data.name));
        self.shows_class(data.class)
            && self.arguments.method.as_deref().is_none_or(|pattern| {
                fits(pattern, &name) || fits(pattern, &format!("{class}.{name}"))
            })
    }
}

/// Something that `inspect` can show in every form it has.
trait View: Serialize {
    /// For people; titles stand out by their style.
    fn text(&self, out: &mut dyn Write, title: Style) -> std::io::Result<()>;

    /// For Graphviz; an error says why there is no such picture.
    fn dot(&self, out: &mut dyn Write) -> anyhow::Result<()>;
}

fn write(view: &impl View, format: Format, output: &mut Output) -> anyhow::Result<()> {
    let coloured = output.coloured();
    let out = output.result();
    match format {
        Format::Text => {
            view.text(out, if coloured { Style::new().bold() } else { Style::new() })?
        }
        Format::Dot => view.dot(out)?,
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, view).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
    }
    Ok(())
}
