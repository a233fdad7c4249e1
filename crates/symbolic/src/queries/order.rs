//! Which accesses cannot overlap [vonPraun04 §4.3, §4.4]: by the order of threads, and by
//! locks.

use unsnarl_entity::EntityId;
use unsnarl_models::{LockMode, StartKind};
use unsnarl_program::FieldId;
use unsnarl_program::body::{Operation, StatementId};
use unsnarl_program::heap::{ObjectId, OriginId, OriginKind};

use crate::Execution;
use crate::emit::Time;
use crate::event::{AccessKind, Accessed, CommonGuard, Event, EventId, Guard, Order, Sharing};
use crate::execute::state::{Channel, Joined};
use crate::facts::sweep::is_avoidable;

/// A point of the execution of a thread, with what is known there about the order with other threads.
#[derive(Clone, Copy)]
pub(crate) struct Moment<'t> {
    pub(crate) thread: OriginId,
    pub(crate) time: &'t Time,
}

impl Execution<'_> {
    pub(crate) fn find_order(
        &self,
        object: Option<ObjectId>,
        first: EventId,
        second: EventId,
    ) -> Option<Order> {
        let (one, other) = (&self.events[first], &self.events[second]);
        let is_initial = [one, other].iter().any(|event| self.is_initializer(event.thread));
        if object.is_some() && !is_initial && (one.is_fresh || other.is_fresh) {
            let is_same = one.thread == other.thread && self.is_unique_thread(one.thread);
            return Some(if is_same { Order::SameThread } else { Order::Fresh });
        }
        let order = self.order_of(object, self.moment(first), self.moment(second));
        let is_sure = !matches!(order, None | Some(Order::Join { is_assumed: true }));
        let Some(object) = object.filter(|_| !is_sure) else { return order };
        let pairs = [(first, second), (second, first)];
        if pairs.iter().any(|&(early, late)| self.is_own_signal(object, early, late)) {
            return Some(Order::Signal);
        }
        let is_encapsulated = || self.is_encapsulated(object, one, other);
        order.or_else(|| is_encapsulated().then_some(Order::Encapsulated))
    }

    /// Why two moments cannot be at once. The object is what both are about.
    pub(crate) fn order_of(
        &self,
        object: Option<ObjectId>,
        one: Moment<'_>,
        other: Moment<'_>,
    ) -> Option<Order> {
        if one.thread == other.thread && self.is_unique_thread(one.thread) {
            return Some(Order::SameThread);
        }
        if self.is_initializer(one.thread) || self.is_initializer(other.thread) {
            // A class is initialized before anybody uses it.
            return Some(Order::Start);
        }
        let pairs = [(one, other), (other, one)];
        if pairs.iter().any(|&(early, late)| self.has_not_begun(early, late.thread)) {
            return Some(Order::Start);
        }
        let joins = pairs.iter().filter_map(|&(early, late)| self.joined_at(object, early, late));
        if let Some(is_assumed) = joins.min() {
            return Some(Order::Join { is_assumed });
        }
        match pairs.iter().find_map(|&(early, late)| self.signalled(object, early, late)) {
            Some(false) => return Some(Order::Signal),
            Some(true) => return Some(Order::Join { is_assumed: true }),
            None => {}
        }
        self.is_serial(one.thread, other.thread).then_some(Order::Serial)
    }

    fn time(&self, event: EventId) -> &Time {
        &self.times[self.time_of[event.index()]]
    }

    fn moment(&self, event: EventId) -> Moment<'_> {
        Moment { thread: self.events[event].thread, time: self.time(event) }
    }

    fn is_initializer(&self, thread: OriginId) -> bool {
        self.heap.origins[thread].kind == OriginKind::Init
    }

    /// Whether all instances of a thread have ended when an access happens.
    pub(crate) fn is_after_end(&self, event: EventId, thread: OriginId) -> bool {
        let own = self.events[event].thread;
        self.is_unique_thread(own)
            && self.has_ended(&self.time(event).joined, own, thread, 0).is_some()
    }

    /// Whether no instance of a thread has begun when an access happens.
    pub(crate) fn is_before_start(&self, event: EventId, thread: OriginId) -> bool {
        self.has_not_begun(self.moment(event), thread)
    }

    fn has_not_begun(&self, moment: Moment<'_>, thread: OriginId) -> bool {
        let own = moment.thread;
        self.is_unique_thread(own) && self.is_not_begun(moment, thread, &mut vec![own])
    }

    /// `seen` are threads that need not be looked at again: whoever starts another of its own kind was
    /// started itself before.
    fn is_not_begun(&self, moment: Moment<'_>, thread: OriginId, seen: &mut Vec<OriginId>) -> bool {
        let starters = self.threads.starters(thread);
        seen.push(thread);
        !starters.is_empty()
            && starters.iter().all(|&starter| {
                if starter == moment.thread {
                    return !moment.time.started.contains(&thread);
                }
                seen.contains(&starter) || self.is_not_begun(moment, starter, seen)
            })
    }

    /// Whether all instances of the thread of the first access have ended when the second happens; if
    /// so, whether that is assumed only.
    fn joined_at(
        &self,
        object: Option<ObjectId>,
        early: Moment<'_>,
        late: Moment<'_>,
    ) -> Option<bool> {
        let (thread, own, time) = (early.thread, late.thread, late.time);
        if self.is_unique_thread(own)
            && let Some(is_assumed) = self.has_ended(&time.joined, own, thread, 0)
        {
            return Some(is_assumed);
        }
        if let Some(is_assumed) = self.ended_before_start(thread, own, 0) {
            return Some(is_assumed);
        }
        // A thread object that was joined belongs to whoever joined it.
        let is_own = object.is_some_and(|object| {
            time.joined_base.contains(&thread)
                && self.heap.origins[thread].receiver == Some(object)
                && self.confined.contains(&(thread, object))
        });
        is_own.then_some(false)
    }

    /// Whether all instances of one thread have ended when another is started, and none is started
    /// after that.
    fn ended_before_start(&self, early: OriginId, late: OriginId, depth: u8) -> Option<bool> {
        let starters = self.threads.starters(late);
        let &[starter] = starters else { return None };
        if !self.is_unique_thread(starter) || depth > 8 {
            return None;
        }
        // If each instance ends before the next is started it does not matter that there are more.
        let is_late_before =
            early != late && self.at_start.get(&early).is_none_or(|at| at.started.contains(&late));
        let here = match self.at_start.get(&late) {
            Some(at) if !is_late_before => self.has_ended(&at.joined, starter, early, 0),
            _ => None,
        };
        here.or_else(|| self.ended_before_start(early, starter, depth + 1))
    }

    /// Whether all instances of a thread have ended for the thread `own`; if so, whether that is
    /// assumed only.
    fn has_ended(
        &self,
        joined: &[Joined],
        own: OriginId,
        thread: OriginId,
        depth: u8,
    ) -> Option<bool> {
        let starters = self.threads.starters(thread);
        if starters.is_empty() {
            return None;
        }
        let mut is_assumed = false;
        for &starter in starters {
            if starter == own {
                let joined = joined.iter().find(|joined| joined.thread == thread)?;
                is_assumed |= joined.is_assumed;
                continue;
            }
            // Its starter has ended, and had waited for it before.
            if depth > 8 {
                return None;
            }
            if starter != thread {
                is_assumed |= self.has_ended(joined, own, starter, depth + 1)?;
            }
            // Or it was waited for when nobody was left to start more.
            let mut late = joined.iter().filter(|joined| joined.is_after_starters);
            if let Some(joined) = late.find(|joined| joined.thread == thread) {
                is_assumed |= joined.is_assumed;
                continue;
            }
            let ended = self.ends.get(&starter)?;
            let ended = ended.iter().find(|ended| ended.thread == thread)?;
            is_assumed |= ended.is_assumed;
        }
        Some(is_assumed)
    }

    /// Whether the second access has received a signal that only the thread of the first can have sent
    /// and that it had not sent yet. If many instances of that thread send, those who wait are taken to
    /// wait for all of them: then the answer is true.
    fn signalled(
        &self,
        object: Option<ObjectId>,
        early: Moment<'_>,
        late: Moment<'_>,
    ) -> Option<bool> {
        let (thread, before, after) = (early.thread, early.time, late.time);
        let is_unique = self.is_unique_thread(thread);
        let found = after.received.iter().any(|&(channel, is_base)| {
            let is_known = match self.channels[channel] {
                Channel::Static(_) => true,
                Channel::Object(carrier, _) => {
                    is_base && object == Some(carrier) || self.is_unique(carrier)
                }
            };
            let ends = self.signals.ends(self.channels[channel]);
            is_known
                && !before.sent.contains(&channel)
                && ends.is_some_and(|ends| {
                    ends.senders[..] == [thread] && (is_unique || ends.is_waited_for_once())
                })
        });
        found.then_some(!is_unique)
    }

    /// Whether the second access has received a signal from the very object that is accessed, which only
    /// one thread at run time sends: the one that the object belongs to, or the one that has made it. It is
    /// the thread of the first access, and has not sent the signal yet.
    fn is_own_signal(&self, object: ObjectId, early: EventId, late: EventId) -> bool {
        let thread = self.events[early].thread;
        let (before, after) = (self.time(early), self.time(late));
        after.received.iter().any(|&(channel, is_base)| {
            let Channel::Object(carrier, Some(Accessed::Field(field))) = self.channels[channel]
            else {
                return false;
            };
            let Some(ends) = self.signals.ends(self.channels[channel]) else { return false };
            let is_of_owner = ends.senders[..] == [thread]
                && self.confined.contains(&(thread, object))
                && !before.sent.contains(&channel);
            is_base
                && carrier == object
                && (is_of_owner || ends.is_of_maker() && self.is_before_own_signal(early, field))
        })
    }

    /// Whether an access is to an object that the same method has made, and before the method writes this
    /// field of the object.
    fn is_before_own_signal(&self, event: EventId, field: FieldId) -> bool {
        let event = &self.events[event];
        let Some(facts) = self.methods.get(self.heap.instances[event.instance].method) else {
            return false;
        };
        let Some(made) = self.maker(event) else { return false };
        let is_signal = |id: StatementId| match facts.body.statements[id].operation {
            Operation::PutField { object, .. } => {
                facts.field(id) == Some(field)
                    && facts.body.values[facts.uncast(object)].definition == made
            }
            _ => false,
        };
        facts.body.statements.keys().filter(|&id| is_signal(id)).all(|signal| {
            !is_avoidable(facts, Some(signal), made, None, |id| id == event.statement)
        })
    }

    /// Whether the tasks of two threads run one after the other.
    fn is_serial(&self, one: OriginId, other: OriginId) -> bool {
        let groups = |thread: OriginId| self.threads.groups[thread].iter();
        let is_periodic =
            |thread| self.heap.origins[thread].kind == OriginKind::Started(StartKind::PeriodicTask);
        if one == other && is_periodic(one) && self.is_started_once(one) {
            return true;
        }
        let in_serial = groups(one).any(|group| {
            matches!(group[..], [object] if self.threads.serial.contains(object)
                && self.is_unique(object)
                && groups(other).any(|other| **other == [object]))
        });
        in_serial || self.begins_after(one, other, 0) || self.begins_after(other, one, 0)
    }

    /// Whether a thread begins only after a group has ended that the other belongs to, or one that has
    /// begun only after that.
    fn begins_after(&self, late: OriginId, early: OriginId, depth: u8) -> bool {
        depth < 8
            && self.threads.after[late].iter().any(|after| {
                let &[group] = &after[..] else { return false };
                let is_in = |thread: OriginId| {
                    self.threads.groups[thread].iter().any(|known| **known == [group])
                };
                self.is_unique(group)
                    && (is_in(early)
                        || self.threads.in_groups(after).into_iter().any(|between| {
                            is_in(between)
                                && between != late
                                && self.begins_after(between, early, depth + 1)
                        }))
            })
    }

    /// Whether the start of a thread is executed at most once, however often the thread then runs.
    fn is_started_once(&self, thread: OriginId) -> bool {
        self.threads.started_once.contains(thread)
    }

    /// Whether both accesses are by the thread that the object belongs to. If two methods access an object
    /// that each has made itself, and it is the same object, they are one and the same call.
    fn is_encapsulated(&self, object: ObjectId, one: &Event, other: &Event) -> bool {
        self.sharing(object) == Sharing::ThreadSpecific
            || self.is_of_one_thread(object, one.thread, other.thread)
            || self.maker(one).is_some() && self.maker(other).is_some()
    }

    /// Whether an object that two threads use belongs to one instance of them.
    pub(crate) fn is_of_one_thread(
        &self,
        object: ObjectId,
        one: OriginId,
        other: OriginId,
    ) -> bool {
        let is_own = |thread| self.confined.contains(&(thread, object));
        is_own(one) && is_own(other) && self.have_one_thread(one, other)
    }

    /// The statement that makes the object whose field is accessed, if it is in the same method.
    fn maker(&self, event: &Event) -> Option<StatementId> {
        let facts = self.methods.get(self.heap.instances[event.instance].method)?;
        let (Operation::GetField { object, .. } | Operation::PutField { object, .. }) =
            facts.body.statements[event.statement].operation
        else {
            return None;
        };
        let made = facts.body.values[facts.uncast(object)].definition;
        matches!(facts.body.statements[made].operation, Operation::New(_)).then_some(made)
    }

    /// Whether nothing can belong to an instance of each of two threads, but for one and the same: the
    /// objects that they run on are not part of each other, or have one thread only.
    fn have_one_thread(&self, one: OriginId, other: OriginId) -> bool {
        if one == other {
            return true;
        }
        let receivers = [one, other].map(|thread| self.heap.origins[thread].receiver);
        let [Some(first), Some(second)] = receivers else { return false };
        if first == second {
            let only = &self.threads.only_of_receiver;
            return only.contains(one) && only.contains(other);
        }
        !self.confined.contains(&(one, second)) && !self.confined.contains(&(other, first))
    }

    /// The locks of the first access that keep the second apart, with their places among its guards.
    pub(crate) fn find_common_guards(
        &self,
        object: Option<ObjectId>,
        first: EventId,
        second: EventId,
    ) -> impl Iterator<Item = (usize, CommonGuard)> {
        let (one, other) = (&self.events[first], &self.events[second]);
        // An optimistic reader asks whether somebody wrote meanwhile.
        let excludes = |one: &Event, guard: &Guard, other: &Guard| match guard.mode {
            LockMode::Exclusive => true,
            LockMode::Shared => other.mode == LockMode::Exclusive,
            LockMode::Optimistic => {
                other.mode == LockMode::Exclusive && one.kind == AccessKind::Read
            }
        };
        one.guards.iter().enumerate().filter_map(move |(place, guard)| {
            let common = other
                .guards
                .iter()
                .filter(|held| excludes(one, guard, held) && excludes(other, held, guard))
                .find_map(|held| self.same_lock(object, guard, held))?;
            Some((place, common))
        })
    }

    fn same_lock(
        &self,
        object: Option<ObjectId>,
        one: &Guard,
        other: &Guard,
    ) -> Option<CommonGuard> {
        if let [lock] = one.objects[..]
            && one.objects == other.objects
            && self.is_unique(lock)
        {
            return Some(CommonGuard::Unique(lock));
        }
        let relation = one.relation.as_ref()?;
        if one.relation != other.relation {
            return None;
        }
        if relation.to_base.is_empty() {
            return Some(match relation.to_lock.is_empty() {
                true => CommonGuard::Itself,
                false => CommonGuard::Member(relation.to_lock.clone()),
            });
        }
        let is_hosted = self.hosts.is_hosted(object?, &relation.to_base);
        is_hosted.then(|| CommonGuard::Host(relation.clone()))
    }
}
