//! The lines of the tables, as the agent writes and the reader reads them.

use unsnarl_classfile::flags;

use crate::line;

/// The number of a place in the code, unique in a run. Probes pass it to the hooks; 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteNumber(pub u32);

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

/// A method as a call names it. Names are modified UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MethodName {
    /// The internal name of the class that the code names.
    pub class: Vec<u8>,
    /// The name of the method.
    pub name: Vec<u8>,
    /// Its descriptor.
    pub descriptor: Vec<u8>,
}

/// What is known of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// It is not volatile.
    Plain,
    /// It is a final field of objects: only constructors write it.
    Final,
    /// It is volatile.
    Volatile,
    /// Its class was not loaded when the code that accesses it was rewritten. The access takes a number, as if the field
    /// were volatile: whoever reads the recording knows the class from the table of classes.
    Unknown,
}

/// A place in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteRecord {
    /// Its number in events.
    pub number: SiteNumber,
    /// The internal name of the class.
    pub class: Vec<u8>,
    /// The name of the method.
    pub method: Vec<u8>,
    /// The descriptor of the method.
    pub descriptor: Vec<u8>,
    /// Whether the method is static.
    pub is_static: bool,
    /// The source file; empty if the class does not have it.
    pub file: Vec<u8>,
    /// The line in it.
    pub line: Option<u16>,
    /// What is done there.
    pub operation: SiteOperation,
}

/// What is done at a place in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SiteOperation {
    /// An access to a field, by the names that the code has for it.
    Field(FieldName, Volatility),
    /// An access to an element of an array.
    Element,
    /// A monitor is entered or left, or waited on.
    Monitor,
    /// A monitor is waited on as soon as it is entered, whatever the program has done until then.
    UntestedWait,
    /// The end of a class initializer.
    ClassInitialized,
    /// A call of a library method.
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

/// How the method that a call runs is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dispatch {
    /// It is the one that the code names, and has no receiver.
    Static,
    /// It is the one that the code names: a constructor, or a method of a superclass.
    Special,
    /// By the class of the receiver.
    Virtual,
    /// The same, and the code names an interface. Tables do not distinguish it from the one before.
    Interface,
}

/// A class that was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassRecord {
    /// Its internal name.
    pub name: Vec<u8>,
    /// The internal name of its superclass; empty for none.
    pub superclass: Vec<u8>,
    /// The internal names of the interfaces that it names.
    pub interfaces: Vec<Vec<u8>>,
    /// Of a class with probes, the methods with a body that the models have a name for: name and descriptor.
    pub methods: Vec<(Vec<u8>, Vec<u8>)>,
    /// The fields that it declares.
    pub fields: Vec<FieldRecord>,
}

/// A field that a class declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRecord {
    /// Its name.
    pub name: Vec<u8>,
    /// Its descriptor.
    pub descriptor: Vec<u8>,
    /// Whether it is volatile or final.
    pub volatility: Volatility,
    /// Whether it is static.
    pub is_static: bool,
}

/// A name that only the running program knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameRecord {
    /// The binary name of the class whose `Class` is the object with this id.
    Class(u64, Vec<u8>),
    /// The name of the thread with this number.
    Thread(u64, Vec<u8>),
    /// The name of the thread with this number, which does not keep the program from ending.
    Daemon(u64, Vec<u8>),
    /// The text of the string with this id.
    Text(u64, Vec<u8>),
}

/// How a thread came to a place in the code when it was there for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackRecord {
    /// The number of the thread.
    pub thread: u64,
    /// The number of the place.
    pub site: u32,
    /// The numbers of the places that it was called from, the innermost first.
    pub callers: Vec<u32>,
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

    fn text(self) -> &'static [u8] {
        match self {
            Self::Plain => b"plain",
            Self::Final => b"final",
            Self::Volatile => b"volatile",
            Self::Unknown => b"unknown",
        }
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let all = [Self::Plain, Self::Final, Self::Volatile, Self::Unknown];
        all.into_iter().find(|it| it.text() == text)
    }

    /// Whether the field may be volatile, as far as is known.
    #[must_use]
    pub fn may_be_volatile(self) -> bool {
        matches!(self, Self::Volatile | Self::Unknown)
    }

    /// What is known of a field that two classes of one name declare.
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Plain | Self::Final, Self::Plain | Self::Final) => Self::Plain,
            _ => Self::Unknown,
        }
    }
}

