# shellcheck shell=bash disable=SC2154,SC2016,SC2013 # variables of packaging/test; commands of another shell
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by packaging/test: the wheel, installed by pip into a virtual environment, and removed.

a_job_is_rerouted() { # COLLSHIM
    "$private_shm" mpiexec.mpich -n 2 "$1" exec COLLSHIM_TOPOLOGY=node:2 --choose always --min-bytes 0 --report "$tmp/wheel.json" -- \
        "$build/collshim-bench-mpich" --bytes 64K --repetitions 2 --native default &&
        jq -e '.collectives | map(.rerouted) | add > 0' "$tmp/wheel.json"
}
lacks_info() {
    ! "$1" info >"$tmp/said" 2>&1 && grep -F "exec\` alone" "$tmp/said"
}
if python3 -m venv "$tmp/venv" >/dev/null 2>&1; then
    pip() { "$tmp/venv/bin/python" -m pip --disable-pip-version-check --no-cache-dir -q "$@"; }
    check "wheel: made" "$here/wheel" "$tree" "$tmp/wheels"
    wheel=$(ls "$tmp"/wheels/*.whl)
    before=$(find "$tmp/venv" -type f ! -name '*.pyc' | sort)
    check "wheel: pip installs it" pip install --no-index "$wheel"
    check "wheel: the version is the Makefile's" says "Version: $version" "$tmp/venv/bin/python" -m pip show collshim
    check "wheel: the command's too" says "collshim $version" "$tmp/venv/bin/collshim" --version
    check "wheel: collshim exec sets the preload" is_preloaded "$tmp/venv/bin/collshim"
    check "wheel: through a link too" bash -c 'ln -s "$1/venv/bin/collshim" "$1/link" && "$1/link" exec -- true' _ "$tmp"
    check "wheel: the full command finds the backends" finds_all "$tmp/venv/bin/collshim"
    check "wheel: exit status of the command" bash -c '"$1" exec -- sh -c "exit 7"; [ $? = 7 ]' _ "$tmp/venv/bin/collshim"
    check "wheel: no folder of this machine" lacks "$tmp/venv/lib/collshim" "$tmp/venv/bin/collshim-exec"
    check "wheel: RECORD is right" "$tmp/venv/bin/python" - "$wheel" <<'PY'
import base64, csv, hashlib, io, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
record = next(n for n in z.namelist() if n.endswith("RECORD"))
rows = {r[0]: r[1:] for r in csv.reader(io.StringIO(z.read(record).decode()))}
assert set(rows) == set(z.namelist()), set(rows) ^ set(z.namelist())
for name, (digest, size) in rows.items():
    if name != record:
        data = z.read(name)
        wanted = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        assert (digest, int(size)) == (wanted, len(data)), name
PY
    if [ -x "$build/collshim-bench-mpich" ]; then
        check "wheel: a job is rerouted" a_job_is_rerouted "$tmp/venv/bin/collshim"
    else
        skip "wheel: a job is rerouted" "this build has no MPICH"
    fi
    check "wheel: pip uninstalls it" pip uninstall -y collshim
    check "wheel: nothing is left" diff <(echo "$before") <(find "$tmp/venv" -type f ! -name '*.pyc' | sort)
    check "wheel: with exec alone it is manylinux" says manylinux_2_ "$here/wheel" --exec-only "$tree" "$tmp/portable"
    check "wheel: pip takes that one too" pip install --no-index "$tmp"/portable/*.whl
    check "wheel: it runs commands" is_preloaded "$tmp/venv/bin/collshim"
    check "wheel: it says what it has not" lacks_info "$tmp/venv/bin/collshim"
else
    skip "wheel" "python3-venv is not installed"
fi
