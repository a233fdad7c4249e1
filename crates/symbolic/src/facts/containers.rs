//! Arrays and collections from which nothing is taken away.

use std::collections::BTreeMap;

use unsnarl_program::body::{InvokeKind, Operation, StatementId, Value};
use unsnarl_program::heap::{Heap, InstanceId, ObjectId};
use unsnarl_program::{MethodId, Program};

use crate::facts::method::{MethodFacts, Methods};
use crate::facts::sweep::{Bound, Sweep, constant, counted, invoked, is_only_iterated, is_same};
use crate::facts::threads::Threads;

/// The collections that keep what is added to them, each time that it is.
const GROWING: [&[u8]; 7] = [
    b"java/util/ArrayList",
    b"java/util/LinkedList",
    b"java/util/Vector",
    b"java/util/ArrayDeque",
    b"java/util/concurrent/CopyOnWriteArrayList",
    b"java/util/concurrent/ConcurrentLinkedQueue",
    b"java/util/concurrent/ConcurrentLinkedDeque",
];

/// The methods of collections that take nothing away; what they return is not asked, but for iterators.
const HARMLESS: [&[u8]; 24] = [
    b"<init>",
    b"add",
    b"addAll",
    b"addFirst",
    b"addLast",
    b"offer",
    b"offerFirst",
    b"offerLast",
    b"push",
    b"get",
    b"getFirst",
    b"getLast",
    b"peek",
    b"size",
    b"isEmpty",
    b"contains",
    b"indexOf",
    b"iterator",
    b"forEach",
    b"stream",
    b"toArray",
    b"toString",
    b"hashCode",
    b"ensureCapacity",
];

/// What happens to some arrays and collections.
pub(crate) struct Containers<'f, 'm> {
    program: &'f Program<'f>,
    heap: &'f Heap<'m>,
    methods: &'f Methods,
    threads: &'f Threads,
    known: BTreeMap<ObjectId, Container>,
}

/// What happens to an array or collection.
#[derive(Default)]
struct Container {
    /// The stores into an array.
    stores: Vec<(InstanceId, StatementId)>,
    /// Somebody may take elements away.
    is_wild: bool,
}

impl<'f, 'm> Containers<'f, 'm> {
    pub(crate) fn new(
        program: &'f Program<'f>,
        heap: &'f Heap<'m>,
        methods: &'f Methods,
        threads: &'f Threads,
        objects: impl IntoIterator<Item = ObjectId>,
    ) -> Self {
        let known = objects.into_iter().map(|object| (object, Container::default())).collect();
        let mut containers = Self { program, heap, methods, threads, known };
        containers.find_uses();
        containers
    }

