//! The abstract threads that the heap analysis distinguishes [vonPraun04 §3.2]: the one that begins
//! by itself, the one of class initializers, the mixture of all, and one for each statement that starts something on a
//! certain object.

use rustc_hash::FxHashMap;
use unsnarl_entity::{EntityId, PrimaryMap};
use unsnarl_models::Effect;

use super::build::{Builder, Precision, Site, SiteId};
use super::object::{Object, ObjectId};
use super::solver::NodeId;
use super::{EdgeKind, Start};
use crate::body::StatementId;
use crate::class::{ClassId, MethodId};
use crate::heap::{Origin, OriginId, OriginKind, StartSite};

/// Beyond this many threads, what they are handed does not distinguish them.
const MOST_THREADS: usize = 400;

/// What distinguishes a started thread from others: who starts it where, what it runs, and on what.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    starter: Option<OriginId>,
    method: MethodId,
    statement: StatementId,
    target: MethodId,
    receiver: Option<ObjectId>,
}

pub(super) struct Threads<'b> {
    pub(super) all: PrimaryMap<OriginId, Origin<'b>>,
    keys: FxHashMap<Key, OriginId>,
    /// The effect on behalf of which a call is made that starts something, and the modelled method.
    pub(super) effects: FxHashMap<SiteId, (MethodId, &'b Effect)>,
    pub(super) is_widened: bool,
    /// The objects that `Thread.currentThread()` may be in a thread.
    objects: FxHashMap<OriginId, NodeId>,
}

impl Threads<'_> {
    /// The thread of the entry points.
    pub(super) fn main() -> OriginId {
        OriginId::from_index(0)
    }

    pub(super) fn new() -> Self {
        let mut all = PrimaryMap::new();
        for kind in [OriginKind::Main, OriginKind::Init, OriginKind::Mixed] {
            all.push(Origin { kind, entries: Vec::new(), start: None, receiver: None });
        }
        Self {
            all,
            keys: FxHashMap::default(),
            effects: FxHashMap::default(),
            is_widened: false,
            objects: FxHashMap::default(),
        }
    }

    /// The thread of class initializers.
    pub(super) fn init() -> OriginId {
        OriginId::from_index(1)
    }

    /// Stands for any thread, where threads are no longer distinguished.
    pub(super) fn mixed() -> OriginId {
        OriginId::from_index(2)
    }
}

impl Builder<'_, '_, '_> {
    /// The thread in which a call runs its target.
    pub(super) fn origin_for(
        &mut self,
        site: SiteId,
        target: MethodId,
        receiver: Option<ObjectId>,
    ) -> OriginId {
        if self.precision == Precision::Types {
            return Threads::main();
        }
        let Site { caller, statement, kind, .. } = self.sites[site];
        let own = self.origin_of(caller);
        let kind = match kind {
            EdgeKind::Start(Start(kind)) => OriginKind::Started(kind),
            EdgeKind::Later => OriginKind::Later,
            _ => return own,
        };
        let method = self.method_of(caller);
        if let Some(again) = self.again(own, method, statement, receiver) {
            self.begins.insert((target, again));
            self.note_thread_object(again, receiver);
            return again;
        }
        let mut key = Key { starter: Some(own), method, statement, target, receiver };
        if self.threads.all.len() >= MOST_THREADS && !self.threads.keys.contains_key(&key) {
            self.threads.is_widened = true;
            key = Key { starter: None, receiver: None, ..key };
        }
        if let Some(&origin) = self.threads.keys.get(&key) {
            self.begins.insert((target, origin));
            self.note_thread_object(origin, receiver);
            return origin;
        }
        let start = self.threads.effects.get(&site).map(|&(method, effect)| StartSite {
            instance: caller,
            statement,
            method,
            effect,
        });
        let receiver = key.receiver;
        let origin = self.threads.all.push(Origin { kind, entries: Vec::new(), start, receiver });
        self.threads.keys.insert(key, origin);
        self.begins.insert((target, origin));
        origin
    }

    /// The objects that `Thread.currentThread()` may be in a thread: those that it runs on, if they are
    /// thread objects, or one that nobody knows.
    pub(super) fn thread_object(&mut self, origin: OriginId) -> NodeId {
        if let Some(&node) = self.threads.objects.get(&origin) {
            return node;
        }
        let node = self.solver.node();
        self.threads.objects.insert(origin, node);
        let receiver = self.threads.all[origin].receiver;
        if !self.note_thread_object(origin, receiver) {
            let thread = self.thread_class();
            self.solver.add(node, Object::Unknown(thread));
        }
        node
    }

    /// A thread runs on an object; says whether that is a thread object.
    fn note_thread_object(&mut self, origin: OriginId, receiver: Option<ObjectId>) -> bool {
        let Some(object) = receiver else { return false };
        let (thread, class) =
            (self.thread_class(), self.solver.objects.class(object, self.program));
        let is_thread = self.program.is_subclass(class, thread);
        if let (true, Some(&node)) = (is_thread, self.threads.objects.get(&origin)) {
            self.solver.add_id(node, object);
        }
        is_thread
    }

    fn thread_class(&mut self) -> ClassId {
        let thread = self.program.names.symbol(b"java/lang/Thread");
        self.program.class_named(thread)
    }

    /// A thread that starts others of its kind, and these again: all but the first are one.
    fn again(
        &self,
        mut origin: OriginId,
        method: MethodId,
        statement: StatementId,
        receiver: Option<ObjectId>,
    ) -> Option<OriginId> {
        let place = |object: Option<ObjectId>| {
            let made = object.and_then(|object| self.solver.objects.all[object].made());
            made.map(|(method, statement, _)| (method, statement))
        };
        loop {
            let thread = &self.threads.all[origin];
            let start = thread.start?;
            let starter = self.instances[start.instance];
            if starter.method == method
                && start.statement == statement
                && place(thread.receiver) == place(receiver)
            {
                return Some(origin);
            }
            if starter.origin == origin {
                return None;
            }
            origin = starter.origin;
        }
    }
}
