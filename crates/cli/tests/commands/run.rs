//! `unsnarl run` as its users run it: on real JVMs.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use unsnarl_testing::{Jdk, jdk, jdks};

use crate::check::{has_note, report};
use crate::support::{Outcome, Project, command, text};

/// What it does is its first argument.
const PROGRAM: &str = r#"
import java.util.Scanner;

public class Program {
    static int racy;
    static int locked;
    static final Object lock = new Object();

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "race" -> {
                twice(() -> racy++);
                System.out.println("raced");
            }
            case "deep" -> twice(Program::outer);
            case "elements" -> {
                int[] elements = new int[8];
                twice(() -> elements[5]++);
            }
            case "no-race" -> {
                twice(() -> { synchronized (lock) { locked++; } });
                System.out.println(locked);
                System.err.println("errors are mine");
                System.exit(3);
            }
            case "race-exit" -> {
                twice(() -> racy++);
                System.exit(3);
            }
            case "throw" -> throw new IllegalStateException("mine");
            case "echo" -> {
                Scanner in = new Scanner(System.in);
                while (in.hasNextLine()) {
                    System.out.println("> " + in.nextLine());
                }
            }
            case "work" -> {
                int[] sums = new int[64];
                for (int round = 0; round < Integer.parseInt(arguments[1]); round++) {
                    synchronized (lock) {
                        sums[round % 64] += round;
                    }
                }
                System.out.println(sums[1]);
            }
            case "wait" -> {
                Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("bye")));
                System.out.println("ready");
                new java.util.concurrent.CountDownLatch(1).await();
            }
            case "go-on" -> {
                System.out.println("ready");
                new Scanner(System.in).nextLine();
                for (int round = 0; round < 300; round++) {
                    synchronized (lock) {
                        locked++;
                    }
                }
                System.out.println("done " + locked);
            }
            case "gate" -> {
                Gate gate = new Gate();
                Thread reader = new Thread(() -> { gate.pass(); System.out.println(racy); });
                reader.start();
                racy = 1;
                gate.open();
                reader.join();
            }
            case "list" -> {
                java.util.List<Integer> list = new java.util.ArrayList<>();
                twice(() -> list.add(1));
            }
            case "child" -> {
                String java = System.getProperty("java.home") + "/bin/java";
                String path = System.getProperty("java.class.path");
                String[] command = {java, "-Xshare:on", "-cp", path, "Program", "race"};
                System.out.println(new ProcessBuilder(command).inheritIO().start().waitFor());
            }
        }
    }

    static class Gate {
        private volatile boolean isOpen;

        void open() {
            isOpen = true;
        }

        void pass() {
            while (!isOpen) {
                Thread.onSpinWait();
            }
        }
    }

    static void outer() {
        inner();
    }

    static void inner() {
        racy = 1;
    }

    static void twice(Runnable work) throws InterruptedException {
        Thread first = new Thread(work, "first");
        Thread second = new Thread(work, "second");
        first.start();
        second.start();
        first.join();
        second.join();
    }
}
"#;

struct Watched {
    project: Project,
    jdk: Jdk,
    sessions: tempfile::TempDir,
}

impl Watched {
    fn new() -> Self {
        Self::on(jdk())
    }

    fn on(jdk: Jdk) -> Self {
        let project = Project::new("Program.java", PROGRAM);
        Self { project, jdk, sessions: tempfile::tempdir().unwrap() }
    }

    fn java(&self, arguments: &[&str]) -> Vec<String> {
        let java = self.jdk.tool("java").to_str().unwrap().to_owned();
        let start = [java, "-cp".into(), text(&self.project.classes()).into(), "Program".into()];
        start.into_iter().chain(arguments.iter().map(|&it| it.to_owned())).collect()
    }

    fn command(&self, options: &[&str], program: &[String]) -> Command {
        let mut run = command("run", options);
        if !options.contains(&"--record") {
            run.arg("--session-dir").arg(self.sessions.path());
        }
        run.arg("--").args(program);
        run
    }

