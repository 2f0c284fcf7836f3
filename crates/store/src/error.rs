//! The store's errors, each with a stable code.
//!
//! The server chooses status and wording per dialect; it needs only the variant and
//! [`Error::code`].

use std::time::Duration;

/// A kind of resource, as named in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceKind {
    /// A skill.
    Skill,
    /// A version of a skill.
    Version,
    /// A file.
    File,
    /// A key.
    Key,
    /// A tenant.
    Tenant,
    /// A run.
    Run,
    /// A stored response of a model.
    Response,
    /// A conversation.
    Conversation,
    /// An item of a conversation.
    ConversationItem,
    /// A stored chat completion.
    ChatCompletion,
    /// A batch.
    Batch,
}

impl ResourceKind {
    /// The noun used in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            ResourceKind::Skill => "skill",
            ResourceKind::Version => "skill version",
            ResourceKind::File => "file",
            ResourceKind::Key => "key",
            ResourceKind::Tenant => "tenant",
            ResourceKind::Run => "run",
            ResourceKind::Response => "response",
            ResourceKind::Conversation => "conversation",
            ResourceKind::ConversationItem => "conversation item",
            ResourceKind::ChatCompletion => "chat completion",
            ResourceKind::Batch => "batch",
        }
    }
}

/// Why an operation of the store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No resource has this id, or it belongs to another tenant: the two cases are
    /// indistinguishable.
    #[error("{} `{id}` not found", kind.as_str())]
    NotFound {
        /// The kind of resource.
        kind: ResourceKind,
        /// The id, name or selector.
        id: String,
    },
    /// The skill exists but has no version left.
    #[error("skill `{skill}` has no versions; upload one first")]
    NoVersion {
        /// The skill.
        skill: String,
    },
    /// A new version must have the name of its skill.
    #[error(
        "skill `{skill}` is named `{expected}`, but the uploaded SKILL.md is named `{found}`; \
         a skill's name cannot change: keep it, or create another skill"
    )]
    NameMismatch {
        /// The skill.
        skill: String,
        /// Its name.
        expected: String,
        /// The name in the upload.
        found: String,
    },
    /// Another skill of the tenant has this display title, and titles must be unique.
    #[error("Skill cannot reuse an existing display_title: `{title}` belongs to skill `{skill}`")]
    TitleTaken {
        /// The title.
        title: String,
        /// The skill that has it.
        skill: String,
    },
    /// The skill still has versions, and the rule does not allow deleting them with it.
    #[error(
        "Cannot delete skill with existing versions. Delete all versions first. \
         Skill `{skill}` has {versions}"
    )]
    HasVersions {
        /// The skill.
        skill: String,
        /// How many versions it has.
        versions: i64,
    },
    /// The rule does not allow deleting the only version of a skill.
    #[error("version `{version}` is the only one of skill `{skill}`; delete the skill instead")]
    LastVersion {
        /// The skill.
        skill: String,
        /// Its only version.
        version: String,
    },
    /// The rule does not allow deleting the default version.
    #[error(
        "version `{version}` is the default of skill `{skill}`; make another one the default first"
    )]
    DefaultVersion {
        /// The skill.
        skill: String,
        /// Its default version.
        version: String,
    },
    /// The default or labels point to the version, so it cannot be revoked or deleted.
    #[error("version {version} of skill `{skill}` is in use by {uses}; {remedy}")]
    VersionInUse {
        /// The skill.
        skill: String,
        /// The ordinal of the version.
        version: i64,
        /// What points to it.
        uses: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The version is revoked.
    #[error(
        "version {version} of skill `{name}` ({skill}) is revoked: {reason}; use another version, \
         or have it restored; a container that was created with it cannot be continued"
    )]
    VersionRevoked {
        /// The skill.
        skill: String,
        /// Its name.
        name: String,
        /// The ordinal of the version.
        version: i64,
        /// Why it is revoked.
        reason: String,
    },
    /// The skill has no label of this name.
    #[error(
        "skill `{skill}` has no label `{label}`; {}",
        match labels.as_slice() {
            [] => "it has none: name a version, or set the label first".to_owned(),
            labels => format!("its labels are {}", labels.join(", ")),
        }
    )]
    LabelNotFound {
        /// The skill.
        skill: String,
        /// The label.
        label: String,
        /// The labels that it has.
        labels: Vec<String>,
    },
    /// The caller may not move this label.
    #[error(
        "label `{label}` of skill `{skill}` is protected; use a key with the scope release, or \
         move the label first"
    )]
    LabelProtected {
        /// The skill.
        skill: String,
        /// The label.
        label: String,
    },
    /// The skill has as many labels as it may.
    #[error("skill `{skill}` has {limit} labels, and may not have more; delete one first")]
    TooManyLabels {
        /// The skill.
        skill: String,
        /// The limit.
        limit: i64,
    },
    /// The file has expired.
    #[error("file `{id}` has expired")]
    FileExpired {
        /// The file.
        id: String,
    },
    /// The file is too large.
    #[error("the file is larger than the {limit} bytes allowed")]
    FileTooLarge {
        /// The limit.
        limit: u64,
    },
    /// The same request key was used for different content.
    #[error("request key `{key}` was already used for a different upload; use a new one")]
    RequestKeyReused {
        /// The key.
        key: String,
    },
    /// A revoked or expired key cannot be changed in this way.
    #[error("key `{key}` is {state}; create another key")]
    KeyInactive {
        /// The key.
        key: String,
        /// `revoked` or `expired`.
        state: &'static str,
    },
    /// A key would give away more than it has.
    #[error("key `{key}` may not grant this: {what}; use the master key or a wider key")]
    KeyGrantsMore {
        /// The prefix of the key.
        key: String,
        /// What it lacks.
        what: &'static str,
    },
    /// An invalid cursor, or one of another list.
    #[error("the page cursor is not valid here; start again from the first page")]
    InvalidCursor,
    /// An invalid version selector.
    #[error(
        "`{text}` is not a version: use `latest`, a version id, its epoch number, its integer or \
         a label"
    )]
    InvalidSelector {
        /// The selector.
        text: String,
    },
    /// A text that cannot be stored.
    #[error("text with a NUL character (U+0000) cannot be stored; remove the character")]
    NulInText,
    /// The conversation has reached its limit of items or bytes.
    #[error(
        "conversation `{id}` is full: the limit is {limit} {what}; delete items, or start a new \
         conversation"
    )]
    ConversationFull {
        /// The conversation.
        id: String,
        /// What is counted.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// The conversation has different items with the ids of some new ones.
    #[error(
        "conversation `{conversation}` already has different items with {} of these ids; send \
         them with new ids, or without ids",
        indexes.len()
    )]
    ItemIdsTaken {
        /// The conversation.
        conversation: String,
        /// The indexes of those new items.
        indexes: Vec<usize>,
    },
    /// The tenant has as many batches in progress as it may.
    #[error("{limit} batches are in progress; wait until one has ended, or cancel one")]
    TooManyBatches {
        /// The limit.
        limit: u64,
    },
    /// The keys of the tenant have made as many changes as they may.
    #[error("this tenant has made {limit} changes within an hour; try again later")]
    TooManyChanges {
        /// The limit.
        limit: u32,
        /// When they may make others.
        wait: Duration,
    },
    /// The tenant has as many kept runs that have not ended as it may.
    #[error("this tenant has {limit} runs that have not ended")]
    TooManyRuns {
        /// The limit.
        limit: u64,
    },
    /// The batch has not ended.
    #[error("batch `{id}` is in progress; cancel it, and delete it when it has ended")]
    BatchInProgress {
        /// The batch.
        id: String,
    },
    /// An invalid value.
    #[error("{field}: {reason}")]
    Invalid {
        /// Which value.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The upload ended early.
    #[error("the upload was interrupted: {0}")]
    Interrupted(#[source] std::io::Error),
    /// Stored content is missing or does not match its digest.
    #[error("stored content {digest} is damaged: {reason}")]
    DamagedContent {
        /// The expected digest.
        digest: String,
        /// What is wrong.
        reason: String,
    },
    /// An invalid configuration.
    #[error("{setting}: {reason}")]
    Config {
        /// Which setting.
        setting: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The database was written by a newer release.
    #[error(
        "the database has schema {found}, this release knows up to {known}; \
         run the release that wrote it, or a newer one"
    )]
    SchemaTooNew {
        /// The version found.
        found: i64,
        /// The newest known version.
        known: i64,
    },
    /// The database is empty, but content of an earlier one exists.
    #[error(
        "{found}, but previously stored content still exists: all skills and files would be \
         lost. Restore the database from a backup; or, to give up what was stored, set \
         `accept_empty = true` in [store], start once, and remove the setting again"
    )]
    DatabaseLost {
        /// What is wrong with the database.
        found: String,
    },
    /// The tenant's storage quota is exceeded.
    #[error(
        "storage quota exceeded: {used} of {limit} {what} are in use, and this needs {more} more; \
         delete what is no longer needed, or ask the operator for a higher limit"
    )]
    QuotaExceeded {
        /// What is counted.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// The current usage.
        used: u64,
        /// The size of the addition.
        more: u64,
    },
    /// There is no space left, or only the reserve.
    #[error("no space left in the {part}: {cause}")]
    StorageFull {
        /// Where.
        part: &'static str,
        /// The system's error. It may contain paths, so it is for the operator only.
        cause: String,
    },
    /// The database failed or could not be reached.
    #[error("database: {0}")]
    Database(#[source] sqlx::Error),
    /// The blob storage failed or could not be reached.
    #[error("blob storage: {0}")]
    BlobStorage(#[source] object_store::Error),
    /// A row cannot be read back: the database was changed by another program.
    #[error("row of {table}: {reason}")]
    MalformedRow {
        /// Which table.
        table: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// No random numbers are available, so no ids and keys.
    #[error("the operating system provides no random numbers: {0}")]
    NoRandomness(String),
    /// Too many conflicting changes; the operation can be repeated.
    #[error("the store is busy with conflicting changes; try again")]
    Busy,
}

impl Error {
    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        match self {
            Error::NotFound { kind, .. } => match kind {
                ResourceKind::Skill => "skill-not-found",
                ResourceKind::Version => "skill-version-not-found",
                ResourceKind::File => "file-not-found",
                ResourceKind::Key => "key-not-found",
                ResourceKind::Tenant => "tenant-not-found",
                ResourceKind::Run => "run-not-found",
                ResourceKind::Response => "response-not-found",
                ResourceKind::Conversation => "conversation-not-found",
                ResourceKind::ConversationItem => "conversation-item-not-found",
                ResourceKind::ChatCompletion => "chat-completion-not-found",
                ResourceKind::Batch => "batch-not-found",
            },
            Error::NoVersion { .. } => "skill-without-version",
            Error::NameMismatch { .. } => "skill-name-mismatch",
            Error::TitleTaken { .. } => "skill-title-taken",
            Error::HasVersions { .. } => "skill-has-versions",
            Error::LastVersion { .. } => "skill-last-version",
            Error::DefaultVersion { .. } => "skill-default-version",
            Error::VersionInUse { .. } => "version-in-use",
            Error::VersionRevoked { .. } => "skill-version-revoked",
            Error::LabelNotFound { .. } => "skill-label-not-found",
            Error::LabelProtected { .. } => "label-protected",
            Error::TooManyLabels { .. } => "too-many-labels",
            Error::FileExpired { .. } => "file-expired",
            Error::FileTooLarge { .. } => "file-too-large",
            Error::RequestKeyReused { .. } => "request-key-reused",
            Error::KeyInactive { .. } => "key-inactive",
            Error::KeyGrantsMore { .. } => "key-grants-more",
            Error::InvalidCursor => "cursor-invalid",
            Error::InvalidSelector { .. } => "version-selector-invalid",
            Error::NulInText => "nul-in-text",
            Error::ConversationFull { .. } => "conversation-full",
            Error::ItemIdsTaken { .. } => "item-id-taken",
            Error::TooManyBatches { .. } => "too-many-batches",
            Error::TooManyChanges { .. } => "too-many-changes",
            Error::TooManyRuns { .. } => "runs-too-many",
            Error::BatchInProgress { .. } => "batch-in-progress",
            Error::Invalid { .. } => "value-invalid",
            Error::Interrupted(_) => "upload-interrupted",
            Error::DamagedContent { .. } => "content-damaged",
            Error::Config { .. } => "store-config",
            Error::SchemaTooNew { .. } => "schema-too-new",
            Error::DatabaseLost { .. } => "store-emptied",
            Error::QuotaExceeded { .. } => "storage-quota-exceeded",
            Error::StorageFull { .. } => "storage-full",
            Error::Database(_) => "database",
            Error::BlobStorage(_) => "blob-storage",
            Error::MalformedRow { .. } => "row-malformed",
            Error::NoRandomness(_) => "no-random-numbers",
            Error::Busy => "store-busy",
        }
    }

    /// Whether the same call may succeed later without any change.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Error::Database(_)
                | Error::BlobStorage(_)
                | Error::StorageFull { .. }
                | Error::Busy
                | Error::Interrupted(_)
        )
    }

    /// Whether a commit with this error was certainly rolled back. After a broken
    /// connection this is unknown.
    pub(crate) fn is_rolled_back(&self) -> bool {
        matches!(self, Error::StorageFull { .. })
    }

    pub(crate) fn not_found(kind: ResourceKind, id: impl Into<String>) -> Error {
        Error::NotFound {
            kind,
            id: id.into(),
        }
    }
}

/// A result of the store.
pub type Result<T> = std::result::Result<T, Error>;
