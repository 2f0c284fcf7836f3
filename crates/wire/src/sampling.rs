//! Temperature, top_p and top_k, as far as a model supports them.

use serde_json::{Number, Value};

use crate::Dialect;
use crate::context::WriteOptions;
use crate::drops::Drops;
use crate::models::{Family, Sampling};
use crate::neutral::Request;

/// What may be sent.
#[derive(Debug, Default)]
pub(crate) struct SamplingParams {
    pub(crate) temperature: Option<Value>,
    pub(crate) top_p: Option<Value>,
    pub(crate) top_k: Option<Value>,
}

/// What of the sampling parameters of a request may be sent to a model; the rest is
/// named.
pub(crate) fn sampling_params(
    request: &Request,
    options: &WriteOptions,
    drops: &mut Drops,
) -> SamplingParams {
    let mut sampled = SamplingParams {
        temperature: request.temperature.clone().map(Value::Number),
        top_p: request.top_p.clone().map(Value::Number),
        top_k: request.top_k.map(Value::from),
    };
    match options.capabilities.sampling {
        _ if !options.sampling => {
            sampled.drop_all("the model does not support sampling parameters", drops)
        }
        Sampling::WithoutReasoning if request.effort.as_deref() != Some("none") => {
            let why = "the model does not support sampling parameters while reasoning";
            sampled.drop_all(why, drops);
        }
        Sampling::OneOfTwo if sampled.temperature.is_some() && sampled.top_p.is_some() => {
            sampled.top_p = None;
            drops.add("top_p", "the model accepts temperature or top_p, not both");
        }
        _ => {}
    }
    let claude = options.capabilities.family == Family::Claude;
    if claude && request.client_dialect() != Dialect::Messages {
        sampled.limit_temperature(drops);
    }
    sampled
}

impl SamplingParams {
    fn drop_all(&mut self, why: &'static str, drops: &mut Drops) {
        for (key, value) in [
            ("temperature", &mut self.temperature),
            ("top_p", &mut self.top_p),
            ("top_k", &mut self.top_k),
        ] {
            if value.take().is_some() {
                drops.add(key, why);
            }
        }
    }

    /// Other vendors' scales end at 2, Anthropic's and Bedrock's end at 1.
    pub(crate) fn limit_temperature(&mut self, drops: &mut Drops) {
        let temperature = self.temperature.as_ref().and_then(Value::as_f64);
        if temperature.is_some_and(|temperature| temperature > 1.0) {
            self.temperature = Some(1.into());
            drops.add("temperature", "the maximum is 1, which is sent instead");
        }
    }

    /// Drops what Anthropic refuses while a model thinks. Its own clients get Anthropic's
    /// error instead.
    pub(crate) fn drop_for_thinking(&mut self, request: &Request, drops: &mut Drops) {
        if request.client_dialect() == Dialect::Messages {
            return;
        }
        let why = "Anthropic does not accept this value with thinking";
        let at_least = |value: &Option<Number>, least: f64| {
            let value = value.as_ref().and_then(Number::as_f64);
            value.is_none_or(|value| value >= least)
        };
        if !at_least(&request.temperature, 1.0) && self.temperature.take().is_some() {
            drops.add("temperature", why);
        }
        if !at_least(&request.top_p, 0.95) && self.top_p.take().is_some() {
            drops.add("top_p", why);
        }
        if self.top_k.take().is_some() {
            drops.add("top_k", why);
        }
    }
}
