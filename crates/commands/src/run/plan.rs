//! `--plan`: which fields are watched.

use std::collections::BTreeSet;
use std::path::PathBuf;

use unsnarl_findings::{Finding, Rule};

use super::{RunFolder, RunOptions};
use crate::error::{CommandError, Context};
use crate::feedback::Feedback;
use crate::{check, confirm, joining};

const PLAN_FILE: &str = "plan";

/// Which fields are watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Plan {
    /// All.
    #[default]
    All,
    /// Those that a check of the program suspects.
    Static,
    /// Those that the findings of a file are about.
    File(PathBuf),
}

/// What a check suspects, by the names of fields.
pub(super) struct Planned {
    fields: BTreeSet<String>,
    /// Whether elements of arrays are among it.
    pub(super) arrays: bool,
}

impl Planned {
    /// What the options ask for; none if everything is watched.
    pub(super) fn find(
        options: &RunOptions,
        feedback: &dyn Feedback,
    ) -> Result<Option<Self>, CommandError> {
        let findings = match &options.plan {
            Plan::All => return Ok(None),
            Plan::File(file) => joining::read(std::slice::from_ref(file))?,
            Plan::Static => {
                let mut asked = confirm::check_of(options, "--plan static")?;
                // Doubtful findings are worth watching at run time.
                (asked.arrays, asked.min_confidence) = (true, Some(0.0));
                asked.rules = vec![Rule::DataRace, Rule::UnsafePublication];
                check::examine(&asked, feedback)?.report.findings().to_vec()
            }
        };
        Ok(Some(Self::of(&findings)))
    }

    fn of(findings: &[Finding]) -> Self {
        let variables = || findings.iter().filter_map(|finding| finding.subject.as_variable());
        let fields = variables().filter(|it| !it.is_elements()).map(|it| it.field.clone());
        Self { fields: fields.collect(), arrays: variables().any(|it| it.is_elements()) }
    }

    /// Writes the plan into a file in the folder of the run.
    pub(super) fn write(&self, folder: &RunFolder) -> Result<PathBuf, CommandError> {
        let path = folder.path().join(PLAN_FILE);
        let names: String = self.fields.iter().map(|name| format!("{name}\n")).collect();
        std::fs::write(&path, names).context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// What the report says about it.
    pub(super) fn note(&self) -> String {
        let fields = match self.fields.len() {
            0 => "no field was watched".to_owned(),
            1 => "only fields of one name were watched".to_owned(),
            count => format!("only fields of {count} names were watched"),
        };
        let arrays = if self.arrays { ", and elements of arrays" } else { "" };
        format!("{fields}{arrays}, as the plan says: races on others are not seen")
    }
}
