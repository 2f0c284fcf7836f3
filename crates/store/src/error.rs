//! Everything that can go wrong in the store, with a stable code for each.
//!
//! A face of the product decides on status and wording per dialect; it needs
//! only the variant and [`Error::code`].

/// What is being looked for, in the words of a message.
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
    /// A stored answer of a model.
    Response,
    /// A conversation.
    Conversation,
    /// An item of a conversation.
    ConversationItem,
    /// A stored chat completion.
    ChatCompletion,
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
        }
    }
}

/// Why an operation of the store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing of this id, or it belongs to another tenant: the two are never told apart.
    #[error("{} `{id}` not found", kind.as_str())]
    NotFound {
        /// What was looked for.
        kind: ResourceKind,
        /// By which id, name or selector.
        id: String,
    },
    /// The skill is there but has no version left.
    #[error("skill `{skill}` has no version; upload one first")]
    NoVersion {
        /// The emptied skill.
        skill: String,
    },
    /// A new version must bear the name of its skill.
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
    /// Another skill of the tenant has this display title, and titles were asked to be unique.
    #[error("Skill cannot reuse an existing display_title: `{title}` belongs to skill `{skill}`")]
    TitleTaken {
        /// The title.
        title: String,
        /// Who has it.
        skill: String,
    },
    /// The skill still has versions, and they were not to be deleted with it.
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
    /// The only version of a skill was to be kept.
    #[error("version `{version}` is the only one of skill `{skill}`; delete the skill instead")]
    LastVersion {
        /// The skill.
        skill: String,
        /// Its only version.
        version: String,
    },
    /// The default version was to be kept.
    #[error(
        "version `{version}` is the default of skill `{skill}`; make another one the default first"
    )]
    DefaultVersion {
        /// The skill.
        skill: String,
        /// Its default version.
        version: String,
    },
    /// The file is past its time.
    #[error("file `{id}` has expired")]
    FileExpired {
        /// The file.
        id: String,
    },
    /// More bytes came than may.
    #[error("the file is larger than the {limit} bytes allowed")]
    FileTooLarge {
        /// The bound.
        limit: u64,
    },
    /// The same request key was used for other content.
    #[error("request key `{key}` was already used for another upload; send a new one")]
    RequestKeyReused {
        /// The key.
        key: String,
    },
    /// A cursor that this store did not make, or made for another list.
    #[error("the page cursor is not valid here; start again from the first page")]
    InvalidCursor,
    /// A version selector that means nothing.
    #[error(
        "`{text}` names no version: use `latest`, a version id, its epoch number or its integer"
    )]
    InvalidSelector {
        /// As given.
        text: String,
    },
    /// A text cannot be stored.
    #[error("text with a NUL character (U+0000) cannot be stored; remove it")]
    NulInText,
    /// A conversation may not have as many items, or as many bytes of them.
    #[error(
        "conversation `{id}` is full: it may have {limit} {what}; delete items, or go on in a \
         new conversation"
    )]
    ConversationFull {
        /// The conversation.
        id: String,
        /// What is counted.
        what: &'static str,
        /// The most of it.
        limit: u64,
    },
    /// A conversation has other items with the ids of some that were to be added.
    #[error(
        "conversation `{conversation}` has other items with the ids of {} of these; send them \
         with new ids, or without",
        indexes.len()
    )]
    ItemIdsTaken {
        /// The conversation.
        conversation: String,
        /// Which of the items that were to be added, by their place among them.
        indexes: Vec<usize>,
    },
    /// A value outside its bounds.
    #[error("{field}: {reason}")]
    Invalid {
        /// Which value.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The bytes that came in broke off.
    #[error("the upload broke off: {0}")]
    Interrupted(#[source] std::io::Error),
    /// Stored content is gone or is not what its digest says.
    #[error("stored content {digest} is damaged: {reason}")]
    DamagedContent {
        /// The digest it should have.
        digest: String,
        /// What was found.
        reason: String,
    },
    /// The configuration cannot be used.
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
        /// As found.
        found: i64,
        /// The newest known here.
        known: i64,
    },
    /// The database is empty, but content of an earlier one is there.
    #[error(
        "{found}, but content that was stored before is still there: all skills and files would \
         be gone. Restore the database from a backup; or, to give up what was stored, set \
         `accept_empty = true` in [store], start once, and remove the setting again"
    )]
    DatabaseLost {
        /// What is wrong with the database.
        found: String,
    },
    /// A tenant may not keep as much.
    #[error(
        "storage quota exceeded: {used} of {limit} {what} are in use, and this needs {more} more; \
         delete what is no longer needed, or ask the operator for a higher limit"
    )]
    QuotaExceeded {
        /// What is counted.
        what: &'static str,
        /// The most of it.
        limit: u64,
        /// What is kept already.
        used: u64,
        /// What was to be added.
        more: u64,
    },
    /// There is no room left, or what is left is kept in reserve.
    #[error("no room left in the {part}: {cause}")]
    StorageFull {
        /// Where.
        part: &'static str,
        /// What the system said. It may name paths, so it is for the operator only.
        cause: String,
    },
    /// The database failed or could not be reached.
    #[error("database: {0}")]
    Database(#[source] sqlx::Error),
    /// The blob storage failed or could not be reached.
    #[error("blob storage: {0}")]
    BlobStorage(#[source] object_store::Error),
    /// A row that this crate wrote does not read back: the database was changed by other means.
    #[error("row of {table}: {reason}")]
    MalformedRow {
        /// Which table.
        table: &'static str,
        /// What does not fit.
        reason: String,
    },
    /// No random numbers, so no ids and no keys.
    #[error("the operating system gives no random numbers: {0}")]
    NoRandomness(String),
    /// Others kept getting in the way; the operation may simply be repeated.
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
            },
            Error::NoVersion { .. } => "skill-without-version",
            Error::NameMismatch { .. } => "skill-name-mismatch",
            Error::TitleTaken { .. } => "skill-title-taken",
            Error::HasVersions { .. } => "skill-has-versions",
            Error::LastVersion { .. } => "skill-last-version",
            Error::DefaultVersion { .. } => "skill-default-version",
            Error::FileExpired { .. } => "file-expired",
            Error::FileTooLarge { .. } => "file-too-large",
            Error::RequestKeyReused { .. } => "request-key-reused",
            Error::InvalidCursor => "cursor-invalid",
            Error::InvalidSelector { .. } => "version-selector-invalid",
            Error::NulInText => "nul-in-text",
            Error::ConversationFull { .. } => "conversation-full",
            Error::ItemIdsTaken { .. } => "item-id-taken",
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

    /// Whether the same call may succeed later, with nothing changed by the caller.
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

    /// Whether a commit that failed so has surely left no trace. Of a connection that
    /// broke, nobody knows.
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
