//! What is read and rendered, and what never is.

use super::Requirement;
use proptest::prelude::*;

fn rendered(line: &str) -> String {
    Requirement::parse_line(line).unwrap().to_string()
}

#[test]
fn the_forms_of_pep_508_are_read_and_written_in_one_form() {
    for (line, expected) in [
        ("Pillow", "pillow"),
        ("A.B-_C", "a-b-c"),
        ("numpy>=2,<3", "numpy>=2,<3"),
        ("numpy (>= 2.0 , != 2.1.*)", "numpy>=2.0,!=2.1.*"),
        ("x[z_1, Y,z-1]~=1.0", "x[Y,z-1]~=1.0"),
        ("x[Foo_Bar, a.b]", "x[a.b,Foo_Bar]"),
        ("x[b.zip]", "x[b.zip]"),
        ("backports.lzma>=0.1", "backports-lzma>=0.1"),
        ("a.xz", "a-xz"),
        ("x[]", "x"),
        ("x===1.0+local.1", "x===1.0+local.1"),
        ("x==1!2.0.post1", "x==1!2.0.post1"),
        (
            "a>=1; python_version < '3.13'",
            "a>=1 ; python_version < \"3.13\"",
        ),
        (
            "a;(os.name=='nt' or sys_platform in \"linux\") and 'x' not  in extra",
            "a ; (os_name == \"nt\" or sys_platform in \"linux\") and \"x\" not in extra",
        ),
    ] {
        assert_eq!(rendered(line), expected, "{line}");
    }
    let digest = "Ab".repeat(32);
    assert_eq!(
        rendered(&format!(
            "a==1 ; os_name == 'posix'  --hash=sha256:{digest}"
        )),
        format!(
            "a==1 ; os_name == \"posix\" --hash=sha256:{}",
            digest.to_lowercase()
        )
    );
}

#[test]
fn addresses_paths_options_and_files_are_refused_in_every_spelling() {
    let digest = "a".repeat(64);
    let lines = [
        "evilpkg @ http://index.test/f/evilpkg-1.0.tar.gz#--hash=",
        "evilpkg@http://index.test/f/evilpkg-1.0.tar.gz --hash=sha256:DIGEST",
        "evilpkg @ http://index.test/e.tar.gz --hash=sha256:DIGEST",
        "http://index.test/f/evilpkg-1.0.tar.gz --hash=sha256:DIGEST",
        "http://index.test/f/evilpkg-1.0.tar.gz#sha256=DIGEST",
        "evilpkg @ file:///mnt/data/x",
        "evilpkg[x] @ git+https://index.test/x",
        "evilpkg==1 @ http://index.test/x",
        "evilpkg ; os_name == 'posix' @ http://index.test/x",
        "evilpkg ; os_name == 'x --index-url=http://index.test'",
        "evilpkg ; os_name == 'x@y'",
        "evilpkg ; os_name == 'posix' #--hash=sha256:DIGEST",
        "evilpkg --hash=sha256:DIGEST --index-url=http://index.test",
        "evilpkg --hash=sha256:DIGEST evil",
        "evilpkg --hash sha256:DIGEST",
        "evilpkg --hash=md5:DIGEST",
        "evilpkg --hash=sha256:../../x",
        "evilpkg --hash=sha256:",
        "evilpkg==1 -e .",
        "evilpkg==${HOME}",
        "evilpkg-1.0.tar.gz",
        "evilpkg-1.0-py3-none-any.whl",
        "evilpkg==1.0.ZIP",
        "evilpkg==1.0.lzma",
        "evilpkg[x]===1.0.tar.gz",
        "evilpkg.tar.lzma",
        "evilpkg[x.zip/../y]",
        "./evilpkg",
        "a/b",
        "a\\b",
        "C:\\x",
        "-e.",
        "--pre",
        "-",
        "",
        " ",
        "a b",
        "a,b",
        "a==",
        "a==1,",
        "a==-r",
        "a[",
        "a[b",
        "a[b c]",
        "a[-r]",
        "a(",
        "a()",
        "a;",
        "a; x == '1'",
        "a; 'x' == 'x'",
        "a; os_name == posix",
        "a; os_name == 'posix",
        "a; (os_name == 'posix'",
        "a; os_name == 'posix' or",
        "a\u{2028}--pre",
        "a\u{85}--pre",
        "a\u{b}--pre",
        "a\u{c}--pre",
        "a\r--pre",
        "a\n--pre",
        "a\0",
        "\u{feff}a",
        "а",
    ];
    for line in lines {
        let line = line.replace("DIGEST", &digest);
        assert!(Requirement::parse_line(&line).is_err(), "{line:?}");
    }
    let deep = format!("a; {}os_name == 'x'{}", "(".repeat(500), ")".repeat(500));
    assert!(Requirement::parse_line(&deep).is_err());
    assert!(Requirement::parse_line(&"a".repeat(5000)).is_err());
}

