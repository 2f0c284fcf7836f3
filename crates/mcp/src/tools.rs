//! Lists and calls the tools of the toolbox.

use crate::content;
use crate::progress::ProgressReporter;
use crate::request_permit::count_bytes;
use crate::session::McpSession;
use crate::tool_schema::without_booleans;
use prowess_toolbox::{ToolOutcome, ToolSpec, Toolbox};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ErrorCode, ListToolsResult, MetaObject, Tool,
    ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

/// All tools that may be called now.
pub(crate) async fn list(session: &McpSession) -> Result<ListToolsResult, ErrorData> {
    let toolbox = &session.refresh().await?.toolbox;
    let load = toolbox.own_tool_names().load;
    let tools = toolbox.tools().into_iter().map(|spec| {
        let lists_skills = load.as_ref() == Some(&spec.name);
        let tool = to_mcp_tool(toolbox, spec);
        if lists_skills {
            tool.with_meta(always_loaded())
        } else {
            tool
        }
    });
    let listed = ListToolsResult::with_all_items(tools.collect());
    session.note_tools_listed();
    Ok(listed)
}

/// Claude Code shows its model only the names of tools until the model searches for them. The
/// description of this one lists the skills: a model that does not see it does not know of any.
fn always_loaded() -> MetaObject {
    let mut meta = MetaObject::new();
    meta.0
        .insert("anthropic/alwaysLoad".to_owned(), Value::Bool(true));
    meta
}

fn to_mcp_tool(toolbox: &Toolbox, spec: ToolSpec) -> Tool {
    let reads = toolbox.is_read_only(&spec.name);
    // Code runs in a sandbox, but may overwrite the session's own files. Whether it has
    // network access is configured by the operator, so the hint is omitted.
    let annotations = if reads {
        ToolAnnotations::new().read_only(true).open_world(false)
    } else {
        ToolAnnotations::new().read_only(false).destructive(true)
    };
    let schema = match spec.input_schema {
        Value::Object(schema) => without_booleans(schema),
        _ => serde_json::Map::new(),
    };
    Tool::new(spec.name, spec.description, schema).with_annotations(annotations)
}

/// Calls a tool. A failure is a result that the model reads; only a cancelled call is an
/// error.
pub(crate) async fn call(
    session: &McpSession,
    params: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let toolbox = &session.state().await?.toolbox;
    let before = toolbox.tool_count();
    let input = Value::Object(params.arguments.unwrap_or_default());
    let outcome = run_call(toolbox, &params.name, &input, context).await?;
    session.notify_changes(&outcome, before).await;
    let version = context.protocol_version();
    let count = |bytes| count_bytes(context, bytes);
    content::call_result(&outcome, toolbox.workspace(), version.as_ref(), &count).await
}

/// Dropping a call stops its processes, so a cancelled one is just dropped.
async fn run_call(
    toolbox: &Toolbox,
    name: &str,
    input: &Value,
    context: &RequestContext<RoleServer>,
) -> Result<ToolOutcome, ErrorData> {
    let mut progress = ProgressReporter::new(context);
    let calling = toolbox.call(name, input, progress.take_sender());
    // The call goes on while a report waits for its client: its time limit is in it.
    tokio::select! {
        outcome = calling => Ok(outcome),
        () = context.ct.cancelled() => Err(cancelled(name)),
        never = progress.forward() => match never {},
    }
}

fn cancelled(name: &str) -> ErrorData {
    let message = format!("the call of `{name}` was cancelled and its processes were stopped");
    ErrorData::new(ErrorCode::INTERNAL_ERROR, message, None)
}
