//! Which calls are recorded, and which of them may let other threads see something.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use unsnarl_instrument::{Caller, Calls, Plan, RecordedCall, Task};
use unsnarl_models::Models;
use unsnarl_recording::MethodName;

#[test]
fn the_iterator_of_a_list_is_followed_only_where_contents_matter() {
    for (contents, class, expected) in [
        (false, "java/util/Collection", false),
        (true, "java/util/Collection", true),
        (false, "java/util/HashMap$Values", false),
        (true, "java/util/HashMap$Values", true),
        (false, "java/util/concurrent/ConcurrentHashMap$ValuesView", true),
        (false, "java/util/concurrent/ConcurrentLinkedQueue", true),
        (false, "java/util/concurrent/CopyOnWriteArrayList", true),
    ] {
        let mut plan = Plan::default();
        plan.spec.events.contents = contents;
        let calls = Calls::new(Arc::new(Models::builtin()), &plan);
        assert_eq!(is_iterator_recorded(&calls, class), expected, "{class}");
    }
}

/// What a user's model says of an iterator is asked for, by the model of its class or of what that may be below.
#[test]
fn iterators_of_other_libraries_are_followed_if_somebody_asks() {
    let asks = "\"next()\" = \"receive result in this.source\"";
    for (made, more, expected) in [
        ("java.util.ArrayList$Itr", String::new(), false),
        ("java.util.ArrayList$Itr", format!("[methods.\"java.util.Iterator\"]\n{asks}"), true),
        ("lib.Cursor", format!("[methods.\"lib.Cursor\"]\n{asks}"), true),
        ("lib.CursorOfList", format!("[methods.\"lib.Cursor\"]\n{asks}"), true),
    ] {
        let mut models = Models::builtin();
        let text = format!(
            "schema = \"unsnarl.models/1\"\n[methods.\"lib.View\"]\n\
             \"iterator()\" = [\"return new {made}\", \"flow this.source -> result.source\"]\n{more}"
        );
        models.extend("lib.toml", &text).unwrap();
        let calls = Calls::new(Arc::new(models), &Plan::default());
        assert_eq!(is_iterator_recorded(&calls, "lib/View"), expected, "{made} {more}");
    }
}

fn is_iterator_recorded(calls: &Calls, class: &str) -> bool {
    let method = method(class, "iterator", "()Ljava/util/Iterator;");
    calls.known_call(&method.class, &method, Caller::Program).is_some()
}

fn method(class: &str, name: &str, descriptor: &str) -> MethodName {
    let [class, name, descriptor] = [class, name, descriptor].map(|it| it.as_bytes().to_vec());
    MethodName { class, name, descriptor }
}

fn call(calls: &Calls, class: &str, name: &str, descriptor: &str) -> RecordedCall {
    let method = method(class, name, descriptor);
    calls.known_call(&method.class, &method, Caller::Program).unwrap()
}

#[test]
fn only_calls_that_neither_wait_nor_release_look() {
    let calls = Calls::new(Arc::new(Models::builtin()), &Plan::default());
    let looks = |class: &str, name: &str, descriptor: &str| {
        call(&calls, &format!("java/util/concurrent/{class}"), name, descriptor).looks
    };
    assert!(looks("atomic/AtomicLong", "get", "()J"));
    assert!(looks("atomic/AtomicReference", "get", "()Ljava/lang/Object;"));
    assert!(!looks("atomic/AtomicLong", "compareAndSet", "(JJ)Z"));
    assert!(!looks("BlockingQueue", "take", "()Ljava/lang/Object;"));
    assert!(!looks("CountDownLatch", "await", "()V"));
    assert!(!looks("locks/Lock", "lock", "()V"));
    assert!(!looks("Future", "get", "()Ljava/lang/Object;"));
}

#[test]
fn what_is_started_and_what_is_only_called() {
    let calls = Calls::new(Arc::new(Models::builtin()), &Plan::default());
    let object = "Ljava/lang/Object;";
    assert_eq!(calls.task(b"run", b"()V"), Some(Task::Started));
    assert_eq!(calls.task(b"call", format!("(){object}").as_bytes()), Some(Task::Started));
    assert_eq!(
        calls.task(b"compare", format!("({object}{object})I").as_bytes()),
        Some(Task::Called)
    );
    assert_eq!(calls.task(b"hashCode", b"()I"), None);
    let executor = "java/util/concurrent/Executor";
    assert!(call(&calls, executor, "execute", "(Ljava/lang/Runnable;)V").runs);
    assert!(
        !call(
            &calls,
            "java/util/concurrent/atomic/AtomicReference",
            "set",
            &format!("({object})V")
        )
        .runs
    );
}

#[test]
fn calls_that_only_take_release_nothing() {
    let calls = Calls::new(Arc::new(Models::builtin()), &Plan::default());
    let releases =
        |class: &str, name: &str, descriptor: &str| call(&calls, class, name, descriptor).releases;
    let map = "java/util/concurrent/ConcurrentHashMap";
    let object = "Ljava/lang/Object;";
    assert!(!releases(map, "get", &format!("({object}){object}")));
    assert!(releases(map, "put", &format!("({object}{object}){object}")));
    assert!(releases("java/util/concurrent/CountDownLatch", "countDown", "()V"));
    assert!(!releases("java/util/concurrent/CountDownLatch", "await", "()V"));
    assert!(releases("java/util/concurrent/locks/Lock", "unlock", "()V"));
}

#[test]
fn streams_are_asked_whether_they_are_parallel() {
    let calls = Calls::new(Arc::new(Models::builtin()), &Plan::default());
    let stream = "java/util/stream/Stream";
    let returns = |parameters: &str| format!("({parameters})L{stream};");
    let is_asked =
        |class: &str, name: &str, descriptor: &str| call(&calls, class, name, descriptor).parallel;
    assert!(is_asked(stream, "map", &returns("Ljava/util/function/Function;")));
    assert!(is_asked(stream, "forEach", "(Ljava/util/function/Consumer;)V"));
    assert!(is_asked(stream, "collect", "(Ljava/util/stream/Collector;)Ljava/lang/Object;"));
    assert!(!is_asked(
        "java/util/stream/BaseStream",
        "parallel",
        "()Ljava/util/stream/BaseStream;"
    ));
    assert!(!is_asked(stream, "concat", &returns(&format!("L{stream};L{stream};"))));
    // It starts what it is given wherever it likes.
    assert!(!is_asked("java/util/concurrent/Executor", "execute", "(Ljava/lang/Runnable;)V"));
}
