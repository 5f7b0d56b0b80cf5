# Several processes, started by mpirun: `make mpi` runs these with each MPI that is installed.

load helper

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

# ---- without MPI

@test "a text to validate on, the best model, and saves that fail: as one process has them" {
    need_mpi
    local files=(--val v.npz --keep-best --eval-every 10 -n 30 -b 2 -a 3 t.npz)
    sed 's/fox/cat/' text | tg-tokenize > v.npz
    tg-train -o one.npz -m untrained.npz "${files[@]}" 2> /dev/null
    run -0 --separate-stderr team 3 -o three.npz -m untrained.npz --save-every 7 "${files[@]}"
    [[ $(grep -c 'the best model, in three.best.npz' <<< "$stderr") = 1 ]]
    cmp one.npz three.npz
    cmp one.best.npz three.best.npz
    # the first process alone writes snapshots
    run -0 --separate-stderr team 3 -o probed.npz -m untrained.npz --probe To --probe-every 10 "${files[@]}"
    cmp one.npz probed.npz
    tg-train -q -o one.again.npz -m untrained.npz --probe To --probe-every 10 "${files[@]}"
    diff -r probed.probe one.again.probe
    [[ $(ls probed.probe | wc -l) = 4 ]]
    # another text for each process
    run -2 --separate-stderr "$MPIRUN" "${OPTIONS[@]}" -n 2 sh -c \
        'cp $([ ${PMI_RANK:-$OMPI_COMM_WORLD_RANK} = 0 ] && echo v.npz || echo t.npz) $$.npz; exec tg-train -o two.npz -m untrained.npz -a 2 --val $$.npz t.npz'
    [[ $stderr = *"validates on "*"all processes need the same tokens"* ]]
    # the first process writes, and all go on; MPI also has files, and needs some room for them
    tg-init -o wide.npz 2> /dev/null
    run -3 --separate-stderr "$MPIRUN" "${OPTIONS[@]}" -n 3 bash -c 'ulimit -f 8192; exec "$@"' - ./numbered \
        -o out.npz -m wide.npz --save-every 1 -n 3 -a 3 -b 1 t.npz
    [[ $(grep -c 'the next save tries again' <<< "$stderr") = 2 && $stderr = *"File too large; no model is saved"* ]]
    nobody_is_left
}

@test "a build without MPI says so when it is started as one of several" {
    [[ ! -e $BUILD/mpirun ]] || skip "this build has MPI"
    PMI_RANK=0 PMI_SIZE=2 run -2 --separate-stderr tg-train "${RUN[@]}" t.npz
    said "started as one of 2 processes (PMI_SIZE), but built without MPI: build it with  make MPI=1"
    OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4 run -2 --separate-stderr tg-train "${RUN[@]}" t.npz
    said "started as one of 4 processes (OMPI_COMM_WORLD_SIZE)"
    # the others are silent
    PMI_RANK=1 PMI_SIZE=2 run -2 --separate-stderr tg-train "${RUN[@]}" t.npz
    [[ -z $stderr ]]
    cmp untrained.npz model.npz
}

@test "one process that mpirun starts is a process like any other" {
    PMI_RANK=0 PMI_SIZE=1 tg-train "${RUN[@]}" t.npz
    same_as_alone model.npz
}

# ---- the same bytes

@test "1, 2, 3, 4, 5 and 8 processes make the same model" {
    need_mpi
    local n
    for n in 1 2 3 4 5 8; do
        cp untrained.npz model.npz
        run -0 --separate-stderr team $n "${RUN[@]}" t.npz
        same_as_alone model.npz
    done
}

@test "so do they with 1 to 3 threads each, and with each instruction set" {
    need_mpi
    slow
    local isa threads n sets=(portable avx2 avx512 avx512bf16 amx neon) tried=0
    for isa in "${sets[@]}"; do
        rm -f one.npz
        TG_ISA=$isa tg-train -m untrained.npz -o one.npz "${RUN[@]}" t.npz 2> /dev/null || continue
        for threads in 1 2 3; do
            n=$((threads % 3 + 2))
            cp untrained.npz model.npz
            TG_ISA=$isa team $n --threads $threads "${RUN[@]}" t.npz
            cmp one.npz model.npz
            tried=$((tried + 1))
        done
    done
    cases $tried "runs of several processes"
}

