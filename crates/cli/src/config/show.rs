//! `unsnarl config`: what is in force, and where it comes from.

use std::any::TypeId;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::bail;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use unsnarl_commands::suppression::SuppressionRule;

use super::file::ConfigFile;
use super::{Setting, completed, configured, definition, key, settings, unsaid};
use crate::ExitStatus;
use crate::args::ConfigArguments;
use crate::output::Output;

/// Where the remark on a line begins, if what is before it is not longer.
const REMARK: usize = 40;

/// Runs the command.
pub(crate) fn run(
    arguments: &ConfigArguments,
    file: Option<&PathBuf>,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let definition = definition();
    let file = ConfigFile::find(file.map(PathBuf::as_path))?;
    let settings = settings(&definition, &file)?;
    let out = output.result();
    match &file.path {
        Some(path) => writeln!(out, "# {}", path.display())?,
        None => writeln!(out, "# there is no {} here or above", super::file::NAME)?,
    }
    if arguments.words.is_empty() {
        let any = InForce::of(&definition, &settings, &["check".into()])?;
        any.write(out, "", |argument| argument.is_global_set())?;
        for command in configured(&definition) {
            let in_force = InForce::of(&definition, &settings, &[command.get_name().into()])?;
            let heading = format!("\n[{}]\n", command.get_name());
            in_force.write(out, &heading, |argument| !argument.is_global_set())?;
        }
    } else {
        let in_force = InForce::of(&definition, &settings, &arguments.words)?;
        let heading = format!("[{}]\n", in_force.command.get_name());
        in_force.write(out, &heading, |_| true)?;
    }
    for rule in &file.suppressions {
        writeln!(out, "\n[[suppress]] # {}\n{}", rule.line, keys(rule))?;
    }
    Ok(ExitStatus::Clean)
}

/// The keys of a `[[suppress]]` table.
fn keys(suppression: &SuppressionRule) -> String {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let SuppressionRule { rules, class, field, method, reason, .. } = suppression;
    let rules: Vec<String> = rules.iter().map(|rule| quoted(rule.id())).collect();
    let rules = match rules.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    };
    let text = |name: &Option<String>| name.as_deref().map(quoted);
    let keys = [
        ("rule", rules),
        ("class", text(class)),
        ("field", text(field)),
        ("method", text(method)),
        ("reason", Some(quoted(reason))),
    ];
    let lines = keys.into_iter().filter_map(|(key, value)| Some(format!("{key} = {}", value?)));
    lines.collect::<Vec<_>>().join("\n")
}

/// What holds for a command.
struct InForce<'s, 'f> {
    command: &'s Command,
    matches: ArgMatches,
    from_file: Vec<&'s Setting<'f>>,
}

impl<'s, 'f> InForce<'s, 'f> {
    /// What holds for a command line, which need not be whole.
    fn of(
        definition: &'s Command,
        settings: &'s [Setting<'f>],
        words: &[OsString],
    ) -> anyhow::Result<Self> {
        let whole = definition
            .clone()
            .mut_subcommands(|command| command.mut_args(|argument| argument.required(false)));
        let words: Vec<OsString> = [&["unsnarl".into()], words].concat();
        let mut given = whole.clone().try_get_matches_from(&words)?;
        let Some((name, given)) = given.remove_subcommand() else { bail!("there is no command") };
        let Some(command) = configured(definition).find(|command| command.get_name() == name)
        else {
            bail!("{name} has nothing to configure")
        };
        let from_file = unsaid(definition, settings, &name, &given);
        let words = completed(definition, &words, &name, &from_file);
        let mut matches = whole.try_get_matches_from(words)?;
        let Some((_, matches)) = matches.remove_subcommand() else { bail!("there is no command") };
        Ok(Self { command, matches, from_file })
    }

    fn write(
        &self,
        out: &mut dyn std::io::Write,
        heading: &str,
        is_wanted: impl Fn(&Arg) -> bool,
    ) -> std::io::Result<()> {
        write!(out, "{heading}")?;
        for argument in self.command.get_arguments().filter(|argument| is_wanted(argument)) {
            let Some(key) = key(argument) else { continue };
            let (value, origin) = self.value(argument);
            match value {
                Some(value) => {
                    let line = format!("{key} = {value}");
                    writeln!(out, "{line:<REMARK$} # {origin}")?;
                }
                None => writeln!(out, "{:<REMARK$} # not set", format!("# {key}"))?,
            }
        }
        Ok(())
    }

    /// The value of an argument as TOML, and where it comes from.
    fn value(&self, argument: &Arg) -> (Option<String>, String) {
        let id = argument.get_id().as_str();
        let from_file = self.from_file.iter().find(|it| it.argument.get_id() == argument.get_id());
        let origin = match (from_file, self.matches.value_source(id)) {
            (Some(setting), _) => setting.entry.line.to_string(),
            (None, Some(ValueSource::CommandLine)) => "command line".to_owned(),
            (None, Some(ValueSource::EnvVariable)) => "environment".to_owned(),
            (None, _) => "default".to_owned(),
        };
        let values: Option<Vec<String>> = self
            .matches
            .get_raw(id)
            .map(|values| values.map(|value| value.to_string_lossy().into_owned()).collect());
        let is_list = matches!(argument.get_action(), clap::ArgAction::Append);
        match values.as_deref() {
            Some([]) => (Some("true".to_owned()), origin),
            Some([value]) if !is_list => (Some(toml_text(argument, value)), origin),
            Some(values) => {
                let values: Vec<String> = values.iter().map(|it| toml_text(argument, it)).collect();
                (Some(format!("[{}]", values.join(", "))), origin)
            }
            None if id == "jdk" => match std::env::var("JAVA_HOME") {
                Ok(home) if !home.is_empty() => {
                    (Some(toml_text(argument, &home)), "environment: JAVA_HOME".to_owned())
                }
                _ => (None, origin),
            },
            None => (None, origin),
        }
    }
}

/// Numbers and truth values as such, everything else in quotes.
fn toml_text(argument: &Arg, value: &str) -> String {
    let is_text = [TypeId::of::<String>(), TypeId::of::<PathBuf>(), TypeId::of::<OsString>()]
        .iter()
        .any(|text| argument.get_value_parser().type_id() == *text);
    let is_plain = value.parse::<f64>().is_ok() || value.parse::<bool>().is_ok();
    if is_plain && !is_text { value.to_owned() } else { toml::Value::from(value).to_string() }
}
