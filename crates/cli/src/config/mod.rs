//! What the command line leaves unsaid: `unsnarl.toml`.
//!
//! The file has no list of keys of its own: a key is the long name of an option, or what a command takes many of
//! (`inputs`). What the file says becomes words of the command line, unless the command line says it already or says
//! something that contradicts it; then clap judges the whole. So both understand the same, and the command line wins.
//!
//! A flag that the file sets is switched off with `--FLAG=false`, which clap is taught here and help does not show.

mod file;
mod show;

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{
    Arg, ArgAction, ArgMatches, Command, CommandFactory, FromArgMatches, Parser, ValueHint,
};
use file::{ConfigFile, Entry, Value};
use unsnarl_commands::near::suggestion;

use crate::args::Arguments;
pub(crate) use show::run;

/// Commands that are about the others.
const NOT_CONFIGURED: [&str; 2] = ["config", "completions"];

/// Options that make no sense in a file.
const NOT_KEYS: [&str; 3] = ["help", "version", "config"];

/// The arguments that the command line and the file come to together. An error of the command line is one of clap's.
pub(crate) fn arguments(words: &[OsString]) -> anyhow::Result<Arguments> {
    let definition = definition();
    let given = definition.clone().ignore_errors(true).try_get_matches_from(words);
    let Some((name, given)) = given.ok().and_then(|mut given| given.remove_subcommand()) else {
        // Help, the version, or no command: the plain definition has the words for it.
        return Ok(Arguments::try_parse_from(words)?);
    };
    let file = ConfigFile::find(given.get_one::<PathBuf>("config").map(PathBuf::as_path))?;
    let settings = settings(&definition, &file)?;
    let words =
        completed(&definition, words, &name, &unsaid(&definition, &settings, &name, &given));
    let mut matches = match definition.try_get_matches_from(&words) {
        Ok(matches) => matches,
        // The plain definition has plainer words for it.
        Err(error) => return Err(Arguments::try_parse_from(words).err().unwrap_or(error).into()),
    };
    let mut arguments = Arguments::from_arg_matches_mut(&mut matches)?;
    if let Some(accepted) = arguments.command.accepted_mut() {
        accepted.suppressions = file.suppressions;
    }
    Ok(arguments)
}

/// The definition of the command line, in which every flag can also be switched off.
fn definition() -> Command {
    let command = Arguments::command().mut_args(with_off);
    let mut command = command.mut_subcommands(|command| command.mut_args(with_off));
    command.build();
    command
}

fn with_off(flag: Arg) -> Arg {
    if !matches!(flag.get_action(), ArgAction::SetTrue) {
        return flag;
    }
    let flag = flag.action(ArgAction::Set).num_args(0..=1).require_equals(true);
    flag.value_parser(clap::value_parser!(bool))
        .default_value("false")
        .default_missing_value("true")
}

/// The key of an argument in the file, if it has one.
fn key(argument: &Arg) -> Option<&str> {
    let is_list = matches!(argument.get_action(), ArgAction::Append);
    let key = match argument.get_long() {
        None if is_list => argument.get_id().as_str(),
        long => long?,
    };
    (!NOT_KEYS.contains(&key)).then_some(key)
}

/// The commands that the file can speak to.
fn configured(definition: &Command) -> impl Iterator<Item = &Command> {
    let commands = definition.get_subcommands();
    commands.filter(|command| !NOT_CONFIGURED.contains(&command.get_name()))
}

/// An entry of the file for one command.
struct Setting<'f> {
    command: &'f str,
    argument: &'f Arg,
    entry: &'f Entry,
    words: Vec<OsString>,
}

/// What the file says to each command. An entry at the top is for every command that knows its key and can do with its
/// value; there must be one. Entries in the table of a command come after those at the top.
fn settings<'f>(definition: &'f Command, file: &'f ConfigFile) -> anyhow::Result<Vec<Setting<'f>>> {
    let folder = file.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    let mut settings = Vec::new();
    for entry in &file.entries {
        let line = &entry.line;
        let commands: Vec<&Command> = configured(definition)
            .filter(|command| {
                entry.command.as_deref().is_none_or(|name| name == command.get_name())
            })
            .collect();
        if let (Some(name), []) = (&entry.command, commands.as_slice()) {
            let near = suggestion(name, configured(definition).map(Command::get_name));
            bail!("{line}: there is no command '{name}'{near}");
        }
        let keys = || commands.iter().flat_map(|command| command.get_arguments().filter_map(key));
        let mut problem = None;
        let before = settings.len();
        for command in &commands {
            let has_key = |argument: &&Arg| key(argument) == Some(entry.key.as_str());
            let Some(argument) = command.get_arguments().find(has_key) else { continue };
            match words_of(argument, entry, folder).and_then(|words| {
                tried(definition, command.get_name(), argument, &words).map(|()| words)
            }) {
                Ok(words) => {
                    settings.push(Setting { command: command.get_name(), argument, entry, words });
                }
                Err(reason) => problem = Some(reason),
            }
        }
        if settings.len() == before {
            match problem {
                Some(reason) => bail!("{line}: {}: {reason}", entry.key),
                None => {
                    let whose =
                        entry.command.as_ref().map_or(String::new(), |it| format!(" of {it}"));
                    let near = suggestion(&entry.key, keys());
                    bail!("{line}: there is no key '{}'{whose}{near}", entry.key)
                }
            }
        }
    }
    settings.sort_by_key(|setting| setting.entry.command.is_some());
    Ok(settings)
}

