//! The order in which the JVM looks for a method (JVMS 5.4.3.3): superclasses first, from the class upwards, then of all
//! interfaces one that no other is below.

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
    fn superclasses_come_before_interfaces_and_lower_ones_before_higher() {
        assert_eq!(nearest_of(&ABOVE_D), Some("D"));
        assert_eq!(nearest_of(&["I", "J", "C"]), Some("C"));
        assert_eq!(nearest_of(&["I", "J"]), Some("J"));
        assert_eq!(nearest_of(&["I"]), Some("I"));
        assert_eq!(nearest_of(&[]), None);
    }
}
