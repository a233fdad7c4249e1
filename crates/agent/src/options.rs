//! What stands behind the `=` on the command line.

use std::path::PathBuf;

use unsnarl_instrument::{Events, Filters, Plan};

/// So many objects that are told of cost their reader about a hundred megabytes.
const SWEEP_EVERY: u32 = 250_000;
/// For so many times what a sweep took there is none, unless it was asked for them.
const SWEEP_PAUSE: u32 = 15;

/// What the agent is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) place: Place,
    /// How many bytes may be used for events that were not read.
    pub(crate) limit: Option<usize>,
    /// Files with further models of libraries.
    pub(crate) models: Vec<PathBuf>,
    pub(crate) plan: Plan,
    /// After how many new ids the living objects are told again, at least.
    pub(crate) sweep_every: u32,
    pub(crate) sweep_pause: u32,
}

/// Where the session goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Into this folder.
    Folder(PathBuf),
    /// Into a folder of its own in this one, which somebody watches.
    Run(PathBuf),
}

/// What is wrong with the options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OptionsError {
    #[error(
        "the option `{0}` is not one of session=DIR, run=DIR, limit=BYTES, models=FILE, include=PATTERNS, \
         exclude=PATTERNS, events=KINDS, filters=FILTERS, array-cutoff=N, array-offset=N, plan=FILE and sweep=N"
    )]
    Unknown(String),
    #[error(
        "the kind of events `{0}` is not one of fields, arrays, synchronization, methods, allocations, references, contents and exact"
    )]
    Kind(String),
    #[error("the filter `{0}` is not one of epoch and escape")]
    Filter(String),
    #[error("the plan {0} cannot be read: {1}")]
    Plan(String, std::io::ErrorKind),
    #[error("session=DIR or run=DIR is missing")]
    NoSession,
}

/// Options have commas between them, patterns, kinds of events and filters a colon. A comma in the name of the
/// folder is written twice.
pub(crate) fn parse(text: &str) -> Result<Options, OptionsError> {
    let (mut place, mut limit) = (None, None);
    let mut models = Vec::new();
    let mut plan = Plan::default();
    let (mut sweep_every, mut sweep_pause) = (SWEEP_EVERY, SWEEP_PAUSE);
    for option in split(text) {
        match option.split_once('=') {
            Some(("session", folder)) if !folder.is_empty() => {
                place = Some(Place::Folder(folder.into()));
            }
            Some(("run", folder)) if !folder.is_empty() => place = Some(Place::Run(folder.into())),
            Some(("models", file)) if !file.is_empty() => models.push(file.into()),
            Some(("limit", bytes)) if bytes.parse::<usize>().is_ok() => limit = bytes.parse().ok(),
            Some(("include", patterns)) => {
                plan = patterns.split(':').fold(plan, |plan, pattern| plan.include(pattern));
            }
            Some(("exclude", patterns)) => {
                plan = patterns.split(':').fold(plan, |plan, pattern| plan.exclude(pattern));
            }
            Some(("events", kinds)) => (plan.events, plan.contents) = events(kinds)?,
            Some(("filters", names)) => plan.filters = filters(names)?,
            Some(("array-cutoff", count)) if count.parse::<u32>().is_ok() => {
                plan.elements.count = count.parse().ok();
            }
            Some(("array-offset", first)) if first.parse::<u32>().is_ok() => {
                plan.elements.first = first.parse().unwrap_or_default();
            }
            Some(("plan", file)) if !file.is_empty() => {
                let names = std::fs::read(file)
                    .map_err(|error| OptionsError::Plan(file.into(), error.kind()))?;
                let names = names.split(|&byte| byte == b'\n').filter(|name| !name.is_empty());
                plan.fields = Some(names.map(<[u8]>::to_vec).collect());
            }
            Some(("sweep", count)) if count.parse::<u32>().is_ok() => {
                (sweep_every, sweep_pause) = (count.parse().unwrap_or(SWEEP_EVERY), 0);
            }
            _ => return Err(OptionsError::Unknown(option)),
        }
    }
    // What is left out was read or written all the same.
    if plan.events.exact {
        plan.filters = Filters { escape: plan.filters.escape, ..Filters::NONE };
    }
    Ok(Options {
        place: place.ok_or(OptionsError::NoSession)?,
        limit,
        models,
        plan,
        sweep_every,
        sweep_pause,
    })
}

