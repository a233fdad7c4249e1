//! A handler around a whole method body, as a method that was `synchronized` needs one.
//!
//! Its frame is the entry frame, the only one that can be known without an analysis: `this` and the
//! parameters, with the exception on the stack. A parameter whose variable is overwritten anywhere in
//! the body, or unknown at some frame of it, is unknown in the handler.

use crate::edit::code::LabelFrame;
use crate::edit::frames::{Chain, entry_locals};
use crate::edit::{CodeEditor, CodeError, Handler, NodeId, PoolEditor};
use crate::{Instruction, Opcode, VerificationType};

type Type = VerificationType<NodeId>;

impl CodeEditor {
    /// Adds a handler for everything around the whole body, after all other handlers, that throws its
    /// exception again. Returns the `athrow`: what is inserted before it runs in the handler, with the
    /// exception on the stack and `this` and the parameters in their variables.
    ///
    /// Fails in a constructor, and when `this` is overwritten in the body; nothing is changed then.
    pub fn catch_all(&mut self, pool: &mut PoolEditor<'_>) -> Result<NodeId, CodeError> {
        if self.context.is_constructor {
            return Err(CodeError::Constructor);
        }
        let first = self.first().ok_or(CodeError::Empty)?;
        let locals = self.lasting_locals(pool)?;
        let throwable = pool.add_class(b"java/lang/Throwable")?;

        let start = self.new_label();
        let handler = self.new_label();
        self.bind_before(start, first)?;
        self.bind_at_end(handler)?;
        let throw = self.append(Instruction::Plain(Opcode::AThrow));
        if self.context.has_frames {
            self.set_frame(handler, locals, vec![Type::Object(throwable)]);
        }
        self.add_handler(Handler { start, end: handler, handler, catch_type: None });
        self.max_stack = self.max_stack.max(1);
        Ok(throw)
    }

    /// The locals of the entry frame that hold at every instruction.
    fn lasting_locals(&self, pool: &mut PoolEditor<'_>) -> Result<Vec<Type>, CodeError> {
        let entry = entry_locals(self, pool)?;
        let mut slots = Slots::new(&entry);
        for (_, instruction) in self.instructions() {
            if let Instruction::Local { opcode, local } = instruction {
                slots.access(*opcode, *local);
            }
        }
        let mut chain = Chain { locals: entry.clone(), stack: Vec::new() };
        for label in self.nodes().filter_map(|node| self.label(node)) {
            match self.frame(label) {
                None => {}
                Some(LabelFrame::Original(frame)) => {
                    chain.apply(frame, label)?;
                    slots.meet(&chain.locals);
                }
                Some(LabelFrame::New { locals, .. }) => slots.meet(locals),
            }
        }
        if !self.context.is_static && !slots.lasting[0] {
            return Err(CodeError::ThisOverwritten);
        }
        Ok(slots.locals(&entry))
    }
}

/// Which slots of the entry frame keep their value's type.
struct Slots {
    /// The type that begins in each slot; nothing in the second slot of a long or double.
    types: Vec<Option<Type>>,
    lasting: Vec<bool>,
}

impl Slots {
    fn new(entry: &[Type]) -> Self {
        let mut types = Vec::new();
        for &local in entry {
            types.push(Some(local));
            if local.slots() == 2 {
                types.push(None);
            }
        }
        Self { lasting: vec![true; types.len()], types }
    }

    fn access(&mut self, opcode: Opcode, local: u16) {
        let long = opcode.long_form();
        let slots = match long {
            Opcode::IStore | Opcode::FStore | Opcode::AStore => 1,
            Opcode::LStore | Opcode::DStore => 2,
            _ => return,
        };
        for slot in usize::from(local)..usize::from(local) + slots {
            self.lose(slot);
        }
    }

    /// The value in `slot` is another one now; half of a long or double takes the other half along.
    fn lose(&mut self, slot: usize) {
        match self.types.get(slot) {
            None => {}
            Some(Some(_)) => self.lasting[slot] = false,
            Some(None) => self.lasting[slot - 1] = false,
        }
    }

    /// Only what a frame says as well lasts.
    fn meet(&mut self, locals: &[Type]) {
        let other = Self::new(locals);
        for slot in 0..self.types.len() {
            if self.types[slot].is_some() && other.types.get(slot) != self.types.get(slot) {
                self.lasting[slot] = false;
            }
        }
    }

    fn locals(&self, entry: &[Type]) -> Vec<Type> {
        let mut locals = Vec::with_capacity(entry.len());
        let mut slot = 0;
        for &local in entry {
            if self.lasting[slot] {
                locals.push(local);
            } else {
                locals.extend(std::iter::repeat_n(Type::Top, local.slots()));
            }
            slot += local.slots();
        }
        while locals.last() == Some(&Type::Top) {
            locals.pop();
        }
        locals
    }
}
