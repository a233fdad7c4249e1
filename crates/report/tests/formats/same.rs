//! The same findings in every form, however many there are.

use std::collections::BTreeSet;

use unsnarl_findings::Report;
use unsnarl_report::source::Sources;
use unsnarl_report::text::{self, Detail, Styles, View};
use unsnarl_report::{html, json, sarif};

use crate::sample;

/// The fingerprints in a text: all that has sixteen digits and is no part of something longer.
fn fingerprints(text: &str) -> BTreeSet<&str> {
    let words = text.split(|character: char| !character.is_ascii_hexdigit());
    words.filter(|word| word.len() == 16).collect()
}

fn forms(report: &Report, sources: &Sources) -> Vec<(&'static str, String)> {
    let mut forms = Vec::new();
    let mut add = |name, write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut bytes = Vec::new();
        write(&mut bytes).expect("a vector takes every write");
        forms.push((name, String::from_utf8(bytes).expect("every form is UTF-8")));
    };
    let view = |detail| View { detail, sources, styles: Styles::plain(), shows_suppressed: true };
    add("quiet", &|out| text::write(report, &view(Detail::Quiet), out));
    add("text", &|out| text::write(report, &view(Detail::Normal), out));
    add("verbose", &|out| text::write(report, &view(Detail::Verbose), out));
    add("json", &|out| json::write(report, out));
    add("sarif", &|out| sarif::write(report, sources, |_| None, out));
    add("html", &|out| html::write(report, sources, out));
    forms
}

#[test]
fn every_form_has_every_finding() {
    let sources = sample::sources();
    let reports = [
        sample::empty(),
        sample::many(1),
        sample::many(5000),
        sample::full(),
        sample::hostile(),
        sample::cycle(3),
    ];
    for report in reports {
        let found: Vec<String> =
            report.findings().iter().map(|finding| finding.fingerprint().to_string()).collect();
        let expected: BTreeSet<&str> = found.iter().map(String::as_str).collect();
        for (form, text) in forms(&report, &sources) {
            assert_eq!(fingerprints(&text), expected, "{form} of {} findings", found.len());
        }
    }
}

/// No order depends on that of the input.
#[test]
fn the_order_of_findings_changes_nothing() {
    let report = sample::many(300);
    let backwards = report.findings().iter().rev().cloned();
    let other = Report::new(report.tool.clone(), backwards);
    assert_eq!(forms(&report, Sources::NONE), forms(&other, Sources::NONE));
}
