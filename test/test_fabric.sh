#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/test_fabric.sh: what scripts/fabric promises, tried with each MPI that is installed: where ranks
# land, what they see, what reaches them, and above all that nothing is left behind, however it ends.
# Speeds are not tested here, since they depend on what else the machine is doing.
# Needs root.
set -uo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/tap.sh"

name=t$$

[[ $EUID -eq 0 ]] || skip_all "the fabric needs root"
at_exit "$fabric" down --name "$name"
at_exit "$fabric" down --name "${name}b"
at_exit "$fabric" down --name "${name}o"

# call STATUS ARGUMENT...: runs scripts/fabric; succeeds if that is its exit status, or if it is one of
# several, as in "3 255". Its output is in $tmp/out and $tmp/err.
call() {
    local expected=$1 status=0
    shift
    "$fabric" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
    cat "$tmp/out" "$tmp/err"
    echo "exit status $status, expected $expected"
    [[ " $expected " == *" $status "* ]]
}

refused() { # refused STATUS ARGUMENT...: and says why in one line
    call "$@" && [[ $(wc -l <"$tmp/err") -eq 1 ]] && grep -q '^fabric: ' "$tmp/err"
}

said() {
    diff <(sort "$tmp/out") -
}

leftovers() { # leftovers NAME: what a fabric may leave; prints nothing if there is nothing
    ip netns list | grep "fabric-$1-"
    grep -lszxF "FABRIC_INSIDE=$1" /proc/[0-9]*/environ
    find "/run/collshim-fabric/$1" /tmp "$tmp" /dev/shm -maxdepth 1 -name "*$1-h*" 2>/dev/null
    ls -d "/run/collshim-fabric/$1" 2>/dev/null
    ip -o link | grep -E 'h[0-9]+(rail|mgmt)'
}

clean() {
    ! leftovers "$1" | grep .
}

ranks_gone() { # no process of a run is left; one that was just told to end gets 5 s
    local tries
    for ((tries = 0; tries < 50; tries++)); do
        # Not by its exit status: a process that ends while grep reads makes that 2.
        grep -lsz "^FABRIC_RUN=$name/" /proc/[0-9]*/environ >"$tmp/left"
        [[ -s $tmp/left ]] || return 0
        sleep 0.1
    done
    cat "$tmp/left"
    return 1
}

cat >"$tmp/app.c" <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *env(const char *name)
{
    return getenv(name) ? getenv(name) : "-";
}

