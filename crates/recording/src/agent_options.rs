//! The options of the agent: what stands after the `=` on the command line of a JVM. This is the one place where they are
//! printed and parsed.
//!
//! Options have commas between them; patterns, kinds of events and filters have colons. A comma in the name of a
//! file is written twice.

use std::fmt;
use std::path::{Path, PathBuf};

use unsnarl_events::{Filter, Filters};

use crate::spec::{RecordedEvents, RecordingSpec};

/// What the agent is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentOptions {
    /// Where the session goes.
    pub destination: Destination,
    /// How many bytes may be used for events that were not read; without a limit everything is kept.
    pub limit: Option<u64>,
    /// Files with further models of libraries.
    pub models: Vec<PathBuf>,
    /// What is recorded.
    pub spec: RecordingSpec,
    /// After how many new ids the living objects are listed again, at least; the agent decides if not said.
    pub sweep: Option<u32>,
}

/// Where a session goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Into this folder.
    Folder(PathBuf),
    /// Into a folder of its own in this one, which somebody watches.
    Run(PathBuf),
}

/// What is wrong with the options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentOptionsError {
    /// There is no such option, or it has no such value.
    #[error(
        "the option `{0}` is not one of session=DIR, run=DIR, limit=BYTES, models=FILE, include=PATTERNS, \
         exclude=PATTERNS, events=KINDS, filters=FILTERS, array-cutoff=N, array-offset=N, plan=FILE and sweep=N"
    )]
    Unknown(String),
    /// There is no such kind of events.
    #[error("the kind of events `{0}` is not one of {all}", all = listed(RecordedEvents::all_names()))]
    Kind(String),
    /// There is no such filter.
    #[error("the filter `{0}` is not one of {all}", all = listed(Filter::ALL.into_iter().map(Filter::name)))]
    Filter(String),
    /// Nothing says where the session goes.
    #[error("session=DIR or run=DIR is missing")]
    NoDestination,
}

impl AgentOptions {
    /// Records everything that the default spec asks for, without a limit.
    #[must_use]
    pub fn new(destination: Destination) -> Self {
        Self {
            destination,
            limit: None,
            models: Vec::new(),
            spec: RecordingSpec::default(),
            sweep: None,
        }
    }

    /// Parses what [`Display`](fmt::Display) prints.
    ///
    /// # Errors
    /// When an option is not one, or its value is not one.
    pub fn parse(text: &str) -> Result<Self, AgentOptionsError> {
        let (mut destination, mut limit, mut sweep) = (None, None, None);
        let mut models = Vec::new();
        let mut spec = RecordingSpec::default();
        let mut filters = spec.filters;
        for option in split(text) {
            let unknown = || AgentOptionsError::Unknown(option.clone());
            let (name, value) = option.split_once('=').ok_or_else(unknown)?;
            let number = || value.parse::<u32>().map_err(|_| unknown());
            let file =
                || Some(PathBuf::from(value)).filter(|_| !value.is_empty()).ok_or_else(unknown);
            let patterns = || value.split(':').filter(|it| !it.is_empty()).map(str::to_owned);
            match name {
                "session" => destination = Some(Destination::Folder(file()?)),
                "run" => destination = Some(Destination::Run(file()?)),
                "models" => models.push(file()?),
                "limit" => limit = Some(value.parse().map_err(|_| unknown())?),
                "include" => spec.include.extend(patterns()),
                "exclude" => spec.exclude.extend(patterns()),
                "events" => spec.events = events(value)?,
                "filters" => filters = filters_in(value)?,
                "array-cutoff" => spec.elements.count = Some(number()?),
                "array-offset" => spec.elements.first = Some(number()?),
                "plan" => spec.planned_fields = Some(file()?),
                "sweep" => sweep = Some(number()?),
                _ => return Err(unknown()),
            }
        }
        let destination = destination.ok_or(AgentOptionsError::NoDestination)?;
        Ok(Self { destination, limit, models, spec: spec.with_filters(filters), sweep })
    }
}

impl fmt::Display for AgentOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { destination, limit, models, spec, sweep } = self;
        let RecordingSpec { include, exclude, events, filters, elements, planned_fields } = spec;
        match destination {
            Destination::Folder(folder) => write!(f, "session={}", escaped(folder))?,
            Destination::Run(folder) => write!(f, "run={}", escaped(folder))?,
        }
        let mut number = |name: &str, value: Option<u64>| match value {
            Some(value) => write!(f, ",{name}={value}"),
            None => Ok(()),
        };
        number("limit", *limit)?;
        number("array-offset", elements.first.map(u64::from))?;
        number("array-cutoff", elements.count.map(u64::from))?;
        number("sweep", sweep.map(u64::from))?;
        for (name, patterns) in [("include", include), ("exclude", exclude)] {
            if !patterns.is_empty() {
                write!(f, ",{name}={}", patterns.join(":"))?;
            }
        }
        write!(f, ",events={}", events.names().collect::<Vec<_>>().join(":"))?;
        write!(f, ",filters={}", filters.iter().map(Filter::name).collect::<Vec<_>>().join(":"))?;
        for file in models {
            write!(f, ",models={}", escaped(file))?;
        }
        if let Some(file) = planned_fields {
            write!(f, ",plan={}", escaped(file))?;
        }
        Ok(())
    }
}

