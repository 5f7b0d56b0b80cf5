# make bench: that it measures, not what.

load helper

setup_file() {
    # `make test` has built it; after a plain `make`, do it here.
    local build=${TG_BUILD:-build/release}
    make -C "$BATS_TEST_DIRNAME/.." -s "$build/bench" BUILD="$build"
}

@test "a row, with the best kernels and with others" {
    slow
    need_plain_build
    local isa tab=$'\t'
    for isa in "" portable; do
        run -0 --separate-stderr env ${isa:+TG_ISA=$isa} BENCH_FORMAT=tsv timeout 600 "$BUILD/bench" 'product baby to weight'
        [[ ${lines[0]} = $'row\tvalue\tunit\tlimit\tof\tshare\tmib\tseconds' ]]
        [[ ${lines[1]} =~ ^"product baby to weight 128x512x768"${tab}[0-9.]+${tab}"GFLOP/s"${tab}[0-9.]+${tab}peak${tab}0\.[0-9]+${tab}[0-9]+${tab}[0-9.e-]+$ ]]
        [[ ${#lines[@]} = 2 ]]
    done
}

@test "an instruction set that is not here" {
    run -1 --separate-stderr env TG_ISA=none timeout 600 "$BUILD/bench" 'product baby to weight'
    [[ ${stderr_lines[0]} = "bench: there is no instruction set none here; there are "* ]]
}
