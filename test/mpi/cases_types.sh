# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The standard's table of types and operations: which cells this library has rerouted, and why not the others.
#
#     R  rerouted, all calls but the first, which may be the library's own
#     x  the library returns an error
#     u  it combines equal elements of a vector unequally, so it alone can serve them
#     ?  native, and nothing of the above: a failure

operations_of_table=(MAX MIN SUM PROD LAND LOR LXOR BAND BOR BXOR MAXLOC MINLOC)

# take_table: adds the cells of the job that just ran to `cell`
take_table() {
    local word collective from type operation what mark key
    local -A rerouted=()
    while read -r collective from word; do
        rerouted[$collective/$from]=$word
    done < <(jq -r '.collectives[] | .collective as $c | .sizes[] | "\($c) \(.total_bytes_from) \(.rerouted)"' "$tmp/report.json")
    while IFS='|' read -r word collective from type operation what; do
        case $word in
            lacks) lacks+=("$collective") ;;
            cell)
                key="$type|$operation"
                if [ "${rerouted[$collective/$from]:-0}" -gt 0 ]; then
                    mark=R
                elif [ "$what" = refused ]; then
                    mark=x
                elif [ "$what" = uneven ]; then
                    mark=u
                else
                    mark='?'
                    complain "$operation of $type runs natively, and the library has it"
                fi
                [ -n "${cell[$key]-}" ] || cells+=("$type")
                cell[$key]=$mark
                number[$mark]=$((${number[$mark]:-0} + 1))
                ;;
        esac
    done < <(sed -nE 's/^lacks (.*)/lacks|\1/p; s/^(cell) ([a-z_]+) ([0-9]+) (.*) ([A-Z]+) ([a-z]+)$/\1|\2|\3|\4|\5|\6/p' <<<"$out")
}

show_table() {
    local type operation
    printf '# %-36s' "type (R rerouted, x refused by the library, u uneven)"
    printf ' %s' "${operations_of_table[@]}"
    echo
    while read -r type; do
        printf '# %-53s' "$type"
        for operation in "${operations_of_table[@]}"; do
            printf " %${#operation}s" "${cell[$type|$operation]-}"
        done
        echo
    done < <(printf '%s\n' "${cells[@]}" | uniq)
    [ ${#lacks[@]} -eq 0 ] || echo "# the library lacks ${lacks[*]}"
}

cases_types() {
    local first=0 all=1 why='' cells=() lacks=()
    local -A cell=() number=()
    begin "each cell of the standard's table of types and operations is rerouted, or the library is why not"
    while [ "$first" -lt "$all" ]; do
        launch 2 COLLSHIM_TOPOLOGY=node:2 -- "$programs/table" "$first"
        all=$(sed -n 's/^table: \([0-9]*\) types$/\1/p' <<<"$out")
        if [ "$rc" -ne 0 ] || [ -z "$all" ]; then
            complain "types from number $first on: the job did not end well"
            break
        fi
        take_table
        first=$((first + 5))
    done
    show_table
    [ "${number[R]:-0}" -gt 250 ] || complain "${number[R]:-0} cells are rerouted, wanted more than 250"
    out=
    finish
}
