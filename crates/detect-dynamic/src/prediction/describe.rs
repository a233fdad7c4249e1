//! A reordering in words.

use unsnarl_events::Tables;
use unsnarl_trace_analysis::describe::{frame, place, thread};

use super::window::Window;

/// How many threads are named.
const NAMED: usize = 4;

/// How far every thread goes, for events in the order of the trace.
pub(crate) fn describe(window: &Window, order: &[u32], tables: &Tables) -> String {
    let mut last = vec![None; window.thread_count()];
    for &position in order {
        last[window.places[position as usize].thread] = Some(position);
    }
    let goes = last.into_iter().flatten().map(|position| {
        let event = window.events[position as usize];
        format!("{} up to {}", thread(event.thread, tables), place(&frame(event.site, tables)))
    });
    let goes: Vec<String> = goes.collect();
    let more = goes.len().saturating_sub(NAMED);
    let named = goes.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    match (order.len(), more) {
        (0, _) => "it can happen at once".to_owned(),
        (count, 0) => format!("it can happen behind {count} events of the run: {named}"),
        (count, more) => {
            format!(
                "it can happen behind {count} events of the run: {named}, and {more} more threads"
            )
        }
    }
}