/* app STATUS | app hang | app send FROM TO NBYTES */
int main(int argc, char **argv)
{
    MPI_Comm host_comm;
    int rank, sum, num_local, index;
    char host[64];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host_comm);
    MPI_Comm_size(host_comm, &num_local);
    MPI_Comm_rank(host_comm, &index);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    gethostname(host, sizeof host);
    if (strcmp(argv[1], "hang") == 0) {
        for (;;) {
            sleep(1);
        }
    }
    if (strcmp(argv[1], "send") == 0) {
        int nbytes = atoi(argv[4]);
        char *buf = calloc(1, (size_t)nbytes);

        if (rank == atoi(argv[2])) {
            MPI_Send(buf, nbytes, MPI_CHAR, atoi(argv[3]), 0, MPI_COMM_WORLD);
        } else if (rank == atoi(argv[3])) {
            MPI_Recv(buf, nbytes, MPI_CHAR, atoi(argv[2]), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        free(buf);
    }
    printf("%d %s %d/%d %s %s %s\n", rank, strrchr(host, '-') + 1, index, num_local,
           env("FABRIC_RAILS"), env("COLLSHIM_TEST"), env("TEST_ENV"));
    fflush(stdout);
    MPI_Finalize();
    return atoi(argv[1]);
}
C
# A preload that records which programs it got into.
cat >"$tmp/spy.c" <<'C'
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void note(void)
{
    char comm[32];
    int in = open("/proc/self/comm", O_RDONLY);
    int out = open(SPY, O_WRONLY | O_APPEND | O_CREAT, 0600);
    ssize_t length = read(in, comm, sizeof comm);
    if (length > 0 && write(out, comm, (size_t)length) != length) {
        _exit(99);
    }
    close(in);
    close(out);
}
C
cc -shared -fPIC -DSPY="\"$tmp/spied\"" -o "$tmp/spy.so" "$tmp/spy.c" || exit 1

# Says what the kernel lets a TCP connection send, in Mbit/s: of a socket that connects, of one that
# was accepted, and the same after an execve with an empty environment.
cat >"$tmp/capped.c" <<'C'
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static void say(int fd)
{
    unsigned long long rate = 0;
    socklen_t size = sizeof rate;

    getsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, &size);
    printf("%llu\n", rate * 8 / 1000000);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    int listens = socket(AF_INET, SOCK_STREAM, 0), connects = socket(AF_INET, SOCK_STREAM, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listen(listens, 1);
    getsockname(listens, (struct sockaddr *)&at, &size);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(connects, (struct sockaddr *)&at, sizeof at);
    say(connects);
    say(accept(listens, NULL, NULL));
    if (argc == 1) {
        execve(argv[0], (char *[]){argv[0], "last", NULL}, (char *[]){NULL});
    }
    return 0;
}
C
cc -o "$tmp/capped" "$tmp/capped.c" || exit 1

tx_bytes() { # tx_bytes HOST RAIL
    "$fabric" exec --name "$name" "$1" -- cat "/sys/class/net/rail$2/statistics/tx_bytes"
}

# sent_through MPI: 2 MB from rank 1 (host 0, rail 1) to rank 2 (host 1, rail 0) leave by rail 1.
sent_through() {
    local before0 before1
    before0=$(tx_bytes 0 0)
    before1=$(tx_bytes 0 1)
    call 0 run --name "$name" --mpi "$1" -n 4 --ppn 2 --timeout 120 -- \
        "$tmp/app.$1" send 1 2 2000000 || return 1
    (($(tx_bytes 0 1) - before1 > 2000000 && $(tx_bytes 0 0) - before0 < 500000))
}

# A program that hands on bytes by TCP: `listen ADDRESS NBYTES` says the ms from its first byte to its last;
# `send ADDRESS NBYTES`.
cat >"$tmp/stream.c" <<'C'
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e3 + (double)at.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(5555)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    static char buf[65536];
    long left = argc == 4 ? atol(argv[3]) : 0;
    double begun = 0;
    ssize_t done;

    inet_pton(AF_INET, argv[2], &at.sin_addr);
    if (strcmp(argv[1], "send") == 0) {
        if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0) {
            return 1;
        }
        for (; left > 0; left -= done) {
            if ((done = write(fd, buf, sizeof buf)) <= 0) {
                return 1;
            }
        }
        return 0;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 1) != 0) {
        return 1;
    }
    puts("listening");
    fflush(stdout);
    fd = accept(fd, NULL, NULL);
    for (; left > 0 && (done = read(fd, buf, sizeof buf)) > 0; left -= done) {
        begun = begun > 0 ? begun : now_ms();
    }
    printf("%.0f\n", now_ms() - begun);
    return left > 0;
}
C
cc -o "$tmp/stream" "$tmp/stream.c" || exit 1

# begin_stream FROM TO RAIL NBYTES: starts one; `wait` awaits its end, its ms are then in $tmp/ms
begin_stream() {
    local tries address=10.80.$3.$(($2 + 1))
    : >"$tmp/ms" # what the one before wrote
    "$fabric" exec --name "$name" "$2" -- timeout 60 "$tmp/stream" listen "$address" "$4" >"$tmp/ms" &
    for ((tries = 0; tries < 100; tries++)); do
        ! grep -q listening "$tmp/ms" || break
        sleep 0.05
    done
    "$fabric" exec --name "$name" "$1" -- timeout 60 "$tmp/stream" send "$address" "$4" &
}

# took LEAST MOST: the stream ended, within so many ms
took() {
    wait
    tail -n 1 "$tmp/ms"
    (($(tail -n 1 "$tmp/ms") >= $1 && $(tail -n 1 "$tmp/ms") <= $2))
}

# slow_way HOST DIRECTION FROM TO LEAST MOST: 500 kB take so many ms with HOST's rail 1 at 2 Mbit/s in DIRECTION
slow_way() {
    call 0 rate --name "$name" --host "$1" --rail 1 --direction "$2" 2mbit || return 1
    begin_stream "$3" "$4" 1 500000
    took "$5" "$6" && call 0 rate --name "$name" reset
}

