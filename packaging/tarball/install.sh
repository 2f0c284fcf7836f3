#!/bin/sh
# Installs prowess for Linux on x86-64, from the archive of a release.
#
#   PROWESS_INSTALL_DIR   where the program goes (default: ~/.local/bin)
#   PROWESS_BASE_URL      where the archive and SHA256SUMS are (default: beside this script, if
#                         they are there; otherwise the release's page)
#
# Nothing runs before the last line, so a script that was cut off does nothing.
set -eu

version="@VERSION@"

usage() {
    cat <<'TEXT'
Installs prowess for Linux on x86-64.

Usage: install.sh [--version VERSION] [--help]

Variables:
  PROWESS_INSTALL_DIR   where the program goes (default: ~/.local/bin)
  PROWESS_BASE_URL      where the archive and SHA256SUMS are (default: beside this script, if
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
    [ "$system" = "Linux x86_64" ] || fail "there is no archive for $system, only for Linux x86_64"
    for program in sha256sum tar gzip; do
        command -v "$program" >/dev/null 2>&1 || fail "$program is needed; install it"
    done

    folder="${PROWESS_INSTALL_DIR:-${HOME:?}/.local/bin}"
    name="prowess-$version-x86_64-unknown-linux-gnu"
    base="https://github.com/prowess-dev/prowess/releases/download/v$version"
    case "$0" in
        */install.sh | install.sh)
            beside=$(dirname "$0")
            if [ -f "$beside/$name.tar.gz" ]; then base="$beside"; fi
            ;;
    esac
    base="${PROWESS_BASE_URL:-$base}"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM

    download "$base/SHA256SUMS" "$work/SHA256SUMS"
    download "$base/$name.tar.gz" "$work/$name.tar.gz"
    grep " $name\\.tar\\.gz\$" "$work/SHA256SUMS" >"$work/sum" ||
        fail "$base/SHA256SUMS does not list $name.tar.gz"
    (cd "$work" && sha256sum --check --status sum) ||
        fail "$base/$name.tar.gz is not the file that SHA256SUMS lists; nothing was installed"
    tar -xzf "$work/$name.tar.gz" -C "$work"
    "$work/$name/bin/prowess" --version >/dev/null ||
        fail "the program does not run here: it needs glibc, in the version that README.md names"

    mkdir -p "$folder"
    # Renamed into its place, so that a running server keeps the old one.
    cp "$work/$name/bin/prowess" "$folder/.prowess.new"
    mv -f "$folder/.prowess.new" "$folder/prowess"
    echo "installed $("$folder/prowess" --version) in $folder"
    case ":$PATH:" in
        *":$folder:"*) ;;
        *) echo "add it to your search path: export PATH=\"$folder:\$PATH\"" ;;
    esac
}

main "$@"
