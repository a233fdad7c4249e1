//! `unsnarl explain`: finds a finding by its fingerprint, and all that is known about a field or method: why it was
//! or was not reported.

use std::collections::BTreeSet;
use std::path::PathBuf;

use unsnarl_detect_static as detect_static;
use unsnarl_findings::{Finding, Fingerprint};
use unsnarl_program::{ClassId, Program};
use unsnarl_report::source::Sources;

use crate::analysis::execute;
use crate::check::{self, CheckOptions};
use crate::error::CommandError;
use crate::feedback::{Feedback, Phases};
use crate::near::suggestion;
use crate::session::{self, ProgramOptions, Session};
use crate::{joining, sources};

/// Where what is to be explained is looked for.
#[derive(Clone, Debug, Default)]
pub struct ExplainOptions {
    /// Jars, folders and class files.
    pub inputs: Vec<PathBuf>,
    /// The JSON report that has the finding.
    pub from: Option<PathBuf>,
    /// The program that the inputs are part of.
    pub program: ProgramOptions,
}

/// The finding of a report or of a check with this fingerprint, and its source.
///
/// # Errors
/// If there is none, or nothing to look for it in.
pub fn finding(
    fingerprint: Fingerprint,
    options: &ExplainOptions,
    feedback: &dyn Feedback,
) -> Result<(Finding, Sources), CommandError> {
    let findings = match (&options.from, options.inputs.as_slice()) {
        (Some(file), _) => joining::read(std::slice::from_ref(file))?,
        (None, []) => {
            return Err(CommandError::failed(format!(
                "name the report that has the finding: unsnarl explain {fingerprint} --from FILE; or the \
                 program: unsnarl explain {fingerprint} INPUT…"
            )));
        }
        (None, inputs) => {
            let check = CheckOptions {
                arrays: true,
                min_confidence: Some(0.0),
                ..CheckOptions::new(inputs.to_vec(), options.program.clone())
            };
            check::examine(&check, feedback)?.report.findings().to_vec()
        }
    };
    let count = findings.len();
    let Some(finding) = findings.into_iter().find(|it| it.fingerprint() == fingerprint) else {
        return Err(CommandError::failed(format!(
            "none of the {count} findings has the fingerprint {fingerprint}"
        )));
    };
    let sources = sources::find(std::slice::from_ref(&finding), &[], &options.inputs, feedback)?;
    Ok((finding, sources))
}

/// All that is known about a field, or about the methods of a name: the sentences about each.
///
/// # Errors
/// If there is no such member in the inputs.
pub fn member(
    name: &str,
    options: &ExplainOptions,
    feedback: &dyn Feedback,
) -> Result<Vec<Vec<String>>, CommandError> {
    if options.inputs.is_empty() {
        return Err(CommandError::failed(format!(
            "name the program that has it: unsnarl explain {name} INPUT…"
        )));
    }
    let mut phases = Phases::new(feedback);
    phases.enter("reading");
    let path = session::open(&options.inputs, &options.program)?;
    let models = session::models(&options.program.models)?;
    let mut session = Session::new(&options.inputs, &options.program, &path, &models);
    let classes = session.classes()?;
    let Member { class, name, is_method } = resolve(&session.program, &classes, name)?;
    let execution = execute(&mut session, &mut phases)?;
    phases.enter("detectors");
    // Elements of arrays are asked for by the field that holds the array.
    let detection = detect_static::Options { arrays: true, ..detect_static::Options::default() };
    let program = &mut session.program;
    let checked = detect_static::check(program, &models, &execution, &detection);
    let explained = match is_method {
        true => detect_static::explain_method(program, &execution, &checked, &class, &name),
        false => detect_static::explain_field(program, &execution, &checked, &class, &name)
            .map(|facts| vec![facts]),
    };
    phases.finish();
    let Some(explained) = explained else {
        return Err(CommandError::failed(format!("nothing is known about {class}.{name}")));
    };
    session.report_problems(feedback);
    Ok(explained)
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
/// before a method of the same name, which is asked for with `()` after it.
fn resolve(program: &Program<'_>, classes: &[ClassId], name: &str) -> Result<Member, CommandError> {
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
            let message = format!("the input has no field or method '{name}'{near}");
            Err(CommandError::failed(message))
        }
        [one] => Ok(one.clone()),
        several => {
            let several: Vec<String> =
                several.iter().map(|it| format!("{}.{}", it.class, it.name)).collect();
            Err(CommandError::failed(format!("'{name}' may be {}", several.join(" or "))))
        }
    }
}