    fn run(&self, options: &[&str], arguments: &[&str]) -> Outcome {
        self.start(&mut self.command(options, &self.java(arguments)))
    }

    fn start(&self, command: &mut Command) -> Outcome {
        let output = command.output().unwrap();
        assert_eq!(std::fs::read_dir(self.sessions.path()).unwrap().count(), 0);
        Outcome {
            status: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            messages: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.project.folder.path().join(name)
    }

    /// The report that was written to a file.
    fn report(&self, options: &[&str], arguments: &[&str]) -> (Outcome, Value) {
        let file = self.file("report.json");
        let options = [&["--format", "json", "--output", text(&file)], options].concat();
        let outcome = self.run(&options, arguments);
        let written = Outcome { out: std::fs::read_to_string(&file).unwrap(), ..outcome };
        let report = report(&written);
        (written, report)
    }
}

fn fields(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["variable"]["field"].as_str().unwrap()).collect()
}

#[test]
fn a_race_is_told_beside_the_output_of_the_program() {
    for jdk in jdks() {
        let watched = Watched::on(jdk);
        let found = watched.run(&[], &["race"]);
        assert_eq!((found.status, found.out.as_str()), (1, "raced\n"), "{}", found.messages);
        assert!(found.messages.starts_with("error[data-race]: Program.racy"), "{}", found.messages);
        assert!(found.messages.contains("ended with exit status 0"), "{}", found.messages);
    }
}

#[test]
fn a_program_without_a_race_is_silent_and_its_exit_status_is_named() {
    for jdk in jdks() {
        let watched = Watched::on(jdk);
        let (outcome, report) = watched.report(&[], &["no-race"]);
        assert_eq!(outcome.status, 3);
        assert_eq!(outcome.messages, "errors are mine\n");
        assert_eq!(fields(&report), Vec::<&str>::new());
        has_note(&report, "ended with exit status 3");
    }
}

/// Without an option, with `--exit-code findings`, and with `--exit-code program`.
#[test]
fn a_program_that_fails_is_never_a_success() {
    for jdk in jdks() {
        let watched = Watched::on(jdk);
        for (what, statuses) in [
            ("race", [1, 1, 0]),
            ("no-race", [3, 0, 3]),
            ("race-exit", [3, 1, 3]),
            ("throw", [1, 0, 1]),
            ("nothing", [0, 0, 0]),
        ] {
            let options = [&[][..], &["--exit-code", "findings"], &["--exit-code", "program"]];
            for (options, status) in options.into_iter().zip(statuses) {
                let outcome = watched.run(options, &[what]);
                assert_eq!(outcome.status, status, "{what} {options:?}: {}", outcome.messages);
                let has_findings = outcome.messages.contains("error[data-race]: Program.racy");
                assert_eq!(has_findings, what.starts_with("race"), "{}", outcome.messages);
            }
        }
    }
}

#[test]
fn a_program_that_fails_is_no_success_if_nobody_reads_the_report() {
    let watched = Watched::new();
    let mut command = watched.command(&[], &watched.java(&["race-exit"]));
    let mut run = command.stderr(Stdio::piped()).spawn().unwrap();
    drop(run.stderr.take());
    assert_eq!(run.wait().unwrap().code(), Some(3));
}

