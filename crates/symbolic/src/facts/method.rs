//! What is known about a method without its context: loops, access paths of its values, and the fields
//! that its statements name.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_classfile::flags;
use unsnarl_entity::{EntityId, EntitySet};
use unsnarl_program::body::{BlockId, Body, Constant, Operation, StatementId, Value};
use unsnarl_program::heap::{EdgeKind, Heap};
use unsnarl_program::names::Symbol;
use unsnarl_program::{FieldId, MethodId, Origin, Program};

use crate::event::PathStep;
use crate::facts::path::{Path, Root};

/// The methods that the heap shape graph reached.
#[derive(Debug, Default)]
pub(crate) struct Methods {
    methods: FxHashMap<MethodId, Arc<MethodFacts>>,
}

/// A method without its context.
#[derive(Debug)]
pub(crate) struct MethodFacts {
    pub(crate) body: Arc<Body>,
    pub(crate) is_static: bool,
    pub(crate) is_synchronized: bool,
    pub(crate) is_constructor: bool,
    pub(crate) loops: Vec<Loop>,
    /// The arguments that are used, by number, with their values.
    pub(crate) parameters: Vec<(u16, Value)>,
    block_of: Vec<BlockId>,
    in_cycle: Vec<bool>,
    fields: Vec<Option<FieldId>>,
    strict: Vec<Path>,
    loose: Vec<Path>,
    /// What a lambda that the method makes captures.
    captures: FxHashMap<Value, Vec<(FieldId, Value)>>,
}

/// A natural loop.
#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) header: BlockId,
    /// Where the edges back to the header come from.
    pub(crate) latches: Vec<BlockId>,
    pub(crate) blocks: EntitySet<BlockId>,
}

impl Methods {
    pub(crate) fn new(program: &mut Program<'_>, heap: &Heap<'_>) -> Self {
        let mut ids: Vec<MethodId> = heap.instances.values().map(|i| i.method).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut facts: Vec<(MethodId, MethodFacts)> = ids
            .into_iter()
            .filter_map(|method| Some((method, MethodFacts::new(program, method)?)))
            .collect();
        let mut written: FxHashSet<FieldId> = FxHashSet::default();
        for (_, facts) in &facts {
            written.extend(facts.late_writes());
        }
        let is_stable = |(id, field): (FieldId, &unsnarl_program::Field)| {
            let is_fixed = field.access & flags::FINAL != 0
                || field.access & (flags::STATIC | flags::VOLATILE) == 0 && !written.contains(&id);
            is_fixed.then_some(id)
        };
        let stable_fields: FxHashSet<FieldId> =
            program.fields().iter().filter_map(is_stable).collect();
        let element = program.names.symbol(b"[]");
        for (_, facts) in &mut facts {
            facts.find_paths(&stable_fields, element, &FxHashMap::default());
        }
        // A method that returns a field that never changes is as good as the field, and so on.
        for _ in 0..GETTERS {
            let returned = returned_paths(heap, &facts);
            if returned.is_empty() {
                break;
            }
            for (id, facts) in &mut facts {
                if let Some(returned) = returned.get(id) {
                    facts.find_paths(&stable_fields, element, returned);
                }
            }
        }
        let methods = facts.into_iter().map(|(id, facts)| (id, Arc::new(facts))).collect();
        Self { methods }
    }

    pub(crate) fn get(&self, method: MethodId) -> Option<&Arc<MethodFacts>> {
        self.methods.get(&method)
    }
}

/// How many methods may hand on what another returns.
const GETTERS: usize = 2;

