//! Why a form is refused.

/// Maximum bytes of a model's name.
pub(super) const MAX_MODEL_BYTES: usize = 512;

/// Why a form is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// The content type is no form, or has no usable boundary.
    #[error("content-type: this endpoint takes multipart/form-data with one boundary")]
    ContentType,
    /// The form is malformed, or could be read in two ways.
    #[error("the form is malformed: {0}")]
    Malformed(&'static str),
    /// A second field names a model.
    #[error("the form has two fields `model`; send one")]
    RepeatedModel,
    /// The model's name is too long, or no text.
    #[error("model: a name has at most {MAX_MODEL_BYTES} bytes of text on one line")]
    BadModel,
}
