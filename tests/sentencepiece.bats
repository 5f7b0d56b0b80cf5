# The tools that show text, with SentencePiece's tokens: the space that encoding puts before a text is no part
# of it.

load helper

setup_file() {
    tg_fixtures
    need python3
    # unk, bos, eos, all bytes, and these pieces, from the highest score
    pieces '▁a' 'ab' '▁' 'a' 'b' > tokenizer.json
    tg-init -P baby-llama --n-ctx 16 -t tokenizer.json -o model.npz
    tg-init --n-ctx 16 -t tokenizer.json -o gpt.npz
}

setup() {
    tg_setup
    cp "$FIXTURES"/* .
}

# A tokenizer.json of these pieces, which puts a space before a text and after special tokens.
pieces() {
    python3 -c '
import json, sys
pieces = ["<unk>", "<s>", "</s>", *("<0x%02X>" % b for b in range(256)), *sys.argv[1:]]
merges = [[p[:i], p[i:]] for p in sys.argv[1:] for i in range(1, len(p)) if {p[:i], p[i:]} <= set(sys.argv[1:])]
print(json.dumps({
    "added_tokens": [{"id": i, "content": pieces[i], "special": True} for i in range(3)],
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"},
                   {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
    "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "vocab": {p: i for i, p in enumerate(pieces)},
              "merges": merges}}))' "$@"
}

@test "tg-eval counts the bytes of the text, without the space before it" {
    printf 'ab a ab a a ab ab a ab a a a ab' > text # also in windows after the first
    run -0 --separate-stderr tg-eval -m model.npz --eot --tsv --no-header text
    [[ $(cut -f 3 <<< "$output") = "$(wc -c < text)" ]]
    run -0 --separate-stderr tg-eval -m model.npz --eot --stride 3 --tsv --no-header text text
    [[ $(cut -f 3 <<< "$output") = $((2 * $(wc -c < text))) ]]
    run -0 --separate-stderr tg-eval -m model.npz --tsv --no-header text # the first token, "a", is not scored
    [[ $(cut -f 3 <<< "$output") = $(($(wc -c < text) - 1)) ]]
}

@test "tg-eval --per-token: offsets in the text" {
    printf 'ab a' > text
    run -0 --separate-stderr tg-eval -m model.npz --per-token --no-header text
    [[ $(cut -f 1-5 <<< "$output") = $'0\t259\t0\t1\t a\n1\t263\t1\t2\tb\n2\t259\t2\t4\t a' ]]
    run -0 --separate-stderr tg-eval -m model.npz --per-token --no-header --eot text text
    [[ $(cut -f 1-4 <<< "$output" | tail -n 4) = $'2\t259\t2\t4\n3\t259\t4\t5\n4\t263\t5\t6\n5\t259\t6\t8' ]]
}

@test "tg-attn-dump --pieces, and the length of a text that is too long: bytes of the text" {
    run -0 --separate-stderr tg-attn-dump -m model.npz -p 'ab a' --pieces -f tsv --no-header
    is_output $'0\t259\t0\t1\t a\n1\t263\t1\t2\tb\n2\t259\t2\t4\t a'
    run -1 --separate-stderr tg-attn-dump -m model.npz -p 'ab a ab a ab a ab a ab a ab'
    said 'the text has 17 tokens, which exceeds the model'"'"'s context of 16: shorten it, as with head -c 26'
    printf 'ab a ab a ab a ab a ab a ab' | head -c 26 | tg-attn-dump -m model.npz --pieces
}

@test "tg-attn-dump --target is a token within a text" {
    run -0 --separate-stderr tg-attn-dump -m gpt.npz -p 'ab a' --trace 0,0,1,1 --through out --backward --target b
    [[ $output = *'id 263'* ]]
    run -0 --separate-stderr tg-attn-dump -m gpt.npz -p 'ab a' --trace 0,0,1,1 --through out --backward --target ' a'
    [[ $output = *'id 259'* ]]
}

@test "tg-sample: a text begins after a special token, and goes on after others" {
    tg-sample -m model.npz --ids 2 -n 1 --temperature 100 --no-prompt --count 2000 --null | sort -zu > after
    tg-sample -m model.npz --ids 263 -n 1 --temperature 100 --no-prompt --count 2000 --null | sort -zu > within
    [[ $(tr '\0' '\n' < within | grep -cx ' a') = 1 ]]
    [[ $(tr '\0' '\n' < after | grep -cx ' a') = 0 && $(tr '\0' '\n' < after | grep -cx 'a') = 1 ]]
}

# A tokenizer.model of the pieces of `pieces`.
model_file() {
    python3 -c '
import struct, sys
def number(n):
    return bytes([n & 127 | 128 * (n > 127)]) + (number(n >> 7) if n > 127 else b"")
def field(i, value):
    return number(8 * i) + number(value) if isinstance(value, int) else number(8 * i + 2) + number(len(value)) + value
def piece(text, score, kind):
    return field(1, field(1, text.encode()) + number(21) + struct.pack("<f", score) + field(3, kind))
out = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3)
out += b"".join(piece("<0x%02X>" % b, 0, 6) for b in range(256))
out += b"".join(piece(p, -i, 1) for i, p in enumerate(sys.argv[1:]))
out += field(2, field(3, 2) + field(35, 1)) + field(3, field(1, b"identity") + field(4, 0))
sys.stdout.buffer.write(out)' "$@"
}

@test "a directory's tokenizer.model is read" {
    tg-init --n-ctx 16 --vocab-size 264 -t ids | tg-convert - --to hf -o dir
    model_file '▁a' 'ab' '▁' 'a' 'b' > dir/tokenizer.model
    [[ $(printf 'ab a' | tg-tokenize -t dir --ids | tr '\n' ' ') = '259 263 259 ' ]]
    [[ $(printf 'ab a' | tg-tokenize -m dir --ids | tr '\n' ' ') = '259 263 259 ' ]]
    tg-attn-dump -m dir -p 'ab a' --pieces
    tg-info dir | grep '^tokenizer  *sentencepiece, 264 ids'
    run -2 --separate-stderr tg-tokenize -m dir --force -o dir/tokenizer.model text
    said 'dir/tokenizer.model belongs to dir, which is read: name another file for the output'
}
