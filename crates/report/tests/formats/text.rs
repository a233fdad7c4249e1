//! The text form, as a person sees it.

use unsnarl_findings::Report;
use unsnarl_report::text::{self, Detail, Styles, View, WIDTH};

use crate::sample;

fn rendered(report: &Report, styles: Styles) -> String {
    viewed(report, &View::new(styles))
}

fn viewed(report: &Report, view: &View<'_>) -> String {
    let mut bytes = Vec::new();
    text::write(report, view, &mut bytes).expect("a vector takes every write");
    String::from_utf8(bytes).expect("text is UTF-8")
}

#[test]
fn nothing_found() {
    assert_eq!(rendered(&sample::empty(), Styles::plain()), "no findings\n");
}

#[test]
fn every_kind_of_finding() {
    insta::assert_snapshot!(rendered(&sample::full(), Styles::plain()));
}

#[test]
fn no_line_is_wider_than_the_page_or_ends_with_a_space() {
    for line in rendered(&sample::full(), Styles::plain()).lines() {
        assert!(line.chars().count() <= WIDTH, "{line}");
        assert_eq!(line.trim_end(), line);
    }
}

#[test]
fn colours_change_nothing_but_colours() {
    let coloured = rendered(&sample::full(), Styles::coloured());
    assert!(coloured.contains("\u{1b}["));
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').expect("a style ends with m").1;
    }
    plain.push_str(rest);
    assert_eq!(plain, rendered(&sample::full(), Styles::plain()));
}

#[test]
fn names_cannot_steer_the_terminal() {
    let mut report = sample::empty();
    report.notes = vec!["the class \u{1b}[2J\u{9b}1A was skipped".to_owned()];
    let text = rendered(&report, Styles::plain());
    assert_eq!(text, "note: the class \\u{1b}[2J\\u{9b}1A was skipped\n\nno findings\n");
}

#[test]
fn long_things_are_broken_or_cut() {
    let full = sample::full();
    let mut finding = full.findings()[0].clone();
    finding.message = "a long message about a balance that many threads write ".repeat(4);
    let frame = finding.accesses[0].stack[0].clone();
    finding.accesses[0].stack = vec![frame; 40];
    let lock = unsnarl_findings::Lock::of_class("com.example.accounting.Ledger").labelled("this");
    finding.accesses[0].locks = vec![lock; 5];
    let text = rendered(&Report::new(sample::empty().tool, [finding]), Styles::plain());
    for line in text.lines() {
        assert!(line.chars().count() <= WIDTH, "{line}");
    }
    assert!(text.contains("\n   |   … 28 more\n"), "{text}");
    let lines = text.lines().take_while(|line| !line.starts_with(" 2 |")).collect::<Vec<_>>();
    assert_eq!(lines.iter().filter(|line| line.contains(" at bank.")).count(), 12, "{text}");
}

#[test]
fn a_thread_that_is_described_is_not_called_thread() {
    let full = sample::full();
    let mut finding = full.findings()[0].clone();
    finding.accesses[0].thread = Some("pool task at Server.java:12".to_owned());
    let text = rendered(&Report::new(sample::empty().tool, [finding]), Styles::plain());
    assert!(text.contains(" by pool task at Server.java:12, holding "), "{text}");
}

#[test]
fn an_access_that_looks_like_an_earlier_one_is_shown_once_but_for_the_first_two() {
    let full = sample::full();
    let mut finding = full.findings()[0].clone();
    let (first, last) = (finding.accesses[0].clone(), finding.accesses[2].clone());
    finding.accesses = vec![first.clone(), first.clone(), last.clone(), first, last];
    let text = rendered(&Report::new(sample::empty().tool, [finding]), Styles::plain());
    assert!(text.contains("\n 3 | read by thread main,"), "{text}");
    assert!(!text.contains("\n 4 |"), "{text}");
}

