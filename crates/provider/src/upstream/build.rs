//! Builds and validates an upstream from a provider's configuration.

use http::HeaderValue;
use prowess_wire::hosting::AnthropicHost;
use url::Url;

use super::Upstream;
use super::anthropic::Anthropic;
use super::azure::Azure;
use super::bedrock::Bedrock;
use super::gemini::Gemini;
use super::openai::{OPENAI_HOST, OpenAi};
use super::sigv4::Signer;
use super::vertex::Vertex;
use crate::config::{
    AnthropicOptions, AwsKeys, AzureOptions, BedrockOptions, OpenAiOptions, ProviderConfig,
    ProviderConfigError, ProviderKind, VertexOptions,
};
use crate::env::Env;
use crate::key::{CachedKey, KeySource};

/// Validates a provider's configuration.
struct UpstreamBuilder<'a> {
    config: &'a ProviderConfig,
    env: &'a Env,
}

impl Upstream {
    /// Builds the configured upstream; `None` for a kind without an address.
    pub(crate) fn build(
        config: &ProviderConfig,
        env: &Env,
    ) -> Result<Option<Upstream>, ProviderConfigError> {
        let builder = UpstreamBuilder { config, env };
        Ok(Some(match &config.kind {
            ProviderKind::Anthropic(options) => Upstream::Anthropic(builder.anthropic(options)?),
            ProviderKind::OpenAi(options) => Upstream::OpenAi(builder.openai(options)?),
            ProviderKind::Azure(options) => Upstream::Azure(builder.azure(options)?),
            ProviderKind::Bedrock(options) => {
                Upstream::Bedrock(Box::new(builder.bedrock(options)?))
            }
            ProviderKind::Vertex(options) => Upstream::Vertex(builder.vertex(options)?),
            ProviderKind::Gemini(options) => Upstream::Gemini(Gemini {
                base: builder.base_or("https://generativelanguage.googleapis.com")?,
                api_version: options.api_version.clone(),
            }),
            ProviderKind::Scripted(_) => return Ok(None),
        }))
    }
}

