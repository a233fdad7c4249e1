//! Where results go: standard output or the file of `--output`. Messages go to standard error; nothing else in the
//! program writes anywhere. Colour is decided once, when the output is opened.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;
use unsnarl_report::text::Detail;

use crate::args::{ColorChoice, CommonArguments};
use crate::messages::{Loudness, Messages};

/// Where the result and the messages of a command go.
pub(crate) struct Output {
    result: Sink,
    coloured: bool,
    messages: Messages,
}

impl Output {
    /// Opens what the arguments name.
    pub(crate) fn open(arguments: &CommonArguments) -> anyhow::Result<Self> {
        Self::open_or(arguments, io::stdout())
    }

    /// The same with standard error, for a command beside a program whose output is not to be touched.
    pub(crate) fn beside(arguments: &CommonArguments) -> anyhow::Result<Self> {
        Self::open_or(arguments, io::stderr())
    }

    fn open_or<S>(arguments: &CommonArguments, stream: S) -> anyhow::Result<Self>
    where
        S: Write + anstream::stream::RawStream + 'static,
    {
        let (writer, automatic): (Box<dyn Write>, bool) = match &arguments.output {
            Some(path) => {
                let file = File::create(path)
                    .with_context(|| format!("cannot write to {}", path.display()))?;
                (Box::new(file), false)
            }
            None => {
                let choice = anstream::AutoStream::choice(&stream);
                (Box::new(stream), choice != anstream::ColorChoice::Never)
            }
        };
        let coloured = match arguments.color {
            ColorChoice::Auto => automatic,
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        };
        let result = Sink {
            writer: BufWriter::with_capacity(64 * 1024, writer),
            target: arguments.output.clone(),
            reader_is_gone: false,
        };
        Ok(Self { result, coloured, messages: Messages::new(arguments) })
    }

    /// Where the result is written.
    pub(crate) fn result(&mut self) -> &mut dyn Write {
        &mut self.result
    }

    /// Whether the result should be in colour.
    pub(crate) fn coloured(&self) -> bool {
        self.coloured
    }

    /// How much of a report is shown to people.
    pub(crate) fn report_detail(&self) -> Detail {
        match self.messages.loudness() {
            Loudness::Quiet => Detail::Quiet,
            Loudness::Normal => Detail::Normal,
            Loudness::Verbose => Detail::Verbose,
        }
    }

    /// Where messages go.
    pub(crate) fn messages(&self) -> &Messages {
        &self.messages
    }

    /// Where the result is written, and where messages go.
    pub(crate) fn parts(&mut self) -> (&mut dyn Write, &Messages) {
        (&mut self.result, &self.messages)
    }

    /// Whether the result was being read by somebody who has stopped reading.
    pub(crate) fn reader_is_gone(&self) -> bool {
        self.result.reader_is_gone
    }

    /// Makes sure that everything is written.
    pub(crate) fn finish(&mut self) -> anyhow::Result<()> {
        Ok(self.result.flush()?)
    }
}

/// A buffered writer whose errors name the target and that notices when its reader has gone.
struct Sink {
    writer: BufWriter<Box<dyn Write>>,
    target: Option<PathBuf>,
    reader_is_gone: bool,
}

impl Sink {
    fn noticing(&mut self, error: io::Error) -> io::Error {
        self.reader_is_gone |= error.kind() == io::ErrorKind::BrokenPipe;
        let target = match &self.target {
            Some(path) => path.display().to_string(),
            None => "standard output".to_owned(),
        };
        io::Error::new(error.kind(), format!("cannot write to {target}: {error}"))
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes).map_err(|error| self.noticing(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush().map_err(|error| self.noticing(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(output: Option<PathBuf>, color: ColorChoice) -> CommonArguments {
        CommonArguments { output, color, quiet: false, verbose: false, config: None }
    }

    #[test]
    fn a_file_gets_the_result_and_no_colour_unless_it_is_asked_for() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("result.txt");
        let mut output = Output::open(&arguments(Some(path.clone()), ColorChoice::Auto))
            .expect("the file can be made");
        assert!(!output.coloured());
        output.result().write_all(b"42\n").expect("the file can be written");
        output.finish().expect("the file can be written");
        assert_eq!(std::fs::read(&path).expect("the file is there"), b"42\n");

        let always = Output::open(&arguments(Some(path), ColorChoice::Always));
        assert!(always.expect("the file can be made").coloured());
    }

    #[test]
    fn an_error_names_the_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("missing/result.txt");
        let error = Output::open(&arguments(Some(path.clone()), ColorChoice::Auto))
            .err()
            .expect("the folder is not there");
        assert!(format!("{error:#}").contains(&path.display().to_string()), "{error:#}");
    }

    #[test]
    fn a_reader_that_has_gone_is_noticed() {
        struct ClosedPipe;
        impl Write for ClosedPipe {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let writer = BufWriter::new(Box::new(ClosedPipe) as Box<dyn Write>);
        let mut sink = Sink { writer, target: None, reader_is_gone: false };
        sink.write_all(b"small enough to be buffered").expect("it is buffered");
        assert!(!sink.reader_is_gone);
        let error = sink.flush().expect_err("the pipe is closed");
        assert!(sink.reader_is_gone);
        assert!(error.to_string().starts_with("cannot write to standard output: "));
    }
}
