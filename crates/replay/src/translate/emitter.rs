//! The output of the translator: events of a thread at a site.

use unsnarl_events::{Elements, Event, ObjectId, Operation, Problems, SiteId, ThreadId, Variable};

use super::resolver::Resolver;

/// Appends events of a thread at a site. What they name gets its ids from the resolver.
pub(super) struct Emitter<'o> {
    pub(super) resolver: &'o mut Resolver,
    pub(super) thread: ThreadId,
    pub(super) site: SiteId,
    pub(super) out: &'o mut Vec<Event>,
    pub(super) problems: &'o mut Problems,
}

impl Emitter<'_> {
    pub(super) fn push(&mut self, operation: Operation) {
        self.out.push(Event { thread: self.thread, site: self.site, operation });
    }

    /// Accesses to elements of an array: one event if whoever reads asked for that, else one for each.
    pub(super) fn elements(&mut self, array: ObjectId, strided: Strided, write: bool) {
        if !self.resolver.requested.keeps_elements {
            for index in strided.indices() {
                let variable = self.resolver.variable(Variable::Element(array, index));
                let operation = self.resolver.access(variable, write, false);
                self.push(operation);
            }
            return;
        }
        self.resolver.lifetimes.has_elements(array);
        let operation = |elements| match write {
            true => Operation::WriteElements(elements),
            false => Operation::ReadElements(elements),
        };
        let Strided { first, distance, more } = strided;
        match Elements::range(array, first, distance, more) {
            Some(elements) => self.push(operation(elements)),
            None => strided
                .indices()
                .for_each(|index| self.push(operation(Elements::one(array, index)))),
        }
    }
}

/// Elements of an array at equal distances: the first, how far the next one is, how many follow the first.
#[derive(Clone, Copy)]
pub(super) struct Strided {
    pub(super) first: u32,
    pub(super) distance: i16,
    pub(super) more: u16,
}

impl Strided {
    /// As a word of an event has them.
    pub(super) fn from_word(word: u64) -> Self {
        Self { first: word as u32, distance: (word >> 32) as i16, more: (word >> 48) as u16 }
    }

    fn indices(self) -> impl Iterator<Item = u32> {
        let next = move |index: &u32| Some(index.wrapping_add_signed(self.distance.into()));
        std::iter::successors(Some(self.first), next).take(usize::from(self.more) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::Strided;

    #[test]
    fn an_event_can_be_about_many_elements() {
        let word = |first: u32, distance: i16, more: u64| {
            u64::from(first) | u64::from(distance as u16) << 32 | more << 48
        };
        let indices = |word| Strided::from_word(word).indices();
        assert_eq!(indices(7).collect::<Vec<_>>(), [7]);
        assert_eq!(indices(word(7, 2, 3)).collect::<Vec<_>>(), [7, 9, 11, 13]);
        assert_eq!(indices(word(7, -3, 2)).collect::<Vec<_>>(), [7, 4, 1]);
        assert_eq!(indices(u64::MAX).count(), 1 << 16);
    }
}
