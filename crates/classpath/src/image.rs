//! The JDK's runtime image, `lib/modules`: all classes of all modules in one file ("jimage").
//!
//! The layout is that of the JDK's own `libjimage`: a header, a perfect hash table over resource
//! names (not needed here, the index of the class path serves), an attribute stream per resource,
//! strings, and the contents. All numbers of the header are in the byte order that its magic number
//! shows; attributes are big-endian.
//!
//! The file is mapped and the contents of a resource are a part of the mapping, unless `jlink`
//! compressed them. Preview versions of classes (`META-INF/preview`, from JDK 27 on) are not classes
//! of their own and are left out.
//!
//! Why not a crate: the one there is indexes without checks and panics on a damaged image.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

use memmap2::Mmap;
use rustc_hash::FxHashMap;

use crate::archive::{self, Fault};
use crate::compact;
use crate::problem::Reason;

/// A runtime image that is open.
#[derive(Debug)]
pub(crate) struct Image {
    map: Mmap,
    layout: Layout,
    modules: Vec<String>,
}

/// Where the contents of a class lie in its image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resource {
    /// Offset in the file.
    start: u64,
    /// Length when packed; 0 if it is not packed.
    packed: u64,
    /// Length when unpacked.
    size: u64,
    module: u16,
}

/// The offsets of the parts, all inside the file, but for the end of the contents.
#[derive(Clone, Copy, Debug)]
struct Layout {
    big_endian: bool,
    resources: usize,
    offsets: usize,
    locations: usize,
    strings: usize,
    contents: usize,
}

const MAGIC: u32 = 0xcafe_dada;
const PACKED_MAGIC: u32 = 0xcafe_fafa;
const HEADER_LENGTH: usize = 28;
const PACKED_HEADER_LENGTH: usize = 29;

/// No text of a class file is longer; without a limit, a table without ends would be searched to its
/// end again and again.
const STRING_LIMIT: usize = 1 << 16;

/// The attributes of a resource, by their kind in the stream.
const MODULE: usize = 1;
const PARENT: usize = 2;
const BASE: usize = 3;
const EXTENSION: usize = 4;
const OFFSET: usize = 5;
const PACKED: usize = 6;
const SIZE: usize = 7;
const KINDS: usize = 9;

/// Whether a file that begins like this is a runtime image.
pub(crate) fn is_image(start: &[u8]) -> bool {
    start.starts_with(&MAGIC.to_le_bytes()) || start.starts_with(&MAGIC.to_be_bytes())
}

impl Image {
    /// Maps the file and reads its header.
    pub(crate) fn open(path: &Path) -> Result<Self, Fault> {
        let unreadable =
            |error: std::io::Error| Fault::new(None, Reason::Unreadable(error.to_string()));
        let file = File::open(path).map_err(unreadable)?;
        // SAFETY: the mapping is private and only read. A JDK's image is replaced by upgrades, which
        // write a new file, and not changed in place; whoever does that all the same breaks running
        // JVMs, too, which map it in the same way.
        let map = unsafe { Mmap::map(&file) }.map_err(unreadable)?;
        let layout = Layout::read(&map)?;
        Ok(Self { map, layout, modules: Vec::new() })
    }

    /// Calls `each` with the name of every class and its place, in the order of the contents, and
    /// returns what is wrong with the image.
    pub(crate) fn classes(&mut self, mut each: impl FnMut(&[u8], Resource)) -> Vec<Fault> {
        let mut classes = Vec::with_capacity(self.layout.resources);
        let mut modules = Modules::default();
        let mut broken: Option<(usize, Fault)> = None;
        for index in 0..self.layout.resources {
            match self.class_at(index, &mut modules) {
                Ok(Some(class)) => classes.push(class),
                Ok(None) => {}
                Err(fault) => broken.get_or_insert((0, fault)).0 += 1,
            }
        }
        classes.sort_unstable_by_key(|class| class.resource.start);

        let length = self.map.len() as u64;
        let (mut missing, mut expected) = (0, 0);
        let mut name = Vec::new();
        for class in classes {
            let end = class.resource.end();
            if end > length {
                missing += 1;
                expected = expected.max(end);
                continue;
            }
            name.clear();
            if !class.parent.is_empty() {
                name.extend_from_slice(class.parent);
                name.push(b'/');
            }
            name.extend_from_slice(class.base);
            each(&name, class.resource);
        }
        self.modules = modules.names;

        let mut faults = Vec::new();
        if missing > 0 {
            let reason = Reason::ImageCut { expected, actual: length, missing };
            faults.push(Fault::new(length, reason));
        }
        if let Some((count, Fault { offset, reason })) = broken {
            let reason =
                Reason::Image(format!("{count} entries of its index, the first: {reason}"));
            faults.push(Fault::new(offset, reason));
        }
        faults
    }

