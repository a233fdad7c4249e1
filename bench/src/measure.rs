//! Time and memory.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// The shortest time, in seconds, that `work` takes in three runs.
pub(crate) fn best_of_three(mut work: impl FnMut()) -> f64 {
    let run = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..3).map(run).fold(f64::INFINITY, f64::min)
}

/// The shortest processor time, in seconds, that `work` takes in three runs in this thread: other work on the machine
/// disturbs it less than the time by the clock, which is used where the system does not have this one.
pub(crate) fn processor_of_three(mut work: impl FnMut()) -> f64 {
    let nanoseconds = || {
        let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        statistics.split_whitespace().next()?.parse::<f64>().ok()
    };
    let run = |_| {
        let (start, before) = (Instant::now(), nanoseconds());
        work();
        match (before, nanoseconds()) {
            (Some(before), Some(after)) if after > before => (after - before) / 1e9,
            _ => start.elapsed().as_secs_f64(),
        }
    };
    (0..3).map(run).fold(f64::INFINITY, f64::min)
}

/// The highest amount of memory, in bytes, that this process has had so far, as Linux tells.
pub(crate) fn peak_memory() -> Option<u64> {
    highest(&std::fs::read_to_string("/proc/self/status").ok()?)
}

/// The mark of the highest amount of memory in the status of a process.
fn highest(status: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// The time on all processors of the processes that this one has waited for, and of those that they have waited for.
fn time_of_children() -> f64 {
    times(13)
}

/// The time that this process has taken on all processors.
pub(crate) fn own_time() -> f64 {
    times(11)
}

/// The sum of two times, in seconds, that Linux reports for this process from a place on.
fn times(place: usize) -> f64 {
    let statistics = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = statistics.rsplit_once(')').map_or("", |(_, fields)| fields);
    let times = fields.split_whitespace().skip(place).take(2);
    times.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The memory that this process has of its own now, mapped files aside.
pub(crate) fn own_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// What a process took.
pub(crate) struct Run {
    /// From its start to its end.
    pub(crate) seconds: f64,
    /// On all processors, in seconds, with the processes that it has waited for.
    pub(crate) processor: f64,
    /// The most memory it had, in bytes, as last seen at most a few milliseconds before its end.
    pub(crate) peak: u64,
    /// Its exit code; nothing if it was killed, also by the limit.
    pub(crate) code: Option<i32>,
}

/// Runs a command to its end, or kills it after `limit`.
pub(crate) fn run(command: &mut Command, limit: Duration) -> std::io::Result<Run> {
    let start = Instant::now();
    let mut child = command.spawn()?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let before = time_of_children();
    let mut peak = 0;
    loop {
        // The mark only ever rises, and it is gone with the process: look often.
        peak =
            std::fs::read_to_string(&status).ok().and_then(|text| highest(&text)).unwrap_or(peak);
        let seconds = start.elapsed().as_secs_f64();
        if let Some(code) = child.try_wait()? {
            let processor = time_of_children() - before;
            return Ok(Run { seconds, processor, peak, code: code.code() });
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            let processor = time_of_children() - before;
            return Ok(Run { seconds, processor, peak, code: None });
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
