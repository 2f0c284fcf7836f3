//! What happens before a model is called. Errors here reach the client before the first byte.
//!
//! | module | owns |
//! |---|---|
//! | `prepare` | the order of all this: from a request to a prepared run |
//! | `skill_request` | the skills, container and code execution that a request names |
//! | `auto_selector` | `auto` in a request, with its filter |
//! | `network` | the domains and secrets that a request names for its code |
//! | `native_skills` | skills that a vendor's own servers run |
//! | `resolve` | which skills are stored here, and in which version |
//! | `inline_skill`, `unpack_permits` | a skill that is part of the request; how many are unpacked at once |
//! | `user_texts`, `skill_finder`, `routing` | which stored skills a request with `auto` offers: what users wrote, what fits it, and where it is offered |
//! | `offer_memory` | what other requests of a conversation offered, if they name no container |
//! | `stored_library`, `loaded_before` | the stored skills that the model loads in such a run; those that earlier runs loaded |
//! | `plan` | container, skills, sandbox and policy of the run |
//! | `uploads` | files to be placed in the container |
//! | `disclosure`, `prompt_piece` | the system prompt about the skills; whose each piece of it is |
//! | `run_tools` | the client's tools, then Prowess's |
//! | `prepared` | the result: what the turns of the run need |

pub(crate) mod auto_selector;
pub(crate) mod disclosure;
pub(crate) mod inline_skill;
pub(crate) mod loaded_before;
pub(crate) mod native_skills;
pub(crate) mod network;
pub(crate) mod offer_memory;
pub(crate) mod plan;
pub(crate) mod prepare;
pub(crate) mod prepared;
pub(crate) mod prompt_piece;
pub(crate) mod resolve;
pub(crate) mod routing;
pub(crate) mod run_tools;
pub(crate) mod skill_finder;
pub(crate) mod skill_request;
pub(crate) mod stored_library;
pub(crate) mod unpack_permits;
pub(crate) mod uploads;
pub(crate) mod user_texts;
