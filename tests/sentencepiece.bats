# The tools with SentencePiece's tokens: the space that encoding puts before a text is no part of it; the token
# that begins a text.

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

@test "tg-convert --to hf writes a tokenizer.json: the same ids, and the same again" {
    tg-init --n-ctx 16 --vocab-size 264 -t ids | tg-convert -q - --to hf -o dir
    model_file '▁a' 'ab' '▁' 'a' 'b' > dir/tokenizer.model
    run -0 --separate-stderr tg-convert dir --to hf -o hf
    converted
    [[ $stderr != *tokenizer* ]]
    [[ $(ls hf | tr '\n' ' ') = 'config.json model.safetensors tokenizer.json ' ]]
    printf 'ab a  \n中\xFFa</s>ab<s>' > text
    cmp <(tg-tokenize -m dir --ids --special text) <(tg-tokenize -m hf --ids --special text)
    tg-tokenize -m hf --special text | tg-tokenize -d | cmp - <(tg-tokenize -m dir --special text | tg-tokenize -d)
    # of a tokenizer.json it is the same tokenizer
    tg-convert -q hf -o one.npz
    tg-convert -q hf --to hf -o again
    cmp hf/tokenizer.json again/tokenizer.json
    tg-convert -q again -o two.npz
    cmp one.npz two.npz
    tg-convert -q one.npz --to gguf -o one.gguf
    tg-convert -q one.gguf --to hf -o again --force
    cmp hf/tokenizer.json again/tokenizer.json
}

# ---- the token that begins a text

# hf: a model in a directory, whose tokenizer.json has this post-processor; {B} is <s> and {T} the text in a template.
with_post() {
    rm -rf hf
    tg-init -q --n-ctx "${n_ctx:-16}" --vocab-size 264 -t ids | tg-convert -q - --to hf -o hf
    python3 -c '
import json, sys
def template(*parts):
    return {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}} if p == "A" else
            {"SpecialToken": {"id": p, "type_id": 0}} for p in parts], "pair": [], "special_tokens": {}}
tokenizer = json.load(open("tokenizer.json"))
tokenizer["post_processor"] = eval(sys.argv[1])
json.dump(tokenizer, open("hf/tokenizer.json", "w"))' "$1"
}

ids_of() {
    tg-attn-dump "$@" --pieces -f tsv --no-header | cut -f 2 | tr '\n' ' '
}

@test "a tokenizer.json's post-processor says what begins a text" {
    slow_unless_sanitized
    local post want said
    while IFS='|' read -r post want said; do
        with_post "$post"
        run -0 --separate-stderr tg-attn-dump -m hf -p 'ab a' --pieces -f tsv --no-header
        [[ $(cut -f 2 <<< "$output" | tr '\n' ' ') = "$want" ]]
        if [[ $said ]]; then said "$said"; else [[ -z $stderr ]]; fi
    done << 'END'
None|259 263 259 |
template("A")|259 263 259 |
template("<s>", "A")|1 259 263 259 |<s> (id 1) begins the text; --no-bos leaves it out
template("</s>", "A")|2 259 263 259 |</s> (id 2) begins the text
{"type": "Sequence", "processors": [{"type": "ByteLevel"}, template("<s>", "A")]}|1 259 263 259 |<s> (id 1)
{"type": "Sequence", "processors": []}|259 263 259 |
template("A", "</s>")|259 263 259 |what tokenizer.json puts after a text is left out: it would end there
template("<s>", "<s>", "A")|259 263 259 |the 2 tokens that tokenizer.json puts before a text are left out: expected at most one
template("<b>", "A")|259 263 259 |the token that begins a text, "<b>", is left out: the tokenizer has no such special token
{"type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1]}|259 263 259 |
{"type": "TemplateProcessing", "single": "<s> $A"}|259 263 259 |
{"type": "TemplateProcessing", "single": [5, None, [], {}, {"SpecialToken": 5}]}|259 263 259 |
{"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": 7}}, {"Sequence": {}}]}|259 263 259 |
{"type": 5}|259 263 259 |
[5]|259 263 259 |
END
    with_post 'template("<s>", "A", "</s>")'
    run -0 --separate-stderr tg-attn-dump -m hf -p 'ab a' --pieces
    [[ $stderr = *'puts after a text is left out'*'<s> (id 1) begins the text'* ]]
}

