//! The fast path: accesses and monitors at sites that do nothing else. They are nearly all events. What is known of such a
//! site is found by its number at once, and the words of events are taken as they are.
//!
//! This is a second translator for these events; a test keeps it equal to the first. What it gains, by callgrind: reading a
//! recording without it takes 4.1 times the instructions for `bench/programs/tree`, 2.8 times for `moldyn` and 1.4 times for
//! `warehouse`, which calls the library a lot (all recorded without filters).

use unsnarl_events::{Event, FieldId, Operation, Problems, SiteId};
use unsnarl_recording::chunks::RawEvents;
use unsnarl_recording::format::Kind;

use super::Translator;
use super::emitter::{Emitter, Strided};
use super::ids::{MOST_SITES, Member};
use super::resolver::Resolver;

/// Prefetch distance, in words. Accesses to fields have two words and those to elements three: within a run of either kind,
/// so many words after an id comes another id.
const PREFETCH_DISTANCE: usize = 30;
/// What is known of so many objects stays in a cache by itself.
const FEW_OBJECTS: usize = 1 << 15;

/// Sites, by their numbers, that access elements or a field that is not volatile, or acquire and release monitors.
#[derive(Debug, Default)]
pub(super) struct PlainSites(Vec<PlainSite>);

#[derive(Clone, Copy, Debug)]
struct PlainSite {
    site: SiteId,
    accesses: Accesses,
    /// Whether its code needs classes to be initialized.
    needs_classes: bool,
}

#[derive(Clone, Copy, Debug)]
enum Accesses {
    /// It is not known yet, or the site is not plain.
    Unknown,
    /// Nothing but monitors, as far as is known.
    Nothing,
    Field(Member),
    Elements,
}

/// What an event of a plain site is about.
pub(super) enum PlainEvent {
    Field(FieldId),
    Elements,
    Monitor,
}

impl PlainSites {
    /// Learns from an event that was translated that its site is plain.
    pub(super) fn learn(
        &mut self,
        number: u32,
        site: SiteId,
        event: PlainEvent,
        resolver: &mut Resolver,
    ) {
        let index = number as usize;
        if index >= MOST_SITES {
            return;
        }
        let accesses = match event {
            PlainEvent::Monitor => Accesses::Nothing,
            PlainEvent::Elements => Accesses::Elements,
            PlainEvent::Field(field) => match resolver.member(field) {
                Some(member) => Accesses::Field(member),
                None => return,
            },
        };
        let Self(sites) = self;
        if index >= sites.len() {
            let unknown = PlainSite { site, accesses: Accesses::Unknown, needs_classes: false };
            sites.resize(index + 1, unknown);
        }
        let needs_classes = !resolver.sites.needed_classes(site).is_empty();
        sites[index] = PlainSite { site, accesses, needs_classes };
    }
}