impl Dispatch {
    /// Whether the class of the receiver decides.
    #[must_use]
    pub fn is_virtual(self) -> bool {
        matches!(self, Self::Virtual | Self::Interface)
    }

    fn text(self) -> &'static [u8] {
        match self {
            Self::Static => b"static",
            Self::Special => b"special",
            Self::Virtual | Self::Interface => b"virtual",
        }
    }

    fn parse(text: &[u8]) -> Option<Self> {
        [Self::Static, Self::Special, Self::Virtual].into_iter().find(|it| it.text() == text)
    }
}

/// In front of the descriptor of a static method, and of what a static field is.
const STATIC: &[u8] = b"static ";

impl SiteRecord {
    /// Appends its line.
    pub fn write(&self, out: &mut Vec<u8>) {
        let number = self.number.0.to_string();
        let descriptor = [if self.is_static { STATIC } else { b"" }, &self.descriptor].concat();
        let source_line = self.line.map(|line| line.to_string()).unwrap_or_default();
        let mut fields: Vec<&[u8]> = vec![
            number.as_bytes(),
            &self.class,
            &self.method,
            &descriptor,
            &self.file,
            source_line.as_bytes(),
        ];
        match &self.operation {
            SiteOperation::Field(FieldName { class, name, descriptor }, volatility) => {
                fields.extend([&b"field"[..], class, name, descriptor, volatility.text()]);
            }
            SiteOperation::Element => fields.push(b"element"),
            SiteOperation::Monitor => fields.push(b"monitor"),
            SiteOperation::UntestedWait => fields.push(b"untested-wait"),
            SiteOperation::ClassInitialized => fields.push(b"class-initialized"),
            SiteOperation::Call(MethodName { class, name, descriptor }, dispatch) => {
                fields.extend([&b"call"[..], class, name, descriptor, dispatch.text()]);
            }
            SiteOperation::Task => fields.push(b"task"),
            SiteOperation::Method => fields.push(b"method"),
            SiteOperation::Caller => fields.push(b"caller"),
            SiteOperation::Allocation => fields.push(b"allocation"),
        }
        line::write(out, &fields);
    }

    /// The record of a line without its end.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let fields = line::read(text)?;
        let (head, rest) = fields.split_first_chunk::<7>()?;
        let [number, class, method, descriptor, file, source_line, operation] = head.clone();
        let operation = match (&operation[..], rest) {
            (b"field", [class, name, descriptor, volatility]) => SiteOperation::Field(
                FieldName {
                    class: class.clone(),
                    name: name.clone(),
                    descriptor: descriptor.clone(),
                },
                Volatility::parse(volatility)?,
            ),
            (b"element", []) => SiteOperation::Element,
            (b"monitor", []) => SiteOperation::Monitor,
            (b"untested-wait", []) => SiteOperation::UntestedWait,
            (b"class-initialized", []) => SiteOperation::ClassInitialized,
            (b"call", [class, name, descriptor, dispatch]) => SiteOperation::Call(
                MethodName {
                    class: class.clone(),
                    name: name.clone(),
                    descriptor: descriptor.clone(),
                },
                Dispatch::parse(dispatch)?,
            ),
            (b"task", []) => SiteOperation::Task,
            (b"method", []) => SiteOperation::Method,
            (b"caller", []) => SiteOperation::Caller,
            (b"allocation", []) => SiteOperation::Allocation,
            _ => return None,
        };
        let line = if source_line.is_empty() { None } else { Some(number_in(&source_line)?) };
        let number = SiteNumber(number_in(&number)?);
        let is_static = descriptor.starts_with(STATIC);
        let descriptor = descriptor.strip_prefix(STATIC).unwrap_or(&descriptor).to_vec();
        Some(Self { number, class, method, descriptor, is_static, file, line, operation })
    }
}

