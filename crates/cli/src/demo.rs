//! `unsnarl demo`: compiles the examples that come with the program, checks them, and watches them run. What both found is
//! joined in a page for the browser.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

use anstyle::Style;
use anyhow::{Context, bail};
use unsnarl_classpath::{ClassPath, Jdk, JdkChoice, Options};
use unsnarl_commands::check::{self, CheckOptions};
use unsnarl_commands::run::{self, RunOptions, Streams};
use unsnarl_commands::session::ProgramOptions;
use unsnarl_commands::{Reviewed, joining, sources};
use unsnarl_findings::Report;
use unsnarl_report::html;

use crate::args::{DemoArguments, ReportFormat};
use crate::output::Output;
use crate::{ExitStatus, report};

/// A program of `examples/`, in a package of its name.
struct Example {
    name: &'static str,
    title: &'static str,
    file: &'static str,
    source: &'static str,
    /// The oldest Java release that compiles it.
    since: u16,
}

const EXAMPLES: [Example; 6] = [
    Example {
        name: "bank",
        title: "a balance that is locked for deposits and not for withdrawals",
        file: "Bank.java",
        source: include_str!("../../../examples/bank/Bank.java"),
        since: 11,
    },
    Example {
        name: "catalog",
        title: "double-checked locking without volatile",
        file: "Catalog.java",
        source: include_str!("../../../examples/catalog/Catalog.java"),
        since: 11,
    },
    Example {
        name: "orders",
        title: "a producer and two consumers, correct",
        file: "Orders.java",
        source: include_str!("../../../examples/orders/Orders.java"),
        since: 11,
    },
    Example {
        name: "crawler",
        title: "a pool of workers that share a plain counter",
        file: "Crawler.java",
        source: include_str!("../../../examples/crawler/Crawler.java"),
        since: 11,
    },
    Example {
        name: "heartbeat",
        title: "a thread that may never see that it should stop",
        file: "Heartbeat.java",
        source: include_str!("../../../examples/heartbeat/Heartbeat.java"),
        since: 11,
    },
    Example {
        name: "chat",
        title: "virtual threads, and one assignment outside the lock",
        file: "Chat.java",
        source: include_str!("../../../examples/chat/Chat.java"),
        since: 21,
    },
];

/// Runs the command.
pub(crate) fn run(arguments: &DemoArguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let jdk = find_jdk(arguments.jdk.as_deref())?;
    let temporary = tempfile::tempdir().context("cannot make a temporary folder")?;
    let folder = arguments.keep.as_deref().unwrap_or(temporary.path());
    let (examples, too_new): (Vec<&Example>, Vec<&Example>) =
        EXAMPLES.iter().partition(|example| example.since <= jdk.release);
    compile(&examples, folder, &jdk)?;

    let title = if output.coloured() { Style::new().bold() } else { Style::new() };
    let mut reports = Vec::new();
    for example in &examples {
        let report = check::examine(&example.check(folder, &jdk), output.messages())?.report;
        writeln!(output.result(), "{title}== {}: {}{title:#}\n", example.name, example.title)?;
        let classes = [example.classes(folder)];
        let sources = sources::find(report.findings(), &[], &classes, output.messages())?;
        let reviewed = Reviewed { report, sources };
        report::write(&reviewed, ReportFormat::Text, false, output)?;
        let options = example.run(folder, &jdk);
        let (watched, _) = run::watch_program(&options, Streams::None, output.messages())?;
        writeln!(output.result(), "{}\n", observed(&watched))?;
        reports.extend([reviewed.report, watched]);
    }
    let classes: Vec<PathBuf> = examples.iter().map(|example| example.classes(folder)).collect();
    let page = write_page(&joining::joined(reports), &classes, arguments.keep.as_deref(), output)?;
    let out = output.result();
    for example in too_new {
        let Example { name, since, .. } = example;
        let release = jdk.release;
        writeln!(
            out,
            "{title}== {name}{title:#} needs Java {since}; this JDK is Java {release}\n"
        )?;
    }
    writeln!(out, "All of this for the browser, joined: {}\n", page.display())?;
    let kept = match &arguments.keep {
        Some(folder) => folder.display().to_string(),
        None => {
            writeln!(out, "To keep sources and classes: unsnarl demo --keep DIR\n")?;
            "DIR".to_owned()
        }
    };
    writeln!(out, "What to try next:")?;
    for (command, purpose) in [
        (format!("unsnarl explain bank.Account.balance {kept}/bank/classes"), "why it is reported"),
        (
            format!("unsnarl explain orders.Orders$Consumer.sum {kept}/orders/classes"),
            "why it is not",
        ),
        ("unsnarl explain data-race".to_owned(), "what the rule means"),
        (
            format!(
                "javac -g -d {kept}/bank/classes {kept}/bank/Bank.java && unsnarl check {kept}/bank/classes"
            ),
            "whether it is gone, when you have followed the hint in Bank.java",
        ),
        ("unsnarl check your.jar".to_owned(), "your own program"),
        ("unsnarl run -- java -jar your.jar".to_owned(), "the same, watched while it runs"),
        ("unsnarl check --library your-library.jar".to_owned(), "a library without a main"),
    ] {
        writeln!(out, "  {command}\n      {purpose}")?;
    }
    Ok(ExitStatus::Clean)
}

