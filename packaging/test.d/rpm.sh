# shellcheck shell=bash disable=SC2154,SC2016,SC2013 # variables of packaging/test; commands of another shell
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by packaging/test: the RPM packages, unpacked.

if command -v rpmbuild >/dev/null && command -v rpmlint >/dev/null; then
    options=()
    # Debian's names of what the spec builds with.
    [ ! -e /etc/debian_version ] || options=(--nodeps --define 'mpicc_openmpi mpicc.openmpi' --define 'mpicc_mpich mpicc.mpich'
        --define 'debug_package %{nil}')
    options+=(--define "_smp_mflags -j$(nproc)")
    check "rpm: the packages are built" "$here/rpm/build" "$tmp/rpms" "${options[@]}"
    rpms=$tmp/rpmroot
    mkdir -p "$rpms"
    unpacked() {
        local file
        for file in "$tmp"/rpms/*/*.rpm; do (cd "$rpms" && rpm2cpio "$file" | cpio -idm --quiet) || return 1; done
    }
    check "rpm: rpmlint finds no error and no warning" says "0 errors, 0 warnings" rpmlint -c "$here/rpm/rpmlint.toml" "$tmp"/rpms/*/*.rpm
    check "rpm: they unpack" unpacked
    check "rpm: the preload is set" is_preloaded "$rpms/usr/bin/collshim"
    check "rpm: the command finds the backends" finds_all "$rpms/usr/bin/collshim"
    check "rpm: the tuner starts" says "--output FILE" "$rpms/usr/bin/collshim-tune" --help
    check "rpm: no folder of this machine" lacks "$rpms/usr"
else
    skip "rpm" "rpmbuild and rpmlint are not installed (scripts/setup package)"
fi
