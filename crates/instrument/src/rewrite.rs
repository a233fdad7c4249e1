//! The rewriting of one class of the program.

use unsnarl_classfile::edit::{ClassEditor, CodeError, EditError, MethodId};
use unsnarl_classfile::read::{Attribute, ClassFile};
use unsnarl_classfile::{ReadError, flags, mutf8};
use unsnarl_entity::EntityId;
use unsnarl_recording::{Dispatch, FieldName, MethodName, RecordedEvents, SiteRecord, Volatility};

use crate::finalizer::Finalizer;
use crate::method::{MethodRewriter, Shared};
use crate::plan::may_coalesce;
use crate::pure_calls::PureMethods;
use crate::recorded::{RecordedCall, Task};
use crate::{Conditional, Plan, SiteNumbers, identity};

/// HotSpot compiles no method with more bytes than this, and runs it 38 times slower for it.
const LONGEST_COMPILED: u16 = 8000;

/// A class with probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The class file.
    pub bytes: Vec<u8>,
    /// The places that report.
    pub sites: Vec<SiteRecord>,
    /// The probes among them, and those of several accesses, that depend on assumptions.
    pub conditionals: Vec<Conditional>,
    /// What is not reported, and why: one sentence each, with the method.
    pub notes: Vec<String>,
}

/// Why a class cannot be rewritten. It can run as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RewriteError {
    /// The bytes are not a class file.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The class has no room for what has to be added.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// A method that clones an object has no room for the one probe that it must have.
    #[error("a method that calls `clone` is too long")]
    NoRoomForClone,
}

/// What is known of the classes around the one that is rewritten.
pub trait KnownClasses {
    /// What is known of a field of another class.
    fn volatility(&self, field: &FieldName) -> Volatility;

    /// What is to be assumed of a field of which nothing is known: it need not be right.
    fn assumed(&self, _field: &FieldName) -> Volatility {
        Volatility::Unknown
    }

    /// A number for the fields of one object that can be filtered together, as far as it is known.
    fn group(&self, _field: &FieldName) -> u64 {
        0
    }

    /// What is recorded of a call; none if nothing is.
    fn call(&self, _method: &MethodName, _dispatch: Dispatch) -> Option<RecordedCall> {
        None
    }

    /// Whether accesses to a field that orders nothing are of interest.
    fn watches_field(&self, _field: &FieldName) -> bool {
        true
    }

    /// Whether the class is one of a library, whose own fields and initializers are not of interest.
    fn is_library(&self) -> bool {
        false
    }

    /// Whether the monitors of the class are reported.
    fn monitors(&self) -> bool {
        true
    }

    /// Whether a method of the class, which is not static, may be run by another thread as a task.
    fn task(&self, _class: &[u8], _name: &[u8], _descriptor: &[u8]) -> Option<Task> {
        None
    }
}

impl<F: Fn(&FieldName) -> Volatility> KnownClasses for F {
    fn volatility(&self, field: &FieldName) -> Volatility {
        self(field)
    }
}

