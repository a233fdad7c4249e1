//! Objects that the garbage collector gives to a thread of the JVM when nobody else has them: those with a finalizer, and
//! references, which it puts into their queues.
//!
//! What a thread does up to the end of a constructor comes before the finalizer of the object (JLS 17.4.5). Of references the
//! same is taken to hold, though the documentation of `java.lang.ref` promises it only up to a `reachabilityFence` of the
//! referent: no JVM puts a reference into its queue that it does not know yet. It is recorded as what the JVM calls
//! then, so that the models say what it means. *Deviation*: "the constructor" is the one of the class that has the
//! finalizer, or that is next below the library's reference: what constructors of classes below that do comes too late.

use unsnarl_classfile::Instruction;
use unsnarl_classfile::edit::{CodeError, NodeId, PoolEditor};
use unsnarl_recording::{Dispatch, MethodName, SiteOperation};

use super::{MethodRewriter, method_name};
use crate::hooks::{self, Hook};
use crate::probe::Probe;
use crate::redundancy::keeps_this;

/// A call that the JVM makes when an object is there.
type MadeByJvm = (MethodName, Dispatch, Hook);

impl MethodRewriter<'_, '_> {
    /// Reports at every end of a constructor that the object may be handed on from now on.
    pub(super) fn constructed(
        &mut self,
        instructions: &[(NodeId, Option<u16>)],
        super_call: Option<NodeId>,
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        let calls = [self.is_registered(), self.is_put_into_its_queue(super_call, pool)];
        let ends: Vec<_> = self.returns(instructions).collect();
        for (method, dispatch, hook) in calls.into_iter().flatten() {
            if !keeps_this(&self.code) {
                self.remarks.push("that its object may be handed on is not reported".into());
                return Ok(());
            }
            for &(node, line) in &ends {
                let site = self.site(line, SiteOperation::Call(method.clone(), dispatch));
                Probe::before(&mut self.code, pool, node).this().call(hook, site)?;
            }
        }
        Ok(())
    }

    fn is_registered(&self) -> Option<MadeByJvm> {
        if !self.has_finalizer {
            return None;
        }
        let method = MethodName {
            class: b"java/lang/ref/Finalizer".to_vec(),
            name: b"register".to_vec(),
            descriptor: b"(Ljava/lang/Object;)V".to_vec(),
        };
        self.known_classes.call(&method, Dispatch::Static)?;
        Some((method, Dispatch::Static, hooks::CALLED_WITH))
    }

    fn is_put_into_its_queue(
        &self,
        super_call: Option<NodeId>,
        pool: &PoolEditor<'_>,
    ) -> Option<MadeByJvm> {
        let Instruction::Invoke { method, .. } = self.code.instruction(super_call?)? else {
            return None;
        };
        let method = method_name(*method, pool)?;
        let call = self.known_classes.call(&method, Dispatch::Special)?;
        call.hands_itself_over.then_some((method, Dispatch::Special, hooks::CALLED_ON))
    }
}
