# For the tests of several processes: a model, what one process makes of it, and teams that mpirun starts.

# A model of 2 layers, 2 heads, 32 channels and 16 positions, 10,000 tokens, and what one process makes of
# them in 50 steps.
setup_file() {
    training_fixtures --n-embd 32 --n-ctx 16
    cp untrained.npz alone.npz
    tg-train -m alone.npz "${RUN[@]}" t.npz 2> /dev/null
}

# 50 steps of 8 passes, with everything that has an order.
RUN=(-n 50 -a 8 -b 2 --dropout 0.1 --eval-every 20 --save-every 10)

setup() {
    tg_setup
    cp "$FIXTURES"/{text,t.npz,untrained.npz} .
    cp untrained.npz model.npz
    export OMP_NUM_THREADS=1 TG_TEAM_TIMEOUT=60
    # A container's root; more processes than processors.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    OPTIONS=()
    cat > numbered <<'END'
#!/bin/sh
echo $$ > "pid.${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
exec tg-train "$@"
END
    chmod +x numbered
}

need_mpi() {
    [[ -e $BUILD/mpirun ]] || skip "this build has no MPI (make mpi)"
    MPIRUN=$(cat "$BUILD/mpirun")
    need "$MPIRUN"
}

# team N ARGUMENT...: tg-train as N processes, which leave their numbers in pid.RANK.
team() {
    local n=$1
    shift
    "$MPIRUN" "${OPTIONS[@]}" -n "$n" ./numbered "$@"
}

# process RANK: the number of a running process of this test's team, or nothing.
process() {
    local pid
    pid=$(cat "pid.$1" 2> /dev/null) || return 0
    [[ $(readlink "/proc/$pid/exe") != "$BUILD/bin/tg-train" ]] || echo "$pid"
}

is_running() {
    [[ -n $(process "$1") ]]
}

# begin_run [N]: 3 processes, in the background, that have done N of very many steps; err is what they say.
begin_run() {
    cp untrained.npz model.npz
    rm -f log
    team 3 "${RUN[@]}" -n 100000 --log log t.npz 2> err &
    eventually has_steps "${1:-5}"
}

nobody_is_left() {
    local rank
    for rank in {0..7}; do
        [[ -z $(process $rank) ]] || return 1
    done
    rm -f pid.*
}

# fails: whether the last background job ends with a failure.
fails() {
    local status=0
    wait $! || status=$?
    [[ $status != 0 ]]
}

# has_steps N: whether the log has the lines of N steps.
has_steps() {
    [[ -e log && $(wc -l < log) -gt $1 ]]
}

has_steps_or_ended() {
    has_steps "$1" || ! kill -0 "$2" 2> /dev/null
}

same_as_alone() {
    cmp "$FIXTURES/alone.npz" "$1"
}
