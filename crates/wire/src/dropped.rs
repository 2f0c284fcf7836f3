//! A field that could not be translated.

/// A field that was dropped because the target dialect does not support it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// JSON path of the field: of a request, in the body that the client sent; of a response,
    /// see [`write_response`](crate::write_response). A request that this server created has
    /// the neutral names.
    pub field: String,
    /// Why it was dropped.
    pub why: &'static str,
}

/// Why an unknown field is dropped.
pub(crate) const NO_SUCH_FIELD: &str = "specific to the API it came from";
