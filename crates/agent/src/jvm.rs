//! The one module that speaks JVMTI and JNI.

mod contention;
mod hide;
mod internal;
mod places;
mod stacks;
mod sweep;

use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr, c_char, c_uchar, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use jvmti_bindings::sys::jni::{
    JNI_OK, JNIEnv, JNINativeInterface_, JavaVM, jboolean, jbyteArray, jclass, jint, jlong,
    jobject, jstring, jthread,
};
use jvmti_bindings::sys::jvmti::{
    JVMTI_ENABLE, JVMTI_ERROR_NONE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
    JVMTI_EVENT_GARBAGE_COLLECTION_FINISH, JVMTI_EVENT_VM_DEATH, JVMTI_EVENT_VM_INIT,
    JVMTI_VERSION_11, jvmtiCapabilities, jvmtiEnv, jvmtiError, jvmtiEventCallbacks,
    jvmtiInterface_1_,
};
use unsnarl_launch::Agent;
use unsnarl_recording::format::{ENDED_IN_LOG, NOTHING_RECORDED_IN_LOG, USUAL_IN_LOG};
use unsnarl_recording::{AgentOptions, Destination, NameRecord};

use crate::session::Session;
use crate::watch::{self, Watch};

/// The names and bytes of the runtime's classes.
const RUNTIME: &[(&CStr, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/runtime.rs"));

const LOADED: &str = USUAL_IN_LOG[0];
const RECORDING: &str = USUAL_IN_LOG[1];

static WATCH: OnceLock<Watch> = OnceLock::new();
/// The environment of the agent.
static ENVIRONMENT: AtomicPtr<jvmtiEnv> = AtomicPtr::new(ptr::null_mut());

/// What the JVM refused.
#[derive(Debug, thiserror::Error)]
enum JvmError {
    #[error("the JVM has no JVMTI of version 11")]
    NoJvmti,
    #[error("{0} is not HotSpot")]
    NotHotSpot(String),
    #[error("the JVM lacks the function {0}")]
    NoFunction(&'static str),
    #[error("{0} failed with {1}")]
    Jvmti(&'static str, jvmtiError),
    #[error("{0} threw an exception")]
    Exception(&'static str),
}

/// The beginning: called by the JVM before it does anything else. Whatever goes wrong, the program
/// starts; where no session can be made there is no log to tell it either.
///
/// # Safety
/// Only a JVM calls it, as the specification of JVMTI says.
#[unsafe(no_mangle)]
unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: the JVM passes a string that ends with zero, or null.
    let text = (!options.is_null()).then(|| unsafe { CStr::from_ptr(options) }.to_string_lossy());
    let Ok(options) = AgentOptions::parse(text.as_deref().unwrap_or_default()) else {
        return JNI_OK;
    };
    // The agent may be named twice: on the command line and in the environment.
    if WATCH.get().is_some() {
        return JNI_OK;
    }
    let Ok(session) = Session::create(&options) else {
        return JNI_OK;
    };
    let Ok(plan) = watch::plan(&options.spec) else { return JNI_OK };
    let child = match (&options.destination, &text) {
        (Destination::Run(_), Some(text)) => own_library()
            .map(|library| Agent { library, options: text.clone().into_owned().into() }),
        _ => None,
    };
    let watch = WATCH.get_or_init(|| Watch::new(session, plan, &options, child));
    if watch.session.begin().is_err() {
        return JNI_OK;
    }
    // SAFETY: the JVM passes itself.
    match unsafe { listen(vm) } {
        Ok(()) => watch.session.log(LOADED),
        Err(error) => watch.session.log(&format!("{NOTHING_RECORDED_IN_LOG}: {error}")),
    }
    JNI_OK
}

/// The file from which this library was loaded.
fn own_library() -> Option<PathBuf> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the address is one of this library, and `info` has room for what is reported about it.
    let info = unsafe {
        match libc::dladdr(Agent_OnLoad as *const c_void, info.as_mut_ptr()) {
            0 => return None,
            _ => info.assume_init(),
        }
    };
    // SAFETY: the name ends with zero and lives as long as the library is loaded.
    let name = (!info.dli_fname.is_null()).then(|| unsafe { CStr::from_ptr(info.dli_fname) })?;
    Some(OsStr::from_bytes(name.to_bytes()).into())
}

/// Asks for the events that the agent needs.
///
/// # Safety
/// `vm` is the JVM that is loading the agent.
unsafe fn listen(vm: *mut JavaVM) -> Result<(), JvmError> {
    let mut env: *mut c_void = ptr::null_mut();
    // SAFETY: a JVM's function table is complete, and it fills `env` when it says so.
    let result = unsafe { ((**vm).GetEnv)(vm, &raw mut env, JVMTI_VERSION_11) };
    if result != JNI_OK || env.is_null() {
        return Err(JvmError::NoJvmti);
    }
    let env: *mut jvmtiEnv = env.cast();
    // SAFETY: `env` is the environment that the JVM just made.
    let table = unsafe { functions(env) };

    // Fields in the first classes, and a runtime in java.lang, are known to work nowhere else.
    // SAFETY: as this function asks for.
    let name = unsafe { property(env, c"java.vm.name") }?;
    let name = String::from_utf8_lossy(&name);
    if !name.contains("OpenJDK") && !name.contains("HotSpot") {
        return Err(JvmError::NotHotSpot(name.into_owned()));
    }
    let mut capabilities = jvmtiCapabilities::default();
    capabilities.set_can_generate_all_class_hook_events(true);
    // Needed to give `Thread` a field: it is among the first classes that are loaded.
    capabilities.set_can_generate_early_class_hook_events(true);
    capabilities.set_can_retransform_classes(true);
    // For the classes whose instances have ids.
    capabilities.set_can_tag_objects(true);
    capabilities.set_can_generate_garbage_collection_events(true);
    // For threads that wait for a monitor.
    capabilities.set_can_generate_monitor_events(true);
    capabilities.set_can_get_source_file_name(true);
    capabilities.set_can_get_line_numbers(true);
    let potential = table.GetPotentialCapabilities;
    let potential = potential.ok_or(JvmError::NoFunction("GetPotentialCapabilities"))?;
    let mut possible = jvmtiCapabilities::default();
    // SAFETY: the arguments live during the call.
    check("GetPotentialCapabilities", unsafe { potential(env, &raw mut possible) })?;
    capabilities.set_can_support_virtual_threads(possible.can_support_virtual_threads());
    let add = table.AddCapabilities.ok_or(JvmError::NoFunction("AddCapabilities"))?;
    // SAFETY: the arguments live during the call.
    check("AddCapabilities", unsafe { add(env, &raw const capabilities) })?;

    ENVIRONMENT.store(env, Ordering::Release);
    let mut callbacks = jvmtiEventCallbacks::default();
    callbacks.VMInit = Some(vm_init);
    callbacks.VMDeath = Some(vm_death);
    callbacks.ClassFileLoadHook = Some(class_file_load_hook);
    callbacks.MonitorContendedEnter = Some(contention::contended);
    callbacks.GarbageCollectionFinish = Some(sweep::collected);
    let size = size_of::<jvmtiEventCallbacks>() as jint;
    let set = table.SetEventCallbacks.ok_or(JvmError::NoFunction("SetEventCallbacks"))?;
    // SAFETY: the table is copied by the JVM.
    check("SetEventCallbacks", unsafe { set(env, &raw const callbacks, size) })?;

    let enable =
        table.SetEventNotificationMode.ok_or(JvmError::NoFunction("SetEventNotificationMode"))?;
    for event in [
        JVMTI_EVENT_VM_INIT,
        JVMTI_EVENT_VM_DEATH,
        JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
        JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
    ] {
        // SAFETY: no thread means all threads.
        let result = unsafe { enable(env, JVMTI_ENABLE, event, ptr::null_mut()) };
        check("SetEventNotificationMode", result)?;
    }
    Ok(())
}

/// A property of the JVM.
///
/// # Safety
/// `env` is an environment of the running JVM.
unsafe fn property(env: *mut jvmtiEnv, name: &CStr) -> Result<Vec<u8>, JvmError> {
    let mut value = ptr::null_mut();
    // SAFETY: as this function asks for; the JVM allocates the value, which ends with zero.
    unsafe {
        let get =
            functions(env).GetSystemProperty.ok_or(JvmError::NoFunction("GetSystemProperty"))?;
        check("GetSystemProperty", get(env, name.as_ptr(), &raw mut value))?;
        let text = CStr::from_ptr(value).to_bytes().to_vec();
        if let Some(deallocate) = functions(env).Deallocate {
            check("Deallocate", deallocate(env, value.cast()))?;
        }
        Ok(text)
    }
}

/// # Safety
/// `env` is an environment of the running JVM.
unsafe fn functions<'e>(env: *mut jvmtiEnv) -> &'e jvmtiInterface_1_ {
    // SAFETY: the table of an environment lives as long as the JVM.
    unsafe { &*(*env).functions }
}

/// # Safety
/// `env` belongs to the calling thread.
unsafe fn jni_functions<'e>(env: *mut JNIEnv) -> &'e JNINativeInterface_ {
    // SAFETY: the table lives as long as the JVM.
    unsafe { &**env }
}

fn check(function: &'static str, result: jvmtiError) -> Result<(), JvmError> {
    if result == JVMTI_ERROR_NONE { Ok(()) } else { Err(JvmError::Jvmti(function, result)) }
}

/// Runs what a callback does. A panic must not unwind into the JVM: it is logged instead.
fn guarded<T>(what: &str, default: T, body: impl FnOnce(&Watch) -> T) -> T {
    let Some(watch) = WATCH.get() else { return default };
    catch_unwind(AssertUnwindSafe(|| body(watch))).unwrap_or_else(|_| {
        watch.session.log(&format!("an error of the agent itself in {what}"));
        default
    })
}

unsafe extern "system" fn vm_init(jvmti: *mut jvmtiEnv, jni: *mut JNIEnv, _thread: jthread) {
    guarded("VMInit", (), |watch| {
        // SAFETY: the JVM passes environments of the calling thread.
        if let Err(error) = unsafe { start_runtime(watch, jvmti, jni) } {
            watch.stop();
            watch.session.log(&format!("{NOTHING_RECORDED_IN_LOG}: {error}"));
            // SAFETY: as above.
            if let Err(error) = unsafe { hide::fields_of_thread(jni) } {
                watch.session.log(&format!("the program can see fields of the agent: {error}"));
            }
        } else {
            watch.session.log(RECORDING);
        }
    });
}

unsafe extern "system" fn vm_death(_jvmti: *mut jvmtiEnv, _jni: *mut JNIEnv) {
    guarded("VMDeath", (), |watch| watch.session.log(ENDED_IN_LOG));
}

/// Defines the runtime's classes, then gives hooks to the classes of threads.
///
/// # Safety
/// Both environments belong to the calling thread.
unsafe fn start_runtime(
    watch: &Watch,
    jvmti: *mut jvmtiEnv,
    jni: *mut JNIEnv,
) -> Result<(), JvmError> {
    // SAFETY: as this function asks for.
    let table = unsafe { jni_functions(jni) };
    let mut hooks: jclass = ptr::null_mut();
    for &(name, bytes) in RUNTIME {
        // SAFETY: the strings and bytes live forever; no loader means the boot loader, which puts the
        // class into java.base, where the package java.lang is.
        let class = unsafe {
            let length = bytes.len() as jint;
            (table.DefineClass)(jni, name.as_ptr(), ptr::null_mut(), bytes.as_ptr().cast(), length)
        };
        // SAFETY: a failed call leaves an exception and nothing else.
        unsafe { check_exception(jni, "defining the runtime")? };
        if name.to_bytes() == b"java/lang/UnsnarlHooks" {
            hooks = class;
        }
    }
    // SAFETY: the class was just defined and has the method.
    unsafe {
        let method = (table.GetStaticMethodID)(jni, hooks, c"prepare".as_ptr(), c"()V".as_ptr());
        check_exception(jni, "initializing the runtime")?;
        (table.CallStaticVoidMethodA)(jni, hooks, method, ptr::null());
        check_exception(jni, "preparing the runtime")?;
    }
    // SAFETY: as this function asks for.
    unsafe { contention::listen(jvmti, jni, hooks)? };
    // SAFETY: as this function asks for.
    let class_path = unsafe { property(jvmti, c"java.class.path") }.unwrap_or_default();
    watch.start(OsStr::from_bytes(&class_path));
    // SAFETY: as this function asks for.
    unsafe {
        let mut classes = vec![
            // The first class of a module that is retransformed beside a Java agent makes the JVM load others, to which it
            // then gives the cached bytes of that class: it must be one that has none.
            find_class(jni, c"java/lang/Override")?,
            find_class(jni, c"java/lang/Thread")?,
            find_class(jni, c"jdk/internal/reflect/Reflection")?,
        ];
        // There are no virtual threads before release 21.
        classes.extend(find_class(jni, c"java/lang/VirtualThread").ok());
        if watch.definer().is_none() {
            watch.session.log("lambda expressions are not recorded: nobody defines them");
        }
        if let Some(Ok(definer)) = watch.definer().map(CString::new) {
            classes.push(find_class(jni, &definer)?);
        }
        let (of_the_jdk, analysed) = watch.early();
        classes.extend(loaded(jvmti, &analysed)?);
        // All at once: each time compilations that are under way are thrown away.
        retransform(jvmti, &classes)?;
        // If what the user has named beyond that fails, all else goes on.
        if let Err(error) = retransform(jvmti, &loaded(jvmti, &of_the_jdk)?) {
            let count = of_the_jdk.len();
            watch.session.log(&format!("{count} classes of the JDK stay as they are: {error}"));
        }
        Ok(())
    }
}

/// # Safety
/// `jvmti` belongs to the calling thread, and the classes are alive.
unsafe fn retransform(jvmti: *mut jvmtiEnv, classes: &[jclass]) -> Result<(), JvmError> {
    if classes.is_empty() {
        return Ok(());
    }
    // SAFETY: as this function asks for.
    unsafe {
        let retransform = functions(jvmti)
            .RetransformClasses
            .ok_or(JvmError::NoFunction("RetransformClasses"))?;
        check("RetransformClasses", retransform(jvmti, classes.len() as jint, classes.as_ptr()))
    }
}

/// The loaded classes that have one of these internal names. To find them by name would initialize them.
///
/// # Safety
/// `jvmti` belongs to the calling thread.
unsafe fn loaded(jvmti: *mut jvmtiEnv, names: &[Vec<u8>]) -> Result<Vec<jclass>, JvmError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let names: HashSet<&[u8]> = names.iter().map(Vec::as_slice).collect();
    let (mut count, mut classes) = (0, ptr::null_mut());
    // SAFETY: as this function asks for. The JVM allocates as many classes as it says.
    unsafe {
        let table = functions(jvmti);
        let get = table.GetLoadedClasses.ok_or(JvmError::NoFunction("GetLoadedClasses"))?;
        check("GetLoadedClasses", get(jvmti, &raw mut count, &raw mut classes))?;
        let all = std::slice::from_raw_parts(classes, count.unsigned_abs() as usize);
        let is_named = |class: &&jclass| {
            let signature = places::signature(jvmti, **class).unwrap_or_default();
            let name = signature.strip_prefix(b"L").and_then(|name| name.strip_suffix(b";"));
            name.is_some_and(|name| names.contains(name))
        };
        let found = all.iter().filter(is_named).copied().collect();
        if let Some(deallocate) = table.Deallocate {
            check("Deallocate", deallocate(jvmti, classes.cast()))?;
        }
        Ok(found)
    }
}

/// # Safety
/// `jni` belongs to the calling thread.
unsafe fn find_class(jni: *mut JNIEnv, name: &CStr) -> Result<jclass, JvmError> {
    // SAFETY: as this function asks for.
    unsafe {
        let class = (jni_functions(jni).FindClass)(jni, name.as_ptr());
        check_exception(jni, "finding a class that needs hooks")?;
        Ok(class)
    }
}

/// Takes an exception away and tells that there was one.
///
/// # Safety
/// `jni` belongs to the calling thread.
unsafe fn check_exception(jni: *mut JNIEnv, what: &'static str) -> Result<(), JvmError> {
    // SAFETY: as this function asks for.
    unsafe {
        let table = jni_functions(jni);
        if (table.ExceptionOccurred)(jni).is_null() {
            return Ok(());
        }
        (table.ExceptionClear)(jni);
    }
    Err(JvmError::Exception(what))
}

unsafe extern "system" fn class_file_load_hook(
    jvmti: *mut jvmtiEnv,
    _jni: *mut JNIEnv,
    class_being_redefined: jclass,
    loader: jobject,
    _name: *const c_char,
    _protection_domain: jobject,
    length: jint,
    data: *const c_uchar,
    new_length: *mut jint,
    new_data: *mut *mut c_uchar,
) {
    guarded("ClassFileLoadHook", (), |watch| {
        // Of the JDK's classes only those that a program uses, or that are the program, have a loader.
        if !loader.is_null() {
            watch.program_starts();
        }
        // SAFETY: the JVM lends so many bytes during the call.
        let bytes = unsafe { std::slice::from_raw_parts(data, length.unsigned_abs() as usize) };
        let Some(rewritten) = watch.class(bytes, !class_being_redefined.is_null()) else { return };
        // SAFETY: as the JVM calls this function.
        let allocated = unsafe { allocate(jvmti, rewritten.len()) };
        match allocated {
            // SAFETY: the memory is as long as the bytes, and the JVM takes it over.
            Ok(memory) => unsafe {
                memory.copy_from_nonoverlapping(rewritten.as_ptr(), rewritten.len());
                *new_length = rewritten.len() as jint;
                *new_data = memory;
            },
            Err(error) => watch.session.log(&format!("a class stays as it is: {error}")),
        }
    });
}

/// # Safety
/// `jvmti` is an environment of the running JVM.
unsafe fn allocate(jvmti: *mut jvmtiEnv, size: usize) -> Result<*mut c_uchar, JvmError> {
    let mut memory = ptr::null_mut();
    // SAFETY: as this function asks for.
    let result = unsafe {
        let allocate = functions(jvmti).Allocate.ok_or(JvmError::NoFunction("Allocate"))?;
        allocate(jvmti, size as jlong, &raw mut memory)
    };
    check("Allocate", result).map(|()| memory)
}

/// `UnsnarlNative.chunk`. The JVM finds it by its name; to register it would print a warning.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_chunk(
    _jni: *mut JNIEnv,
    _class: jclass,
    thread: jlong,
    sequence: jlong,
    size: jint,
) -> jlong {
    guarded("chunk", 0, |watch| {
        let size = usize::try_from(size).unwrap_or(0);
        watch.session.chunk(thread.cast_unsigned(), sequence.cast_unsigned(), size).cast_signed()
    })
}

/// `UnsnarlNative.describe`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_describe(
    jni: *mut JNIEnv,
    _class: jclass,
    what: jint,
    id: jlong,
    name: jstring,
) {
    guarded("describe", (), |watch| {
        // SAFETY: as the JVM calls this function.
        let Some(bytes) = (unsafe { characters(jni, name) }) else { return };
        let id = id.cast_unsigned();
        watch.session.add_name(&match what {
            0 => NameRecord::Class(id, bytes),
            1 => NameRecord::Thread(id, bytes),
            3 => NameRecord::Daemon(id, bytes),
            _ => NameRecord::Text(id, bytes),
        });
    });
}

