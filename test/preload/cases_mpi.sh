# shellcheck shell=bash disable=SC2154 # the variables of run.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# With each real MPI: an unmodified program, other tools in front and behind, libmpi in a local
# scope, Fortran, and a backend of the other family.

# launch N COMMAND...: sets `launched` to the command line that starts it under $mpi
launch() {
    case $mpi in
        openmpi) launched=(mpirun.openmpi --oversubscribe -n "$1" "${@:2}") ;;
        mpich) launched=(mpiexec.mpich -n "$1" "${@:2}") ;;
    esac
}

# run_mpi N PRELOADS COMMAND...: on N ranks; PRELOADS as in LD_PRELOAD, for launcher and ranks
run_mpi() {
    launch "$1" "${@:3}"
    capture env LD_PRELOAD="$2" "${launched[@]}"
}

calls_c="backend: opened=1 Init=1 Allgather=1 Allgatherv=1 Allreduce=1"

mpi_programs() {
    local compile=(mpicc."$mpi" "${warnings[@]}" -I"$root")
    # A backend that NEEDs libmpi, and a program that holds copies of libmpi's data.
    cp "$shim" "$dir/with"
    "${compile[@]}" -shared -fPIC -Wl,--no-as-needed -o "$dir/with/libcollshim-$mpi.so" \
        "$here/test_backend.c"
    "${compile[@]}" -no-pie -fno-pie -o "$dir/app" "$here/app.c"
    "${compile[@]}" -shared -fPIC -DPLUGIN -o "$dir/plugin.so" "$here/app.c"
    local tool=("${compile[@]}" -shared -fPIC "$here/tool.c")
    "${tool[@]}" -DWRAP_INIT -DWRAP_ALLGATHER -o "$dir/tool_both.so"
    "${tool[@]}" -DWRAP_INIT -o "$dir/tool_init.so"
    "${tool[@]}" -DWRAP_ALLGATHER -o "$dir/tool_allgather.so"
    gcc "${warnings[@]}" -o "$dir/host" "$here/host.c"
}

mpi_plain() {
    run_mpi 2 "" "$dir/app"
    expect "$mpi: the program by itself" "app: right on 2|" "$out|$err"

    run_mpi 2 "$alone/libcollshim.so" "$dir/app"
    expect "$mpi without backend: right results" "app: right on 2" "$out"
    expect_match "$mpi without backend: one line for all ranks" \
        "collshim: *libcollshim-$mpi.so is missing*libmpi*" "$err"

    run_mpi 2 "$dir/with/libcollshim.so" "$dir/app"
    expect "$mpi: every rank's calls go to the backend" \
        "app: right on 2|$calls_c"$'\n'"$calls_c" "$out|$(lines backend:)"
    if [ "$mpi" = openmpi ]; then
        expect "$mpi: the backend's MPI_COMM_WORLD is the program's" \
            "world: Allreduce=1"$'\n'"world: Allreduce=1" "$(lines world:)"
    fi

    run_mpi 1 "$dir/with/libcollshim.so" env LD_BIND_NOW=1 "$dir/app"
    expect "$mpi: LD_BIND_NOW=1" "app: right on 1|$calls_c" "$out|$(lines "\(backend\|collshim\):")"

    run_mpi 1 "$dir/with/libcollshim.so:$dir/copy/libcollshim.so" "$dir/app"
    expect "$mpi: two copies of the library, right results" "app: right on 1|" \
        "$out|$(lines collshim:)"
}

# In any order, the tool sees the application's calls and the backend sees the tool's.
mpi_tools() {
    local which order preloads
    declare -A seen=([both]="Init=1 Allgather=1" [init]="Init=1 Allgather=0"
        [allgather]="Init=0 Allgather=1")
    for which in both init allgather; do
        for order in first last; do
            preloads=$dir/with/libcollshim.so:$dir/tool_$which.so
            [ $order = last ] || preloads=$dir/tool_$which.so:$dir/with/libcollshim.so
            run_mpi 1 "$preloads" "$dir/app"
            expect "$mpi: a tool that wraps $which, $order" \
                "app: right on 1|tool: ${seen[$which]}|$calls_c" \
                "$out|$(lines tool:)|$(lines backend:)"
        done
    done
}

