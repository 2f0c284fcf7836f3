//! Errors of requests to a server.

use prowess_skill::BundleError;

/// The server's code of [`Error::TitleFixed`].
pub(crate) const TITLE_FIXED: &str = "skill-title-fixed";

/// Why a request to a server failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The HTTP client cannot be created.
    #[error("cannot create an HTTP client")]
    HttpClient(#[source] reqwest::Error),
    /// The server's address is not a URL.
    #[error(
        "`{0}` is not the URL of a server; write it with its scheme, such as http://127.0.0.1:4141"
    )]
    InvalidServerUrl(String),
    /// The key cannot be sent.
    #[error(
        "the API key has a line end or another control character inside; it may be more than a key"
    )]
    InvalidKey,
    /// The server cannot be reached.
    #[error("cannot reach {server}; is `prowess serve` running there?")]
    Unreachable {
        /// Its address.
        server: String,
        /// The cause.
        #[source]
        error: reqwest::Error,
    },
    /// The server redirects, which is not followed.
    #[error("{server} redirects to {to}; name the address of the Prowess server itself")]
    Redirected {
        /// Its address.
        server: String,
        /// Where it redirects to.
        to: String,
    },
    /// The server refused the request.
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
    /// The response was interrupted or is invalid.
    #[error("unexpected response from the server")]
    InvalidResponse(#[source] reqwest::Error),
    /// The server has answered a request for a kept run without naming a run.
    #[error("the server does not keep runs; it may be an older version of Prowess")]
    RunsNotKept,
    /// An event of a run exceeds the size limit.
    #[error("an event of the run is larger than {0} bytes")]
    EventTooLarge(usize),
    /// The requests of a batch cannot be read.
    #[error("the requests of the batch cannot be read")]
    Input(#[source] std::io::Error),
    /// A line of a result exceeds the size limit.
    #[error("a line of the results is larger than {0} bytes")]
    LineTooLong(usize),
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
    /// The skill exists, and has another title than the given one.
    #[error(
        "skill `{skill}` already exists, and its title cannot be changed to `{title}`; only a new \
         skill can be given a title"
    )]
    TitleFixed {
        /// Its name.
        skill: String,
        /// The given title.
        title: String,
    },
    /// A list is too long.
    #[error("the list has more than {0} items")]
    ListTooLong(usize),
    /// The skill exceeds the size limit.
    #[error("the skill is larger than {0} bytes")]
    TooLarge(u64),
    /// The skill cannot be packed.
    #[error("skill `{skill}` cannot be packed: {why}")]
    Unpackable {
        /// Its name.
        skill: String,
        /// The problem.
        why: String,
    },
    /// The download is not a skill.
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
    /// Stable identifier of the reason; the server's own if it sent one.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Error::HttpClient(_) => "client-unavailable",
            Error::InvalidServerUrl(_) => "server-address",
            Error::InvalidKey => "key-invalid",
            Error::Unreachable { .. } => "server-unreachable",
            Error::Redirected { .. } => "server-redirects",
            Error::Refused { code, .. } if code == "-" => "server-refused",
            Error::Refused { code, .. } => code,
            Error::InvalidResponse(_) => "server-response",
            Error::RunsNotKept => "runs-not-kept",
            Error::EventTooLarge(_) => "event-too-large",
            Error::Input(_) => "input-unreadable",
            Error::LineTooLong(_) => "line-too-long",
            Error::NotFound(_) => "skill-not-found",
            Error::Ambiguous { .. } => "skill-ambiguous",
            Error::TitleFixed { .. } => TITLE_FIXED,
            Error::ListTooLong(_) => "list-too-long",
            Error::TooLarge(_) => "skill-too-large",
            Error::Unpackable { .. } => "skill-unpackable",
            Error::NotASkill { error, .. } => error.code(),
        }
    }
}
