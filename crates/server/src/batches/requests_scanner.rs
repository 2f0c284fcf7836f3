//! Finds the requests in `{"requests": [{…}, …]}` while the body arrives, so that only one of
//! them is in memory.
//!
//! Only the bounds of a request are found here; whoever gets it parses it.

use bytes::Bytes;

/// Bytes of a key of the outer object that is not skipped.
const MAX_KEY_BYTES: usize = 64;
const KEY: &[u8] = b"requests";

/// What is wrong with a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScanError {
    /// It is not an object with a list of objects in `requests`.
    Malformed { at: u64, expected: &'static str },
    /// It has `requests` twice.
    Repeated,
    /// A request is larger than allowed.
    TooLarge { index: u64, max_bytes: usize },
}

/// A scan of one body.
#[derive(Debug)]
pub(crate) struct RequestsScanner {
    place: Place,
    /// The key or request that has begun.
    buffer: Vec<u8>,
    max_item_bytes: usize,
    /// Bytes before the current one.
    offset: u64,
    items: u64,
    has_requests: bool,
}

/// Where in the body the scan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    /// Before a key, or `}` if this is the first.
    Key {
        first: bool,
    },
    InKey {
        escaped: bool,
    },
    Colon {
        requests: bool,
    },
    /// Before the value of another key.
    OtherValue,
    InOtherValue(Nesting),
    ListStart,
    /// Before a request, or `]` if this is the first.
    Item {
        first: bool,
    },
    InItem(Nesting),
    AfterItem,
    AfterValue,
    End,
}

/// How deep in a value the scan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Nesting {
    depth: u32,
    in_string: bool,
    escaped: bool,
}

