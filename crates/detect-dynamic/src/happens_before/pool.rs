//! Values with places that are used again.

/// Values, each at a place.
#[derive(Debug)]
pub(super) struct Pool<V> {
    values: Vec<V>,
    free: Vec<u32>,
}

impl<V> Default for Pool<V> {
    fn default() -> Self {
        Self { values: Vec::new(), free: Vec::new() }
    }
}

impl<V> Pool<V> {
    /// Keeps a value. Its place.
    pub(super) fn put(&mut self, value: V) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.values[place as usize] = value;
                place
            }
            None => {
                self.values.push(value);
                u32::try_from(self.values.len() - 1).expect("no more places than variables")
            }
        }
    }

    #[inline]
    pub(super) fn get(&self, place: u32) -> &V {
        &self.values[place as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, place: u32) -> &mut V {
        &mut self.values[place as usize]
    }

    /// Nobody needs what is at the place any more.
    pub(super) fn give_back(&mut self, place: u32) {
        self.free.push(place);
    }
}
