//! `unsnarl.toml`: what it says holds unless the command line says otherwise, and `unsnarl config` tells so.

use std::path::Path;

use crate::check::report;
use crate::support::{Outcome, Project, command, text};

/// A counter that two threads increment without a lock.
const COUNTER: &str = "package p;
public class Counter extends Thread {
    static Counter shared = new Counter();
    private int count;
    public void run() { shared.count++; }
    public static void main(String[] arguments) {
        new Counter().start();
        shared.count++;
    }
}
";

/// A project with a configuration.
pub(crate) fn configured(configuration: &str) -> Project {
    let project = Project::new("Counter.java", COUNTER);
    project.write("unsnarl.toml", configuration.as_bytes());
    project
}

/// The tool, started in a folder.
pub(crate) fn run_in(folder: &Path, name: &str, arguments: &[&str]) -> Outcome {
    let mut command = command(name, arguments);
    let output = command.current_dir(folder).env_remove("JAVA_HOME").output().unwrap();
    Outcome {
        status: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        messages: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn what_the_file_says_holds_unless_the_command_line_says_otherwise() {
    let project = configured(
        "format = \"json\"\n[check]\ninputs = [\"classes\"]\nfail-on = \"never\"\nrules = [\"data-race\"]\n",
    );
    let folder = project.folder.path();
    let from_file = run_in(folder, "check", &[]);
    assert_eq!(from_file.status, 0, "{}", from_file.messages);
    assert_eq!(report(&from_file)["findings"][0]["rule"], "data-race");
    assert_eq!(run_in(folder, "check", &["--fail-on", "error"]).status, 1);
    assert!(run_in(folder, "check", &["--format", "text"]).out.contains("[data-race]: "));
    let other = run_in(folder, "check", &["--rules", "unsafe-publication"]);
    assert_eq!(report(&other)["findings"], serde_json::json!([]));
    let missing = run_in(folder, "check", &["missing.jar"]);
    assert!(
        missing.status == 2 && missing.messages.contains("missing.jar"),
        "{}",
        missing.messages
    );
}

/// The nearest file above is taken, and its paths are from where it is.
#[test]
fn the_file_is_found_from_folders_below() {
    let project = configured("[check]\ninputs = [\"classes\"]\n");
    let folder = project.folder.path();
    let below = folder.join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    assert_eq!(run_in(&below, "check", &[]).status, 1);
    std::fs::write(folder.join("a/unsnarl.toml"), "color = \"never\"\n").unwrap();
    let nearer = run_in(&below, "check", &[]);
    assert!(nearer.status == 2 && nearer.messages.contains("<INPUT>"), "{}", nearer.messages);
    assert_eq!(run_in(&below, "check", &["--config", "../../unsnarl.toml"]).status, 1);
    let mut command = command("check", &[]);
    let named = command.current_dir(&below).env("UNSNARL_CONFIG", "../../unsnarl.toml");
    assert_eq!(named.output().unwrap().status.code(), Some(1));
    let missing = run_in(&below, "check", &["--config", "no.toml"]);
    assert!(missing.status == 2 && missing.messages.contains("cannot read no.toml"));
}

#[test]
fn a_flag_of_the_file_can_be_switched_off_and_what_contradicts_the_command_line_gives_way() {
    let project = configured("verbose = true\n[check]\nlibrary = true\narrays = true\n");
    let folder = project.folder.path();
    let shown = |words: &[&str]| {
        let outcome = run_in(folder, "config", words);
        assert_eq!(outcome.status, 0, "{}", outcome.messages);
        outcome.out
    };
    let has = |shown: &str, line: &str| {
        let lines = || shown.lines().map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "));
        assert!(lines().any(|it| it == line), "{line}: {shown}");
    };
    let plain = shown(&["check", "classes"]);
    has(&plain, "library = true # unsnarl.toml:3");
    has(&plain, "verbose = true # unsnarl.toml:1");
    has(&plain, "inputs = [\"classes\"] # command line");
    has(&plain, "fail-on = \"warning\" # default");
    has(&plain, "# baseline # not set");
    let other = shown(&["check", "--arrays=false", "--entry", "p.Counter.main", "-q"]);
    has(&other, "arrays = false # command line");
    has(&other, "library = false # default");
    has(&other, "verbose = false # default");
    assert_eq!(run_in(folder, "check", &["classes", "--entry", "p.Counter.main", "-q"]).status, 1);
}

/// What is shown is a file that says the same.
#[test]
fn what_is_in_force_is_shown_for_every_command_in_the_form_of_the_file() {
    let project = configured(
        "jdk = \"some/jdk\"\n[run]\ncommand = [\"java\", \"-jar\", \"a b.jar\"]\nconfirm = true\nbuffer = 64\n\
         [analyze]\nformat = \"tsv\"\n\n[[suppress]]\nrule = \"data-race\"\nfield = \"count\"\nreason = \"\\\"rough\\\"\"\n",
    );
    let folder = project.folder.path();
    let shown = run_in(folder, "config", &[]);
    assert_eq!(shown.status, 0, "{}", shown.messages);
    for words in [
        "command = [\"java\", \"-jar\", \"a b.jar\"]",
        "confirm = true",
        "buffer = 64",
        "format = \"tsv\"",
        "jdk = \"some/jdk\"",
        "reason = '\"rough\"'",
    ] {
        assert!(shown.out.contains(words), "{words}: {}", shown.out);
    }
    let values = |shown: &str| -> Vec<String> {
        let lines = shown.lines().skip(1).filter(|line| !line.starts_with('#'));
        lines.map(|line| line.split(" # ").next().unwrap().trim().to_owned()).collect()
    };
    std::fs::write(folder.join("unsnarl.toml"), &shown.out).unwrap();
    let again = run_in(folder, "config", &[]);
    assert_eq!(values(&again.out), values(&shown.out), "{}", again.messages);
}

#[test]
fn what_is_wrong_with_the_file_is_told_with_its_line() {
    for (configuration, words) in [
        (
            "fail_on = \"error\"\n",
            "unsnarl.toml:1: there is no key 'fail_on' (did you mean fail-on?)",
        ),
        (
            "\n[check]\nlibary = true\n",
            "unsnarl.toml:3: there is no key 'libary' of check (did you mean library?)",
        ),
        (
            "[chekc]\nlibrary = true\n",
            "unsnarl.toml:2: there is no command 'chekc' (did you mean check?)",
        ),
        (
            "[check]\nfail-on = \"maybe\"\n",
            "unsnarl.toml:2: fail-on: invalid value 'maybe' for '--fail-on <SEVERITY>'",
        ),
        ("format = \"pdf\"\n", "unsnarl.toml:1: format: invalid value 'pdf'"),
        ("[check]\nlibrary = \"yes\"\n", "unsnarl.toml:2: library: expected true or false"),
        ("[check]\nfail-on = true\n", "unsnarl.toml:2: fail-on: expected a text"),
        (
            "[check]\nfail-on = [\"note\", \"error\"]\n",
            "unsnarl.toml:2: fail-on: the argument '--fail-on <SEVERITY>' cannot be used multiple times",
        ),
        ("[check\n", "unsnarl.toml:1: "),
        ("[[suppress]]\nrule = \"data-race\"\n", "unsnarl.toml:1: [[suppress]] needs a reason"),
        (
            "[[suppress]]\nreason = \"so\"\n",
            "unsnarl.toml:1: [[suppress]] needs a rule, class, field or method",
        ),
        (
            "[[suppress]]\nrule = \"data-rase\"\nreason = \"so\"\n",
            "there is no rule 'data-rase' (did you mean data-race?)",
        ),
        (
            "[[suppress]]\nclas = \"A\"\nreason = \"so\"\n",
            "[[suppress]] has no key 'clas' (did you mean class?)",
        ),
        ("[suppress]\nrule = \"data-race\"\n", "'suppress' is written as [[suppress]]"),
        ("config = \"other.toml\"\n", "there is no key 'config'"),
    ] {
        let project = tempfile::tempdir().unwrap();
        std::fs::write(project.path().join("unsnarl.toml"), configuration).unwrap();
        let outcome = run_in(project.path(), "check", &["a.jar"]);
        assert_eq!(
            (outcome.status, outcome.messages.lines().count()),
            (2, 1),
            "{}",
            outcome.messages
        );
        assert!(outcome.messages.contains(words), "{words}: {}", outcome.messages);
    }
}

/// A key at the top is for whoever can do with it.
#[test]
fn a_value_at_the_top_is_for_the_commands_that_know_it() {
    let project = configured("format = \"tsv\"\n");
    let folder = project.folder.path();
    assert!(run_in(folder, "check", &["classes"]).out.contains("[data-race]: "));
    assert!(run_in(folder, "config", &["analyze"]).out.contains("format = \"tsv\""));
}

#[test]
fn help_is_the_same_with_and_without_a_file() {
    let project = configured("[check]\narrays = true\n");
    let help = run_in(project.folder.path(), "check", &["--help"]);
    assert_eq!((help.status, help.messages.as_str()), (0, ""));
    assert!(help.out.contains("--arrays") && !help.out.contains("--arrays[="), "{}", help.out);
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let outcome = crate::support::run("completions", &[shell]);
        assert_eq!((outcome.status, outcome.messages.as_str()), (0, ""));
        for word in ["check", "analyze", "write-baseline", "happens-before"] {
            assert!(outcome.out.contains(word), "{shell}: {word}");
        }
    }
    let script = crate::support::run("completions", &["bash"]).out;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("unsnarl.bash");
    std::fs::write(&file, script).unwrap();
    let tried = "source \"$0\"; COMP_WORDS=(unsnarl check --fail-o); COMP_CWORD=2; \
                 _unsnarl unsnarl --fail-o check; echo \"${COMPREPLY[@]}\"";
    let bash =
        std::process::Command::new("bash").args(["-c", tried, text(&file)]).output().unwrap();
    assert_eq!(String::from_utf8(bash.stdout).unwrap(), "--fail-on\n");
}
