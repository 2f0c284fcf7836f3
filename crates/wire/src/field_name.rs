//! What a drop or an error names: a field of the client's body, a setting, or something that
//! this server added.

/// What a drop or an error names.
pub(crate) enum FieldName {
    /// A field of the client's body, by the client's name.
    Sent(String),
    /// A setting, by its neutral name.
    Setting(String),
    /// Something in the conversation that the client's body does not have, by its neutral
    /// name.
    Added(String),
}

impl FieldName {
    pub(crate) fn text(&self) -> &str {
        match self {
            FieldName::Sent(text) | FieldName::Setting(text) | FieldName::Added(text) => text,
        }
    }
}

/// What can be named by a drop or an error.
pub(crate) trait ToFieldName {
    fn field_name(&self) -> FieldName;
}

impl ToFieldName for &str {
    fn field_name(&self) -> FieldName {
        FieldName::Setting((*self).to_owned())
    }
}
