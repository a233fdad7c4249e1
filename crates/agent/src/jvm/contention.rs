//! Threads that wait for a monitor: the JVM tells when one finds it taken, which is rare, so that entering a monitor costs
//! nothing more for it. Without this nobody would know what a program that hangs is waiting for.

use std::ptr;
use std::sync::OnceLock;

use jvmti_bindings::sys::jni::{JNIEnv, jclass, jmethodID, jobject, jthread, jvalue};
use jvmti_bindings::sys::jvmti::{JVMTI_ENABLE, JVMTI_EVENT_MONITOR_CONTENDED_ENTER, jvmtiEnv};

use super::{JvmError, check, check_exception, functions, guarded, jni_functions, places};
use crate::watch::Watch;

/// The hook in the runtime, as long as the JVM lives.
#[derive(Clone, Copy)]
struct Hook {
    class: jclass,
    method: jmethodID,
}

// SAFETY: a global reference and a method id are good in every thread.
unsafe impl Send for Hook {}
// SAFETY: as above.
unsafe impl Sync for Hook {}

static HOOK: OnceLock<Hook> = OnceLock::new();

/// Begins to listen.
///
/// # Safety
/// Both environments belong to the calling thread; `hooks` is the class of the hooks.
pub(super) unsafe fn listen(
    jvmti: *mut jvmtiEnv,
    jni: *mut JNIEnv,
    hooks: jclass,
) -> Result<(), JvmError> {
    // SAFETY: as this function asks for.
    unsafe {
        let table = jni_functions(jni);
        let signature = c"(Ljava/lang/Object;I)V".as_ptr();
        let method = (table.GetStaticMethodID)(jni, hooks, c"contended".as_ptr(), signature);
        check_exception(jni, "the hook for monitors that are taken")?;
        let class = (table.NewGlobalRef)(jni, hooks);
        // The runtime starts once.
        let _ = HOOK.set(Hook { class, method });
        let enable = functions(jvmti)
            .SetEventNotificationMode
            .ok_or(JvmError::NoFunction("SetEventNotificationMode"))?;
        let event = JVMTI_EVENT_MONITOR_CONTENDED_ENTER;
        check("SetEventNotificationMode", enable(jvmti, JVMTI_ENABLE, event, ptr::null_mut()))
    }
}

/// A thread finds a monitor taken.
pub(super) unsafe extern "system" fn contended(
    jvmti: *mut jvmtiEnv,
    jni: *mut JNIEnv,
    thread: jthread,
    object: jobject,
) {
    guarded("MonitorContendedEnter", (), |watch| {
        // SAFETY: the JVM passes environments of the calling thread.
        unsafe {
            let hook = HOOK.get().filter(|_| watch.tells_monitors());
            let (Some(hook), Some(site)) = (hook, place(watch, jvmti, thread)) else { return };
            let arguments = [jvalue { l: object }, jvalue { i: site.cast_signed() }];
            let table = jni_functions(jni);
            (table.CallStaticVoidMethodA)(jni, hook.class, hook.method, arguments.as_ptr());
            // What fails there is lack of stack or memory: then it is not reported.
            let _ = check_exception(jni, "a monitor that is taken");
        }
    });
}

/// Where the thread is, if that is in code that is watched.
///
/// # Safety
/// `jvmti` belongs to the calling thread, which is `thread`.
unsafe fn place(watch: &Watch, jvmti: *mut jvmtiEnv, thread: jthread) -> Option<u32> {
    let (mut method, mut location) = (ptr::null_mut(), 0);
    // SAFETY: as this function asks for.
    unsafe {
        let find = functions(jvmti).GetFrameLocation?;
        check("GetFrameLocation", find(jvmti, thread, 0, &raw mut method, &raw mut location))
            .ok()?;
        let place = std::iter::once((method, location));
        places::with_probes(watch, jvmti, place).first().map(|place| place.site)
    }
}
