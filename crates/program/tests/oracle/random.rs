//! Random programs: many methods over ints, longs and an array, with bounded loops, branches,
//! switches, labelled jumps and exceptions, written with a fixed seed and compiled by every compiler
//! on the machine. Also methods that are too large to be written by hand.

use std::fmt::Write;

use crate::java;

const METHODS: usize = 160;
const SEEDS: i32 = 10;

pub(crate) fn random_programs_run_alike() {
    let mut generator =
        Generator { state: 0x5eed_0123_4567_89ab, out: String::new(), loops: 0, budget: 0 };
    let mut source = String::from("class Generated {\n");
    let mut names: Vec<String> = (0..METHODS).map(|number| format!("m{number}")).collect();
    for name in &names {
        source += &generator.method(name);
    }
    for (name, text) in [("wide", wide_locals()), ("large", far_jumps())] {
        names.push(name.to_owned());
        source += &text;
    }
    source += "}\n";
    if !java::eclipse_is_present() {
        java::report("skipped: Eclipse's compiler is not installed (libeclipse-jdt-core-java)");
    }
    let methods: Vec<String> = names.iter().map(|name| format!("Generated.{name}")).collect();
    std::thread::scope(|scope| {
        for compiler in java::compilers() {
            let (source, methods) = (&source, &methods);
            scope.spawn(move || {
                let folder = tempfile::tempdir().expect("a folder");
                let file = folder.path().join("Generated.java");
                std::fs::write(&file, source).expect("a writable folder");
                compiler.compile(&[file], folder.path());
                compiler.compare(folder.path(), methods, SEEDS);
            });
        }
    });
}

/// More than 256 variables: loads, stores and increments in their wide forms.
fn wide_locals() -> String {
    let mut text = String::from("static long wide(int seed) {\n  int v0 = seed;\n");
    for number in 1..300 {
        let _ = writeln!(text, "  int v{number} = v{} + {};", number - 1, number % 7);
    }
    text += "  long w = v299; double d = v256 * 0.5; Object o = \"text\";
  v298 += 1000; v297++;
  for (int i = 0; i < 5; i++) {
    v296 -= 300; w = w * 3 + v296; d += w; o = o == null ? \"x\" : i == 3 ? null : o;
  }
  try { v295 = v1 / (seed % 3); v294 = 5; } catch (ArithmeticException e) { v293 = v294 + v295; }
  return v293 + v294 * 3 + v295 * 5 + v296 * 7 + v297 + v298 + w + (long) d + (o == null ? 1 : 2);
}
";
    text
}

/// Jumps across more than 32 KB.
fn far_jumps() -> String {
    let mut text = String::from(
        "static long large(int seed) {\n  int x = seed; int y = 1;\n  for (int i = 0; i < 3; i++) {\n    \
         if (x % 5 == 1) continue;\n    if (seed == 7 && i == 1) break;\n    try {\n",
    );
    for number in 0..2700 {
        let _ = writeln!(text, "      x = x * 31 + y; y ^= x + {};", number % 5);
    }
    text += "      y /= seed % 4;\n    } catch (ArithmeticException e) { y++; }\n  }\n";
    text += "  return x * 3L + y;\n}\n";
    text
}

/// Writes methods. What it writes is Java 1.4, and always ends.
struct Generator {
    state: u64,
    out: String,
    /// How many loops were written in the method, for the names of counters and labels.
    loops: usize,
    /// How many more statements with others inside the method may have.
    budget: usize,
}

/// Where a statement stands.
#[derive(Clone, Copy)]
struct Nesting {
    depth: usize,
    /// The innermost loop, which a jump may name.
    inside: Option<usize>,
    nested_loops: usize,
}

const INT_VARIABLES: [&str; 4] = ["a", "b", "c", "d"];
const LONG_VARIABLES: [&str; 3] = ["p", "q", "r"];
const EXCEPTIONS: [&str; 4] = [
    "ArithmeticException",
    "ArrayIndexOutOfBoundsException",
    "IllegalStateException",
    "RuntimeException",
];

