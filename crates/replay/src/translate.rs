//! From the events of the runtime to those of the event model.

mod ids;
mod library;
mod lifetimes;
mod plain;
mod stacks;

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_entity::{EntityId, PrimaryMap, SecondaryMap};
use unsnarl_events::{
    Channel, ChannelId, Container, Elements, Event, FieldId, Lock, LockId, MethodId, NameId,
    Numbers, Object, ObjectId, Operation, Problems, SiteId, Sites, Store, Tables, Thread, ThreadId,
    Variable, VariableId,
};
use unsnarl_models::Models;
use unsnarl_recording::chunks::{RawEvent, RawEvents};
use unsnarl_recording::class_table::ClassTable;
use unsnarl_recording::format::Kind;
use unsnarl_recording::records::{SiteOperation, SiteRecord, StackRecord};

use self::ids::objects::{Groups, Member, ObjectIds, Pages};
use self::ids::sites::{SiteIds, missing_site};
use self::ids::variables::VariableIds;
use self::library::operands::Orders;
use self::library::{Emit, InThread, KnownCalls};
use self::lifetimes::Lives;
use self::plain::{Does, PlainPlaces};
use self::stacks::Stacks;
use super::recent::Recent;

/// What the tables of a session say.
#[derive(Debug, Default)]
pub(super) struct Descriptions {
    pub(super) sites: FxHashMap<u32, SiteRecord>,
    pub(super) classes: ClassTable,
    /// The names of classes by the id of their `Class`.
    pub(super) class_names: FxHashMap<u64, Vec<u8>>,
    pub(super) thread_names: FxHashMap<u64, Vec<u8>>,
    pub(super) daemons: FxHashSet<u64>,
    /// The id of the `Class` of an object; 0 if it is not known.
    pub(super) class_of: Pages<u64>,
    /// The texts of strings.
    pub(super) texts: FxHashMap<u64, Vec<u8>>,
}

impl Descriptions {
    /// The id of the `Class` of an object, if it was told.
    fn class_of(&self, object: u64) -> Option<u64> {
        self.class_of.get(object).copied().filter(|&class| class != 0)
    }
}

/// Turns events into those of the model and fills its tables.
#[derive(Debug)]
pub(super) struct Translator {
    /// Whether it is asked who read whose write.
    is_exact: bool,
    /// Whether elements of arrays are no variables.
    keeps_elements: bool,
    /// Whether locks and channels are told when they are gone.
    tells_dead: bool,
    descriptions: Descriptions,
    tables: Tables,
    threads: Numbers<ThreadId>,
    /// The thread of the last event, and fields of the last ones.
    last_thread: Option<(u64, ThreadId)>,
    recent_fields: Recent<u32, (FieldId, bool)>,
    /// The locks of the last objects that were entered or left: an object that is a lock keeps its id.
    recent_locks: Recent<u64, LockId>,
    /// The names of classes that objects were seen of, by the ids of their `Class`.
    seen_classes: FxHashMap<u64, NameId>,
    plain: PlainPlaces,
    objects: ObjectIds,
    groups: Groups,
    locks: SecondaryMap<ObjectId, Option<LockId>>,
    variables: VariableIds,
    volatiles: FxHashMap<VariableId, ChannelId>,
    /// The fields of sites, and whether they are volatile.
    fields: FxHashMap<u32, (FieldId, bool)>,
    declared: FxHashMap<(NameId, NameId), FieldId>,
    methods: FxHashMap<(NameId, NameId, NameId), MethodId>,
    sites: SiteIds,
    /// Classes whose initializer has ended, by their names.
    initialized: FxHashMap<NameId, ChannelId>,
    /// The classes that are initialized when the code of a site runs.
    initialized_at: SecondaryMap<SiteId, Vec<NameId>>,
    /// Of which initializers a thread has seen the end.
    seen: SecondaryMap<ThreadId, FxHashSet<NameId>>,
    /// How many classes were initialized when a thread had seen all that there was to see at a site.
    settled: Recent<(ThreadId, SiteId), usize>,
    models: Arc<Models>,
    known_calls: KnownCalls,
    /// The sites of calls whose effects may depend on how they end.
    conditional: FxHashMap<u32, bool>,
    /// What threads are in the middle of.
    calls: SecondaryMap<ThreadId, InThread>,
    orders: Orders,
    stacks: Stacks,
    lives: Lives,
}

