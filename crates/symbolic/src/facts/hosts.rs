//! Objects that belong to one host [vonPraun04 §3.3.6]: each of them is stored into a field of one
//! object only, by whoever makes it. Whoever reaches it by that field has reached it from the same host.
//!
//! Von Praun asks that a reference never leaves its host. Here it may: an access by a reference that left
//! is not related to the host by a path, so that the host's lock does not count for it.

use std::cell::Cell;

use rustc_hash::FxHashMap;
use unsnarl_entity::{EntitySet, SecondaryMap};
use unsnarl_models::{Effect, ModelPlace};
use unsnarl_program::body::{BlockId, Constant, InvokeKind, Operation, StatementId, Value};
use unsnarl_program::heap::{EdgeKind, Heap, InstanceId, ModelCall, ObjectId, Variable};
use unsnarl_program::{FieldId, Program};

use crate::event::PathStep;
use crate::facts::method::{MethodFacts, Methods};
use crate::facts::path::Path;
use crate::facts::threads::is_followed;

/// How many calls are looked through for the place where an object is made.
const DEPTH: u8 = 6;
/// How many values are looked at for one store before it is taken to say nothing.
const MOST_VALUES: u32 = 1000;

/// Which objects are stored into which fields by whom.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    /// Stored into the field in a way that does not show its host.
    foreign: FxHashMap<FieldId, EntitySet<ObjectId>>,
    /// Stored into an array in a way that does not show which.
    foreign_elements: EntitySet<ObjectId>,
    /// The name of the elements of arrays.
    element: Option<Variable>,
}

/// Who calls whom, backwards.
struct Stores<'h, 'm> {
    heap: &'h Heap<'m>,
    methods: &'h Methods,
    callers: Callers,
    /// How many values may still be looked at for one store.
    left: Cell<u32>,
}

/// The calls that lead to a method, with who makes them.
pub(crate) type Callers = SecondaryMap<InstanceId, Vec<(InstanceId, StatementId)>>;

/// Who calls whom, backwards. Nobody knows the arguments of callbacks and of those that threads begin with:
/// such methods have no callers here.
pub(crate) fn plain_callers(heap: &Heap<'_>) -> Callers {
    let mut callers: SecondaryMap<InstanceId, Vec<_>> = SecondaryMap::new();
    for id in heap.instances.keys() {
        for call in heap.calls_of(id) {
            if is_followed(heap, id, call.callee, call.kind) {
                let statement = call.statement;
                let is_plain = call.kind == EdgeKind::Call;
                callers[call.callee].push((id, statement, is_plain));
            }
        }
    }
    let entries: EntitySet<InstanceId> =
        heap.origins.values().flat_map(|origin| origin.entries.iter().copied()).collect();
    let mut plain: SecondaryMap<InstanceId, Vec<_>> = SecondaryMap::new();
    for (id, callers) in callers.iter() {
        if !entries.contains(id) && callers.iter().all(|&(.., is_plain)| is_plain) {
            plain[id] = callers.iter().map(|&(id, statement, _)| (id, statement)).collect();
        }
    }
    plain
}

impl Hosts {
    pub(crate) fn new(program: &Program<'_>, heap: &Heap<'_>, methods: &Methods) -> Self {
        let callers = plain_callers(heap);
        let stores = Stores { heap, methods, callers, left: Cell::new(0) };
        let element = program.names.find_symbol(b"[]").map(Variable::Slot);
        let mut hosts = Self { element, ..Self::default() };
        for (id, instance) in heap.instances.iter() {
            if let Some(facts) = methods.get(instance.method) {
                hosts.collect(program, &stores, facts, id);
            }
        }
        hosts
    }

