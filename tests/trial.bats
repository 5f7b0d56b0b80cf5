# The commands that new users typed and were harmed or misled by, and what they are answered now.
# tests/mistakes.bats has slips one by one; here is one session, in order.

load helper

setup_file() {
    tg_fixtures
    head -c 20000 "$ROOT/docs/data/alice.txt" > text
    cp -r "$ROOT/docs/data/induction" .
    tg-tokenize text > t.npz
    tg-train -n 5 t.npz 2> /dev/null
}

setup() {
    tg_setup
    cp -r "$FIXTURES"/. .
}

# refuses STATUS TEXT COMMAND...: one line with the text, and no file changes.
refuses() {
    local status=$1 text=$2
    shift 2
    find . -type f ! -path './.sums*' -exec cksum {} + | sort > ../before
    run "-$status" --separate-stderr "$@"
    said "$text"
    find . -type f ! -path './.sums*' -exec cksum {} + | sort | cmp - ../before
}

@test "a trained model is not replaced by any tool" {
    local kept='model.npz: a model that was trained for 5 steps; --force replaces it'
    refuses 2 "$kept" tg-init -o model.npz
    refuses 2 "$kept" tg-convert induction -o model.npz
    refuses 2 "$kept" tg-tokenize -o model.npz text
    refuses 2 "$kept" tg-bpe -n 300 -o model.npz text
    refuses 2 "$kept" tg-attn-dump -q -m induction -p abc -o model.npz
    tg-attn-dump --example mha -o d.npz
    refuses 2 "$kept" tg-attn-view --png -o model.npz d.npz
    refuses 2 'induction/model.safetensors: ' tg-attn-dump --example mha -o induction/model.safetensors
    tg-tokenize --force -o model.npz text
}

@test "a name that is no model's does not begin a run, and the advice is for the name" {
    slow_unless_sanitized
    refuses 3 'gpt2: No such file or directory; a new model needs a name that ends in .npz' tg-train -m gpt2 t.npz
    refuses 3 'tg-sample: gpt2: No such file or directory' tg-sample -m gpt2
    [[ $stderr != *tg-tokenize* ]]
    refuses 3 'tg-tokenize < text | tg-train -m other.npz' tg-sample -m other.npz
    for tool in tg-info tg-tokenize tg-attn-view 'tg-eval -p x -m' 'tg-convert -o z.npz'; do
        # shellcheck disable=SC2086
        refuses 3 'nofile: No such file or directory' $tool nofile
    done
}

@test "weights of another project are tuned with a rate for it, which is said" {
    printf CatDogHenCatDogHen%.0s {1..20} | tg-tokenize -m induction > cats.npz
    run -0 --separate-stderr tg-train -m induction -o ft.npz -n 2 cats.npz
    [[ $stderr = *"fine-tuning; chosen: --batch 1, --context 64, --lr 0.00015, "* ]]
    tg-convert induction -o g.npz
    run -0 --separate-stderr tg-train -m g.npz -n 2 cats.npz
    [[ $stderr = *"g.npz: a model without a run of tg-train"*"fine-tuning; chosen: --batch 1, --context 64, --lr 0.00015, "* ]]
}

@test "a conversion has an ending that it can write" {
    refuses 2 'model.pt: the ending .pt stands for no format that can be written' tg-convert model.npz -o model.pt
    refuses 2 'the ending .bin stands for no format that can be written' tg-convert model.npz -o pytorch_model.bin
    mkdir back
    refuses 2 'back/ is a directory: --to hf writes one' tg-convert model.npz -o back/
}

@test "what scripts ask for: one spelling of formats, quiet, a version, a last newline" {
    slow
    local tool
    for tool in tg-tokenize tg-init tg-train tg-sample tg-eval tg-attn-dump tg-attn-view tg-info tg-bpe tg-convert; do
        run -0 --separate-stderr "$tool" -V
        [[ $output = "$tool "* ]]
    done
    run -0 --separate-stderr tg-train -q -n 6 t.npz
    [[ -z $stderr ]]
    for format in '-f tsv' '--tsv' '--format tsv'; do
        # shellcheck disable=SC2086
        tg-eval $format text | head -n 1 | grep -q "^tokens	scored	"
        # shellcheck disable=SC2086
        tg-attn-dump $format -p ab | grep -q '	token_i	token_j$'
    done
    tg-eval --json text | python3 -c 'import json, sys; json.load(sys.stdin)'
    tg-attn-dump -f jsonl -p ab | head -n 1 | grep -q '"token_i":"a","token_j":"a"'
    tg-eval -p 'He said "hi" and "ho"' -t > eval.tsv
    [[ $(wc -l < eval.tsv) = "$(python3 -c 'import csv; print(len(list(csv.reader(open("eval.tsv"), delimiter="\t"))))')" ]]
    [[ $(tg-sample -n 3 -p Cat -s 1 | tail -c 1 | od -An -c) = *'\n'* ]]
    [[ $(tg-sample -n 3 -p Cat -s 1 --no-newline | tail -c 1 | od -An -c) != *'\n'* ]]
}

@test "nobody's text has no loss" {
    refuses 1 'there is no text' bash -c 'tg-eval < /dev/null'
}

@test "the beginning of another program's option gets its hint" {
    refuses 2 'the shape is chosen with tg-init --n-layer' tg-train --n-lay 2 t.npz
}

@test "another project's model through a pipe: which tool takes it" {
    refuses 1 'only tg-convert - takes it' bash -c 'tg-eval -m - -p x < induction/model.safetensors'
}
