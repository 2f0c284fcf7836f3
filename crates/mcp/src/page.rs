//! Pagination. A cursor holds the key of the last returned item, so that items added or
//! removed between two pages neither repeat nor hide others.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::ErrorData;

/// Items of one page.
pub(crate) const MAX_ITEMS: usize = 200;

/// A page, and the cursor of the next.
#[derive(Debug)]
pub(crate) struct ListPage<T> {
    pub(crate) items: Vec<T>,
    pub(crate) next_cursor: Option<String>,
}

/// One page of `all`, which is sorted by key. `weight` is how much an item counts; a page
/// has at least one item.
pub(crate) fn paginate<T>(
    all: impl Iterator<Item = (String, T)>,
    cursor: Option<&str>,
    weight: impl Fn(&T) -> usize,
) -> Result<ListPage<T>, ErrorData> {
    let after = cursor.map(decode_cursor).transpose()?;
    let mut all = all
        .skip_while(|(key, _)| after.as_ref().is_some_and(|after| key <= after))
        .peekable();
    let (mut items, mut last, mut weight_so_far) = (Vec::new(), None, 0);
    while let Some((key, item)) =
        all.next_if(|(_, item)| weight_so_far == 0 || weight_so_far + weight(item) <= MAX_ITEMS)
    {
        weight_so_far += weight(&item).max(1);
        items.push(item);
        last = Some(key);
    }
    let more = all.peek().is_some();
    let next_cursor = last.filter(|_| more).map(|key| URL_SAFE_NO_PAD.encode(key));
    Ok(ListPage { items, next_cursor })
}

/// The key of the last item that was returned.
pub(crate) fn decode_cursor(cursor: &str) -> Result<String, ErrorData> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.ok_or_else(|| {
        let message = "invalid cursor; omit it to start over";
        ErrorData::invalid_params(message, None)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> impl Iterator<Item = (String, usize)> {
        (0..450).map(|number| (format!("{number:04}"), number))
    }

    #[test]
    fn pages_hold_everything_once_and_in_order() {
        let mut seen = Vec::new();
        let mut cursor = None;
        loop {
            let page = paginate(keys(), cursor.as_deref(), |_| 1).unwrap();
            seen.extend(page.items);
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, (0..450).collect::<Vec<_>>());
    }

    #[test]
    fn heavy_items_make_short_pages_and_strange_cursors_are_refused() {
        let first = paginate(keys(), None, |_| 1000).unwrap();
        assert_eq!(first.items, [0]);
        assert!(paginate(keys(), Some("?"), |_| 1).is_err());
        let beyond = URL_SAFE_NO_PAD.encode("9999");
        assert!(
            paginate(keys(), Some(&beyond), |_| 1)
                .unwrap()
                .items
                .is_empty()
        );
    }
}
