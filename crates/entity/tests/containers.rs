//! Every container against the plain collection that it stands for.

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;
use unsnarl_entity::{
    EntityId, EntitySet, Interner, PagedMap, PrimaryMap, SecondaryMap, UniqueMap, entity_id,
};

entity_id! {
    /// A thing to count.
    struct Thing("thing");
}

#[test]
fn ids_print_with_their_prefix() {
    assert_eq!(Thing::from_index(7).to_string(), "thing7");
    assert_eq!(format!("{:?}", Thing::from_index(0)), "thing0");
}

#[test]
fn primary_map_hands_out_ids_in_order() {
    let mut map = PrimaryMap::<Thing, &str>::new();
    assert_eq!(map.next_key(), map.push("a"));
    let b = map.push("b");
    map[b] = "c";
    assert_eq!(
        map.iter().map(|(key, value)| (key.index(), *value)).collect::<Vec<_>>(),
        [(0, "a"), (1, "c")]
    );
    assert_eq!(map.get(Thing::from_index(2)), None);
}

#[test]
fn secondary_map_has_a_default_for_everybody() {
    let mut map = SecondaryMap::<Thing, u32>::with_default(9);
    assert_eq!(map[Thing::from_index(1000)], 9);
    map[Thing::from_index(2)] = 1;
    assert_eq!((map[Thing::from_index(1)], map[Thing::from_index(2)]), (9, 1));
    map.clear();
    assert_eq!(map[Thing::from_index(2)], 9);
}

proptest! {
    #[test]
    fn paged_map_is_the_same_as_a_map(
        notes in prop::collection::vec((prop_oneof![0..6_usize, 4090..4100_usize, 0..20_000_usize], any::<u8>()), 0..60)
    ) {
        let mut map = PagedMap::<Thing, u8>::new();
        let mut expected: HashMap<usize, u8> = HashMap::new();
        for &(index, note) in &notes {
            map.prefetch(Thing::from_index(index));
            prop_assert_eq!(map[Thing::from_index(index)], expected.get(&index).copied().unwrap_or(0));
            map[Thing::from_index(index)] = note;
            expected.insert(index, note);
        }
        prop_assert!(map.room() > expected.keys().copied().max().unwrap_or(0) || notes.is_empty());
        for index in 0..21_000 {
            prop_assert_eq!(map[Thing::from_index(index)], expected.get(&index).copied().unwrap_or(0));
        }
    }

    #[test]
    fn interner_is_a_bijection(strings in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..200)) {
        let mut interner = Interner::<Thing>::new();
        let mut expected: HashMap<Vec<u8>, Thing> = HashMap::new();
        for string in &strings {
            let key = interner.intern(string);
            prop_assert_eq!(*expected.entry(string.clone()).or_insert(key), key);
        }
        prop_assert_eq!(interner.len(), expected.len());
        for (string, key) in expected {
            prop_assert_eq!(&interner[key], &string[..]);
            prop_assert_eq!(interner.find(&string), Some(key));
        }
        prop_assert_eq!(interner.find(b"longer than six"), None);
    }

    #[test]
    fn unique_map_is_a_bijection(numbers in prop::collection::vec(0u8..20, 0..100)) {
        let mut map = UniqueMap::<Thing, u8>::new();
        for &number in &numbers {
            let key = map.intern(number);
            prop_assert_eq!(map[key], number);
            prop_assert_eq!(map.find(&number), Some(key));
        }
        prop_assert_eq!(map.len(), numbers.iter().collect::<BTreeSet<_>>().len());
    }

    #[test]
    fn entity_set_is_a_set(steps in prop::collection::vec((any::<bool>(), 0usize..150), 0..200), others in prop::collection::vec(0usize..150, 0..50)) {
        let mut set = EntitySet::<Thing>::new();
        let mut expected = BTreeSet::new();
        for (add, index) in steps {
            let key = Thing::from_index(index);
            if add {
                prop_assert_eq!(set.insert(key), expected.insert(key));
            } else {
                prop_assert_eq!(set.remove(key), expected.remove(&key));
            }
        }
        prop_assert!(set.iter().eq(expected.iter().copied()));
        let other: EntitySet<Thing> = others.iter().map(|&index| Thing::from_index(index)).collect();
        let expected_other: BTreeSet<_> = other.iter().collect();
        prop_assert_eq!(set.is_subset(&other), expected.is_subset(&expected_other));
        prop_assert_eq!(set.clone().union_with(&other), !expected_other.is_subset(&expected));
        let mut common = set.clone();
        common.intersect_with(&other);
        prop_assert!(common.iter().eq(expected.intersection(&expected_other).copied()));
        prop_assert_eq!(common == set, common.len() == set.len());
    }
}
