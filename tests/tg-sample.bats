load helper

# A model of 2 layers, 2 heads, 16 channels and 16 positions.
tiny() {
    tg-init --n-layer 2 --n-head 2 --n-embd 16 --n-ctx 16 "$@" -o model.npz 2> /dev/null
}

# has_bytes N FILE: FILE has N bytes, or fewer where the Nth would cut a character.
has_bytes() {
    local n
    n=$(size "$2")
    [[ $n -le $1 && $n -ge $(($1 - 3)) ]]
}

# ---- defaults

@test "prints the prompt and 256 tokens" {
    slow
    tiny
    tg-sample -p 'Once' > got
    has_bytes 260 got
    [[ $(head -c 4 got) = Once ]]
    run_pipe 0 "tg-init 2> /dev/null | tg-sample -m - -p Once -n 2"
}

@test "without a prompt, as after a new line" {
    tiny
    tg-sample --no-newline < /dev/null > got
    # a pipe or a file without text is no prompt, as cron and other programs leave it
    true | tg-sample --no-newline | cmp - got
    : > empty
    tg-sample --no-newline < empty | cmp - got
    run -0 --separate-stderr bash -c 'tg-sample -n 1 < empty'
    [[ -z $stderr ]]
    has_bytes 256 got
    tg-sample -p $'\n' --no-newline | tail -c +2 | cmp - got
    tg-sample -p '' --no-newline | cmp - got
}

@test "the model by -m, from TG_MODEL and standard input" {
    tiny
    tg-sample -p x -n 20 > want
    mv model.npz other.npz
    tg-sample -m other.npz -p x -n 20 | cmp - want
    TG_MODEL=other.npz tg-sample -p x -n 20 | cmp - want
    tg-sample -m - -p x -n 20 < other.npz | cmp - want
    cat other.npz | tg-sample --model - -p x -n 20 | cmp - want
}

@test "-p, text on standard input and a token archive give the same" {
    tiny
    tg-sample -p 'To be' -n 30 > want
    printf 'To be' | tg-sample -n 30 | cmp - want
    printf 'To be' > text
    tg-sample -n 30 < text | cmp - want
    tg-tokenize text | tg-sample -n 30 | cmp - want
    printf 'else' | tg-sample -p 'To be' -n 30 | cmp - want
}

# ---- determinism

@test "the same seed gives the same text, at any number of threads; another seed another" {
    tiny
    tg-sample -p x > a
    tg-sample -p x --seed 0 | cmp - a
    for n in 0 1 2 3 4; do
        tg-sample -p x --threads $n | cmp - a
    done
    tg-sample -p x -s 1 > b
    run -1 cmp -s a b
    tg-sample -p x -s 18446744073709551615 > c
    run -1 cmp -s a c
}

@test "fewer tokens are the beginning of more" {
    tiny
    tg-sample -p x -n 100 > long
    for n in 0 1 15 16 50; do
        tg-sample -p x -n $n --no-newline > short
        has_bytes $((n + 1)) short
        cmp -n "$(size short)" short long
    done
}

# ---- the choice

@test "greedy needs no seed; --top-k 1, a small --top-p and temperature 0 are greedy" {
    tiny
    tg-sample -p 'To be' -g > want
    tg-sample -p 'To be' --greedy --seed 5 | cmp - want
    tg-sample -p 'To be' -k 1 --seed 6 | cmp - want
    tg-sample -p 'To be' -P 0.000001 --seed 7 | cmp - want
    tg-sample -p 'To be' -t 0 --seed 8 | cmp - want
    tg-sample -p 'To be' > other
    run -1 cmp -s want other
}

@test "--top-k, --top-p and --temperature change the choice; their neutral values do not" {
    tiny
    tg-sample -p x -t 1 > plain
    tg-sample -p x -t 1 --top-k 0 --top-p 1 | cmp - plain
    tg-sample -p x -t 1 --top-k 256 | cmp - plain
    tg-sample -p x -t 1 --top-k 1000 | cmp - plain
    for option in '--top-k 3' '--top-p 0.5' '--temperature 2'; do
        # shellcheck disable=SC2086
        tg-sample -p x -t 1 $option > got
        run -1 cmp -s plain got
    done
    # an untrained model finds all 256 bytes about equally probable: few of them, and many
    [[ $(tg-sample -p x --no-prompt -n 400 -k 2 | od -An -v -tu1 -w1 | sort -u | wc -l) -lt 150 ]]
    [[ $(tg-sample -p x --no-prompt -n 400 -t 100 | od -An -v -tu1 -w1 | sort -u | wc -l) -gt 150 ]]
}

@test "rows of the embedding that the tokenizer lacks are never chosen" {
    tiny --vocab-size 5000
    tg-sample -p x -n 500 -t 100 --no-prompt --no-newline > got
    has_bytes 500 got
}

# ---- several texts, and bf16

