//! Fingerprints and merging, on examples and on random findings.

use proptest::prelude::*;
use unsnarl_findings::{
    Access, AccessKind, Effect, Evidence, Finding, Frame, Heuristic, Lock, MethodReference, Report,
    Rule, Severity, Subject, Suppression, SuppressionKind, Tool, Variable, merge_all,
};

static UNORDERED: Heuristic = Heuristic {
    name: "unordered",
    effect: Effect::raises(1),
    sentence: "nothing orders the accesses",
};
static NO_COMMON_LOCK: Heuristic = Heuristic {
    name: "no-common-lock",
    effect: Effect::raises(1),
    sentence: "the accesses hold no lock in common",
};

fn at(method: &str, line: u32) -> Vec<Frame> {
    let method = MethodReference::new("bank.Account", method, "()V");
    vec![Frame::Code { method, file: Some("Account.java".to_owned()), line: Some(line) }]
}

fn balance() -> Subject {
    Subject::variable(Variable::field("bank.Account", "balance"))
}

fn suspected() -> Finding {
    let accesses = vec![
        Access::new(AccessKind::Write, at("update", 8)).by("any Update"),
        Access::new(AccessKind::Read, at("print", 20)).by("main"),
    ];
    let mut finding = Finding::new(
        Rule::DataRace,
        balance(),
        Evidence::Suspected,
        "static/conflict",
        "balance may be accessed by two threads at once",
        accesses,
    );
    finding.reasons = vec![NO_COMMON_LOCK.holds()];
    finding.hint = Some("guard balance with one lock".to_owned());
    finding.severity = Severity::Warning;
    finding
}

fn observed() -> Finding {
    let accesses = vec![
        Access::new(AccessKind::Write, at("update", 8)).by("Update-1"),
        Access::new(AccessKind::Write, at("update", 8)).by("Update-2"),
    ];
    let mut finding = Finding::new(
        Rule::DataRace,
        balance(),
        Evidence::Observed,
        "dynamic/happens-before",
        "balance was written by two threads at once",
        accesses,
    );
    finding.reasons = vec![UNORDERED.holds()];
    finding
}

#[test]
fn a_defect_found_twice_is_one_finding_with_both_kinds_of_evidence() {
    let mut merged = suspected();
    merged.merge(observed()).expect("both are about the same field");

    assert_eq!(merged.message, "balance was written by two threads at once");
    assert_eq!(merged.hint.as_deref(), Some("guard balance with one lock"));
    assert_eq!(merged.severity, Severity::Error);
    assert!(merged.evidence.iter().eq(&[Evidence::Suspected, Evidence::Observed]));
    assert!(merged.detectors.iter().eq(["dynamic/happens-before", "static/conflict"]));
    let reasons: Vec<_> = merged.reasons.iter().map(|reason| reason.name.as_ref()).collect();
    assert_eq!(reasons, ["unordered", "no-common-lock"]);
    assert!(merged.confidence() > observed().confidence());
}

#[test]
fn both_sides_of_an_observed_race_stay_and_new_sites_are_added() {
    let mut merged = observed();
    merged.merge(suspected()).expect("both are about the same field");
    let threads: Vec<_> = merged.accesses.iter().filter_map(|a| a.thread.as_deref()).collect();
    assert_eq!(threads, ["Update-1", "Update-2", "main"]);
}

#[test]
fn a_site_without_a_line_is_known_by_its_method() {
    let mut lineless = suspected();
    for access in &mut lineless.accesses {
        for frame in &mut access.stack {
            if let Frame::Code { line, file, .. } = frame {
                (*line, *file) = (None, None);
            }
        }
    }
    let mut merged = observed();
    merged.merge(lineless).expect("both are about the same field");
    assert_eq!(merged.accesses.len(), 3);
}

