//! A proxy in front of a server, which cuts connections.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A proxy that cuts streams of events after some bytes: the first one soon, each later one
/// after more.
pub(crate) struct CuttingProxy {
    url: String,
    state: Arc<ProxyState>,
}

struct ProxyState {
    target: Mutex<String>,
    /// Bytes of the next stream that are passed on.
    next_bytes: Mutex<usize>,
    cuts: AtomicUsize,
}

/// Bytes of the first stream, and how many more each later one has.
const FIRST_BYTES: usize = 900;
const MORE_BYTES: usize = 1500;

impl CuttingProxy {
    /// In front of a server at this URL.
    pub(crate) fn start(server: &str) -> CuttingProxy {
        CuttingProxy::with_bytes(server, FIRST_BYTES)
    }

    /// One that passes everything on.
    pub(crate) fn without_cuts(server: &str) -> CuttingProxy {
        CuttingProxy::with_bytes(server, usize::MAX / 2)
    }

    fn with_bytes(server: &str, first_bytes: usize) -> CuttingProxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(ProxyState {
            target: Mutex::new(address(server)),
            next_bytes: Mutex::new(first_bytes),
            cuts: AtomicUsize::new(0),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || state.serve(client));
            }
        });
        CuttingProxy { url, state }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn set_target(&self, server: &str) {
        *self.state.target.lock().unwrap() = address(server);
    }

    /// How many connections it has cut.
    pub(crate) fn cut_connections(&self) -> usize {
        self.state.cuts.load(Ordering::Relaxed)
    }
}

impl ProxyState {
    fn serve(&self, mut client: TcpStream) {
        let target = self.target.lock().unwrap().clone();
        let Ok(mut server) = TcpStream::connect(target) else {
            return;
        };
        let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
        let mut left = *self.next_bytes.lock().unwrap();
        let mut buffer = [0; 4096];
        let mut is_stream = false;
        loop {
            let read = server.read(&mut buffer).unwrap_or_default();
            let received = buffer.get(..read).unwrap();
            is_stream |= String::from_utf8_lossy(received).contains("text/event-stream");
            let passed = if is_stream { read.min(left) } else { read };
            left -= if is_stream { passed } else { 0 };
            if passed > 0 && client.write_all(buffer.get(..passed).unwrap()).is_err() {
                break;
            }
            if read == 0 || passed < read {
                if read > 0 {
                    self.cuts.fetch_add(1, Ordering::Relaxed);
                    *self.next_bytes.lock().unwrap() += MORE_BYTES;
                }
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    }
}

fn address(url: &str) -> String {
    url.trim_start_matches("http://").to_owned()
}
