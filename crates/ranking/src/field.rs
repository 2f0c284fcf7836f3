//! The fields of a skill that are ranked, and numbers per field.

use crate::varint::{read_varint, write_varint};

/// A part of a skill whose words are counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// The name.
    Name,
    /// The description, and when to use the skill.
    Description,
    /// The headings of the instructions.
    Headings,
    /// The instructions without their headings.
    Body,
}

impl Field {
    /// Every field, in the order of all numbers per field.
    pub const ALL: [Self; 4] = [Self::Name, Self::Description, Self::Headings, Self::Body];

    /// As it is called in APIs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Description => "description",
            Self::Headings => "headings",
            Self::Body => "body",
        }
    }
}

/// A number per field: how often a term occurs there, or how many words it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FieldCounts([u16; 4]);

impl FieldCounts {
    /// From the numbers in the order of [`Field::ALL`].
    pub fn new(numbers: [u16; 4]) -> Self {
        Self(numbers)
    }

    /// The numbers in the order of [`Field::ALL`].
    pub fn numbers(self) -> [u16; 4] {
        self.0
    }

    /// The number of a field.
    pub fn get(self, field: Field) -> u16 {
        let [name, description, headings, body] = self.0;
        match field {
            Field::Name => name,
            Field::Description => description,
            Field::Headings => headings,
            Field::Body => body,
        }
    }

    /// The fields whose number is not zero.
    pub fn fields(self) -> impl Iterator<Item = Field> {
        Field::ALL
            .into_iter()
            .filter(move |field| self.get(*field) > 0)
    }

    /// Whether all numbers are zero.
    pub fn is_zero(self) -> bool {
        self.0 == [0; 4]
    }

    /// Whether no number exceeds the other's of the same field.
    pub(crate) fn is_within(self, other: Self) -> bool {
        self.0
            .iter()
            .zip(other.0)
            .all(|(mine, other)| *mine <= other)
    }

    /// Adds one, up to the largest number there is.
    pub(crate) fn increment(&mut self, field: Field) {
        let [name, description, headings, body] = &mut self.0;
        let number = match field {
            Field::Name => name,
            Field::Description => description,
            Field::Headings => headings,
            Field::Body => body,
        };
        *number = number.saturating_add(1);
    }

    /// Appends the numbers of a term: one byte if it occurs in one field and less than 16
    /// times, which is how most terms occur.
    ///
    /// The byte has a bit per field with a number, and in its upper half the first of these
    /// numbers, or 0 if that one follows too. The other numbers follow as varints.
    pub fn write(self, bytes: &mut Vec<u8>) {
        let mut present = 0;
        let mut numbers = Vec::with_capacity(4);
        for (bit, number) in self.0.iter().enumerate() {
            if *number > 0 {
                present |= 1u8 << bit;
                numbers.push(*number);
            }
        }
        let first = numbers.first().copied().unwrap_or_default();
        let short = u8::try_from(first).ok().filter(|first| *first < 16);
        bytes.push(present | short.unwrap_or_default() << 4);
        for number in numbers.into_iter().skip(usize::from(short.is_some())) {
            write_varint(u64::from(number), bytes);
        }
    }

    /// Reads what [`Self::write`] has written, and advances `bytes`. `None` for anything
    /// else, and for a term that occurs nowhere.
    #[inline]
    pub fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first()?;
        *bytes = rest;
        let (present, mut short) = (head & 15, u16::from(head >> 4));
        if present == 0 {
            return None;
        }
        let mut counts = Self::default();
        // The usual form, apart: reading postings takes most of the time of a search.
        if present.is_power_of_two() && short > 0 {
            if let Some(number) = counts.0.get_mut(present.trailing_zeros() as usize) {
                *number = short;
            }
            return Some(counts);
        }
        for (bit, number) in counts.0.iter_mut().enumerate() {
            if present & 1 << bit == 0 {
                continue;
            }
            let is_first = present.trailing_zeros() == u32::try_from(bit).ok()?;
            *number = if is_first && short > 0 {
                std::mem::take(&mut short)
            } else {
                let number = u16::try_from(read_varint(bytes)?).ok()?;
                // Each value has one form only.
                if number < if is_first { 16 } else { 1 } {
                    return None;
                }
                number
            };
        }
        Some(counts)
    }
}