@test "tokenizer_config.json says what begins a text, if there is no tokenizer.json" {
    slow_unless_sanitized
    local settings want
    with_post 'template("<s>", "A")'
    echo '{"add_bos_token": false, "bos_token": "</s>"}' > hf/tokenizer_config.json
    [[ $(ids_of -m hf -p 'ab a') = '1 259 263 259 ' ]]
    rm hf/tokenizer.json
    model_file '▁a' 'ab' '▁' 'a' 'b' > hf/tokenizer.model
    while IFS='|' read -r settings want; do
        echo "$settings" > hf/tokenizer_config.json
        [[ $(ids_of -m hf -p 'ab a') = "$want" ]]
    done << 'END'
{}|259 263 259 |
{"add_bos_token": false, "bos_token": "<s>"}|259 263 259 |
{"add_bos_token": 1, "bos_token": "<s>"}|259 263 259 |
{"add_bos_token": true, "bos_token": "<s>"}|1 259 263 259 |
{"add_bos_token": true, "bos_token": {"content": "</s>", "special": true}}|2 259 263 259 |
{"add_bos_token": true, "bos_token": "<b>"}|259 263 259 |
{"add_bos_token": true}|259 263 259 |
END
    sed -i 's/"bos_token_id": null/"bos_token_id": 1/' hf/config.json
    [[ $(ids_of -m hf -p 'ab a') = '1 259 263 259 ' ]]
    echo '{"add_bos_token": tru' > hf/tokenizer_config.json
    run -1 --separate-stderr tg-attn-dump -m hf -p 'ab a'
    said 'hf/tokenizer_config.json: line 1, column '
    run -0 --separate-stderr tg-convert hf --lossy -o left.npz
    converted
    [[ $stderr = *'hf: what begins a text is left out: '*'hf/tokenizer_config.json: line 1, column '* ]]
    [[ $(ids_of -m left.npz -p 'ab a') = '259 263 259 ' ]]
    run -2 --separate-stderr tg-tokenize -m hf -o hf/tokenizer_config.json text
    said 'hf/tokenizer_config.json belongs to hf, which is read'
}

@test "what begins a text: before text and archives, not before ids; --bos and --no-bos" {
    slow_unless_sanitized
    with_post 'template("<s>", "A")'
    printf 'ab a' > text
    tg-tokenize -m hf text > tokens.npz
    [[ $(tg-tokenize -m hf --ids text | tr '\n' ' ') = '259 263 259 ' ]]
    tg-info hf | tr -s ' \n' ' ' | grep -q 'bos_token_id 1, add_bos 1 '
    [[ $(ids_of -m hf < text) = '1 259 263 259 ' ]]
    [[ $(ids_of -m hf < tokens.npz) = '1 259 263 259 ' ]]
    [[ $(ids_of -m hf --ids 263) = '263 ' ]]
    [[ $(ids_of -m hf --ids 263 --bos) = '1 263 ' ]]
    [[ $(ids_of -m hf --no-bos < text) = '259 263 259 ' ]]
    [[ $(ids_of -m model.npz < text) = '259 263 259 ' ]]
    [[ $(ids_of -m model.npz --bos < text) = '1 259 263 259 ' ]]
    [[ $(tg-attn-dump -m hf -p 'ab a' --pieces -f tsv --no-header | head -n 2) = $'0\t1\t0\t0\t<s>\n1\t259\t0\t1\t a' ]]
    # a probe still fits, a text that does not is measured without it
    [[ $(ids_of -m hf --probe names | wc -w) = 16 && $(ids_of -m hf --probe names) = '1 261 '* ]]
    [[ $(ids_of -m hf --probe names --no-bos | wc -w) = 16 ]]
    run -1 --separate-stderr tg-attn-dump -q -m hf -p 'ab a ab a ab a ab a ab a ab'
    said 'the text has 18 tokens, which exceeds the model'"'"'s context of 16: shorten it, as with head -c 24'
    [[ $(printf 'ab a ab a ab a ab a ab a ab' | head -c 24 | ids_of -m hf | wc -w) = 16 ]]
    tg-attn-dump -q -m hf -p 'ab a' -o dump.npz
    tg-attn-dump -m hf --check dump.npz
    # --quiet
    run -0 --separate-stderr tg-attn-dump -q -m hf -p 'ab a' --pieces
    [[ -z $stderr ]]
    # no such token
    tg-init -t bytes -o bytes.npz
    for tool in tg-sample tg-eval tg-attn-dump; do
        run -2 --separate-stderr $tool -m bytes.npz --bos -p a
        said "--bos: the model's tokenizer has no token that begins a text"
        run -2 --separate-stderr $tool -m hf --bos --no-bos -p a
        said '--bos and --no-bos cannot be combined'
    done
    run -2 --separate-stderr tg-attn-dump --example mha --bos
    said '--bos goes with a model'
    run -2 --separate-stderr tg-eval -m hf --bos --eot text
    said '--eot and --bos both put a token before each text: give only one'
}

