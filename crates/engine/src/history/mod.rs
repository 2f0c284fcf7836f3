//! What earlier runs left in a conversation. A client sends it back with calls of Prowess's
//! tools in its own dialect's form, or without them; the model gets what it saw before.
//!
//! | module | owns |
//! |---|---|
//! | `suspended` | turns stored until the client answers a call of its own tools |
//! | `originals` | calls and results as the model saw them, where the client received less |
//! | `restore` | server tool calls of earlier runs, as ordinary calls and results |
//! | `text` | the text of a native result whose original is not stored |
//! | `tool_results` | the order of results in a conversation |
//! | `citations` | citations of files, added for the client and removed for the model |
//! | `client_view` | what the client receives of a call, and whether to store the original |

pub(crate) mod citations;
pub(crate) mod client_view;
pub(crate) mod originals;
pub(crate) mod restore;
pub(crate) mod suspended;
pub(crate) mod text;
pub(crate) mod tool_results;
