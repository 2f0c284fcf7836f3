//! A form is read the same in any cut, and refused where it could be read in two ways.

use proptest::prelude::*;

use super::*;

const TYPE: &str = "multipart/form-data; boundary=XyZ";

fn form(parts: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (headers, content) in parts {
        text.push_str(&format!("--XyZ\r\n{headers}\r\n\r\n{content}\r\n"));
    }
    text + "--XyZ--\r\n"
}

fn field(name: &str) -> String {
    format!("Content-Disposition: form-data; name=\"{name}\"")
}

fn scan(text: &[u8], size: usize) -> Result<Option<(String, Range<usize>)>, FormError> {
    let mut scanner = FormScanner::new(TYPE)?;
    for chunk in text.chunks(size) {
        scanner.push(chunk)?;
    }
    scanner.finish()?;
    Ok(scanner
        .model()
        .map(|(name, place)| (name.to_owned(), place)))
}

#[test]
fn the_model_is_found_in_any_cut_of_the_bytes() {
    let file = "Content-Disposition: form-data; name=\"file\"; filename=\"a.mp3\"\r\n\
                Content-Type: audio/mpeg";
    let text = form(&[
        (file, "\r\n--Xy\r\n--XY not a boundary\r\n"),
        (&field("model"), "whisper-1"),
        (&field("language"), ""),
    ]);
    let start = text.find("whisper-1").unwrap();
    for size in 1..=text.len() {
        let found = scan(text.as_bytes(), size);
        let expected = ("whisper-1".to_owned(), start..start + 9);
        assert_eq!(found, Ok(Some(expected)), "{size}");
    }
    assert_eq!(scan(form(&[(&field("a"), "b")]).as_bytes(), 7), Ok(None));
    assert_eq!(scan(b"--XyZ--\r\n", 3), Ok(None));
}

#[test]
fn a_form_that_could_name_another_model_elsewhere_is_refused() {
    let model = field("model");
    let two = form(&[(&model, "a"), (&model, "b")]);
    let long = form(&[(&model, &"x".repeat(600))]);
    let lines = form(&[(&model, "a\r\nb")]);
    let empty = form(&[(&model, "")]);
    let inside = form(&[(&field("a"), &format!("b\n--XyZ\n{model}\n\nc"))]);
    let longer = form(&[(&field("a"), "b\r\n--XyZ2\r\nc")]);
    let before = format!("hello\r\n{}", form(&[(&model, "a")]));
    let after = format!(
        "{}--XyZ\r\n{model}\r\n\r\nb\r\n--XyZ--",
        form(&[(&model, "a")])
    );
    let open = form(&[(&model, "a")]).replace("--XyZ--\r\n", "");
    let headers = form(&[(&"x".repeat(9_000), "a")]);
    for text in [
        &two, &long, &lines, &empty, &inside, &longer, &before, &after, &open, &headers,
    ] {
        for size in [1, 5, 4_096] {
            assert!(scan(text.as_bytes(), size).is_err(), "{size}: {text}");
        }
    }
    assert_eq!(scan(two.as_bytes(), 3), Err(FormError::RepeatedModel));
}

proptest! {
    /// Whatever passes, the cut of the bytes decides nothing, and nothing grows with the form.
    #[test]
    fn no_bytes_are_read_differently_in_another_cut(
        parts in proptest::collection::vec(
            prop_oneof![
                Just(b"--XyZ".to_vec()), Just(b"\r\n".to_vec()), Just(b"--".to_vec()),
                Just(b"\r\n\r\n".to_vec()),
                Just(b"Content-Disposition: form-data; name=\"model\"".to_vec()),
                Just(b"Content-Disposition: form-data; name=\"a\"".to_vec()),
                proptest::collection::vec(any::<u8>(), 0..12),
            ],
            0..14,
        ),
        size in 1_usize..9,
    ) {
        let text = parts.concat();
        prop_assert_eq!(scan(&text, size).is_ok(), scan(&text, text.len().max(1)).is_ok());
        if let (Ok(one), Ok(other)) = (scan(&text, size), scan(&text, text.len().max(1))) {
            prop_assert_eq!(one, other);
        }
    }
}
