# Damage: archives of each kind with one bit of seven inverted (of each byte one at least), and cut at every byte
# (tests/damage/damage.c); from a pipe one case of 32.  make soak: more archives, all readers of each, every bit, every
# case from a pipe as well.

load helper

setup_file() {
    tg_fixtures || return 1
    export OMP_NUM_THREADS=1
    printf 'abbaabbbabab' > text
    printf 'the cat and the hat and the bat %.0s' 1 2 3 > cats
    make_tokens
    make_models
    make_dumps
    make_results
}

# tokens of each kind of tokenizer, and these tokenizers
make_tokens() {
    tg-tokenize text > bytes.npz
    tg-tokenize -t char text > char.npz
    tg-bpe --vocab-size 258 --min-count 1 -o bpe-vocabulary.npz cats 2> /dev/null
    tg-tokenize -t bpe-vocabulary.npz text > bpe.npz
    printf '\1\0\2\1\0\0' | tg-convert - --from uint16 --vocab-size 300 -o ids.npz
    tg-tokenize -t bytes --to npz > bytes-vocabulary.npz
    tg-tokenize -t char.npz --to npz > char-vocabulary.npz
}

# without LayerNorm's gains and with all that GPT-2 has, untrained and trained
make_models() {
    local small=(--n-layer 1 --n-head 1 --n-embd 2 --n-ctx 2)
    tg-init -P tinygpt -t char.npz --vocab-size 2 "${small[@]}" -o tiny.npz 2> /dev/null
    ! soak || tg-init -t ids --vocab-size 2 "${small[@]}" -o gpt2.npz 2> /dev/null
    tg-train -m tiny.npz --steps 2 --batch 1 --val-fraction 0.5 --freeze embedding -o run.npz char.npz 2> /dev/null
}

# all stages, from a model and from q, k and v; each stage alone; the other layout; logits
make_dumps() {
    local stage
    tg-attn-dump -m tiny.npz -p ab -o dump.npz
    for stage in probs $(soak && echo x qkv q k v scores att out); do
        tg-attn-dump -m tiny.npz -p ab -s $stage -o "dump-$stage.npz"
    done
    tg-attn-dump -m tiny.npz -p ab --layout bhtd --mask=-inf -s q -o dump-bhtd.npz
    tg-eval -m tiny.npz -p ab --logits -o logits.npz 2> /dev/null
}

# what the other tools write, of a model as small as composition allows
make_results() {
    tg-init -P tinygpt -t char.npz --vocab-size 2 --n-layer 2 --n-head 1 --n-embd 2 --n-ctx 2 -o two.npz 2> /dev/null
    tg-lens -m two.npz -p ab --top 1 -o lens.npz
    tg-lens -m two.npz -p ab --attribute b -o attribution.npz
    tg-patch -m two.npz -p ab --corrupt bb --metric kl -s z --each both -o patch.npz
    tg-patch -m two.npz -p ab --corrupt bb --metric kl --ablate resample --keep 0.0,1.mlp -o ablation.npz
    tg-circuit -m two.npz -o circuit.npz
    tg-circuit -m two.npz --compose -o pairs.npz
}

