//! The probes around a call of a library method.
//!
//! The operands go into local variables above those of the method, and from there back onto the stack; only the receiver
//! stays there.
//! The variables have no value at any jump, so no frame knows them. A constructor is reported as a whole after
//! its call, when its object can be passed on.

use std::collections::HashMap;

use unsnarl_classfile::Opcode::*;
use unsnarl_classfile::edit::{
    CodeEditor, CodeError, Handler, Inserter, NodeId, PoolEditor, PoolError,
};
use unsnarl_classfile::{FieldType, Instruction, MethodDescriptor, Opcode, VerificationType};
use unsnarl_recording::{Dispatch, MethodName, SiteNumber};

use crate::hooks::{self, Hook};
use crate::recorded::{OperandKind, RecordedCall};

/// Where the operands of one call are kept.
pub(crate) struct CallProbe<'p> {
    call: &'p RecordedCall,
    dispatch: Dispatch,
    is_constructor: bool,
    site: SiteNumber,
    /// The receiver, and the arguments with their types.
    receiver: Option<u16>,
    arguments: Vec<(FieldType<'p>, u16)>,
    /// Whether the call is recorded (twice that if it may make others run what it is about), and its number.
    considered: u16,
    number: u16,
    result: Option<FieldType<'p>>,
}

impl<'p> CallProbe<'p> {
    /// Keeps the operands in variables from `first_local` on. Nothing if the descriptor is none.
    pub(crate) fn new(
        call: &'p RecordedCall,
        method: &'p MethodName,
        dispatch: Dispatch,
        site: SiteNumber,
        first_local: u16,
    ) -> Option<Self> {
        let descriptor = MethodDescriptor::parse(&method.descriptor)?;
        let mut next = first_local;
        let mut local = |words: u16| {
            let local = next;
            next = next.checked_add(words)?;
            Some(local)
        };
        let considered = local(1)?;
        let number = local(1)?;
        let has_receiver = dispatch != Dispatch::Static;
        let receiver = if has_receiver { Some(local(1)?) } else { None };
        let arguments = descriptor
            .parameters()
            .map(|parameter| Some((parameter, local(parameter.slots() as u16)?)))
            .collect::<Option<_>>()?;
        Some(Self {
            call,
            dispatch,
            is_constructor: method.name == b"<init>",
            site,
            receiver,
            arguments,
            considered,
            number,
            result: descriptor.result(),
        })
    }

    /// How many local variables the method has with those of the probe.
    pub(crate) fn locals(&self) -> u16 {
        let behind =
            self.arguments.last().map(|&(parameter, local)| local + parameter.slots() as u16);
        behind.or(self.receiver.map(|local| local + 1)).unwrap_or(self.number + 1)
    }

    /// Puts the probes around the call, which `node` is.
    pub(crate) fn insert(
        &self,
        code: &mut CodeEditor,
        pool: &mut PoolEditor<'_>,
        node: NodeId,
    ) -> Result<(), CodeError> {
        let mut before = code.before(node, pool);
        let none_needed = self.receiver.is_none() && self.call.operands.is_empty();
        let stay = self.arguments.is_empty() || none_needed;
        if !stay {
            for &(parameter, local) in self.arguments.iter().rev() {
                before.local(store_of(parameter), local);
            }
        }
        // The receiver stays where it is: the message of a `NullPointerException` tells where it came from.
        if let Some(receiver) = self.receiver {
            before.plain(Dup).local(AStore, receiver);
        }
        if !self.is_constructor {
            self.report(&mut before)?;
        }
        if !stay {
            for &(parameter, local) in &self.arguments {
                before.local(load_of(parameter), local);
            }
        }
        if !self.is_constructor {
            self.forget(&mut before, !stay);
        }
        // Code that ends with a call is refused by the verifier anyway.
        let Some(next) = code.next(node) else { return Ok(()) };
        let mut after = code.before(next, pool);
        if self.is_constructor {
            self.report(&mut after)?;
            self.forget(&mut after, !stay);
        }
        self.end(&mut after)?;
        if self.call.failure && !self.is_constructor {
            catch(code, pool, node, |handler| {
                handler.plain(Dup).local(ILoad, self.number);
                invoke(handler, hooks::CALL_FAILS)
            })?;
        }
        Ok(())
    }

    /// Clears the variables: they must not keep alive what the program does not.
    fn forget(&self, code: &mut Inserter<'_, '_>, arguments: bool) {
        let arguments = self.arguments.iter().filter(|_| arguments);
        let references = arguments.filter(|(parameter, _)| load_of(*parameter) == ALoad);
        for local in references.map(|&(_, local)| local).chain(self.receiver) {
            code.plain(AConstNull).local(AStore, local);
        }
    }

    /// Asks whether the call is recorded, and records that it begins and what it is about.
    fn report(&self, code: &mut Inserter<'_, '_>) -> Result<(), PoolError> {
        match (self.call.method, self.receiver) {
            (Some(method), Some(receiver)) if self.dispatch.is_virtual() => {
                code.local(ALoad, receiver).int(method.0.cast_signed())?;
                code.int(self.site.0.cast_signed())?;
                invoke(code, hooks::CONSIDERS)?;
            }
            _ => {
                code.int(self.call.how().into())?;
            }
        }
        if self.call.runs {
            code.int(1)?.plain(IShl);
        }
        code.local(IStore, self.considered);
        for operand in &self.call.operands {
            let Some(&(parameter, local)) = self.arguments.get(usize::from(operand.position))
            else {
                continue;
            };
            code.local(load_of(parameter), local);
            code.int(operand.position.into())?.local(ILoad, self.considered);
            invoke(code, operand_hook(parameter, operand.what))?;
        }
        if self.call.thread {
            code.local(ILoad, self.considered);
            invoke(code, hooks::CALLING_THREAD)?;
        }
        match self.receiver {
            Some(receiver) => code.local(ALoad, receiver),
            None => code.plain(AConstNull),
        };
        code.int(self.site.0.cast_signed())?.local(ILoad, self.considered);
        let begins = match self.call {
            RecordedCall { releases: true, .. } => hooks::CALL_BEGINS,
            RecordedCall { looks: true, .. } => hooks::CALL_LOOKS,
            _ => hooks::CALL_BEGINS_QUIETLY,
        };
        invoke(code, begins)?;
        code.local(IStore, self.number);
        Ok(())
    }