/// The words of the command line that say what an entry says.
fn words_of(argument: &Arg, entry: &Entry, folder: &Path) -> Result<Vec<OsString>, String> {
    let option = |value: &OsStr| match argument.get_long() {
        None => value.to_owned(),
        Some(long) => {
            let mut word = OsString::from(format!("--{long}="));
            word.push(value);
            word
        }
    };
    let is_flag = argument.get_value_parser().type_id() == TypeId::of::<bool>();
    let takes_nothing = argument.get_num_args().is_some_and(|range| range.min_values() == 0);
    let values = match &entry.value {
        Value::Boolean(true) if is_flag || takes_nothing => {
            let long = argument.get_long().map(|long| format!("--{long}").into());
            return Ok(long.into_iter().collect());
        }
        // Said by nobody else: it only keeps what stands at the top away.
        Value::Boolean(false) if is_flag => return Ok(Vec::new()),
        _ if is_flag => return Err("expected true or false".to_owned()),
        Value::Boolean(_) => return Err("expected a text".to_owned()),
        Value::One(value) => std::slice::from_ref(value),
        Value::Several(values) => values.as_slice(),
    };
    let is_path = matches!(argument.get_value_hint(), ValueHint::AnyPath);
    let resolved =
        values.iter().map(|value| if is_path { folder.join(value).into() } else { value.into() });
    Ok(resolved.map(|value: OsString| option(&value)).collect())
}

/// What clap says about these words alone.
fn tried(
    definition: &Command,
    name: &str,
    argument: &Arg,
    words: &[OsString],
) -> Result<(), String> {
    let lenient = definition
        .clone()
        .mut_subcommand(name, |command| command.mut_args(|argument| argument.required(false)));
    let mut line = vec![OsString::from("unsnarl"), name.into()];
    line.extend(argument.is_last_set().then(|| "--".into()));
    line.extend(words.iter().cloned());
    match lenient.try_get_matches_from(line) {
        // One key may need another.
        Err(error) if error.kind() != ErrorKind::MissingRequiredArgument => {
            let text = error.to_string();
            let text = text.split("\n\n").next().unwrap_or_default();
            let words: Vec<&str> = text.split_whitespace().collect();
            Err(words.join(" ").trim_start_matches("error: ").to_owned())
        }
        _ => Ok(()),
    }
}

/// The settings for a command that its command line neither says nor contradicts, the last of each key.
fn unsaid<'s, 'f>(
    definition: &Command,
    settings: &'s [Setting<'f>],
    name: &str,
    given: &ArgMatches,
) -> Vec<&'s Setting<'f>> {
    let Some(command) = definition.find_subcommand(name) else { return Vec::new() };
    let is_given = |argument: &Arg| {
        given.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine)
    };
    let excludes = |one: &Arg, other: &Arg| {
        command.get_arg_conflicts_with(one).iter().any(|it| it.get_id() == other.get_id())
    };
    let is_said = |wanted: &Arg| {
        let mut given = command.get_arguments().filter(|argument| is_given(argument));
        given.any(|it| {
            it.get_id() == wanted.get_id() || excludes(it, wanted) || excludes(wanted, it)
        })
    };
    let own: Vec<&Setting<'_>> = settings.iter().filter(|it| it.command == name).collect();
    let is_last = |position: usize| {
        let id = own[position].argument.get_id();
        own[position + 1..].iter().all(|later| later.argument.get_id() != id)
    };
    (0..own.len())
        .filter(|&position| is_last(position) && !is_said(own[position].argument))
        .map(|position| own[position])
        .collect()
}

/// The command line with the words of settings: options after the name of the command, the rest at the end.
fn completed(
    definition: &Command,
    words: &[OsString],
    name: &str,
    settings: &[&Setting<'_>],
) -> Vec<OsString> {
    let lenient = definition.clone().ignore_errors(true);
    let is_command = |&position: &usize| {
        words[position] == name && {
            let matches = lenient.clone().try_get_matches_from(&words[..=position]);
            matches.is_ok_and(|matches| matches.subcommand_name() == Some(name))
        }
    };
    let after = (0..words.len()).find(is_command).map_or(words.len(), |position| position + 1);
    let mut all = words[..after].to_vec();
    let (listed, options): (Vec<&Setting<'_>>, Vec<&Setting<'_>>) =
        settings.iter().partition(|setting| setting.argument.is_positional());
    all.extend(options.into_iter().flat_map(|setting| setting.words.iter().cloned()));
    all.extend_from_slice(&words[after..]);
    for setting in listed {
        all.extend(setting.argument.is_last_set().then(|| "--".into()));
        all.extend(setting.words.iter().cloned());
    }
    all
}
