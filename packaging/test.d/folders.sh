# shellcheck shell=bash disable=SC2154 # variables of packaging/test
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by packaging/test: the folders that packages choose.

folders=(PREFIX=/usr LIBDIR=/usr/lib64/collshim PKGCONFIGDIR=/usr/share/pkgconfig MODULEDIR=/usr/share/modules DESTDIR="$tmp/dest")
check "folders: make install" make -s -C "$root" B="$build" "${folders[@]}" install
check "folders: the command finds the backends" finds_all "$tmp/dest/usr/bin/collshim"
check "folders: the preload is set" is_preloaded "$tmp/dest/usr/bin/collshim"
for module in "$tmp/dest/usr/share/modules/collshim/$version"{,.lua}; do
    check "folders: ${module##*/} has the preload's" says /usr/lib64/collshim/libcollshim.so cat "$module"
    # Unloading it would take /usr/bin from PATH.
    check "folders: ${module##*/} leaves PATH" bash -c "! grep -F /usr/bin '$module' | grep -w PATH"
done
check "folders: pkg-config's" says libdir=/usr/lib64/collshim cat "$tmp/dest/usr/share/pkgconfig/collshim.pc"
check "folders: no folder of this machine" lacks "$tmp/dest/usr/share"
check "folders: make uninstall" make -s -C "$root" B="$build" "${folders[@]}" uninstall
check "folders: nothing is left" test -z "$(find "$tmp/dest" ! -type d)"