fn split(text: &str) -> Vec<String> {
    const COMMA: &str = "\0";
    text.replace(",,", COMMA)
        .split(',')
        .filter(|option| !option.is_empty())
        .map(|option| option.replace(COMMA, ","))
        .collect()
}

fn escaped(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}

fn events(kinds: &str) -> Result<RecordedEvents, AgentOptionsError> {
    let mut events = RecordedEvents::NONE;
    for kind in kinds.split(':').filter(|kind| !kind.is_empty()) {
        if !events.add(kind) {
            return Err(AgentOptionsError::Kind(kind.into()));
        }
    }
    Ok(events)
}

fn filters_in(names: &str) -> Result<Filters, AgentOptionsError> {
    let names = names.split(':').filter(|name| !name.is_empty());
    let filter = |name| Filter::named(name).ok_or(AgentOptionsError::Filter(String::from(name)));
    names.map(filter).collect()
}

/// `a, b and c`.
fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::spec::ElementRange;

    fn parse(text: &str) -> Result<AgentOptions, AgentOptionsError> {
        AgentOptions::parse(text)
    }

    #[test]
    fn options_are_taken_apart() {
        let options = parse(
            "session=/tmp/a,,b,include=app.*:lib.*,events=fields:methods:contents,filters=epoch",
        )
        .unwrap();
        assert_eq!(options.destination, Destination::Folder("/tmp/a,b".into()));
        assert_eq!(options.limit, None);
        let spec = RecordingSpec {
            include: vec!["app.*".into(), "lib.*".into()],
            events: RecordedEvents {
                fields: true,
                methods: true,
                contents: true,
                ..RecordedEvents::NONE
            },
            filters: Filters::of(&[Filter::Epoch]),
            ..RecordingSpec::default()
        };
        assert_eq!(options.spec, spec);
        assert_eq!(parse("session=/a,filters=").unwrap().spec.filters, Filters::NONE);
    }

    #[test]
    fn an_exact_recording_leaves_out_only_what_nobody_else_can_see() {
        for options in ["filters=epoch:escape,events=exact", "events=exact,filters=escape:owner"] {
            let spec = parse(&format!("session=/a,{options}")).unwrap().spec;
            assert_eq!(spec.filters, Filters::of(&[Filter::Escape]), "{options}");
        }
    }

    #[test]
    fn elements_of_arrays_are_chosen() {
        let elements = |text: &str| {
            let elements = parse(text).unwrap().spec.elements;
            (elements.start(), elements.end())
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
        assert_eq!(options.destination, Destination::Run("/tmp/r".into()));
        assert_eq!(options.limit, Some(4096));
    }

    #[test]
    fn mistakes_are_named() {
        let unknown = |option: &str| Err(AgentOptionsError::Unknown(option.into()));
        assert_eq!(parse("run=/a,limit=x"), unknown("limit=x"));
        assert_eq!(parse("run=/a,array-cutoff=-1"), unknown("array-cutoff=-1"));
        assert_eq!(parse("session="), unknown("session="));
        assert_eq!(parse(""), Err(AgentOptionsError::NoDestination));
        assert_eq!(parse("session=/a,x=1"), unknown("x=1"));
        assert_eq!(parse("session=/a,events=x"), Err(AgentOptionsError::Kind("x".into())));
        let error = parse("session=/a,filters=x").unwrap_err();
        assert_eq!(error.to_string(), "the filter `x` is not one of epoch, escape and owner");
    }

    fn events_of(bits: u8) -> RecordedEvents {
        let mut events = RecordedEvents::NONE;
        for (bit, name) in RecordedEvents::all_names().enumerate() {
            if bits >> bit & 1 == 1 {
                assert!(events.add(name));
            }
        }
        events
    }

    proptest! {
        #[test]
        fn what_is_printed_is_parsed_to_the_same(
            (is_run, folder, limit) in (any::<bool>(), "[a-z,/]{1,8}", any::<Option<u64>>()),
            (include, models, sweep) in
                (prop::collection::vec("[a-z.]{1,4}\\*?", 0..3), prop::collection::vec("[a-z,]{1,4}", 0..3), any::<Option<u32>>()),
            (bits, filters) in (any::<u8>(), prop::sample::subsequence(&Filter::ALL[..], 0..=3)),
            (first, count, plan) in (any::<Option<u32>>(), any::<Option<u32>>(), "[a-z,]{0,3}"),
        ) {
            let destination = if is_run { Destination::Run } else { Destination::Folder };
            let spec = RecordingSpec {
                include,
                elements: ElementRange { first, count },
                planned_fields: Some(plan).filter(|plan| !plan.is_empty()).map(PathBuf::from),
                ..RecordingSpec::default()
            };
            let options = AgentOptions {
                destination: destination(folder.into()),
                limit,
                models: models.into_iter().map(PathBuf::from).collect(),
                spec: spec.with(events_of(bits)).with_filters(filters.into_iter().collect()),
                sweep,
            };
            prop_assert_eq!(parse(&options.to_string()), Ok(options));
        }

        #[test]
        fn nothing_panics(text in ".{0,40}") {
            let _ = parse(&text);
        }
    }
}
