//! Values with units (lengths of time and sizes), and lists of texts. Knows nothing of any
//! section.
//!
//! A text has its unit (`"30s"`, `"512M"`). A plain number has the unit that the earlier name
//! of the key said: `idle_seconds = 75` is `idle_timeout = 75` and `idle_timeout = "75s"`.
//!
//! An earlier name of a key is written beside its field, and nowhere else:
//! `#[schemars(extend("x-old-names" = ["idle_seconds"]))]`. `super::keys` gives such a key its
//! present name before the file is read, so that no `#[serde(alias)]` is needed.

mod bytes;
mod duration;
mod text_list;

pub(in crate::config) use bytes::BytesSetting;
pub(in crate::config) use duration::{Days, DurationSetting, Milliseconds};
pub(in crate::config) use text_list::TextList;
