use unsnarl_entity::EntityId;

use super::*;
use crate::facts::path::Root;

#[test]
fn lists_stay_sorted_and_have_everything_once() {
    let all: Vec<u32> = (0..6).collect();
    for (one, other) in (0..64_u32).flat_map(|one| (0..64_u32).map(move |other| (one, other))) {
        let of = |bits: u32| all.iter().copied().filter(move |item| bits >> item & 1 != 0);
        let mut list: SmallVec<[u32; 2]> = of(one).collect();
        let from: Vec<u32> = of(other).collect();
        assert_eq!(unite(&mut list, &from), one | other != one);
        assert!(list.iter().copied().eq(of(one | other)));
    }
}

/// All combinations of little knowledge of every kind that joins in a way of its own.
fn states() -> Vec<State> {
    let thread = OriginId::from_index;
    let objects = |bits: usize| (0..2).filter(move |it| bits >> it & 1 != 0);
    let of_locks = (0..4).map(|number| {
        let taken = Taken::At(StatementId::from_index(number & 1));
        let (count, mode) = (1 + (number as u8 >> 1), LockMode::Exclusive);
        let objects = ObjectsId::from_index(0);
        Some(Lock { path: None, objects, mode, count, inherited: None, taken })
    });
    let of_fresh = (0..8).map(|number: usize| {
        let path = Path::root(Root::Parameter(0));
        let holders = objects(number >> 1).map(ObjectId::from_index).collect();
        let (objects, is_assumed) = (ObjectsId::from_index(1), number & 1 != 0);
        Some(Fresh { path, objects, holders, is_assumed })
    });
    let locks: Vec<Option<Lock>> = of_locks.chain([None]).collect();
    let fresh: Vec<Option<Fresh>> = of_fresh.chain([None]).collect();
    let mut states = Vec::new();
    for (lock, fresh) in locks.iter().flat_map(|lock| fresh.iter().map(move |it| (lock, it))) {
        for number in 0..8 {
            let joined =
                Joined { thread: thread(0), is_assumed: false, is_after_starters: number & 4 != 0 };
            states.push(State::from(Knowledge {
                locks: lock.iter().cloned().collect(),
                fresh: fresh.iter().cloned().collect(),
                started: objects(number).map(thread).collect(),
                joined: (number & 6 != 0).then_some(joined).into_iter().collect(),
                pending: objects(number >> 1).map(Value::from_index).collect(),
                ..Knowledge::default()
            }));
        }
    }
    states
}

#[test]
fn a_state_covers_what_tells_it_nothing_new() {
    let states = states();
    for one in &states {
        for other in &states {
            let mut knowledge = (**one).clone();
            knowledge.join(other);
            assert_eq!(one.covers(other), knowledge == **one, "{one:?} and {other:?}");
            let mut joined = one.clone();
            assert_eq!(joined.join(other), joined != *one);
            assert_eq!(*joined, knowledge);
        }
    }
}

#[test]
fn who_is_asked_to_keep_is_asked_once() {
    let fresh = |number: u16| Fresh {
        path: Path::root(Root::Parameter(number)),
        objects: ObjectsId::from_index(0),
        holders: Holders::new(),
        is_assumed: false,
    };
    for bits in 0..16_u16 {
        let all =
            State::from(Knowledge { fresh: (0..4).map(fresh).collect(), ..Knowledge::default() });
        let (mut kept, mut asked) = (all.clone(), Vec::new());
        kept.keep_fresh(|fresh| {
            let Root::Parameter(number) = fresh.path.root else { return false };
            asked.push(number);
            bits >> number & 1 != 0
        });
        assert_eq!(asked, [0, 1, 2, 3]);
        let expected = (0..4).filter(|number| bits >> number & 1 != 0).map(fresh);
        assert!(kept.fresh.iter().cloned().eq(expected));
        assert_eq!(all.fresh.len(), 4);
    }
}
