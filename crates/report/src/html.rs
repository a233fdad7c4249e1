//! The form for the browser: one file that loads nothing and needs no network.
//!
//! The page has the JSON form of the report in it, with lines of source around the accesses, and scripts that
//! show it: a row for each finding at once, what is under it when it is unfolded, so that thousands of findings
//! make no slow page.
//!
//! *Invariants*: text from programs is data. In the file no `<` of it is left, so that it cannot end the element
//! it is in; in the page it is only ever put in as text, never as markup. The page's own policy forbids the
//! browser to load anything.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;
use unsnarl_findings::{Access, Report, Rule};

use crate::json::JsonReport;
use crate::source::{SourceKey, Sources};

const PAGE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/style.css");
const SCRIPT: [&str; 5] = [
    include_str!("html/pictures.js"),
    include_str!("html/timeline.js"),
    include_str!("html/uses.js"),
    include_str!("html/details.js"),
    include_str!("html/list.js"),
];

/// How many lines of source are shown before and after that of an access.
const AROUND: u32 = 5;

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn write(report: &Report, sources: &Sources, out: &mut dyn io::Write) -> io::Result<()> {
    let data = serde_json::to_string(&Data::of(report, sources))?;
    let mut rest = PAGE;
    for (mark, parts) in [
        ("{{style}}", [STYLE].as_slice()),
        ("{{data}}", &[&data.replace('<', "\\u003c")]),
        ("{{script}}", &SCRIPT),
    ] {
        let (before, after) = rest.split_once(mark).expect("the page has a place for it");
        out.write_all(before.as_bytes())?;
        parts.iter().try_for_each(|part| out.write_all(part.as_bytes()))?;
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

/// What the scripts know.
#[derive(Serialize)]
struct Data<'a> {
    report: JsonReport<'a>,
    /// The class of each finding.
    classes: Vec<Option<&'a str>>,
    /// What each rule means.
    rules: BTreeMap<&'static str, &'static str>,
    around: u32,
    /// By package and file, as [`SourceKey::path`] has it.
    sources: BTreeMap<String, Lines<'a>>,
}

#[derive(Serialize)]
struct Lines<'a> {
    path: &'a str,
    lines: BTreeMap<u32, &'a str>,
}

impl<'a> Data<'a> {
    fn of(report: &'a Report, sources: &'a Sources) -> Self {
        let findings = report.findings();
        let mut lines: BTreeMap<String, Lines<'a>> = BTreeMap::new();
        let accesses = findings.iter().flat_map(|finding| &finding.accesses);
        for site in accesses.filter_map(Access::site) {
            if let (Some((file, line)), Some((key, _))) = (sources.of(site), SourceKey::of(site)) {
                let entry = lines.entry(key.path());
                let known = entry.or_insert(Lines { path: &file.path, lines: BTreeMap::new() });
                known.lines.extend(file.window(line, AROUND));
            }
        }
        Self {
            report: JsonReport::from(report),
            classes: findings.iter().map(|finding| finding.class()).collect(),
            rules: Rule::ALL.iter().map(|rule| (rule.id(), rule.summary())).collect(),
            around: AROUND,
            sources: lines,
        }
    }
}