setup() {
    tg_setup
    make_unit
    export OMP_NUM_THREADS=1
    cp "$FIXTURES"/* .
}

# damaged OPTION... FILE...: every case is refused, or without effect; $same is the number of the latter.
damaged() {
    run "$BUILD/unit/damage" "$@"
    echo "$output"
    [[ $status = 0 ]]
    local tried refused
    read -r tried refused same < <(
        awk '$4 == "cases," { c += $3; r += $5; n += $7 } END { print c, r, n }' <<< "$output")
    [[ $tried -gt 0 ]]
    cases "$tried" "damaged archives, $refused refused, $same that read the same"
}

# damaged_tg FILE...: archives of tg.
damaged_tg() {
    if soak; then damaged -a "$@"; else damaged -b 7 -s 32 "$@"; fi
}

# A model's or a stream's tokenizer is read without the rest (the soak's readers): damage after it has no effect.
unnoticed() {
    soak || [[ $same = 0 ]]
}

@test "tokens and tokenizers: no damage goes unnoticed" {
    slow
    damaged_tg bytes.npz char.npz ids.npz bpe.npz bytes-vocabulary.npz char-vocabulary.npz bpe-vocabulary.npz
    unnoticed
}

# In make soak three hundred thousand archives, each of which is read with all its checksums.
@test "models and runs" {
    slow
    damaged_tg tiny.npz run.npz
    unnoticed
}

@test "attention of each stage, and logits" {
    slow
    damaged_tg dump*.npz logits.npz
    [[ $same = 0 ]]
}

@test "lenses, attributions, patches and circuits" {
    slow
    damaged_tg lens.npz attribution.npz patch.npz ablation.npz circuit.npz pairs.npz
    [[ $same = 0 ]]
}

# Other programs' archives have bits that no reader looks at: who made it, for which version and system, the
# file's attributes, the kind of white space in an .npy header.
@test "archives of other programs: no damage changes what is read" {
    slow_unless_sanitized
    need python3
    npz qkv.npz <<< 'q f4 1,2,4 0 1 2 3 4 5 6 7
k f8 1,2,4 0 1 2 3 4 5 6 7
v f4 1,2,4 -0 -1 -2 -3 -4 -5 -6 -7'
    python3 -c '
import zipfile
with zipfile.ZipFile("qkv.npz") as a, zipfile.ZipFile("deflated.npz", "w", zipfile.ZIP_DEFLATED) as b:
    for name in a.namelist():
        b.writestr(name, a.read(name))'
    damaged -a qkv.npz deflated.npz
}

# ---- fields changed, checksums right

# mutated READER FILE [STEP]: of the cases only every STEPth, except in the soak
mutated() {
    local step=${3:-1}
    soak && step=1
    run python3 -B "$ROOT/tests/mutate.py" "$BUILD/unit/damage" "$1" "$2" "$step"
    echo "$output"
    [[ $status = 0 && ${lines[-1]} = *", 0 wrong" ]]
    # shellcheck disable=SC2086
    set -- ${lines[-1]}
    [[ $3 -gt 0 ]]
    cases "$3" "archives with changed fields, $5 accepted and right: $1"
}

@test "fields changed, checksums made right: what is accepted stands a second check" {
    slow
    need python3
    mutated tokens bytes.npz 2
    mutated tokens char.npz 4
    mutated tokenizer char-vocabulary.npz 4
    mutated dump dump-probs.npz 5
    mutated dump dump.npz 11
    mutated run tiny.npz 17
    mutated results lens.npz 13
    mutated results attribution.npz 17
    mutated results patch.npz 17
    mutated results ablation.npz 17
    mutated results circuit.npz 13
    mutated results pairs.npz 11
    ! soak || mutated run run.npz
    ! soak || mutated tokens bpe.npz
    ! soak || mutated model gpt2.npz
}

# ---- the tools

# refuses FILE COMMAND...: exit 1, one line that names the file, no output, no other file changed or made
refuses() {
    local status=0 said
    "${@:2}" > ../out 2> ../err < /dev/null || status=$?
    mapfile -t said < ../err
    if [[ $status != 1 || -s ../out || ${#said[@]} != 1 || ${said[0]} != *"$1"* ]]; then
        echo "$*: status $status, ${said[*]}"
        return 1
    fi
    cmp "$1" ../damaged
    diff <(cksum "${others[@]}") ../sums
    [[ $(echo * .tg-*) = "$names" ]]
}

# each_damage FILE COMMAND...: FILE is damaged at 4 places, one after another, and cut at as many
each_damage() {
    local n at file names others=()
    n=$(size "$1")
    cp "$1" ../whole
    for file in *; do
        [[ $file = "$1" ]] || others+=("$file")
    done
    names=$(echo * .tg-*)
    cksum "${others[@]}" > ../sums
    for ((at = n / 9; at < n; at += n / 4)); do
        flip "$1" "$at" $((at % 8))
        cp "$1" ../damaged
        refuses "$@"
        head -c "$at" ../whole > "$1"
        cp "$1" ../damaged
        refuses "$@"
        cp ../whole "$1"
        tried=$((tried + 2))
    done
}

@test "every tool: one line, exit 1, nothing written, old files as they were" {
    slow
    local tried=0 kind
    echo old > old
    cp old old.html
    cp char-vocabulary.npz vocabulary.npz
    tg-init -P tinygpt -t vocabulary.npz --n-layer 1 --n-embd 2 --n-head 1 --n-ctx 2 -o model.npz 2> /dev/null
    each_damage char.npz tg-train -m model.npz --steps 3 char.npz
    each_damage char.npz tg-tokenize -d -o old char.npz
    each_damage char.npz tg-convert char.npz --to uint16 --force -o old
    each_damage char.npz tg-eval -m model.npz char.npz
    each_damage vocabulary.npz tg-tokenize -t vocabulary.npz --force -o old text
    each_damage vocabulary.npz tg-init -t vocabulary.npz --force -o old
    each_damage run.npz tg-train -m run.npz --steps 9 char.npz
    each_damage run.npz tg-convert run.npz --to gguf --force -o old
    each_damage run.npz tg-attn-dump -m run.npz -p ab --force -o old
    each_damage run.npz tg-sample -m run.npz -p a
    each_damage run.npz tg-info run.npz
    each_damage dump.npz tg-attn-view --force -o old.html dump.npz
    each_damage dump.npz tg-attn-dump -m tiny.npz --check dump.npz
    for kind in lens attribution patch circuit pairs; do
        each_damage $kind.npz tg-attn-view --ansi --force -o old $kind.npz
    done
    each_damage logits.npz tg-info logits.npz
    cases "$tried" "damaged files given to tools"
}
