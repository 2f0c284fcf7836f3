//! Why a call of the editor failed: a code for native clients and a sentence for the model.

use crate::error::ToolboxError;
use crate::outcome::ErrorCode;
use crate::run;

/// Why an edit failed.
#[derive(Debug)]
pub(super) struct EditError {
    pub(super) code: ErrorCode,
    pub(super) why: String,
}

impl From<String> for EditError {
    fn from(why: String) -> Self {
        Self {
            code: ErrorCode::InvalidToolInput,
            why,
        }
    }
}

impl From<ToolboxError> for EditError {
    fn from(error: ToolboxError) -> Self {
        Self {
            code: run::error_code(&error),
            why: error.to_string(),
        }
    }
}
