//! Multipart forms of model APIs, such as those of audio and images: finds the field that names
//! the model while a form passes in chunks of any size. The form itself is not stored.
//!
//! Strict on purpose. A form that the upstream could read differently, with another model in it,
//! is refused: a second `model`, a boundary inside a part, headers that leave room for doubt.
//!
//! | module | owns |
//! |---|---|
//! | `boundary` | the boundary in a content type |
//! | `error` | why a form is refused |
//! | `part_headers` | the headers of a part, and its name |

mod boundary;
mod error;
mod part_headers;

use std::ops::Range;

use memchr::memmem;

pub use self::error::FormError;
use self::error::MAX_MODEL_BYTES;
use self::part_headers::{PartField, read_part_headers};

/// Maximum bytes of the headers of a part.
const MAX_HEADER_BYTES: usize = 8 << 10;
/// Maximum bytes after the form's end.
const MAX_EPILOGUE_BYTES: usize = 16;

/// Scans a form for the field that names the model.
#[derive(Debug)]
pub struct FormScanner {
    /// With the two dashes before it.
    delimiter: Vec<u8>,
    state: FormState,
    /// What has not been understood yet: headers, or the end of a part.
    pending: Vec<u8>,
    /// The place of its first byte in the form.
    offset: usize,
    model: Option<(String, Range<usize>)>,
}

#[derive(Debug, Clone)]
enum FormState {
    /// Before the first delimiter.
    Start,
    Headers,
    Content,
    /// The content of the field that names the model, which begins there.
    Model(usize),
    Closed,
}

impl FormScanner {
    /// For a form of this content type.
    ///
    /// # Errors
    /// When it is none.
    pub fn new(content_type: &str) -> Result<FormScanner, FormError> {
        let boundary = boundary::parse(content_type).ok_or(FormError::ContentType)?;
        Ok(FormScanner {
            delimiter: [b"--", boundary.as_bytes()].concat(),
            state: FormState::Start,
            pending: Vec::new(),
            offset: 0,
            model: None,
        })
    }

    /// The model and the place of its name in the form, once it was found.
    pub fn model(&self) -> Option<(&str, Range<usize>)> {
        let (name, place) = self.model.as_ref()?;
        Some((name, place.clone()))
    }

    /// Scans the next bytes.
    ///
    /// # Errors
    /// When the form must not be passed on.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), FormError> {
        self.pending.extend_from_slice(chunk);
        while self.step()? {}
        Ok(())
    }

    /// The form has ended.
    ///
    /// # Errors
    /// When it is incomplete.
    pub fn finish(&self) -> Result<(), FormError> {
        match self.state {
            FormState::Closed => Ok(()),
            _ => Err(FormError::Malformed("it ends before its last boundary")),
        }
    }

    /// Goes on by one element, if there is a whole one.
    fn step(&mut self) -> Result<bool, FormError> {
        match self.state {
            FormState::Start => self.read_start(),
            FormState::Headers => self.read_headers(),
            FormState::Content => self.read_content(None),
            FormState::Model(start) => self.read_content(Some(start)),
            FormState::Closed => {
                let is_blank = self.pending.iter().all(u8::is_ascii_whitespace);
                match is_blank && self.pending.len() <= MAX_EPILOGUE_BYTES {
                    true => Ok(false),
                    false => Err(FormError::Malformed("something follows its last boundary")),
                }
            }
        }
    }

    fn read_start(&mut self) -> Result<bool, FormError> {
        let length = self.delimiter.len();
        let known = self.pending.len().min(length);
        if self.pending.get(..known) != self.delimiter.get(..known) {
            return Err(FormError::Malformed("it does not begin with its boundary"));
        }
        match self.pending.get(length..length + 2) {
            None => Ok(false),
            Some(end) => {
                self.state = after_delimiter(end)?;
                self.consume(length + 2);
                Ok(true)
            }
        }
    }

    fn read_headers(&mut self) -> Result<bool, FormError> {
        let Some(end) = memmem::find(&self.pending, b"\r\n\r\n") else {
            return match self.pending.len() >= MAX_HEADER_BYTES + 4 {
                true => Err(FormError::Malformed("the headers of a part are too long")),
                false => Ok(false),
            };
        };
        let headers = self.pending.get(..end).unwrap_or_default();
        if end > MAX_HEADER_BYTES || memmem::find(headers, &self.delimiter).is_some() {
            return Err(FormError::Malformed("the headers of a part do not end"));
        }
        let field = read_part_headers(headers)?;
        self.consume(end + 4);
        self.state = match field {
            PartField::Other => FormState::Content,
            PartField::Model if self.model.is_some() => return Err(FormError::RepeatedModel),
            PartField::Model => FormState::Model(self.offset),
        };
        Ok(true)
    }

    /// Content ends at the next delimiter. Its bytes are dropped, except for the name of the
    /// model and what may be the beginning of a delimiter.
    fn read_content(&mut self, model_start: Option<usize>) -> Result<bool, FormError> {
        let Some(at) = memmem::find(&self.pending, &self.delimiter) else {
            match model_start {
                None => {
                    let kept = self.delimiter.len() + 1;
                    self.consume(self.pending.len().saturating_sub(kept));
                }
                Some(_) if self.pending.len() > MAX_MODEL_BYTES + self.delimiter.len() + 2 => {
                    return Err(FormError::BadModel);
                }
                Some(_) => {}
            }
            return Ok(false);
        };
        let after = at + self.delimiter.len();
        let Some(end) = self.pending.get(after..after + 2) else {
            return Ok(false);
        };
        let state = after_delimiter(end)?;
        let content_end = at
            .checked_sub(2)
            .filter(|end| self.pending.get(*end..at) == Some(b"\r\n".as_slice()))
            .ok_or(FormError::Malformed("a part contains the boundary"))?;
        if let Some(start) = model_start {
            let name = self.pending.get(..content_end).unwrap_or_default();
            self.model = Some((read_model(name)?, start..start + content_end));
        }
        self.consume(after + 2);
        self.state = state;
        Ok(true)
    }

    fn consume(&mut self, bytes: usize) {
        self.pending.drain(..bytes.min(self.pending.len()));
        self.offset += bytes;
    }
}

/// What follows a delimiter: another part, or nothing.
fn after_delimiter(end: &[u8]) -> Result<FormState, FormError> {
    match end {
        b"\r\n" => Ok(FormState::Headers),
        b"--" => Ok(FormState::Closed),
        _ => Err(FormError::Malformed("a part contains the boundary")),
    }
}

fn read_model(name: &[u8]) -> Result<String, FormError> {
    let name = std::str::from_utf8(name).map_err(|_| FormError::BadModel)?;
    let is_name = !name.is_empty() && name.len() <= MAX_MODEL_BYTES;
    match is_name && !name.chars().any(char::is_control) {
        true => Ok(name.to_owned()),
        false => Err(FormError::BadModel),
    }
}

#[cfg(test)]
mod tests;