impl Translator {
    /// Does all that [`translate`](Self::translate) does, as long as events are at plain sites whose classes the thread knows
    /// to be initialized, and no methods are entered and left. Returns the rest of the events. `later` are the thread's
    /// next ones: their objects are looked up soon as well.
    pub(super) fn translate_plain<'w>(
        &mut self,
        number: u64,
        events: RawEvents<'w>,
        later: RawEvents<'_>,
        out: &mut Vec<Event>,
        problems: &mut Problems,
    ) -> RawEvents<'w> {
        const FIELD_READ: u8 = Kind::FieldRead as u8;
        const FIELD_WRITE: u8 = Kind::FieldWrite as u8;
        const ARRAY_READ: u8 = Kind::ArrayRead as u8;
        const ARRAY_WRITE: u8 = Kind::ArrayWrite as u8;
        const MONITOR_ENTER: u8 = Kind::MonitorEnter as u8;
        const MONITOR_EXIT: u8 = Kind::MonitorExit as u8;
        let RawEvents(mut rest) = events;
        let may_be_plain = |first: &u64| matches!(*first as u8, FIELD_READ..=MONITOR_EXIT);
        if !self.stacks.are_empty() || !rest.first().is_some_and(may_be_plain) {
            return events;
        }
        let Self { resolver, initializers, plain: PlainSites(plain), .. } = self;
        let prefetches = resolver.tables.objects.len() > FEW_OBJECTS;
        let thread = resolver.thread(number);
        out.reserve(rest.len() / 2);
        while let [first, id, after @ ..] = rest {
            let Some(&PlainSite { site, accesses, needs_classes }) =
                plain.get((first >> 8) as u32 as usize)
            else {
                break;
            };
            if needs_classes && !initializers.is_settled(thread, site) {
                break;
            }
            if prefetches {
                let ahead = match after.get(PREFETCH_DISTANCE - 1) {
                    None => later.0.get(PREFETCH_DISTANCE - 1 - after.len()),
                    found => found,
                };
                if let Some(&ahead) = ahead {
                    resolver.objects.prefetch(ahead);
                }
            }
            match (*first as u8, accesses) {
                (kind @ (FIELD_READ | FIELD_WRITE), Accesses::Field(member)) => {
                    let variable = match resolver.objects.accessed(*id, member) {
                        Some(variable) => variable,
                        None => {
                            let object = resolver.accessed(*id);
                            resolver.member_variable(object, *id, member)
                        }
                    };
                    let operation = match kind {
                        FIELD_READ => Operation::Read(variable),
                        _ => Operation::Write(variable),
                    };
                    out.push(Event { thread, site, operation });
                    rest = after;
                }
                (kind @ (ARRAY_READ | ARRAY_WRITE), Accesses::Elements) => {
                    let [elements, after @ ..] = after else { break };
                    let array = resolver.accessed(*id);
                    let mut emit = Emitter { resolver, thread, site, out, problems };
                    emit.elements(array, Strided::from_word(*elements), kind == ARRAY_WRITE);
                    rest = after;
                }
                (MONITOR_ENTER | MONITOR_EXIT, Accesses::Unknown) => break,
                // After the number comes the object.
                (kind @ (MONITOR_ENTER | MONITOR_EXIT), _) => {
                    let [object, after @ ..] = after else { break };
                    let lock = resolver.lock(*object);
                    let operation = match kind {
                        MONITOR_ENTER => Operation::Acquire(lock),
                        _ => Operation::Release(lock),
                    };
                    out.push(Event { thread, site, operation });
                    rest = after;
                }
                _ => break,
            }
        }
        RawEvents(rest)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::{Arc, LazyLock};

    use proptest::prelude::*;
    use unsnarl_models::Models;

    use super::*;
    use crate::translate::descriptions::Descriptions;
    use unsnarl_recording::chunks::{RawEvent, write};
    use unsnarl_recording::records::SiteRecord;

    static MODELS: LazyLock<Arc<Models>> = LazyLock::new(|| Arc::new(Models::builtin()));

    /// Fields of two classes, one of which has more of them than a group, elements, a static and a volatile field; what is
    /// accessed in a constructor needs its class to be initialized. Two objects are atomic references.
    fn translator(keeps_elements: bool) -> Translator {
        let mut lines: Vec<String> = (1..=10)
            .map(|site| format!("{site}\tA\tm\t()V\t\t\tfield\tA\tf{site}\tI\tplain"))
            .collect();
        lines.extend(
            [
                "11\tB\tm\t()V\t\t\tfield\tB\tf\tI\tplain",
                "12\tA\tm\t()V\t\t\telement",
                "13\tA\tm\t()V\t\t\tfield\tB\tv\tI\tvolatile",
                "14\tA\t<init>\t()V\t\t\tfield\tA\tf1\tI\tplain",
                "15\tA\tm\t()V\t\t\tcall\tR\tget\t()Ljava/lang/Object;\tvirtual",
                "16\tA\t<init>\t()V\t\t\tcall\tR\tget\t()Ljava/lang/Object;\tvirtual",
                "17\tA\tm\t()V\t\t\tcall\tR\tset\t(Ljava/lang/Object;)V\tvirtual",
            ]
            .map(|line| line.replace("\tR\t", "\tjava/util/concurrent/atomic/AtomicReference\t")),
        );
        let mut descriptions = Descriptions::default();
        descriptions.class_names.insert(9, b"java.util.concurrent.atomic.AtomicReference".to_vec());
        for object in 1..3 {
            *descriptions.class_of.get_mut(object) = 9;
        }
        for line in lines {
            let site = SiteRecord::parse(line.as_bytes()).unwrap();
            descriptions.sites.insert(site.number.0, site);
        }
        let mut translator = Translator::new(descriptions, Arc::clone(&MODELS), false);
        if keeps_elements {
            translator.keep_elements();
        }
        translator
    }

    fn event() -> impl Strategy<Value = RawEvent> {
        use Kind::{
            ArrayRead, ArrayWrite, CallBegins, CallLooks, CallOperand, ClassInitialized, FieldRead,
            FieldWrite, MonitorEnter, MonitorExit, NumberedRead, Object, StaticWrite,
        };
        let kinds = [
            FieldRead,
            FieldRead,
            FieldWrite,
            FieldWrite,
            ArrayRead,
            ArrayWrite,
            MonitorEnter,
            MonitorEnter,
            MonitorExit,
            NumberedRead,
            Object,
            StaticWrite,
            ClassInitialized,
            CallBegins,
            CallLooks,
            CallLooks,
            CallOperand,
        ];
        let kind = prop::sample::select(kinds.to_vec());
        (kind, 0..20_u32, prop::array::uniform2(0..4_u64)).prop_map(|(kind, site, mut words)| {
            words[kind.words()..].fill(0);
            RawEvent { kind, site, words }
        })
    }

    /// Calls end at once, later or never.
    fn with_ends(events: Vec<(RawEvent, u32)>) -> Vec<RawEvent> {
        let mut calls = 0;
        let mut all = Vec::new();
        for (mut event, end) in events {
            if matches!(event.kind, Kind::CallBegins | Kind::CallLooks) {
                calls += 1;
                event.site = 15 + event.site % 3;
            }
            all.push(event);
            if end < 3 {
                let site = (calls + 1_u32).saturating_sub(end);
                all.push(RawEvent { kind: Kind::CallEnds, site, words: [0, u64::from(end)] });
            }
        }
        all
    }

    proptest! {
        #[test]
        fn the_fast_path_equals_the_other(
            events in prop::collection::vec((event(), 0..6_u32), 0..80).prop_map(with_ends),
            keeps_elements: bool,
        ) {
            let bytes: Vec<u8> = events.iter().flat_map(write::event).collect();
            let words: Vec<u64> =
                bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect();
            let nothing = RawEvents(&[]);
            let mut together = translator(keeps_elements);
            let (mut found, mut problems) = (Vec::new(), Problems::default());
            together.translate_all(7, RawEvents(&words), nothing, &mut found, &mut problems);

            let mut alone = translator(keeps_elements);
            let (mut expected, mut expected_problems) = (Vec::new(), Problems::default());
            for event in &events {
                alone.translate(7, event, nothing, &mut expected, &mut expected_problems);
            }
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(problems, expected_problems);
            let (tables, expected_tables) = (together.tables(), alone.tables());
            let accessed: BTreeSet<_> = found.iter().filter_map(|event| match event.operation {
                Operation::Read(it) | Operation::Write(it) => Some(it),
                _ => None,
            }).collect();
            for &variable in &accessed {
                prop_assert_eq!(
                    tables.variables[variable],
                    expected_tables.variables[variable]
                );
            }
            let different: BTreeSet<_> = accessed.iter()
                .map(|&variable| format!("{:?}", tables.variables[variable])).collect();
            prop_assert_eq!(different.len(), accessed.len());
            // Volatile variables are accessed, but not by such events.
            prop_assert!(tables.variable_count() >= accessed.len());
            prop_assert_eq!(tables.variable_count(), expected_tables.variable_count());
        }
    }
}