/// There is no report that could be taken for one of a program without defects.
#[test]
fn a_program_that_does_not_start_is_an_error() {
    for jdk in jdks() {
        let watched = Watched::on(jdk);
        let java = watched.jdk.tool("java").to_str().unwrap().to_owned();
        let script = format!("{java} NoSuchClass; exit 4");
        let before = "before a class of the program was loaded";
        let no_jvm = "no JVM that it started could be watched";
        for (command, words) in [
            (&[java.as_str(), "NoSuchClass"][..], ["NoSuchClass", "exit status 1", before]),
            (&[&java, "-cp", "/no/such", "a.Main"], ["a.Main", "exit status 1", before]),
            (&["sh", "-c", &script], ["NoSuchClass", "exit status 4", before]),
            (&[&java, "-jar", "missing.jar"], ["missing.jar", "exit status 1", ""]),
            (&[&java, "-XX:NoSuchOption"], ["NoSuchOption", "exit status 1", no_jvm]),
            (&["/no/such/java", "Program"], ["error: cannot start /no/such/java", "", ""]),
        ] {
            for options in [&[][..], &["--exit-code", "findings"], &["--exit-code", "program"]] {
                let command: Vec<String> = command.iter().map(|&it| it.to_owned()).collect();
                let outcome = watched.start(&mut watched.command(options, &command));
                assert_eq!((outcome.status, outcome.out.as_str()), (2, ""), "{command:?}");
                let messages = outcome.messages;
                assert!(words.iter().all(|it| messages.contains(it)), "{command:?}: {messages}");
                assert!(messages.contains("error: "), "{messages}");
                assert!(!messages.contains("no findings"), "{messages}");
            }
        }
    }
}

#[test]
fn input_reaches_the_program() {
    let watched = Watched::new();
    let mut command = watched.command(&[], &watched.java(&["echo"]));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"one\ntwo\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "> one\n> two\n");
}

#[test]
fn a_recorded_run_says_afterwards_what_it_said_live() {
    let watched = Watched::new();
    let record = watched.file("record");
    let (_, live) = watched.report(&["--record", text(&record)], &["race"]);
    let afterwards = report(&crate::support::run("analyze", &[text(&record), "--format", "json"]));
    assert_eq!(fields(&live), ["racy"]);
    assert_eq!(live["findings"], afterwards["findings"]);
    for name in ["events", "threads", "locks", "variables", "racing_events"] {
        assert_eq!(live["stats"][name], afterwards["stats"][name], "{name}");
    }
    let again = watched.run(&["--record", text(&record)], &["race"]);
    assert_eq!((again.status, again.out.as_str()), (2, ""));
    assert!(again.messages.contains("is there already"), "{}", again.messages);
}

/// Both accesses have stacks, live and afterwards.
#[test]
fn stacks_are_shown() {
    let stacks = |report: &Value| -> Vec<Vec<String>> {
        let accesses = report["findings"][0]["accesses"].as_array().unwrap().iter();
        let name = |frame: &Value| frame["method"].as_str().unwrap().to_owned();
        let stack = |access: &Value| access["stack"].as_array().unwrap().iter().map(name).collect();
        accesses.map(stack).collect()
    };
    for jdk in jdks() {
        let watched = Watched::on(jdk);
        let record = watched.file("record");
        for options in [&["--stacks"][..], &[]] {
            let recording = [options, &["--record", text(&record)]].concat();
            let (_, live) = watched.report(&recording, &["deep"]);
            assert_eq!(stacks(&live), [["inner", "outer"], ["inner", "outer"]]);
            let afterwards = crate::support::run("analyze", &[text(&record), "--format", "json"]);
            assert_eq!(live["findings"], report(&afterwards)["findings"]);
            std::fs::remove_dir_all(&record).unwrap();
        }
    }
}

#[test]
fn elements_that_are_not_watched_are_named() {
    let watched = Watched::new();
    for (options, status) in [
        (&["--array-cutoff", "6"][..], 1),
        (&["--array-cutoff", "5"], 0),
        (&["--array-cutoff", "1", "--array-offset", "5"], 1),
    ] {
        let (outcome, report) = watched.report(options, &["elements"]);
        assert_eq!(outcome.status, status, "{options:?}");
        has_note(&report, "races on others are not seen");
    }
    assert_eq!(watched.run(&["--array-offset", "5"], &["elements"]).status, 2);
}

#[test]
fn what_is_only_recorded_is_not_analysed() {
    let watched = Watched::new();
    let record = watched.file("record");
    let (outcome, live) = watched.report(&["--record", text(&record), "--no-analysis"], &["race"]);
    assert_eq!((outcome.status, fields(&live).len()), (0, 0));
    let afterwards = crate::support::run("analyze", &[text(&record), "--format", "json"]);
    assert_eq!(fields(&report(&afterwards)), ["racy"]);
}