# changed_midway: 3 MB at 100 Mbit/s take 0.25 s; at 2 Mbit/s from the start, then reset after 1 s, some more
changed_midway() {
    call 0 rate --name "$name" --host 0 --rail 1 2mbit || return 1
    begin_stream 0 1 1 3000000
    sleep 1
    call 0 rate --name "$name" reset && took 700 6000
}

# stalled DIRECTION HOST: nothing gets through in 3.5 s; all of it within 2 s after it (TCP alone would try
# again 6 s after it began), and nothing was dropped
stalled() {
    local before
    call 0 rate --name "$name" --host "$2" --rail 1 --direction "$1" stall || return 1
    begin_stream 0 1 1 3000000
    sleep 3.5
    before=$(tail -n 1 "$tmp/ms")
    call 0 rate --name "$name" reset && wait
    echo "before: $before, ms: $(tail -n 1 "$tmp/ms")"
    [[ $before == listening && $(tail -n 1 "$tmp/ms") -lt 5500 ]] &&
        "$fabric" status --name "$name" | awk '/^dropped/ && $4 > 0 { exit 1 }'
}

status_row() { # status_row ROW: status prints that row
    "$fabric" status --name "$name" | tr -s ' ' | grep -x "$1"
}

killed_run() { # killed_run MPI: SIGKILL to `fabric run` itself ends its ranks
    "$fabric" run --name "$name" --mpi "$1" --ppn 1 -- "$tmp/app.$1" hang >/dev/null 2>&1 &
    local runner=$! tries
    for ((tries = 0; tries < 50; tries++)); do
        [[ $(grep -lsz "^FABRIC_RUN=$name/" /proc/[0-9]*/environ |
            xargs -r grep -lsz "^FABRIC_RAILS=" | wc -l) -lt 3 ]] || break
        sleep 0.1
    done
    kill -KILL "$runner"
    wait "$runner" 2>/dev/null
    ranks_gone
}

# compiled MPI: makes app.MPI, or skips in one line. A library of its own directory runs what Debian's
# Open MPI compiled, or what Debian's MPICH compiled and is linked with it.
compiled() {
    local mpi=$1 family=mpich libmpi
    [[ $mpi != openmpi* ]] || family=openmpi
    if ! command -v "mpicc.$family" >/dev/null; then
        skip "$mpi" "mpicc.$family is not installed"
        return 1
    fi
    libmpi=${FABRIC_WHEELS:-$root/build/wheels}/$mpi/lib/libmpi.so.12
    case $mpi in
    openmpi5) libmpi=${libmpi%.12}.40 ;;&
    openmpi5 | mpich5 | intel)
        if [[ ! -e $libmpi ]]; then
            skip "$mpi" "no $libmpi: scripts/setup wheels"
            return 1
        fi
        ;;&
    openmpi* | mpich) "mpicc.$family" -o "$tmp/app.$mpi" "$tmp/app.c" || exit 1 ;;
    *) mpicc.mpich -c -o "$tmp/app.o" "$tmp/app.c" && cc -o "$tmp/app.$mpi" "$tmp/app.o" "$libmpi" || exit 1 ;;
    esac
}

