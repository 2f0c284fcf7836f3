//! The HTTP face: the model gateway, and skills and files in two vendors' dialects.
//!
//! Handlers here are thin: they read a request in its dialect, ask the store, and
//! write the answer in the same dialect. What a skill is belongs to
//! `prowess-skill`, where it stays to `prowess-store`, what a model's dialect means to
//! `prowess-wire` and how it is called to `prowess-provider`; this crate knows no SQL, and
//! it reads no configuration file and no environment: it is given [`Settings`].
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `app`, [`Settings`] | what all requests share |
//! | [`serve`](fn@serve) | accepting connections, and an end that lets uploads finish |
//! | `connections` | all that are open: how many, which make room, how long without a request |
//! | `crew`, `door` | the threads that attend connections; what those speak |
//! | `shares`, `bodies`, `requests` | what all tenants share, so that none takes it all: uploads at once; bytes of bodies, and how slow these may come; requests at once |
//! | [`Front`] | the way in: models straight, all else by the router |
//! | `context` | around every request: its id, its dialect, its log line, its metrics |
//! | [`request_log`] | the log's line of each request, and whose the other lines are |
//! | `dialect` | whose shapes a request speaks |
//! | `error` | what went wrong, and one function per dialect that says so |
//! | `auth` | keys, tenants, scopes |
//! | `extract`, `page`, `ids` | paths, queries, pages, ids as clients write them |
//! | `form` | multipart bodies, read within bounds |
//! | `intake`, `composed` | an uploaded form to a checked and scanned skill |
//! | `render` | rows to each dialect's JSON |
//! | `limits` | what keys may still spend |
//! | `meter`, `telemetry` | what requests to models used: rows and traces |
//! | `route` | one file per verb |
//! | `upstream` | requests that are for Anthropic's own skills |
//! | `openapi` | the description of all this |

mod anthropic_skills;
mod app;
mod auth;
mod bodies;
mod connection_server;
mod connections;
mod context;
mod dialect;
mod error;
mod extract;
mod fair_pool;
mod form;
mod google;
mod http_service;
mod ids;
mod intake;
mod limits;
mod metadata;
mod meter;
mod openapi;
mod page;
mod render;
pub mod request_log;
mod route;
mod secret;
mod serve;
mod settings;
mod skill_compose;
mod telemetry;
mod tenant_requests;
mod workers;

pub use app::App;
pub use http_service::HttpService;
pub use secret::SecretString;
pub use serve::{ServeOptions, serve};
pub use settings::{AnthropicAccount, ServerSettings, SkillsLocation, TelemetrySettings};
