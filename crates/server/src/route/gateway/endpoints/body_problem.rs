//! Why a body was refused while it was being sent on. The upstream's answer to half a body says
//! nothing about that.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::HttpError;

/// What is wrong with a body, once that is known. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct BodyProblem(Arc<Mutex<Option<HttpError>>>);

impl BodyProblem {
    /// Notes a problem; the body ends with the error that is returned.
    pub(super) fn note(&self, problem: HttpError) -> io::Error {
        let error = io::Error::other(problem.message.clone());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem);
        error
    }

    /// The problem, if there is one.
    pub(super) fn take(&self) -> Option<HttpError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