@test "what begins a text: tg-eval scores the first token, tg-attn-dump --ablate likewise" {
    slow_unless_sanitized
    with_post 'template("<s>", "A")'
    printf 'ab a' > text
    run -0 --separate-stderr tg-eval -m hf --tsv --no-header text text
    [[ $(cut -f 1-3 <<< "$output") = $'6\t6\t8' ]]
    said '<s> (id 1) begins the text; --no-bos leaves it out'
    run -0 --separate-stderr tg-eval -m hf --no-bos --tsv --no-header text
    [[ $(cut -f 1-3 <<< "$output") = $'3\t2\t3' && -z $stderr ]]
    tg-eval -q -m hf --ids '1 259 263 259' --tsv --no-header > want
    tg-eval -q -m hf -p 'ab a' --tsv --no-header > got
    [[ $(cut -f 2-7 got) = $(cut -f 2-7 want) ]] # all but the number of tokens: the ids have one more
    tg-eval -q -m hf --per-token --no-header -p 'ab a' | cut -f 2-6 > got
    tg-eval -q -m hf --per-token --no-header --ids '1 259 263 259' | sed 1d | cut -f 2-6 > want
    cmp got want
    # documents with a loss mask have what begins them, so nothing is added, and nothing said
    echo '{"prompt": "ab", "completion": "a"}' | tg-tokenize -q -m hf --prompt-completion -o pairs.npz
    run -0 --separate-stderr tg-eval -m hf --tsv --no-header pairs.npz
    [[ $(cut -f 1 <<< "$output") = 5 && -z $stderr ]]
    run -0 --separate-stderr tg-eval -m hf --tsv --no-header pairs.npz text text
    said '<s> (id 1) begins the text; --no-bos leaves it out'
    echo '{"context": "ab", "continuations": ["a", "b"]}' > items.jsonl
    run -0 --separate-stderr tg-eval -m hf --choices items.jsonl
    said '<s> (id 1) begins the text; --no-bos leaves it out'
    tg-tokenize -m hf text | tg-eval -q -m hf --tsv --no-header > got
    tg-eval -q -m hf --tsv --no-header text | cmp - got
    tg-eval -q -m hf --eot --tsv --no-header text > got
    run ! cmp -s <(tg-eval -q -m hf --tsv --no-header text) got
    tg-attn-dump -q -m hf --ablate 0.0 -f tsv --no-header -p 'ab a' > got
    tg-attn-dump -q -m hf --ablate 0.0 -f tsv --no-header --ids '1 259 263 259' | cmp - got
    [[ $(cut -f 2 got) = 3 ]]
}

@test "what begins a text: tg-sample continues after it, and does not print it" {
    with_post 'template("<s>", "A")'
    cmp <(tg-sample -q -m hf -p 'ab a' -n 20 -g --no-prompt) \
        <(tg-sample -m hf --ids '1 259 263 259' -n 20 -g --no-prompt)
    cmp <(tg-sample -q -m hf -p '' -n 20 -g) <(tg-sample -m hf --ids 1 -n 20 -g --no-prompt)
    [[ $(tg-sample -q -m hf -p 'ab a' -n 0) = 'ab a' ]]
    run ! cmp -s <(tg-sample -q -m hf -p '' -n 20 -g) <(tg-sample -m hf -p '' --no-bos -n 20 -g)
}