mpi_scopes() {
    local scope
    for scope in local global; do
        run_mpi 1 "$dir/with/libcollshim.so" "$dir/host" $scope "$dir/plugin.so"
        expect "$mpi: libmpi comes with a plugin, $scope scope" "app: right on 1|$calls_c" \
            "$out|$(lines "\(backend\|collshim\):")"
    done

    # A dlsym() on libmpi's own handle passes us by: it must work, and count nothing.
    local soname
    soname=$(readelf -dW "$dir/app" | sed -n 's/.*(NEEDED).*\[\(libmpi.*\)\]/\1/p' | head -n 1)
    run_mpi 1 "$dir/with/libcollshim.so" /usr/bin/python3 -c "import ctypes
m = ctypes.CDLL('$soname')
print(m.MPI_Init(None, None), m.MPI_Finalize())"
    expect "$mpi: ctypes on libmpi's handle is not caught and works" "0 0|" "$out|$err"

    if [ "$mpi" = openmpi ] && /usr/bin/python3 -c 'import mpi4py' 2>/dev/null; then
        run_mpi 2 "$dir/with/libcollshim.so" /usr/bin/python3 -c 'from mpi4py import MPI
from array import array
mine, total = array("i", [MPI.COMM_WORLD.rank + 1]), array("i", [0])
MPI.COMM_WORLD.Allreduce([mine, MPI.INT], [total, MPI.INT])
MPI.COMM_WORLD.rank or print(total[0])'
        expect_match "$mpi: mpi4py is caught" "3|2" \
            "$out|$(grep -c 'backend: opened=1 .*Allreduce=[1-9]' <<<"$err" || true)"
    elif [ "$mpi" = openmpi ]; then
        skip "$mpi: mpi4py is caught" "mpi4py is not installed"
    fi
}

mpi_fortran() {
    local binding flag
    for binding in mpif.h mpi_f08; do
        flag=-DMPIF
        [ $binding = mpif.h ] || flag=-DF08
        if ! command -v mpifort."$mpi" >/dev/null; then
            skip "$mpi: Fortran, $binding" "mpifort.$mpi is not installed"
            continue
        fi
        mpifort."$mpi" $flag -o "$dir/app_fortran" "$here/app.F90"
        run_mpi 2 "$dir/with/libcollshim.so" "$dir/app_fortran"
        expect "$mpi: Fortran, $binding, is caught" "app: right on 2|2" \
            "$out|$(grep -c 'backend: opened=1 .*Allgather=1 ' <<<"$err" || true)"
        # A tool's view of Fortran depends on the MPI, and must not depend on us.
        local alone_seen
        run_mpi 1 "$dir/tool_both.so" "$dir/app_fortran"
        alone_seen=$(lines tool:)
        run_mpi 1 "$dir/with/libcollshim.so:$dir/tool_both.so" "$dir/app_fortran"
        expect "$mpi: Fortran, $binding: a tool sees what it sees without us" \
            "app: right on 1|$alone_seen" "$out|$(lines tool:)"
    done
}

# A backend that brings the other MPI with it must be put away again, and say so once.
mpi_guard() {
    local other=openmpi
    [ "$mpi" = mpich ] || other=mpich
    if ! command -v mpicc.$other >/dev/null; then
        skip "$mpi: a backend built against the wrong MPI" "mpicc.$other is not installed"
        return
    fi
    mkdir -p "$dir/guard"
    cp "$shim" "$dir/guard"
    mpicc.$other "${warnings[@]}" -shared -fPIC -I"$root" -Wl,--no-as-needed \
        -o "$dir/guard/libcollshim-$mpi.so" "$here/test_backend.c"
    run_mpi 2 "$dir/guard/libcollshim.so" "$dir/app"
    expect "$mpi: a backend built against the wrong MPI: right results, not opened" \
        "app: right on 2|0" "$out|$(grep -c 'opened=1' <<<"$err" || true)"
    expect_match "$mpi: a backend built against the wrong MPI: one line" \
        "collshim: *libcollshim-$mpi.so needs *, but this program runs *" "$(lines collshim:)"
}

for mpi in openmpi mpich; do
    if ! command -v mpicc.$mpi >/dev/null; then
        skip "all of $mpi" "mpicc.$mpi is not installed"
        continue
    fi
    dir=$tmp/$mpi
    mkdir -p "$dir/with"
    mpi_programs
    cp -r "$dir/with" "$dir/copy"
    mpi_plain
    mpi_tools
    mpi_scopes
    mpi_fortran
    mpi_guard
done
