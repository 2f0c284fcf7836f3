//! What can be done: the words of the log.

/// A change, or an attempt at one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuditAction {
    /// A key was created.
    KeyCreate,
    /// A key's name, scopes, limits or expiry changed.
    KeyUpdate,
    /// A key got a new secret.
    KeyRotate,
    /// A key was revoked.
    KeyRevoke,
    /// A skill was created, with its first version.
    SkillCreate,
    /// A skill was deleted, with all versions.
    SkillDelete,
    /// Another version became the default.
    SkillSetDefault,
    /// A version was created.
    VersionCreate,
    /// A version was deleted.
    VersionDelete,
    /// The notes of a version changed.
    VersionUpdate,
    /// A version was revoked.
    VersionRevoke,
    /// A revoked version can be used again.
    VersionRestore,
    /// A label was created or moved.
    LabelSet,
    /// A label was deleted.
    LabelDelete,
    /// A file was deleted.
    FileDelete,
    /// A container was deleted.
    ContainerDelete,
    /// A file of a container was deleted.
    ContainerFileDelete,
    /// A run was cancelled.
    RunCancel,
    /// A batch was cancelled.
    BatchCancel,
    /// A batch was deleted.
    BatchDelete,
    /// A stored response was deleted.
    ResponseDelete,
    /// A response in the background was cancelled.
    ResponseCancel,
    /// A conversation was deleted.
    ConversationDelete,
    /// An item of a conversation was deleted.
    ConversationItemDelete,
    /// A stored chat completion was deleted.
    ChatCompletionDelete,
    /// The server read its configuration again.
    ConfigurationReload,
}

impl AuditAction {
    /// Every action.
    pub const ALL: [AuditAction; 26] = [
        AuditAction::KeyCreate,
        AuditAction::KeyUpdate,
        AuditAction::KeyRotate,
        AuditAction::KeyRevoke,
        AuditAction::SkillCreate,
        AuditAction::SkillDelete,
        AuditAction::SkillSetDefault,
        AuditAction::VersionCreate,
        AuditAction::VersionDelete,
        AuditAction::VersionUpdate,
        AuditAction::VersionRevoke,
        AuditAction::VersionRestore,
        AuditAction::LabelSet,
        AuditAction::LabelDelete,
        AuditAction::FileDelete,
        AuditAction::ContainerDelete,
        AuditAction::ContainerFileDelete,
        AuditAction::RunCancel,
        AuditAction::BatchCancel,
        AuditAction::BatchDelete,
        AuditAction::ResponseDelete,
        AuditAction::ResponseCancel,
        AuditAction::ConversationDelete,
        AuditAction::ConversationItemDelete,
        AuditAction::ChatCompletionDelete,
        AuditAction::ConfigurationReload,
    ];

    /// Whether it counts as a change of its tenant, and is refused when that has made too many.
    /// Otherwise moving a label back and forth would fill the disk, and so would deleting what is
    /// created without an entry, such as files. What deletes or revokes a key, skill, version or
    /// label is never refused: it cannot go on for ever without creating them, which counts.
    pub fn is_counted(self) -> bool {
        self.needs_space()
            || matches!(
                self,
                AuditAction::FileDelete
                    | AuditAction::ContainerDelete
                    | AuditAction::ContainerFileDelete
                    | AuditAction::BatchDelete
                    | AuditAction::ResponseDelete
                    | AuditAction::ConversationDelete
                    | AuditAction::ConversationItemDelete
                    | AuditAction::ChatCompletionDelete
            )
    }

    /// Whether it cancels what is in progress. It is never refused, so the log takes only so many
    /// entries of it: otherwise creating and cancelling, which costs nothing, would fill the disk.
    pub fn is_cancellation(self) -> bool {
        matches!(
            self,
            AuditAction::RunCancel | AuditAction::BatchCancel | AuditAction::ResponseCancel
        )
    }

    /// Whether it is refused while less than the reserve is free. Deleting frees space.
    pub(super) fn needs_space(self) -> bool {
        matches!(
            self,
            AuditAction::KeyCreate
                | AuditAction::KeyUpdate
                | AuditAction::KeyRotate
                | AuditAction::SkillCreate
                | AuditAction::SkillSetDefault
                | AuditAction::VersionCreate
                | AuditAction::VersionUpdate
                | AuditAction::VersionRestore
                | AuditAction::LabelSet
        )
    }

    /// Its name: the kind of object, a dot and the verb.
    pub fn as_str(self) -> &'static str {
        match self {
            AuditAction::KeyCreate => "key.create",
            AuditAction::KeyUpdate => "key.update",
            AuditAction::KeyRotate => "key.rotate",
            AuditAction::KeyRevoke => "key.revoke",
            AuditAction::SkillCreate => "skill.create",
            AuditAction::SkillDelete => "skill.delete",
            AuditAction::SkillSetDefault => "skill.set_default",
            AuditAction::VersionCreate => "version.create",
            AuditAction::VersionDelete => "version.delete",
            AuditAction::VersionUpdate => "version.update",
            AuditAction::VersionRevoke => "version.revoke",
            AuditAction::VersionRestore => "version.restore",
            AuditAction::LabelSet => "label.set",
            AuditAction::LabelDelete => "label.delete",
            AuditAction::FileDelete => "file.delete",
            AuditAction::ContainerDelete => "container.delete",
            AuditAction::ContainerFileDelete => "container_file.delete",
            AuditAction::RunCancel => "run.cancel",
            AuditAction::BatchCancel => "batch.cancel",
            AuditAction::BatchDelete => "batch.delete",
            AuditAction::ResponseDelete => "response.delete",
            AuditAction::ResponseCancel => "response.cancel",
            AuditAction::ConversationDelete => "conversation.delete",
            AuditAction::ConversationItemDelete => "conversation_item.delete",
            AuditAction::ChatCompletionDelete => "chat_completion.delete",
            AuditAction::ConfigurationReload => "configuration.reload",
        }
    }
}
