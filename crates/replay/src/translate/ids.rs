//! Id tables: which id of the event model something in a recording has. Each table keeps its own cache of recent lookups, and
//! adds what is new to the [`Tables`](unsnarl_events::Tables).

mod class_names;
mod fields;
mod locks;
mod objects;
mod pages;
mod pool;
mod sites;
mod threads;
mod variables;

pub(super) use self::class_names::ClassNames;
pub(super) use self::fields::{FieldIds, Member};
pub(super) use self::locks::LockIds;
pub(super) use self::objects::ObjectIds;
pub(super) use self::pages::Pages;
pub(super) use self::pool::IdPool;
pub(super) use self::sites::{MOST_SITES, SiteIds, known_sites, missing_site};
pub(super) use self::threads::ThreadIds;
pub(super) use self::variables::VariableIds;
