//! The terms of a skill as bytes, for an index.
//!
//! A version byte, the four lengths and the number of terms as varints; then each term: how
//! many bytes it shares with the one before and how many follow, both as varints, these
//! bytes, and its counts. Each value has one form only: other bytes are refused.

use std::cmp::Ordering;

use crate::field::FieldCounts;
use crate::limits::{MAX_FIELD_WORDS, MAX_TERM_BYTES};
use crate::skill_terms::SkillTerms;
use crate::varint::{read_varint, write_varint};

const VERSION: u8 = 1;

/// Bytes that are not the encoded terms of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("these bytes are not the encoded terms of a skill")]
pub struct InvalidTerms;

impl SkillTerms {
    /// The terms as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        for length in self.lengths.numbers() {
            write_varint(u64::from(length), &mut bytes);
        }
        write_varint(self.terms.len() as u64, &mut bytes);
        let mut previous = "";
        for (term, counts) in &self.terms {
            let shared = common_bytes(previous.as_bytes(), term.as_bytes());
            write_varint(shared as u64, &mut bytes);
            write_varint((term.len() - shared) as u64, &mut bytes);
            bytes.extend(term.bytes().skip(shared));
            counts.write(&mut bytes);
            previous = term;
        }
        bytes
    }

    /// Reads what [`Self::encode`] has written.
    pub fn decode(bytes: &[u8]) -> Result<Self, InvalidTerms> {
        let mut terms = Vec::new();
        let lengths = each_encoded_term(bytes, |term, counts| {
            terms.push((term.to_owned(), counts));
        })?;
        Ok(Self { lengths, terms })
    }
}

/// Calls `accept` with each encoded term and its counts, sorted by term, and returns the
/// lengths of the fields. Unlike [`SkillTerms::decode`] it allocates nothing per term.
///
/// Terms before the place of an error have been accepted.
pub fn each_encoded_term(
    bytes: &[u8],
    mut accept: impl FnMut(&str, FieldCounts),
) -> Result<FieldCounts, InvalidTerms> {
    let lengths = read_terms(bytes, |term, _, counts| {
        accept(std::str::from_utf8(term).ok()?, counts);
        Some(())
    });
    lengths.ok_or(InvalidTerms)
}

/// As [`each_encoded_term`], for those of some terms that are encoded: `accept` gets the number
/// of each. `selected` must be sorted; whether the other terms are text is not checked.
pub fn each_selected_term(
    bytes: &[u8],
    selected: &[(&str, usize)],
    mut accept: impl FnMut(usize, FieldCounts),
) -> Result<FieldCounts, InvalidTerms> {
    let mut selected = selected.iter();
    let mut next = selected.next();
    // How many bytes the next selected term shares with the encoded term before.
    let mut common = 0;
    let lengths = read_terms(bytes, |term, shared, counts| {
        // What made the term before it come before the next selected one, this term has too.
        if shared > common {
            return Some(());
        }
        while let Some((chosen, number)) = next {
            let chosen = chosen.as_bytes();
            common = common_bytes(term, chosen);
            match term.get(common..).cmp(&chosen.get(common..)) {
                Ordering::Less => break,
                Ordering::Equal => accept(*number, counts),
                Ordering::Greater => {}
            }
            next = selected.next();
        }
        Some(())
    });
    lengths.ok_or(InvalidTerms)
}

