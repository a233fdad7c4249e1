//! What the methods of the input do with locks, as their code says it: the common ground of the rules
//! about how locks are used. All methods are looked at, whether anything calls them or not.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_classfile::flags;
use unsnarl_classpath::Role;
use unsnarl_entity::EntityId;
use unsnarl_models::{Blocking, LockMode, Models, Outcome};
use unsnarl_program::body::{BlockId, Body, Operation, StatementId, Value};
use unsnarl_program::names::TypeId;
use unsnarl_program::{ClassId, FieldId, MethodId, Program};

use crate::locks::calls::View;
use crate::locks::name::{Name, Names, Root};

/// All methods of the input.
#[derive(Default)]
pub(crate) struct LockUse {
    /// In the order of the classes.
    pub(crate) methods: Vec<Code>,
    by_id: FxHashMap<MethodId, usize>,
    callers: FxHashMap<MethodId, Vec<(usize, StatementId)>>,
    stores: FxHashMap<FieldId, Vec<(usize, StatementId)>>,
    overridden: FxHashSet<MethodId>,
    /// Classes that another class of the input extends.
    extended: FxHashSet<ClassId>,
    /// The classes whose objects are locked.
    classes: FxHashMap<TypeId, ClassId>,
}

/// A method and what it does with locks.
pub(crate) struct Code {
    pub(crate) method: MethodId,
    pub(crate) class: ClassId,
    pub(crate) body: Arc<Body>,
    pub(crate) is_static: bool,
    pub(crate) is_synchronized: bool,
    /// A constructor or class initializer.
    pub(crate) is_initializer: bool,
    /// In the order of the statements.
    pub(crate) uses: Vec<Use>,
    names: Names,
    fields: FxHashMap<StatementId, FieldId>,
    callees: FxHashMap<StatementId, MethodId>,
    block_of: Vec<BlockId>,
}

/// Something that is done with a lock.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    pub(crate) statement: StatementId,
    pub(crate) action: LockOperation,
    pub(crate) lock: Name,
    /// The object that the statement names: the lock, or a view of it.
    pub(crate) value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LockOperation {
    /// Of a monitor.
    Enter,
    /// Of a monitor.
    Exit,
    /// Of a lock of the library.
    Acquire {
        mode: LockMode,
        blocking: Blocking,
        once: bool,
        when: Option<Outcome>,
    },
    /// Of a lock of the library.
    Release {
        mode: LockMode,
    },
    /// Takes a permit.
    Take {
        blocking: Blocking,
        when: Option<Outcome>,
    },
    /// Gives a permit, or anything else that others wait for.
    Give,
    Wait {
        timed: bool,
        is_monitor: bool,
    },
    Notify {
        all: bool,
    },
}

impl LockUse {
    /// Looks at all methods of the input.
    pub(crate) fn new(program: &mut Program<'_>, models: &Models) -> Self {
        let is_input = |program: &Program<'_>, class: ClassId| {
            program.role(class) == Some(Role::Input) && program.classes()[class].file().is_some()
        };
        let classes: Vec<ClassId> =
            program.classes().keys().filter(|&class| is_input(program, class)).collect();
        let mut methods: Vec<Code> = Vec::new();
        for &class in &classes {
            let declared = program.classes()[class].methods.clone();
            for &method in &declared {
                methods.extend(Code::new(program, class, method));
            }
        }
        let mut lock_use = Self {
            by_id: methods.iter().enumerate().map(|(index, code)| (code.method, index)).collect(),
            methods,
            ..Self::default()
        };
        lock_use.index(program, &classes);
        let views = lock_use.views(program, models);
        for index in 0..lock_use.methods.len() {
            let uses = lock_use.methods[index].find_uses(program, models, &views);
            for it in &uses {
                if let Root::Class(ty) = it.lock.root {
                    lock_use.classes.extend(program.class_of_type(ty).map(|class| (ty, class)));
                }
            }
            lock_use.methods[index].uses = uses;
        }
        lock_use
    }

    fn index(&mut self, program: &Program<'_>, classes: &[ClassId]) {
        for (index, code) in self.methods.iter().enumerate() {
            for (id, statement) in code.body.statements.iter() {
                match statement.operation {
                    Operation::PutField { .. } | Operation::PutStatic { .. } => {
                        if let Some(&field) = code.fields.get(&id) {
                            self.stores.entry(field).or_default().push((index, id));
                        }
                    }
                    _ => {
                        if let Some(&callee) = code.callees.get(&id) {
                            self.callers.entry(callee).or_default().push((index, id));
                        }
                    }
                }
            }
        }
        for &class in classes {
            let above = &program.classes()[class].ancestors;
            self.extended.extend(above.iter().copied().filter(|&above| above != class));
            for &method in &program.classes()[class].methods {
                let data = &program.methods()[method];
                let others = above.iter().filter(|&&above| above != class);
                self.overridden.extend(others.filter_map(|&above| {
                    program.declared_method(above, data.name, data.descriptor)
                }));
            }
        }
    }

    /// The fields that always hold one view of a lock (`rw.readLock()`), with the class of the view.
    fn views(&self, program: &mut Program<'_>, models: &Models) -> FxHashMap<FieldId, View> {
        let mut views = FxHashMap::default();
        for (&field, stores) in &self.stores {
            let [(index, store)] = stores[..] else { continue };
            let code = &self.methods[index];
            let Some(value) = crate::code::stored_value(&code.body, store) else { continue };
            if let Some(view) = code.view(program, models, value) {
                views.insert(field, view);
            }
        }
        views
    }

    /// The code of a method of the input.
    pub(crate) fn code(&self, method: MethodId) -> Option<&Code> {
        self.by_id.get(&method).map(|&index| &self.methods[index])
    }

    /// The statements of the input that call a method, as far as they name it.
    pub(crate) fn callers(&self, method: MethodId) -> impl Iterator<Item = (&Code, StatementId)> {
        let callers = self.callers.get(&method).map_or(&[][..], Vec::as_slice);
        callers.iter().map(|&(index, statement)| (&self.methods[index], statement))
    }

    /// The statements of the input that assign to a field.
    pub(crate) fn stores(&self, field: FieldId) -> impl Iterator<Item = (&Code, StatementId)> {
        let stores = self.stores.get(&field).map_or(&[][..], Vec::as_slice);
        stores.iter().map(|&(index, statement)| (&self.methods[index], statement))
    }

    /// The class whose object is locked.
    pub(crate) fn locked_class(&self, ty: TypeId) -> Option<ClassId> {
        self.classes.get(&ty).copied()
    }

    /// Whether a class of the input extends this one.
    pub(crate) fn is_extended(&self, class: ClassId) -> bool {
        self.extended.contains(&class)
    }

    /// The method of the input that a call leads to, unless another may be meant as well.
    pub(crate) fn only_callee(&self, code: &Code, call: StatementId) -> Option<&Code> {
        let callee = *code.callees.get(&call)?;
        if self.overridden.contains(&callee) { None } else { self.code(callee) }
    }
}

