//! `--what heap`: the abstract objects of the heap shape graph.
//!
//! Shown are the objects of classes of the input and those that its code makes, or those that `--class`
//! names, and with each what it refers to.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Write};

use anstyle::Style;
use serde::Serialize;
use unsnarl_commands::Phases;
use unsnarl_commands::analysis::execute;
use unsnarl_program::body::StatementId;
use unsnarl_program::heap::{Object, ObjectId, Variable};
use unsnarl_program::{MethodId, Program};
use unsnarl_symbolic::{Execution, Sharing};

use super::dot::Graph;
use super::{Inspection, View, write};
use crate::output::Output;

#[derive(Serialize)]
struct HeapView {
    schema: &'static str,
    objects: Vec<ObjectView>,
    statics: Vec<StaticView>,
    notes: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct ObjectView {
    pub(super) id: String,
    class: String,
    kind: &'static str,
    made: Option<CodeSite>,
    /// Where the object was made on whose behalf it is made.
    host: Option<CodeSite>,
    /// The thread that makes it.
    thread: Option<String>,
    sharing: &'static str,
    unique: bool,
    /// The objects that each of its variables may refer to.
    fields: BTreeMap<String, Vec<String>>,
}

#[derive(Serialize)]
struct StaticView {
    class: String,
    field: String,
    objects: Vec<String>,
}

/// A statement, or a method.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct CodeSite {
    class: String,
    file: Option<String>,
    line: Option<u16>,
    method: String,
}

pub(super) fn show(inspection: &mut Inspection<'_>, output: &mut Output) -> anyhow::Result<()> {
    inspection.session.classes()?;
    let mut phases = Phases::new(output.messages());
    let execution = execute(&mut inspection.session, &mut phases)?;
    phases.finish();
    let view = view(inspection, &execution);
    write(&view, inspection.arguments.format, output)
}

/// What the view is made of.
struct Shown<'e> {
    /// The objects with their ids, as they are listed.
    objects: Vec<(ObjectId, ObjectView)>,
    /// The objects that each variable of the chosen ones may refer to.
    fields: BTreeMap<ObjectId, BTreeMap<String, Vec<ObjectId>>>,
    /// Class, field and objects of static fields.
    statics: Vec<(String, String, &'e [ObjectId])>,
}

/// The objects that `--what heap` shows, with the ids that it gives them.
pub(super) fn objects(
    inspection: &Inspection<'_>,
    execution: &Execution<'_>,
) -> Vec<(ObjectId, ObjectView)> {
    shown(inspection, execution).objects
}

fn shown<'e>(inspection: &Inspection<'_>, execution: &'e Execution<'_>) -> Shown<'e> {
    let (program, heap) = (&inspection.session.program, &execution.heap);
    let chosen: BTreeSet<ObjectId> = heap
        .objects
        .iter()
        .filter(|(_, object)| is_chosen(inspection, object.object, object.made.map(|(m, _)| m)))
        .map(|(id, _)| id)
        .collect();
    let mut fields: BTreeMap<ObjectId, BTreeMap<String, Vec<ObjectId>>> = BTreeMap::new();
    let references = heap.references().filter(|(_, _, to)| !to.is_empty());
    for (object, variable, to) in references.filter(|(object, ..)| chosen.contains(object)) {
        let name = variable_text(program, variable);
        fields.entry(object).or_default().entry(name).or_default().extend(to);
    }
    let mut statics = Vec::new();
    for (field, to) in heap.static_fields().filter(|(_, to)| !to.is_empty()) {
        let data = &program.fields()[field];
        let is_shown = match inspection.arguments.class {
            Some(_) => inspection.shows_class(data.class),
            None => inspection.session.is_input(data.class),
        };
        if is_shown {
            let name = program.names.text(data.name).into_owned();
            statics.push((program.class_text(data.class), name, to));
        }
    }
    statics.sort_unstable();

    // What is referred to is shown as well, so that no arrow points at nothing.
    let mut shown = chosen;
    shown.extend(fields.values().flat_map(BTreeMap::values).flatten());
    shown.extend(statics.iter().flat_map(|(_, _, to)| to.iter()));
    let mut sorted: Vec<(ObjectId, ObjectView)> =
        shown.into_iter().map(|id| (id, describe(inspection, execution, id))).collect();
    sorted.sort_by(|(_, a), (_, b)| a.key().cmp(&b.key()));
    for (position, (_, object)) in sorted.iter_mut().enumerate() {
        object.id = format!("o{}", position + 1);
    }
    Shown { objects: sorted, fields, statics }
}

