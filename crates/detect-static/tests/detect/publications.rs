//! How unsafe publications are reported.

use unsnarl_findings::{AccessKind, Rule, Variable};

use crate::java::{Outcome, checked, reasons};

fn double_checked(modifier: &str) -> Outcome {
    checked(&format!(
        "
class T {{
    static class Data {{
        int first; int second; final int third;
        Data(int value) {{ first = value; second = value; third = value; }}
        int sum() {{ return first + second + third; }}
    }}
    static {modifier} Data data;
    static Data get() {{
        if (data == null) {{
            synchronized (T.class) {{
                if (data == null) data = new Data(42);
            }}
        }}
        return data;
    }}
    public static void main(String[] args) {{
        for (int i = 0; i < 2; i++) new Thread(() -> System.out.println(get().sum())).start();
    }}
}}"
    ))
}

#[test]
fn double_checked_locking_is_one_finding_beside_the_race() {
    let outcome = double_checked("");
    assert_eq!(outcome.race().subject.as_variable(), Some(&Variable::field("T", "data")));
    let publication = outcome.publication();
    assert_eq!(publication.subject.as_variable(), Some(&Variable::field("T$Data", "first")));
    assert!(publication.message.contains("Data.first at T.java:5"), "{}", publication.message);
    assert!(publication.message.contains("through T.data at T.java:12"), "{}", publication.message);
    assert!(reasons(publication).contains(&"double-checked-locking"));
    let also = publication.reasons.iter().find(|reason| reason.name == "also-affected");
    assert_eq!(
        also.expect("the other field").sentence,
        "Data.second may be seen unset in the same way"
    );
    assert_eq!(
        publication.hint.as_deref(),
        Some("make T.data volatile, or the fields of Data final")
    );
    let kinds: Vec<_> = publication.accesses.iter().map(|access| access.kind).collect();
    assert_eq!(kinds, [AccessKind::Write, AccessKind::Read]);
    assert_eq!(outcome.statistic("unsafe_publications"), 1);
}

#[test]
fn volatile_repairs_it() {
    assert!(double_checked("volatile").checked.findings.is_empty());
}

#[test]
fn a_filled_map_behind_a_plain_field() {
    let outcome = checked(
        "
import java.util.*;
class T {
    static Map<String, Integer> table;
    static void use() {
        Map<String, Integer> seen = table;
        if (seen != null) System.out.println(seen.get(\"a\"));
    }
    public static void main(String[] args) {
        new Thread(T::use).start();
        Map<String, Integer> filled = new HashMap<>();
        filled.put(\"a\", 1);
        table = filled;
    }
}",
    );
    let publication = outcome.publication();
    assert_eq!(publication.subject.as_variable(), Some(&Variable::field("T", "table")));
    assert!(publication.message.contains("the contents of the java.util.HashMap"));
    assert!(reasons(publication).contains(&"used-at-once"));
    assert_eq!(publication.hint.as_deref(), Some("make T.table volatile"));
}

#[test]
fn what_is_published_before_the_start_is_safe() {
    let outcome = checked(
        "
class T {
    int value = 5;
    static T current;
    public static void main(String[] args) {
        current = new T();
        new Thread(() -> System.out.println(current.value)).start();
    }
}",
    );
    assert_eq!(outcome.of(Rule::UnsafePublication).len(), 0);
    assert_eq!(outcome.of(Rule::DataRace).len(), 0);
}

/// A configuration that is published by a plain field, with limits that hang on it.
fn published(modifier: &str, elsewhere: &str) -> Outcome {
    checked(&format!(
        "
class T {{
    static class Limits {{ int most; Limits(int most) {{ this.most = most; }} }}
    static class Config {{
        int size; {modifier} Limits limits;
        Config(Limits limits) {{ size = 3; this.limits = limits; }}
    }}
    static Config config;
    static volatile Limits other;
    static void use() {{ Config c = config; if (c != null) System.out.println(c.size + c.limits.most); }}
    public static void main(String[] args) {{
        new Thread(T::use).start();
        Limits limits = new Limits(5);
        {elsewhere}
        config = new Config(limits);
    }}
}}"
    ))
}

#[test]
fn what_hangs_on_a_published_object_is_told_with_it() {
    let outcome = published("", "");
    let publication = outcome.publication();
    let parts = publication.reasons.iter().find(|reason| reason.name == "parts-affected");
    assert_eq!(
        parts.expect("the limits").sentence,
        "Limits.most of what hangs on the Config may be seen unset in the same way"
    );
    let kinds: Vec<_> = publication.accesses.iter().map(|access| access.kind).collect();
    let (write, read) = (AccessKind::Write, AccessKind::Read);
    assert_eq!(kinds, [write, read, write, read]);
    assert_eq!(outcome.statistic("unsafe_publications"), 1);
}

#[test]
fn what_hangs_on_a_final_field_or_on_something_else_too_is_not() {
    for (modifier, elsewhere) in [("final", ""), ("", "other = limits;")] {
        let outcome = published(modifier, elsewhere);
        let publication = outcome.publication();
        assert!(!reasons(publication).contains(&"parts-affected"), "{modifier} {elsewhere}");
        assert_eq!(publication.accesses.len(), 2);
    }
}
