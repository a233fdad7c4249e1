//! Objects that one thread object runs: each of them is handed to the constructor of one thread only, by
//! whoever makes it. A thread object is started once at most, so that the object has one thread, wherever
//! it and its thread are kept and started.

use rustc_hash::FxHashSet;
use unsnarl_entity::{EntitySet, SecondaryMap};
use unsnarl_models::{Effect, ModelPlace};
use unsnarl_program::Program;
use unsnarl_program::body::{Operation, StatementId, Value};
use unsnarl_program::heap::{Heap, InstanceId, ObjectId};

use crate::facts::access::value_of;
use crate::facts::hosts::{Callers, plain_callers};
use crate::facts::method::Methods;

/// How many calls are looked through for the place where an object is made.
const DEPTH: u8 = 6;

/// The objects that are handed to one thread object.
pub(crate) fn single_tasks(
    program: &Program<'_>,
    heap: &Heap<'_>,
    methods: &Methods,
) -> EntitySet<ObjectId> {
    // Where objects are distinguished only roughly, nobody knows what they are handed to.
    if !heap.widened.is_empty() {
        return EntitySet::new();
    }
    let (mut given, mut several) = (Vec::new(), EntitySet::new());
    for (id, instance) in heap.instances.iter() {
        let Some(facts) = methods.get(instance.method) else { continue };
        for statement in facts.body.statements.keys() {
            for &call in heap.models_at(id, statement) {
                for effect in &call.model.effects {
                    let Effect::Flow { from, to: ModelPlace::Slot(_, slot) } = effect else {
                        continue;
                    };
                    if &**slot != "task" {
                        continue;
                    }
                    match value_of(facts, program, statement, call, from) {
                        Some(value) => given.push((id, statement, facts.uncast(value))),
                        None => several.extend(heap.resolve(program, id, statement, call, from)),
                    }
                }
            }
        }
    }
    if given.is_empty() {
        return EntitySet::new();
    }
    let mut tasks = Tasks::new(heap, methods, &given);
    tasks.find_carriers();
    let mut all = EntitySet::new();
    for &(id, statement, value) in &given {
        let objects = heap.points_to(id, value).iter().copied();
        match tasks.is_given_once(id, value, statement, 0) {
            true => all.extend(objects),
            false => several.extend(objects),
        }
    }
    let is_made = |object: ObjectId| heap.objects[object].made.is_some();
    all.iter().filter(|&object| is_made(object) && !several.contains(object)).collect()
}

/// Where objects are handed to threads.
struct Tasks<'h, 'm> {
    heap: &'h Heap<'m>,
    methods: &'h Methods,
    callers: Callers,
    /// The statements of a method that hand a value to a thread, themselves or by a call.
    gives: SecondaryMap<InstanceId, Vec<(StatementId, Value)>>,
}

impl<'h, 'm> Tasks<'h, 'm> {
    fn new(
        heap: &'h Heap<'m>,
        methods: &'h Methods,
        given: &[(InstanceId, StatementId, Value)],
    ) -> Self {
        let mut gives: SecondaryMap<InstanceId, Vec<_>> = SecondaryMap::new();
        for &(id, statement, value) in given {
            gives[id].push((statement, value));
        }
        Self { heap, methods, callers: plain_callers(heap), gives }
    }

    /// Who calls a method that hands an argument to a thread does so itself.
    fn find_carriers(&mut self) {
        let mut seen: FxHashSet<(InstanceId, u16)> = FxHashSet::default();
        let mut open: Vec<InstanceId> =
            self.gives.iter().filter(|(_, gives)| !gives.is_empty()).map(|(id, _)| id).collect();
        while let Some(id) = open.pop() {
            for (_, value) in self.gives[id].clone() {
                let Some(number) = self.parameter(id, value) else { continue };
                if !seen.insert((id, number)) {
                    continue;
                }
                for (caller, statement) in self.callers[id].clone() {
                    if let Some(argument) = self.argument(caller, statement, number) {
                        self.gives[caller].push((statement, argument));
                        open.push(caller);
                    }
                }
            }
        }
    }

    /// The number of the parameter that a value is.
    fn parameter(&self, id: InstanceId, value: Value) -> Option<u16> {
        let facts = self.methods.get(self.heap.instances[id].method)?;
        match facts.body.definition(value).operation {
            Operation::Parameter(number) => Some(number),
            _ => None,
        }
    }

    /// What a call has as the argument of this number.
    fn argument(&self, caller: InstanceId, call: StatementId, number: u16) -> Option<Value> {
        let facts = self.methods.get(self.heap.instances[caller].method)?;
        match &facts.body.statements[call].operation {
            Operation::Invoke { arguments, .. } => {
                arguments.get(usize::from(number)).map(|&argument| facts.uncast(argument))
            }
            _ => None,
        }
    }

    /// Whether a value is a new object that is handed to a thread by this statement and by no other.
    fn is_given_once(&self, id: InstanceId, value: Value, at: StatementId, depth: u8) -> bool {
        let Some(facts) = self.methods.get(self.heap.instances[id].method) else { return false };
        let definition = facts.body.values[value].definition;
        let here = facts.block_of(at);
        let is_only = self.gives[id].iter().all(|&(other, given)| {
            let there = facts.block_of(other);
            let excludes_this =
                here != there && !facts.reaches(here, there) && !facts.reaches(there, here);
            other == at || given != value || excludes_this
        });
        // What was made before a loop could be handed to many threads in the loop.
        if depth > DEPTH || !is_only || !facts.is_in_loops_of(at, definition) {
            return false;
        }
        match facts.body.statements[definition].operation {
            Operation::New(_) => true,
            Operation::Parameter(number) => {
                let callers = &self.callers[id];
                !callers.is_empty()
                    && callers.iter().all(|&(caller, statement)| {
                        let argument = self.argument(caller, statement, number);
                        argument.is_some_and(|argument| {
                            self.is_given_once(caller, argument, statement, depth + 1)
                        })
                    })
            }
            _ => false,
        }
    }
}
