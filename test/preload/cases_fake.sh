# shellcheck shell=bash disable=SC2154 # the variables of run.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# With a fake libmpi: families that are not installed, absent symbols, every bit of every
# argument, racing threads, and each line the preload can print.

# fake VARIANT FLAGS...: builds $tmp/fake/VARIANT/libfake.so
fake() {
    mkdir -p "$tmp/fake/$1"
    gcc "${warnings[@]}" -shared -fPIC -Wl,-soname,libfake.so "${@:2}" \
        -o "$tmp/fake/$1/libfake.so" "$here/fake_mpi.c"
}

fake unknown
fake unknown_version '-DVERSION="Strange MPI 1.0\nwraps MPICH"'
fake openmpi -DFAMILY_OPENMPI '-DVERSION="Open MPI v9.9.9"'
fake mpich -DFAMILY_MPICH '-DVERSION="MPICH Version: 9.9"'
fake intel '-DVERSION="Intel(R) MPI Library 2099"'
fake mvapich '-DVERSION="MVAPICH Version: 9"'
fake abi -DFAMILY_ABI=1 -DFAMILY_OPENMPI
fake abi_without -DFAMILY_ABI=-1 -DFAMILY_OPENMPI
fake openmpi_few -DFAMILY_OPENMPI -DFEW
fake mpich_few -DFAMILY_MPICH -DFEW
fake no_pmpi -DNO_PMPI
# A library of two objects, as MPICH 5.0 can be built: the one that programs link to has the MPI_ names.
mkdir -p "$tmp/fake/abi_two"
gcc "${warnings[@]}" -shared -fPIC -Wl,-soname,libfakep.so -DPMPI_ALONE -DFAMILY_ABI=1 '-DVERSION="MPI of two"' \
    -o "$tmp/fake/abi_two/libfakep.so" "$here/fake_mpi.c"
# shellcheck disable=SC2016 # the linker's
fake abi_two -DNO_PMPI '-DVERSION="MPI of two"' -L"$tmp/fake/abi_two" -Wl,--no-as-needed -lfakep -Wl,-rpath,'$ORIGIN'
# Its references are weak, for which a linker may not find a library needed.
gcc "${warnings[@]}" -o "$tmp/fake_app" "$here/fake_app.c" -pthread -Wl,--no-as-needed \
    "$tmp/fake/unknown/libfake.so"
gcc "${warnings[@]}" -o "$tmp/fake_late" "$here/fake_app.c" -pthread

all_right="Init=0 Allgather=0 Allgatherv=0 Alltoallw=0 Allgather=0 Allgatherv=0 Alltoallw=0"

# run_fake VARIANT SHIM_DIR MODE [NAME=VALUE...]
run_fake() {
    capture env "${@:4}" LD_LIBRARY_PATH="$tmp/fake/$1" LD_PRELOAD="$2/libcollshim.so" \
        "$tmp/fake_app" "$3"
}

# --- unknown family, missing and unusable backends: one line, right results

run_fake unknown "$with" calls
expect "unknown family: right results" "$all_right" "$out"
expect_match "unknown family: one line" "collshim: *unknown/libfake.so*no known family*" "$err"

run_fake unknown_version "$with" calls
expect_match "a wrapper that names MPICH in its second line is unknown" \
    "collshim: *(Strange MPI 1.0)*no known family*" "$err"

for family in openmpi mpich abi; do
    run_fake $family "$alone" calls
    expect "$family without backend: right results" "$all_right" "$out"
    expect_match "$family without backend: one line" \
        "collshim: *$alone/libcollshim-$family.so is missing*$family/libfake.so*" "$err"
    run_fake $family "$alone" calls COLLSHIM_LOG=error
    expect "$family without backend: silent with COLLSHIM_LOG=error" "$all_right|" "$out|$err"
done

for variable in OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID; do
    run_fake openmpi "$alone" calls $variable=1
    expect "silent on rank 1 by $variable" "$all_right|" "$out|$err"
    run_fake openmpi "$alone" calls $variable=0
    expect_match "speaks on rank 0 by $variable" "collshim: *is missing*" "$err"
done
run_fake openmpi "$alone" calls OMPI_COMM_WORLD_RANK=0 SLURM_PROCID=1
expect_match "the inner launcher's rank counts" "collshim: *is missing*" "$err"