@test "--count: the texts in order, a line between them, each its own" {
    tiny
    tg-sample -p x -n 40 -t 1 -g --no-newline > one
    tg-sample -p x -n 40 -t 1 -g --count 3 -0 > three
    [[ $(tr -cd '\0' < three | wc -c) = 3 ]]
    # greedy texts are all the same one
    { cat one; printf '\0'; cat one; printf '\0'; cat one; printf '\0'; } | cmp - three
    tg-sample -p x -n 40 --count 3 > lines
    [[ $(grep -c -a -x -e --- lines) = 2 ]]
    tg-sample -p x -n 40 --count 3 --null > zeros
    tg-sample -p x -n 40 --count 3 --threads 1 --null | cmp - zeros
    tg-sample -p x -n 40 --count 3 --seed 1 --null > other
    run -1 cmp -s zeros other
}

@test "--count: texts differ, and the first ones do not depend on how many there are" {
    tiny
    tg-sample -p x -n 30 --no-prompt -t 5 --count 5 -0 > five
    tg-sample -p x -n 30 --no-prompt -t 5 --count 2 -0 > two
    cmp -n "$(size two)" two five
    # cut by the bytes 0 that end texts: five of them, no two alike (bytes 0 inside are possible,
    # but an untrained model would have to choose many)
    python3 - <<'PY' || need python3
import sys
texts = open("five", "rb").read().split(b"\0")[:-1]
sys.exit(len(texts) < 5 or len(set(texts)) != len(texts))
PY
}

@test "--count: --stop ends each text for itself, and all of them the run" {
    tiny
    tg-sample -p x -n 2000 --no-prompt -t 1 --count 4 --stop e > got
    [[ $(tr -cd e < got | wc -c) = 0 ]]
    [[ $(grep -c -a -x -e --- got) = 3 ]]
    # the run ends long before so many tokens
    timeout 600 tg-sample -p x -n 100000000 --no-prompt -t 1 --count 4 --stop e | cmp - got
}

@test "--precision bf16: nearly the same probabilities, the same at any number of threads" {
    tiny
    tg-sample -p 'To be' -g -n 100 --precision float32 > a
    tg-sample -p 'To be' -g -n 100 | cmp - a
    tg-sample -p 'To be' -n 200 --precision bf16 > b
    tg-sample -p 'To be' -n 200 --precision bf16 --threads 3 | cmp - b
    # of many random choices, at most a few fall to the other side
    tg-sample -p 'To be' -n 1 --no-prompt --count 500 -0 > c
    tg-sample -p 'To be' -n 1 --no-prompt --count 500 -0 --precision bf16 > d
    [[ $(cmp -l c d | wc -l) -lt 50 ]]
}

@test "--precision bf16: a long prompt and a shifted context do not depend on threads or other texts" {
    tiny --n-ctx 256
    for n in 63 64 200; do
        head -c "$n" "$BATS_TEST_DIRNAME/tg-sample.bats" > prompt
        # the context is full after 256 tokens, and its newer half is computed anew
        tg-sample -n 200 --precision bf16 -0 --threads 1 < prompt > one
        for threads in 2 3; do
            tg-sample -n 200 --precision bf16 -0 --threads "$threads" < prompt | cmp - one
        done
        tg-sample -n 200 --precision bf16 -0 --count 3 < prompt > many
        cmp one <(head -c "$(wc -c < one)" many)
    done
}

@test "--precision int8: nearly the same probabilities; the same text at any number of threads, alone and among others" {
    slow_unless_sanitized
    tiny
    tg-sample -p 'To be' -n 200 --precision int8 > a
    for n in 1 2 3; do
        tg-sample -p 'To be' -n 200 --precision int8 --threads "$n" | cmp - a
    done
    tg-sample -p 'To be' -n 200 --precision int8 -0 > one
    for count in 2 9; do
        tg-sample -p 'To be' -n 200 --precision int8 -0 --count "$count" > many
        cmp one <(head -c "$(wc -c < one)" many)
    done
    # all three differ somewhere in a long text
    for type in float32 bf16 int8; do
        tg-sample -p 'To be' -n 3000 --precision "$type" | cksum
    done | sort -u > sums
    [[ $(wc -l < sums) = 3 ]]
    # of many random choices, at most a few fall to the other side
    tg-sample -p 'To be' -n 1 --no-prompt --count 500 -0 > d
    tg-sample -p 'To be' -n 1 --no-prompt --count 500 -0 --precision int8 > e
    [[ $(cmp -l d e | wc -l) -lt 50 ]]
}

# cut_texts FILE STOP: the texts of FILE, each ended by a byte 0, up to STOP.
cut_texts() {
    python3 -c '
import sys
stop = sys.argv[2].encode()
for text in open(sys.argv[1], "rb").read().split(b"\0")[:-1]:
    sys.stdout.buffer.write(text.split(stop)[0] + b"\0")' "$@"
}

