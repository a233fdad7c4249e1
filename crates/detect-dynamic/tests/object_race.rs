//! Races on objects against their definition, computed from the whole past of an object at every event.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use unsnarl_detect_dynamic::Options;
use unsnarl_entity::EntityId;
use unsnarl_trace::{
    Event, Field, FieldId, LockId, NameId, Object, ObjectId, Operation, SiteId, Tables, ThreadId,
    Variable, VariableId,
};

use support::{Holding, run, variable_of, well_formed_trace};

/// An object with two fields that its maker is known of, and a static field.
fn tables() -> Tables {
    let mut tables = support::tables();
    let class = tables.names.intern(b"Pair");
    let object = tables.objects.push(Object { class, number: 1 });
    let fields = ["left", "right", "count"].map(|name| {
        let name = tables.names.intern(name.as_bytes());
        tables.fields.push(Field { class, name })
    });
    tables.variables.clear();
    tables.variables.push(Variable::Field(object, fields[0]));
    tables.variables.push(Variable::Field(object, fields[1]));
    tables.variables.push(Variable::Static(fields[2]));
    tables
}
