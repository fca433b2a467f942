# shellcheck shell=bash disable=SC2154,SC2016,SC2013 # variables of packaging/test; commands of another shell
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by packaging/test: the recipes name the Makefile's version and knobs.

check "spack: the recipe's directives, version and knobs" python3 "$here/spack/check.py" "$here/spack/package.py" "$root/Makefile"
check "deb: the changelog has the Makefile's version" says "collshim ($version)" head -n 1 "$here/debian/changelog"
spec=$here/rpm/collshim.spec
check "rpm: the spec has the Makefile's version" grep -E "^Version: +$version\$" "$spec"
if command -v rpmspec >/dev/null; then
    check "rpm: the spec is parsed" says collshim-slurm rpmspec -q "$spec"
else
    skip "rpm: the spec is parsed" "rpm is not installed"
fi
if command -v rpmlint >/dev/null; then
    check "rpm: rpmlint finds no error in the spec" says "0 errors" rpmlint -c "$here/rpm/rpmlint.toml" "$spec"
else
    skip "rpm: rpmlint finds no error in the spec" "rpmlint is not installed"
fi
