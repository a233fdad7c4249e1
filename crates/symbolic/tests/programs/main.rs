//! Small Java programs, compiled by javac, and what the symbolic execution must say about them.

use unsnarl_classpath::{ClassPath, JdkChoice, Options};
use unsnarl_models::Models;
use unsnarl_program::Program;
use unsnarl_program::callgraph::{Entries, EntryPoints};
use unsnarl_symbolic::{
    AccessKind, Accessed, CommonGuard, EventId, Execution, Order, Settings, Sharing,
};

/// A verdict on two accesses to one variable.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Ordered(Order),
    Guarded(CommonGuard),
    Conflict,
}

struct Analysed<'p, 'm> {
    program: Program<'p>,
    execution: Execution<'m>,
}

/// A program and what must hold of it.
struct Case {
    name: &'static str,
    source: String,
    variable: Option<&'static str>,
    check: Box<dyn Fn(&Analysed<'_, '_>) -> bool + Send + Sync>,
}

impl Case {
    fn new(
        name: &'static str,
        source: String,
        check: impl Fn(&Analysed<'_, '_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { name, source, variable: None, check: Box::new(check) }
    }

    /// The variable to tell about when the check fails.
    fn about(self, variable: &'static str) -> Self {
        Self { variable: Some(variable), ..self }
    }
}

/// Compiles all programs at once, each in a package of its own, and looks at each. `CASE` in the
/// environment chooses those whose names contain it.
#[test]
fn programs() {
    let chosen = std::env::var("CASE").unwrap_or_default();
    let cases = [races::cases(), locks::cases(), order::cases(), joins::cases()];
    let cases = cases.into_iter().flatten();
    let cases: Vec<Case> = cases.filter(|case| case.name.contains(&chosen)).collect();
    let sources = tempfile::tempdir().expect("a temporary folder");
    let classes = tempfile::tempdir().expect("a temporary folder");
    let jdk = unsnarl_testing::jdk();
    let mut command = jdk.command("javac");
    command.args(["-nowarn", "-Xlint:none", "-proc:none", "-g", "-d"]).arg(classes.path());
    for case in &cases {
        let folder = sources.path().join(case.name);
        std::fs::create_dir(&folder).expect("a folder");
        let file = folder.join("Main.java");
        std::fs::write(&file, format!("package {};{}", case.name, case.source)).expect("a file");
        command.arg(&file);
    }
    unsnarl_testing::run(&mut command);
    let path = ClassPath::open(&Options {
        inputs: vec![classes.path().to_owned()],
        class_path: Vec::new(),
        jdk: JdkChoice::Home(jdk.home),
        release: None,
    });
    let models = Models::builtin();
    let mut problems = Vec::new();
    for case in &cases {
        let mut program = Program::new(&path);
        let main = Entries::Patterns(vec![format!("{}.Main.main", case.name)]);
        let entries = EntryPoints::find(&mut program, &models, &main);
        let execution =
            Execution::run(&mut program, &models, &entries, Settings::default(), &mut |_| {});
        let analysed = Analysed { program, execution };
        if !(case.check)(&analysed) {
            let known = case.variable.map(|variable| analysed.describe(variable));
            problems.push(format!("{}: {}\n{known:#?}", case.name, case.source));
        }
    }
    assert!(problems.is_empty(), "{} of {}\n{}", problems.len(), cases.len(), problems.join("\n"));
}

impl Analysed<'_, '_> {
    fn variable(&self, accessed: Accessed) -> String {
        match accessed {
            Accessed::Field(field) => {
                self.program.names.text(self.program.fields()[field].name).into_owned()
            }
            Accessed::Element => "[]".to_owned(),
            Accessed::Contents => "contents".to_owned(),
            Accessed::Slot(name) => self.program.names.text(name).into_owned(),
        }
    }

