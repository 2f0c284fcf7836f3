#!/bin/sh
# Installs prowess for Linux on x86-64 or aarch64, from an archive of a release.
#
#   PROWESS_INSTALL_DIR   where the program goes (default: ~/.local/bin)
#   PROWESS_BASE_URL      where archives and SHA256SUMS are (default: beside this script, if
#                         they are there; otherwise the release's page)
#
# There are two archives for each processor. The program in one needs glibc; that in the other needs
# no C library, and is for hosts where glibc is missing or too old.
#
# Nothing runs before the last line, so a script that was cut off does nothing.
set -eu

version="@VERSION@"

usage() {
    cat <<'TEXT'
Installs prowess for Linux on x86-64 or aarch64.

Usage: install.sh [--version VERSION] [--help]

Variables:
  PROWESS_INSTALL_DIR   where the program goes (default: ~/.local/bin)
  PROWESS_BASE_URL      where archives and SHA256SUMS are (default: beside this script, if
                        they are there; otherwise the release's page)
TEXT
}

fail() {
    echo "error: $1" >&2
    exit 1
}

download() {
    if [ -f "$1" ]; then
        cp "$1" "$2"
    elif command -v curl >/dev/null 2>&1; then
        curl --fail --silent --show-error --location --output "$2" "$1"
    elif command -v wget >/dev/null 2>&1; then
        wget --quiet --output-document="$2" "$1"
    else
        fail "curl or wget is needed; install one of them"
    fi || fail "cannot download $1"
}

main() {
    while [ $# -gt 0 ]; do
        case "$1" in
            --version)
                [ $# -ge 2 ] || fail "--version needs a version"
                version="$2"
                shift 2
                ;;
            --help)
                usage
                exit 0
                ;;
            *) fail "unknown argument $1; see --help" ;;
        esac
    done
    system="$(uname -s) $(uname -m)"
    case "$system" in
        "Linux x86_64" | "Linux amd64") machine=x86_64 ;;
        "Linux aarch64" | "Linux arm64") machine=aarch64 ;;
        *) fail "there is no archive for $system, only for Linux x86_64 and Linux aarch64" ;;
    esac
    # `getconf` prints the version of glibc, and fails where there is another C library.
    case "$(getconf GNU_LIBC_VERSION 2>/dev/null || true)" in
        glibc*) libraries="gnu musl" ;;
        *) libraries="musl gnu" ;;
    esac
    for program in sha256sum tar gzip; do
        command -v "$program" >/dev/null 2>&1 || fail "$program is needed; install it"
    done

    folder="${PROWESS_INSTALL_DIR:-${HOME:?}/.local/bin}"
    base="https://github.com/prowess-dev/prowess/releases/download/v$version"
    case "$0" in
        */install.sh | install.sh)
            beside=$(dirname "$0")
            for libc in $libraries; do
                name="prowess-$version-$machine-unknown-linux-$libc"
                if [ -f "$beside/$name.tar.gz" ]; then base="$beside"; fi
            done
            ;;
    esac
    base="${PROWESS_BASE_URL:-$base}"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM

    download "$base/SHA256SUMS" "$work/SHA256SUMS"
    program=""
    listed=""
    for libc in $libraries; do
        name="prowess-$version-$machine-unknown-linux-$libc"
        grep " $name\\.tar\\.gz\$" "$work/SHA256SUMS" >"$work/sum" || continue
        listed="$name"
        download "$base/$name.tar.gz" "$work/$name.tar.gz"
        (cd "$work" && sha256sum --check --status sum) ||
            fail "$base/$name.tar.gz is not the file that SHA256SUMS lists; nothing was installed"
        tar -xzf "$work/$name.tar.gz" -C "$work"
        if "$work/$name/bin/prowess" --version >/dev/null 2>"$work/reason"; then
            program="$work/$name/bin/prowess"
            break
        fi
        echo "the program of $name does not run here: $(head -n 1 "$work/reason")" >&2
    done
    [ -n "$listed" ] || fail "$base/SHA256SUMS lists no archive for this host, such as $name.tar.gz"
    [ -n "$program" ] || fail "no program of version $version runs here; nothing was installed"

    mkdir -p "$folder"
    # Renamed into its place, so that a running server keeps the old one.
    cp "$program" "$folder/.prowess.new"
    mv -f "$folder/.prowess.new" "$folder/prowess"
    echo "installed $("$folder/prowess" --version) in $folder"
    case ":$PATH:" in
        *":$folder:"*) ;;
        *) echo "add it to your search path: export PATH=\"$folder:\$PATH\"" ;;
    esac
}

main "$@"
