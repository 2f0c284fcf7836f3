//! An object storage in memory: GET and PUT of URLs, with exact lengths.

use bytes::Bytes;
use prowess_skill::Digest;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone)]
pub(crate) struct ObjectServer {
    address: SocketAddr,
    objects: Arc<Mutex<HashMap<String, Bytes>>>,
    /// Requests that are refused with status 503 from now on.
    pub(crate) failures: Arc<Mutex<usize>>,
}

impl ObjectServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            objects: Arc::default(),
            failures: Arc::default(),
        };
        let serving = server.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let server = serving.clone();
                tokio::spawn(async move {
                    // A client that goes away is none of a test's business.
                    let _ = server.serve(stream).await;
                });
            }
        });
        server
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://{}/{name}?signature=canary", self.address)
    }

    /// Stores a content, and returns its URL.
    pub(crate) fn put(&self, content: Bytes) -> String {
        let name = Digest::from_content(&content).hex();
        self.objects.lock().unwrap().insert(name.clone(), content);
        self.url(&name)
    }

    pub(crate) fn get(&self, name: &str) -> Option<Bytes> {
        self.objects.lock().unwrap().get(name).cloned()
    }

    async fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let mut head = Vec::new();
            loop {
                let mut line = String::new();
                if stream.read_line(&mut line).await? == 0 {
                    return Ok(());
                }
                if line == "\r\n" {
                    break;
                }
                head.push(line.trim_end().to_ascii_lowercase());
            }
            let mut words = head[0].split([' ', '?']);
            let (method, name) = (words.next().unwrap(), words.next().unwrap());
            let name = name.trim_start_matches('/').to_owned();
            let length = head
                .iter()
                .find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
            stream.read_exact(&mut body).await?;
            let (status, content) = self.respond(method, name, body, length.is_some());
            let length = content.len();
            let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n\r\n");
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(&content).await?;
        }
    }

    fn respond(&self, method: &str, name: String, body: Vec<u8>, has_length: bool) -> (u16, Bytes) {
        let mut failures = self.failures.lock().unwrap();
        if *failures > 0 {
            *failures -= 1;
            return (503, Bytes::new());
        }
        let mut objects = self.objects.lock().unwrap();
        match method {
            "get" => objects
                .get(&name)
                .map_or((404, Bytes::new()), |found| (200, found.clone())),
            "put" if has_length => {
                objects.insert(name, body.into());
                (200, Bytes::new())
            }
            // As S3 does without a length.
            _ => (411, Bytes::new()),
        }
    }
}
