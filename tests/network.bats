# Several processes over links of a set bandwidth and delay, in its smallest setting: tests/bench/network.

load helper

setup() {
    tg_setup
    [[ -e $BUILD/mpirun ]] || skip "this build has no MPI (make mpi)"
    NETWORK=$ROOT/tests/bench/network
    export MODELS=baby STEPS=8 PASSES=2
}

# What else it lacks is a skip.
unless_skipped() {
    ! grep -q 'network: skipped' table || skip "$(sed 's/.*skipped: //' table)"
}

@test "over a link the bytes of a step are those of the formula" {
    "$NETWORK" "$BUILD" 1:0.1 > table 2> err || { cat err; false; }
    unless_skipped
    # the rate of 1,448 of 1,538 bytes; the delay is at least that of the link
    awk -F '|' '
        NR == 3 {
            split($4, link, /[ ,]+/)
            print link[2] " ms, " link[4] " Gbit/s; sent " $10 " MB, computed " $11
            good = link[2] >= 0.1 && link[4] > 0.1 && link[4] < 0.95 && $11 > 6 && $10 >= $11 && $10 < 1.01 * $11
        }
        END { exit !good }' table
}

@test "nothing is left of a network that is interrupted" {
    local before pid
    before=$(ip netns list | wc -l)
    TMPDIR=$PWD "$NETWORK" "$BUILD" 1:0.1 > table 2> err &
    pid=$!
    eventually started_or_ended $pid
    unless_skipped
    kill -TERM $pid
    wait $pid || [[ $? = 143 ]]
    eventually has_no_processes
    [[ $(ip netns list | wc -l) = "$before" ]]
    run -0 find . -name 'tmp.*'
    [[ -z $output ]]
}

# By then there are hosts, and links.
started_or_ended() {
    [[ -e $(echo tmp.*/together) ]] || ! kill -0 "$1" 2> /dev/null
}

has_no_processes() {
    ! pgrep -f -- "$PWD/tmp" > /dev/null
}
