//! A server behind a real socket, and raw bytes sent to it.

use std::net::SocketAddr;
use std::time::Duration;

use prowess_server::{ServeOptions, ServerSettings, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::client::{Form, Server};

/// Longer than any test takes: a connection with this timeout is not closed by it.
pub(crate) const NEVER: Duration = Duration::from_secs(3_600);

/// The HTTP/2 preface.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) struct Running {
    pub(crate) server: Server,
    pub(crate) address: SocketAddr,
    _served: AbortOnDropHandle<std::io::Result<()>>,
}

/// No time limits, so that a connection closes only for another reason.
pub(crate) fn patient() -> ServeOptions {
    ServeOptions {
        head: NEVER,
        idle: NEVER,
        ..ServeOptions::default()
    }
}

impl Running {
    pub(crate) async fn start(settings: ServerSettings, options: ServeOptions) -> Running {
        Running::serve(Server::with(settings).await, options).await
    }

    /// Serves what was only called in this process before.
    pub(crate) async fn serve(server: Server, options: ServeOptions) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let served = serve(
            listener,
            server.app.clone(),
            CancellationToken::new(),
            options,
        );
        Running {
            server,
            address,
            _served: AbortOnDropHandle::new(tokio::spawn(served)),
        }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// A connection on which some bytes were sent.
    pub(crate) async fn send(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.unwrap();
        stream
    }

    /// Requests a path on a new connection; returns the whole response.
    pub(crate) async fn get(&self, path: &str) -> String {
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let stream = self.send(request.as_bytes()).await;
        String::from_utf8(rest(stream).await).unwrap()
    }

    /// A request whose handler has begun to read its body, of which `body` was sent.
    pub(crate) async fn begin(&self, path: &str, headers: &str, body: &[u8]) -> TcpStream {
        let mut stream = self.request(path, headers).await;
        go_on(&mut stream).await;
        stream.write_all(body).await.unwrap();
        stream
    }

    /// A request that waits for the server to request its body.
    pub(crate) async fn request(&self, path: &str, headers: &str) -> TcpStream {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {}\r\n\
             expect: 100-continue\r\ncontent-length: {DECLARED}\r\n{headers}\r\n",
            Form::kind()
        );
        self.send(head.as_bytes()).await
    }
}

/// More than any test sends, so that these bodies never end.
const DECLARED: usize = 25 << 20;

/// Waits until the server requests the body.
pub(crate) async fn go_on(stream: &mut TcpStream) {
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).await.unwrap();
    assert!(go_on.starts_with(b"HTTP/1.1 100"));
}

/// Everything up to the end, however it ends.
pub(crate) async fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    while let Ok(1..) = stream.read_buf(&mut all).await {}
    all
}

/// A frame of HTTP/2.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// An HTTP/2 connection: the preface and settings.
pub(crate) fn h2_settings(settings: &[u8]) -> Vec<u8> {
    [PREFACE, &frame(4, 0, 0, settings)].concat()
}

/// A field of a header block, without an index.
pub(crate) fn h2_field(name: &str, value: &str) -> Vec<u8> {
    let mut field = vec![0];
    for text in [name, value] {
        // More would need another byte for the length.
        assert!(text.len() < 127);
        field.push(u8::try_from(text.len()).unwrap());
        field.extend(text.as_bytes());
    }
    field
}

/// The header block of `GET path`, without an index.
pub(crate) fn h2_get(path: &str) -> Vec<u8> {
    let text = |name: u8, value: &str| {
        let mut field = vec![name, u8::try_from(value.len()).unwrap()];
        field.extend(value.as_bytes());
        field
    };
    [vec![0x82, 0x86], text(0x04, path), text(0x01, "localhost")].concat()
}
