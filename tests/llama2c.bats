# llama2.c's files: models, with the tokenizer in the same directory; damaged ones; the judge.

load helper

# tied.npz, untied.npz: models of 16 positions, whose tokenizer is in tokenizer.bin
setup_file() {
    tg_fixtures || return 1
    need python3
    tokenizer ' a' 'ab' ' ' 'a' 'b' > tokenizer.bin
    local small=(-P baby-llama --n-layer 2 --n-head 4 --n-kv-head 2 --n-embd 24 --n-inner 20 --n-ctx 16 --vocab-size 264 -t tokenizer.bin)
    tg-init "${small[@]}" --seed 3 -o tied.npz
    tg-init "${small[@]}" --seed 4 --tied no -o untied.npz
}

setup() {
    tg_setup
    cp "$FIXTURES"/* .
}

# The pieces <unk>, <s>, </s>, all bytes, and these, from the highest score
tokenizer() {
    python3 -c '
import struct, sys
pieces = [b"<unk>", b"\n<s>\n", b"\n</s>\n"] + [b"<0x%02X>" % b for b in range(256)] + [p.encode() for p in sys.argv[1:]]
sys.stdout.buffer.write(struct.pack("<I", max(map(len, pieces))))
for i, p in enumerate(pieces):
    sys.stdout.buffer.write(struct.pack("<fI", -i, len(p)) + p)' "$@"
}

make_llama2c() {
    PYTHONDONTWRITEBYTECODE=1 python3 "$ROOT/tests/make_llama2c.py" "$@"
}

# same_weights A.npz B.npz
same_weights() {
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/tests python3 -c '
import sys
import make_torch
a, b = ({n: x for n, x in make_torch.read(name)[0].items() if n[:3] in ("mod", "lm_")} for name in sys.argv[1:])
sys.exit(a != b or len(a) < 20)' "$1" "$2"
}

# refused TEXT COMMAND...: exit 1, one line with TEXT, nothing on standard output
refused() {
    run -1 --separate-stderr "${@:2}"
    [[ -z $output && $stderr = *"$1"* && ${#stderr_lines[@]} = 1 ]]
}

@test "models of llama2.c: the same weights, from a file and from a pipe" {
    slow_unless_sanitized
    local model version
    for model in tied untied; do
        for version in 0 1; do
            make_llama2c $model.npz model.bin $version
            tg-convert model.bin --force -o back.npz
            same_weights $model.npz back.npz
            run -0 tg-info back.npz
            [[ $output = *'bos_token_id 1, add_bos 1'* && $output = *'sentencepiece, 264 ids'* ]]
            cat model.bin | tg-convert - -t tokenizer.bin > piped.npz
            cmp back.npz piped.npz
        done
    done
}

@test "models of llama2.c: every tool takes them, and begins texts with <s>" {
    slow_unless_sanitized
    local version
    for version in 0 1; do
        make_llama2c untied.npz model.bin $version
        run -0 tg-info model.bin
        [[ $output = *'model (a llama2.c model)'* && $output = *'n_kv_head 2'* && $output = *'rope_theta 10000'* ]]
        cmp <(tg-eval -q -m model.bin -p 'a ab b' --json) <(tg-eval -q -m untied.npz -p 'a ab b' --bos --json)
        cmp <(tg-sample -q -m model.bin -p 'a ab' -n 8) <(tg-sample -q -m untied.npz -p 'a ab' -n 8 --bos)
        cmp <(tg-attn-dump -q -m model.bin -p 'a b') <(tg-attn-dump -q -m untied.npz -p 'a b' --bos)
        cmp <(tg-tokenize -t model.bin --ids <<< 'a ab') <(tg-tokenize -t tokenizer.bin --ids <<< 'a ab')
    done
    run -0 --separate-stderr tg-eval -m model.bin -p a
    [[ $stderr = *'<s> (id 1) begins the text; --no-bos leaves it out' ]]
}

@test "models of llama2.c are written as Hugging Face's and GGUF" {
    slow_unless_sanitized
    make_llama2c untied.npz model.bin
    tg-convert -q model.bin --lossy --to hf -o hf
    tg-convert -q model.bin --to gguf -o model.gguf
    tg-convert -q hf -o hf.npz
    tg-convert -q model.gguf -o gguf.npz
    same_weights untied.npz hf.npz
    same_weights untied.npz gguf.npz
    grep -q '"bos_token_id": 1' hf/config.json
    grep -q '"eos_token_id": 2' hf/config.json
}

@test "a tokenizer.bin of another size is left out, and none is needed" {
    make_llama2c tied.npz model.bin
    tokenizer ' a' > tokenizer.bin
    run -0 --separate-stderr tg-convert model.bin -o back.npz
    converted
    said 'tokenizer.bin is left out: it has 260 tokens, the model 264'
    head -c 1000 "$FIXTURES/tokenizer.bin" > tokenizer.bin
    refused 'tokenizer.bin: the file ends in token' tg-convert model.bin --force -o back.npz
    tg-convert --lossy model.bin --force -o back.npz
    rm tokenizer.bin
    run -0 --separate-stderr tg-eval -m model.bin --ids '1 259 261'
    [[ $output = *'2 of 3 scored'* ]]
}

@test "damaged models of llama2.c: one line, exit 1" {
    slow_unless_sanitized
    local version cut size
    for version in 0 1; do
        make_llama2c untied.npz model.bin $version
        size=$(wc -c < model.bin)
        for cut in 300 1023 $((size - 1)); do
            head -c "$cut" model.bin > cut.bin
            refused "cut.bin: truncated: $cut bytes" tg-convert cut.bin
            refused "its header says $size" tg-sample -m cut.bin -p a
        done
        (cat model.bin && echo) > long.bin
        refused "its header says $size" tg-eval -m long.bin -p a
        refused "its header says $size" tg-info long.bin
    done
    printf '\3' | dd of=model.bin bs=1 seek=20 conv=notrunc status=none
    refused '2 heads of keys and values do not divide n_heads = 3' tg-convert model.bin
}

@test "models of llama2.c in int8: tg-info names the type, and other formats have the values" {
    make_llama2c untied.npz model.bin 2
    run -0 tg-info --all model.bin
    [[ $output = *'i8 in groups of 4'* ]]
    tg-convert -q model.bin -o back.npz
    tg-eval -q -m model.bin -p 'a ab b' --json > read.json
    tg-eval -q -m back.npz -p 'a ab b' --json | cmp read.json -
    head -c 1000 model.bin > cut.bin
    refused "cut.bin: truncated: 1000 bytes" tg-convert cut.bin
}

@test "versions of llama2.c's files that are not read are named; models are not overwritten" {
    printf '24ka\3\0\0\0' > model.bin
    refused 'version 3, expected 1 or 2' tg-info model.bin
    refused 'model.bin: version 3, expected 1 or 2, or 0 without a magic number' tg-convert model.bin
    make_llama2c tied.npz model.bin
    cp model.bin kept.bin
    run -2 --separate-stderr bash -c 'tg-tokenize -t tokenizer.bin <<< a | tg-convert - --to uint16 -o model.bin'
    said "model.bin: another project's model; --force replaces it"
    cmp model.bin kept.bin
}

# ---- the judge

@test "judge: the formulas of llama2.c have the same logits" {
    need_judge numpy
    OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 run -0 "$TG_JUDGE_PYTHON" "$ROOT/tests/judges/llama2c.py" "$BUILD/bin"
}
