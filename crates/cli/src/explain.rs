//! `unsnarl explain`: what a rule means, what a finding says, and all that is known about a field or method: why it was
//! or was not reported.

use anstyle::{AnsiColor, Style};
use anyhow::bail;
use unsnarl_commands::explain;
use unsnarl_commands::near::suggestion;
use unsnarl_findings::{Fingerprint, Rule};
use unsnarl_report::text;

use crate::args::ExplainArguments;
use crate::output::Output;
use crate::{ExitStatus, report};

/// The pages of `docs/rules`, by the ids of their rules.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// The page of a rule, if some detector finds it.
pub(crate) fn page(rule: Rule) -> Option<&'static str> {
    PAGES.iter().find(|(of, _)| *of == rule.id()).map(|(_, page)| *page)
}

/// Runs the command.
pub(crate) fn run(arguments: &ExplainArguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let name = arguments.name.as_str();
    match (Rule::from_id(name), Fingerprint::parse(name)) {
        // INPUT may come from unsnarl.toml, for fields and methods.
        (Some(rule), _) => explain_rule(rule, output)?,
        (None, Some(fingerprint)) => explain_finding(fingerprint, arguments, output)?,
        (None, None) if name.contains('.') => explain_member(arguments, output)?,
        (None, None) => {
            let near = suggestion(name, Rule::ALL.iter().map(|rule| rule.id()));
            bail!(
                "there is no rule '{name}'{near}; a field or method is named with its class, as in \
                 bank.Account.balance"
            )
        }
    }
    Ok(ExitStatus::Clean)
}

fn explain_rule(rule: Rule, output: &mut Output) -> anyhow::Result<()> {
    let coloured = output.coloured();
    let out = output.result();
    match page(rule) {
        Some(page) if coloured => out.write_all(highlighted(page).as_bytes())?,
        Some(page) => out.write_all(page.as_bytes())?,
        None => writeln!(
            out,
            "# {rule}\n\n{}\n\nIts severity is {}. No detector of this version finds it yet.",
            rule.summary(),
            rule.default_severity()
        )?,
    }
    Ok(())
}

/// The page with its headings and its code highlighted.
fn highlighted(page: &str) -> String {
    let (heading, code) = (Style::new().bold(), AnsiColor::Cyan.on_default());
    let mut is_code = false;
    let mut text = String::new();
    for line in page.lines() {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        let style = match is_code || is_fence {
            true => code,
            false if line.starts_with('#') => heading,
            false => Style::new(),
        };
        text += &format!("{style}{line}{style:#}\n");
    }
    text
}

/// A finding of a report or of a check, with what its rule means.
fn explain_finding(
    fingerprint: Fingerprint,
    arguments: &ExplainArguments,
    output: &mut Output,
) -> anyhow::Result<()> {
    let (finding, sources) =
        explain::finding(fingerprint, &arguments.options(), output.messages())?;
    let view = report::view(output, &sources, true);
    let out = output.result();
    text::write_finding(&finding, &view, out)?;
    let rule = finding.rule;
    writeln!(out, "\n{} `unsnarl explain {rule}` says more.", rule.summary())?;
    if let Some(variable) = finding.subject.as_variable().filter(|it| !it.is_elements()) {
        writeln!(
            out,
            "`unsnarl explain {variable} INPUT…` shows all that is known about the field."
        )?;
    }
    Ok(())
}

fn explain_member(arguments: &ExplainArguments, output: &mut Output) -> anyhow::Result<()> {
    let explained = explain::member(&arguments.name, &arguments.options(), output.messages())?;
    let styles = report::styles(output);
    for (position, facts) in explained.iter().enumerate() {
        if position > 0 {
            writeln!(output.result())?;
        }
        text::write_facts(facts, &styles, output.result())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page that is not in the table would never be shown.
    #[test]
    fn every_page_is_in_the_table_under_its_name() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules");
        let pages = std::fs::read_dir(folder).expect("docs/rules is there");
        for page in pages {
            let path = page.expect("docs/rules can be read").path();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a page has a name");
            let rule = Rule::from_id(stem).expect("a page is named after its rule");
            let (_, text) =
                PAGES.iter().find(|(of, _)| *of == rule.id()).expect("the page is in the table");
            assert_eq!(*text, std::fs::read_to_string(&path).expect("the page can be read"));
        }
    }
}
