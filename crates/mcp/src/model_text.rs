//! Every text of this crate that a model reads: the server's instructions, and what a
//! prompt adds to a skill's own instructions.

/// Bytes of the server's instructions. Hosts put them into their system prompts.
#[cfg(test)]
const MAX_INSTRUCTIONS_BYTES: usize = 1 << 10;

pub(crate) const INSTRUCTIONS: &str = "\
This server provides skills: folders of instructions, files and scripts for particular tasks. \
When a task matches a skill's description, call load_skill with its name first, then follow its \
instructions. A skill's own tools appear when it is loaded. Code runs in a sandbox whose working \
directory is /mnt/data; files created there are resources, sandbox:/mnt/data/PATH. Files of \
skills are resources, skill://NAME/PATH.";

/// The error of a request for whose response there is no memory.
pub(crate) const TOO_MANY_RESPONSES: &str = "\
No memory is left for this response: receive the responses that are being sent, then repeat the \
request, or request less.";

/// Bytes of a line that a prompt adds, without the name of the skill, and of an error.
#[cfg(test)]
const MAX_LINE_BYTES: usize = 256;

pub(crate) fn prompt_heading(skill: &str) -> String {
    format!("Use the skill `{skill}`:\n\n")
}

pub(crate) fn other_files(skill: &str) -> String {
    format!(
        "\n\n---\nThis skill has other files: call load_skill with their `path`, or read the \
         resource skill://{skill}/PATH."
    )
}

pub(crate) fn problem(problem: &str) -> String {
    format!("\nProblem with {problem}")
}

pub(crate) fn task(task: &str) -> String {
    format!("\n\n---\nThe task: {task}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_within_their_caps() {
        assert!(INSTRUCTIONS.len() <= MAX_INSTRUCTIONS_BYTES);
        for line in [
            TOO_MANY_RESPONSES,
            &prompt_heading(""),
            &other_files(""),
            &problem(""),
            &task(""),
        ] {
            assert!(line.len() <= MAX_LINE_BYTES, "{line}");
        }
    }

    #[test]
    fn paths_are_those_of_containers() {
        let data = prowess_sandbox::LAYOUT.data;
        assert!(INSTRUCTIONS.contains(&format!("directory is {data};")));
        let template = crate::resources::SANDBOX_FILE_TEMPLATE;
        assert_eq!(template, format!("sandbox:{data}/{{+path}}"));
    }
}
