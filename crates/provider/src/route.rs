//! From a name to an answer: the targets in order, and the turning to the next.

use std::sync::Arc;

use bytes::Bytes;
use prowess_wire::neutral::Request;
use prowess_wire::raw::RawObject;
use prowess_wire::{Client, WireError, check_complete, has_sealed_state, read_request};

use crate::call::{Caller, Reply};
use crate::config::Price;
use crate::count::Counted;
use crate::error::CallError;
use crate::lane::Lane;
use crate::pass::{Passed, Refused};
use crate::provider::{Engine, Provider};
use crate::upstream::Task;

/// What a client's model name means: a model, and others to turn to when it fails.
#[derive(Debug, Clone)]
pub struct Route {
    pub(crate) name: String,
    pub(crate) targets: Vec<Target>,
}

/// A model of a provider.
#[derive(Debug, Clone)]
pub struct Target {
    pub(crate) provider: Arc<Provider>,
    pub(crate) lane: Arc<Lane>,
    pub(crate) model: String,
}

/// A client's request as it came.
#[derive(Debug, Clone, Copy)]
pub struct Incoming<'a> {
    /// What the client speaks.
    pub client: Client,
    /// What it wants.
    pub task: Task,
    /// The body.
    pub body: &'a Bytes,
    /// The same body with its fields found; must be parsed from `body`.
    pub raw: &'a RawObject<'a>,
    /// The model, as the client named it.
    pub model: &'a str,
    /// Whether it wants a stream.
    pub stream: bool,
    /// Whether a Gemini client wants the stream as one JSON array, and no events.
    pub array: bool,
}

impl Incoming<'_> {
    /// Whether its bytes mean to an upstream of the client's dialect what they mean here.
    /// There is no translation of what is to be compacted.
    fn can_pass(&self) -> bool {
        self.task == Task::Compact || !has_sealed_state(self.client, self.body)
    }

    /// The request in no dialect.
    ///
    /// # Errors
    /// When it cannot be understood, or wants an answer and leaves out what the client's
    /// vendor demands for one.
    pub fn read(&self) -> Result<Request, WireError> {
        let mut request = read_request(self.client, self.body)?;
        if self.task == Task::Generate {
            check_complete(self.client, self.raw, &request)?;
        }
        // There the path says what elsewhere the body does.
        if self.client == Client::Gemini {
            self.model.clone_into(&mut request.model);
            request.stream = self.stream;
        }
        Ok(request)
    }
}

/// How a client's request was answered.
#[derive(Debug)]
pub enum Forwarded {
    /// By an upstream of the client's own dialect: bytes to be passed on as they are.
    Passed(Box<Passed>),
    /// By one of another dialect: an answer to be written in the client's.
    Called {
        /// The request, as it was understood.
        request: Box<Request>,
        /// The answer.
        reply: Box<Reply>,
    },
    /// A question for the number of tokens, by one of another dialect.
    Counted(Counted),
}

impl Target {
    /// The provider's name.
    pub fn provider(&self) -> &str {
        &self.provider.name
    }

    /// What the provider is told the model is called.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The kind of provider, in the word of configuration files.
    pub fn kind(&self) -> &'static str {
        self.provider.kind
    }

    /// Whether the provider's own servers make files, and keep them.
    pub fn keeps_files(&self) -> bool {
        self.provider.keeps_files()
    }

    /// Whether it is OpenAI itself, and not a server that is compatible with it.
    pub fn is_openai(&self) -> bool {
        match &self.provider.engine {
            Engine::Http(http) => http.upstream.is_openai(),
            Engine::Scripted(_) => false,
        }
    }

    /// What its tokens cost, where that is configured.
    pub fn price(&self) -> Option<&Price> {
        self.lane.price.as_ref()
    }

    /// Whether a client's bytes can be passed on as they are.
    pub fn speaks(&self, client: Client, task: Task) -> bool {
        match &self.provider.engine {
            Engine::Http(http) => http.upstream.speaks(client, task, &self.model),
            Engine::Scripted(_) => false,
        }
    }
}

impl Route {
    /// The name the client used.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The models, in the order they are tried.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Calls the first model that answers. The model in the request is not looked at.
    ///
    /// Dropping the future, or the stream it gives, ends the upstream's work.
    pub async fn call(&self, request: &Request, caller: &Caller) -> Result<Reply, CallError> {
        let mut last = None;
        for target in &self.targets {
            match target.call(request, caller).await {
                Err(error) if error.is_worth_a_fallback() => {
                    last = Some(self.turn_away(target, error));
                }
                outcome => return outcome,
            }
        }
        Err(last.unwrap_or_else(|| self.empty()))
    }

    /// Counts the tokens of a request for the first model that can be asked.
    pub async fn count(&self, request: &Request, caller: &Caller) -> Result<Counted, CallError> {
        let mut last = None;
        for target in &self.targets {
            match target.count(request, caller).await {
                Err(error) if error.is_worth_a_fallback() => {
                    last = Some(self.turn_away(target, error));
                }
                outcome => return outcome,
            }
        }
        Err(last.unwrap_or_else(|| self.empty()))
    }

    /// Forwards a client's request to the first model that answers: byte for byte, but
    /// for model name and auth, where the upstream speaks the client's dialect, else
    /// translated. Translated is also what another vendor's model gave the client before
    /// ([`has_sealed_state`]): the upstream would refuse it.
    ///
    /// Of the client's headers all travel on but its credentials, those about its
    /// connection, and, unless it calls with a key of its own, those that choose an
    /// account (`openai-organization`, `openai-project`, `anthropic-workspace-id`).
    ///
    /// An upstream's error answer is passed on like any other, unless there is another
    /// model to turn to.
    pub async fn forward(
        &self,
        incoming: Incoming<'_>,
        caller: &Caller,
    ) -> Result<Forwarded, CallError> {
        let mut last: Option<Refused> = None;
        let passes = incoming.can_pass();
        for target in &self.targets {
            let outcome = if target.speaks(incoming.client, incoming.task) && passes {
                let passed = target.pass(incoming, caller).await;
                passed.map(Box::new).map(Forwarded::Passed)
            } else {
                // Bytes that are only passed on need no room for a translation.
                let called = Box::pin(target.translate(incoming, caller)).await;
                called.map_err(Refused::from)
            };
            match outcome {
                Ok(answer) => return Ok(answer),
                Err(refused) if refused.error.is_worth_a_fallback() => {
                    let error = self.turn_away(target, refused.error);
                    last = Some(Refused { error, ..refused });
                }
                Err(refused) => return refused.into_answer(),
            }
        }
        match last {
            Some(refused) => refused.into_answer(),
            None => Err(self.empty()),
        }
    }

    fn turn_away(&self, target: &Target, error: CallError) -> CallError {
        if self.targets.len() > 1 {
            tracing::warn!(
                route = self.name,
                provider = target.provider(),
                model = target.model,
                %error,
                "the model failed"
            );
        }
        error
    }

    fn empty(&self) -> CallError {
        CallError::Unsupported {
            provider: self.name.clone(),
            what: "answer: it has no models",
        }
    }
}

impl Target {
    async fn translate(
        &self,
        incoming: Incoming<'_>,
        caller: &Caller,
    ) -> Result<Forwarded, CallError> {
        let request = Box::new(incoming.read()?);
        if incoming.task == Task::CountTokens {
            return self.count(&request, caller).await.map(Forwarded::Counted);
        }
        let reply = Box::new(self.call(&request, caller).await?);
        Ok(Forwarded::Called { request, reply })
    }
}
