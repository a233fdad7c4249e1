//! Places in the code that the JVM tells by a method and a location in it, as sites.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::ptr;
use std::sync::{LazyLock, Mutex};

use jvmti_bindings::sys::jni::{jclass, jint, jmethodID};
use jvmti_bindings::sys::jvmti::{jlocation, jvmtiEnv, jvmtiLineNumberEntry};
use unsnarl_recording::{SiteOperation, SiteRecord};

use super::{check, functions};
use crate::session::lock;
use crate::watch::Watch;

/// A place in code that has probes.
#[derive(Clone, Copy)]
pub(super) struct FrameSite {
    pub(super) site: u32,
    /// Whether somebody has written that code, and as a part of the program.
    pub(super) is_source: bool,
}

type Places = HashMap<(usize, jlocation), Option<FrameSite>>;

/// All places that were asked for. The JVM gives no id of a method twice.
static KNOWN: LazyLock<Mutex<Places>> = LazyLock::new(Mutex::default);

/// Those of the places that are in code with probes.
///
/// # Safety
/// `jvmti` belongs to the calling thread, and the methods are those of frames of it.
pub(super) unsafe fn with_probes(
    watch: &Watch,
    jvmti: *mut jvmtiEnv,
    places: impl Iterator<Item = (jmethodID, jlocation)>,
) -> Vec<FrameSite> {
    let mut known = lock(&KNOWN);
    let mut new = Vec::new();
    let found = places.filter_map(|(method, location)| {
        *known.entry((method as usize, location)).or_insert_with(|| {
            // SAFETY: as this function asks for.
            let record = unsafe { record(watch, jvmti, method, location) }?;
            let is_source = watch.is_source(&record.class);
            let place = FrameSite { site: record.number.0, is_source };
            new.push(record);
            Some(place)
        })
    });
    let found = found.collect();
    watch.session.add_sites(&new);
    found
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
        let (declaring, class) = declaring_class(jvmti, method)?;
        if !watch.has_probes(&class) {
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
            class,
            method: name,
            descriptor,
            is_static: false,
            file: if has_file { taken(jvmti, file) } else { Vec::new() },
            line: line(jvmti, method, location),
            operation: SiteOperation::Caller,
        })
    }
}

/// The class that declares a method, and its internal name.
///
/// # Safety
/// As [`record`].
pub(super) unsafe fn declaring_class(
    jvmti: *mut jvmtiEnv,
    method: jmethodID,
) -> Option<(jclass, Vec<u8>)> {
    // SAFETY: as this function asks for; what the JVM fills in ends with zero, and is given back.
    unsafe {
        let table = functions(jvmti);
        let mut declaring = ptr::null_mut();
        let get_class = table.GetMethodDeclaringClass?;
        check("GetMethodDeclaringClass", get_class(jvmti, method, &raw mut declaring)).ok()?;
        let signature = signature(jvmti, declaring)?;
        Some((declaring, signature.strip_prefix(b"L")?.strip_suffix(b";")?.to_vec()))
    }
}

/// The signature of a class.
///
/// # Safety
/// `jvmti` belongs to the calling thread, and the class is alive.
pub(super) unsafe fn signature(jvmti: *mut jvmtiEnv, class: jclass) -> Option<Vec<u8>> {
    let mut signature = ptr::null_mut();
    // SAFETY: as this function asks for; what the JVM fills in ends with zero, and is given back.
    unsafe {
        let get = functions(jvmti).GetClassSignature?;
        let result = get(jvmti, class, &raw mut signature, ptr::null_mut());
        check("GetClassSignature", result).ok()?;
        Some(taken(jvmti, signature))
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
