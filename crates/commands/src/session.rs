//! The program that the options name: opened, with its models, its entry points and what is to be
//! said about it. Every command that looks at a program begins here.

use std::path::PathBuf;
use std::time::Instant;

use unsnarl_classpath::{ClassPath, JdkChoice, Options, Role, Severity};
use unsnarl_models::Models;
use unsnarl_program::callgraph::{CallGraph, Entries, EntryPoints, Gaps};
use unsnarl_program::{ClassId, Failure, Program};

use crate::error::{CommandError, Context};
use crate::feedback::Feedback;
use crate::near::nearest;

/// More messages of one kind than this are counted, not shown.
const MOST_MESSAGES: usize = 20;

/// What program the inputs are part of.
#[derive(Clone, Debug)]
pub struct ProgramOptions {
    /// The JDK whose library the program uses; none for that of the environment.
    pub jdk: Option<PathBuf>,
    /// Where to look for classes that the inputs use.
    pub class_path: Vec<PathBuf>,
    /// Where execution begins.
    pub entries: Entries,
    /// Files with further models of libraries.
    pub models: Vec<PathBuf>,
    /// The Java release for which multi-release jars are read; none for that of the JDK.
    pub release: Option<u16>,
}

impl Default for ProgramOptions {
    fn default() -> Self {
        Self {
            jdk: None,
            class_path: Vec::new(),
            entries: Entries::Main,
            models: Vec::new(),
            release: None,
        }
    }
}

/// Opens the class path that the options name; without inputs, that of the JDK alone.
///
/// # Errors
/// If there is no class.
pub fn open(inputs: &[PathBuf], options: &ProgramOptions) -> Result<ClassPath, CommandError> {
    let path = ClassPath::open(&Options {
        inputs: inputs.to_vec(),
        class_path: options.class_path.clone(),
        jdk: match &options.jdk {
            Some(home) => JdkChoice::Home(home.clone()),
            None => JdkChoice::from_environment(),
        },
        release: options.release,
    });
    if !path.entries().any(|entry| path.role(entry) == wanted_role(inputs)) {
        let failures: Vec<String> = path
            .problems()
            .iter()
            .filter(|problem| problem.severity == Severity::Failure)
            .map(|problem| problem.error.to_string())
            .collect();
        return Err(CommandError::failed(match failures.is_empty() {
            true => "there is no class in the input".to_owned(),
            false => format!("nothing to look at: {}", failures.join("; ")),
        }));
    }
    Ok(path)
}

/// The built-in models with those of further files.
///
/// # Errors
/// If a file cannot be read or has no models.
pub fn models(files: &[PathBuf]) -> Result<Models, CommandError> {
    let mut models = Models::builtin();
    for file in files {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).context(|| format!("cannot read {name}"))?;
        models.extend(&name, &text)?;
    }
    Ok(models)
}

fn wanted_role(inputs: &[PathBuf]) -> Role {
    if inputs.is_empty() { Role::Jdk } else { Role::Input }
}

/// The program, and what was found out about it on the way.
pub struct Session<'a> {
    inputs: &'a [PathBuf],
    options: &'a ProgramOptions,
    /// The classes.
    pub program: Program<'a>,
    /// What is known about libraries.
    pub models: &'a Models,
    /// When the work began.
    pub started: Instant,
    gaps: Gaps,
    notes: Vec<String>,
}

impl<'a> Session<'a> {
    /// A session on the class path that [`open`] has opened for the inputs and options.
    #[must_use]
    pub fn new(
        inputs: &'a [PathBuf],
        options: &'a ProgramOptions,
        path: &'a ClassPath,
        models: &'a Models,
    ) -> Self {
        let (program, started) = (Program::new(path), Instant::now());
        let gaps = Gaps::default();
        Self { inputs, options, program, models, started, gaps, notes: Vec::new() }
    }

