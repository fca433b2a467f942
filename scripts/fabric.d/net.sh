# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # the request is set by scripts/fabric
#
# Makes, shows and removes the hosts and rails of one fabric. Sourced by scripts/fabric.
#
# Every process of a fabric can be found again without any record of it: by the name of its network
# namespace, or by FABRIC_INSIDE in its environment. Removal relies on that alone, and not on the
# state directory, so it works however far `up` came before it was killed. A record of process
# numbers would be out of date exactly then.
#
# The node `net` is switch, router and login node in one: a bridge per rail and one, mgmt0, for the
# launchers. It shares the machine's process numbers, since a launcher there must enter every host; the hosts have
# process numbers of their own.
#
# Addresses: host h has 10.80.r.(h+1) on rail r and 10.81.0.(h+1) on mgmt0; node net ends in 254.
# They repeat in every fabric, since no two of them share a network.

# A port of the switch may hold this much before it drops. It is a bound, not a reservation: 64
# connections at once with the TCP windows that fabric.d/host sets. `status` shows what was dropped.
readonly queue_bytes=64m

# rate_bits RATE: prints it in bits per second; fails if it is malformed or out of range.
rate_bits() {
    local bits
    [[ $1 =~ ^([1-9][0-9]{0,8})(kbit|mbit|gbit)$ ]] || return 1
    case ${BASH_REMATCH[2]} in
    kbit) bits=$((BASH_REMATCH[1] * 1000)) ;;
    mbit) bits=$((BASH_REMATCH[1] * 1000000)) ;;
    gbit) bits=$((BASH_REMATCH[1] * 1000000000)) ;;
    esac
    ((bits >= 100000 && bits <= 100000000000)) || return 1
    echo "$bits"
}

netns_of() {
    echo "fabric-$name-$1"
}

# netns_list: the network namespaces of this fabric that exist, finished or not.
netns_list() {
    ip netns list 2>/dev/null | cut -d ' ' -f 1 | grep -xE "fabric-$name-(net|h[0-9]+)" || true
}

node_list() {
    local h
    echo net
    for ((h = 0; h < nodes; h++)); do echo "h$h"; done
}

# inside_pids: every process on this fabric, and those still on their way in.
inside_pids() {
    local ns
    {
        for ns in $(netns_list); do ip netns pids "$ns" 2>/dev/null || true; done
        grep -lszxF "FABRIC_INSIDE=$name" /proc/[0-9]*/environ | cut -d / -f 3 || true
    } | sort -un | grep -vx $$ || true
}

# rate_lines VERB DEVICE BITS: tc commands that set the rate of what leaves DEVICE; VERB is add for a new
# device, change while it carries data. The rates of the two classes are only what each is sure of; both
# may borrow up to the whole rail.
rate_lines() {
    local verb=$1 dev=$2 bits=$3
    local burst=$((bits / 8000)) sure=$((bits / 20))
    ((burst >= 32768)) || burst=32768
    local all="burst $burst cburst $burst quantum 3000"
    local share="rate ${sure}bit ceil ${bits}bit"
    cat <<TC
class $verb dev $dev parent 1: classid 1:1 htb rate ${bits}bit $all
class $verb dev $dev parent 1:1 classid 1:10 htb $share prio 0 burst 16k quantum 3000
class $verb dev $dev parent 1:1 classid 1:20 htb $share prio 1 $all
TC
}

# gate_lines VERB DEVICE STATE: tc commands that let pass what waits in DEVICE (STATE open), or hold it
# (shut). A token bucket is the gate: it keeps what waits while it is changed, and is full after a change.
# So one burst passes before it shuts. It must hold the largest packet, which is 64 KiB.
gate_lines() {
    local verb=$1 dev=$2 rate=100gbit
    [[ $3 == open ]] || rate=8bit
    cat <<TC
qdisc $verb dev $dev parent 1:10 handle 10: tbf rate $rate burst 2k limit $queue_bytes
qdisc $verb dev $dev parent 1:20 handle 20: tbf rate $rate burst 128k limit $queue_bytes
TC
}

# shape_lines DEVICE BITS: tc commands that limit what leaves a new DEVICE.
#
# HTB with small packets first: one class for anything under 128 bytes and for ARP, one for data
# with a queue bounded in bytes. A plain token bucket either drops data when its queue is short or
# lets acknowledgements wait behind data when it is long, which no RDMA rail does; both cost 10 to
# 25% and make the figures noisy.
shape_lines() {
    local dev=$1
    echo "qdisc add dev $dev root handle 1: htb default 20"
    rate_lines add "$dev" "$2"
    gate_lines add "$dev" open
    cat <<TC
filter add dev $dev parent 1: protocol ip prio 1 u32 match u16 0x0000 0xff80 at 2 flowid 1:10
filter add dev $dev parent 1: protocol arp prio 2 u32 match u32 0 0 flowid 1:10
TC
}

