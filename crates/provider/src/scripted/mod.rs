//! A scripted model: for tests, for demonstrations, and for trying skills without a model.
//!
//! A script is a TOML file of steps. The first step whose conditions all hold responds to a
//! request:
//!
//! ```toml
//! [[step]]
//! when.user = "hello"              # the last message is the user's and contains this text
//! text = "Hello, what shall I do?"
//!
//! [[step]]
//! when.tools = ["bash"]            # these tools are offered
//! when.turn = 1                    # it is the model's first turn
//! thinking = "I should look first."
//! text = "Let me see."
//! calls = [{ name = "bash", input = { command = "ls" } }]
//!
//! [[step]]
//! when.tool_result = "report.txt"  # the last message has a tool result with this text
//! text = "There it is: {{tool_result}}"
//! pace = { chunk = 4, delay_ms = 20 }
//! ```
//!
//! # Conditions (`when`)
//!
//! | key | holds when |
//! |---|---|
//! | `user` | the last message (instructions aside) is the user's and its text contains this |
//! | `tool_result` | the last message has a tool result that contains this |
//! | `system` | the instructions contain this |
//! | `tools` | all tools with these names are offered |
//! | `turn` | it is the model's n-th turn of the conversation, counted from 1 |
//! | `model` | the model is called this |
//!
//! A step without `when` always matches, so it must be the last. `times = 2` lets a step
//! respond twice and then never again.
//!
//! # Responses
//!
//! `thinking`, `text` and `calls` are sent in this order. In texts and in the strings of a
//! call's input, `{{user}}`, `{{tool_result}}` and `{{model}}` are replaced by the
//! request's values.
//!
//! | key | meaning |
//! |---|---|
//! | `stop` | the stop reason; `tool_use` after calls, else `end_turn` |
//! | `usage` | `{ input_tokens, output_tokens }`; else a quarter of the bytes |
//! | `pace` | `chunk`: characters per event, `delay_ms`: the pause before each event |
//! | `error` | `status`, `message`, `retry_after_ms`: the response is an error; with `after = 3` the stream ends with it after three events |
//! | `cut_after` | the connection is lost after this many events of the stream |
//!
//! # Embeddings
//!
//! A scripted model has vectors too: texts with common words have similar ones. The table
//! `[embeddings]` changes them: `dimensions`, `synonyms = [["car", "automobile"]]` (words with
//! the same vector), `delay_ms`, and an `error` as above.
//!
//! ```
//! use prowess_provider::config::{ProviderConfig, ProviderKind, ProvidersConfig, ScriptedOptions};
//! use prowess_provider::{ClientCredentials, ModelOutput, Providers};
//! use prowess_wire::{Dialect, neutral::{Message, Request}};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let script = r#"
//!     [[step]]
//!     when.user = "ping"
//!     text = "pong, {{model}} here"
//! "#;
//! let kind = ProviderKind::new(ScriptedOptions::Text(script.to_owned()));
//! let providers = Providers::new(ProvidersConfig {
//!     providers: vec![ProviderConfig::new("stage", kind)],
//!     ..ProvidersConfig::default()
//! })?;
//!
//! let mut request = Request::new(Dialect::Messages, "stage/hero");
//! request.messages.push(Message::user("ping?"));
//! let route = providers.route(&request.model)?;
//! let reply = route.call(&request, &ClientCredentials::default()).await?;
//! let ModelOutput::Response(response) = reply.output else { unreachable!() };
//! assert_eq!(response.content[0].as_text(), Some("pong, hero here"));
//! # Ok(()) }
//! ```

mod call;
mod embed;
mod playback;
mod request_view;
mod script;

pub(crate) use playback::Playback;
pub(crate) use script::ModelScript;
pub use script::ScriptError;
