//! Order between threads: starts, joins, signals, publication.

use unsnarl_symbolic::Order;

use crate::Case;

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

fn is_safe(name: &'static str, members: &str, main: &str, variable: &'static str) -> Case {
    Case::new(name, program(members, main), move |a| a.is_safe(variable)).about(variable)
}

pub(crate) fn is_safe_by(
    name: &'static str,
    members: &str,
    main: &str,
    variable: &'static str,
    order: Order,
) -> Case {
    Case::new(name, program(members, main), move |a| {
        a.is_safe(variable) && a.is_ordered_by(variable, order)
    })
    .about(variable)
}

pub(crate) fn is_unsafe(
    name: &'static str,
    members: &str,
    main: &str,
    variable: &'static str,
) -> Case {
    Case::new(name, program(members, main), move |a| !a.is_safe(variable)).about(variable)
}

/// Objects that are handed over before they are complete, with a flag that says when they are.
const NODES: &str = "static class Node { int v; volatile boolean ready; }
         static final ConcurrentLinkedQueue<Node> q = new ConcurrentLinkedQueue<>();";
const PRODUCER: &str = "static class Node { int v; volatile boolean ready; }
         static final ConcurrentLinkedQueue<Node> q = new ConcurrentLinkedQueue<>();
         static void produce() { for (int k = 0; k < 2; k++) { Node n = new Node(); q.add(n); n.v = 1; n.ready = true; } }";
const JOIN: Order = Order::Join { is_assumed: false };

