# tg-train --probe: dumps of attention as a model learns.

load helper

# 10,000 tokens; a model of 2 layers, 2 heads, 16 channels and 48 positions.
setup_file() {
    training_fixtures --n-embd 16 --n-ctx 48
}

setup() {
    tg_setup
    cp "$FIXTURES"/*.npz .
    cp untrained.npz model.npz
    RUN=(tg-train -b 2 -n 7 --dropout 0.1 --save-every 2)
}

# snapshots DIRECTORY NUMBER...: it has those of these steps, and nothing else.
snapshots() {
    [[ $(ls "$1") = "$(printf '%06d.npz\n' "${@:2}")" ]]
}

@test "--probe: a dump of the first step, of the last, and of every Nth" {
    slow_unless_sanitized
    run -0 --separate-stderr "${RUN[@]}" --probe 'To be' --probe-every 3 t.npz
    [[ $stderr = *$'\ntg-train: snapshots of 5 tokens: model.probe/\n'* ]]
    snapshots model.probe 0 3 6 7
    # each is what tg-attn-dump makes of the model at that step, except that it names no file
    tg-attn-dump -m untrained.npz -p 'To be' -o first.npz
    tg-attn-dump -m model.npz -p 'To be' -o last.npz
    local pair name
    for pair in first:000000 last:000007; do
        for name in $(unzip -Z1 ${pair%:*}.npz | grep -v source); do
            cmp <(unzip -p ${pair%:*}.npz "$name") <(unzip -p model.probe/${pair#*:}.npz "$name")
        done
        [[ $(unzip -Z1 ${pair%:*}.npz | grep -vc source) = "$(unzip -Z1 model.probe/${pair#*:}.npz | wc -l)" ]]
    done
    tg-attn-dump --check model.probe/000007.npz | tail -n 1 | grep 'all equal$'
    run -1 tg-attn-dump --check model.probe/000006.npz
    for name in model.probe/*; do
        tg-attn-view "$name" > view
        [[ -s view ]]
    done
    run ! cmp model.probe/000000.npz model.probe/000003.npz
}

@test "--probe changes no bit of the model, with any type and number of threads" {
    slow_unless_sanitized
    local precision
    for precision in float32 bf16; do
        "${RUN[@]}" -q --precision $precision -m untrained.npz -o without.npz t.npz
        "${RUN[@]}" -q --precision $precision -m untrained.npz -o with.npz --probe repeat --probe-every 1 t.npz
        cmp without.npz with.npz
        "${RUN[@]}" -q --precision $precision --threads 3 -m untrained.npz -o three.npz --probe repeat --probe-every 1 t.npz
        cmp without.npz three.npz
        diff -r with.probe three.probe
        # the weights that training keeps, not those that it rounds
        tg-attn-dump -m with.npz --check with.probe/000007.npz > /dev/null
        rm -r with* three*
    done
}

@test "--probe-every 0: the first and the last; --probe-dir; names of texts" {
    "${RUN[@]}" -q --probe repeat --probe-every 0 --probe-dir here t.npz
    snapshots here 0 7
    tg-attn-dump --probe repeat -o repeat.npz
    cmp <(unzip -p repeat.npz dump/ids.npy) <(unzip -p here/000007.npz dump/ids.npy)
    # not in a directory that a name of another ending would share
    "${RUN[@]}" -q -m untrained.npz -o plain --probe Repeat t.npz
    snapshots plain.probe 0 7
    [[ $(unzip -p plain.probe/000007.npz dump/text.npy | tail -c 6) = Repeat ]]
    # the model is not saved to a file
    run -2 --separate-stderr bash -c 'tg-train -q -n 2 -b 2 -m untrained.npz -o - --probe repeat t.npz > /dev/null'
    said "--probe needs a place for its snapshots, as the model is not saved to a file: give one with --probe-dir"
    tg-train -q -n 2 -b 2 -m untrained.npz -o - --probe repeat --probe-dir there t.npz > out
    cmp <(unzip -p there/000002.npz dump/ids.npy) <(unzip -p here/000007.npz dump/ids.npy)
}

@test "--probe: a run that was stopped writes the same files" {
    "${RUN[@]}" -q -o whole.npz -m untrained.npz --probe repeat --probe-every 1 t.npz
    "${RUN[@]}" -q -o part.npz -m untrained.npz --probe repeat --probe-every 1 --log log t.npz & local pid=$!
    kill -KILL $pid 2> /dev/null || true
    wait $pid || true
    "${RUN[@]}" -q -o part.npz -m untrained.npz --probe repeat --probe-every 1 --log log t.npz
    cmp whole.npz part.npz
    diff -r whole.probe part.probe
    # resumed at a step that is due: it is written again
    rm -r part.probe
    "${RUN[@]}" -q -n 9 -o part.npz --probe repeat --probe-every 7 t.npz
    snapshots part.probe 7 9
    cmp whole.probe/000007.npz part.probe/000007.npz
    # a run that is complete writes none
    rm -r part.probe
    "${RUN[@]}" -q -n 9 -o part.npz --probe repeat t.npz
    [[ ! -e part.probe ]]
}

@test "--probe: a snapshot that cannot be written stops the run, and the same command takes it again" {
    mkdir -p model.probe/000003.npz
    run -3 --separate-stderr "${RUN[@]}" --save-every 1 --probe repeat --probe-every 1 t.npz
    [[ ${stderr_lines[-1]} = "tg-train: model.probe/000003.npz: "*"irectory; rerun the command to take it again" ]]
    tg-attn-dump -m model.npz --check model.probe/000002.npz > /dev/null # the last that was saved
    rmdir model.probe/000003.npz
    "${RUN[@]}" -q --probe repeat --probe-every 1 t.npz
    snapshots model.probe 0 1 2 3 4 5 6 7
    tg-attn-dump -m model.npz --check model.probe/000007.npz > /dev/null
    "${RUN[@]}" -q -m untrained.npz -o whole.npz t.npz
    cmp model.npz whole.npz
    # a file of another kind is not replaced
    cp untrained.npz model.npz
    echo mine > model.probe/000001.npz
    run -2 --separate-stderr "${RUN[@]}" --probe repeat --probe-every 1 t.npz
    [[ ${stderr_lines[-1]} = "tg-train: model.probe/000001.npz: a file that is no snapshot: remove it, or choose another --probe-dir" ]]
    [[ $(cat model.probe/000001.npz) = mine ]]
}

@test "--probe: before the first step, and a model stays as it is" {
    : > model.probe
    run -3 --separate-stderr "${RUN[@]}" --probe repeat t.npz
    [[ ${stderr_lines[-1]} = "tg-train: model.probe/000000.npz: cannot be written: Not a directory; rerun the command to take it again" ]]
    run -3 --separate-stderr "${RUN[@]}" --probe repeat --probe-dir absent/dir t.npz
    said "tg-train: absent/dir: cannot make the directory: No such file or directory"
    run -2 --separate-stderr "${RUN[@]}" --probe "$(printf '%049d' 0)" t.npz
    said "tg-train: --probe has 49 tokens, which exceeds the model's context of 48: shorten it"
    run -2 --separate-stderr "${RUN[@]}" --probe '' t.npz
    said "tg-train: --probe must not be empty"
    run -2 --separate-stderr "${RUN[@]}" --probe repeat --probe-dir - t.npz
    said "tg-train: --probe-dir is a directory, not standard output"
    run -2 --separate-stderr "${RUN[@]}" --probe-every 5 t.npz
    said "tg-train: --probe-every goes with --probe"
    run -2 --separate-stderr "${RUN[@]}" --probe-dir here t.npz
    said "tg-train: --probe-dir goes with --probe"
    cmp model.npz untrained.npz
}

@test "--summary --dump: the heads of a dump, as of its model" {
    "${RUN[@]}" -q --probe abcabdabc --probe-every 0 t.npz
    tg-attn-dump -p abcabdabc --summary -f tsv > want
    tg-attn-dump --summary --dump model.probe/000007.npz -f tsv > got
    [[ $(wc -l < got) = 5 ]]
    cmp <(cut -f 1-12 want) <(cut -f 1-12 got)
    # of probabilities alone: float32 has seven digits
    tg-attn-dump -p abcabdabc --stage probs -o probs.npz
    tg-attn-dump --summary --dump probs.npz -f tsv > got
    paste want got | awk -F '\t' '
        NR > 1 { for (n = 1; n <= 12; n++) { d = $n - $(n + 17); if (d * d > 1e-12 || ($n == "") != ($(n + 17) == "")) bad = 1 } rows++ }
        END { exit bad || rows != 4 }'
    tg-attn-dump -p abcabdabc --summary --layer 1 --head 0 -f tsv | cut -f 1-3,10,11 > want
    tg-attn-dump --summary --dump - --layer 1 --head 0 -f tsv < model.probe/000007.npz | cut -f 1-3,10,11 | cmp - want
    # of q and k alone, and of given arrays
    tg-attn-dump --example mha -o mha.npz
    tg-attn-dump --example mha --summary | grep -v '^# [^um]' | tail -n 2 > want
    tg-attn-dump --dump mha.npz --summary | tail -n 2 | cmp - want
    tg-attn-dump --example mha --stage v -o v.npz
    run -1 --separate-stderr tg-attn-dump --summary --dump v.npz
    said "tg-attn-dump: v.npz: the dump has no probabilities, nor scores or q and k to make them from"
    run -2 --separate-stderr tg-attn-dump --summary --dump mha.npz --layer 1
    said "tg-attn-dump: mha.npz: "
    [[ $stderr = *"layer 1"* ]]
    run -2 --separate-stderr tg-attn-dump --dump mha.npz
    said "tg-attn-dump: --dump goes with --summary"
    run -2 --separate-stderr tg-attn-dump --summary --dump mha.npz -p abc
    said "tg-attn-dump: --dump has its model's numbers, text and heads: give no other input"
    run -1 --separate-stderr tg-attn-dump --summary --dump model.npz
    said "tg-attn-dump: model.npz: "
}

# With all its steps in `make soak`, where a head must form.
@test "the recipe for an induction head" {
    sed -n '/^## An induction head/,/^## /p' "$ROOT/docs/recipes.md" > section
    sed -n '/^```awk rows.awk/,/^```$/ { /^```/d; p }' section > rows.awk
    sed -n '/^    awk/,/^    done/ { s/^    //; p }' section > recipe
    soak || { sed -i 's/n < 10000/n < 100/' rows.awk; sed -i 's/--steps 2000/--steps 4/; s/--probe-every 250/--probe-every 2/' recipe; }
    run -0 --separate-stderr bash -e recipe
    if soak; then
        [[ ${#lines[@]} = 9 ]]
        awk '{ layer[NR] = $2; share[NR] = $4 }
            END { exit !(share[1] < 0.12 && share[NR] > 0.2 && layer[NR] == 1 && share[6] > 0.25) }' <<< "$output"
    else
        [[ ${#lines[@]} = 3 && ${lines[2]} = "forming.probe/000004.npz "[01]$'\t'[0-3]$'\t'0.* ]]
    fi
}