impl Translator {
    pub(super) fn new(descriptions: Descriptions, models: Arc<Models>, is_exact: bool) -> Self {
        Self {
            is_exact,
            keeps_elements: false,
            tells_dead: false,
            descriptions,
            models,
            known_calls: KnownCalls::default(),
            conditional: FxHashMap::default(),
            calls: SecondaryMap::default(),
            orders: Orders::default(),
            stacks: Stacks::default(),
            lives: Lives::default(),
            tables: Tables { sites: Sites::Known(PrimaryMap::new()), ..Tables::default() },
            threads: Numbers::default(),
            last_thread: None,
            recent_fields: Recent::new(),
            recent_locks: Recent::new(),
            seen_classes: FxHashMap::default(),
            plain: PlainPlaces::default(),
            objects: ObjectIds::default(),
            groups: Groups::default(),
            locks: SecondaryMap::default(),
            variables: VariableIds::default(),
            volatiles: FxHashMap::default(),
            fields: FxHashMap::default(),
            declared: FxHashMap::default(),
            methods: FxHashMap::default(),
            sites: SiteIds::default(),
            initialized: FxHashMap::default(),
            initialized_at: SecondaryMap::default(),
            seen: SecondaryMap::default(),
            settled: Recent::new(),
        }
    }

    pub(super) fn tables(&self) -> &Tables {
        &self.tables
    }

    pub(super) fn keep_elements(&mut self) {
        self.keeps_elements = true;
    }

    pub(super) fn tell_dead(&mut self) {
        self.tells_dead = true;
    }

    /// What the tables of the session say, to be added to.
    pub(super) fn descriptions(&mut self) -> &mut Descriptions {
        &mut self.descriptions
    }

    /// How a thread came to a place.
    pub(super) fn add_stack(&mut self, stack: &StackRecord) {
        let place = (self.thread(stack.thread), self.site(stack.site));
        let callers = stack.callers.iter().map(|&caller| self.site(caller)).collect();
        self.tables.stacks.insert(place, callers);
    }

    /// Another thread tells who has made an object.
    fn owned(&mut self, [object, maker]: [u64; 2], out: &mut Vec<Event>) {
        let (thread, site) = (self.thread(maker), self.site(0));
        out.push(Event { thread, site, operation: Operation::Allocate(self.object(object)) });
    }

    /// Appends what events of the thread with this number are in the model. `later` are the thread's later events, as far
    /// as they are there. Tells the last event, unless it is an access.
    pub(super) fn translate_all(
        &mut self,
        number: u64,
        events: RawEvents<'_>,
        later: RawEvents<'_>,
        out: &mut Vec<Event>,
        problems: &mut Problems,
    ) -> Option<RawEvent> {
        let mut rest = events;
        loop {
            rest = self.plain_accesses(number, rest, later, out, problems);
            let event = rest.next()?;
            if event.kind == Kind::CallLooks
                && let Some(behind) = self.look(number, &event, rest, out, problems)
            {
                rest = behind;
                continue;
            }
            let is_last = rest.is_empty();
            let following = if is_last { later } else { RawEvents(&[]) };
            self.translate(number, &event, following, out, problems);
            if is_last {
                return Some(event);
            }
        }
    }

