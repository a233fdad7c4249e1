//! What a recording may leave out.

use std::fmt;

/// A rule by which a recording leaves accesses out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Filter {
    /// Accesses that repeat one of the same kind by the same thread to the same variable, with no
    /// release between them.
    Epoch,
    /// Accesses to objects that no other thread can know yet, and reads of what is never written again.
    Escape,
    /// Accesses to objects and classes by their first owner, until another thread comes; and after that those that
    /// repeat one by the same thread which has released no lock between them.
    Owner,
}

impl Filter {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Epoch, Self::Escape, Self::Owner];

    /// Its name, for agents and in recordings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Epoch => "epoch",
            Self::Escape => "escape",
            Self::Owner => "owner",
        }
    }

    /// The filter with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|filter| filter.name() == name)
    }
}

/// A set of filters.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Filters(u8);

impl Filters {
    /// No filter: every access is there.
    pub const NONE: Self = Self(0);
    /// Every filter.
    pub const ALL: Self = Self::of(&Filter::ALL);

    /// These filters.
    #[must_use]
    pub const fn of(filters: &[Filter]) -> Self {
        let (mut set, mut index) = (0, 0);
        while index < filters.len() {
            set |= 1 << filters[index] as u8;
            index += 1;
        }
        Self(set)
    }

    /// Whether a filter is among them.
    #[must_use]
    pub const fn contains(self, filter: Filter) -> bool {
        self.0 & 1 << filter as u8 != 0
    }

    /// The filters that are in both sets.
    #[must_use]
    pub const fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// These filters without one of them.
    #[must_use]
    pub const fn without(self, filter: Filter) -> Self {
        Self(self.0 & !(1 << filter as u8))
    }

    /// The filters, in the order of [`Filter::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Filter> {
        Filter::ALL.into_iter().filter(move |&filter| self.contains(filter))
    }
}

impl FromIterator<Filter> for Filters {
    fn from_iter<I: IntoIterator<Item = Filter>>(filters: I) -> Self {
        filters.into_iter().fold(Self::NONE, |set, filter| Self(set.0 | Self::of(&[filter]).0))
    }
}

impl fmt::Debug for Filters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
