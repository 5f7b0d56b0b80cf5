# Vocabularies in files of other projects: read, written, damaged and hostile; and the judges.

load helper

setup_file() {
    tg_environment || return 1
}

# refused FILE TEXT [OPTION]...: exit 1, one line with the file's name and TEXT, in 600 MB and 20 s of a processor.
refused() {
    local limit='ulimit -v 600000 -t 20; '
    [[ $BUILD != *asan* ]] || limit= # the sanitizers need more
    run -1 --separate-stderr timeout 600 bash -c "$limit"'exec tg-tokenize -t "$@" text' - "$1" "${@:3}"
    said "$1: "
    said "$2"
}

# a .tiktoken file of all bytes, and the lines of standard input
ranks() {
    local i
    for i in {0..255}; do
        printf "\\x$(printf %x "$i")" | base64 | tr '\n' ' '
        echo "$i"
    done
    cat
}

# A tokenizer.json: added tokens, pre_tokenizer, vocab, merges.
json() {
    printf '{"added_tokens": [%s], "pre_tokenizer": %s, "model": {"vocab": {%s}, "merges": [%s]}}' "$@"
}

LEVEL='{"type": "ByteLevel", "add_prefix_space": false}'

@test "the same vocabulary in every form gives the same tokens" {
    make_text 5000 > text
    tg-bpe -n 400 -o bpe.npz text
    tg-tokenize -t bpe.npz --to tokenizer.json > tokenizer.json
    tg-tokenize -t bpe.npz --to tiktoken > x.tiktoken
    tg-tokenize -t bpe.npz --ids text > want
    tg-tokenize -t tokenizer.json --ids text | cmp - want
    tg-tokenize -t . --ids text | cmp - want
    tg-tokenize -t x.tiktoken --pattern gpt2 --ids text | cmp - want
    tg-tokenize -t tokenizer.json --to npz | cmp - bpe.npz
    tg-tokenize -t /dev/stdin --ids text < tokenizer.json | cmp - want
    cat tokenizer.json | tg-tokenize -t /dev/stdin --ids text | cmp - want
    need python3
    python3 -c '
import json
t = json.load(open("tokenizer.json"))
json.dump(t["model"]["vocab"], open("vocab.json", "w"))
open("merges.txt", "w", encoding="utf-8").write("#version: 0.2\n" + "\n".join(t["model"]["merges"]) + "\n")'
    tg-tokenize -t vocab.json --ids text | cmp - want
    tg-tokenize -t merges.txt --ids text | cmp - want
    tg-tokenize -t vocab.json --to npz | cmp - bpe.npz
}

@test "damaged vocabularies: exit 1 and one line" {
    slow
    echo text > text
    printf 'a b\nab' > merges.txt
    refused merges.txt 'line 2: expected two halves of a merge separated by a space, got "ab"'
    printf 'a b\nc abc\n' > merges.txt
    refused merges.txt 'line 2: "abc", half of a merge, is not in the vocabulary'
    printf 'a b\nb c\nab c\na bc\n' > merges.txt
    refused merges.txt 'tokens 258 and 259 are both "abc"'
    rm merges.txt
    json '' '{"type": "Metaspace"}' '"a": 0' '' > tokenizer.json
    refused tokenizer.json 'pre_tokenizer "Metaspace" is not supported'
    json '' "$LEVEL" '"a": 0, "b": 0' '' > tokenizer.json
    refused tokenizer.json 'id 0 is given to "a" and to "b"'
    json '' "$LEVEL" '"a": 0, "b": 2147483648' '' > tokenizer.json
    refused tokenizer.json 'token "b" has id 2147483648, expected one below 4194304'
    json '' "$LEVEL" '"a": 0, "b": 1' '"a b"' > tokenizer.json
    refused tokenizer.json '"ab", which a merge of "a" makes, is not in the vocabulary'
    json '' "$LEVEL" '"a": 0, "b": 1' '"a b"' | head -c 60 > tokenizer.json
    refused tokenizer.json 'the text ends'
    ranks <<< 'YWI 300' > x.tiktoken
    refused x.tiktoken 'line 257: "YWI" is not base64' --pattern gpt2
    ranks <<< 'YWI= 255' > x.tiktoken
    refused x.tiktoken 'id 255 is given to "\xFF" and to "ab"' --pattern gpt2
    run -2 --separate-stderr tg-tokenize -t x.tiktoken text
    said 'x.tiktoken: a .tiktoken file needs a rule for splitting'
}

