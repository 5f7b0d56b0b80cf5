load helper

# A model of 2 layers, 2 heads, 16 channels and 16 positions.
tiny() {
    tg-init --n-layer 2 --n-head 2 --n-embd 16 --n-ctx 16 "$@" -o model.npz 2> /dev/null
}

# field NAME: of tg-eval --tsv on standard input.
field() {
    awk -F '\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i } NR == 2 { print $column[name] }'
}

# ---- the result

@test "prints loss, perplexity and bits per byte" {
    tiny
    make_text 100 > text
    run -0 --separate-stderr tg-eval text
    [[ ${lines[0]} = 'tokens      99 of 100 scored' ]]
    [[ ${lines[1]} = 'windows     7 of at most 16 tokens, stride 16' ]]
    # an untrained model knows next to nothing: ln 256 = 5.545, 8 bits
    [[ ${lines[2]} =~ ^loss\ +5\.5[0-9]{5}\ nats\ per\ token,\ [78]\.[0-9]{6}\ bits$ ]]
    [[ ${lines[3]} =~ ^perplexity\ +2[456][0-9]\.[0-9]{3}$ ]]
    [[ ${lines[4]} =~ ^bits/byte\ +[78]\.[0-9]{6}\ over\ 99\ bytes,\ 1\.000\ per\ token$ ]]
    [[ ${lines[5]} =~ ^top\ 1\ +[0-9.]+\ %\ of\ the\ tokens\ were\ the\ most\ probable\ one$ ]]
    [[ ${lines[6]} =~ ^entropy\ +5\.5[0-9]{5}\ nats ]]
    [[ ${#lines[@]} = 7 && -z $stderr ]]
}

@test "a window has at most 4096 tokens, unless more are asked for" {
    tg-init -q --n-layer 1 --n-head 1 --n-embd 2 --n-ctx 5000 -o long.npz
    run -0 tg-eval -m long.npz --ids "1 2 3"
    [[ ${lines[1]} = 'windows     1 of at most 4,096 tokens, stride 4,096' ]]
    run -0 tg-eval -m long.npz --ids "1 2 3" --context 5000
    [[ ${lines[1]} = 'windows     1 of at most 5,000 tokens, stride 5,000' ]]
}

@test "files, standard input, -p, --ids and token archives give the same" {
    tiny
    make_text 100 > text
    tg-eval text > want
    tg-eval < text | cmp - want
    cat text | tg-eval | cmp - want
    cat text | tg-eval - | cmp - want
    tg-eval -p "$(cat text; printf x)" -m model.npz > /dev/null
    tg-eval --ids "$(tg-tokenize --ids text)" | cmp - want
    tg-tokenize text > tokens.npz
    tg-eval tokens.npz | cmp - want
    tg-tokenize text | tg-eval | cmp - want
    tg-eval -m - text < model.npz | cmp - want
    TG_MODEL=model.npz tg-eval text | cmp - want
    for n in 1 2 3; do
        tg-eval --threads $n text | cmp - want
    done
}

@test "adjacent windows: the loss that tg-attn-dump --ablate has" {
    tiny
    make_text 500 > text
    loss=$(tg-eval --tsv text | field loss)
    ablate=$(tg-attn-dump --ablate 0.0 -f tsv < text | field loss)
    awk -v a="$loss" -v b="$ablate" 'BEGIN { exit !((a - b) ^ 2 < 1e-12) }'
}

@test "windows: every token once, whatever the context and the stride" {
    slow_unless_sanitized
    tiny
    make_text 101 > text
    for plan in '16 16 7' '16 8 12' '16 1 85' '5 5 20' '5 2 49' '1 1 100'; do
        read -r context stride windows <<< "$plan"
        tg-eval -c "$context" -s "$stride" --tsv text > got
        [[ $(field scored < got) = 100 && $(field windows < got) = "$windows" ]]
        [[ $(field context < got) = "$context" && $(field stride < got) = "$stride" ]]
        tg-eval -c "$context" -s "$stride" --per-token text 2> /dev/null > tokens
        cut -f 1 tokens | cmp - <(echo t; seq 0 100)
        loss=$(awk -F '\t' 'NR > 2 { sum -= $6 } END { print sum / 100 }' tokens)
        awk -v a="$loss" -v b="$(field loss < got)" 'BEGIN { exit !((a - b) ^ 2 < 1e-9) }'
    done
}

@test "one context of text: no window, no stride changes it" {
    tiny
    printf 'sixteen bytes: .' > text
    tg-eval --per-token text 2> /dev/null > want
    tg-eval --per-token -s 3 text 2> /dev/null | cmp - want
    # a token does not see what follows it
    head -c 9 text | tg-eval --per-token 2> /dev/null | cmp - <(head -n 10 want)
}

@test "several files: each is a text, and the result is of all" {
    tiny
    make_text 40 > a
    make_text 70 | tail -c 30 > b
    tg-eval --tsv a b > got
    [[ $(field tokens < got) = 70 && $(field scored < got) = 68 ]]
    want=$(paste <(tg-eval --tsv a | field loss) <(tg-eval --tsv b | field loss) | awk '{ print ($1 * 39 + $2 * 29) / 68 }')
    awk -v a="$want" -v b="$(field loss < got)" 'BEGIN { exit !((a - b) ^ 2 < 1e-9) }'
    tg-eval --per-token a b 2> /dev/null > tokens
    [[ $(sed -n 42p tokens) = $'40\t'*$'\t40\t41\t'*$'\t\t\t' ]]
    cat a | tg-eval --tsv - b | cmp - got
}

# ---- tokens

@test "--per-token: bytes, text, log-probability, rank, entropy" {
    tiny
    run -0 --separate-stderr tg-eval --per-token -p $'a\tb\\'
    [[ ${lines[0]} = $'t\tid\tfrom\tto\ttext\tlogprob\trank\tentropy' ]]
    [[ ${lines[1]} = $'0\t97\t0\t1\ta\t\t\t' ]]
    [[ ${lines[2]} =~ ^1$'\t'9$'\t'1$'\t'2$'\t''\t'$'\t'-5\.[0-9]+$'\t'[0-9]+$'\t'5\.[0-9]+$ ]]
    [[ ${lines[4]} =~ ^3$'\t'92$'\t'3$'\t'4$'\t''\'$'\t'-5\. ]]
    [[ ${#lines[@]} = 5 ]]
    said '3 tokens scored: loss 5.'
}

@test "--top: the most probable tokens, and where the token is among them" {
    tiny
    make_text 60 > text
    tg-eval --top 256 text 2> /dev/null > got
    head -n 1 got | tr '\t' '\n' | tail -n 4 | cmp - <(printf '%s\n' logprob_255 id_256 text_256 logprob_256)
    # a line has all ids once, in falling order; the token is at its rank
    awk -F '\t' 'NR > 2 {
        if (NF != 8 + 3 * 256 || $(9 + 3 * $7) != $2 || $(11 + 3 * $7) != $6) exit 1
        sum = 0
        for (k = 1; k <= 256; k++) { sum += exp($(8 + 3 * k)); seen[$(6 + 3 * k)]++ }
        for (k = 2; k <= 256; k++) if ($(8 + 3 * k) > $(5 + 3 * k)) exit 1
        if ((sum - 1) ^ 2 > 1e-12) exit 1
    } END { for (id in seen) if (seen[id] != 59) exit 1 }' got
    tg-eval --top 2 text 2> /dev/null | cmp - <(cut -f 1-14 got)
    tg-eval --per-token -k 1 text 2> /dev/null | cmp - <(cut -f 1-11 got)
    tg-eval --per-token text 2> /dev/null | cmp - <(cut -f 1-8 got)
}

@test "added tokens stand for their bytes" {
    make_text 3000 > text
    tg-bpe -n 300 --special '  ' -o bpe.npz text 2> /dev/null
    tg-tokenize -t bpe.npz --to tokenizer.json | sed 's/"special": true/"special": false/' > tokenizer.json
    tiny -t tokenizer.json
    printf 'a   b  ' > part # a, two spaces, a space and b, two spaces
    [[ $(tg-eval --tsv part | field bytes) = 6 ]]
    tg-eval --per-token part 2> /dev/null | tail -n 1 | grep -qP '\t5\t7\t  \t'
}

@test "longer tokens: the bytes that they stand for; special tokens stand for none" {
    make_text 3000 > text
    tg-bpe -n 300 --special '<|endoftext|>' -o bpe.npz text 2> /dev/null
    tiny -t bpe.npz
    head -c 200 text > part
    tg-eval --per-token part 2> err > got
    [[ $(tail -n 1 got | cut -f 4) = 200 ]]
    tg-tokenize -t bpe.npz --offsets part | cmp - <(cut -f 2-5 got)
    first=$(sed -n 2p got | cut -f 4)
    [[ $(tg-eval --tsv part | field bytes) = $((200 - first)) ]]
    # with the end-of-text token before it, the first token is scored as well
    tg-eval --tsv --eot part > eot
    [[ $(field bytes < eot) = 200 && $(field scored < eot) = "$(field tokens < eot)" ]]
    tg-eval --eot --per-token part 2> /dev/null | sed -n 2p | grep -qP '^0\t[0-9]+\t0\t[0-9]+\t[^\t]+\t-5'
    tg-tokenize -t bpe.npz --eot part > tokens.npz
    [[ $(tg-eval --tsv tokens.npz | field bytes) = $((200 - first)) ]]
    tg-eval --per-token tokens.npz 2> /dev/null | tail -n 1 | grep -qP '\t200\t200\t<\|endoftext\|>\t'
    awk -F '\t' -v bits="$(field bits_per_byte < eot)" -v loss="$(field loss < eot)" -v n="$(field scored < eot)" \
        'BEGIN { exit !((bits - loss * n / 200 / log(2)) ^ 2 < 1e-12) }'
}

@test "a model without a tokenizer: ids, and no bytes" {
    tg-init -t ids --vocab-size 11 --n-layer 2 --n-head 2 --n-embd 16 --n-ctx 16 -o model.npz 2> /dev/null
    tg-eval --tsv --ids "$(seq 0 10) $(seq 0 10)" > got
    [[ $(field scored < got) = 21 && $(field bytes < got) = 0 && -z $(field bits_per_byte < got) ]]
    [[ $(tg-eval --ids '1 2 3' | grep -c bits/byte) = 0 ]]
    [[ $(tg-eval --ids '1 2 3' --per-token 2> /dev/null | tail -n 1) = $'2\t3\t0\t0\t3\t-2.'* ]]
    run -1 --separate-stderr tg-eval -p text
    said 'give token ids (--ids)'
    run -2 --separate-stderr tg-eval --ids '1 11'
    said "--ids has 11: the model's vocabulary has ids 0 to 10"
}

# ---- logits

@test "--logits: a row after each token" {
    slow_unless_sanitized
    tiny --vocab-size 300
    make_text 40 > text
    tg-eval --logits text > logits.npz 2> err
    [[ $(names logits.npz) = $'kind\nversion\ntokenizer/kind\ntokenizer/vocab_size\ntokens/00000000\nlogits/00000000' ]]
    [[ $(scalars logits.npz kind version) = $'logits\n1' ]]
    tg-eval --logits -o same.npz < text 2> /dev/null
    cmp logits.npz same.npz
    tg-eval --logits --threads 3 text 2> /dev/null | cmp - logits.npz
    need_numpy
    tg-eval --top 256 text 2> /dev/null > got
    tg-eval --logits -c 7 -s 2 -p x 2> err > one.npz
    [[ ! -s err ]] # nothing was scored
    python3 - <<'PY'
import numpy as np
z = np.load("logits.npz")
ids, logits = z["tokens/00000000"], z["logits/00000000"]
assert bytes(ids) == open("text", "rb").read() and logits.shape == (40, 300) and logits.dtype == np.float32
x = logits.astype(float)
x -= np.log(np.exp(x).sum(1, keepdims=True))
lines = [line.rstrip("\n").split("\t") for line in open("got")][2:]
assert len(lines) == 39
for row, line in zip(x, lines):
    assert abs(row[int(line[1])] - float(line[5])) < 1e-8
    assert abs((np.exp(row) * row).sum() + float(line[7])) < 1e-8
    assert [int(v) for v in line[8::3]] == list(np.argsort(-row[:256], kind="stable"))
assert np.load("one.npz")["logits/00000000"].shape == (1, 300)
PY
}

# ---- errors

@test "wrong usage is refused" {
    tiny
    printf 'some text' > text
    refused() { run -2 --separate-stderr tg-eval "$@" < /dev/null; }
    refused -c 17 text
    said "--context 17 exceeds the model's 16"
    refused -s 17 text
    said '--stride 17 exceeds the context of 16'
    refused -c 8 -s 9 text
    said '--stride 9 exceeds --context 8'
    refused -c 0 text
    said '--context'
    refused --top 257 text
    said "--top 257 exceeds the model's 256 ids"
    refused --eot text
    said "--eot: the model's tokenizer has no end-of-text token"
    refused -p x text
    said 'text: -p or --ids names a text already'
    refused -p x --ids 1
    said '--prompt and --ids'
    refused --logits --per-token text
    said '--logits and --per-token cannot be combined'
    refused --logits --tsv text
    said '--format does not go with --logits'
    refused --per-token -f text text
    said '--per-token prints --format tsv or jsonl, not text'
    refused -o out text
    said '--output goes with --logits'
    refused --logits text text
    said '--logits takes one text, got 2 files'
    refused -m - -
    said 'standard input'
    refused
    said 'give one with -p TEXT'
}

@test "--format: JSON lines have the columns of TSV, of the result and of tokens" {
    slow_unless_sanitized
    need python3
    tiny
    printf 'He said "\\\\n"\t\n\\' > text
    tg-eval --tsv text > result.tsv
    tg-eval --json text > result.jsonl
    tg-eval -f tsv text | cmp - result.tsv
    tg-eval -f jsonl text | cmp - result.jsonl
    tg-eval -q --per-token text > tokens.tsv
    tg-eval -q --per-token --tsv text | cmp - tokens.tsv
    tg-eval -q --per-token --json text > tokens.jsonl
    tg-eval -q --top 2 text > top.tsv
    tg-eval -q --top 2 -f jsonl text > top.jsonl
    tg-eval --ids '1 2 3' -f tsv -m <(tg-init -q -t ids --vocab-size 9 --n-embd 4 --n-head 1 --n-layer 1 -o -) > ids.tsv
    tg-eval --ids '1 2 3' -f json -m <(tg-init -q -t ids --vocab-size 9 --n-embd 4 --n-head 1 --n-layer 1 -o -) > ids.jsonl
    for name in result tokens top ids; do
        python3 -c '
import json, sys
keys, *rows = [line.rstrip("\n").split("\t") for line in open(sys.argv[1] + ".tsv", newline="\n")]
lines = [json.loads(line) for line in open(sys.argv[1] + ".jsonl")]
assert len(lines) == len(rows) > 0
for line, row in zip(lines, rows):
    assert list(line) == keys and len(row) == len(keys)
    for value, text in zip(line.values(), row):
        if isinstance(value, str):
            assert value.replace("\"", "\\x22") == text, (value, text)
        else:
            assert text == "" if value is None else value == float(text), (value, text)' $name
        [[ -z $(grep -F '"' $name.tsv) ]]
    done
    # without the titles
    tg-eval --tsv --no-header text | cmp - <(sed 1d result.tsv)
    tg-eval -q --top 2 --no-header text | cmp - <(sed 1d top.tsv)
    tg-eval --no-header text | cmp - <(tg-eval text)
}

# A model with a probe, 16 tokens.
probed() {
    tiny
    make_text 3000 | tg-tokenize | tg-train --steps 2 --batch 1 -c 16 2> /dev/null
}

@test "nothing is reported of a text that nobody gave" {
    probed
    run -1 --separate-stderr tg-eval < /dev/null
    said 'tg-eval: there is no text: expected a FILE, -p TEXT, or text on standard input'
    [[ -z $output ]]
    run_pipe 123 'echo | xargs tg-eval --tsv'
    said 'there is no text'
    run_pipe 1 'cat model.npz | tg-eval -m -'
    said 'there is no text'
    run -1 --separate-stderr tg-eval --logits -o logits.npz < /dev/null
    [[ ! -e logits.npz ]]
    # at a terminal, the probe, by name
    [[ $(on_terminal tg-eval | tr -d '\r') = "text        none was given: this is the model's probe"$'\n'"tokens      15 of 16 scored"* ]]
    [[ $(on_terminal 'tg-eval --tsv > result') = *"tg-eval: no text was given: this is the model's probe"* ]]
    [[ $(field scored < result) = 15 ]]
}

@test "tokens of another tokenizer, and a stream that is cut" {
    tiny
    make_text 3000 > text
    tg-tokenize -q -t char text -o char.npz
    tg-tokenize -q text -o t.npz
    run -1 --separate-stderr tg-eval char.npz
    [[ ${stderr_lines[-1]} = 'tg-eval: char.npz: the tokens are of tokenizer "char" '* ]]
    run -1 --separate-stderr bash -c "head -c $(($(stat -c %s t.npz) / 2)) t.npz | tg-eval"
    [[ ${stderr_lines[-1]} = "tg-eval: standard input: "*trunc* && -z $output ]]
}

@test "bad data is refused, with the file's name" {
    tiny
    printf x > one
    : > none
    run -1 --separate-stderr tg-eval one
    said 'one: only one token: a loss needs at least two'
    run -1 --separate-stderr tg-eval none
    said 'none: no tokens: a loss needs at least two'
    run -1 --separate-stderr tg-eval --logits -o logits.npz none
    said 'none: no tokens'
    [[ ! -e logits.npz ]]
    run -3 --separate-stderr tg-eval missing
    said 'missing: No such file or directory'
    run -1 --separate-stderr tg-eval model.npz
    said 'model.npz: '
    make_text 300 > text
    tg-tokenize text | head -c 500 > cut.npz
    run -1 --separate-stderr tg-eval cut.npz
    said 'cut.npz: '
    run -3 --separate-stderr tg-eval -m missing text
    said 'missing: No such file or directory'
}

@test "JSON lines that are read as text: a note says what reads examples" {
    tiny
    echo '{"prompt": "a", "completion": "b"}' > x.jsonl
    cp x.jsonl x.txt
    tg-eval x.txt x.txt > want 2> err
    [[ ! -s err ]]
    run -0 --separate-stderr tg-eval x.jsonl x.jsonl
    [[ $output = "$(< want)" ]]
    said "tg-eval: x.jsonl is read as text; --choices reads questions with answers, tg-tokenize --chat and"
    run -0 --separate-stderr tg-eval -q x.jsonl
    [[ -z $stderr ]]
    run -0 --separate-stderr tg-eval --choices <(echo '{"context": "a", "continuations": ["b"]}')
    [[ $stderr != *"read as text"* ]]
}

@test "a full disk is noticed" {
    need_dev_full
    tiny
    make_text 300 > text
    run -3 --separate-stderr bash -c 'tg-eval text > /dev/full'
    said 'standard output: No space left'
    run -3 --separate-stderr bash -c 'tg-eval --per-token text > /dev/full'
    said 'standard output: No space left'
    run -3 --separate-stderr bash -c 'tg-eval --logits text > /dev/full'
    said 'standard output: '
}

# ---- judges

@test "transformers finds the same log-probabilities, ranks, entropies and logits" {
    slow
    [[ -n ${TG_JUDGE_PYTHON:-} ]] || skip "TG_JUDGE_PYTHON does not name a Python with transformers"
    "$TG_JUDGE_PYTHON" -c 'import torch, transformers' 2> /dev/null || skip "$TG_JUDGE_PYTHON has no transformers"
    run -0 "$TG_JUDGE_PYTHON" "$ROOT/tests/judges/eval.py"
    echo "$output"
    [[ $(grep -c '^ok ' <<< "$output") = 6 ]]
}

# ---- files that change

@test "tokens that are changed while they are read change nothing" {
    slow_unless_sanitized
    make_text 20000 > letters
    tg-tokenize -t char -o chars.npz letters
    tg-init -t chars.npz -P tinygpt -o chars-model.npz 2> /dev/null
    tg-eval -m chars-model.npz --per-token chars.npz > want
    head -c 8000 /dev/zero | tr '\0' '\377' > others # ids that the vocabulary lacks
    run_pipe 0 "tg-eval -m chars-model.npz --per-token chars.npz |
        { head -c 1; dd if=others of=chars.npz bs=1 seek=10000 conv=notrunc status=none; cat; } > got"
    cmp got want
}
