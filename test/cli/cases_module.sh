# shellcheck shell=bash disable=SC2154 # variables of test/cli/install.sh, which sources this
# SPDX-License-Identifier: BSD-3-Clause
#
# The installed modulefile, with Environment Modules and with Lmod: what it sets and takes back, and that launchers
# take their own options with it, on this host and on two that are reached by a stand-in for ssh.
#
# The stand-in starts a daemon on this machine with an environment of its own, under an unused host's name.

module_install() { # sets prefix_real, where an installation lies that can be loaded, and version
    local form
    prefix_real=$work/real
    version=$("$build/collshim" --version)
    version=${version#collshim }
    check "make install where it will run" make -C "$root" B="$build" PREFIX="$prefix_real" install
    cat >"$work/ssh" <<TXT
#!/bin/sh
while :; do case \$1 in -*) shift ;; *) break ;; esac; done
tmp=$work/\$1 # two daemons in one place get in each other's way
mkdir -p "\$tmp"
shift
exec env -i LD_PRELOAD="\$DAEMONS_HAVE" HOME="$HOME" TMPDIR="\$tmp" PATH="$PATH" LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}" sh -c "\$*"
TXT
    chmod +x "$work/ssh"
    cat >"$work/rank" <<'TXT'
#!/bin/sh
echo "rank preload=$LD_PRELOAD A=$A B=$B"
sleep .2 # Hydra's mpiexec may die of SIGPIPE if a daemon ends while it still writes to it
TXT
    chmod +x "$work/rank"
    echo "-x B=2" >"$work/tune"
    # A second version beside the first, and the Tcl form alone.
    mkdir -p "$work/tcl/collshim"
    for form in '' .lua; do
        sed "s|$prefix_real|$work/other|g" "$prefix_real/share/modulefiles/collshim/$version$form" \
            >"$prefix_real/share/modulefiles/collshim/9.9$form"
    done
    cp "$prefix_real/share/modulefiles/collshim/"{"$version",9.9} "$work/tcl/collshim"
}

# modules_with INIT COMMANDS: they run in a shell that has `module` and the installed modulefile in its path. Lmod takes
# what is twice in PATH out of it.
modules_with() {
    local once
    once=$(tr : '\n' <<<"$PATH" | awk '!seen[$0]++' | paste -sd :)
    env -u LD_PRELOAD -u LOADEDMODULES -u _LMFILES_ -u MODULEPATH -u BASH_ENV PATH="$once" \
        bash --norc -c "set +u; . '$1'; module use '$modulefiles'; cd '$work'; $2"
}

# ranks N TEXT COMMAND...: it ends well within a minute, and N of its lines are TEXT
ranks() {
    local n=$1 text=$2
    shift 2
    "$private_shm" timeout 60 "$@" >"$work/ranks" 2>&1 || { cat "$work/ranks"; return 1; }
    [[ $(grep -cFx -- "$text" "$work/ranks") == "$n" ]] || { cat "$work/ranks"; return 1; }
}

