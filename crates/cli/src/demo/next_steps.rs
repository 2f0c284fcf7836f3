//! Commands to try after the demo. Every line works as printed.

use std::path::Path;

use serde_json::json;

use crate::output::{self, STRONG};

/// While the server is running.
pub(super) fn print_while_serving(url: &str, skill: &str, folder: &Path) -> anyhow::Result<()> {
    let me = program_name();
    let body = json!({
        "model": "demo",
        "messages": [{"role": "user", "content": "Make me a bouncing ball"}],
        "container": {"skills": [{"type": "custom", "skill_id": skill}]},
    });
    let folder = shell_quote(&folder.display().to_string());
    print_commands(&[
        // The same request in OpenAI's format.
        format!(
            "curl -s {url}/v1/chat/completions -H 'content-type: application/json' -d {}",
            shell_quote(&body.to_string())
        ),
        format!("{me} skill list --server={url}"),
        format!("{me} runs --data-dir {folder}"),
    ])
}

/// After the server has stopped.
pub(super) fn print_after_end(reduced: bool) -> anyhow::Result<()> {
    let me = program_name();
    let reduced = if reduced { " --reduced" } else { "" };
    print_commands(&[
        format!("{me} skill new my-skill --tool"),
        format!("{me} skill validate my-skill"),
        format!(
            "{me} sandbox exec{reduced} --skill my-skill -- \
             python3 /skills/my-skill/scripts/greet.py you"
        ),
    ])
}

fn print_commands(commands: &[String]) -> anyhow::Result<()> {
    output::print_text(&format!("\n{STRONG}Next{STRONG:#}\n"))?;
    commands
        .iter()
        .try_for_each(|command| output::print_text(&format!("   {command}\n")))
}

/// This program as it was called: it may not be on the PATH.
fn program_name() -> String {
    let called = std::env::args().next().unwrap_or_default();
    if called.contains('/') {
        shell_quote(&called)
    } else {
        "prowess".to_owned()
    }
}

/// Quotes a word for a shell.
fn shell_quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if word.chars().all(plain) && !word.is_empty() {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_a_shell_reads_them() {
        assert_eq!(shell_quote("target/debug/prowess"), "target/debug/prowess");
        assert_eq!(shell_quote("it's"), r"'it'\''s'");
        assert_eq!(shell_quote(""), "''");
    }
}
