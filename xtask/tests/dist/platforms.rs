//! Artefacts of other platforms than this host's. Their programs are built by hand and by the
//! release workflow; here are others in their place, of which only the head matters.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::{binary, everything, succeeded};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A program of this host that says it is one for aarch64.
fn arm_program(folder: &Path) -> PathBuf {
    let mut program = fs::read("/usr/bin/env").unwrap();
    // The processor, in the head of a program.
    let processor = program.get_mut(18..20).unwrap();
    processor.copy_from_slice(&183u16.to_le_bytes());
    let place = folder.join("arm-program");
    fs::write(&place, program).unwrap();
    place
}

/// `cargo xtask dist` for a platform, with a program in place of a build.
fn dist_for(target: &str, program: &Path, only: &str, out: &Path) -> Output {
    let mut dist = Command::new(env!("CARGO_BIN_EXE_xtask"));
    dist.args(["dist", "--quick", "--target", target, "--only", only]);
    dist.arg("--binary").arg(program);
    dist.arg("--host-binary").arg(binary());
    dist.arg("--out").arg(out).output().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// The `package.json` of an npm package.
fn manifest(package: &Path) -> Value {
    let mut unpack = Command::new("tar");
    unpack.args(["--extract", "--to-stdout", "--file"]);
    let text = succeeded(unpack.arg(package).arg("package/package.json"));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn artefacts_of_another_processor_have_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let program = arm_program(folder.path());
    let made = dist_for(
        "aarch64-unknown-linux-gnu",
        &program,
        "deb,tarball,npm",
        &out,
    );
    let shown = everything(&made);
    assert!(made.status.success(), "{shown}");
    assert!(
        shown.contains("for Linux on aarch64 with glibc "),
        "{shown}"
    );
    let archive = format!("prowess-{VERSION}-aarch64-unknown-linux-gnu.tar.gz");
    let package = format!("prowess_{VERSION}-1_arm64.deb");
    let npm = format!("prowess-linux-arm64-{VERSION}.tgz");
    let mut expected = vec![
        "SHA256SUMS".to_owned(),
        "install.sh".to_owned(),
        archive.clone(),
        format!("prowess-{VERSION}-aarch64-unknown-linux-gnu.cdx.json"),
        format!("prowess-{VERSION}.tgz"),
        npm.clone(),
        package.clone(),
    ];
    expected.sort();
    assert_eq!(names(&out), expected);

    let field = |name: &str| {
        let mut field = Command::new("dpkg-deb");
        succeeded(field.arg("--field").arg(out.join(&package)).arg(name))
    };
    assert_eq!(field("Architecture"), "arm64\n");
    assert!(field("Depends").starts_with("libc6 (>= 2."));

    let platform = manifest(&out.join(&npm));
    assert_eq!(platform["name"], "prowess-linux-arm64");
    assert_eq!(platform["cpu"], json!(["arm64"]));
    assert_eq!(platform["libc"], json!(["glibc"]));
    let launcher = manifest(&out.join(format!("prowess-{VERSION}.tgz")));
    let dependencies = json!({ "prowess-linux-arm64": VERSION });
    assert_eq!(launcher["optionalDependencies"], dependencies);

    // Written by the program of this host: the other does not run here.
    let mut list = Command::new("tar");
    let files = succeeded(list.arg("-tzf").arg(out.join(&archive)));
    for file in [
        "share/man/man1/prowess-serve.1",
        "share/completions/_prowess",
    ] {
        assert!(files.contains(file), "{file} is not in:\n{files}");
    }
}

#[test]
fn a_static_program_has_no_debian_package_and_suits_every_c_library() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    // The one program of every Debian that needs no library.
    let program = Path::new("/sbin/ldconfig");
    let target = "x86_64-unknown-linux-musl";
    let made = dist_for(target, program, "deb,tarball,npm", &out);
    // A Debian package was named, and there is none.
    assert!(!made.status.success());
    let shown = everything(&made);
    assert!(
        shown.contains(&format!(
            "--only=deb gives nothing: there is none for {target}"
        )),
        "{shown}"
    );

    let made = dist_for(target, program, "tarball,npm", &out);
    assert!(made.status.success(), "{}", everything(&made));
    let names = names(&out);
    let npm = format!("prowess-linux-x64-musl-{VERSION}.tgz");
    for name in [&npm, &format!("prowess-{VERSION}-{target}.tar.gz")] {
        assert!(names.contains(name), "{name} is not among {names:?}");
    }
    let platform = manifest(&out.join(&npm));
    assert_eq!(platform["cpu"], json!(["x64"]));
    assert_eq!(platform.get("libc"), None);
}

#[test]
fn a_program_of_another_platform_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let arm = arm_program(folder.path());
    let cases = [
        (
            "aarch64-unknown-linux-gnu",
            Path::new("/usr/bin/env"),
            "is not a program for aarch64-unknown-linux-gnu",
        ),
        (
            "x86_64-unknown-linux-gnu",
            arm.as_path(),
            "is not a program for x86_64-unknown-linux-gnu",
        ),
        (
            "x86_64-unknown-linux-musl",
            Path::new("/usr/bin/env"),
            "it needs libc.so.6",
        ),
        (
            "x86_64-unknown-linux-gnu",
            Path::new("/sbin/ldconfig"),
            "it is not linked with glibc",
        ),
    ];
    for (target, program, reason) in cases {
        let out = folder.path().join("out");
        let refused = dist_for(target, program, "tarball", &out);
        let shown = everything(&refused);
        assert!(!refused.status.success(), "{target}: {shown}");
        assert!(shown.contains(reason), "{target}: {shown}");
    }
}

#[test]
fn a_target_that_rust_cannot_build_for_comes_with_the_command_that_helps() {
    let folder = tempfile::tempdir().unwrap();
    // A compiler with the standard library of no platform.
    let compiler = folder.path().join("rustc");
    fs::write(&compiler, "#!/bin/sh\necho /nothing/lib\n").unwrap();
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let target = "aarch64-unknown-linux-musl";
    let mut dist = Command::new(env!("CARGO_BIN_EXE_xtask"));
    dist.args(["dist", "--target", target, "--out"]);
    dist.arg(folder.path().join("out"));
    dist.env("PATH", format!("{}:{path}", folder.path().display()));
    let refused = dist.output().unwrap();
    let shown = everything(&refused);
    assert!(!refused.status.success(), "{shown}");
    assert!(
        shown.contains(&format!("run `rustup target add {target}`")),
        "{shown}"
    );
}

#[test]
fn an_unknown_target_is_refused_with_those_there_are() {
    let mut dist = Command::new(env!("CARGO_BIN_EXE_xtask"));
    dist.args(["dist", "--target", "riscv64gc-unknown-linux-gnu"]);
    let refused = dist.output().unwrap();
    let shown = everything(&refused);
    assert!(!refused.status.success(), "{shown}");
    assert!(shown.contains("aarch64-unknown-linux-musl"), "{shown}");
}
