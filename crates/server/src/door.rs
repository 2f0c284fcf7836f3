//! What a connection speaks, how slow it may be, and how it is asked to end.

use std::convert::Infallible;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

use crate::front::Front;

/// What is held for a client that does not read its answer, and the most that the
/// head of a request may have.
const AHEAD: usize = 64 << 10;

/// Where connections come in.
pub(crate) struct Door {
    front: Front,
    graceful: GracefulShutdown,
    head: Duration,
}

impl Door {
    pub(crate) fn new(front: Front, head: Duration) -> Door {
        Door {
            front,
            graceful: GracefulShutdown::new(),
            head,
        }
    }

    /// One connection, from its first byte to its last.
    pub(crate) fn attend(
        &self,
        stream: TcpStream,
        seat: OwnedSemaphorePermit,
    ) -> impl Future<Output = ()> + Send + use<> {
        // Small answers shall not wait for more to send.
        let _ = stream.set_nodelay(true);
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(self.head)
            .max_buf_size(AHEAD);
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(Duration::from_secs(30))
            .max_concurrent_streams(256);
        let front = self.front.clone();
        let service = service_fn(move |request| {
            let front = front.clone();
            async { Ok::<_, Infallible>(front.answer(request).await) }
        });
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let watched = self.graceful.watch(connection.into_owned());
        async move {
            if let Err(error) = watched.await {
                tracing::debug!(%error, "a connection ended early");
            }
            drop(seat);
        }
    }

    /// Asks all connections to end after the request that is under way; done when
    /// they have.
    pub(crate) async fn close(self) {
        self.graceful.shutdown().await;
    }
}

/// Another door to the same rooms, with connections of its own.
impl Clone for Door {
    fn clone(&self) -> Self {
        Door::new(self.front.clone(), self.head)
    }
}
