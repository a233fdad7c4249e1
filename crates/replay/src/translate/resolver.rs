//! From the numbers in a recording to the ids in the tables of the event model: the descriptions go in, the tables come out,
//! and the id tables between them say what has an id already.

use rustc_hash::FxHashMap;
use unsnarl_entity::PrimaryMap;
use unsnarl_events::{
    Channel, ChannelId, Container, FieldId, LockId, MethodId, Object, ObjectId, Operation,
    Problems, SiteId, Sites, Tables, ThreadId, Variable, VariableId,
};
use unsnarl_recording::records::{SiteOperation, StackRecord, Volatility};

use super::descriptions::Descriptions;
use super::ids::{
    ClassNames, FieldIds, IdPool, LockIds, Member, ObjectIds, SiteIds, ThreadIds, VariableIds,
    known_sites,
};
use super::lifetimes::Lifetimes;

/// What whoever reads the events has asked for, and what the recording can say.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Requested {
    /// Whether the recording says which write a read has read.
    pub(super) is_exact: bool,
    /// Whether elements of arrays are no variables.
    pub(super) keeps_elements: bool,
    /// Whether locks and channels are reported when they are gone, and their ids given again.
    pub(super) reports_retired: bool,
}

/// Gives ids to what a recording numbers, and fills the tables.
#[derive(Debug)]
pub(super) struct Resolver {
    pub(super) requested: Requested,
    pub(super) descriptions: Descriptions,
    pub(super) tables: Tables,
    pub(super) threads: ThreadIds,
    pub(super) sites: SiteIds,
    pub(super) fields: FieldIds,
    pub(super) class_names: ClassNames,
    pub(super) objects: ObjectIds,
    pub(super) variables: VariableIds,
    pub(super) locks: LockIds,
    /// The channels of volatile variables.
    pub(super) volatiles: FxHashMap<VariableId, ChannelId>,
    pub(super) lifetimes: Lifetimes,
    pub(super) pool: IdPool,
}

impl Resolver {
    pub(super) fn new(descriptions: Descriptions, requested: Requested) -> Self {
        Self {
            requested,
            descriptions,
            tables: Tables { sites: Sites::Known(PrimaryMap::new()), ..Tables::default() },
            threads: ThreadIds::default(),
            sites: SiteIds::default(),
            fields: FieldIds::default(),
            class_names: ClassNames::default(),
            objects: ObjectIds::default(),
            variables: VariableIds::default(),
            locks: LockIds::default(),
            volatiles: FxHashMap::default(),
            lifetimes: Lifetimes::default(),
            pool: IdPool::default(),
        }
    }

    #[inline]
    pub(super) fn thread(&mut self, number: u64) -> ThreadId {
        self.threads.id(number, &self.descriptions, &mut self.tables)
    }

    /// A thread begins, and has its name.
    pub(super) fn rename_thread(&mut self, number: u64) {
        self.threads.rename(number, &self.descriptions, &mut self.tables);
    }

    #[inline]
    pub(super) fn site(&mut self, number: u32) -> SiteId {
        self.sites.id(number, &self.descriptions, &mut self.tables)
    }

    /// The method that a site is in.
    pub(super) fn method(&mut self, site: SiteId) -> MethodId {
        known_sites(&mut self.tables.sites)[site].method
    }

    /// How a thread came to a site.
    pub(super) fn add_stack(&mut self, stack: &StackRecord) {
        let key = (self.thread(stack.thread), self.site(stack.site));
        let callers = stack.callers.iter().map(|&caller| self.site(caller)).collect();
        self.tables.stacks.insert(key, callers);
    }

    /// The field that a site accesses and whether it is volatile.
    #[inline]
    pub(super) fn field(&mut self, site: u32, problems: &mut Problems) -> Option<(FieldId, bool)> {
        self.fields.at_site(site, &self.descriptions, &mut self.tables, problems)
    }

    /// A field by the internal name of the class that declares it.
    pub(super) fn declared_field(
        &mut self,
        class: &[u8],
        name: &[u8],
        volatility: Volatility,
    ) -> FieldId {
        self.fields.declared(class, name, volatility, &mut self.tables)
    }

