//! What has to be recorded, from what the chosen analyses need and what the user wants besides.

use unsnarl_events::{EventKind, Filter, Filters};
use unsnarl_recording::{RecordedEvents, RecordingSpec};

use crate::Needs;

/// What the user wants, whatever the analyses need.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// The classes, the elements of arrays and the fields that are watched; the rest of it is not looked at.
    pub watched: RecordingSpec,
    /// Leave the elements of arrays out, even if an analysis looks at them.
    pub no_arrays: bool,
    /// Record methods, so that every report has the calls that led to it.
    pub methods: bool,
    /// Record who read whose write.
    pub exact: bool,
    /// Record what methods of a library do to the contents of their objects.
    pub contents: bool,
    /// Record every access, even those that no analysis would miss.
    pub no_filters: bool,
}

/// The recording that all of these needs can be met with, and no more than that.
#[must_use]
pub fn recording_spec(needs: &[Needs], choices: &Choices) -> RecordingSpec {
    let is_needed = |kind| needs.iter().any(|needs| needs.events.contains(kind));
    let fields = is_needed(EventKind::Access);
    let exact = choices.exact || needs.iter().any(|needs| needs.exact);
    let events = RecordedEvents {
        fields,
        arrays: fields && !choices.no_arrays,
        synchronization: true,
        methods: choices.methods || is_needed(EventKind::Method),
        allocations: is_needed(EventKind::Allocation),
        references: is_needed(EventKind::Reference),
        // An exact recording also shows through which collection an object came to a thread.
        contents: choices.contents || exact,
        exact,
    };
    let is_tolerated = |&filter: &Filter| needs.iter().all(|needs| needs.tolerates(filter));
    let filters: Filters = match choices.no_filters {
        true => Filters::NONE,
        false => Filter::ALL.into_iter().filter(is_tolerated).collect(),
    };
    choices.watched.clone().with(events).with_filters(filters)
}

#[cfg(test)]
mod tests {
    use unsnarl_events::EventKinds;

    use super::*;

    const ACCESSES: Needs = Needs {
        events: EventKinds::of(&[EventKind::Access, EventKind::Lock]),
        tolerates: Filters::of(&[Filter::Epoch, Filter::Escape]),
        exact: false,
        array_ranges: true,
        every_access: true,
        handles_retirement: true,
    };
    const METHODS: Needs = Needs {
        events: EventKinds::of(&[EventKind::Lock, EventKind::Method]),
        tolerates: Filters::NONE,
        ..ACCESSES
    };

    #[test]
    fn a_recording_has_what_somebody_needs() {
        let choices = Choices::default();
        let spec = recording_spec(&[ACCESSES], &choices);
        assert_eq!(spec, RecordingSpec::default());
        let methods = recording_spec(&[METHODS], &choices).events;
        let expected = RecordedEvents { methods: true, ..RecordedEvents::SYNCHRONIZATION };
        assert_eq!(methods, expected);
        let both = recording_spec(&[ACCESSES, METHODS], &choices);
        assert_eq!(both.events, RecordedEvents { methods: true, ..RecordedEvents::ACCESSES });
        assert_eq!(both.filters, spec.filters, "who looks at no accesses misses none");
    }

    #[test]
    fn filters_are_used_if_all_tolerate_them() {
        let owned = Needs { tolerates: Filters::of(&[Filter::Escape, Filter::Owner]), ..ACCESSES };
        let filters = |needs: &[Needs], choices: &Choices| recording_spec(needs, choices).filters;
        let choices = Choices::default();
        assert_eq!(filters(&[owned], &choices), owned.tolerates);
        assert_eq!(filters(&[owned, ACCESSES], &choices), Filters::of(&[Filter::Escape]));
        let everything = Choices { no_filters: true, ..Choices::default() };
        assert_eq!(filters(&[owned], &everything), Filters::NONE);
        let exact = Needs { exact: true, ..ACCESSES };
        assert_eq!(filters(&[exact], &choices), Filters::of(&[Filter::Escape]));
    }

    #[test]
    fn the_user_adds_and_takes_away() {
        let choices = Choices { methods: true, no_arrays: true, ..Choices::default() };
        let events = recording_spec(&[ACCESSES], &choices).events;
        assert!(events.methods && events.fields && !events.arrays && !events.contents);
        let exact = Choices { exact: true, ..Choices::default() };
        let events = recording_spec(&[ACCESSES], &exact).events;
        assert!(events.exact && events.contents);
    }
}
