//! Joins in loops: where they are certain, and where they are assumed to be complete.

use unsnarl_symbolic::Order;

use crate::Case;
use crate::order::{is_safe_by, is_unsafe};

const JOIN: Order = Order::Join { is_assumed: false };
const LOOP_JOIN: Order = Order::Join { is_assumed: true };

/// Threads that add to `x` under a lock, started and joined in loops; `x` is read after that. Each case
/// beside another differs from it in one thing.
pub(crate) fn cases() -> Vec<Case> {
    let certain = |name, main| loop_join(name, "", main, JOIN);
    let assumed = |name, main| loop_join(name, "", main, LOOP_JOIN);
    const FILL: &str = "Thread[] t = new Thread[4];
         for (int i = 0; i < 4; i++) { t[i] = new Thread(() -> add()); t[i].start(); }";
    const LIST: &str = "List<Thread> t = new ArrayList<>();
         for (int i = 0; i < 4; i++) { Thread w = new Thread(() -> add()); t.add(w); w.start(); }";
    vec![
        certain("loop_to_the_length", &format!("{FILL} for (int i = 0; i < t.length; i++) t[i].join();")),
        certain("loop_over_the_array", &format!("{FILL} for (Thread w : t) w.join();")),
        assumed("loop_from_one", &format!("{FILL} for (int i = 1; i < t.length; i++) t[i].join();")),
        assumed("loop_to_half", &format!("{FILL} for (int i = 0; i < t.length / 2; i++) t[i].join();")),
        assumed("loop_by_two", &format!("{FILL} for (int i = 0; i < t.length; i += 2) t[i].join();")),
        assumed("loop_to_three", &format!("{FILL} for (int i = 0; i < 3; i++) t[i].join();")),
        certain(
            "loop_to_the_same_variable",
            "int n = args.length; Thread[] t = new Thread[100];
         for (int i = 0; i < n; i++) { t[i] = new Thread(() -> add()); t[i].start(); }
         for (int i = 0; i < n; i++) t[i].join();",
        ),
        assumed(
            "loop_to_a_variable_that_changed",
            "int n = args.length; Thread[] t = new Thread[100];
         for (int i = 0; i < n; i++) { t[i] = new Thread(() -> add()); t[i].start(); }
         n = n / 2; for (int i = 0; i < n; i++) t[i].join();",
        ),
        assumed(
            "element_is_replaced",
            &format!("{FILL} t[0] = new Thread(() -> {{ }}); for (Thread w : t) w.join();"),
        ),
        assumed(
            "array_is_filled_twice",
            "Thread[] t = new Thread[4];
         for (int k = 0; k < 2; k++)
             for (int i = 0; i < 4; i++) { t[i] = new Thread(() -> add()); t[i].start(); }
         for (Thread w : t) w.join();",
        ),
        certain(
            "another_array_in_each_round",
            "for (int k = 0; k < 2; k++) {
             Thread[] t = new Thread[4];
             for (int i = 0; i < 4; i++) { t[i] = new Thread(() -> add()); t[i].start(); }
             for (Thread w : t) w.join();
         }",
        ),
        assumed(
            "another_array_in_each_round_joined_late",
            "Thread[] t = null;
         for (int k = 0; k < 2; k++) {
             t = new Thread[4];
             for (int i = 0; i < 4; i++) { t[i] = new Thread(() -> add()); t[i].start(); }
         }
         for (Thread w : t) w.join();",
        ),
        certain("loop_over_the_list", &format!("{LIST} for (Thread w : t) w.join();")),
        certain("loop_by_get", &format!("{LIST} for (int i = 0; i < t.size(); i++) t.get(i).join();")),
        assumed("one_is_removed", &format!("{LIST} t.remove(0); for (Thread w : t) w.join();")),
        assumed(
            "some_are_not_put",
            "List<Thread> t = new ArrayList<>();
         for (int i = 0; i < 4; i++) { Thread w = new Thread(() -> add()); if (i > 0) t.add(w); w.start(); }
         for (Thread w : t) w.join();",
        ),
        certain(
            "put_after_the_start",
            "List<Thread> t = new ArrayList<>();
         for (int i = 0; i < 4; i++) { Thread w = new Thread(() -> add()); w.start(); t.add(w); }
         for (Thread w : t) w.join();",
        ),
        assumed(
            "some_are_not_put_after_the_start",
            "List<Thread> t = new ArrayList<>();
         for (int i = 0; i < 4; i++) { Thread w = new Thread(() -> add()); w.start(); if (i > 0) t.add(w); }
         for (Thread w : t) w.join();",
        ),
        certain(
            "started_by_a_loop_of_its_own",
            "List<Thread> t = new ArrayList<>();
         for (int i = 0; i < 4; i++) t.add(new Thread(() -> add()));
         for (Thread w : t) w.start();
         for (Thread w : t) w.join();",
        ),
        is_unsafe(
            "joined_before_the_start",
            "static synchronized void add() { x++; }",
            "List<Thread> t = new ArrayList<>();
         for (int i = 0; i < 4; i++) t.add(new Thread(() -> add()));
         for (Thread w : t) w.join();
         for (Thread w : t) w.start();
         System.out.println(x);",
            "x",
        ),
        loop_join(
            "list_in_a_final_field",
            "final List<Thread> all = new ArrayList<>();
           void begin() { for (int i = 0; i < 4; i++) { Thread w = new Thread(() -> add()); all.add(w); w.start(); } }
           void end() throws Exception { for (Thread w : all) w.join(); }",
            "Main m = new Main(); m.begin(); m.end();",
            JOIN,
        ),
        loop_join(
            "list_in_a_final_field_is_cleared",
            "final List<Thread> all = new ArrayList<>();
           void begin() { for (int i = 0; i < 4; i++) { Thread w = new Thread(() -> add()); all.add(w); w.start(); } }
           void end() throws Exception { for (Thread w : all) w.join(); }",
            "Main m = new Main(); m.begin(); m.all.clear(); m.end();",
            LOOP_JOIN,
        ),
        loop_join(
            "helper_that_joins",
            "static void joinAll(Thread[] t) throws Exception { for (Thread w : t) w.join(); }",
            &format!("{FILL} joinAll(t);"),
            JOIN,
        ),
        loop_join(
            "helper_that_joins_and_another_array",
            "static void joinAll(Thread[] t) throws Exception { for (Thread w : t) w.join(); }",
            &format!("{FILL} joinAll(args.length > 0 ? t : new Thread[0]);"),
            LOOP_JOIN,
        ),
        assumed(
            "one_row_of_two",
            "Thread[][] t = new Thread[2][2]; Thread a = new Thread(() -> add()); Thread b = new Thread(() -> add());
         t[0][0] = a; t[1][1] = b; a.start(); b.start();
         Thread[] r = t[0]; for (Thread w : r) w.join();",
        ),
        certain(
            "two_loops_that_join",
            &format!("{FILL} if (args.length > 0) {{ for (Thread w : t) w.join(); }} else {{ for (int i = 0; i < 4; i++) t[i].join(); }}"),
        ),
        is_unsafe(
            "joined_on_a_condition",
            "static synchronized void add() { x++; }",
            &format!("{FILL} for (Thread w : t) if (w.isDaemon()) w.join(); System.out.println(x);"),
            "x",
        ),
    ]
}

fn loop_join(name: &'static str, members: &str, main: &str, order: Order) -> Case {
    let members = format!("static synchronized void add() {{ x++; }} {members}");
    is_safe_by(name, &members, &format!("{main} System.out.println(x);"), "x", order)
}