mkdir -p "$tmp/broken" "$tmp/wrong"
cp "$shim" "$tmp/broken"
cp "$shim" "$tmp/wrong"
echo "not a library" >"$tmp/broken/libcollshim-openmpi.so"
run_fake openmpi "$tmp/broken" calls
expect "broken backend: right results" "$all_right" "$out"
expect_match "broken backend: one line" "collshim: *cannot be loaded*libcollshim-openmpi.so*" \
    "$err"

gcc -shared -o "$tmp/wrong/libcollshim-openmpi.so" -x c /dev/null
run_fake openmpi "$tmp/wrong" calls
expect_match "not a backend: one line" "collshim: *does not define collshim_backend_open*" "$err"

run_fake openmpi "$with" calls TEST_BACKEND=refuse
expect "refusing backend: right results" "$all_right" "$out"
expect "refusing backend: its reason" \
    "collshim: MPI runs natively: the test backend refuses openmpi" "$(lines collshim:)"

run_fake openmpi "$with" calls TEST_BACKEND=unknown
expect_match "a function without a row: one line" "collshim: *offers Frobnicate*" \
    "$(lines collshim:)"

run_fake mpich "$with" calls TEST_BACKEND=none
expect "a backend that wants no call: right results, silent" \
    "$all_right|backend: opened=1 Init=0 Allgather=0 Allgatherv=0 Allreduce=0" "$out|$err"

# --- families

for variant in openmpi mpich intel mvapich abi abi_without abi_two; do
    run_fake $variant "$with" calls
    expect "$variant: bound to the backend" \
        "$all_right|backend: opened=1 Init=1 Allgather=2 Allgatherv=2 Allreduce=0" \
        "$out|$(lines "\(backend\|collshim\):")"
done

# A tool that wraps every function, the version's too, stays in the chain.
gcc "${warnings[@]}" -shared -fPIC -o "$tmp/fake/abi_two/libtool.so" "$here/fake_tool.c" -L"$tmp/fake/abi_two" \
    -Wl,--no-as-needed -lfake -lfakep
for order in last first; do
    preloads=$with/libcollshim.so:libtool.so
    [ $order = last ] || preloads=libtool.so:$with/libcollshim.so
    capture env LD_LIBRARY_PATH="$tmp/fake/abi_two" LD_PRELOAD="$preloads" "$tmp/fake_app" calls
    expect "a library of two objects, and a tool, $order" \
        "$all_right|backend: opened=1 Init=1 Allgather=2 Allgatherv=2 Allreduce=0|tool: Allgather=2" \
        "$out|$(lines "\(backend\|collshim\):")|$(lines tool:)"
done

# --- symbols the library lacks

run_fake openmpi_few "$alone" calls COLLSHIM_LOG=error
expect "absent symbol: MPI_ERR_OTHER of Open MPI" \
    "Init=0 Allgather=0 Allgatherv=16 Alltoallw=16 Allgather=0 Allgatherv=16 Alltoallw=16" "$out"
run_fake mpich_few "$alone" calls COLLSHIM_LOG=error
expect "absent symbol: MPI_ERR_OTHER of MPICH" \
    "Init=0 Allgather=0 Allgatherv=15 Alltoallw=15 Allgather=0 Allgatherv=15 Alltoallw=15" "$out"
run_fake no_pmpi "$with" calls
expect "a library without PMPI_ names is called as it is" "$all_right|" "$out|$err"

capture env LD_PRELOAD="$alone/libcollshim.so" "$tmp/fake_late" late
expect "no MPI at all: an error code" "before=16 after=16" "$out"
expect_match "no MPI at all: one line" "collshim: MPI_Allgather*no MPI library is loaded*" "$err"
capture env LD_PRELOAD="$with/libcollshim.so" "$tmp/fake_late" late \
    "$tmp/fake/openmpi/libfake.so"
expect "an MPI opened later, RTLD_LOCAL, is found" "before=16 after=0" "$out"
expect "an MPI opened later, RTLD_LOCAL, gets its backend" \
    "backend: opened=1 Init=0 Allgather=1 Allgatherv=0 Allreduce=0" "$(lines backend:)"

# --- serial stand-ins for MPI, each in the local scope of a plugin

