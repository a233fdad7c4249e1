//! A cache of recent lookups. Events come from loops: most ask for what one of the last few asked for, and a lookup in an
//! array is cheaper than one in a hash map.

/// A direct-mapped cache: a value evicts the one before it in its slot.
#[derive(Clone, Debug)]
pub(super) struct Recent<K, V> {
    slots: Box<[Option<(K, V)>]>,
}

impl<K: Copy + Eq, V: Copy> Recent<K, V> {
    const SLOTS: usize = 1024;

    pub(super) fn new() -> Self {
        Self { slots: vec![None; Self::SLOTS].into() }
    }

    /// The value of a key, if it was looked up recently. `spread` is the same for equal keys, and should differ for
    /// others.
    #[inline]
    pub(super) fn get(&self, key: K, spread: u64) -> Option<V> {
        match self.slots[Self::slot(spread)] {
            Some((known, value)) if known == key => Some(value),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn set(&mut self, key: K, spread: u64, value: V) {
        self.slots[Self::slot(spread)] = Some((key, value));
    }

    #[inline]
    fn slot(spread: u64) -> usize {
        // Ids count up, in steps that differ: the upper bits of the product depend on all of them.
        (spread.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as usize % Self::SLOTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_there_until_another_evicts_it() {
        let mut recent = Recent::new();
        assert_eq!(recent.get(1_u32, 1), None);
        recent.set(1, 1, 'a');
        assert_eq!(recent.get(1, 1), Some('a'));
        assert_eq!(recent.get(2, 1), None);
        recent.set(2, 1, 'b');
        assert_eq!((recent.get(1, 1), recent.get(2, 1)), (None, Some('b')));
    }
}
