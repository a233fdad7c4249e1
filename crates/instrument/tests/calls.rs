//! Which calls are recorded, and which of them may let other threads see something.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use unsnarl_instrument::{Calls, MethodName};
use unsnarl_models::Models;

const ITERATOR: (&[u8], &[u8]) = (b"iterator", b"()Ljava/util/Iterator;");

#[test]
fn the_iterator_of_a_list_is_followed_only_where_contents_matter() {
    let (name, descriptor) = ITERATOR;
    for (contents, class, expected) in [
        (false, "java/util/Collection", false),
        (true, "java/util/Collection", true),
        (false, "java/util/concurrent/ConcurrentLinkedQueue", true),
        (false, "java/util/concurrent/CopyOnWriteArrayList", true),
    ] {
        let calls = Calls::new(Arc::new(Models::builtin()), contents);
        assert_eq!(calls.is_recorded(class.as_bytes(), name, descriptor), expected, "{class}");
    }
}

#[test]
fn calls_that_only_take_release_nothing() {
    let calls = Calls::new(Arc::new(Models::builtin()), false);
    let releases = |class: &str, name: &str, descriptor: &str| {
        let [class, name, descriptor] = [class, name, descriptor].map(|it| it.as_bytes().to_vec());
        let method = MethodName { class, name, descriptor };
        calls.known_call(&method.class, &method).unwrap().releases
    };
    let map = "java/util/concurrent/ConcurrentHashMap";
    let object = "Ljava/lang/Object;";
    assert!(!releases(map, "get", &format!("({object}){object}")));
    assert!(releases(map, "put", &format!("({object}{object}){object}")));
    assert!(releases("java/util/concurrent/CountDownLatch", "countDown", "()V"));
    assert!(!releases("java/util/concurrent/CountDownLatch", "await", "()V"));
    assert!(releases("java/util/concurrent/locks/Lock", "unlock", "()V"));
}