impl ClassRecord {
    /// Appends its line.
    pub fn write(&self, out: &mut Vec<u8>) {
        let [interfaces, methods] =
            [self.interfaces.len(), self.methods.len()].map(|count| count.to_string());
        let mut fields: Vec<&[u8]> = vec![&self.name, &self.superclass, interfaces.as_bytes()];
        fields.extend(self.interfaces.iter().map(Vec::as_slice));
        fields.push(methods.as_bytes());
        fields.extend(self.methods.iter().flat_map(|(name, descriptor)| [&name[..], descriptor]));
        let flags = self.fields.iter().map(|field| {
            [if field.is_static { STATIC } else { b"" }, field.volatility.text()].concat()
        });
        let flags: Vec<_> = flags.collect();
        for (field, flags) in self.fields.iter().zip(&flags) {
            fields.extend([&field.name[..], &field.descriptor, flags]);
        }
        line::write(out, &fields);
    }

    /// The record of a line without its end.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let fields = line::read(text)?;
        let ([name, superclass, interfaces], rest) = fields.split_first_chunk::<3>()?;
        let (interfaces, rest) = rest.split_at_checked(number_in(interfaces)?)?;
        let (methods, rest) = rest.split_first()?;
        let (methods, rest) =
            rest.split_at_checked(number_in::<usize>(methods)?.checked_mul(2)?)?;
        let (methods, _) = methods.as_chunks::<2>();
        let (fields, remainder) = rest.as_chunks::<3>();
        let fields = fields.iter().map(|[name, descriptor, flags]| {
            Some(FieldRecord {
                name: name.clone(),
                descriptor: descriptor.clone(),
                volatility: Volatility::parse(flags.strip_prefix(STATIC).unwrap_or(flags))?,
                is_static: flags.starts_with(STATIC),
            })
        });
        let fields = fields.collect::<Option<_>>()?;
        remainder.is_empty().then(|| Self {
            name: name.clone(),
            superclass: superclass.clone(),
            interfaces: interfaces.to_vec(),
            methods: methods.iter().cloned().map(|[name, descriptor]| (name, descriptor)).collect(),
            fields,
        })
    }
}

impl NameRecord {
    /// Appends its line.
    pub fn write(&self, out: &mut Vec<u8>) {
        let (kind, number, name) = match self {
            Self::Class(number, name) => (&b"class"[..], number, name),
            Self::Thread(number, name) => (&b"thread"[..], number, name),
            Self::Daemon(number, name) => (&b"daemon"[..], number, name),
            Self::Text(number, text) => (&b"text"[..], number, text),
        };
        line::write(out, &[kind, number.to_string().as_bytes(), name]);
    }

    /// The record of a line without its end.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let [kind, number, name] = line::read(text)?.try_into().ok()?;
        let number = number_in(&number)?;
        match &kind[..] {
            b"class" => Some(Self::Class(number, name)),
            b"thread" => Some(Self::Thread(number, name)),
            b"daemon" => Some(Self::Daemon(number, name)),
            b"text" => Some(Self::Text(number, name)),
            _ => None,
        }
    }
}

impl StackRecord {
    /// Appends its line.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut fields = vec![self.thread.to_string(), self.site.to_string()];
        fields.extend(self.callers.iter().map(u32::to_string));
        line::write(out, &fields.iter().map(String::as_bytes).collect::<Vec<_>>());
    }

    /// The record of a line without its end.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let fields = line::read(text)?;
        let ([thread, site], callers) = fields.split_first_chunk::<2>()?;
        let callers = callers.iter().map(|caller| number_in(caller)).collect::<Option<_>>()?;
        Some(Self { thread: number_in(thread)?, site: number_in(site)?, callers })
    }
}

