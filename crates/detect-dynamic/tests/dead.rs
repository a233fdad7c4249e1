//! Locks and channels that die, and whose ids are given to others, change nothing of what is told.

mod support;

use std::collections::BTreeMap;

use proptest::prelude::*;
use support::{tables, trace, well_formed};
use unsnarl_detect_dynamic::DETECTORS;
use unsnarl_entity::EntityId;
use unsnarl_events::{
    Channel, ChannelId, Elements, Event, Lock, LockId, Object, ObjectId, Operation, SiteId, Tables,
    ThreadId, VariableId,
};
use unsnarl_trace_analysis::{Analysis, Flagged, Options, Outcome};

/// The locks and channels that a round has for itself; those before and behind them are for all rounds.
const OWN: [usize; 2] = [1, 2];
const LASTING: [usize; 2] = [0, 3];

/// Rounds in which nobody holds a lock at the end, each with the first locks.
fn rounds() -> impl Strategy<Value = Vec<Vec<Event>>> {
    prop::collection::vec(trace(), 1..6).prop_map(|rounds| {
        let mut rounds: Vec<Vec<Event>> = rounds.into_iter().map(all_released).collect();
        for (number, event) in rounds.iter_mut().flatten().enumerate() {
            event.site = SiteId::from_index(number);
        }
        rounds
    })
}

fn all_released(events: Vec<Event>) -> Vec<Event> {
    use Operation::{Acquire, AcquireShared, Release, ReleaseShared, Wait, Wake};
    let mut all: Vec<Event> = well_formed(events).into_iter().map(|(event, _)| event).collect();
    let mut held: BTreeMap<ThreadId, (Vec<Operation>, Option<LockId>)> = BTreeMap::new();
    for event in &all {
        let (held, waits) = held.entry(event.thread).or_default();
        match event.operation {
            Acquire(lock) => held.push(Release(lock)),
            AcquireShared(lock) => held.push(ReleaseShared(lock)),
            released @ (Release(_) | ReleaseShared(_)) => {
                let place = held.iter().rposition(|held| *held == released);
                held.remove(place.expect("the trace is well-formed"));
            }
            Wait(lock) => *waits = Some(lock),
            Wake(_) => *waits = None,
            _ => {}
        }
    }
    let mut threads: Vec<_> = held.into_iter().collect();
    threads.sort_by_key(|(_, (_, waits))| waits.is_some());
    for (thread, (held, waits)) in threads {
        let steps = waits.map(Wake).into_iter().chain(held.into_iter().rev());
        let event = |operation| Event { thread, site: SiteId::from_index(0), operation };
        all.extend(steps.map(event));
    }
    all
}

/// The lock or channel of a round: with an id of its own, or with that of the round before.
fn numbered(number: usize, round: usize, again: bool) -> usize {
    match LASTING.iter().position(|&lasting| lasting == number) {
        _ if again => number,
        Some(place) => place,
        None => LASTING.len() + OWN.len() * round + number - OWN[0],
    }
}

fn renumbered(event: &Event, round: usize, again: bool) -> Event {
    use Operation::*;
    let lock = |lock: LockId| LockId::from_index(numbered(lock.index(), round, again));
    let channel = |it: ChannelId| ChannelId::from_index(numbered(it.index(), round, again));
    let operation = match event.operation {
        Acquire(it) => Acquire(lock(it)),
        Release(it) => Release(lock(it)),
        AcquireShared(it) => AcquireShared(lock(it)),
        ReleaseShared(it) => ReleaseShared(lock(it)),
        Wait(it) => Wait(lock(it)),
        Wake(it) => Wake(lock(it)),
        Notify(it) => Notify(lock(it)),
        Request(it) => Request(lock(it)),
        Send(it) => Send(channel(it)),
        Receive(it) => Receive(channel(it)),
        other => other,
    };
    Event { operation, ..*event }
}

/// Tables in which the lock and the channel with an id are the object with that id.
fn tables_of(numbers: impl Iterator<Item = usize>) -> Tables {
    let mut tables = tables();
    let class = tables.names.intern(b"C");
    (tables.locks, tables.channels) = Default::default();
    for site in 0..1000 {
        tables.untested_waits.insert(SiteId::from_index(site));
    }
    for number in numbers {
        let object = tables.objects.push(Object { class, number: number as u64 });
        tables.locks.push(Lock::Object(object));
        tables.channels.push(Channel::Object(object));
    }
    tables
}

