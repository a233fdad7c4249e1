//! The classes of the installed JDKs, read just far enough to know their methods.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use jimage_rs::JImage;

/// The image of one JDK.
pub(crate) struct Jdk {
    /// The feature release: 17, 25.
    pub(crate) release: u16,
    image: JImage,
    /// Internal name to name of the resource.
    resources: HashMap<String, String>,
    classes: RefCell<HashMap<String, Option<Rc<Class>>>>,
}

/// What the test needs to know about a class.
pub(crate) struct Class {
    pub(crate) name: String,
    pub(crate) is_public: bool,
    pub(crate) is_abstract: bool,
    pub(crate) superclass: Option<String>,
    pub(crate) interfaces: Vec<String>,
    pub(crate) methods: Vec<Method>,
}

/// What the test needs to know about a method.
#[derive(Clone)]
pub(crate) struct Method {
    pub(crate) name: String,
    pub(crate) descriptor: String,
    pub(crate) is_public: bool,
    pub(crate) is_static: bool,
}

impl Method {
    /// The descriptors of the parameters.
    pub(crate) fn parameters(&self) -> Vec<&str> {
        let end = self.descriptor.find(')').unwrap_or(1);
        let mut rest = &self.descriptor[1..end];
        let mut list = Vec::new();
        while !rest.is_empty() {
            let element = rest.len() - rest.trim_start_matches('[').len();
            let length = match rest.as_bytes()[element] {
                b'L' => rest.find(';').unwrap_or(rest.len() - 1) + 1,
                _ => element + 1,
            };
            list.push(&rest[..length]);
            rest = &rest[length..];
        }
        list
    }

    /// The descriptor of what is returned.
    pub(crate) fn returns(&self) -> &str {
        self.descriptor.rsplit(')').next().unwrap_or_default()
    }
}

/// Every JDK with an image that can be read.
pub(crate) fn installed() -> Vec<Jdk> {
    let jdks = unsnarl_testing::images().into_iter();
    jdks.filter_map(|jdk| {
        Some(Jdk::new(jdk.release, JImage::open(jdk.home.join("lib/modules")).ok()?))
    })
    .collect()
}

impl Class {
    /// The superclass, then the interfaces.
    pub(crate) fn supertypes(&self) -> impl Iterator<Item = &String> {
        self.superclass.iter().chain(&self.interfaces)
    }
}

impl Jdk {
    fn new(release: u16, image: JImage) -> Jdk {
        let mut resources = HashMap::new();
        for name in image.resource_names_iter().flatten() {
            let (module, path) = name.get_full_name();
            if let Some(class) = path.strip_suffix(".class") {
                let class = class.trim_start_matches('/');
                resources.insert(
                    class.to_owned(),
                    format!("/{}/{class}.class", module.trim_matches('/')),
                );
            }
        }
        Jdk { release, image, resources, classes: RefCell::default() }
    }

    pub(crate) fn has_prefix(&self, prefix: &str) -> bool {
        self.resources.keys().any(|class| {
            class
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '$']))
        })
    }

    /// The names of the classes of a package.
    pub(crate) fn package(&self, package: &str) -> impl Iterator<Item = &str> {
        let names = self.resources.keys();
        names
            .map(String::as_str)
            .filter(move |class| class.rsplit_once('/').is_some_and(|(of, _)| of == package))
    }

    pub(crate) fn class(&self, name: &str) -> Option<Rc<Class>> {
        if let Some(known) = self.classes.borrow().get(name) {
            return known.clone();
        }
        let class = self.resources.get(name).and_then(|resource| {
            let bytes = self.image.find_resource(resource).ok()??;
            Some(Rc::new(read_class(&bytes)))
        });
        self.classes.borrow_mut().insert(name.to_owned(), class.clone());
        class
    }

    /// The methods of that name and, if given, those parameters, of the class or else of the nearest
    /// supertypes that have one. Bridges count: they have a signature of their own.
    pub(crate) fn find_methods(
        &self,
        class: &Class,
        name: &str,
        parameters: Option<&str>,
    ) -> Vec<Method> {
        let fits = |method: &&Method| {
            method.name == name
                && parameters.is_none_or(|list| method.descriptor.starts_with(&format!("({list})")))
        };
        let found: Vec<_> = class.methods.iter().filter(fits).cloned().collect();
        if !found.is_empty() || name == "<init>" {
            return found;
        }
        class
            .supertypes()
            .filter_map(|supertype| self.class(supertype))
            .map(|supertype| self.find_methods(&supertype, name, parameters))
            .find(|methods| !methods.is_empty())
            .unwrap_or_default()
    }

    pub(crate) fn is_subtype(&self, class: &str, of: &str) -> bool {
        let mut seen = HashSet::new();
        let mut todo = vec![class.to_owned()];
        while let Some(name) = todo.pop() {
            if name == of {
                return true;
            }
            if let Some(class) = self.class(&name).filter(|_| seen.insert(name)) {
                todo.extend(class.supertypes().cloned());
            }
        }
        of == "java/lang/Object"
    }
}

struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bytes<'_> {
    fn number(&mut self, width: usize) -> usize {
        let value = self.bytes[self.at..self.at + width]
            .iter()
            .fold(0, |value, byte| value << 8 | usize::from(*byte));
        self.at += width;
        value
    }

    fn skip_attributes(&mut self) {
        for _ in 0..self.number(2) {
            self.at += 2;
            let length = self.number(4);
            self.at += length;
        }
    }
}

/// Reads a class file of a JDK, which is well formed.
fn read_class(bytes: &[u8]) -> Class {
    const PUBLIC: usize = 0x1;
    const ABSTRACT: usize = 0x400;
    const STATIC: usize = 0x8;
    let mut reader = Bytes { bytes, at: 8 };
    let count = reader.number(2);
    let mut texts = vec![String::new(); count];
    let mut class_names = vec![0; count];
    let mut index = 1;
    while index < count {
        let tag = reader.number(1);
        match tag {
            1 => {
                let length = reader.number(2);
                let text = &bytes[reader.at..reader.at + length];
                texts[index] = String::from_utf8_lossy(text).into_owned();
                reader.at += length;
            }
            7 => class_names[index] = reader.number(2),
            8 | 16 | 19 | 20 => reader.at += 2,
            15 => reader.at += 3,
            5 | 6 => {
                reader.at += 8;
                index += 1;
            }
            _ => reader.at += 4,
        }
        index += 1;
    }
    let class_name = |index: usize| texts[class_names[index]].clone();
    let flags = reader.number(2);
    let (is_public, is_abstract) = (flags & PUBLIC != 0, flags & ABSTRACT != 0);
    let name = class_name(reader.number(2));
    let superclass = Some(class_name(reader.number(2))).filter(|name| !name.is_empty());
    let interfaces = (0..reader.number(2)).map(|_| class_name(reader.number(2))).collect();
    for _ in 0..reader.number(2) {
        reader.at += 6;
        reader.skip_attributes();
    }
    let mut methods = Vec::new();
    for _ in 0..reader.number(2) {
        let flags = reader.number(2);
        methods.push(Method {
            name: texts[reader.number(2)].clone(),
            descriptor: texts[reader.number(2)].clone(),
            is_public: flags & PUBLIC != 0,
            is_static: flags & STATIC != 0,
        });
        reader.skip_attributes();
    }
    Class { name, is_public, is_abstract, superclass, interfaces, methods }
}
