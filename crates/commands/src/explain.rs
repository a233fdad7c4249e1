//! `unsnarl explain`: what a rule means, what a finding says, and all that is known about a field or method: why it was
//! or was not reported.

use std::collections::BTreeSet;

use anstyle::{AnsiColor, Style};
use anyhow::bail;
use unsnarl_detect_static as detect_static;
use unsnarl_findings::{Fingerprint, Rule};
use unsnarl_program::{ClassId, Program};
use unsnarl_report::text;

use crate::ExitStatus;
use crate::analysis::execute;
use crate::args::{CheckArguments, ExplainArguments};
use crate::check;
use crate::joining;
use crate::near::suggestion;
use crate::output::Output;
use crate::progress::Phases;
use crate::report;
use crate::session::{self, Session};
use crate::sources;

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

/// The page with its headings and its code told apart from the rest.
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
    let findings = match (&arguments.from, arguments.inputs.as_slice()) {
        (Some(file), _) => joining::read(std::slice::from_ref(file))?,
        (None, []) => bail!(
            "name the report that has the finding: unsnarl explain {fingerprint} --from FILE; or the \
             program: unsnarl explain {fingerprint} INPUT…"
        ),
        (None, inputs) => {
            let program = arguments.program.clone();
            let check = CheckArguments {
                arrays: true,
                min_confidence: Some(0.0),
                ..CheckArguments::of(inputs.to_vec(), program)
            };
            check::examine(&check, output)?.report.findings().to_vec()
        }
    };
    let Some(finding) = findings.iter().find(|it| it.fingerprint() == fingerprint) else {
        bail!("none of the {} findings has the fingerprint {fingerprint}", findings.len())
    };
    let sources = sources::find(std::slice::from_ref(finding), &[], &arguments.inputs, output)?;
    let view = report::view(output, &sources, true);
    let out = output.result();
    text::write_finding(finding, &view, out)?;
    let rule = finding.rule;
    writeln!(out, "\n{} `unsnarl explain {rule}` says more.", rule.summary())?;
    if let Some(variable) = finding.subject.as_variable().filter(|it| !it.is_elements()) {
        writeln!(
            out,
            "`unsnarl explain {variable} INPUT…` tells all that is known about the field."
        )?;
    }
    Ok(())
}

fn explain_member(arguments: &ExplainArguments, output: &mut Output) -> anyhow::Result<()> {
    let name = arguments.name.as_str();
    if arguments.inputs.is_empty() {
        bail!("name the program that has it: unsnarl explain {name} INPUT…");
    }
    let mut phases = Phases::new(output.shows_progress());
    phases.enter("reading");
    let path = session::open(&arguments.inputs, &arguments.program)?;
    let models = session::models(&arguments.program.models)?;
    let mut session = Session::new(&arguments.inputs, &arguments.program, &path, &models);
    let classes = session.classes()?;
    let Member { class, name, is_method } = resolve(&session.program, &classes, name)?;
    let execution = execute(&mut session, &mut phases)?;
    phases.enter("detectors");
    // Elements of arrays are asked for by the field that holds the array.
    let options = detect_static::Options { arrays: true, ..detect_static::Options::default() };
    let program = &mut session.program;
    let checked = detect_static::check(program, &models, &execution, &options);
    let explained = match is_method {
        true => detect_static::explain_method(program, &execution, &checked, &class, &name),
        false => detect_static::explain_field(program, &execution, &checked, &class, &name)
            .map(|facts| vec![facts]),
    };
    phases.finish();
    let Some(explained) = explained else { bail!("nothing is known about {class}.{name}") };
    session.report_problems(output);
    let styles = report::styles(output);
    for (position, facts) in explained.iter().enumerate() {
        if position > 0 {
            writeln!(output.result())?;
        }
        text::write_facts(facts, &styles, output.result())?;
    }
    Ok(())
}

/// A field, or the methods of a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Member {
    /// The class that declares it.
    class: String,
    name: String,
    is_method: bool,
}

/// The member with a name. A class may be named without its package, and a nested one as in Java source. A field comes
/// before a method of the same name, which is asked for with `()` behind it.
fn resolve(program: &Program<'_>, classes: &[ClassId], name: &str) -> anyhow::Result<Member> {
    let wants_method = name.ends_with("()");
    let wanted = name.trim_end_matches("()").replace('$', ".");
    let own: BTreeSet<ClassId> = classes.iter().copied().collect();
    let mut found = BTreeSet::new();
    let mut all = Vec::new();
    for &class in classes {
        let class_name = program.class_text(class);
        // What is inherited goes by the name of the class below as well.
        let ancestors = program.classes()[class].ancestors.iter();
        for &above in ancestors.filter(|above| own.contains(above)) {
            let data = &program.classes()[above];
            let fields = data.fields.iter().map(|&it| (program.fields()[it].name, false));
            let methods = data.methods.iter().map(|&it| (program.methods()[it].name, true));
            for (name, is_method) in fields.filter(|_| !wants_method).chain(methods) {
                let name = program.names.text(name).into_owned();
                let full = format!("{class_name}.{name}");
                let spelled = full.replace('$', ".");
                let member = Member { class: program.class_text(above), name, is_method };
                if spelled == wanted {
                    return Ok(member);
                }
                if spelled.ends_with(&format!(".{wanted}")) {
                    found.insert(member);
                }
                all.push(full);
            }
        }
    }
    if found.iter().any(|member| !member.is_method) {
        found.retain(|member| !member.is_method);
    }
    match found.into_iter().collect::<Vec<_>>().as_slice() {
        [] => {
            let near = suggestion(name, all.iter().map(String::as_str));
            bail!("the input has no field or method '{name}'{near}")
        }
        [one] => Ok(one.clone()),
        several => {
            let several: Vec<String> =
                several.iter().map(|it| format!("{}.{}", it.class, it.name)).collect();
            bail!("'{name}' may be {}", several.join(" or "))
        }
    }
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
