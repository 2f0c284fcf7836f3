//! All routes. One file per verb; each reads its request, calls the store, and writes the
//! response in the request's dialect.
//!
//! | module | owns |
//! |---|---|
//! | [`table`] | the route table: every route, once |
//! | `router` | the router, built from the table |
//! | `unmatched` | errors for requests that match no route |
//! | [`gateway`] | calls to models, and what clients of OpenAI's API store here |
//! | `skills`, `files`, `containers`, `models`, `runs`, `usage` | the vendors' other resources |
//! | `pdf_preview` | the picture of a page of a PDF file |
//! | `usage_by_skill` | usage as skills took it |
//! | `admin` | keys, tenants, providers, configuration and the audit log |
//! | `message_batches`, `openai_batches` | batches of requests, as each vendor has them |
//! | `batch_key` | the idempotency key of a request that creates a batch |
//! | `litellm` | endpoints of LiteLLM's proxy |
//! | [`discovery`] | the public index of skills |
//! | `mcp` | a tenant's skills over MCP |
//! | `health`, `metric_state` | health checks and metrics |

mod admin;
mod batch_key;
mod containers;
pub(crate) mod discovery;
mod files;
pub(crate) mod gateway;
mod health;
mod litellm;
pub(crate) mod mcp;
mod message_batches;
mod metric_state;
pub(crate) mod models;
mod openai_batches;
mod pdf_preview;
pub(crate) mod router;
mod runs;
mod skills;
pub(crate) mod table;
mod unmatched;
mod usage;
mod usage_by_skill;
