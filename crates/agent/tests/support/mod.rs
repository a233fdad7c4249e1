//! Programs with and without the agent, and what it recorded.

#![allow(dead_code, reason = "every test takes what it needs")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use unsnarl_detect_dynamic::DETECTORS;
use unsnarl_events::{
    Channel, Event, Lock, Operation, Sites, Source, Tables, TraceError, Variable,
};
use unsnarl_recording::format::{CHUNK_HEADER, CHUNK_MARK, Kind, arena_file};
use unsnarl_testing::Jdk;
use unsnarl_trace_analysis::Options;

/// A compiled program and a place for its sessions.
pub(crate) struct Program {
    folder: TempDir,
    main: String,
    /// Options of the agent, and of the JVM.
    options: &'static str,
    java: &'static [&'static str],
}

impl Program {
    /// Compiles a file of `tests/java`; its class of the same name has the `main`.
    pub(crate) fn compile(jdk: &Jdk, name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java");
        let files = [name, "Turns"].map(|name| sources.join(format!("{name}.java")));
        jdk.compile(files.iter().map(PathBuf::as_path), folder.path());
        Self { folder, main: name.to_owned(), options: "", java: &[] }
    }

    /// The same, with what the release has as a preview.
    pub(crate) fn compile_preview(jdk: &Jdk, name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java");
        let mut javac = jdk.command("javac");
        javac.args(["-nowarn", "-Xlint:none", "--enable-preview", "--release"]);
        javac.arg(jdk.release.to_string()).arg("-d").arg(folder.path());
        let files = [name, "Turns"].map(|name| sources.join(format!("{name}.java")));
        unsnarl_testing::run(javac.args(files));
        Self { folder, main: name.to_owned(), options: "", java: &["--enable-preview"] }
    }

    /// Compiles a text in place of the file.
    pub(crate) fn compile_text(jdk: &Jdk, name: &str, text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join(format!("{name}.java"));
        std::fs::write(&source, text).unwrap();
        jdk.compile([source.as_path()], folder.path());
        Self { folder, main: name.to_owned(), options: "", java: &[] }
    }

    /// Compiles another text of the file into a folder, which is not on the class path.
    pub(crate) fn compile_other(&self, jdk: &Jdk, text: &str) -> PathBuf {
        let other = self.folder.path().join("other");
        let source = self.folder.path().join(format!("{}.java", self.main));
        std::fs::write(&source, text).unwrap();
        jdk.compile([source.as_path()], &other);
        other
    }

    /// The same, with every access recorded.
    pub(crate) fn compile_unfiltered(jdk: &Jdk, name: &str) -> Self {
        Self { options: ",filters=", ..Self::compile(jdk, name) }
    }

    pub(crate) fn session(&self) -> PathBuf {
        self.folder.path().join("session")
    }

    /// The command that runs the program as it is.
    pub(crate) fn plain(&self, jdk: &Jdk, options: &[&str]) -> Command {
        let mut java = jdk.command("java");
        java.args(self.java).args(options).arg("-cp").arg(self.folder.path()).arg(&self.main);
        java
    }

    /// The command that runs it with the agent and full verification.
    pub(crate) fn watched(&self, jdk: &Jdk, options: &[&str]) -> Command {
        self.watched_with(jdk, "", options)
    }

    /// The same with the agent behind the options.
    pub(crate) fn watched_behind(&self, jdk: &Jdk, options: &[&str]) -> Command {
        let mut java = jdk.command("java");
        java.args(options).args(self.watched(jdk, &[]).get_args());
        java
    }

    /// Makes a jar with a class of the program as its Java agent.
    pub(crate) fn agent_jar(&self, jdk: &Jdk, class: &str) -> PathBuf {
        let manifest = self.folder.path().join("manifest");
        let allowed = "Can-Retransform-Classes: true\nCan-Redefine-Classes: true\n";
        std::fs::write(&manifest, format!("Premain-Class: {class}\n{allowed}")).unwrap();
        let jar = self.folder.path().join("agent.jar");
        let mut command = jdk.command("jar");
        command.arg("cfm").arg(&jar).arg(&manifest);
        unsnarl_testing::run(
            command.arg("-C").arg(self.folder.path()).arg(format!("{class}.class")),
        );
        jar
    }