# host_lines H: ip commands for host H. A rule per rail sends what carries that rail's address out
# through that rail, wherever it goes; so each rail of a host reaches each rail of every other.
host_lines() {
    local h=$1 r address
    echo "link set lo up"
    echo "addr add 10.81.0.$((h + 1))/24 dev mgmt0"
    echo "link set mgmt0 up"
    for ((r = 0; r < rails; r++)); do
        address=10.80.$r.$((h + 1))
        echo "addr add $address/24 dev rail$r"
        echo "link set rail$r up"
        echo "route add 10.80.$r.0/24 dev rail$r table $((100 + r))"
        echo "route add default via 10.80.$r.254 dev rail$r table $((100 + r))"
        echo "rule add from $address lookup $((100 + r))"
    done
}

net_lines() {
    local h r
    echo "link set lo up"
    echo "link add mgmt0 type bridge mcast_snooping 0"
    echo "addr add 10.81.0.254/24 dev mgmt0"
    echo "link set mgmt0 up"
    for ((h = 0; h < nodes; h++)); do
        echo "link set h${h}mgmt master mgmt0 up"
    done
    for ((r = 0; r < rails; r++)); do
        echo "link add rail$r type bridge mcast_snooping 0"
        echo "addr add 10.80.$r.254/24 dev rail$r"
        echo "link set rail$r up"
        for ((h = 0; h < nodes; h++)); do
            echo "link set h${h}rail$r master rail$r up"
        done
    done
}

cable_lines() {
    local h r
    for ((h = 0; h < nodes; h++)); do
        echo "link add mgmt0 netns $(netns_of "h$h") type veth" \
            "peer name h${h}mgmt netns $(netns_of net)"
        for ((r = 0; r < rails; r++)); do
            echo "link add rail$r netns $(netns_of "h$h") type veth" \
                "peer name h${h}rail$r netns $(netns_of net)"
        done
    done
}

lay_cables() {
    local h r bits
    cable_lines | ip -batch -
    net_lines | ip -n "$(netns_of net)" -batch -
    for ((h = 0; h < nodes; h++)); do
        host_lines "$h" | ip -n "$(netns_of "h$h")" -batch -
    done
    for ((r = 0; r < rails; r++)); do
        bits=$(rate_bits "${rates[r]}")
        for ((h = 0; h < nodes; h++)); do
            shape_lines "rail$r" "$bits" | tc -n "$(netns_of "h$h")" -batch -
            shape_lines "h${h}rail$r" "$bits"
        done | tc -n "$(netns_of net)" -batch -
    done
}

write_hosts_file() {
    local h
    echo "127.0.0.1 localhost"
    echo "10.81.0.254 $name-net"
    for ((h = 0; h < nodes; h++)); do echo "10.81.0.$((h + 1)) $name-h$h"; done
    grep -vwE "localhost|$name-(net|h[0-9]+)" /etc/hosts || true
}

# start_node NODE: the process that keeps NODE's namespaces; on a host it is process 1 there.
start_node() {
    local -a own_pids=(--pid --fork --kill-child)
    [[ $1 != net ]] || own_pids=()
    ip netns add "$(netns_of "$1")"
    FABRIC_INSIDE=$name setsid ip netns exec "$(netns_of "$1")" \
        unshare --uts --ipc --mount --propagation unchanged "${own_pids[@]}" \
        "$here/fabric.d/host" "$state" "$name-$1" </dev/null >/dev/null 2>"$state/log.$1" &
    keepers[$1]=$!
}

await_node() {
    local tries
    for ((tries = 0; tries < 500; tries++)); do
        [[ ! -e $state/pid.$name-$1 ]] || return 0
        kill -0 "${keepers[$1]}" 2>/dev/null || break
        sleep 0.02
    done
    die "$name-$1 did not start: $(head -n 1 "$state/log.$1" | grep . || echo "no answer in 10 s")"
}

# read_shape: sets nodes, rails and rates from a fabric that is up; dies in one line if it is not.
read_shape() {
    local node pid
    [[ -r $state/shape ]] || {
        [[ ! -d $state && -z $(netns_list) ]] ||
            die "$name is left half-way from a crash; remove it: scripts/fabric down --name $name"
        die "$name is not up; make it: scripts/fabric up --name $name"
    }
    read -r nodes rails rate <"$state/shape"
    IFS=, read -ra rates <<<"$rate"
    for node in $(node_list); do
        pid=$(<"$state/pid.$name-$node")
        [[ /run/netns/$(netns_of "$node") -ef /proc/$pid/ns/net ]] ||
            die "$name-$node is dead; remove the fabric: scripts/fabric down --name $name"
    done
}

fabric_remove() {
    local tries ns pids spaces
    for ((tries = 0; tries < 250; tries++)); do
        pids=$(inside_pids)
        spaces=$(netns_list)
        [[ -n $pids$spaces ]] || break
        if [[ -n $pids ]]; then # namespaces last: their names are how processes are found
            # shellcheck disable=SC2086 # one word per process
            kill -KILL $pids 2>/dev/null || true
            sleep 0.02
        else
            for ns in $spaces; do ip netns del "$ns"; done
        fi
    done
    [[ -z $pids ]] || die "$name: these processes cannot be killed: ${pids//$'\n'/ }"
    rm -rf --one-file-system "$state"
    rmdir --ignore-fail-on-non-empty "$state_root" 2>/dev/null || true
}

