//! What is a mark, and what it is about.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use unsnarl_java_source::{About, Mark, marks};

const SOURCE: &str = r#"package com.acme; // line 1

import java.util.*;

/** Not a mark: {@code @SuppressWarnings("unsnarl:data-race")} */
@Marker(a = {1, 2}) @SuppressWarnings("unsnarl:unsafe-publication")
public class Stats<K extends Comparable<K>> extends Base implements A, B {
    @SuppressWarnings({"unchecked", "unsnarl:data-race"})
    private Map<String, List<K>> hits = new HashMap<String, List<K>>(), misses;
    int plain; // unsnarl: ignore data-race,stale-value rough counts will do
    String text = "// unsnarl: ignore data-race in a string";
    static { plain(); }

    @java.lang.SuppressWarnings(value = "unsnarl:non-atomic-method")
    <T> int update(@Deprecated int by, T t) throws Exception {
        Runnable task = new Runnable() { public void run() { by(); } };
        return by;
    }

    void other() {
        // unsnarl: ignore data-race: it is only shown

        plain++;
        String block = """
            // unsnarl: ignore data-race in a block
            """;
        plain--; /* unsnarl: ignore data-race */
    }

    enum Color {
        @SuppressWarnings("unsnarl:data-race") RED("r") { int m() { return 1; } }, GREEN;
        record Point(int x, int y) {
            @SuppressWarnings("unsnarl:data-race") static int[] made = {1, 2}, more;
        }
    }
}

@SuppressWarnings("unsnarl:data-race") @interface Marker { }
"#;

fn found() -> Vec<Mark> {
    marks(SOURCE)
}

fn about(line: u32) -> About {
    found().into_iter().find(|mark| mark.line == line).unwrap().about
}

fn fields(class: &str, names: &[&str]) -> About {
    About::Fields(names.iter().map(|name| (class.to_owned(), (*name).to_owned())).collect())
}

#[test]
fn nothing_else_is_a_mark() {
    let lines: Vec<u32> = found().iter().map(|mark| mark.line).collect();
    assert_eq!(lines, [6, 8, 10, 14, 21, 27, 31, 33, 38]);
}

#[test]
fn annotations_are_about_what_they_are_on() {
    assert_eq!(about(6), About::Type("com.acme.Stats".to_owned()));
    assert_eq!(about(8), fields("com.acme.Stats", &["hits", "misses"]));
    assert_eq!(about(33), fields("com.acme.Stats$Color$Point", &["made", "more"]));
    assert_eq!(about(38), About::Type("com.acme.Marker".to_owned()));
    let update = found().into_iter().find(|mark| mark.line == 14).unwrap();
    assert_eq!((update.about, update.lines), (About::Code, 14..=18));
    assert_eq!(update.rules, ["non-atomic-method"]);
    assert_eq!(found()[0].lines, 6..=36);
}

#[test]
fn comments_are_about_their_line_or_the_next_one_with_code() {
    let at = |line: u32| found().into_iter().find(|mark| mark.line == line).unwrap();
    let field = at(10);
    assert_eq!(field.rules, ["data-race", "stale-value"]);
    assert_eq!(field.reason.as_deref(), Some("rough counts will do"));
    assert_eq!((field.lines, field.about), (10..=10, fields("com.acme.Stats", &["plain"])));
    let alone = at(21);
    assert_eq!((alone.lines, alone.about), (23..=23, About::Code));
    assert_eq!(alone.rules, ["data-race"]);
    let bare = at(27);
    assert_eq!((bare.rules.as_slice(), bare.reason), (["data-race".to_owned()].as_slice(), None));
}

proptest! {
    #[test]
    fn any_text_is_taken(text in "\\PC{0,200}") {
        let _ = marks(&text);
    }

    #[test]
    fn any_mixture_of_java_is_taken(
        parts in proptest::collection::vec(prop_oneof![
            Just("class A "), Just("{"), Just("}"), Just("("), Just(")"), Just("<"), Just(">"), Just("@SuppressWarnings"),
            Just("\"unsnarl:data-race\""), Just("\"\"\""), Just("'"), Just("\\"), Just("\n"), Just("// unsnarl: ignore "), Just("/*"),
            Just("*/"), Just(";"), Just("="), Just(","), Just("record "), Just("é")], 0..60)
    ) {
        let _ = marks(&parts.concat());
    }
}
