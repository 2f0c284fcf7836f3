//! What is measured of each binary: runs that load a skill or run a command, and a command
//! that the command line runs.

use serde_json::{Value, json};

/// One kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A run whose model loads a skill.
    LoadSkill,
    /// A run with bash in a new container that has all skills.
    NewContainer,
    /// A run with bash in a container that exists.
    Bash,
    /// A run with Python in a container that exists.
    Python,
    /// `prowess sandbox exec`: a new process and all layers of a new sandbox.
    CommandLine,
}

impl Operation {
    pub(crate) const ALL: [Operation; 5] = [
        Operation::LoadSkill,
        Operation::NewContainer,
        Operation::Bash,
        Operation::Python,
        Operation::CommandLine,
    ];

    /// Its row in a table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Operation::LoadSkill => "run: `load_skill`",
            Operation::NewContainer => "run: bash, new container",
            Operation::Bash => "run: bash, existing container",
            Operation::Python => "run: python3, existing container",
            Operation::CommandLine => "`prowess sandbox exec -- python3 -c pass`",
        }
    }

    /// The prompt at which the script does it.
    pub(crate) fn prompt(self) -> &'static str {
        match self {
            Operation::LoadSkill => "load",
            Operation::NewContainer | Operation::Bash => "bash",
            Operation::Python => "python",
            Operation::CommandLine => "",
        }
    }

    /// What the response of its run has if it was done.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Operation::LoadSkill => "That was all.",
            Operation::NewContainer | Operation::Bash => "printed-42",
            Operation::Python => "printed-43",
            Operation::CommandLine => "",
        }
    }

    /// Its run, with these skills or in this container.
    pub(crate) fn body(self, skills: &[String], container: &str) -> Value {
        let named = |id: &String| json!({"type": "custom", "skill_id": id});
        let container = match self {
            Operation::Bash | Operation::Python => json!(container),
            _ => json!({"skills": skills.iter().map(named).collect::<Vec<_>>()}),
        };
        json!({
            "model": "scripted/model",
            "max_tokens": 1000,
            "container": container,
            "tools": [{"type": "code_execution_20250825", "name": "code_execution"}],
            "messages": [{"role": "user", "content": self.prompt()}],
        })
    }
}

/// Calls the tool that the prompt names, then ends. No command contains its own output.
pub(crate) fn script(skill: &str) -> String {
    format!(
        "[[step]]\nwhen.user = 'load'\n\
         calls = [{{ name = 'load_skill', input = {{ name = '{skill}' }} }}]\n\
         [[step]]\nwhen.user = 'bash'\n\
         calls = [{{ name = 'bash_code_execution', \
         input = {{ command = 'echo printed-$((40 + 2))' }} }}]\n\
         [[step]]\nwhen.user = 'python'\n\
         calls = [{{ name = 'bash_code_execution', \
         input = {{ command = 'python3 -c \"print(f\\\"printed-{{40 + 3}}\\\")\"' }} }}]\n\
         [[step]]\ntext = 'That was all.'\n"
    )
}
