//! Errors of the crates as exceptions of the package, each with its stable code.

use std::error::Error;

use prowess_sandbox::Error as SandboxError;
use prowess_skill::Diagnostic;
use prowess_source::{FetchError, SourceError};
use prowess_store::Error as StoreError;
use prowess_toolbox::ToolboxError;
use pyo3::prelude::*;
use serde_json::{Value, json};

/// A future exception: a class of `prowess._errors` and its arguments.
#[derive(Debug)]
pub(crate) struct PyFailure {
    class: &'static str,
    code: String,
    message: String,
    /// Further details, as JSON.
    details: String,
}

impl PyFailure {
    pub(crate) fn new(class: &'static str, code: &str, message: impl Into<String>) -> Self {
        PyFailure {
            class,
            code: code.to_owned(),
            message: message.into(),
            details: "{}".to_owned(),
        }
    }

    /// The input is not a skill, or violates the requested rules.
    pub(crate) fn not_a_skill(place: &str, problems: &[Diagnostic]) -> Self {
        let worst = problems.iter().max_by_key(|problem| problem.severity);
        let why = worst.map_or("not a skill", |worst| worst.message.as_str());
        let code = worst.map_or("not-a-skill", |worst| worst.code);
        PyFailure {
            details: json!({ "problems": problems }).to_string(),
            ..PyFailure::new("SkillError", code, format!("{place}: {why}"))
        }
    }

    /// Invalid arguments.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        PyFailure::new("UsageError", "usage", message)
    }

    /// A run that could not start, or failed.
    pub(crate) fn run(
        code: &str,
        message: impl Into<String>,
        status: Option<u16>,
        request: Option<&str>,
    ) -> Self {
        PyFailure {
            details: json!({ "status": status, "request_id": request }).to_string(),
            ..PyFailure::new("RunError", code, message)
        }
    }

    /// An internal error.
    pub(crate) fn internal(error: impl Error) -> Self {
        PyFailure::new("ProwessError", "internal", error.to_string())
    }

    /// As JSON, for a list of problems.
    pub(crate) fn to_json(&self) -> Value {
        json!({ "code": self.code, "message": self.message })
    }

    fn into_py_err(self, py: Python<'_>) -> PyResult<PyErr> {
        let class = py.import("prowess._errors")?.getattr(self.class)?;
        let made = class.call_method1("_made", (self.message, self.code, self.details))?;
        Ok(PyErr::from_value(made))
    }
}

impl From<PyFailure> for PyErr {
    fn from(failure: PyFailure) -> PyErr {
        Python::attach(|py| failure.into_py_err(py).unwrap_or_else(|error| error))
    }
}

impl From<SourceError> for PyFailure {
    fn from(error: SourceError) -> Self {
        PyFailure::new("SourceError", error.code(), error.to_string())
    }
}

impl From<FetchError> for PyFailure {
    fn from(error: FetchError) -> Self {
        PyFailure::new("SourceError", error.code(), error.to_string())
    }
}

impl From<SandboxError> for PyFailure {
    fn from(error: SandboxError) -> Self {
        PyFailure::new("SandboxError", error.code(), error.to_string())
    }
}

impl From<ToolboxError> for PyFailure {
    fn from(error: ToolboxError) -> Self {
        match error {
            ToolboxError::Sandbox(error) => error.into(),
            error => PyFailure::new("ToolboxError", error.code(), error.to_string()),
        }
    }
}

impl From<StoreError> for PyFailure {
    fn from(error: StoreError) -> Self {
        PyFailure::new("StoreError", error.code(), error.to_string())
    }
}

impl From<prowess::Error> for PyFailure {
    fn from(error: prowess::Error) -> Self {
        use prowess::Error;
        let (code, message) = (error.code().to_owned(), error.to_string());
        let status = match error {
            Error::Store(error) => return error.into(),
            Error::Source(error) => return error.into(),
            Error::NotASkill { .. } => return PyFailure::new("SkillError", &code, message),
            Error::Config(_) => return PyFailure::new("UsageError", &code, message),
            Error::Model(error) => error.to_api_error().status,
            Error::Run(error) => error.to_api_error().status,
            _ => return PyFailure::new("ProwessError", &code, message),
        };
        PyFailure::run(&code, message, Some(status), None)
    }
}

impl From<prowess_client::Error> for PyFailure {
    fn from(error: prowess_client::Error) -> Self {
        let details = match &error {
            prowess_client::Error::Refused {
                status, request, ..
            } => json!({ "status": status, "request_id": request }),
            _ => json!({}),
        };
        let class = match &error {
            // These apply to any store.
            prowess_client::Error::NotFound(_) | prowess_client::Error::Ambiguous { .. } => {
                "StoreError"
            }
            _ => "ServerError",
        };
        PyFailure {
            details: details.to_string(),
            ..PyFailure::new(class, error.code(), error_chain(&error))
        }
    }
}

/// An error with its causes.
fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut behind = error.source();
    while let Some(error) = behind {
        text.push_str(&format!(": {error}"));
        behind = error.source();
    }
    text
}
