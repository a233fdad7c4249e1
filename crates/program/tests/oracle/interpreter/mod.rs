//! An interpreter of SSA bodies, for comparison with a JVM that runs the same class files.
//!
//! It runs the bodies of the program and those of the JDK's classes; what the JDK writes in C, and
//! what would lead deep into it, is in [`library`]. On the way it checks what a comparison of results
//! would not show: a value has the type that the body claims, only statements that can throw do so,
//! and no object stays locked.
//!
//! Misses: threads, reflection, method handles, and the texts of floating-point numbers.

mod arithmetic;
mod dynamic;
mod library;
mod object;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use unsnarl_classfile::read::{Attribute, Constant as PoolConstant};
use unsnarl_classfile::{Opcode, flags};
use unsnarl_classpath::Role;
use unsnarl_entity::EntityId;
use unsnarl_program::body::{BlockId, Body, Constant, Edge, InvokeKind, Operation, Statement};
use unsnarl_program::names::{FieldRefId, MethodRefId, Symbol, Type, TypeId};
use unsnarl_program::{ClassId, FieldId, MethodId, Program};

pub(crate) use object::{Content, Handle, Object, Value};

/// The exception that ends a call.
pub(crate) type Outcome<T> = Result<T, Handle>;

/// Far more statements than any test needs.
const MOST_STEPS: u64 = 50_000_000;

pub(crate) struct Machine<'p, 'a> {
    program: &'p mut Program<'a>,
    heap: Vec<Object>,
    statics: HashMap<FieldId, Value>,
    initialized: HashSet<ClassId>,
    strings: HashMap<Symbol, Handle>,
    class_objects: HashMap<TypeId, Handle>,
    library_names: HashMap<MethodId, Option<Arc<str>>>,
    locks: HashMap<Handle, u32>,
    /// Statements that may still run.
    steps: u64,
}

/// A method that is being run.
struct Frame {
    method: MethodId,
    body: Arc<Body>,
    values: Vec<Option<Value>>,
    arguments: Vec<Value>,
}

/// What a statement leads to.
enum Next {
    Statement,
    Block(BlockId),
    Return(Option<Value>),
}

impl<'p, 'a> Machine<'p, 'a> {
    pub(crate) fn new(program: &'p mut Program<'a>) -> Self {
        Self {
            program,
            heap: Vec::new(),
            statics: HashMap::new(),
            initialized: HashSet::new(),
            strings: HashMap::new(),
            class_objects: HashMap::new(),
            library_names: HashMap::new(),
            locks: HashMap::new(),
            steps: MOST_STEPS,
        }
    }

    /// Calls a static method by name; an exception becomes `throws a.b.C`.
    pub(crate) fn call(&mut self, class: &str, name: &str, arguments: Vec<Value>) -> String {
        self.steps = MOST_STEPS;
        let class = self.program.find_class(class.as_bytes()).expect("a class on the path");
        let name = self.program.names.symbol(name.as_bytes());
        let methods = self.program.classes()[class].methods.iter().copied();
        let method = methods
            .into_iter()
            .find(|&method| self.program.methods()[method].name == name)
            .expect("a method of that name");
        let outcome = self.initialize(class).and_then(|()| self.run(method, arguments));
        let locked: u32 = self.locks.values().sum();
        assert_eq!(locked, 0, "{} leaves objects locked", self.program.method_text(method));
        match outcome {
            Ok(None) => "void".to_owned(),
            Ok(Some(Value::Int(value))) => value.to_string(),
            Ok(Some(Value::Long(value))) => value.to_string(),
            Ok(Some(Value::Object(text))) => self.text(text),
            Ok(Some(other)) => panic!("{other:?} has no text"),
            Err(exception) => format!("throws {}", self.class_name(exception)),
        }
    }

