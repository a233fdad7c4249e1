//! Names with wildcards, as users write them.

/// Whether a name fits a pattern in which `*` stands for any text.
pub fn fits(pattern: &str, name: &str) -> bool {
    let (first, rest) = match pattern.split_once('*') {
        None => return pattern == name,
        Some(parts) => parts,
    };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        match name.find(part) {
            Some(position) => name = &name[position + part.len()..],
            None => return false,
        }
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, name, expected) in [
            ("a.B.main", "a.B.main", true),
            ("a.B.main", "a.B.mainly", false),
            ("a.*.main", "a.b.C.main", true),
            ("*.main", "a.B.main", true),
            ("a.B.*", "a.B.<init>", true),
            ("a.B.*", "a.C.x", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "xxaxxbxx", false),
            ("a*a", "a", false),
            ("a**b", "ab", true),
            ("*", "anything", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
