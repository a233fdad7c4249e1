//! Accesses at places that do nothing else. They are nearly all events: what is known of such a place is found by its
//! number at once.

use super::calls::Emit;
use super::{Strided, Translator};
use crate::session::chunks::RawEvent;
use crate::session::format::Kind;
use crate::{Event, FieldId, Operation, Problems, SiteId};

/// Places with larger numbers are not of this recorder, or damaged.
const MOST_PLACES: usize = 1 << 22;

/// Places, by their numbers, that access elements or a field that is not volatile, in code that needs no class to be
/// initialized.
#[derive(Debug, Default)]
pub(super) struct PlainPlaces(Vec<Option<PlainPlace>>);

#[derive(Clone, Copy, Debug)]
struct PlainPlace {
    site: SiteId,
    /// None if it accesses elements.
    field: Option<FieldId>,
}

impl PlainPlaces {
    fn get(&self, number: u32) -> Option<PlainPlace> {
        self.0.get(number as usize).copied().flatten()
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
        let PlainPlaces(places) = &mut self.plain;
        if index >= places.len() {
            places.resize(index + 1, None);
        }
        places[index] = Some(PlainPlace { site, field });
    }

    /// Does all that [`translate`](Self::translate) does, if the event is at such a place and nobody wants to know
    /// which methods threads are in. Whether it is so.
    #[inline]
    pub(super) fn plain_access(
        &mut self,
        number: u64,
        event: &RawEvent,
        out: &mut Vec<Event>,
        problems: &mut Problems,
    ) -> bool {
        let Some(PlainPlace { site, field }) = self.plain.get(event.site) else { return false };
        if !self.stacks.are_empty() {
            return false;
        }
        let [first, second] = event.words;
        let write = matches!(event.kind, Kind::FieldWrite | Kind::ArrayWrite);
        match (event.kind, field) {
            (Kind::FieldRead | Kind::FieldWrite, Some(field)) => {
                let thread = self.thread(number);
                let object = self.accessed(first);
                let variable = self.field_variable(object, field);
                let operation =
                    if write { Operation::Write(variable) } else { Operation::Read(variable) };
                out.push(Event { thread, site, operation });
            }
            (Kind::ArrayRead | Kind::ArrayWrite, None) => {
                let mut emit = Emit { thread: self.thread(number), site, out, problems };
                let array = self.accessed(first);
                self.elements(array, Strided::from_word(second), write, &mut emit);
            }
            _ => return false,
        }
        true
    }
}