    /// Appends what an event is in the model: nothing, one event or several.
    fn translate(
        &mut self,
        number: u64,
        event: &RawEvent,
        following: RawEvents<'_>,
        out: &mut Vec<Event>,
        problems: &mut Problems,
    ) {
        match event.kind {
            Kind::Object => return self.describe(event.words),
            Kind::GoesOn => return,
            Kind::Owned => return self.owned(event.words, out),
            Kind::ThreadBegin => self.name(number),
            _ => {}
        }
        let thread = self.thread(number);
        // Where a call ends stands its number.
        let is_end = matches!(event.kind, Kind::CallEnds | Kind::CallFails);
        let site = self.site(if is_end { 0 } else { event.site });
        let mut emit = Emit { thread, site, out, problems };
        self.see_initialized(&mut emit);
        let [first, second] = event.words;
        if event.kind != Kind::MethodEnters {
            self.leave_what_was_left(number, site, &mut emit);
        }
        let operation = match event.kind {
            Kind::MethodEnters => return self.enter(number, first, &mut emit),
            Kind::MethodExits => return self.exit(number, &mut emit),
            Kind::Allocated => {
                let object = self.object(first);
                if second != 0 {
                    self.tables.makers[object] = Some(self.object(second));
                }
                Operation::Allocate(object)
            }
            Kind::Stored => {
                let Some(into) = self.container(event.site, first, emit.problems) else { return };
                let value = self.object(second);
                Operation::Store(self.tables.stores.intern(Store { into, value }))
            }
            Kind::FieldRead | Kind::FieldWrite | Kind::NumberedRead | Kind::NumberedWrite => {
                let object = if event.kind.is_numbered() { second } else { first };
                let Some((field, volatile)) = self.field(event.site, emit.problems) else { return };
                let object = self.accessed(object);
                let variable = self.field_variable(object, field);
                let write = matches!(event.kind, Kind::FieldWrite | Kind::NumberedWrite);
                if !volatile {
                    self.learn_plain(event.site, site, Does::Field(field));
                }
                self.access(variable, write, volatile)
            }
            Kind::StaticRead
            | Kind::StaticWrite
            | Kind::NumberedStaticRead
            | Kind::NumberedStaticWrite => {
                let Some((field, volatile)) = self.field(event.site, emit.problems) else { return };
                let class = self.tables.fields[field].class;
                if let Some(&channel) = self.initialized.get(&class)
                    && self.seen[thread].insert(class)
                {
                    emit.push(Operation::Receive(channel));
                }
                let variable = self.variable(Variable::Static(field));
                let write = matches!(event.kind, Kind::StaticWrite | Kind::NumberedStaticWrite);
                self.access(variable, write, volatile)
            }
            Kind::ArrayRead | Kind::ArrayWrite => {
                let array = self.accessed(first);
                let elements = Strided::from_word(second);
                self.learn_plain(event.site, site, Does::Elements);
                return self.elements(array, elements, event.kind == Kind::ArrayWrite, &mut emit);
            }
            Kind::MonitorEnter | Kind::MonitorExit => {
                self.learn_plain(event.site, site, Does::Monitor);
                let lock = self.lock(second);
                let enters = event.kind == Kind::MonitorEnter;
                if enters { Operation::Acquire(lock) } else { Operation::Release(lock) }
            }
            Kind::Contended => Operation::Request(self.lock(second)),
            Kind::Wait => Operation::Wait(self.lock(second)),
            Kind::Wake => Operation::Wake(self.lock(second)),
            Kind::ThreadStart => Operation::Fork(self.thread(second)),
            Kind::ThreadJoin => Operation::Join(self.thread(second)),
            Kind::ThreadBegin => Operation::Start,
            Kind::ThreadEnd => {
                self.ended(number, thread);
                Operation::End
            }
            Kind::ClassInitialized => {
                let Some(record) = self.descriptions.sites.get(&event.site) else {
                    missing_site(event.site, emit.problems);
                    return;
                };
                let class = self.tables.names.intern(&binary(&record.class));
                self.seen[thread].insert(class);
                let channel = self.initializer(class);
                Operation::Send(channel)
            }
            Kind::CallOperand
            | Kind::CallBegins
            | Kind::CallLooks
            | Kind::CallEnds
            | Kind::TaskBegins
            | Kind::TaskEnds
            | Kind::ThreadObject
            | Kind::CallFails => {
                self.call_event(event, following, &mut emit);
                return;
            }
            Kind::Object | Kind::GoesOn | Kind::Owned | Kind::SweepBegins | Kind::SweepEnds => {
                return;
            }
        };
        emit.push(operation);
    }