/// `UnsnarlNative.command`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_command(
    jni: *mut JNIEnv,
    _class: jclass,
    command: jstring,
) -> jstring {
    guarded("command", ptr::null_mut(), |watch| {
        // SAFETY: as the JVM calls this function.
        let command = unsafe { characters(jni, command) };
        let changed = command.and_then(|command| watch.command(&command));
        let Some(changed) = changed.and_then(|changed| CString::new(changed).ok()) else {
            return ptr::null_mut();
        };
        // SAFETY: the bytes end with zero and are modified UTF-8 if the system's names are.
        unsafe { (jni_functions(jni).NewStringUTF)(jni, changed.as_ptr()) }
    })
}

/// `UnsnarlNative.models`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_models(
    jni: *mut JNIEnv,
    _class: jclass,
    method: jint,
    name: jstring,
) -> jint {
    guarded("models", 0, |watch| {
        // SAFETY: as the JVM calls this function.
        let name = unsafe { characters(jni, name) };
        name.map_or(0, |name| watch.models(method.cast_unsigned(), &name).into())
    })
}

/// `UnsnarlNative.mayBecomeParallel`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_mayBecomeParallel(
    _jni: *mut JNIEnv,
    _class: jclass,
) -> jboolean {
    guarded("mayBecomeParallel", 1, |watch| watch.may_become_parallel().into())
}