    fn facts(&self, instance: InstanceId) -> Option<&'f MethodFacts> {
        self.methods.get(self.heap.instances[instance].method).map(|facts| &**facts)
    }

    /// Notes what the program does with the containers.
    fn find_uses(&mut self) {
        let objects: Vec<ObjectId> = self.known.keys().copied().collect();
        let mut stores = Vec::new();
        let mut wild = Vec::new();
        for instance in self.heap.instances.keys() {
            let Some(facts) = self.facts(instance) else { continue };
            let meant = |value: Value| {
                let may = self.heap.points_to(instance, value);
                objects.iter().copied().filter(|object| may.binary_search(object).is_ok())
            };
            for (id, statement) in facts.body.statements.iter() {
                match &statement.operation {
                    Operation::ArrayStore { array, .. } => {
                        stores.extend(meant(*array).map(|object| (object, (instance, id))));
                    }
                    Operation::InvokeDynamic { arguments, .. } => {
                        wild.extend(arguments.iter().flat_map(|&argument| meant(argument)));
                    }
                    Operation::Invoke { kind, arguments, .. } => {
                        // What has a body is looked at there.
                        let is_seen = self.heap.models_at(instance, id).is_empty()
                            && !self.heap.calls_at(instance, id).is_empty();
                        for (position, &argument) in arguments.iter().enumerate() {
                            let is_receiver = position == 0 && *kind != InvokeKind::Static;
                            let is_fine = is_seen
                                || is_receiver && self.is_harmless(facts, id, statement.result);
                            if !is_fine {
                                wild.extend(meant(argument));
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        for (object, store) in stores {
            if let Some(container) = self.known.get_mut(&object) {
                container.stores.push(store);
            }
        }
        for object in wild {
            if let Some(container) = self.known.get_mut(&object) {
                container.is_wild = true;
            }
        }
    }

    /// Whether a call on a collection takes nothing away.
    fn is_harmless(&self, facts: &MethodFacts, call: StatementId, result: Option<Value>) -> bool {
        let Some((name, _)) = invoked(self.program, facts, call) else { return false };
        let is_iterator = name == b"iterator";
        HARMLESS.contains(&name)
            && (!is_iterator
                || result.is_none_or(|made| is_only_iterated(self.program, facts, made)))
    }

    /// Whether what is once in a container stays there.
    pub(crate) fn is_tame(&self, object: ObjectId) -> bool {
        let Some(container) = self.known.get(&object).filter(|known| !known.is_wild) else {
            return false;
        };
        match self.heap.objects[object].object.class() {
            Some(class) => {
                let name = self.program.classes()[class].name;
                GROWING.contains(&self.program.names.bytes(name))
            }
            None => self.is_filled_once(object, container),
        }
    }

    /// Whether no element of an array is stored to twice.
    fn is_filled_once(&self, object: ObjectId, container: &Container) -> bool {
        let Some(made) = self.heap.objects[object].made else { return false };
        let mut sites: Vec<(MethodId, StatementId)> = Vec::new();
        let mut numbers: Vec<Option<i32>> = Vec::new();
        let mut is_known = true;
        for &(instance, id) in &container.stores {
            let Some(facts) = self.facts(instance) else { return false };
            let Operation::ArrayStore { array, index, .. } = facts.body.statements[id].operation
            else {
                return false;
            };
            let method = self.heap.instances[instance].method;
            let number = constant(facts, index);
            let own = match number {
                Some(_) => None,
                None => match counted(facts, index) {
                    Some((own, _)) => Some(own),
                    None => return false,
                },
            };
            let block = facts.block_of(id);
            let mut around = facts
                .loops
                .iter()
                .enumerate()
                .filter(|(at, found)| Some(*at) != own && found.blocks.contains(block));
            let is_own = made.0 == method
                && facts.body.statements[made.1].result == Some(facts.uncast(array));
            let is_again = sites.contains(&(method, id));
            is_known &= if is_own {
                let made_in = facts.block_of(made.1);
                around.all(|(_, found)| found.blocks.contains(made_in))
            } else {
                around.next().is_none() && !is_again && !self.threads.repeated.contains(instance)
            };
            if !is_again {
                sites.push((method, id));
                numbers.push(number);
            }
        }
        let mut distinct: Vec<i32> = numbers.iter().copied().flatten().collect();
        distinct.sort_unstable();
        distinct.dedup();
        is_known && (sites.len() <= 1 || distinct.len() == sites.len())
    }

    /// Whether a loop of a method comes to the last element that is ever stored.
    pub(crate) fn goes_to_end(
        &self,
        object: ObjectId,
        instance: InstanceId,
        sweep: &Sweep,
    ) -> bool {
        let Bound::Before(bound) = sweep.bound else { return true };
        let Some(facts) = self.facts(instance) else { return false };
        let number = constant(facts, bound);
        let is_number = |other_facts: &MethodFacts, other: Value| {
            number.is_some() && number == constant(other_facts, other)
        };
        if let Some((maker, id)) = self.heap.objects[object].made
            && let Some(made) = self.methods.get(maker)
            && let Operation::NewArray { lengths, .. } = &made.body.statements[id].operation
            && let &[length] = &lengths[..]
        {
            let is_own = maker == self.heap.instances[instance].method
                && made.body.statements[id].result == Some(facts.uncast(sweep.container));
            if is_own && is_same(facts, bound, length) || is_number(made, length) {
                return true;
            }
        }
        let Some(container) = self.known.get(&object) else { return false };
        container.stores.iter().all(|&(storing, id)| {
            let Some(stored) = self.facts(storing) else { return false };
            let Operation::ArrayStore { index, .. } = stored.body.statements[id].operation else {
                return false;
            };
            counted(stored, index).is_some_and(|(_, end)| {
                storing == instance && is_same(facts, bound, end) || is_number(stored, end)
            })
        })
    }
}