@test "so do they in bf16" {
    need_mpi
    slow
    tg-train -m untrained.npz -o one.npz "${RUN[@]}" --precision bf16 t.npz
    local n
    for n in 2 3 8; do
        cp untrained.npz model.npz
        team $n "${RUN[@]}" --precision bf16 t.npz
        cmp one.npz model.npz
    done
}

@test "so do they with --minutes, by the first one's clock" {
    need_mpi
    local options
    run -0 --separate-stderr team 2 -m untrained.npz -o many.npz --force -a 2 --batch 4 --optimizer adamw \
        --dropout 0.1 --weight-decay 1 --minutes 0.05 t.npz
    options=$(sed -n 's/.*without --minutes, this run is  //p' <<< "$stderr")
    [[ $options = --steps* && $options != *$'\n'* ]]
    # shellcheck disable=SC2086 # options are words
    tg-train -m untrained.npz -o one.npz --force -a 2 --batch 4 --dropout 0.1 --weight-decay 1 $options t.npz
    cmp one.npz many.npz
}

@test "so do they on examples, of which only the answers are predicted" {
    need_mpi
    local i n
    for ((i = 0; i < 60; i++)); do
        printf '{"prompt": "%d+1=", "completion": "%d"}\n' "$i" $((i + 1))
    done | tg-tokenize -q --prompt-completion > sums.npz
    tg-train -m untrained.npz -o one.npz --force -n 6 -a 5 -b 2 --eval-every 3 sums.npz
    for n in 2 3 5; do
        team $n -m untrained.npz -o many.npz --force -n 6 -a 5 -b 2 --eval-every 3 sums.npz
        cmp one.npz many.npz
    done
}

@test "so do they train an adapter, also one that resumes" {
    need_mpi
    local n options precision
    for precision in float32 bf16; do
        options=(-m untrained.npz --lora 3 -n 6 -a 5 -b 2 --eval-every 3 --precision "$precision")
        tg-train "${options[@]}" -o one.npz --force t.npz
        for n in 2 3; do
            team $n "${options[@]}" -o many.npz --force t.npz 2> err
            grep -q 'before the first step, validation loss' err
            cmp one.npz many.npz
        done
        rm many.npz
        killed_after_save many.npz tg-train "${options[@]}" -o many.npz --save-every 2 t.npz
        team 2 "${options[@]}" -o many.npz t.npz
        cmp one.npz many.npz
    done
}

@test "so do they train a model of which parts are frozen" {
    need_mpi
    local n options=(-m untrained.npz --force -n 5 -a 5 -b 2 --eval-every 3)
    for freeze in embedding '*.bias' '*ln_*,*mlp*' layers:0; do
        tg-train "${options[@]}" -o one.npz --freeze "$freeze" t.npz
        for n in 2 3; do
            team $n "${options[@]}" -o many.npz --freeze "$freeze" t.npz
            cmp one.npz many.npz
        done
    done
}

@test "so do they train a model that is kept in bf16, also one that resumes" {
    need_mpi
    local n options=(-m untrained.npz -n 6 -a 5 -b 2 --eval-every 3 --master bf16)
    for more in '' '--freeze embedding'; do
        # shellcheck disable=SC2086 # words
        tg-train "${options[@]}" $more -o one.npz t.npz
        for n in 2 3; do
            # shellcheck disable=SC2086 # words
            team $n "${options[@]}" $more -o many.npz t.npz
            cmp one.npz many.npz
            rm many.npz
        done
        # shellcheck disable=SC2086 # words
        killed_after_save many.npz tg-train "${options[@]}" $more -o many.npz --save-every 2 t.npz
        team 2 "${options[@]}" -o many.npz t.npz
        cmp one.npz many.npz
        rm one.npz many.npz
    done
}

@test "an adapter of which a process has another model" {
    need_mpi
    tg-train -q -m untrained.npz -o other.npz --force -n 3 t.npz
    cat > each << 'END'
#!/bin/sh
[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 0 ] && model=untrained.npz || model=other.npz
exec tg-train -m $model -o many.npz --lora 3 -n 6 -a 2 t.npz
END
    chmod +x each
    run "$MPIRUN" "${OPTIONS[@]}" -n 2 ./each
    [[ $status != 0 && $output = *"the adapter's model is not the one that process 0 has read"* && ! -e many.npz ]]
}

