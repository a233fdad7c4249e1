//! Runs `unsnarl check` on programs, each in a folder of its own.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use unsnarl_testing::Jdk;

use crate::fixture::{Fixture, Subject};

/// A finding as JSON, with what it is about.
pub(crate) struct Finding {
    pub(crate) subject: Subject,
    json: Value,
}

/// Compiles programs with one call of the compiler and checks each. The outcomes have the order of the
/// programs; an error says why there are no findings to look at.
pub(crate) fn check(jdk: &Jdk, fixtures: &[&Fixture]) -> Vec<Result<Vec<Finding>, String>> {
    let classes = tempfile::tempdir().unwrap();
    jdk.compile(fixtures.iter().map(|fixture| fixture.path.as_path()), classes.path());
    move_apart(classes.path());
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(fixture) = fixtures.get(index) else { break };
                    let outcome = check_one(jdk, fixture, &classes.path().join(&fixture.name));
                    outcomes.lock().unwrap().push((index, outcome));
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap();
    outcomes.sort_by_key(|&(index, _)| index);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Moves every class into the folder of its top-level class.
fn move_apart(classes: &Path) {
    let files: Vec<_> = std::fs::read_dir(classes).unwrap().map(|e| e.unwrap().path()).collect();
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let outer = name.split(['$', '.']).next().unwrap();
        let folder = classes.join(outer);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::rename(&file, folder.join(&name)).unwrap();
    }
}

fn check_one(jdk: &Jdk, fixture: &Fixture, classes: &Path) -> Result<Vec<Finding>, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unsnarl"));
    command.args(["check", "--format", "json", "--jdk"]).arg(&jdk.home);
    if fixture.is_library {
        command.arg("--library");
    }
    if fixture.judges_arrays {
        command.arg("--arrays");
    }
    let output = command.arg(classes).output().map_err(|error| error.to_string())?;
    let messages = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error} ({}): {messages}", output.status))?;
    let findings: Vec<Finding> = report["findings"]
        .as_array()
        .ok_or("no list of findings")?
        .iter()
        .map(|json| Finding { subject: subject(json), json: json.clone() })
        .collect();
    let is_bad = |finding: &Finding| finding.json["severity"] != "note";
    let status = i32::from(findings.iter().any(is_bad));
    match output.status.code() {
        Some(code) if code == status => Ok(findings),
        _ => Err(format!("{} with {} findings: {messages}", output.status, findings.len())),
    }
}

fn subject(finding: &Value) -> Subject {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    Subject { rule: text(&finding["rule"]), field: text(&finding["variable"]["field"]) }
}

impl Finding {
    /// Kind and line of each access, in the innermost frame that is in the program itself.
    pub(crate) fn accesses<'f>(
        &'f self,
        program: &str,
    ) -> impl Iterator<Item = (String, u64)> + 'f {
        let file = format!("{program}.java");
        let accesses = self.json["accesses"].as_array().into_iter().flatten();
        accesses.map(move |access| {
            let mut frames = access["stack"].as_array().into_iter().flatten();
            let frame = frames.find(|frame| frame["file"] == file.as_str());
            let line = frame.and_then(|frame| frame["line"].as_u64()).unwrap_or(0);
            (access["kind"].as_str().unwrap_or("?").to_owned(), line)
        })
    }

    /// Where the accesses are, for people: `write in line 8, read in line 12`.
    pub(crate) fn places(&self, program: &str) -> String {
        let places = self.accesses(program).map(|(kind, line)| format!("{kind} in line {line}"));
        places.collect::<Vec<_>>().join(", ")
    }

    /// The rule and the name of each of its reasons.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let reasons = self.json["reasons"].as_array().into_iter().flatten();
        let texts = reasons.filter_map(Value::as_str);
        let names = texts.filter_map(|text| text.split_once(' ')?.1.split_once(':'));
        names.map(|(name, _)| (self.subject.rule.clone(), name.to_owned()))
    }
}