@test "--count: texts that end early wait for those before them; the prompt is before each" {
    slow
    need python3
    tiny
    make_text | tg-tokenize | tg-train --steps 100 2> /dev/null
    # a model of text: no bytes 0, which would look like ends
    tg-sample -p To -n 60 --count 7 -0 -k 20 > whole
    [[ $(tr -cd '\0' < whole | wc -c) = 7 ]]
    tg-sample -p To -n 60 --count 7 -0 -k 20 --no-prompt > bare
    python3 -c '
import sys
for text in open("bare", "rb").read().split(b"\0")[:-1]:
    sys.stdout.buffer.write(b"To" + text + b"\0")' | cmp - whole
    for stop in ' ' e 'ne'; do
        cut_texts bare "$stop" > want
        tg-sample -p To -n 60 --count 7 -0 -k 20 --no-prompt --stop "$stop" | cmp - want
        # some texts end before others
        [[ $(tr '\0\n' '\n.' < want | awk '{ print length($0) }' | sort -u | wc -l) -gt 1 ]]
    done
}

@test "--count: with no tokens, and a prompt longer than the context" {
    tiny
    tg-sample -p ab -n 0 --count 3 > got
    printf 'ab\n---\nab\n---\nab\n' | cmp - got
    tg-sample -p '' -n 0 --count 2 -0 > got
    printf '\0\0' | cmp - got
    tg-sample -p $'ab\n' -n 0 --count 2 > got
    printf 'ab\n---\nab\n' | cmp - got
    make_text 300 > text
    run -0 --separate-stderr bash -c 'tg-sample -n 30 --greedy --count 3 -0 < text > got'
    said 'the prompt has 300 tokens, which exceeds the context of 16: the model sees the last 8'
    { cat text; tail -c 8 text | tg-sample -n 30 --greedy --count 2 -0 --no-prompt | head -c 31; } > one
    cat one one one | cmp - got
}

@test "--count: on a terminal, the same lines" {
    tiny
    on_terminal "tg-sample -p $'a\\xc3' -n 0 --count 2" > got
    [[ $(tr -d '\r' < got) = $'a\\xC3\n---\na\\xC3' ]]
    [[ $(tail -c 1 got | od -An -tx1) = ' 0a' ]]
}

@test "--count: a run that fails writes no ends of texts" {
    tiny
    change_npz model.npz inf.npz 'fill("h.1.mlp.c_fc.weight", 3.4e38, 5, 6)'
    # what the first block adds to the position passes float32's largest number
    change_npz model.npz nan.npz 'fill("wpe.weight", 3e38); fill("h.0.attn.c_proj.bias", 3e38)'
    run -1 --separate-stderr tg-sample -m inf.npz -p ab --precision bf16
    said 'inf.npz: h.1.mlp.c_fc.weight[5] is 3.4e+38: bf16 would round it to infinity'
    [[ -z $output ]]
    run -1 --separate-stderr tg-sample -m nan.npz -p ab --precision int8
    said 'position 2: logits['
    run -1 --separate-stderr tg-sample -m nan.npz -p ab --precision bf16 --count 3
    said 'text 1 of 3: position 2: logits['
    is_output ab
    # the prompt has been written by then, without the character that its end cuts
    run -1 --separate-stderr tg-sample -m nan.npz -p $'ab\xe4\xb8' --precision bf16
    is_output ab
    need_plain_build
    run -3 --separate-stderr bash -c 'ulimit -v 300000; tg-sample -p ab --count 65536 --threads 1 -n 100'
    said 'out of memory: '
    [[ -z $output ]]
}

@test "--count: as many as there may be" {
    slow
    tiny
    tg-sample -p x -n 2 -g --count 65536 -0 > got
    [[ $(size got) = $((65536 * 4)) ]]
    head -c 4 got > one
    cmp -n $((65535 * 4)) got <(tail -c +5 got)
}

@test "--count: a full disk, and a reader that goes away" {
    need_dev_full
    tiny
    run -3 --separate-stderr timeout 600 bash -c 'tg-sample -p x -n 1000000000 --count 3 > /dev/full'
    said 'tg-sample: standard output: cannot write: No space left on device'
    run -3 --separate-stderr timeout 600 bash -c 'tg-sample -p x -n 3 --count 3 -0 > /dev/full'
    said 'tg-sample: standard output: cannot write: No space left on device'
    run -0 --separate-stderr timeout 600 bash -c 'tg-sample -p x -n 1000000000 --count 3 | head -c 5 > /dev/null'
    [[ -z $stderr ]]
}

# ---- the prompt

@test "--no-prompt" {
    tiny
    tg-sample -p 'To be' -n 30 > with
    tg-sample -p 'To be' -n 30 --no-prompt > without
    tail -c +6 with | cmp - without
    tg-sample -p 'To be' -n 0 --no-prompt > got
    [[ $(size got) = 0 ]] # no line, no end of one
}

@test "a full context continues with its newer half" {
    tiny
    # greedy: after 16 tokens, the 17th is chosen with all 16 in sight, the 18th with
    # the last 8 only
    tg-sample -p 0123456789abcde -n 3 --greedy --no-newline > got
    [[ $(size got) = 18 ]]
    head -c 17 got | tail -c 8 > seen
    tg-sample --greedy --no-newline -n 1 < seen | tail -c 1 | cmp - <(tail -c 1 got)
}