    /// The contents of a class, borrowed from the mapping where they are not packed.
    pub(crate) fn read(&self, resource: &Resource, limit: u64) -> Result<Cow<'_, [u8]>, Fault> {
        let start = resource.start as usize;
        let length = if resource.packed == 0 { resource.size } else { resource.packed };
        let contents = start
            .checked_add(length as usize)
            .and_then(|end| self.map.get(start..end))
            .ok_or_else(|| fault(start, "expected the contents of a class, found the end"))?;
        if resource.packed == 0 {
            Ok(Cow::Borrowed(contents))
        } else {
            self.unpack(contents, start, limit).map(Cow::Owned)
        }
    }

    /// The module of a class.
    pub(crate) fn module(&self, resource: &Resource) -> &str {
        self.modules.get(usize::from(resource.module)).map_or("", String::as_str)
    }

    fn class_at(&self, index: usize, modules: &mut Modules) -> Result<Option<Class<'_>>, Fault> {
        let slot = self.layout.offsets + 4 * index;
        let location = self.layout.u32_at(&self.map, slot)? as usize;
        let attributes = self.attributes(self.layout.locations + location)?;
        if self.string(attributes[EXTENSION])? != b"class" {
            return Ok(None);
        }
        let module = self.string(attributes[MODULE])?;
        let parent = self.string(attributes[PARENT])?;
        // The trees by which the JDK's file system views the image.
        if matches!(module, b"" | b"modules" | b"packages") || parent.starts_with(b"META-INF/") {
            return Ok(None);
        }
        let start = (self.layout.contents as u64)
            .checked_add(attributes[OFFSET])
            .ok_or_else(|| fault(slot, "offset of contents beyond any file"))?;
        let resource = Resource {
            start,
            packed: attributes[PACKED],
            size: attributes[SIZE],
            module: modules
                .number(attributes[MODULE], module)
                .ok_or_else(|| fault(slot, "too many modules"))?,
        };
        Ok(Some(Class { parent, base: self.string(attributes[BASE])?, resource }))
    }

    /// The attribute stream at `position`: a byte with kind and length, then a big-endian number.
    fn attributes(&self, mut position: usize) -> Result<[u64; KINDS], Fault> {
        let locations = &self.map[..self.layout.strings];
        let mut attributes = [0; KINDS];
        loop {
            let Some(&head) = locations.get(position) else {
                return Err(fault(position, "attributes run into the strings"));
            };
            let (kind, length) = (usize::from(head >> 3), usize::from(head & 7) + 1);
            if kind == 0 {
                return Ok(attributes);
            }
            let Some(value) = locations.get(position + 1..position + 1 + length) else {
                return Err(fault(position, "attributes run into the strings"));
            };
            let Some(attribute) = attributes.get_mut(kind) else {
                return Err(fault(position, "unknown kind of attribute"));
            };
            *attribute = value.iter().fold(0, |number, &byte| (number << 8) | u64::from(byte));
            position += 1 + length;
        }
    }

    /// The string at an offset of the string table.
    fn string(&self, offset: u64) -> Result<&[u8], Fault> {
        let strings = &self.map[self.layout.strings..self.layout.contents];
        let rest = usize::try_from(offset).ok().and_then(|offset| strings.get(offset..));
        rest.map(|rest| &rest[..rest.len().min(STRING_LIMIT)])
            .and_then(|rest| rest.iter().position(|&byte| byte == 0).map(|end| &rest[..end]))
            .ok_or_else(|| fault(self.layout.strings, "a string is not within the strings"))
    }

    /// Undoes the compression, layer by layer.
    fn unpack(&self, contents: &[u8], start: usize, limit: u64) -> Result<Vec<u8>, Fault> {
        let start = start as u64;
        let mut bytes = Cow::Borrowed(contents);
        // `jlink` has two kinds of compression, and applies each at most once.
        for _ in 0..2 {
            let Some(packed) = self.packed_header(&bytes) else { break };
            if packed.size > limit {
                return Err(Fault::new(start, Reason::TooLarge { size: packed.size, limit }));
            }
            let body = &bytes[PACKED_HEADER_LENGTH..];
            let body = usize::try_from(packed.length).ok().and_then(|length| body.get(..length));
            let Some(body) = body else {
                return Err(fault(start as usize, "compressed contents run beyond their end"));
            };
            let unpacked = match self.string(u64::from(packed.method))? {
                b"zip" => archive::inflate(body, packed.size, true),
                b"compact-cp" => compact::expand(body, packed.size, |index| self.string(index)),
                method => {
                    let method = String::from_utf8_lossy(method);
                    let reason = format!("expected compression zip or compact-cp, found {method}");
                    Err(Fault::new(0, Reason::Image(reason)))
                }
            };
            let unpacked = unpacked
                .map_err(|inner| Fault::new(start + inner.offset.unwrap_or(0), inner.reason))?;
            if unpacked.len() as u64 != packed.size {
                let actual = unpacked.len() as u64;
                return Err(Fault::new(start, Reason::Size { expected: packed.size, actual }));
            }
            bytes = Cow::Owned(unpacked);
        }
        Ok(bytes.into_owned())
    }

    /// The header of compressed contents, if they begin with one.
    fn packed_header(&self, bytes: &[u8]) -> Option<PackedHeader> {
        let header = bytes.get(..PACKED_HEADER_LENGTH)?;
        let number = |at: usize| self.layout.u32_at(header, at).ok();
        let long = |at: usize| {
            let (first, second) = (u64::from(number(at)?), u64::from(number(at + 4)?));
            let (high, low) =
                if self.layout.big_endian { (first, second) } else { (second, first) };
            Some(high << 32 | low)
        };
        (number(0)? == PACKED_MAGIC).then_some(())?;
        Some(PackedHeader { length: long(4)?, size: long(12)?, method: number(20)? })
    }
}

