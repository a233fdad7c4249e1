//! The phases of an analysis: shown while they run, if somebody is looking, and timed.

use std::io::{self, Write};
use std::time::Instant;

/// Follows an analysis through its phases.
pub(crate) struct Phases {
    is_shown: bool,
    done: Vec<(String, f64)>,
    current: Option<(String, Instant)>,
}

/// Back to the beginning of the line, which is then empty.
const CLEAR: &str = "\r\x1b[K";

impl Phases {
    /// Begins. Nothing is shown unless `is_shown`.
    pub(crate) fn new(is_shown: bool) -> Self {
        Self { is_shown, done: Vec::new(), current: None }
    }

    /// Tells what is being done. What comes behind a colon is detail; the same phase with another
    /// detail goes on.
    pub(crate) fn enter(&mut self, what: &str) {
        let phase = what.split(':').next().unwrap_or(what);
        if self.current.as_ref().is_none_or(|(current, _)| current != phase) {
            self.end_current();
            self.current = Some((phase.to_owned(), Instant::now()));
        }
        self.show(&format!("{CLEAR}unsnarl: {what} …"));
    }

    /// Ends the last phase. What was shown is wiped away.
    pub(crate) fn finish(&mut self) {
        self.end_current();
        self.show(CLEAR);
    }

    /// The phases that have ended, each once, in the order in which they began, with their seconds.
    pub(crate) fn seconds(&self) -> &[(String, f64)] {
        &self.done
    }

    fn end_current(&mut self) {
        let Some((phase, began)) = self.current.take() else { return };
        let seconds = began.elapsed().as_secs_f64();
        match self.done.iter_mut().find(|(done, _)| *done == phase) {
            Some((_, sum)) => *sum += seconds,
            None => self.done.push((phase, seconds)),
        }
    }

    fn show(&self, text: &str) {
        if self.is_shown {
            let mut stream = io::stderr().lock();
            // A terminal that is gone needs no progress.
            let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
        }
    }
}

/// An analysis that fails leaves no half line behind.
impl Drop for Phases {
    fn drop(&mut self) {
        if self.current.is_some() {
            self.show(CLEAR);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Phases;

    #[test]
    fn a_phase_is_timed_once_however_often_it_is_entered() {
        let mut phases = Phases::new(false);
        for what in ["reading", "heap", "heap: 10 methods", "execution", "heap: again"] {
            phases.enter(what);
        }
        phases.finish();
        let names: Vec<&str> = phases.seconds().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["reading", "heap", "execution"]);
    }
}
