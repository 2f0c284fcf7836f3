//! Tools: the toolbox's, listed and called.

use crate::content;
use crate::desk::Desk;
use crate::progress::Telling;
use prowess_toolbox::{Outcome, ToolSpec, Toolbox};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ErrorCode, ListToolsResult, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

/// All tools that may be called now.
pub(crate) async fn list(desk: &Desk) -> Result<ListToolsResult, ErrorData> {
    let toolbox = &desk.refreshed().await?.toolbox;
    let tools = toolbox.tools().into_iter().map(|spec| told(toolbox, spec));
    let listed = ListToolsResult::with_all_items(tools.collect());
    desk.listed();
    Ok(listed)
}

fn told(toolbox: &Toolbox, spec: ToolSpec) -> Tool {
    let reads = toolbox.reads(&spec.name);
    // What runs, runs in a sandbox, but may overwrite the session's own files. Whether it
    // reaches the network is the operator's to say, so that is left open.
    let annotations = match reads {
        true => ToolAnnotations::new().read_only(true).open_world(false),
        false => ToolAnnotations::new().read_only(false).destructive(true),
    };
    let schema = match spec.input_schema {
        Value::Object(schema) => schema,
        _ => serde_json::Map::new(),
    };
    Tool::new(spec.name, spec.description, schema).with_annotations(annotations)
}

/// Calls a tool. What goes wrong is a result that the model can read; only a call that
/// its client has given up is an error.
pub(crate) async fn call(
    desk: &Desk,
    params: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let toolbox = &desk.open().await?.toolbox;
    let before = toolbox.tools().len();
    let input = Value::Object(params.arguments.unwrap_or_default());
    let outcome = run(toolbox, &params.name, &input, context).await?;
    desk.tell_of(&outcome, before).await;
    content::result(&outcome, toolbox.workspace()).await
}

/// Dropping a call ends what it runs, so a cancelled one need only be dropped.
async fn run(
    toolbox: &Toolbox,
    name: &str,
    input: &Value,
    context: &RequestContext<RoleServer>,
) -> Result<Outcome, ErrorData> {
    let mut telling = Telling::new(context);
    let calling = toolbox.call(name, input, telling.take_sender());
    tokio::pin!(calling);
    loop {
        tokio::select! {
            outcome = &mut calling => return Ok(outcome),
            () = context.ct.cancelled() => return Err(cancelled(name)),
            Some(chunk) = telling.next() => telling.tell(&chunk).await,
        }
    }
}

fn cancelled(name: &str) -> ErrorData {
    let message = format!("the call of `{name}` was cancelled; what it ran has ended");
    ErrorData::new(ErrorCode::INTERNAL_ERROR, message, None)
}