@test "so do they with --optimizer muon, also one that resumes" {
    need_mpi
    local n options
    for options in "" "--precision bf16 -n 10"; do
        # shellcheck disable=SC2086
        tg-train -m untrained.npz -o one.npz --force "${RUN[@]}" --optimizer muon $options t.npz
        for n in 2 3 5; do
            # shellcheck disable=SC2086
            team $n -m untrained.npz -o many.npz --force "${RUN[@]}" --optimizer muon $options t.npz
            cmp one.npz many.npz
        done
    done
    # two of ten processes have none of the eight matrices
    tg-train -m untrained.npz -o one.npz --force -n 5 -a 10 -b 1 --optimizer muon t.npz
    team 10 -m untrained.npz -o many.npz --force -n 5 -a 10 -b 1 --optimizer muon t.npz
    cmp one.npz many.npz
    # the number of steps decides the learning rate
    rm one.npz
    team 3 "${RUN[@]}" --optimizer muon -n 13 t.npz
    tg-train "${RUN[@]}" -n 20 t.npz
    team 5 "${RUN[@]}" t.npz
    for n in 13 20 50; do
        tg-train -m untrained.npz -o one.npz "${RUN[@]}" --optimizer muon -n $n t.npz
    done
    cmp one.npz model.npz
}

@test "a run resumes with another number of processes" {
    need_mpi
    team 3 "${RUN[@]}" -n 13 t.npz
    tg-train "${RUN[@]}" -n 20 t.npz
    team 8 "${RUN[@]}" -n 37 t.npz
    team 2 "${RUN[@]}" t.npz
    # its number of steps decides the learning rate
    local n
    cp untrained.npz one.npz
    for n in 13 20 37 50; do
        tg-train -m one.npz "${RUN[@]}" -n $n t.npz
    done
    cmp one.npz model.npz
}

@test "the first process reads standard input, and writes" {
    need_mpi
    run -0 --separate-stderr bash -c "$MPIRUN -n 3 tg-train ${RUN[*]} < t.npz"
    same_as_alone model.npz
    rm model.npz
    run -0 --separate-stderr team 3 -m untrained.npz "${RUN[@]}" -o new.npz --log log t.npz
    same_as_alone new.npz
    has_steps 50
    [[ $(wc -l < log) = 51 ]]
    cmp untrained.npz "$FIXTURES/untrained.npz"
    # each line is said once
    [[ $(grep -c "saved new.npz at step 50" <<< "$stderr") = 1 ]]
    [[ $stderr = *"3 processes share the 8 passes of a step"* ]]
}

@test "a new model, and one that is complete" {
    need_mpi
    rm model.npz
    tg-train -m one.npz -n 3 -a 4 -b 2 -c 16 t.npz
    team 3 -n 3 -a 4 -b 2 -c 16 t.npz
    cmp one.npz model.npz
    run -0 --separate-stderr team 3 -n 3 -a 4 -b 2 -c 16 t.npz
    [[ $stderr = *"model.npz is complete: 3 of 3 steps are done"* ]]
    cmp one.npz model.npz
}

# ---- other tools

@test "tg-eval and tg-attn-dump --ablate say what one process says" {
    need_mpi
    local n
    cp "$FIXTURES/alone.npz" model.npz
    tg-eval --stride 5 --tsv text text > one
    tg-eval < text > two
    tg-attn-dump --ablate all < text > three
    tg-attn-dump --ablate 0.1 -p 'The quick brown fox' > four
    for n in 2 3; do
        "$MPIRUN" -n $n tg-eval --stride 5 --tsv text text | diff one -
        "$MPIRUN" -n $n tg-eval < text | diff two -
        "$MPIRUN" -n $n tg-attn-dump --ablate all < text | diff three -
        "$MPIRUN" -n $n tg-attn-dump --ablate 0.1 -p 'The quick brown fox' | diff four -
    done
    run -2 --separate-stderr "$MPIRUN" -n 2 tg-eval --per-token text
    [[ $stderr = *"--per-token is for one process: several of them share out only the result"* ]]
    run -2 --separate-stderr "$MPIRUN" -n 2 tg-attn-dump --summary
    [[ $stderr = *"several processes can share --ablate, and nothing else"* ]]
}

