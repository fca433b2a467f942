# shellcheck shell=bash disable=SC2154 # the variables of run.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# NCCL's functions and dlsym, with a fake NCCL: on this machine's processor, and on aarch64 by qemu
# where its compiler is, because jumps.S and the stubs are written for each.

# nccl_programs CC DIRECTORY: the fake library, its backend, a library with its names, programs
nccl_programs() {
    local cc=$1 dir=$2
    "$cc" "${warnings[@]}" -shared -fPIC -Wl,-soname,libnccl.so.2 -o "$dir/libnccl.so.2" "$here/fake_nccl.c"
    "$cc" "${warnings[@]}" -shared -fPIC -DNO_TWIN -o "$dir/libnames.so" "$here/fake_nccl.c"
    "$cc" "${warnings[@]}" -shared -fPIC -DBACKEND -I"$root" -o "$dir/libcollshim-nccl.so" "$here/fake_nccl.c"
    # Not needed by name alone: the program's references are to a library that is there.
    "$cc" "${warnings[@]}" -o "$dir/linked" "$here/nccl_app.c" -Wl,--no-as-needed "$dir/libnccl.so.2" -Wl,-rpath,"$dir"
    "$cc" "${warnings[@]}" -DUNLINKED -o "$dir/opening" "$here/nccl_app.c"
}

# copies CC DIRECTORY: two NCCLs outside the global scope, a library linked with each, and their program
copies() {
    local cc=$1 dir=$2 name
    mkdir -p "$dir"
    for name in a b c; do
        "$cc" "${warnings[@]}" -shared -fPIC -Wl,-soname,"lib${name}_nccl.so" -DTAG="\"$(printf '%*s' "$(($(printf '%d' "'$name") - 96))" '' | tr ' ' "$name"):\"" \
            -o "$dir/lib${name}_nccl.so" "$here/fake_nccl.c"
        "$cc" "${warnings[@]}" -shared -fPIC -DCALLER -o "$dir/calls_$name.so" "$here/fake_nccl.c" -Wl,--no-as-needed \
            "$dir/lib${name}_nccl.so" -Wl,-rpath,"$dir"
    done
    "$cc" "${warnings[@]}" -DUNLINKED -DLOCALLY -o "$dir/locally" "$here/nccl_app.c"
}

# The arguments of both programs, without the server of their calls.
nccl_same="twice the same: 1
not replaced: 1
absent: 1, and why
present: no error
an error is kept by what does not fail: 1
next: 1 1
default: 1
the older name: 1"
nccl_bare=" allreduce(1 2 3 4 5 6 7) init(7 10416 5) group"
nccl_served=" backend: allreduce(1 2 3 4 5 6 7) backend: init(7 10416 5) group"

# nccl_cases NAME DIRECTORY SHIM RUN...: RUN starts a program with the library that follows it preloaded
nccl_cases() {
    local name=$1 dir=$2 preload=$3 program first
    shift 3
    for program in linked opening; do
        first=
        [ $program = opening ] || first="linked:$nccl_bare"$'\n'
        capture "$@" "" "$dir/$program" "$dir/libnccl.so.2" "$dir/libnames.so"
        expect "$name, $program: by itself" \
            "${first}opened:$nccl_bare"$'\n'"without twins:$nccl_bare"$'\n'"$nccl_same" "$out"
        [ $program = opening ] || first="linked:$nccl_served"$'\n'
        capture "$@" "$preload" "$dir/$program" "$dir/libnccl.so.2" "$dir/libnames.so"
        expect "$name, $program: caught, and nothing else about it changes" \
            "${first}opened:$nccl_served"$'\n'"without twins:$nccl_bare"$'\n'"$nccl_same|" "$out|$err"
    done
}

mkdir -p "$tmp/nccl"
cp "$shim" "$tmp/nccl"
nccl_programs gcc "$tmp/nccl"
here_with() { env LD_PRELOAD="$1" "${@:2}"; }
export -f here_with
nccl_cases "$(uname -m)" "$tmp/nccl" "$tmp/nccl/libcollshim.so" bash -c 'here_with "$@"' bash

