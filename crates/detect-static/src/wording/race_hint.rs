//! How a data race might be repaired.

use unsnarl_program::names::Type;

use crate::conflicts::VariableKind;
use crate::detectors::data_race::{ConflictClass, Race};
use crate::wording::reasons::{self, StartOrJoin};

/// For classes that are not made for several threads, the class of the same library that is.
const REPLACEMENTS: [(&str, &str); 15] = [
    ("java.util.HashMap", "a ConcurrentHashMap"),
    ("java.util.LinkedHashMap", "a map from Collections.synchronizedMap"),
    ("java.util.IdentityHashMap", "a map from Collections.synchronizedMap"),
    ("java.util.WeakHashMap", "a map from Collections.synchronizedMap"),
    ("java.util.EnumMap", "a map from Collections.synchronizedMap"),
    ("java.util.TreeMap", "a ConcurrentSkipListMap"),
    ("java.util.HashSet", "a set from ConcurrentHashMap.newKeySet"),
    ("java.util.LinkedHashSet", "a set from Collections.synchronizedSet"),
    ("java.util.TreeSet", "a ConcurrentSkipListSet"),
    ("java.util.ArrayList", "a list from Collections.synchronizedList"),
    ("java.util.LinkedList", "a ConcurrentLinkedDeque"),
    ("java.util.ArrayDeque", "a ConcurrentLinkedDeque"),
    ("java.util.PriorityQueue", "a PriorityBlockingQueue"),
    ("java.lang.StringBuilder", "a StringBuilder for each thread"),
    ("java.text.SimpleDateFormat", "a DateTimeFormatter"),
];

/// What to do about a data race.
pub(crate) fn hint(race: &Race<'_, '_>) -> String {
    if race.class == ConflictClass::LockNotUnique {
        return "lock one object that all threads share: the lock taken here may be a different \
                object for each"
            .to_owned();
    }
    let guard = reasons::usual_lock(race).filter(|usual| usual.is_significant()).map(|usual| {
        match usual.holding {
            1 => format!("guard it with {}, as the other access does", usual.label),
            many => format!("guard it with {}, as the other {many} accesses do", usual.label),
        }
    });
    match race.conflicting.kind {
        VariableKind::Contents(_) => {
            let class = race.contents_class();
            let replacement = REPLACEMENTS.iter().find(|(name, _)| *name == class);
            match (guard, replacement) {
                (Some(guard), _) => guard,
                (None, Some((_, better))) => {
                    format!("use {better}, or guard every use with one lock")
                }
                (None, None) => "guard every use with one lock".to_owned(),
            }
        }
        VariableKind::Elements(_) => guard.unwrap_or_else(|| {
            "guard every access with one lock, or use an array of java.util.concurrent.atomic"
                .to_owned()
        }),
        VariableKind::Field(_) => field_hint(race, guard),
    }
}

fn field_hint(race: &Race<'_, '_>, guard: Option<String>) -> String {
    if reasons::is_update(race) {
        let atomic = atomic_class(race).map(|class| format!("use {class}"));
        return match (guard, atomic) {
            (Some(guard), _) => guard,
            (None, Some(atomic)) => format!("{atomic}, or guard every access with one lock"),
            (None, None) => "guard every access with one lock".to_owned(),
        };
    }
    if race.class == ConflictClass::AllWritesLocked {
        let guard = guard.map(|guard| format!(", or {guard}")).unwrap_or_default();
        return format!("make it volatile{guard}");
    }
    if let Some(guard) = guard {
        return guard;
    }
    if reasons::is_tested(race) {
        return "guard the test and the write together with one lock: a volatile field alone would \
                let two threads come between them"
            .to_owned();
    }
    match reasons::start_or_join(race) {
        Some(StartOrJoin::WriteBeforeStart(thread)) => {
            let thread = race.describe.one_thread(thread);
            format!("make it volatile, or write it before {thread} is started")
        }
        Some(StartOrJoin::ReadAfterJoin(thread)) => {
            let thread = race.describe.one_thread(thread);
            format!("join {thread} before reading it, or make it volatile")
        }
        None => "make it volatile, or guard every access with one lock".to_owned(),
    }
}

/// The atomic class for the type of the field.
fn atomic_class(race: &Race<'_, '_>) -> Option<&'static str> {
    let VariableKind::Field(field) = race.conflicting.kind else { return None };
    let program = race.describe.program;
    let ty = program.fields()[field].ty;
    let known = &program.names.known;
    match program.names.ty(ty) {
        _ if ty == known.int => Some("AtomicInteger"),
        _ if ty == known.long => Some("AtomicLong"),
        Type::Class(_) => Some("AtomicReference"),
        _ => None,
    }
}
