//! One session over standard input and output.

use crate::handler::McpHandler;
use crate::session::McpSession;
use crate::skill_provider::SkillProvider;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

/// Serves until the input ends or `stop` is cancelled. Then running processes are stopped
/// and the session's files are removed.
///
/// # Errors
/// When the client does not use MCP, or cannot be written to.
pub async fn serve(
    provider: Arc<dyn SkillProvider>,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: CancellationToken,
) -> Result<(), Error> {
    let session = Arc::new(McpSession::new(provider));
    let served = run_session(McpHandler(Arc::clone(&session)), input, output, stop).await;
    session.close().await;
    served
}

async fn run_session(
    handler: McpHandler,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: CancellationToken,
) -> Result<(), Error> {
    let running = match handler.serve_with_ct((input, output), stop).await {
        Ok(running) => running,
        // The input ended or `stop` was cancelled before `initialize`.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            return Ok(());
        }
        Err(error) => return Err(Error(error.to_string())),
    };
    let ended = running.waiting().await;
    ended.map(drop).map_err(|error| Error(error.to_string()))
}

/// Why a session could not be served.
#[derive(Debug, thiserror::Error)]
#[error("the MCP session failed: {0}")]
pub struct Error(String);
