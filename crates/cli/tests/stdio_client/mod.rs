//! A client of `prowess mcp`, line by line.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::server::prowess;

/// The newest version that begins with `initialize`.
pub(crate) const LEGACY: &str = "2025-11-25";

/// A session. It ends when this is dropped.
pub(crate) struct StdioClient {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    next: u64,
    /// Received notifications.
    pub(crate) notifications: Vec<Value>,
    /// The messages of both sides, for a snapshot.
    record: String,
}

impl StdioClient {
    /// Starts `prowess mcp` with these arguments in `folder`, and sends nothing yet.
    pub(crate) fn start(folder: &Path, args: &[&str]) -> StdioClient {
        StdioClient::start_with(folder, args, &[])
    }

    /// The same, with these variables set.
    pub(crate) fn start_with(folder: &Path, args: &[&str], set: &[(&str, &Path)]) -> StdioClient {
        let mut child = prowess(folder)
            .envs(set.iter().copied())
            .arg("mcp")
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        StdioClient {
            child,
            input,
            lines,
            next: 0,
            notifications: Vec::new(),
            record: String::new(),
        }
    }

    /// Starts it and initializes the session.
    pub(crate) fn start_initialized(folder: &Path, args: &[&str]) -> StdioClient {
        let mut client = StdioClient::start(folder, args);
        client.initialize();
        client
    }

    /// Initializes the session.
    pub(crate) fn initialize(&mut self) {
        let client = json!({"name": "test", "version": "1"});
        self.request(
            "initialize",
            json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client}),
        );
        self.notify("notifications/initialized", json!({}));
    }

    /// Sends a request and returns the whole response message.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.read_response(id)
    }

    /// Calls a tool, and returns its result.
    pub(crate) fn call(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        self.request("tools/call", params)["result"].take()
    }

    /// Sends a request and does not wait.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        writeln!(self.record, "> {method} {}", format_json(&params)).unwrap();
        self.send_line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a notification.
    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send_line(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends anything.
    pub(crate) fn send_line(&mut self, line: &Value) {
        self.send_raw(&line.to_string());
    }

    pub(crate) fn send_raw(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    /// The response to a request.
    pub(crate) fn read_response(&mut self, id: u64) -> Value {
        loop {
            let message = self.next_message();
            if message["id"] == id {
                let outcome = message.get("result").or(message.get("error")).unwrap();
                writeln!(self.record, "< {}", format_json(outcome)).unwrap();
                return message;
            }
        }
    }

    /// Waits for a notification, unless it was received already.
    pub(crate) fn wait_for_notification(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self
                .notifications
                .iter()
                .position(|message| message["method"] == method)
            {
                return self.notifications.remove(at);
            }
            self.next_message();
        }
    }

    fn next_message(&mut self) -> Value {
        let line = self.lines.next().expect("the server ended").unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        if message.get("id").is_none() {
            writeln!(self.record, "~ {}", format_json(&message)).unwrap();
            self.notifications.push(message.clone());
        }
        message
    }

    /// The messages so far; the next record starts empty.
    pub(crate) fn record(&mut self) -> String {
        std::mem::take(&mut self.record)
    }

    /// Closes the input and waits for the end; returns the remaining messages and the log.
    pub(crate) fn end(mut self) -> (Vec<Value>, String) {
        drop(self.input.take());
        let rest = self.lines.by_ref().map(|line| line.unwrap());
        let rest = rest.map(|line| serde_json::from_str(&line).unwrap());
        let rest = rest.collect();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
        let mut errors = String::new();
        let stderr = self.child.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut { stderr }, &mut errors).unwrap();
        (rest, errors)
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// JSON in one line if it is short, else indented.
fn format_json(value: &Value) -> String {
    let line = value.to_string();
    if line.len() <= 120 {
        line
    } else {
        serde_json::to_string_pretty(value).unwrap()
    }
}
