//! A client of NATS that says what it wants, whatever it may.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A connection as some user.
pub(crate) struct RawNats {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

/// What the server sends.
#[derive(Debug)]
pub(crate) enum NatsLine {
    /// The payload of a message.
    Message(Vec<u8>),
    Error(String),
    Pong,
    Other,
}

impl RawNats {
    pub(crate) fn connect(port: u16, user: &str, password: &str) -> RawNats {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let timeout = Some(Duration::from_secs(30));
        stream.set_read_timeout(timeout).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        let mut nats = RawNats { stream, reader };
        nats.send(&format!(
            "CONNECT {{\"user\":\"{user}\",\"pass\":\"{password}\",\"verbose\":false,\
             \"pedantic\":false,\"lang\":\"test\",\"version\":\"1\",\"protocol\":1}}\r\n"
        ));
        nats
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn publish(&mut self, subject: &str, payload: &[u8]) {
        self.send(&format!("PUB {subject} {}\r\n", payload.len()));
        self.stream.write_all(payload).unwrap();
        self.send("\r\n");
    }

    /// The next thing that the server sends.
    pub(crate) fn read(&mut self) -> NatsLine {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        let line = line.trim_end().to_owned();
        if let Some(error) = line.strip_prefix("-ERR ") {
            return NatsLine::Error(error.to_owned());
        }
        if line == "PONG" {
            return NatsLine::Pong;
        }
        let Some(head) = line.strip_prefix("MSG ") else {
            if line == "PING" {
                self.send("PONG\r\n");
            }
            return NatsLine::Other;
        };
        let length: usize = head.rsplit(' ').next().unwrap().parse().unwrap();
        let mut payload = vec![0; length + 2];
        self.reader.read_exact(&mut payload).unwrap();
        payload.truncate(length);
        NatsLine::Message(payload)
    }

    /// The errors that the server has for what was sent so far.
    pub(crate) fn errors(&mut self) -> Vec<String> {
        self.send("PING\r\n");
        let mut errors = Vec::new();
        loop {
            match self.read() {
                NatsLine::Pong => return errors,
                NatsLine::Error(error) => errors.push(error),
                NatsLine::Message(_) | NatsLine::Other => {}
            }
        }
    }
}
