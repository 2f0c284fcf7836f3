//! The runs that are measured: how many tool calls they have, of which tool, and whether
//! their response is streamed; and the script of the model that makes these calls.

use std::fmt::Write as _;
use std::time::Duration;

/// The tool that a run calls once in each turn but the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunTool {
    /// Returns the instructions of a skill; there is no container.
    LoadSkill,
    /// A command that writes a new file into a new container.
    Bash,
    /// No tool: the only turn is a text that takes a while.
    None,
}

/// One kind of run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunShape {
    pub(crate) tool: RunTool,
    pub(crate) calls: u32,
    pub(crate) stream: bool,
}

/// The text that takes a while: this many events, each after this time.
const SLOW_EVENTS: usize = 50;
const SLOW_PAUSE: Duration = Duration::from_millis(10);
/// What the model answers in the end.
pub(crate) const ANSWER: &str = "That was all.";

impl RunShape {
    /// All that are measured.
    pub(crate) fn all() -> Vec<RunShape> {
        let shape = |tool, calls, stream| RunShape {
            tool,
            calls,
            stream,
        };
        let counts = [1, 3, 8];
        let load = counts.map(|calls| shape(RunTool::LoadSkill, calls, false));
        let bash = counts.map(|calls| shape(RunTool::Bash, calls, false));
        let streamed = [shape(RunTool::Bash, 3, true), shape(RunTool::None, 0, true)];
        load.into_iter().chain(bash).chain(streamed).collect()
    }

    /// Its row in a table.
    pub(crate) fn name(self) -> String {
        let calls = match self.tool {
            RunTool::LoadSkill => format!("{} × `load_skill`", self.calls),
            RunTool::Bash => format!("{} × bash", self.calls),
            RunTool::None => "a slow text".to_owned(),
        };
        match self.stream {
            true => format!("{calls}, streamed"),
            false => calls,
        }
    }

    /// The model whose script makes these calls.
    pub(crate) fn model(self) -> String {
        match self.tool {
            RunTool::LoadSkill => format!("load-{}", self.calls),
            RunTool::Bash => format!("bash-{}", self.calls),
            RunTool::None => "slow".to_owned(),
        }
    }

    /// Turns of the model, and results of the calls of a turn.
    pub(crate) fn steps(self) -> u32 {
        2 * self.calls + 1
    }
}

/// The script of all models, with this skill.
pub(crate) fn script(skill: &str) -> String {
    let mut script = String::new();
    // Streamed or not, the script is the same.
    for shape in RunShape::all().iter().filter(|shape| !shape.stream) {
        for turn in 1..=shape.calls {
            let call = match shape.tool {
                RunTool::LoadSkill => {
                    format!("name = 'load_skill', input = {{ name = '{skill}' }}")
                }
                // The content differs each time, so that it is stored each time.
                RunTool::Bash => format!(
                    "name = 'bash_code_execution', \
                     input = {{ command = 'echo $EPOCHREALTIME$RANDOM > note-{turn}.txt' }}"
                ),
                RunTool::None => continue,
            };
            // Writing to a string cannot fail.
            let _ = write!(
                script,
                "[[step]]\nwhen.model = '{}'\nwhen.turn = {turn}\ncalls = [{{ {call} }}]\n",
                shape.model()
            );
        }
    }
    // Split into as many events as there are words.
    let words = "words ".repeat(SLOW_EVENTS);
    let pause = SLOW_PAUSE.as_millis();
    let _ = write!(
        script,
        "[[step]]\nwhen.model = 'slow'\ntext = '{words}{ANSWER}'\n\
         pace = {{ chunk = 6, delay_ms = {pause} }}\n"
    );
    script + &format!("[[step]]\ntext = '{ANSWER}'\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_a_step_for_each_turn_and_for_the_calls_of_each_turn() {
        let steps = |calls| {
            let shape = RunShape {
                tool: RunTool::Bash,
                calls,
                stream: false,
            };
            shape.steps()
        };
        assert_eq!([steps(0), steps(1), steps(8)], [1, 3, 17]);
    }

    #[test]
    fn the_script_has_a_call_for_each_turn() {
        let script = script("report");
        let turns = |model: &str| script.matches(&format!("when.model = '{model}'\n")).count();
        let counts = ["load-1", "load-8", "bash-1", "bash-3", "slow"].map(turns);
        assert_eq!(counts, [1, 8, 1, 3, 1]);
    }
}
