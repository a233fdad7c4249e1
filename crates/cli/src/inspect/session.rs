//! The program that is being looked at.

use std::time::Instant;

use anyhow::{Context, bail};
use unsnarl_models::Models;
use unsnarl_program::callgraph::{CallGraph, Entries, EntryPoints, Gaps};
use unsnarl_program::path::{ClassPath, JdkChoice, Options, Role, Severity};
use unsnarl_program::pattern::fits;
use unsnarl_program::{ClassId, Failure, MethodId, Program};

use crate::args::InspectArguments;
use crate::output::Output;

/// More messages of one kind than this are counted, not shown.
const MOST_MESSAGES: usize = 20;

/// Opens the class path that the arguments name.
pub(super) fn open(arguments: &InspectArguments) -> anyhow::Result<ClassPath> {
    let path = ClassPath::open(&Options {
        inputs: arguments.inputs.clone(),
        class_path: arguments.classpath(),
        jdk: match &arguments.jdk {
            Some(home) => JdkChoice::Home(home.clone()),
            None => JdkChoice::from_environment(),
        },
        release: arguments.release,
    });
    let wanted = if arguments.inputs.is_empty() { Role::Jdk } else { Role::Input };
    if !path.entries().any(|entry| path.role(entry) == wanted) {
        let failures: Vec<String> = path
            .problems()
            .iter()
            .filter(|problem| problem.severity == Severity::Failure)
            .map(|problem| problem.error.to_string())
            .collect();
        match failures.is_empty() {
            true => bail!("there is no class in the input"),
            false => bail!("nothing to look at: {}", failures.join("; ")),
        }
    }
    Ok(path)
}