/// `UnsnarlNative.hidden`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_hidden(
    jni: *mut JNIEnv,
    _class: jclass,
    bytes: jbyteArray,
) -> jbyteArray {
    guarded("hidden", ptr::null_mut(), |watch| {
        // SAFETY: as the JVM calls this function; the array is as long as it says.
        let file = unsafe {
            let table = jni_functions(jni);
            let length = (table.GetArrayLength)(jni, bytes);
            let mut file = vec![0_u8; length.unsigned_abs() as usize];
            (table.GetByteArrayRegion)(jni, bytes, 0, length, file.as_mut_ptr().cast());
            file
        };
        let Some(rewritten) = watch.class(&file, false) else { return ptr::null_mut() };
        // SAFETY: the new array is as long as the bytes that are copied into it.
        unsafe {
            let table = jni_functions(jni);
            let length = rewritten.len() as jint;
            let array = (table.NewByteArray)(jni, length);
            if !array.is_null() {
                (table.SetByteArrayRegion)(jni, array, 0, length, rewritten.as_ptr().cast());
            }
            let _ = check_exception(jni, "a hidden class");
            array
        }
    })
}

/// `UnsnarlNative.filters`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_filters(
    _jni: *mut JNIEnv,
    _class: jclass,
) -> jboolean {
    guarded("filters", 0, |watch| watch.filters().into())
}