#[test]
fn different_defects_are_not_merged() {
    let mut finding = observed();
    let mut other = observed();
    other.subject = Subject::variable(Variable::field("bank.Account", "owner"));
    let error = finding.merge(other.clone()).expect_err("another field is another defect");
    assert_eq!(error.0, finding.fingerprint());
    assert_eq!(error.1, other.fingerprint());
    assert_eq!(finding, observed());
}

#[test]
fn a_lock_cycle_keeps_one_access_per_acquisition() {
    let cycle = |evidence, lines: [u32; 2], labels: [&str; 2]| {
        let [first, second] = labels.map(|label| Lock::of_class("bank.Account").labelled(label));
        let accesses = lines.map(|line| Access::new(AccessKind::Acquire, at("transfer", line)));
        Finding::new(
            Rule::LockOrderCycle,
            Subject::locks(first, [second]),
            evidence,
            "test",
            "cycle",
            accesses.to_vec(),
        )
    };
    let mut merged = cycle(Evidence::Suspected, [5, 6], ["this", "to"]);
    merged.merge(cycle(Evidence::Predicted, [15, 16], ["#1", "#2"])).expect("the same cycle");
    assert_eq!(merged.accesses.len(), 2);
    assert_eq!(merged.subject.as_locks()[0].label.as_deref(), Some("#1"));
}

#[test]
fn a_report_has_each_defect_once_and_the_worst_first() {
    let mut note = suspected();
    note.rule = Rule::NonAtomicMethod;
    note.severity = Severity::Note;
    let tool = Tool { name: "unsnarl".to_owned(), version: "0".to_owned() };
    let report = Report::new(tool, [note, suspected(), observed()]);
    let severities: Vec<_> = report.findings().iter().map(|finding| finding.severity).collect();
    assert_eq!(severities, [Severity::Error, Severity::Note]);
    assert_eq!(report.worst(), Some(Severity::Error));
    assert_eq!(report.count(Severity::Note), 1);
    assert_eq!(report.count(Severity::Warning), 0);
}

/// Short names from a small alphabet, so that equal ones are common.
fn name() -> impl Strategy<Value = String> {
    "[ab]{1,2}"
}

fn frame() -> impl Strategy<Value = Frame> {
    prop_oneof![
        (name(), name(), proptest::option::of(name()), proptest::option::of(1..5u32)).prop_map(
            |(class, method, file, line)| {
                Frame::Code { method: MethodReference::new(class, method, "()V"), file, line }
            }
        ),
        (0..3u64).prop_map(Frame::Location),
    ]
}

fn lock() -> impl Strategy<Value = Lock> {
    (name(), proptest::option::of(name()))
        .prop_map(|(class, label)| Lock { class: Some(class), label })
}

fn access() -> impl Strategy<Value = Access> {
    (
        proptest::sample::select(AccessKind::ALL.to_vec()),
        proptest::option::of(name()),
        proptest::collection::vec(lock(), 0..2),
        proptest::collection::vec(frame(), 0..3),
    )
        .prop_map(|(kind, thread, locks, stack)| Access { kind, thread, locks, stack })
}

fn subject() -> impl Strategy<Value = Subject> {
    prop_oneof![
        (name(), name())
            .prop_map(|(class, field)| Subject::variable(Variable::field(class, field))),
        name().prop_map(|class| Subject::variable(Variable::elements(class))),
        (lock(), lock()).prop_map(|(first, second)| Subject::locks(first, [second])),
        (name(), lock()).prop_map(|(class, lock)| {
            Subject::method(MethodReference::new(class, "m", "()V")).and_lock(lock)
        }),
    ]
}

fn any_finding() -> impl Strategy<Value = Finding> {
    (
        proptest::sample::select(vec![Rule::DataRace, Rule::LockOrderCycle]),
        subject(),
        proptest::sample::select(Evidence::ALL.to_vec()),
        proptest::sample::select(vec!["static/a", "dynamic/b"]),
        name(),
        proptest::collection::vec(access(), 0..4),
        proptest::sample::subsequence(vec![UNORDERED.holds(), NO_COMMON_LOCK.holds()], 0..=2),
    )
        .prop_map(|(rule, subject, evidence, detector, message, accesses, reasons)| {
            let mut finding = Finding::new(rule, subject, evidence, detector, message, accesses);
            finding.reasons = reasons;
            finding
        })
}

