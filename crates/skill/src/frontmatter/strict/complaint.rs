//! A complaint in two parts, a context and a problem.

use super::Refusal;
use super::text::mark;

/// A complaint in two parts, as Python's YAML readers make them.
#[derive(Debug)]
pub(super) struct Complaint {
    context: Option<&'static str>,
    /// Where the context began; left out when it is the place of the problem.
    context_at: Option<usize>,
    problem: String,
    problem_at: usize,
    /// How far a reader had come when it met this: decides which complaint is first.
    pub(super) met_at: usize,
}

impl Complaint {
    pub(super) fn new(problem: impl Into<String>, problem_at: usize) -> Complaint {
        Complaint {
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
    ) -> Complaint {
        let context_at = context_at.into().filter(|&at| at != self.problem_at);
        let met_at = context_at.map_or(self.met_at, |at| at.min(self.met_at));
        Complaint {
            context: Some(context),
            context_at,
            met_at,
            ..self
        }
    }

    pub(super) fn met_at(self, met_at: usize) -> Complaint {
        Complaint { met_at, ..self }
    }

    pub(super) fn refuse(self, text: &str) -> Refusal {
        let mut lines = Vec::new();
        lines.extend(self.context.map(str::to_owned));
        lines.extend(self.context_at.map(|at| mark(text, at)));
        lines.push(self.problem);
        lines.push(mark(text, self.problem_at));
        let end = text.get(self.problem_at..).and_then(|t| t.chars().next());
        Refusal {
            message: lines.join("\n"),
            range: self.problem_at..self.problem_at + end.map_or(0, char::len_utf8),
        }
    }
}