#[test]
fn damage_of_a_recording_is_told() {
    let watched = Watched::new();
    let record = watched.file("record");
    watched.report(&["--record", text(&record), "--no-analysis"], &["race"]);
    let session = unsnarl_recording::sessions_of(&record).unwrap().remove(0);
    let arena = session.join("arena-0000");
    let mut bytes = std::fs::read(&arena).unwrap();
    // Behind the headers of the arena and of its first chunk, in the site of an event.
    bytes[8 + 24 + 1] ^= 1;
    std::fs::write(&arena, bytes).unwrap();
    let afterwards = crate::support::run("analyze", &[text(&record), "--format", "json"]);
    let notes = report(&afterwards)["notes"].to_string();
    assert!(notes.contains("arena-0000, byte 8"), "{notes}");
    assert!(notes.contains("its checksum is another one"), "{notes}");
}

#[test]
fn nothing_is_lost_when_the_analysis_is_slower_than_the_program() {
    let watched = Watched::new();
    let count = |buffer: &str| {
        let (_, report) = watched.report(&["--buffer", buffer], &["work", "300000"]);
        assert_eq!(report["notes"].as_array().unwrap().len(), 1, "{}", report["notes"]);
        report["stats"]["events"].as_u64().unwrap()
    };
    // Acquire, read, write and release in each round, at least: 25 megabytes.
    assert!(count("4") >= 1_200_000);
}

#[test]
fn jvms_of_the_program_and_of_scripts_are_watched() {
    for jdk in jdks() {
        let watched = Watched::on(jdk);
        let (outcome, report) = watched.report(&[], &["child"]);
        assert_eq!((outcome.status, fields(&report)), (1, vec!["racy"]), "{}", outcome.messages);
        assert_eq!(outcome.messages, "");

        let script = watched.java(&["race"]).join(" ");
        let script = ["sh".to_owned(), "-c".to_owned(), format!("{script}; exit 7")];
        let mut command = watched.command(&["--exit-code", "program"], &script);
        let found = watched.start(command.env("JAVA_TOOL_OPTIONS", "-Dmine=1"));
        assert_eq!((found.status, found.out.as_str()), (7, "raced\n"), "{}", found.messages);
        let picked_up = found.messages.lines().next().unwrap();
        assert!(picked_up.starts_with("Picked up JAVA_TOOL_OPTIONS: -Dmine=1 "), "{picked_up}");
        assert!(found.messages.contains("error[data-race]: Program.racy"), "{}", found.messages);
    }
}

#[test]
fn programs_that_insist_on_an_archive_start() {
    for jdk in jdks() {
        let watched = Watched::on(jdk);
        let mut java = watched.java(&["race"]);
        java.insert(1, "-Xshare:on".into());
        let found = watched.start(&mut watched.command(&[], &java));
        assert_eq!((found.status, found.out.as_str()), (1, "raced\n"), "{}", found.messages);
        assert!(found.messages.starts_with("error[data-race]"), "{}", found.messages);
    }
}

#[test]
fn what_is_no_jvm_cannot_be_watched() {
    let watched = Watched::new();
    for (program, words) in [
        ("true", "no JVM that it started could be watched"),
        ("/does/not/exist", "cannot start /does/not/exist"),
    ] {
        let outcome = watched.start(&mut watched.command(&[], &[program.to_owned()]));
        assert_eq!((outcome.status, outcome.out.as_str()), (2, ""), "{program}");
        assert!(outcome.messages.contains(words), "{program}: {}", outcome.messages);
    }
}

#[test]
fn classes_can_be_chosen() {
    let watched = Watched::new();
    for (option, pattern, status) in
        [("--include", "Prog*", 1), ("--include", "other.*", 0), ("--exclude", "Program", 0)]
    {
        assert_eq!(watched.run(&[option, pattern], &["race"]).status, status, "{option} {pattern}");
    }
}