    /// A thread does nothing any more.
    fn ended(&mut self, number: u64, thread: ThreadId) {
        self.orders.ended.insert(thread);
        self.forget_stack(number);
        self.calls[thread] = InThread::default();
        self.seen[thread] = FxHashSet::default();
    }

    /// The classes were initialized without which the code would not run.
    #[inline]
    fn see_initialized(&mut self, emit: &mut Emit<'_>) {
        if !self.initialized_at[emit.site].is_empty() && !self.is_settled(emit.thread, emit.site) {
            self.see_initializers(emit);
        }
    }

    fn see_initializers(&mut self, emit: &mut Emit<'_>) {
        let Self { initialized, initialized_at, seen, .. } = self;
        for class in &initialized_at[emit.site] {
            if let Some(&channel) = initialized.get(class)
                && seen[emit.thread].insert(*class)
            {
                emit.push(Operation::Receive(channel));
            }
        }
        let spread = spread(emit.thread, emit.site);
        self.settled.set((emit.thread, emit.site), spread, self.initialized.len());
    }

    /// Whether a thread has lately seen all initializers that there are to see at a site.
    #[inline]
    fn is_settled(&self, thread: ThreadId, site: SiteId) -> bool {
        let settled = self.settled.get((thread, site), spread(thread, site));
        settled == Some(self.initialized.len())
    }

    /// Where a reference is stored at a site.
    fn container(&mut self, site: u32, id: u64, problems: &mut Problems) -> Option<Container> {
        match &self.descriptions.sites.get(&site)?.operation {
            SiteOperation::Field { .. } => {
                let (field, _) = self.field(site, problems)?;
                Some(match id {
                    0 => Container::Static(field),
                    id => Container::Field(self.object(id), field),
                })
            }
            SiteOperation::Element => Some(Container::Element(self.object(id))),
            _ => Some(Container::Unknown),
        }
    }

    fn access(&mut self, variable: VariableId, write: bool, volatile: bool) -> Operation {
        match (volatile, write) {
            (false, false) => Operation::Read(variable),
            (false, true) => Operation::Write(variable),
            (true, write) => {
                let channel = self.volatile(variable);
                if write { Operation::Send(channel) } else { Operation::Receive(channel) }
            }
        }
    }

    fn elements(&mut self, array: ObjectId, strided: Strided, write: bool, emit: &mut Emit<'_>) {
        if !self.keeps_elements {
            for index in strided.indices() {
                let variable = self.variable(Variable::Element(array, index));
                emit.push(self.access(variable, write, false));
            }
            return;
        }
        self.lives.has_elements(array);
        let operation = |elements| match write {
            true => Operation::WriteElements(elements),
            false => Operation::ReadElements(elements),
        };
        let Strided { first, distance, behind } = strided;
        match Elements::range(array, first, distance, behind) {
            Some(elements) => emit.push(operation(elements)),
            None => strided
                .indices()
                .for_each(|index| emit.push(operation(Elements::one(array, index)))),
        }
    }

    fn volatile(&mut self, variable: VariableId) -> ChannelId {
        let Self { tables, lives, volatiles, .. } = self;
        let new = || lives.new_channel(Channel::Volatile(variable), tables);
        *volatiles.entry(variable).or_insert_with(new)
    }

    #[inline]
    fn thread(&mut self, number: u64) -> ThreadId {
        match self.last_thread {
            Some((last, thread)) if last == number => return thread,
            _ => {}
        }
        let thread = self.find_thread(number);
        self.last_thread = Some((number, thread));
        thread
    }

    fn find_thread(&mut self, number: u64) -> ThreadId {
        let Self { descriptions, tables, threads, .. } = self;
        threads.id(number, || {
            let name = thread_name(number, descriptions.thread_names.get(&number));
            let name = tables.names.intern(&name);
            let thread = tables.threads.push(Thread { name });
            tables.daemons[thread] = descriptions.daemons.contains(&number);
            thread
        })
    }

