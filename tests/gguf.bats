# GGUF files: models in and out; blocks and files against other programs.

load helper

setup_file() {
    tg_fixtures || return 1
    tg-init --n-layer 2 --n-head 2 --n-embd 32 --n-ctx 16 --seed 3 -o model.npz 2> /dev/null
    tg-convert model.npz --to gguf -o model.gguf 2> /dev/null
}

setup() {
    tg_setup
    cp "$FIXTURES"/* .
}

# arrays FILE: names and checksums of an archive's arrays, without what a converter does not keep.
arrays() {
    python3 -c '
import sys, zipfile
for member in zipfile.ZipFile(sys.argv[1]).infolist():
    print(member.filename, member.CRC)
' "$1"
}

same_model() {
    diff <(arrays "$1") <(arrays "$2")
}

@test "to GGUF and back: the same archive, with each kind of tokenizer" {
    slow_unless_sanitized
    local kind
    tg-convert model.gguf -o back.npz
    same_model model.npz back.npz
    printf 'héllo\n你好 [x]' > text
    tg-tokenize -t char --to npz text > char.npz
    tg-bpe -n 300 --min-count 1 --split llama3 -o llama3.npz "$ROOT/README.md" 2> /dev/null
    tg-bpe -n 300 --special '' -o gpt2.npz "$ROOT/README.md" 2> /dev/null
    for kind in char llama3 gpt2; do
        tg-init -t $kind.npz --n-layer 1 --n-head 2 --n-embd 32 --n-ctx 16 --tied no -o a.npz 2> /dev/null
        tg-convert a.npz --to gguf > a.gguf 2> /dev/null
        tg-convert a.gguf -o b.npz
        same_model a.npz b.npz
    done
    tg-init -t ids --vocab-size 7 --n-layer 1 --n-head 2 --n-embd 32 --n-ctx 16 -o a.npz 2> /dev/null
    tg-convert a.npz --to gguf --force -o a.gguf
    tg-convert a.gguf -o b.npz
    run -0 tg-tokenize -m b.npz --ids < /dev/null
    cmp <(tg-attn-dump -m a.npz --ids '1 2 6') <(tg-attn-dump -m a.gguf --ids '1 2 6')
}

@test "texts about the model stay from GGUF to GGUF" {
    # a text of any name that begins so: that of a template, under another name of the same length
    printf '<|im_start|>MIT or so<|im_end|>' > t.jinja
    tg-convert -q model.npz --chat-template t.jinja -o with.gguf
    LC_ALL=C sed 's/tokenizer\.chat_template/general.license.comment/' with.gguf > licensed.gguf
    tg-convert -q licensed.gguf --to gguf --dtype f16 -o again.gguf
    tg-info again.gguf | grep -qx 'general.license.comment <|im_start|>MIT or so<|im_end|>'
    run -1 grep -qa chat_template again.gguf
    [[ $(grep -ao 'general.architecture' again.gguf | wc -l) = 1 ]]
    # but none under a name that the writer has for something else
    python3 - licensed.gguf typed.gguf << 'END'
import struct, sys
data = open(sys.argv[1], "rb").read().replace(b"general.file_type", b"general.file_typX")
text = lambda s: struct.pack("<Q", len(s)) + s
old = b"<|im_start|>MIT or so<|im_end|>"
was, now = (text(key) + struct.pack("<I", 8) + text(value) for key, value in (
    (b"general.license.comment", old), (b"general.file_type", old + b" " * 6)))
assert was in data
open(sys.argv[2], "wb").write(data.replace(was, now))
END
    tg-info typed.gguf | grep -q '^general.file_type <'
    tg-convert -q typed.gguf --to gguf --dtype f16 -o retyped.gguf
    tg-info retyped.gguf | grep -qx 'general.file_type 1'
    tg-convert -q again.gguf -o back.npz
    tg-convert -q model.npz --to gguf --dtype f16 -o plain.gguf
    tg-convert -q plain.gguf -o plain.npz
    cmp plain.npz back.npz
}

@test "of the texts about a model, the first 32 are kept, and a note says that there are more" {
    python3 - model.gguf many.gguf << 'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
version, tensors, values = struct.unpack("<IQQ", data[4:24])
text = lambda s: struct.pack("<Q", len(s)) + s
# 64 bytes each, so that the tensors' data stay aligned
more = b"".join(text(b"general.text.%02d" % i) + struct.pack("<I", 8) + text(b"x" * (64 - 8 - 15 - 4 - 8)) for i in range(40))
open(sys.argv[2], "wb").write(data[:4] + struct.pack("<IQQ", version, tensors, values + 40) + more + data[24:])
END
    tg-convert many.gguf --to gguf -o kept.gguf 2> err
    grep -qx 'tg-convert: many.gguf: of its texts general.\*, the first 32 are kept' err
    [[ $(tg-info kept.gguf | grep -c '^general.text') = 32 ]]
}

@test "the size that is said is of what was written, also where a shell appends it" {
    tg-convert model.npz --to gguf >> two.gguf 2> first
    tg-convert model.npz --to gguf >> two.gguf 2> second
    grep -q 'standard output: gguf, ' first
    cmp first second
}

# there_and_back PRESET...
there_and_back() {
    local name
    for name in "$@"; do
        tg-init -q -P $name --seed 7 -o $name.npz
        tg-eval -m $name.npz -p 'To be, or not to be: that is the question.' --logits -o want.npz --force
        tg-convert -q $name.npz --to gguf -o $name.gguf
        tg-convert $name.gguf -o back.npz --force
        tg-eval -m back.npz -p 'To be, or not to be: that is the question.' --logits -o got.npz --force
        diff <(arrays want.npz | grep logits) <(arrays got.npz | grep logits)
        [[ $name = *gemma* ]] || cmp $name.npz back.npz # the gains of Gemma's norms have 1 added
        tg-convert -q back.npz --to gguf -o again.gguf --force
        cmp $name.gguf again.gguf
        tg-convert -q $name.npz --to gguf --dtype q8_0 -o small.gguf --force
        [[ $(size small.gguf) -lt $(($(size $name.gguf) / 3)) ]]
        tg-sample -q -m small.gguf -p 'To be' -n 4 > /dev/null
        rm small.gguf
    done
}

@test "other families: to GGUF and back, the same logits; q8_0 is read" {
    slow_unless_sanitized
    # shellcheck disable=SC2086
    there_and_back $BABIES
}

@test "still other families: the same" {
    slow
    # shellcheck disable=SC2086
    there_and_back ${MORE_BABIES% baby-nanochat} # which GGUF does not have
}

# unrotated LAYERS INTERVAL: in the directory hf, a SmolLM3 in which so often a layer does not rotate
unrotated() {
    tg-init -q -P baby-llama --n-layer "$1" --seed 8 -o rotated.npz --force
    tg-convert -q rotated.npz --to hf -o hf --force
    sed -i 's/"model_type": *"llama"/"model_type": "smollm3", "no_rope_layer_interval": '"$2"'/' hf/config.json
    grep -q smollm3 hf/config.json
}

@test "SmolLM3, of which every fourth layer does not rotate: to GGUF and back; another pattern is refused" {
    slow_unless_sanitized
    local prompt='To be, or not to be: that is the question.'
    unrotated 9 4
    tg-convert -q hf -o smollm3.npz
    tg-convert -q hf --to gguf -o smollm3.gguf
    grep -aq smollm3.block_count smollm3.gguf
    tg-convert smollm3.gguf -o back.npz
    same_model smollm3.npz back.npz
    tg-eval -m hf -p "$prompt" --logits -o want.npz
    tg-eval -m smollm3.gguf -p "$prompt" --logits -o got.npz
    diff <(arrays want.npz | grep logits) <(arrays got.npz | grep logits)
    tg-eval -m rotated.npz -p "$prompt" --logits -o got.npz --force
    run -1 diff -q <(arrays want.npz | grep logits) <(arrays got.npz | grep logits)
    unrotated 4 3
    run -2 --separate-stderr tg-convert hf --to gguf -o no.gguf
    said "config/unrotated_layers is 4: layer 2 does not rotate, but llama.cpp's \"smollm3\" rotates all layers except every 4th"
    [[ ! -e no.gguf ]]
    unrotated 3 4 # no layer
    tg-convert -q hf --to gguf -o llama.gguf
    grep -aq llama.block_count llama.gguf
}

@test "what llama.cpp cannot say of another family is refused by name" {
    tg-init -q -P baby-llama --n-layer 1 --window 8 -o window.npz
    run -2 --separate-stderr tg-convert window.npz --to gguf -o no.gguf
    said "config/window is 8, but llama.cpp's \"llama\" can only have 0"
    tg-init -q -P baby-qwen3 --n-layer 1 --qk-norm no -o norm.npz
    run -2 --separate-stderr tg-convert norm.npz --to gguf -o no.gguf
    said "config/qk_norm is 0, but llama.cpp's \"qwen3\" can only have 1"
    tg-init -q -P baby-gemma3 --n-layer 1 --activation gelu -o gelu.npz
    run -2 --separate-stderr tg-convert gelu.npz --to gguf -o no.gguf
    said "config/activation is gelu, but llama.cpp's \"gemma3\" can only have gelu_new"
    run -2 --separate-stderr tg-convert gelu.npz --to gguf --split-qkv -o no.gguf
    [[ ! -e no.gguf ]]
}

@test "a SentencePiece vocabulary to GGUF and back" {
    python3 -c '
import json
pieces = ["<unk>", "<s>", "</s>", *("<0x%02X>" % b for b in range(256)), "\u2581a", "ab", "\u2581", "a", "b"]
print(json.dumps({
    "added_tokens": [{"id": i, "content": pieces[i], "special": True} for i in range(3)],
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"},
                   {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
    "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "vocab": {p: i for i, p in enumerate(pieces)},
              "merges": [["\u2581", "a"], ["a", "b"]]}}))' > tokenizer.json
    tg-init -q -P baby-llama --n-layer 1 --n-embd 32 -t tokenizer.json -o llama.npz
    run -0 --separate-stderr tg-convert llama.npz --to gguf -o llama.gguf
    converted
    # the model has 320 ids, the vocabulary 264
    diff <(grep -aoE '\[PAD[0-9]*\]' llama.gguf) <(printf '[PAD%d]\n' {264..319})
    tg-convert llama.gguf -o back.npz
    diff <(tg-info llama.npz | grep ^tokenizer) <(tg-info back.npz | grep ^tokenizer)
    cmp <(tg-tokenize -m llama.npz --ids <<< 'a ab x') <(tg-tokenize -m llama.gguf --ids <<< 'a ab x')
}

@test "the gains of Gemma's norms, which have 1 added in GGUF files, in Hugging Face's without it" {
    tg-init -q -P baby-gemma3 --n-layer 2 --n-embd 32 -o gemma.npz
    tg-convert -q gemma.npz --to gguf -o gemma.gguf
    tg-convert gemma.gguf --to hf --dtype bf16 -o gemma.bf16
    tg-convert gemma.gguf --to hf -o gemma
    tg-convert gemma -o back.npz
    cmp gemma.npz back.npz
    # gains that bf16 does not hold
    make_text 3000 | tg-tokenize > tokens.npz
    tg-train -q -m gemma.npz --steps 3 -o tuned.npz tokens.npz
    tg-convert -q tuned.npz --to gguf -o tuned.gguf
    tg-convert tuned.gguf --to hf -o tuned
    cmp <(tg-eval -m tuned.gguf --per-token -p 'a text') <(tg-eval -m tuned --per-token -p 'a text')
    run -2 --separate-stderr tg-convert tuned.gguf --to hf --dtype bf16 -o none
    said "tuned.gguf: config/norm_offset is 0, but Hugging Face's \"gemma3_text\" can only have 1"
}

@test "-m takes a GGUF file; rounded types change the numbers, not the shapes" {
    slow_unless_sanitized
    local type
    cmp <(tg-attn-dump -m model.npz -p 'To be') <(tg-attn-dump -m model.gguf -p 'To be')
    tg-init -q --n-embd 12 --n-head 2 -o narrow.npz
    run -0 --separate-stderr tg-convert narrow.npz --to gguf --dtype q8_0 -o narrow.gguf
    converted
    for n in 12 48; do
        [[ $stderr = *"matrices with rows of $n values are written as f16: q8_0 needs a multiple of 32"* ]]
    done
    for type in f16 bf16 q8_0; do
        tg-convert model.npz --to gguf --dtype $type -o $type.gguf 2> /dev/null
        [[ $(size $type.gguf) -lt $(size model.gguf) ]]
        tg-convert $type.gguf -o $type.npz
        run -0 python3 -c '
import sys, zipfile
a, b = (zipfile.ZipFile(name).namelist() for name in sys.argv[1:])
assert a == b
' model.npz $type.npz
        run -0 tg-sample -m $type.gguf -n 4 -p a
    done
}

@test "what llama.cpp does not compute is refused, or said" {
    tg-init --n-layer 1 --activation gelu -o exact.npz 2> /dev/null
    run -2 --separate-stderr tg-convert exact.npz --to gguf -o exact.gguf
    [[ ! -e exact.gguf ]]
    [[ $stderr = 'tg-convert: exact.npz: llama.cpp differs: its activation is gelu_new (tanh), the model'"'"'s gelu (exact) (--lossy accepts that)' ]]
    run -0 --separate-stderr tg-convert exact.npz --to gguf --lossy -o exact.gguf
    converted
    [[ $stderr = *"its activation is gelu_new (tanh)"* ]]
    tg-bpe -n 300 --split none -o none.npz "$ROOT/README.md" 2> /dev/null
    tg-init -t none.npz --n-layer 1 --n-head 2 --n-embd 32 --n-ctx 16 -o a.npz 2> /dev/null
    run -2 --separate-stderr tg-convert a.npz --to gguf -o a.gguf
    [[ $stderr = *'it has no rule like "none" to split texts (--lossy accepts that)' ]]
}

@test "a GGUF file of any architecture is a tokenizer" {
    LC_ALL=C sed 's/\(general\.architecture.\{12\}\)gpt2/\1rwkv/' model.gguf > other.gguf
    run -1 --separate-stderr tg-sample -m other.gguf -n 1 -p a
    [[ $stderr = 'tg-sample: other.gguf: the architecture is "rwkv"'* ]]
    tg-tokenize -t other.gguf --ids "$ROOT/README.md" | cmp - <(tg-tokenize -t model.gguf --ids "$ROOT/README.md")
}

@test "a vocabulary of an unknown kind is refused with the tool that leaves it out" {
    local why='tokenizer.ggml.model is "bert", which tg does not know (tg-convert --lossy leaves the vocabulary out)'
    LC_ALL=C sed 's/\(tokenizer\.ggml\.model.\{12\}\)gpt2/\1bert/' model.gguf > other.gguf
    run -1 --separate-stderr tg-eval -m other.gguf -p a
    [[ $stderr = "tg-eval: other.gguf: $why" ]]
    run -1 --separate-stderr tg-tokenize -t other.gguf "$ROOT/README.md"
    [[ $stderr = "tg-tokenize: other.gguf: $why" ]]
    run -0 --separate-stderr tg-convert other.gguf --lossy -o left.npz
    converted
    [[ $stderr = *'the vocabulary is left out: its tokenizer.ggml.model is "bert"'* ]]
}

@test "damaged GGUF files: one line, exit 1" {
    local n all
    all=$(size model.gguf)
    for n in 3 4 12 100 1000 5000 $((all - 1)); do
        head -c "$n" model.gguf > cut.gguf
        run -1 --separate-stderr tg-convert cut.gguf -o out.npz
        [[ -z $output && ${#stderr_lines[@]} = 1 && ! -e out.npz ]]
    done
    cat model.gguf model.gguf > twice.gguf
    run -1 --separate-stderr tg-sample -m twice.gguf -n 1 -p a
    [[ $stderr = *"bytes follow the last tensor"* ]]
    printf 'GGUF\1\0\0\0%016d' 0 > old.gguf
    run -1 --separate-stderr tg-convert old.gguf -o out.npz
    [[ $stderr = *"GGUF version 1, expected 2 or 3" ]]
}

@test "blocks and files: gguf" {
    need_judge gguf
    make_unit
    run -0 "$TG_JUDGE_PYTHON" "$ROOT/tests/judges/gguf_file.py" "$BUILD/unit/gguf_file"
    echo "$output"
}
