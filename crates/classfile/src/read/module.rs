//! The attributes of module descriptors.

use crate::read::Cursor;
use crate::{ConstantIndex, Result};

/// The content of a module descriptor (JVMS 4.7.25).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The name, a module constant.
    pub name: ConstantIndex,
    /// 0x0020 open, 0x1000 synthetic, 0x8000 mandated.
    pub flags: u16,
    /// The version, a UTF-8 constant.
    pub version: Option<ConstantIndex>,
    /// The modules that it needs.
    pub requires: Vec<ModuleRequires>,
    /// The packages that others may use.
    pub exports: Vec<ModuleExports>,
    /// The packages that others may reflect on.
    pub opens: Vec<ModuleExports>,
    /// The services that it looks up, class constants.
    pub uses: Vec<ConstantIndex>,
    /// The services that it implements.
    pub provides: Vec<ModuleProvides>,
}

/// A module that is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleRequires {
    /// The module constant.
    pub module: ConstantIndex,
    /// 0x0020 transitive, 0x0040 static, 0x1000 synthetic, 0x8000 mandated.
    pub flags: u16,
    /// The version it was compiled against.
    pub version: Option<ConstantIndex>,
}

/// A package that is exported or opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleExports {
    /// The package constant.
    pub package: ConstantIndex,
    /// 0x1000 synthetic, 0x8000 mandated.
    pub flags: u16,
    /// To which modules; empty means to all.
    pub to: Vec<ConstantIndex>,
}

/// A service that is implemented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleProvides {
    /// The service, a class constant.
    pub service: ConstantIndex,
    /// The implementations, class constants.
    pub implementations: Vec<ConstantIndex>,
}

pub(crate) fn module(body: &mut Cursor<'_>) -> Result<Module> {
    Ok(Module {
        name: body.index("the name of a module")?,
        flags: body.u16("the flags of a module")?,
        version: body.optional_index("the version of a module")?,
        requires: body.table("the required modules", |entry| {
            Ok(ModuleRequires {
                module: entry.index("a required module")?,
                flags: entry.u16("the flags of a required module")?,
                version: entry.optional_index("the version of a required module")?,
            })
        })?,
        exports: body.table("the exported packages", exports)?,
        opens: body.table("the opened packages", exports)?,
        uses: body.table("the used services", |entry| entry.index("a used service"))?,
        provides: body.table("the provided services", |entry| {
            Ok(ModuleProvides {
                service: entry.index("a provided service")?,
                implementations: entry
                    .table("the implementations", |entry| entry.index("an implementation"))?,
            })
        })?,
    })
}

fn exports(entry: &mut Cursor<'_>) -> Result<ModuleExports> {
    Ok(ModuleExports {
        package: entry.index("a package")?,
        flags: entry.u16("the flags of a package")?,
        to: entry.table("the modules that a package is for", |entry| entry.index("a module"))?,
    })
}
