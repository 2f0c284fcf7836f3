//! Tracks what was prepended to a request's items, so that errors name the paths that the
//! client sent.

use prowess_wire::raw::RawObject;

/// How the input of a request was changed.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::route::gateway) struct InputShift {
    /// Items prepended to the client's.
    items: usize,
    /// Whether the client's input was a text, and is now an item.
    was_text: bool,
}

impl InputShift {
    /// `changed` is the request whose input was changed, if any.
    pub(super) fn new(items: usize, changed: Option<&RawObject<'_>>) -> Self {
        let input = changed.and_then(|raw| raw.get("input"));
        InputShift {
            items,
            was_text: input.is_some_and(|input| input.trim_start().starts_with('"')),
        }
    }

    /// The client's path of a field: prepended items come from `previous_response_id`.
    pub(in crate::route::gateway) fn client_path(self, field: &str) -> String {
        let item = field.strip_prefix("input[").and_then(|rest| {
            let (index, inside) = rest.split_once(']')?;
            Some((index.parse::<usize>().ok()?, inside))
        });
        let Some((index, inside)) = item else {
            return field.to_owned();
        };
        match index.checked_sub(self.items) {
            None => "previous_response_id".to_owned(),
            Some(_) if self.was_text => "input".to_owned(),
            Some(index) => format!("input[{index}]{inside}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_the_one_that_the_client_sent() {
        let list = RawObject::parse(br#"{"input": []}"#).unwrap();
        let text = RawObject::parse(br#"{"input": "Hi"}"#).unwrap();
        for (before, field, known) in [
            (
                InputShift::default(),
                "input[3].content[0]",
                "input[3].content[0]",
            ),
            (
                InputShift::new(2, Some(&list)),
                "input[1]",
                "previous_response_id",
            ),
            (
                InputShift::new(2, Some(&list)),
                "input[3].output[0]",
                "input[1].output[0]",
            ),
            (
                InputShift::new(2, Some(&text)),
                "input[2].content[0]",
                "input",
            ),
            (InputShift::new(2, Some(&text)), "input", "input"),
            (InputShift::new(2, Some(&list)), "tools[0]", "tools[0]"),
            (InputShift::new(2, Some(&list)), "input[x]", "input[x]"),
        ] {
            assert_eq!(before.client_path(field), known, "{field}");
        }
    }
}