fn split(text: &str) -> Vec<String> {
    const COMMA: &str = "\0";
    text.replace(",,", COMMA)
        .split(',')
        .filter(|option| !option.is_empty())
        .map(|option| option.replace(COMMA, ","))
        .collect()
}

/// The events, and whether the contents of library objects are among them.
fn events(kinds: &str) -> Result<(Events, bool), OptionsError> {
    let mut events = Events::NONE;
    let mut contents = false;
    for kind in kinds.split(':').filter(|kind| !kind.is_empty()) {
        match kind {
            "fields" => events.fields = true,
            "arrays" => events.arrays = true,
            "synchronization" => events.synchronization = true,
            "methods" => events.methods = true,
            "allocations" => events.allocations = true,
            "references" => events.references = true,
            "contents" => contents = true,
            "exact" => events.exact = true,
            _ => return Err(OptionsError::Kind(kind.into())),
        }
    }
    Ok((events, contents))
}

fn filters(names: &str) -> Result<Filters, OptionsError> {
    let mut filters = Filters::NONE;
    for name in names.split(':').filter(|name| !name.is_empty()) {
        match name {
            "epoch" => filters.epoch = true,
            "escape" => filters.escape = true,
            "owner" => filters.owner = true,
            _ => return Err(OptionsError::Filter(name.into())),
        }
    }
    Ok(filters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_apart() {
        let options = parse(
            "session=/tmp/a,,b,include=app.*:lib.*,events=fields:methods:contents,filters=epoch",
        )
        .unwrap();
        assert_eq!(options.place, Place::Folder("/tmp/a,b".into()));
        assert_eq!(options.limit, None);
        let mut plan = Plan::default().include("app.*").include("lib.*");
        plan.events = Events { fields: true, methods: true, ..Events::NONE };
        plan.contents = true;
        plan.filters = Filters { epoch: true, ..Filters::NONE };
        assert_eq!(options.plan, plan);
        assert_eq!(parse("session=/a,filters=").unwrap().plan.filters, Filters::NONE);
    }

    #[test]
    fn elements_of_arrays_are_chosen() {
        let elements = |text: &str| {
            let elements = parse(text).unwrap().plan.elements;
            (elements.first, elements.end())
        };
        assert_eq!(elements("session=/a"), (0, u32::MAX));
        assert_eq!(elements("session=/a,array-cutoff=4"), (0, 4));
        assert_eq!(elements("session=/a,array-offset=2,array-cutoff=4"), (2, 6));
        assert_eq!(elements("session=/a,array-offset=2,array-cutoff=4294967295"), (2, u32::MAX));
    }

    #[test]
    fn a_run_has_a_limit() {
        let options = parse("run=/tmp/r,limit=4096,models=/m1,models=/m,,2").unwrap();
        assert_eq!(options.models, [PathBuf::from("/m1"), PathBuf::from("/m,2")]);
        assert_eq!(options.place, Place::Run("/tmp/r".into()));
        assert_eq!(options.limit, Some(4096));
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(parse("run=/a,limit=x"), Err(OptionsError::Unknown("limit=x".into())));
        let cutoff = Err(OptionsError::Unknown("array-cutoff=-1".into()));
        assert_eq!(parse("run=/a,array-cutoff=-1"), cutoff);
        assert_eq!(parse(""), Err(OptionsError::NoSession));
        assert_eq!(parse("session=/a,x=1"), Err(OptionsError::Unknown("x=1".into())));
        assert_eq!(parse("session=/a,events=x"), Err(OptionsError::Kind("x".into())));
        assert_eq!(parse("session=/a,filters=x"), Err(OptionsError::Filter("x".into())));
    }
}
