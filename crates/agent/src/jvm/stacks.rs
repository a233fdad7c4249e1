//! How threads come to places: the frames of a thread when it reports from a place for the first time. To look at them costs
//! too much to be done for every event.

use std::ptr;
use std::sync::atomic::Ordering;

use jvmti_bindings::sys::jni::{JNIEnv, jboolean, jclass, jint, jlong};
use jvmti_bindings::sys::jvmti::{jvmtiEnv, jvmtiFrameInfo};
use unsnarl_recording::StackRecord;

use super::{ENVIRONMENT, JvmError, check, functions, guarded, places};

/// How many frames of a thread are looked at, with those of the runtime.
const DEEPEST: jint = 80;

/// `UnsnarlNative.stacks`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_stacks(
    _jni: *mut JNIEnv,
    _class: jclass,
) -> jboolean {
    guarded("stacks", 0, |watch| watch.tells_stacks().into())
}

/// `UnsnarlNative.stack`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_stack(
    _jni: *mut JNIEnv,
    _class: jclass,
    thread: jlong,
    site: jint,
) {
    guarded("stack", (), |watch| {
        let jvmti = ENVIRONMENT.load(Ordering::Acquire);
        // SAFETY: the environment lives as long as the JVM.
        let frames = match unsafe { frames(jvmti, 0, DEEPEST) } {
            Ok(frames) => frames,
            Err(error) => return watch.session.log(&format!("a stack is missing: {error}")),
        };
        let places = frames.iter().map(|frame| (frame.method, frame.location));
        // SAFETY: these are frames of the calling thread.
        let places = unsafe { places::with_probes(watch, jvmti, places) };
        // The innermost is the place itself.
        let callers = places.iter().skip(1).filter(|place| place.is_source);
        let callers = callers.map(|place| place.site).collect();
        let (thread, site) = (thread.cast_unsigned(), site.cast_unsigned());
        watch.session.add_stack(&StackRecord { thread, site, callers });
    });
}

/// So many frames of the calling thread, the innermost first, from one on.
///
/// # Safety
/// `jvmti` is an environment of the running JVM.
pub(super) unsafe fn frames(
    jvmti: *mut jvmtiEnv,
    first: jint,
    room: jint,
) -> Result<Vec<jvmtiFrameInfo>, JvmError> {
    let mut frames = Vec::with_capacity(room.unsigned_abs() as usize);
    let mut count = 0;
    // SAFETY: as this function asks for. There is room for so many frames, and the JVM tells how many it has filled in; no
    // thread means the calling one.
    unsafe {
        let get = functions(jvmti).GetStackTrace.ok_or(JvmError::NoFunction("GetStackTrace"))?;
        let frame = frames.as_mut_ptr();
        check("GetStackTrace", get(jvmti, ptr::null_mut(), first, room, frame, &raw mut count))?;
        frames.set_len(count.clamp(0, room) as usize);
    }
    Ok(frames)
}