impl Code {
    fn new(program: &mut Program<'_>, class: ClassId, method: MethodId) -> Option<Self> {
        let body = program.body(method)?;
        let mut fields = FxHashMap::default();
        let mut callees = FxHashMap::default();
        for (id, statement) in body.statements.iter() {
            match statement.operation {
                Operation::GetField { field, .. }
                | Operation::GetStatic { field }
                | Operation::PutField { field, .. }
                | Operation::PutStatic { field, .. } => {
                    fields.extend(program.resolve_field(field).map(|field| (id, field)));
                }
                Operation::Invoke { method, .. } => {
                    callees.extend(program.resolve_method(method).map(|method| (id, method)));
                }
                _ => {}
            }
        }
        let mut block_of = Vec::with_capacity(body.statements.len());
        for (block, data) in body.blocks.iter() {
            block_of.resize(data.end.index(), block);
        }
        let data = &program.methods()[method];
        let is_static = data.is_static();
        let known = &program.names.known;
        Some(Self {
            method,
            class,
            is_static,
            is_synchronized: data.access & flags::SYNCHRONIZED != 0,
            is_initializer: [known.init, known.class_init].contains(&data.name),
            uses: Vec::new(),
            names: Names::new(&body, !is_static),
            fields,
            callees,
            block_of,
            body,
        })
    }

    /// The block of a statement.
    pub(crate) fn block_of(&self, statement: StatementId) -> BlockId {
        self.block_of[statement.index()]
    }

    /// The field that a statement reads or writes.
    pub(crate) fn field(&self, statement: StatementId) -> Option<FieldId> {
        self.fields.get(&statement).copied()
    }

    /// The method that a statement calls.
    pub(crate) fn callee(&self, statement: StatementId) -> Option<MethodId> {
        self.callees.get(&statement).copied()
    }

    /// The field that a value was loaded from.
    pub(crate) fn loaded_from(&self, value: Value) -> Option<FieldId> {
        let definition = self.body.values[value].definition;
        match self.body.statements[definition].operation {
            Operation::GetField { .. } | Operation::GetStatic { .. } => self.field(definition),
            Operation::Cast { value, .. } => self.loaded_from(value),
            _ => None,
        }
    }

    /// What the method calls a value.
    pub(crate) fn name(&self, value: Value) -> Name {
        self.names.name(&self.body, value, &|value| self.loaded_from(value))
    }

    /// What is done at a statement.
    pub(crate) fn uses_at(&self, statement: StatementId) -> &[Use] {
        let start = self.uses.partition_point(|it| it.statement < statement);
        let end = self.uses.partition_point(|it| it.statement <= statement);
        &self.uses[start..end]
    }

    /// The type of a value.
    pub(crate) fn ty(&self, value: Value) -> TypeId {
        self.body.values[value].ty
    }

    /// The lock that a synchronized method holds.
    pub(crate) fn own_monitor(&self) -> Option<Name> {
        (self.is_synchronized && !self.is_static).then(|| Name::of(Root::Parameter(0)))
    }
}
