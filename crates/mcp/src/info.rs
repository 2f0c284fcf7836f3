//! Name, version, capabilities and instructions of the server.

use crate::model_text;
use rmcp::model::{
    ExtensionCapabilities, Implementation, JsonObject, ServerCapabilities, ServerConfig,
};
use serde_json::Value;

/// The name of the skills extension.
pub(crate) const SKILLS_EXTENSION: &str = "io.modelcontextprotocol/skills";

/// The server's name, version, capabilities and instructions.
pub(crate) fn server_config() -> ServerConfig {
    let mut settings = JsonObject::new();
    settings.insert("directoryRead".to_owned(), Value::Bool(true));
    let capabilities = ServerCapabilities::builder()
        .enable_completions()
        .enable_extensions_with(ExtensionCapabilities::from([(
            SKILLS_EXTENSION.to_owned(),
            settings,
        )]))
        .enable_prompts()
        .enable_prompts_list_changed()
        .enable_resources()
        .enable_resources_list_changed()
        .enable_tools()
        .enable_tool_list_changed()
        .build();
    let mut server = Implementation::new("prowess", env!("CARGO_PKG_VERSION"));
    server.title = Some("Prowess: Agent Skills".to_owned());
    ServerConfig::new(capabilities)
        .with_server_info(server)
        .with_instructions(model_text::INSTRUCTIONS)
}