fn view(inspection: &Inspection<'_>, execution: &Execution<'_>) -> HeapView {
    let Shown { objects, mut fields, statics } = shown(inspection, execution);
    let names: BTreeMap<ObjectId, String> =
        objects.iter().map(|(id, object)| (*id, object.id.clone())).collect();
    let named = |to: &[ObjectId]| -> Vec<String> {
        let mut positions: Vec<&ObjectId> = to.iter().collect();
        positions.sort_by_key(|id| (names[id].len(), &names[id]));
        positions.dedup();
        positions.into_iter().map(|id| names[id].clone()).collect()
    };
    let objects = objects.into_iter().map(|(id, object)| {
        let fields = fields.remove(&id).unwrap_or_default();
        let fields = fields.into_iter().map(|(name, to)| (name, named(&to))).collect();
        ObjectView { fields, ..object }
    });
    HeapView {
        schema: "unsnarl.inspect.heap/1",
        objects: objects.collect(),
        statics: statics
            .iter()
            .map(|(class, field, to)| StaticView {
                class: class.clone(),
                field: field.clone(),
                objects: named(to),
            })
            .collect(),
        notes: inspection.session.notes(),
    }
}

pub(super) fn is_chosen(
    inspection: &Inspection<'_>,
    object: Object,
    maker: Option<MethodId>,
) -> bool {
    let program = &inspection.session.program;
    let class = object.class();
    if inspection.arguments.class.is_some() {
        return class.is_some_and(|class| inspection.shows_class(class));
    }
    let maker = maker.map(|method| program.methods()[method].class);
    // Constants and what reflection looks up are no objects that a program works with.
    let is_made = !matches!(object, Object::ClassName(_) | Object::Member { .. });
    is_made && class.into_iter().chain(maker).any(|class| inspection.session.is_input(class))
}

fn describe(inspection: &Inspection<'_>, execution: &Execution<'_>, id: ObjectId) -> ObjectView {
    let program = &inspection.session.program;
    let object = &execution.heap.objects[id];
    let (kind, class) = object_text(program, object.object);
    let host = match object.object {
        Object::Allocated { context, .. }
        | Object::AllocatedArray { context, .. }
        | Object::LibraryArray { context, .. } => context.host,
        _ => None,
    };
    ObjectView {
        id: String::new(),
        class,
        kind,
        made: object.made.map(|(method, statement)| CodeSite::of(program, method, Some(statement))),
        host: host.map(|(method, statement)| CodeSite::of(program, method, Some(statement))),
        thread: object.origin.map(|origin| execution.thread_name(program, origin)),
        sharing: match execution.sharing(id) {
            Sharing::OneThread => "one-thread",
            Sharing::ThreadSpecific => "thread-specific",
            Sharing::Shared => "shared",
        },
        unique: execution.is_unique(id),
        fields: BTreeMap::new(),
    }
}

/// What sort of thing an object is, and its class.
pub(super) fn object_text(program: &Program<'_>, object: Object) -> (&'static str, String) {
    let names = &program.names;
    match object {
        Object::Instance(class)
        | Object::Allocated { class, .. }
        | Object::OfThread { class, .. } => ("object", program.class_text(class)),
        Object::Array(ty) | Object::AllocatedArray { ty, .. } => ("array", names.type_text(ty)),
        Object::LibraryArray { .. } => ("array", "java.lang.Object[]".to_owned()),
        Object::ClassName(name) => ("class-name", names.text(name).into_owned()),
        Object::Proxy { interface, .. } => ("proxy", program.class_text(interface)),
        Object::Class(ty) => ("class", names.type_text(ty)),
        Object::Member { of, name, .. } => {
            let name = name.map_or("?".into(), |name| names.text(name));
            ("member", format!("{}.{name}", names.type_text(of)))
        }
        Object::Unknown(class) => ("unknown", program.class_text(class)),
    }
}