/// `UnsnarlNative.owners`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_owners(
    _jni: *mut JNIEnv,
    _class: jclass,
    bytes: jlong,
) -> jlong {
    guarded("owners", 0, |watch| {
        let table = usize::try_from(bytes).ok().and_then(|bytes| watch.owners(bytes));
        table.map_or(0, |table| table as jlong)
    })
}

/// `UnsnarlNative.pause`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_pause(_jni: *mut JNIEnv, _class: jclass) {
    std::thread::sleep(std::time::Duration::from_micros(50));
}

/// `UnsnarlNative.stripeTaken`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_stripeTaken(
    _jni: *mut JNIEnv,
    _class: jclass,
) {
    guarded("stripeTaken", (), |watch| {
        watch.session.log("the exact order of two accesses, one of which did not end in time");
    });
}

/// `UnsnarlNative.elements`: the first index in the lower half, the one after the last in the upper.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_elements(
    _jni: *mut JNIEnv,
    _class: jclass,
) -> jlong {
    guarded("elements", i64::from(i32::MAX) << 32, |watch| {
        // No index is greater than the largest int.
        let (first, end) = watch.elements();
        let index = |index: u32| i64::from(index.min(i32::MAX.cast_unsigned()));
        index(end) << 32 | index(first)
    })
}

