//! One session over standard input and output.

use crate::desk::Desk;
use crate::face::Face;
use crate::supply::Supply;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

/// Serves until the other side has no more to say, or `stop` is cancelled. Then whatever
/// still runs is ended, and the session's files go.
///
/// # Errors
/// When the other side does not speak MCP, or cannot be written to.
pub async fn serve(
    supply: Arc<dyn Supply>,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: CancellationToken,
) -> Result<(), Error> {
    let desk = Arc::new(Desk::new(supply));
    let served = talk(Face(Arc::clone(&desk)), input, output, stop).await;
    desk.close().await;
    served
}

async fn talk(
    face: Face,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: CancellationToken,
) -> Result<(), Error> {
    let running = match face.serve_with_ct((input, output), stop).await {
        Ok(running) => running,
        // Nothing was said, or we were told to stop: then there is nothing to do.
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
