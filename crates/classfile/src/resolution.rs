//! How what code names is found in the classes above a class: a field in the superclasses (JVMS 5.4.3.2), a method in the
//! superclasses first and then in that of all interfaces which no other is below (JVMS 5.4.3.3).

/// No chain of superclasses is longer; what is known of classes may have a cycle.
pub const MOST_SUPERCLASSES: usize = 1000;

/// What one class says to a walk through its superclasses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visited<C, T> {
    /// The walk ends here.
    Found(T),
    /// The walk goes on with the superclass.
    Above(C),
    /// There is no superclass.
    Top,
    /// It is not known what is above.
    Unknown,
}

/// Where a walk through superclasses ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolved<T> {
    /// A class had what was looked for.
    Found(T),
    /// All classes above are known, and none has it.
    Nowhere,
    /// A class is not known.
    Unknown,
}

/// Goes from a class through its superclasses until one of them ends the walk.
pub fn through_superclasses<C, T>(
    class: C,
    mut visit: impl FnMut(C) -> Visited<C, T>,
) -> Resolved<T> {
    let mut current = class;
    for _ in 0..MOST_SUPERCLASSES {
        match visit(current) {
            Visited::Found(found) => return Resolved::Found(found),
            Visited::Above(superclass) => current = superclass,
            Visited::Top => return Resolved::Nowhere,
            Visited::Unknown => break,
        }
    }
    Resolved::Unknown
}

impl<C: AsRef<[u8]>, T> Visited<C, T> {
    /// The walk goes on with the superclass of this internal name, which is empty if there is none.
    pub fn superclass(name: C) -> Self {
        match name.as_ref().is_empty() {
            true => Self::Top,
            false => Self::Above(name),
        }
    }
}

/// What the nearest class declares: the first of `superclasses`, which begin with the class itself, that declares
/// anything, else one of all that is `above` the class, furthest down.
pub fn nearest<C: Copy, T>(
    superclasses: impl IntoIterator<Item = C>,
    above: impl IntoIterator<Item = C>,
    is_below: impl Fn(C, C) -> bool,
    declares: impl Fn(C) -> Option<T>,
) -> Option<T> {
    superclasses.into_iter().find_map(&declares).or_else(|| {
        above
            .into_iter()
            .filter_map(|class| Some((class, declares(class)?)))
            .reduce(|left, right| if is_below(right.0, left.0) { right } else { left })
            .map(|(_, declared)| declared)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `D` extends `C`, which implements `J`, which extends `I`.
    const ABOVE_D: [&str; 4] = ["D", "C", "I", "J"];

    fn nearest_of(declaring: &[&'static str]) -> Option<&'static str> {
        let is_below = |class: &str, above: &str| (class, above) == ("J", "I");
        nearest(["D", "C"], ABOVE_D, is_below, |class| declaring.contains(&class).then_some(class))
    }

    #[test]
    fn a_walk_ends_where_something_is_found_or_unknown_and_in_a_cycle() {
        let walk = |class: &'static str| {
            through_superclasses(class, |class| match class {
                "lower" => Visited::superclass("upper"),
                "upper" => Visited::Found(1),
                "alone" => Visited::superclass(""),
                "circle" => Visited::superclass("circle"),
                _ => Visited::Unknown,
            })
        };
        assert_eq!(walk("lower"), Resolved::Found(1));
        assert_eq!(walk("alone"), Resolved::Nowhere);
        assert_eq!(walk("circle"), Resolved::Unknown);
        assert_eq!(walk("other"), Resolved::Unknown);
    }

    #[test]
    fn superclasses_come_before_interfaces_and_lower_ones_before_higher() {
        assert_eq!(nearest_of(&ABOVE_D), Some("D"));
        assert_eq!(nearest_of(&["I", "J", "C"]), Some("C"));
        assert_eq!(nearest_of(&["I", "J"]), Some("J"));
        assert_eq!(nearest_of(&["I"]), Some("I"));
        assert_eq!(nearest_of(&[]), None);
    }
}
