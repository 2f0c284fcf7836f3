#!/bin/bash
# Runs a program as root in a fresh copy of a root file system, without network devices of its
# own but with the host's: in-bare-root.sh ROOT ARTEFACTS PROGRAM [ARGUMENT…]
#
# Inside, /artefacts is what is installed, /install is this folder, and /clients has the SDKs that
# are beside ROOT. Changes go to a temporary folder. The root is entered by pivot_root and not by
# chroot, in which the kernel refuses user namespaces.
set -euo pipefail

if [ "${1:-}" != --inside ]; then
    # Of its own process tree: all of it ends with this script.
    exec unshare --mount --pid --fork --kill-child --propagation private "$0" --inside "$@"
fi
root=$(realpath "$2") artefacts=$(realpath "$3")
shift 3
here=$(realpath "$(dirname "$0")")
clients=$(realpath "$(dirname "$root")/bare-clients")

work=$(mktemp -d "$(dirname "$root")/bare-root-work.XXXXXX")
mkdir "$work/changes" "$work/scratch" "$work/root"
mount -t overlay overlay "$work/root" \
    -o "lowerdir=$root,upperdir=$work/changes,workdir=$work/scratch"
cd "$work/root"
mkdir -p artefacts clients install .host
mount --bind "$artefacts" artefacts
mount --bind "$clients" clients
mount --bind "$here" install
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs tmpfs tmp

# A process of the host's root removes the changes when this one has ended.
finish() {
    status=$?
    cd /
    umount -l "$work/root" 2>/dev/null || true
    rm -rf "$work"
    exit "$status"
}
trap finish EXIT

# shellcheck disable=SC2016
inside='
    cd "$1" && shift
    pivot_root . .host
    cd /
    umount -l /.host
    export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    export HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive
    exec "$@"
'
env -i unshare --mount --propagation private /bin/bash -euc "$inside" in-bare-root "$work/root" "$@"
