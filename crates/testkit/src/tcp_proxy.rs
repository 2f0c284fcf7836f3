//! A proxy between two programs of a test, which can lose the network between them.
//!
//! While it is a black hole, connections stay open and nothing passes, as when packets are
//! dropped; what was sent arrives when the network is back. Knows nothing of what it carries.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
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
    changed: Condvar,
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
            changed: Condvar::new(),
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

    /// Closes all connections. New ones can be made.
    pub fn cut(&self) {
        let mut connections = self.network.connections.lock().unwrap();
        for (client, server) in connections.drain(..) {
            let _ = client.shutdown(Shutdown::Both);
            let _ = server.shutdown(Shutdown::Both);
        }
    }
}

impl ProxiedNetwork {
    fn serve(self: Arc<Self>, client: TcpStream) {
        self.wait_for_network();
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
        std::thread::spawn(move || network.carry(client_copy, &server));
        self.carry(server_copy, &client);
    }

    /// Carries one direction until its end, which arrives like data.
    fn carry(&self, mut from: TcpStream, mut to: &TcpStream) {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = from.read(&mut buffer).unwrap_or(0);
            self.wait_for_network();
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