fn number_in<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..6)
    }

    fn volatility() -> impl Strategy<Value = Volatility> {
        prop_oneof![
            Just(Volatility::Plain),
            Just(Volatility::Final),
            Just(Volatility::Volatile),
            Just(Volatility::Unknown)
        ]
    }

    fn operation() -> impl Strategy<Value = SiteOperation> {
        let field = (bytes(), bytes(), bytes(), volatility()).prop_map(
            |(class, name, descriptor, volatility)| {
                SiteOperation::Field(FieldName { class, name, descriptor }, volatility)
            },
        );
        let dispatch =
            prop::sample::select(vec![Dispatch::Static, Dispatch::Special, Dispatch::Virtual]);
        let call = (bytes(), bytes(), bytes(), dispatch).prop_map(
            |(class, name, descriptor, dispatch)| {
                SiteOperation::Call(MethodName { class, name, descriptor }, dispatch)
            },
        );
        prop_oneof![
            field,
            call,
            Just(SiteOperation::Element),
            Just(SiteOperation::Monitor),
            Just(SiteOperation::UntestedWait),
            Just(SiteOperation::ClassInitialized),
            Just(SiteOperation::Task),
            Just(SiteOperation::Method),
            Just(SiteOperation::Caller),
            Just(SiteOperation::Allocation)
        ]
    }

    proptest! {
        #[test]
        fn sites_come_back(
            (number, line, operation) in (any::<u32>(), any::<Option<u16>>(), operation()),
            (class, method, descriptor, file) in (bytes(), bytes(), bytes(), bytes()),
        ) {
            let is_static = number % 2 == 0;
            let site =
                SiteRecord { number: SiteNumber(number), class, method, descriptor, is_static, file, line, operation };
            let mut out = Vec::new();
            site.write(&mut out);
            prop_assert_eq!(SiteRecord::parse(&out[..out.len() - 1]), Some(site));
        }

        #[test]
        fn classes_come_back(
            name in bytes(),
            superclass in bytes(),
            interfaces in prop::collection::vec(bytes(), 0..3),
            methods in prop::collection::vec((bytes(), bytes()), 0..3),
            fields in prop::collection::vec((bytes(), bytes(), volatility(), any::<bool>()), 0..4),
        ) {
            let fields = fields.into_iter().map(|(name, descriptor, volatility, is_static)| {
                FieldRecord { name, descriptor, volatility, is_static }
            });
            let class =
                ClassRecord { name, superclass, interfaces, methods, fields: fields.collect() };
            let mut out = Vec::new();
            class.write(&mut out);
            prop_assert_eq!(ClassRecord::parse(&out[..out.len() - 1]), Some(class));
        }

        #[test]
        fn names_come_back(number in any::<u64>(), name in bytes(), what in 0..3) {
            let record = match what {
                0 => NameRecord::Class(number, name),
                1 => NameRecord::Thread(number, name),
                _ => NameRecord::Text(number, name),
            };
            let mut out = Vec::new();
            record.write(&mut out);
            prop_assert_eq!(NameRecord::parse(&out[..out.len() - 1]), Some(record));
        }

        #[test]
        fn stacks_come_back(
            (thread, site) in any::<(u64, u32)>(),
            callers in prop::collection::vec(any::<u32>(), 0..4),
        ) {
            let record = StackRecord { thread, site, callers };
            let mut out = Vec::new();
            record.write(&mut out);
            prop_assert_eq!(StackRecord::parse(&out[..out.len() - 1]), Some(record));
        }

        #[test]
        fn nothing_panics(line in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = (SiteRecord::parse(&line), ClassRecord::parse(&line), NameRecord::parse(&line));
            let _ = StackRecord::parse(&line);
        }
    }
}
