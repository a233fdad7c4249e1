//! Which calls are recorded, and which of them may let other threads see something.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use unsnarl_instrument::{Caller, Calls, MethodName, Plan, RecordedCall, Task};
use unsnarl_models::Models;

#[test]
fn the_iterator_of_a_list_is_followed_only_where_contents_matter() {
    for (contents, class, expected) in [
        (false, "java/util/Collection", false),
        (true, "java/util/Collection", true),
        (false, "java/util/concurrent/ConcurrentLinkedQueue", true),
        (false, "java/util/concurrent/CopyOnWriteArrayList", true),
    ] {
        let mut plan = Plan::default();
        plan.contents = contents;
        let calls = Calls::new(Arc::new(Models::builtin()), &plan);
        let method = method(class, "iterator", "()Ljava/util/Iterator;");
        let call = calls.known_call(&method.class, &method, Caller::Program);
        assert_eq!(call.is_some(), expected, "{class}");
    }
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
