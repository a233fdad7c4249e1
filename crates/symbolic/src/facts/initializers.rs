//! Classes whose initializers need each other (JLS 12.4.2). Who initializes a class holds its initialization lock
//! and waits for the classes that its initializer uses, and for the class above it. Two threads that begin at
//! different ends of a cycle wait for each other forever.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use unsnarl_entity::{EntitySet, PrimaryMap};
use unsnarl_program::body::{InvokeKind, Operation, StatementId};
use unsnarl_program::heap::{EdgeKind, Heap, Instance, InstanceId, OriginKind};
use unsnarl_program::{ClassId, Program};

use crate::facts::method::{MethodFacts, Methods};

/// The classes of cycles, and who may be the first to use them.
#[derive(Debug, Default)]
pub(crate) struct Initializers {
    /// For each class of a cycle, those of the same cycle that its initialization needs.
    pub(crate) needs: BTreeMap<ClassId, BTreeSet<ClassId>>,
    /// The same without what is needed only by way of calls that may lead to several methods.
    pub(crate) certain: BTreeMap<ClassId, BTreeSet<ClassId>>,
    /// The class of a cycle that a statement outside of initializers initializes, if it is the first to use it.
    pub(crate) used: FxHashMap<(InstanceId, StatementId), ClassId>,
}

impl Initializers {
    pub(crate) fn new(program: &Program<'_>, heap: &Heap<'_>, methods: &Methods) -> Self {
        let classes = heap.instances.values().map(|_| OnceLock::new()).collect();
        let uses = Uses { program, heap, methods, classes };
        let mut needs: BTreeMap<ClassId, BTreeSet<ClassId>> = BTreeMap::new();
        let mut certain: BTreeMap<ClassId, BTreeSet<ClassId>> = BTreeMap::new();
        let of = |instance: &Instance| &program.methods()[instance.method];
        let is_it = |instance: &Instance| of(instance).name == program.names.known.class_init;
        let roots: Vec<(ClassId, InstanceId)> = heap
            .instances
            .iter()
            .filter(|(_, instance)| is_it(instance))
            .map(|(id, instance)| (of(instance).class, id))
            .collect();
        let reached = roots
            .par_iter()
            .map(|&(class, id)| (class, uses.reached(id, false), uses.reached(id, true)));
        for (class, all, sure) in reached.collect::<Vec<_>>() {
            needs.entry(class).or_default().extend(all.iter());
            certain.entry(class).or_default().extend(sure.iter());
        }
        let used: BTreeSet<ClassId> = needs.values().flatten().copied().collect();
        for class in used.into_iter().chain(needs.keys().copied().collect::<Vec<_>>()) {
            for class in program.superclasses(class) {
                let above = program.classes()[class].superclass;
                needs.entry(class).or_default().extend(above);
                certain.entry(class).or_default().extend(above);
            }
        }
        for (class, needed) in &mut needs {
            needed.remove(class);
        }
        keep_cycles(&mut needs);
        let mut found = Self { needs, certain, used: FxHashMap::default() };
        if !found.needs.is_empty() {
            found.find_used(&uses);
        }
        found
    }

    fn find_used(&mut self, uses: &Uses<'_, '_>) {
        for (id, _) in uses.heap.instances.iter() {
            let threads = uses.heap.threads_of(id);
            if threads.iter().any(|&it| uses.heap.origins[it].kind != OriginKind::Init) {
                for (statement, class) in uses.of(id) {
                    if self.needs.contains_key(&class) {
                        self.used.insert((id, statement), class);
                    }
                }
            }
        }
    }
}

/// Leaves the classes that need themselves in the end, each with those that need it.
fn keep_cycles(needs: &mut BTreeMap<ClassId, BTreeSet<ClassId>>) {
    loop {
        let needed: BTreeSet<ClassId> = needs.values().flatten().copied().collect();
        let before = needs.len();
        needs.retain(|class, needs| !needs.is_empty() && needed.contains(class));
        let left: BTreeSet<ClassId> = needs.keys().copied().collect();
        needs.values_mut().for_each(|needs| needs.retain(|class| left.contains(class)));
        if needs.len() == before {
            return;
        }
    }
}

/// What may be the first use of a class.
struct Uses<'u, 'm> {
    program: &'u Program<'u>,
    heap: &'u Heap<'m>,
    methods: &'u Methods,
    /// The classes that each method uses, as far as it was asked.
    classes: PrimaryMap<InstanceId, OnceLock<Box<[ClassId]>>>,
}

impl Uses<'_, '_> {
    /// The classes that are used by a method and by all that it calls, or that it certainly calls if it comes there.
    fn reached(&self, root: InstanceId, is_certain: bool) -> EntitySet<ClassId> {
        let mut seen: EntitySet<InstanceId> = EntitySet::new();
        let mut open = vec![root];
        let mut found = EntitySet::new();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                found.extend(self.classes(id).iter().copied());
                let calls = self.heap.calls_of(id).iter();
                let calls = calls.filter(|call| call.kind.is_within_thread());
                let calls = calls.filter(|call| call.kind != EdgeKind::ClassInit);
                let calls = calls.filter(|call| !is_certain || self.is_only(id, call.statement));
                open.extend(calls.map(|call| call.callee));
            }
        }
        found
    }

    /// Whether a call leads to one method.
    fn is_only(&self, id: InstanceId, statement: StatementId) -> bool {
        let calls = self.heap.calls_at(id, statement).iter();
        calls.filter(|call| call.kind != EdgeKind::ClassInit).count() == 1
    }

    /// The classes that a method uses.
    fn classes(&self, id: InstanceId) -> &[ClassId] {
        self.classes[id].get_or_init(|| self.of(id).into_iter().map(|(_, class)| class).collect())
    }

    /// The classes that the statements of a method use.
    fn of(&self, id: InstanceId) -> Vec<(StatementId, ClassId)> {
        let Some(facts) = self.methods.get(self.heap.instances[id].method) else {
            return Vec::new();
        };
        let statements = facts.body.statements.keys();
        let used = statements.filter_map(|it| Some((it, self.class_used(id, facts, it)?)));
        used.collect()
    }

    fn class_used(
        &self,
        id: InstanceId,
        facts: &MethodFacts,
        statement: StatementId,
    ) -> Option<ClassId> {
        let data = &facts.body.statements[statement];
        match &data.operation {
            Operation::New(_) => {
                let made = self.heap.points_to(id, data.result?).first()?;
                self.heap.objects[*made].object.exact_class()
            }
            Operation::GetStatic { .. } | Operation::PutStatic { .. } => {
                facts.field(statement).map(|field| self.program.fields()[field].class)
            }
            Operation::Invoke { kind: InvokeKind::Static, .. } => {
                let mut calls = self.heap.calls_at(id, statement).iter();
                let call = calls.find(|call| call.kind == EdgeKind::Call)?;
                let method = self.heap.instances[call.callee].method;
                Some(self.program.methods()[method].class)
            }
            _ => None,
        }
    }
}
