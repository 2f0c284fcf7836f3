//! A proxy between two programs of a test, which can lose the network between them.
//!
//! While it is a black hole, connections stay open and nothing passes, as when packets are
//! dropped; what was sent arrives when the network is back. While it is stopped, connections are
//! closed, as when the program behind it has ended. Knows nothing of what it carries.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// A proxy in front of a port of this machine. It lives as long as the test process.
#[derive(Debug, Clone)]
pub struct TcpProxy {
    port: u16,
    network: Arc<ProxiedNetwork>,
}

#[derive(Debug)]
struct ProxiedNetwork {
    target: u16,
    is_lost: Mutex<bool>,
    is_stopped: AtomicBool,
    changed: Condvar,
    /// What a client sends when all connections are to be cut, once.
    cut_at: Mutex<Option<String>>,
    /// Both sides of all connections, to cut them; ended ones are dropped at the next accept.
    connections: Mutex<Vec<(TcpStream, TcpStream)>>,
}

impl TcpProxy {
    /// Starts one in front of this port.
    pub fn start(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let network = Arc::new(ProxiedNetwork {
            target,
            is_lost: Mutex::new(false),
            is_stopped: AtomicBool::new(false),
            changed: Condvar::new(),
            cut_at: Mutex::default(),
            connections: Mutex::default(),
        });
        let shared = Arc::clone(&network);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let network = Arc::clone(&shared);
                std::thread::spawn(move || network.serve(client));
            }
        });
        TcpProxy { port, network }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Lets nothing pass from now on, in either direction.
    pub fn lose(&self) {
        *self.network.is_lost.lock().unwrap() = true;
    }

    /// Lets everything pass again, also what was sent meanwhile.
    pub fn restore(&self) {
        *self.network.is_lost.lock().unwrap() = false;
        self.network.changed.notify_all();
    }

    /// Closes all connections, and new ones at once, until [`resume`](Self::resume).
    pub fn stop(&self) {
        self.network.is_stopped.store(true, Ordering::SeqCst);
        self.network.cut();
    }

    /// Ends [`stop`](Self::stop).
    pub fn resume(&self) {
        self.network.is_stopped.store(false, Ordering::SeqCst);
    }

    /// Closes all connections. New ones can be made.
    pub fn cut(&self) {
        self.network.cut();
    }

    /// Closes all connections, once, when a client sends this text, which does not arrive. New
    /// ones can be made.
    pub fn cut_at(&self, text: &str) {
        *self.network.cut_at.lock().unwrap() = Some(text.to_owned());
    }

    /// Whether [`cut_at`](Self::cut_at) has not happened yet.
    pub fn is_to_be_cut(&self) -> bool {
        self.network.cut_at.lock().unwrap().is_some()
    }
}

impl ProxiedNetwork {
    fn serve(self: Arc<Self>, client: TcpStream) {
        self.wait_for_network();
        if self.is_stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(server) = TcpStream::connect(("127.0.0.1", self.target)) else {
            return;
        };
        let _ = client.set_nodelay(true);
        let _ = server.set_nodelay(true);
        let (Ok(client_copy), Ok(server_copy)) = (client.try_clone(), server.try_clone()) else {
            return;
        };
        let kept = (client.try_clone(), server.try_clone());
        if let (Ok(client), Ok(server)) = kept {
            let mut connections = self.connections.lock().unwrap();
            connections.retain(|(client, _)| client.peer_addr().is_ok());
            connections.push((client, server));
        }
        let network = Arc::clone(&self);
        std::thread::spawn(move || network.carry(client_copy, &server, true));
        self.carry(server_copy, &client, false);
    }

    fn cut(&self) {
        let mut connections = self.connections.lock().unwrap();
        for (client, server) in connections.drain(..) {
            let _ = client.shutdown(Shutdown::Both);
            let _ = server.shutdown(Shutdown::Both);
        }
    }

    /// Cuts all connections if a client has sent the text at which that is to be done.
    fn cut_if_sent(&self, sent: &[u8]) -> bool {
        let mut text = self.cut_at.lock().unwrap();
        let is_sent = |text: &mut String| contains_text(sent, text.as_bytes());
        let is_cut = text.take_if(is_sent).is_some();
        if is_cut {
            self.cut();
        }
        is_cut
    }

    /// Carries one direction until its end, which arrives like data.
    fn carry(&self, mut from: TcpStream, mut to: &TcpStream, is_client: bool) {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = from.read(&mut buffer).unwrap_or(0);
            self.wait_for_network();
            if is_client && self.cut_if_sent(&buffer[..read]) {
                return;
            }
            if read == 0 || to.write_all(&buffer[..read]).is_err() {
                let _ = to.shutdown(Shutdown::Write);
                let _ = from.shutdown(Shutdown::Read);
                return;
            }
        }
    }

    fn wait_for_network(&self) {
        let lost = self.is_lost.lock().unwrap();
        drop(self.changed.wait_while(lost, |lost| *lost).unwrap());
    }
}

fn contains_text(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}
