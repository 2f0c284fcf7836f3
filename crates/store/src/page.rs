//! Pagination that stays correct while others insert and delete.
//!
//! A page begins after (or before) a cursor, so nothing is skipped or repeated when the
//! list changes. The item of the cursor may have been deleted. An offset is only for
//! clients that do not support cursors.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::error::{Error, Result};

/// Maximum items per page.
pub const MAX_PAGE_ITEMS: u32 = 1_000;

/// Maximum offset: the database scans all rows before it.
pub const MAX_PAGE_OFFSET: u32 = 100_000;

/// The sort order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SortOrder {
    /// Oldest first.
    Ascending,
    /// Newest first.
    #[default]
    Descending,
}

/// The requested part of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct PageRequest {
    /// Maximum number of items, clamped to 1 to [`MAX_PAGE_ITEMS`].
    pub limit: u32,
    /// The sort order.
    pub order: SortOrder,
    /// The start.
    pub from: PagePosition,
}

impl Default for PageRequest {
    fn default() -> Self {
        PageRequest {
            limit: 20,
            order: SortOrder::default(),
            from: PagePosition::Start,
        }
    }
}

impl PageRequest {
    /// One more than the page size, to find out whether there is another page.
    pub(crate) fn fetch_limit(&self) -> i64 {
        i64::from(self.clamped_limit()) + 1
    }

    pub(crate) fn clamped_limit(&self) -> u32 {
        self.limit.clamp(1, MAX_PAGE_ITEMS)
    }
}

/// Where a page begins, in list order.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum PagePosition {
    /// At the first item.
    #[default]
    Start,
    /// After the item of a cursor.
    After(PageCursor),
    /// The items directly before that of a cursor.
    Before(PageCursor),
    /// After this many items, clamped to [`MAX_PAGE_OFFSET`]. For clients that count:
    /// they may miss or repeat items when the list changes.
    Offset(u32),
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordPage<T> {
    /// The items, in the requested order.
    pub items: Vec<T>,
    /// Where the next page begins; `None` at the end. If the page was requested with
    /// [`PagePosition::Before`], the next page is the preceding one.
    pub next: Option<PageCursor>,
}

impl<T> RecordPage<T> {
    /// Whether there is another page.
    pub fn has_more(&self) -> bool {
        self.next.is_some()
    }

    /// Converts the items.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> RecordPage<U> {
        RecordPage {
            items: self.items.into_iter().map(change).collect(),
            next: self.next,
        }
    }

    /// From the items fetched for `request`: one more than the page size, if there are
    /// more.
    pub(crate) fn from_fetched(
        mut items: Vec<T>,
        request: &PageRequest,
        cursor: impl Fn(&T) -> PageCursor,
    ) -> Self {
        let limit = request.clamped_limit() as usize;
        let more = items.len() > limit;
        items.truncate(limit);
        let next = if more { items.last().map(cursor) } else { None };
        if matches!(request.from, PagePosition::Before(_)) {
            items.reverse();
        }
        RecordPage { items, next }
    }
}

/// A position in a list: the sort key and id of an item. Opaque as text.
#[derive(Debug, Clone, PartialEq)]
pub struct PageCursor {
    score: Option<f64>,
    id: String,
}

impl PageCursor {
    /// The position of the item with this id, for dialects whose cursors are ids.
    pub fn from_id(id: impl Into<String>) -> Self {
        PageCursor {
            score: None,
            id: id.into(),
        }
    }

    pub(crate) fn from_score(score: f64, id: impl Into<String>) -> Self {
        PageCursor {
            score: Some(score),
            id: id.into(),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The sort key, in lists that have one.
    pub(crate) fn score(&self) -> Option<f64> {
        self.score
    }

    /// As opaque text for a client.
    pub fn encode(&self) -> String {
        let key = match self.score {
            None => format!("i:{}", self.id),
            Some(score) => format!("s:{:016x}:{}", score.to_bits(), self.id),
        };
        URL_SAFE_NO_PAD.encode(key)
    }

    /// Parses the text of [`PageCursor::encode`].
    pub fn decode(text: &str) -> Result<Self> {
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|_| Error::InvalidCursor)?;
        let key = String::from_utf8(bytes).map_err(|_| Error::InvalidCursor)?;
        match key.split_once(':') {
            Some(("i", id)) => Ok(PageCursor::from_id(id)),
            Some(("s", rest)) => {
                let (bits, id) = rest.split_once(':').ok_or(Error::InvalidCursor)?;
                let bits = u64::from_str_radix(bits, 16).map_err(|_| Error::InvalidCursor)?;
                Ok(PageCursor::from_score(f64::from_bits(bits), id))
            }
            _ => Err(Error::InvalidCursor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cursor_reads_back_as_it_was_written() {
        for cursor in [
            PageCursor::from_id("skill_01"),
            PageCursor::from_score(-0.125, "skill_01"),
        ] {
            assert_eq!(PageCursor::decode(&cursor.encode()).unwrap(), cursor);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_decoding_panic(text in ".*") {
            let _ = PageCursor::decode(&text);
            let _ = PageCursor::decode(&URL_SAFE_NO_PAD.encode(text));
        }
    }

    #[test]
    fn a_page_requested_backwards_is_in_list_order() {
        let request = PageRequest {
            limit: 2,
            from: PagePosition::Before(PageCursor::from_id("9")),
            ..PageRequest::default()
        };
        let page =
            RecordPage::from_fetched(vec!["8", "7", "6"], &request, |id| PageCursor::from_id(*id));
        assert_eq!(page.items, ["7", "8"]);
        assert_eq!(page.next, Some(PageCursor::from_id("7")));
    }
}
