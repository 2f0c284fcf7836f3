//! Announcing a container that a call is about to run its first command in, to whoever has to know
//! it before: what is begun there may have to be found later. Must not know what is done with it.

use tokio::sync::{mpsc, oneshot};

/// Announces containers of calls. Clones announce to the same receiver.
#[derive(Debug, Clone)]
pub struct ContainerAnnouncer {
    /// The container that is known already.
    known: Option<String>,
    sender: mpsc::UnboundedSender<AnnouncedContainer>,
}

/// A container that a call is about to use. The call goes on when this is dropped.
#[derive(Debug)]
pub struct AnnouncedContainer {
    id: String,
    _used: oneshot::Sender<()>,
}

impl AnnouncedContainer {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl ContainerAnnouncer {
    /// Announces every container but `known`. The receiver gets at most one announcement of each
    /// call at a time.
    #[must_use]
    pub fn new(known: Option<String>) -> (Self, mpsc::UnboundedReceiver<AnnouncedContainer>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (ContainerAnnouncer { known, sender }, receiver)
    }

    /// Whether a container has to be announced.
    pub(crate) fn needs(&self, id: &str) -> bool {
        self.known.as_deref() != Some(id)
    }

    /// Announces a container, and waits until it can be used.
    pub(crate) async fn announce(&self, id: &str) {
        let (sender, used) = oneshot::channel();
        let announced = AnnouncedContainer {
            id: id.to_owned(),
            _used: sender,
        };
        // Nothing is ever sent: it ends when the announcement is dropped, also by a receiver that
        // does not exist any more.
        let _ = self.sender.send(announced);
        let _ = used.await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_call_waits_until_its_container_can_be_used() {
        let (announcer, mut announced) = ContainerAnnouncer::new(Some("known".to_owned()));
        assert!(announcer.needs("other") && !announcer.needs("known"));
        let order = std::sync::Mutex::new(Vec::new());
        let call = async {
            announcer.announce("other").await;
            order.lock().unwrap().push("used");
        };
        let receiver = async {
            let container = announced.recv().await.unwrap();
            assert_eq!(container.id(), "other");
            tokio::task::yield_now().await;
            order.lock().unwrap().push("known");
            drop(container);
        };
        tokio::join!(call, receiver);
        assert_eq!(*order.lock().unwrap(), ["known", "used"]);
        // Nobody has to know it.
        drop(announced);
        announcer.announce("another").await;
    }
}
