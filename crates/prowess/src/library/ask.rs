//! A question and its answer in one call, without a store that remains.

use super::output_folder::unique_names;
use super::{Error, PromptRequest, Prowess, SkillRef};

/// The answer to [`ask`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The text of the answer.
    pub text: String,
    /// The files that the model's code generated.
    pub files: Vec<AnswerFile>,
}

/// A generated file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerFile {
    /// A name that is safe to write to: one part without special characters, different from
    /// the names of the other files.
    pub name: String,
    /// The content.
    pub content: Vec<u8>,
}

/// Asks a model, with skills, and returns its answer.
///
/// Models are those whose well-known key variables are set (`ANTHROPIC_API_KEY`,
/// `OPENAI_API_KEY`, …), named `provider/model`. A skill is a folder, an archive or a URL.
/// Its code runs in the sandbox. Nothing is stored after the call; [`Prowess::builder`]
/// configures everything else.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let answer = prowess::ask(
///     "anthropic/claude-sonnet-4-5",
///     "Make me a bouncing ball",
///     ["examples/skills/bouncing-ball"],
/// )
/// .await?;
/// println!("{}", answer.text);
/// for file in &answer.files {
///     std::fs::write(&file.name, &file.content)?;
/// }
/// # Ok(())
/// # }
/// ```
///
/// Must be called within a Tokio runtime.
///
/// # Errors
/// When the model is unknown, a skill cannot be loaded, or the run fails.
pub async fn ask<S: Into<SkillRef>>(
    model: impl Into<String>,
    prompt: impl Into<String>,
    skills: impl IntoIterator<Item = S>,
) -> Result<Answer, Error> {
    let request = PromptRequest::new(model, prompt);
    let request = skills.into_iter().fold(request, PromptRequest::skill);
    let prowess = Prowess::builder().open().await?;
    let answer = prowess.ask(request).await;
    prowess.close().await;
    answer
}

impl Prowess {
    /// Runs a request to its end, and reads the generated files.
    ///
    /// # Errors
    /// When the request cannot be run, or the model or the store fails.
    pub async fn ask(&self, request: impl Into<PromptRequest>) -> Result<Answer, Error> {
        let output = self.run(request).await?.finish().await?;
        let names = unique_names(output.files.iter().map(|file| file.filename.as_str()));
        let mut files = Vec::with_capacity(output.files.len());
        for (file, name) in output.files.iter().zip(names) {
            let content = self.read(file).await?;
            files.push(AnswerFile { name, content });
        }
        Ok(Answer {
            text: output.text,
            files,
        })
    }
}
