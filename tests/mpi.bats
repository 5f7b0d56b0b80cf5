# Several processes, started by mpirun, do what one does: `make mpi` runs these with each MPI that is installed.

load helper
load mpi

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

@test "so do they with --average, also one that stops within the mean, and resumes" {
    need_mpi
    local n run=(-n 300 -a 6 -b 1 --average 295 --save-every 0 --eval-every 0)
    tg-train -m untrained.npz -o one.npz "${run[@]}" t.npz
    for n in 2 5; do
        team $n -m untrained.npz -o many.npz --force "${run[@]}" t.npz
        cmp one.npz many.npz
    done
    team 3 -m untrained.npz -o many.npz --force "${run[@]}" --log log t.npz 2> err &
    eventually has_steps 10
    kill -TERM "$(process 0)"
    fails
    grep -q 'saved many.npz at step [0-9]* of 300' err
    team 2 -m untrained.npz -o many.npz "${run[@]}" t.npz
    cmp one.npz many.npz
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
