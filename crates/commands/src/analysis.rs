//! The symbolic execution of a program, as `check`, `explain` and `inspect`
//! need it.

use unsnarl_program::callgraph::{CallGraph, Entries, EntryPoints};
use unsnarl_program::heap::OriginKind;
use unsnarl_symbolic::{Execution, Settings};

use crate::error::CommandError;
use crate::feedback::Phases;
use crate::session::{Session, failure_text};

/// Executes the program symbolically from its entry points. What could not be followed becomes notes of the session.
///
/// # Errors
/// If there is no entry point, or no JDK.
pub fn execute<'a>(
    session: &mut Session<'a>,
    phases: &mut Phases<'_>,
) -> Result<Execution<'a>, CommandError> {
    if session.program.find_class(b"java/lang/Object").is_none() {
        let failures: Vec<String> = session.failures().iter().map(failure_text).collect();
        return Err(CommandError::failed(format!(
            "without the classes of a JDK nothing is known about threads and locks: name one with \
             --jdk ({})",
            failures.join("; ")
        )));
    }
    let mut entries = session.required_entry_points()?;
    let models = session.models;
    if session.is_library() {
        let all = entries.methods.len();
        let classes = entries.keep_shared_classes(&mut session.program, models);
        if entries.methods.len() < all {
            session.add_notes([format!(
                "of the library, the {classes} classes that are marked thread-safe or take a lock are \
                 taken as shared by clients; name methods of others with --entry"
            )]);
        }
    }
    let settings = Settings { is_library: entries.are_concurrent };
    let mut progress = |what: &str| phases.enter(what);
    let execution = Execution::run(&mut session.program, models, &entries, settings, &mut progress);
    session.set_gaps(&execution.heap.gaps);
    session.add_notes(execution.heap.widened.iter().cloned());
    session.add_notes(execution.notes.iter().cloned());
    if let Some(note) = no_thread_note(session, &execution) {
        session.add_notes([note]);
    }
    Ok(execution)
}

/// Whether there is such a thread at run time. Class initializers run in whatever thread comes first.
pub(crate) fn is_thread(kind: OriginKind) -> bool {
    !matches!(kind, OriginKind::Init | OriginKind::Mixed)
}

/// Says why nothing can be found in a program that has one thread only, and where it could start
/// others if something called that.
fn no_thread_note(session: &mut Session<'_>, execution: &Execution<'_>) -> Option<String> {
    let is_other = |kind| is_thread(kind) && kind != OriginKind::Main;
    if execution.heap.origins.iter().any(|(_, origin)| is_other(origin.kind)) {
        return None;
    }
    let reason = "the program starts no thread, so nothing can race";
    // Whatever clients could call, taken as the beginning.
    let program = &mut session.program;
    let points = EntryPoints::find(program, session.models, &Entries::Library);
    let graph = CallGraph::build(program, session.models, &points);
    let starter = graph
        .thread_starts()
        .map(|(edge, _)| edge.caller)
        .filter(|&caller| {
            let class = session.program.methods()[caller].class;
            session.is_input(class)
        })
        .map(|caller| session.program.method_text(caller))
        .min();
    Some(match starter {
        Some(starter) => format!(
            "{reason}: {starter} starts one, but no entry point reaches it (--entry names further \
             entry points, --library takes every public method as called in parallel)"
        ),
        None => {
            let unknown = match session.program.phantoms().next() {
                Some(_) => ", unless a class that was not found does",
                None => "",
            };
            format!(
                "{reason}: no statement that an entry point reaches starts one{unknown} (--library \
                 takes every public method as called in parallel)"
            )
        }
    })
}