/// A library that is not watched is known by a model of the user's.
#[test]
fn models_of_the_user_are_used_live_and_afterwards() {
    let watched = Watched::new();
    let options = ["--exclude", "Program$Gate"];
    assert_eq!(watched.run(&options, &["gate"]).status, 1);
    let models = watched.file("models.toml");
    let text_of_models = "schema = \"unsnarl.models/1\"\n[methods.\"Program$Gate\"]\n\
                          \"open()\" = \"send this\"\n\"pass()\" = \"receive this blocking\"\n";
    std::fs::write(&models, text_of_models).unwrap();
    let record = watched.file("record");
    let options = [&options[..], &["--models", text(&models), "--record", text(&record)]].concat();
    let modelled = watched.run(&options, &["gate"]);
    assert_eq!((modelled.status, modelled.out.as_str()), (0, "1\n"), "{}", modelled.messages);
    assert_eq!(crate::support::run("analyze", &[text(&record)]).status, 0);

    std::fs::write(&models, "nonsense").unwrap();
    let wrong = watched.run(&["--models", text(&models)], &["gate"]);
    assert_eq!((wrong.status, wrong.out.as_str()), (2, ""), "{}", wrong.messages);
}

#[test]
fn contents_of_library_objects_are_watched_on_request() {
    let watched = Watched::new();
    assert_eq!(watched.run(&[], &["list"]).status, 0);
    let found = watched.run(&["--contents"], &["list"]);
    assert_eq!(found.status, 1, "{}", found.messages);
    assert!(found.messages.contains("java.util.ArrayList"), "{}", found.messages);
}

/// Starts a run and waits until the program says that it is ready.
fn until_ready(
    watched: &Watched,
    options: &[&str],
    what: &str,
) -> (Child, BufReader<impl Read + use<>>) {
    let mut command = watched.command(options, &watched.java(&[what]));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = command.spawn().unwrap();
    let mut out = BufReader::new(run.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (run, out)
}

fn kill(signal: &str, process: u32) {
    let process = process.to_string();
    assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
}

/// The JVM of a run.
fn program_of(run: &Child) -> u32 {
    let children = format!("/proc/{0}/task/{0}/children", run.id());
    unsnarl_testing::wait_for("child of the run", || {
        let children = std::fs::read_to_string(&children).unwrap();
        children.split_whitespace().next().map(|child| child.parse().unwrap())
    })
}

#[test]
fn signals_reach_the_program() {
    let watched = Watched::new();
    let (mut run, mut out) = until_ready(&watched, &[], "wait");
    kill("-TERM", run.id());
    assert_eq!(run.wait().unwrap().code(), Some(128 + 15));
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "bye\n");
}

#[test]
fn a_killed_jvm_is_reported() {
    let watched = Watched::new();
    let (run, _out) = until_ready(&watched, &[], "go-on");
    kill("-KILL", program_of(&run));
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(128 + 9));
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(messages.contains("was killed by signal 9"), "{messages}");
}

/// The program goes on when `unsnarl` is killed, and the next run tidies up.
#[test]
fn a_killed_unsnarl_leaves_the_program_alone() {
    let watched = Watched::new();
    let (mut run, mut out) = until_ready(&watched, &[], "go-on");
    let mut input = run.stdin.take().unwrap();
    let folders = || std::fs::read_dir(watched.sessions.path()).unwrap().count();
    kill("-KILL", run.id());
    run.wait().unwrap();
    input.write_all(b"go on\n").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "done 300\n");
    assert_eq!(folders(), 1);
    assert_eq!(watched.run(&[], &["race"]).status, 1);
    assert_eq!(folders(), 0);
}

/// A folder that vanishes while the program runs costs the trace, not the program.
#[test]
fn a_deleted_session_leaves_the_program_alone() {
    let watched = Watched::new();
    let (mut run, mut out) = until_ready(&watched, &[], "go-on");
    let folder: PathBuf =
        std::fs::read_dir(watched.sessions.path()).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_dir_all(Path::new(&folder)).unwrap();
    run.stdin.take().unwrap().write_all(b"go on\n").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "done 300\n");
    let output = run.wait_with_output().unwrap();
    assert!(output.status.code().is_some());
}
