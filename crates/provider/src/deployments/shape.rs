//! What a request is to the choice of a deployment: its size and its conversation.

use prowess_wire::neutral::{Request, estimate_tokens};

use super::conversation_key::{of_client_request, of_request};
use super::plan::RoutePlan;
use crate::client_request::ClientRequest;
use crate::upstream::ModelTask;

/// Bytes of a request per token, about.
const BYTES_PER_TOKEN: usize = 4;
/// Where a request says how long its response may be.
const OUTPUT_FIELDS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

/// What a request is to the choice of a deployment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestShape {
    /// Tokens that it counts against a deployment's limit: those of the input, estimated, and
    /// the output that it allows, as providers count before they respond.
    pub(crate) tokens: u64,
    /// Whose request it is; set by its route.
    pub(crate) owner: u64,
    /// What identifies its conversation.
    pub(crate) conversation: Option<u64>,
}

impl RequestShape {
    /// Of a client's request.
    pub(crate) fn of_client_request(plan: &RoutePlan, incoming: &ClientRequest<'_>) -> Self {
        let input = u64::try_from(incoming.body.len() / BYTES_PER_TOKEN).unwrap_or(u64::MAX);
        let mut fields = OUTPUT_FIELDS.iter();
        let output = fields.find_map(|field| incoming.raw.get(field)?.parse::<u64>().ok());
        let generates = matches!(incoming.task, ModelTask::Generate | ModelTask::Compact);
        let conversation = match generates && plan.prefers_deployments {
            true => of_client_request(incoming),
            false => None,
        };
        RequestShape {
            tokens: input.saturating_add(output.unwrap_or_default()),
            conversation,
            ..RequestShape::default()
        }
    }

    /// Of a request in neutral form.
    pub(crate) fn of_request(plan: &RoutePlan, request: &Request) -> Self {
        let conversation = match plan.prefers_deployments {
            true => of_request(request),
            false => None,
        };
        let output = request.max_tokens.unwrap_or_default();
        RequestShape {
            tokens: estimate_tokens(request).saturating_add(output),
            conversation,
            ..RequestShape::default()
        }
    }
}