impl UpstreamBuilder<'_> {
    fn anthropic(&self, options: &AnthropicOptions) -> Result<Anthropic, ProviderConfigError> {
        let mut base = self.base_or("https://api.anthropic.com")?;
        // Other providers' addresses contain the version, so people write it here too.
        let path = base.path().trim_end_matches('/').to_owned();
        if let Some(path) = path.strip_suffix("/v1") {
            base.set_path(path);
        }
        let version = HeaderValue::from_str(&options.version).map_err(|_| {
            ProviderConfigError::BadHeader {
                entry: self.entry_name("version"),
                why: "it cannot be sent in a header".to_owned(),
            }
        })?;
        Anthropic::new(base, version).map_err(|error| self.bad_url_error(error.to_string()))
    }

    fn openai(&self, options: &OpenAiOptions) -> Result<OpenAi, ProviderConfigError> {
        let base = self.base_or("https://api.openai.com/v1")?;
        let is_openai = base.host_str() == Some(OPENAI_HOST);
        let responses = options.responses.unwrap_or(is_openai);
        OpenAi::new(base, responses).map_err(|error| self.bad_url_error(error.to_string()))
    }

    fn azure(&self, options: &AzureOptions) -> Result<Azure, ProviderConfigError> {
        let given = self.env.first(&["AZURE_API_BASE", "AZURE_OPENAI_ENDPOINT"]);
        let base = match (&self.config.base_url, given) {
            (Some(base), _) => self.parse_base_url(base)?,
            (None, Some(base)) => self.parse_base_url(&base)?,
            (None, None) => {
                return Err(self.missing_error("base_url", "set base_url or AZURE_API_BASE"));
            }
        };
        Ok(Azure {
            base,
            api_version: options.api_version.clone(),
            bearer: options.bearer,
        })
    }

    fn bedrock(&self, options: &BedrockOptions) -> Result<Bedrock, ProviderConfigError> {
        let region = options
            .region
            .clone()
            .or_else(|| self.env.first(&["AWS_REGION", "AWS_DEFAULT_REGION"]))
            .ok_or_else(|| self.missing_error("region", "set region or AWS_REGION"))?;
        Ok(Bedrock {
            base: self.base_or(&format!("https://bedrock-runtime.{region}.amazonaws.com"))?,
            api: options.api,
            anthropic_version: version_or(&options.anthropic_version, AnthropicHost::Bedrock),
            signer: self.signer(region, options.keys.as_ref()),
        })
    }

    fn signer(&self, region: String, keys: Option<&AwsKeys>) -> Signer {
        let variable = |name: &str| KeySource::Env(name.to_owned());
        let default_keys = || AwsKeys {
            access_key_id: variable("AWS_ACCESS_KEY_ID"),
            secret_access_key: variable("AWS_SECRET_ACCESS_KEY"),
            session_token: self
                .env
                .get("AWS_SESSION_TOKEN")
                .map(|_| variable("AWS_SESSION_TOKEN")),
        };
        let keys = keys.cloned().unwrap_or_else(default_keys);
        let key = |source| CachedKey::new(source, self.env);
        Signer {
            region,
            access_key_id: key(keys.access_key_id),
            secret_access_key: key(keys.secret_access_key),
            session_token: keys.session_token.map(key),
        }
    }

    fn vertex(&self, options: &VertexOptions) -> Result<Vertex, ProviderConfigError> {
        let project_variables = ["VERTEXAI_PROJECT", "GOOGLE_CLOUD_PROJECT"];
        let project = options
            .project
            .clone()
            .or_else(|| self.env.first(&project_variables))
            .ok_or_else(|| self.missing_error("project", "set project or VERTEXAI_PROJECT"))?;
        let location_variables = ["VERTEXAI_LOCATION", "GOOGLE_CLOUD_LOCATION"];
        let location = options
            .location
            .clone()
            .or_else(|| self.env.first(&location_variables))
            .unwrap_or_else(|| "global".to_owned());
        let host = match location.as_str() {
            "global" => "https://aiplatform.googleapis.com".to_owned(),
            region => format!("https://{region}-aiplatform.googleapis.com"),
        };
        Ok(Vertex {
            base: self.base_or(&host)?,
            project,
            location,
            anthropic_version: version_or(&options.anthropic_version, AnthropicHost::Vertex),
        })
    }

    fn base_or(&self, default: &str) -> Result<Url, ProviderConfigError> {
        self.parse_base_url(self.config.base_url.as_deref().unwrap_or(default))
    }

    fn parse_base_url(&self, text: &str) -> Result<Url, ProviderConfigError> {
        let bad = |why| self.bad_url_error(why);
        let url = Url::parse(text.trim()).map_err(|error| match error {
            url::ParseError::RelativeUrlWithoutBase => {
                bad(format!("{text:?} must begin with http:// or https://"))
            }
            error => bad(format!("{text:?} is not a URL: {error}")),
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad(format!("{text:?} must begin with http:// or https://")));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad(
                "it contains a user name or password; use api_key or headers".to_owned(),
            ));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(bad(format!("{text:?} must not have a query or a fragment")));
        }
        Ok(url)
    }

    fn bad_url_error(&self, why: String) -> ProviderConfigError {
        ProviderConfigError::BadUrl {
            entry: self.entry_name("base_url"),
            why,
        }
    }

    fn missing_error(&self, what: &'static str, remedy: &str) -> ProviderConfigError {
        ProviderConfigError::Missing {
            entry: self.entry_name(what),
            what,
            remedy: remedy.to_owned(),
        }
    }

    fn entry_name(&self, field: &str) -> String {
        format!("providers.{}.{field}", self.config.name)
    }
}

fn version_or(given: &Option<String>, host: AnthropicHost) -> String {
    given
        .clone()
        .unwrap_or_else(|| host.classic_version().to_owned())
}
