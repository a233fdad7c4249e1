//! What is known of fields, from small classes.

use unsnarl_events::Filters;
use unsnarl_recording::{FieldName, SiteNumber, Volatility};

use super::*;

/// The bytes of classes, compiled together, in the order of their names.
fn compile(source: &str, names: &[&str]) -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("A.java");
    std::fs::write(&file, source).unwrap();
    unsnarl_testing::jdk().compile([file.as_path()], folder.path());
    let class = |name: &&str| std::fs::read(folder.path().join(format!("{name}.class"))).unwrap();
    names.iter().map(class).collect()
}

fn field(class: &str, name: &str) -> FieldName {
    FieldName { class: class.into(), name: name.into(), descriptor: b"I".to_vec() }
}

const OBJECT: &str = "class A extends B { int a1, a2; final int a3 = new B().b; volatile int a4; } \
                      class B { int b; } ";

fn add(fields: &mut Fields, bytes: &[u8], clones_unseen: bool) {
    let class = ClassFile::read(bytes).unwrap();
    fields.add(&class, class.name() != b"java/lang/Object", clones_unseen);
}

/// `A` and `B` and a class that stands for `Object`, which has nothing above it.
fn known(clones_unseen: bool) -> Fields {
    let mut fields = Fields::default();
    let top = Class {
        superclass: Some(Vec::new()),
        fields: FxHashMap::default(),
        groups: Some(0),
        keeps_ids: false,
        clones_unseen,
    };
    fields.classes.insert(b"java/lang/Object".to_vec(), top);
    compile(OBJECT, &["A", "B"]).iter().for_each(|bytes| add(&mut fields, bytes, false));
    fields
}

#[test]
fn fields_are_known_when_all_above_is() {
    let classes = compile(OBJECT, &["A", "B"]);
    let mut fields = Fields::default();
    add(&mut fields, &classes[0], false);
    assert_eq!(fields.volatility(&field("A", "b")), Volatility::Unknown);
    let fields = known(false);
    for (name, expected) in [
        ("b", Volatility::Plain),
        ("a1", Volatility::Plain),
        ("a3", Volatility::Final),
        ("a4", Volatility::Volatile),
        ("nowhere", Volatility::Plain),
    ] {
        assert_eq!(fields.volatility(&field("A", name)), expected, "{name}");
    }
}

#[test]
fn fields_of_one_class_are_filtered_together_and_others_are_not() {
    let mut fields = known(false);
    let plan = Plan::default();
    for (number, name) in (1..).zip(["a1", "a2", "b", "a3", "a4"]) {
        fields.add_site(SiteNumber(number), field("A", name), Volatility::Unknown);
    }
    let cell = |probe, count| fields.cell_of_all(SiteNumber(probe), count, &plan);
    assert_eq!(cell(0, 2), cell(1, 1) | cell(2, 1));
    assert_eq!(cell(0, 2) & GROUPED, GROUPED);
    assert_eq!(cell(1, 2), RESOLVED, "of two classes");
    assert_eq!(cell(4, 1), RESOLVED | SKIPPED);
    assert_eq!(cell(5, 1), RESOLVED | NUMBERED);
    assert_eq!(fields.declaring_class(SiteNumber(3)), Some(&b"B"[..]));
    let mut plan = Plan::default();
    plan.spec.filters = Filters::NONE;
    assert_eq!(fields.cell_of_all(SiteNumber(4), 1, &plan), RESOLVED);
}

/// Sites 1 and 2 are `a1` and `a2`, which probe 10 reports if `b` is as it was assumed; site 20 is redundant then.
fn conditional(fields: &mut Fields, assumed: Volatility) {
    for (number, name) in [(1, "a1"), (2, "a2"), (11, "a1"), (12, "a2"), (20, "a1")] {
        fields.add_site(SiteNumber(number), field("A", name), Volatility::Unknown);
    }
    let reporter = Some((SiteNumber(10), 2));
    for (number, reported_by) in [(1, reporter), (2, reporter), (10, reporter), (20, None)] {
        let assumed = vec![(field("A", "b"), assumed)];
        fields.add_conditional(Conditional { site: SiteNumber(number), assumed, reported_by });
    }
}

