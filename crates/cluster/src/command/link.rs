//! Sends requests to workers. Whether they arrive is not known.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use prowess_bus::{Bus, BusError};
use prowess_worker::protocol::{
    ProtocolError, WorkerRequest, encode, requests_subject, worker_inbox_prefix,
};
use serde::Serialize;

/// Containers in one request to forget them.
const MAX_FORGOTTEN: usize = prowess_worker::protocol::MAX_LISTED_IDS;

/// The way to workers.
#[derive(Debug, Clone)]
pub(crate) struct WorkerLink {
    pub(crate) bus: Bus,
    pub(crate) namespace: String,
    /// Whether other gateways continue what this one leaves.
    pub(crate) is_leaving: Arc<AtomicBool>,
}

impl WorkerLink {
    /// Sends a request that nobody answers.
    pub(crate) async fn send(&self, worker: &str, request: &WorkerRequest) -> Result<(), BusError> {
        let subject = requests_subject(&self.namespace, worker);
        self.bus.publish(&subject, payload(request)?).await
    }

    /// Sends a request whose answers go to `inbox`.
    pub(crate) async fn request(
        &self,
        worker: &str,
        inbox: &str,
        request: Bytes,
    ) -> Result<(), BusError> {
        let subject = requests_subject(&self.namespace, worker);
        self.bus.publish_with_reply(&subject, inbox, request).await
    }

    /// Sends a request in the background, from code that cannot wait.
    pub(crate) fn send_later(&self, worker: &str, request: WorkerRequest) {
        let (link, worker) = (self.clone(), worker.to_owned());
        spawn(async move {
            if let Err(error) = link.send(&worker, &request).await {
                tracing::debug!(%error, worker, "a request did not reach a worker");
            }
        });
    }

    /// Tells workers that containers do not exist any more. Those who do not hear it remove
    /// their copies when these have not been used for a while.
    pub(crate) async fn forget(&self, workers: &[String], containers: &[String]) {
        for batch in containers.chunks(MAX_FORGOTTEN) {
            let request = WorkerRequest::Forget {
                containers: batch.to_vec(),
            };
            for worker in workers {
                // Only disk space is lost for a while.
                let _ = self.send(worker, &request).await;
            }
        }
    }

    /// Whether a worker may be answered on this subject: its own inbox, or one outside of the
    /// cluster's subjects. A worker must not make the gateway write to anybody else.
    pub(crate) fn may_answer(&self, worker: &str, subject: &str) -> bool {
        let own = worker_inbox_prefix(&self.namespace, worker);
        let is_below = |prefix: &str| {
            let rest = subject.strip_prefix(prefix);
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        is_below(&own) || !is_below(&self.namespace)
    }
}

/// The payload of a message.
pub(crate) fn payload<T: Serialize>(message: &T) -> Result<Bytes, BusError> {
    encode(message).map_err(|error: ProtocolError| BusError::Invalid {
        why: error.to_string(),
    })
}

/// Runs something in the background, if there is a runtime.
pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(work);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_answered_at_its_own_inbox_only() {
        let link = WorkerLink {
            bus: Bus::local(),
            namespace: "prowess".into(),
            is_leaving: Arc::default(),
        };
        for subject in ["prowess.w.a.in.x", "_INBOX.x"] {
            assert!(link.may_answer("a", subject), "{subject}");
        }
        for subject in [
            "prowess.w.b.in.x",
            "prowess.w.a.do",
            "prowess.w.a.inn.x",
            "prowess.hb.w",
            "prowess.g.gw.in.x",
            "prowess.drop",
        ] {
            assert!(!link.may_answer("a", subject), "{subject}");
        }
    }
}
