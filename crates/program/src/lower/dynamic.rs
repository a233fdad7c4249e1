//! Call sites of `invokedynamic`.
//!
//! Lambda expressions and method references become an allocation of a synthetic class whose fields
//! hold what was captured. String concatenation, the methods of records and pattern switches become
//! pure operations. Everything else stays a dynamic call with its bootstrap method.

use unsnarl_classfile::ConstantIndex;
use unsnarl_classfile::read::{BootstrapMethod, Constant as PoolConstant, MemberKind, MemberRef};

use super::Result;
use super::translate::Translator;
use crate::body::{InvokeKind, Operation, PureKind, Values};
use crate::names::{FieldRef, MethodRefId, Names, SignatureId, Symbol, Type, TypeId};

/// A lambda expression or method reference: what the synthetic class for it looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lambda {
    /// The name of the synthetic class.
    pub class: Symbol,
    /// The functional interface, then marker interfaces.
    pub interfaces: Vec<Symbol>,
    /// The name of the method of the functional interface.
    pub method: Symbol,
    /// The descriptors under which the method can be called: its own, then those of bridges.
    pub descriptors: Vec<Symbol>,
    /// The types with which the method is really called.
    pub instantiated: SignatureId,
    /// What the method does.
    pub target: LambdaTarget,
    /// The types of the captured values; they are arguments before those of the call.
    pub captured: Vec<TypeId>,
}

/// What runs when a lambda is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LambdaTarget {
    /// A call of a method.
    Method(InvokeKind, MethodRefId),
    /// An allocation and a call of the constructor.
    Constructor(MethodRefId),
}

impl Lambda {
    /// The field of the synthetic class that holds a captured value.
    pub fn captured_field(&self, names: &mut Names, index: usize) -> FieldRef {
        let name = names.symbol(format!("captured{index}").as_bytes());
        FieldRef { class: self.class, name, ty: self.captured[index] }
    }
}

/// A bootstrap method of the JDK whose call sites are understood.
enum WellKnown {
    Lambda { alternative: bool },
    Pure(PureKind),
}

fn well_known(bootstrap: &MemberRef<'_>, call_name: Symbol) -> Option<WellKnown> {
    Some(match (bootstrap.class, bootstrap.name) {
        (b"java/lang/invoke/LambdaMetafactory", b"metafactory") => {
            WellKnown::Lambda { alternative: false }
        }
        (b"java/lang/invoke/LambdaMetafactory", b"altMetafactory") => {
            WellKnown::Lambda { alternative: true }
        }
        (b"java/lang/invoke/StringConcatFactory", b"makeConcat" | b"makeConcatWithConstants") => {
            WellKnown::Pure(PureKind::Concatenate)
        }
        (b"java/lang/runtime/ObjectMethods", b"bootstrap") => {
            WellKnown::Pure(PureKind::RecordMethod(call_name))
        }
        (b"java/lang/runtime/SwitchBootstraps", b"typeSwitch" | b"enumSwitch") => {
            WellKnown::Pure(PureKind::TypeSwitch)
        }
        _ => return None,
    })
}

impl<'c> Translator<'_, 'c, '_> {
    /// The bootstrap method of a call site or dynamic constant, and its static arguments.
    pub(super) fn bootstrap(&mut self, number: u16) -> Result<(MethodRefId, &'c BootstrapMethod)> {
        let bootstraps = self.context.bootstraps;
        let Some(bootstrap) = bootstraps.get(usize::from(number)) else {
            return self.error("a bootstrap method that exists");
        };
        let handle = self.context.class.pool.method_handle(bootstrap.method)?;
        match self.names.method_ref(&handle.member) {
            Some(method) => Ok((method, bootstrap)),
            None => self.error("a bootstrap method with a valid descriptor"),
        }
    }

    pub(super) fn invoke_dynamic(&mut self, call_site: ConstantIndex) -> Result<()> {
        let pool = &self.context.class.pool;
        let (number, name, descriptor) = pool.invoke_dynamic(call_site)?;
        let (bootstrap, BootstrapMethod { method, arguments: constants }) =
            self.bootstrap(number)?;
        let name = self.names.symbol(name);
        let Some(signature) = self.names.signature(descriptor) else {
            return self.error("a call site with a valid descriptor");
        };
        let signature = self.names.signature_data(signature).clone();
        let operands = self.arguments(signature.parameters.len())?;
        match well_known(&pool.method_handle(*method)?.member, name) {
            Some(WellKnown::Pure(kind)) => {
                self.finish_call(signature.result, Operation::Pure { kind, operands })
            }
            Some(WellKnown::Lambda { alternative }) => {
                let Some(Type::Class(interface)) = signature.result.map(|ty| self.names.ty(ty))
                else {
                    return self.error("a call site that returns a functional interface");
                };
                let captured = signature.parameters.into_vec();
                let lambda = self.lambda(alternative, interface, name, captured, constants)?;
                self.allocate(lambda, operands)
            }
            None => {
                let call = Operation::InvokeDynamic { bootstrap, name, arguments: operands };
                self.finish_call(signature.result, call)
            }
        }
    }

