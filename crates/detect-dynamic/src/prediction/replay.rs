//! Whether a reordering is one: looked at event by event, by the constraints of the trace and by nothing else. What is
//! reported was checked by this.

use rustc_hash::FxHashMap;
use unsnarl_trace::{LockId, Operation, ThreadId, VariableId};

use super::window::{HeldLocks, Mode, Step, Window};

/// What the threads of a reordering can do next.
#[derive(Debug)]
pub(crate) struct Enabled {
    /// How many events of each thread, by its number in the window, have happened.
    done: Vec<usize>,
    held: HeldLocks,
}

impl Enabled {
    /// Whether an event comes next in its thread.
    pub(crate) fn is_next(&self, window: &Window, position: u32) -> bool {
        let place = window.places[position as usize];
        self.done[place.thread] + 1 == place.local as usize
    }

    /// Whether a thread holds a lock that another one wants in this way.
    pub(crate) fn excludes(&self, thread: ThreadId, lock: LockId, wanted: Mode) -> bool {
        self.held.of(thread).any(|(held, mode, _)| held == lock && mode.excludes(wanted))
    }
}

/// Goes through a reordering of events of a window. None if it breaks a constraint: the order of a thread, that a read reads
/// from the write that it read from, that locks exclude each other, that what is received, joined or woken up by has
/// happened, and nothing else of it.
pub(crate) fn replay(window: &Window, order: &[u32]) -> Option<Enabled> {
    let origins = Origins::of(window);
    let mut enabled = Enabled { done: vec![0; window.thread_count()], held: window.held.clone() };
    let mut holders: FxHashMap<LockId, Vec<(ThreadId, Mode)>> = FxHashMap::default();
    for place in &window.by_thread {
        let thread = window.events[place[0] as usize].thread;
        for (lock, mode, _) in window.held.of(thread) {
            holders.entry(lock).or_default().push((thread, mode));
        }
    }
    let mut seen = Seen::default();
    for &position in order {
        let event = window.events.get(position as usize)?;
        if !enabled.is_next(window, position)
            || seen.of(window, position) != origins.of_event[position as usize]
            || !has_started(window, &enabled, position)
            || !has_ended(window, &enabled, position)
        {
            return None;
        }
        enabled.done[window.places[position as usize].thread] += 1;
        match enabled.held.on(event, position) {
            Some(Step::Begins(lock, mode)) => {
                let holders = holders.entry(lock).or_default();
                let is_free = holders
                    .iter()
                    .all(|(thread, other)| *thread == event.thread || !mode.excludes(*other));
                if !is_free {
                    return None;
                }
                holders.push((event.thread, mode));
            }
            Some(Step::Ends(lock, mode)) => {
                let holders = holders.entry(lock).or_default();
                holders.retain(|holder| *holder != (event.thread, mode));
            }
            None => {}
        }
        seen.add(event.operation, position);
    }
    Some(enabled)
}

/// What an event that looks at others finds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Finds {
    Nothing,
    Write(Option<u32>),
    Count(usize),
}

/// What has been written, sent and notified so far.
#[derive(Default)]
struct Seen {
    writes: FxHashMap<VariableId, u32>,
    sent: FxHashMap<unsnarl_trace::ChannelId, usize>,
    notified: FxHashMap<LockId, usize>,
}

impl Seen {
    fn add(&mut self, operation: Operation, position: u32) {
        match operation {
            Operation::Write(variable) => {
                self.writes.insert(variable, position);
            }
            Operation::Send(channel) => *self.sent.entry(channel).or_default() += 1,
            Operation::Notify(lock) => *self.notified.entry(lock).or_default() += 1,
            _ => {}
        }
    }

    fn of(&self, window: &Window, position: u32) -> Finds {
        match window.events[position as usize].operation {
            Operation::Read(variable) => Finds::Write(self.writes.get(&variable).copied()),
            Operation::Receive(channel) => {
                Finds::Count(self.sent.get(&channel).copied().unwrap_or(0))
            }
            Operation::Wake(lock) => Finds::Count(self.notified.get(&lock).copied().unwrap_or(0)),
            _ => Finds::Nothing,
        }
    }
}

/// What every event found in the trace itself.
struct Origins {
    of_event: Vec<Finds>,
}

impl Origins {
    fn of(window: &Window) -> Self {
        let mut seen = Seen::default();
        let of_event = (0..).zip(&window.events).map(|(position, event)| {
            let finds = seen.of(window, position);
            seen.add(event.operation, position);
            finds
        });
        Self { of_event: of_event.collect() }
    }
}

/// Whether what starts the thread of an event, if that is in the window before its first event, has happened.
fn has_started(window: &Window, enabled: &Enabled, position: u32) -> bool {
    let place = window.places[position as usize];
    if place.local > 1 {
        return true;
    }
    let thread = window.events[position as usize].thread;
    let forks = window.events[..position as usize]
        .iter()
        .enumerate()
        .filter(|(_, event)| matches!(event.operation, Operation::Fork(child) if child == thread));
    forks.into_iter().all(|(fork, _)| {
        let fork = window.places[fork];
        enabled.done[fork.thread] >= fork.local as usize
    })
}

/// Whether all that a thread did before it was joined has happened.
fn has_ended(window: &Window, enabled: &Enabled, position: u32) -> bool {
    let Operation::Join(child) = window.events[position as usize].operation else { return true };
    window.events[..position as usize].iter().zip(&window.places).all(|(event, place)| {
        event.thread != child || enabled.done[place.thread] >= place.local as usize
    })
}
