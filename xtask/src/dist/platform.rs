//! The platforms that artefacts are made for, and what each way to package calls them.
//!
//! Must not know how anything is built.

use anyhow::Context;

/// A processor with a C library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Platform {
    #[value(name = "x86_64-unknown-linux-gnu")]
    X86Gnu,
    #[value(name = "x86_64-unknown-linux-musl")]
    X86Musl,
    #[value(name = "aarch64-unknown-linux-gnu")]
    ArmGnu,
    #[value(name = "aarch64-unknown-linux-musl")]
    ArmMusl,
}

impl Platform {
    pub(super) const ALL: [Platform; 4] = [
        Platform::X86Gnu,
        Platform::X86Musl,
        Platform::ArmGnu,
        Platform::ArmMusl,
    ];

    /// The platform of this host, for which this task was built.
    pub(super) fn host() -> anyhow::Result<Platform> {
        let libc = if cfg!(target_env = "musl") {
            "musl"
        } else {
            "gnu"
        };
        let (processor, system) = (std::env::consts::ARCH, std::env::consts::OS);
        let host = format!("{processor}-unknown-{system}-{libc}");
        let mut known = Platform::ALL.into_iter();
        known
            .find(|platform| platform.triple() == host)
            .with_context(|| format!("artefacts cannot be made on {host}"))
    }

    /// Rust's name for it.
    pub(super) fn triple(self) -> &'static str {
        match self {
            Platform::X86Gnu => "x86_64-unknown-linux-gnu",
            Platform::X86Musl => "x86_64-unknown-linux-musl",
            Platform::ArmGnu => "aarch64-unknown-linux-gnu",
            Platform::ArmMusl => "aarch64-unknown-linux-musl",
        }
    }

    /// Whether its programs need no C library of their host: musl is linked into them.
    pub(super) fn is_static(self) -> bool {
        matches!(self, Platform::X86Musl | Platform::ArmMusl)
    }

    /// The processor, as the kernel calls it (`uname -m`).
    pub(super) fn machine(self) -> &'static str {
        match self {
            Platform::X86Gnu | Platform::X86Musl => "x86_64",
            Platform::ArmGnu | Platform::ArmMusl => "aarch64",
        }
    }

    /// The processor, as Debian and container images call it.
    pub(super) fn debian_architecture(self) -> &'static str {
        match self {
            Platform::X86Gnu | Platform::X86Musl => "amd64",
            Platform::ArmGnu | Platform::ArmMusl => "arm64",
        }
    }

    /// The processor, as Node calls it (`process.arch`).
    pub(super) fn node_architecture(self) -> &'static str {
        match self {
            Platform::X86Gnu | Platform::X86Musl => "x64",
            Platform::ArmGnu | Platform::ArmMusl => "arm64",
        }
    }

    /// The npm package with its program. The launcher puts the same name together.
    pub(super) fn npm_package(self) -> String {
        let libc = if self.is_static() { "-musl" } else { "" };
        format!("prowess-linux-{}{libc}", self.node_architecture())
    }

    /// The processor in the head of its programs.
    pub(super) fn elf_machine(self) -> u16 {
        match self {
            Platform::X86Gnu | Platform::X86Musl => 62,
            Platform::ArmGnu | Platform::ArmMusl => 183,
        }
    }

    /// Whether its programs run on a host of another platform, or of the same.
    pub(super) fn runs_on(self, host: Platform) -> bool {
        self == host || (self.is_static() && self.machine() == host.machine())
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_platform_can_be_named_on_the_command_line() {
        assert_eq!(Platform::value_variants(), Platform::ALL);
        for platform in Platform::ALL {
            let value = platform.to_possible_value().unwrap();
            assert_eq!(value.get_name(), platform.triple());
        }
        assert!(Platform::ALL.contains(&Platform::host().unwrap()));
    }

    #[test]
    fn each_way_to_package_has_its_own_names() {
        let names = Platform::ALL.map(|platform| {
            let name = platform.npm_package();
            (platform.debian_architecture(), platform.machine(), name)
        });
        let expected = [
            ("amd64", "x86_64", "prowess-linux-x64"),
            ("amd64", "x86_64", "prowess-linux-x64-musl"),
            ("arm64", "aarch64", "prowess-linux-arm64"),
            ("arm64", "aarch64", "prowess-linux-arm64-musl"),
        ];
        assert_eq!(names, expected.map(|(a, b, c)| (a, b, c.to_owned())));
        for platform in Platform::ALL {
            assert!(platform.triple().starts_with(platform.machine()));
        }
    }

    #[test]
    fn static_programs_run_wherever_their_processor_is() {
        assert!(Platform::X86Gnu.runs_on(Platform::X86Gnu));
        assert!(Platform::X86Musl.runs_on(Platform::X86Gnu));
        assert!(!Platform::X86Gnu.runs_on(Platform::X86Musl));
        assert!(!Platform::ArmMusl.runs_on(Platform::X86Gnu));
        assert!(!Platform::ArmGnu.runs_on(Platform::X86Musl));
    }
}