fn common_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Calls `accept` with each term, how many bytes it shares with the one before, and its counts.
fn read_terms(
    bytes: &[u8],
    mut accept: impl FnMut(&[u8], usize, FieldCounts) -> Option<()>,
) -> Option<FieldCounts> {
    let (version, mut rest) = bytes.split_first()?;
    let mut lengths = [0; 4];
    for length in &mut lengths {
        *length = u16::try_from(read_varint(&mut rest)?).ok()?;
    }
    let lengths = FieldCounts::new(lengths);
    if *version != VERSION || !lengths.is_within(FieldCounts::new(MAX_FIELD_WORDS)) {
        return None;
    }
    let mut term: Vec<u8> = Vec::with_capacity(MAX_TERM_BYTES);
    for number in 0..read_varint(&mut rest)? {
        let shared = usize::try_from(read_varint(&mut rest)?).ok()?;
        let added = usize::try_from(read_varint(&mut rest)?).ok()?;
        let (added, after) = rest.split_at_checked(added)?;
        rest = after;
        let next = term.get(shared).copied();
        // Terms grow, and share as much as they can.
        let grows = added.first().copied() > next && (shared <= term.len());
        if !(grows || number == 0 && added.is_empty()) || shared + added.len() > MAX_TERM_BYTES {
            return None;
        }
        term.truncate(shared);
        term.extend_from_slice(added);
        let counts = FieldCounts::read(&mut rest)?;
        if term.is_empty() || !counts.is_within(lengths) {
            return None;
        }
        accept(&term, shared, counts)?;
    }
    rest.is_empty().then_some(lengths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill_terms::SkillText;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn terms_are_decoded_as_they_were_encoded(
            name in "\\PC{0,40}", description in "\\PC{0,200}", body in "(\\PC{0,30}\n|# \\PC{0,9}\n){0,20}",
        ) {
            let terms = SkillTerms::new(&SkillText {
                name: &name, description: &description, when_to_use: "", body: &body,
                triggers: &[description.chars().take(30).collect(), name.clone()],
            });
            let bytes = terms.encode();
            prop_assert_eq!(SkillTerms::decode(&bytes), Ok(terms));
            for end in 0..bytes.len() {
                prop_assert_eq!(SkillTerms::decode(bytes.get(..end).unwrap()), Err(InvalidTerms));
            }
        }

        #[test]
        fn selected_terms_are_found_among_all(
            body in "[ab]{1,6}( [ab]{1,6}){0,40}", selected in "[ab]{1,6}( [abc]{1,6}){0,20}",
        ) {
            let encoded = SkillTerms::new(&SkillText { body: &body, ..SkillText::default() });
            let selected: std::collections::BTreeSet<_> = selected.split(' ').collect();
            let selected: Vec<_> = selected.into_iter().zip(7usize..).collect();
            let mut found = Vec::new();
            let bytes = encoded.encode();
            let lengths = each_selected_term(&bytes, &selected, |number, counts| {
                found.push((number, counts));
            });
            prop_assert_eq!(lengths, Ok(encoded.lengths()));
            let among = selected.iter();
            let among = among.filter_map(|(term, number)| Some((*number, encoded.get(term)?)));
            prop_assert_eq!(found, among.collect::<Vec<_>>());
        }

        #[test]
        fn changed_bytes_are_refused_or_have_one_form(
            body in "[a-e]{1,3}( [a-e]{1,3}){0,20}", at in any::<proptest::sample::Index>(), byte in any::<u8>(),
        ) {
            let text = SkillText { body: &body, ..SkillText::default() };
            let mut bytes = SkillTerms::new(&text).encode();
            let at = at.index(bytes.len());
            *bytes.get_mut(at).unwrap() = byte;
            if let Ok(terms) = SkillTerms::decode(&bytes) {
                prop_assert_eq!(terms.encode(), bytes);
            }
        }

        #[test]
        fn any_bytes_are_refused_or_have_one_form(bytes in proptest::collection::vec(0..20u8, 0..40)) {
            if let Ok(terms) = SkillTerms::decode(&bytes) {
                prop_assert_eq!(terms.encode(), bytes);
            }
        }
    }

    #[test]
    fn most_terms_need_few_bytes() {
        let words: Vec<_> = (0..200)
            .map(|number| format!("word{}", number * 7))
            .collect();
        let body = words.join(" ");
        let text = SkillText {
            body: &body,
            ..SkillText::default()
        };
        assert!(SkillTerms::new(&text).encode().len() < body.len());
    }

    #[test]
    fn hostile_numbers_are_refused() {
        // 2^63 terms; a term longer than the bytes; a term that shares more than there is.
        let head = [VERSION, 0, 0, 0, 9];
        let with = |rest: &[u8]| SkillTerms::decode(&[&head, rest].concat());
        let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(with(&huge), Err(InvalidTerms));
        assert_eq!(
            with(&[&[1, 0][..], &huge, b"a"].concat()),
            Err(InvalidTerms)
        );
        assert_eq!(with(&[1, 1, 1, b'a', 0x18]), Err(InvalidTerms));
        assert!(with(&[1, 0, 1, b'a', 0x18]).is_ok());
        // A term that occurs more often than its field has words.
        assert_eq!(with(&[1, 0, 1, b'a', 0xa8]), Err(InvalidTerms));
        assert_eq!(SkillTerms::decode(&[]), Err(InvalidTerms));
    }
}
