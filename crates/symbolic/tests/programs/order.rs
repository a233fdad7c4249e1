//! Order between threads: starts, joins, signals, publication.

use unsnarl_symbolic::Order;

use crate::analyse;

/// A program with these statements in `main` and these members beside it.
fn program(members: &str, main: &str) -> String {
    format!(
        "
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
class Main {{
    static int x; int y;
    {members}
    public static void main(String[] args) throws Exception {{
        {main}
    }}
}}
"
    )
}

fn is_safe(members: &str, main: &str, variable: &str) {
    analyse(&program(members, main), |a| {
        assert_eq!(a.conflicts(variable), [], "{members}\n{main}\n{:#?}", a.describe(variable));
    });
}

fn is_safe_by(members: &str, main: &str, variable: &str, order: Order) {
    analyse(&program(members, main), |a| {
        assert_eq!(a.conflicts(variable), [], "{members}\n{main}\n{:#?}", a.describe(variable));
        assert!(a.is_ordered_by(variable, order), "{:#?}", a.describe(variable));
    });
}

fn is_unsafe(members: &str, main: &str, variable: &str) {
    analyse(&program(members, main), |a| {
        assert_ne!(a.conflicts(variable), [], "{members}\n{main}\n{:#?}", a.describe(variable));
    });
}

const JOIN: Order = Order::Join { is_assumed: false };
const LOOP_JOIN: Order = Order::Join { is_assumed: true };

#[test]
fn joined_in_a_loop() {
    is_safe_by(
        "static synchronized void add() { x++; }",
        "Thread[] t = new Thread[4];
         for (int i = 0; i < 4; i++) { t[i] = new Thread(() -> add()); t[i].start(); }
         for (int i = 0; i < 4; i++) t[i].join();
         System.out.println(x);",
        "x",
        LOOP_JOIN,
    );
}

#[test]
fn joined_in_a_loop_over_a_list() {
    is_safe_by(
        "static synchronized void add() { x++; }",
        "List<Thread> t = new ArrayList<>();
         for (int i = 0; i < 4; i++) { Thread w = new Thread(() -> add()); t.add(w); w.start(); }
         for (Thread w : t) w.join();
         System.out.println(x);",
        "x",
        LOOP_JOIN,
    );
}

#[test]
fn read_in_the_loop_that_joins() {
    is_unsafe(
        "static synchronized void add() { x++; }",
        "Thread[] t = new Thread[4];
         for (int i = 0; i < 4; i++) { t[i] = new Thread(() -> add()); t[i].start(); }
         for (int i = 0; i < 4; i++) { t[i].join(); System.out.println(x); }",
        "x",
    );
}

#[test]
fn join_with_a_timeout() {
    is_unsafe("", "Thread t = new Thread(() -> x++); t.start(); t.join(10); x++;", "x");
}

#[test]
fn is_alive() {
    is_safe_by("", "Thread t = new Thread(() -> x++); t.start(); while (t.isAlive()) { } x++;", "x", JOIN);
}

#[test]
fn join_of_another() {
    is_unsafe(
        "",
        "Thread t = new Thread(() -> x++); Thread u = new Thread(() -> { }); t.start(); u.start(); u.join(); x++;",
        "x",
    );
}

#[test]
fn started_on_one_branch() {
    is_safe(
        "",
        "if (args.length > 0) { Thread t = new Thread(() -> x++); t.start(); t.join(); } x++;",
        "x",
    );
}

#[test]
fn two_unique_threads() {
    is_unsafe("", "new Thread(() -> x++).start(); new Thread(() -> x--).start();", "x");
}

#[test]
fn one_after_the_other() {
    is_safe(
        "",
        "Thread t = new Thread(() -> x++); t.start(); t.join(); Thread u = new Thread(() -> x--); u.start();",
        "x",
    );
}

#[test]
fn grandchild_is_joined_by_child() {
    is_safe(
        "static void f() { try { Thread u = new Thread(() -> x++); u.start(); u.join(); } catch (InterruptedException e) { throw new RuntimeException(e); } }",
        "Thread t = new Thread(() -> f()); t.start(); t.join(); x++;",
        "x",
    );
}

#[test]
fn grandchild_is_not_joined() {
    is_unsafe(
        "static void f() { Thread u = new Thread(() -> x++); u.start(); }",
        "Thread t = new Thread(() -> f()); t.start(); t.join(); x++;",
        "x",
    );
}

#[test]
fn executor_that_ends() {
    is_safe_by(
        "static synchronized void add() { x++; }",
        "ExecutorService e = Executors.newFixedThreadPool(4);
         for (int i = 0; i < 9; i++) e.submit(() -> add());
         e.shutdown();
         if (e.awaitTermination(1, TimeUnit.MINUTES)) System.out.println(x);",
        "x",
        JOIN,
    );
}

