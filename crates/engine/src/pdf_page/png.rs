//! Whether a file that a command left may be taken for a picture. Only its ends are read: what
//! shows it decodes it.

/// How every PNG file begins: signature, length and name of its first chunk.
const HEAD: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
/// Its last chunk.
const END: &[u8] = b"\0\0\0\0IEND\xaeB`\x82";

/// Width and height of a picture in pixels; nothing if it is no whole PNG file.
pub(super) fn dimensions(file: &[u8]) -> Option<(u32, u32)> {
    let rest = file.strip_prefix(HEAD)?;
    let (width, rest) = rest.split_first_chunk::<4>()?;
    let (height, _) = rest.split_first_chunk::<4>()?;
    let found = (u32::from_be_bytes(*width), u32::from_be_bytes(*height));
    file.ends_with(END).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_png_file_has_dimensions() {
        let size = [0, 0, 4, 0, 0, 0, 0, 9];
        let whole = [HEAD, &size, b"\x08\x02\0\0\0 rest", END].concat();
        assert_eq!(dimensions(&whole), Some((1024, 9)));
        let cut = whole.len() - 1;
        assert_eq!(dimensions(&whole[..cut]), None);
        for other in [&b""[..], b"<svg/>", HEAD, END, b"GIF89a\x01\0\x01\0"] {
            assert_eq!(dimensions(other), None, "{other:?}");
        }
    }
}