    fn allocate(&mut self, lambda: Lambda, captured: Values) -> Result<()> {
        let ty = self.names.type_id(Type::Class(lambda.class));
        let object = self.emit(ty, Operation::New(ty));
        for (index, value) in captured.into_iter().enumerate() {
            let field = lambda.captured_field(self.names, index);
            let field = self.names.intern_field_ref(field);
            self.perform(Operation::PutField { object, field, value });
        }
        self.lambdas.push(lambda);
        self.push(object)
    }

    /// Reads the static arguments of `LambdaMetafactory`.
    fn lambda(
        &mut self,
        alternative: bool,
        interface: Symbol,
        method: Symbol,
        captured: Vec<TypeId>,
        constants: &[ConstantIndex],
    ) -> Result<Lambda> {
        let &[own, implementation, instantiated, ref more @ ..] = constants else {
            return self.error("three static arguments for a lambda");
        };
        let pool = &self.context.class.pool;
        let handle = pool.method_handle(implementation)?;
        let Some(target) = self.names.method_ref(&handle.member) else {
            return self.error("a lambda body with a valid descriptor");
        };
        let target = match (handle.kind, handle.member.kind) {
            (5, _) => LambdaTarget::Method(InvokeKind::Virtual, target),
            (6, _) => LambdaTarget::Method(InvokeKind::Static, target),
            (7, _) => LambdaTarget::Method(InvokeKind::Special, target),
            (8, MemberKind::Method) => LambdaTarget::Constructor(target),
            (9, _) => LambdaTarget::Method(InvokeKind::Interface, target),
            _ => return self.error("a lambda body that is a method or constructor"),
        };
        let Some(instantiated) = self.names.signature(pool.method_type(instantiated)?) else {
            return self.error("a lambda with a valid method type");
        };
        let class = format!("$$Lambda${}${}", self.method_index, self.pc.0);
        let class = [self.names.bytes(self.context.name), class.as_bytes()].concat();
        let mut lambda = Lambda {
            class: self.names.symbol(&class),
            interfaces: vec![interface],
            method,
            descriptors: vec![self.descriptor(pool.method_type(own)?)?],
            instantiated,
            target,
            captured,
        };
        if alternative {
            self.markers_and_bridges(&mut lambda, more)?;
        }
        Ok(lambda)
    }

    /// The further arguments of `altMetafactory`: flags, then counted lists of what they announce.
    fn markers_and_bridges(&mut self, lambda: &mut Lambda, more: &[ConstantIndex]) -> Result<()> {
        const SERIALIZABLE: i32 = 1;
        const MARKERS: i32 = 2;
        const BRIDGES: i32 = 4;
        let pool = &self.context.class.pool;
        let mut more = more.iter();
        let mut number = || match more.next().map(|&index| pool.get(index)) {
            Some(Ok(PoolConstant::Integer(number))) => Some(number),
            _ => None,
        };
        let Some(flags) = number() else {
            return self.error("the flags of a lambda");
        };
        if flags & SERIALIZABLE != 0 {
            let serializable = self.names.symbol(b"java/io/Serializable");
            lambda.interfaces.push(serializable);
        }
        for flag in [MARKERS, BRIDGES] {
            if flags & flag == 0 {
                continue;
            }
            let count = match more.next().map(|&index| pool.get(index)) {
                Some(Ok(PoolConstant::Integer(count))) => count,
                _ => return self.error("a count of marker interfaces or bridges"),
            };
            for _ in 0..count {
                let Some(&index) = more.next() else {
                    return self.error("as many marker interfaces or bridges as were announced");
                };
                if flag == MARKERS {
                    let marker = self.names.symbol(pool.class_name(index)?);
                    lambda.interfaces.push(marker);
                } else {
                    let bridge = self.descriptor(pool.method_type(index)?)?;
                    lambda.descriptors.push(bridge);
                }
            }
        }
        Ok(())
    }

    fn descriptor(&mut self, descriptor: &[u8]) -> Result<Symbol> {
        match self.names.signature(descriptor) {
            Some(_) => Ok(self.names.symbol(descriptor)),
            None => self.error("a valid method type"),
        }
    }
}
