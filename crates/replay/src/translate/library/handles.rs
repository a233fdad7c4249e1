//! Fields that a program accesses by handles, updaters and offsets.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unsnarl_events::{FieldId, Tables};
use unsnarl_recording::class_table::internal_name;

use super::call::Value;
use crate::translate::descriptions::Descriptions;

/// A field that a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) field: FieldId,
    pub(crate) volatile: bool,
    pub(crate) is_static: bool,
}

/// Fields with the internal names of the classes that declare them.
type Declared = SmallVec<[(Box<[u8]>, Handle); 1]>;

/// The fields that handles and offsets stand for.
#[derive(Debug, Default)]
pub(crate) struct FieldHandles {
    /// By the objects that are handles and updaters.
    handles: FxHashMap<Value, Handle>,
    offsets: FxHashMap<u64, Declared>,
}

impl FieldHandles {
    pub(crate) fn get(&self, value: Value) -> Option<Handle> {
        self.handles.get(&value).copied()
    }

    pub(crate) fn insert(&mut self, value: Value, handle: Handle) {
        self.handles.insert(value, handle);
    }

    /// The field of a handle is at an offset in its object.
    pub(crate) fn add_offset(&mut self, handle: Handle, offset: u64, tables: &Tables) {
        let class = tables.fields[handle.field].class;
        let class: Box<[u8]> = internal_name(&tables.names[class]).into();
        let there = self.offsets.entry(offset).or_default();
        if !there.contains(&(class.clone(), handle)) {
            there.push((class, handle));
        }
    }

    /// The field at an offset in an object, or in the static fields of a class.
    pub(crate) fn at_offset(
        &self,
        of: u64,
        offset: u64,
        descriptions: &Descriptions,
    ) -> Option<Handle> {
        let there = self.offsets.get(&offset)?;
        if let Some(class) = descriptions.class_names.get(&of) {
            let class = internal_name(class);
            let is_it = |(of, handle): &&(Box<[u8]>, Handle)| handle.is_static && **of == *class;
            return there.iter().find(is_it).map(|it| it.1);
        }
        let class = descriptions.class_name_of(of)?;
        let above = descriptions.classes.ancestors(&class).0;
        let is_it =
            |(of, handle): &&(Box<[u8]>, Handle)| !handle.is_static && above.contains(&&**of);
        there.iter().find(is_it).map(|it| it.1)
    }

    pub(super) fn retain(&mut self, stays: impl Fn(Value) -> bool) {
        self.handles.retain(|handle, _| stays(*handle));
    }
}
