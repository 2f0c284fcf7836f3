//! A request to an endpoint: what is sent, with the upstream's name for the model in it.

use std::ops::Range;

use bytes::Bytes;
use http::Method;
use http_body::Body;
use prowess_wire::raw::RawObject;

use super::sized_body::SizedBody;
use crate::http::RequestBody;

/// A request to an endpoint that needs a model.
#[derive(Debug)]
pub struct EndpointRequest {
    /// The path below OpenAI's API, such as `images/generations`.
    pub endpoint: &'static str,
    /// The body.
    pub body: EndpointBody,
}

impl EndpointRequest {
    /// Whether it can be sent: the rest of a body can be sent once.
    pub(super) fn can_be_sent(&self) -> bool {
        self.body.is_whole || self.body.rest.is_some()
    }
}

/// A request to a path of a provider.
#[derive(Debug)]
pub struct ProviderPathRequest {
    /// The method.
    pub method: Method,
    /// The path below the provider's address, with a slash before it, encoded as the client
    /// sent it.
    pub path: String,
    /// The query, without `?`.
    pub query: Option<String>,
    /// The body, if there is one.
    pub body: Option<EndpointBody>,
}

/// The body of a request: all of it, or its beginning and what is sent as it arrives.
#[derive(Debug)]
pub struct EndpointBody {
    head: Bytes,
    model: ModelPlace,
    rest: Option<(RequestBody, Option<u64>)>,
    is_whole: bool,
}

/// Where the model is named.
#[derive(Debug, Clone)]
enum ModelPlace {
    /// In the field `model` of a JSON object.
    Json,
    /// There in the head.
    At(Range<usize>),
    /// Nowhere, or it must stay.
    None,
}

impl EndpointBody {
    /// A JSON object that names its model, or leaves it to the API's default.
    pub fn json(bytes: Bytes) -> Self {
        EndpointBody::whole(bytes, ModelPlace::Json)
    }

    /// A form that names its model there.
    pub fn form(bytes: Bytes, model: Range<usize>) -> Self {
        EndpointBody::whole(bytes, ModelPlace::At(model))
    }

    /// Bytes that stay as they are.
    pub fn unchanged(bytes: Bytes) -> Self {
        EndpointBody::whole(bytes, ModelPlace::None)
    }

    fn whole(head: Bytes, model: ModelPlace) -> Self {
        EndpointBody {
            head,
            model,
            rest: None,
            is_whole: true,
        }
    }

    /// The same with more behind it, which is sent as it arrives; of this length, if that is
    /// known. Such a request is sent once.
    #[must_use]
    pub fn followed_by<B>(mut self, rest: B, length: Option<u64>) -> Self
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
            + Send
            + 'static,
    {
        self.rest = Some((RequestBody::from_stream(rest), length));
        self.is_whole = false;
        self
    }

    /// The body for a model. What arrives later is taken from this one.
    pub(super) fn for_model(&mut self, model: Option<&str>) -> RequestBody {
        let head = match model {
            Some(model) => self.head_for(model),
            None => self.head.clone(),
        };
        match self.rest.take() {
            None => head.into(),
            Some((rest, length)) => RequestBody::from_stream(SizedBody::new(head, rest, length)),
        }
    }

    fn head_for(&self, model: &str) -> Bytes {
        match &self.model {
            ModelPlace::None => self.head.clone(),
            ModelPlace::Json => match RawObject::parse(&self.head) {
                Ok(raw) if raw.get_str("model").as_deref() != Some(model) => {
                    raw.with_str("model", model).into()
                }
                _ => self.head.clone(),
            },
            ModelPlace::At(place) => {
                let parts = (
                    self.head.get(..place.start),
                    self.head.get(place.clone()),
                    self.head.get(place.end..),
                );
                match parts {
                    (Some(before), Some(named), Some(after)) if named != model.as_bytes() => {
                        [before, model.as_bytes(), after].concat().into()
                    }
                    _ => self.head.clone(),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_the_model_is_replaced() {
        let head = |body: EndpointBody| String::from_utf8(body.head_for("big").to_vec()).unwrap();
        let json = r#"{ "a" : 1.0, "model":"small", "b":[ ] }"#;
        let replaced = head(EndpointBody::json(json.into()));
        assert_eq!(replaced, json.replace("\"small\"", "\"big\""));
        assert_eq!(
            head(EndpointBody::form("xxsmallyy".into(), 2..7)),
            "xxbigyy"
        );
        assert_eq!(head(EndpointBody::form("xx".into(), 2..7)), "xx");
        assert_eq!(head(EndpointBody::unchanged(json.into())), json);
    }
}