fn variable_text(program: &Program<'_>, variable: Variable) -> String {
    let name = match variable {
        Variable::Field(field) => program.fields()[field].name,
        Variable::Slot(name) => name,
    };
    program.names.text(name).into_owned()
}

impl CodeSite {
    pub(super) fn of(
        program: &Program<'_>,
        method: MethodId,
        statement: Option<StatementId>,
    ) -> Self {
        let data = &program.methods()[method];
        let body = program.lowered_body(method);
        Self {
            class: program.class_text(data.class),
            method: program.names.text(data.name).into_owned(),
            file: program.source_file(program.class_around(data.class)),
            line: body
                .zip(statement)
                .map(|(body, statement)| body.statements[statement].line)
                .filter(|&line| line != 0),
        }
    }
}

/// `bank.Bank.main (Bank.java:12)`.
impl fmt::Display for CodeSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.class, self.method)?;
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, " ({file}:{line})"),
            _ => Ok(()),
        }
    }
}

impl ObjectView {
    /// What objects are sorted by; numbers of objects depend on the order of loading.
    fn key(&self) -> (&str, &str, Option<&CodeSite>, Option<&CodeSite>, Option<&str>) {
        let (made, host) = (self.made.as_ref(), self.host.as_ref());
        (&self.class, self.kind, made, host, self.thread.as_deref())
    }

    /// `o3 bank.Account`, and for what is no plain object also what it is.
    pub(super) fn title(&self) -> String {
        match self.kind {
            "object" | "array" => format!("{} {}", self.id, self.class),
            kind => format!("{} {kind} {}", self.id, self.class),
        }
    }

    pub(super) fn origin(&self) -> String {
        let made = self.made.as_ref().map(|made| format!(" made in {made}"));
        let host = self.host.as_ref().map(|host| format!(" for the one made in {host}"));
        let thread = self.thread.as_ref().map(|thread| format!(" by {thread}"));
        [made, host, thread].into_iter().flatten().collect()
    }

    pub(super) fn reach(&self) -> String {
        let number = if self.unique { "one object" } else { "many objects" };
        format!("{number}, {}", self.sharing)
    }
}

impl View for HeapView {
    fn text(&self, out: &mut dyn Write, title: Style) -> io::Result<()> {
        for object in &self.objects {
            writeln!(out, "{title}{}{title:#}{}", object.title(), object.origin())?;
            writeln!(out, "    {}", object.reach())?;
            for (field, to) in &object.fields {
                writeln!(out, "    {field} -> {}", to.join(", "))?;
            }
        }
        for field in &self.statics {
            let name = format!("{}.{}", field.class, field.field);
            writeln!(out, "{title}static {name}{title:#} -> {}", field.objects.join(", "))?;
        }
        if self.objects.is_empty() {
            writeln!(out, "no object is made")?;
        }
        for note in &self.notes {
            writeln!(out, "note: {note}")?;
        }
        Ok(())
    }

    fn dot(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut graph = Graph::begin(out, "heap")?;
        for object in &self.objects {
            let label =
                format!("{}\n{}\n{}\n", object.title(), object.origin().trim(), object.reach());
            graph.node(&object.id, &label)?;
            for (field, to) in &object.fields {
                for to in to {
                    graph.edge(&object.id, to, field)?;
                }
            }
        }
        for field in &self.statics {
            let name = format!("{}.{}", field.class, field.field);
            graph.node(&name, &format!("static {name}\n"))?;
            for to in &field.objects {
                graph.edge(&name, to, "")?;
            }
        }
        Ok(graph.end()?)
    }
}
