//! An entry of the log: who did what, and with which outcome.

use serde_json::Value;

use crate::db::DbRow;
use crate::error::{Error, Result};
use crate::keys::KeyRecord;
use crate::time::Timestamp;

/// Bytes of a text that a client chose.
const MAX_TEXT_BYTES: usize = 256;

/// Who acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditActor {
    /// A key.
    Key {
        /// `key_…`.
        id: String,
        /// Its name at that time.
        name: String,
    },
    /// The owner of the master key.
    Master,
    /// Somebody on the machine of a server without a master key.
    Loopback,
    /// The command line, on the store itself.
    CommandLine,
}

impl AuditActor {
    /// The owner of a key.
    pub fn from_key(key: &KeyRecord) -> AuditActor {
        AuditActor::Key {
            id: key.id.clone(),
            name: truncate(&key.name),
        }
    }

    /// `key`, `master`, `loopback` or `cli`.
    pub fn kind(&self) -> &'static str {
        match self {
            AuditActor::Key { .. } => "key",
            AuditActor::Master => "master",
            AuditActor::Loopback => "loopback",
            AuditActor::CommandLine => "cli",
        }
    }

    /// The id of a key.
    pub fn id(&self) -> Option<&str> {
        match self {
            AuditActor::Key { id, .. } => Some(id),
            _ => None,
        }
    }

    /// The name of a key.
    pub fn name(&self) -> Option<&str> {
        match self {
            AuditActor::Key { name, .. } => Some(name),
            _ => None,
        }
    }
}

/// Who acts, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditOrigin {
    actor: AuditActor,
    peer: Option<String>,
    request: Option<String>,
    user_agent: Option<String>,
}

impl AuditOrigin {
    /// Of a request, from this address, with its id and what its client calls itself. Long
    /// texts are cut.
    pub fn of_request(
        actor: AuditActor,
        peer: Option<String>,
        request: String,
        user_agent: Option<&str>,
    ) -> Self {
        AuditOrigin {
            actor,
            peer,
            request: Some(request),
            user_agent: user_agent.map(truncate),
        }
    }

    /// Of a command on the store itself.
    pub fn of_command() -> Self {
        AuditOrigin {
            actor: AuditActor::CommandLine,
            peer: None,
            request: None,
            user_agent: None,
        }
    }

    /// Who acts.
    pub fn actor(&self) -> &AuditActor {
        &self.actor
    }

    pub(super) fn peer(&self) -> Option<&str> {
        self.peer.as_deref()
    }

    pub(super) fn request(&self) -> Option<&str> {
        self.request.as_deref()
    }

    pub(super) fn user_agent(&self) -> Option<&str> {
        self.user_agent.as_deref()
    }
}

/// The first bytes of a text, without what a terminal would interpret.
pub(super) fn truncate(text: &str) -> String {
    let mut kept = String::new();
    for letter in text.chars().filter(|letter| !letter.is_control()) {
        if kept.len() + letter.len_utf8() > MAX_TEXT_BYTES {
            break;
        }
        kept.push(letter);
    }
    kept
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditOutcome {
    /// It was done.
    Done,
    /// It was refused, with this code.
    Refused(String),
    /// It failed, with this code.
    Failed(String),
}

impl AuditOutcome {
    /// `ok`, `refused` or `failed`.
    pub fn as_str(&self) -> &'static str {
        match self {
            AuditOutcome::Done => "ok",
            AuditOutcome::Refused(_) => "refused",
            AuditOutcome::Failed(_) => "failed",
        }
    }

    /// The code of the error.
    pub fn code(&self) -> Option<&str> {
        match self {
            AuditOutcome::Done => None,
            AuditOutcome::Refused(code) | AuditOutcome::Failed(code) => Some(code),
        }
    }
}

/// An entry of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEvent {
    /// `audit_…`.
    pub id: String,
    /// Whose objects it is about.
    pub tenant: String,
    /// When.
    pub at: Timestamp,
    /// Who: `key`, `master`, `loopback` or `cli`.
    pub actor_kind: String,
    /// The id of the key.
    pub actor_id: Option<String>,
    /// The name of the key at that time.
    pub actor_name: Option<String>,
    /// What was done: the name of an [`AuditAction`](crate::AuditAction).
    pub action: String,
    /// The id of what it was done to.
    pub object: Option<String>,
    /// `ok`, `refused` or `failed`.
    pub outcome: String,
    /// The code of the error.
    pub error_code: Option<String>,
    /// The object before.
    pub before: Option<Value>,
    /// The object after.
    pub after: Option<Value>,
    /// The address of the client.
    pub peer: Option<String>,
    /// The id of the request.
    pub request: Option<String>,
    /// What the client calls itself.
    pub user_agent: Option<String>,
}

impl AuditEvent {
    pub(super) const SELECT: &'static str = "SELECT id, tenant, at, actor_kind, actor_id,
        actor_name, action, object, outcome, error_code, before_json, after_json, peer,
        request_id, user_agent FROM audit_log WHERE ";

    pub(super) fn from_row(row: &DbRow) -> Result<Self> {
        let json = |column: &'static str| {
            let text = row.optional_text(column)?;
            let parsed = text.map(|text| serde_json::from_str(&text)).transpose();
            parsed.map_err(|error| Error::MalformedRow {
                table: "audit_log",
                reason: format!("{column}: {error}"),
            })
        };
        Ok(AuditEvent {
            id: row.text("id")?,
            tenant: row.text("tenant")?,
            at: row.time("at")?,
            actor_kind: row.text("actor_kind")?,
            actor_id: row.optional_text("actor_id")?,
            actor_name: row.optional_text("actor_name")?,
            action: row.text("action")?,
            object: row.optional_text("object")?,
            outcome: row.text("outcome")?,
            error_code: row.optional_text("error_code")?,
            before: json("before_json")?,
            after: json("after_json")?,
            peer: row.optional_text("peer")?,
            request: row.optional_text("request_id")?,
            user_agent: row.optional_text("user_agent")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_calls_itself_is_cut_and_has_no_control_characters() {
        let long = format!("\u{1b}[31m{}ä", "a".repeat(MAX_TEXT_BYTES));
        let origin = AuditOrigin::of_request(AuditActor::Master, None, String::new(), Some(&long));
        let kept = origin.user_agent().unwrap();
        assert_eq!(kept.len(), MAX_TEXT_BYTES);
        assert!(kept.starts_with("[31ma"));
    }
}
