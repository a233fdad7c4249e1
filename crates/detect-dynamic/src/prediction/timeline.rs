//! What two threads of a window did to synchronize around two accesses.

use unsnarl_events::{Operation, Tables};
use unsnarl_findings::TimelineStep;

use super::window::{Section, Window};
use crate::reporting::timeline::{self, Dead, Lane, REMEMBERED, Taken};

/// The last steps of both threads before the later access, in the order of the run.
pub(crate) fn timeline(window: &Window, pair: [u32; 2], tables: &Tables) -> Vec<TimelineStep> {
    let lanes = pair.map(|access| {
        let thread = window.places[access as usize].thread;
        let own = window.by_thread[thread].iter().copied();
        let before = own.rev().skip_while(|&position| position > pair[1]);
        let steps = before.filter(|&position| !enters_again(window, position));
        let steps = steps.filter_map(|position| taken(window, position));
        let mut steps: Vec<Taken> = steps.take(REMEMBERED).collect();
        let is_full = steps.len() == REMEMBERED;
        if !is_full {
            let [start, _] = window.needs[access as usize];
            steps.extend(start.and_then(|start| taken(window, start)));
        }
        steps.reverse();
        let access = u64::from(access);
        let is_behind_gap = is_full && steps.first().is_some_and(|step| step.order() > access);
        Lane { thread: window.thread(thread), access, is_behind_gap, steps }
    });
    timeline::timeline(&lanes, &Dead::new(), tables)
}

fn taken(window: &Window, position: u32) -> Option<Taken> {
    Taken::new(&window.events[position as usize], u64::from(position))
}

/// Whether an event acquires or releases a lock that its thread holds before and after it.
fn enters_again(window: &Window, position: u32) -> bool {
    let thread = window.places[position as usize].thread;
    let is_bound = |section: &Section| [section.acquire, section.release].contains(&Some(position));
    let lock = match window.events[position as usize].operation {
        Operation::Acquire(lock) | Operation::AcquireShared(lock) => lock,
        Operation::Release(lock) | Operation::ReleaseShared(lock) => lock,
        _ => return false,
    };
    let sections = window.sections.get(&lock).into_iter().flatten();
    let mut own = sections.filter(|sections| sections.thread == thread);
    !own.any(|sections| sections.all.iter().any(is_bound))
}
