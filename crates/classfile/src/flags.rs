//! Access flags and properties (tables 4.1-B, 4.5-A and 4.6-A of the JVM specification).
//!
//! One bit means different things on classes, fields and methods, so these are plain constants.

/// Visible everywhere.
pub const PUBLIC: u16 = 0x0001;
/// Visible in the class and its nest.
pub const PRIVATE: u16 = 0x0002;
/// Visible in the package and in subclasses.
pub const PROTECTED: u16 = 0x0004;
/// Belongs to the class.
pub const STATIC: u16 = 0x0008;
/// No subclass, no second assignment, no overriding.
pub const FINAL: u16 = 0x0010;
/// On methods: takes the monitor of `this` or of the class.
pub const SYNCHRONIZED: u16 = 0x0020;
/// On classes: `invokespecial` looks for superclass methods; set by every compiler.
pub const SUPER: u16 = 0x0020;
/// On fields: accesses are ordered.
pub const VOLATILE: u16 = 0x0040;
/// On methods: made by the compiler to bridge two descriptors.
pub const BRIDGE: u16 = 0x0040;
/// On fields: left out of serialization.
pub const TRANSIENT: u16 = 0x0080;
/// On methods: the last parameter takes any number of arguments.
pub const VARARGS: u16 = 0x0080;
/// On methods: implemented outside the class file.
pub const NATIVE: u16 = 0x0100;
/// On classes: an interface.
pub const INTERFACE: u16 = 0x0200;
/// No instances, or no body.
pub const ABSTRACT: u16 = 0x0400;
/// Not in the source.
pub const SYNTHETIC: u16 = 0x1000;
/// On classes: an annotation interface.
pub const ANNOTATION: u16 = 0x2000;
/// On classes and fields: an enum or one of its constants.
pub const ENUM: u16 = 0x4000;
/// On classes: a module descriptor.
pub const MODULE: u16 = 0x8000;