    fn run(&mut self, method: MethodId, arguments: Vec<Value>) -> Outcome<Option<Value>> {
        if let Some(name) = self.library_name(method)
            && let Some(result) = self.library_call(&name, &arguments)
        {
            return result;
        }
        let Some(body) = self.program.body(method) else {
            panic!("{} has no body to run", self.program.method_text(method));
        };
        let data = &self.program.methods()[method];
        let lock = match (data.access & flags::SYNCHRONIZED != 0, data.is_static()) {
            (false, _) => None,
            (true, false) => Some(arguments[0].handle()),
            (true, true) => {
                let name = self.program.classes()[data.class].name;
                let ty = self.program.names.type_id(Type::Class(name));
                Some(self.class_object(ty))
            }
        };
        if let Some(lock) = lock {
            *self.locks.entry(lock).or_default() += 1;
        }
        let values = vec![None; body.values.len()];
        let outcome = self.run_frame(Frame { method, body, values, arguments });
        if let Some(lock) = lock {
            *self.locks.get_mut(&lock).expect("locked above") -= 1;
        }
        outcome
    }

    fn run_frame(&mut self, mut frame: Frame) -> Outcome<Option<Value>> {
        let body = Arc::clone(&frame.body);
        let mut block = body.entry();
        let mut arrived: Option<Edge> = None;
        let mut caught: Option<Handle> = None;
        'blocks: loop {
            self.phis(&mut frame, block, arrived);
            let mut next = None;
            for (_, statement) in body.block_statements(block) {
                if matches!(statement.operation, Operation::Phi(_)) {
                    continue;
                }
                self.steps = self.steps.checked_sub(1).expect("a program that ends");
                match self.step(&mut frame, statement, caught) {
                    Ok(Next::Statement) => {}
                    Ok(Next::Block(target)) => next = Some(target),
                    Ok(Next::Return(value)) => return Ok(value),
                    Err(exception) => {
                        assert!(
                            statement.operation.can_throw(),
                            "{}: {statement:?} throws {}",
                            self.program.method_text(frame.method),
                            self.class_name(exception)
                        );
                        let Some(handler) = self.handler(&body, block, exception) else {
                            return Err(exception);
                        };
                        arrived = Some(Edge { from: block, exceptional: true });
                        (block, caught) = (handler, Some(exception));
                        continue 'blocks;
                    }
                }
            }
            arrived = Some(Edge { from: block, exceptional: false });
            (block, caught) = (next.expect("a terminator ends a block"), None);
        }
    }

    /// All phis of a block read before any of them writes.
    fn phis(&mut self, frame: &mut Frame, block: BlockId, arrived: Option<Edge>) {
        let body = Arc::clone(&frame.body);
        let Some(edge) = arrived else { return };
        let position = body.blocks[block].predecessors.iter().position(|&other| other == edge);
        let position = position.expect("an edge that arrives");
        let mut chosen = Vec::new();
        for (_, statement) in body.block_statements(block) {
            let Operation::Phi(inputs) = &statement.operation else { break };
            chosen.push((statement, frame.get(inputs[position])));
        }
        for (statement, value) in chosen {
            self.define(frame, statement, value);
        }
    }

    fn handler(&mut self, body: &Body, block: BlockId, exception: Handle) -> Option<BlockId> {
        body.blocks[block].handlers.iter().copied().find(|&handler| {
            let types = body
                .block_statements(handler)
                .find_map(|(_, statement)| match &statement.operation {
                    Operation::Catch(types) => Some(types),
                    _ => None,
                })
                .expect("a handler catches");
            types.is_empty() || types.iter().any(|&ty| self.is_instance(exception, ty))
        })
    }

    fn step(
        &mut self,
        frame: &mut Frame,
        statement: &Statement,
        caught: Option<Handle>,
    ) -> Outcome<Next> {
        let value = match &statement.operation {
            Operation::Goto(target) => return Ok(Next::Block(*target)),
            Operation::Branch { opcode, left, right, then, otherwise } => {
                let right = right.map(|right| frame.get(right));
                let taken = condition(*opcode, frame.get(*left), right);
                return Ok(Next::Block(if taken { *then } else { *otherwise }));
            }
            Operation::Switch { value, cases, default } => {
                let value = frame.get(*value).int();
                let case = cases.iter().find(|&&(key, _)| key == value);
                return Ok(Next::Block(case.map_or(*default, |&(_, target)| target)));
            }
            Operation::Return(value) => {
                return Ok(Next::Return(value.map(|value| frame.get(value))));
            }
            Operation::Throw(value) => {
                return Err(self.non_null(frame.get(*value))?);
            }
            Operation::Phi(_) => unreachable!("phis are run at the entry of a block"),
            Operation::Parameter(number) => Some(frame.arguments[usize::from(*number)]),
            Operation::Catch(_) => Some(Value::Object(caught.expect("an exceptional edge"))),
            Operation::Constant(constant) => Some(self.constant(*constant)),
            Operation::Compute { opcode, operands } => {
                let operands: Vec<Value> = operands.iter().map(|&value| frame.get(value)).collect();
                match arithmetic::compute(*opcode, &operands) {
                    Some(value) => Some(value),
                    None => return Err(self.exception("java/lang/ArithmeticException")),
                }
            }
            Operation::Pure { kind, operands } => {
                let operands: Vec<Value> = operands.iter().map(|&value| frame.get(value)).collect();
                Some(self.pure(frame.method, statement.pc, *kind, &operands)?)
            }
            Operation::Invoke { kind, method, arguments } => {
                let arguments = arguments.iter().map(|&value| frame.get(value)).collect();
                self.invoke(*kind, *method, arguments)?
            }
            Operation::InvokeDynamic { bootstrap, .. } => {
                let reference = self.program.names.method_ref_data(*bootstrap);
                panic!("a call site of {}", self.program.names.text(reference.name));
            }
            Operation::MonitorEnter(object) => {
                let object = self.non_null(frame.get(*object))?;
                *self.locks.entry(object).or_default() += 1;
                None
            }
            Operation::MonitorExit(object) => {
                let object = self.non_null(frame.get(*object))?;
                let count = self.locks.get_mut(&object).expect("an object that is locked");
                *count = count.checked_sub(1).expect("an object that is locked");
                None
            }
            operation => self.access(frame, operation)?,
        };
        match value {
            Some(value) => self.define(frame, statement, value),
            None => assert!(statement.result.is_none(), "{statement:?} has no result"),
        }
        Ok(Next::Statement)
    }

    /// Operations on objects, arrays and static fields.
    fn access(&mut self, frame: &Frame, operation: &Operation) -> Outcome<Option<Value>> {
        Ok(match operation {
            Operation::GetField { object, field } => {
                let object = self.non_null(frame.get(*object))?;
                let field = self.field(*field);
                Some(self.fields(object)[&field])
            }
            Operation::PutField { object, field, value } => {
                let object = self.non_null(frame.get(*object))?;
                let field = self.field(*field);
                let ty = self.program.fields()[field].ty;
                let value = frame.get(*value).narrowed(self.program.names.ty(ty));
                let old = self.fields(object).insert(field, value);
                assert!(old.is_some(), "an object without the field");
                None
            }
            Operation::GetStatic { field } => {
                let field = self.static_field(*field)?;
                Some(self.statics[&field])
            }
            Operation::PutStatic { field, value } => {
                let field = self.static_field(*field)?;
                let ty = self.program.fields()[field].ty;
                let value = frame.get(*value).narrowed(self.program.names.ty(ty));
                self.statics.insert(field, value);
                None
            }
            Operation::ArrayLoad { array, index } => {
                let (array, index) = self.element(frame.get(*array), frame.get(*index))?;
                Some(self.elements(array)[index])
            }
            Operation::ArrayStore { array, index, value } => {
                let (array, index) = self.element(frame.get(*array), frame.get(*index))?;
                let Type::Array(element) = self.program.names.ty(self.heap[array.0].ty) else {
                    panic!("an array has an array type");
                };
                let value = frame.get(*value).narrowed(self.program.names.ty(element));
                if let Value::Object(object) = value
                    && !self.is_instance(object, element)
                {
                    return Err(self.exception("java/lang/ArrayStoreException"));
                }
                self.elements(array)[index] = value;
                None
            }
            Operation::ArrayLength(array) => {
                let array = self.non_null(frame.get(*array))?;
                Some(Value::Int(self.elements(array).len() as i32))
            }
            Operation::New(ty) => {
                let class = self.program.class_of_type(*ty).expect("the type of a class");
                self.initialize(class)?;
                Some(Value::Object(self.allocate(*ty)))
            }
            Operation::NewArray { ty, lengths } => {
                let lengths: Vec<i32> = lengths.iter().map(|&l| frame.get(l).int()).collect();
                if lengths.iter().any(|&length| length < 0) {
                    return Err(self.exception("java/lang/NegativeArraySizeException"));
                }
                Some(self.array(*ty, &lengths))
            }
            Operation::Cast { ty, value } => {
                let value = frame.get(*value);
                if let Value::Object(object) = value
                    && !self.is_instance(object, *ty)
                {
                    return Err(self.exception("java/lang/ClassCastException"));
                }
                Some(value)
            }
            Operation::InstanceOf { ty, value } => Some(Value::Int(match frame.get(*value) {
                Value::Object(object) => i32::from(self.is_instance(object, *ty)),
                _ => 0,
            })),
            other => panic!("{other:?} is not an access"),
        })
    }

    fn invoke(
        &mut self,
        kind: InvokeKind,
        reference: MethodRefId,
        arguments: Vec<Value>,
    ) -> Outcome<Option<Value>> {
        let Some(resolved) = self.program.resolve_method(reference) else {
            let reference = self.program.names.method_ref_data(reference);
            panic!("{} is nowhere", self.program.names.text(reference.name));
        };
        let method = match kind {
            InvokeKind::Static => {
                self.initialize(self.program.methods()[resolved].class)?;
                resolved
            }
            InvokeKind::Special => {
                self.non_null(arguments[0])?;
                resolved
            }
            InvokeKind::Virtual | InvokeKind::Interface => {
                let receiver = self.non_null(arguments[0])?;
                let class = self.program.class_of_type(self.heap[receiver.0].ty).expect("a class");
                match self.program.select_method(class, resolved) {
                    Some(method) => method,
                    None => panic!("{} is abstract", self.program.method_text(resolved)),
                }
            }
        };
        self.run(method, arguments)
    }

    /// Writes a value, after a check that it has the type that the body claims for it.
    fn define(&mut self, frame: &mut Frame, statement: &Statement, value: Value) {
        let Some(result) = statement.result else { return };
        let ty = frame.body.values[result].ty;
        let fits = match (self.program.names.ty(ty), value) {
            (Type::Primitive(primitive), value) => value.is_of(primitive),
            (Type::ReturnAddress, Value::ReturnAddress) | (Type::Null, Value::Null) => true,
            (Type::Class(_) | Type::Array(_), Value::Null) => true,
            (Type::Class(name), Value::Object(object)) => {
                let class = self.program.class_named(name);
                // Verifiers let every object pass for an interface.
                self.program.classes()[class].is_interface() || self.is_instance(object, ty)
            }
            (Type::Array(_), Value::Object(object)) => self.is_instance(object, ty),
            _ => false,
        };
        assert!(
            fits,
            "{}: {statement:?} has the type {} and the value {value:?}",
            self.program.method_text(frame.method),
            self.program.names.type_text(ty)
        );
        frame.values[result.index()] = Some(value);
    }

    fn constant(&mut self, constant: Constant) -> Value {
        match constant {
            Constant::Null => Value::Null,
            Constant::Int(value) => Value::Int(value),
            Constant::Long(value) => Value::Long(value),
            Constant::Float(bits) => Value::Float(f32::from_bits(bits)),
            Constant::Double(bits) => Value::Double(f64::from_bits(bits)),
            Constant::String(symbol) => Value::Object(self.string_constant(symbol)),
            Constant::Class(ty) => Value::Object(self.class_object(ty)),
            Constant::ReturnAddress => Value::ReturnAddress,
            other => panic!("{other:?} is not run"),
        }
    }

    // Classes.

    /// Runs the initializers of a class and those above it. Those of the language's own classes
    /// lead into the JVM; nothing that is run here needs them.
    fn initialize(&mut self, class: ClassId) -> Outcome<()> {
        if !self.initialized.insert(class) {
            return Ok(());
        }
        if let Some(above) = self.program.classes()[class].superclass {
            self.initialize(above)?;
        }
        self.constant_fields(class);
        let name = self.program.classes()[class].name;
        let name = self.program.names.bytes(name);
        let is_basic = name.starts_with(b"java/lang/") || name.starts_with(b"jdk/internal/");
        let (init, descriptor) =
            (self.program.names.known.class_init, self.program.names.symbol(b"()V"));
        match self.program.declared_method(class, init, descriptor) {
            Some(method) if !is_basic => self.run(method, Vec::new()).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Gives the static fields their first values.
    fn constant_fields(&mut self, class: ClassId) {
        let fields = self.program.classes()[class].fields.clone();
        for (index, &field) in fields.iter().enumerate() {
            let data = &self.program.fields()[field];
            if data.access & flags::STATIC == 0 {
                continue;
            }
            let default = Value::default_of(self.program.names.ty(data.ty));
            let file = &self.program.classes()[class].file().expect("a class with a file").file;
            let attribute = file.fields[index].attributes.find(&file.pool, b"ConstantValue");
            let constant = attribute.expect("readable").map(|found| {
                match found.decode(&file.pool).expect("readable") {
                    Attribute::ConstantValue(index) => file.pool.get(index).expect("a constant"),
                    other => panic!("{other:?} is not a constant"),
                }
            });
            let value = match constant {
                None => default,
                Some(PoolConstant::Integer(value)) => Value::Int(value),
                Some(PoolConstant::Long(value)) => Value::Long(value),
                Some(PoolConstant::Float(bits)) => Value::Float(f32::from_bits(bits)),
                Some(PoolConstant::Double(bits)) => Value::Double(f64::from_bits(bits)),
                Some(PoolConstant::String { value }) => {
                    let text = file.pool.utf8(value).expect("text");
                    let text = self.program.names.symbol(text);
                    Value::Object(self.string_constant(text))
                }
                Some(other) => panic!("{other:?} is not a constant of a field"),
            };
            self.statics.insert(field, value);
        }
    }

    fn field(&mut self, reference: FieldRefId) -> FieldId {
        self.program.resolve_field(reference).expect("a field that exists")
    }

    fn static_field(&mut self, reference: FieldRefId) -> Outcome<FieldId> {
        let field = self.field(reference);
        self.initialize(self.program.fields()[field].class)?;
        Ok(field)
    }

    /// `java/lang/String.length()I` for methods of the JDK.
    fn library_name(&mut self, method: MethodId) -> Option<Arc<str>> {
        if let Some(name) = self.library_names.get(&method) {
            return name.clone();
        }
        let data = &self.program.methods()[method];
        let names = &self.program.names;
        let name = (self.program.role(data.class) == Some(Role::Jdk)).then(|| {
            let class = names.text(self.program.classes()[data.class].name);
            format!("{class}.{}{}", names.text(data.name), names.text(data.descriptor)).into()
        });
        self.library_names.insert(method, name.clone());
        name
    }
}

impl Frame {
    fn get(&self, value: unsnarl_program::body::Value) -> Value {
        self.values[value.index()].unwrap_or_else(|| panic!("{value} is read before it is defined"))
    }
}

fn condition(opcode: Opcode, left: Value, right: Option<Value>) -> bool {
    use Opcode::*;
    match opcode {
        IfNull => left == Value::Null,
        IfNonNull => left != Value::Null,
        IfACmpEq => Some(left) == right,
        IfACmpNe => Some(left) != right,
        _ => {
            let (left, right) = (left.int(), right.map_or(0, Value::int));
            match opcode {
                IfEq | IfICmpEq => left == right,
                IfNe | IfICmpNe => left != right,
                IfLt | IfICmpLt => left < right,
                IfGe | IfICmpGe => left >= right,
                IfGt | IfICmpGt => left > right,
                IfLe | IfICmpLe => left <= right,
                _ => panic!("{opcode:?} is not a condition"),
            }
        }
    }
}