struct PackedHeader {
    length: u64,
    size: u64,
    method: u32,
}

struct Class<'a> {
    parent: &'a [u8],
    base: &'a [u8],
    resource: Resource,
}

impl Resource {
    fn end(&self) -> u64 {
        let length = if self.packed == 0 { self.size } else { self.packed };
        self.start.saturating_add(length)
    }
}

impl Layout {
    fn read(bytes: &[u8]) -> Result<Self, Fault> {
        let Some(header) = bytes.get(..HEADER_LENGTH) else {
            let found = format!("expected a header of {HEADER_LENGTH} bytes");
            return Err(Fault::new(bytes.len() as u64, Reason::Image(found)));
        };
        let mut layout = Self {
            big_endian: header.starts_with(&MAGIC.to_be_bytes()),
            resources: 0,
            offsets: 0,
            locations: 0,
            strings: 0,
            contents: 0,
        };
        let magic = layout.u32_at(header, 0)?;
        if magic != MAGIC {
            let reason = format!("expected {MAGIC:08x} at its start, found {magic:08x}");
            return Err(Fault::new(0, Reason::Image(reason)));
        }
        let version = layout.u32_at(header, 4)?;
        if version >> 16 != 1 {
            let (major, minor) = (version >> 16, version & 0xffff);
            let reason = format!("expected version 1, found {major}.{minor}");
            return Err(Fault::new(4, Reason::Image(reason)));
        }
        let number = |at| layout.u32_at(header, at).map(|number| number as usize);
        let (table, locations, strings) = (number(16)?, number(20)?, number(24)?);
        layout.resources = table;
        // Sums of a few 32-bit numbers: no overflow in 64 bits.
        layout.offsets = HEADER_LENGTH + 4 * table;
        layout.locations = layout.offsets + 4 * table;
        layout.strings = layout.locations + locations;
        layout.contents = layout.strings + strings;
        if layout.contents > bytes.len() {
            let (expected, length) = (layout.contents, bytes.len());
            let reason = format!("expected an index of {expected} bytes, found {length} in all");
            return Err(Fault::new(length as u64, Reason::Image(reason)));
        }
        Ok(layout)
    }

    fn u32_at(&self, bytes: &[u8], position: usize) -> Result<u32, Fault> {
        let Some(&[a, b, c, d]) = bytes.get(position..position + 4) else {
            return Err(fault(position, "expected a number, found the end"));
        };
        let number = [a, b, c, d];
        Ok(if self.big_endian { u32::from_be_bytes(number) } else { u32::from_le_bytes(number) })
    }
}

/// The names of modules, numbered as they are met. Equal names share one string of the image.
#[derive(Default)]
struct Modules {
    names: Vec<String>,
    by_string: FxHashMap<u64, u16>,
}

impl Modules {
    fn number(&mut self, string: u64, name: &[u8]) -> Option<u16> {
        if let Some(&known) = self.by_string.get(&string) {
            return Some(known);
        }
        let number = u16::try_from(self.names.len()).ok()?;
        self.names.push(String::from_utf8_lossy(name).into_owned());
        self.by_string.insert(string, number);
        Some(number)
    }
}

fn fault(offset: usize, reason: &str) -> Fault {
    Fault::new(offset as u64, Reason::Image(reason.to_owned()))
}