@test "processes that do not do the same end, and say which" {
    need_mpi
    export TG_TEAM_TIMEOUT=2
    cat > start <<'END'
#!/bin/sh
[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 0 ] && exec tg-eval text
exec tg-eval --context 3 text text
END
    chmod +x start
    run ! "$MPIRUN" -n 2 ./start
    [[ $output = *"process "[01]" ("*")"* ]]
}

# MPI waits for a process that has ended before it began with MPI; Open MPI's mpirun ends the others itself.
@test "a process with a wrong option of its own: the others do not wait for ever" {
    need_mpi
    export TG_TEAM_TIMEOUT=1 # 10 at the start
    local wrong
    cat > start <<'END'
#!/bin/sh
[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = "$WRONG" ] && exec tg-train --unknown
exec tg-train "$@"
END
    chmod +x start
    for wrong in 0 1; do
        WRONG=$wrong run --separate-stderr timeout 60 "$MPIRUN" -n 2 ./start -m model.npz "${RUN[@]}" t.npz
        [[ $status != 0 && $status != 124 ]]
        [[ $wrong = 1 || $stderr = *"unknown option --unknown"* ]]
        [[ $wrong = 0 || $stderr = *"not all of the 2 processes have begun within 10 s"* ||
            $("$MPIRUN" --version) = *Open* ]] # "Open MPI" or "OpenRTE"
    done
    cmp untrained.npz model.npz
}

# ---- mistakes

