//! Passes the output of a command on as it arrives. A command that is run again after its
//! worker was lost writes the same again: what was passed on before is left out.

use prowess_sandbox::{OutputChunk, OutputStream};
use tokio::sync::mpsc::UnboundedSender;

/// Bytes of both streams.
#[derive(Debug, Clone, Copy, Default)]
struct StreamBytes {
    stdout: u64,
    stderr: u64,
}

impl StreamBytes {
    fn count(&mut self, stream: OutputStream) -> &mut u64 {
        match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        }
    }
}

/// The output of one command.
#[derive(Debug)]
pub(crate) struct OutputRelay {
    receiver: Option<UnboundedSender<OutputChunk>>,
    /// Passed on so far.
    passed: StreamBytes,
    /// Received of this attempt.
    received: StreamBytes,
    next_seq: u64,
    /// Bytes that may still be received: workers are not trusted.
    allowance: u64,
}

impl OutputRelay {
    /// Passes at most `flood` bytes on.
    pub(crate) fn new(receiver: Option<UnboundedSender<OutputChunk>>, flood: u64) -> Self {
        Self {
            receiver,
            passed: StreamBytes::default(),
            received: StreamBytes::default(),
            next_seq: 0,
            allowance: flood,
        }
    }

    /// The command is run from its beginning, at another worker.
    pub(crate) fn restart(&mut self) {
        self.received = StreamBytes::default();
        self.next_seq = 0;
    }

    /// A chunk has arrived.
    pub(crate) fn receive(&mut self, seq: u64, stream: OutputStream, bytes: &[u8]) {
        // A worker that is asked again may repeat what it has sent.
        if seq < self.next_seq {
            return;
        }
        self.next_seq = seq.saturating_add(1);
        let received = self.received.count(stream);
        let begin = *received;
        *received = begin.saturating_add(bytes.len() as u64);
        let end = *received;
        let passed = self.passed.count(stream);
        let Some(new) = passed.checked_sub(begin).map_or(Some(bytes), |known| {
            bytes.get(usize::try_from(known).ok()?..)
        }) else {
            return;
        };
        let length = new.len() as u64;
        if length == 0 || length > self.allowance {
            return;
        }
        self.allowance -= length;
        *passed = end;
        if let Some(receiver) = &self.receiver {
            let bytes = new.to_vec();
            // Nobody may be interested any more.
            let _ = receiver.send(OutputChunk { stream, bytes });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::unbounded_channel;

    #[test]
    fn output_is_passed_on_once() {
        let (sender, mut receiver) = unbounded_channel();
        let mut relay = OutputRelay::new(Some(sender), 12);
        let (out, err) = (OutputStream::Stdout, OutputStream::Stderr);
        relay.receive(0, out, b"abc");
        relay.receive(1, err, b"x");
        relay.receive(1, err, b"x");
        relay.receive(2, out, b"d");
        relay.restart();
        relay.receive(0, out, b"ab");
        relay.receive(1, out, b"cdef");
        relay.receive(2, err, b"xyz");
        // More than the command may write.
        relay.receive(3, out, b"0123456789");
        drop(relay);
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        while let Ok(chunk) = receiver.try_recv() {
            match chunk.stream {
                OutputStream::Stdout => stdout.extend(chunk.bytes),
                OutputStream::Stderr => stderr.extend(chunk.bytes),
            }
        }
        assert_eq!(stdout, b"abcdef");
        assert_eq!(stderr, b"xyz");
    }
}