/// Puts the probes that `plan` asks for into a class file, and the field for ids if it is `keeping_ids`. Nothing
/// is returned if the class stays as it is.
///
/// # Errors
/// When the bytes are not a class file, or the class has no room for the probes.
pub fn rewrite(
    file: &[u8],
    plan: &Plan,
    numbers: &SiteNumbers,
    known_classes: &dyn KnownClasses,
    keeping_ids: bool,
) -> Result<Option<Rewritten>, RewriteError> {
    let original = ClassFile::read(file)?;
    let mut class = ClassEditor::new(original.clone());
    let mut done = Done::default();
    let filters = plan.spec.filters;
    // What is recorded of calls is the business of whoever knows the models.
    let events = RecordedEvents { contents: false, ..plan.spec.events };
    let pure_methods =
        match may_coalesce(filters) && (plan.spec.events.fields || plan.spec.events.arrays) {
            true => PureMethods::of(&original, known_classes),
            false => PureMethods::default(),
        };
    let source_file = source_file(&original);
    let finalizer = Finalizer::of(&original)?;
    let has_finalizer = finalizer.is_some_and(|finalizer| !finalizer.is_empty);
    let shared = Shared {
        numbers,
        known_classes,
        pure_methods: &pure_methods,
        source_file: &source_file,
        filters,
        has_finalizer,
    };
    let mut writer = ClassWriter { original: &original, shared, changed: keeping_ids };
    if keeping_ids {
        identity::add_field(&mut class)?;
    }
    for method in class.methods.keys() {
        if finalizer.is_some_and(|it| it.is_empty && it.method == method.index()) {
            continue;
        }
        writer.method(&mut class, method, events, &mut done)?;
    }
    if !writer.changed {
        return Ok(None);
    }
    let Done { sites, conditionals, remarks: notes } = done;
    Ok(Some(Rewritten { bytes: class.write()?, sites, conditionals, notes }))
}

struct ClassWriter<'c, 'a> {
    original: &'c ClassFile<'a>,
    shared: Shared<'c>,
    changed: bool,
}

impl ClassWriter<'_, '_> {
    /// Rewrites a method, with fewer events if it would become too long.
    fn method(
        &mut self,
        class: &mut ClassEditor<'_>,
        method: MethodId,
        events: RecordedEvents,
        all: &mut Done,
    ) -> Result<(), RewriteError> {
        let before = class.methods[method].clone();
        let note = |class: &ClassEditor<'_>, text: &str| {
            let name = mutf8::to_str(class.method_name(method));
            let descriptor = mutf8::to_str(class.method_descriptor(method));
            format!("{name}{descriptor}: {text}")
        };
        let mut take = |class: &ClassEditor<'_>, new: Done| {
            all.sites.extend(new.sites);
            all.conditionals.extend(new.conditionals);
            all.remarks.extend(new.remarks.iter().map(|remark| note(class, remark)));
        };
        let alone = |remark: &str| Done { remarks: vec![remark.into()], ..Done::default() };
        let has_more = events != RecordedEvents::SYNCHRONIZATION && events != RecordedEvents::NONE;
        if has_more {
            for loops in [Loops::Coalesced, Loops::AsTheyAre] {
                match self.attempt(class, method, events, loops)? {
                    Attempt::Done(new) => {
                        take(class, new);
                        return Ok(());
                    }
                    Attempt::TooLong => class.methods[method] = before.clone(),
                }
            }
        }
        let without_accesses = || alone("too long with all probes, its accesses are not reported");
        if !events.synchronization && has_more {
            take(class, without_accesses());
        }
        if events.synchronization {
            match self.attempt(class, method, RecordedEvents::SYNCHRONIZATION, Loops::AsTheyAre)? {
                Attempt::Done(new) => {
                    if has_more {
                        take(class, without_accesses());
                    }
                    take(class, new);
                    return Ok(());
                }
                Attempt::TooLong => {
                    class.methods[method] = before;
                    take(class, alone("too long for any probe, nothing of it is reported"));
                }
            }
        }
        // Whatever is reported, a copy must not keep the id of its original.
        match self.attempt(class, method, RecordedEvents::NONE, Loops::AsTheyAre)? {
            Attempt::Done(..) => Ok(()),
            Attempt::TooLong => Err(RewriteError::NoRoomForClone),
        }
    }

    fn attempt(
        &mut self,
        class: &mut ClassEditor<'_>,
        method: MethodId,
        events: RecordedEvents,
        loops: Loops,
    ) -> Result<Attempt, RewriteError> {
        let Some(code) = class.open_code(method)? else {
            return Ok(Attempt::Done(Done::default()));
        };
        let member = &self.original.methods[method.index()];
        let original_length = self.original.code(member)?.map_or(0, |code| code.length());
        let mut rewriter = MethodRewriter::new(self.original, member, code, events, self.shared)?;
        if loops == Loops::AsTheyAre {
            rewriter = rewriter.without_loops();
        }
        rewriter.run(class).map_err(|error| match error {
            CodeError::Pool(error) => EditError::Pool(error),
            source => EditError::Code {
                method: mutf8::to_str(class.method_name(method)).into_owned(),
                source,
            },
        })?;
        let MethodRewriter { code, sites, conditionals, remarks, has_probes, .. } = rewriter;
        let done = Done { sites, conditionals, remarks };
        if !has_probes {
            return Ok(Attempt::Done(done));
        }
        match class.set_code(method, &code) {
            Ok(()) => {}
            Err(EditError::Code {
                source: CodeError::TooLong { .. } | CodeError::UnknownFrame(_),
                ..
            }) => return Ok(Attempt::TooLong),
            Err(error) => return Err(error.into()),
        }
        let length = code_length(class, method);
        let becomes_uncompiled = length > LONGEST_COMPILED && original_length <= LONGEST_COMPILED;
        let has_accesses = events.fields || events.arrays;
        // A method that was too long before is not compiled anyway, but its accesses may be many.
        let too_long = becomes_uncompiled || has_accesses && length > LONGEST_COMPILED;
        if too_long && events != RecordedEvents::NONE {
            return Ok(Attempt::TooLong);
        }
        self.changed = true;
        Ok(Attempt::Done(done))
    }
}

