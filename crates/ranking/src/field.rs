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
    #[inline]
    pub fn new(numbers: [u16; 4]) -> Self {
        Self(numbers)
    }

    /// The numbers in the order of [`Field::ALL`].
    #[inline]
    pub fn numbers(self) -> [u16; 4] {
        self.0
    }

    /// The number of a field.
    #[inline]
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

    /// Whether name or description has a number.
    #[inline]
    pub fn is_in_summary(self) -> bool {
        self.get(Field::Name) > 0 || self.get(Field::Description) > 0
    }

    /// Whether all numbers are zero.
    pub fn is_zero(self) -> bool {
        self.0 == [0; 4]
    }

    /// Whether no number exceeds the other's of the same field.
    #[inline]
    pub(crate) fn is_within(self, other: Self) -> bool {
        let [name, description, headings, body] = self.0;
        let [most_names, most_descriptions, most_headings, most_body] = other.0;
        name <= most_names
            && description <= most_descriptions
            && headings <= most_headings
            && body <= most_body
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
        let (present, short) = (head & 15, head >> 4);
        // The usual form, apart: reading postings takes most of the time of a search.
        if present.is_power_of_two() && short > 0 {
            let number = u64::from(short) << (16 * present.trailing_zeros());
            return Some(Self::from_packed(number));
        }
        Self::read_fields(present, short, bytes)
    }

    /// The numbers of the fields in `present`. The first is `short`, or follows if that is 0.
    #[inline(never)]
    fn read_fields(mut present: u8, short: u8, bytes: &mut &[u8]) -> Option<Self> {
        if present == 0 {
            return None;
        }
        let shift = |present: u8| 16 * present.trailing_zeros();
        // Each value has one form only.
        let (mut packed, mut least) = (0, 16);
        if short > 0 {
            packed = u64::from(short) << shift(present);
            least = 1;
            present &= present - 1;
        }
        while present != 0 {
            let number = u16::try_from(read_varint(bytes)?).ok()?;
            if number < least {
                return None;
            }
            packed |= u64::from(number) << shift(present);
            least = 1;
            present &= present - 1;
        }
        Some(Self::from_packed(packed))
    }

    /// From 16 bits per field, the first lowest. Numbers that are put together in a register
    /// need not be read back from memory.
    #[inline]
    fn from_packed(packed: u64) -> Self {
        Self([0, 16, 32, 48].map(|shift: u32| (packed >> shift) as u16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = u16> {
        prop_oneof![Just(0), 1..20u16, any::<u16>()]
    }

    proptest! {
        #[test]
        fn numbers_are_read_as_they_were_written(numbers in [number(), number(), number(), number()]) {
            let counts = FieldCounts::new(numbers);
            let mut bytes = Vec::new();
            counts.write(&mut bytes);
            let mut rest = bytes.as_slice();
            let read = FieldCounts::read(&mut rest);
            prop_assert_eq!(read, (!counts.is_zero()).then_some(counts));
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn each_value_has_one_form(bytes in prop::collection::vec(any::<u8>(), 0..8)) {
            let mut rest = bytes.as_slice();
            if let Some(counts) = FieldCounts::read(&mut rest) {
                let mut written = Vec::new();
                counts.write(&mut written);
                written.extend_from_slice(rest);
                prop_assert_eq!(written, bytes);
            }
        }
    }
}