    /// An object that orders threads, as a lock or by what is sent to it.
    fn ordering(&mut self, id: u64) -> ObjectId {
        match self.tells_dead {
            true => self.accessed(id),
            false => self.object(id),
        }
    }

    /// An object that is kept when it has died, since more than its variables name it.
    fn object(&mut self, id: u64) -> ObjectId {
        let object = self.accessed(id);
        self.lives.name(object);
        object
    }

    #[inline]
    fn accessed(&mut self, id: u64) -> ObjectId {
        match self.objects.get(id) {
            Some(object) => object,
            None => self.first_accessed(id),
        }
    }

    fn first_accessed(&mut self, id: u64) -> ObjectId {
        let object = Object { class: self.class_name(id), number: id };
        let new = match self.lives.free_objects.pop() {
            Some(free) => {
                self.tables.objects[free] = object;
                free
            }
            None => self.tables.objects.push(object),
        };
        self.objects.insert(id, new);
        self.lives.seen(id);
        new
    }

    fn class_name(&mut self, object: u64) -> NameId {
        let class = self.descriptions.class_of(object);
        if let Some(&name) = class.and_then(|class| self.seen_classes.get(&class)) {
            return name;
        }
        let class_names = &self.descriptions.class_names;
        let known = class.and_then(|class| Some((class, class_names.get(&class)?)));
        let name = match known {
            Some((_, name)) => source_type(name),
            None if class_names.contains_key(&object) => b"java.lang.Class".to_vec(),
            None => b"?".to_vec(),
        };
        let name = self.tables.names.intern(&name);
        // A class may get its name later, and keeps it.
        if let Some((class, _)) = known {
            self.seen_classes.insert(class, name);
        }
        name
    }

    /// The class of an object. Another thread may have come to the object before this was told.
    fn describe(&mut self, [object, class]: [u64; 2]) {
        *self.descriptions.class_of.get_mut(object) = class;
        self.lives.seen(object);
        if let Some(known) = self.objects.get(object) {
            self.tables.objects[known].class = self.class_name(object);
        }
    }

    /// The name of a thread, which its starter did not know yet.
    fn name(&mut self, number: u64) {
        if let (Some(thread), Some(name)) =
            (self.threads.get(number), self.descriptions.thread_names.get(&number))
        {
            let name = thread_name(number, Some(name));
            self.tables.threads[thread].name = self.tables.names.intern(&name);
            self.tables.daemons[thread] = self.descriptions.daemons.contains(&number);
        }
    }

    #[inline]
    fn lock(&mut self, id: u64) -> LockId {
        match self.recent_locks.get(id, id) {
            Some(lock) => lock,
            None => self.find_lock(id),
        }
    }

    fn find_lock(&mut self, id: u64) -> LockId {
        let object = self.ordering(id);
        let Self { tables, lives, locks, .. } = self;
        let lock =
            *locks[object].get_or_insert_with(|| lives.new_lock(Lock::Object(object), tables));
        self.recent_locks.set(id, id, lock);
        lock
    }

    fn variable(&mut self, variable: Variable) -> VariableId {
        match variable {
            Variable::Field(object, field) => self.field_variable(object, field),
            _ => self.other_variable(variable),
        }
    }

    fn other_variable(&mut self, variable: Variable) -> VariableId {
        let Self { tables, lives, variables, .. } = self;
        variables.find(variable, || lives.new_variable(variable, tables))
    }

    fn field_variable(&mut self, object: ObjectId, field: FieldId) -> VariableId {
        match self.groups.member(field, self.tables.fields[field]) {
            Some(member) => {
                let id = self.tables.objects[object].number;
                self.member_variable(object, id, member)
            }
            None => self.other_variable(Variable::Field(object, field)),
        }
    }

    /// The variable that is a field of an object with an id.
    fn member_variable(&mut self, object: ObjectId, id: u64, member: Member) -> VariableId {
        let Self { tables, lives, objects, groups, .. } = self;
        let (variable, is_new) = objects.field(id, member, groups, |fields| {
            let variables = fields.iter().map(|&field| Variable::Field(object, field));
            lives.reserve(variables, tables)
        });
        if is_new {
            lives.is_accessed(tables);
        }
        variable
    }

