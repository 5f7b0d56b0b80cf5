# What another processor makes, as this one: run by make cross (tests/cross), which names this machine's build.
# docs/numerics.md says which bytes do not depend on the processor, and how near other numbers are.

load helper

# A text, its vocabulary and tokens, and a model, made and trained here.
setup_file() {
    tg_fixtures
    [[ -n ${TG_NATIVE:-} ]] || return 0
    local PATH=$TG_NATIVE:$PATH TG_ISA=portable
    export TG_ISA
    head -c 6000 "$ROOT/docs/data/alice.txt" > text
    tg-bpe -n 300 -o bpe.npz text 2> /dev/null
    tg-tokenize -t bpe.npz text > t.npz
    tg-init -t bpe.npz --n-layer 2 --n-embd 64 --n-head 2 --n-ctx 32 -o start.npz 2> /dev/null
    for precision in float32 bf16; do
        tg-train -m start.npz -o $precision.npz -b 4 -n 3 --precision $precision t.npz 2> /dev/null
    done
}

setup() {
    tg_setup
    [[ -n ${TG_NATIVE:-} ]] || skip "make cross runs it"
    cp "$FIXTURES"/* .
}

# with_native COMMAND...: run it with the tools of this machine's build.
with_native() {
    PATH=$TG_NATIVE:$PATH TG_ISA=portable "$@"
}

# within TOLERANCE WANT GOT: two tables of tabs, the same except for numbers that differ by at most so much.
within() {
    paste "$2" "$3" | awk -F '\t' -v tolerance="$1" '
        NF % 2 { exit bad = 1 }
        { for (i = 1; i <= NF / 2; i++) {
            a = $i; b = $(i + NF / 2); d = a - b
            if (a != b && (a + 0 == 0 && b + 0 == 0 || d > tolerance || d < -tolerance)) { print a, b; bad = 1 } } }
        END { exit bad || NR < 1 }'
}

@test "the programs are of another processor, which has its kernels" {
    run -0 --separate-stderr env TG_ISA=portable tg-attn-dump --example mask
    run -2 --separate-stderr env TG_ISA=avx2 tg-attn-dump --example mask
    [[ $TG_BUILD != *aarch64* || $stderr = *"there are neon portable" ]]
}

@test "vocabularies, tokens, new models, conversions: the same bytes" {
    tg-bpe -n 300 -o other-bpe.npz text
    cmp bpe.npz other-bpe.npz
    tg-tokenize -t bpe.npz text | cmp t.npz -
    tg-tokenize -d t.npz | cmp text -
    tg-init -t bpe.npz --n-layer 2 --n-embd 64 --n-head 2 --n-ctx 32 -o other-start.npz
    cmp start.npz other-start.npz
    for to in hf gguf llmc; do
        tg-convert float32.npz --to $to --lossy -o "other-$to"
        with_native tg-convert float32.npz --to $to --lossy -o "here-$to"
        diff -r "here-$to" "other-$to"
    done
}

@test "worked examples: the same text, in double precision" {
    for example in mha mask baseline; do
        tg-attn-dump --example $example > other
        with_native tg-attn-dump --example $example | cmp - other
    done
    tg-attn-dump --example mha --trace 0,1,2,1 > other
    with_native tg-attn-dump --example mha --trace 0,1,2,1 | cmp - other
}

# After three steps, each of which changes the loss by 0.1, x86-64's own instruction sets differ by less than 1e-6
# in float32, and by 2.3e-5 in bf16, where a float that is another in its last place may round to another number.
@test "three steps of training: the losses agree, in float32 and bf16" {
    local precision model tolerance=2e-6
    for precision in float32 bf16; do
        tg-train -m start.npz -o other-$precision.npz -b 4 -n 3 --precision $precision t.npz
        for model in $precision other-$precision; do
            with_native tg-eval -m $model.npz text | sed -n 's/^loss *\([0-9.]*\).*/loss\t\1/p' > $model.loss
        done
        within $tolerance $precision.loss other-$precision.loss
        tolerance=5e-5
    done
}

@test "a dump and a text: probabilities within 2e-6, and the same tokens drawn" {
    tg-attn-dump -m float32.npz -p 'Alice was beginning' -f tsv > other
    with_native tg-attn-dump -m float32.npz -p 'Alice was beginning' -f tsv > here
    within 2e-6 here other
    tg-sample -m float32.npz -p Alice -n 50 --seed 3 > other
    with_native tg-sample -m float32.npz -p Alice -n 50 --seed 3 | cmp - other
    [[ $(wc -c < other) -gt 50 ]]
}
