//! Writing STD.

use std::io::{self, Write};

use unsnarl_entity::{EntityId, SecondaryMap};

use crate::{Event, Operation, VariableId};

/// Writes events in STD form. Things are named by a letter and the number of their id, since the
/// names in a program may have any characters and need not differ; a location is the number of the
/// site.
pub struct StdWriter<W> {
    out: W,
    /// How many variables had the id before.
    generations: SecondaryMap<VariableId, u32>,
}

impl<W: Write> StdWriter<W> {
    /// A writer to `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self { out, generations: SecondaryMap::new() }
    }

    /// Writes one event.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&mut self, event: &Event) -> io::Result<()> {
        write!(self.out, "T{}|", event.thread.index())?;
        self.write_operation(event.operation)?;
        writeln!(self.out, "|{}", event.site.index())
    }

    /// Makes sure that everything is written, and gives the output back.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn write_operation(&mut self, operation: Operation) -> io::Result<()> {
        let Self { out, generations } = self;
        let variable_name = |variable: VariableId| match generations[variable] {
            0 => format!("V{}", variable.index()),
            generation => format!("V{}.{generation}", variable.index()),
        };
        match operation {
            Operation::Read(variable) => write!(out, "r({})", variable_name(variable)),
            Operation::Write(variable) => write!(out, "w({})", variable_name(variable)),
            Operation::Acquire(lock) => write!(out, "acq(L{})", lock.index()),
            Operation::Release(lock) => write!(out, "rel(L{})", lock.index()),
            Operation::AcquireShared(lock) => write!(out, "racq(L{})", lock.index()),
            Operation::ReleaseShared(lock) => write!(out, "rrel(L{})", lock.index()),
            Operation::Request(lock) => write!(out, "req(L{})", lock.index()),
            Operation::Wait(lock) => write!(out, "wait(L{})", lock.index()),
            Operation::Wake(lock) => write!(out, "wake(L{})", lock.index()),
            Operation::Notify(lock) => write!(out, "notify(L{})", lock.index()),
            Operation::Fork(thread) => write!(out, "fork(T{})", thread.index()),
            Operation::Join(thread) => write!(out, "join(T{})", thread.index()),
            Operation::Send(channel) => write!(out, "send(C{})", channel.index()),
            Operation::Receive(channel) => write!(out, "recv(C{})", channel.index()),
            Operation::Start => out.write_all(b"start"),
            Operation::End => out.write_all(b"stop"),
            Operation::Enter(method) => write!(out, "enter(M{})", method.index()),
            Operation::Exit(method) => write!(out, "exit(M{})", method.index()),
            Operation::TransactionBegin => out.write_all(b"begin"),
            Operation::TransactionEnd => out.write_all(b"end"),
            Operation::Forget(variable) => {
                generations[variable] += 1;
                out.write_all(b"dummy")
            }
            // STD knows no objects, and every element is a variable.
            Operation::Allocate(_)
            | Operation::Store(_)
            | Operation::ReadElements(_)
            | Operation::WriteElements(_)
            | Operation::ForgetLock(_)
            | Operation::ForgetChannel(_)
            | Operation::Swept
            | Operation::ForgetElements(_) => out.write_all(b"dummy"),
        }
    }
}
