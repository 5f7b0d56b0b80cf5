# PyTorch's and llm.c's files: models and tokens, in and out; damaged and hostile ones; the judge.

load helper

# tanh.npz and erf.npz: small tied models with all biases, without a tokenizer
setup_file() {
    tg_fixtures || return 1
    local small=(--n-layer 2 --n-head 2 --n-embd 16 --n-ctx 8 -t ids --vocab-size 300)
    tg-init "${small[@]}" --seed 3 -o tanh.npz
    tg-init "${small[@]}" --seed 4 --activation gelu -o erf.npz
}

make_torch() {
    need python3
    python3 "$ROOT/tests/make_torch.py" "$@"
}

# refused TEXT COMMAND...: exit 1, one line with TEXT, nothing on standard output
refused() {
    run -1 --separate-stderr "${@:2}"
    [[ -z $output && $stderr = *"$1"* && ${#stderr_lines[@]} = 1 ]]
}

@test "a checkpoint of nanoGPT is read: config, exact GELU, tied head, transposed matrices" {
    slow_unless_sanitized
    local what
    for what in '' compiled masks views; do
        make_torch "$FIXTURES/erf.npz" ckpt.pt $what
        tg-convert ckpt.pt -o back.npz
        cmp "$FIXTURES/erf.npz" back.npz
    done
}

@test "with a tokenizer, to a format that has a template of conversations" {
    make_torch "$FIXTURES/tanh.npz" ckpt.pt
    tg-convert -q ckpt.pt -t "$FIXTURES/tanh.npz" --to hf -o hf
    [[ -s hf/model.safetensors ]]
}

@test "a state dict alone needs --heads; its layout is told by the shapes" {
    slow_unless_sanitized
    local what
    for what in state hf 'state views' 'hf views' 'state masks'; do
        make_torch "$FIXTURES/tanh.npz" model.pt $what
        tg-convert model.pt --heads 2 -o back.npz
        cmp "$FIXTURES/tanh.npz" back.npz
    done
    run -2 --separate-stderr tg-convert model.pt
    [[ $stderr = *'the number of heads'* ]]
}

@test "a config.json in the directory is Hugging Face's or minGPT's" {
    make_torch "$FIXTURES/tanh.npz" model.pt state
    echo '{"system": {}, "model": {"n_layer": 2, "n_head": 2, "n_embd": 16, "vocab_size": 300, "block_size": 8}}' \
        > config.json
    tg-convert model.pt -o back.npz
    cmp "$FIXTURES/tanh.npz" back.npz
    rm model.pt config.json
    tg-convert "$FIXTURES/tanh.npz" --to hf -o hf
    make_torch "$FIXTURES/tanh.npz" hf/pytorch_model.bin hf
    rm hf/model.safetensors
    tg-convert hf -o back.npz
    cmp "$FIXTURES/tanh.npz" back.npz
    tg-convert hf/pytorch_model.bin -o back.npz
    cmp "$FIXTURES/tanh.npz" back.npz
}

@test "-m takes a checkpoint of nanoGPT as it is" {
    make_torch "$FIXTURES/erf.npz" ckpt.pt
    tg-attn-dump -m "$FIXTURES/erf.npz" --ids '1 2 3' > want
    tg-attn-dump -m ckpt.pt --ids '1 2 3' > got
    cmp want got
}

@test "a pickle that calls something is refused by name, and nothing is called" {
    make_torch "$FIXTURES/erf.npz" ckpt.pt calls
    refused 'system: refused' tg-convert ckpt.pt
    [[ $stderr != *called* ]]
}

@test "what a checkpoint has beyond nanoGPT is refused by name" {
    make_torch "$FIXTURES/erf.npz" ckpt.pt extra
    refused "model_args: rope is not nanoGPT's" tg-convert ckpt.pt
    tg-convert ckpt.pt --lossy -o back.npz
    cmp "$FIXTURES/erf.npz" back.npz
    make_torch "$FIXTURES/erf.npz" ckpt.pt slice
    refused 'transformer.wpe.weight: its elements are not adjacent' tg-convert ckpt.pt
}

@test "damaged checkpoints: one line, exit 1" {
    make_torch "$FIXTURES/erf.npz" ckpt.pt
    local size cut
    size=$(wc -c < ckpt.pt)
    for cut in 0 1 29 30 100 $((size / 2)) $((size - 23)) $((size - 1)); do
        head -c "$cut" ckpt.pt > cut.pt
        refused cut.pt tg-convert cut.pt
    done
    cp ckpt.pt bad.pt
    printf X | dd of=bad.pt bs=1 seek=$((size / 2)) conv=notrunc status=none
    refused 'damaged: the CRC-32' tg-convert bad.pt
    printf '\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.' > old.pt
    refused "PyTorch's old format" tg-convert old.pt
}

# ---- llm.c

@test "models of llm.c come back bit for bit, in both types" {
    local type numbers=$((384 * 16 + 8 * 16 + 2 * (12 * 16 * 16 + 13 * 16) + 2 * 16))
    local -A bytes=([f32]=4 [bf16]=2)
    for type in f32 bf16; do
        tg-convert "$FIXTURES/tanh.npz" --to llmc --dtype $type --force -o model.bin
        [[ $(wc -c < model.bin) = $((1024 + bytes[$type] * numbers)) ]]
        tg-convert model.bin -o back.npz
        tg-convert back.npz --to llmc --dtype $type --force -o again.bin
        cmp model.bin again.bin
        [[ $type = bf16 ]] || cmp "$FIXTURES/tanh.npz" back.npz
    done
}

@test "what llm.c's models cannot hold is refused, or named under --lossy" {
    run -2 --separate-stderr tg-convert "$FIXTURES/erf.npz" --to llmc
    [[ $stderr = *'its activation is gelu_new'* ]]
    run -0 --separate-stderr tg-convert "$FIXTURES/erf.npz" --to llmc --lossy -o model.bin
    converted
    [[ $stderr = *'its activation is gelu_new'* ]]
    tg-init --tied no -o untied.npz
    run -2 --separate-stderr tg-convert untied.npz --to llmc
    [[ $stderr = *'its output head is wte.weight'* ]]
    tg-init --layer-norm-epsilon 1e-6 -o epsilon.npz
    run -2 --separate-stderr tg-convert epsilon.npz --to llmc
    [[ $stderr = *"LayerNorm's epsilon is 1e-5"* ]]
    run -2 --separate-stderr tg-convert "$FIXTURES/tanh.npz" --to llmc --dtype f16
    [[ $stderr = *'expected f32 or bf16'* ]]
}

@test "damaged models of llm.c: one line, exit 1" {
    tg-convert "$FIXTURES/tanh.npz" --to llmc -o model.bin
    local size cut
    size=$(wc -c < model.bin)
    for cut in 4 100 1023 1024 $((size - 1)); do
        head -c "$cut" model.bin > cut.bin
        refused truncated tg-convert cut.bin
    done
    (cat model.bin && echo) > long.bin
    refused 'its header says' tg-convert long.bin
    printf '\xff\xff\xff\x7f' | dd of=model.bin bs=1 seek=16 conv=notrunc status=none
    refused 'n_layer is 2147483647' tg-convert model.bin
}

# ---- tokens

@test "tokens go to llm.c and to bare numbers, and come back bit for bit" {
    printf 'To be, or not to be' | tg-tokenize > text.npz
    tg-convert text.npz --to llmc-tokens -o tokens.bin
    tg-convert tokens.bin -t text.npz -o back.npz
    cmp text.npz back.npz
    tg-convert tokens.bin --to uint16 -o train.bin
    [[ $(od -An -tu2 -N 8 train.bin) =~ ^\ *84\ *111\ *32\ *98$ ]]
    tail -c +1025 tokens.bin | cmp - train.bin
    tg-convert train.bin --from uint16 -t text.npz -o back.npz
    cmp text.npz back.npz
    tg-convert train.bin --from uint16 --to llmc-tokens > again.bin
    cmp tokens.bin again.bin
    tg-convert - --to uint16 < text.npz | cmp - train.bin
}

@test "tokens without a tokenizer are of kind ids: as many as there are, or as --vocab-size says" {
    printf '\1\0\2\1\0\0' > train.bin
    tg-convert train.bin --from uint16 -o ids.npz
    tg-init -t ids.npz --n-layer 1 --n-head 1 --n-embd 4 --n-ctx 8 -o model.npz
    tg-convert train.bin --from uint16 --vocab-size 259 | cmp - ids.npz
    tg-convert - --from uint16 --vocab-size 259 < train.bin | cmp - ids.npz
    run_pipe 2 'cat train.bin | tg-convert - --from uint16'
    [[ $stderr = *'give --vocab-size'* ]]
    refused 'id 258 at position 1: the vocabulary has 258 ids' tg-convert train.bin --from uint16 --vocab-size 258
}

@test "many tokens, in one piece and in several" {
    slow_unless_sanitized
    need python3
    python3 -c 'import array; array.array("H", (i * 7919 % 50257 for i in range(1500000))).tofile(open("train.bin", "wb"))'
    tg-convert train.bin --from uint16 --vocab-size 50257 -o tokens.npz
    tg-convert tokens.npz --to uint16 | cmp - train.bin
    tg-convert tokens.npz --to llmc-tokens -o tokens.bin
    tg-convert - --to uint16 < tokens.bin | cmp - train.bin
    cat tokens.npz tokens.npz | tg-convert - --to uint16 | cmp - <(cat train.bin train.bin)
}

@test "no tokens at all" {
    : > empty.bin
    tg-convert empty.bin --from uint16 --vocab-size 5 -o tokens.npz
    tg-convert tokens.npz --to llmc-tokens -o tokens.bin
    [[ $(wc -c < tokens.bin) = 1024 ]]
    tg-convert tokens.bin --to uint16 | cmp - empty.bin
    # an archive without chunks: to every reader a text of no tokens
    [[ $(unzip -l tokens.npz) != *tokens/0* ]]
    tg-tokenize -d tokens.npz | cmp - empty.bin
    [[ $(tg-tokenize -c tokens.npz) = 0 ]]
    run -0 tg-info tokens.npz
    [[ $output =~ tokens\ +0$ ]]
    run -1 --separate-stderr tg-train tokens.npz
    said 'tg-train: the text has 0 tokens, a window of context 64 needs 65'
    printf '\1\0\2\0' | tg-convert - --from uint16 --vocab-size 5 -o two.npz
    cat tokens.npz two.npz tokens.npz | tg-convert - --to uint16 | cmp - <(printf '\1\0\2\0')
}

@test "tokens that are damaged, or do not fit, are refused" {
    printf 'abc' | tg-tokenize | tg-convert - --to llmc-tokens > tokens.bin
    head -c 1029 tokens.bin > cut.bin
    refused 'truncated: 2 ids, its header says 3' tg-convert cut.bin
    (cat tokens.bin && echo) > long.bin
    refused 'bytes follow the last id' tg-convert long.bin
    printf abc > odd.bin
    refused '1 bytes follow the last id' tg-convert odd.bin --from uint16
    head -c 500 tokens.bin > cut.bin
    refused truncated tg-convert cut.bin
    run_pipe 2 'tg-convert tokens.bin --to llmc-tokens | cat'
    [[ $stderr = *'cannot be written to a pipe'* ]]
    run -2 --separate-stderr tg-convert tokens.bin --to hf -o x
    [[ $stderr = *'tokens, no model'* ]]
    echo text > text
    run -1 --separate-stderr tg-convert - < text
    [[ $stderr = *'not a file of tokens'* ]]
    tg-convert tokens.bin -o ids.npz
    run -1 --separate-stderr tg-convert ids.npz -t "$FIXTURES/tanh.npz" -o back.npz
}

@test "-t gives a tokenizer to a model without one" {
    make_torch "$FIXTURES/erf.npz" ckpt.pt
    printf 'To be' | tg-tokenize > text.npz
    tg-convert ckpt.pt -t text.npz -o model.npz
    tg-attn-dump -m model.npz -p 'To be' > /dev/null
}

# ---- tokenizers

# A text with n different pairs of letters, to learn tokens from.
learned() {
    printf 'the cat and the hat and the bat %.0s' {1..50} | tg-bpe --vocab-size 270 --special '<|endoftext|>' -o bpe.npz
}

@test "tokenizers of llm.c: written, read, written again" {
    learned
    tg-tokenize -t bpe.npz --to llmc > tokenizer.bin
    [[ $(od -An -tu4 -N 16 tokenizer.bin) =~ ^\ *20240328\ *2\ *270\ *[0-9]+$ ]]
    tg-tokenize -t tokenizer.bin --to llmc | cmp - tokenizer.bin
    echo 'the cat and the hat' > text
    diff <(tg-tokenize -t bpe.npz < text | tg-convert - --to uint16 | od) \
        <(tg-tokenize -t tokenizer.bin < text | tg-convert - --to uint16 | od)
    run -2 --separate-stderr tg-tokenize -t bytes --to llmc
    [[ $stderr = *'it has no token that ends a text'* ]]
    head -c 1100 tokenizer.bin > cut.bin
    refused 'cut.bin: truncated: token' tg-tokenize -t cut.bin text
    refused 'cut.bin: truncated: token' tg-tokenize -t cut.bin text
    printf '\1' | dd of=tokenizer.bin bs=1 seek=4 conv=notrunc status=none
    refused 'version 1, expected 2' tg-tokenize -t tokenizer.bin text
    run -2 --separate-stderr tg-tokenize -t cut.bin --pattern gpt2 text
}

@test "GPT-2's tokenizer goes through llm.c's file unchanged" {
    slow
    need_data gpt2
    tg-tokenize -t "$DATA" --to llmc > gpt2.bin
    tg-tokenize -t "$DATA" --to npz > want.npz
    tg-tokenize -t gpt2.bin --to npz | cmp want.npz -
}

@test "nanoGPT's meta.pkl is a tokenizer of characters" {
    need python3
    python3 -c '
import pickle
text = "hello, w\u00f6rld\n"
chars = sorted(set(text))
for protocol in range(2, 6):
    pickle.dump({"vocab_size": len(chars), "itos": dict(enumerate(chars)), "stoi": {c: i for i, c in enumerate(chars)}},
                open(f"meta{protocol}.pkl", "wb"), protocol)
chars[0], chars[1] = chars[1], chars[0]
pickle.dump({"itos": dict(enumerate(chars))}, open("order.pkl", "wb"))
pickle.dump({"itos": {0: "ab"}}, open("two.pkl", "wb"))
pickle.dump({"itos": {1: "a"}}, open("first.pkl", "wb"))
pickle.dump(["itos"], open("list.pkl", "wb"))
pickle.dump({"itos": print}, open("call.pkl", "wb"))
'
    printf 'hello, w\303\266rld\n' > text
    local protocol
    for protocol in 2 3 4 5; do
        tg-tokenize -t meta$protocol.pkl < text > tokens.npz
        cmp tokens.npz <(tg-tokenize -t char < text)
    done
    refused 'order.pkl: itos: id 1, U+000A, is not after U+0020' tg-tokenize -t order.pkl text
    refused 'two.pkl: itos: id 0 is not one character' tg-tokenize -t two.pkl text
    refused 'first.pkl: itos: entry 0 is not id 0' tg-tokenize -t first.pkl text
    refused "list.pkl: a pickle without a dict" tg-tokenize -t list.pkl text
    refused 'the pickle calls builtins.print: refused' tg-tokenize -t call.pkl text
}

# ---- the judge

@test "what PyTorch writes is listed: names, types, shapes, bits" {
    slow
    [[ -n ${TG_JUDGE_PYTHON:-} ]] || skip "TG_JUDGE_PYTHON does not name a Python with torch"
    "$TG_JUDGE_PYTHON" -c "import torch" 2> /dev/null || skip "$TG_JUDGE_PYTHON has no torch"
    run -0 "$TG_JUDGE_PYTHON" "$ROOT/tests/judges/torch_file.py" "$BUILD/unit/list_torch"
}
