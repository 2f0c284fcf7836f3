//! What every kind of provider does for a call: address, headers, credentials, body and
//! dialect. Builds requests; sends none, and knows no kind: those are in `kinds`.

mod betas;
mod build;
mod job;
mod openai;
mod request;
mod sigv4;

use std::fmt;
use std::pin::Pin;

use http::HeaderMap;
use prowess_wire::embeddings::EmbeddingDialect;
use prowess_wire::{ClientDialect, Dialect, ReadContext, StreamReader, WriteOptions};
use url::Url;

pub(crate) use self::betas::{BETA_HEADER, keep_accepted_betas, named_betas, take_betas};
pub(crate) use self::build::{build_upstream, own_key};
pub(crate) use self::job::{BodyOrigin, SkillsJob, UpstreamJob};
pub use self::job::{ModelTask, ProviderFileOperation};
pub(crate) use self::openai::{OPENAI_HOST, OpenAi, operation_path, passes_openai};
pub(crate) use self::request::{append_segments, get, post};
pub(crate) use self::sigv4::sign_request;
use crate::cloud_auth::CloudAuth;
use crate::error::CallError;
use crate::http::{HttpRequest, headers};
use crate::key::{KeyError, SecretText};

/// What takes the place of a key, while it is obtained.
pub(crate) type Authentication<'a> =
    Pin<Box<dyn Future<Output = Result<Option<SecretText>, CallError>> + Send + 'a>>;

/// A request, unless the key cannot be sent.
pub(crate) type BuiltRequest = Result<HttpRequest, KeyError>;

/// An upstream: a kind of provider at an address.
pub(crate) trait Upstream: fmt::Debug + Send + Sync {
    /// Its address.
    fn base(&self) -> &Url;

    /// Whether it is OpenAI itself, or OpenAI's models on Azure.
    fn is_openai(&self) -> bool {
        false
    }

    /// The name that says in which API a model is called, of its own and that of the known model
    /// that it is. Methods that take one name of a model get this one.
    fn api_name<'m>(&self, _model: &'m str, base: &'m str) -> &'m str {
        base
    }

    /// Whether it accepts a client's bytes unchanged, and responds in the same dialect.
    fn supports_pass_through(&self, client: ClientDialect, task: ModelTask, model: &str) -> bool;

    /// The dialect in which a model is called, for a client of this dialect.
    fn dialect(&self, model: &str, origin: Dialect) -> Dialect;

    /// The dialect of its token counter, if it has one.
    fn token_counter_dialect(&self, model: &str) -> Option<Dialect>;

    /// Whether its token counter takes all fields of a request in this dialect.
    fn counts_whole_body(&self, _: Dialect) -> bool {
        false
    }

    /// The API in which a model creates embeddings, if it does.
    fn embedding_dialect(&self, _: &str) -> Option<EmbeddingDialect> {
        None
    }

    /// Whether it requires a key.
    fn needs_key(&self) -> bool {
        true
    }

    /// Obtains what takes the place of a key when none is configured: an access token, or
    /// `None` for credentials that the upstream keeps itself, to sign requests with. `None`
    /// without a future: nothing does.
    fn authenticate(&self) -> Option<Authentication<'_>> {
        None
    }

    /// Where that comes from, in words. Nothing is read or asked.
    fn credential_source(&self) -> Option<String> {
        None
    }

    /// What obtains credentials of a cloud, if it is at one.
    fn cloud_auth(&self) -> Option<CloudAuth<'_>> {
        None
    }

    /// What its models support, before their names are considered.
    fn default_write_options(&self) -> WriteOptions {
        WriteOptions::default()
    }

    /// The same for the API in which a model is called, where it has several.
    fn api_write_options(&self, _model: &str) -> WriteOptions {
        self.default_write_options()
    }

    /// What a model of it supports, unless its entry overrides it: by its own name and that of
    /// the known model that it is.
    fn write_options(&self, model: &str, base: &str) -> WriteOptions {
        let options = self.api_write_options(self.api_name(model, base));
        options.for_model(base, self.base().host_str())
    }

    /// Whether it gives a response of up to so many tokens only as a stream.
    fn streams_only(&self, _max_tokens: Option<u64>) -> bool {
        false
    }

    /// Adds the credentials to the headers of any request.
    fn authorize(&self, headers: &mut HeaderMap, key: Option<&SecretText>) -> Result<(), KeyError> {
        match key {
            Some(key) => headers::set_bearer(headers, key),
            None => Ok(()),
        }
    }

    /// The HTTP request.
    fn request(&self, job: UpstreamJob<'_>, key: Option<&SecretText>) -> BuiltRequest;

    /// The request that lists its models, if it supports that.
    fn list_request(&self, _: HeaderMap, _: Option<&SecretText>) -> Option<BuiltRequest> {
        None
    }

    /// Whether its servers create and store files.
    fn has_file_storage(&self) -> bool {
        false
    }

    /// The request about a file that it stores, if it stores any.
    fn file_request(
        &self,
        _: ProviderFileOperation,
        _: &str,
        _: HeaderMap,
        _: Option<&SecretText>,
    ) -> Option<BuiltRequest> {
        None
    }

    /// The request about skills that it stores, if it stores any.
    fn skills_request(&self, _: SkillsJob<'_>, _: &SecretText) -> Option<BuiltRequest> {
        None
    }

    /// A reader for its streams.
    fn reader(&self, dialect: Dialect, context: ReadContext) -> StreamReader {
        StreamReader::new(dialect, context)
    }
}
