# Several processes, started by mpirun, of which one is started wrongly, fails, hangs or is killed: `make mpi`.

load helper
load mpi

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
    for wrong in 0 1; do # side by side: both wait
        cp untrained.npz $wrong.npz
        { WRONG=$wrong timeout 60 "$MPIRUN" -n 2 ./start -m $wrong.npz "${RUN[@]}" t.npz > /dev/null 2> err.$wrong ||
            echo $? > status.$wrong; } &
    done
    wait
    for wrong in 0 1; do
        [[ -s status.$wrong && $(cat status.$wrong) != 124 ]]
        cmp untrained.npz $wrong.npz
    done
    grep -q 'unknown option --unknown' err.0
    grep -q 'not all of the 2 processes have begun within 10 s' err.1 ||
        [[ $("$MPIRUN" --version) = *Open* ]] # "Open MPI" or "OpenRTE"
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
        if wait $!; then
            [[ $killed -lt $kills ]] || break
            # on a busy machine it may end before all were killed: once more from the first step
            cp untrained.npz model.npz
            killed=0
        fi
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