    /// Whether clients call the program from outside.
    #[must_use]
    pub fn is_library(&self) -> bool {
        self.options.entries == Entries::Library
    }

    /// Whether a class is one of those that findings are about.
    #[must_use]
    pub fn is_input(&self, class: ClassId) -> bool {
        self.program.role(class) == Some(wanted_role(self.inputs))
    }

    /// The classes to look at: those of the input, or all of the JDK if there is none.
    ///
    /// # Errors
    /// If none can be read.
    pub fn classes(&mut self) -> Result<Vec<ClassId>, CommandError> {
        let path = self.program.path();
        let wanted = wanted_role(self.inputs);
        let mut classes = Vec::new();
        for entry in path.entries().filter(|&entry| path.role(entry) == wanted) {
            classes.extend(self.program.class_at(entry));
        }
        if classes.is_empty() {
            let failures: Vec<String> = self.program.failures().iter().map(failure_text).collect();
            let failures = failures.join("; ");
            return Err(CommandError::failed(format!("no class could be read: {failures}")));
        }
        Ok(classes)
    }

    /// Where execution begins, which may be nowhere. What is wrong with that becomes a note.
    pub fn entry_points(&mut self) -> EntryPoints {
        let entries = &self.options.entries;
        let points = EntryPoints::find(&mut self.program, self.models, entries);
        let unmatched = points.unmatched.iter();
        self.add_notes(
            unmatched.map(|pattern| format!("no method fits the entry point '{pattern}'")),
        );
        if points.methods.is_empty() && *entries == Entries::Main && !self.inputs.is_empty() {
            self.add_notes([format!("there is no main method to begin with: {ENTRY_ADVICE}")]);
        }
        points
    }

    /// Where execution begins, for a command that can do nothing without.
    ///
    /// # Errors
    /// If there is no entry point.
    pub fn required_entry_points(&mut self) -> Result<EntryPoints, CommandError> {
        let points = self.entry_points();
        if !points.methods.is_empty() {
            return Ok(points);
        }
        Err(CommandError::failed(match &self.options.entries {
            Entries::Patterns(patterns) => {
                let names = self.method_names()?;
                let names = names.iter().map(String::as_str);
                let near: Vec<String> =
                    patterns.iter().flat_map(|pattern| nearest(pattern, names.clone())).collect();
                let near = match near.is_empty() {
                    true => String::new(),
                    false => format!("; near it are {}", near.join(", ")),
                };
                let patterns = patterns.join("', '");
                format!("no method of the input fits the entry point '{patterns}'{near}")
            }
            Entries::Library => {
                "there is no public method of a public class for clients to call".to_owned()
            }
            Entries::Main => {
                let mut names = self.method_names()?;
                names.retain(|name| name.ends_with(".main"));
                names.dedup();
                let seen = match names.first() {
                    Some(name) => {
                        format!(" ({name} is not 'public static void main(String[])')")
                    }
                    None => String::new(),
                };
                let unread = match self.failures().first() {
                    Some(failure) => {
                        format!("; not everything was read: {}", failure_text(failure))
                    }
                    None => String::new(),
                };
                format!("there is no main method to begin with{seen}: {ENTRY_ADVICE}{unread}")
            }
        }))
    }

