//! Says all that is known about a method: which threads run it, what it accesses that they share, with which locks, and
//! what the rules say about it. What it calls is explained by itself.

use std::collections::{BTreeMap, BTreeSet};

use unsnarl_classfile::flags;
use unsnarl_findings::{Finding, MethodReference};
use unsnarl_program::heap::OriginId;
use unsnarl_program::{MethodId, Program};
use unsnarl_symbolic::{Accessed, EventId, Execution, Sharing};

use crate::explain::field::{access_lines, find_class, thread_names};
use crate::wording::describe::{Describe, listed};
use crate::{Checked, DETECTORS};

/// Says all that is known about the methods of a class that have a name. `class` is a name as in Java source. `None` if
/// the input has no such method.
pub fn explain_method(
    program: &mut Program<'_>,
    execution: &Execution<'_>,
    checked: &Checked,
    class: &str,
    name: &str,
) -> Option<Vec<Vec<String>>> {
    let class = find_class(program, class)?;
    let methods = program.classes()[class].methods.iter().copied();
    let methods: Vec<MethodId> = methods
        .filter(|&method| program.names.text(program.methods()[method].name) == name)
        .collect();
    let describe = Describe::new(program, execution);
    let explained = methods.iter().map(|&method| of_method(&describe, checked, method)).collect();
    (!methods.is_empty()).then_some(explained)
}

fn of_method(describe: &Describe<'_, '_>, checked: &Checked, method: MethodId) -> Vec<String> {
    let (program, execution) = (describe.program, describe.execution);
    let data = &program.methods()[method];
    let words = [(flags::STATIC, "static "), (flags::SYNCHRONIZED, "synchronized ")];
    let words = words.iter().filter(|(flag, _)| data.access & flag != 0).map(|(_, word)| *word);
    let words: String = words.collect();
    let mut sentences = vec![format!("{} is a {words}method", program.method_text(method))];
    let instances = execution.heap.instances.iter().filter(|(_, it)| it.method == method);
    let threads: BTreeSet<OriginId> =
        instances.flat_map(|(id, _)| execution.heap.threads_of(id).iter().copied()).collect();
    if threads.is_empty() {
        sentences.push("no code that can be reached calls it".to_owned());
    } else {
        sentences.push(format!("it is run by {}", thread_names(describe, threads)));
        sentences.extend(shared_data(describe, method));
    }
    sentences.extend(verdict(describe, checked, method));
    sentences
}

/// What the method itself accesses that several threads may reach.
fn shared_data(describe: &Describe<'_, '_>, method: MethodId) -> Vec<String> {
    let mut variables: BTreeMap<String, Vec<EventId>> = BTreeMap::new();
    for (id, event) in describe.execution.events.iter() {
        let is_static = event.objects.is_empty();
        let is_shared = |&object| describe.execution.sharing(object) == Sharing::Shared;
        if describe.method_of(event.instance) == method
            && (is_static || event.objects.iter().any(is_shared))
        {
            variables.entry(variable(describe, id)).or_default().push(id);
        }
    }
    if variables.is_empty() {
        return vec!["it accesses nothing itself that threads share".to_owned()];
    }
    let mut sentences = Vec::new();
    for (variable, events) in variables {
        sentences.push(format!("it accesses {variable}, which threads share"));
        sentences.extend(access_lines(describe, &events));
    }
    sentences
}

fn variable(describe: &Describe<'_, '_>, id: EventId) -> String {
    let event = describe.event(id);
    let holder = event.loaded_from.map(|field| describe.field(field).to_string());
    let of_holder = |what: &str| match &holder {
        Some(holder) => format!("{what} of {holder}"),
        None => what.to_owned(),
    };
    match event.accessed {
        Accessed::Field(field) => describe.field(field).to_string(),
        Accessed::Element => of_holder("elements"),
        Accessed::Contents | Accessed::Slot(_) => of_holder("the contents"),
    }
}

/// What was reported about it, and by which rules it was looked at.
fn verdict(describe: &Describe<'_, '_>, checked: &Checked, method: MethodId) -> Vec<String> {
    let program = describe.program;
    let data = &program.methods()[method];
    let own = MethodReference::new(
        program.class_text(program.class_around(data.class)),
        program.names.text(data.name),
        program.names.text(data.descriptor),
    );
    let concerns = |finding: &&Finding| {
        let mut sites = finding.accesses.iter().filter_map(|access| access.site()?.method());
        finding.subject.as_method() == Some(&own) || sites.any(|site| *site == own)
    };
    let mut sentences: Vec<String> = checked
        .findings
        .iter()
        .filter(concerns)
        .map(|it| {
            format!("part of a {} with confidence {}: {}", it.rule, it.confidence(), it.message)
        })
        .collect();
    sentences.sort();
    if sentences.is_empty() {
        let rules: Vec<String> = DETECTORS.iter().map(|it| it.rule.id().to_owned()).collect();
        sentences.push(format!("it is part of no finding of {}", listed(&rules)));
    }
    sentences
}
