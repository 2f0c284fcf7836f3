//! Retaining the beginning and the end of a stream in bounded memory.

use crate::execution::CapturedOutput;
use std::collections::VecDeque;

/// Accepts any amount of output and retains a fixed amount of it.
#[derive(Debug)]
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// Capacity of each of the two.
    half: usize,
    total: u64,
}

impl Capture {
    pub(crate) fn new(kept: u64) -> Self {
        let half = usize::try_from(kept / 2).unwrap_or(usize::MAX);
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            half,
            total: 0,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let head_space = self.half.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(head_space);
        self.head.extend_from_slice(first);
        // Of a chunk longer than the tail only the end is retained.
        let (_, rest) = rest.split_at(rest.len().saturating_sub(self.half));
        self.tail.extend(rest);
        self.tail.drain(..self.tail.len().saturating_sub(self.half));
    }

    pub(crate) fn finish(self) -> CapturedOutput {
        let kept = (self.head.len() + self.tail.len()) as u64;
        let cut = self.total - kept;
        let mut bytes = self.head;
        if cut > 0 {
            bytes.extend_from_slice(format!("\n[… {cut} bytes left out …]\n").as_bytes());
        }
        bytes.extend(self.tail);
        CapturedOutput {
            text: String::from_utf8_lossy(&bytes).into_owned(),
            bytes: self.total,
            cut,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(kept: u64, chunks: &[&str]) -> CapturedOutput {
        let mut capture = Capture::new(kept);
        for piece in chunks {
            capture.push(piece.as_bytes());
        }
        capture.finish()
    }

    #[test]
    fn short_output_is_kept_whole() {
        let captured = capture(8, &["abc", "defg"]);
        assert_eq!(
            (captured.text.as_str(), captured.bytes, captured.cut),
            ("abcdefg", 7, 0)
        );
    }

    #[test]
    fn long_output_keeps_head_and_tail_and_names_the_cut() {
        let captured = capture(8, &["0123456", "789", "abcdef"]);
        assert_eq!(captured.text, "0123\n[… 8 bytes left out …]\ncdef");
        assert_eq!((captured.bytes, captured.cut), (16, 8));
    }

    #[test]
    fn one_huge_piece_is_bounded_too() {
        let captured = capture(4, &[&"x".repeat(1000)]);
        assert_eq!(captured.cut, 996);
    }
}
