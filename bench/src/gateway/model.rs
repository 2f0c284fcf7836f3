//! A model that answers at once: Messages and Chat, whole or streamed.
//!
//! The prompt selects what it streams, because a prompt passes every gateway, translated or
//! not: `events=1000 pause_us=0 hold=0 pad=0`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};

use super::http1::HttpMessages;

const MESSAGE: &str = r#"{"id":"msg_01","type":"message","role":"assistant","model":"claude","content":[{"type":"text","text":"Hello there, how may I help?"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":9}}"#;
const COMPLETION: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt","choices":[{"index":0,"message":{"role":"assistant","content":"Hello there, how may I help?"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":9,"total_tokens":21}}"#;

/// Events that need not wait are written together up to about this many bytes.
const BATCH_BYTES: usize = 16 << 10;

/// A running model. It ends with the process.
#[derive(Debug, Clone)]
pub struct MockModel {
    address: SocketAddr,
    counts: Arc<StreamCounts>,
}

#[derive(Debug, Default)]
struct StreamCounts {
    bytes: AtomicU64,
    open: AtomicU64,
}

impl MockModel {
    /// Starts it on a thread of its own.
    pub fn start() -> Result<MockModel> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let model = MockModel {
            address: listener.local_addr()?,
            counts: Arc::default(),
        };
        let counts = Arc::clone(&model.counts);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        std::thread::Builder::new()
            .name("model".to_owned())
            .spawn(move || runtime.block_on(accept(listener, counts)))
            .context("cannot start the model")?;
        Ok(model)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The bytes of streams it was able to send so far.
    pub fn bytes(&self) -> u64 {
        self.counts.bytes.load(Ordering::Relaxed)
    }

    /// The streams it is sending or holding now.
    pub fn open_streams(&self) -> u64 {
        self.counts.open.load(Ordering::Relaxed)
    }
}

async fn accept(listener: std::net::TcpListener, counts: Arc<StreamCounts>) -> Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (socket, _) = listener.accept().await?;
        let counts = Arc::clone(&counts);
        // A gateway that disconnects is not an error.
        tokio::spawn(async move { serve_connection(socket, &counts).await.ok() });
    }
}

async fn serve_connection(socket: TcpStream, counts: &StreamCounts) -> Result<()> {
    socket.set_nodelay(true)?;
    let (read, mut write) = socket.into_split();
    let mut messages = HttpMessages::new(read);
    let mut body = Vec::new();
    while let Some((head, framing)) = messages.head().await? {
        let chat = head
            .split(' ')
            .nth(1)
            .is_some_and(|path| path.contains("/chat/"));
        body.clear();
        messages
            .body(framing, |piece| body.extend_from_slice(piece))
            .await?;
        let text = String::from_utf8_lossy(&body);
        if !wants_stream(&text) {
            write.write_all(whole_response(chat).as_bytes()).await?;
            continue;
        }
        let plan = StreamPlan::from_body(&text, chat);
        counts.open.fetch_add(1, Ordering::Relaxed);
        let sent = tokio::select! {
            sent = plan.send(&mut write, counts) => sent,
            left = messages.closed() => left.and(Err(anyhow::anyhow!("the client disconnected"))),
        };
        counts.open.fetch_sub(1, Ordering::Relaxed);
        sent?;
    }
    Ok(())
}

fn wants_stream(body: &str) -> bool {
    body.contains(r#""stream":true"#) || body.contains(r#""stream": true"#)
}

fn whole_response(chat: bool) -> String {
    let body = if chat { COMPLETION } else { MESSAGE };
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nrequest-id: req_1\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A stream to be sent.
struct StreamPlan {
    chat: bool,
    events: u64,
    pause: Duration,
    hold: bool,
    pad: usize,
}

impl StreamPlan {
    fn from_body(body: &str, chat: bool) -> StreamPlan {
        let number = |name: &str| {
            let rest = body.split(name).nth(1).unwrap_or_default();
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u64>().unwrap_or_default()
        };
        StreamPlan {
            chat,
            events: number("events="),
            pause: Duration::from_micros(number("pause_us=")),
            hold: number("hold=") > 0,
            pad: usize::try_from(number("pad=")).unwrap_or_default(),
        }
    }

    async fn send(&self, write: &mut OwnedWriteHalf, counts: &StreamCounts) -> Result<()> {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nrequest-id: req_1\r\nx-accel-buffering: no\r\ntransfer-encoding: chunked\r\n\r\n";
        let mut out = head.as_bytes().to_vec();
        for event in self.opening() {
            chunk(&mut out, event);
        }
        let delta = self.delta();
        let mut pace = (!self.pause.is_zero()).then(|| tokio::time::interval(self.pause));
        for _ in 0..self.events {
            chunk(&mut out, &delta);
            if out.len() >= BATCH_BYTES || pace.is_some() {
                flush(write, &mut out, counts).await?;
            }
            if let Some(pace) = &mut pace {
                pace.tick().await;
            }
        }
        if self.hold {
            flush(write, &mut out, counts).await?;
            std::future::pending::<()>().await;
        }
        for event in self.closing() {
            chunk(&mut out, event);
        }
        out.extend_from_slice(b"0\r\n\r\n");
        flush(write, &mut out, counts).await
    }

    fn opening(&self) -> &'static [&'static str] {
        match self.chat {
            true => &[
                "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n",
            ],
            false => &[
                "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_01\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":12,\"output_tokens\":1}}}\n\n",
                "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            ],
        }
    }

    fn delta(&self) -> String {
        let text = format!(" word{}", "x".repeat(self.pad));
        match self.chat {
            true => format!(
                "data: {{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n"
            ),
            false => format!(
                "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n"
            ),
        }
    }

    fn closing(&self) -> &'static [&'static str] {
        match self.chat {
            true => &[
                "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
                "data: [DONE]\n\n",
            ],
            false => &[
                "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
                "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":9}}\n\n",
                "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
            ],
        }
    }
}

fn chunk(out: &mut Vec<u8>, event: &str) {
    out.extend_from_slice(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
}

async fn flush(write: &mut OwnedWriteHalf, out: &mut Vec<u8>, counts: &StreamCounts) -> Result<()> {
    write.write_all(out).await?;
    counts.bytes.fetch_add(out.len() as u64, Ordering::Relaxed);
    out.clear();
    Ok(())
}