@test "what begins a text begins each document that is learned: prompts, and conversations in plain text" {
    slow_unless_sanitized
    local n_ctx=64 text=$'user: ab\nassistant: ' option
    with_post 'template("<s>", "A")'
    printf '%s\n' '{"prompt": "ab a", "completion": "b"}' '{"prompt": "", "completion": "a"}' > pairs.jsonl
    echo '{"messages": [{"role": "user", "content": "ab"}, {"role": "assistant", "content": "a"}]}' > talk.jsonl
    examples() { tg-tokenize "$@" --ids | tr '\n' ' '; }
    [[ $(examples -m hf --prompt-completion pairs.jsonl) = '1 259 263 259 263 2 1 262 2 ' ]]
    [[ $(examples -m hf --prompt-completion --no-bos pairs.jsonl) = '259 263 259 263 2 262 2 ' ]]
    [[ $(examples -t hf --prompt-completion pairs.jsonl) = '259 263 259 263 2 262 2 ' ]]
    [[ $(examples -t hf --prompt-completion --bos pairs.jsonl) = '1 259 263 259 263 2 1 262 2 ' ]]
    [[ $(examples -m model.npz --prompt-completion pairs.jsonl) = '259 263 259 263 2 262 2 ' ]]
    # the text after the token is tokenized as one without it
    [[ $(examples -m hf --chat --template plain talk.jsonl) = \
        "1 $(examples -m hf --chat --template plain --no-bos talk.jsonl)" ]]
    [[ $(examples -m hf --chat --template plain --no-bos talk.jsonl) = "$(printf %s "$text" | examples -m hf)262 13 2 " ]]
    run -0 --separate-stderr tg-tokenize -m hf --prompt-completion --ids pairs.jsonl
    said 'tg-tokenize: <s> (id 1) begins each document; --no-bos leaves it out'
    run -0 --separate-stderr tg-tokenize -m hf --prompt-completion --bos -c pairs.jsonl
    [[ $stderr != *'--no-bos'* ]]
    # tg-sample's conversations begin likewise
    run ! cmp -s <(tg-sample -q -m hf -p "$text" -n 20 -g) <(tg-sample -q -m hf -p "$text" -n 20 -g --no-bos)
    for option in '' --bos --no-bos; do
        tg-sample -q -m hf --chat --template plain -n 20 -g $option <<< ab |
            cmp - <(tg-sample -q -m hf -p "$text" -n 20 -g --no-prompt --stop $'\n' $option)
    done
    for tool in tg-tokenize tg-sample; do
        run -2 --separate-stderr $tool -m hf --chat --no-bos < /dev/null
        said "$tool: --chat and --no-bos cannot be combined, except with --template plain"
        run -2 --separate-stderr $tool -m hf --chat --template plain --bos --no-bos < /dev/null
        said "$tool: --bos and --no-bos cannot be combined"
    done
    run -2 --separate-stderr tg-tokenize -m hf --no-bos talk.jsonl
    said 'tg-tokenize: --no-bos goes with --prompt-completion, or with --chat --template plain'
    # the model of examples must be one
    tg-tokenize -q -t hf --prompt-completion -o pairs.npz pairs.jsonl
    run -1 --separate-stderr tg-tokenize -m pairs.npz --prompt-completion pairs.jsonl
    said 'tg-tokenize: pairs.npz: '
}

