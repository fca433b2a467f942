# shellcheck shell=bash disable=SC2154,SC2016,SC2013 # variables of packaging/test; commands of another shell
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by packaging/test: the Debian packages, in a root of their own.

if command -v dh >/dev/null && command -v lintian >/dev/null; then
    check "deb: the packages are built" "$here/deb" "$tmp/debs" -d "-j$(nproc)"
    lintian_finds_nothing() {
        lintian --allow-root --fail-on error,warning "$tmp"/debs/*.changes
    }
    check "deb: lintian finds no error and no warning" lintian_finds_nothing
    debs=$tmp/debroot
    mkdir -p "$debs/var/lib/dpkg/updates" "$debs/var/lib/dpkg/info" "$debs/var/lib/dpkg/triggers"
    : >"$debs/var/lib/dpkg/status"
    in_root() { dpkg --root="$debs" --force-depends --force-not-root --log="$tmp/dpkg.log" "$@"; }
    packages() { printf '%s\n' "$tmp"/debs/collshim*_*.deb | grep -v dbgsym; }
    mapfile -t files < <(packages)
    check "deb: dpkg installs them" in_root -i "${files[@]}"
    check "deb: the preload is set" is_preloaded "$debs/usr/bin/collshim"
    check "deb: the command finds the backends" finds_all "$debs/usr/bin/collshim"
    check "deb: the tuner starts" says "--output FILE" "$debs/usr/bin/collshim-tune" --help
    check "deb: the plugin is there" test -s "$debs/usr/lib/collshim/collshim-spank.so"
    check "deb: no folder of this machine" lacks "$debs/usr"
    check "deb: no folder of the build" bash -c '! grep -rlE "/tmp/tmp\." "$1"' _ "$debs/usr"
    check "deb: dpkg removes them" in_root -P collshim-bench collshim-slurm collshim
    check "deb: nothing is left" test -z "$(find "$debs/usr" -type f 2>/dev/null)"
else
    skip "deb" "debhelper and lintian are not installed (scripts/setup package)"
fi
