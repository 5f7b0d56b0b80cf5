# How tg-attn-dump shows tokens that are not bytes: ids, texts, columns.

load helper

acute=$'\xcc\x81' joiner=$'\xe2\x80\x8d' blank=$'\xc2\xa0' thumb=$'\xf0\x9f\x91\x8d' skin=$'\xf0\x9f\x8f\xbd'
zhong=$'\xe4\xb8\xad'

# A model whose vocabulary has all that is hard to show, and tokens.npz, a text of these.
setup_file() {
    tg_fixtures
    local long texts special=()
    long=$(printf 'long%.0s' {1..20})
    texts=(the " the" $'\n\n' "$zhong$zhong" "$thumb$joiner$thumb" "$thumb$skin" "e$acute" $'\xc3\xa9' "$blank"
        "$acute" $'\xe2\x80\xaeabc\xe2\x80\xac' "$long" "${long}er" 
        "$zhong$zhong$zhong$zhong$zhong$zhong$zhong$zhong$zhong$zhong$zhong$zhong" '"' '\x41')
    for text in "${texts[@]}"; do
        special+=(--special "$text")
    done
    printf 'x' | tg-bpe -n 280 "${special[@]}" --min-count 1 -o bpe.npz 2> /dev/null
    tg-init --n-layer 2 --n-head 2 --n-embd 8 --n-ctx 64 -t bpe.npz -o model.npz 2> /dev/null
    { printf '%s' "${texts[@]}"; printf 'A\xe4\xb8 \x1b'; } > text
    tg-tokenize -t bpe.npz --special text > tokens.npz
    head -c 12 text > bytes
    tg-init --n-layer 1 --n-head 2 --n-embd 8 --n-ctx 64 -o bytes.npz 2> /dev/null
}

setup() {
    tg_setup
    cp "$FIXTURES"/{model,bytes,tokens}.npz "$FIXTURES"/{text,bytes} .
}

# columns_before_last_text FILE: the columns that a terminal uses before the last text of each line.
columns_before_last_text() {
    python3 -c '
import sys, unicodedata
for line in open(sys.argv[1], encoding="utf8"):
    if line[0] == "#" or "\"" not in line:
        continue
    before = line[:line.rstrip("\n")[:-1].rindex(" \"")]
    print(sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in before))
' "$1"
}

@test "--pieces: ids, and texts that hide nothing" {
    tg-attn-dump --pieces < tokens.npz > got
    cat > want << END
256 "the"
257 " the"
258 "\\n\\n"
259 "$zhong$zhong"
260 "$thumb\\u200D$thumb"
261 "$thumb\\U0001F3FD"
262 "e$acute"
END
    sed -n 's/^ *[0-9]* *\([0-9]*\) *[0-9]* *[0-9]* /\1 /p' got > texts
    head -n 7 texts | diff want -
    sed -n 9,11p texts | diff <(printf '%s\n' '264 "\u00A0"' '265 "\u0301"' '266 "\u202Eabc\u202C"') -
    sed -n 15,20p texts | diff <(printf '%s\n' '270 """' '271 "\\x41"' '65 "A"' '228 "\xE4"' '184 "\xB8"' '32 " "') -
    # bytes of no character are parts of none
    run -1 grep -q 'part of' got
    [[ $(LC_ALL=C grep -c '[[:cntrl:]]' got) = 0 ]]
}

