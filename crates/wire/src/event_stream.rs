//! AWS event-stream frames: a decoder for any chunks of bytes, and an encoder.
//!
//! A frame is a length, a header block, a payload and two CRC-32 checksums. Framing only;
//! the dialects interpret the events.

/// Maximum bytes one frame may have: what AWS itself allows.
pub const MAX_FRAME_BYTES: usize = 16 << 20;
const PRELUDE_BYTES: usize = 12;
const CHECKSUM_BYTES: usize = 4;

/// One frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// The string headers, such as `:event-type`; headers of other types are skipped,
    /// no model's stream has any.
    pub headers: Vec<(String, String)>,
    /// The payload.
    pub payload: Vec<u8>,
}

impl Frame {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Why bytes are not a stream of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A frame is bigger than allowed.
    #[error("a frame of the stream has more than {MAX_FRAME_BYTES} bytes")]
    TooLarge,
    /// A frame's lengths contradict each other.
    #[error("a frame of the stream has invalid lengths")]
    BadLength,
    /// A checksum does not match.
    #[error("a frame of the stream is damaged: checksum mismatch")]
    BadChecksum,
    /// The headers cannot be read.
    #[error("a frame of the stream has unreadable headers")]
    BadHeaders,
    /// The stream ended inside a frame.
    #[error("the stream ended inside a frame")]
    Truncated,
}

impl FrameError {
    /// Stable identifier of the reason.
    pub fn code(self) -> &'static str {
        match self {
            FrameError::TooLarge => "stream-event-too-large",
            FrameError::BadLength => "frame-bad-length",
            FrameError::BadChecksum => "frame-bad-checksum",
            FrameError::BadHeaders => "frame-bad-headers",
            FrameError::Truncated => "frame-cut",
        }
    }
}

/// Reads frames from bytes as they come, cut anywhere.
#[derive(Debug, Default)]
pub struct FrameDecoder {
    buffer: Vec<u8>,
}

impl FrameDecoder {
    /// Takes the next bytes and appends the frames they complete.
    pub fn push(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), FrameError> {
        self.buffer.extend_from_slice(bytes);
        let mut rest = self.buffer.as_slice();
        while let Some((frame, tail)) = split_frame(rest)? {
            frames.push(frame);
            rest = tail;
        }
        let used = self.buffer.len() - rest.len();
        self.buffer.drain(..used);
        Ok(())
    }

    /// The stream has ended; nothing may be left over.
    pub fn finish(&self) -> Result<(), FrameError> {
        if self.buffer.is_empty() {
            Ok(())
        } else {
            Err(FrameError::Truncated)
        }
    }
}

/// The first frame of the bytes and the rest; `None` while it is incomplete.
fn split_frame(bytes: &[u8]) -> Result<Option<(Frame, &[u8])>, FrameError> {
    let Some((prelude, _)) = bytes.split_at_checked(PRELUDE_BYTES) else {
        return Ok(None);
    };
    let total = number(prelude, 0)? as usize;
    let headers_len = number(prelude, 4)? as usize;
    if crc32fast::hash(prelude.get(..8).unwrap_or_default()) != number(prelude, 8)? {
        return Err(FrameError::BadChecksum);
    }
    if total > MAX_FRAME_BYTES {
        return Err(FrameError::TooLarge);
    }
    if total < PRELUDE_BYTES + CHECKSUM_BYTES
        || headers_len > total - PRELUDE_BYTES - CHECKSUM_BYTES
    {
        return Err(FrameError::BadLength);
    }
    let Some((frame, tail)) = bytes.split_at_checked(total) else {
        return Ok(None);
    };
    let (summed, sum) = frame
        .split_at_checked(total - CHECKSUM_BYTES)
        .ok_or(FrameError::BadLength)?;
    if crc32fast::hash(summed) != number(sum, 0)? {
        return Err(FrameError::BadChecksum);
    }
    let body = summed.get(PRELUDE_BYTES..).ok_or(FrameError::BadLength)?;
    let (headers, payload) = body
        .split_at_checked(headers_len)
        .ok_or(FrameError::BadLength)?;
    let frame = Frame {
        headers: read_headers(headers)?,
        payload: payload.to_vec(),
    };
    Ok(Some((frame, tail)))
}

fn number(bytes: &[u8], at: usize) -> Result<u32, FrameError> {
    bytes
        .get(at..at + 4)
        .and_then(|four| four.try_into().ok())
        .map(u32::from_be_bytes)
        .ok_or(FrameError::BadLength)
}

