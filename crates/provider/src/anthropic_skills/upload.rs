//! A new skill or version as a `multipart/form-data` body, without copying its files.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};

use crate::upstream::named_betas;

/// The beta in which a skill's name has another field.
const SKILLS_BETA: &str = "skills-2025-10-02";
const FILES_FIELD: &str = "files[]";
const BOUNDARY_LETTERS: usize = 48;

/// A new skill or version.
#[derive(Debug)]
pub struct SkillUpload {
    /// Its display name.
    pub title: Option<String>,
    /// Its files: individual files with their paths, or one archive.
    pub files: Vec<SkillUploadFile>,
}

/// One file of an upload.
#[derive(Debug)]
pub struct SkillUploadFile {
    /// Its path.
    pub name: String,
    /// Its media type, if the client sent one.
    pub content_type: Option<HeaderValue>,
    /// Its content.
    pub data: Bytes,
}

/// The body of an upload.
pub(super) struct SkillUploadForm {
    pub(super) content_type: HeaderValue,
    pub(super) chunks: Vec<Bytes>,
}

impl SkillUpload {
    pub(super) fn into_form(self, headers: &HeaderMap) -> SkillUploadForm {
        let letters = std::iter::repeat_with(fastrand::alphanumeric);
        let boundary: String = letters.take(BOUNDARY_LETTERS).collect();
        let mut chunks = Vec::with_capacity(3 * self.files.len() + 2);
        if let Some(title) = self.title {
            let name = title_field(headers);
            let part = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{title}\r\n"
            );
            chunks.push(part.into());
        }
        for file in self.files {
            chunks.push(file_head(&boundary, &file));
            chunks.push(file.data);
            chunks.push(Bytes::from_static(b"\r\n"));
        }
        chunks.push(format!("--{boundary}--\r\n").into());
        let content_type = format!("multipart/form-data; boundary={boundary}");
        SkillUploadForm {
            // Letters and digits are always valid in a header.
            content_type: HeaderValue::try_from(content_type)
                .unwrap_or(HeaderValue::from_static("multipart/form-data")),
            chunks,
        }
    }
}

/// The field of the display name in the API that the client uses.
fn title_field(headers: &HeaderMap) -> &'static str {
    if named_betas(headers).any(|beta| beta == SKILLS_BETA) {
        "display_title"
    } else {
        "display_name"
    }
}

fn file_head(boundary: &str, file: &SkillUploadFile) -> Bytes {
    let name = quoted(&file.name);
    let mut head = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"{FILES_FIELD}\"; \
         filename=\"{name}\"\r\n"
    )
    .into_bytes();
    if let Some(content_type) = &file.content_type {
        head.extend_from_slice(b"Content-Type: ");
        head.extend_from_slice(content_type.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head.into()
}

/// A text inside quotes. A line break in it must not begin another header.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_stays_inside_its_header() {
        let upload = SkillUpload {
            title: None,
            files: vec![SkillUploadFile {
                name: "a\"b\\c\r\nX-Evil: 1".to_owned(),
                content_type: None,
                data: Bytes::from_static(b"hi"),
            }],
        };
        let form = upload.into_form(&HeaderMap::new());
        let body = String::from_utf8(form.chunks.concat()).unwrap();
        let boundary = form.content_type.to_str().unwrap();
        let boundary = boundary.split_once("boundary=").unwrap().1;
        assert_eq!(boundary.len(), BOUNDARY_LETTERS);
        insta::assert_snapshot!(body.replace(boundary, "BOUNDARY").replace('\r', ""), @r#"
        --BOUNDARY
        Content-Disposition: form-data; name="files[]"; filename="a\"b\\c%0D%0AX-Evil: 1"

        hi
        --BOUNDARY--
        "#);
    }
}