#[test]
fn reasons_stand_under_each_other() {
    let full = sample::full();
    let mut finding = full.findings()[0].clone();
    finding.reasons.push(sample::FOR_INFORMATION.holds());
    let text = rendered(&Report::new(sample::empty().tool, [finding]), Styles::plain());
    let reasons = "   = why: ++ no-common-lock: the accesses hold no lock in common\n             \
                   for-information: it changes nothing\n";
    assert!(text.contains(reasons), "{text}");
}

#[test]
fn facts_stand_under_their_headline() {
    let facts = ["a.B.x is a field", "it is read", &"a long fact ".repeat(12)].map(str::to_owned);
    let mut bytes = Vec::new();
    text::write_facts(&facts, &Styles::plain(), &mut bytes).expect("a vector takes every write");
    let text = String::from_utf8(bytes).expect("text is UTF-8");
    assert!(text.starts_with("a.B.x is a field\n  it is read\n  a long fact a long"), "{text}");
    assert!(text.lines().last().expect("it has lines").starts_with("    "), "{text}");
}

#[test]
fn source_is_shown_with_the_access_marked() {
    let sources = sample::sources();
    let view = View { sources: &sources, ..View::new(Styles::plain()) };
    let text = viewed(&sample::full(), &view);
    for line in text.lines() {
        assert!(line.chars().count() <= WIDTH, "{line}");
        assert_eq!(line.trim_end(), line);
    }
    insta::assert_snapshot!(text);
}

#[test]
fn quiet_is_a_line_each_and_nothing_else() {
    let view = View { detail: Detail::Quiet, ..View::new(Styles::plain()) };
    assert_eq!(viewed(&sample::empty(), &view), "");
    insta::assert_snapshot!(viewed(&sample::full(), &view));
}

#[test]
fn a_cycle_of_a_thousand_locks_fits_a_screen_unless_all_is_asked_for() {
    let report = sample::cycle(1000);
    let text = rendered(&report, Styles::plain());
    assert!(text.lines().count() < 40, "{text}");
    assert!(text.contains(" -> … 994 more (confidence 0.80)\n"), "{text}");
    assert!(text.contains("\n   | … 994 more (-v shows them)\n"), "{text}");
    let view = View { detail: Detail::Verbose, ..View::new(Styles::plain()) };
    assert!(viewed(&report, &view).contains("\n1000 | acquire by thread T999,"));
}

#[test]
fn all_frames_and_reasons_are_shown_when_asked_for() {
    let full = sample::full();
    let mut finding = full.findings()[0].clone();
    let frame = finding.accesses[0].stack[0].clone();
    finding.accesses[0].stack = vec![frame; 40];
    let reason = finding.reasons[0].clone();
    finding.reasons = vec![reason; 9];
    let report = Report::new(sample::empty().tool, [finding]);
    let cut = rendered(&report, Styles::plain());
    assert!(cut.contains("\n          … 3 more (-v shows them)\n"), "{cut}");
    let view = View { detail: Detail::Verbose, ..View::new(Styles::plain()) };
    let all = viewed(&report, &view);
    assert!(!all.contains('…'), "{all}");
    assert_eq!(all.matches("no-common-lock").count(), 9);
}

#[test]
fn what_happened_in_time_is_shown_when_asked_for() {
    let view = View { detail: Detail::Verbose, ..View::new(Styles::plain()) };
    let text = viewed(&sample::full(), &view);
    let lines = text.lines().skip_while(|line| !line.starts_with("   = run: "));
    let lines: Vec<&str> = lines.take_while(|line| !line.starts_with("   = why: ")).collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert!(!rendered(&sample::full(), Styles::plain()).contains("= run: "));
}

#[test]
fn findings_stand_under_their_class_the_worst_first() {
    let text = rendered(&sample::many(300), Styles::plain());
    let titles: Vec<&str> = text.lines().filter(|line| line.starts_with("-- ")).collect();
    assert_eq!(titles.len(), 97);
    assert!(titles.contains(&"-- com.example.Class3: 4 findings"), "{titles:?}");
    assert!(text.starts_with("-- ") && text.ends_with(": 240 errors, 60 warnings\n"), "{text}");
}
