//! Locks: which accesses exclude each other.

use crate::analyse;

/// A program in which two threads run `body` of a shared object with these members.
fn shared(members: &str) -> String {
    format!(
        "
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;
class Main {{
    public static void main(String[] args) throws Exception {{
        for (int n = 0; n < 3; n++) {{
            Shared s = new Shared();
            for (int i = 0; i < 2; i++) new Thread(() -> {{ try {{ s.body(); }} catch (Exception e) {{ }} }}).start();
        }}
    }}
}}
class Shared {{
    int x;
{members}
}}
"
    )
}

fn is_safe(members: &str, variable: &str) {
    analyse(&shared(members), |a| {
        assert!(!a.events(variable).is_empty(), "no event on {variable}");
        assert_eq!(a.conflicts(variable), [], "{members}\n{:#?}", a.describe(variable));
    });
}

fn is_unsafe(members: &str, variable: &str) {
    analyse(&shared(members), |a| {
        assert_ne!(a.conflicts(variable), [], "{members}\n{:#?}", a.describe(variable));
    });
}

#[test]
fn no_lock() {
    is_unsafe("void body() { x++; }", "x");
}

#[test]
fn lock_in_final_field() {
    is_safe("final Object m = new Object(); void body() { synchronized (m) { x++; } }", "x");
}

#[test]
fn lock_in_field_that_never_changes() {
    is_safe("private Object m = new Object(); void body() { synchronized (m) { x++; } }", "x");
}

#[test]
fn lock_that_changes() {
    is_unsafe("Object m = new Object(); void body() { synchronized (m) { x++; m = new Object(); } }", "x");
}

#[test]
fn fresh_lock() {
    is_unsafe("void body() { synchronized (new Object()) { x++; } }", "x");
}

#[test]
fn reentrant_lock() {
    is_safe(
        "final Lock l = new ReentrantLock(); void body() { l.lock(); try { x++; } finally { l.unlock(); } }",
        "x",
    );
}

#[test]
fn after_unlock() {
    is_unsafe(
        "final Lock l = new ReentrantLock(); void body() { l.lock(); try { } finally { l.unlock(); } x++; }",
        "x",
    );
}

#[test]
fn try_lock() {
    is_safe(
        "final Lock l = new ReentrantLock(); void body() { if (l.tryLock()) { try { x++; } finally { l.unlock(); } } }",
        "x",
    );
}

#[test]
fn try_lock_not_looked_at() {
    is_unsafe("final Lock l = new ReentrantLock(); void body() { l.tryLock(); x++; }", "x");
}

#[test]
fn try_lock_negated() {
    is_safe(
        "final Lock l = new ReentrantLock(); void body() throws Exception { if (!l.tryLock(1, TimeUnit.SECONDS)) return; x++; l.unlock(); }",
        "x",
    );
}

#[test]
fn read_and_write_lock() {
    is_safe(
        "final ReadWriteLock rw = new ReentrantReadWriteLock(); int y;
         void body() { rw.writeLock().lock(); try { x++; } finally { rw.writeLock().unlock(); }
                       rw.readLock().lock(); try { y = x; } finally { rw.readLock().unlock(); } }",
        "x",
    );
}

#[test]
fn write_under_read_lock() {
    is_unsafe(
        "final ReadWriteLock rw = new ReentrantReadWriteLock();
         void body() { rw.readLock().lock(); try { x++; } finally { rw.readLock().unlock(); } }",
        "x",
    );
}

#[test]
fn views_in_fields() {
    is_safe(
        "final ReentrantReadWriteLock rw = new ReentrantReadWriteLock();
         final Lock r = rw.readLock(); final Lock w = rw.writeLock(); int y;
         void body() { w.lock(); try { x++; } finally { w.unlock(); }
                       r.lock(); try { int z = x; } finally { r.unlock(); } }",
        "x",
    );
}

#[test]
fn stamped_lock() {
    is_safe(
        "final StampedLock l = new StampedLock();
         void body() { long s = l.writeLock(); try { x++; } finally { l.unlockWrite(s); }
                       long t = l.tryReadLock(); if (t != 0L) { int z = x; l.unlockRead(t); } }",
        "x",
    );
}

