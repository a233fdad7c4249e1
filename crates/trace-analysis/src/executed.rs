//! Which places in the code a trace has been to, and in which threads.
//!
//! A place is a line of a method. It counts if anything was recorded there, whatever that was; a recording that leaves
//! out accesses which say nothing new leaves out places with them.

use std::collections::{BTreeMap, BTreeSet};

use unsnarl_entity::SecondaryMap;
use unsnarl_events::{Event, SiteId, Tables, ThreadId};
use unsnarl_findings::Frame;

use crate::describe;

/// How many threads a place remembers: more than two are as good as two.
const MOST_THREADS: usize = 2;

/// The places of one trace.
#[derive(Debug, Default)]
pub struct Executed {
    threads: SecondaryMap<SiteId, [Option<ThreadId>; MOST_THREADS]>,
}

impl Executed {
    /// Takes in events.
    pub fn on_all(&mut self, events: &[Event]) {
        for event in events {
            let known = &mut self.threads[event.site];
            let is_free = |it: &&mut Option<ThreadId>| it.is_none_or(|it| it == event.thread);
            if let Some(place) = known.iter_mut().find(is_free) {
                *place = Some(event.thread);
            }
        }
    }

    /// The places as findings name them.
    #[must_use]
    pub fn places(&self, tables: &Tables) -> Places {
        let mut places = Places::default();
        for (site, threads) in self.threads.iter().filter(|(_, threads)| threads[0].is_some()) {
            let names = threads.iter().flatten().map(|&it| describe::thread(it, tables));
            let place = without_file(&describe::frame(site, tables));
            places.0.entry(place).or_default().extend(names);
        }
        places
    }
}

/// Places in the code, of several traces perhaps, with the names of some of the threads that have been there.
#[derive(Clone, Debug, Default)]
pub struct Places(BTreeMap<Frame, BTreeSet<String>>);

impl Places {
    /// The threads that have been at a place; none if it was not executed.
    #[must_use]
    pub fn threads_at(&self, place: &Frame) -> Option<&BTreeSet<String>> {
        self.0.get(&without_file(place))
    }

    /// Takes in the places of another trace.
    pub fn extend(&mut self, other: Self) {
        for (place, threads) in other.0 {
            self.0.entry(place).or_default().extend(threads);
        }
    }
}

/// Method and line, which is what distinguishes sites.
fn without_file(frame: &Frame) -> Frame {
    match frame {
        Frame::Code { method, line, .. } => {
            Frame::Code { method: method.clone(), file: None, line: *line }
        }
        location => location.clone(),
    }
}

#[cfg(test)]
mod tests {
    use unsnarl_entity::EntityId;
    use unsnarl_events::{Operation, Sites, Thread};

    use super::*;

    #[test]
    fn places_know_some_of_their_threads() {
        let mut tables = Tables { sites: Sites::Numbered, ..Tables::default() };
        for name in ["a", "b", "c"] {
            let name = tables.names.intern(name.as_bytes());
            tables.threads.push(Thread { name });
        }
        let event = |(thread, site)| Event {
            thread: ThreadId::from_index(thread),
            site: SiteId::from_index(site),
            operation: Operation::Start,
        };
        let mut executed = Executed::default();
        executed.on_all(&[(0, 7), (0, 7), (1, 7), (2, 7), (2, 9)].map(event));
        let mut places = executed.places(&tables);
        places.extend(Executed::default().places(&tables));
        let threads = |location| {
            let threads = places.threads_at(&Frame::Location(location))?;
            Some(threads.iter().map(String::as_str).collect::<Vec<_>>())
        };
        assert_eq!(threads(7), Some(vec!["a", "b"]));
        assert_eq!(threads(8), None);
        assert_eq!(threads(9), Some(vec!["c"]));
    }
}