# process_mark PID: what tells the process from a later one of that number, and from one of another container;
# fails if there is none.
process_mark() {
    local stat
    [[ $1 =~ ^[1-9][0-9]*$ && -r /proc/$1/stat ]] || return 1
    stat=$(<"/proc/$1/stat") 2>/dev/null || return 1
    # shellcheck disable=SC2086 # words; the name in brackets may have spaces
    set -- "$1" ${stat##*) }
    [[ $2 != [ZX] ]] || return 1
    echo "$1 ${21} $(readlink /proc/self/ns/pid)" # stat(5): field 22, when it started
}

# Fabrics whose owner is gone, by SIGKILL perhaps, are removed. Owners of other process namespaces cannot be seen.
remove_orphans() {
    local file pid mark name state
    for file in "$state_root"/*/owner; do
        mark=$(cat "$file" 2>/dev/null) || continue
        pid=${mark%% *}
        [[ ${mark##* } == "$(readlink /proc/self/ns/pid)" && $mark != "$(process_mark "$pid")" ]] || continue
        state=${file%/owner} name=$(basename "${file%/owner}")
        (fabric_remove) || true
    done
}

refuse_existing() {
    die "$name is up already, or left from a crash; remove it: scripts/fabric down --name $name"
}

fabric_up() {
    local node
    local -A keepers=() # the process behind each node
    [[ -z $(netns_list) ]] || refuse_existing
    until mkdir -m 0700 "$state" 2>/dev/null; do # the directory above may just be going
        [[ ! -e $state ]] || refuse_existing
        install -d -m 0700 "$state_root"
    done
    [[ -z $owner ]] || echo "$owner" >"$state/owner"
    trap 'fabric_remove' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    write_hosts_file >"$state/hosts"
    for node in $(node_list); do start_node "$node"; done
    for node in $(node_list); do await_node "$node"; done
    lay_cables
    (
        IFS=,
        echo "$nodes $rails ${rates[*]}" >"$state/shape.new"
    )
    mv "$state/shape.new" "$state/shape"
    trap - EXIT INT TERM HUP
}

# losses NODE PREFIX: packets dropped by the shapers of NODE's devices PREFIX0, PREFIX1, ...
losses() {
    local r
    for ((r = 0; r < rails; r++)); do
        tc -n "$(netns_of "$1")" -s qdisc show dev "$2$r" |
            awk '$1 == "qdisc" { root = $2 == "htb" }
                 root && match($0, /dropped [0-9]+/) { print substr($0, RSTART + 8, RLENGTH - 8) }'
    done
}

status_rows() {
    local h r
    local -a row dropped
    row=(HOST mgmt0)
    for ((r = 0; r < rails; r++)); do row+=("rail$r"); done
    echo "${row[*]}"
    echo "rate unshaped ${rates[*]}"
    for ((h = 0; h < nodes; h++)); do
        row=("$name-h$h" "10.81.0.$((h + 1))")
        for ((r = 0; r < rails; r++)); do row+=("10.80.$r.$((h + 1))"); done
        echo "${row[*]}"
        changed_rows "$h"
        mapfile -t dropped < <(paste <(losses "h$h" rail) <(losses net "h${h}rail") |
            awk '{ print $1 + $2 }')
        echo "dropped - ${dropped[*]}"
    done
}

show_status() {
    local found=no
    local -a names=("$name")
    if [[ $named == no ]]; then
        mapfile -t names < <(ls "$state_root" 2>/dev/null)
    fi
    for name in "${names[@]}"; do
        state=$state_root/$name
        read_shape
        [[ $found == no ]] || echo
        found=yes
        echo "fabric $name: $nodes hosts x $rails rails"
        status_rows | column -t
    done
    [[ $found == yes ]] || die "no fabric is up; make one: scripts/fabric up"
}

# enter NODE COMMAND...: becomes COMMAND on NODE, in the caller's working directory. On a host,
# COMMAND is killed when this process is, since the number it has there is not the one known here.
enter() {
    local node=$1
    local -a into=(--net --uts --ipc --mount)
    shift
    [[ $node == net ]] || into+=(--pid)
    FABRIC_INSIDE=$name FABRIC_STATE=$state exec nsenter --target "$(<"$state/pid.$name-$node")" \
        "${into[@]}" -- setpriv --pdeathsig TERM env --chdir="$PWD" --default-signal=INT,QUIT "$@"
}

host_exec() {
    local lock
    read_shape
    host=${host#"$name-"}
    host=${host#h}
    if [[ ! $host =~ ^(0|[1-9][0-9]?)$ ]] || ((host >= nodes)); then
        usage_error "exec $host: no such host; expected 0 to $((nodes - 1))," \
            "or $name-h0 to $name-h$((nodes - 1))"
    fi
    exec {lock}<"$state/shape" # as run does, so that shared memory in use is not cleared
    flock --shared "$lock"
    enter "h$host" "${program[@]}"
}