    /// Where a reference is stored at a site.
    pub(super) fn container(
        &mut self,
        site: u32,
        id: u64,
        problems: &mut Problems,
    ) -> Option<Container> {
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

    /// An object that orders threads, as a lock or by what is sent to it.
    pub(super) fn ordering(&mut self, id: u64) -> ObjectId {
        match self.requested.reports_retired {
            true => self.accessed(id),
            false => self.object(id),
        }
    }

    /// An object that is kept when it has died, since more than its variables name it.
    pub(super) fn object(&mut self, id: u64) -> ObjectId {
        let object = self.accessed(id);
        self.lifetimes.name(object);
        object
    }

    /// An object whose variables are accessed.
    #[inline]
    pub(super) fn accessed(&mut self, id: u64) -> ObjectId {
        match self.objects.get(id) {
            Some(object) => object,
            None => self.first_accessed(id),
        }
    }

    fn first_accessed(&mut self, id: u64) -> ObjectId {
        let class = self.class_names.of(id, &self.descriptions, &mut self.tables);
        let new = self.pool.new_object(Object { class, number: id }, &mut self.tables);
        self.objects.insert(id, new);
        self.lifetimes.occurs(id);
        new
    }

    /// The class of an object. Another thread may have accessed the object before this was recorded.
    pub(super) fn describe(&mut self, [object, class]: [u64; 2]) {
        *self.descriptions.class_of.get_mut(object) = class;
        self.lifetimes.occurs(object);
        if let Some(known) = self.objects.get(object) {
            let class = self.class_names.of(object, &self.descriptions, &mut self.tables);
            self.tables.objects[known].class = class;
        }
    }

    #[inline]
    pub(super) fn lock(&mut self, id: u64) -> LockId {
        match self.locks.recent(id) {
            Some(lock) => lock,
            None => self.find_lock(id),
        }
    }

    fn find_lock(&mut self, id: u64) -> LockId {
        let object = self.ordering(id);
        self.locks.id(id, object, &mut self.pool, &mut self.tables)
    }

    pub(super) fn variable(&mut self, variable: Variable) -> VariableId {
        match variable {
            Variable::Field(object, field) => self.field_variable(object, field),
            _ => self.other_variable(variable),
        }
    }

    fn other_variable(&mut self, variable: Variable) -> VariableId {
        let Self { tables, pool, variables, .. } = self;
        variables.find(variable, || pool.new_variable(variable, tables))
    }

    pub(super) fn field_variable(&mut self, object: ObjectId, field: FieldId) -> VariableId {
        match self.member(field) {
            Some(member) => {
                let id = self.tables.objects[object].number;
                self.member_variable(object, id, member)
            }
            None => self.other_variable(Variable::Field(object, field)),
        }
    }

    /// The position of a field in the blocks of objects. None if there are very many classes.
    pub(super) fn member(&mut self, field: FieldId) -> Option<Member> {
        self.fields.groups.member(field, self.tables.fields[field])
    }

    /// The variable that is a field of an object with an id.
    pub(super) fn member_variable(
        &mut self,
        object: ObjectId,
        id: u64,
        member: Member,
    ) -> VariableId {
        let Self { tables, pool, objects, fields, .. } = self;
        let (variable, is_new) = objects.field(id, member, &fields.groups, |fields| {
            let variables = fields.iter().map(|&field| Variable::Field(object, field));
            pool.reserve(variables, tables)
        });
        if is_new {
            pool.is_accessed(tables);
        }
        variable
    }

    /// The channel of a volatile variable.
    pub(super) fn volatile(&mut self, variable: VariableId) -> ChannelId {
        let Self { tables, pool, volatiles, .. } = self;
        let new = || pool.new_channel(Channel::Volatile(variable), tables);
        *volatiles.entry(variable).or_insert_with(new)
    }

    pub(super) fn access(
        &mut self,
        variable: VariableId,
        write: bool,
        volatile: bool,
    ) -> Operation {
        match (volatile, write) {
            (false, false) => Operation::Read(variable),
            (false, true) => Operation::Write(variable),
            (true, write) => {
                let channel = self.volatile(variable);
                if write { Operation::Send(channel) } else { Operation::Receive(channel) }
            }
        }
    }
}
