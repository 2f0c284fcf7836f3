//! A session with `prowess mcp`, line by line, as an agent has it.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::server::prowess;

/// The newest version that begins with `initialize`.
pub(crate) const LEGACY: &str = "2025-11-25";

/// A session. It ends when this is dropped.
pub(crate) struct Talk {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    next: u64,
    /// Notifications that came, by method.
    pub(crate) heard: Vec<Value>,
    /// What was said, for a snapshot.
    record: String,
}

impl Talk {
    /// Starts `prowess mcp` with these arguments in `folder`, and says nothing yet.
    pub(crate) fn start(folder: &Path, args: &[&str]) -> Talk {
        Talk::start_with(folder, args, &[])
    }

    /// The same, with these variables set.
    pub(crate) fn start_with(folder: &Path, args: &[&str], set: &[(&str, &Path)]) -> Talk {
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
        Talk {
            child,
            input,
            lines,
            next: 0,
            heard: Vec::new(),
            record: String::new(),
        }
    }

    /// The same, with the beginning made.
    pub(crate) fn begin(folder: &Path, args: &[&str]) -> Talk {
        let mut talk = Talk::start(folder, args);
        talk.initialize();
        talk
    }

    /// Makes the beginning.
    pub(crate) fn initialize(&mut self) {
        let client = json!({"name": "test", "version": "1"});
        self.ask(
            "initialize",
            json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client}),
        );
        self.tell("notifications/initialized", json!({}));
    }

    /// Sends a request and returns its answer, the whole message.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Calls a tool, and returns its result.
    pub(crate) fn call(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        self.ask("tools/call", params)["result"].take()
    }

    /// Sends a request and does not wait.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        writeln!(self.record, "> {method} {}", shown(&params)).unwrap();
        self.line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a notification.
    pub(crate) fn tell(&mut self, method: &str, params: Value) {
        self.line(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends anything.
    pub(crate) fn line(&mut self, line: &Value) {
        self.raw(&line.to_string());
    }

    pub(crate) fn raw(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    /// The answer to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next_message();
            if message["id"] == id {
                let told = message.get("result").or(message.get("error")).unwrap();
                writeln!(self.record, "< {}", shown(told)).unwrap();
                return message;
            }
        }
    }

    /// Waits for a notification, unless it has come.
    pub(crate) fn hear(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self
                .heard
                .iter()
                .position(|heard| heard["method"] == method)
            {
                return self.heard.remove(at);
            }
            self.next_message();
        }
    }

    fn next_message(&mut self) -> Value {
        let line = self.lines.next().expect("the server ended").unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        if message.get("id").is_none() {
            writeln!(self.record, "~ {}", shown(&message)).unwrap();
            self.heard.push(message.clone());
        }
        message
    }

    /// What was said so far; the next record begins anew.
    pub(crate) fn record(&mut self) -> String {
        std::mem::take(&mut self.record)
    }

    /// Says no more, and waits for the end: what it still said, and what it said beside.
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

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// JSON in one line if it is short, else indented.
fn shown(value: &Value) -> String {
    let line = value.to_string();
    match line.len() <= 120 {
        true => line,
        false => serde_json::to_string_pretty(value).unwrap(),
    }
}
