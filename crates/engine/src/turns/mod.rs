//! The turns of a run, from the first call of the model to the end of the response.
//!
//! | module | owns |
//! |---|---|
//! | `run_loop` | the loop, and the state of a run in progress |
//! | `turn` | one turn of the model, forwarded to the client |
//! | `dispatch` | the calls of one turn, all at once |
//! | `call_results` | their results, for the client and for the model |
//! | `collect` | files that code created, stored under ids |
//! | `upstream_output` | container and files of the upstream's own servers |
//! | `provider_files` | the tenant of files that a provider stores |
//! | `budget` | limits of a run |
//! | `answer_writer` | the one response: one start, dense indexes, one end |
//! | `noted_steps` | steps that only records and logs have |
//! | `finish` | the end: what is stored, and the last events |
//! | `litellm` | LiteLLM's own response field |
//! | `run_stream` | a run as a stream of events |

pub(crate) mod answer_writer;
pub(crate) mod budget;
pub(crate) mod call_results;
pub(crate) mod collect;
pub(crate) mod dispatch;
pub(crate) mod finish;
pub(crate) mod litellm;
pub(crate) mod noted_steps;
pub(crate) mod provider_files;
pub(crate) mod run_loop;
pub(crate) mod run_stream;
pub(crate) mod turn;
pub(crate) mod upstream_output;