    fn end(&self, code: &mut Inserter<'_, '_>) -> Result<(), PoolError> {
        let hook = match self.result.map(FieldType::descriptor) {
            Some([b'L' | b'[', ..]) => {
                code.plain(Dup);
                hooks::CALL_ENDS_REFERENCE
            }
            Some(b"I" | b"S" | b"B" | b"C" | b"Z") => {
                code.plain(Dup);
                hooks::CALL_ENDS_INT
            }
            Some(b"J") => {
                code.plain(Dup2);
                hooks::CALL_ENDS_LONG
            }
            _ => hooks::CALL_ENDS,
        };
        code.local(ILoad, self.number);
        invoke(code, hook)
    }
}

/// Puts a handler around a call that reports that it has failed, and throws again what was thrown. What the handlers
/// around the call catch they catch there as well. Where it is not known what the handler finds in the local
/// variables, or an object is not initialized yet, a failure is not reported, and `false` returned.
pub(crate) fn catch(
    code: &mut CodeEditor,
    pool: &mut PoolEditor<'_>,
    node: NodeId,
    report: impl FnOnce(&mut Inserter<'_, '_>) -> Result<(), PoolError>,
) -> Result<bool, CodeError> {
    let known = code.known_before(node, pool)?.map(|(locals, _)| locals);
    let is_uninitialized = |local: &VerificationType<_>| {
        matches!(local, VerificationType::UninitializedThis | VerificationType::Uninitialized(_))
    };
    let locals = match known {
        Some(locals) if !locals.iter().any(is_uninitialized) => locals,
        _ if !code.has_frames() => Vec::new(),
        _ => return Ok(false),
    };
    let around = handlers_around(code, node);
    let [start, end, handler, behind] = [(); 4].map(|()| code.new_label());
    code.bind_before(start, node)?;
    code.bind_after(end, node)?;
    code.bind_at_end(handler)?;
    let throw = code.append(Instruction::Plain(AThrow));
    report(&mut code.before(throw, pool))?;
    code.bind_at_end(behind)?;
    code.add_handler_first(Handler { start, end, handler, catch_type: None });
    for outer in around {
        code.add_handler(Handler { start: handler, end: behind, ..outer });
    }
    if code.has_frames() {
        let throwable = VerificationType::Object(pool.add_class(b"java/lang/Throwable")?);
        code.set_frame(handler, locals, vec![throwable]);
    }
    Ok(true)
}

/// Reports in a handler that what was thrown tells of an interrupt, if it does.
pub(crate) fn interrupted(
    handler: &mut Inserter<'_, '_>,
    site: SiteNumber,
) -> Result<(), PoolError> {
    handler.plain(Dup).int(site.0.cast_signed())?;
    invoke(handler, hooks::INTERRUPTED)
}

/// The handlers whose ranges have a node in them, in the order in which they are tried.
pub(crate) fn handlers_around(code: &CodeEditor, node: NodeId) -> Vec<Handler> {
    let places: HashMap<NodeId, usize> =
        code.nodes().enumerate().map(|(place, node)| (node, place)).collect();
    let place = |label| code.binding(label).and_then(|node| places.get(&node)).copied();
    let at = places.get(&node).copied();
    let covers = |handler: &Handler| (place(handler.start)..place(handler.end)).contains(&at);
    code.handlers().map(|(_, handler)| handler).filter(|it| covers(it)).cloned().collect()
}

pub(crate) fn invoke(code: &mut Inserter<'_, '_>, hook: Hook) -> Result<(), PoolError> {
    code.invoke_static(hook.class, hook.name, hook.descriptor)?;
    Ok(())
}

fn operand_hook(parameter: FieldType<'_>, what: OperandKind) -> Hook {
    match (what, parameter.descriptor()) {
        (OperandKind::Reference, _) => hooks::REFERENCE,
        (OperandKind::Array, _) => hooks::ARRAY,
        (OperandKind::Elements, _) => hooks::ELEMENTS,
        (OperandKind::Text, _) => hooks::TEXT,
        (OperandKind::Number, b"J") => hooks::LONG,
        (OperandKind::Number, _) => hooks::INT,
    }
}

pub(crate) fn load_of(parameter: FieldType<'_>) -> Opcode {
    match parameter.descriptor() {
        b"J" => LLoad,
        b"F" => FLoad,
        b"D" => DLoad,
        [b'L' | b'[', ..] => ALoad,
        _ => ILoad,
    }
}

pub(crate) fn store_of(parameter: FieldType<'_>) -> Opcode {
    match parameter.descriptor() {
        b"J" => LStore,
        b"F" => FStore,
        b"D" => DStore,
        [b'L' | b'[', ..] => AStore,
        _ => IStore,
    }
}