/// Whether loops over arrays report when they are left, and conditional accesses are reported together, which takes more
/// room than a probe for each access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loops {
    Coalesced,
    AsTheyAre,
}

enum Attempt {
    Done(Done),
    TooLong,
}

/// What a method, or all of them, reports, and what is not reported.
#[derive(Default)]
struct Done {
    sites: Vec<SiteRecord>,
    conditionals: Vec<Conditional>,
    remarks: Vec<String>,
}

/// The source file of a class; empty if it does not say.
fn source_file(class: &ClassFile<'_>) -> Vec<u8> {
    let attribute = class.attributes.find(&class.pool, b"SourceFile");
    let decoded = attribute.ok().flatten().and_then(|it| it.decode(&class.pool).ok());
    match decoded {
        Some(Attribute::SourceFile(name)) => class.pool.utf8(name).unwrap_or_default().to_vec(),
        _ => Vec::new(),
    }
}

/// The length of the code of a method as it is now.
fn code_length(class: &ClassEditor<'_>, method: MethodId) -> u16 {
    let body = class.methods[method].attributes.get(&class.pool, b"Code");
    // The sizes of stack and locals come first, two bytes each.
    let length = body.and_then(|body| body.rest().get(4..8)?.try_into().ok());
    length.map_or(0, |length| u16::try_from(u32::from_be_bytes(length)).unwrap_or(u16::MAX))
}

/// Whether a class constant can be loaded: since class-file version 49.
pub(crate) fn can_load_classes(class: &ClassFile<'_>) -> bool {
    class.major_version >= 49
}

/// What the class file itself says of a field that it declares.
pub(crate) fn declared_volatility(class: &ClassFile<'_>, field: &FieldName) -> Option<Volatility> {
    if class.name() != field.class {
        return None;
    }
    let declared = class.fields.iter().find(|member| {
        class.member_name(member) == field.name
            && class.member_descriptor(member) == field.descriptor
    })?;
    Some(Volatility::of(declared.access))
}

/// Whether a field is a variable that a lambda expression has captured: final, and set before anybody else can see
/// its object.
pub(crate) fn is_captured(class: &ClassFile<'_>, field: &FieldName) -> bool {
    let is_final = |access: u16| access & (flags::FINAL | flags::STATIC) == flags::FINAL;
    class.access & flags::SYNTHETIC != 0
        && class.name() == field.class
        && class
            .fields
            .iter()
            .any(|member| class.member_name(member) == field.name && is_final(member.access))
}