    fn collect(
        &mut self,
        program: &Program<'_>,
        stores: &Stores<'_, '_>,
        facts: &MethodFacts,
        id: InstanceId,
    ) {
        for (statement, data) in facts.body.statements.iter() {
            let value = match data.operation {
                Operation::PutField { value, .. } | Operation::ArrayStore { value, .. } => value,
                Operation::Invoke { .. } => {
                    self.collect_moved(program, stores.heap, id, statement);
                    continue;
                }
                _ => continue,
            };
            let objects = stores.heap.points_to(id, value);
            stores.left.set(MOST_VALUES);
            if objects.is_empty() || stores.is_made(id, value, Some(statement), 0) {
                continue;
            }
            match data.operation {
                Operation::ArrayStore { .. } => {
                    self.foreign_elements.extend(objects.iter().copied());
                }
                _ => {
                    let Some(field) = facts.field(statement) else { continue };
                    self.foreign.entry(field).or_default().extend(objects.iter().copied());
                }
            }
        }
    }

    /// What a library puts into arrays may be in others as well.
    fn collect_moved(
        &mut self,
        program: &Program<'_>,
        heap: &Heap<'_>,
        id: InstanceId,
        statement: StatementId,
    ) {
        for &call in heap.models_at(id, statement) {
            for effect in &call.model.effects {
                let moved = match effect {
                    Effect::Flow { from, to: ModelPlace::Element(_) } => {
                        heap.resolve(program, id, statement, call, from)
                    }
                    Effect::Copy { from, .. } => {
                        let elements = ModelPlace::Element(Box::new(from.clone()));
                        heap.resolve(program, id, statement, call, &elements)
                    }
                    _ => continue,
                };
                self.foreign_elements.extend(moved);
            }
        }
    }

    /// Whether an object that is reached by these steps has one host.
    pub(crate) fn is_hosted(&self, object: ObjectId, steps: &[PathStep]) -> bool {
        let Some((PathStep::Field(last), others)) = steps.split_last() else { return false };
        self.is_hosted_in(object, Variable::Field(*last))
            && others.iter().all(|step| match step {
                PathStep::Field(field) => !self.foreign.contains_key(field),
                PathStep::Slot(_) => false,
            })
    }

    /// Whether an object that is found in this variable is in that of one host only.
    pub(crate) fn is_hosted_in(&self, object: ObjectId, variable: Variable) -> bool {
        match variable {
            Variable::Field(field) => {
                !self.foreign.get(&field).is_some_and(|foreign| foreign.contains(object))
            }
            slot => self.element == Some(slot) && !self.foreign_elements.contains(object),
        }
    }
}

impl Stores<'_, '_> {
    /// Whether a value is a new object that is stored into one host only, at this statement if it is.
    fn is_made(&self, id: InstanceId, value: Value, at: Option<StatementId>, depth: u8) -> bool {
        let Some(facts) = self.methods.get(self.heap.instances[id].method) else { return false };
        if depth > DEPTH || self.left.get() == 0 {
            return false;
        }
        self.left.set(self.left.get() - 1);
        let value = facts.uncast(value);
        let definition = facts.body.values[value].definition;
        // A value that was made before a loop could be stored into many hosts in the loop.
        let is_once = at.is_none_or(|at| facts.is_in_loops_of(at, definition));
        if !is_once || !has_one_host(facts, value) {
            return false;
        }
        match &facts.body.statements[definition].operation {
            Operation::New(_)
            | Operation::NewArray { .. }
            | Operation::Constant(Constant::Null) => true,
            Operation::Invoke { .. } => self.is_maker(id, definition, depth),
            Operation::Parameter(number) => {
                let callers = &self.callers[id];
                !callers.is_empty()
                    && callers.iter().all(|&(caller, statement)| {
                        self.argument(caller, statement, *number).is_some_and(|argument| {
                            self.is_made(caller, argument, Some(statement), depth + 1)
                        })
                    })
            }
            Operation::Phi(inputs) => inputs
                .iter()
                .all(|&input| input != value && self.is_made(id, input, None, depth + 1)),
            _ => false,
        }
    }

