//! The options of `unsnarl-commands` that arguments stand for.

use unsnarl_commands::ReviewOptions;
use unsnarl_commands::analyze::AnalyzeOptions;
use unsnarl_commands::check::CheckOptions;
use unsnarl_commands::confirm::Suspicions;
use unsnarl_commands::dynamic::DetectOptions;
use unsnarl_commands::explain::ExplainOptions;
use unsnarl_commands::run::RunOptions;
use unsnarl_commands::session::ProgramOptions;
use unsnarl_commands::suppression::SuppressionOptions;
use unsnarl_program::callgraph::Entries;

use super::{
    AcceptArguments, AnalyzeArguments, CheckArguments, DetectArguments, ExplainArguments,
    ProgramArguments, ReportFormat, RunArguments, SourceArguments,
};

impl CheckArguments {
    /// What is checked.
    pub(crate) fn options(&self) -> CheckOptions {
        CheckOptions {
            inputs: self.inputs.clone(),
            program: self.program.options(),
            rules: self.rules.clone(),
            arrays: self.arrays,
            strict: self.strict,
            min_confidence: self.min_confidence,
            use_graphs: matches!(self.format, ReportFormat::Json | ReportFormat::Html),
            // The text shows them among its notes.
            warn_of_failures: self.format != ReportFormat::Text,
        }
    }
}

impl RunArguments {
    /// What is run.
    pub(crate) fn options(&self) -> RunOptions {
        RunOptions {
            command: self.command.clone(),
            detectors: self.detectors.options(),
            with: self.joined.with.clone(),
            confirm: self.confirm.clone().map(|file| match file {
                Some(file) => Suspicions::File(file),
                None => Suspicions::Check,
            }),
            plan: self.plan.clone(),
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            no_arrays: self.no_arrays,
            contents: self.contents,
            no_filters: self.no_filters,
            models: self.models.clone(),
            array_cutoff: self.array_cutoff,
            array_offset: self.array_offset,
            stacks: self.stacks,
            exact: self.exact,
            record: self.record.clone(),
            no_analysis: self.no_analysis,
            session_dir: self.session_dir.clone(),
            buffer: self.buffer,
        }
    }
}

impl DetectArguments {
    /// The detectors.
    pub(crate) fn options(&self) -> DetectOptions {
        DetectOptions { detect: self.detect.clone(), all: self.all }
    }
}

impl AcceptArguments {
    /// What is done with findings, of which the source may be in further places.
    pub(crate) fn review(&self, source: &SourceArguments) -> ReviewOptions {
        ReviewOptions {
            source: source.source.clone(),
            suppression: SuppressionOptions {
                baseline: self.baseline.clone(),
                write_baseline: self.write_baseline.clone(),
                rules: self.suppressions.clone(),
            },
        }
    }
}

impl AnalyzeArguments {
    /// What is analysed.
    pub(crate) fn options(&self) -> AnalyzeOptions {
        AnalyzeOptions {
            traces: self.traces.clone(),
            detectors: self.detectors.options(),
            with: self.joined.with.clone(),
        }
    }
}

impl ExplainArguments {
    /// Where it is looked for.
    pub(crate) fn options(&self) -> ExplainOptions {
        ExplainOptions {
            inputs: self.inputs.clone(),
            from: self.from.clone(),
            program: self.program.options(),
        }
    }
}

impl ProgramArguments {
    /// The program.
    pub(crate) fn options(&self) -> ProgramOptions {
        let elements = self.classpath.iter();
        ProgramOptions {
            jdk: self.jdk.clone(),
            class_path: elements.filter(|it| !it.as_os_str().is_empty()).cloned().collect(),
            entries: self.entries(),
            models: self.models.clone(),
            release: self.release,
        }
    }

    /// Where execution begins.
    fn entries(&self) -> Entries {
        if self.library {
            Entries::Library
        } else if self.entries.is_empty() {
            Entries::Main
        } else {
            Entries::Patterns(self.entries.clone())
        }
    }
}
