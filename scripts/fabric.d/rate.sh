# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # the request is set by scripts/fabric
#
# Changes and reads the rates of single rails of a fabric that is up, also while ranks use them. Sourced by
# scripts/fabric. The host's device shapes bytes that leave a host, the switch's port shapes those that enter it.
# Nothing is recorded: `status` asks the kernel's shapers.

# change_lines SIDE H R: tc commands for rail R of host H, on the side `h` of the host or `net` of the switch.
change_lines() {
    local dev=rail$3 bits
    [[ $1 == h ]] || dev=h$2rail$3
    if [[ $new_rate == stall ]]; then
        gate_lines change "$dev" shut
        return
    fi
    bits=$(rate_bits "$([[ $new_rate == reset ]] && echo "${rates[$3]}" || echo "$new_rate")")
    rate_lines change "$dev" "$bits"
    gate_lines change "$dev" open
}

# take_numbers OPTION TEXT COUNT ARRAY: the numbers in TEXT, separated by commas; every one is below COUNT;
# `all` stands for all of them.
take_numbers() {
    local number
    local -n numbers=$4
    numbers=()
    if [[ $2 == all ]]; then
        mapfile -t numbers < <(seq 0 $(($3 - 1)))
        return
    fi
    [[ $2 =~ ^(0|[1-9][0-9]?)(,(0|[1-9][0-9]?))*$ ]] ||
        usage_error "$1 $2: expected all, or numbers from 0 to $(($3 - 1)), separated by commas"
    IFS=, read -ra numbers <<<"$2"
    for number in "${numbers[@]}"; do
        ((number < $3)) || usage_error "$1 $2: there is no $number; expected 0 to $(($3 - 1))"
    done
}

# wake NODE ADDRESS...: one datagram to each. The kernel may look at an opened gate only when it is next
# handed a packet, which TCP may be seconds from doing.
wake() {
    # shellcheck disable=SC2016 # the inner shell's
    ip netns exec "$(netns_of "$1")" bash -c 'for at; do echo >"/dev/udp/10.80.$at/9"; done' wake "${@:2}" 2>/dev/null || true
}

fabric_rate() {
    local h r
    local -a hosts chosen addresses=()
    read_shape
    take_numbers --host "$rate_hosts" "$nodes" hosts
    take_numbers --rail "$rate_rails" "$rails" chosen
    if [[ $direction != in ]]; then
        for h in "${hosts[@]}"; do
            for r in "${chosen[@]}"; do change_lines h "$h" "$r"; done |
                tc -n "$(netns_of "h$h")" -batch - || die "$name-h$h: tc refused the change"
            wake "h$h" "${chosen[@]/%/.254}"
        done
    fi
    if [[ $direction != out ]]; then
        for h in "${hosts[@]}"; do addresses+=("${chosen[@]/%/.$((h + 1))}"); done
        for h in "${hosts[@]}"; do
            for r in "${chosen[@]}"; do change_lines net "$h" "$r"; done
        done | tc -n "$(netns_of net)" -batch - || die "$name-net: tc refused the change"
        wake net "${addresses[@]}"
    fi
}

# shaped NODE PREFIX: the rates of NODE's devices PREFIX0, PREFIX1, ..., as tc writes them, or `stalled`.
shaped() {
    local r gate
    for ((r = 0; r < rails; r++)); do
        gate=$(tc -n "$(netns_of "$1")" qdisc show dev "$2$r")
        if [[ $gate == *' rate 8bit '* ]]; then
            echo stalled
        else
            tc -n "$(netns_of "$1")" class show dev "$2$r" |
                awk '/^class htb 1:1 root/ { print tolower($6) }'
        fi
    done
}

# changed_rows H: one row per direction of host H in which a rail's rate is not the fabric's.
changed_rows() {
    local row
    row="out - $(shaped "h$1" rail | paste -sd ' ')"
    [[ $row == "out - ${rates[*]}" ]] || echo "$row"
    row="in - $(shaped net "h${1}rail" | paste -sd ' ')"
    [[ $row == "in - ${rates[*]}" ]] || echo "$row"
}