/// For each method, what its calls return in terms of their arguments, where that is always the same.
fn returned_paths(
    heap: &Heap<'_>,
    facts: &[(MethodId, MethodFacts)],
) -> FxHashMap<MethodId, FxHashMap<StatementId, Path>> {
    let getters: FxHashMap<MethodId, Path> =
        facts.iter().filter_map(|(id, facts)| Some((*id, facts.returned_path()?))).collect();
    let mut found: FxHashMap<MethodId, FxHashMap<StatementId, Option<Path>>> = FxHashMap::default();
    if getters.is_empty() {
        return FxHashMap::default();
    }
    for (id, instance) in heap.instances.iter() {
        for call in heap.calls_of(id) {
            if call.kind == EdgeKind::ClassInit {
                continue;
            }
            let getter = getters.get(&heap.instances[call.callee].method).cloned();
            let getter = getter.filter(|_| {
                call.kind == EdgeKind::Call && heap.models_at(id, call.statement).is_empty()
            });
            let known = found.entry(instance.method).or_default();
            match known.get_mut(&call.statement) {
                Some(known) if *known == getter => {}
                Some(known) => *known = None,
                None => {
                    known.insert(call.statement, getter);
                }
            }
        }
    }
    let only_known = |(id, calls): (MethodId, FxHashMap<StatementId, Option<Path>>)| {
        let calls: FxHashMap<StatementId, Path> =
            calls.into_iter().filter_map(|(call, path)| Some((call, path?))).collect();
        (!calls.is_empty()).then_some((id, calls))
    };
    found.into_iter().filter_map(only_known).collect()
}

impl MethodFacts {
    fn new(program: &mut Program<'_>, method: MethodId) -> Option<Self> {
        let body = program.body(method)?;
        let fields = body.statements.values().map(|statement| match statement.operation {
            Operation::GetField { field, .. }
            | Operation::PutField { field, .. }
            | Operation::GetStatic { field }
            | Operation::PutStatic { field, .. } => program.resolve_field(field),
            _ => None,
        });
        let fields: Vec<Option<FieldId>> = fields.collect();
        let mut captures: FxHashMap<Value, Vec<(FieldId, Value)>> = FxHashMap::default();
        for ((_, statement), field) in body.statements.iter().zip(&fields) {
            if let (Operation::PutField { object, value, .. }, &Some(field)) =
                (&statement.operation, field)
            {
                let class = program.fields()[field].class;
                if matches!(program.classes()[class].origin, Origin::Lambda(_)) {
                    captures.entry(*object).or_default().push((field, *value));
                }
            }
        }
        let parameters =
            body.statements.values().filter_map(|statement| match statement.operation {
                Operation::Parameter(number) => Some((number, statement.result?)),
                _ => None,
            });
        let parameters = parameters.collect();
        let data = &program.methods()[method];
        let mut block_of = vec![body.entry(); body.statements.len()];
        for (block, data) in body.blocks.iter() {
            block_of[data.start.index()..data.end.index()].fill(block);
        }
        let loops = loops(&body);
        let mut in_cycle = vec![false; body.blocks.len()];
        for block in loops.iter().flat_map(|found| found.blocks.iter()) {
            in_cycle[block.index()] = true;
        }
        Some(Self {
            is_static: data.is_static(),
            is_synchronized: data.access & flags::SYNCHRONIZED != 0,
            is_constructor: data.name == program.names.known.init,
            body,
            loops,
            parameters,
            block_of,
            in_cycle,
            fields,
            strict: Vec::new(),
            loose: Vec::new(),
            captures,
        })
    }

    /// Whether a statement may run again before its method returns.
    pub(crate) fn is_in_cycle(&self, statement: StatementId) -> bool {
        self.in_cycle[self.block_of[statement.index()].index()]
    }

    /// Whether every loop around the first statement is around the second as well, so that the first
    /// is executed at most once for each time that the second is.
    pub(crate) fn is_in_loops_of(&self, inner: StatementId, outer: StatementId) -> bool {
        let (inner, outer) = (self.block_of(inner), self.block_of(outer));
        let mut around = self.loops.iter().filter(|found| found.blocks.contains(inner));
        around.all(|found| found.blocks.contains(outer))
    }

    pub(crate) fn block_of(&self, statement: StatementId) -> BlockId {
        self.block_of[statement.index()]
    }

