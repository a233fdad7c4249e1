//! Elements of an array that a thread accesses one after another.

use unsnarl_entity::EntityId;

use crate::ObjectId;

/// Elements of one array at equal distances, in the order in which they are accessed. Packed, so that it leaves room in an
/// [`Operation`](crate::Operation) for what is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(Rust, packed)]
pub struct Elements {
    array: u32,
    first: u32,
    /// How many there are after the first.
    following: u16,
    distance: i8,
}

impl Elements {
    /// One element.
    #[must_use]
    pub fn one(array: ObjectId, index: u32) -> Self {
        Self { array: array.index() as u32, first: index, following: 0, distance: 1 }
    }

    /// As many elements as are accessed after the first, each at the distance from the one before; none if an index would
    /// not be one of Java, or if this cannot be one event.
    #[must_use]
    pub fn range(array: ObjectId, first: u32, distance: i16, following: u16) -> Option<Self> {
        if following == 0 {
            return Some(Self::one(array, first));
        }
        let last = i64::from(first) + i64::from(distance) * i64::from(following);
        u32::try_from(last).ok()?;
        let distance = i8::try_from(distance).ok().filter(|&distance| distance != 0)?;
        Some(Self { array: array.index() as u32, first, following, distance })
    }

    /// The array.
    #[must_use]
    pub fn array(self) -> ObjectId {
        ObjectId::from_index(self.array as usize)
    }

    /// How many elements there are; at least one.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(self) -> u32 {
        u32::from(self.following) + 1
    }

    /// The lowest index.
    #[must_use]
    pub fn lowest(self) -> u32 {
        if self.distance < 0 { self.last() } else { self.first }
    }

    /// The highest index.
    #[must_use]
    pub fn highest(self) -> u32 {
        if self.distance < 0 { self.first } else { self.last() }
    }

    /// Whether every element is after the one before.
    #[must_use]
    pub fn ascends(self) -> bool {
        self.distance > 0
    }

    /// How far an element is from the next higher one; never 0.
    #[must_use]
    pub fn step(self) -> u32 {
        u32::from(self.distance.unsigned_abs())
    }

    /// The indices in the order in which they are accessed.
    pub fn indices(self) -> impl Iterator<Item = u32> {
        let (first, distance) = (self.first, i32::from(self.distance));
        (0..self.len()).map(move |count| first.wrapping_add_signed(distance * count as i32))
    }

    fn last(self) -> u32 {
        self.first.wrapping_add_signed(i32::from(self.distance) * i32::from(self.following))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_in_the_order_of_the_accesses() {
        let array = ObjectId::from_index(3);
        let of = |first, distance, following| {
            let elements = Elements::range(array, first, distance, following)?;
            assert_eq!(elements.array(), array);
            let indices: Vec<u32> = elements.indices().collect();
            assert_eq!(indices.len(), elements.len() as usize);
            assert_eq!(indices.iter().min(), Some(&elements.lowest()));
            assert_eq!(indices.iter().max(), Some(&elements.highest()));
            Some(indices)
        };
        assert_eq!(of(7, 0, 0), Some(vec![7]));
        assert_eq!(of(7, 2, 3), Some(vec![7, 9, 11, 13]));
        assert_eq!(of(7, -3, 2), Some(vec![7, 4, 1]));
        assert_eq!(of(7, -3, 3), None);
        assert_eq!(of(7, 0, 3), None);
        assert_eq!(of(7, 200, 3), None);
        assert_eq!(of(u32::MAX, 1, 1), None);
        assert_eq!(of(0, 127, u16::MAX).map(|all| all.len()), Some(1 << 16));
    }
}
