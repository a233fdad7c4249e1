//! Findings of several commands as one: `--with` and `--confirm`.

use std::path::PathBuf;

use serde_json::Value;
use unsnarl_testing::{Jdk, jdk, jdks};

use crate::check::{has_note, report};
use crate::support::{Outcome, Project, run, text};

/// Fields that static analysis suspects, a list, an object that is published without a lock, and an array.
const SHOP: &str = r#"
import java.util.*;
import java.util.concurrent.*;

public class Shop {
    static int sold;
    static int counted;
    static int refunded;
    static int late;
    static Box box;
    static final int[] tills = new int[4];
    static final List<String> names = new ArrayList<>();
    static final Object lock = new Object();
    static final CyclicBarrier closing = new CyclicBarrier(2);

    public static void main(String[] arguments) throws Exception {
        Thread worker = new Thread(() -> work(arguments), "worker");
        worker.start();
        sold++;
        names.add("main");
        tills[2]++;
        if (arguments.length > 0) {
            refunded++;
        }
        closing.await();
        System.out.println(counted);
        // Until the worker is done; properties order nothing that is recorded.
        while (System.getProperty("worked") == null) {
            Thread.onSpinWait();
        }
        System.out.println(box.size);
        synchronized (lock) {
            System.out.println("closed");
        }
        System.out.println(late);
    }

    static void work(String[] arguments) {
        sold++;
        names.add("worker");
        tills[2]++;
        if (arguments.length > 0) {
            refunded++;
        }
        counted = 1;
        try {
            closing.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            return;
        }
        box = new Box();
        late = 1;
        synchronized (lock) {
            System.out.println("worked");
        }
        System.setProperty("worked", "yes");
    }

    static class Box {
        int size = 3;
    }
}
"#;

struct Shop {
    project: Project,
    jdk: Jdk,
}

impl Shop {
    fn on(jdk: Jdk) -> Self {
        Self { project: Project::new("Shop.java", SHOP), jdk }
    }

    /// The report of `unsnarl check`.
    fn checked(&self) -> PathBuf {
        let file = self.project.folder.path().join("checked.json");
        let classes = self.project.classes();
        let home = text(&self.jdk.home);
        let outcome = run(
            "check",
            &[text(&classes), "--arrays", "--jdk", home, "--format", "json", "-o", text(&file)],
        );
        assert_eq!(outcome.status, 1, "{}", outcome.messages);
        file
    }

    fn run(&self, options: &[&str], arguments: &[&str]) -> Outcome {
        let (java, classes) = (self.jdk.tool("java"), self.project.classes());
        let program = ["--", text(&java), "-cp", text(&classes), "Shop"];
        run("run", &[options, &program, arguments].concat())
    }

    fn report(&self, options: &[&str], arguments: &[&str]) -> Value {
        let file = self.project.folder.path().join("report.json");
        let options = [&["--format", "json", "-o", text(&file)], options].concat();
        let outcome = self.run(&options, arguments);
        report(&Outcome { out: std::fs::read_to_string(file).unwrap(), ..outcome })
    }
}

/// The one finding about a field that static analysis has, or the one that it has not.
fn about<'r>(report: &'r Value, field: &str) -> &'r Value {
    let findings = report["findings"].as_array().unwrap();
    let is_about = |finding: &&Value| finding["variable"]["field"] == field;
    let is_suspected = |finding: &&Value| words(&finding["evidence"]).contains(&"suspected");
    let mut about: Vec<&Value> = findings.iter().filter(is_about).collect();
    if about.iter().any(is_suspected) {
        about.retain(is_suspected);
    }
    let mut about = about.into_iter();
    let finding = about.next().unwrap_or_else(|| panic!("{field} is not in {report:#}"));
    assert!(about.next().is_none(), "{field} twice in {report:#}");
    finding
}

fn words(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
}

/// What the run says about a suspicion.
fn verdict<'r>(report: &'r Value, field: &str) -> &'r str {
    let reasons = words(&about(report, field)["reasons"]).into_iter();
    let verdicts: Vec<&str> = reasons.filter_map(|reason| reason.strip_prefix("= run-")).collect();
    assert_eq!(verdicts.len(), 1, "{field}: {verdicts:?}");
    verdicts[0]
}

#[test]
fn a_race_suspected_and_observed_is_one_finding_with_both() {
    for jdk in jdks() {
        let shop = Shop::on(jdk);
        let checked = shop.checked();
        let report = shop.report(&["--with", text(&checked)], &[]);
        let sold = about(&report, "sold");
        assert_eq!(words(&sold["evidence"]), ["suspected", "observed"]);
        assert_eq!(words(&sold["detectors"]), ["dynamic/happens-before", "static/conflict"]);
        assert!(sold["hint"].is_string(), "the hint of the static side stays");
        let lines: Vec<u64> = sold["accesses"].as_array().unwrap().iter().map(line).collect();
        for line in lines_with("sold++") {
            assert!(lines.contains(&line), "{line} is not in {lines:?}");
        }
        assert_eq!(words(&about(&report, "refunded")["evidence"]), ["suspected"]);
    }
}

/// The numbers of the lines of the program with these words.
fn lines_with(words: &str) -> Vec<u64> {
    let lines = (1..).zip(SHOP.lines()).filter(|(_, line)| line.contains(words));
    lines.map(|(number, _)| number).collect()
}

fn line(access: &Value) -> u64 {
    access["stack"][0]["line"].as_u64().unwrap()
}

