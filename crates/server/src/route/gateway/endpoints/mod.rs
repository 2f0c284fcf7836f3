//! Endpoints besides conversations and embeddings, which pass in their provider's own format:
//! images, audio, moderations, decisions, reranking and completions by the model that a request
//! names, and any path of a named provider below `/providers`.
//!
//! As with all calls to models, keys, rates, budgets and usage apply. Where a response has no
//! token counts, its request is counted as one without a price.
//!
//! | module | owns |
//! |---|---|
//! | `endpoint_table`, `routes` | the endpoints; their rows of the route table |
//! | `forward` | a request to the model that it names |
//! | `provider_path` | a request to a path of a provider |
//! | `read_input`, `form_input`, `input` | the body of a request, as far as it is read |
//! | `body_problem` | why a body that is sent on was refused on the way |
//! | `reply`, `metered_body` | the response, and what it used |

mod body_problem;
mod endpoint_table;
mod form_input;
mod forward;
mod input;
mod metered_body;
mod provider_path;
mod read_input;
mod reply;
mod routes;

pub(in crate::route) use routes::ROUTES;
