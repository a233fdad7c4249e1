//! Probes around a whole method: the monitor of a synchronized one, the run of a task, and the method itself.

use unsnarl_classfile::edit::{CodeError, NodeId, PoolEditor};
use unsnarl_classfile::{ConstantIndex, Instruction, Opcode, flags};
use unsnarl_recording::SiteOperation;

use super::{MethodRewriter, is_return};
use crate::hooks::{self, Hook};
use crate::probe::Probe;
use crate::recorded::Task;
use crate::rewrite::can_load_classes;

impl MethodRewriter<'_, '_> {
    /// The monitor of a synchronized method is entered before its first instruction, and left after
    /// its last one, also by an exception.
    pub(super) fn synchronized_method(
        &mut self,
        instructions: &[(NodeId, Option<u16>)],
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        let is_static = self.member.access & flags::STATIC != 0;
        if is_static && !can_load_classes(self.class) {
            self.remarks.push("its monitor cannot be named in so old a class file".into());
            return Ok(());
        }
        let of_class = is_static.then_some(self.class.this_class);
        let hooks = (hooks::MONITOR_ENTERED, hooks::MONITOR_LEAVES);
        if let Err(error) =
            self.around(instructions, of_class, hooks, &SiteOperation::Monitor, pool)?
        {
            self.remarks.push(format!("its monitor is not reported: {error}"));
        }
        Ok(())
    }

    /// A task is reported when it begins and when it ends, also by an exception.
    pub(super) fn task(
        &mut self,
        task: Task,
        instructions: &[(NodeId, Option<u16>)],
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        let ends = match task {
            Task::Started => hooks::TASK_ENDS,
            Task::Called => hooks::TASK_ENDS_QUIETLY,
        };
        let hooks = (hooks::TASK_BEGINS, ends);
        if let Err(error) = self.around(instructions, None, hooks, &SiteOperation::Task, pool)? {
            self.remarks.push(format!("that it runs as a task is not reported: {error}"));
        }
        Ok(())
    }

    /// A method is reported when it is entered, before all else, and when it is left, after all else. Where no
    /// handler can be put around it, whoever reads the events sees from the next one of a caller that it was
    /// left by an exception.
    pub(super) fn entered_and_left(
        &mut self,
        instructions: &[(NodeId, Option<u16>)],
        pool: &mut PoolEditor<'_>,
    ) -> Result<(), CodeError> {
        let throw = match self.code.catch_all(pool) {
            Ok(throw) => Some(throw),
            Err(CodeError::ThisOverwritten | CodeError::Constructor) => None,
            Err(error) => return Err(error),
        };
        let first_line = instructions.first().and_then(|&(_, line)| line);
        let site = self.site(first_line, SiteOperation::Method);
        let returns: Vec<NodeId> =
            self.returns(instructions).map(|(node, _)| node).chain(throw).collect();
        for node in returns {
            Probe::before(&mut self.code, pool, node).call(hooks::METHOD_EXITS, site)?;
        }
        // A loop may go back to the first instruction, but not to what stands in front of its labels.
        if let Some(first) = self.code.first() {
            Probe::before(&mut self.code, pool, first).call(hooks::METHOD_ENTERS, site)?;
        }
        Ok(())
    }

    /// The instructions of the file that return.
    pub(super) fn returns(
        &self,
        instructions: &[(NodeId, Option<u16>)],
    ) -> impl Iterator<Item = (NodeId, Option<u16>)> {
        instructions.iter().copied().filter(|&(node, _)| {
            self.code.instruction(node).is_some_and(|instruction| is_return(instruction.opcode()))
        })
    }

    /// Calls the first hook before all instructions, and the second after them, however they are left.
    /// Both get the class, or `this`. Where no handler can be put around the body, that is returned.
    fn around(
        &mut self,
        instructions: &[(NodeId, Option<u16>)],
        of_class: Option<ConstantIndex>,
        (enter, leave): (Hook, Hook),
        operation: &SiteOperation,
        pool: &mut PoolEditor<'_>,
    ) -> Result<Result<(), CodeError>, CodeError> {
        let throw = match self.code.catch_all(pool) {
            Ok(throw) => throw,
            Err(error @ (CodeError::ThisOverwritten | CodeError::Constructor)) => {
                return Ok(Err(error));
            }
            Err(error) => return Err(error),
        };
        let push = |probe: &mut Probe<'_, '_>| {
            match of_class {
                Some(class) => probe.class(class),
                None => probe.this(),
            };
        };
        let first_line = instructions.first().and_then(|&(_, line)| line);
        let leaves: Vec<_> = self.returns(instructions).chain([(throw, first_line)]).collect();
        for (node, line) in leaves {
            let site = self.site(line, operation.clone());
            let opcode = self.code.instruction(node).map(Instruction::opcode);
            let returns = *operation == SiteOperation::Task && opcode == Some(Opcode::AReturn);
            let mut probe = Probe::before(&mut self.code, pool, node);
            if returns {
                probe.duplicate();
            }
            push(&mut probe);
            probe.call(if returns { hooks::TASK_RETURNS } else { leave }, site)?;
        }
        // The first instruction may be jumped to: the hook has to stand in front of its labels, inside of
        // the handler's range, which starts in front of all.
        let first = self.code.first().and_then(|start| self.code.next(start));
        if let Some(first) = first {
            let site = self.site(first_line, operation.clone());
            let mut probe = Probe::before(&mut self.code, pool, first);
            push(&mut probe);
            probe.call(enter, site)?;
        }
        Ok(Ok(()))
    }
}