#[test]
fn executor_with_timeout_ignored() {
    is_unsafe(
        "static synchronized void add() { x++; }",
        "ExecutorService e = Executors.newFixedThreadPool(4);
         for (int i = 0; i < 9; i++) e.submit(() -> add());
         e.shutdown();
         e.awaitTermination(1, TimeUnit.MINUTES); System.out.println(x);",
        "x",
    );
}

#[test]
fn future() {
    is_safe_by(
        "",
        "ExecutorService e = Executors.newFixedThreadPool(4); x = 1;
         Future<?> f = e.submit(() -> { x++; }); f.get(); System.out.println(x);",
        "x",
        JOIN,
    );
}

#[test]
fn futures_in_a_loop() {
    is_safe_by(
        "static synchronized void add() { x++; }",
        "ExecutorService e = Executors.newFixedThreadPool(4); List<Future<?>> fs = new ArrayList<>();
         for (int i = 0; i < 9; i++) fs.add(e.submit(() -> add()));
         for (Future<?> f : fs) f.get();
         System.out.println(x);",
        "x",
        LOOP_JOIN,
    );
}

#[test]
fn single_thread_executor() {
    is_safe_by(
        "",
        "ExecutorService e = Executors.newSingleThreadExecutor();
         for (int i = 0; i < 9; i++) e.submit(() -> { x++; });
         e.submit(() -> { x--; });",
        "x",
        Order::Serial,
    );
}

#[test]
fn parallel_stream() {
    is_unsafe("", "List<Integer> l = List.of(1, 2, 3); l.parallelStream().forEach(i -> x += i);", "x");
}

#[test]
fn after_a_parallel_stream() {
    is_safe(
        "static synchronized void add(int n) { x += n; }",
        "List<Integer> l = List.of(1, 2, 3); l.parallelStream().forEach(i -> add(i)); System.out.println(x);",
        "x",
    );
}

#[test]
fn volatile_flag() {
    is_safe_by(
        "static volatile boolean ready;",
        "new Thread(() -> { while (!ready) { } System.out.println(x); }).start(); x = 1; ready = true;",
        "x",
        Order::Signal,
    );
}

#[test]
fn volatile_flag_too_early() {
    is_unsafe(
        "static volatile boolean ready;",
        "new Thread(() -> { while (!ready) { } System.out.println(x); }).start(); ready = true; x = 1;",
        "x",
    );
}

#[test]
fn volatile_flag_not_tested() {
    is_unsafe(
        "static volatile boolean ready;",
        "new Thread(() -> { boolean r = ready; System.out.println(x); }).start(); x = 1; ready = true;",
        "x",
    );
}

#[test]
fn plain_flag() {
    is_unsafe(
        "static boolean ready;",
        "new Thread(() -> { while (!ready) { } System.out.println(x); }).start(); x = 1; ready = true;",
        "x",
    );
}

#[test]
fn volatile_flag_of_an_object() {
    is_safe_by(
        "static class Box { int v; volatile boolean ready; void put() { v = 1; ready = true; }
           int get() { if (ready) return v; return 0; } }",
        "Box b = new Box(); new Thread(() -> b.get()).start(); b.put();",
        "v",
        Order::Signal,
    );
}

#[test]
fn flag_behind_a_method() {
    is_safe_by(
        "static volatile boolean ready; static boolean isReady() { return ready; }",
        "new Thread(() -> { while (!isReady()) { } System.out.println(x); }).start(); x = 1; ready = true;",
        "x",
        Order::Signal,
    );
}

#[test]
fn atomic_flag() {
    is_safe_by(
        "static final AtomicBoolean ready = new AtomicBoolean();",
        "new Thread(() -> { if (ready.get()) System.out.println(x); }).start(); x = 1; ready.set(true);",
        "x",
        Order::Signal,
    );
}

#[test]
fn latch() {
    is_safe_by(
        "",
        "CountDownLatch l = new CountDownLatch(1);
         new Thread(() -> { try { l.await(); System.out.println(x); } catch (InterruptedException e) { } }).start();
         x = 1; l.countDown();",
        "x",
        Order::Signal,
    );
}

#[test]
fn latch_counted_by_worker() {
    is_safe_by(
        "",
        "CountDownLatch l = new CountDownLatch(1);
         new Thread(() -> { x = 1; l.countDown(); }).start();
         l.await(); System.out.println(x);",
        "x",
        Order::Signal,
    );
}

#[test]
fn latch_with_timeout() {
    is_unsafe(
        "",
        "CountDownLatch l = new CountDownLatch(1);
         new Thread(() -> { x = 1; l.countDown(); }).start();
         l.await(1, TimeUnit.SECONDS); System.out.println(x);",
        "x",
    );
}

