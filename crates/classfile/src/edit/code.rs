//! A method body as a list of instructions and labels.
//!
//! The nodes lie in an arena and form a doubly linked list, as the layout of Cranelift's functions, so
//! that ids stay valid and every change takes constant time. A label is bound by a node of its own in
//! front of the instruction it names. What is inserted before an instruction therefore comes after
//! its labels: jumps to the instruction run the probe, and a handler whose range starts there covers
//! it, while one whose range ends there does not.
//!
//! What names a position is tied to a label; what names an instruction (the `new` of an uninitialized
//! object in a frame, the target of a type annotation) is tied to the instruction, because a probe may
//! stand between the label and it.

use unsnarl_entity::{PrimaryMap, entity_id};

use crate::edit::CodeError;
use crate::{ConstantIndex, Frame, Instruction, MethodDescriptor, VerificationType};

entity_id! {
    /// An instruction or the binding of a label.
    pub struct NodeId("node");
    /// A position in the code.
    pub struct LabelId("label");
    /// An exception handler.
    pub struct HandlerId("handler");
}

/// The body of a method that is being changed.
#[derive(Clone, Debug)]
pub struct CodeEditor {
    /// The highest number of words on the operand stack.
    pub max_stack: u16,
    /// The number of local variables, arguments included.
    pub max_locals: u16,
    pub(crate) context: Context,
    nodes: PrimaryMap<NodeId, Node>,
    ends: Option<(NodeId, NodeId)>,
    labels: PrimaryMap<LabelId, Label>,
    pub(crate) handlers: PrimaryMap<HandlerId, Handler>,
    pub(crate) handler_order: Vec<HandlerId>,
    pub(crate) attributes: Vec<CodeAttribute>,
}

/// What a body has to know of its method.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) is_static: bool,
    /// Whether `this` is uninitialized at the start.
    pub(crate) is_constructor: bool,
    pub(crate) descriptor: Box<[u8]>,
    pub(crate) this_class: ConstantIndex,
    /// Whether the class-file version wants stack map frames.
    pub(crate) has_frames: bool,
    /// Whether the JVM falls back to checking without frames, so that a body may come without them.
    pub(crate) may_lack_frames: bool,
}

/// An exception handler. Its range is from `start` up to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handler {
    /// The first instruction that is covered.
    pub start: LabelId,
    /// After the last instruction that is covered.
    pub end: LabelId,
    /// Where the handler begins.
    pub handler: LabelId,
    /// What is caught; nothing means everything.
    pub catch_type: Option<ConstantIndex>,
}

#[derive(Clone, Debug)]
struct Node {
    content: Content,
    previous: Option<NodeId>,
    next: Option<NodeId>,
}

#[derive(Clone, Debug)]
enum Content {
    Instruction(Instruction<LabelId>),
    Label(LabelId),
    Removed,
}

#[derive(Clone, Debug, Default)]
struct Label {
    binding: Option<NodeId>,
    frame: Option<LabelFrame>,
}

/// A frame of the file is written in the form that it has there; one that was added is a full one.
#[derive(Clone, Debug)]
pub(crate) enum LabelFrame {
    Original(Frame<NodeId>),
    New { locals: Vec<VerificationType<NodeId>>, stack: Vec<VerificationType<NodeId>> },
}

/// An attribute of the code; they keep their order.
#[derive(Clone, Debug)]
pub(crate) enum CodeAttribute {
    /// The place of the stack map table, whose frames hang on the labels.
    Frames {
        name: ConstantIndex,
    },
    Lines {
        name: ConstantIndex,
        entries: Vec<(LabelId, u16)>,
    },
    Variables {
        name: ConstantIndex,
        entries: Vec<Variable>,
    },
    TypeAnnotations {
        name: ConstantIndex,
        entries: Vec<CodeTypeAnnotation>,
    },
    Other {
        name: ConstantIndex,
        content: Box<[u8]>,
    },
}

/// An entry of a local variable table or a local variable type table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    pub(crate) start: LabelId,
    pub(crate) end: LabelId,
    pub(crate) name: ConstantIndex,
    pub(crate) descriptor: ConstantIndex,
    pub(crate) local: u16,
}

/// A type annotation inside a body.
#[derive(Clone, Debug)]
pub(crate) struct CodeTypeAnnotation {
    pub(crate) kind: u8,
    pub(crate) target: CodeTarget,
    /// Type path and annotation.
    pub(crate) content: Box<[u8]>,
}

/// What a type annotation inside a body is on.
#[derive(Clone, Debug)]
pub(crate) enum CodeTarget {
    Variable(Vec<(LabelId, LabelId, u16)>),
    Catch(HandlerId),
    Instruction {
        node: NodeId,
        argument: Option<u8>,
    },
    /// A target that names no place in the code, or one that there is not.
    Fixed(Box<[u8]>),
}