    pub(crate) fn watched_with(&self, jdk: &Jdk, agent_options: &str, options: &[&str]) -> Command {
        let mut java = jdk.command("java");
        let session = self.session();
        let (agent, session) = (agent(), session.display());
        let more = [self.options, agent_options].concat();
        java.arg(format!("-agentpath:{}=session={session}{more}", agent.display()));
        java.args(["-XX:+UnlockDiagnosticVMOptions", "-XX:+BytecodeVerificationLocal"]);
        java.args(self.java).args(options).arg("-cp").arg(self.folder.path()).arg(&self.main);
        java
    }

    /// Runs it with the agent; it must succeed.
    pub(crate) fn record(&self, jdk: &Jdk) -> Recording {
        self.record_with(jdk, "")
    }

    /// The same with more options for the agent.
    pub(crate) fn record_with(&self, jdk: &Jdk, options: &str) -> Recording {
        unsnarl_testing::run(&mut self.watched_with(jdk, options, &[]));
        let recording = Recording::read(&self.session());
        assert!(recording.problems.is_empty(), "{:?}", recording.problems);
        recording
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.session().join("agent.log")).unwrap()
    }
}

/// The names of the variables that race, as they are while the session is read: those of the dead are given to others. And
/// how many locks and channels have died.
pub(crate) fn racing_while_read(session: &Path) -> (BTreeSet<String>, usize) {
    let mut session = unsnarl_replay::open_session(session).unwrap();
    session.report_retired();
    let entry = DETECTORS.iter().find(|entry| entry.name == "happens-before").unwrap();
    let mut detector = (entry.make)(&Options::default());
    let (mut batch, mut racing, mut dead) = (Vec::new(), BTreeSet::new(), 0);
    let is_dead = |event: &&Event| {
        matches!(event.operation, Operation::ForgetLock(_) | Operation::ForgetChannel(_))
    };
    loop {
        session.next_batch(&mut batch).unwrap();
        if batch.is_empty() {
            return (racing, dead);
        }
        dead += batch.iter().filter(is_dead).count();
        let tables = session.tables();
        let mut found = Vec::new();
        detector.on_batch(&batch, tables, &mut found);
        racing.extend(found.iter().map(|event| name_of(event.variable.variable(tables), tables)));
    }
}

fn name_of(variable: Variable, tables: &Tables) -> String {
    match variable {
        Variable::Field(_, field) | Variable::Static(field) => {
            tables.text(tables.fields[field].name).into_owned()
        }
        Variable::Element(array, index) => {
            let class = tables.text(tables.objects[array].class);
            format!("{}[{index}]", class.strip_suffix("[]").unwrap_or(&class))
        }
        Variable::Named(name) => tables.text(name).into_owned(),
    }
}

/// The kinds of the events in the arenas of a session, as they were written.
pub(crate) fn kinds(session: &Path) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for arena in 0.. {
        let Ok(bytes) = std::fs::read(session.join(arena_file(arena))) else { break };
        let words: Vec<u64> =
            bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect();
        let mut chunk = 1;
        while words.get(chunk).is_some_and(|&first| first as u32 == CHUNK_MARK) {
            let end = chunk + (words[chunk] >> 32) as usize / 8;
            let mut next = chunk + CHUNK_HEADER / 8;
            while next < end
                && let Some(kind) = Kind::from_number(words[next] as u8)
            {
                kinds.push(kind);
                next += 1 + kind.words();
            }
            chunk = end;
        }
    }
    kinds
}

/// The library that cargo built for this test.
pub(crate) fn agent() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap();
    let library = folder.join("libunsnarl_agent.so");
    assert!(library.is_file(), "{} is not there", library.display());
    library
}

