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
    /// Output tokens of one answer to a request that names no limit: of a large picture, of some
    /// minutes of speech as text. None where the answer costs none.
    pub(super) output_tokens: Option<u64>,
}

const COMPLETIONS: GatewayEndpoint = GatewayEndpoint {
    path: "/completions",
    upstream_path: "completions",
    usage: ClientDialect::Chat,
    operation: "text_completion",
    default_model: None,
    generates_text: true,
    output_tokens: Some(4_096),
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
        output_tokens: None,
    }
}

const fn pictures(path: &'static str, upstream_path: &'static str) -> GatewayEndpoint {
    GatewayEndpoint {
        output_tokens: Some(6_300),
        ..endpoint(path, upstream_path, "image")
    }
}

const fn texts_of_speech(path: &'static str, upstream_path: &'static str) -> GatewayEndpoint {
    GatewayEndpoint {
        output_tokens: Some(2_048),
        ..endpoint(path, upstream_path, "transcription")
    }
}

pub(super) static ENDPOINTS: [GatewayEndpoint; 11] = [
    pictures("/images/generations", "images/generations"),
    pictures("/images/edits", "images/edits"),
    pictures("/images/variations", "images/variations"),
    endpoint("/audio/speech", "audio/speech", "speech"),
    texts_of_speech("/audio/transcriptions", "audio/transcriptions"),
    texts_of_speech("/audio/translations", "audio/translations"),
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
