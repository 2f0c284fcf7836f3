//! The HTTP server: the model gateway, and skills and files in the vendors' dialects.
//!
//! Handlers are thin: they read a request in its dialect, call the store, and write the
//! response in the same dialect. Skills are defined in `prowess-skill`, storage in
//! `prowess-store`, model dialects in `prowess-wire`, and calls to models in
//! `prowess-provider`. This crate contains no SQL and reads no configuration file: it takes
//! [`ServerSettings`]. All it reads from the environment is the API key of the account at
//! Anthropic, when the key is configured as an environment variable, and OpenTelemetry's own
//! variables, when there is a trace collector.
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `app`, `settings` | shared state, and its [`ServerSettings`] |
//! | `reload` | reading the configuration again while the server runs |
//! | [`serve`](fn@serve) | accepting connections, and graceful shutdown |
//! | `connections` | all open connections: limits, eviction, idle timeouts |
//! | `workers`, `connection_server` | the threads that serve connections; HTTP on one connection |
//! | `fair_pool`, `bodies`, `tenant_requests` | resources shared fairly by tenants: concurrent uploads; bytes of request bodies and their minimum rate; concurrent requests |
//! | `permitted_work` | work for a processor that keeps its permit until it ends |
//! | `http_service` | [`HttpService`]: calls to models go to the gateway, all else to the router |
//! | `context`, `request_id` | wraps every request: dialect, log line, metrics; its id |
//! | [`request_log`] | the log line of each request, and request fields of other lines |
//! | `dialect`, `google` | the API dialect of a request; paths of Google's API |
//! | `doctor` | checks of the installation: what they say |
//! | `error` | HTTP errors, rendered by one function per dialect |
//! | `audit` | which changes are in the audit log, and who made them |
//! | `in_process`, `console_sessions` | calls of the routes from this process; sessions of browsers that signed in |
//! | `auth`, `secret` | keys, tenants, scopes; strings that are never printed |
//! | `extract`, `page`, `ids`, `metadata`, `text` | paths, queries, pages, ids and `metadata` as clients send them; cutting text |
//! | `form`, `read_body` | multipart bodies and whole bodies, read within limits |
//! | `stored_answer` | the memory of answers that are made of stored texts |
//! | `intake`, `skill_compose` | from an uploaded form to a checked and scanned skill |
//! | `render` | database rows as JSON of each dialect |
//! | `limits` | rate limits and budgets of keys |
//! | `cluster` | the gateways of one cluster: what they tell each other, what is shown of them |
//! | `interrupted_runs` | recording runs that were not kept and whose server died |
//! | `kept_runs` | runs that go on without their client: submitting, running, following, cancelling |
//! | `pdf_pages` | pages of PDF files as pictures: fair shares, and those that were drawn |
//! | `meter`, `telemetry` | usage of model calls: rows and metrics; traces |
//! | `route` | the route table, the router, and the routes, one file per verb |
//! | `anthropic_skills` | requests about skills at Anthropic: which these are, and who may send them |
//! | `webhooks` | requests that announce the end of runs: endpoints, signatures, delivery |
//! | `batches` | batches of requests: reading them, scheduling, results |
//! | `openapi` | the OpenAPI document, from the route table |

mod anthropic_skills;
mod app;
mod audit;
mod auth;
mod batches;
mod bodies;
mod cluster;
mod connection_server;
mod connections;
mod console_sessions;
mod context;
mod dialect;
mod doctor;
mod error;
mod extract;
mod fair_pool;
mod form;
mod google;
mod http_service;
mod ids;
mod in_process;
mod intake;
mod interrupted_runs;
mod kept_runs;
mod limits;
mod metadata;
mod meter;
mod openapi;
mod page;
mod pdf_pages;
mod permitted_work;
mod read_body;
mod reload;
mod render;
mod request_id;
pub mod request_log;
mod route;
mod secret;
mod serve;
mod settings;
mod skill_compose;
mod stored_answer;
mod telemetry;
mod tenant_requests;
mod text;
mod webhooks;
mod workers;

pub use app::App;
pub use auth::in_process::{InProcessCaller, NotLocalError};
pub use batches::settings::BatchSettings;
pub use cluster::join::JoinedCluster;
pub use cluster::membership::ClusterMembership;
pub use cluster::view::{ClusterView, ClusterWorker};
pub use console_sessions::{CONSOLE_SESSION_LIFETIME, CallerError, SignInError};
pub use doctor::{ChecksFuture, InstallationChecks, PartReport, PartState};
pub use form::{PageField, PageForm, PageFormError};
pub use http_service::HttpService;
pub use in_process::{InProcessApi, UploadPermit, UploadsBusyError};
pub use prowess_provider::AnthropicAccount;
pub use reload::config_reader::{ConfigReader, ReadConfig, ReloadError, ReloadReport};
pub use render::audit_event_json;
#[doc(hidden)]
pub use route::table::{RouteSummary, route_table};
pub use secret::SecretString;
pub use serve::{ServeOptions, serve};
pub use settings::{ImportHosts, ServerSettings, SkillsLocation};
pub use telemetry::settings::TelemetrySettings;
pub use telemetry::worker_spans::{WorkerCommand, WorkerTelemetry};
pub use webhooks::host::WebhookHost;
pub use webhooks::settings::{WEBHOOK_EVENTS, WebhookEndpoint, WebhookSettings};
pub use webhooks::signature::{InvalidSigningSecret, SigningSecret};
pub use webhooks::webhook_url::InvalidWebhook;