module_cases() { # NAME INIT [TCL]
    local name=$1 init=$2 modulefiles=${3:-$prefix_real/share/modulefiles} load="module load collshim/$version" library=$prefix_real/lib/libcollshim.so openmpi=mpirun.openmpi mpich=mpiexec.mpich two_hosts
    if [[ ! -r $init ]]; then
        skip "the module under $name" "it is not installed ($init)"
        return
    fi
    export -f ranks
    export work private_shm
    in_it() { modules_with "$init" "$1"; }
    check "$name: the preload is loaded" in_it "$load && [[ \$LD_PRELOAD == '$library' ]] && collshim --version"
    check "$name: what is preloaded already stays" in_it "export LD_PRELOAD=libdl.so.2
        $load && [[ \$LD_PRELOAD == '$library:libdl.so.2' ]] &&
        module unload collshim && [[ \$LD_PRELOAD == libdl.so.2 ]]"
    check "$name: a preload that comes later, and one that goes first" in_it "export LD_PRELOAD='libdl.so.2:librt.so.1'
        $load && export LD_PRELOAD=libm.so.6:\$LD_PRELOAD && module unload collshim &&
        [[ \$LD_PRELOAD == libm.so.6:libdl.so.2:librt.so.1 ]]"
    check "$name: an empty preload gets no empty entries" in_it "export LD_PRELOAD=
        $load && [[ \$LD_PRELOAD == '$library' ]] && module unload collshim && [[ -z \${LD_PRELOAD-} ]]"
    check "$name: one version at a time" in_it "$load; [[ \$LD_PRELOAD == '$library' ]] || exit 1
        module load collshim/9.9
        [[ \$LD_PRELOAD == '$library' || \$LD_PRELOAD == '$work/other/lib/libcollshim.so' ]] &&
        [[ \${OMPI_MCA_orte_launch_agent%% *} == \${LD_PRELOAD%/lib/*}/bin/collshim-exec ]]"
    check "$name: versions in turn" in_it "$load && module unload collshim && module load collshim/9.9 &&
        [[ \$LD_PRELOAD == '$work/other/lib/libcollshim.so' ]] && module unload collshim && [[ -z \${LD_PRELOAD-} ]]"
    check "$name: purge" in_it "$load && module purge && [[ -z \${LD_PRELOAD-} && -z \${OMPI_MCA_orte_launch_agent-} ]]"
    check "$name: unloading leaves nothing, after loading twice too" in_it "
        list() { env | grep -vE '^(_|.*LM.*|.*MODULE.*|_ModuleTable.*|BASH_FUNC.*|SHLVL|OLDPWD)=' | sort; }
        list >before; $load; $load; list >between; module unload collshim; list >after
        ! cmp -s before between && diff before after && module unload collshim && list | diff before - &&
        $load && list | diff between - && module unload collshim && list | diff before -"
    check "$name: a user's own daemon stays" in_it "export OMPI_MCA_orte_launch_agent=mine
        $load && [[ \$OMPI_MCA_orte_launch_agent == mine ]] &&
        module unload collshim && [[ \$OMPI_MCA_orte_launch_agent == mine ]]"
    [[ -z ${3-} ]] || return 0 # how launchers take what the same file sets is known
    if command -v "$openmpi" >/dev/null; then
        two_hosts="--mca plm_rsh_agent $work/ssh --host here.invalid,there.invalid"
        check "$name: Open MPI, one host" in_it "$load; ranks 2 'rank preload=$library A= B=' \
            $openmpi --oversubscribe -n 2 ./rank"
        check "$name: Open MPI with -x, one host" in_it "$load; ranks 2 'rank preload=$library A=1 B=' \
            $openmpi --oversubscribe -x A=1 -n 2 ./rank"
        check "$name: Open MPI, two hosts" in_it "$load; ranks 2 'rank preload=$library A= B=' \
            $openmpi $two_hosts -n 2 ./rank"
        check "$name: Open MPI with -x, two hosts" in_it "$load; ranks 2 'rank preload=$library A=1 B=' \
            $openmpi $two_hosts -x A=1 -n 2 ./rank"
        check "$name: Open MPI with -x LD_PRELOAD, two hosts" in_it "$load
            ranks 2 'rank preload=libdl.so.2 A= B=' $openmpi $two_hosts -x LD_PRELOAD=libdl.so.2 -n 2 ./rank"
        check "$name: Open MPI, daemons that another library is preloaded into, as under Slurm" in_it "$load
            DAEMONS_HAVE=libdl.so.2 ranks 2 'rank preload=$library:libdl.so.2 A= B=' $openmpi $two_hosts -n 2 ./rank"
        check "$name: Open MPI with --tune, two hosts" in_it "$load; ranks 2 'rank preload=$library A= B=2' \
            $openmpi $two_hosts --tune tune -n 2 ./rank"
        check "$name: Open MPI with --prefix, two hosts" in_it "$load; ranks 2 'rank preload=$library A= B=' \
            $openmpi $two_hosts --prefix /usr -n 2 ./rank"
    else
        skip "$name: Open MPI" "$openmpi is not installed"
    fi
    if command -v "$mpich" >/dev/null; then
        check "$name: MPICH" in_it "$load; ranks 2 'rank preload=$library A= B=' $mpich -n 2 ./rank"
        check "$name: MPICH with -genv" in_it "$load; ranks 2 'rank preload=$library A=1 B=' \
            $mpich -genv A 1 -n 2 ./rank"
        check "$name: MPICH, two hosts" in_it "$load; ranks 2 'rank preload=$library A= B=' \
            $mpich -launcher ssh -launcher-exec $work/ssh -hosts $(hostname),localhost -n 2 ./rank"
    else
        skip "$name: MPICH" "$mpich is not installed"
    fi
}

module_install
lmod=/usr/share/lmod
[[ -d $lmod ]] || lmod=$root/build/lmod/share/lmod # scripts/setup unpacks it there
module_cases "Environment Modules" /usr/share/modules/init/bash
module_cases "Lmod" "$lmod/lmod/init/bash"
module_cases "Lmod, the Tcl form" "$lmod/lmod/init/bash" "$work/tcl"