    /// The methods of the classes to look at, as `package.Class.method`, sorted.
    fn method_names(&mut self) -> Result<Vec<String>, CommandError> {
        let classes = self.classes()?;
        let program = &self.program;
        let mut names: Vec<String> = classes
            .iter()
            .flat_map(|&class| program.classes()[class].methods.iter())
            .map(|&method| {
                let method = &program.methods()[method];
                format!("{}.{}", program.class_text(method.class), program.names.text(method.name))
            })
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// The call graph from the entry points that the options name.
    pub fn call_graph(&mut self) -> CallGraph {
        let points = self.entry_points();
        let graph = CallGraph::build(&mut self.program, self.models, &points);
        self.set_gaps(&graph.gaps);
        graph
    }

    /// Remembers what the last analysis could not follow.
    pub fn set_gaps(&mut self, gaps: &Gaps) {
        self.gaps = *gaps;
    }

    /// Notes what a user should know about the result.
    pub fn add_notes(&mut self, notes: impl IntoIterator<Item = String>) {
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// Everything that could not be read, with file and reason.
    #[must_use]
    pub fn failures(&self) -> Vec<Failure> {
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
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let path = self.program.path();
        let mut notes: Vec<String> = path
            .problems()
            .iter()
            .filter(|problem| problem.severity == Severity::Note)
            .map(|problem| problem.error.to_string())
            .collect();
        notes.extend(self.program.notes());
        notes.extend(gap_notes(&self.gaps));
        notes.extend(self.notes.iter().cloned());
        let missing = self.missing_classes();
        if !missing.is_empty() {
            let shown = missing.iter().take(MOST_MESSAGES).cloned().collect::<Vec<_>>().join(", ");
            let more = match missing.len().saturating_sub(MOST_MESSAGES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            notes.push(format!(
                "classes that were not found, so that what they do is unknown (--classpath can name \
                 where they are): {shown}{more}"
            ));
        }
        notes
    }

    /// The names of the classes that were asked for and not found, sorted.
    #[must_use]
    pub fn missing_classes(&self) -> Vec<String> {
        let phantoms = self.program.phantoms();
        let mut names: Vec<String> = phantoms.map(|class| self.program.class_text(class)).collect();
        names.sort_unstable();
        names
    }

    /// What could not be read, one message each, of which the last may count further ones.
    #[must_use]
    pub fn failure_messages(&self) -> Vec<String> {
        let failures = self.failures();
        let mut messages: Vec<String> =
            failures.iter().take(MOST_MESSAGES).map(failure_text).collect();
        if failures.len() > MOST_MESSAGES {
            let more = failures.len() - MOST_MESSAGES;
            messages.push(format!("{more} more could not be read; --format json lists them all"));
        }
        messages
    }

    /// Warns about what could not be read, and passes the notes on as details.
    pub fn report_problems(&self, feedback: &dyn Feedback) {
        self.failure_messages().iter().for_each(|message| feedback.warn(message));
        let newer = self.program.newer_versions();
        if let Some(warning) = &newer {
            feedback.warn(warning);
        }
        for note in self.notes().iter().filter(|note| Some(*note) != newer.as_ref()) {
            feedback.detail(note);
        }
    }
}

/// What to do about a program that begins nowhere.
const ENTRY_ADVICE: &str = "name one with --entry, or use --library for a library";

/// File, place and reason in one line. A JDK that is nowhere has no place.
#[must_use]
pub fn failure_text(failure: &Failure) -> String {
    match failure.place.is_empty() {
        true => failure.reason.clone(),
        false => format!("{}: {}", failure.place, failure.reason),
    }
}

fn gap_notes(gaps: &Gaps) -> Vec<String> {
    let Gaps {
        unresolved_calls,
        opaque_calls,
        unknown_receivers,
        unknown_reflection,
        dynamic_calls,
    } = *gaps;
    let note = |count: usize, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {many}")),
    };
    [
        note(
            unresolved_calls,
            "call leads to a method that was not found",
            "calls lead to methods that were not found",
        ),
        note(
            opaque_calls,
            "call leads into a native or an opaque package; what that locks or starts is not seen",
            "calls lead into natives or opaque packages; what those lock or start is not seen",
        ),
        note(
            unknown_receivers,
            "call is made on an object that comes out of such code",
            "calls are made on objects that come out of such code",
        ),
        note(
            unknown_reflection,
            "reflective call or allocation has a class that is not known",
            "reflective calls or allocations have a class that is not known",
        ),
        note(
            dynamic_calls,
            "dynamic call has a bootstrap method that is not understood",
            "dynamic calls have a bootstrap method that is not understood",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