@test "what begins a text is kept where a format has it; others say that they lack it" {
    slow_unless_sanitized
    local id
    with_post 'template("<s>", "A")'
    run -0 --separate-stderr tg-convert hf --to hf -o begun
    converted
    [[ $stderr != *'begins texts'* ]]
    [[ $(ids_of -m begun -p 'ab a') = '1 259 263 259 ' ]]
    cmp <(tg-convert -q hf -o -) <(tg-convert -q begun -o -)
    make_text 2000 > text
    tg-bpe -q -n 270 -o bpe.json text
    tg-init -q -t bpe.json -o plain.npz
    tg-convert -q plain.npz --to hf -o hf --force
    python3 -c '
import json
tokenizer = json.load(open("hf/tokenizer.json"))
tokenizer["post_processor"] = {"type": "TemplateProcessing", "single": [
    {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]}
json.dump(tokenizer, open("hf/tokenizer.json", "w"))'
    id=$(tg-info plain.npz | sed -n 's/.*end of text \([0-9]*\).*/\1/p')
    tg-convert -q hf -o m.npz
    tg-info m.npz | tr -s ' \n' ' ' | grep -q "bos_token_id $id, .*add_bos 1 "
    run ! grep -q add_bos <(tg-info plain.npz)
    tg-convert -q m.npz -o m.gguf
    tg-convert -q m.gguf -o again.npz
    cmp m.npz again.npz
    [[ $(ids_of -m m.gguf -p 'ab') = "$id "* ]]
    tg-convert m.npz --to hf -o back
    tg-convert -q back -o again.npz --force
    cmp m.npz again.npz
    for to in llmc safetensors; do
        run -0 --separate-stderr tg-convert m.npz --to $to -o "none.$to"
        converted
        [[ $stderr = *": add_bos is left out: "* ]]
    done
    # a run keeps it
    printf 'ab ab %.0s' {1..300} | tg-tokenize -m m.npz | tg-train -q -m m.npz -n 1
    tg-info m.npz | tr -s ' \n' ' ' | grep -q 'add_bos 1 '
}

@test "a damaged config/add_bos is refused" {
    slow_unless_sanitized
    tg-init -q -t bytes --n-layer 1 --n-embd 8 --n-head 1 --n-ctx 16 -o small.npz
    with_add_bos() {
        python3 - "$@" << 'END'
import struct, sys, zipfile
def npy(value):
    header = "{'descr': '<i8', 'fortran_order': False, 'shape': (), }".ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<q", value)
with zipfile.ZipFile("small.npz") as a, zipfile.ZipFile("made.npz", "w") as b:
    for name in a.namelist():
        b.writestr(name, a.read(name))
        if name == "config/head_bias.npy":
            for extra in sys.argv[1:]:
                key, value = extra.split("=")
                b.writestr(f"config/{key}.npy", npy(int(value)))
END
    }
    with_add_bos bos_token_id=7 add_bos=1
    [[ $(ids_of -m made.npz -p a) = '7 97 ' ]]
    run -0 --separate-stderr tg-convert made.npz --to hf -o made # it is no special token
    converted
    [[ $stderr = *'made: tokenizer.json does not say that token 7 begins texts'* ]]
    with_add_bos bos_token_id=7 add_bos=0
    [[ $(ids_of -m made.npz -p a) = '97 ' ]]
    with_add_bos bos_token_id=7 add_bos=2
    run -1 --separate-stderr tg-attn-dump -m made.npz -p a
    said 'config/add_bos must be 0 or 1, got 2'
    with_add_bos add_bos=1
    run -1 --separate-stderr tg-attn-dump -m made.npz -p a
    said 'config/add_bos is 1, but config/bos_token_id is missing'
}

@test "tg-tokenize --bos: before each document, not before one without text" {
    ids() { tg-tokenize -t tokenizer.json --ids "$@" | tr '\n' ' '; }
    printf 'ab' > a
    printf 'a' > b
    : > none
    [[ $(ids --bos a none b) = '1 259 263 1 259 ' ]]
    [[ $(ids --bos --eot a none b) = '1 259 263 2 1 259 2 ' ]]
    [[ $(printf '\0ab\0\0a' | ids --bos --null) = '1 259 263 1 259 ' ]]
    [[ $(printf 'ab\n--\na\n-' | ids --bos --separator --) = '1 259 263 13 1 259 13 48 ' ]]
    [[ $(printf -- '-' | ids --bos --separator --) = '1 261 48 ' ]] # what was held back
    [[ $(printf 'ab' | tg-tokenize -t tokenizer.json --bos --offsets --no-header) = $'1\t0\t0\t<s>\n259\t0\t1\t a\n263\t1\t2\tb' ]]
    [[ $(tg-tokenize -t tokenizer.json --bos -c a none b 2> said) = 5 ]]
    tg-tokenize -t tokenizer.json --bos a > tokens.npz
    cmp <(tg-attn-dump -m model.npz < tokens.npz) <(tg-attn-dump -m model.npz --bos < a)
    run -2 --separate-stderr tg-tokenize --bos a
    said 'tokenizer "bytes" has no token that begins a text for --bos'
    run -2 --separate-stderr tg-tokenize -d --bos tokens.npz
    said '--bos applies only to encoding: it cannot be combined with --decode'
}