/// The program, and what the user wants to see of it.
pub(super) struct Session<'a> {
    pub(super) arguments: &'a InspectArguments,
    pub(super) program: Program<'a>,
    pub(super) models: Models,
    /// When the work began.
    pub(super) started: Instant,
    notes: Vec<String>,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        arguments: &'a InspectArguments,
        path: &'a ClassPath,
    ) -> anyhow::Result<Self> {
        let started = Instant::now();
        let mut models = Models::builtin();
        for file in &arguments.models {
            let name = file.display().to_string();
            let text =
                std::fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
            models.extend(&name, &text)?;
        }
        Ok(Self { arguments, program: Program::new(path), models, started, notes: Vec::new() })
    }

    /// The classes to look at: those of the input, or all of the JDK if there is none.
    pub(super) fn classes(&mut self) -> anyhow::Result<Vec<ClassId>> {
        let path = self.program.path();
        let wanted = if self.arguments.inputs.is_empty() { Role::Jdk } else { Role::Input };
        let mut classes = Vec::new();
        for entry in path.entries().filter(|&entry| path.role(entry) == wanted) {
            classes.extend(self.program.class_at(entry));
        }
        if classes.is_empty() {
            let failures: Vec<String> = self.program.failures().iter().map(failure_text).collect();
            bail!("no class could be read: {}", failures.join("; "));
        }
        classes.retain(|&class| self.shows_class(class));
        Ok(classes)
    }

    /// The call graph from the entry points that the arguments name.
    pub(super) fn call_graph(&mut self) -> CallGraph {
        let entries = if self.arguments.library {
            Entries::Library
        } else if self.arguments.entries.is_empty() {
            Entries::Main
        } else {
            Entries::Patterns(self.arguments.entries.clone())
        };
        let points = EntryPoints::find(&mut self.program, &self.models, &entries);
        for pattern in &points.unmatched {
            self.notes.push(format!("no method fits the entry point '{pattern}'"));
        }
        if points.methods.is_empty()
            && entries == Entries::Main
            && !self.arguments.inputs.is_empty()
        {
            let advice = "name one with --entry, or use --library for a library";
            self.notes.push(format!("there is no main method to begin with: {advice}"));
        }
        let graph = CallGraph::build(&mut self.program, &self.models, &points);
        self.notes.extend(gap_notes(&graph.gaps));
        graph
    }

    fn shows_class(&self, class: ClassId) -> bool {
        let pattern = self.arguments.class.as_deref();
        pattern.is_none_or(|pattern| fits(pattern, &self.program.class_text(class)))
    }

    /// Whether `--class` and `--method` let a method through.
    pub(super) fn shows_method(&self, method: MethodId) -> bool {
        let data = &self.program.methods()[method];
        let class = self.program.class_text(data.class);
        let name = self.program.names.text(data.name);
        self.arguments.class.as_deref().is_none_or(|pattern| fits(pattern, &class))
            && self.arguments.method.as_deref().is_none_or(|pattern| {
                fits(pattern, &name) || fits(pattern, &format!("{class}.{name}"))
            })
    }

    /// Everything that could not be read, with file and reason.
    pub(super) fn failures(&self) -> Vec<Failure> {
        let opening = self.program.path().problems().iter();
        opening
            .filter(|problem| problem.severity == Severity::Failure)
            .map(|problem| Failure {
                place: problem.error.file.clone(),
                reason: match problem.error.offset {
                    Some(offset) => format!("at byte {offset}: {}", problem.error.reason),
                    None => problem.error.reason.to_string(),
                },
            })
            .chain(self.program.failures().iter().cloned())
            .collect()
    }

    /// What the user should know about the result.
    pub(super) fn notes(&self) -> Vec<String> {
        let path = self.program.path();
        let mut notes: Vec<String> = path
            .problems()
            .iter()
            .filter(|problem| problem.severity == Severity::Note)
            .map(|problem| problem.error.to_string())
            .collect();
        notes.extend(self.program.notes());
        notes.extend(self.notes.iter().cloned());
        let missing = self.missing_classes();
        if !missing.is_empty() {
            let shown = missing.iter().take(MOST_MESSAGES).cloned().collect::<Vec<_>>().join(", ");
            let more = match missing.len().saturating_sub(MOST_MESSAGES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            notes.push(format!("classes that were not found: {shown}{more}"));
        }
        notes
    }

    /// The names of the classes that were asked for and not found, sorted.
    pub(super) fn missing_classes(&self) -> Vec<String> {
        let phantoms = self.program.phantoms();
        let mut names: Vec<String> = phantoms.map(|class| self.program.class_text(class)).collect();
        names.sort_unstable();
        names
    }

    /// Tells what could not be read, one message each.
    pub(super) fn report_problems(&self, output: &Output) {
        let failures = self.failures();
        for failure in failures.iter().take(MOST_MESSAGES) {
            output.warn(&failure_text(failure));
        }
        if failures.len() > MOST_MESSAGES {
            let more = failures.len() - MOST_MESSAGES;
            output.warn(&format!("{more} more could not be read; --format json lists them all"));
        }
        let newer = self.program.newer_versions();
        if let Some(warning) = &newer {
            output.warn(warning);
        }
        for note in self.notes().iter().filter(|note| Some(*note) != newer.as_ref()) {
            output.detail(note);
        }
    }
}

fn failure_text(failure: &Failure) -> String {
    format!("{}: {}", failure.place, failure.reason)
}

fn gap_notes(gaps: &Gaps) -> Vec<String> {
    let Gaps {
        unresolved_calls,
        opaque_calls,
        unknown_receivers,
        unknown_reflection,
        dynamic_calls,
    } = *gaps;
    let note = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
    [
        note(unresolved_calls, "calls lead to methods that were not found"),
        note(
            opaque_calls,
            "calls lead into code that is not analysed: natives and opaque packages",
        ),
        note(unknown_receivers, "calls are made on objects that come out of such code"),
        note(unknown_reflection, "reflective calls or allocations have a class that is not known"),
        note(dynamic_calls, "dynamic calls have a bootstrap method that is not understood"),
    ]
    .into_iter()
    .flatten()
    .collect()
}