try_mpi() {
    local mpi=$1 three=3
    local -a run=(run --name "$name" --mpi "$mpi" --timeout 120)
    [[ $mpi != intel ]] || three="3 255" # its launcher makes 255 of some ranks' 3
    compiled "$mpi" || return 0

    check "$mpi: starts ranks on every host" \
        call 0 "${run[@]}" --ppn 2 --env "TEST_ENV=a b" -- "$tmp/app.$mpi" 0
    check "$mpi: block placement, 2 sharing ranks per host, a rail each, environment" said <<END
0 h0 0/2 rail0 x;y a b
1 h0 1/2 rail1 x;y a b
2 h1 0/2 rail0 x;y a b
3 h1 1/2 rail1 x;y a b
4 h2 0/2 rail0 x;y a b
5 h2 1/2 rail1 x;y a b
END
    if [[ $mpi == intel ]]; then
        check "$mpi: striped is refused" refused 2 "${run[@]}" --ppn 1,3,1 --rails striped -- "$tmp/app.$mpi" 0
    else
        check "$mpi: unequal hosts, striped" \
            call 0 "${run[@]}" --ppn 1,3,1 --rails striped -- "$tmp/app.$mpi" 0
        check "$mpi: unequal hosts, striped: where and what" said <<END
0 h0 0/1 rail0,rail1 x;y -
1 h1 0/3 rail0,rail1 x;y -
2 h1 1/3 rail0,rail1 x;y -
3 h1 2/3 rail0,rail1 x;y -
4 h2 0/1 rail0,rail1 x;y -
END
    fi
    rm -f "$tmp/spied"
    check "$mpi: cyclic placement, preload, exit status 3" \
        call "$three" "${run[@]}" -n 5 --place cyclic --preload "$tmp/spy.so" -- "$tmp/app.$mpi" 3
    check "$mpi: cyclic placement: where" said <<END
0 h0 0/2 rail0 x;y -
1 h1 0/2 rail0 x;y -
2 h2 0/1 rail0 x;y -
3 h0 1/2 rail1 x;y -
4 h1 1/2 rail1 x;y -
END
    check "$mpi: the preload reaches the 5 ranks and no launcher" \
        diff <(yes "app.$mpi" | head -n 5) "$tmp/spied"
    check "$mpi: --flow-cap" call 0 "${run[@]}" --ppn 1 -n 1 --flow-cap 50mbit -- "$tmp/capped"
    check "$mpi: ... caps sockets, accepted ones too, and after an execve" said <<<$'50\n50\n50\n50'
    check "$mpi: a message leaves through its rank's rail" sent_through "$mpi"
    check "$mpi: --timeout ends a run with 124" \
        call 124 run --name "$name" --mpi "$mpi" --ppn 1 --timeout 2 -- "$tmp/app.$mpi" hang
    check "$mpi: ... and all its ranks" ranks_gone
    check "$mpi: a killed run takes its ranks along" killed_run "$mpi"
}

# SIGKILL to the owner of one fabric: the next up of another removes it. One whose owner lives stays.
orphaned() {
    bash -c '"$1" up --owner $$ --name "$2" --nodes 1 --rails 1 && kill -KILL $$' bash "$fabric" "${name}o" >/dev/null 2>&1
    call 0 status --name "${name}o" && call 0 up --owner $$ --name "${name}b" --nodes 1 --rails 1 && clean "${name}o" &&
        call 0 up --name "${name}o" --nodes 1 --rails 1 && call 0 status --name "${name}b" &&
        call 0 down --name "${name}o" && call 0 down --name "${name}b"
}

die_midway() { # die_midway SECONDS: SIGKILL to `up` after that time; then `down`
    "$fabric" up --name "$name" --nodes 4 --rails 4 >/dev/null 2>&1 &
    local up=$!
    sleep "$1"
    kill -KILL "$up" 2>/dev/null
    wait "$up" 2>/dev/null
    sleep 0.1
    call 0 down --name "$name" && clean "$name"
}

lost_records() { # no state, a host dead, a stray process, a namespace gone
    call 0 up --name "$name" --nodes 2 --rails 1 || return 1
    local tries
    # shellcheck disable=SC2016 # the inner shell's
    "$fabric" exec --name "$name" 1 -- sh -c 'touch "$1"; exec setsid sleep 1000' sh "$tmp/strayed" >/dev/null 2>&1 &
    disown
    for ((tries = 0; tries < 100; tries++)); do
        [[ ! -e $tmp/strayed ]] || break
        sleep 0.1
    done
    [[ -e $tmp/strayed ]] || return 1
    kill -KILL "$(cat "/run/collshim-fabric/$name/pid.$name-h0")"
    ip netns del "fabric-$name-h0"
    rm -rf "/run/collshim-fabric/$name"
    call 0 down --name "$name" && clean "$name"
}

