//! Reports that show every feature of a finding.

use unsnarl_findings::{
    Access, AccessKind, EdgeKind, Effect, Evidence, Finding, Frame, Heuristic, Lock,
    MethodReference, Report, Rule, Severity, Statistic, StepKind, Subject, Suppression,
    SuppressionKind, TimelineStep, Tool, Use, UseEdge, UseGraph, UseKind, UsingThread, Variable,
};
use unsnarl_report::source::{SourceFile, SourceKey, Sources};

static NO_COMMON_LOCK: Heuristic = Heuristic {
    name: "no-common-lock",
    effect: Effect::raises(2),
    sentence: "the accesses hold no lock in common",
};
static ENTRY_METHOD: Heuristic = Heuristic {
    name: "entry-method",
    effect: Effect::lowers(1),
    sentence: "a thread starts here, so that nobody expects the method to be atomic",
};

/// A reason without effect.
pub(crate) static FOR_INFORMATION: Heuristic =
    Heuristic { name: "for-information", effect: Effect::NONE, sentence: "it changes nothing" };

pub(crate) fn empty() -> Report {
    Report::new(Tool { name: "unsnarl".to_owned(), version: "0.1.0".to_owned() }, [])
}

/// A race known to both sides, a lock cycle, a method, and a race in a trace without names.
pub(crate) fn full() -> Report {
    let findings =
        [suspected_race(), observed_race(), lock_cycle(), stale_value(), race_in_std_trace()];
    let mut report = Report::new(empty().tool, findings);
    report.notes = vec![
        "bank/Broken.class: byte 10: expected a constant pool tag, found 99; the class was skipped"
            .to_owned(),
        "com.example.Ledger.flush calls an unknown method that may synchronize; its callers are \
         treated as if it does nothing of the kind"
            .to_owned(),
    ];
    report.stats.insert("classes".into(), Statistic::Count(12));
    report.stats.insert("seconds".into(), Statistic::Seconds(0.25));
    report
}

/// One race, of which all names try to get out of where they stand.
pub(crate) fn hostile() -> Report {
    let name =
        "</script><script>fail('name')</script><img src=x onerror=fail('image')>\u{1b}[2J\u{202e}";
    let place = frame(method(&format!("{name}.A"), name, name), name, 1);
    let access = |kind| {
        let locks = vec![Lock::of_class(name).labelled(name)];
        Access::new(kind, vec![place.clone()]).by(name).holding(locks)
    };
    let accesses = vec![access(AccessKind::Write), access(AccessKind::Read)];
    let subject = Subject::variable(Variable::field(name, name));
    let mut finding =
        Finding::new(Rule::DataRace, subject, Evidence::Observed, "test", name, accesses);
    finding.hint = Some(name.to_owned());
    finding.timeline = timeline_of_balance();
    finding.timeline.iter_mut().for_each(|step| step.on = Some(name.to_owned()));
    let mut uses = uses_of_balance();
    uses.of = name.to_owned();
    uses.threads.iter_mut().for_each(|thread| thread.name = name.to_owned());
    uses.uses.iter_mut().for_each(|used| used.on = Some(name.to_owned()));
    finding.uses = Some(uses);
    let mut report = Report::new(empty().tool, [finding]);
    report.notes = vec![name.to_owned()];
    report
}

/// So many locks in a cycle.
pub(crate) fn cycle(locks: u32) -> Report {
    let lock = |number: u32| Lock::of_class("bank.Account").labelled(format!("#{number}"));
    let acquire = |number: u32| {
        let place = frame(method("bank.Account", "transfer", "()V"), "Account.java", number + 1);
        let access = Access::new(AccessKind::Acquire, vec![place]);
        access.by(format!("T{number}")).holding(vec![lock(number)])
    };
    let subject = Subject::locks(lock(0), (1..locks).map(lock));
    let accesses = (0..locks).map(acquire).collect();
    let message = format!("{locks} threads wait for each other");
    let finding = Finding::new(
        Rule::LockOrderCycle,
        subject,
        Evidence::Predicted,
        "dynamic/lock-order",
        message,
        accesses,
    );
    Report::new(empty().tool, [finding])
}

