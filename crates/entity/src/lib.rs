//! Typed indices and the containers that are indexed by them.
//!
//! A program model has millions of small things that point at each other. They are named here by
//! `u32` ids with a type each, so that a block can never be used where a value is meant. The type of
//! a container says who owns what: a [`PrimaryMap`] creates the entities, a [`SecondaryMap`]
//! annotates entities that somebody else created, and so does a [`PagedMap`] where there are millions, an
//! [`EntitySet`] selects some of them, an [`Interner`] gives equal byte strings and a [`UniqueMap`] equal values one
//! id. [`components`] are the cycles of a graph, and [`prefetch`] is for those who know which entities they will look at soon.
//!
//! This crate knows nothing of Java.

mod components;
mod interner;
mod paged;
mod prefetch;
mod primary;
mod secondary;
mod set;
mod unique;

pub use components::components;
pub use interner::Interner;
pub use paged::PagedMap;
pub use prefetch::prefetch;
pub use primary::PrimaryMap;
pub use secondary::SecondaryMap;
pub use set::EntitySet;
pub use unique::UniqueMap;

/// A typed index. Implemented by [`entity_id!`], never by hand.
pub trait EntityId: Copy + Eq + Ord + std::hash::Hash + std::fmt::Debug {
    /// The id of the entity at `index`.
    ///
    /// # Panics
    /// When `index` does not fit 32 bits: four billion entities of one kind are a bug, not an input.
    fn from_index(index: usize) -> Self;

    /// The position of the entity in its [`PrimaryMap`].
    fn index(self) -> usize;
}

/// Declares id types: `entity_id! { /// A block. pub struct BlockId("block"); }`. The string is the
/// prefix under which an id is printed.
#[macro_export]
macro_rules! entity_id {
    ($($(#[$attribute:meta])* $visibility:vis struct $name:ident($prefix:literal);)+) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility struct $name(u32);

        impl $crate::EntityId for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("more than 2^32 entities of one kind"))
            }

            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(self, f)
            }
        }
    )+};
}
