//! Prowess as a library: a model uses a skill, its code runs in the sandbox, and the file it
//! generates is saved. The model is scripted, so no API key is needed:
//!
//! ```text
//! cargo run -p prowess --example library
//! ```

#![allow(
    clippy::allow_attributes,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example shows what it does"
)]

use std::path::{Path, PathBuf};

use futures_util::StreamExt;
use prowess::provider::{ProviderConfig, ProviderKind, ScriptedOptions};
use prowess::{Builder, Error, Event, OutputFolder, PromptRequest, Prowess, RunStep};

/// The model's turns: it loads the skill, calls the skill's tool, and ends.
const SCRIPT: &str = r#"
[[step]]
when.turn = 1
text = "I have a skill for that."
calls = [{ name = "load_skill", input = { name = "bouncing-ball" } }]

[[step]]
when.turn = 2
calls = [{ name = "bouncing_ball__make_gif", input = { output = "ball.gif", size = 64 } }]

[[step]]
text = "Here it is: ball.gif."
"#;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let saved = make_a_ball(Prowess::builder(), Path::new(".")).await?;
    println!("saved {}", saved.display());
    Ok(())
}

/// Runs one request and saves the generated file.
pub(crate) async fn make_a_ball(builder: Builder, out: &Path) -> Result<PathBuf, Error> {
    let script = ProviderKind::new(ScriptedOptions::Text(SCRIPT.to_owned()));
    let prowess = builder
        .provider(ProviderConfig::new("stage", script))
        .open()
        .await?;

    let skill = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/skills/bouncing-ball"
    );
    let request = PromptRequest::new("stage/hero", "Make me a bouncing ball").skill(skill);

    let mut run = prowess.run(request).await?;
    while let Some(event) = run.next().await {
        match event? {
            Event::Text(text) => println!("{text}"),
            Event::Step(RunStep::ToolStarted { name, input, .. }) => {
                eprintln!("calls {name} {input}")
            }
            _ => {}
        }
    }

    let answer = run.finish().await?;
    let mut folder = OutputFolder::new(out);
    let mut saved = out.to_owned();
    for file in &answer.files {
        saved = prowess.save(file, &mut folder).await?;
    }
    prowess.close().await;
    Ok(saved)
}
