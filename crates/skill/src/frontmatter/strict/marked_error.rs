//! An error in two parts, a context and a problem.

use super::StrictYamlError;
use super::text::render_mark;

/// An error in two parts, like Python's `MarkedYAMLError`.
#[derive(Debug)]
pub(super) struct MarkedYamlError {
    context: Option<&'static str>,
    /// The start of the context; `None` if it is the location of the problem.
    context_at: Option<usize>,
    problem: String,
    problem_at: usize,
    /// How far a reader is when it finds this: decides which error is first.
    pub(super) met_at: usize,
}

impl MarkedYamlError {
    pub(super) fn new(problem: impl Into<String>, problem_at: usize) -> MarkedYamlError {
        MarkedYamlError {
            context: None,
            context_at: None,
            problem: problem.into(),
            problem_at,
            met_at: problem_at,
        }
    }

    pub(super) fn during(
        self,
        context: &'static str,
        context_at: impl Into<Option<usize>>,
    ) -> MarkedYamlError {
        let context_at = context_at.into().filter(|&at| at != self.problem_at);
        let met_at = context_at.map_or(self.met_at, |at| at.min(self.met_at));
        MarkedYamlError {
            context: Some(context),
            context_at,
            met_at,
            ..self
        }
    }

    pub(super) fn met_at(self, met_at: usize) -> MarkedYamlError {
        MarkedYamlError { met_at, ..self }
    }

    pub(super) fn into_strict_error(self, text: &str) -> StrictYamlError {
        let mut lines = Vec::new();
        lines.extend(self.context.map(str::to_owned));
        lines.extend(self.context_at.map(|at| render_mark(text, at)));
        lines.push(self.problem);
        lines.push(render_mark(text, self.problem_at));
        let end = text.get(self.problem_at..).and_then(|t| t.chars().next());
        StrictYamlError {
            message: lines.join("\n"),
            range: self.problem_at..self.problem_at + end.map_or(0, char::len_utf8),
        }
    }
}
