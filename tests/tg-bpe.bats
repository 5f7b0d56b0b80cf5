load helper

words='low low low lower lower newest newest newest widest'

# ---- what is learned

@test "merges: the most frequent pair, of equal ones that with the smallest ids" {
    run_pipe 0 "printf '$words' | tg-bpe -n 262 --special '' --trace -f tsv"
    is_output "$(printf '%s\t' step left right count id left_text right_text; echo text
        printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' \
            1 108 111 5 256 l o lo \
            2 119 101 5 257 w e we \
            3 32 256 4 258 ' ' lo ' lo' \
            4 115 116 4 259 s t st \
            5 32 110 3 260 ' ' n ' n' \
            6 101 257 3 261 e we ewe)"
}

@test "\"aaa\" has the pair a a twice, and it is merged from the left" {
    run_pipe 0 "printf aaa | tg-bpe -n 300 --special '' --trace"
    [[ $output = *'        2    97    97  "a" "a"'* ]]
    [[ $output = *'        1  "aa" "a"'* ]]
}

@test "ids: the bytes, the merges, the special tokens" {
    slow
    printf 'abababab' > text
    tg-bpe -n 260 --split none --special '<|a|>' --special '<|b|>' -o bpe.npz text
    run -0 scalars bpe.npz kind version tokenizer/kind tokenizer/vocab_size tokenizer/split
    is_output "tokenizer
1
bpe
260
none"
    printf 'abababab' | tg-tokenize -t bpe.npz -o t.npz
    [[ $(tg-tokenize -c t.npz) = 2 ]]
    tg-tokenize -d t.npz | cmp - text
    need_numpy
    run -0 python3 -c '
import numpy as np
z = np.load("bpe.npz")
print(z["tokenizer/merges"].tolist(), z["tokenizer/special"].tolist())
ends, tokens = z["tokenizer/ends"], bytes(z["tokenizer/tokens"])
print([tokens[a:b] for a, b in zip(ends[255:], ends[256:])])
'
    is_output "[[97, 98], [256, 256]] [258, 259]
[b'ab', b'abab', b'<|a|>', b'<|b|>']"
}

@test "a special token by default, none with ''" {
    make_text > text
    tg-bpe -n 257 text | tg-tokenize -t /dev/stdin -c text
    tg-bpe -n 257 -o a.npz text
    tg-bpe -n 257 --special '<|endoftext|>' -o b.npz text
    cmp a.npz b.npz
    tg-bpe -n 256 --special '' -o c.npz text
    run -0 scalars c.npz tokenizer/vocab_size
    is_output 256
}

