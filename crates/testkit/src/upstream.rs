//! A mock HTTP server with prepared responses, valid or broken, that records requests.
//!
//! It writes HTTP/1.1 itself, because its responses must be able to be wrong: cut in the
//! middle, without an end, or missing altogether.
//!
//! ```no_run
//! # async fn example() {
//! use prowess_testkit::upstream::{MockResponse, MockUpstream};
//!
//! let upstream = MockUpstream::start().await;
//! upstream.respond(MockResponse::json(429, r#"{"error":"slow down"}"#).header("retry-after", "1"));
//! upstream.respond(MockResponse::sse("data: {}\n\n").cut_off());
//! // … a client calls upstream.url() …
//! assert_eq!(upstream.next_request().await.path, "/v1/messages");
//! upstream.client_disconnected().await;
//! # }
//! ```

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedRequest {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers in their order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Which connection it came by, counted from 1.
    pub connection: usize,
}

impl ReceivedRequest {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Method, path, headers and body as one text, without the server's own address.
    pub fn render(&self) -> String {
        let mut out = format!("{} {}\n", self.method, self.path);
        for (name, value) in self.headers.iter().filter(|(name, _)| name != "host") {
            out.push_str(&format!("{name}: {value}\n"));
        }
        out.push('\n');
        out.push_str(self.text());
        out
    }
}

/// A prepared response.
#[derive(Debug, Clone)]
pub struct MockResponse {
    status: u16,
    headers: Vec<(String, String)>,
    chunks: Vec<Vec<u8>>,
    end: ResponseEnd,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResponseEnd {
    /// As it should.
    Complete,
    /// The connection is closed before the answer is complete.
    Cut,
    /// Nothing more is sent until the client leaves.
    Hang,
    /// The last chunk is sent again and again until the client leaves.
    Endless,
    /// Not even a head is sent.
    NoHead,
    /// The connection is closed without a head.
    HangUp,
}

impl MockResponse {
    /// Bytes of some type.
    pub fn bytes(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        MockResponse {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            chunks: vec![body.into()],
            end: ResponseEnd::Complete,
        }
    }

    /// A JSON text, well formed or not.
    pub fn json(status: u16, body: &str) -> Self {
        MockResponse::bytes(status, "application/json", body)
    }

    /// A stream of server-sent events, given as its text.
    pub fn sse(text: &str) -> Self {
        MockResponse::bytes(200, "text/event-stream", text)
    }

    /// A stream of AWS frames.
    pub fn frames(bytes: Vec<u8>) -> Self {
        MockResponse::bytes(200, "application/vnd.amazon.eventstream", bytes)
    }

    /// Nothing, not even a head, until the client leaves.
    pub fn never() -> Self {
        MockResponse::sse("").with_end(ResponseEnd::NoHead)
    }

    /// A closed connection and no answer.
    pub fn hang_up() -> Self {
        MockResponse::sse("").with_end(ResponseEnd::HangUp)
    }

    /// The same with another header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, sent in pieces of this many bytes.
    pub fn in_chunks(mut self, size: usize) -> Self {
        let all = self.chunks.concat();
        self.chunks = all.chunks(size).map(<[u8]>::to_vec).collect();
        self
    }

    /// The same, but the connection is closed where the answer should end.
    pub fn cut_off(self) -> Self {
        self.with_end(ResponseEnd::Cut)
    }

    /// The same, but it does not end until the client leaves.
    pub fn then_hang(self) -> Self {
        self.with_end(ResponseEnd::Hang)
    }

    /// The same, its last piece repeated until the client leaves.
    pub fn then_endless(self) -> Self {
        self.with_end(ResponseEnd::Endless)
    }

    fn with_end(mut self, end: ResponseEnd) -> Self {
        self.end = end;
        self
    }

    fn head(&self) -> String {
        let mut head = format!("HTTP/1.1 {} Mock\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("transfer-encoding: chunked\r\n\r\n");
        head
    }
}

/// The server. It stops when dropped.
#[derive(Debug)]
pub struct MockUpstream {
    url: String,
    shared: Arc<Shared>,
    received: tokio::sync::Mutex<mpsc::UnboundedReceiver<ReceivedRequest>>,
    server: JoinHandle<()>,
}

/// Creates a response to a request.
struct ResponseMaker(Box<dyn Fn(&ReceivedRequest) -> MockResponse + Send + Sync>);

impl std::fmt::Debug for ResponseMaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Maker")
    }
}

#[derive(Debug)]
struct Shared {
    responses: Mutex<VecDeque<MockResponse>>,
    fallback: Mutex<Option<ResponseMaker>>,
    received: mpsc::UnboundedSender<ReceivedRequest>,
    disconnects: watch::Sender<usize>,
    connections: watch::Sender<usize>,
}

