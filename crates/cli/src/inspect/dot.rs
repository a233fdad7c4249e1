//! Graphs in the language of Graphviz.

use std::io::{self, Write};

/// A graph that is being written.
pub(super) struct Graph<'o> {
    out: &'o mut dyn Write,
}

impl<'o> Graph<'o> {
    pub(super) fn begin(out: &'o mut dyn Write, name: &str) -> io::Result<Self> {
        writeln!(out, "digraph {} {{", quoted(name))?;
        writeln!(out, "  node [shape=box, fontname=\"monospace\"];")?;
        Ok(Self { out })
    }

    pub(super) fn node(&mut self, id: &str, label: &str) -> io::Result<()> {
        writeln!(self.out, "  {} [label={}];", quoted(id), quoted(label))
    }

    /// An edge; an empty label is left out.
    pub(super) fn edge(&mut self, from: &str, to: &str, label: &str) -> io::Result<()> {
        write!(self.out, "  {} -> {}", quoted(from), quoted(to))?;
        if !label.is_empty() {
            write!(self.out, " [label={}]", quoted(label))?;
        }
        writeln!(self.out, ";")
    }

    pub(super) fn end(self) -> io::Result<()> {
        writeln!(self.out, "}}")
    }
}

/// A quoted string; line ends become left-justified line breaks.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\l");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted() {
        let mut out = Vec::new();
        let mut graph = Graph::begin(&mut out, "g").expect("a vector takes every write");
        graph.edge("a\"b", "c\\d", "").expect("a vector takes every write");
        graph.node("n", "one\ntwo\n").expect("a vector takes every write");
        graph.end().expect("a vector takes every write");
        let text = String::from_utf8(out).expect("it is text");
        assert!(text.contains(r#""a\"b" -> "c\\d";"#), "{text}");
        assert!(text.contains(r#""n" [label="one\ltwo\l"];"#), "{text}");
    }
}