#[test]
fn completable_future() {
    is_safe(
        "",
        "CompletableFuture<Void> f = CompletableFuture.runAsync(() -> x++); f.join(); x++;",
        "x",
    );
}

#[test]
fn completable_stages() {
    is_safe(
        "",
        "CompletableFuture.runAsync(() -> x++).thenRunAsync(() -> x++).join();",
        "x",
    );
}

#[test]
fn published_after_construction() {
    is_safe_by(
        "static class P { int v; P() { v = 1; } } static final BlockingQueue<P> q = new LinkedBlockingQueue<>();",
        "new Thread(() -> { try { System.out.println(q.take().v); } catch (Exception e) { } }).start();
         for (int i = 0; i < 3; i++) { P p = new P(); p.v = 2; q.put(p); }",
        "v",
        Order::Fresh,
    );
}

#[test]
fn written_after_publication() {
    is_unsafe(
        "static class P { int v; } static final BlockingQueue<P> q = new LinkedBlockingQueue<>();",
        "new Thread(() -> { try { System.out.println(q.take().v); } catch (Exception e) { } }).start();
         P p = new P(); q.put(p); p.v = 2;",
        "v",
    );
}

#[test]
fn this_escapes_in_constructor() {
    is_unsafe(
        "static P shared; static class P { int v; P() { shared = this; v = 1; } }",
        "new Thread(() -> { P p = shared; if (p != null) System.out.println(p.v); }).start(); new P();",
        "v",
    );
}

#[test]
fn made_by_a_factory() {
    is_safe_by(
        "static volatile P shared; static class P { int v; } static P make() { return new P(); }",
        "new Thread(() -> { P p = shared; if (p != null) System.out.println(p.v); }).start();
         P p = make(); p.v = 3; shared = p;",
        "v",
        Order::Fresh,
    );
}

#[test]
fn each_thread_its_own() {
    is_safe(
        "static class P { int v; } static class W extends Thread { P p = new P(); int n; public void run() { p.v++; n++; } }",
        "for (int i = 0; i < 3; i++) new W().start();",
        "v",
    );
}

#[test]
fn each_runnable_its_own() {
    is_safe(
        "static class W implements Runnable { int n; public void run() { n++; } }",
        "for (int i = 0; i < 3; i++) new Thread(new W()).start();",
        "n",
    );
}

#[test]
fn one_runnable_for_all() {
    is_unsafe(
        "static class W implements Runnable { int n; public void run() { n++; } }",
        "W w = new W(); for (int i = 0; i < 3; i++) new Thread(w).start();",
        "n",
    );
}

#[test]
fn locals_of_a_thread() {
    is_safe(
        "static class P { int v; } static void f() { P p = new P(); p.v++; int[] a = new int[2]; a[0] = p.v; }",
        "for (int i = 0; i < 3; i++) new Thread(() -> f()).start();",
        "v",
    );
}

#[test]
fn thread_local() {
    is_safe(
        "static class P { int v; } static final ThreadLocal<P> t = ThreadLocal.withInitial(() -> new P());",
        "for (int i = 0; i < 3; i++) new Thread(() -> t.get().v++).start();",
        "v",
    );
}

#[test]
fn initializer() {
    is_safe(
        "static class C { static int[] table = new int[4]; static { table[0] = 1; } }",
        "for (int i = 0; i < 3; i++) new Thread(() -> System.out.println(C.table[0])).start();",
        "[]",
    );
}

#[test]
fn timer() {
    is_safe_by(
        "",
        "Timer t = new Timer(); t.schedule(new TimerTask() { public void run() { x++; } }, 1, 1);
         t.schedule(new TimerTask() { public void run() { x--; } }, 1, 1);",
        "x",
        Order::Serial,
    );
}

#[test]
fn periodic_task() {
    is_safe(
        "",
        "ScheduledExecutorService s = Executors.newScheduledThreadPool(4); s.scheduleAtFixedRate(() -> x++, 1, 1, TimeUnit.SECONDS);",
        "x",
    );
}

#[test]
fn invoke_all() {
    is_safe(
        "static synchronized void add() { x++; }",
        "ExecutorService e = Executors.newFixedThreadPool(4); List<Callable<Void>> c = new ArrayList<>();
         for (int i = 0; i < 9; i++) c.add(() -> { add(); return null; });
         e.invokeAll(c); System.out.println(x);",
        "x",
    );
}

#[test]
fn lazily_made_without_lock() {
    is_unsafe(
        "static class P { int v = 1; } static P p; static P get() { if (p == null) p = new P(); return p; }",
        "for (int i = 0; i < 3; i++) new Thread(() -> get()).start();",
        "p",
    );
}
