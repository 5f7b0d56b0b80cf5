# tg-tokenize with other tokenizers than bytes, what it prints of them, and documents; then the other
# tools with their tokens.

load helper

setup_file() {
    tg_fixtures
    small_bpe > bpe.lines
    npz bpe.npz < bpe.lines
    sed '/normalizer/s/none/nfc/' bpe.lines | npz nfc.npz
    for i in {1..300}; do echo "the cat $i and the other 那只猫, naïve 😀"; done > text
    tg-tokenize -t char text > char-tokens.npz
    tg-train -n 20 -b 2 --context 8 -m char.npz char-tokens.npz 2> char.said
    tg-tokenize -t bpe.npz text > tokens.npz
    tg-train -n 20 -b 2 --context 8 -m model.npz tokens.npz 2> model.said
}

setup() {
    tg_setup
    cp "$FIXTURES"/* .
}

# A tokenizer's archive, for npz: the bytes; 256 th, 257 the, 258 " the", and a special token, 259.
small_bpe() {
    local i bytes=
    for i in {0..255}; do bytes+=" $i"; done
    printf '%s\n' "kind S - tokenizer" "version i8 - 1" "tokenizer/kind S - bpe" "tokenizer/vocab_size i8 - 260" \
        "tokenizer/split S - gpt2" "tokenizer/normalizer S - none" "tokenizer/whole_pieces i8 - 0" \
        "tokenizer/ends u4 260$(printf ' %d' {1..256} 258 261 265 278)" \
        "tokenizer/tokens u1 278$bytes 116 104 116 104 101 32 116 104 101 60 124 101 110 100 111 102 116 101 120 116 124 62" \
        "tokenizer/merges u4 3,2 116 104 256 101 32 257" "tokenizer/special u4 1 259"
}

# The same with the added tokens 260, two spaces, and 261, <t>.
added_bpe() {
    small_bpe | sed -e 's/260$/262/' -e 's/ends u4 260\(.*\)/ends u4 262\1 280 283/' \
        -e 's/tokens u1 278\(.*\)/tokens u1 283\1 32 32 60 116 62/'
    echo "tokenizer/added u4 2 260 261"
}

# ---- characters

@test "-t char: the ids are the characters in order, from a file, twice, or a pipe" {
    printf 'ba\n中a😀\xff\x00é' > odd
    run -0 --separate-stderr tg-tokenize -t char --ids odd
    is_output "3
2
1
5
2
6
7
0
4"
    tg-tokenize -t char odd > want.npz
    tg-tokenize -d want.npz | cmp - odd
    tg-tokenize -t char < odd | cmp - want.npz
    cat odd | tg-tokenize -t char | cmp - want.npz
    { dd bs=3 count=1 of=/dev/null status=none; tg-tokenize -t char; } < odd > rest.npz
    tg-tokenize -d rest.npz | cmp - <(tail -c +4 odd)
    mkfifo fifo
    cat odd > fifo &
    tg-tokenize -t char fifo | cmp - want.npz
    wait
    run -0 scalars want.npz tokenizer/kind tokenizer/vocab_size
    is_output "char
8"
}

@test "-t char: FILEs of both kinds are one text, and a character may span them" {
    printf 'a\xe4' > a
    printf '\xb8\xadb' > c
    tg-tokenize -t char a c > want.npz
    tg-tokenize -t char a - < c | cmp - want.npz
    cat c | tg-tokenize -t char a - | cmp - want.npz
    run -0 --separate-stderr tg-tokenize -c want.npz
    is_output 3
}

@test "-t char: the temporary copy goes to TMPDIR, has no name, and is reported when it fails" {
    need_dev_full
    mkdir tmp
    cat text | TMPDIR=$PWD/tmp tg-tokenize -t char | cmp - char-tokens.npz
    [[ -z $(ls -A tmp) ]]
    run -3 --separate-stderr bash -c 'cat text | TMPDIR=$PWD/missing tg-tokenize -t char'
    said "standard input: $PWD/missing: cannot create a temporary file: No such file or directory"
    [[ -z $output ]]
    make_text 100000 > long
    run_pipe 3 'ulimit -f 2; cat long | tg-tokenize -t char | cat'
    said "standard input: temporary copy: write failed after "
    # a regular file needs none
    TMPDIR=$PWD/missing tg-tokenize -t char text | cmp - char-tokens.npz
}

@test "a character that the vocabulary lacks is named, with its place" {
    run_pipe 1 'printf "the 狗" | tg-tokenize -t char.npz'
    said 'standard input: character "狗" (U+72D7) at offset 4 is not among the vocabulary'"'s 28"
    [[ -z $output ]]
    run_pipe 1 'printf "the\377" | tg-tokenize -t char.npz'
    said 'byte 0xFF at offset 3'
    run_pipe 1 'printf "the\007" | tg-tokenize -t char.npz --ids'
    said 'character U+0007 at offset 3'
    run -1 --separate-stderr tg-sample -m char.npz -p '狗'
    said 'character "狗" (U+72D7) at offset 0'
}

@test "-t char: no text, and no tokenizer without a text" {
    run -1 --separate-stderr tg-tokenize -t char /dev/null
    said "/dev/null: the text is empty, expected at least one character"
    run -2 --separate-stderr tg-tokenize -d -t char x.npz
    said '--decode needs -t FILE: a "char" tokenizer is built from a text'
    run -2 --separate-stderr tg-init -t char -o new.npz
    said 'tokenizer "char" is built from a text'
}

# ---- tokenizers from files

@test "-t FILE, -m MODEL: the same tokens, and decoding needs neither" {
    slow_unless_sanitized
    tg-tokenize -m model.npz text | cmp - tokens.npz
    tg-tokenize -t tokens.npz text | cmp - tokens.npz
    tg-tokenize --tokenizer=model.npz < text | cmp - tokens.npz
    cat text | tg-tokenize -t bpe.npz | cmp - tokens.npz
    for n in 1 2 3; do
        cat text | tg-tokenize -t bpe.npz --threads $n | cmp - tokens.npz
    done
    tg-tokenize -d tokens.npz | cmp - text
    tg-tokenize -d -t bpe.npz tokens.npz | cmp - text
    make_all_bytes > bytes
    tg-tokenize -t bpe.npz bytes | tg-tokenize -d | cmp - bytes
}

@test "-d: tokens of another tokenizer than the one named are refused" {
    run -1 --separate-stderr tg-tokenize -d -t bpe.npz char-tokens.npz
    said 'char-tokens.npz: the tokens are of tokenizer "char" with 28 ids, expected "bpe" with 260 ids'
    run -1 --separate-stderr tg-tokenize -c -t bytes tokens.npz
    said 'the tokens are of tokenizer "bpe" with 260 ids, expected "bytes" with 256 ids'
    cat tokens.npz char-tokens.npz > both.npz
    run -1 --separate-stderr tg-tokenize --ids both.npz
    said 'the tokens are of tokenizer "char" with 28 ids, expected "bpe" with 260 ids'
}

@test "--to writes the tokenizer: npz, tokenizer.json and .tiktoken give the same tokens back" {
    tg-tokenize -t bpe.npz --to npz > again.npz
    tg-tokenize -t again.npz text | cmp - tokens.npz
    tg-tokenize -m model.npz --to tokenizer.json -o tokenizer.json
    tg-tokenize -t tokenizer.json --ids text | cmp - <(tg-tokenize --ids tokens.npz)
    tg-tokenize -t bpe.npz --to tiktoken > small.tiktoken
    [[ $(wc -l < small.tiktoken) = 259 ]]
    tg-tokenize -t small.tiktoken --pattern gpt2 --ids text | cmp - <(tg-tokenize --ids tokens.npz)
    run -2 --separate-stderr tg-tokenize -t small.tiktoken text
    [[ -z $output ]]
    tg-tokenize -t char --to npz text > chars.npz
    tg-tokenize -t chars.npz text | cmp - char-tokens.npz
    run -2 --separate-stderr tg-tokenize -t bpe.npz --to npz text
    said "--to writes the tokenizer that -t or -m names, and reads no FILE"
}

@test "what is no tokenizer" {
    run -1 --separate-stderr tg-tokenize -t text text
    said "text: "
    run -3 --separate-stderr tg-tokenize -t missing text
    said "missing: "
    run -3 --separate-stderr tg-tokenize -m missing text
    said "missing: "
    head -c 1000 bpe.npz > cut.npz
    run -1 --separate-stderr tg-tokenize -t cut.npz text
    said "cut.npz: "
    run -1 --separate-stderr tg-init -t cut.npz -o new.npz
    said "cut.npz: "
    [[ ! -e new.npz ]]
}

# ---- ids, pieces, offsets, numbers

@test "--ids, --pieces and --offsets, of text and of tokens" {
    printf 'the cat, the\t"\\n 中' > short
    tg-tokenize -t bpe.npz short > short.npz
    run -0 --separate-stderr tg-tokenize -t bpe.npz --pieces short
    is_output '"the"
" "
"c"
"a"
"t"
","
" the"
"\t"
"""
"\"
"n"
" "
"\xE4"
"\xB8"
"\xAD"'
    tg-tokenize --pieces short.npz | cmp - <(echo "$output")
    run -0 --separate-stderr tg-tokenize --offsets short.npz
    [[ ${lines[0]} = $'id\tfrom\tto\ttext' && ${lines[1]} = $'257\t0\t3\tthe' ]]
    [[ ${lines[7]} = $'258\t8\t12\t the' && ${lines[15]} = $'173\t19\t20\t\\xAD' ]]
    tg-tokenize --offsets -t bpe.npz < short | cmp - <(echo "$output")
    tg-tokenize --ids short.npz | cmp - <(cut -f 1 <<< "$output" | tail -n +2)
    # the ranges cut the text into the tokens
    while IFS=$'\t' read -r id from to _; do
        tail -c +$((from + 1)) short | head -c $((to - from)) > piece
        echo "$id" | tg-tokenize -d --ids -t bpe.npz | cmp - piece
    done < <(tail -n +2 <<< "$output")
    tg-tokenize --ids -o ids short.npz
    tg-tokenize -d --ids -m model.npz ids | cmp - short
}

@test "--offsets as JSON lines has what the table has" {
    need python3
    printf 'the cat, the\t"\\n 中\001 \\\\ ""' > short
    tg-tokenize -t bpe.npz --offsets short > table
    tg-tokenize -t bpe.npz --offsets --no-header --tsv short | cmp - <(tail -n +2 table)
    tg-tokenize -t bpe.npz --offsets --json short > lines
    tg-tokenize -t bpe.npz --offsets -f jsonl --no-header short | cmp - lines
    [[ $(head -n 1 lines) = '{"id":257,"from":0,"to":3,"text":"the"}' ]]
    python3 -c '
import json, sys
rows = [json.loads(line) for line in open("lines", encoding="utf-8")]
print("\t".join(rows[0]))
for row in rows:
    print(row["id"], row["from"], row["to"], row["text"].replace("\"", "\\x22"), sep="\t")' | cmp - table
    run -0 --separate-stderr tg-tokenize --offsets --json /dev/null
    is_output ''
    run -2 --separate-stderr tg-tokenize --ids --json short
    [[ ${stderr_lines[0]} = "tg-tokenize: --format goes with --offsets "* ]]
    run -2 --separate-stderr tg-tokenize --no-header short
    [[ ${stderr_lines[0]} = "tg-tokenize: --no-header goes with --offsets "* ]]
}

@test "--pieces: a backslash in a longer token is doubled, so that no two tokens look alike" {
    # 256 is backslash n, 257 two tabs
    sed -e 's|ends.*|ends u4 258'"$(printf ' %d' {1..256} 258 260)"'|' -e 's|vocab_size.*|vocab_size i8 - 258|' \
        -e "s|tokenizer/tokens.*|tokenizer/tokens u1 260$(printf ' %d' {0..255}) 92 110 9 9|" \
        -e 's|split S.*|split S - none|' -e 's|special.*|special u4 0|' -e 's|merges.*|merges u4 2,2 92 110 9 9|' bpe.lines | npz x.npz
    run -0 --separate-stderr bash -c "printf '\\\\n\n\t\t\\\\' | tg-tokenize -t x.npz --pieces"
    is_output '"\\n"
"\n"
"\t\t"
"\"'
}

@test "--pieces and --offsets: what would not be seen is an escape" {
    printf 'a\xE2\x80\x8D\xCC\x81' > joined # U+200D, and an accent on nothing
    run -0 --separate-stderr tg-tokenize -t char --pieces joined
    is_output '"a"
"\u200D"
"\u0301"'
    tg-tokenize -t char --offsets joined | cut -f 4 | sed -n 3p | grep -qxF '\u200D'
}

@test "lines of bytes and of nothing" {
    run -0 --separate-stderr bash -c 'printf "a\0" | tg-tokenize --offsets'
    is_output $'id\tfrom\tto\ttext\n97\t0\t1\ta\n0\t1\t2\t\\x00'
    run -0 --separate-stderr tg-tokenize --offsets /dev/null
    is_output $'id\tfrom\tto\ttext'
    run -0 --separate-stderr tg-tokenize --ids /dev/null
    is_output ""
    run -0 --separate-stderr tg-tokenize -c -t bpe.npz /dev/null
    is_output 0
}

@test "lines are written while the text is still arriving" {
    mkfifo in
    tg-tokenize -t bpe.npz --ids < in > out 3>&- &
    exec 5> in # opened once the reader's shell has opened it
    : >> out
    printf 'a b c d e f' >&5
    eventually has_bytes out 10
    exec 5>&-
    wait $!
    tg-tokenize -d --ids -t bpe.npz out > got
    printf 'a b c d e f' | cmp - got
}

@test "-c: the number, and for people bytes per token" {
    n=$(tg-tokenize --ids tokens.npz | wc -l)
    run -0 --separate-stderr tg-tokenize -c tokens.npz
    is_output "$n"
    said "bytes, $(awk -v t="$n" -v b="$(size text)" 'BEGIN { printf "%.3f", b / t }') bytes per token"
    run -0 --separate-stderr tg-tokenize -c -t bpe.npz text tokens.npz text
    is_output $((3 * n))
    run -0 --separate-stderr tg-tokenize -c text
    is_output "$(size text)"
    [[ -z $stderr ]]
}

@test "-d --ids: what is not an id" {
    local text
    for text in '12 x' '12 -1' '1.5' '0x10' '12,13'; do
        run_pipe 1 "printf 'the 1\n' > /dev/null; printf '65\n$text\n' | tg-tokenize -d --ids -t bpe.npz"
        said "standard input: line 2: '"
    done
    for text in 260 2147483648 99999999999999999999999999; do
        run_pipe 1 "printf '65\n$text' | tg-tokenize -d --ids -t bpe.npz"
        said "standard input: line 2: id ${text:0:10}"
        said "the vocabulary has 260 ids"
    done
    printf ' 65 \r\n\t66' > ids
    run -0 --separate-stderr tg-tokenize -d --ids -t bytes ids
    is_output AB
    run -2 --separate-stderr tg-tokenize -d --ids ids
    said "--decode --ids needs the ids' tokenizer"
}

@test "a text that the tokenizer changes: --offsets says so" {
    printf 'the caf\xc3\xa9' > composed
    printf 'the cafe\xcc\x81' > decomposed
    run -0 --separate-stderr tg-tokenize -t nfc.npz --offsets composed
    [[ -z $stderr ]]
    want=$output
    run -0 --separate-stderr tg-tokenize -t nfc.npz --offsets decomposed
    said "the tokens' texts differ from the text that was read: the offsets refer to the tokens' texts"
    is_output "$want"
    run -0 --separate-stderr tg-tokenize -t bpe.npz --offsets decomposed
    [[ -z $stderr ]]
}

# ---- special tokens and documents

@test "--special: the text of a special token is one only when asked for" {
    run_pipe 0 "printf 'a<|endoftext|>b' | tg-tokenize -t bpe.npz --ids --special"
    is_output "97
259
98"
    run_pipe 0 "printf 'a<|endoftext|>b' | tg-tokenize -t bpe.npz --ids"
    [[ ${#lines[@]} = 15 && $output != *259* ]]
    run_pipe 0 "printf 'a<|endoftext|>b' | tg-tokenize -t bpe.npz --special | tg-tokenize -d"
    is_output 'a<|endoftext|>b'
}

@test "added tokens are found in every text, before it is split" {
    slow_unless_sanitized
    local text='the  the<t> the   x<t<|endoftext|>'
    added_bpe | npz added.npz
    printf '%s' "$text" > part
    run -0 --separate-stderr tg-tokenize -t added.npz --pieces part
    is_output '"the"
"  "
"the"
"<t>"
" the"
"  "
" "
"x"
"<"
"t"
"<"
"|"
"e"
"n"
"d"
"o"
"f"
"t"
"e"
"x"
"t"
"|"
">"'
    run -0 --separate-stderr tg-tokenize -t added.npz --special --offsets --no-header part
    is_output "$(printf '%s\t%s\t%s\t%s\n' 257 0 3 the 260 3 5 '  ' 257 5 8 the 261 8 11 '<t>' 258 11 15 ' the' 260 15 17 '  ' \
        32 17 18 ' ' 120 18 19 x 60 19 20 '<' 116 20 21 t 259 21 34 '<|endoftext|>')"
    yes "$text"$'\n    <t>' | head -n 26000 > long
    tg-tokenize -t added.npz long | tg-tokenize -d | cmp - long
    tg-tokenize -t added.npz --threads 1 --ids long > want
    tg-tokenize -t added.npz --threads 2 --ids long | cmp - want
    dd if=long bs=97 status=none | tg-tokenize -t added.npz --ids | cmp - want
    # in other formats
    tg-tokenize -t added.npz --to tokenizer.json > tokenizer.json
    grep -q '"content": "  ", .*"normalized": false, "special": false}' tokenizer.json
    tg-tokenize -t tokenizer.json --to npz | cmp - <(tg-tokenize -t added.npz --to npz)
    run -2 --separate-stderr tg-tokenize -t added.npz --to tiktoken
    said 'a .tiktoken file cannot hold this vocabulary: added token 260, "  ", is found before texts are split'
    tg-init -t added.npz --n-layer 1 --n-head 1 --n-embd 16 --n-ctx 8 -o model-added.npz 2> /dev/null
    tg-convert model-added.npz --to gguf -o added.gguf
    tg-tokenize -t added.gguf --ids long | cmp - want
    tg-tokenize -t added.gguf --to npz | cmp - <(tg-tokenize -t added.npz --to npz)
}

@test "--eot: after each file, line or byte, and not after a document without text" {
    printf 'a' > a
    printf 'b' > b
    : > none
    run -0 --separate-stderr tg-tokenize -t bpe.npz --eot --pieces a none b
    is_output '"a"
"<|endoftext|>"
"b"
"<|endoftext|>"'
    run_pipe 0 "printf 'a\0\0b\0' | tg-tokenize -t bpe.npz --eot --null --offsets"
    is_output $'id\tfrom\tto\ttext\n97\t0\t1\ta\n259\t1\t1\t<|endoftext|>\n98\t3\t4\tb\n259\t4\t4\t<|endoftext|>'
    run_pipe 0 "printf -- '-- \na\n---\n----\n---' | tg-tokenize -t bpe.npz --eot --separator --- | tg-tokenize -d"
    is_output $'-- \na\n<|endoftext|>----\n<|endoftext|>'
    # an empty line
    run_pipe 0 "printf 'a\n\n\nb\n' | tg-tokenize -t bpe.npz --eot --separator '' | tg-tokenize -d"
    is_output $'a\n<|endoftext|>b\n<|endoftext|>'
    # a token does not span documents
    run_pipe 0 "printf 't\0he' | tg-tokenize -t bpe.npz --eot -0 --ids"
    is_output $'116\n259\n104\n101\n259'
}

@test "--eot: reads that cut the separator anywhere change nothing" {
    slow
    printf 'one\n---\n--\n---x\n---\n\n---\ntwo\n--' > docs
    tg-tokenize -t bpe.npz --eot --separator --- docs > want.npz
    run -0 tg-tokenize -d want.npz
    is_output $'one\n<|endoftext|>--\n---x\n<|endoftext|>\n<|endoftext|>two\n--<|endoftext|>'
    for n in 1 2 3 5; do
        need python3
        python3 -c '
import os, sys, time
text, n = open("docs", "rb").read(), int(sys.argv[1])
for at in range(0, len(text), n):
    os.write(1, text[at:at + n])
    time.sleep(0.002)
' "$n" | tg-tokenize -t bpe.npz --eot --separator --- | cmp - want.npz
    done
}

@test "--eot: what does not go together" {
    run -2 --separate-stderr tg-tokenize --eot text
    said 'tokenizer "bytes" has no end-of-text token for --eot'
    run -2 --separate-stderr tg-tokenize -t bpe.npz --null text
    said "--null goes with --eot or --bos"
    run -2 --separate-stderr tg-tokenize -t bpe.npz --eot -0 --separator x text
    said "--separator and --null cannot be combined"
    run -2 --separate-stderr tg-tokenize -d --eot text
    said "--eot applies only to encoding: it cannot be combined with --decode"
    run -2 --separate-stderr tg-tokenize --ids --pieces text
    said "--ids and --pieces cannot be combined"
    run -2 --separate-stderr tg-tokenize -t a -m b text
    said "both name a tokenizer"
    run -2 --separate-stderr tg-tokenize --pattern gpt2 text
    said "--pattern goes with -t FILE"
    run_pipe 1 "printf -- '---\n' | tg-tokenize -t bpe.npz --eot --separator ---"
    said "the text is empty"
}

# ---- a full disk, a reader that goes away, memory

@test "lines to a full disk, and to a reader that goes away" {
    need_dev_full
    local job
    for job in --ids --pieces --offsets; do
        run -3 --separate-stderr bash -c "tg-tokenize $job tokens.npz > /dev/full"
        said "tg-tokenize: standard output: write failed after 0 of "
        run -0 --separate-stderr timeout 600 bash -c "yes the | tg-tokenize -t bpe.npz $job | head -n 3 > /dev/null"
        [[ -z $stderr ]]
    done
    echo precious > old
    run -3 --separate-stderr tg-tokenize --ids -o old text missing
    [[ $(< old) = precious ]]
}

@test "memory does not grow with the text, from a file or a pipe, whatever is in it" {
    need_plain_build
    slow
    local make job
    for make in "cat /dev/urandom" "yes a | tr -d '\n'" "yes ' ' | tr -d '\n'" "yes ''" "yes 'the cat sat on the mat'"; do
        bash -c "$make 2> /dev/null | head -c 40000000 > long"
        run_pipe 0 "ulimit -v 130000; cat long | tg-tokenize -t bpe.npz --threads 2 | tg-tokenize -d | cmp - long"
    done
    tg-tokenize -t bpe.npz long | tg-tokenize -d | cmp - long
    need python3
    for job in "-t bpe.npz" "-t char" "-t bpe.npz --ids"; do
        # shellcheck disable=SC2016
        run -0 --separate-stderr python3 -c '
import os, resource, subprocess, sys
subprocess.run(["tg-tokenize", *sys.argv[1].split(), "long"], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)
' "$job"
        [[ $output -le 32 ]]
    done
}

# ---- the other tools

@test "tg-train: a new model's vocabulary is padded to a multiple of 64, and says so" {
    slow
    grep -q 'tg-train: tokenizer "bpe" of 260 ids, in a vocabulary of 320' model.said
    run -0 scalars model.npz config/vocab_size tokenizer/kind tokenizer/vocab_size
    is_output "320
bpe
260"
    grep -q 'tokenizer "char" of 28 ids, in a vocabulary of 64' char.said
    tg-train -n 22 -m model.npz tokens.npz
    tg-tokenize text | tg-train -n 1 -b 1 --context 8 -m bytes.npz
    run -0 scalars bytes.npz config/vocab_size
    is_output 256
}

@test "tg-init -t: the tokenizer of a file, and a vocabulary for it" {
    slow
    tg-init -t bpe.npz -o new.npz
    run -0 scalars new.npz config/vocab_size tokenizer/kind tokenizer/vocab_size
    is_output "320
bpe
260"
    tg-init -t tokens.npz --vocab-size 260 | cmp - <(tg-init -t model.npz --vocab-size 260)
    tg-train -n 2 -b 1 --context 8 -m new.npz tokens.npz
    run -2 --separate-stderr tg-init -t bpe.npz --vocab-size 259 -o other.npz
    said 'vocab_size 259 is below the 260 ids of tokenizer "bpe"'
    run -1 --separate-stderr tg-train -m new.npz char-tokens.npz
    said 'the tokens are of tokenizer "char" with 28 ids, expected "bpe" with 260 ids'
}

@test "the padding is never sampled, and is no token of a text" {
    slow
    # an untrained model has 60 ids of padding among 320
    tg-init -f -t bpe.npz --n-ctx 8 --n-embd 16 -o model.npz
    tg-sample -p the -n 3000 --no-prompt -t 5 > got
    [[ $(size got) -ge 2996 ]] # a token of padding would have no bytes
    tg-sample -p the -n 500 --no-prompt -t 5 --count 3 --precision bf16 -0 > got
    { sed 's/kind S - tokenizer$/kind S - tokens/' bpe.lines; echo "tokens/00000000 u2 2 97 260"; } | npz bad.npz
    run_pipe 1 'tg-sample < bad.npz'
    said "tokens/00000000[1] is 260: the vocabulary has 260 ids"
    run_pipe 1 'tg-attn-dump --ablate all < bad.npz'
    said "tokens/00000000[1] is 260: the vocabulary has 260 ids"
    tg-attn-dump -p the -o dump.npz
    change_npz dump.npz bad.npz 'members["dump/ids"] = members["dump/ids"][:-8] + struct.pack("<q", 260)'
    run -1 --separate-stderr tg-attn-dump --check bad.npz
    said "token 0 is 260: the model's vocabulary has 260 ids"
}

@test "tg-sample with characters: whole ones, and a prompt's end is as it is" {
    slow
    tg-sample -m char.npz -p '猫' -n 300 > got
    iconv -f UTF-8 -t UTF-8 got | cmp - got
    [[ $(head -c 3 got) = 猫 ]]
    tg-sample -p 'the nai' -n 0 --no-newline | cmp - <(printf 'the nai')
    # "th" is a token; what follows is up to the model
    run -0 tg-sample -p 'th' -n 1 --greedy
    [[ $output = th* ]]
}

@test "tg-sample without a prompt: after a newline, if the tokenizer has one" {
    tg-sample -m char.npz -n 5 < /dev/null > got
    [[ -s got ]]
    printf 'no line ends here' | tg-tokenize -t char > tokens.npz
    tg-init -t tokens.npz --n-ctx 8 --n-embd 16 -o line.npz
    run_pipe 2 'tg-sample -m line.npz < /dev/null'
    said "the model's tokenizer has no newline to begin after: give a prompt"
    tg-sample -m line.npz -p 'no' -n 3 > got
}

@test "tg-sample: a special token in a prompt is text; a generated one can end the text" {
    printf 'the<|endoftext|>' | tg-tokenize -t bpe.npz --special > special.npz
    tg-sample -n 0 --no-newline < special.npz | cmp - <(printf 'the<|endoftext|>')
    run -0 tg-attn-dump --pieces -f tsv -p '<|endo'
    [[ ${#lines[@]} = 7 ]]
}

@test "tg-attn-dump --pieces: which bytes of the text each token is" {
    run -0 --separate-stderr tg-attn-dump -p 'the 猫' --pieces
    is_output '# 5 tokens; token t, counted from 0, is the bytes from..to-1 of the text
#t  id from to token
 0 257    0  3 "the"
 1  32    3  4 " "
 2 231    4  5 "\xE7" part of 猫
 3 140    5  6 "\x8C" part of 猫
 4 171    6  7 "\xAB" part of 猫'
    run -0 --separate-stderr tg-attn-dump -p 'the 猫' --pieces -f tsv
    [[ ${lines[0]} = $'t\tid\tfrom\tto\ttext' && ${lines[1]} = $'0\t257\t0\t3\tthe' ]]
    [[ ${lines[5]} = $'4\t171\t6\t7\t\\xAB' ]]
    run -0 --separate-stderr tg-attn-dump -m char.npz -p 'a猫' --pieces -f jsonl
    [[ ${lines[1]} = '{"t":1,"id":'*',"from":1,"to":4,"text":"猫"}' ]]
    printf 'the the' | tg-attn-dump --pieces -f tsv | tail -n +2 | cut -f 2-5 |
        cmp - <(printf 'the the' | tg-tokenize -m model.npz --offsets | tail -n +2)
    run -2 --separate-stderr tg-attn-dump --example mha --pieces
    said "--example does not go with --pieces"
    run -2 --separate-stderr tg-attn-dump -p x --pieces --layer 0
    said "--layer does not go with --pieces, which shows how a text is divided into tokens"
}

@test "tg-attn-dump: traces have ids, dumps the whole text of a token" {
    run -0 tg-attn-dump -p 'cat the' --trace 0,0,3,2
    [[ $output = *'# query i = 3 " the" (id 258), key j = 2 "t" (id 116)'* ]]
    run -0 tg-attn-dump -m char.npz -p '那只' --trace 0,0,1,0 --backward --target 猫
    [[ $output = *'" (id '* && $output = *'"猫"'* ]]
    tg-attn-dump -p 'cat the' -o dump.npz
    tg-attn-dump --check dump.npz > checked
    grep -q 'dump/text \[4\]: 4, all equal' checked
    tg-attn-dump -m char.npz -p '那只猫' --layer 0 --head 0 --query 2 | grep -q '"猫" *[0-9]* "那"'
}

@test "tg-attn-dump --ablate: text is encoded across reads" {
    slow
    tg-attn-dump --ablate all < tokens.npz > want
    tg-attn-dump --ablate all < text | cmp - want
    { head -c 4097 text; sleep 0.1; tail -c +4098 text | head -c 1; sleep 0.1; tail -c +4099 text; } |
        tg-attn-dump --ablate all | cmp - want
    tg-attn-dump --ablate 0.0 -p 'the cat, the cat' | tail -n 1 > want
    printf 'the cat, the cat' | tg-tokenize -m model.npz | tg-attn-dump --ablate 0.0 | tail -n 1 | cmp - want
}

@test "tg-attn-view shows the tokens' texts" {
    tg-attn-dump -p 'cat the' -o dump.npz
    tg-attn-view dump.npz > shown
    grep -q 'the' shown
    tg-attn-view --html -o page.html dump.npz
    grep -q '"tokens": \["c", "a", "t", " the"\], "ids": \[99, 97, 116, 258\]' page.html
}

# llama2.c's file of the pieces <unk>, <s>, </s>, all bytes, and these, from the highest score
llama2c() {
    need python3
    python3 -c '
import struct, sys
pieces = [b"<unk>", b"\n<s>\n", b"\n</s>\n"] + [b"<0x%02X>" % b for b in range(256)] + [p.encode() for p in sys.argv[1:]]
sys.stdout.buffer.write(struct.pack("<I", max(map(len, pieces))))
for i, p in enumerate(pieces):
    sys.stdout.buffer.write(struct.pack("<fI", -i, len(p)) + p)' "$@"
}

@test "SentencePiece: ids, texts, offsets; a prefix comes and goes" {
    llama2c ' a' 'ab' ' ' 'a' 'b' > tokenizer.bin
    printf 'a ab\n\xFF' > text
    [[ $(tg-tokenize -t tokenizer.bin --ids text | tr '\n' ' ') = '259 259 263 13 258 ' ]]
    tg-tokenize -t tokenizer.bin text > tokens.npz
    tg-tokenize -d tokens.npz | cmp - text
    tg-tokenize -t tokenizer.bin --ids text | tg-tokenize -t tokenizer.bin -d --ids | cmp - text
    [[ $(printf 'a</s>b' | tg-tokenize -t tokenizer.bin --special --ids | tr '\n' ' ') = '259 2 261 263 ' ]]
    printf 'a</s>b' | tg-tokenize -t tokenizer.bin --special | tg-tokenize -d | cmp - <(printf 'a</s>b')
    run -0 --separate-stderr tg-tokenize -t tokenizer.bin --offsets --no-header text
    [[ ${lines[0]} = $'259\t0\t1\t a' && ${lines[1]} = $'259\t1\t3\t a' && $stderr = '' ]]
    printf 'a\xE2\x96\x81a' > text
    run -0 --separate-stderr tg-tokenize -t tokenizer.bin --offsets --no-header text
    said "the tokens' texts differ from the text that was read: the offsets refer to the tokens' texts"
}

# A tokenizer.json with the same pieces, which puts a space before the first part of a text only.
first_json() {
    need python3
    python3 -c '
import json
pieces = ["<unk>", "<s>", "</s>", *("<0x%02X>" % b for b in range(256)), "\u2581a", "ab", "\u2581", "a", "b"]
print(json.dumps({
    "added_tokens": [{"id": i, "content": pieces[i], "special": True} for i in range(3)],
    "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False},
    "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "vocab": {p: i for i, p in enumerate(pieces)},
              "merges": [["\u2581", "a"], ["a", "b"]]}}))'
}

@test "SentencePiece: each document, and each text beside archives, has its prefix; numbers do not count it" {
    first_json > tokenizer.json
    run_pipe 0 "printf 'ab\0a' | tg-tokenize -t tokenizer.json --eot --null --offsets --no-header"
    is_output $'259\t0\t1\t a\n263\t1\t2\tb\n2\t2\t2\t</s>\n259\t3\t4\t a\n2\t4\t4\t</s>'
    [[ -z $stderr ]]
    printf a > a
    tg-tokenize -t tokenizer.json a > a.npz
    run -0 --separate-stderr tg-tokenize -t tokenizer.json --offsets --no-header a a.npz a
    is_output $'259\t0\t1\t a\n259\t1\t2\t a\n259\t2\t3\t a'
    [[ -z $stderr ]]
    printf 'a a' | tg-tokenize -t tokenizer.json > two.npz
    run -0 --separate-stderr tg-tokenize -c two.npz
    is_output 2
    said "3 bytes, 1.500 bytes per token"
}

@test "SentencePiece: archives and tokenizer.json keep it, other formats refuse it" {
    llama2c ' a' 'ab' ' ' 'a' 'b' > tokenizer.bin
    tg-tokenize -t tokenizer.bin --to npz > tokenizer.npz
    printf 'ab ab a' > text
    cmp <(tg-tokenize -t tokenizer.bin text) <(tg-tokenize -t tokenizer.npz text)
    run -2 --separate-stderr tg-tokenize -t tokenizer.bin --to llmc
    said "an llm.c tokenizer cannot hold this vocabulary: it is SentencePiece's"
    run -2 --separate-stderr tg-tokenize -t tokenizer.bin --to tiktoken
    said 'a tokenizer of kind "sentencepiece" cannot be written as tiktoken'
    tg-tokenize -t tokenizer.bin --to tokenizer.json > tokenizer.json
    cmp <(tg-tokenize -t tokenizer.bin --ids text) <(tg-tokenize -t tokenizer.json --ids text)
    tg-tokenize -t tokenizer.json --to tokenizer.json | cmp - tokenizer.json
    llama2c ' a' 'ab' ' ' 'a' 'b' 'xa' > tokenizer.bin
    run -2 --separate-stderr tg-tokenize -t tokenizer.bin --to tokenizer.json
    said 'a tokenizer.json cannot hold this vocabulary: token 264, "xa", is merged from a character that is no token'
    run -2 --separate-stderr tg-tokenize -t tokenizer.bin --pattern gpt2 text
    said 'a rule for splitting is only for .tiktoken files'
}

@test "SentencePiece: any number of threads" {
    llama2c ' a' 'ab' ' ' 'a' 'b' ' b' 'aa' '  ' > tokenizer.bin
    printf 'ab a  aaab%d\n' {1..60000} > text
    cmp <(tg-tokenize -t tokenizer.bin --threads 1 text) <(tg-tokenize -t tokenizer.bin --threads 3 text)
    # also where a part would begin after a special token, which a prefix follows; three bytes move the
    # tokens so that such a place is the last one of a thread's 2^18 bytes
    { printf aab; printf '</s>aab%.0s' {1..90000}; } > text
    cmp <(tg-tokenize -t tokenizer.bin --special --threads 1 text) \
        <(tg-tokenize -t tokenizer.bin --special --threads 2 text)
}
