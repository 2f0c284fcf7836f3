//! Rules for accessible pages: axe-core, run in the browser.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::installed::installed;

/// Runs all rules, and gives what was found in a form that people read.
const RUN: &str = "
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ['violations'] }).then(
  (found) => done(found.violations.flatMap((rule) => rule.nodes.map((node) =>
    `${rule.id}: ${node.html.slice(0, 200)}\\n  ${node.failureSummary}`))),
  (error) => done([String(error)]),
);";

/// The rules as a program, read once.
pub(crate) struct Rules(String);

impl Rules {
    pub(crate) fn read() -> Rules {
        let path = installed("console").join("node_modules/axe-core/axe.min.js");
        Rules(std::fs::read_to_string(path).unwrap())
    }

    /// What the current page violates.
    pub(crate) async fn violations(&self, browser: &Browser) -> Vec<String> {
        let there = browser.value("typeof axe === 'object'").await;
        let program = match there {
            Value::Bool(true) => RUN.to_owned(),
            _ => format!("{}\n{RUN}", self.0),
        };
        let found = browser.driver.script(&program, json!([])).await;
        let found = found.as_array().unwrap().iter();
        found.map(|it| it.as_str().unwrap().to_owned()).collect()
    }
}