fn read_headers(mut bytes: &[u8]) -> Result<Vec<(String, String)>, FrameError> {
    let mut headers = Vec::new();
    while !bytes.is_empty() {
        let name_len = usize::from(*take(&mut bytes, 1)?.first().ok_or(FrameError::BadHeaders)?);
        let name = text(take(&mut bytes, name_len)?)?;
        let kind = *take(&mut bytes, 1)?.first().ok_or(FrameError::BadHeaders)?;
        let len = match kind {
            0 | 1 => 0,
            2 => 1,
            3 => 2,
            4 => 4,
            5 | 8 => 8,
            6 | 7 => {
                let len = take(&mut bytes, 2)?;
                let len: [u8; 2] = len.try_into().map_err(|_| FrameError::BadHeaders)?;
                usize::from(u16::from_be_bytes(len))
            }
            9 => 16,
            _ => return Err(FrameError::BadHeaders),
        };
        let value = take(&mut bytes, len)?;
        if kind == 7 {
            headers.push((name, text(value)?));
        }
    }
    Ok(headers)
}

fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Result<&'a [u8], FrameError> {
    let (head, tail) = bytes.split_at_checked(len).ok_or(FrameError::BadHeaders)?;
    *bytes = tail;
    Ok(head)
}

fn text(bytes: &[u8]) -> Result<String, FrameError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| FrameError::BadHeaders)
}

/// Appends a frame; headers longer than the format allows are refused.
pub fn write_frame(frame: &Frame, out: &mut Vec<u8>) -> Result<(), FrameError> {
    let mut headers = Vec::new();
    for (name, value) in &frame.headers {
        headers.push(u8::try_from(name.len()).map_err(|_| FrameError::BadHeaders)?);
        headers.extend_from_slice(name.as_bytes());
        headers.push(7);
        let len = u16::try_from(value.len()).map_err(|_| FrameError::BadHeaders)?;
        headers.extend_from_slice(&len.to_be_bytes());
        headers.extend_from_slice(value.as_bytes());
    }
    let total = PRELUDE_BYTES + headers.len() + frame.payload.len() + CHECKSUM_BYTES;
    if total > MAX_FRAME_BYTES {
        return Err(FrameError::TooLarge);
    }
    let start = out.len();
    // Both fit: they are below the limit just checked.
    out.extend_from_slice(&(total as u32).to_be_bytes());
    out.extend_from_slice(&(headers.len() as u32).to_be_bytes());
    let sum = crc32fast::hash(out.get(start..).unwrap_or_default());
    out.extend_from_slice(&sum.to_be_bytes());
    out.extend_from_slice(&headers);
    out.extend_from_slice(&frame.payload);
    let sum = crc32fast::hash(out.get(start..).unwrap_or_default());
    out.extend_from_slice(&sum.to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(event: &str, payload: &[u8]) -> Frame {
        Frame {
            headers: vec![
                (":message-type".to_owned(), "event".to_owned()),
                (":event-type".to_owned(), event.to_owned()),
            ],
            payload: payload.to_vec(),
        }
    }

    fn bytes_of(frames: &[Frame]) -> Vec<u8> {
        let mut out = Vec::new();
        for frame in frames {
            write_frame(frame, &mut out).unwrap();
        }
        out
    }

    fn decode(bytes: &[u8], cut: usize) -> Result<Vec<Frame>, FrameError> {
        let mut decoder = FrameDecoder::default();
        let mut frames = Vec::new();
        let (a, b) = bytes.split_at(cut.min(bytes.len()));
        decoder.push(a, &mut frames)?;
        decoder.push(b, &mut frames)?;
        decoder.finish()?;
        Ok(frames)
    }

    #[test]
    fn a_frame_has_the_bytes_aws_documents() {
        // The example without headers of the format's public test vectors.
        let bytes = bytes_of(&[Frame {
            headers: Vec::new(),
            payload: b"{'foo':'bar'}".to_vec(),
        }]);
        assert_eq!(
            bytes[..12],
            [0, 0, 0, 29, 0, 0, 0, 0, 0xfd, 0x52, 0x8c, 0x5a]
        );
        assert_eq!(bytes[25..], [0xc3, 0x65, 0x39, 0x36]);
    }

    #[test]
    fn a_damaged_byte_is_noticed() {
        let good = bytes_of(&[frame("chunk", b"hello")]);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x40;
            assert!(decode(&bad, 0).is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_stream_that_ends_inside_a_frame_is_noticed() {
        let bytes = bytes_of(&[frame("chunk", b"hello")]);
        assert_eq!(
            decode(&bytes[..bytes.len() - 1], 3),
            Err(FrameError::Truncated)
        );
    }

    #[test]
    fn a_frame_over_the_limit_is_refused_before_its_bytes_arrive() {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&(MAX_FRAME_BYTES as u32 + 1).to_be_bytes());
        bytes.extend_from_slice(&0u32.to_be_bytes());
        let sum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&sum.to_be_bytes());
        assert_eq!(decode(&bytes, 12), Err(FrameError::TooLarge));
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_frames(
            payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..5),
            cut in 0usize..300,
        ) {
            let frames: Vec<_> = payloads.iter().map(|p| frame("e", p)).collect();
            prop_assert_eq!(decode(&bytes_of(&frames), cut), Ok(frames));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes, bytes.len() / 2);
        }
    }
}
