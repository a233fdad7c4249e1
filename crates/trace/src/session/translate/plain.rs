//! Accesses at places that do nothing else. They are nearly all events: what is known of such a place is found by its
//! number at once, and the words of events are taken as they stand.

use rustc_hash::FxHashMap;
use unsnarl_entity::EntityId;

use super::calls::Emit;
use super::ids::Member;
use super::{Strided, Translator};
use crate::session::chunks::RawEvents;
use crate::session::format::Kind;
use crate::{Event, FieldId, Operation, Problems, SiteId};

/// Places with larger numbers are not of this recorder, or damaged.
const MOST_PLACES: usize = 1 << 22;
/// So many words before the id of an object memory is asked for what is known of it. Accesses to fields have two words and
/// those to elements three: in the midst of either kind an id stands so many words behind an id.
const AHEAD: usize = 30;

/// Places, by their numbers, that access elements or a field that is not volatile, in code that needs no class to be
/// initialized.
#[derive(Debug, Default)]
pub(super) struct PlainPlaces(Vec<PlainPlace>);

#[derive(Clone, Copy, Debug)]
struct PlainPlace {
    site: SiteId,
    accesses: Accesses,
}

#[derive(Clone, Copy, Debug)]
enum Accesses {
    /// Nothing, or it is not known yet.
    Unknown,
    Field(Member),
    Elements,
}

/// The sites of places, by their numbers.
#[derive(Debug, Default)]
pub(super) struct SiteIds {
    /// One more than the index of the site; 0 if there is none.
    near: Vec<u32>,
    others: FxHashMap<u32, SiteId>,
}

impl SiteIds {
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<SiteId> {
        match self.near.get(number as usize) {
            Some(site) => Some(SiteId::from_index(site.checked_sub(1)? as usize)),
            None => self.others.get(&number).copied(),
        }
    }

    pub(super) fn insert(&mut self, number: u32, site: SiteId) {
        let index = number as usize;
        if index >= MOST_PLACES {
            self.others.insert(number, site);
            return;
        }
        if index >= self.near.len() {
            self.near.resize(index + 1, 0);
        }
        self.near[index] = site.index() as u32 + 1;
    }
}

impl Translator {
    /// The place may be one of these: an event of it was translated, which accesses the field, or elements if there is
    /// none.
    pub(super) fn learn_plain(&mut self, number: u32, site: SiteId, field: Option<FieldId>) {
        let index = number as usize;
        if index >= MOST_PLACES || !self.initialized_at[site].is_empty() {
            return;
        }
        let accesses = match field {
            None => Accesses::Elements,
            Some(field) => match self.groups.member(field, self.tables.fields[field]) {
                Some(member) => Accesses::Field(member),
                None => return,
            },
        };
        let PlainPlaces(places) = &mut self.plain;
        if index >= places.len() {
            places.resize(index + 1, PlainPlace { site, accesses: Accesses::Unknown });
        }
        places[index] = PlainPlace { site, accesses };
    }

    /// Does all that [`translate`](Self::translate) does, as long as events are at such places and nobody wants to know
    /// which methods threads are in. What is left of the events. `later` are the thread's next ones: their objects are
    /// looked up soon as well.
    pub(super) fn plain_accesses<'w>(
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
        let RawEvents(mut rest) = events;
        let is_access = |first: &u64| matches!(*first as u8, FIELD_READ..=ARRAY_WRITE);
        if !self.stacks.are_empty() || !rest.first().is_some_and(is_access) {
            return events;
        }
        let thread = self.thread(number);
        out.reserve(rest.len() / 2);
        while let [first, id, behind @ ..] = rest {
            let Some(&PlainPlace { site, accesses }) =
                self.plain.0.get((first >> 8) as u32 as usize)
            else {
                break;
            };
            let ahead = match behind.get(AHEAD - 1) {
                None => later.0.get(AHEAD - 1 - behind.len()),
                found => found,
            };
            if let Some(&ahead) = ahead {
                self.objects.prefetch(ahead);
            }
            match (*first as u8, accesses) {
                (kind @ (FIELD_READ | FIELD_WRITE), Accesses::Field(member)) => {
                    let variable = match self.objects.accessed(*id, member) {
                        Some(variable) => variable,
                        None => {
                            let object = self.accessed(*id);
                            self.member_variable(object, member)
                        }
                    };
                    let operation = match kind {
                        FIELD_READ => Operation::Read(variable),
                        _ => Operation::Write(variable),
                    };
                    out.push(Event { thread, site, operation });
                    rest = behind;
                }
                (kind @ (ARRAY_READ | ARRAY_WRITE), Accesses::Elements) => {
                    let [elements, behind @ ..] = behind else { break };
                    let mut emit = Emit { thread, site, out, problems };
                    let array = self.accessed(*id);
                    self.elements(
                        array,
                        Strided::from_word(*elements),
                        kind == ARRAY_WRITE,
                        &mut emit,
                    );
                    rest = behind;
                }
                _ => break,
            }
        }
        RawEvents(rest)
    }
}
