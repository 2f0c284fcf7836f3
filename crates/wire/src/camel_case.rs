//! Field names that Google's servers accept: `systemInstruction`, and `system_instruction`
//! as the field is called in their interface definition.

use std::borrow::Cow;

/// A field's JSON name.
pub(crate) fn camel(key: &str) -> Cow<'_, str> {
    if !key.contains('_') {
        return Cow::Borrowed(key);
    }
    let mut out = String::with_capacity(key.len());
    let mut raise = false;
    for c in key.chars() {
        match c {
            '_' if !out.is_empty() => raise = true,
            c if raise => {
                out.push(c.to_ascii_uppercase());
                raise = false;
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_camel_case_and_keeps_its_first_underscore() {
        assert_eq!(camel("system_instruction"), "systemInstruction");
        assert_eq!(camel("topP"), "topP");
        assert_eq!(camel("_private_name"), "_privateName");
    }
}
