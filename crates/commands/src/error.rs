//! Why a command could not do its job.

use std::error::Error;
use std::fmt::Display;
use std::io;

use unsnarl_events::TraceError;
use unsnarl_models::ModelError;

/// An error of a command, with its causes as [`Error::source`].
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// Something that has no further cause.
    #[error("{0}")]
    Failed(String),
    /// What could not be done, and the error that prevented it.
    #[error("{message}")]
    Caused {
        /// What could not be done.
        message: String,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A result could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// A file of models is wrong.
    #[error(transparent)]
    Models(#[from] ModelError),
    /// A trace could not be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl CommandError {
    /// An error without a further cause.
    pub(crate) fn failed(message: impl Display) -> Self {
        Self::Failed(message.to_string())
    }

    /// The message with those of all causes.
    pub(crate) fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut source = self.source();
        while let Some(error) = source {
            text += &format!(": {error}");
            source = error.source();
        }
        text
    }
}

/// Says of an error what could not be done because of it.
pub(crate) trait Context<T> {
    /// Adds the message, which is made only if there is an error.
    fn context(self, message: impl FnOnce() -> String) -> Result<T, CommandError>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> Context<T> for Result<T, E> {
    fn context(self, message: impl FnOnce() -> String) -> Result<T, CommandError> {
        self.map_err(|source| CommandError::Caused { message: message(), source: source.into() })
    }
}
