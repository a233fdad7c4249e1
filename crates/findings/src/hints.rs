//! Hints that static and dynamic detectors of one rule give alike.

/// For `critical-wait`.
pub const WAIT_WITHOUT_THE_OTHER_LOCK: &str =
    "release the other lock before waiting, or wait with that lock instead";

/// For `indefinite-wait`.
pub const NOTIFY_UNDER_THE_LOCK: &str = "change the condition and notify while holding the lock, and wait in a loop that tests it first";

/// For `lock-order-cycle`.
pub const LOCK_IN_ONE_ORDER: &str =
    "acquire the locks in the same order everywhere, or hold one more lock around all of it";

/// For `lost-notify`, where nobody waits yet.
pub const REMEMBER_THE_NOTIFICATION: &str =
    "set a flag under the lock when notifying, and wait in a loop that tests it";
