//! `unsnarl inspect`: shows what the later analyses will see. One file for each `--what`.

mod callgraph;
mod classes;
mod dot;
mod session;
mod ssa;
mod summary;
mod threads;

use std::io::Write;

use anstyle::Style;
use serde::Serialize;

use crate::ExitStatus;
use crate::args::{Format, InspectArguments, What};
use crate::inspect::session::Session;
use crate::output::Output;

/// Runs the command.
pub(crate) fn run(arguments: &InspectArguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let path = session::open(arguments)?;
    let mut session = Session::new(arguments, &path)?;
    match arguments.what {
        What::Summary => summary::show(&mut session, output)?,
        What::Classes => classes::show(&mut session, output)?,
        What::Ssa => ssa::show(&mut session, output)?,
        What::Callgraph => callgraph::show(&mut session, output)?,
        What::Threads => threads::show(&mut session, output)?,
    }
    session.report_problems(output);
    Ok(ExitStatus::Clean)
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