/// Writes the page into the folder that is kept, or where temporary files are.
fn write_page(
    report: &Report,
    classes: &[PathBuf],
    kept: Option<&Path>,
    output: &Output,
) -> anyhow::Result<PathBuf> {
    let sources = sources::find(report.findings(), &[], classes, output.messages())?;
    let (file, path) = match kept {
        Some(folder) => {
            let path = folder.join("report.html");
            (File::create(&path), path)
        }
        None => {
            let names = tempfile::Builder::new().prefix("unsnarl-demo-").suffix(".html").tempfile();
            let (file, path) = names.and_then(|file| file.keep().map_err(|error| error.error))?;
            (Ok(file), path)
        }
    };
    let file = file.with_context(|| format!("cannot write {}", path.display()))?;
    html::write(report, &sources, &mut BufWriter::new(file))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

impl Example {
    fn classes(&self, folder: &Path) -> PathBuf {
        folder.join(self.name).join("classes")
    }

    /// The run of this example, as `unsnarl run` would watch it.
    fn run(&self, folder: &Path, jdk: &Jdk) -> RunOptions {
        let main = format!("{}.{}", self.name, self.file.trim_end_matches(".java"));
        let java = jdk.home.join("bin/java").into();
        RunOptions::new(vec![java, "-cp".into(), self.classes(folder).into(), main.into()])
    }

    /// The check of this example, as `unsnarl check` would run it.
    fn check(&self, folder: &Path, jdk: &Jdk) -> CheckOptions {
        let program = ProgramOptions { jdk: Some(jdk.home.clone()), ..Default::default() };
        CheckOptions {
            // The page at the end shows them.
            use_graphs: true,
            warn_of_failures: true,
            ..CheckOptions::new(vec![self.classes(folder)], program)
        }
    }
}

/// What happened in a real JVM, in a sentence.
fn observed(report: &Report) -> String {
    let mut subjects: Vec<String> =
        report.findings().iter().map(|finding| finding.subject.to_string()).collect();
    subjects.sort();
    subjects.dedup();
    match subjects.is_empty() {
        true => "Watched while it ran: nothing was observed.".to_owned(),
        false => format!("Watched while it ran: observed {}.", subjects.join(", ")),
    }
}

/// Writes `FOLDER/NAME/FILE.java` and makes `FOLDER/NAME/classes` of it, for all examples at once:
/// the compiler takes longer to start than to compile.
fn compile(examples: &[&Example], folder: &Path, jdk: &Jdk) -> anyhow::Result<()> {
    let all = tempfile::tempdir_in(existing(folder)?).context("cannot make a temporary folder")?;
    let mut command = Command::new(javac_of(&jdk.home));
    command.arg("-g").arg("-d").arg(all.path());
    for example in examples {
        let source = folder.join(example.name).join(example.file);
        existing(&folder.join(example.name))?;
        std::fs::write(&source, example.source)
            .with_context(|| format!("cannot write {}", source.display()))?;
        command.arg(source);
    }
    let compiled = command
        .output()
        .with_context(|| format!("cannot run {}", javac_of(&jdk.home).display()))?;
    if !compiled.status.success() {
        bail!("javac failed: {}", String::from_utf8_lossy(&compiled.stderr).trim_end());
    }
    for example in examples {
        let classes = example.classes(folder);
        let package = existing(&classes)?.join(example.name);
        let moved = remove_if_there(&package)
            .and_then(|()| std::fs::rename(all.path().join(example.name), &package));
        moved.with_context(|| format!("cannot write {}", package.display()))?;
    }
    Ok(())
}

fn existing(folder: &Path) -> anyhow::Result<&Path> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    Ok(folder)
}

fn remove_if_there(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A JDK with a compiler: the one that is named, else the one that the environment points at, else the
/// newest where Linux distributions put them.
fn find_jdk(named: Option<&Path>) -> anyhow::Result<Jdk> {
    if let Some(home) = named {
        return match opened(JdkChoice::Home(home.to_owned())) {
            Some(jdk) => Ok(jdk),
            None => bail!("{} has no javac: name the folder of a JDK", home.display()),
        };
    }
    let installed = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    let environment = JdkChoice::from_environment();
    opened(environment)
        .or_else(|| {
            let homes = installed.filter_map(|home| opened(JdkChoice::Home(home.path())));
            homes.max_by_key(|jdk| (jdk.release, jdk.home.clone()))
        })
        .context(
            "the demonstration compiles Java and there is no javac: install a JDK, on Debian and \
             Ubuntu with 'apt-get install default-jdk-headless', or name one with --jdk DIR",
        )
}

/// The chosen JDK, if there is one and it can compile.
fn opened(jdk: JdkChoice) -> Option<Jdk> {
    let path = ClassPath::open(&Options {
        inputs: Vec::new(),
        class_path: Vec::new(),
        jdk,
        release: None,
    });
    path.jdk().filter(|jdk| javac_of(&jdk.home).is_file()).cloned()
}

fn javac_of(home: &Path) -> PathBuf {
    home.join("bin").join(format!("javac{}", std::env::consts::EXE_SUFFIX))
}

#[cfg(test)]
mod tests {
    use super::EXAMPLES;

    /// An example that is not in the table would never be shown.
    #[test]
    fn every_example_is_in_the_table() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let read_me = std::fs::read_to_string(folder.join("README.md")).expect("a page for people");
        let mut names: Vec<String> = std::fs::read_dir(&folder)
            .expect("examples is there")
            .map(|entry| entry.expect("examples can be read"))
            .filter(|entry| entry.path().is_dir())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_unstable();
        let mut listed = EXAMPLES.map(|example| example.name);
        listed.sort_unstable();
        assert_eq!(names, listed);
        for example in &EXAMPLES {
            let link = format!("[{0}]({0}/{1})", example.name, example.file);
            assert!(read_me.contains(&link), "{link}");
            assert!(example.source.starts_with(&format!("package {};", example.name)));
        }
    }
}