/// So many races, all different.
pub(crate) fn many(count: u32) -> Report {
    let race = |number: u32| {
        let class = format!("com.example.Class{}", number % 97);
        let place = |name, line| frame(method(&class, name, "()V"), "Class.java", line);
        let evidence = Evidence::ALL[number as usize % 3];
        Finding::new(
            if number.is_multiple_of(5) { Rule::LocksetRace } else { Rule::DataRace },
            Subject::variable(Variable::field(class.as_str(), format!("field{number}"))),
            evidence,
            "test",
            format!("field{number} is accessed by two threads"),
            vec![
                Access::new(AccessKind::Write, vec![place("write", number + 1)])
                    .by(format!("Writer-{}", number % 7)),
                Access::new(AccessKind::Read, vec![place("read", number + 2)]).by("main"),
            ],
        )
    };
    Report::new(empty().tool, (0..count).map(race))
}

/// The source of some of [`full`].
pub(crate) fn sources() -> Sources {
    let account = "package bank;\n\nclass Account {\n    private int balance;\n    private int limit;\n\n    \
                   void update(int amount) {\n\tbalance += amount;\n    }\n\n    /** Shows it. */\n    void \
                   print() {\n        String text = \"the balance of this account is now, as far as anybody can \
                   tell, \";\n        System.out.println(\"the balance, which has a long name here to make the line \
                   longer, is \" + this.balance);\n    }\n}\n";
    let key = SourceKey { package: "bank".to_owned(), file: "Account.java".to_owned() };
    let mut sources = Sources::default();
    sources.insert(key, SourceFile::new("src/main/java/bank/Account.java", account));
    sources
}

fn method(class: &str, name: &str, descriptor: &str) -> MethodReference {
    MethodReference::new(class, name, descriptor)
}

fn frame(method: MethodReference, file: &str, line: u32) -> Frame {
    Frame::Code { method, file: Some(file.to_owned()), line: Some(line) }
}

fn update() -> Frame {
    frame(method("bank.Account", "update", "(I)V"), "Account.java", 8)
}

fn balance() -> Subject {
    Subject::variable(Variable::field("bank.Account", "balance"))
}

fn suspected_race() -> Finding {
    let print = frame(method("bank.Account", "print", "()V"), "Account.java", 14);
    let mut finding = Finding::new(
        Rule::DataRace,
        balance(),
        Evidence::Suspected,
        "static/conflict",
        "balance may be read and written at the same time",
        vec![
            Access::new(AccessKind::Write, vec![update()]).by("Update"),
            Access::new(AccessKind::Read, vec![print]).by("main"),
        ],
    );
    finding.reasons = vec![NO_COMMON_LOCK.holds()];
    finding.hint = Some(
        "hold one lock at every access, for example by making update and print synchronized, or \
         keep the balance in an AtomicInteger"
            .to_owned(),
    );
    finding.uses = Some(uses_of_balance());
    finding
}

/// The life of an account: made and handed on by `main`, which waits for one of the threads that use it.
fn uses_of_balance() -> UseGraph {
    let main =
        |line| frame(method("bank.Bank", "main", "([Ljava/lang/String;)V"), "Bank.java", line);
    let print = frame(method("bank.Account", "print", "()V"), "Account.java", 14);
    let used = |thread, kind, on: &str, site| Use {
        thread,
        kind,
        on: (!on.is_empty()).then(|| on.to_owned()),
        site,
        locks: vec![],
        is_defect: false,
    };
    let account = Lock::of_class("bank.Account").labelled("this");
    let edge = |from, to, kind| UseEdge { from, to, kind };
    UseGraph {
        of: "bank.Account made at Bank.java:9".to_owned(),
        threads: vec![
            UsingThread { name: "main".to_owned(), is_several: false },
            UsingThread { name: "Update".to_owned(), is_several: true },
        ],
        uses: vec![
            used(0, UseKind::New, "", main(9)),
            used(0, UseKind::Escape, "Bank.account", main(10)),
            used(0, UseKind::Start, "Update", main(11)),
            Use { is_defect: true, ..used(0, UseKind::Read, "balance", print) },
            used(0, UseKind::Join, "Update", main(13)),
            Use { locks: vec![account], ..used(1, UseKind::Read, "balance", update()) },
            Use { is_defect: true, ..used(1, UseKind::Write, "balance", update()) },
        ],
        edges: vec![
            edge(0, 1, EdgeKind::Flow),
            edge(1, 2, EdgeKind::Flow),
            edge(2, 3, EdgeKind::Flow),
            edge(2, 5, EdgeKind::Thread),
            edge(3, 4, EdgeKind::Flow),
            edge(5, 6, EdgeKind::Flow),
            edge(6, 4, EdgeKind::Thread),
            edge(6, 5, EdgeKind::Flow),
        ],
        left_out: 2,
    }
}

