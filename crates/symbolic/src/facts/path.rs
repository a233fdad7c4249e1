//! Access paths: how a value is reached from something that has a name at a program point.
//!
//! Two paths of a value are of interest. Its *strict* path uses only fields that never change once
//! their object is made, so that equal strict paths at different times are one object; whatever else
//! is loaded is a root of its own. Its *loose* path follows every load, and says from which host the
//! value was reached at the time of the load.

use smallvec::SmallVec;
use unsnarl_program::FieldId;
use unsnarl_program::body::Value;
use unsnarl_program::names::TypeId;

use crate::event::PathStep;

/// Longer paths are cut: the value is then a root of its own.
const LONGEST: usize = 3;

/// How a value is reached.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Path {
    pub(crate) root: Root,
    pub(crate) steps: SmallVec<[PathStep; 2]>,
}

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Root {
    /// What a caller knows, numbered by the call.
    Outer(u16),
    /// An argument of the method.
    Parameter(u16),
    /// The content of a static field.
    Static(FieldId),
    /// The class object of a type.
    Class(TypeId),
    /// A value of the method.
    Value(Value),
}

impl Root {
    /// Whether it means the same everywhere.
    pub(crate) fn is_global(self) -> bool {
        matches!(self, Self::Static(_) | Self::Class(_))
    }
}

impl Clone for Path {
    /// Steps are copied bytewise.
    fn clone(&self) -> Self {
        Self { root: self.root, steps: SmallVec::from_slice(&self.steps) }
    }
}

impl Path {
    pub(crate) fn root(root: Root) -> Self {
        Self { root, steps: SmallVec::new() }
    }

    /// One step further, unless that is too long.
    pub(crate) fn step(&self, step: PathStep) -> Option<Self> {
        if self.steps.len() >= LONGEST {
            return None;
        }
        let mut path = self.clone();
        path.steps.push(step);
        Some(path)
    }

    /// This path, with its root replaced by another path.
    pub(crate) fn rebase(&self, onto: &Self) -> Option<Self> {
        if onto.steps.len() + self.steps.len() > LONGEST {
            return None;
        }
        let mut path = onto.clone();
        path.steps.extend(self.steps.iter().copied());
        Some(path)
    }

    /// Whether it begins with another path.
    pub(crate) fn begins_with(&self, prefix: &Self) -> bool {
        self.root == prefix.root && self.steps.starts_with(&prefix.steps)
    }
}