    /// Whether control may get from the end of one block to another.
    pub(crate) fn reaches(&self, from: BlockId, to: BlockId) -> bool {
        let mut seen: EntitySet<BlockId> = EntitySet::new();
        let mut open = vec![from];
        while let Some(block) = open.pop() {
            for next in self.body.successors(block) {
                if next == to {
                    return true;
                }
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    }

    /// The field that a statement accesses, if it exists.
    pub(crate) fn field(&self, statement: StatementId) -> Option<FieldId> {
        self.fields[statement.index()]
    }

    /// By fields that never change.
    pub(crate) fn strict_path(&self, value: Value) -> &Path {
        &self.strict[value.index()]
    }

    /// By any loads.
    pub(crate) fn loose_path(&self, value: Value) -> &Path {
        &self.loose[value.index()]
    }

    /// What a lambda that the method makes has in its fields.
    pub(crate) fn captures(&self, lambda: Value) -> &[(FieldId, Value)] {
        self.captures.get(&lambda).map_or(&[], Vec::as_slice)
    }

    /// The value without casts, also that of an element that was stored just before.
    pub(crate) fn uncast(&self, mut value: Value) -> Value {
        loop {
            let definition = self.body.values[value].definition;
            let inner = match self.body.statements[definition].operation {
                Operation::Cast { value: inner, .. } => Some(inner),
                Operation::ArrayLoad { .. } => self.body.stored_element(definition),
                _ => None,
            };
            match inner {
                Some(inner) => value = inner,
                None => return value,
            }
        }
    }

    /// The fields that are written other than to `this` in a constructor.
    fn late_writes(&self) -> impl Iterator<Item = FieldId> + '_ {
        self.body.statements.iter().filter_map(|(id, statement)| match statement.operation {
            Operation::PutField { object, .. } => {
                let is_this = !self.is_static
                    && self.body.definition(object).operation == Operation::Parameter(0);
                let is_early = self.is_constructor && is_this && !self.is_in_cycle(id);
                self.field(id).filter(|_| !is_early)
            }
            _ => None,
        })
    }

    /// The elements that were loaded before in straight line, by the load: an element that is loaded
    /// twice by the same index is taken to be the same object, unless the method stores into an array
    /// in between. Calls are taken not to exchange elements of arrays that their caller is using.
    fn repeated_loads(&self) -> FxHashMap<Value, Value> {
        let mut loads: Vec<Vec<(Value, Value, Value)>> = vec![Vec::new(); self.body.blocks.len()];
        let mut repeated = FxHashMap::default();
        for (block, data) in self.body.blocks.iter() {
            let mut known = match data.predecessors[..] {
                [edge] if !edge.exceptional && edge.from < block => {
                    loads[edge.from.index()].clone()
                }
                _ => Vec::new(),
            };
            for (_, statement) in self.body.block_statements(block) {
                match (&statement.operation, statement.result) {
                    (Operation::ArrayStore { .. }, _) => known.clear(),
                    (&Operation::ArrayLoad { array, index }, Some(result)) => {
                        match known.iter().find(|known| (known.0, known.1) == (array, index)) {
                            Some(&(_, _, first)) => {
                                repeated.insert(result, first);
                            }
                            None => known.push((array, index, result)),
                        }
                    }
                    _ => {}
                }
            }
            loads[block.index()] = known;
        }
        repeated
    }

    /// What the method returns in terms of its arguments, if that is always the same.
    fn returned_path(&self) -> Option<Path> {
        let mut returned: Option<&Path> = None;
        for statement in self.body.statements.values() {
            if let Operation::Return(value) = statement.operation {
                let path = self.strict_path(value?);
                if returned.is_some_and(|known| known != path) {
                    return None;
                }
                returned = Some(path);
            }
        }
        returned.filter(|path| !matches!(path.root, Root::Value(_) | Root::Outer(_))).cloned()
    }

    fn find_paths(
        &mut self,
        stable: &FxHashSet<FieldId>,
        element: Symbol,
        returned: &FxHashMap<StatementId, Path>,
    ) {
        let own = |value: Value| Path::root(Root::Value(value));
        let body = Arc::clone(&self.body);
        let mut strict: Vec<Path> = body.values.keys().map(own).collect();
        let mut loose = strict.clone();
        let mut known = vec![false; strict.len()];
        let repeated = self.repeated_loads();
        for (id, statement) in body.statements.iter() {
            let Some(result) = statement.result else { continue };
            let field = self.field(id);
            known[result.index()] = true;
            let (close, far) = match &statement.operation {
                Operation::Parameter(number) => {
                    let path = Path::root(Root::Parameter(*number));
                    (Some(path.clone()), Some(path))
                }
                Operation::Cast { value, .. } => {
                    (Some(strict[value.index()].clone()), Some(loose[value.index()].clone()))
                }
                Operation::Constant(Constant::Class(ty)) => {
                    let path = Path::root(Root::Class(*ty));
                    (Some(path.clone()), Some(path))
                }
                Operation::Phi(inputs) => {
                    let same = |paths: &[Path]| {
                        let first = paths.get(inputs.first()?.index())?;
                        let is_same = inputs
                            .iter()
                            .all(|input| known[input.index()] && paths[input.index()] == *first);
                        is_same.then(|| first.clone())
                    };
                    (same(&strict), same(&loose))
                }
                Operation::GetStatic { .. } => {
                    let path = field.map(|field| Path::root(Root::Static(field)));
                    let is_stable = field.is_some_and(|field| stable.contains(&field));
                    (path.clone().filter(|_| is_stable), path)
                }
                Operation::GetField { object, .. } => match field {
                    Some(field) => {
                        let step = PathStep::Field(field);
                        let close = stable
                            .contains(&field)
                            .then(|| strict[object.index()].step(step))
                            .flatten();
                        (close, loose[object.index()].step(step))
                    }
                    None => (None, None),
                },
                Operation::Invoke { arguments, .. } => {
                    let path = returned.get(&id).and_then(|path| match path.root {
                        Root::Parameter(number) => {
                            let argument = arguments.get(usize::from(number))?;
                            path.rebase(&strict[argument.index()])
                        }
                        _ => Some(path.clone()),
                    });
                    (path.clone(), path)
                }
                Operation::ArrayLoad { array, .. } => {
                    let same = body.stored_element(id).or_else(|| repeated.get(&result).copied());
                    let first = same.map(|first| strict[first.index()].clone());
                    (first, loose[array.index()].step(PathStep::Slot(element)))
                }
                _ => (None, None),
            };
            if let Some(path) = close {
                strict[result.index()] = path;
            }
            if let Some(path) = far {
                loose[result.index()] = path;
            }
        }
        self.strict = strict;
        self.loose = loose;
    }
}

/// The loops of a body. Blocks are in reverse postorder, so an edge that does not lead forward closes
/// a loop; the edges of a control flow that cannot be reduced give loops that are too large.
fn loops(body: &Body) -> Vec<Loop> {
    let mut found: Vec<Loop> = Vec::new();
    for block in body.blocks.keys() {
        for header in body.successors(block) {
            if header > block {
                continue;
            }
            match found.iter_mut().find(|found| found.header == header) {
                Some(found) => found.latches.push(block),
                None => {
                    let blocks = EntitySet::from_iter([header]);
                    found.push(Loop { header, latches: vec![block], blocks });
                }
            }
        }
    }
    for Loop { latches, blocks, .. } in &mut found {
        latches.sort_unstable();
        latches.dedup();
        let mut open = latches.clone();
        while let Some(block) = open.pop() {
            if blocks.insert(block) {
                open.extend(body.blocks[block].predecessors.iter().map(|edge| edge.from));
            }
        }
    }
    found
}

/// Whether a value is the one that variables have from the beginning.
pub(crate) fn is_default(facts: &MethodFacts, value: Value) -> bool {
    matches!(
        facts.body.definition(value).operation,
        Operation::Constant(
            Constant::Null
                | Constant::Int(0)
                | Constant::Long(0)
                | Constant::Float(0)
                | Constant::Double(0)
        )
    )
}
