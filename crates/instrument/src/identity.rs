//! The fields in which objects keep their ids and what the filter knows of them, and what keeps them from being copied.
//!
//! The topmost watched class of a hierarchy declares the fields: one whose superclass is not watched, or is of the JDK and
//! may be there already. A subclass may be loaded before its superclass is seen, so nothing but names can decide that.
//!
//! `Object.clone` copies the fields. Only code of a class of the object's own hierarchy can call it, for it is
//! protected: after every call that may be one, in watched classes and in others that are not of the JDK, a
//! hook takes both from the copy again. Classes of the JDK stay as they are; whether one clones its
//! instances is seen by [`clones`], and objects below such a class are not asked to keep ids.

use unsnarl_classfile::edit::{ClassEditor, EditError};
use unsnarl_classfile::flags;
use unsnarl_classfile::read::{ClassFile, Constant, MemberRef};
use unsnarl_recording::{RecordedEvents, Volatility};

use crate::{Plan, RewriteError, SiteNumbers, is_of_the_jdk, rewrite};

/// The names of the fields. They are private, so that serialization does not see them.
pub const ID_FIELD: &[u8] = b"unsnarlId";
/// Which thread has last accessed which fields of the object, as far as the filter uses it.
pub const SEEN_FIELD: &[u8] = b"unsnarlSeen";

/// Whether a class declares the fields.
#[must_use]
pub fn declares(class: &ClassFile<'_>, plan: &Plan) -> bool {
    class.access & flags::INTERFACE == 0
        && plan.may_inject(class.name())
        && class.super_name().is_some_and(|above| !plan.may_inject(above))
}

/// Whether a class may clone its instances.
#[must_use]
pub fn clones(class: &ClassFile<'_>) -> bool {
    let pool = &class.pool;
    pool.indices().any(|index| {
        matches!(pool.get(index), Ok(Constant::Member { .. }))
            && pool.member(index).is_ok_and(|member| may_clone(&member))
    })
}

/// Whether the clones that a class makes lose their ids again: not in classes of the JDK, as long as they do not
/// extend others.
#[must_use]
pub fn can_hook_clones(class: &ClassFile<'_>) -> bool {
    !is_of_the_jdk(class.name()) || class.super_name().is_some_and(|above| !is_of_the_jdk(above))
}

/// A class that is not watched, with the hooks that clones need; nothing if it makes none.
///
/// # Errors
/// When the bytes are not a class file, or the class has no room.
pub fn hook_clones(file: &[u8]) -> Result<Option<Vec<u8>>, RewriteError> {
    let mut plan = Plan::default();
    plan.spec.events = RecordedEvents::NONE;
    let unknown = |_: &_| Volatility::Unknown;
    let rewritten = rewrite(file, &plan, &SiteNumbers::default(), &unknown, false)?;
    Ok(rewritten.map(|rewritten| rewritten.bytes))
}

/// Whether a call of this method may be one of `Object.clone`, for an object that is not an array.
pub(crate) fn may_clone(method: &MemberRef<'_>) -> bool {
    method.name == b"clone"
        && method.descriptor == b"()Ljava/lang/Object;"
        && !method.class.starts_with(b"[")
}

/// Whether a call copies an array.
pub(crate) fn clones_array(method: &MemberRef<'_>) -> bool {
    method.name == b"clone" && method.class.starts_with(b"[")
}

pub(crate) fn add_field(class: &mut ClassEditor<'_>) -> Result<(), EditError> {
    let access = flags::PRIVATE | flags::TRANSIENT | flags::SYNTHETIC;
    class.add_field(access, ID_FIELD, b"J")?;
    class.add_field(access, SEEN_FIELD, b"J")?;
    Ok(())
}
