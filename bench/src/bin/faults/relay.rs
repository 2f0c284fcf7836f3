//! A relay between a server and a service it depends on. It can stop relaying, or vanish.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use prowess_bench::gateway::process::free_address;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

const FAILURE_PAUSE: Duration = Duration::from_millis(50);

/// What the relay does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelayState {
    /// Passes everything on.
    On,
    /// Keeps and accepts connections, and passes nothing on.
    Stalled,
    /// Has closed all connections, and refuses new ones.
    Gone,
}

/// The relay; it ends when this is dropped.
pub(crate) struct Relay {
    address: SocketAddr,
    relaying: watch::Sender<RelayState>,
    task: JoinHandle<()>,
}

impl Relay {
    pub(crate) fn start(runtime: &Runtime, service: SocketAddr) -> Result<Relay> {
        let address = free_address()?;
        let (relaying, current) = watch::channel(RelayState::On);
        let listener = runtime.block_on(TcpListener::bind(address));
        let listener = listener.context("the relay cannot listen")?;
        let task = runtime.spawn(serve(Some(listener), address, service, current));
        Ok(Relay {
            address,
            relaying,
            task,
        })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Has it do something else from now on.
    pub(crate) fn set(&self, relaying: RelayState) {
        self.relaying.send_replace(relaying);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut listener: Option<TcpListener>,
    address: SocketAddr,
    service: SocketAddr,
    mut current: watch::Receiver<RelayState>,
) {
    loop {
        if *current.borrow_and_update() == RelayState::Gone {
            listener = None;
            if current.changed().await.is_err() {
                return;
            }
            continue;
        }
        if listener.is_none() {
            listener = TcpListener::bind(address).await.ok();
        }
        let Some(listening) = &listener else {
            tokio::time::sleep(FAILURE_PAUSE).await;
            continue;
        };
        tokio::select! {
            accepted = listening.accept() => match accepted {
                Ok((stream, _)) => drop(tokio::spawn(relay_connection(stream, service, current.clone()))),
                Err(_) => tokio::time::sleep(FAILURE_PAUSE).await,
            },
            changed = current.changed() => if changed.is_err() { return },
        }
    }
}

/// One connection, until either side closes it or the relay is gone.
async fn relay_connection(
    mut client: TcpStream,
    service: SocketAddr,
    mut current: watch::Receiver<RelayState>,
) {
    let Ok(mut server) = TcpStream::connect(service).await else {
        return;
    };
    loop {
        let relaying = *current.borrow_and_update();
        match relaying {
            RelayState::Gone => return,
            RelayState::Stalled => {
                if current.changed().await.is_err() {
                    return;
                }
            }
            RelayState::On => {
                tokio::select! {
                    // A connection that breaks is the two sides' own affair.
                    _ = copy_bidirectional(&mut client, &mut server) => return,
                    changed = current.changed() => if changed.is_err() { return },
                }
            }
        }
    }
}