# A tool behind it that has a dlsym of its own sees what the program looks up, and what is caught is caught.
gcc "${warnings[@]}" -shared -fPIC -o "$tmp/nccl/other.so" "$here/other_dlsym.c"
capture env OTHER_DLSYM="$tmp/nccl/seen" LD_PRELOAD="$tmp/nccl/libcollshim.so:$tmp/nccl/other.so" "$tmp/nccl/opening" \
    "$tmp/nccl/libnccl.so.2" "$tmp/nccl/libnames.so"
expect "another tool's dlsym: caught as before, and the tool sees lookups" "opened:$nccl_served|some" \
    "$(head -n 1 <<<"$out")|$(grep -q nccl "$tmp/nccl/seen" && echo some)"

# Each of two libraries has an NCCL of its own, and each of its calls reaches that one, also those that are not caught; the
# second is opened after calls of the first. A third runs natively.
copies_cases() { # NAME DIRECTORY SHIM RUN...
    local name=$1 dir=$2 preload=$3 tag version expected='' bare='' served='backend: '
    shift 3
    for tag in a: bb: ccc: a: bb: ccc:; do
        version=$((29901 + ${#tag}))
        [ $tag != ccc: ] || served=
        expected+=" $served${tag}init(1 0 0) $served${tag}allreduce(1 2 3 4 5 6 7) ${tag}group version $version"$'\n'
        bare+=" ${tag}init(1 0 0) ${tag}allreduce(1 2 3 4 5 6 7) ${tag}group version $version"$'\n'
        served='backend: '
    done
    capture "$@" "" "$dir/locally" "$dir"/calls_{a,b,c}.so
    expect "$name, two NCCLs of two libraries: by themselves" "${bare%$'\n'}" "$out"
    capture "$@" "$preload" "$dir/locally" "$dir"/calls_{a,b,c}.so
    expect "$name, two NCCLs of two libraries: each has its own" \
        "${expected%$'\n'}|collshim: NCCL runs natively: $dir/libc_nccl.so is one copy of NCCL too many; 2 are served" "$out|$err"
}
copies gcc "$tmp/nccl/copies"
copies_cases "$(uname -m)" "$tmp/nccl/copies" "$tmp/nccl/libcollshim.so" bash -c 'here_with "$@"' bash

other=aarch64-linux-gnu
if [ "$(uname -m)" = aarch64 ] || ! command -v $other-gcc >/dev/null || ! command -v qemu-aarch64 >/dev/null; then
    skip "aarch64" "this is one, or gcc-$other, libc6-dev-arm64-cross or qemu-user is missing"
else
    mkdir -p "$tmp/aarch64"
    make -s -C "$root" B="$tmp/aarch64" CC=$other-gcc "$tmp/aarch64/libcollshim.so" >/dev/null
    nccl_programs $other-gcc "$tmp/aarch64"
    there_with() { qemu-aarch64 -L /usr/aarch64-linux-gnu ${1:+-E LD_PRELOAD="$1"} "${@:2}"; }
    export -f there_with
    nccl_cases aarch64 "$tmp/aarch64" "$tmp/aarch64/libcollshim.so" bash -c 'there_with "$@"' bash
    copies $other-gcc "$tmp/aarch64/copies"
    copies_cases aarch64 "$tmp/aarch64/copies" "$tmp/aarch64/libcollshim.so" bash -c 'there_with "$@"' bash

    # The stubs of MPI as well: every argument, first call and later.
    $other-gcc "${warnings[@]}" -shared -fPIC -Wl,-soname,libfake.so -DFAMILY_OPENMPI \
        '-DVERSION="Open MPI v9.9.9"' -o "$tmp/aarch64/libfake.so" "$here/fake_mpi.c"
    $other-gcc "${warnings[@]}" -shared -fPIC -I"$root" -o "$tmp/aarch64/libcollshim-openmpi.so" \
        "$here/test_backend.c"
    $other-gcc "${warnings[@]}" -o "$tmp/aarch64/fake_app" "$here/fake_app.c" -pthread \
        -Wl,--no-as-needed "$tmp/aarch64/libfake.so" -Wl,-rpath,"$tmp/aarch64"
    capture bash -c 'there_with "$@"' bash "$tmp/aarch64/libcollshim.so" "$tmp/aarch64/fake_app" calls
    expect "aarch64: MPI's stubs" \
        "$all_right|backend: opened=1 Init=1 Allgather=2 Allgatherv=2 Allreduce=0" \
        "$out|$(lines "\(backend\|collshim\):")"
fi
