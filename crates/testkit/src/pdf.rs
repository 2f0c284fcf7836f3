//! Small PDF files, written object by object, so that they can lie.

/// A PDF file whose pages are each of one colour.
#[derive(Debug, Clone)]
pub struct PdfFixture {
    /// The colour of each page: red, green and blue, from 0 to 1.
    colours: Vec<&'static str>,
    /// Width and height of all pages, in points.
    page_size: &'static str,
    /// The number of pages that it claims to have.
    claimed_pages: usize,
    /// More entries of its trailer.
    trailer: &'static str,
}

/// A dictionary of encryption with a password that nobody knows.
const ENCRYPTED: &str = "/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 \
    /O <0101010101010101010101010101010101010101010101010101010101010101> \
    /U <0202020202020202020202020202020202020202020202020202020202020202> >> \
    /ID [<03030303030303030303030303030303> <03030303030303030303030303030303>]";

impl PdfFixture {
    /// One page of A4 for each colour, such as `1 0 0`.
    pub fn new(colours: &[&'static str]) -> PdfFixture {
        PdfFixture {
            colours: colours.to_vec(),
            page_size: "595 842",
            claimed_pages: colours.len(),
            trailer: "",
        }
    }

    /// With pages of this width and height.
    pub fn page_size(self, page_size: &'static str) -> PdfFixture {
        PdfFixture { page_size, ..self }
    }

    /// It claims to have so many pages.
    pub fn claimed_pages(self, claimed_pages: usize) -> PdfFixture {
        PdfFixture {
            claimed_pages,
            ..self
        }
    }

    /// It needs a password.
    pub fn encrypted(self) -> PdfFixture {
        PdfFixture {
            trailer: ENCRYPTED,
            ..self
        }
    }

    /// The file.
    pub fn bytes(&self) -> Vec<u8> {
        let size = self.page_size;
        // Two objects for each page, after the first two.
        let numbers = (0..self.colours.len()).map(|at| at * 2 + 3);
        let kids: Vec<String> = numbers.map(|number| format!("{number} 0 R")).collect();
        let mut objects = vec![
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            format!(
                "<< /Type /Pages /Kids [{}] /Count {} >>",
                kids.join(" "),
                self.claimed_pages
            ),
        ];
        for colour in &self.colours {
            let contents = objects.len() + 2;
            objects.push(format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {size}] /Contents {contents} 0 R >>"
            ));
            let drawing = format!("{colour} rg 0 0 {size} re f");
            let length = drawing.len();
            objects.push(format!(
                "<< /Length {length} >>\nstream\n{drawing}\nendstream"
            ));
        }
        let mut file = "%PDF-1.7\n".to_owned();
        let mut table = String::new();
        for (at, object) in objects.iter().enumerate() {
            table.push_str(&format!("{:010} 00000 n \n", file.len()));
            file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", at + 1));
        }
        let (start, count) = (file.len(), objects.len() + 1);
        file.push_str(&format!(
            "xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n\
             << /Size {count} /Root 1 0 R {} >>\nstartxref\n{start}\n%%EOF\n",
            self.trailer
        ));
        file.into_bytes()
    }
}
