//! What a request is to the choice of a deployment: its size and its conversation.

use prowess_wire::ClientDialect;
use prowess_wire::neutral::{Request, estimate_tokens};
use prowess_wire::raw::RawObject;

use super::conversation_key::{of_client_request, of_request};
use super::plan::RoutePlan;
use crate::client_request::ClientRequest;
use crate::upstream::ModelTask;

/// Bytes of a request per token, about.
const BYTES_PER_TOKEN: usize = 4;
/// The same of a file in base64: images and documents have far fewer tokens than bytes.
const FILE_BYTES_PER_TOKEN: usize = 60;
/// So many letters of base64 in a row are a file, and not text.
const MIN_FILE_BYTES: usize = 4 << 10;
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
        // A provider counts without using any.
        let uses_tokens = incoming.task != ModelTask::CountTokens;
        let tokens = match uses_tokens && plan.limits_tokens() {
            true => {
                let output = output_limit(incoming.client, incoming.raw);
                estimate_input(incoming.body).saturating_add(output.unwrap_or_default())
            }
            false => 0,
        };
        let generates = matches!(incoming.task, ModelTask::Generate | ModelTask::Compact);
        let conversation = match generates && plan.prefers_deployments {
            true => of_client_request(incoming),
            false => None,
        };
        RequestShape {
            tokens,
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
        let tokens = match plan.limits_tokens() {
            true => {
                let output = request.max_tokens.unwrap_or_default();
                estimate_tokens(request).saturating_add(output)
            }
            false => 0,
        };
        RequestShape {
            tokens,
            conversation,
            ..RequestShape::default()
        }
    }
}

/// The output that a client's request allows. Gemini's clients have it among their settings.
fn output_limit(client: ClientDialect, raw: &RawObject<'_>) -> Option<u64> {
    if client == ClientDialect::Gemini {
        let settings = raw.settings().ok()??;
        let limit = settings.get_camel_or_snake("maxOutputTokens")?;
        return limit.parse().ok();
    }
    let mut fields = OUTPUT_FIELDS.iter();
    fields.find_map(|field| raw.get(field)?.parse().ok())
}

/// About how many tokens the input of a request has.
fn estimate_input(body: &[u8]) -> u64 {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(byte);
    let runs = body.split(|byte| !is_base64(byte)).map(<[u8]>::len);
    let files: usize = runs.filter(|length| *length >= MIN_FILE_BYTES).sum();
    let text = body.len() - files;
    let tokens = text / BYTES_PER_TOKEN + files / FILE_BYTES_PER_TOKEN;
    u64::try_from(tokens).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_base64_count_as_what_they_show() {
        let text = "Some words of a prompt. ".repeat(1_000);
        assert_eq!(estimate_input(text.as_bytes()), 6_000);
        let image = "iVBORw0KGgo+/9".repeat(30_000);
        let body = format!(r#"{{"text":"{text}","data":"{image}"}}"#);
        assert_eq!(estimate_input(body.as_bytes()), 6_005 + 7_000);
        assert_eq!(estimate_input(b""), 0);
    }

    #[test]
    fn the_limit_of_the_output_is_read_in_each_dialect() {
        for (client, body, expected) in [
            (ClientDialect::Messages, r#"{"max_tokens":7}"#, Some(7)),
            (
                ClientDialect::Chat,
                r#"{"max_completion_tokens":8}"#,
                Some(8),
            ),
            (
                ClientDialect::Responses,
                r#"{"max_output_tokens":9}"#,
                Some(9),
            ),
            (
                ClientDialect::Gemini,
                r#"{"generationConfig":{"maxOutputTokens":10}}"#,
                Some(10),
            ),
            (
                ClientDialect::Gemini,
                r#"{"generation_config":{"max_output_tokens":11}}"#,
                Some(11),
            ),
            (ClientDialect::Gemini, r#"{"contents":[]}"#, None),
            (ClientDialect::Chat, r#"{"max_tokens":null}"#, None),
        ] {
            let raw = RawObject::parse(body.as_bytes()).unwrap();
            assert_eq!(output_limit(client, &raw), expected, "{body}");
        }
    }
}