impl Nesting {
    fn advance(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

impl RequestsScanner {
    pub(crate) fn new(max_item_bytes: usize) -> RequestsScanner {
        RequestsScanner {
            place: Place::Start,
            buffer: Vec::new(),
            max_item_bytes,
            offset: 0,
            items: 0,
            has_requests: false,
        }
    }

    /// Bytes in memory.
    pub(crate) fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// Takes more of the body; adds the requests that are complete.
    pub(crate) fn feed(&mut self, chunk: &[u8], found: &mut Vec<Bytes>) -> Result<(), ScanError> {
        for &byte in chunk {
            self.step(byte, found)?;
            self.offset += 1;
        }
        Ok(())
    }

    /// Checks that the body is complete.
    pub(crate) fn finish(&self) -> Result<(), ScanError> {
        match self.place {
            Place::End if self.has_requests => Ok(()),
            Place::End => Err(self.expected("a list in `requests`")),
            _ => Err(self.expected("more: the body ends too early")),
        }
    }

    fn step(&mut self, byte: u8, found: &mut Vec<Bytes>) -> Result<(), ScanError> {
        let is_space = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        self.place = match self.place {
            Place::InKey { escaped } => self.in_key(byte, escaped)?,
            Place::InOtherValue(nesting) => self.in_other_value(byte, nesting),
            Place::InItem(mut nesting) => {
                if self.buffer.len() >= self.max_item_bytes {
                    return Err(ScanError::TooLarge {
                        index: self.items,
                        max_bytes: self.max_item_bytes,
                    });
                }
                self.buffer.push(byte);
                nesting.advance(byte);
                if nesting.depth == 0 {
                    self.items += 1;
                    found.push(std::mem::take(&mut self.buffer).into());
                    Place::AfterItem
                } else {
                    Place::InItem(nesting)
                }
            }
            place if is_space => place,
            Place::Start => match byte {
                b'{' => Place::Key { first: true },
                _ => return Err(self.expected("a JSON object")),
            },
            Place::Key { first } => match byte {
                b'"' => Place::InKey { escaped: false },
                b'}' if first => Place::End,
                _ => return Err(self.expected("a key in quotes")),
            },
            Place::Colon { requests } => match byte {
                b':' if requests => Place::ListStart,
                b':' => Place::OtherValue,
                _ => return Err(self.expected("`:`")),
            },
            Place::OtherValue => match byte {
                b',' | b'}' | b']' | b':' => return Err(self.expected("a value")),
                _ => self.in_other_value(byte, Nesting::default()),
            },
            Place::ListStart => match byte {
                b'[' => Place::Item { first: true },
                _ => return Err(self.expected("a list in `requests`")),
            },
            Place::Item { first } => match byte {
                b'{' => {
                    self.buffer.push(byte);
                    let mut nesting = Nesting::default();
                    nesting.advance(byte);
                    Place::InItem(nesting)
                }
                b']' if first => Place::AfterValue,
                _ => return Err(self.expected("an object in `requests`")),
            },
            Place::AfterItem => match byte {
                b',' => Place::Item { first: false },
                b']' => Place::AfterValue,
                _ => return Err(self.expected("`,` or `]`")),
            },
            Place::AfterValue => match byte {
                b',' => Place::Key { first: false },
                b'}' => Place::End,
                _ => return Err(self.expected("`,` or `}`")),
            },
            Place::End => return Err(self.expected("nothing after the object")),
        };
        Ok(())
    }

    fn in_key(&mut self, byte: u8, escaped: bool) -> Result<Place, ScanError> {
        if byte == b'"' && !escaped {
            let key = std::mem::take(&mut self.buffer);
            let requests = is_requests(&key);
            if requests && std::mem::replace(&mut self.has_requests, true) {
                return Err(ScanError::Repeated);
            }
            return Ok(Place::Colon { requests });
        }
        if self.buffer.len() <= MAX_KEY_BYTES {
            self.buffer.push(byte);
        }
        let escaped = byte == b'\\' && !escaped;
        Ok(Place::InKey { escaped })
    }

    /// Numbers and words end before what follows them; the rest ends with its last byte.
    fn in_other_value(&mut self, byte: u8, mut nesting: Nesting) -> Place {
        if nesting.depth == 0 && !nesting.in_string {
            match byte {
                b',' => return Place::Key { first: false },
                b'}' => return Place::End,
                _ => {}
            }
        }
        nesting.advance(byte);
        Place::InOtherValue(nesting)
    }

    fn expected(&self, expected: &'static str) -> ScanError {
        ScanError::Malformed {
            at: self.offset,
            expected,
        }
    }
}

/// Whether a key, as written, is `requests`.
fn is_requests(key: &[u8]) -> bool {
    if !key.contains(&b'\\') {
        return key == KEY;
    }
    let quoted = [b"\"", key, b"\""].concat();
    serde_json::from_slice::<String>(&quoted).is_ok_and(|key| key.as_bytes() == KEY)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn scan(body: &[u8], chunk: usize) -> Result<Vec<Bytes>, ScanError> {
        let mut scanner = RequestsScanner::new(1_000);
        let mut found = Vec::new();
        for part in body.chunks(chunk) {
            scanner.feed(part, &mut found)?;
        }
        scanner.finish().map(|()| found)
    }

    #[test]
    fn requests_are_found_wherever_the_body_is_cut() {
        let body = br#" { "a\"]}" : [{"x":"]}\\"},1] , "n": -1.5e3, "requests" : [
            {"a":"}]\"{", "b":[{}]} , {} ] , "z":null} "#;
        for chunk in 1..body.len() {
            let found = scan(body, chunk).unwrap();
            assert_eq!(
                found,
                [&br#"{"a":"}]\"{", "b":[{}]}"#[..], b"{}"],
                "{chunk}"
            );
        }
        assert_eq!(scan(br#"{"requests":[]}"#, 3).unwrap(), [] as [Bytes; 0]);
        assert_eq!(scan(br#"{"\u0072equests":[{}]}"#, 3).unwrap().len(), 1);
    }

    #[test]
    fn a_body_of_another_form_is_refused() {
        for body in [
            "",
            "[]",
            "{",
            "{}",
            "{\"requests\":{}}",
            "{\"requests\":[1]}",
            "{\"requests\":[{},]}",
            "{\"requests\":[{}]",
            "{\"requests\":[{}]} x",
            "{requests:[]}",
            "{\"a\":}",
            "{\"requests\":[{}{}]}",
        ] {
            let error = scan(body.as_bytes(), 4).unwrap_err();
            assert!(
                matches!(error, ScanError::Malformed { .. }),
                "{body}: {error:?}"
            );
        }
        let twice = br#"{"requests":[],"requests":[]}"#;
        assert_eq!(scan(twice, 9), Err(ScanError::Repeated));
        let large = format!(
            "{{\"requests\":[{{}},{{\"a\":\"{}\"}}]}}",
            "x".repeat(1_000)
        );
        let error = ScanError::TooLarge {
            index: 1,
            max_bytes: 1_000,
        };
        assert_eq!(scan(large.as_bytes(), 64), Err(error));
    }

    proptest! {
        #[test]
        fn what_serde_reads_is_found(
            texts in prop::collection::vec(".{0,20}", 0..5),
            other in ".{0,20}",
            chunk in 1_usize..50,
        ) {
            let requests: Vec<Value> = texts.iter().map(|text| json!({"a": [text], text: {}})).collect();
            let body = json!({"before": {"x": other}, "requests": requests, "after": [other]});
            let found = scan(body.to_string().as_bytes(), chunk).unwrap();
            let found: Vec<Value> = found.iter().map(|item| serde_json::from_slice(item).unwrap()).collect();
            prop_assert_eq!(found, requests);
        }

        #[test]
        fn no_body_makes_it_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = scan(&body, 7);
        }
    }
}