#[test]
fn what_is_as_assumed_makes_single_probes_silent() {
    let mut fields = known(false);
    conditional(&mut fields, Volatility::Plain);
    let cell = |site, count| fields.cell_of_all(SiteNumber(site), count, &Plan::default());
    let together = cell(10, 2);
    assert_eq!(together & (GROUPED | SKIPPED | ONCE | NOT_YET), GROUPED);
    assert_eq!(cell(1, 1) | cell(2, 1), together | ONCE, "once more, and no more");
    assert_eq!(cell(20, 1), cell(1, 1));
}

#[test]
fn what_is_not_as_assumed_leaves_every_access_its_probe() {
    let mut fields = known(false);
    conditional(&mut fields, Volatility::Final);
    let cell = |site, count| fields.cell_of_all(SiteNumber(site), count, &Plan::default());
    assert_eq!(cell(10, 2), RESOLVED | SKIPPED);
    for site in [1, 2, 20] {
        assert_eq!(cell(site, 1) & (GROUPED | SKIPPED | ONCE | NOT_YET), GROUPED);
    }
}

#[test]
fn what_cannot_be_known_yet_is_asked_again() {
    let mut fields = Fields::default();
    conditional(&mut fields, Volatility::Plain);
    let cell = |site, count| fields.cell_of_all(SiteNumber(site), count, &Plan::default());
    assert_eq!(cell(10, 2), RESOLVED | SKIPPED | NOT_YET);
    assert_eq!([cell(1, 1), cell(20, 1)], [0, 0]);
}

/// An object has its groups from the topmost class on, eight fields each.
#[test]
fn groups_are_numbered_within_an_object() {
    let mut fields = known(false);
    let many = "class C extends A { int c0, c1, c2, c3, c4, c5, c6, c7, c8; } ";
    let classes = compile(&[OBJECT, many].concat(), &["C"]);
    add(&mut fields, &classes[0], false);
    let names = [("B", "b"), ("A", "a1"), ("A", "a2"), ("C", "c0"), ("C", "c7"), ("C", "c8")];
    for (number, (class, name)) in (1..).zip(names) {
        fields.add_site(SiteNumber(number), field(class, name), Volatility::Plain);
    }
    let groups =
        (1..=6).map(|site| fields.cell_of_all(SiteNumber(site), 1, &Plan::default()) >> GROUP);
    assert_eq!(groups.collect::<Vec<_>>(), [0, 1, 1, 2, 2, 3]);
    assert_eq!(fields.cell_of_all(SiteNumber(4), 2, &Plan::default()), RESOLVED);
}

/// Two loaders have two classes of the name: which one a place in the code means cannot be known.
#[test]
fn classes_of_one_name_that_differ_are_not_filtered() {
    let mut fields = known(false);
    let other = compile("class A { int a2, a1; volatile int a3; } ", &["A"]);
    add(&mut fields, &other[0], false);
    fields.add_site(SiteNumber(1), field("A", "a1"), Volatility::Plain);
    assert_eq!(fields.cell_of_all(SiteNumber(1), 1, &Plan::default()), RESOLVED);
    assert_eq!(fields.volatility(&field("A", "a3")), Volatility::Unknown);
    assert_eq!(fields.volatility(&field("A", "b")), Volatility::Unknown);
    assert!(!fields.has_safe_ids(b"A"));

    let below = compile(&[OBJECT, "class D extends A { int d; }"].concat(), &["D"]);
    add(&mut fields, &below[0], false);
    fields.add_site(SiteNumber(2), field("D", "d"), Volatility::Plain);
    assert_eq!(fields.cell_of_all(SiteNumber(2), 1, &Plan::default()), RESOLVED, "nor below");
}

#[test]
fn ids_are_not_kept_below_a_class_that_clones_unseen() {
    assert!(known(false).has_safe_ids(b"A"));
    assert!(!known(true).has_safe_ids(b"A"));
    assert!(!known(false).has_safe_ids(b"Unknown"));
}

#[test]
fn the_runtime_agrees() {
    let source = include_str!("../../../../runtime/java/lang/UnsnarlSites.java");
    for (name, value) in [
        ("NUMBERED", NUMBERED),
        ("SKIPPED", SKIPPED),
        ("GROUPED", GROUPED),
        ("ONCE", ONCE),
        ("NOT_YET", NOT_YET),
    ] {
        assert!(source.contains(&format!("static final long {name} = {value};")), "{name}");
    }
    for (name, value) in [("BITS", BITS), ("GROUP", GROUP)] {
        assert!(source.contains(&format!("static final int {name} = {value};")), "{name}");
    }
}