cat >"$tmp/serial.c" <<'C'
#ifdef SERIAL
int MPI_Allgather(void);
int MPI_Allgather(void)
{
    return SERIAL;
}
#elif defined(PLUGIN)
int MPI_Allgather(void);
int work(void);
int work(void)
{
    return MPI_Allgather();
}
#else
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    for (int round = 0; round < 2; round++)
        for (int i = 1; i < argc; i++) {
            void *handle = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
            int (*work)(void) = handle ? (int (*)(void))dlsym(handle, "work") : NULL;
            printf("%d ", work ? work() : -1);
        }
    return 0;
}
#endif
C
gcc "${warnings[@]}" -o "$tmp/serial" "$tmp/serial.c"
for i in 1 2; do
    gcc "${warnings[@]}" -shared -fPIC -DSERIAL=10$i -Wl,-soname,libserial$i.so -o "$tmp/libserial$i.so" "$tmp/serial.c"
    # shellcheck disable=SC2016 # the linker's
    gcc "${warnings[@]}" -shared -fPIC -DPLUGIN -o "$tmp/serial_plugin$i.so" "$tmp/serial.c" -L"$tmp" -lserial$i -Wl,-rpath,'$ORIGIN'
done
capture env LD_PRELOAD="$with/libcollshim.so" "$tmp/serial" "$tmp/serial_plugin1.so" "$tmp/serial_plugin2.so"
expect "serial stand-ins in local scopes: each plugin calls its own" "101 102 101 102 |" "$out|$err"

# --- two MPIs

mkdir -p "$tmp/other"
gcc "${warnings[@]}" -shared -fPIC -Wl,-soname,libother.so -DFAMILY_OPENMPI \
    -o "$tmp/other/libother.so" "$here/fake_mpi.c"
capture env LD_PRELOAD="$alone/libcollshim.so" COLLSHIM_LOG=warn "$tmp/fake_late" late \
    "$tmp/fake/openmpi/libfake.so" "$tmp/fake/mpich/libfake.so"
expect_match "two MPIs, both RTLD_LOCAL: one line says which serves" \
    "collshim: two MPI libraries*fake/openmpi/libfake.so and *fake/mpich/libfake.so*" \
    "$(lines 'collshim: two')"

mkdir -p "$tmp/second"
cp "$shim" "$tmp/second"
gcc "${warnings[@]}" -shared -fPIC -I"$root" -o "$tmp/second/libcollshim-openmpi.so" \
    "$here/test_backend.c" -Wl,--no-as-needed "$tmp/other/libother.so" \
    -Wl,-rpath,"$tmp/other"
run_fake openmpi "$tmp/second" calls
expect "backend of another libmpi: right results, not opened" \
    "$all_right|backend: opened=0 Init=0 Allgather=0 Allgatherv=0 Allreduce=0" \
    "$out|$(lines backend:)"
expect_match "backend of another libmpi: one line" \
    "collshim: *needs *libother.so, but this program runs *libfake.so*" "$(lines collshim:)"

# --- threads, re-entrance

run_fake openmpi "$with" threads TEST_BACKEND=slow
expect "16 threads race for the first call: one open, no call lost" \
    "failed=0|backend: opened=1 Init=0 Allgather=16 Allgatherv=0 Allreduce=0" \
    "$out|$(lines "\(backend\|collshim\):")"
run_fake openmpi "$with" calls TEST_BACKEND=reenter
expect "a backend that calls MPI while it opens reaches the library" \
    "$all_right|backend: inner=99" "$out|$(lines 'backend: inner')"

# --- where the library is

capture env -C "$with" LD_LIBRARY_PATH="$tmp/fake/openmpi" LD_PRELOAD=./libcollshim.so \
    "$tmp/fake_app" chdir
expect "relative LD_PRELOAD and a chdir: the backend is found" "backend: opened=1" "${err%% Init*}"
mkdir -p "$tmp/link"
ln -s "$with/libcollshim.so" "$tmp/link/libcollshim.so"
run_fake openmpi "$tmp/link" calls
expect "through a symbolic link: the backend is found" "backend: opened=1" "${err%% Init*}"
capture env LD_LIBRARY_PATH="$with:$tmp/fake/openmpi" LD_PRELOAD=libcollshim.so \
    "$tmp/fake_app" calls
expect "by bare name: the backend is found" "backend: opened=1" "${err%% Init*}"

# --- nine arguments, the most there are

run_fake unknown "$alone" calls COLLSHIM_LOG=error
expect "nine arguments arrive whole, first call and later" "$all_right" "$out"
