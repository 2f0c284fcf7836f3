//! How much memory a JSON text takes once it is parsed, at most: found without parsing it.
//!
//! A value takes many times the bytes of its text, `[[0],[0]]` about a hundred times. So a body
//! within its limit of bytes could exhaust the memory of a server. Knows no dialect.

use memchr::{memchr, memchr_iter, memchr2};

/// Bytes of an element of a list or of an object, with the space that both have in reserve and
/// that of copies which readers make. Measured with requests that are translated.
const ELEMENT_BYTES: usize = 240;
/// Bytes of a list and of an object beyond that: space for the first elements comes at once.
const LIST_BYTES: usize = 280;
const OBJECT_BYTES: usize = 320;
/// How many times its own bytes an ordinary text may take, and the bytes that any text may.
const ORDINARY_FACTOR: usize = 8;
const SMALL_BYTES: usize = 64 << 10;
/// From here on texts inside are left out, which takes longer to find out.
const MAX_ROUGH_EXCESS: usize = 1 << 20;
/// The most [`parsed_excess`] of what is parsed.
pub const MAX_PARSED_EXCESS: usize = 512 << 20;

/// Bytes of memory that the values of a JSON text take beyond 64 KiB and eight times its own bytes,
/// at most. What most programs write takes no more than that, and has none. A text inside counts if
/// it may itself be JSON, such as the arguments of a call.
pub fn parsed_excess(json: &[u8]) -> usize {
    parsed_excess_of_all(&[json])
}

/// The same of several texts that are parsed together.
pub fn parsed_excess_of_all(texts: &[&[u8]]) -> usize {
    let length: usize = texts.iter().map(|text| text.len()).sum();
    let all = |structure: fn(&[u8]) -> Structure| {
        let structures = texts.iter().map(|text| structure(text));
        excess(
            structures.fold(Structure::default(), Structure::plus),
            length,
        )
    };
    let rough = all(Structure::rough);
    if rough <= MAX_ROUGH_EXCESS {
        return rough;
    }
    all(Structure::of_values)
}

fn excess(structure: Structure, length: usize) -> usize {
    structure.bytes().saturating_sub(ordinary_bytes(length))
}

fn ordinary_bytes(length: usize) -> usize {
    length
        .saturating_mul(ORDINARY_FACTOR)
        .saturating_add(SMALL_BYTES)
}

/// The characters of a text between which there are values.
#[derive(Debug, Clone, Copy, Default)]
struct Structure {
    commas: usize,
    lists: usize,
    objects: usize,
}

impl Structure {
    /// Of all bytes, also those of texts inside.
    fn rough(json: &[u8]) -> Structure {
        let count = |byte| memchr_iter(byte, json).count();
        Structure {
            commas: count(b','),
            lists: count(b'['),
            objects: count(b'{'),
        }
    }

    /// Without texts inside that are no JSON. The rest is not looked at once the text takes more
    /// than is ever parsed.
    fn of_values(json: &[u8]) -> Structure {
        let mut found = Structure::default();
        let most = ordinary_bytes(json.len()).saturating_add(MAX_PARSED_EXCESS);
        let mut rest = json;
        while found.bytes() <= most {
            let Some(quote) = memchr(b'"', rest) else {
                found.add(rest);
                break;
            };
            let (outside, text) = rest.split_at(quote);
            found.add(outside);
            let text = text.get(1..).unwrap_or_default();
            let (inside, after) = text.split_at(text_length(text));
            if may_be_json(inside) {
                found.add(inside);
            }
            rest = after.get(1..).unwrap_or_default();
        }
        found
    }

    fn plus(self, other: Structure) -> Structure {
        Structure {
            commas: self.commas.saturating_add(other.commas),
            lists: self.lists.saturating_add(other.lists),
            objects: self.objects.saturating_add(other.objects),
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b',' => self.commas += 1,
                b'[' => self.lists += 1,
                b'{' => self.objects += 1,
                _ => {}
            }
        }
    }

    fn bytes(self) -> usize {
        let elements = self.commas.saturating_mul(ELEMENT_BYTES);
        let lists = self.lists.saturating_mul(LIST_BYTES);
        let objects = self.objects.saturating_mul(OBJECT_BYTES);
        elements.saturating_add(lists).saturating_add(objects)
    }
}

/// Bytes up to the quote that ends a text, or up to the end.
fn text_length(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if text.get(at) == Some(&b'"') {
            return at;
        }
        // The escaped character is no end.
        at += 2;
    }
    text.len()
}

/// Whether a text inside a JSON text may be JSON itself. Any character can be written as an escape.
fn may_be_json(text: &[u8]) -> bool {
    let start = text.trim_ascii_start();
    matches!(start.first(), Some(b'{' | b'[' | b'\\'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dense_values_count_and_ordinary_bodies_do_not() {
        let list = format!("[{}0]", "[0],".repeat(100_000));
        assert!(parsed_excess(list.as_bytes()) > 100 * list.len());
        let objects = format!("[{}0]", r#"{"":0},"#.repeat(100_000));
        assert!(parsed_excess(objects.as_bytes()) > 60 * objects.len());
        let text = "Compare, in a few words, both of these lists for me. ".repeat(6);
        let message =
            format!(r#"{{"role":"user","content":[{{"type":"text","text":"{text}"}}]}},"#);
        let messages = format!("[{}0]", message.repeat(10_000));
        assert_eq!(parsed_excess(messages.as_bytes()), 0);
    }

    #[test]
    fn a_text_counts_only_if_it_may_be_json() {
        let numbers = "1,".repeat(1 << 20);
        let within = |text: &str| parsed_excess(format!(r#"{{"a":"{text}"}}"#).as_bytes());
        assert_eq!(within(&numbers), 0);
        assert_eq!(within(&format!("x [{numbers}")), 0);
        for json in [
            format!("[{numbers}1]"),
            format!("  {{\\\"a\\\":[{numbers}1]}}"),
            format!("\\u005b{numbers}1]"),
        ] {
            assert!(within(&json) > 60 * numbers.len(), "{}", json.len());
        }
    }

    #[test]
    fn many_small_texts_count_as_one_large_one() {
        let small = format!("[{}0]", "[0],".repeat(100));
        assert_eq!(parsed_excess(small.as_bytes()), 0);
        let many = vec![small.as_bytes(); 1_000];
        assert!(parsed_excess_of_all(&many) > 100 * 1_000 * small.len());
    }

    #[test]
    fn what_follows_an_escaped_quote_is_still_text() {
        let text = format!(r#"["a\"{}"]"#, ",".repeat(1 << 20));
        assert_eq!(parsed_excess(text.as_bytes()), 0);
        let after = format!(r#"["a\\",{}0]"#, "0,".repeat(1 << 20));
        assert!(parsed_excess(after.as_bytes()) > 64 << 20);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parsed_excess(&bytes);
            let _ = Structure::of_values(&bytes);
        }
    }
}