impl MockUpstream {
    /// Starts a server on a free port of this machine.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, received) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            responses: Mutex::default(),
            fallback: Mutex::default(),
            received: sender,
            disconnects: watch::Sender::new(0),
            connections: watch::Sender::new(0),
        });
        let server = tokio::spawn(serve(listener, Arc::clone(&shared)));
        MockUpstream {
            url,
            shared,
            received: tokio::sync::Mutex::new(received),
            server,
        }
    }

    /// Its address, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Queues a response: one for each request.
    pub fn respond(&self, answer: MockResponse) -> &Self {
        self.shared.responses.lock().unwrap().push_back(answer);
        self
    }

    /// Sends this response to every request once the queue is empty.
    pub fn respond_always(&self, answer: MockResponse) -> &Self {
        self.respond_with(move |_| answer.clone())
    }

    /// Calls this function for every request once the queue is empty.
    pub fn respond_with(
        &self,
        maker: impl Fn(&ReceivedRequest) -> MockResponse + Send + Sync + 'static,
    ) -> &Self {
        *self.shared.fallback.lock().unwrap() = Some(ResponseMaker(Box::new(maker)));
        self
    }

    /// Drops the responses that are still queued.
    pub fn clear_responses(&self) {
        self.shared.responses.lock().unwrap().clear();
    }

    /// The next request, in order of arrival; waits for it.
    pub async fn next_request(&self) -> ReceivedRequest {
        self.received.lock().await.recv().await.unwrap()
    }

    /// All received requests that were not returned yet.
    pub async fn requests(&self) -> Vec<ReceivedRequest> {
        let mut received = self.received.lock().await;
        std::iter::from_fn(|| received.try_recv().ok()).collect()
    }

    /// Waits until a client has closed its connection before its response was complete.
    pub async fn client_disconnected(&self) {
        let mut left = self.shared.disconnects.subscribe();
        left.wait_for(|left| *left > 0).await.unwrap();
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        *self.shared.connections.borrow()
    }
}

impl Drop for MockUpstream {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        shared.connections.send_modify(|count| *count += 1);
        let connection = *shared.connections.borrow();
        // Small writes must not wait for each other.
        stream.set_nodelay(true).unwrap();
        tokio::spawn(serve_connection(stream, connection, Arc::clone(&shared)));
    }
}

/// Serves the requests of one connection until either side closes it.
async fn serve_connection(mut stream: TcpStream, connection: usize, shared: Arc<Shared>) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer, connection).await {
        let next = shared.responses.lock().unwrap().pop_front();
        let always = || {
            let maker = shared.fallback.lock().unwrap();
            maker.as_ref().map(|ResponseMaker(make)| make(&request))
        };
        let unprepared = || MockResponse::json(500, r#"{"error":"no answer was prepared"}"#);
        let answer = next.or_else(always).unwrap_or_else(unprepared);
        // The receiver may be gone.
        let _ = shared.received.send(request);
        match write_response(&mut stream, &answer).await {
            Ok(()) if answer.end == ResponseEnd::Complete => {}
            Ok(()) => return,
            Err(_) => {
                shared.disconnects.send_modify(|left| *left += 1);
                return;
            }
        }
    }
}

/// Writes a response; an error when the client disconnected before it was complete.
async fn write_response(stream: &mut TcpStream, answer: &MockResponse) -> io::Result<()> {
    match answer.end {
        ResponseEnd::NoHead => return wait_for_disconnect(stream).await,
        ResponseEnd::HangUp => return Ok(()),
        _ => stream.write_all(answer.head().as_bytes()).await?,
    }
    for chunk in answer.chunks.iter().filter(|chunk| !chunk.is_empty()) {
        send_chunk(stream, chunk).await?;
    }
    match answer.end {
        ResponseEnd::Complete => stream.write_all(b"0\r\n\r\n").await,
        ResponseEnd::Hang => wait_for_disconnect(stream).await,
        ResponseEnd::Endless => loop {
            send_chunk(stream, answer.chunks.last().unwrap()).await?;
        },
        _ => Ok(()),
    }
}

async fn send_chunk(stream: &mut TcpStream, chunk: &[u8]) -> io::Result<()> {
    let mut framed = format!("{:x}\r\n", chunk.len()).into_bytes();
    framed.extend_from_slice(chunk);
    framed.extend_from_slice(b"\r\n");
    stream.write_all(&framed).await
}

/// Waits until the client closes the connection, and returns that as an error.
async fn wait_for_disconnect(stream: &mut TcpStream) -> io::Result<()> {
    let mut byte = [0];
    let _ = stream.read(&mut byte).await;
    Err(io::ErrorKind::ConnectionAborted.into())
}

async fn read_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
    connection: usize,
) -> Option<ReceivedRequest> {
    let head_end = loop {
        match buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            Some(end) => break end,
            None if stream.read_buf(buffer).await.ok()? == 0 => return None,
            None => {}
        }
    };
    let head = String::from_utf8(buffer[..head_end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ').map(str::to_owned);
    let (method, path) = (first.next()?, first.next()?);
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    buffer.drain(..head_end + 4);
    let header = |name: &str| headers.iter().find(|(known, _)| known == name);
    let body = if header("transfer-encoding").is_some() {
        read_chunks(stream, buffer).await?
    } else {
        let length = header("content-length");
        let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
        read_bytes(stream, buffer, length).await?
    };
    Some(ReceivedRequest {
        method,
        path,
        headers,
        body,
        connection,
    })
}

/// The next bytes.
async fn read_bytes(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
    length: usize,
) -> Option<Vec<u8>> {
    while buffer.len() < length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    Some(buffer.drain(..length).collect())
}

/// A body that is sent in chunks, without its framing.
async fn read_chunks(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = loop {
            match buffer.windows(2).position(|two| two == b"\r\n") {
                Some(end) => break end,
                None if stream.read_buf(buffer).await.ok()? == 0 => return None,
                None => {}
            }
        };
        let line = read_bytes(stream, buffer, end + 2).await?;
        let size = std::str::from_utf8(&line).unwrap().trim();
        let size = usize::from_str_radix(size, 16).unwrap();
        let chunk = read_bytes(stream, buffer, size + 2).await?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(&chunk[..size]);
    }
}