@test "processes of another version are refused" {
    need_mpi
    local version
    version=$(tg-train --version)
    version=${version#* } version=${version% (*}
    sed "s/version $version, /version ${version//[0-9]/7}, /" "$BUILD/bin/tg-train" > other
    chmod +x other
    cat > start <<'END'
#!/bin/sh
[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ] && exec ./other "$@"
exec tg-train "$@"
END
    chmod +x start
    run -2 --separate-stderr "$MPIRUN" -n 3 ./start -m model.npz "${RUN[@]}" t.npz
    [[ $stderr = *"process 1 ("*") is version 7.7.7, "*", process 0 version $version, "*": all machines need the same"* ]]
    cmp untrained.npz model.npz
}

@test "what goes wrong is said once" {
    need_mpi
    local line
    run -2 --separate-stderr team 3 "${RUN[@]}" -a 2 t.npz
    line="3 processes cannot share the 2 passes of a step: --accumulate must be at least 3"
    [[ $(grep -cF "$line" <<< "$stderr") = 1 ]]
    run -3 --separate-stderr team 3 "${RUN[@]}" missing.npz
    [[ $(grep -cF "missing.npz: No such file or directory" <<< "$stderr") = 1 ]]
    run -2 --separate-stderr team 3 "${RUN[@]}" --unknown t.npz
    [[ $(grep -cF "unknown option --unknown" <<< "$stderr") = 1 ]]
    run -1 --separate-stderr team 2 "${RUN[@]}" text
    [[ $(grep -cF "plain text, expected a token archive" <<< "$stderr") = 1 ]]
    TG_TEAM_TIMEOUT=0 run -2 --separate-stderr team 2 "${RUN[@]}" t.npz
    [[ $stderr = *"TG_TEAM_TIMEOUT must be a number of seconds from 1 to 86400, got '0'"* ]]
    run -3 --separate-stderr team 2 --sandbox=require "${RUN[@]}" t.npz
    [[ $stderr = *"there is no sandbox, which --sandbox=require asks for: there are several processes"* ]]
    cmp untrained.npz model.npz
}

@test "processes with other tokens, or another instruction set, are refused" {
    need_mpi
    cat > start <<'END'
#!/bin/sh
# each process has a folder of its own
mkdir -p "at-${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
cp t.npz "at-${PMI_RANK:-$OMPI_COMM_WORLD_RANK}/tokens.npz"
[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" != "$ODD" ] || eval "$DO"
exec tg-train -m model.npz "$@" "at-${PMI_RANK:-$OMPI_COMM_WORLD_RANK}/tokens.npz"
END
    chmod +x start
    head -c 9000 text | tg-tokenize > other.npz
    ODD=2 DO='cp other.npz at-2/tokens.npz' run -2 --separate-stderr "$MPIRUN" -n 3 ./start "${RUN[@]}"
    [[ $stderr = *"process 2 ("*") reads 9000 tokens, CRC-32 "*", process 0 10000 tokens, "*"the same tokens"* ]]
    TG_ISA=portable tg-info untrained.npz > /dev/null
    tg-train -n 1 -m untrained.npz -o best.npz t.npz 2> /dev/null
    if ODD=1 DO='export TG_ISA=portable' "$MPIRUN" -n 2 ./start "${RUN[@]}" 2> err; then
        same_as_alone model.npz # this processor has nothing better
    else
        grep "process 1 (.*) computes with portable, process 0 .*: set TG_ISA to the same for all" err
        cmp untrained.npz model.npz
    fi
}

# ---- signals

@test "a signal to any process stops all after the same step, and the run resumes" {
    need_mpi
    local rank
    for rank in 0 2; do
        begin_run
        kill -TERM "$(process $rank)"
        fails
        grep -E "saved model.npz at step [0-9,]+ of 100,000" err
        eventually nobody_is_left
    done
    tg-train -m untrained.npz "${RUN[@]}" -n 100000 -o one.npz --log log1 t.npz 2> /dev/null &
    eventually grep -q "^$(tail -n 1 log | cut -f 1)	" log1
    kill -KILL $!
    # the steps that were logged have the losses of one process
    cut -f 1-5 log > a
    cut -f 1-5 log1 | head -n "$(wc -l < log)" | diff - a
}

# ---- processes that are lost

@test "a signal that reaches processes one after the other stops the run once, and it saves" {
    need_mpi
    local rank
    begin_run
    # the second one arrives when all have agreed to stop, or the process is gone
    kill -TERM "$(process 2)"
    eventually grep -q 'is asked to stop' err
    for rank in 0 1; do
        kill -TERM "$(process $rank)" 2> /dev/null || true
    done
    fails
    grep -E "saved model.npz at step [0-9,]+ of 100,000" err
    tg-info model.npz > /dev/null
}

@test "a log that cannot be written ends all, and the steps so far are saved" {
    need_mpi
    local steps
    for steps in 2 5; do # at a save, and at the end
        cp untrained.npz model.npz
        run ! --separate-stderr team 3 -n $steps -a 8 -b 2 --save-every 2 --log /dev/full t.npz
        [[ $stderr = *"/dev/full: cannot write the log: No space left on device"* ]]
        [[ $stderr = *"saved model.npz at step "* && $stderr != *"something else"* ]]
    done
}

@test "standard input that a process cannot keep is an error of that process" {
    need_mpi
    need cc
    [[ $("$MPIRUN" --version) != *HYDRA* ]] || skip "MPICH's mpirun breaks off a standard input that is not read at once"
    cat > full.c <<'END'
#include <errno.h>
#include <unistd.h>
#include <sys/syscall.h>
ssize_t write(int fd, const void *bytes, size_t n)
{
    if (n < 1 << 20)
        return syscall(SYS_write, fd, bytes, n);
    errno = ENOSPC;
    return -1;
}
END
    cc -shared -fPIC -o full.so full.c
    cat > start <<'END'
#!/bin/sh
[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" != 1 ] || export LD_PRELOAD=$PWD/full.so
exec tg-eval
END
    chmod +x start
    cp "$FIXTURES/alone.npz" model.npz
    head -c 2000000 /dev/zero > large
    run -3 --separate-stderr bash -c "$MPIRUN -n 3 ./start < large"
    [[ $stderr = *"process 1 ("*"): "*"cannot keep what comes in: No space left on device"* ]]
}

@test "a full disk for standard output is noticed" {
    need_mpi
    printf '#!/bin/sh\nexec tg-eval -m untrained.npz text > /dev/full\n' > start
    chmod +x start
    run ! --separate-stderr "$MPIRUN" -n 2 ./start
    [[ $stderr = *"tg-eval: standard output: No space left on device"* ]]
}

@test "processes with other models are refused" {
    need_mpi
    cat > start <<'END'
#!/bin/sh
model=untrained.npz
[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" != 1 ] || model=alone.npz
exec "$@" -m $model
END
    chmod +x start
    cp "$FIXTURES/alone.npz" .
    local run
    for run in 'tg-eval text' 'tg-attn-dump --ablate all -p text'; do
        run -2 --separate-stderr "$MPIRUN" -n 3 ./start $run
        [[ $stderr = *"process 1 ("*") has a model of "*", process 0 "*": all processes need the same model"* ]]
    done
}

@test "a text that one process cannot open is named with that process" {
    need_mpi
    cat > start <<'END'
#!/bin/sh
[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" != 1 ] || exec tg-eval -m model.npz missing
exec tg-eval -m model.npz text
END
    chmod +x start
    run -3 --separate-stderr "$MPIRUN" -n 3 ./start
    [[ $stderr = *"process 1 ("*"): "*"No such file or directory"* ]]
}

@test "a process that is killed ends the others, and the same command resumes" {
    need_mpi
    local rank
    for rank in 0 1; do
        begin_run 12
        kill -KILL "$(process $rank)"
        fails
        eventually nobody_is_left
    done
    # the last step that was saved is at least the tenth: the same command resumes from there
    rm log
    team 2 "${RUN[@]}" -n 100000 --log log t.npz 2> err &
    eventually has_steps 1
    [[ $(sed -n 2p log | cut -f 1) -gt 10 ]]
    kill -TERM "$(process 0)"
    fails
}

@test "a process that is killed is named once, if mpirun does not see it" {
    need_mpi
    local rank
    export UCX_TLS=^cma # MPICH's UCX aborts if a process has gone from whose memory it copies
    cat > numbered <<'END'
#!/bin/sh
tg-train "$@" &
echo $! > "pid.${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
wait
sleep 20
END
    for rank in 2 0; do
        begin_run
        kill -KILL "$(process $rank)"
        fails
        grep "process $rank (.*) .*: stopping all processes; rerun the command to resume from the last save" err
        [[ $(grep -c ': stopping all processes' err) = 1 ]]
        eventually nobody_is_left
    done
}

@test "a process that hangs is named, and ends the others in time" {
    need_mpi
    local rank start
    export TG_TEAM_TIMEOUT=2
    for rank in 0 1; do
        begin_run
        start=$SECONDS
        kill -STOP "$(process $rank)"
        fails
        grep -E "process $rank \(.*\) has not answered for 2 s: stopping all processes; rerun the command to resume from the last save" err
        [[ $(grep -c ': stopping all processes' err) = 1 ]]
        eventually nobody_is_left
        tg-info model.npz > /dev/null
        cases $((SECONDS - start)) "s until all had ended, of a timeout of 2 s"
    done
}

@test "a run whose processes are killed again and again ends with the same bytes" {
    need_mpi
    slow
    local kills=2 killed=0 i rank n run
    ! soak || kills=20
    run=(-n $((75 * kills)) -a 8 -b 8 --dropout 0.1 --eval-every 50 --save-every 3)
    tg-train -m untrained.npz -o one.npz "${run[@]}" t.npz
    for ((i = 0; i < 1000; i++)); do # docs/distributed.md has this loop
        n=$((i % 3 + 2))
        rm -f log
        team $n "${run[@]}" --log log t.npz 2> err &
        if [[ $killed -lt $kills ]]; then
            if ((RANDOM % 3 > 0)); then
                eventually has_steps_or_ended $((RANDOM % 12)) $!
            else # also while it starts
                eventually is_running 0
                sleep 0.$((RANDOM % 3))$((RANDOM % 9))
            fi
            rank=$(process $((RANDOM % n)))
            [[ -z $rank ]] || ! kill -KILL "$rank" 2> /dev/null || killed=$((killed + 1))
        fi
        ! wait $! || break
        eventually nobody_is_left
    done
    [[ $killed = "$kills" ]]
    cmp one.npz model.npz
    cases $killed "processes killed"
}

@test "an MPI that does not come to its end is left when all is done" {
    need_mpi
    need cc
    printf 'int pause(void);\nint MPI_Finalize(void) { for (;;) pause(); }\n' > never.c
    cc -shared -fPIC -o never.so never.c
    sed -i 's|^exec|LD_PRELOAD=$PWD/never.so exec|' numbered
    run timeout 120 "$MPIRUN" -n 2 ./numbered -m model.npz "${RUN[@]}" t.npz
    [[ $status != 124 ]] # anything else: mpirun may mind
    cmp model.npz "$FIXTURES/alone.npz"
    nobody_is_left
}
