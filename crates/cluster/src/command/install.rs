//! Has a worker install packages.

use prowess_sandbox::{Error, Requirements};
use prowess_worker::protocol::{
    LayerRequest, RemoteError, WorkerReply, WorkerRequest, requirements_key,
};
use tokio::time::Instant;

use super::conversation::{CommandName, WorkerConversation, WorkerEvent};
use super::dispatcher::Dispatcher;
use super::find_worker::{PlacedRequest, Search, refusal};
use super::link::payload;
use crate::registry::CommandNeeds;

/// Workers that may fail to install them.
const MAX_ATTEMPTS: usize = 3;
/// Characters that are kept of what a worker remarks: more than any remark has.
const MAX_REMARK_CHARS: usize = 8 << 10;

impl Dispatcher {
    /// Has a worker install packages. Returns what could not be installed.
    pub(crate) async fn install(
        &self,
        owner: &str,
        command: String,
        requirements: &Requirements,
    ) -> Result<Option<String>, Error> {
        let needs = CommandNeeds {
            skills: Vec::new(),
            layer: Some(requirements_key(requirements)),
        };
        let request = WorkerRequest::Layer(Box::new(LayerRequest {
            command: command.clone(),
            owner: owner.to_owned(),
            requirements: requirements.clone(),
        }));
        let payload = payload(&request).map_err(|error| Error::Layer {
            why: error.to_string(),
        })?;
        let mut search = Search::new(self.wait);
        let mut attempts = 0;
        loop {
            let request = PlacedRequest {
                tenant: owner,
                command: CommandName {
                    id: &command,
                    epoch: 0,
                    ownership: None,
                },
                payload: &payload,
                last_worker: None,
                needs: &needs,
                is_handed_over: false,
            };
            let Some(mut conversation) = self.begin(request, &mut search).await? else {
                // Workers are not permitted to pass it on, so this does not happen.
                continue;
            };
            let name = conversation.placed().name();
            let error = match installed(&mut conversation).await {
                Ok(remark) => return Ok(remark),
                Err(Failure::Worker(error)) => error,
                Err(Failure::Final(error)) => return Err(error.into_error()),
                Err(Failure::Refused(refused)) => {
                    self.set_aside(&mut search, name, refused);
                    continue;
                }
            };
            attempts += 1;
            search.failed.insert(name);
            let is_alone = self.registry.place(None, &search.failed, &needs).is_none();
            if attempts >= MAX_ATTEMPTS || is_alone {
                return Err(error.into_error());
            }
            search.deadline = Instant::now() + self.wait;
        }
    }
}

/// Why a worker has not installed packages.
enum Failure {
    /// It has no room.
    Refused(super::find_worker::WorkerRefusal),
    /// Another one may succeed.
    Worker(RemoteError),
    /// No other one would.
    Final(RemoteError),
}

async fn installed(conversation: &mut WorkerConversation) -> Result<Option<String>, Failure> {
    loop {
        let event = conversation.next_event().await;
        if let Some(refused) = refusal(&event) {
            return Err(Failure::Refused(refused));
        }
        let lost = |why: &str| {
            let worker = &conversation.placed().worker;
            let message = format!("worker {worker} has not installed the packages: {why}");
            Failure::Worker(RemoteError::new(RemoteError::STOPPED, message))
        };
        let reply = match event {
            WorkerEvent::Reply(reply, _) => *reply,
            WorkerEvent::Silence | WorkerEvent::Nobody => return Err(lost("it does not answer")),
            WorkerEvent::Nonsense(why) => return Err(lost(&why)),
        };
        match reply {
            WorkerReply::LayerReady { remark } => {
                let within_limit =
                    |remark: String| remark.chars().take(MAX_REMARK_CHARS).collect::<String>();
                return Ok(remark.map(within_limit));
            }
            WorkerReply::Failed(error) if error.is_of_worker() => {
                return Err(Failure::Worker(error));
            }
            WorkerReply::Failed(error) => return Err(Failure::Final(error)),
            _ => {}
        }
    }
}