fn observed_race() -> Finding {
    let run = frame(method("bank.Update", "run", "()V"), "Update.java", 12);
    let access = |thread: &str, locks| {
        Access::new(AccessKind::Write, vec![update(), run.clone()]).by(thread).holding(locks)
    };
    let mut finding = Finding::new(
        Rule::DataRace,
        balance(),
        Evidence::Observed,
        "dynamic/happens-before",
        "two threads wrote balance and nothing ordered them",
        vec![
            access("Update-1", vec![Lock::of_class("bank.Account").labelled("this")]),
            access("Update-2", vec![]),
        ],
    );
    finding.timeline = timeline_of_balance();
    finding
}

/// The second thread has the lock before the first, and looks at a flag that nobody sets.
fn timeline_of_balance() -> Vec<TimelineStep> {
    let run = |line| Some(frame(method("bank.Update", "run", "()V"), "Update.java", line));
    let access = |lane| TimelineStep {
        lane,
        kind: StepKind::Access,
        on: None,
        site: None,
        after: None,
        is_behind_gap: false,
    };
    let step = |lane, kind, on: &str, line| TimelineStep {
        kind,
        on: Some(on.to_owned()),
        site: run(line),
        ..access(lane)
    };
    let account = "bank.Account (this)";
    vec![
        step(0, StepKind::Begin, "main", 5),
        step(1, StepKind::Acquire, account, 20),
        step(1, StepKind::Send, "java.util.concurrent.CountDownLatch (#9)", 21),
        step(1, StepKind::Release, account, 22),
        TimelineStep { after: Some(3), ..step(0, StepKind::Acquire, account, 11) },
        access(0),
        step(0, StepKind::Release, account, 13),
        TimelineStep { is_behind_gap: true, ..step(0, StepKind::Start, "Audit", 14) },
        step(1, StepKind::VolatileRead, "bank.Update.stopped", 24),
        access(1),
    ]
}

fn lock_cycle() -> Finding {
    let transfer = method("bank.Account", "transfer", "(Lbank/Account;I)V");
    let account = |label: &str| Lock::of_class("bank.Account").labelled(label);
    let acquire = |thread: &str, held: &str| {
        let stack = vec![frame(transfer.clone(), "Account.java", 31)];
        Access::new(AccessKind::Acquire, stack).by(thread).holding(vec![account(held)])
    };
    Finding::new(
        Rule::LockOrderCycle,
        Subject::locks(account("#1"), [account("#2")]),
        Evidence::Predicted,
        "dynamic/lock-order",
        "two threads lock two accounts in opposite orders",
        vec![acquire("T1", "#1"), acquire("T2", "#2")],
    )
}

fn stale_value() -> Finding {
    let run = method("bank.Teller", "run", "()V");
    let without_source = Frame::Code { method: run.clone(), file: None, line: None };
    let mut finding = Finding::new(
        Rule::StaleValue,
        Subject::method(run).and_variable(Variable::field("bank.Account", "limit")),
        Evidence::Suspected,
        "static/block-local",
        "run uses limit after the lock under which it was read is released",
        vec![Access::new(AccessKind::Read, vec![without_source])],
    );
    finding.severity = Severity::Note;
    finding.reasons = vec![ENTRY_METHOD.holds()];
    finding.suppression = Some(Suppression {
        kind: SuppressionKind::InSource,
        justification: Some("the limit never changes while tellers run".to_owned()),
    });
    finding
}

fn race_in_std_trace() -> Finding {
    let access = |kind, thread: &str, location, locks| {
        Access::new(kind, vec![Frame::Location(location)]).by(thread).holding(locks)
    };
    Finding::new(
        Rule::LocksetRace,
        Subject::variable(Variable::untyped("V3")),
        Evidence::Predicted,
        "dynamic/eraser",
        "no lock is held at every access to V3",
        vec![
            access(AccessKind::Write, "T1", 17, vec![Lock::named("L1")]),
            access(AccessKind::Read, "T2", 23, vec![Lock::named("L2"), Lock::named("L3")]),
        ],
    )
}