type Told = (Vec<Flagged>, Vec<String>, Vec<(&'static str, u64)>);

fn finish(detector: Box<dyn Analysis>, racing: Vec<Flagged>, tables: &Tables) -> Told {
    let Outcome { findings, statistics, .. } = detector.finish(tables);
    let mut findings: Vec<String> = findings.iter().map(|it| format!("{it:?}")).collect();
    findings.sort();
    (racing, findings, statistics)
}

fn without_deaths(mut detector: Box<dyn Analysis>, rounds: &[Vec<Event>]) -> Told {
    let mut racing = Vec::new();
    let tables = tables_of(0..LASTING.len() + OWN.len() * rounds.len());
    for (round, events) in rounds.iter().enumerate() {
        let events: Vec<Event> = events.iter().map(|it| renumbered(it, round, false)).collect();
        detector.on_batch(&events, &tables, &mut racing);
    }
    finish(detector, racing, &tables)
}

fn with_deaths(mut detector: Box<dyn Analysis>, rounds: &[Vec<Event>]) -> Told {
    let mut racing = Vec::new();
    let mut tables = tables_of((0..LASTING.len() + OWN.len()).map(|it| numbered(it, 0, false)));
    for (round, events) in rounds.iter().enumerate() {
        let mut events: Vec<Event> = events.iter().map(|it| renumbered(it, round, true)).collect();
        let (thread, site) = (ThreadId::from_index(0), SiteId::from_index(0));
        let mut tell = |operation| events.push(Event { thread, site, operation });
        for own in OWN {
            tables.objects[ObjectId::from_index(own)].number = numbered(own, round, false) as u64;
            tell(Operation::ForgetLock(LockId::from_index(own)));
            tell(Operation::ForgetChannel(ChannelId::from_index(own)));
        }
        tell(Operation::Swept);
        detector.on_batch(&events, &tables, &mut racing);
    }
    finish(detector, racing, &tables)
}

proptest! {
    #![proptest_config(support::cases(500))]

    #[test]
    fn what_has_died_is_told_as_if_it_lived(rounds in rounds()) {
        for entry in &DETECTORS {
            let make = || (entry.make)(&Options::default());
            if (entry.needs)(&Options::default()).handles_retirement {
                let (with, without) = (with_deaths(make(), &rounds), without_deaths(make(), &rounds));
                prop_assert_eq!(with, without, "{}", entry.name);
            }
        }
    }
}

/// One round for each step of these threads, and behind it as many rounds as make a detector forget sets of locks.
fn with_pauses(steps: &[&[(usize, Operation)]]) -> Vec<Vec<Event>> {
    let (site, pauses) = (SiteId::from_index(0), ThreadId::from_index(4));
    let event = |thread, operation| Event { thread, site, operation };
    let [one, other] = OWN.map(LockId::from_index);
    let reads = Operation::Read(VariableId::from_index(5));
    let begins = [Operation::Acquire(one), reads, Operation::Request(other)];
    let goes_on = [Operation::Acquire(other), reads, Operation::Notify(other)];
    let ends = [Operation::Release(other), Operation::Release(one)];
    let pause = begins.into_iter().chain(goes_on).chain(ends);
    let pause: Vec<Event> = pause.map(|operation| event(pauses, operation)).collect();
    let mut rounds = Vec::new();
    for steps in steps {
        let steps = steps.iter().map(|&(thread, it)| event(ThreadId::from_index(thread), it));
        rounds.push(steps.collect());
        rounds.extend(std::iter::repeat_n(pause.clone(), 20));
    }
    for (number, event) in rounds.iter_mut().flatten().enumerate() {
        event.site = SiteId::from_index(number);
    }
    rounds
}

/// The findings of a detector, which must be the same with deaths and without.
fn findings(name: &str, rounds: &[Vec<Event>]) -> Vec<String> {
    let make = || (support::entry(name).make)(&Options::default());
    let (with, without) = (with_deaths(make(), rounds), without_deaths(make(), rounds));
    assert_eq!(with, without);
    with.1
}

#[test]
fn the_lock_of_an_access_is_told_long_after_it_has_died() {
    use Operation::{Acquire, Read, ReadElements, Release, Write, WriteElements};
    let variable = VariableId::from_index(0);
    let element = Elements::one(ObjectId::from_index(0), 7);
    for (reads, writes) in
        [(Read(variable), Write(variable)), (ReadElements(element), WriteElements(element))]
    {
        // One reader, and two that nothing orders.
        for readers in [&[1][..], &[1, 2]] {
            let under_lock = |thread| {
                let lock = LockId::from_index(thread);
                [Acquire(lock), reads, Release(lock)].map(|it| (thread, it))
            };
            let steps: Vec<_> = readers.iter().flat_map(|&thread| under_lock(thread)).collect();
            let found = findings("happens-before", &with_pauses(&[&steps, &[(0, writes)]]));
            assert_eq!(found.len(), readers.len());
            for reader in readers {
                let lock = format!("#{}", numbered(*reader, 0, false));
                assert!(found.iter().any(|it| it.contains(&lock)), "{found:?}");
            }
        }
    }
}

fn nested(thread: usize, outer: usize, inner: usize) -> [(usize, Operation); 4] {
    use Operation::{Acquire, Release};
    let [outer, inner] = [outer, inner].map(LockId::from_index);
    [Acquire(outer), Acquire(inner), Release(inner), Release(outer)].map(|it| (thread, it))
}

#[test]
fn a_cycle_of_dead_locks_is_told() {
    let [one, other] = OWN;
    let steps = [nested(0, one, other), nested(1, other, one)].concat();
    let found = findings("lock-order", &with_pauses(&[&steps, &nested(2, one, other)]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("#2") && found[0].contains("#3"), "{found:?}");
}

#[test]
fn a_cycle_of_lasting_locks_is_told_however_much_later_the_other_half_comes() {
    let [one, other] = LASTING;
    let found =
        findings("lock-order", &with_pauses(&[&nested(0, one, other), &nested(1, other, one)]));
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn a_lock_that_is_held_all_the_time_stays_held() {
    use Operation::{Acquire, Read, Write};
    let lock = LockId::from_index(LASTING[1]);
    let variable = VariableId::from_index(0);
    let begins = [(0, Acquire(lock)), (0, Read(variable))];
    let steps: [&[_]; 4] = [&[], &begins, &[(0, Write(variable))], &[(1, Write(variable))]];
    let found = findings("happens-before", &with_pauses(&steps));
    assert_eq!(found.iter().filter(|it| it.contains("#1")).count(), 2, "{found:?}");
}

#[test]
fn a_wait_in_vain_is_told_after_its_object_has_died() {
    use Operation::{Acquire, Notify, Release, Wait, Wake};
    let [lock, lasting] = [OWN[0], LASTING[0]].map(LockId::from_index);
    let notifies = [Acquire(lock), Notify(lock), Release(lock)].map(|it| (0, it));
    let waits = [Acquire(lasting), Acquire(lock), Wait(lock), Wake(lock), Release(lock)];
    let steps = [notifies.as_slice(), &waits.map(|it| (1, it)), &[(1, Release(lasting))]].concat();
    let found = findings("lost-notify", &with_pauses(&[&[], &steps]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains(&format!("#{}", numbered(OWN[0], 21, false))), "{found:?}");
}

#[test]
fn who_waits_for_ever_is_told_however_long_ago_that_began() {
    use Operation::{Acquire, End, Notify, Release, Request, Wait};
    let [one, other] = LASTING.map(LockId::from_index);
    let crossed = [(0, Acquire(one)), (1, Acquire(other)), (0, Request(other)), (1, Request(one))];
    let found = findings("deadlock", &with_pauses(&[&[], &crossed]));
    assert_eq!(found.len(), 1, "{found:?}");

    let notifies = [Acquire(one), Notify(one), Release(one), End].map(|it| (0, it));
    let waits = [Acquire(other), Acquire(one), Wait(one)].map(|it| (1, it));
    let steps = [notifies.as_slice(), &waits].concat();
    let found = findings("indefinite-wait", &with_pauses(&[&[], &steps, &[(4, End)]])[..43]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("came before anybody waited"), "{found:?}");
}

/// Who watches a program for long must not need more and more memory.
#[test]
fn detectors_that_run_by_default_take_it() {
    for entry in DETECTORS.iter().filter(|entry| entry.is_default) {
        assert!((entry.needs)(&Options::default()).handles_retirement, "{}", entry.name);
    }
}
