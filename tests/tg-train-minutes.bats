# Runs that end at a given time, and the decay of the learning rate that belongs to them.

load helper

setup_file() {
    tg_fixtures
    export OMP_NUM_THREADS=1
    make_text | tg-tokenize > t.npz
    tg-init --n-layer 1 --n-head 2 --n-embd 16 --n-ctx 16 -o untrained.npz 2> /dev/null
}

setup() {
    tg_setup
    cp "$FIXTURES"/*.npz .
}

# steps_of FILE: the options of a run without --minutes, as its messages say.
steps_of() {
    sed -n 's/.*without --minutes, this run is  //p' "$1"
}

# chosen_of FILE: the other settings that it chose.
chosen_of() {
    sed -n 's/^tg-train: chosen: //p' "$1" | sed 's/([^)]*)//g; s/,/ /g'
}

# lr_of LOG: the steps and learning rates of a log.
lr_of() {
    tail -n +2 "$1" | cut -f 1,4
}

@test "--decay: the learning rate stays, and falls linearly in the last steps" {
    tg-train -q -m untrained.npz -o a.npz -n 10 --lr 1e-3 --min-lr 2e-4 --warmup 1 --decay 4 --log log.tsv t.npz
    lr_of log.tsv > got
    cmp got - <<'END'
1	5.000000e-04
2	1.000000e-03
3	1.000000e-03
4	1.000000e-03
5	1.000000e-03
6	1.000000e-03
7	1.000000e-03
8	8.000000e-04
9	6.000000e-04
10	4.000000e-04
END
    [[ $(scalars a.npz train/decay) = 4 ]]
    # it is kept with the run, and may change
    tg-train -q -m untrained.npz -o b.npz -n 5 --lr 1e-3 --min-lr 2e-4 --warmup 1 --decay 4 t.npz
    run -0 --separate-stderr tg-train -m b.npz -n 9 --decay 3 t.npz
    [[ $stderr = *"tg-train: --decay was 4, is now 3"* ]]
    run -2 --separate-stderr tg-train -m untrained.npz -o c.npz -n 5 --decay 6 t.npz
    said "tg-train: decay in 6 of 5 steps, expected at most as many"
    run ! scalars untrained.npz train/decay
    tg-train -q -m untrained.npz -o d.npz -n 2 t.npz
    run ! scalars d.npz train/decay
}

@test "--minutes: the time is kept, and the printed settings give the same bytes" {
    slow
    local began options
    began=$(date +%s%N)
    tg-train -m untrained.npz -o a.npz --minutes 0.02 t.npz 2> err
    [[ $((($(date +%s%N) - began) / 1000000)) -ge 600 ]] # of 1.2 s: a busy machine may be quicker later
    options=$(steps_of err)
    [[ $options =~ ^--steps\ [0-9]+\ --decay\ [0-9]+\ --warmup\ [0-9]+$ ]]
    # shellcheck disable=SC2046,SC2086 # options are words
    tg-train -q -m untrained.npz -o b.npz $(chosen_of err) $options t.npz
    cmp a.npz b.npz
    run ! scalars a.npz train/minutes
    run -0 --separate-stderr tg-train -m untrained.npz -o a.npz --minutes 0.02 t.npz
    [[ $stderr = *"a.npz is complete: "* ]]
}

@test "--minutes: the model and settings that it chooses are printed, and give the same bytes" {
    slow
    local model
    make_text 60000 > text
    tg-bpe -q -n 300 -o bpe.npz text
    tg-tokenize -q text -o bytes.npz
    tg-tokenize -q -t bpe.npz text -o ids.npz
    for t in bytes ids; do
        rm -f a.npz b.npz
        tg-train -m a.npz --seed 7 --minutes 0.02 $t.npz 2> err
        model=$(sed -n 's/^tg-train: the model is that of  tg-init //p' err)
        [[ $model = "-P baby-qwen3 "*" -s 7"* ]]
        # shellcheck disable=SC2086 # options are words
        tg-init -q ${model/TOKENIZER/bpe.npz} -o b.npz
        # shellcheck disable=SC2046
        tg-train -q -m b.npz --seed 7 $(chosen_of err) $(steps_of err) $t.npz
        cmp a.npz b.npz
    done
    [[ $(chosen_of err) = "--optimizer muon  --batch 3  --first-context 64 "* ]]
}

@test "--minutes: a larger model for much time, and one that is not fitted too closely to a text" {
    slow
    make_text 60000 > text
    tg-bpe -q -n 300 -o bpe.npz text
    tg-tokenize -q -t bpe.npz text -o ids.npz
    tg-train -m a.npz --minutes 100000 ids.npz 2> err &
    child=$!
    eventually grep -q 'step 1 of about ' err
    kill -TERM $child
    wait $child || [[ $? = 143 ]]
    grep -q 'tg-init -P baby-qwen3 --n-layer 6 --n-head 12 --n-kv-head 12 --head-dim 32 --n-embd 384 --n-inner 1024 --n-ctx 256 ' err
    [[ $(chosen_of err) = *" --batch 4  --first-context 64  --lr 0.002  "*" --dropout 0.1  --weight-decay 1 "* ]]
    # what is given stays
    tg-train -m b.npz --minutes 100000 --dropout 0 --weight-decay 0.2 ids.npz 2> err &
    child=$!
    eventually grep -q 'step 1 of about ' err
    kill -TERM $child
    wait $child || [[ $? = 143 ]]
    [[ $(chosen_of err) != *dropout* && $(chosen_of err) != *decay* ]]
    [[ $(scalars b.npz train/dropout train/weight_decay) = $'0.0\n0.2' ]]
    run ! scalars a.npz train/average # only without dropout
    [[ $(scalars b.npz train/average) -gt 0 ]]
}

@test "--minutes: a text that is read several times ends with a mean, a third of the decay" {
    slow_unless_sanitized
    local options
    make_text 3000 > text
    tg-bpe -q -n 300 -o bpe.npz text
    tg-tokenize -q -t bpe.npz text -o ids.npz
    tg-init -q -P baby-qwen3 --n-layer 1 --n-head 1 --n-kv-head 1 --head-dim 16 --n-embd 16 --n-inner 16 --n-ctx 16 -t bpe.npz -o small.npz
    tg-train -m small.npz -o a.npz --minutes 0.02 --dropout 0 ids.npz 2> err
    options=$(steps_of err)
    [[ $options =~ ^--steps\ [0-9]+\ --decay\ ([0-9]+)\ --warmup\ [0-9]+\ --average\ ([0-9]+)$ ]]
    [[ ${BASH_REMATCH[2]} = $((BASH_REMATCH[1] / 3)) ]]
    # shellcheck disable=SC2046,SC2086 # options are words
    tg-train -q -m small.npz -o b.npz --dropout 0 $(chosen_of err) $options ids.npz
    cmp a.npz b.npz
    tg-train -m small.npz -o c.npz --minutes 0.01 --dropout 0 --average 0 ids.npz 2> err
    [[ $(steps_of err) != *average* ]]
    run ! scalars c.npz train/average
    run -2 --separate-stderr tg-train --minutes 1 --average 5 ids.npz
    said "tg-train: --minutes chooses the length of the mean: --average is 5, expected 0"
}

@test "--minutes: a rate is printed with all of its digits" {
    slow_unless_sanitized
    tg-init -q --n-layer 1 --n-head 2 --n-embd 192 --n-ctx 16 -o wide.npz
    tg-train -m wide.npz -o a.npz --minutes 0.01 t.npz 2> err
    [[ $(chosen_of err) = *"--lr 0.00266666666666666"* ]]
    # shellcheck disable=SC2046 # options are words
    tg-train -q -m wide.npz -o b.npz $(chosen_of err) $(steps_of err) t.npz
    cmp a.npz b.npz
}

@test "--minutes: a run that was stopped keeps to its time" {
    slow
    local steps
    tg-train -m untrained.npz -o a.npz --minutes 0.05 t.npz 2> err &
    child=$!
    eventually grep -q 'step 1 of about ' err
    kill -TERM $child
    wait $child || [[ $? = 143 ]]
    [[ $(scalars a.npz train/minutes) = 0.05 ]]
    # the length of a mean is the plan's
    run -2 --separate-stderr tg-train -m a.npz --average 5 t.npz
    said "tg-train: --minutes chooses the length of the mean: --average is 5, expected 0"
    # --steps ends it
    steps=$(($(scalars a.npz train/step) + 5))
    tg-train -q -m a.npz -o steps.npz -n $steps t.npz
    [[ $(scalars steps.npz train/steps train/decay) = "$steps"$'\n'"$((steps * 2 / 5))" ]]
    run ! scalars steps.npz train/minutes
    # the plan is the file's, and open
    tg-train -o a.npz -m untrained.npz t.npz 2> second
    grep -q 'resuming at step .* of about .* of 0.05 minutes' second
    # shellcheck disable=SC2046 # options are words
    tg-train -q -m untrained.npz -o b.npz $(chosen_of err) $(steps_of second) t.npz
    cmp a.npz b.npz
}

@test "--minutes: a text that is short for the time" {
    slow
    make_text 100 | tg-tokenize > short.npz # which slow builds also read more than 24 times
    tg-train -m untrained.npz -o a.npz --minutes 0.01 short.npz 2> err
    [[ $(grep -c 'in this time the text is read about [0-9]* times, and learned by heart' err) = 1 ]]
    make_text 600000 | tg-tokenize > long.npz
    tg-train -m new.npz --minutes 0.01 long.npz 2> err
    run ! grep 'by heart' err
}

@test "--minutes: in place of --steps and --decay, and for new runs" {
    run -2 --separate-stderr tg-train --minutes 1 --steps 3 t.npz
    said "tg-train: --minutes chooses the number of steps: --steps does not apply"
    run -2 --separate-stderr tg-train --minutes 1 --decay 3 t.npz
    said "tg-train: --minutes chooses the number of steps: --decay does not apply"
    run -2 --separate-stderr tg-train --minutes 0 t.npz
    said "tg-train: --minutes must be between 0.01 and 1000000, got 0"
    tg-train -m untrained.npz -o a.npz -n 100000 t.npz 2> err &
    child=$!
    eventually grep -q 'step 1/' err
    kill -TERM $child
    wait $child || [[ $? = 143 ]]
    cp a.npz before.npz
    run -2 --separate-stderr tg-train -m a.npz --minutes 1 t.npz
    said "tg-train: the run has 100000 steps: --minutes is for a new one"
    cmp a.npz before.npz
}
