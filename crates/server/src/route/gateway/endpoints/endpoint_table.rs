//! The endpoints of models besides conversations and embeddings.

use prowess_wire::ClientDialect;

/// An endpoint of OpenAI's API, or of servers compatible with it.
pub(super) struct GatewayEndpoint {
    /// As in the route table.
    pub(super) path: &'static str,
    /// Below the upstream's address.
    pub(super) upstream_path: &'static str,
    /// The dialect whose names its token counts have.
    pub(super) usage: ClientDialect,
    /// The name of the operation in traces.
    pub(super) operation: &'static str,
    /// The model of a request that names none, where the API has a default.
    pub(super) default_model: Option<&'static str>,
    /// Whether it generates text, up to a limit that the request names.
    pub(super) generates_text: bool,
    /// Whether what it makes costs output tokens: text, or pictures.
    pub(super) makes_tokens: bool,
}

const COMPLETIONS: GatewayEndpoint = GatewayEndpoint {
    path: "/completions",
    upstream_path: "completions",
    usage: ClientDialect::Chat,
    operation: "text_completion",
    default_model: None,
    generates_text: true,
    makes_tokens: true,
};

const fn endpoint(
    path: &'static str,
    upstream_path: &'static str,
    operation: &'static str,
) -> GatewayEndpoint {
    GatewayEndpoint {
        path,
        upstream_path,
        usage: ClientDialect::Responses,
        operation,
        default_model: None,
        generates_text: false,
        makes_tokens: false,
    }
}

/// One whose models make pictures of texts, or texts of sound.
const fn making_endpoint(
    path: &'static str,
    upstream_path: &'static str,
    operation: &'static str,
) -> GatewayEndpoint {
    GatewayEndpoint {
        makes_tokens: true,
        ..endpoint(path, upstream_path, operation)
    }
}

pub(super) static ENDPOINTS: [GatewayEndpoint; 11] = [
    making_endpoint("/images/generations", "images/generations", "image"),
    making_endpoint("/images/edits", "images/edits", "image"),
    making_endpoint("/images/variations", "images/variations", "image"),
    endpoint("/audio/speech", "audio/speech", "speech"),
    making_endpoint(
        "/audio/transcriptions",
        "audio/transcriptions",
        "transcription",
    ),
    making_endpoint("/audio/translations", "audio/translations", "transcription"),
    GatewayEndpoint {
        default_model: Some("omni-moderation-latest"),
        ..endpoint("/moderations", "moderations", "moderation")
    },
    endpoint("/decisions", "decisions", "decision"),
    GatewayEndpoint {
        usage: ClientDialect::Chat,
        ..endpoint("/rerank", "rerank", "rerank")
    },
    endpoint("/v2/rerank", "v2/rerank", "rerank"),
    COMPLETIONS,
];

impl GatewayEndpoint {
    /// The endpoint of a path below its mount.
    pub(super) fn find(path: &str) -> Option<&'static GatewayEndpoint> {
        ENDPOINTS.iter().find(|endpoint| endpoint.path == path)
    }
}
