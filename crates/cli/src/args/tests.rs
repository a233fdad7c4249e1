//! What the definition of the command line takes and refuses.

use clap::CommandFactory;
use unsnarl_detect_dynamic::DETECTORS;
use unsnarl_findings::Severity;

use super::*;

fn parse(arguments: &[&str]) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(std::iter::once("unsnarl").chain(arguments.iter().copied()))
}

#[test]
fn the_definition_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn inspect_takes_everything_it_promises() {
    let line = "inspect a.jar b --jdk /jdk --classpath c.jar:d --entry p.M.main --entry q.* \
                --models m.toml --release 17 --what callgraph --format dot --class p.* \
                --method run --object o1,o2 --output out.dot --color never -v";
    let words: Vec<&str> = line.split_whitespace().collect();
    let arguments = parse(&words).expect("all of these exist");
    assert!(arguments.common.verbose);
    assert_eq!(arguments.common.color, ColorChoice::Never);
    assert_eq!(arguments.common.output, Some(PathBuf::from("out.dot")));
    let Command::Inspect(inspect) = arguments.command else { panic!("it says inspect") };
    assert_eq!(inspect.inputs.len(), 2);
    assert_eq!(inspect.program.entries, ["p.M.main", "q.*"]);
    let classpath = inspect.program.options().class_path;
    assert_eq!(classpath, [PathBuf::from("c.jar"), PathBuf::from("d")]);
    assert_eq!((inspect.what, inspect.format), (What::Callgraph, Format::Dot));
    assert_eq!(inspect.objects, ["o1", "o2"]);
}

#[test]
fn check_takes_everything_it_promises() {
    let line = "check a.jar --library --classpath c.jar --jdk /jdk --models m.toml --release 21 \
                --rules data-race,unsafe-publication --fail-on error --arrays \
                --min-confidence 0.6 --format json -o out.json -q";
    let words: Vec<&str> = line.split_whitespace().collect();
    let arguments = parse(&words).expect("all of these exist");
    let Command::Check(check) = arguments.command else { panic!("it says check") };
    assert_eq!(check.rules, [Rule::DataRace, Rule::UnsafePublication]);
    assert_eq!((check.fail_on, check.format), (FailOn::Error, ReportFormat::Json));
    assert_eq!(check.min_confidence, Some(0.6));
    assert!(check.arrays && check.program.library && arguments.common.quiet);
}

#[test]
fn analyze_takes_everything_it_promises() {
    let line = "analyze a.std b.bin --detect eraser,lock-order --detect happens-before --all \
                --fail-on never --format tsv -o t";
    let words: Vec<&str> = line.split_whitespace().collect();
    let arguments = parse(&words).expect("all of these exist");
    let Command::Analyze(analyze) = arguments.command else { panic!("it says analyze") };
    assert_eq!(analyze.traces, [PathBuf::from("a.std"), PathBuf::from("b.bin")]);
    let names: Vec<&str> = analyze.detectors.detect.iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["eraser", "lock-order", "happens-before"]);
    assert!(analyze.detectors.all);
    assert_eq!((analyze.fail_on, analyze.format), (FailOn::Never, TraceReportFormat::Tsv));
}

#[test]
fn an_unknown_rule_is_told_with_its_neighbour() {
    let error = parse(&["check", "--rules", "data-rase", "a.jar"]).expect_err("no such rule");
    assert!(error.to_string().contains("'data-race'"), "{error}");
}

#[test]
fn what_fails_a_build_is_ordered() {
    use Severity::{Error, Note, Warning};
    for (fail_on, expected) in [
        (FailOn::Error, [false, false, true]),
        (FailOn::Warning, [false, true, true]),
        (FailOn::Note, [true, true, true]),
        (FailOn::Never, [false, false, false]),
    ] {
        let reached = [Note, Warning, Error].map(|worst| fail_on.is_reached_by(worst));
        assert_eq!(reached, expected, "{fail_on:?}");
    }
}

#[test]
fn contradictions_and_unknown_things_are_errors_of_status_2() {
    for line in [
        "",
        "inspect --entry a.B.c --library x.jar",
        "inspect -q -v",
        "inspect --what everything",
        "inspect --release new",
        "check",
        "check --entry a.B.c --library x.jar",
        "check --fail-on maybe x.jar",
        "check --min-confidence 1.5 x.jar",
        "check --min-confidence high x.jar",
        "check --format dot x.jar",
        "analyze",
        "analyze --detect magic a.std",
        "analyze --format dot a.std",
        "report",
        "report --html --sarif a.json",
        "explain",
        "no-such-command",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let error = parse(&words).expect_err(line);
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

#[test]
fn help_names_the_detectors_that_run_by_default() {
    let help = detect_help();
    for entry in &DETECTORS {
        assert_eq!(help.contains(entry.name), entry.is_default, "{}", entry.name);
    }
}

/// The manual pages in `docs/man` are what the definition says. Run with `UNSNARL_BLESS=1` to
/// write them anew.
#[test]
fn manual_pages_are_up_to_date() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/man");
    let bless = std::env::var_os("UNSNARL_BLESS").is_some();
    for (name, page) in manual_pages() {
        let path = folder.join(&name);
        if bless {
            std::fs::create_dir_all(&folder).expect("docs/man can be made");
            std::fs::write(&path, &page).expect("docs/man can be written");
        }
        let stored = std::fs::read(&path).unwrap_or_default();
        assert!(
            stored == page,
            "docs/man/{name} is stale: run UNSNARL_BLESS=1 cargo test -p unsnarl"
        );
    }
}

/// The file name and the text of every manual page.
fn manual_pages() -> Vec<(String, Vec<u8>)> {
    let mut command = Arguments::command();
    command.build();
    let pages = std::iter::once(command.clone()).chain(command.get_subcommands().cloned());
    pages
        .map(|command| {
            let page = clap_mangen::Man::new(command);
            let mut text = Vec::new();
            page.render(&mut text).expect("a vector takes every write");
            (page.get_filename(), text)
        })
        .collect()
}