    fn initializer(&mut self, class: NameId) -> ChannelId {
        let tables = &mut self.tables;
        *self.initialized.entry(class).or_insert_with(|| {
            let text = [b"initialization of ", &tables.names[class]].concat();
            let name = tables.names.intern(&text);
            tables.channels.push(Channel::Named(name))
        })
    }
}

fn spread(thread: ThreadId, site: SiteId) -> u64 {
    (thread.index() as u64) << 32 | site.index() as u64
}

/// Elements of an array at equal distances: the first, how far the next one is, how many there are behind it.
#[derive(Clone, Copy)]
struct Strided {
    first: u32,
    distance: i16,
    behind: u16,
}

impl Strided {
    /// As a word of an event tells it.
    fn from_word(word: u64) -> Self {
        Self { first: word as u32, distance: (word >> 32) as i16, behind: (word >> 48) as u16 }
    }

    fn indices(self) -> impl Iterator<Item = u32> {
        let next = move |index: &u32| Some(index.wrapping_add_signed(self.distance.into()));
        std::iter::successors(Some(self.first), next).take(usize::from(self.behind) + 1)
    }
}

/// The binary name of a class, with dots.
fn binary(internal: &[u8]) -> Vec<u8> {
    internal.iter().map(|&byte| if byte == b'/' { b'.' } else { byte }).collect()
}

/// The name that `Class.getName` gives, with arrays as in Java source.
fn source_type(name: &[u8]) -> Vec<u8> {
    let dimensions = name.iter().take_while(|&&byte| byte == b'[').count();
    if dimensions == 0 {
        return name.to_vec();
    }
    let mut text = match &name[dimensions..] {
        b"Z" => b"boolean".to_vec(),
        b"B" => b"byte".to_vec(),
        b"C" => b"char".to_vec(),
        b"S" => b"short".to_vec(),
        b"I" => b"int".to_vec(),
        b"J" => b"long".to_vec(),
        b"F" => b"float".to_vec(),
        b"D" => b"double".to_vec(),
        [b'L', class @ .., b';'] => class.to_vec(),
        other => other.to_vec(),
    };
    text.extend(b"[]".repeat(dimensions));
    text
}

/// What a thread is called. Virtual threads have no names but those that a program gives them.
fn thread_name(number: u64, name: Option<&Vec<u8>>) -> Cow<'_, [u8]> {
    match name {
        Some(name) if !name.is_empty() => Cow::Borrowed(name),
        _ => Cow::Owned(format!("thread {number}").into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Strided, source_type, thread_name};

    #[test]
    fn a_thread_without_a_name_has_its_number() {
        let name = |name: Option<&str>| {
            let name = name.map(|it| it.as_bytes().to_vec());
            thread_name(7, name.as_ref()).into_owned()
        };
        assert_eq!(name(Some("worker")), b"worker");
        assert_eq!(name(Some("")), b"thread 7");
        assert_eq!(name(None), b"thread 7");
    }

    #[test]
    fn an_event_can_be_about_many_elements() {
        let word = |first: u32, distance: i16, behind: u64| {
            u64::from(first) | u64::from(distance as u16) << 32 | behind << 48
        };
        let indices = |word| Strided::from_word(word).indices();
        assert_eq!(indices(7).collect::<Vec<_>>(), [7]);
        assert_eq!(indices(word(7, 2, 3)).collect::<Vec<_>>(), [7, 9, 11, 13]);
        assert_eq!(indices(word(7, -3, 2)).collect::<Vec<_>>(), [7, 4, 1]);
        assert_eq!(indices(u64::MAX).count(), 1 << 16);
    }

    #[test]
    fn arrays_are_named_as_in_source() {
        for (name, expected) in
            [("a.B", "a.B"), ("[I", "int[]"), ("[[La.B;", "a.B[][]"), ("[", "[]"), ("", "")]
        {
            assert_eq!(source_type(name.as_bytes()), expected.as_bytes(), "{name}");
        }
    }
}