#[test]
fn what_a_run_sees_inside_a_collection_is_about_the_field_that_holds_it() {
    let shop = Shop::on(jdk());
    let checked = shop.checked();
    let report = shop.report(&["--contents", "--with", text(&checked)], &[]);
    assert_eq!(words(&about(&report, "names")["evidence"]), ["suspected", "observed"]);
    let alone = shop.report(&["--contents"], &[]);
    assert_eq!(about(&alone, "contents")["variable"]["class"], "java.util.ArrayList");
}

#[test]
fn a_recording_is_joined_as_a_run_is() {
    let shop = Shop::on(jdk());
    let (checked, record) = (shop.checked(), shop.project.folder.path().join("record"));
    let live = shop.report(&["--record", text(&record), "--with", text(&checked)], &[]);
    let options = [text(&record), "--with", text(&checked), "--format", "json"];
    let afterwards = report(&run("analyze", &options));
    assert_eq!(live["findings"], afterwards["findings"]);
}

#[test]
fn every_suspicion_is_observed_predicted_reached_or_never_reached() {
    for jdk in jdks() {
        let shop = Shop::on(jdk);
        let checked = shop.checked();
        let detect = "happens-before,sync-preserving";
        let report = shop.report(&["--detect", detect, "--confirm", text(&checked)], &[]);
        for field in ["sold", "names", "box", "size", "[]"] {
            assert!(verdict(&report, field).starts_with("observed: "), "{field}");
        }
        assert_eq!(about(&report, "size")["rule"], "unsafe-publication");
        assert!(verdict(&report, "late").starts_with("predicted: "));
        let reached = "reached: main and worker came to its places, and the run did not show it";
        assert_eq!(verdict(&report, "counted"), reached);
        let never = verdict(&report, "refunded");
        assert!(never.starts_with("never-reached: nothing was recorded at Shop."), "{never}");
        has_note(
            &report,
            "of 8 suspicions 5 were observed, 1 predicted, 1 reached without being confirmed, 1 never reached",
        );
        for (name, count) in
            [("", 8), ("_observed", 5), ("_predicted", 1), ("_reached", 1), ("_never_reached", 1)]
        {
            assert_eq!(report["stats"][format!("suspicions{name}")], count, "{name}");
        }
    }
}

#[test]
fn without_a_file_the_class_path_is_checked() {
    for jdk in jdks() {
        let shop = Shop::on(jdk);
        let report = shop.report(&["--confirm"], &[]);
        assert!(verdict(&report, "sold").starts_with("observed: "));
        assert_eq!(report["stats"]["suspicions"], 7);
    }
    let outcome = run("run", &["--confirm", "--", "sh", "-c", "echo it runs"]);
    assert_eq!((outcome.status, outcome.out.as_str()), (2, ""));
    assert!(outcome.messages.contains("--confirm needs a FILE"), "{}", outcome.messages);
}

#[test]
fn a_verdict_is_that_of_the_last_run() {
    let shop = Shop::on(jdk());
    let (checked, confirmed) = (shop.checked(), shop.project.folder.path().join("confirmed.json"));
    let options = ["--confirm", text(&checked), "--format", "json", "-o", text(&confirmed)];
    assert_eq!(shop.run(&options, &[]).status, 1);
    let again = shop.report(&["--confirm", text(&confirmed)], &["refund"]);
    assert!(verdict(&again, "refunded").starts_with("observed: "));
    assert!(verdict(&again, "counted").starts_with("reached: "));
    let shown = shop.run(&["--confirm", text(&checked)], &["refund"]).messages;
    assert!(shown.contains("run-observed: it happened in this run"), "{shown}");
}

#[test]
fn a_report_that_cannot_be_read_is_named_before_the_program_runs() {
    let shop = Shop::on(jdk());
    let bad = shop.project.write("bad.json", b"{\n  \"schema\": \"other/1\"\n}\n");
    let missing = shop.project.folder.path().join("missing.json");
    for (file, words) in [
        (&bad, "bad.json is no report: expected the schema unsnarl.findings/1, found other/1"),
        (&missing, "cannot read "),
    ] {
        for option in ["--with", "--confirm"] {
            let outcome = shop.run(&[option, text(file)], &[]);
            assert_eq!((outcome.status, outcome.out.as_str()), (2, ""), "{}", outcome.messages);
            assert!(outcome.messages.contains(words), "{}", outcome.messages);
        }
    }
    let outcome = shop.run(&["--with", text(&bad)], &[]);
    assert!(outcome.messages.contains(" at line 3 column 1"), "{}", outcome.messages);
}

#[test]
fn a_plan_watches_what_it_names() {
    for jdk in jdks() {
        let shop = Shop::on(jdk);
        let mut checked: Value =
            serde_json::from_slice(&std::fs::read(shop.checked()).unwrap()).unwrap();
        let findings = checked["findings"].as_array_mut().unwrap();
        findings.retain(|finding| finding["variable"]["field"] == "sold");
        let plan = shop.project.write("plan.json", checked.to_string().as_bytes());
        let report = shop.report(&["--plan", text(&plan)], &[]);
        let fields = report["findings"].as_array().unwrap().iter();
        let fields: Vec<&Value> = fields.map(|finding| &finding["variable"]["field"]).collect();
        assert_eq!(fields, ["sold"]);
        has_note(
            &report,
            "only fields of one name were watched, as the plan says: races on others are not seen",
        );

        let all = shop.report(&[], &[]);
        let planned = shop.report(&["--plan", "static"], &[]);
        for field in ["sold", "box", "[]"] {
            assert_eq!(about(&planned, field)["fingerprint"], about(&all, field)["fingerprint"]);
        }
    }
}