pub(crate) fn cases() -> Vec<Case> {
    vec![
        is_safe_by(
            "joined_in_a_loop",
            "static synchronized void add() { x++; }",
        "Thread[] t = new Thread[4];
         for (int i = 0; i < 4; i++) { t[i] = new Thread(() -> add()); t[i].start(); }
         for (int i = 0; i < 4; i++) t[i].join();
         System.out.println(x);",
        "x",
        JOIN,
        ),
        is_safe_by(
            "joined_in_a_loop_over_a_list",
            "static synchronized void add() { x++; }",
        "List<Thread> t = new ArrayList<>();
         for (int i = 0; i < 4; i++) { Thread w = new Thread(() -> add()); t.add(w); w.start(); }
         for (Thread w : t) w.join();
         System.out.println(x);",
        "x",
        JOIN,
        ),
        is_unsafe(
            "read_in_the_loop_that_joins",
            "static synchronized void add() { x++; }",
        "Thread[] t = new Thread[4];
         for (int i = 0; i < 4; i++) { t[i] = new Thread(() -> add()); t[i].start(); }
         for (int i = 0; i < 4; i++) { t[i].join(); System.out.println(x); }",
        "x",
        ),
        is_unsafe(
            "join_with_a_timeout",
            "", "Thread t = new Thread(() -> x++); t.start(); t.join(10); x++;", "x",
        ),
        is_safe_by(
            "is_alive",
            "", "Thread t = new Thread(() -> x++); t.start(); while (t.isAlive()) { } x++;", "x", JOIN,
        ),
        is_unsafe(
            "join_of_another",
            "",
        "Thread t = new Thread(() -> x++); Thread u = new Thread(() -> { }); t.start(); u.start(); u.join(); x++;",
        "x",
        ),
        is_safe(
            "started_on_one_branch",
            "",
        "if (args.length > 0) { Thread t = new Thread(() -> x++); t.start(); t.join(); } x++;",
        "x",
        ),
        is_unsafe(
            "two_unique_threads",
            "", "new Thread(() -> x++).start(); new Thread(() -> x--).start();", "x",
        ),
        is_safe(
            "one_after_the_other",
            "",
        "Thread t = new Thread(() -> x++); t.start(); t.join(); Thread u = new Thread(() -> x--); u.start();",
        "x",
        ),
        is_safe(
            "grandchild_is_joined_by_child",
            "static void f() { try { Thread u = new Thread(() -> x++); u.start(); u.join(); } catch (InterruptedException e) { throw new RuntimeException(e); } }",
        "Thread t = new Thread(() -> f()); t.start(); t.join(); x++;",
        "x",
        ),
        is_unsafe(
            "grandchild_is_not_joined",
            "static void f() { Thread u = new Thread(() -> x++); u.start(); }",
        "Thread t = new Thread(() -> f()); t.start(); t.join(); x++;",
        "x",
        ),
        is_safe_by(
            "executor_that_ends",
            "static synchronized void add() { x++; }",
        "ExecutorService e = Executors.newFixedThreadPool(4);
         for (int i = 0; i < 9; i++) e.submit(() -> add());
         e.shutdown();
         if (e.awaitTermination(1, TimeUnit.MINUTES)) System.out.println(x);",
        "x",
        JOIN,
        ),
        is_unsafe(
            "executor_with_timeout_ignored",
            "static synchronized void add() { x++; }",
        "ExecutorService e = Executors.newFixedThreadPool(4);
         for (int i = 0; i < 9; i++) e.submit(() -> add());
         e.shutdown();
         e.awaitTermination(1, TimeUnit.MINUTES); System.out.println(x);",
        "x",
        ),
        is_safe_by(
            "future",
            "",
        "ExecutorService e = Executors.newFixedThreadPool(4); x = 1;
         Future<?> f = e.submit(() -> { x++; }); f.get(); System.out.println(x);",
        "x",
        JOIN,
        ),
        is_safe_by(
            "futures_in_a_loop",
            "static synchronized void add() { x++; }",
        "ExecutorService e = Executors.newFixedThreadPool(4); List<Future<?>> fs = new ArrayList<>();
         for (int i = 0; i < 9; i++) fs.add(e.submit(() -> add()));
         for (Future<?> f : fs) f.get();
         System.out.println(x);",
        "x",
        JOIN,
        ),
        is_safe_by(
            "single_thread_executor",
            "",
        "ExecutorService e = Executors.newSingleThreadExecutor();
         for (int i = 0; i < 9; i++) e.submit(() -> { x++; });
         e.submit(() -> { x--; });",
        "x",
        Order::Serial,
        ),
        is_unsafe(
            "parallel_stream",
            "", "List<Integer> l = List.of(1, 2, 3); l.parallelStream().forEach(i -> x += i);", "x",
        ),
        is_safe(
            "after_a_parallel_stream",
            "static synchronized void add(int n) { x += n; }",
        "List<Integer> l = List.of(1, 2, 3); l.parallelStream().forEach(i -> add(i)); System.out.println(x);",
        "x",
        ),
        is_safe_by(
            "volatile_flag",
            "static volatile boolean ready;",
        "new Thread(() -> { while (!ready) { } System.out.println(x); }).start(); x = 1; ready = true;",
        "x",
        Order::Signal,
        ),
        is_unsafe(
            "volatile_flag_too_early",
            "static volatile boolean ready;",
        "new Thread(() -> { while (!ready) { } System.out.println(x); }).start(); ready = true; x = 1;",
        "x",
        ),
        is_unsafe(
            "volatile_flag_not_tested",
            "static volatile boolean ready;",
        "new Thread(() -> { boolean r = ready; System.out.println(x); }).start(); x = 1; ready = true;",
        "x",
        ),
        is_unsafe(
            "plain_flag",
            "static boolean ready;",
        "new Thread(() -> { while (!ready) { } System.out.println(x); }).start(); x = 1; ready = true;",
        "x",
        ),
        is_safe_by(
            "volatile_flag_of_an_object",
            "static class Box { int v; volatile boolean ready; void put() { v = 1; ready = true; }
           int get() { if (ready) return v; return 0; } }",
        "Box b = new Box(); new Thread(() -> b.get()).start(); b.put();",
        "v",
        Order::Signal,
        ),
        is_safe_by(
            "flag_of_each_worker",
            "static class W extends Thread { int v; volatile boolean done; public void run() { v = 1; done = true; } }",
        "W[] ws = new W[3]; for (int i = 0; i < 3; i++) { ws[i] = new W(); ws[i].start(); }
         for (W w : ws) if (w.done) System.out.println(w.v);",
        "v",
        Order::Signal,
        ),
        is_unsafe(
            "flag_of_each_worker_too_early",
            "static class W extends Thread { int v; volatile boolean done; public void run() { done = true; v = 1; } }",
        "W[] ws = new W[3]; for (int i = 0; i < 3; i++) { ws[i] = new W(); ws[i].start(); }
         for (W w : ws) if (w.done) System.out.println(w.v);",
        "v",
        ),
        is_unsafe(
            "flag_of_another_worker",
            "static class W extends Thread { int v; volatile boolean done; public void run() { v = 1; done = true; } }",
        "W[] ws = new W[3]; for (int i = 0; i < 3; i++) { ws[i] = new W(); ws[i].start(); }
         for (int i = 1; i < 3; i++) { W w = ws[i]; W o = ws[i - 1]; if (o.done) System.out.println(w.v); }",
        "v",
        ),
        is_safe_by(
            "flag_of_each_node",
            NODES,
        "for (int i = 0; i < 3; i++) new Thread(() -> { for (int k = 0; k < 2; k++) { Node n = new Node(); q.add(n); n.v = 1; n.ready = true; } }).start();
         for (int i = 0; i < 3; i++) { Node n = q.peek(); if (n != null && n.ready) System.out.println(n.v); }",
        "v",
        Order::Signal,
        ),
        is_unsafe(
            "flag_of_each_node_too_early",
            NODES,
        "for (int i = 0; i < 3; i++) new Thread(() -> { for (int k = 0; k < 2; k++) { Node n = new Node(); q.add(n); n.ready = true; n.v = 1; } }).start();
         for (int i = 0; i < 3; i++) { Node n = q.peek(); if (n != null && n.ready) System.out.println(n.v); }",
        "v",
        ),
        is_safe_by(
            "flag_of_each_node_of_two_threads",
            PRODUCER,
        "new Thread(() -> produce()).start(); for (int i = 0; i < 2; i++) new Thread(() -> produce()).start();
         for (int i = 0; i < 3; i++) { Node n = q.peek(); if (n != null && n.ready) System.out.println(n.v); }",
        "v",
        Order::Signal,
        ),
        is_unsafe(
            "flag_of_another_node_of_two_threads",
            PRODUCER,
        "new Thread(() -> produce()).start(); for (int i = 0; i < 2; i++) new Thread(() -> produce()).start();
         Node o = q.peek(); for (int i = 0; i < 3; i++) { Node n = q.poll(); if (n != null && o.ready) System.out.println(n.v); }",
        "v",
        ),
        is_unsafe(
            "flag_that_others_set_too",
            NODES,
        "for (int i = 0; i < 3; i++) new Thread(() -> { Node n = new Node(); q.add(n); n.v = 1; n.ready = true; Node o = q.peek(); if (o != null) o.ready = true; }).start();
         for (int i = 0; i < 3; i++) { Node n = q.peek(); if (n != null && n.ready) System.out.println(n.v); }",
        "v",
        ),
        is_safe_by(
            "flag_behind_a_method",
            "static volatile boolean ready; static boolean isReady() { return ready; }",
        "new Thread(() -> { while (!isReady()) { } System.out.println(x); }).start(); x = 1; ready = true;",
        "x",
        Order::Signal,
        ),
        is_safe_by(
            "atomic_flag",
            "static final AtomicBoolean ready = new AtomicBoolean();",
        "new Thread(() -> { if (ready.get()) System.out.println(x); }).start(); x = 1; ready.set(true);",
        "x",
        Order::Signal,
        ),
        is_safe_by(
            "latch",
            "",
        "CountDownLatch l = new CountDownLatch(1);
         new Thread(() -> { try { l.await(); System.out.println(x); } catch (InterruptedException e) { } }).start();
         x = 1; l.countDown();",
        "x",
        Order::Signal,
        ),
        is_safe_by(
            "latch_counted_by_worker",
            "",
        "CountDownLatch l = new CountDownLatch(1);
         new Thread(() -> { x = 1; l.countDown(); }).start();
         l.await(); System.out.println(x);",
        "x",
        Order::Signal,
        ),
        is_unsafe(
            "latch_with_timeout",
            "",
        "CountDownLatch l = new CountDownLatch(1);
         new Thread(() -> { x = 1; l.countDown(); }).start();
         l.await(1, TimeUnit.SECONDS); System.out.println(x);",
        "x",
        ),
        is_safe(
            "completable_future",
            "",
        "CompletableFuture<Void> f = CompletableFuture.runAsync(() -> x++); f.join(); x++;",
        "x",
        ),
        is_safe(
            "completable_stages",
            "",
        "CompletableFuture.runAsync(() -> x++).thenRunAsync(() -> x++).join();",
        "x",
        ),
        is_safe_by(
            "published_after_construction",
            "static class P { int v; P() { v = 1; } } static final BlockingQueue<P> q = new LinkedBlockingQueue<>();",
        "new Thread(() -> { try { System.out.println(q.take().v); } catch (Exception e) { } }).start();
         for (int i = 0; i < 3; i++) { P p = new P(); p.v = 2; q.put(p); }",
        "v",
        Order::Fresh,
        ),
        is_unsafe(
            "written_after_publication",
            "static class P { int v; } static final BlockingQueue<P> q = new LinkedBlockingQueue<>();",
        "new Thread(() -> { try { System.out.println(q.take().v); } catch (Exception e) { } }).start();
         P p = new P(); q.put(p); p.v = 2;",
        "v",
        ),
        is_unsafe(
            "this_escapes_in_constructor",
            "static P shared; static class P { int v; P() { shared = this; v = 1; } }",
        "new Thread(() -> { P p = shared; if (p != null) System.out.println(p.v); }).start(); new P();",
        "v",
        ),
        is_safe_by(
            "made_by_a_factory",
            "static volatile P shared; static class P { int v; } static P make() { return new P(); }",
        "new Thread(() -> { P p = shared; if (p != null) System.out.println(p.v); }).start();
         P p = make(); p.v = 3; shared = p;",
        "v",
        Order::Fresh,
        ),
        is_safe(
            "each_thread_its_own",
            "static class P { int v; } static class W extends Thread { P p = new P(); int n; public void run() { p.v++; n++; } }",
        "for (int i = 0; i < 3; i++) new W().start();",
        "v",
        ),
        is_safe(
            "each_runnable_its_own",
            "static class W implements Runnable { int n; public void run() { n++; } }",
        "for (int i = 0; i < 3; i++) new Thread(new W()).start();",
        "n",
        ),
        is_unsafe(
            "one_runnable_for_all",
            "static class W implements Runnable { int n; public void run() { n++; } }",
        "W w = new W(); for (int i = 0; i < 3; i++) new Thread(w).start();",
        "n",
        ),
        is_safe(
            "locals_of_a_thread",
            "static class P { int v; } static void f() { P p = new P(); p.v++; int[] a = new int[2]; a[0] = p.v; }",
        "for (int i = 0; i < 3; i++) new Thread(() -> f()).start();",
        "v",
        ),
        is_safe(
            "thread_local",
            "static class P { int v; } static final ThreadLocal<P> t = ThreadLocal.withInitial(() -> new P());",
        "for (int i = 0; i < 3; i++) new Thread(() -> t.get().v++).start();",
        "v",
        ),
        is_safe(
            "initializer",
            "static class C { static int[] table = new int[4]; static { table[0] = 1; } }",
        "for (int i = 0; i < 3; i++) new Thread(() -> System.out.println(C.table[0])).start();",
        "[]",
        ),
        is_safe_by(
            "timer",
            "",
        "Timer t = new Timer(); t.schedule(new TimerTask() { public void run() { x++; } }, 1, 1);
         t.schedule(new TimerTask() { public void run() { x--; } }, 1, 1);",
        "x",
        Order::Serial,
        ),
        is_safe(
            "periodic_task",
            "",
        "ScheduledExecutorService s = Executors.newScheduledThreadPool(4); s.scheduleAtFixedRate(() -> x++, 1, 1, TimeUnit.SECONDS);",
        "x",
        ),
        is_safe(
            "invoke_all",
            "static synchronized void add() { x++; }",
        "ExecutorService e = Executors.newFixedThreadPool(4); List<Callable<Void>> c = new ArrayList<>();
         for (int i = 0; i < 9; i++) c.add(() -> { add(); return null; });
         e.invokeAll(c); System.out.println(x);",
        "x",
        ),
        is_unsafe(
            "lazily_made_without_lock",
            "static class P { int v = 1; } static P p; static P get() { if (p == null) p = new P(); return p; }",
        "for (int i = 0; i < 3; i++) new Thread(() -> get()).start();",
        "p",
        ),
    ]
}
