//! Locks: which accesses exclude each other.

use crate::{Analysed, Case};

/// A program in which threads run `body` of shared objects with these members.
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

fn is_safe(name: &'static str, members: &str, variable: &'static str) -> Case {
    Case::new(name, shared(members), move |a: &Analysed<'_, '_>| {
        !a.events(variable).is_empty() && a.is_safe(variable)
    })
    .about(variable)
}

/// No conflict; there may be no access at all.
fn is_quiet(name: &'static str, members: &str, variable: &'static str) -> Case {
    Case::new(name, shared(members), move |a| a.is_safe(variable)).about(variable)
}

fn is_unsafe(name: &'static str, members: &str, variable: &'static str) -> Case {
    Case::new(name, shared(members), move |a| !a.is_safe(variable)).about(variable)
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        is_unsafe(
            "no_lock",
            "void body() { x++; }", "x",
        ),
        is_safe(
            "lock_in_final_field",
            "final Object m = new Object(); void body() { synchronized (m) { x++; } }", "x",
        ),
        is_safe(
            "lock_in_field_that_never_changes",
            "private Object m = new Object(); void body() { synchronized (m) { x++; } }", "x",
        ),
        is_unsafe(
            "lock_that_changes",
            "Object m = new Object(); void body() { synchronized (m) { x++; m = new Object(); } }", "x",
        ),
        is_unsafe(
            "fresh_lock",
            "void body() { synchronized (new Object()) { x++; } }", "x",
        ),
        is_safe(
            "reentrant_lock",
            "final Lock l = new ReentrantLock(); void body() { l.lock(); try { x++; } finally { l.unlock(); } }",
        "x",
        ),
        is_unsafe(
            "after_unlock",
            "final Lock l = new ReentrantLock(); void body() { l.lock(); try { } finally { l.unlock(); } x++; }",
        "x",
        ),
        is_safe(
            "try_lock",
            "final Lock l = new ReentrantLock(); void body() { if (l.tryLock()) { try { x++; } finally { l.unlock(); } } }",
        "x",
        ),
        is_unsafe(
            "try_lock_not_looked_at",
            "final Lock l = new ReentrantLock(); void body() { l.tryLock(); x++; }", "x",
        ),
        is_safe(
            "try_lock_negated",
            "final Lock l = new ReentrantLock(); void body() throws Exception { if (!l.tryLock(1, TimeUnit.SECONDS)) return; x++; l.unlock(); }",
        "x",
        ),
        is_safe(
            "read_and_write_lock",
            "final ReadWriteLock rw = new ReentrantReadWriteLock(); int y;
         void body() { rw.writeLock().lock(); try { x++; } finally { rw.writeLock().unlock(); }
                       rw.readLock().lock(); try { y = x; } finally { rw.readLock().unlock(); } }",
        "x",
        ),
        is_unsafe(
            "write_under_read_lock",
            "final ReadWriteLock rw = new ReentrantReadWriteLock();
         void body() { rw.readLock().lock(); try { x++; } finally { rw.readLock().unlock(); } }",
        "x",
        ),
        is_safe(
            "views_in_fields",
            "final ReentrantReadWriteLock rw = new ReentrantReadWriteLock();
         final Lock r = rw.readLock(); final Lock w = rw.writeLock(); int y;
         void body() { w.lock(); try { x++; } finally { w.unlock(); }
                       r.lock(); try { int z = x; } finally { r.unlock(); } }",
        "x",
        ),
        is_safe(
            "stamped_lock",
            "final StampedLock l = new StampedLock();
         void body() { long s = l.writeLock(); try { x++; } finally { l.unlockWrite(s); }
                       long t = l.tryReadLock(); if (t != 0L) { int z = x; l.unlockRead(t); } }",
        "x",
        ),
        is_safe(
            "lock_in_helper_methods",
            "final Lock l = new ReentrantLock(); void enter() { l.lock(); } void leave() { l.unlock(); }
         void body() { enter(); x++; leave(); }",
        "x",
        ),
        is_safe(
            "lock_held_by_caller",
            "synchronized void body() { inner(); } private void inner() { x++; }", "x",
        ),
        is_unsafe(
            "one_of_two_callers_locks",
            "void body() { synchronized (this) { inner(); } inner(); } private void inner() { x++; }",
        "x",
        ),
        is_safe(
            "static_lock",
            "static synchronized void add(Shared s) { s.x++; } void body() { add(this); }", "x",
        ),
        is_safe(
            "class_lock",
            "void body() { synchronized (Shared.class) { x++; } }", "x",
        ),
        is_safe(
            "static_final_lock",
            "static final Object L = new Object(); void body() { synchronized (L) { x++; } }", "x",
        ),
        is_safe(
            "hosted_array",
            "final int[] a = new int[9]; synchronized void body() { a[1]++; }", "[]",
        ),
        is_safe(
            "hosted_list",
            "private List<String> list = new ArrayList<>(); synchronized void body() { list.add(null); }",
        "contents",
        ),
        is_unsafe(
            "hosted_list_without_lock",
            "private List<String> list = new ArrayList<>(); void body() { list.add(null); }", "contents",
        ),
        is_unsafe(
            "list_handed_in",
            "static List<String> all = new ArrayList<>(); private List<String> list = all;
         synchronized void body() { list.add(null); }",
        "contents",
        ),
        is_safe(
            "list_locks_itself",
            "private final List<String> list = new ArrayList<>(); void body() { synchronized (list) { list.add(null); } }",
        "contents",
        ),
        is_safe(
            "host_of_a_node",
            "static class Node { int v; } private final Node node = new Node();
         synchronized void body() { node.v++; }",
        "v",
        ),
        is_safe(
            "lock_passed_to_helper",
            "static class Node { int v; void add() { v++; } } private final Node node = new Node();
         synchronized void body() { node.add(); }",
        "v",
        ),
        is_safe(
            "wait_holds_again",
            "synchronized void body() throws Exception { while (x == 0) wait(); x--; }", "x",
        ),
        is_safe(
            "condition",
            "final Lock l = new ReentrantLock(); final Condition c = l.newCondition();
         void body() throws Exception { l.lock(); try { while (x == 0) c.await(); x--; } finally { l.unlock(); } }",
        "x",
        ),
        is_safe(
            "lock_in_lambda",
            "void run(Runnable r) { synchronized (this) { r.run(); } } void body() { run(() -> x++); }",
        "x",
        ),
        is_unsafe(
            "under_exception",
            "final Lock l = new ReentrantLock();
         void body() { try { l.lock(); Integer.parseInt(\"\"); l.unlock(); } catch (RuntimeException e) { x++; } }",
        "x",
        ),
        is_safe(
            "recursion",
            "synchronized void body() { f(3); } void f(int n) { if (n > 0) f(n - 1); x++; }", "x",
        ),
        is_quiet(
            "atomics_do_not_race",
            "final AtomicInteger n = new AtomicInteger(); void body() { n.incrementAndGet(); x = 0; synchronized(this) {} }", "contents",
        ),
        is_quiet(
            "concurrent_map_does_not_race",
            "final ConcurrentHashMap<String, String> m = new ConcurrentHashMap<>(); void body() { m.put(\"\", \"\"); m.get(\"\"); }",
        "contents",
        ),
        is_safe(
            "synchronized_list",
            "final List<String> m = Collections.synchronizedList(new ArrayList<>()); void body() { m.add(\"\"); }",
        "contents",
        ),
    ]
}
