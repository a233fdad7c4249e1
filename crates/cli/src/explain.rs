//! `unsnarl explain`: what a rule means, and why a field was or was not reported.

use std::collections::BTreeSet;

use anyhow::bail;
use unsnarl_detect_static as detect_static;
use unsnarl_findings::Rule;
use unsnarl_program::{ClassId, Program};
use unsnarl_report::text;

use crate::ExitStatus;
use crate::analysis::execute;
use crate::args::ExplainArguments;
use crate::check;
use crate::near::nearest;
use crate::output::Output;
use crate::progress::Phases;
use crate::session::{self, Session};

/// The page of every rule that some detector finds.
const PAGES: &[(Rule, &str)] = &[
    (Rule::DataRace, include_str!("../../../docs/rules/data-race.md")),
    (Rule::LocksetRace, include_str!("../../../docs/rules/lockset-race.md")),
    (Rule::ObjectRace, include_str!("../../../docs/rules/object-race.md")),
    (Rule::LockOrderCycle, include_str!("../../../docs/rules/lock-order-cycle.md")),
    (Rule::CriticalWait, include_str!("../../../docs/rules/critical-wait.md")),
    (Rule::IndefiniteWait, include_str!("../../../docs/rules/indefinite-wait.md")),
    (Rule::UnsafePublication, include_str!("../../../docs/rules/unsafe-publication.md")),
    (Rule::NonAtomicMethod, include_str!("../../../docs/rules/non-atomic-method.md")),
];

/// Runs the command.
pub(crate) fn run(arguments: &ExplainArguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let name = arguments.name.as_str();
    match Rule::from_id(name) {
        Some(rule) if arguments.inputs.is_empty() => explain_rule(rule, output)?,
        Some(_) => bail!("a rule is explained without INPUT; a field is named as CLASS.FIELD"),
        None if name.contains('.') => explain_field(arguments, output)?,
        None => {
            let near = suggestion(name, Rule::ALL.iter().map(|rule| rule.id()));
            bail!(
                "there is no rule '{name}'{near}; a field is named with its class, as in \
                 bank.Account.balance"
            )
        }
    }
    Ok(ExitStatus::Clean)
}

fn explain_rule(rule: Rule, output: &mut Output) -> anyhow::Result<()> {
    let out = output.result();
    match PAGES.iter().find(|(of, _)| *of == rule) {
        Some((_, page)) => out.write_all(page.as_bytes())?,
        None => writeln!(
            out,
            "# {rule}\n\n{}\n\nIts severity is {}. No detector of this version finds it yet.",
            rule.summary(),
            rule.default_severity()
        )?,
    }
    Ok(())
}

fn explain_field(arguments: &ExplainArguments, output: &mut Output) -> anyhow::Result<()> {
    let name = arguments.name.as_str();
    if arguments.inputs.is_empty() {
        bail!("name the program that has the field: unsnarl explain {name} INPUT…");
    }
    let mut phases = Phases::new(output.shows_progress());
    phases.enter("reading");
    let path = session::open(&arguments.inputs, &arguments.program)?;
    let models = session::models(&arguments.program.models)?;
    let mut session = Session::new(&arguments.inputs, &arguments.program, &path, &models);
    let classes = session.classes()?;
    let (class, field) = resolve(&session.program, &classes, name)?;
    let execution = execute(&mut session, &mut phases)?;
    phases.enter("detectors");
    // Elements of arrays are asked for by the field that holds the array.
    let options = detect_static::Options { arrays: true, ..detect_static::Options::default() };
    let program = &mut session.program;
    let checked = detect_static::check(program, &execution, &options);
    let lines = detect_static::explain_field(program, &execution, &checked, &class, &field);
    phases.finish();
    let Some(lines) = lines else { bail!("nothing is known about {class}.{field}") };
    session.report_problems(output);
    let styles = check::styles(output);
    Ok(text::write_facts(&lines, &styles, output.result())?)
}

/// The class that declares a field, and the name of the field. A class may be named without its
/// package, and a nested one as in Java source.
fn resolve(
    program: &Program<'_>,
    classes: &[ClassId],
    name: &str,
) -> anyhow::Result<(String, String)> {
    let wanted = name.replace('$', ".");
    let own: BTreeSet<ClassId> = classes.iter().copied().collect();
    let mut found = Vec::new();
    let mut all = Vec::new();
    for &class in classes {
        let class_name = program.class_text(class);
        // A field that is inherited goes by the name of the class below as well.
        let ancestors = program.classes()[class].ancestors.iter();
        for &above in ancestors.filter(|above| own.contains(above)) {
            let declaring = program.class_text(above);
            for &field in &program.classes()[above].fields {
                let field = program.names.text(program.fields()[field].name).into_owned();
                let full = format!("{class_name}.{field}");
                let spelled = full.replace('$', ".");
                if spelled == wanted {
                    return Ok((declaring, field));
                }
                if spelled.ends_with(&format!(".{wanted}")) {
                    found.push((declaring.clone(), field));
                }
                all.push(full);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        [] => {
            let near = suggestion(name, all.iter().map(String::as_str));
            bail!("the input has no field '{name}'{near}")
        }
        [one] => Ok(one.clone()),
        several => {
            let several: Vec<String> =
                several.iter().map(|(class, field)| format!("{class}.{field}")).collect();
            bail!("'{name}' may be {}", several.join(" or "))
        }
    }
}

/// `: did you mean a or b?`, or nothing.
fn suggestion<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> String {
    match nearest(wanted, names).as_slice() {
        [] => String::new(),
        near => format!(" (did you mean {}?)", near.join(" or ")),
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
                PAGES.iter().find(|(of, _)| *of == rule).expect("the page is in the table");
            assert_eq!(*text, std::fs::read_to_string(&path).expect("the page can be read"));
        }
    }
}
