//! What the server says of itself.

use rmcp::model::{
    ExtensionCapabilities, Implementation, JsonObject, ServerCapabilities, ServerConfig,
};
use serde_json::Value;

/// The skills extension's name.
pub(crate) const SKILLS_EXTENSION: &str = "io.modelcontextprotocol/skills";

const INSTRUCTIONS: &str = "\
This server offers skills: folders of instructions, files and scripts for particular tasks. \
Before a task that a skill is for, call load_skill with its name, then follow what it says. \
A skill's own tools appear when it is loaded. Code runs in a sandbox whose working folder is \
/mnt/data; files made there are resources, sandbox:/mnt/data/PATH. Files of skills are \
resources, skill://NAME/PATH.";

/// The server's name, version, abilities and advice.
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
        .with_instructions(INSTRUCTIONS)
}
