//! What a command says while it works: its phases, warnings, and details for those who ask for them.

use std::time::Instant;

/// Receives what a command says while it works.
pub trait Feedback {
    /// What is being done now; none when nothing is. Text after a colon is detail that changes often.
    fn progress(&self, phase: Option<&str>);

    /// Something that the user should know although it does not stop the work.
    fn warn(&self, message: &str);

    /// Something that only those want to know who ask for it.
    fn detail(&self, message: &str);
}

/// Drops everything.
pub struct Silent;

impl Feedback for Silent {
    fn progress(&self, _: Option<&str>) {}

    fn warn(&self, _: &str) {}

    fn detail(&self, _: &str) {}
}

/// Times the phases of an analysis and reports them as progress.
pub struct Phases<'f> {
    feedback: &'f dyn Feedback,
    done: Vec<(String, f64)>,
    current: Option<(String, Instant)>,
}

impl<'f> Phases<'f> {
    /// Starts without a phase.
    #[must_use]
    pub fn new(feedback: &'f dyn Feedback) -> Self {
        Self { feedback, done: Vec::new(), current: None }
    }

    /// Starts a phase. Text after a colon is detail: the same phase with another detail goes on.
    pub fn enter(&mut self, what: &str) {
        let phase = what.split(':').next().unwrap_or(what);
        if self.current.as_ref().is_none_or(|(current, _)| current != phase) {
            self.end_current();
            self.current = Some((phase.to_owned(), Instant::now()));
        }
        self.feedback.progress(Some(what));
    }

    /// Ends the last phase. Returns all of them, each once, in the order in which they began, with their seconds.
    pub fn finish(mut self) -> Vec<(String, f64)> {
        self.end_current();
        self.feedback.progress(None);
        std::mem::take(&mut self.done)
    }

    fn end_current(&mut self) {
        let Some((phase, began)) = self.current.take() else { return };
        let seconds = began.elapsed().as_secs_f64();
        match self.done.iter_mut().find(|(done, _)| *done == phase) {
            Some((_, sum)) => *sum += seconds,
            None => self.done.push((phase, seconds)),
        }
    }
}

/// An analysis that fails ends its phase.
impl Drop for Phases<'_> {
    fn drop(&mut self) {
        if self.current.is_some() {
            self.feedback.progress(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Phases, Silent};

    #[test]
    fn a_phase_is_timed_once_however_often_it_is_entered() {
        let mut phases = Phases::new(&Silent);
        for what in ["reading", "heap", "heap: 10 methods", "execution", "heap: again"] {
            phases.enter(what);
        }
        let done = phases.finish();
        let names: Vec<&str> = done.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["reading", "heap", "execution"]);
    }
}
