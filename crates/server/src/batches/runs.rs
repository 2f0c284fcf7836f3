//! What a scheduler needs of runs.

use bytes::Bytes;
use prowess_store::{RunState, TenantId};
use prowess_wire::ClientDialect;
use prowess_wire::neutral::ApiError;
use serde_json::Value;

/// A request that becomes a run.
#[derive(Debug, Clone)]
pub(crate) struct NewBatchRun<'a> {
    pub(crate) tenant: &'a TenantId,
    /// The id of the key that the batch was created with; `None` for the operator.
    pub(crate) api_key: Option<&'a str>,
    pub(crate) client: ClientDialect,
    pub(crate) body: Bytes,
    /// The betas of Anthropic's API that it uses, as in their header.
    pub(crate) betas: Option<String>,
    /// The same for the same request of the same batch, and for no other.
    pub(crate) idempotency_key: String,
}

/// How a run ended.
#[derive(Debug, Clone)]
pub(crate) struct BatchRunOutcome {
    pub(crate) state: RunState,
    /// The HTTP status with which the response or error would be sent.
    pub(crate) status: u16,
    /// The response or error, in the client's dialect.
    pub(crate) body: Value,
}

/// Kept runs, as a scheduler uses them.
pub(crate) trait BatchRuns: Send + Sync + 'static {
    /// Stores a run for any server to execute, and returns its id. The same idempotency key
    /// returns the same run.
    fn submit(&self, new: NewBatchRun<'_>)
    -> impl Future<Output = Result<String, ApiError>> + Send;

    /// The run that was submitted with this idempotency key, if there is one.
    fn find(
        &self,
        tenant: &TenantId,
        idempotency_key: &str,
    ) -> impl Future<Output = Result<Option<String>, ApiError>> + Send;

    /// How a run ended; `None` if it has not, or is unknown.
    fn outcome(
        &self,
        tenant: &TenantId,
        run: &str,
    ) -> impl Future<Output = Result<Option<BatchRunOutcome>, ApiError>> + Send;

    /// Cancels a run. One that has ended, or is unknown, stays as it is.
    fn cancel(
        &self,
        tenant: &TenantId,
        run: &str,
    ) -> impl Future<Output = Result<(), ApiError>> + Send;
}