pub(crate) fn printed(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// All events of a session.
pub(crate) struct Recording {
    pub(crate) events: Vec<Event>,
    pub(crate) problems: Vec<String>,
    session: unsnarl_replay::Session,
}

impl Recording {
    pub(crate) fn read(folder: &Path) -> Self {
        Self::try_read(folder).unwrap()
    }

    /// Reads a session, if there is one.
    pub(crate) fn try_read(folder: &Path) -> Result<Self, TraceError> {
        let mut session = unsnarl_replay::open_session(folder)?;
        let mut events = Vec::new();
        let mut batch = Vec::new();
        loop {
            session.next_batch(&mut batch).unwrap();
            if batch.is_empty() {
                break;
            }
            events.extend_from_slice(&batch);
        }
        let problems = session.problems().first().iter().map(ToString::to_string);
        let problems = problems.chain(session.problems().lost().iter().cloned()).collect();
        Ok(Self { events, problems, session })
    }

    pub(crate) fn session(&self) -> &unsnarl_replay::Session {
        &self.session
    }

    pub(crate) fn tables(&self) -> &Tables {
        self.session.tables()
    }

    /// The variables that race.
    pub(crate) fn racing_variables(&self) -> Vec<Variable> {
        self.variables_told_by("happens-before")
    }

    fn variables_told_by(&self, detector: &str) -> Vec<Variable> {
        let tables = self.tables();
        let entry = DETECTORS.iter().find(|entry| entry.name == detector).unwrap();
        let mut detector = (entry.make)(&Options::default());
        let mut racing = Vec::new();
        detector.on_batch(&self.events, tables, &mut racing);
        racing.iter().map(|event| event.variable.variable(tables)).collect()
    }

    /// The names of the fields and the types of the arrays that race.
    pub(crate) fn racing(&self) -> BTreeSet<String> {
        self.told_by("happens-before")
    }

    /// The same, as another detector sees it.
    pub(crate) fn told_by(&self, detector: &str) -> BTreeSet<String> {
        let variables = self.variables_told_by(detector).into_iter();
        variables.map(|variable| name_of(variable, self.tables())).collect()
    }

    /// Every event as `thread operation subject line`, where the thread is one of `threads`.
    pub(crate) fn lines(&self, threads: &[&str]) -> Vec<String> {
        let tables = self.tables();
        let name = |event: &Event| tables.text(tables.threads[event.thread].name);
        let chosen = self.events.iter().filter(|event| threads.contains(&&*name(event)));
        chosen.map(|event| format!("{} {}", name(event), self.describe(event))).collect()
    }

    fn describe(&self, event: &Event) -> String {
        let tables = self.tables();
        let thread = |thread| tables.text(tables.threads[thread].name).into_owned();
        let lock = |lock| match tables.locks[lock] {
            Lock::Object(object) => tables.text(tables.objects[object].class).into_owned(),
            Lock::Named(name) => tables.text(name).into_owned(),
        };
        let channel = |channel| match tables.channels[channel] {
            Channel::Volatile(variable) => self.variable(tables.variables[variable]),
            Channel::Object(object) => tables.text(tables.objects[object].class).into_owned(),
            Channel::Named(name) => tables.text(name).into_owned(),
        };
        let what = match event.operation {
            Operation::Read(variable) => {
                format!("read {}", self.variable(tables.variables[variable]))
            }
            Operation::Write(variable) => {
                format!("write {}", self.variable(tables.variables[variable]))
            }
            Operation::Acquire(it) => format!("acquire {}", lock(it)),
            Operation::Release(it) => format!("release {}", lock(it)),
            Operation::AcquireShared(it) => format!("acquire shared {}", lock(it)),
            Operation::ReleaseShared(it) => format!("release shared {}", lock(it)),
            Operation::Notify(it) => format!("notify {}", lock(it)),
            Operation::Wait(it) => format!("wait {}", lock(it)),
            Operation::Wake(it) => format!("wake {}", lock(it)),
            Operation::Fork(it) => format!("fork {}", thread(it)),
            Operation::Join(it) => format!("join {}", thread(it)),
            Operation::Send(it) => format!("send {}", channel(it)),
            Operation::Receive(it) => format!("receive {}", channel(it)),
            Operation::Start => "start".to_owned(),
            Operation::End => "end".to_owned(),
            other => panic!("{other:?} is not recorded"),
        };
        let Sites::Known(sites) = &tables.sites else { panic!("sites are known") };
        match sites[event.site].line {
            Some(line) => format!("{what} @{line}"),
            None => what,
        }
    }

    fn variable(&self, variable: Variable) -> String {
        let tables = self.tables();
        let field = |field| {
            let field: unsnarl_events::Field = tables.fields[field];
            format!("{}.{}", tables.text(field.class), tables.text(field.name))
        };
        match variable {
            Variable::Field(_, it) => field(it),
            Variable::Static(it) => format!("static {}", field(it)),
            Variable::Element(array, index) => {
                let class = tables.text(tables.objects[array].class);
                format!("{}[{index}]", class.strip_suffix("[]").unwrap_or(&class))
            }
            Variable::Named(name) => tables.text(name).into_owned(),
        }
    }
}
