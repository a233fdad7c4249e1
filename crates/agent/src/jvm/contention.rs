//! Threads that wait for a monitor: the JVM tells when one finds it taken, which is rare, so that entering a monitor costs
//! nothing more for it. Without this nobody would know what a program that hangs is waiting for.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::ptr;
use std::sync::Mutex;

use jvmti_bindings::sys::jni::{JNIEnv, jclass, jint, jmethodID, jobject, jthread, jvalue};
use jvmti_bindings::sys::jvmti::{
    JVMTI_ENABLE, JVMTI_EVENT_MONITOR_CONTENDED_ENTER, jlocation, jvmtiEnv, jvmtiLineNumberEntry,
};
use unsnarl_trace::session::{SiteOperation, SiteRecord};

use super::{JvmError, check, check_exception, functions, guarded, jni_functions};
use crate::session::lock;
use crate::watch::Watch;

/// The hook in the runtime, as long as the JVM lives.
#[derive(Clone, Copy)]
struct Hook {
    class: jclass,
    method: jmethodID,
}

// SAFETY: a global reference and a method id are good in every thread.
unsafe impl Send for Hook {}

static STATE: Mutex<Option<State>> = Mutex::new(None);

struct State {
    hook: Hook,
    /// The numbers of the places in the code at which threads have waited; 0 for those that are not watched.
    places: HashMap<(usize, jlocation), u32>,
}

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
        *lock(&STATE) = Some(State { hook: Hook { class, method }, places: HashMap::new() });
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
            let Some((hook, site)) = place(watch, jvmti, thread) else { return };
            let arguments = [jvalue { l: object }, jvalue { i: site.cast_signed() }];
            let table = jni_functions(jni);
            (table.CallStaticVoidMethodA)(jni, hook.class, hook.method, arguments.as_ptr());
            // What fails there is lack of stack or memory: then it is not told.
            let _ = check_exception(jni, "a monitor that is taken");
        }
    });
}

/// Where the thread is, if that is in code that is watched.
///
/// # Safety
/// `jvmti` belongs to the calling thread, which is `thread`.
unsafe fn place(watch: &Watch, jvmti: *mut jvmtiEnv, thread: jthread) -> Option<(Hook, u32)> {
    let (mut method, mut location) = (ptr::null_mut(), 0);
    // SAFETY: as this function asks for.
    unsafe {
        let find = functions(jvmti).GetFrameLocation?;
        check("GetFrameLocation", find(jvmti, thread, 0, &raw mut method, &raw mut location))
            .ok()?;
        let mut state = lock(&STATE);
        let State { hook, places } = state.as_mut()?;
        let site = match places.get(&(method as usize, location)) {
            Some(&site) => site,
            None => {
                let record = record(watch, jvmti, method, location);
                let site = record.as_ref().map_or(0, |record| record.number);
                watch.session.add_sites(record.as_slice());
                places.insert((method as usize, location), site);
                site
            }
        };
        (site != 0).then_some((*hook, site))
    }
}

/// The place as the table of sites has it.
///
/// # Safety
/// `jvmti` belongs to the calling thread, and the method is one of a frame of it.
unsafe fn record(
    watch: &Watch,
    jvmti: *mut jvmtiEnv,
    method: jmethodID,
    location: jlocation,
) -> Option<SiteRecord> {
    // SAFETY: as this function asks for; what the JVM fills in ends with zero, and is given back.
    unsafe {
        let table = functions(jvmti);
        let mut declaring = ptr::null_mut();
        let get_class = table.GetMethodDeclaringClass?;
        check("GetMethodDeclaringClass", get_class(jvmti, method, &raw mut declaring)).ok()?;
        let mut signature = ptr::null_mut();
        let get_signature = table.GetClassSignature?;
        let result = get_signature(jvmti, declaring, &raw mut signature, ptr::null_mut());
        check("GetClassSignature", result).ok()?;
        let signature = taken(jvmti, signature);
        let class = signature.strip_prefix(b"L")?.strip_suffix(b";")?;
        if !watch.tells_monitors_of(class) {
            return None;
        }
        let (mut name, mut descriptor) = (ptr::null_mut(), ptr::null_mut());
        let get_name = table.GetMethodName?;
        let result = get_name(jvmti, method, &raw mut name, &raw mut descriptor, ptr::null_mut());
        check("GetMethodName", result).ok()?;
        let (name, descriptor) = (taken(jvmti, name), taken(jvmti, descriptor));
        let mut file = ptr::null_mut();
        let has_file = table.GetSourceFileName.is_some_and(|get| {
            check("GetSourceFileName", get(jvmti, declaring, &raw mut file)).is_ok()
        });
        Some(SiteRecord {
            number: watch.new_site(),
            class: class.to_vec(),
            method: name,
            descriptor,
            is_static: false,
            file: if has_file { taken(jvmti, file) } else { Vec::new() },
            line: line(jvmti, method, location),
            operation: SiteOperation::Monitor,
        })
    }
}

/// # Safety
/// As [`record`].
unsafe fn line(jvmti: *mut jvmtiEnv, method: jmethodID, location: jlocation) -> Option<u16> {
    let (mut count, mut lines): (jint, *mut jvmtiLineNumberEntry) = (0, ptr::null_mut());
    // SAFETY: as this function asks for; the JVM allocates so many entries, which are given back.
    unsafe {
        let get = functions(jvmti).GetLineNumberTable?;
        check("GetLineNumberTable", get(jvmti, method, &raw mut count, &raw mut lines)).ok()?;
        let all = std::slice::from_raw_parts(lines, count.unsigned_abs() as usize);
        let before = all.iter().filter(|entry| entry.start_location <= location);
        // Where a synchronized method is entered stands a probe, which has no line.
        let entry = before
            .max_by_key(|entry| entry.start_location)
            .or_else(|| all.iter().min_by_key(|entry| entry.start_location));
        let line = entry.map(|entry| entry.line_number);
        if let Some(deallocate) = functions(jvmti).Deallocate {
            deallocate(jvmti, lines.cast());
        }
        line.and_then(|line| u16::try_from(line).ok())
    }
}

/// The bytes of a text that the JVM allocated, which is given back.
///
/// # Safety
/// `jvmti` belongs to the calling thread; the text ends with zero.
unsafe fn taken(jvmti: *mut jvmtiEnv, text: *mut c_char) -> Vec<u8> {
    // SAFETY: as this function asks for.
    unsafe {
        let bytes = CStr::from_ptr(text).to_bytes().to_vec();
        if let Some(deallocate) = functions(jvmti).Deallocate {
            deallocate(jvmti, text.cast());
        }
        bytes
    }
}
