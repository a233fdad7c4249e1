//! How data races are reported.

use unsnarl_detect_static::Options;
use unsnarl_findings::{AccessKind, Confidence, Rule, Severity, Variable};
use unsnarl_program::callgraph::Entries;

use crate::java::{checked, reasons, run};

const COUNTER: &str = "
class T {
    static class Counter { int value; }
    static class Worker extends Thread {
        final Counter counter;
        Worker(Counter counter) { this.counter = counter; }
        public void run() { counter.value++; }
    }
    public static void main(String[] args) {
        Counter counter = new Counter();
        for (int i = 0; i < 2; i++) new Worker(counter).start();
    }
}";

#[test]
fn a_lost_update_by_several_threads() {
    let outcome = checked(COUNTER);
    let race = outcome.race();
    assert_eq!(
        race.message,
        "Counter.value is written by several Worker threads at T.java:7 without a common lock"
    );
    assert_eq!(race.subject.as_variable(), Some(&Variable::field("T$Counter", "value")));
    assert_eq!(race.severity, Severity::Error);
    let names = reasons(race);
    for name in ["no-lock-at-all", "lost-update", "thread-not-unique"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert_eq!(
        race.hint.as_deref(),
        Some("use AtomicInteger, or guard every access with one lock")
    );
    let threads: Vec<_> = race.accesses.iter().map(|access| access.thread.as_deref()).collect();
    assert_eq!(threads[..2], [Some("Worker"), Some("Worker (another)")]);
    assert_eq!(race.accesses[0].kind, AccessKind::Write);
    assert_eq!(race.accesses[0].stack[0].to_string(), "T$Worker.run(T.java:7)");
    assert_eq!(outcome.statistic("conflicts_other"), 1);
    assert_eq!(outcome.statistic("conflicting_objects"), 1);
}

#[test]
fn the_same_program_gives_the_same_words() {
    let words = || format!("{:?}", checked(COUNTER).checked.findings);
    assert_eq!(words(), words());
}

#[test]
fn a_lock_that_others_hold_is_named() {
    let outcome = checked(
        "
class T {
    private int balance;
    private final Object lock = new Object();
    void add(int amount) { synchronized (lock) { balance += amount; } }
    void take(int amount) { synchronized (lock) { balance -= amount; } }
    int get() { return balance; }
    public static void main(String[] args) {
        T account = new T();
        new Thread(() -> { account.add(1); account.take(1); }).start();
        System.out.println(account.get());
    }
}",
    );
    let race = outcome.race();
    assert!(race.message.starts_with("T.balance is written at T.java:5 by the thread started at"));
    assert!(race.message.ends_with("read at T.java:7 by main without a common lock"));
    assert!(reasons(race).contains(&"all-writes-locked"));
    assert!(reasons(race).contains(&"guarded-elsewhere"));
    let hint = race.hint.as_deref().expect("a hint");
    assert_eq!(hint, "make it volatile, or guard it with this.lock, as the other 2 accesses do");
    let [write, read, ..] = race.accesses.as_slice() else { panic!("two accesses") };
    assert_eq!(write.locks[0].to_string(), "java.lang.Object (this.lock)");
    assert_eq!(read.locks, []);
    // From the access to the root of the thread, through the lambda.
    let frames: Vec<String> = write.stack.iter().map(ToString::to_string).collect();
    assert_eq!(frames, ["T.add(T.java:5)", "T.lambda$main$0(T.java:10)"]);
    assert_eq!(outcome.statistic("conflicts_all_writes_locked"), 1);
}

#[test]
fn a_flag_wants_to_be_volatile() {
    let outcome = checked(
        "
class T {
    static boolean stopped;
    public static void main(String[] args) {
        new Thread(() -> { while (!stopped) Thread.onSpinWait(); }).start();
        stopped = true;
    }
}",
    );
    let race = outcome.race();
    assert_eq!(
        race.hint.as_deref(),
        Some("make it volatile, or write it before the thread started at T.java:5 is started")
    );
    assert!(reasons(race).contains(&"one-object"));
    assert!(!reasons(race).contains(&"same-constant-written"));
}

#[test]
fn a_collection_is_named_by_the_field_that_holds_it() {
    let outcome = checked(
        "
class T {
    private final java.util.Map<String, String> entries = new java.util.HashMap<>();
    void put(String key) { entries.put(key, key); }
    public static void main(String[] args) {
        T cache = new T();
        new Thread(() -> cache.put(\"a\")).start();
        System.out.println(cache.entries.get(\"a\"));
    }
}",
    );
    let race = outcome.race();
    assert!(race.message.starts_with("the java.util.HashMap in T.entries is changed at T.java:4"));
    assert_eq!(race.subject.as_variable(), Some(&Variable::field("T", "entries")));
    assert_eq!(
        race.hint.as_deref(),
        Some("use a ConcurrentHashMap, or guard every use with one lock")
    );
}

#[test]
fn locks_that_differ_are_told() {
    let outcome = checked(
        "
class T {
    static int total;
    static synchronized void add() { total++; }
    synchronized void subtract() { total--; }
    public static void main(String[] args) {
        T it = new T();
        new Thread(T::add).start();
        new Thread(it::subtract).start();
    }
}",
    );
    let race = outcome.race();
    let reason = race.reasons.iter().find(|reason| reason.name == "no-common-lock");
    let sentence = reason.expect("the reason").sentence.clone();
    assert!(sentence.contains("T (class)") && sentence.contains(" vs "), "{sentence}");
}

#[test]
fn what_nobody_reads_is_a_warning() {
    let outcome = checked(
        "
class T {
    static int last;
    public static void main(String[] args) {
        for (int i = 0; i < 2; i++) { int number = i; new Thread(() -> last = number).start(); }
    }
}",
    );
    let race = outcome.race();
    assert_eq!(race.severity, Severity::Warning);
    assert!(reasons(race).contains(&"no-read"));
    assert_eq!(outcome.statistic("conflicts_no_read"), 1);
}

#[test]
fn a_lock_of_each_thread_is_not_one_lock() {
    let outcome = checked(
        "
class T {
    static long sum;
    static class Worker extends Thread {
        final Object lock;
        Worker(Object lock) { this.lock = lock; }
        public void run() { synchronized (lock) { sum += 2; } }
    }
    public static void main(String[] args) {
        for (int i = 0; i < 2; i++) new Worker(new Object()).start();
    }
}",
    );
    let race = outcome.race();
    assert!(race.message.ends_with("under a lock that may not be the same object"));
    assert!(reasons(race).contains(&"lock-not-unique"));
    assert_eq!(outcome.statistic("conflicts_lock_not_unique"), 1);
}

#[test]
fn a_constant_that_is_there_anyway_is_no_change() {
    let outcome = checked(
        "
class T {
    static boolean debug;
    public static void main(String[] args) {
        for (int i = 0; i < 2; i++) new Thread(() -> { if (debug) debug = false; }).start();
    }
}",
    );
    let race = outcome.race();
    assert!(reasons(race).contains(&"same-constant-written"));
    assert_eq!(race.severity, Severity::Warning);
}

#[test]
fn elements_of_arrays_are_judged_when_asked_for() {
    let source = "
class T {
    static final int[] counts = new int[2];
    public static void main(String[] args) {
        new Thread(() -> counts[0]++).start();
        new Thread(() -> counts[1]++).start();
    }
}";
    assert!(checked(source).checked.findings.is_empty());
    let outcome = run(source, &Entries::Main, &Options { arrays: true, ..Options::default() }, &[]);
    let race = outcome.race();
    assert_eq!(race.subject.as_variable(), Some(&Variable::elements("int[]")));
    assert!(race.message.starts_with("an element of T.counts (int[]) is written"));
    assert!(reasons(race).contains(&"array-element"));
}

#[test]
fn clients_of_a_library() {
    let source = "
public class T {
    private int hits;
    public void hit() { hits++; }
}";
    let outcome = run(source, &Entries::Library, &Options::default(), &[]);
    let race = outcome.race();
    assert!(race.message.contains("by several client threads"), "{}", race.message);
    assert!(reasons(race).contains(&"clients"));
}

#[test]
fn threads_without_a_race() {
    let outcome = checked(
        "
class T {
    private int done;
    synchronized void add() { done++; }
    synchronized int get() { return done; }
    public static void main(String[] args) {
        T it = new T();
        for (int i = 0; i < 2; i++) new Thread(it::add).start();
        System.out.println(it.get());
    }
}",
    );
    assert!(outcome.checked.findings.is_empty(), "{:#?}", outcome.checked.findings);
    assert_eq!(outcome.of(Rule::DataRace).len(), 0);
    assert_eq!(outcome.statistic("conflicting_objects"), 0);
    assert_eq!(outcome.statistic("written_objects"), 1);
}

/// Two threads, one of which writes before it goes on to its second part and one of which reads there.
fn phases(between: [&str; 2]) -> Confidence {
    let [first, second] = between;
    let outcome = checked(&format!(
        "
import java.util.concurrent.*;
class T {{
    static final CyclicBarrier barrier = new CyclicBarrier(2);
    static final Phaser phaser = new Phaser(2);
    static int value;
    static void write() throws Exception {{ value = 1; {first} }}
    static void read() throws Exception {{ {second} System.out.println(value); }}
    public static void main(String[] args) {{
        new Thread(() -> {{ try {{ write(); }} catch (Exception e) {{ }} }}).start();
        new Thread(() -> {{ try {{ read(); }} catch (Exception e) {{ }} }}).start();
    }}
}}"
    ));
    let race = outcome.race();
    let is_told = reasons(race).contains(&"barrier-phases");
    assert_eq!(is_told, !first.is_empty() && first == second, "{between:?}");
    race.confidence()
}

#[test]
fn a_barrier_that_both_threads_pass_lowers_the_confidence() {
    let without = phases(["", ""]);
    let (barrier, phaser) = ("barrier.await();", "phaser.arriveAndAwaitAdvance();");
    assert!(phases([barrier, barrier]) < without);
    assert!(phases([phaser, phaser]) < without);
    assert_eq!(phases([barrier, ""]), without);
    assert_eq!(phases([barrier, phaser]), without);
}

/// What a person reads.
#[test]
fn a_finding_reads_well() {
    let outcome = checked(COUNTER);
    let mut text = Vec::new();
    let view = unsnarl_report::text::View::new(unsnarl_report::text::Styles::plain());
    unsnarl_report::text::write_finding(outcome.race(), &view, &mut text).expect("memory");
    let text = String::from_utf8(text).expect("text");
    let expected = "\
error[data-race]: Counter.value is written by several Worker threads at T.java:7 without a common
  lock
  --> T$Counter.value (confidence 0.89)
   |
 1 | write by thread Worker, holding no lock
   |   at T$Worker.run(T.java:7)
   |
 2 | write by Worker (another), holding no lock
   |   at T$Worker.run(T.java:7)
   |
 3 | read by thread Worker, holding no lock
   |   at T$Worker.run(T.java:7)
   |
   = why: + no-lock-at-all: neither access holds a lock
          + lost-update: the new value is computed from the old one, so that updates get lost
          + one-object: there is only one such variable, so both accesses are to the same
            thread-not-unique: several Worker threads may run at the same time (started at
            T.java:11)
   = hint: use AtomicInteger, or guard every access with one lock
";
    assert!(text.starts_with(expected), "{text}");
}