export COLLSHIM_TEST='x;y'
check "--help explains" call 0 --help
check "an unknown option is refused" refused 2 up --nome "$name"
check "a malformed rate is refused" refused 2 up --name "$name" --rate fast
check "a command on a fabric that is not up is refused" refused 1 exec --name "$name" 0 -- true
check "up" call 0 up --name "$name" --nodes 3 --rails 2 --rate 200mbit,100mbit
check "a malformed --flow-cap is refused" refused 2 run --name "$name" --flow-cap fast -- true
check "up on a name in use is refused" refused 1 up --name "$name"
check "status shows hosts, rails, rates" \
    bash -c "'$fabric' status --name '$name' | tr -s ' ' | grep -qx 'rate unshaped 200mbit 100mbit'"
for bad in "" fast 5bit "1mbit 2mbit" "--host 3 1mbit" "--host 0,x 1mbit" "--host= 1mbit" "--rail 2 1mbit" \
    "--direction up 1mbit" "--nodes 3 1mbit" "1mbit -- true"; do
    # shellcheck disable=SC2086 # words
    check "rate $bad: refused" refused 2 rate --name "$name" $bad
done
check "rate on a fabric that is not up is refused" refused 1 rate --name "${name}x" 1mbit
check "... after which no rate is another" bash -c "! '$fabric' status --name '$name' | grep -E '^(out|in) '"
check "rate: one host, rail, direction" call 0 rate --name "$name" --host 1 --rail 1 --direction out 25mbit
check "... is seen there" status_row "out - 200mbit 25mbit"
check "... and nowhere else" test "$("$fabric" status --name "$name" | grep -cE '^(out|in) ')" = 1
check "rate: several hosts and rails, both directions" call 0 rate --name "$name" --host 0,2 --rail 0,1 1500kbit
check "... are seen" test "$("$fabric" status --name "$name" | grep -cE '^(out|in) .*1500kbit +1500kbit')" = 4
check "rate: a stall" call 0 rate --name "$name" --host 2 --rail 0 --direction in stall
check "... is seen" status_row "in - stalled 1500kbit"
check "rate reset" call 0 rate --name "$name" reset
check "... is seen" bash -c "! '$fabric' status --name '$name' | grep -E '^(out|in) '"
check "a slow rail is slow out of its host" slow_way 0 out 0 1 1500 4000
check "... but not into it" slow_way 0 out 1 0 0 1000
check "a slow rail is slow into its host" slow_way 0 in 1 0 1500 4000
check "... but not out of it" slow_way 0 in 0 1 0 1000
check "a rail that becomes fast again midway" changed_midway
check "a stall out of a host holds everything and loses nothing" stalled out 0
check "a stall into a host holds everything and loses nothing" stalled in 1
check "exec passes the exit status on" call 7 exec --name "$name" 1 -- sh -c 'hostname; exit 7'
check "exec runs on the host named" grep -qx "$name-h1" "$tmp/out"
touch "/dev/shm/$name-probe" "$tmp/shared"
check "shared memory and processes are private, files are not" \
    call 0 exec --name "$name" "$name-h2" -- \
    sh -c "test -e '$tmp/shared' -a ! -e '/dev/shm/$name-probe' -a ! -d /proc/$$"
rm -f "/dev/shm/$name-probe"
check "a program that is missing is refused" refused 1 run --name "$name" -- "$tmp/missing"
check "too many ranks are refused" refused 2 run --name "$name" --ppn 1 -n 9 -- true
check "a library that is not there is refused" \
    refused 1 run --name "$name" --mpi openmpi5 --mpi-home "$tmp/missing" -- true
check "--mpi-home for a library in PATH is refused" refused 2 run --name "$name" --mpi openmpi --mpi-home "$tmp" -- true
for mpi in openmpi mpich openmpi5 mpich5 intel; do try_mpi "$mpi"; done
check "a second fabric beside it" call 0 up --name "${name}b" --nodes 1 --rails 1
check "... goes alone" call 0 down --name "${name}b"
check "... and leaves nothing" clean "${name}b"
check "the first is still up" call 0 exec --name "$name" 0 -- true
check "down" call 0 down --name "$name"
check "down leaves nothing" clean "$name"
check "down again" call 0 down --name "$name"
check "an owner that is no process is refused" refused 2 up --name "$name" --owner 4194305
check "a fabric whose owner was killed goes with the next up" orphaned
for after in 0.03 0.1 0.2 0.3; do
    check "up killed after $after s: down leaves nothing" die_midway "$after"
done
check "records lost, a host dead, a stray process: down leaves nothing" lost_records

conclude
