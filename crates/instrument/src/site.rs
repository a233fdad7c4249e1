//! The places in the code that hooks report.

use std::sync::atomic::{AtomicU32, Ordering};

use unsnarl_classfile::flags;

use crate::recorded::{Dispatch, MethodName};

/// The number of a place in the code, unique in a run. Probes pass it to the hooks; 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteNumber(pub u32);

/// Gives numbers to sites, also to several classes that are rewritten at the same time.
#[derive(Debug)]
pub struct SiteNumbers(AtomicU32);

impl Default for SiteNumbers {
    fn default() -> Self {
        Self(AtomicU32::new(1))
    }
}

impl SiteNumbers {
    /// The first of so many numbers in a row. Two billion sites are more than class files of a JVM can hold, so
    /// it never wraps.
    #[must_use]
    pub fn take(&self, count: u32) -> SiteNumber {
        SiteNumber(self.0.fetch_add(count, Ordering::Relaxed))
    }
}

/// A place in the code that reports an event. Names are modified UTF-8; the class is that of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Its number.
    pub number: SiteNumber,
    /// The name of the method.
    pub method: Vec<u8>,
    /// The descriptor of the method.
    pub descriptor: Vec<u8>,
    /// Whether the method is static.
    pub is_static: bool,
    /// The line in the source file.
    pub line: Option<u16>,
    /// What is done there.
    pub operation: Operation,
}

/// What is done at a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A read or write of a field, static or not.
    Field(FieldName, Volatility),
    /// A read or write of an element of an array.
    Element,
    /// A monitor is entered or left, or waited on.
    Monitor,
    /// A monitor is waited on as soon as it is entered, whatever the program has done until then.
    UntestedWait,
    /// A class initializer ends.
    ClassInitialized,
    /// A library method is called.
    Call(MethodName, Dispatch),
    /// The method itself may be a task that is run by another thread.
    Task,
    /// The method itself, which is entered and left.
    Method,
    /// Something that may run other methods: a call, or what may initialize a class.
    Caller,
    /// An object is made.
    Allocation,
}

/// A probe whose use depends on whether fields are what they were assumed to be when nothing but their class files was
/// known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conditional {
    /// The number of the probe.
    pub site: SiteNumber,
    /// The fields, and what was assumed of them.
    pub assumed: Vec<(FieldName, Volatility)>,
    /// The probe that reports this access with others if the assumptions hold, and how many it reports; it may be this
    /// one itself, which then reports nothing if they do not. If there is none, the access is redundant if they hold.
    pub reported_by: Option<(SiteNumber, u32)>,
}

/// A field as the code names it. The class that declares it may be one above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldName {
    /// The internal name of the class that the code names.
    pub class: Vec<u8>,
    /// The name of the field.
    pub name: Vec<u8>,
    /// The descriptor of the field.
    pub descriptor: Vec<u8>,
}

/// What is known of a field when an access to it is rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// It is not volatile.
    Plain,
    /// It is a final field of objects: only constructors write it.
    Final,
    /// It is volatile.
    Volatile,
    /// Its class was not seen yet. The access takes a number, as if the field were volatile: the reader of
    /// the events knows the class.
    Unknown,
}

impl Volatility {
    /// What the flags of a field say.
    #[must_use]
    pub fn of(access: u16) -> Self {
        if access & flags::VOLATILE != 0 {
            Self::Volatile
        } else if access & (flags::FINAL | flags::STATIC) == flags::FINAL {
            Self::Final
        } else {
            Self::Plain
        }
    }
}