#[test]
fn lock_in_helper_methods() {
    is_safe(
        "final Lock l = new ReentrantLock(); void enter() { l.lock(); } void leave() { l.unlock(); }
         void body() { enter(); x++; leave(); }",
        "x",
    );
}

#[test]
fn lock_held_by_caller() {
    is_safe("synchronized void body() { inner(); } private void inner() { x++; }", "x");
}

#[test]
fn one_of_two_callers_locks() {
    is_unsafe(
        "void body() { synchronized (this) { inner(); } inner(); } private void inner() { x++; }",
        "x",
    );
}

#[test]
fn static_lock() {
    is_safe("static synchronized void add(Shared s) { s.x++; } void body() { add(this); }", "x");
}

#[test]
fn class_lock() {
    is_safe("void body() { synchronized (Shared.class) { x++; } }", "x");
}

#[test]
fn static_final_lock() {
    is_safe("static final Object L = new Object(); void body() { synchronized (L) { x++; } }", "x");
}

#[test]
fn hosted_array() {
    is_safe("final int[] a = new int[9]; synchronized void body() { a[1]++; }", "[]");
}

#[test]
fn hosted_list() {
    is_safe(
        "private List<String> list = new ArrayList<>(); synchronized void body() { list.add(null); }",
        "contents",
    );
}

#[test]
fn hosted_list_without_lock() {
    is_unsafe("private List<String> list = new ArrayList<>(); void body() { list.add(null); }", "contents");
}

#[test]
fn list_handed_in() {
    is_unsafe(
        "static List<String> all = new ArrayList<>(); private List<String> list = all;
         synchronized void body() { list.add(null); }",
        "contents",
    );
}

#[test]
fn list_locks_itself() {
    is_safe(
        "private final List<String> list = new ArrayList<>(); void body() { synchronized (list) { list.add(null); } }",
        "contents",
    );
}

#[test]
fn host_of_a_node() {
    is_safe(
        "static class Node { int v; } private final Node node = new Node();
         synchronized void body() { node.v++; }",
        "v",
    );
}

#[test]
fn lock_passed_to_helper() {
    is_safe(
        "static class Node { int v; void add() { v++; } } private final Node node = new Node();
         synchronized void body() { node.add(); }",
        "v",
    );
}

#[test]
fn wait_holds_again() {
    is_safe("synchronized void body() throws Exception { while (x == 0) wait(); x--; }", "x");
}

#[test]
fn condition() {
    is_safe(
        "final Lock l = new ReentrantLock(); final Condition c = l.newCondition();
         void body() throws Exception { l.lock(); try { while (x == 0) c.await(); x--; } finally { l.unlock(); } }",
        "x",
    );
}

#[test]
fn lock_in_lambda() {
    is_safe(
        "void run(Runnable r) { synchronized (this) { r.run(); } } void body() { run(() -> x++); }",
        "x",
    );
}

#[test]
fn under_exception() {
    is_unsafe(
        "final Lock l = new ReentrantLock();
         void body() { try { l.lock(); Integer.parseInt(\"\"); l.unlock(); } catch (RuntimeException e) { x++; } }",
        "x",
    );
}

#[test]
fn recursion() {
    is_safe("synchronized void body() { f(3); } void f(int n) { if (n > 0) f(n - 1); x++; }", "x");
}

#[test]
fn atomics_do_not_race() {
    is_safe("final AtomicInteger n = new AtomicInteger(); void body() { n.incrementAndGet(); x = 0; synchronized(this) {} }", "contents");
}

#[test]
fn concurrent_map_does_not_race() {
    is_safe(
        "final ConcurrentHashMap<String, String> m = new ConcurrentHashMap<>(); void body() { m.put(\"\", \"\"); m.get(\"\"); }",
        "contents",
    );
}

#[test]
fn synchronized_list() {
    is_safe(
        "final List<String> m = Collections.synchronizedList(new ArrayList<>()); void body() { m.add(\"\"); }",
        "contents",
    );
}
