//! What was looked up lately. Events come in loops: most ask for what one of the last few asked for, and a look into
//! an array is cheaper than one into a hash map.

/// The last values by their keys; one that falls on the same place pushes out the one before.
#[derive(Clone, Debug)]
pub(super) struct Recent<K, V> {
    places: Box<[Option<(K, V)>]>,
}

impl<K: Copy + Eq, V: Copy> Recent<K, V> {
    const PLACES: usize = 1024;

    pub(super) fn new() -> Self {
        Self { places: vec![None; Self::PLACES].into() }
    }

    /// The value of a key, if it was looked up lately. `spread` is the same for equal keys and best different for
    /// others.
    #[inline]
    pub(super) fn get(&self, key: K, spread: u64) -> Option<V> {
        match self.places[Self::place(spread)] {
            Some((known, value)) if known == key => Some(value),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn set(&mut self, key: K, spread: u64, value: V) {
        self.places[Self::place(spread)] = Some((key, value));
    }

    #[inline]
    fn place(spread: u64) -> usize {
        // Ids count up, in steps that differ: the upper bits of the product depend on all of them.
        (spread.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as usize % Self::PLACES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_there_until_another_pushes_it_out() {
        let mut recent = Recent::new();
        assert_eq!(recent.get(1_u32, 1), None);
        recent.set(1, 1, 'a');
        assert_eq!(recent.get(1, 1), Some('a'));
        assert_eq!(recent.get(2, 1), None);
        recent.set(2, 1, 'b');
        assert_eq!((recent.get(1, 1), recent.get(2, 1)), (None, Some('b')));
    }
}
