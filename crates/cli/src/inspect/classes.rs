//! `--what classes`: the classes with their fields and methods.

use std::io::{self, Write};

use anstyle::Style;
use serde::Serialize;
use unsnarl_program::{ClassId, MethodId};

use super::dot::Graph;
use super::{Inspection, View, write};
use crate::output::Output;

#[derive(Serialize)]
struct Classes {
    schema: &'static str,
    classes: Vec<ClassView>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct ClassView {
    name: String,
    file: Option<String>,
    version: Option<u16>,
    access: u16,
    superclass: Option<String>,
    interfaces: Vec<String>,
    fields: Vec<FieldView>,
    methods: Vec<MethodView>,
}

#[derive(Serialize)]
struct FieldView {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    access: u16,
}

#[derive(Serialize)]
struct MethodView {
    name: String,
    descriptor: String,
    access: u16,
    #[serde(skip)]
    text: String,
}

pub(super) fn show(inspection: &mut Inspection<'_>, output: &mut Output) -> anyhow::Result<()> {
    let classes = inspection.classes()?;
    let classes = classes.into_iter().map(|class| view(inspection, class)).collect();
    let view =
        Classes { schema: "unsnarl.inspect.classes/1", classes, notes: inspection.session.notes() };
    write(&view, inspection.arguments.format, output)
}

fn view(inspection: &Inspection<'_>, class: ClassId) -> ClassView {
    let program = &inspection.session.program;
    let data = &program.classes()[class];
    let fields = data.fields.iter().map(|&field| {
        let field = &program.fields()[field];
        FieldView {
            name: program.names.text(field.name).into_owned(),
            ty: program.names.type_text(field.ty),
            access: field.access,
        }
    });
    let is_shown = |method: &&MethodId| inspection.shows_method(**method);
    let methods = data.methods.iter().filter(is_shown).map(|&method| {
        let method_data = &program.methods()[method];
        let signature = program.names.signature_data(method_data.signature);
        let result = signature.result.map_or("void".to_owned(), |ty| program.names.type_text(ty));
        let parameters: Vec<String> =
            signature.parameters.iter().map(|&ty| program.names.type_text(ty)).collect();
        let name = program.names.text(method_data.name).into_owned();
        MethodView {
            text: format!("{result} {name}({})", parameters.join(", ")),
            name,
            descriptor: program.names.text(method_data.descriptor).into_owned(),
            access: method_data.access,
        }
    });
    ClassView {
        name: program.class_text(class),
        file: data.file().map(|file| program.path().location(file.entry).to_string()),
        version: data.file().map(|file| file.file.major_version),
        access: data.access,
        superclass: data.superclass.map(|above| program.class_text(above)),
        interfaces: data.interfaces.iter().map(|&above| program.class_text(above)).collect(),
        fields: fields.collect(),
        methods: methods.collect(),
    }
}

impl View for Classes {
    fn text(&self, out: &mut dyn Write, title: Style) -> io::Result<()> {
        for class in &self.classes {
            write!(out, "{title}{}{title:#}", class.name)?;
            if let Some(superclass) = &class.superclass {
                write!(out, " extends {superclass}")?;
            }
            if !class.interfaces.is_empty() {
                write!(out, " implements {}", class.interfaces.join(", "))?;
            }
            writeln!(out)?;
            for field in &class.fields {
                writeln!(out, "    {} {}", field.ty, field.name)?;
            }
            for method in &class.methods {
                writeln!(out, "    {}", method.text)?;
            }
        }
        Ok(())
    }

    fn dot(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut graph = Graph::begin(out, "classes")?;
        for class in &self.classes {
            for above in class.superclass.iter().chain(&class.interfaces) {
                graph.edge(&class.name, above, "")?;
            }
        }
        Ok(graph.end()?)
    }
}