impl CodeEditor {
    pub(crate) fn empty(context: Context) -> Self {
        let arguments = MethodDescriptor::parse(&context.descriptor)
            .map_or(0, |descriptor| descriptor.parameter_slots());
        let max_locals = arguments + usize::from(!context.is_static);
        Self {
            max_stack: 0,
            max_locals: max_locals.min(usize::from(u16::MAX)) as u16,
            context,
            nodes: PrimaryMap::new(),
            ends: None,
            labels: PrimaryMap::new(),
            handlers: PrimaryMap::new(),
            handler_order: Vec::new(),
            attributes: Vec::new(),
        }
    }

    /// Makes room for `words` more on the operand stack.
    pub fn grow_stack(&mut self, words: u16) {
        self.max_stack = self.max_stack.saturating_add(words);
    }

    /// Makes room for `slots` more local variables and returns the number of the first. Frames do not
    /// know it: it has no value after a jump.
    pub fn new_local(&mut self, slots: u16) -> u16 {
        let local = self.max_locals;
        self.max_locals = self.max_locals.saturating_add(slots);
        local
    }

    /// The first node.
    pub fn first(&self) -> Option<NodeId> {
        self.ends.map(|(first, _)| first)
    }

    /// The last node.
    pub fn last(&self) -> Option<NodeId> {
        self.ends.map(|(_, last)| last)
    }

    /// The node after `node`; for a removed one, what stood there then.
    pub fn next(&self, node: NodeId) -> Option<NodeId> {
        self.nodes[node].next
    }

    /// The node in front of `node`; for a removed one, what stood there then.
    pub fn previous(&self, node: NodeId) -> Option<NodeId> {
        self.nodes[node].previous
    }