@test "a cycle of merges, missing halves and foreign ids in an archive" {
    slow
    need_numpy
    make_text > text
    tg-bpe -n 260 --special '' -o good.npz text
    broken() {
        python3 -c '
import numpy as np, sys
z = dict(np.load("good.npz"))
m = z["tokenizer/merges"]
exec(sys.argv[1])
np.savez("bad.npz", **z)' "$1"
        refused bad.npz "$2"
    }
    broken 'm[0] = [256, 256]' 'merge 0: tokens 256 and 256 together are not a token'
    broken 'm[0] = [4000000000, 1]' 'merge 0: its left half is token 4000000000'
    broken 'm[1] = m[0]' 'merge'
    broken 'z["tokenizer/ends"][7] = 0' 'token 7 ends at 0'
    broken 'z["tokenizer/ends"] = z["tokenizer/ends"][:-1]' 'vocab_size is 26'
    broken 'z["tokenizer/split"] = np.bytes_("words")' 'tokenizer/split is "words"'
    broken 'z["tokenizer/special"] = np.array([9, 9], "u4")' 'special token 9 comes after 9'
}

@test "hostile vocabularies: bounded memory and time" {
    slow
    need_plain_build
    echo text > text
    truncate -s 1G zeros
    refused zeros 'not a tokenizer'
    { echo; head -c 600 /dev/zero | tr '\0' a; } > line
    truncate -s 1G line
    refused line 'bytes, expected at most 268435456'
    refused <(yes aaaaaaaaaaaaaaa | tr -d '\n' | head -c 1G 2> /dev/null) 'the input has more than'
    head -c 1000000 /dev/zero | tr '\0' '[' > tokenizer.json
    sed -i '1s/^/{"a":/' tokenizer.json
    refused tokenizer.json 'more than 64 nested arrays and objects'
    { head -c 5000000 /dev/zero | tr '\0' a; echo ' b'; } > merges.txt
    refused merges.txt 'line 1: "aaaaaaaa'
    { head -c 5000000 /dev/zero | tr '\0' A; echo ' 300'; } | ranks > x.tiktoken
    refused x.tiktoken 'line 257: a token has 5000000 characters in base64' --pattern gpt2
    { printf '{"pre_tokenizer": %s, "model": {"vocab": {"a": 0}, "merges": []}, "added_tokens": [' "$LEVEL"
      seq 1 999999 | sed 's/.*/{"id": &, "content": "<&>"},/'
      printf '{"id": 1000000, "content": "<%s>"}]}' 1000000; } > many.json
    sed 's/<1000000>/<7>/' many.json > tokenizer.json
    refused tokenizer.json 'tokens 6 and 999999 are both "<7>"'
    run -0 --separate-stderr bash -c 'ulimit -v 600000; printf "a<1000000>" | exec tg-tokenize -t many.json --special --ids'
    is_output "0
1000000"
}

@test "tokenizers and tiktoken read what tg writes, and tg what they write" {
    slow
    need_judge tiktoken
    need_judge tokenizers
    need_data tinyshakespeare.txt
    if soak; then cp "$DATA" text; else head -c 60000 "$DATA" > text; fi
    need_data gpt2
    run -0 "$TG_JUDGE_PYTHON" "$ROOT/tests/judges/vocab_file.py" tg-tokenize "$DATA" text
}