impl Generator {
    fn method(&mut self, name: &str) -> String {
        self.loops = 0;
        self.budget = 3 + self.below(8);
        self.out = format!(
            "static long {name}(int seed) {{\n  int a = seed; int b = 3 - seed; int c = seed * 7; \
             int d = 1;\n  long p = seed; long q = 1L << seed; long r = -5;\n  \
             int[] array = {{1, seed, 3, 4}};\n"
        );
        let count = 3 + self.below(5);
        for _ in 0..count {
            self.statement(Nesting { depth: 0, inside: None, nested_loops: 0 });
        }
        self.out += "  return a + b * 3L + c * 5L + d * 7L + p * 11 + q * 13 + r * 17\n    \
                     + array[0] + array[1] * 3L + array[2] * 5L + array[3] * 7L;\n}\n";
        std::mem::take(&mut self.out)
    }

    /// xorshift64*
    fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, limit: usize) -> usize {
        self.next() as usize % limit
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }

    fn block(&mut self, place: Nesting) {
        let place = Nesting { depth: place.depth + 1, ..place };
        self.out += "{\n";
        for _ in 0..1 + self.below(3) {
            self.statement(place);
        }
        self.out += "}\n";
    }

    fn statement(&mut self, place: Nesting) {
        let kind = match self.budget {
            0 => self.below(6),
            _ => self.below(14),
        };
        self.budget -= usize::from(kind > 5);
        match kind {
            0 | 1 => {
                let variable = self.pick(&INT_VARIABLES);
                let operator = self.pick(&["=", "+=", "-=", "*=", "^=", "/=", "<<="]);
                let value = self.int(0);
                let _ = writeln!(self.out, "{variable} {operator} {value};");
            }
            2 => {
                let variable = self.pick(&LONG_VARIABLES);
                let operator = self.pick(&["=", "+=", "-=", "*=", "|=", "%=", ">>="]);
                let value = self.long(0);
                let _ = writeln!(self.out, "{variable} {operator} {value};");
            }
            3 => {
                let (index, value) = (self.int(1), self.int(1));
                let operator = self.pick(&["=", "+=", "&="]);
                let _ = writeln!(self.out, "array[{index} & 7] {operator} {value};");
            }
            4 | 5 => self.jump(place),
            6 | 7 => {
                let condition = self.condition(0);
                let _ = write!(self.out, "if ({condition}) ");
                self.block(place);
                if self.below(2) == 0 {
                    self.out += "else ";
                    self.block(place);
                }
            }
            8 | 9 if place.nested_loops < 3 => self.repeat(place),
            10 => self.switch(place),
            _ => self.attempt(place),
        }
    }

    fn jump(&mut self, place: Nesting) {
        let condition = self.condition(0);
        let jump = match (self.below(5), place.inside) {
            (0, Some(number)) => format!("break l{number};"),
            (1, Some(number)) => format!("continue l{number};"),
            (2, Some(_)) => "continue;".to_owned(),
            (3, _) if self.below(3) == 0 => format!("return {};", self.long(1)),
            _ => format!("throw new {}();", self.pick(&EXCEPTIONS)),
        };
        let _ = writeln!(self.out, "if ({condition}) {jump}");
    }

    fn repeat(&mut self, place: Nesting) {
        let number = self.loops;
        self.loops += 1;
        let rounds = 1 + self.below(4);
        // A jump may name the loop around this one as well.
        let named = place.inside.filter(|_| self.below(3) == 0).unwrap_or(number);
        let inside = Nesting { inside: Some(named), nested_loops: place.nested_loops + 1, ..place };
        if self.below(2) == 0 {
            let _ = write!(
                self.out,
                "l{number}: for (int n{number} = 0; n{number} < {rounds}; n{number}++) "
            );
            self.block(inside);
        } else {
            let _ = write!(self.out, "int n{number} = 0; l{number}: do ");
            self.block(inside);
            let condition = self.condition(0);
            let _ = writeln!(
                self.out,
                "while (++n{number} < {rounds} || ({condition}) && n{number} < 6);"
            );
        }
    }

    fn switch(&mut self, place: Nesting) {
        let value = self.int(1);
        let _ = writeln!(self.out, "switch ({value} & 3) {{");
        // No plain `continue` or `break` is lost in it: jumps name their loops, or mean the loop.
        for key in 0..3 {
            let _ = write!(self.out, "case {key}: ");
            self.block(place);
            if self.below(2) == 0 {
                self.out += "break;\n";
            }
        }
        self.out += "default: ";
        self.block(place);
        self.out += "}\n";
    }

    fn attempt(&mut self, place: Nesting) {
        self.out += "try ";
        self.block(place);
        let kind = self.below(3);
        if kind != 0 {
            let exception = self.pick(&EXCEPTIONS[..3]);
            let _ = write!(self.out, "catch ({exception} e{}) ", place.depth);
            self.block(place);
            if self.below(2) == 0 {
                let _ = write!(self.out, "catch (RuntimeException e{}) ", place.depth);
                self.block(place);
            }
        }
        if kind != 1 {
            self.out += "finally ";
            self.block(place);
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        let operator = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
        let depth = depth + 1;
        match self.below(4) {
            0 => format!("{} {operator} {}", self.long(depth), self.long(depth)),
            1 => {
                format!("({} & 3) == {} || {} > 9", self.int(depth), self.below(4), self.int(depth))
            }
            2 => format!("({} & 1) != 0 && {} {operator} 2", self.int(depth), self.int(depth)),
            _ => format!("{} {operator} {}", self.int(depth), self.int(depth)),
        }
    }

    fn int(&mut self, depth: usize) -> String {
        let leaf = depth >= 3;
        match self.below(if leaf { 3 } else { 12 }) {
            0 | 1 => self.pick(&INT_VARIABLES).to_owned(),
            2 => (self.below(20) as i32 - 5).to_string(),
            3..=6 => {
                let operator = self.pick(&["+", "-", "*", "&", "|", "^", "<<", ">>", ">>>"]);
                format!("({} {operator} {})", self.int(depth + 1), self.int(depth + 1))
            }
            7 => {
                let operator = self.pick(&["/", "%"]);
                format!("({} {operator} {})", self.int(depth + 1), self.int(depth + 1))
            }
            8 => format!(
                "({} ? {} : {})",
                self.condition(depth + 1),
                self.int(depth + 1),
                self.int(depth + 1)
            ),
            9 => {
                let (variable, step) = (self.pick(&INT_VARIABLES), self.pick(&["++", "--"]));
                if self.below(2) == 0 {
                    format!("({variable}{step})")
                } else {
                    format!("({step}{variable})")
                }
            }
            10 => format!("array[{} & 3]", self.int(depth + 1)),
            _ => {
                let kind = self.pick(&["int", "short", "byte", "char"]);
                format!("({kind}) {}", self.long(depth + 1))
            }
        }
    }

    fn long(&mut self, depth: usize) -> String {
        let leaf = depth >= 3;
        match self.below(if leaf { 3 } else { 9 }) {
            0 | 1 => self.pick(&LONG_VARIABLES).to_owned(),
            2 => format!("{}L", self.below(1000) as i64 - 200),
            3 | 4 => {
                let operator = self.pick(&["+", "-", "*", "&", "^", "/"]);
                format!("({} {operator} {})", self.long(depth + 1), self.long(depth + 1))
            }
            5 => format!("({} << {})", self.long(depth + 1), self.int(depth + 1)),
            6 => format!(
                "({} ? {} : {})",
                self.condition(depth + 1),
                self.long(depth + 1),
                self.int(depth + 1)
            ),
            7 => {
                let (variable, value) = (self.pick(&LONG_VARIABLES), self.long(depth + 1));
                format!("({variable} {} {value})", self.pick(&["=", "+=", "*="]))
            }
            _ => format!("(long) {}", self.int(depth + 1)),
        }
    }
}