    /// All nodes in order.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.first(), |&node| self.next(node))
    }

    /// All instructions in order.
    pub fn instructions(&self) -> impl Iterator<Item = (NodeId, &Instruction<LabelId>)> + '_ {
        self.nodes().filter_map(|node| Some((node, self.instruction(node)?)))
    }

    /// The first instruction.
    pub fn first_instruction(&self) -> Option<NodeId> {
        self.instructions().next().map(|(node, _)| node)
    }

    /// The instruction that `node` is.
    pub fn instruction(&self, node: NodeId) -> Option<&Instruction<LabelId>> {
        match &self.nodes[node].content {
            Content::Instruction(instruction) => Some(instruction),
            _ => None,
        }
    }

    /// The label that `node` binds.
    pub fn label(&self, node: NodeId) -> Option<LabelId> {
        match self.nodes[node].content {
            Content::Label(label) => Some(label),
            _ => None,
        }
    }

    /// Whether `node` was taken out.
    pub fn is_removed(&self, node: NodeId) -> bool {
        matches!(self.nodes[node].content, Content::Removed)
    }

    /// How many nodes were ever made; bounds [`NodeId`]s.
    pub(crate) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Puts an instruction in front of `node`.
    ///
    /// # Panics
    /// When `node` was removed: there is no place in front of it.
    pub fn insert_before(&mut self, node: NodeId, instruction: Instruction<LabelId>) -> NodeId {
        self.link_before(node, Content::Instruction(instruction))
    }

    /// Puts an instruction after `node`, in front of the labels that follow.
    ///
    /// # Panics
    /// When `node` was removed: there is no place after it.
    pub fn insert_after(&mut self, node: NodeId, instruction: Instruction<LabelId>) -> NodeId {
        self.link_after(node, Content::Instruction(instruction))
    }

    /// Puts an instruction at the end.
    pub fn append(&mut self, instruction: Instruction<LabelId>) -> NodeId {
        self.link_at_end(Content::Instruction(instruction))
    }

    /// Puts `instruction` into the place of the one that `node` is, and returns that one. Frames and
    /// annotations that name the node now mean the new instruction. Nothing happens to a label.
    pub fn replace(
        &mut self,
        node: NodeId,
        instruction: Instruction<LabelId>,
    ) -> Option<Instruction<LabelId>> {
        match &mut self.nodes[node].content {
            Content::Instruction(old) => Some(std::mem::replace(old, instruction)),
            _ => None,
        }
    }

    /// Takes an instruction out and returns it. Its type annotations vanish with it; a frame that holds
    /// the uninitialized object of a removed `new` makes [`set_code`](crate::edit::ClassEditor::set_code)
    /// fail. Labels stay.
    pub fn remove(&mut self, node: NodeId) -> Option<Instruction<LabelId>> {
        let Node { content, previous, next } = &mut self.nodes[node];
        if !matches!(content, Content::Instruction(_)) {
            return None;
        }
        let (previous, next) = (*previous, *next);
        let Content::Instruction(old) = std::mem::replace(content, Content::Removed) else {
            unreachable!("matched above")
        };
        if let Some(previous) = previous {
            self.nodes[previous].next = next;
        }
        if let Some(next) = next {
            self.nodes[next].previous = previous;
        }
        self.ends = self.ends.and_then(|(first, last)| {
            let first = if first == node { next } else { Some(first) };
            let last = if last == node { previous } else { Some(last) };
            first.zip(last)
        });
        Some(old)
    }

    /// A label that stands nowhere yet.
    pub fn new_label(&mut self) -> LabelId {
        self.labels.push(Label::default())
    }

    /// Binds a label in front of `node`.
    ///
    /// # Panics
    /// When `node` was removed: there is no place in front of it.
    pub fn bind_before(&mut self, label: LabelId, node: NodeId) -> Result<NodeId, CodeError> {
        self.check_unbound(label)?;
        let binding = self.link_before(node, Content::Label(label));
        self.labels[label].binding = Some(binding);
        Ok(binding)
    }

    /// Binds a label after `node`.
    ///
    /// # Panics
    /// When `node` was removed: there is no place after it.
    pub fn bind_after(&mut self, label: LabelId, node: NodeId) -> Result<NodeId, CodeError> {
        self.check_unbound(label)?;
        let binding = self.link_after(node, Content::Label(label));
        self.labels[label].binding = Some(binding);
        Ok(binding)
    }

    /// Binds a label at the end.
    pub fn bind_at_end(&mut self, label: LabelId) -> Result<NodeId, CodeError> {
        self.check_unbound(label)?;
        let binding = self.link_at_end(Content::Label(label));
        self.labels[label].binding = Some(binding);
        Ok(binding)
    }

    /// The node that binds a label.
    pub fn binding(&self, label: LabelId) -> Option<NodeId> {
        self.labels[label].binding
    }

    /// Says what the verifier has to assume at a label that is jumped to. A frame that was there is
    /// replaced.
    pub fn set_frame(
        &mut self,
        label: LabelId,
        locals: Vec<VerificationType<NodeId>>,
        stack: Vec<VerificationType<NodeId>>,
    ) {
        // Later frames of the file are relative to the one that stood here, so that one is put on a
        // label of its own in front and merged away when the body is written.
        if let (Some(LabelFrame::Original(_)), Some(binding)) =
            (&self.labels[label].frame, self.labels[label].binding)
        {
            let frame = self.labels[label].frame.take();
            let twin = self.labels.push(Label { binding: None, frame });
            let node = self.link_before(binding, Content::Label(twin));
            self.labels[twin].binding = Some(node);
        }
        self.labels[label].frame = Some(LabelFrame::New { locals, stack });
    }

    pub(crate) fn set_original_frame(&mut self, label: LabelId, frame: Frame<NodeId>) {
        self.labels[label].frame = Some(LabelFrame::Original(frame));
    }

    pub(crate) fn frame(&self, label: LabelId) -> Option<&LabelFrame> {
        self.labels[label].frame.as_ref()
    }

    /// The handlers in the order in which they are tried.
    pub fn handlers(&self) -> impl Iterator<Item = (HandlerId, &Handler)> + '_ {
        self.handler_order.iter().map(|&id| (id, &self.handlers[id]))
    }

    /// A handler for change, such as another start of its range.
    ///
    /// # Panics
    /// When the id is not one of this body.
    pub fn handler_mut(&mut self, handler: HandlerId) -> &mut Handler {
        &mut self.handlers[handler]
    }

    /// Adds a handler that is tried after all others.
    pub fn add_handler(&mut self, handler: Handler) -> HandlerId {
        let id = self.handlers.push(handler);
        self.handler_order.push(id);
        id
    }

    /// Adds a handler that is tried before all others.
    pub fn add_handler_first(&mut self, handler: Handler) -> HandlerId {
        let id = self.handlers.push(handler);
        self.handler_order.insert(0, id);
        id
    }

    fn check_unbound(&self, label: LabelId) -> Result<(), CodeError> {
        match self.labels[label].binding {
            None => Ok(()),
            Some(_) => Err(CodeError::BoundTwice(label)),
        }
    }

    fn link_before(&mut self, node: NodeId, content: Content) -> NodeId {
        assert!(!self.is_removed(node), "{node} was removed");
        let previous = self.nodes[node].previous;
        self.link(previous, Some(node), content)
    }

    fn link_after(&mut self, node: NodeId, content: Content) -> NodeId {
        assert!(!self.is_removed(node), "{node} was removed");
        let next = self.nodes[node].next;
        self.link(Some(node), next, content)
    }

    fn link_at_end(&mut self, content: Content) -> NodeId {
        self.link(self.last(), None, content)
    }

    fn link(&mut self, previous: Option<NodeId>, next: Option<NodeId>, content: Content) -> NodeId {
        let node = self.nodes.push(Node { content, previous, next });
        if let Some(previous) = previous {
            self.nodes[previous].next = Some(node);
        }
        if let Some(next) = next {
            self.nodes[next].previous = Some(node);
        }
        let first = if previous.is_none() { Some(node) } else { self.first() };
        let last = if next.is_none() { Some(node) } else { self.last() };
        self.ends = first.zip(last);
        node
    }
}
