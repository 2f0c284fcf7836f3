//! What a client's dialect can carry and what its clients send back. The only place, besides
//! the reading of request fields in `intake::skill_request`, that distinguishes dialects.

use prowess_wire::ClientDialect;

/// The abilities of one dialect, computed once per request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientFeatures {
    pub(crate) dialect: ClientDialect,
    /// The dialect's name in the records of runs.
    pub(crate) name: &'static str,
    /// How much of Prowess's own tool calls and results the dialect shows.
    pub(crate) server_calls: ServerCallDetail,
    /// Whose skills the dialect can name besides Prowess's.
    pub(crate) native_vendor: Option<NativeVendor>,
    /// Requests have a tool that offers the model code execution by the server. Clients of
    /// the other dialects get it with their skills, where there is a sandbox.
    pub(crate) requests_code_execution: bool,
    /// A paused response can be sent back, open calls included, to continue it.
    pub(crate) resumes_paused_runs: bool,
    /// The turns before a call of a client's own tool do not come back with its result, so
    /// they are stored under the call's id until then.
    pub(crate) loses_turns: bool,
    /// The texts of all turns reach the user as one: Chat has one text per message, and
    /// Gemini's SDKs concatenate them.
    pub(crate) joins_texts: bool,
    /// Texts carry citations of the files that the run created.
    pub(crate) cites_files: bool,
    /// Results carry name, type and container of each file, not its id alone.
    pub(crate) describes_files: bool,
    /// Results of the provider's own servers name their files; in the other dialects those
    /// files are listed with the container.
    pub(crate) names_files_in_content: bool,
    /// A request that continues in a provider's container names its skills again.
    pub(crate) repeats_container_skills: bool,
    /// Containers have ids `cntr_…`, and versions of skills count from 1.
    pub(crate) uses_openai_references: bool,
}

/// How much of Prowess's own tool calls and results a dialect shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerCallDetail {
    /// Nothing.
    Hidden,
    /// Too little for a result that comes back to be compared with the original.
    Reduced,
    /// Call and result as native code execution.
    Native,
}

/// A vendor whose servers run skills of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NativeVendor {
    Anthropic,
    OpenAi,
}

impl ClientFeatures {
    pub(crate) fn for_dialect(dialect: ClientDialect) -> Self {
        // Chat Completions: the dialect that carries least.
        let least = ClientFeatures {
            dialect,
            name: "chat",
            server_calls: ServerCallDetail::Hidden,
            native_vendor: None,
            requests_code_execution: false,
            resumes_paused_runs: false,
            loses_turns: true,
            joins_texts: true,
            cites_files: false,
            describes_files: false,
            names_files_in_content: false,
            repeats_container_skills: false,
            uses_openai_references: false,
        };
        match dialect {
            ClientDialect::Chat => least,
            ClientDialect::Gemini => ClientFeatures {
                name: "gemini",
                server_calls: ServerCallDetail::Reduced,
                describes_files: true,
                ..least
            },
            ClientDialect::Responses => ClientFeatures {
                name: "responses",
                server_calls: ServerCallDetail::Reduced,
                native_vendor: Some(NativeVendor::OpenAi),
                requests_code_execution: true,
                loses_turns: false,
                joins_texts: false,
                cites_files: true,
                uses_openai_references: true,
                ..least
            },
            ClientDialect::Messages => ClientFeatures {
                name: "messages",
                server_calls: ServerCallDetail::Native,
                native_vendor: Some(NativeVendor::Anthropic),
                requests_code_execution: true,
                resumes_paused_runs: true,
                loses_turns: false,
                joins_texts: false,
                names_files_in_content: true,
                repeats_container_skills: true,
                ..least
            },
        }
    }

    /// Whether Anthropic's own skills are named as the client names them.
    pub(crate) fn names_anthropic_skills(&self) -> bool {
        self.native_vendor == Some(NativeVendor::Anthropic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_dialect_loses_calls_that_are_not_stored() {
        for dialect in [
            ClientDialect::Messages,
            ClientDialect::Chat,
            ClientDialect::Responses,
            ClientDialect::Gemini,
        ] {
            let features = ClientFeatures::for_dialect(dialect);
            let hidden = features.server_calls == ServerCallDetail::Hidden;
            assert!(!hidden || features.loses_turns, "{features:?}");
            let native = features.server_calls == ServerCallDetail::Native;
            assert!(native || !features.resumes_paused_runs, "{features:?}");
        }
    }
}