@test "--pieces: the character that a token is a part of" {
    printf 'x' | tg-bpe -n 258 --special $'\xad\xe4' --special $'\x80\x8d' -o v.npz 2> /dev/null
    tg-init --n-layer 1 --n-head 1 --n-embd 8 --n-ctx 64 -t v.npz -o m.npz 2> /dev/null
    printf '%s' $'a\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xe2\x80\x8d' | tg-tokenize -t v.npz --special > t.npz
    tg-attn-dump -m m.npz --pieces < t.npz | sed '1,2d; s/^ *[0-9]* *[0-9]* *[0-9]* *[0-9]* //' > got
    diff - got << END
"a"
"\xE4" part of $zhong
"\xB8" part of $zhong
"\xAD\xE4" part of $zhong and $zhong
"\xB8" part of $zhong
"\xAD\xE4" part of $zhong
"\xB8"
"\xE2" part of \u200D
"\x80\x8D" part of \u200D
END
    tg-attn-dump -m m.npz --pieces -f tsv < t.npz > table
    run -1 grep 'part of' table
    tg-attn-dump -m bytes.npz --pieces < bytes > got
    run -1 grep 'part of' got
}

@test "records have texts and ids, and no terminal's commands" {
    slow_unless_sanitized
    need python3
    tg-attn-dump --pieces -f jsonl < tokens.npz > pieces
    tg-attn-dump --summary -f jsonl < tokens.npz > summary
    tg-attn-dump --summary -f tsv < tokens.npz > summary.tsv
    tg-attn-dump -o dump.npz < tokens.npz
    need_numpy
    python3 -c '
import json, numpy
pieces = [json.loads(line) for line in open("pieces", encoding="utf8")]
for line in open("summary", encoding="utf8"):
    head = json.loads(line)
    for at in "ij":
        assert (head["id_" + at], head["token_" + at]) == (pieces[head[at]]["id"], pieces[head[at]]["text"])
for line in list(open("summary.tsv", encoding="utf8"))[1:]:
    v = line.rstrip("\n").split("\t")
    assert [int(v[14]), v[12]] == [pieces[int(v[9])][x] for x in ("id", "text")]
dump = numpy.load("dump.npz")
assert [bytes(t).decode() for t in dump["dump/text"]] == [p["text"] for p in pieces]
assert dump["dump/ids"].tolist() == [p["id"] for p in pieces]
for p in pieces:
    assert p["text"].isprintable() and "\u200d" not in p["text"]
'
    tg-attn-dump --check dump.npz > checked
    grep -q '^dump/text \[21\]: 21, all equal' checked
}

@test "lines stay aligned, whatever the tokens" {
    need python3
    tg-attn-dump --head 0 --layer 0 < tokens.npz > rows
    tg-attn-dump --summary < tokens.npz > summary
    for file in rows summary; do
        [[ $(columns_before_last_text $file | sort -u | wc -l) = 1 ]]
    done
    # the titles stand over their columns
    grep -m 1 '^#l h' rows | grep -q ' prob  id token i  *id token j$'
    grep '^# layer head' summary | grep -q ' prob  id token i  *id token j$'
    grep -q ' 268 "longlonglonglongl…"' rows
    grep -q " 269 \"$zhong$zhong$zhong$zhong$zhong$zhong$zhong$zhong…\"" rows
    tg-attn-dump --stage q --head 0 --query 1 < tokens.npz > stage
    grep -q '^#l h b  t d offset        value  id token$' stage
    [[ $(tail -n 1 stage) = *' 257 " the"' ]]
}

@test "two texts that look alike: their ids" {
    tg-attn-dump --head 0 --layer 0 --query 12 < tokens.npz > rows
    grep -q ' 268 "longlonglonglongl…"  *267 "longlonglonglongl…"$' rows
    tg-attn-dump --trace 0,0,12,11 < tokens.npz > trace
    grep -qx '# query i = 12 "longlonglonglongl…" (id 268), key j = 11 "longlonglonglongl…" (id 267)' trace
    tg-attn-dump --trace 0,0,12,11 --backward --target-id 265 < tokens.npz | grep -q 'target = 265 "\\u0301"$'
}

@test "bytes tell their ids" {
    tg-attn-dump -m bytes.npz --summary < bytes | grep -q ' prob tokens i,j$'
    tg-attn-dump -m bytes.npz < bytes | grep -q '^#l h b .* prob tokens i,j$'
    tg-attn-dump -m bytes.npz --stage k < bytes | grep -q ' value token$'
}