@test "the text comes back, whatever it is" {
    slow
    local split
    { make_all_bytes; make_text 3000; make_all_bytes; printf '\xe4\xb8\xad\xe6\x96\x87 don'\''t \xff'; } > text
    for split in none gpt2 gpt2-digits cl100k llama3 qwen2 o200k; do
        tg-bpe -n 400 --split "$split" -o bpe.npz text
        tg-tokenize -t bpe.npz text | tg-tokenize -d | cmp - text
        run -0 scalars bpe.npz tokenizer/split
        is_output "$split"
    done
}

@test "tokens do not cross the borders of pieces" {
    printf 'a b a b a b a b a b' > text
    run -0 --separate-stderr tg-bpe -n 300 --special '' --trace -f tsv text
    [[ ${#lines[@]} = 3 ]] # " a", " b"
    run -0 --separate-stderr tg-bpe -n 300 --special '' --trace -f tsv --split none text
    [[ ${#lines[@]} -gt 3 ]]
}

@test "--min-count" {
    printf 'ab ab ab cd cd e' > text
    for n in 1 2 3 4; do
        run -0 --separate-stderr tg-bpe -n 300 --special '' --min-count $n --trace -f tsv text
        [[ $(cut -f 4 <<< "$output" | tail -n +2 | sort -n | head -n 1) -ge $n || $n = 4 ]]
    done
    [[ ${#lines[@]} = 1 ]]
    [[ ${stderr_lines[0]} = "tg-bpe: only 256 of 300 ids: no further pair occurs at least 4 times" ]]
}

# ---- what changes nothing

@test "neither threads nor the way the text arrives change the vocabulary" {
    slow
    local threads
    make_text 3000000 > text
    tg-bpe -n 2000 --threads 1 -o want.npz text
    for threads in 2 3 5; do
        tg-bpe -n 2000 --threads $threads -o got.npz text
        cmp want.npz got.npz
    done
    { head -c 7 text; sleep 0.1; tail -c +8 text | head -c 1500000; sleep 0.1; tail -c +1500008 text; } |
        tg-bpe -n 2000 > got.npz
    cmp want.npz got.npz
    head -c 100001 text > a
    tail -c +100002 text > b
    tg-bpe -n 2000 a - < b > got.npz
    cmp want.npz got.npz
}

@test "a trace changes nothing" {
    make_text 20000 > text
    tg-bpe -n 400 -o want.npz text
    tg-bpe -n 400 --trace -o got.npz text > trace
    cmp want.npz got.npz
    [[ $(grep -c '^# step' trace) = 143 ]]
    tg-bpe -n 400 --trace -f tsv -o got.npz text > trace
    cmp want.npz got.npz
    [[ $(wc -l < trace) = 144 ]]
}

@test "memory does not grow with the text" {
    slow
    need_plain_build
    make_text 100000 > part
    run -0 bash -c 'ulimit -v 300000; yes "$(cat part)" | head -c 400000000 |
        tg-bpe -n 300 --threads 2 -o bpe.npz && tg-tokenize -t bpe.npz -c part'
}

@test "long pieces take no longer than short ones" {
    slow
    need_plain_build
    # quadratic time would be hours
    head -c 3000000 /dev/zero | tr '\0' a > letters
    (ulimit -t 60 && tg-bpe -n 300 -o a.npz letters)
    make_text 3000000 > text
    (ulimit -t 60 && tg-bpe -n 2000 --split none -o b.npz text)
    tg-tokenize -t b.npz text | tg-tokenize -d | cmp - text
}

# ---- the trace

@test "--trace shows every pair and every piece" {
    run_pipe 0 "printf '$words' | tg-bpe -n 257 --special '' --trace"
    is_output '# 51 bytes, 9 pieces, 5 distinct
#   count  piece
        3  " " "n" "e" "w" "e" "s" "t"
        2  " " "l" "o" "w"
        2  " " "l" "o" "w" "e" "r"
        1  " " "w" "i" "d" "e" "s" "t"
        1  "l" "o" "w"

# step 1
#   count  left right  pair
        5   108   111  "l" "o"
        5   111   119  "o" "w"
        5   119   101  "w" "e"
        4    32   108  " " "l"
        4   101   115  "e" "s"
        4   115   116  "s" "t"
        3    32   110  " " "n"
        3   101   119  "e" "w"
        3   110   101  "n" "e"
        2   101   114  "e" "r"
        1    32   119  " " "w"
        1   100   101  "d" "e"
        1   105   100  "i" "d"
        1   119   105  "w" "i"
"l" "o" occurs 5 times: id 256 is "lo"
#   count  piece
        3  " " "n" "e" "w" "e" "s" "t"
        2  " " "lo" "w"
        2  " " "lo" "w" "e" "r"
        1  " " "w" "i" "d" "e" "s" "t"
        1  "lo" "w"

# the end: the vocabulary is complete'
}

@test "--rows limits what a step shows" {
    run_pipe 0 "printf '$words' | tg-bpe -n 257 --special '' --trace --rows 2"
    is_output '# 51 bytes, 9 pieces, 5 distinct
#   count  piece
        3  " " "n" "e" "w" "e" "s" "t"
        2  " " "l" "o" "w"
# and 3 more pieces

# step 1
#   count  left right  pair
        5   108   111  "l" "o"
        5   111   119  "o" "w"
# other pairs at most 5 times
"l" "o" occurs 5 times: id 256 is "lo"
#   count  piece
        3  " " "n" "e" "w" "e" "s" "t"
        2  " " "lo" "w"
# and 3 more pieces

# the end: the vocabulary is complete'
    run_pipe 0 "printf '$words' | tg-bpe -n 257 --special '' --trace --rows 0"
    is_output '# 51 bytes, 9 pieces, 5 distinct

# step 1
"l" "o" occurs 5 times: id 256 is "lo"

# the end: the vocabulary is complete'
}

@test "the end of a trace: no pair is left, or they are too rare" {
    run_pipe 0 "printf 'abab c' | tg-bpe -n 300 --special '' --trace"
    [[ ${lines[-1]} = '        1   256   256  "ab" "ab"' || ${lines[-2]} = *'"ab" "ab"' ]]
    [[ $output = *"# the end: no pair occurs 2 times"* ]]
    run_pipe 0 "printf 'ab' | tg-bpe -n 300 --special '' --min-count 1 --trace"
    [[ ${lines[-1]} = "# the end: no pair occurs 1 time" ]]
}

@test "a trace is printable: control characters, half characters, backslashes, long tokens" {
    printf '\e\e\e\e \n\n\t\t \xff\xff \\\\ \\\\' > text
    run -0 --separate-stderr tg-bpe -n 262 --special '' --min-count 1 --split none --trace text
    [[ $output = *'"\x1B" "\x1B"'* && $output = *'\n'* && $output = *'\t'* && $output = *'\xFF'* ]]
    [[ $output != *$'\e'* && $output != *$'\t'* ]]
    head -c 5000 /dev/zero | tr '\0' a > text
    run -0 --separate-stderr tg-bpe -n 270 --special '' --trace text
    [[ $output = *'aaa…"'* ]]
    # a line has few columns, a table's field 256 bytes
    [[ $(awk 'length > most { most = length } END { print most }' <<< "$output") -le 260 ]] # three tokens
    run -0 --separate-stderr tg-bpe -n 270 --special '' --trace -f tsv text
    [[ $output = *'aaa…' && ${#lines[-1]} -gt 300 && ${#lines[-1]} -lt 800 ]]
    # joiners and other characters that would not be seen
    printf '\xe2\x80\x8d\xcc\x81%.0s' 1 2 3 4 5 6 7 8 > text
    run -0 --separate-stderr tg-bpe -n 270 --special '' --split none --trace text
    [[ $output = *' is "\u200D"'* && $output = *' is "\u200D\u0301"'* && $output != *$'\xe2\x80\x8d'* ]]
}

@test "a trace whose reader goes away, or whose disk is full" {
    make_text 50000 > text
    run -0 --separate-stderr bash -c 'tg-bpe --trace text | head -n 1'
    [[ ${lines[0]} = "# 50,000 bytes"* ]]
    need_dev_full
    run -3 --separate-stderr bash -c 'tg-bpe -n 300 --trace text > /dev/full'
    [[ ${stderr_lines[-1]} = *"standard output: "*"No space left on device" ]]
}

# ---- what is written

@test "--to: other projects' formats, and back" {
    local format
    make_text 20000 > text
    tg-bpe -n 500 -o bpe.npz text
    tg-tokenize -t bpe.npz -o want.npz text
    tg-bpe -n 500 --to tokenizer.json -o tokenizer.json text
    tg-tokenize -t tokenizer.json text | tg-tokenize -c > got
    tg-tokenize -c want.npz | cmp - got
    tg-bpe -n 500 --to tiktoken --special '' -o bpe.tiktoken text
    [[ $(wc -l < bpe.tiktoken) = 500 ]]
    tg-bpe -n 500 --to npz -o again.npz text
    cmp bpe.npz again.npz
}

@test "what was learned is said in one line, fewer ids in another" {
    printf 'abab' > text
    run -0 --separate-stderr tg-bpe -n 257 --special '' -o bpe.npz text
    said "tg-bpe: 257 ids: 256 bytes, 1 merge, 0 special tokens; learned from 4 bytes of text, 1 distinct piece, in "
    is_output ""
    run -0 --separate-stderr tg-bpe -n 300 -o bpe.npz text
    [[ ${#stderr_lines[@]} = 2 ]]
    [[ ${stderr_lines[0]} = "tg-bpe: only 258 of 300 ids: no further pair occurs at least 2 times" ]]
    [[ ${stderr_lines[1]} = "tg-bpe: 258 ids: 256 bytes, 1 merge, 1 special token; "* ]]
}

@test "no token is longer than 65,536 bytes" {
    slow
    head -c 1000000 /dev/zero | tr '\0' a > text
    run -0 --separate-stderr tg-bpe -n 300 --special '' --trace -f tsv --split none text
    [[ ${#lines[@]} -ge 17 ]]
    [[ ${stderr_lines[0]} = *"no further pair occurs at least 2 times, except "*" longer than 65,536 bytes" ]]
    tg-bpe -n 300 -o bpe.npz --split none text
    [[ $(tg-tokenize -t bpe.npz -c text) -le 32 ]]
}

@test "an archive is not written to a terminal, JSON is" {
    make_text > text
    run -2 on_terminal "tg-bpe text"
    [[ $output = *"the data is binary, and this is a terminal: use -o FILE, > FILE or a pipe"* ]]
    run -0 on_terminal "tg-bpe -n 257 --to tokenizer.json text"
    [[ $output = *'"version"'* ]]
}

# ---- errors

@test "empty text is an error and leaves no file" {
    run -1 --separate-stderr tg-bpe < /dev/null
    is_output ""
    said "tg-bpe: standard input: the text is empty, expected at least one byte"
    : > a
    run -1 --separate-stderr tg-bpe -o bpe.npz a a
    said "tg-bpe: all files: the text is empty, expected at least one byte"
    run -0 ls -A
    is_output a
}

@test "a missing file, a directory, a full disk" {
    mkdir dir
    run -3 --separate-stderr tg-bpe missing
    said "tg-bpe: missing: No such file or directory"
    run -3 --separate-stderr tg-bpe dir
    said "tg-bpe: dir: Is a directory"
    need_dev_full
    make_text > text
    run -3 --separate-stderr bash -c 'tg-bpe -n 300 text > /dev/full'
    [[ ${stderr_lines[-1]} = "tg-bpe: standard output: "*"No space left on device" ]]
}

@test "a failure leaves the old file as it was" {
    echo precious > bpe.npz
    make_text > text
    run -3 --separate-stderr tg-bpe --force -o bpe.npz text missing
    [[ $(< bpe.npz) = precious ]]
}

@test "a vocabulary too small or too large is refused before the text is read" {
    local n
    for n in 0 255 4194305; do
        run -2 --separate-stderr tg-bpe -n $n missing
        said "--vocab-size must be between 256 and 4194304, got $n"
    done
    run -2 --separate-stderr tg-bpe -n 256 missing
    said "tg-bpe: a vocabulary of 256 ids is too small: 256 bytes and 1 special token need 257"
    run -2 --separate-stderr tg-bpe -n 257 --special a --special b missing
    said "256 bytes and 2 special tokens need 258"
}

@test "special tokens: twice, empty, too many" {
    local i args=()
    run -2 --separate-stderr tg-bpe --special a --special b --special a missing
    said "tg-bpe: special token a is given twice"
    run -2 --separate-stderr tg-bpe --special a --special '' missing
    said "tg-bpe: special token 2 is empty, expected at least one byte"
    for i in {1..65}; do args+=(--special "$i"); done
    run -2 --separate-stderr tg-bpe "${args[@]}" missing
    said "--special may be given at most 64 times"
}

@test "options that do not go together" {
    run -2 --separate-stderr tg-bpe --no-header
    said '--no-header goes with --trace'
    run -2 --separate-stderr tg-bpe -f tsv
    said "--format goes with --trace"
    run -2 --separate-stderr tg-bpe --rows 3
    said "--rows goes with --trace"
    run -2 --separate-stderr tg-bpe --trace -o -
    said "--trace prints to standard output: give -o a FILE for the vocabulary"
    run -2 --separate-stderr tg-bpe --split words
    said "--split must be one of none|gpt2|gpt2-digits|cl100k|llama3|qwen2|o200k, got 'words'"
}

# ---- judges

@test "rustbpe and tokenizers learn the same" {
    slow
    need_judge rustbpe
    need_judge tokenizers
    local most=400 n=450
    if soak; then most=1500 n=700; fi
    make_text 60000 > text
    cat "$ROOT"/docs/*.md | head -n $most >> text # whole lines: they want UTF-8
    run -0 "$TG_JUDGE_PYTHON" "$ROOT/tests/judges/learn.py" tg-bpe text $n
    [[ ${lines[0]} = "rustbpe: the same $n tokens" ]]
    [[ ${lines[2]} = "tokenizers: $((n - 256)) merges, each of a most frequent pair" ]]
    [[ ${lines[3]} = "tg-bpe: $((n - 256)) merges, each of a most frequent pair" ]]
}

@test "--trace as JSON lines: the columns of the table, which may have no titles" {
    need python3
    printf 'a "b" a "b" a\\b a\\b a "b"' > text
    tg-bpe -q -n 268 --special '' --trace -f tsv text > trace.tsv 2> /dev/null
    tg-bpe -q -n 268 --special '' --trace --json text > trace.jsonl 2> /dev/null
    python3 -c '
import json
keys, *rows = [line.rstrip("\n").split("\t") for line in open("trace.tsv", newline="\n")]
lines = [json.loads(line) for line in open("trace.jsonl")]
assert len(lines) == len(rows) >= 2
for line, row in zip(lines, rows):
    assert list(line) == keys
    assert [str(value).replace("\"", "\\x22") for value in line.values()] == row
assert any("\"" in line["text"] for line in lines)'
    tg-bpe -q -n 268 --special '' --trace --tsv --no-header text 2> /dev/null | cmp - <(sed 1d trace.tsv)
}