    fn line(&self, event: EventId) -> u16 {
        let event = &self.execution.events[event];
        let method = self.execution.heap.instances[event.instance].method;
        let body = self.program.lowered_body(method).expect("a body");
        body.statements[event.statement].line
    }

    fn events(&self, variable: &str) -> Vec<EventId> {
        let events = self.execution.events.iter();
        events.filter(|(_, e)| self.variable(e.accessed) == variable).map(|(id, _)| id).collect()
    }

    /// What is said about all pairs of accesses to a variable of which one is a write.
    fn verdicts(&self, variable: &str) -> Vec<(u16, u16, Verdict)> {
        let events = self.events(variable);
        let mut verdicts = Vec::new();
        for (index, &first) in events.iter().enumerate() {
            for &second in &events[index..] {
                let (one, other) = (&self.execution.events[first], &self.execution.events[second]);
                if one.kind == AccessKind::Read && other.kind == AccessKind::Read
                    || one.accessed != other.accessed
                    || one.is_atomic && other.is_atomic
                {
                    continue;
                }
                let common: Vec<_> = one
                    .objects
                    .iter()
                    .filter(|object| other.objects.contains(object))
                    .map(|&object| Some(object))
                    .collect();
                let is_static = one.objects.is_empty() && other.objects.is_empty();
                let common = if is_static { vec![None] } else { common };
                for object in common {
                    if object.is_some_and(|o| self.execution.sharing(o) == Sharing::OneThread) {
                        continue;
                    }
                    let order = self.execution.order(object, first, second).map(Verdict::Ordered);
                    let guard = || {
                        let guard = self.execution.common_guard(object, first, second);
                        guard.map(Verdict::Guarded)
                    };
                    let verdict = order.or_else(guard).unwrap_or(Verdict::Conflict);
                    verdicts.push((self.line(first), self.line(second), verdict));
                }
            }
        }
        verdicts
    }

    fn conflicts(&self, variable: &str) -> Vec<(u16, u16)> {
        let verdicts = self.verdicts(variable).into_iter();
        let mut lines: Vec<(u16, u16)> = verdicts
            .filter(|(.., verdict)| *verdict == Verdict::Conflict)
            .map(|(one, other, _)| (one.min(other), one.max(other)))
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    fn is_safe(&self, variable: &str) -> bool {
        self.conflicts(variable).is_empty()
    }

    fn is_ordered_by(&self, variable: &str, order: Order) -> bool {
        let verdicts = self.verdicts(variable);
        verdicts.iter().any(|(.., verdict)| *verdict == Verdict::Ordered(order))
    }

    /// All that is known about the accesses to a variable, for messages.
    fn describe(&self, variable: &str) -> Vec<String> {
        let mut lines: Vec<String> = self
            .events(variable)
            .into_iter()
            .map(|id| {
                let event = &self.execution.events[id];
                format!(
                    "{id} line {} {:?} {:?} by {} of {:?} fresh {} this {} guards {:?}",
                    self.line(id),
                    event.kind,
                    event.accessed,
                    self.execution.thread_name(&self.program, event.thread),
                    event.objects,
                    event.is_fresh,
                    event.is_through_this,
                    event.guards
                )
            })
            .collect();
        let mut objects: Vec<_> = self
            .events(variable)
            .into_iter()
            .flat_map(|id| self.execution.events[id].objects.to_vec())
            .collect();
        objects.sort_unstable();
        objects.dedup();
        for object in objects {
            let sharing = self.execution.sharing(object);
            lines.push(format!("{object} {sharing:?} {:?}", self.execution.heap.objects[object]));
        }
        lines.extend(self.verdicts(variable).into_iter().map(|verdict| format!("{verdict:?}")));
        lines
    }

    fn thread_names(&self) -> Vec<String> {
        let threads = self.execution.heap.origins.keys();
        threads.map(|thread| self.execution.thread_name(&self.program, thread)).collect()
    }
}

mod joins;
mod locks;
mod order;
mod races;
