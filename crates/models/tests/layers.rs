//! Files laid over files: what replaces what, and how a bad file is refused.

use unsnarl_models::{ModelError, Models, Treatment};

const HEAD: &str = "schema = \"unsnarl.models/1\"\n";

fn extended(texts: &[&str]) -> Models {
    let mut models = Models::default();
    for (position, text) in texts.iter().enumerate() {
        models
            .extend(&format!("file{position}"), &format!("{HEAD}{text}"))
            .expect("the file is well formed");
    }
    models
}

fn refused(text: &str) -> ModelError {
    Models::default().extend("user.toml", text).expect_err("the file is not well formed")
}

fn sentences(models: &Models, class: &str, name: &str, descriptor: &str) -> Option<Vec<String>> {
    let class = models.methods_of(class.as_bytes())?;
    let model = class.method(name.as_bytes(), descriptor.as_bytes())?;
    Some(model.effects.iter().map(ToString::to_string).collect())
}

#[test]
fn a_key_names_parameters_in_short_or_full() {
    let models = extended(&["[methods.\"a.B\"]
        \"m(String, int[][], java.util.Map$Entry, Object...)\" = \"acquire this\"
        \"<init>(long, double)\" = \"flow arg1 -> this.x\""]);
    let descriptor = "(Ljava/lang/String;[[ILjava/util/Map$Entry;[Ljava/lang/Object;)V";
    assert_eq!(sentences(&models, "a/B", "m", descriptor), Some(vec!["acquire this".to_owned()]));
    assert!(sentences(&models, "a/B", "<init>", "(JD)V").is_some());
    assert_eq!(sentences(&models, "a/B", "m", "()V"), None);
    assert_eq!(sentences(&models, "a/C", "m", descriptor), None);
}

#[test]
fn a_name_alone_is_every_other_overload() {
    let models = extended(&["[methods.\"a.B\"]
        \"m\" = \"acquire this\"
        \"m(int)\" = []"]);
    assert_eq!(sentences(&models, "a/B", "m", "()Z"), Some(vec!["acquire this".to_owned()]));
    assert_eq!(sentences(&models, "a/B", "m", "(I)Z"), Some(vec![]));
}

#[test]
fn lists_of_classes_and_methods_are_shorthand() {
    let models = extended(&["[methods.\"a.B, a.C\"]
        \"m(int, long), n\" = [\"acquire this\", \"release this\"]"]);
    for class in ["a/B", "a/C"] {
        for (name, descriptor) in [("m", "(IJ)V"), ("n", "(Z)V")] {
            let found = sentences(&models, class, name, descriptor);
            assert_eq!(found.map(|list| list.len()), Some(2), "{class}.{name}");
        }
    }
}