/// Parts of requirements, and of attacks on their parsers.
const PIECES: [&str; 44] = [
    "evil",
    "pkg",
    "1.0",
    "==",
    ">=",
    "~=",
    "===",
    ",",
    "[",
    "]",
    "(",
    ")",
    ";",
    " ",
    " ",
    "\t",
    "@",
    " @ ",
    "://",
    "http://index.test/a.tar.gz",
    "/",
    "..",
    "-",
    " -e ",
    " --index-url=x",
    "--hash=",
    " --hash=sha256:",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "#",
    " #",
    "\n",
    "\r",
    "\u{2028}",
    "\u{85}",
    "\u{b}",
    "\\",
    "\\\n",
    "'",
    "\"",
    "os_name",
    " and ",
    " in ",
    "${X}",
    ".whl",
];

fn harmless(line: &str) {
    assert!(
        !line.contains(['@', '\n', '\r', '#', '/', '\\', '$']),
        "{line:?}"
    );
    assert!(!line.contains("://") && !line.starts_with('-'), "{line:?}");
    assert!(
        line.is_ascii() && !line.contains(|c: char| c.is_control()),
        "{line:?}"
    );
    let options = line.split(' ').filter(|word| word.starts_with('-'));
    for option in options {
        let digest = option.strip_prefix("--hash=sha256:").unwrap();
        assert!(digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit()));
    }
    let again = Requirement::parse_line(line).unwrap();
    assert_eq!(again.to_string(), line);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn nothing_hostile_is_ever_rendered(
        pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..14),
    ) {
        if let Ok(requirement) = Requirement::parse_line(&pieces.concat()) {
            harmless(&requirement.to_string());
        }
    }

    #[test]
    fn any_text_after_a_package_is_refused_or_harmless(text in "\\PC{0,80}") {
        for line in [text.clone(), format!("a{text}"), format!("a==1 ; os_name == '{text}'")] {
            if let Ok(requirement) = Requirement::parse_line(&line) {
                harmless(&requirement.to_string());
            }
        }
    }

    #[test]
    fn what_is_rendered_reads_back_as_the_same(
        name in "[A-Za-z0-9]([A-Za-z0-9_-]{0,8}[A-Za-z0-9])?",
        extras in proptest::collection::vec("[a-z]([a-z0-9_]{0,4}[a-z0-9])?", 0..3),
        versions in proptest::collection::vec(("(==|>=|<=|~=|!=|<|>)", "[0-9]{1,2}(\\.[0-9]{1,2}){0,2}"), 0..3),
        marker in proptest::option::of("python_version (<|>=) '3\\.[0-9]'( (and|or) (\\(os_name == 'nt'\\)|extra != 'x')){0,3}"),
    ) {
        let versions: Vec<String> = versions.iter().map(|(op, v)| format!("{op} {v}")).collect();
        let mut line = format!("{name} [{}] {}", extras.join(", "), versions.join(" , "));
        if let Some(marker) = marker {
            line = format!("{line}; {marker}");
        }
        let first = Requirement::parse_line(&line).unwrap();
        prop_assert_eq!(Requirement::parse_line(&first.to_string()).unwrap(), first.clone());
        harmless(&first.to_string());
    }
}
