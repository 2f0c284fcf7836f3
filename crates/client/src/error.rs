//! Why a server did not do as asked.

use prowess_skill::BundleError;

/// Why a server did not do as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no HTTP client.
    #[error("cannot make an HTTP client")]
    HttpClient(#[source] reqwest::Error),
    /// The server's address is no URL.
    #[error(
        "`{0}` is not the URL of a server; write it with its scheme, such as http://127.0.0.1:4141"
    )]
    InvalidServerUrl(String),
    /// Nobody answers there.
    #[error("cannot reach {server}; is `prowess serve` running there?")]
    Unreachable {
        /// Where.
        server: String,
        /// What the system said.
        #[source]
        error: reqwest::Error,
    },
    /// The server said no.
    #[error("{message} ({status}, {code}, {request})")]
    Refused {
        /// Its reason.
        message: String,
        /// The status.
        status: u16,
        /// The reason's code, or `-`.
        code: String,
        /// The request's id, or `-`.
        request: String,
    },
    /// The answer broke off, or is none.
    #[error("the server's answer is not what was asked for")]
    InvalidResponse(#[source] reqwest::Error),
    /// No skill has this name.
    #[error("no skill is called `{0}`")]
    NotFound(String),
    /// Several skills have this name.
    #[error("{} skills are called `{name}`; name one by its id: {}", .ids.len(), .ids.join(", "))]
    Ambiguous {
        /// The name.
        name: String,
        /// Their ids.
        ids: Vec<String>,
    },
    /// A list without end.
    #[error("the list is longer than {0}")]
    ListTooLong(usize),
    /// More bytes than a skill may have.
    #[error("the skill is larger than {0} bytes")]
    TooLarge(u64),
    /// What is to be sent cannot be packed.
    #[error("skill `{skill}` cannot be packed: {why}")]
    Unpackable {
        /// Its name.
        skill: String,
        /// What stands in the way.
        why: String,
    },
    /// What came is no skill.
    #[error("skill `{skill}` is not a skill")]
    NotASkill {
        /// Its id.
        skill: String,
        /// What is wrong with it.
        #[source]
        error: BundleError,
    },
}

impl Error {
    /// Stable identifier of the reason; the server's own where it gave one.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Error::HttpClient(_) => "client-unavailable",
            Error::InvalidServerUrl(_) => "server-address",
            Error::Unreachable { .. } => "server-unreachable",
            Error::Refused { code, .. } if code == "-" => "server-refused",
            Error::Refused { code, .. } => code,
            Error::InvalidResponse(_) => "server-answer",
            Error::NotFound(_) => "skill-not-found",
            Error::Ambiguous { .. } => "skill-ambiguous",
            Error::ListTooLong(_) => "list-too-long",
            Error::TooLarge(_) => "skill-too-large",
            Error::Unpackable { .. } => "skill-unpackable",
            Error::NotASkill { error, .. } => error.code(),
        }
    }
}
