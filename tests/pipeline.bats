# The tools together: every command of the design as typed, and whole runs.

load helper

@test "tg-init | tg-attn-dump -m - -p 'To be'" {
    slow
    run_pipe 0 "tg-init | tg-attn-dump -m - -p 'To be'"
    [[ $output = *"[1,5,128]"* ]]
}

@test "cat a.npz b.npz | tg-train is training on both texts" {
    slow
    make_text 3000 > a
    make_text 9000 | tail -c 5000 > b
    tg-tokenize < a > a.npz
    tg-tokenize < b > b.npz
    cat a.npz b.npz | tg-train --steps 3 -o joined.npz
    cat a b | tg-tokenize | tg-train --steps 3 -o whole.npz
    cmp joined.npz whole.npz
}

@test "a model goes through every tool by pipes alone" {
    make_text 3000 > text
    tg-tokenize text > tokens.npz
    tg-init --n-layer 1 --n-head 2 --n-embd 32 --n-ctx 16 | tg-train -m - --steps 3 -o - tokens.npz > trained.npz
    tg-sample -m - -p 'line' -n 5 < trained.npz > one
    tg-sample -m trained.npz -p 'line' -n 5 > two < /dev/null
    cmp one two
    tg-tokenize < text | tg-tokenize -d | cmp - text
}

@test "other programs read a trained model" {
    slow
    need_numpy
    make_text 3000 > text
    tg-tokenize text > tokens.npz
    tg-train --steps 2 tokens.npz
    python3 - << 'END'
import numpy as np
m = np.load("model.npz")
assert m["kind"] == b"model" and m["train/step"] == 2
assert m["wte.weight"].shape == (256, 128) and m["wte.weight"].dtype == np.float32
assert m["h.3.mlp.c_fc.weight"].shape == (128, 512)
assert m["opt/v/wpe.weight"].min() >= 0
t = np.load("tokens.npz")
assert bytes(t["tokens/00000000"]) == open("text", "rb").read()
END
    need unzip
    unzip -tq model.npz
}

