//! The configuration of one provider, as its kind needs it to build an upstream.

use std::any::Any;

use http::HeaderValue;
use url::Url;

use super::base_url::{BaseUrl, parse_base_url};
use super::{AnyOptions, KindDescriptor};
use crate::config::ProviderConfigError;
use crate::env::Env;

/// The configuration of a provider of a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UpstreamSettings<'a> {
    /// The provider's name.
    pub(crate) provider: &'a str,
    pub(crate) kind: &'static KindDescriptor,
    /// The configured address.
    pub(crate) base_url: Option<&'a str>,
    /// Whether a key is configured, or in a standard variable of the kind.
    pub(crate) has_key: bool,
    pub(crate) options: &'a (dyn AnyOptions + 'static),
    pub(crate) env: &'a Env,
}

impl<'a> UpstreamSettings<'a> {
    /// The options, which are of the kind's type.
    pub(crate) fn options<O: Any>(&self) -> Result<&'a O, ProviderConfigError> {
        let options: &'a (dyn Any + 'static) = self.options;
        options.downcast_ref().ok_or_else(|| {
            let remedy = format!("use the options of {}", self.kind.name);
            self.missing_error("options", &remedy)
        })
    }

    /// The address: the configured one, or the kind's own.
    pub(crate) fn base(&self) -> Result<Url, ProviderConfigError> {
        let (names, default): (&[&str], _) = match self.kind.base_url {
            BaseUrl::Fixed(address) => (&[], Some(address)),
            BaseUrl::Variables { names, default } => (names, default),
            BaseUrl::FromOptions(_) | BaseUrl::Required | BaseUrl::None => (&[], None),
        };
        let written = self.base_url.map(str::to_owned);
        let written = written.or_else(|| self.env.first(names));
        let address = written.map(|written| self.kind.complete_base_url(&written));
        match address.or_else(|| default.map(str::to_owned)) {
            Some(address) => self.parse_base_url(&address),
            None => {
                let variable = names.first().map(|name| format!(" or {name}"));
                let remedy = format!("set base_url{}", variable.unwrap_or_default());
                Err(self.missing_error("base_url", &remedy))
            }
        }
    }

    /// The configured address, or this one.
    pub(crate) fn base_or(&self, default: &str) -> Result<Url, ProviderConfigError> {
        self.parse_base_url(self.base_url.unwrap_or(default))
    }

    /// An option, or the first of these variables that is set.
    pub(crate) fn option_or_variable(
        &self,
        option: &Option<String>,
        names: &[&str],
    ) -> Option<String> {
        option.clone().or_else(|| self.env.first(names))
    }

    /// The value of a header.
    pub(crate) fn header_value(
        &self,
        option: &str,
        text: &str,
    ) -> Result<HeaderValue, ProviderConfigError> {
        HeaderValue::from_str(text).map_err(|_| ProviderConfigError::BadHeader {
            entry: self.entry_name(option),
            why: "it cannot be sent in a header".to_owned(),
        })
    }

    fn parse_base_url(&self, text: &str) -> Result<Url, ProviderConfigError> {
        parse_base_url(text).map_err(|why| self.bad_url_error(why))
    }

    pub(crate) fn bad_url_error(&self, why: impl ToString) -> ProviderConfigError {
        ProviderConfigError::BadUrl {
            entry: self.entry_name("base_url"),
            why: why.to_string(),
        }
    }

    pub(crate) fn missing_error(&self, what: &'static str, remedy: &str) -> ProviderConfigError {
        ProviderConfigError::Missing {
            entry: self.entry_name(what),
            what,
            remedy: remedy.to_owned(),
        }
    }

    fn entry_name(&self, field: &str) -> String {
        format!("providers.{}.{field}", self.provider)
    }
}
