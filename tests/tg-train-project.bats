# What a run of days needs of tg-train: a text to validate on, the best model, disks that fill up.

load helper

# Two kinds of text, 10,000 tokens each, and one that is like the first and yet not; a model of 1 layer, 16
# channels and 16 positions.
setup_file() {
    tg_fixtures
    export OMP_NUM_THREADS=1
    make_text > text
    tr 'a-z0-9 ' 'n-za-m\n!-)' < text > other
    sed 's/ //g; s/the/eht/g; s/o/u/g' text | tg-tokenize > w.npz
    tg-tokenize text > t.npz
    tg-tokenize other > v.npz
    cat text other | tg-tokenize > both.npz
    tg-init --n-layer 1 --n-head 2 --n-embd 16 --n-ctx 16 -o untrained.npz 2> /dev/null
}

setup() {
    tg_setup
    cp "$FIXTURES"/*.npz .
    cp untrained.npz model.npz
}

# quick ARGUMENT...: train on 4 sequences to a step, in silence.
quick() {
    tg-train -b 4 "$@" 2> quick.err || {
        cat quick.err
        return 1
    }
}

# says PATTERN: standard error has such a line.
says() {
    local line
    for line in "${stderr_lines[@]}"; do
        # shellcheck disable=SC2053
        [[ $line = $1 ]] && return 0
    done
    echo "expected a line: $1"
    echo "standard error was: $stderr"
    return 1
}

# ---- the text to validate on

@test "--val: a text of its own, known to the run; all of the other is trained on" {
    slow_unless_sanitized
    run -0 --separate-stderr tg-train -b 4 -n 20 --val v.npz t.npz
    says "tg-train: *, 10,000 tokens to train, 10,000 of v.npz to validate, needs *"
    run -0 scalars model.npz train/val_text_tokens train/val_text_crc
    [[ ${lines[0]} = 10000 && ${lines[1]} != "$(scalars model.npz train/text_crc)" ]]
    # another text, or none, is said
    run -0 --separate-stderr tg-train -n 22 --val t.npz t.npz
    says "tg-train: the validation text differs from the run's: other tokens, the same number"
    run -0 --separate-stderr tg-train -n 24 --val both.npz t.npz
    says "tg-train: the validation text differs from the run's: 20,000 tokens, 10,000 before"
    run -0 --separate-stderr tg-train -n 26 t.npz
    says "tg-train: the run validated on a separate text of 20,000 tokens; without --val, *"
    run -0 --separate-stderr tg-train -n 28 --val v.npz t.npz
    says "tg-train: the run validates on v.npz from now on, and trains on all of its text; *"
}

@test "--val: a run that is interrupted has the bytes of one that is not" {
    quick -o whole.npz -m untrained.npz -n 12 --val v.npz t.npz
    quick -o part.npz -m untrained.npz -n 12 --val v.npz --save-every 5 t.npz
    cmp whole.npz part.npz
    run -0 --separate-stderr bash -c 'tg-tokenize < "$FIXTURES/other" | tg-train -b 4 -o piped.npz -m untrained.npz -n 12 --val - t.npz'
    cmp whole.npz piped.npz
}

@test "--val: what cannot be one" {
    run -2 --separate-stderr tg-train --val v.npz --val-fraction 0.2 t.npz
    [[ $stderr = *"--val names a separate text for validation: --val-fraction does not apply"* ]]
    run -2 --separate-stderr tg-train --val v.npz --val-blocks 2 t.npz
    [[ $stderr = *"--val-blocks does not apply"* ]]
    run_pipe 2 'tg-tokenize < "$FIXTURES/text" | tg-train --val -'
    [[ $stderr = "tg-train: standard input is the text: give --val as a file" ]]
    run -2 --separate-stderr bash -c 'tg-train -m - --val - t.npz < model.npz'
    [[ $stderr = "tg-train: standard input is the model: give the tokens as files" ]]
    run -3 --separate-stderr tg-train --val none.npz t.npz
    [[ $stderr = "tg-train: none.npz: "* ]]
    run -1 --separate-stderr tg-train --val "$FIXTURES/other" t.npz
    [[ $stderr = *"plain text, expected a token archive"* ]]
    tg-tokenize -t char "$FIXTURES/text" > char.npz
    run -1 --separate-stderr tg-train --val char.npz t.npz
    [[ $stderr = "tg-train: char.npz: "* ]]
    head -c 16 "$FIXTURES/text" | tg-tokenize > short.npz
    run -1 --separate-stderr tg-train --val short.npz t.npz
    [[ $stderr = *"the validation text has 16 tokens, a window of context 16 needs 17"* ]]
    cmp model.npz untrained.npz
}

@test "--val-blocks: spread over the text, saved, and said; 1 has the bytes of before" {
    run -0 --separate-stderr tg-train -b 4 -n 6 -m untrained.npz -o spread.npz --val-blocks 10 both.npz
    says "tg-train: *, 20,000 tokens (18,000 to train, 2,000 to validate in 10 blocks), needs *"
    [[ $(scalars spread.npz train/val_blocks) = 10 ]]
    # a saved setting: it applies again
    quick -m untrained.npz -o part.npz -n 6 --val-blocks 10 --save-every 2 both.npz
    cmp spread.npz part.npz
    quick -o part.npz -n 8 both.npz
    quick -o spread.npz -n 8 --val-blocks 10 both.npz
    cmp spread.npz part.npz
    run -0 --separate-stderr tg-train -o part.npz -n 9 --val-blocks 1 both.npz
    says "tg-train: --val-blocks was 10, is now 1"
    quick -m untrained.npz -o one.npz -n 6 --val-blocks 1 both.npz
    quick -m untrained.npz -o none.npz -n 6 both.npz
    cmp one.npz none.npz
    run ! scalars one.npz train/val_blocks
    run -0 --separate-stderr tg-train -n 2 --val-blocks 700 both.npz
    says "tg-train: no validation: the text is too short to hold out 0.1 of it in so many blocks (a window needs 17 tokens)"
}

@test "two kinds of text are noticed at the first validation, once" {
    slow_unless_sanitized
    run -0 --separate-stderr tg-train -b 8 -n 100 --lr 0.02 --eval-every 10 --val-fraction 0.5 both.npz
    says "tg-train: the validation loss, *, is far above the training loss, *: the held-out part may be another kind of text; --val-blocks 20 spreads it over the text, --val FILE takes another"
    [[ $(grep -c 'another kind of text' <<< "$stderr") = 1 ]]
    run -0 --separate-stderr tg-train -b 8 -n 100 --lr 0.02 --eval-every 10 -m untrained.npz -o a.npz --val-fraction 0.5 --val-blocks 20 both.npz
    [[ $stderr != *"another kind"* ]]
    run -0 --separate-stderr tg-train -b 8 -n 100 --lr 0.02 --eval-every 10 -m untrained.npz -o b.npz --val v.npz t.npz
    [[ $stderr != *"another kind"* ]]
}

# ---- the best model

@test "bits per byte: of the tokens that are validated on" {
    local loss bits tokens
    make_text 6000 > text
    make_text 3000 > other
    tg-bpe -q -n 300 -o bpe.npz text
    tg-tokenize -q -t bpe.npz -o t.npz text
    tg-tokenize -q -t bpe.npz -o v.npz other
    tokens=$(tg-tokenize -t bpe.npz -c other 2> /dev/null)
    run -0 --separate-stderr tg-train -m bpe-model.npz -n 2 --val v.npz --eval-tokens 0 t.npz
    [[ $stderr =~ "validation loss "([0-9.]+)", "([0-9.]+)" bits per byte" ]]
    loss=${BASH_REMATCH[1]}
    bits=${BASH_REMATCH[2]}
    # the windows leave out the first token, and some of the last ones
    awk -v loss="$loss" -v bits="$bits" -v bytes="$(wc -c < other)" -v tokens="$tokens" \
        'BEGIN { ratio = bits * bytes * log(2) / (loss * tokens); exit !(ratio > 0.98 && ratio < 1.02) }'
}

# A run whose validation loss rises again: the best step is neither the first nor the last.
best_run() {
    COMMAND=(tg-train -b 8 -n 100 --lr 0.02 --warmup 0 --eval-every 10 --val w.npz --keep-best --precision float32 "$@" t.npz)
}

@test "--keep-best: the model with the least validation loss, an ordinary one" {
    slow_unless_sanitized
    best_run --log log.tsv
    run -0 --separate-stderr "${COMMAND[@]}"
    local least step loss
    least=$(awk -F '\t' 'NR > 1 && $3 != "" && (!s || $3 < l) { s = $1; l = $3 } END { print s, l }' log.tsv)
    read -r step loss <<< "$least"
    [[ $step -gt 10 && $step -lt 100 ]]
    [[ $(scalars model.best.npz train/step train/best_step) = "$step"$'\n'"$step" ]]
    [[ $(scalars model.npz train/step train/best_step) = 100$'\n'"$step" ]]
    says "tg-train: saved model.best.npz: of all validations after a step, that of step $step has the least loss, ${loss:0:5}*"
    says "tg-train: the best model, in model.best.npz, is of step $step: validation loss ${loss:0:5}*"
    [[ $(grep -c '^tg-train: saved model.best.npz' <<< "$stderr") -gt 1 ]]
    run -0 tg-sample -m model.best.npz -n 4 -p abc
    # it is what a run has saved at that step
    cp untrained.npz again.npz
    best_run -m again.npz
    "${COMMAND[@]}" 2> /dev/null
    cmp model.best.npz again.best.npz
    cmp model.npz again.npz
}

@test "--keep-best: the run is the one without it, and resumes with or without it" {
    slow_unless_sanitized
    best_run -o with.npz -m untrained.npz
    "${COMMAND[@]}" 2> /dev/null
    quick -n 100 -b 8 --lr 0.02 --warmup 0 --val w.npz --precision float32 -o without.npz -m untrained.npz t.npz
    run ! scalars without.npz train/best_step
    for name in wte.weight opt/m/wte.weight train/history/loss; do
        unzip -p with.npz $name.npy | cmp - <(unzip -p without.npz $name.npy)
    done
    # without the option, the file and its record stay
    local best
    best=$(scalars with.npz train/best_step)
    cp with.best.npz kept.npz
    quick -n 105 -b 8 --eval-every 1 --val w.npz -o with.npz t.npz
    [[ $(scalars with.npz train/step train/best_step) = 105$'\n'"$best" ]]
    cmp with.best.npz kept.npz
}

@test "--keep-best: killed after any save, the same command reaches the same files" {
    slow_unless_sanitized
    best_run -o want.npz -m untrained.npz
    "${COMMAND[@]}" 2> /dev/null
    best_run -o got.npz -m untrained.npz
    local tries=0 at
    for at in 10 20 30; do
        "${COMMAND[@]}" 2> err & local pid=$!
        until grep -q "^tg-train: saved got.best.npz: of all validations after a step, that of step $at " err; do
            kill -0 $pid || break
        done
        kill -9 $pid && tries=$((tries + 1))
        wait $pid || true
    done
    [[ $tries -gt 0 ]]
    "${COMMAND[@]}" 2> /dev/null
    cmp want.npz got.npz
    cmp want.best.npz got.best.npz
}

@test "--keep-best: killed between the two saves, the run's own is the best" {
    best_run -n 20
    "${COMMAND[@]}" 2> /dev/null
    [[ $(scalars model.npz train/best_step) = 20 ]]
    cp model.best.npz want.npz
    rm model.best.npz
    run -0 --separate-stderr "${COMMAND[@]}" # also one that is complete
    cmp model.best.npz want.npz
    rm model.best.npz
    best_run -n 25
    run -0 --separate-stderr "${COMMAND[@]}"
    [[ ${stderr_lines[*]} = *"saved model.best.npz: of all validations after a step, that of step 20 has the least loss"* ]]
}

@test "--keep-best: a best model of another run is not replaced, nor is a file of another kind" {
    slow_unless_sanitized
    quick -n 3 -m untrained.npz -o model.best.npz t.npz
    cp model.best.npz kept.npz
    best_run
    run -2 --separate-stderr "${COMMAND[@]}"
    [[ ${stderr_lines[-1]} = "tg-train: model.best.npz: a model that was trained for 3 steps, and not this run's best: move it away" ]]
    cp v.npz model.best.npz
    run -2 --separate-stderr "${COMMAND[@]}"
    [[ ${stderr_lines[-1]} = "tg-train: model.best.npz: tokens; --force replaces it" ]]
    cmp model.npz untrained.npz
    # one that has gone begins anew; so does one of another validation text
    rm model.best.npz
    "${COMMAND[@]}" 2> /dev/null
    mv model.best.npz elsewhere.npz
    best_run -n 102
    run -0 --separate-stderr "${COMMAND[@]}"
    says "tg-train: model.best.npz does not exist: of the steps so far, none counts as the best"
    [[ $(scalars model.best.npz train/step) = 102 ]]
    run -0 --separate-stderr tg-train -n 104 --keep-best --val t.npz t.npz
    says "tg-train: model.best.npz is the best model of another validation text: the next one replaces it"
    [[ $(scalars model.best.npz train/step) = 104 ]]
}

@test "--keep-best: what it needs" {
    run_pipe 2 'tg-train -n 2 -o - --keep-best t.npz | cat'
    [[ $stderr = *"--keep-best goes with a model that is saved to a file: give -o FILE"* ]]
    run -2 --separate-stderr tg-train -n 2 --keep-best --val-fraction 0 t.npz
    [[ ${stderr_lines[-1]} = "tg-train: --keep-best needs a text to validate on: give one with --val" ]]
    run -2 --separate-stderr tg-train -n 2 --keep-best --log model.best.npz t.npz
    [[ ${stderr_lines[-1]} = "tg-train: model.best.npz: the log cannot be where the model is saved" ]]
    run -2 --separate-stderr tg-train -n 2 --keep-best -o "$(printf '%05000d' 0).npz" t.npz
    [[ $stderr = *"name is too long"* ]]
    quick -n 2 -m untrained.npz -o named --keep-best t.npz
    [[ -s named && -s named.best ]]
    cmp model.npz untrained.npz
}

# ---- disks

# on_disk KIB COMMAND: run it in a file system of its own, of that size, in the directory "disk".
on_disk() {
    local apart=(unshare -rm)
    need unshare
    mkdir -p disk
    "${apart[@]}" mount -t tmpfs none disk 2> /dev/null || apart=(unshare -m)
    "${apart[@]}" mount -t tmpfs none disk 2> /dev/null || skip "no file system can be mounted"
    run --separate-stderr "${apart[@]}" bash -c "mount -t tmpfs -o size=$1k none disk && cd disk && $2"
}

@test "a disk without room for a save is said before the first step" {
    on_disk 400 'tg-train -n 2 ../t.npz; status=$?; ls; exit $status'
    [[ $status = 3 ]]
    is_output ""
    [[ $stderr = "tg-train: model.npz: a save needs 9.5 MiB, 39"?".0 KiB are free: No space left on device" ]]
    # the best model needs as much again
    tg-init --n-layer 1 --n-head 1 --n-embd 64 -o small.npz 2> /dev/null
    on_disk 1200 'tg-train -m ../small.npz -o a.npz -n 2 ../t.npz'
    [[ $status = 0 ]]
    on_disk 1200 'tg-train -m ../small.npz -o a.npz -n 2 --keep-best ../t.npz'
    [[ $status = 3 && ${stderr_lines[-1]} = "tg-train: a.npz: a save needs 1.6 MiB, 1."?" MiB are free: No space left on device" ]]
}

@test "a save that fails does not end the run: the next one tries again" {
    slow_unless_sanitized
    quick -m untrained.npz -o want.npz -n 400 t.npz
    # room for the parameters and moments, which is what a save needs at least, and not for a whole file
    on_disk 400 'cp ../untrained.npz model.npz
        fill() { dd if=/dev/zero of=filler bs=1k count="$1" 2> /dev/null; }
        fill $((400 - $(du -sk . | cut -f 1) - 96))
        tg-train -b 4 -n 400 --save-every 1 ../t.npz 2> err & pid=$!
        until grep -q "tries again" err; do kill -0 $pid || break; done
        kill -STOP $pid; rm -f filler; kill -CONT $pid
        wait $pid; status=$?
        cat err >&2; cp model.npz ../got.npz; exit $status'
    [[ $status = 0 ]]
    says "tg-train: model.npz: *No space left on device; it is unchanged, and the next save tries again"
    says "tg-train: saved model.npz at step 400 of 400"
    cmp want.npz got.npz
}

@test "the last save fails: 3, what is kept, and the same command resumes from it" {
    quick -n 2 t.npz
    cp model.npz two.npz
    run -3 --separate-stderr bash -c 'ulimit -f 20; exec tg-train -b 4 -n 6 --save-every 2 t.npz'
    [[ ${stderr_lines[-1]} = "tg-train: model.npz: "*"File too large; it is unchanged; rerun the command to resume from it" ]]
    says "tg-train: model.npz: *File too large; it is unchanged, and the next save tries again"
    [[ $(grep -c 'File too large' <<< "$stderr") = 2 ]]
    cmp model.npz two.npz
    [[ -z $(find . -name '.tg-*') ]]
    quick -n 6 t.npz
    quick -m untrained.npz -o want.npz -n 2 t.npz
    quick -o want.npz -n 6 t.npz
    cmp model.npz want.npz
    run -3 --separate-stderr bash -c 'ulimit -f 20; exec tg-train -b 4 -n 2 -m untrained.npz -o new.npz t.npz'
    [[ ${stderr_lines[-1]} = "tg-train: new.npz: "*"File too large; no model is saved" && ! -e new.npz ]]
}