# NumPy recomputes the attention of layer 0 from the model's own arrays.
@test "attention scores agree with NumPy's" {
    slow
    need_numpy
    tg-init --n-layer 1 --n-head 4 --n-embd 32 --n-ctx 16 -o model.npz
    tg-attn-dump -p 'Hello there' --format tsv < /dev/null > scores.tsv
    python3 - << 'END'
import numpy as np
m = np.load("model.npz")
ids = np.frombuffer(b"Hello there", np.uint8)
T, H, C = len(ids), 4, 32
x = m["wte.weight"][ids].astype(np.float64) + m["wpe.weight"][:T]
n = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
n = n * m["h.0.ln_1.weight"] + m["h.0.ln_1.bias"]
qkv = n @ m["h.0.attn.c_attn.weight"].astype(np.float64) + m["h.0.attn.c_attn.bias"]
q, k, v = (a.reshape(T, H, C // H).transpose(1, 0, 2) for a in np.split(qkv, 3, -1))
s = q @ k.transpose(0, 2, 1) / np.sqrt(C // H)
s = np.where(np.tril(np.ones((T, T), bool)), s, -1e9)
p = np.exp(s - s.max(-1, keepdims=True))
p /= p.sum(-1, keepdims=True)
rows = 0
for line in open("scores.tsv"):
    if line.startswith("#") or line.startswith("layer"):
        continue
    l, h, b, i, j, qb, kb, off, score, masked, prob, token_i, token_j = line.rstrip("\n").split("\t")
    h, i, j = int(h), int(i), int(j)
    assert int(off) == (h * T + i) * T + j and int(qb) == (i * H + h) * (C // H)
    assert abs(s.ravel()[int(off)] - float(score)) < 1e-5 and abs(p.ravel()[int(off)] - float(prob)) < 1e-6
    assert (j > i) == (masked == "1")
    rows += 1
assert rows == H * T * T
END
}

# ---- the default model, trained by the default command

# shakespeare: the text, or another one where that is missing, becomes the file text.
shakespeare() {
    cp "${TG_TEST_DATA:-}/tinyshakespeare.txt" text 2> /dev/null || make_text 200000 > text
}

# As typed, with nothing left out; the signal that ends it after some steps has it save.
@test "all the commands that need a trained model, as typed" {
    slow
    local trainer status=0
    shakespeare
    tg-tokenize < text | tg-train 2> err &
    trainer=$!
    eventually grep -q '^step ' err
    kill -TERM "$trainer"
    wait "$trainer" || status=$?
    cat err
    [[ $status = 143 && $(cat err) = *"saved model.npz at step "*" of 2,000"* ]]
    run_pipe 0 "tg-attn-dump < /dev/null | less"
    [[ ${#lines[@]} -gt 1000 ]]
    run_pipe 0 "tg-attn-dump --heads 2 < /dev/null | less"
    [[ $output = *"[1,2,32,32]"* ]]
    run -0 --separate-stderr tg-sample -p 'Once' < /dev/null
    [[ $output = Once* ]]
}

# nanoGPT's README gives 1.88 for this configuration (12x64 characters, no dropout).  One
# step more has the whole validation text measured; the run itself measures a part.
@test "tg-tokenize < text | tg-train reaches nanoGPT's validation loss on Shakespeare" {
    soak || skip "a minute of training: make soak runs it"
    need_plain_build
    need_data tinyshakespeare.txt
    shakespeare
    run_pipe 0 "tg-tokenize < text | tg-train"
    [[ $stderr = *"saved model.npz at step 2,000 of 2,000"* ]]
    run_pipe 0 "tg-tokenize < text | tg-train --steps 2001 --eval-tokens 0"
    echo "$stderr"
    loss=$(sed -n 's/.*step 2,001: .*validation loss \([0-9.]*\), .*/\1/p' <<< "$stderr")
    [[ -n $loss ]]
    awk "BEGIN { exit !($loss <= 1.88) }"
    # and what it writes is made of the text's own letters
    run -0 --separate-stderr tg-sample -p 'ROMEO:' -n 300 < /dev/null
    [[ $(grep -o '[a-z]\{2,\}' <<< "$output" | wc -l) -gt 20 ]]
}

# Neither the vocabulary nor the model has seen the tenth of the text that is measured.
@test "README.md: its first commands learn a text: 400 steps give 3.0 bits per byte of Shakespeare, or less" {
    slow
    need_plain_build
    need_data tinyshakespeare.txt
    run -0 --separate-stderr "$ROOT/tests/bench/first-model" "$DATA" 1 --steps 400
    bits=$(awk -F '\t' 'NR == 2 { print $4 }' <<< "$output")
    [[ -n $bits ]]
    awk "BEGIN { exit !($bits <= 3.0) }"
}

# The text of a model depends on the order of its sums and on its precision: README's is that of AVX2 in float32.
@test "README.md: what the model of its commands writes about Shakespeare" {
    soak || skip "minutes of training: make soak runs it"
    need_plain_build
    need_data tinyshakespeare.txt
    grep -qsw avx2 /proc/cpuinfo || skip "the sample is that of AVX2"
    export TG_ISA=avx2
    cp "$DATA" text
    train=$(sed -n 's/^    \(tg-tokenize .*| tg-train.*\)$/\1/p' "$ROOT/README.md")
    grep -qx '    tg-bpe -n 1024 -o bpe.npz text' "$ROOT/README.md" && [[ -n $train ]]
    tg-bpe -n 1024 -o bpe.npz text 2> /dev/null
    bash -o pipefail -c "$train" 2> err
    sed -n '/^```text$/,/^```$/p' "$ROOT/README.md" | sed '1d; $d' > want
    bash -c "$(sed -n 's/^    \(tg-sample .*\)$/\1/p' "$ROOT/README.md")" < /dev/null > got
    diff want got
}
