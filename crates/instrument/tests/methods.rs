//! What becomes of single methods.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use unsnarl_events::Filters;
use unsnarl_instrument::{Plan, Rewritten, SiteNumbers, rewrite};
use unsnarl_recording::{FieldName, RecordedEvents, SiteOperation, Volatility};

/// Compiles a class `A` and rewrites it; fields of other classes are not known.
fn rewritten(source: &str, plan: &Plan) -> Rewritten {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("A.java");
    std::fs::write(&file, source).unwrap();
    unsnarl_testing::jdk().compile([file.as_path()], folder.path());
    let bytes = std::fs::read(folder.path().join("A.class")).unwrap();
    let numbers = SiteNumbers::default();
    rewrite(&bytes, plan, &numbers, &|_: &FieldName| Volatility::Unknown, false).unwrap().unwrap()
}

fn fields(class: &Rewritten, method: &str) -> Vec<(String, Volatility)> {
    let sites = class.sites.iter().filter(|site| site.method == method.as_bytes());
    let named = sites.filter_map(|site| match &site.operation {
        SiteOperation::Field(field, volatility) => {
            Some((String::from_utf8(field.name.clone()).unwrap(), *volatility))
        }
        _ => None,
    });
    named.collect()
}

/// 450 increments are 4,500 bytes, and with two probes each far more than HotSpot compiles.
#[test]
fn a_method_that_becomes_too_long_keeps_its_monitors_only() {
    let long = "x++; ".repeat(450);
    let source = format!(
        "class A {{ int x; synchronized void long_() {{ {long} }} void short_() {{ x++; }} }}"
    );
    let mut plan = Plan::default();
    plan.spec.filters = Filters::NONE;
    let class = rewritten(&source, &plan);
    assert_eq!(fields(&class, "long_"), []);
    assert_eq!(fields(&class, "short_").len(), 2);
    let monitors = class.sites.iter().filter(|site| site.method == b"long_");
    assert_eq!(monitors.count(), 3, "entered, left, left by an exception");
    let note = "long_()V: too long with all probes, its accesses are not reported";
    assert_eq!(class.notes, [note]);
}

#[test]
fn a_method_without_room_for_its_monitors_is_told_once() {
    let long = "synchronized (this) { x++; } ".repeat(290);
    let source = format!("class A {{ int x; void long_() {{ {long} }} void short_() {{ x++; }} }}");
    let class = rewritten(&source, &Plan::default());
    assert_eq!(class.notes, ["long_()V: too long for any probe, nothing of it is reported"]);
}

/// The JVM does without a finalizer that only returns, and would run one that has probes.
#[test]
fn a_finalizer_that_does_nothing_is_left_alone() {
    let mut plan = Plan::default();
    plan.spec.events.methods = true;
    let sites = |body: &str| {
        let source =
            format!("class A {{ int x; protected synchronized void finalize() {{ {body} }} }}");
        let class = rewritten(&source, &plan);
        class.sites.iter().filter(|site| site.method == b"finalize").count()
    };
    assert_eq!(sites(""), 0);
    assert!(sites("x++;") > 3);
}

/// The outer object and captured variables are stored before `super()`.
#[test]
fn what_a_constructor_stores_before_super_is_left_alone() {
    let source = "class A { int early; A(int n) { } class Inner extends A { int own = 5; Inner() { super(1); } } }";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("A.java");
    std::fs::write(&file, source).unwrap();
    unsnarl_testing::jdk().compile([file.as_path()], folder.path());
    let bytes = std::fs::read(folder.path().join("A$Inner.class")).unwrap();
    let unknown = |_: &FieldName| Volatility::Unknown;
    let class = rewrite(&bytes, &Plan::default(), &SiteNumbers::default(), &unknown, false);
    let class = class.unwrap().unwrap();
    assert_eq!(fields(&class, "<init>"), [("own".to_owned(), Volatility::Plain)]);
}

#[test]
fn a_plan_chooses_what_is_reported() {
    let source = "class A { int x; volatile int v; int[] a = {1}; \
                  synchronized void m() { x = v + a[0] + B.y; } } class B { static int y; }";
    let all = rewritten(source, &Plan::default());
    let expected = [
        ("v", Volatility::Volatile),
        ("a", Volatility::Plain),
        ("y", Volatility::Unknown),
        ("x", Volatility::Plain),
    ];
    assert_eq!(fields(&all, "m"), expected.map(|(name, it)| (name.to_owned(), it)));

    let mut plan = Plan::default();
    plan.spec.events = RecordedEvents::SYNCHRONIZATION;
    let synchronization = rewritten(source, &plan);
    let names: BTreeSet<_> = fields(&synchronization, "m").into_iter().map(|it| it.0).collect();
    assert_eq!(names, ["v", "y"].map(str::to_owned).into());
    assert!(!synchronization.sites.iter().any(|site| site.operation == SiteOperation::Element));

    plan.spec.events = RecordedEvents { arrays: true, ..RecordedEvents::NONE };
    let arrays = rewritten(source, &plan);
    assert!(arrays.sites.iter().all(|site| site.operation == SiteOperation::Element));
}

/// Every byte of a class changed to a few others: an error or a class, never a panic.
#[test]
fn damaged_classes_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("A.java");
    let source = "class A { int x; volatile long v; int[] a = {1}; A() { synchronized (this) { x++; } } \
                  static synchronized void m(A it) throws Exception { it.v += it.a[0]; it.wait(5); } }";
    std::fs::write(&file, source).unwrap();
    unsnarl_testing::jdk().compile([file.as_path()], folder.path());
    let bytes = std::fs::read(folder.path().join("A.class")).unwrap();
    let mut changed = 0;
    for place in 0..bytes.len() {
        for value in [0, 1, 0x7F, 0xC2, 0xFF, bytes[place] ^ 1] {
            let mut damaged = bytes.clone();
            damaged[place] = value;
            let numbers = SiteNumbers::default();
            let result = rewrite(
                &damaged,
                &Plan::default(),
                &numbers,
                &|_: &FieldName| Volatility::Unknown,
                false,
            );
            changed += usize::from(matches!(result, Ok(Some(_))));
        }
    }
    assert!(changed > bytes.len());
}