@test "a prompt longer than the context: said, and printed in full" {
    tiny
    make_text 300 > text
    run -0 --separate-stderr bash -c 'tg-sample -n 20 --greedy --no-newline < text > got'
    said 'the prompt has 300 tokens, which exceeds the context of 16: the model sees the last 8'
    [[ $(size got) = 320 ]]
    cmp -n 300 got text
    tail -c 8 text | tg-sample -n 20 --greedy --no-prompt --no-newline > want
    tail -c 20 got | cmp - want
    # a prompt of just the context fits
    run -0 --separate-stderr bash -c 'head -c 16 text | tg-sample -n 1'
    [[ -z $stderr ]]
}

@test "a single text ends its line, unless that is ended or --no-newline is given" {
    tiny
    tg-sample -p ab -n 0 | cmp - <(echo ab)
    tg-sample -p $'ab\n' -n 0 | cmp - <(echo ab)
    tg-sample -p ab -n 0 --count 1 | cmp - <(echo ab)
    tg-sample -p ab -n 0 --no-newline | cmp - <(printf ab)
    tg-sample -p x -n 40 --no-newline > text
    { cat text; echo; } | cmp - <(tg-sample -p x -n 40)
    # where it ends with a NUL, or texts are divided by lines, there is nothing to leave out
    run -2 --separate-stderr tg-sample -p ab --no-newline --count 2
    said '--no-newline goes with a single text, not with --count'
    run -2 --separate-stderr tg-sample -p ab --no-newline -0
    said '--no-newline goes with a single text, not with --null'
    run_pipe 0 "for seed in 1 2 3; do tg-sample -p To -n 0 -s \$seed; done"
    is_output $'To\nTo\nTo'
}

# ---- --stop