/// `UnsnarlNative.site`. If the agent fails, the access is recorded as any other.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_site(
    _jni: *mut JNIEnv,
    _class: jclass,
    site: jint,
    count: jint,
) -> jlong {
    guarded("site", 0, |watch| {
        watch.cell(site.cast_unsigned(), count.cast_unsigned()).cast_signed()
    })
}

/// `UnsnarlNative.declaringClass`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_declaringClass(
    jni: *mut JNIEnv,
    _class: jclass,
    site: jint,
) -> jstring {
    guarded("declaringClass", ptr::null_mut(), |watch| {
        let name = watch.declaring_class(site.cast_unsigned()).and_then(|it| CString::new(it).ok());
        // SAFETY: the string ends with zero and is copied by the JVM.
        name.map_or(ptr::null_mut(), |name| unsafe {
            (jni_functions(jni).NewStringUTF)(jni, name.as_ptr())
        })
    })
}

/// `UnsnarlNative.hasId`.
#[unsafe(no_mangle)]
unsafe extern "system" fn Java_java_lang_UnsnarlNative_hasId(
    jni: *mut JNIEnv,
    _class: jclass,
    name: jstring,
) -> jboolean {
    guarded("hasId", 0, |watch| {
        // SAFETY: the string lives during the call.
        let name = unsafe { characters(jni, name) };
        name.is_some_and(|name| watch.has_safe_ids(&name)).into()
    })
}

/// The modified UTF-8 of a string; none if there is none.
///
/// # Safety
/// `jni` belongs to the calling thread, and the string lives during the call.
unsafe fn characters(jni: *mut JNIEnv, string: jstring) -> Option<Vec<u8>> {
    if string.is_null() {
        return None;
    }
    // SAFETY: as this function asks for; the characters live until they are released.
    unsafe {
        let table = jni_functions(jni);
        let characters = (table.GetStringUTFChars)(jni, string, ptr::null_mut());
        if characters.is_null() {
            (table.ExceptionClear)(jni);
            return None;
        }
        let bytes = CStr::from_ptr(characters).to_bytes().to_vec();
        (table.ReleaseStringUTFChars)(jni, string, characters);
        Some(bytes)
    }
}