#[test]
fn in_one_file_the_table_with_fewer_classes_decides() {
    let models = extended(&["[methods.\"a.B, a.C\"]
        \"m()\" = \"acquire this\"
        [methods.\"a.B\"]
        \"m()\" = []"]);
    assert_eq!(sentences(&models, "a/B", "m", "()V"), Some(vec![]));
    assert_eq!(sentences(&models, "a/C", "m", "()V"), Some(vec!["acquire this".to_owned()]));
}

#[test]
fn a_later_file_replaces_the_same_signature_and_keeps_the_rest() {
    let models = extended(&[
        "[methods.\"a.B\"]\n\"m()\" = \"acquire this\"\n\"m(int)\" = \"acquire arg0\"",
        "[methods.\"a.B\"]\n\"m()\" = []\n\"n()\" = \"release this\"",
    ]);
    assert_eq!(sentences(&models, "a/B", "m", "()V"), Some(vec![]));
    assert!(sentences(&models, "a/B", "m", "(I)V").is_some_and(|list| list.len() == 1));
    assert!(sentences(&models, "a/B", "n", "()V").is_some_and(|list| list.len() == 1));
}

#[test]
fn a_later_name_alone_replaces_every_overload() {
    let models = extended(&[
        "[methods.\"a.B\"]\n\"m()\" = \"acquire this\"",
        "[methods.\"a.B\"]\n\"m\" = []",
    ]);
    assert_eq!(sentences(&models, "a/B", "m", "()V"), Some(vec![]));
}

#[test]
fn the_longest_prefix_decides_and_the_later_file_wins_a_tie() {
    let models = extended(&[
        "[packages]
        \"a\" = { treat = \"opaque\" }
        \"a.b.**\" = { treat = \"model\", reason = \"known\" }
        \"a.b.C\" = { treat = \"analyse\" }",
        "[packages]\n\"a\" = { treat = \"model\" }",
    ]);
    for (class, expected) in [
        ("a/X", Treatment::Model),
        ("a/b/X", Treatment::Model),
        ("a/b/C", Treatment::Analyse),
        ("a/b/C$Inner", Treatment::Analyse),
        ("a/b/Cousin", Treatment::Model),
        ("ab/X", Treatment::Analyse),
        ("X", Treatment::Analyse),
    ] {
        assert_eq!(models.treatment(class), expected, "{class}");
    }
    let rule = models.package_rule("a/b/X").map(|rule| &*rule.reason);
    assert_eq!(rule, Some("known"));
}

#[test]
fn relays_are_those_of_the_class_or_of_the_one_around_it() {
    let models = extended(&[
        "[relays]\n\"a.B\" = [\"*\"]\n\"a.B$Own\" = [\"stop\"]\n\"a.C\" = [\"get\"]",
        "[relays]\n\"a.C\" = [\"put\"]",
    ]);
    let calls = |class: &str, name: &str, of_interface: bool| {
        models.relay(class).is_some_and(|relay| relay.calls(name.as_bytes(), of_interface))
    };
    assert!(calls("a/B", "get", true) && calls("a/B$Inner", "get", true));
    assert!(!calls("a/B", "get", false), "a star stands for methods of interfaces");
    assert!(calls("a/B$Own", "stop", false) && !calls("a/B$Own", "get", true));
    assert!(calls("a/C", "put", true) && !calls("a/C", "get", true), "the later file wins");
    assert!(models.relay("a/Bee").is_none());
}

#[test]
fn an_entry_set_of_the_same_name_is_replaced() {
    let set = |method: &str| format!("[[entry]]\nname = \"web\"\noverrides = [\"{method}\"]");
    let models = extended(&[&set("a.Servlet.doGet"), &set("b.Servlet.service(int)")]);
    assert_eq!(models.entries().len(), 1);
    let method = &models.entries()[0].overrides[0];
    assert_eq!((&*method.class, &*method.name), ("b/Servlet", "service"));
    assert_eq!(method.parameters.as_deref(), Some("I"));
}

#[test]
fn errors_name_file_key_and_column() {
    for (text, expected) in [
        (
            "[methods.\"a.B\"]\n\"m()\" = \"acquire that\"",
            "user.toml: methods.\"a.B\".\"m()\": column 9: expected a place",
        ),
        (
            "[methods.\"a.B\"]\n\"m()\" = [\"acquire this\", \"start arg0.run()\"]",
            "user.toml: methods.\"a.B\".\"m()\": column 17: expected `as`",
        ),
        (
            "[methods.\"a.B\"]\n\"m(int, a..b)\" = []",
            "user.toml: methods.\"a.B\".\"m(int, a..b)\": column 7: `a..b` is not a type",
        ),
        (
            "[methods.\"a.B\"]\n\"m(int\" = []",
            "user.toml: methods.\"a.B\".\"m(int\": column 6: expected `)`",
        ),
        (
            "[methods.\"a.B\"]\n\"m(), m()\" = []",
            "user.toml: methods.\"a.B\".\"m(), m()\": m() is modelled twice",
        ),
        (
            "[methods.\"a/B\"]\n\"m()\" = []",
            "user.toml: methods.\"a/B\": column 1: expected a dotted name",
        ),
        (
            "[[entry]]\nname = \"web\"\noverrides = [\"doGet\"]",
            "user.toml: entry \"web\": column 1: expected CLASS.method",
        ),
        ("[relays]\n\"a/B\" = []", "user.toml: relays: column 1: expected a dotted name"),
        ("[packages]\n\"a\" = { treat = \"skip\" }", "user.toml: TOML parse error at line 3"),
        ("[method.\"a.B\"]", "user.toml: TOML parse error at line 2"),
    ] {
        let message = refused(&format!("{HEAD}{text}")).to_string();
        assert!(message.starts_with(expected), "{message}\nexpected {expected}");
    }
    let message = refused("schema = \"unsnarl.models/9\"").to_string();
    assert_eq!(message, "user.toml: schema is `unsnarl.models/9`, expected `unsnarl.models/1`");
}

#[test]
fn a_refused_file_changes_nothing() {
    let mut models = extended(&["[methods.\"a.B\"]\n\"m()\" = \"acquire this\""]);
    let bad = format!("{HEAD}[methods.\"a.B\"]\n\"a()\" = []\n\"m()\" = \"free this\"");
    assert!(models.extend("user.toml", &bad).is_err());
    assert_eq!(sentences(&models, "a/B", "a", "()V"), None);
    assert!(sentences(&models, "a/B", "m", "()V").is_some_and(|list| list.len() == 1));
}