    fn argument(&self, caller: InstanceId, call: StatementId, number: u16) -> Option<Value> {
        let facts = self.methods.get(self.heap.instances[caller].method)?;
        match &facts.body.statements[call].operation {
            Operation::Invoke { arguments, .. } => arguments.get(usize::from(number)).copied(),
            _ => None,
        }
    }

    /// Whether a call returns a new object, or an argument that is one.
    fn is_maker(&self, id: InstanceId, at: StatementId, depth: u8) -> bool {
        let argument = |number: u16| {
            self.argument(id, at, number)
                .is_some_and(|argument| self.is_made(id, argument, Some(at), depth + 1))
        };
        let is_model_maker = |model: &ModelCall<'_>| {
            let mut returns = model.model.effects.iter().filter_map(|effect| match effect {
                Effect::Return(place) => Some(place),
                _ => None,
            });
            let first = returns.next();
            let first_argument = u16::from(!self.is_static_call(id, at));
            returns.next().is_none()
                && match first {
                    Some(ModelPlace::New(_)) => true,
                    Some(ModelPlace::This) => argument(0),
                    Some(ModelPlace::Argument(number)) => {
                        argument(first_argument + u16::from(*number))
                    }
                    _ => false,
                }
        };
        let models = self.heap.models_at(id, at);
        let mut is_any = !models.is_empty();
        let mut is_maker = models.iter().all(is_model_maker);
        let calls = self.heap.calls_at(id, at).iter();
        for call in calls.filter(|call| call.kind != EdgeKind::ClassInit) {
            let callee = call.callee;
            let Some(facts) = self.methods.get(self.heap.instances[callee].method) else {
                return false;
            };
            is_any = true;
            is_maker &= call.kind == EdgeKind::Call
                && facts.body.statements.values().all(|statement| match statement.operation {
                    Operation::Return(Some(value)) => {
                        let value = facts.uncast(value);
                        hosts_of(facts, value).is_empty()
                            && match facts.body.definition(value).operation {
                                Operation::Parameter(number) => argument(number),
                                _ => self.is_made(callee, value, None, depth + 1),
                            }
                    }
                    _ => true,
                });
        }
        is_any && is_maker
    }

    fn is_static_call(&self, id: InstanceId, call: StatementId) -> bool {
        let facts = self.methods.get(self.heap.instances[id].method);
        facts.is_some_and(|facts| {
            let operation = &facts.body.statements[call].operation;
            matches!(operation, Operation::Invoke { kind: InvokeKind::Static, .. })
        })
    }
}

/// Whether a method stores a value into one host at most, itself or by calls. A host without a name is
/// one of its own; hosts on different branches do not add up.
fn has_one_host(facts: &MethodFacts, value: Value) -> bool {
    let hosts = hosts_of(facts, value);
    hosts.iter().enumerate().all(|(index, (one, at))| {
        hosts[index + 1..].iter().all(|(other, then)| {
            one.is_some() && one == other
                || at != then && !facts.reaches(*at, *then) && !facts.reaches(*then, *at)
        })
    })
}

/// Where a method stores a value, itself or by calls: the path of the host, and the block.
fn hosts_of(facts: &MethodFacts, value: Value) -> Vec<(Option<&Path>, BlockId)> {
    let mut hosts = Vec::new();
    for (id, statement) in facts.body.statements.iter() {
        let host = match &statement.operation {
            Operation::PutField { object, value: stored, .. } if facts.uncast(*stored) == value => {
                Some(facts.strict_path(*object))
            }
            Operation::ArrayStore { value: stored, .. } if facts.uncast(*stored) == value => None,
            Operation::Invoke { kind, arguments, .. } => {
                let is_it = |&argument: &Value| facts.uncast(argument) == value;
                if *kind == InvokeKind::Static && arguments.iter().any(is_it) {
                    None
                } else if let Some((receiver, rest)) = arguments.split_first()
                    && rest.iter().any(is_it)
                {
                    Some(facts.strict_path(*receiver))
                } else {
                    continue;
                }
            }
            _ => continue,
        };
        hosts.push((host, facts.block_of(id)));
    }
    hosts
}