@test "--stop ends before the text, and holds nothing else back" {
    tiny
    tg-sample -p x -n 200 --no-prompt --no-newline -t 1 > all
    # three bytes of it, without NUL and new line, and where they stand first
    for ((at = 20; at < 190; at++)); do
        stop=$(tail -c +$((at + 1)) all | head -c 3 | tr '\0' '\n'; echo .)
        [[ ${stop%.} = *$'\n'* ]] || break
    done
    stop=${stop%.}
    at=$(grep -obaF -- "$stop" all | head -n 1 | cut -d : -f 1)
    [[ ${#stop} = 3 && $at -lt 190 ]]
    tg-sample -p x -n 200 --no-prompt --no-newline -t 1 --stop "$stop" > got
    has_bytes "$at" got
    cmp -n "$(size got)" got all
    # no such text: all of it, the held-back end included
    tg-sample -p x -n 200 --no-prompt --no-newline -t 1 --stop 'no such text' | cmp - all
    n=$((at + 2))
    tg-sample -p x -n $n --no-prompt --no-newline -t 1 > want
    cmp -n "$(size want)" want all
    tg-sample -p x -n $n --no-prompt --no-newline -t 1 --stop "$stop" | cmp - want
    # in the prompt it does not count
    tg-sample -p 'no such text' -n 5 --no-newline --stop 'no such text' > got
    [[ $(size got) = 17 ]]
    run -2 --separate-stderr tg-sample -p x --stop ''
    said '--stop must not be empty'
}

# ---- output

@test "characters are written whole: one that the end cuts is not written" {
    tiny
    local cut
    for cut in '\xc3' '\xe4' '\xe4\xb8' '\xf0\x9f\x98' '\xf4\x8f' '\xed\x9f'; do
        printf "\xe4\xb8\xada$cut" | tg-sample -n 0 --no-newline > got
        printf '\xe4\xb8\xada' | cmp - got
        # all texts of several; before a NUL, a line of dashes
        printf "b$cut" | tg-sample -n 0 --count 2 -0 | cmp - <(printf 'b\0b\0')
        printf "b$cut" | tg-sample -n 0 --count 2 | cmp - <(printf 'b\n---\nb\n')
    done
}

@test "bytes that are no part of a character are written as they are" {
    tiny
    local text
    for text in '\xff' '\x80' 'a\xc0' '\xf5' '\xe0\x80' '\xed\xa0' '\xf4\x90' '\xe4x' '\xe4\xb8\xe4\xb8\xad' \
        '\xf0\x9f\x98x' '\xc3\n'; do
        # shellcheck disable=SC2059
        printf "$text" > want
        tg-sample -n 0 --no-newline < want | cmp - want
    done
    # Latin-1 stays Latin-1
    printf 'caf\xe9 cr\xe8me' > want
    tg-sample -n 0 --no-newline < want | cmp - want
}

@test "tokens are written as they are generated" {
    tiny
    # 10^9 tokens would take hours: the first must come at once
    run -0 timeout 600 bash -c 'tg-sample -p x -n 1000000000 | head -c 3 | wc -c'
    is_output 3
}

@test "on a terminal the last line is ended, and control characters are shown" {
    tiny
    on_terminal 'tg-sample -p x -n 3 --greedy' > got
    [[ $(tail -c 1 got | od -An -tx1) = ' 0a' ]]
    on_terminal "tg-sample -p $'a\\033[31mb' -n 0" > got
    [[ $(cat got) = 'a\x1B[31mb'* ]]
    tg-sample -p $'a\033[31mb' -n 0 --no-newline > got
    printf 'a\033[31mb' | cmp - got
    on_terminal 'tg-sample -p x -n 0 --no-newline' > got
    [[ $(tr -d '\r' < got | od -An -tx1) = ' 78 0a' ]]
}

@test "on a terminal: C1 control characters and broken UTF-8 are shown, whole characters are as they are" {
    tiny
    # U+009B is the control sequence introducer, as two bytes
    on_terminal "tg-sample -p $'a\\xc2\\x9b31mb' -n 0" > got
    [[ $(cat got) = 'a\xC2\x9B31mb'* ]]
    on_terminal "tg-sample -p $'\\xc3\\xa4\\xe2\\x82\\xac\\xf0\\x9f\\x98\\x80\\t1\\n2' -n 0" > got
    [[ $(tr -d '\r' < got) = $'\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\t1\n2' ]]
    # cut short: by another character, by a new line, at the end
    on_terminal "tg-sample -p $'\\xe2\\x82x\\xc3\\n\\x80\\xf0\\x9f' -n 0" > got
    [[ $(tr -d '\r' < got) = $'\\xE2\\x82x\\xC3\n\\x80\\xF0\\x9F' ]]
}

# ---- bad input

@test "no model: how to get one" {
    run -3 --separate-stderr tg-sample -p x
    said 'model.npz: No such file or directory; make a model with  tg-tokenize < text | tg-train'
    said 'tg-tokenize < text | tg-train'
    mkdir dir
    run -1 --separate-stderr tg-sample -m dir -p x
    said "dir: a directory without a model's files"
}

@test "what is not a model, or not a whole one" {
    slow
    tiny
    printf 'hello, world\n' > text
    run -1 --separate-stderr tg-sample -m text -p x
    said 'text: '
    echo 'a f4 2 1 2' | npz foreign.npz
    run -1 --separate-stderr tg-sample -m foreign.npz -p x
    said 'foreign.npz: '
    head -c $(($(size model.npz) - 1)) model.npz > cut.npz
    run -1 --separate-stderr tg-sample -m cut.npz -p x
    said 'cut.npz: '
    [[ -z $output ]]
    cp model.npz bad.npz
    flip bad.npz $(($(size bad.npz) / 2)) 3
    run -1 --separate-stderr tg-sample -m bad.npz -p x
    said 'bad.npz: '
    run -1 --separate-stderr bash -c 'tg-sample < model.npz'
    said 'standard input: '
}

@test "options out of range, and wrong usage" {
    slow
    tiny
    for option in '-n -1' '-n 1.5' '-t -0.1' '-t 101' '-t nan' '-k -1' '-P 0' '-P 1.1' '-P -1' '--seed -1' \
        '--seed 18446744073709551616' '--threads -1' '--threads 1025' '--threads x' \
        '--count 0' '--count 65537' '--precision f16'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr tg-sample -p x $option
        said 'must'
        [[ -z $output ]]
    done
    run -2 --separate-stderr tg-sample text
    said "unexpected operand 'text'"
    run -2 --separate-stderr tg-sample --nonsense
    said '--nonsense'
    run -2 --separate-stderr tg-sample -p
    said '--prompt needs a value'
    run -0 --separate-stderr tg-sample --help
    [[ $output = 'Usage: tg-sample '* && -z $stderr ]]
    run -0 --separate-stderr tg-sample --version
    [[ $output = 'tg-sample '* ]]
}

@test "a full disk, a closed output, and a reader that goes away" {
    need_dev_full
    tiny
    # 10^9 tokens: only giving up at the first failed write ends this in time
    run -3 --separate-stderr timeout 600 bash -c 'tg-sample -p x -n 1000000000 > /dev/full'
    said 'tg-sample: standard output: cannot write: No space left on device'
    run -3 --separate-stderr timeout 600 bash -c 'tg-sample -p x -n 1000000000 >&-'
    said 'tg-sample: standard output: cannot write: Bad file descriptor'
    head -c 100000 /dev/zero | tr '\0' a > text
    run -3 --separate-stderr timeout 600 bash -c 'tg-sample -n 1 < text > /dev/full'
    said 'tg-sample: standard output: cannot write: No space left on device'
    run -0 --separate-stderr timeout 600 bash -c 'tg-sample -p x -n 1000000000 | head -n 1 > /dev/null'
    [[ -z $stderr ]]
}

@test "numbers that overflow are an error, with the position" {
    tiny
    # gains of 3e38: finite weights whose products are not
    change_npz model.npz huge.npz 'fill("ln_f.weight", 3e38); fill("wte.weight", 3e38)'
    run -1 --separate-stderr tg-sample -m huge.npz -p ab
    said 'position 2: logits['
    # a NaN has no sign worth showing
    [[ $stderr =~ " is "(nan|-?inf)": it must be finite"$ ]]
}

# ---- --logprobs

# ids_of PROMPT LINES: the ids of a prompt in bytes and of the generated tokens, whose lines are in a file.
ids_of() {
    printf %s "$1" | od -An -v -tu1 -w1 | tr -s ' \n' ' '
    sed 1d "$2" | cut -f 2 | tr '\n' ' '
}

@test "--logprobs: what tg-eval prints for the same tokens" {
    tiny --n-ctx 64
    tg-sample -p 'To be' -n 30 --logprobs > got
    [[ $(wc -l < got) = 31 ]]
    tg-eval -q --ids "$(ids_of 'To be' got)" --top 5 | sed 2,6d > want
    cmp <(cut -f 1-5,7 got) <(cut -f 1-5,7 want)
    cmp <(head -n 1 got) <(head -n 1 want)
    # decoding sums in another order than a pass over the whole text
    paste got want | sed 1d | awk -F '\t' '
        function far(a, b) { return (a - b) ^ 2 > 1e-10 }
        far($6, $29) || far($8, $31) || far($11, $34) || far($23, $46) { exit 1 }
        END { if (NF != 46) exit 1 }'
    # the text is the same, and so are the probabilities, whatever it is chosen by
    tg-sample -p 'To be' -n 30 --no-prompt --no-newline > text
    sed 1d got | cut -f 2 | while read -r id; do printf "\\$(printf %o "$id")"; done > chosen
    cmp -n "$(size text)" text chosen
    tg-sample -p 'To be' -n 1 --logprobs -t 5 --top 3 | sed 1d | cut -f 8- > hot
    tg-sample -p 'To be' -n 1 --top 3 -k 1 | sed 1d | cut -f 8- | cmp - hot
    tg-sample -p 'To be' -n 1 -g --logprobs | sed 1d | awk -F '\t' '$7 != 0 || $2 != $9 || $6 != $11 { exit 1 }'
}

@test "--logprobs: --top, --format, --no-header, without a prompt, with --stop, after a full context" {
    need jq
    tiny
    [[ $(tg-sample -p x -n 0 --logprobs --top 0) = $'t\tid\tfrom\tto\ttext\tlogprob\trank\tentropy' ]]
    [[ $(tg-sample -p x -n 2 --logprobs --no-header | cut -f 1,3,4) = $'1\t1\t2\n2\t2\t3' ]]
    [[ $(tg-sample -p '' -n 1 --logprobs --no-header | cut -f 1,3) = $'0\t0' ]]
    tg-sample -p x -n 5 --top 2 -f jsonl > got
    tg-sample -p x -n 5 --top 2 --json --no-header | cmp - got
    run -0 jq -r '[.t, .id, .from, .to, .text, .rank, .id_2, .text_2] | @tsv' got
    tg-sample -p x -n 5 --top 2 --no-header | cut -f 1-5,7,12,13 > want
    [[ $output = "$(sed 's/\\/\\\\/g' want)" ]] || [[ $output = "$(< want)" ]]
    # the context is 16
    [[ $(tg-sample -p x -n 40 --logprobs | tail -n 1 | cut -f 1) = 40 ]]
    third=$(tg-sample -m model.npz -p x -n 3 -t 0 --logprobs --no-header | tail -n 1 | cut -f 2)
    tg-sample -p x -n 30 -t 0 --logprobs --no-header --stop "$(printf "\\$(printf %o "$third")")" > got
    [[ $(tail -n 1 got | cut -f 2) = "$third" && $(wc -l < got) -le 3 ]]
}

@test "--logprobs: several texts, and weights in bf16 and int8" {
    tiny
    for options in '' '--precision bf16' '--precision int8'; do
        # shellcheck disable=SC2086
        tg-sample -p x -n 6 --count 3 --logprobs $options > got
        [[ $(head -n 1 got) = $'sample\tt\tid\tfrom'* && $(wc -l < got) = 19 ]]
        [[ $(sed 1d got | cut -f 1,2 | head -n 4 | tr '\t\n' ' ,') = '0 1,1 1,2 1,0 2,' ]]
        # shellcheck disable=SC2086
        tg-sample -p x -n 6 --count 2 --logprobs $options | grep '^1' | cmp - <(grep '^1' got)
    done
    # the same text alone
    tg-sample -p x -n 6 --logprobs --precision int8 --no-header | cmp - <(grep '^0' got | cut -f 2-)
    # each text has lines until it ends
    tg-sample -p x -n 40 --count 3 -t 5 -k 3 --stop e --logprobs --top 0 --no-header > got
    for i in 0 1 2; do
        [[ $(awk -F '\t' -v i=$i '$1 == i && $6 == "e"' got | wc -l) -le 1 ]]
    done
}

# ---- --attention

@test "--attention: what tg-attn-dump computes for prompt and text" {
    tiny --n-ctx 64
    tg-sample -p 'To be' -n 30 > want
    tg-sample -p 'To be' -n 30 --attention a.npz | cmp - want
    run -0 tg-attn-dump --check a.npz
    [[ ${lines[0]} = 'dump/text [35]: 35, all equal' && ${lines[-1]} = '7 arrays, '*': all equal' ]]
    # the same pictures as of a dump of everything
    tg-sample -p 'To be' -n 30 --logprobs --attention b.npz > lines
    cmp a.npz b.npz
    tg-attn-dump --ids "$(ids_of 'To be' lines)" -o whole.npz
    tg-attn-view < a.npz | cmp - <(tg-attn-view < whole.npz)
    tg-attn-view --png < a.npz | cmp - <(tg-attn-view --png < whole.npz)
    # without a prompt the model begins after a newline, which is the dump's first token
    tg-sample -p '' -n 3 --attention c.npz > text
    [[ $(tg-attn-dump --check c.npz | head -n 1) = 'dump/text [4]: 4, all equal' ]]
    # no tokens are generated: the prompt alone
    tg-sample -p abc -n 0 --attention d.npz > text
    [[ $(tg-attn-dump --check d.npz | head -n 1) = 'dump/text [3]: 3, all equal' ]]
}

@test "--attention -: the rows of each token, as tg-attn-dump prints them for the text up to it" {
    slow_unless_sanitized
    need jq
    for options in '' '-P baby-llama --n-kv-head 1' '-P baby-qwen3' '-P baby-gemma3 --window 5' '-P baby-neox'; do
        # shellcheck disable=SC2086
        tg-init -q $options --n-layer 2 --n-head 2 --n-embd 16 --n-ctx 40 -o model.npz --force
        tg-sample -p ab -n 8 --attention - > got
        tg-sample -p ab -n 8 --logprobs > lines
        read -ra ids <<< "$(ids_of ab lines)"
        for t in 2 3 4 5 6 7 8 9; do
            tg-attn-dump --ids "${ids[*]:0:t + 1}" --query $t -f tsv
        done | awk 'NR == 1 || !/^layer/' | cmp got -
    done
    tg-sample -p ab -n 3 --attention - -f jsonl --no-header > got
    tg-attn-dump --ids "${ids[*]:0:3}" --query 2 -f jsonl > want
    cmp -n "$(size want)" want got
    run -0 jq -e '.prob >= 0' got
}

@test "--attention: a text that exceeds the context" {
    tiny
    # as many as fit, unless -n asks for more
    tg-sample -p 'To be' --attention a.npz > got
    [[ $(tg-attn-dump --check a.npz | head -n 1) = 'dump/text [16]: 16, all equal' ]]
    for file in a.npz -; do
        run -2 --separate-stderr tg-sample -p 'To be' -n 12 --attention $file
        said '5 tokens and 12 more exceed the context of 16; give -n 11, or fewer'
        run -2 --separate-stderr tg-sample -p 'To be, or not to be' --attention $file
        said 'the prompt has 19 tokens, which exceeds the context of 16'
    done
}

@test "--attention and --logprobs: what does not go together, and what is not replaced" {
    tiny
    refuses() {
        run -2 --separate-stderr tg-sample -p x -n 2 "${@:2}"
        said "$1"
        [[ -z $output ]]
    }
    refuses '--attention goes with a single text' --attention a.npz --count 2
    refuses '--attention goes with --precision float32' --attention a.npz --precision bf16
    refuses '--logprobs and --attention - both print lines' --attention - --logprobs
    refuses '--top and --attention - both print lines' --attention - --top 3
    refuses '--format goes with --logprobs or --attention -' -f tsv
    refuses '--no-header goes with --logprobs or --attention -' --no-header --attention a.npz
    refuses '--null does not go with --logprobs' --logprobs --null
    refuses '--no-prompt does not go with --attention -' --attention - --no-prompt
    refuses "--top 300 exceeds the model's 256 ids" --top 300
    refuses 'a.png: --attention writes an archive (.npz), of which tg-attn-view makes pictures' --attention a.png
    refuses 'model.npz' --attention model.npz
    cp model.npz other.npz
    refuses 'other.npz' --attention other.npz
    cmp model.npz other.npz
    tg-sample -p x -n 2 --attention other.npz --force > got
    tg-attn-dump --check other.npz > got
    [[ ! -e a.npz && ! -e a.png ]]
}

@test "--attention: a signal ends the text, and what has been generated is in the file" {
    tiny --n-ctx 4096 --n-layer 6 --n-embd 128
    : > got
    run -143 --separate-stderr bash -c '
        tg-sample -p x --attention a.npz -n 4000 > got & pid=$!
        until [[ $(wc -c < got) -gt 20 ]]; do sleep 0.01; done
        kill -TERM $pid
        wait $pid'
    said 'finishing this token, then writing the attention'
    run -0 tg-attn-dump --check a.npz
    [[ ${lines[0]} =~ ^'dump/text ['([0-9,]+)']: ' && ${BASH_REMATCH[1]//,/} -gt 20 && ${BASH_REMATCH[1]//,/} -lt 4001 ]]
}

@test "--logprobs and --attention -: a full disk, a reader that goes away, numbers that overflow" {
    need_dev_full
    tiny --n-ctx 4096
    for option in --logprobs '--attention -'; do
        run -3 --separate-stderr timeout 600 bash -c "tg-sample -p x -n 4000 $option > /dev/full"
        said 'tg-sample: standard output: cannot write: No space left on device'
        run -0 --separate-stderr timeout 600 bash -c "tg-sample -p x -n 4000 $option | head -n 1 > /dev/null"
        [[ -z $stderr ]]
    done
    change_npz model.npz huge.npz 'fill("h.0.attn.c_attn.weight", 1e37); fill("h.0.ln_1.weight", 1e37)'
    run -1 --separate-stderr tg-sample -m huge.npz -p ab -n 2 --attention -
    [[ $stderr = 'tg-sample: '* ]]
}

@test "--ablate and --add: heads are silenced, vectors added, and the rest is as it was" {
    export TG_MODEL="$ROOT/docs/data/induction"
    tg-sample -q -p abcdefghabc -n 5 -g > got
    [[ $(< got) = abcdefghabcdefgh ]]
    # the induction head, and another head
    tg-sample -q -p abcdefghabc -n 5 -g --ablate 1.0 > got
    [[ $(< got) != abcdefghabcd* ]]
    tg-sample -q -p abcdefghabc -n 5 -g --ablate 1.1 > got
    [[ $(< got) = abcdefghabcdefgh ]]
    tg-attn-dump -q -p Alice --stage resid --mean -o a.npz
    [[ $(names a.npz) = $'kind\nversion\nh.0.resid\nh.1.resid\nh.2.resid' ]]
    for layer in 0 1 2; do
        tg-sample -q -p abcdefghabc -n 5 -g --logprobs --add "$layer:a.npz*0" > zero
        tg-sample -q -p abcdefghabc -n 5 -g --logprobs --add "$layer:a.npz*2.5,$layer:a.npz*-2.5" > both
        tg-sample -q -p abcdefghabc -n 5 -g --logprobs --add "$layer:a.npz" > one
        tg-sample -q -p abcdefghabc -n 5 -g --logprobs > none
        cmp zero none
        ! cmp -s one none
        # adding and subtracting rounds twice
        cut -f 2,5 both | cmp - <(cut -f 2,5 none)
    done
    # all heads of a layer
    tg-sample -q -p abcdefghabc -n 5 -g --logprobs --ablate '1.*' > star
    tg-sample -q -p abcdefghabc -n 5 -g --logprobs --ablate 1.0,1.1,1.2,1.3 > list
    cmp star list
}

@test "--ablate and --add: what the model, or a file, does not have" {
    export TG_MODEL="$ROOT/docs/data/induction"
    tg-attn-dump -q -p ab --stage resid --mean -l 1 -o one.npz
    tg-attn-dump -q -p ab -o dump.npz
    run -3 --separate-stderr tg-sample -q -p ab --add 1:none.npz
    said 'none.npz: No such file or directory'
    run -1 --separate-stderr tg-sample -q -p ab --add 0:one.npz
    said 'one.npz: there is no vector of layer 0'
    run -1 --separate-stderr tg-sample -q -p ab --add 1:dump.npz
    said 'dump.npz: the archive has kind "attention", expected "vectors"'
    tiny -q
    tg-attn-dump -q -m model.npz -p ab --stage resid --mean -o narrow.npz
    run -1 --separate-stderr tg-sample -q -p ab --add 1:narrow.npz
    said 'narrow.npz: h.1.resid has 16 elements: expected 64 of float32'
    run -2 --separate-stderr tg-sample -q -p ab --add 3:one.npz
    said '--add: layer 3 is out of range: expected 0 to 2'
    run -2 --separate-stderr tg-sample -q -p ab --ablate 2.0
    said '--ablate: layer 2 is out of range: expected 0 to 1'
    run -2 --separate-stderr tg-sample -q -p ab --ablate 1.4
    said '--ablate: head 4 is out of range: expected 0 to 3'
    for list in 1 1: '1:a.npz,' x:a.npz 1.a.npz '1:a.npz*' '1:a.npz*x'; do
        run -2 --separate-stderr tg-sample -q -p ab --add "$list"
        said "--add must be LAYER:FILE or LAYER:FILE*NUMBER, separated by commas, got '$list'"
    done
    run -2 --separate-stderr tg-sample -q -p ab --add 1:-
    said '--add reads no vector from standard input'
    for list in 1 1. '1.0,' '*.0'; do
        run -2 --separate-stderr tg-sample -q -p ab --ablate "$list"
        said "--ablate must be LAYER.HEAD or LAYER.*, separated by commas, got '$list'"
    done
    run -2 --separate-stderr tg-sample -q -p ab --add 1:one.npz --attention x.npz
    said '--attention does not go with --add'
    run -2 --separate-stderr tg-attn-dump -q -p ab --mean -o x.npz
    said '--mean goes with --stage resid'
    run -2 --separate-stderr tg-attn-dump -q --example mha --stage resid --mean -o x.npz
    said '--mean needs a model'
    [[ ! -e x.npz ]]
}