proptest! {
    #[test]
    fn a_fingerprint_is_free_of_files_lines_threads_locks_and_order(
        finding in any_finding(),
        file in proptest::option::of("[a-z/.]{1,9}"),
        line in proptest::option::of(any::<u32>()),
        rotation in 0..4usize,
    ) {
        let mut moved = finding.clone();
        for access in &mut moved.accesses {
            access.thread = None;
            access.locks.clear();
            for frame in &mut access.stack {
                if let Frame::Code { file: old_file, line: old_line, .. } = frame {
                    (*old_file, *old_line) = (file.clone(), line);
                }
            }
        }
        let steps = rotation % moved.accesses.len().max(1);
        moved.accesses.rotate_left(steps);
        moved.accesses.reverse();
        moved.message.push('!');
        if let [first, second] = finding.subject.as_locks() {
            moved.subject = Subject::locks(second.clone().labelled("new"), [first.clone()]);
        }
        prop_assert_eq!(moved.fingerprint(), finding.fingerprint());
    }

    #[test]
    fn merging_is_commutative_and_keeps_the_fingerprint(
        (one, other) in (any_finding(), any_finding())
    ) {
        let mut other = other;
        other.rule = one.rule;
        other.subject = one.subject.clone();
        if one.fingerprint() != other.fingerprint() {
            other.accesses = one.accesses.clone();
        }
        let (mut left, mut right) = (one.clone(), other.clone());
        left.merge(other).expect("made to be the same defect");
        right.merge(one.clone()).expect("made to be the same defect");
        prop_assert_eq!(&left, &right);
        prop_assert_eq!(left.fingerprint(), one.fingerprint());
    }

    #[test]
    fn a_report_does_not_depend_on_the_order_of_its_findings(
        (findings, shuffled) in proptest::collection::vec(any_finding(), 0..8)
            .prop_flat_map(|findings| (Just(findings.clone()), Just(findings).prop_shuffle()))
    ) {
        let merged = merge_all(findings);
        prop_assert_eq!(&merged, &merge_all(shuffled));
        prop_assert_eq!(&merged, &merge_all(merged.clone()));
    }
}

#[test]
fn what_is_suppressed_once_is_suppressed() {
    let suppression = Suppression { kind: SuppressionKind::External, justification: None };
    let suppressed = Finding { suppression: Some(suppression.clone()), ..suspected() };
    for pair in [[suppressed.clone(), observed()], [observed(), suppressed]] {
        assert_eq!(merge_all(pair)[0].suppression, Some(suppression.clone()));
    }
}

#[test]
fn a_finding_is_filed_under_an_outermost_class() {
    let of = |subject| Finding { subject, ..suspected() }.class().map(str::to_owned);
    let field = |class: &str| of(Subject::variable(Variable::field(class, "x")));
    assert_eq!(field("bank.Bank$Teller$1").as_deref(), Some("bank.Bank"));
    assert_eq!(field("$Proxy1").as_deref(), Some("$Proxy1"));
    let method = MethodReference::new("bank.Teller", "run", "()V");
    let both = Subject::method(method).and_variable(Variable::field("bank.Account", "limit"));
    assert_eq!(of(both).as_deref(), Some("bank.Teller"));
    for weak in [
        Subject::variable(Variable::elements("int[]")),
        Subject::locks(Lock::of_class("java.lang.Object"), []),
    ] {
        assert_eq!(of(weak).as_deref(), Some("bank.Account"));
    }
    let nowhere = Finding { accesses: Vec::new(), ..suspected() };
    let nowhere = Finding { subject: Subject::locks(Lock::named("L1"), []), ..nowhere };
    assert_eq!(nowhere.class(), None);
}
