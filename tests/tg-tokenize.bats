load helper

# ---- there and back

@test "text comes back as it was" {
    make_text > text
    run -0 --separate-stderr tg-tokenize -o t.npz text
    is_output ""
    [[ -z $stderr ]]
    run_pipe 0 'tg-tokenize < text > from-stdin.npz'
    cmp t.npz from-stdin.npz
    tg-tokenize -d t.npz | cmp - text
    tg-tokenize -d < t.npz | cmp - text
    tg-tokenize -d -o back t.npz
    cmp back text
}

@test "every byte value comes back, and needs no newline at the end" {
    slow_unless_sanitized
    make_all_bytes > bytes
    [[ $(size bytes) = 256 ]]
    tg-tokenize bytes | tg-tokenize -d | cmp - bytes
    printf x > one
    tg-tokenize one | tg-tokenize -d | cmp - one
}

@test "texts about as long as a chunk come back, and their chunks are where they should be" {
    slow
    local n chunks
    make_text 1048577 > long
    for n in 524287 524288 524289 1048576 1048577; do
        head -c "$n" long > text
        tg-tokenize -o t.npz text
        tg-tokenize -d t.npz | cmp - text
        [[ $(tg-tokenize -c t.npz) = "$n" ]]
        chunks=$(names t.npz | grep -c '^tokens/')
        [[ $chunks = $(((n + 524287) / 524288)) ]]
    done
}

@test "the archive is the same however the text arrives" {
    make_text 1500000 > text
    tg-tokenize -o whole.npz text
    { head -c 7 text; sleep 0.1; tail -c +8 text | head -c 700000; sleep 0.1; tail -c +700008 text; } |
        tg-tokenize > pieces.npz
    cmp whole.npz pieces.npz
}

@test "texts into a pipe: nothing in it changes before it is read" {
    make_text 1500000 > text
    tg-tokenize -o whole.npz text
    tg-tokenize text | cmp - whole.npz
    # the last chunk is gathered where the first one was, while that is still in the pipe
    head -c 7 text > a
    tail -c +8 text | head -c 525288 > b
    cat a b > both
    tg-tokenize a b | { sleep 0.3; tg-tokenize -d; } | cmp - both
}

@test "files are taken in order, - is standard input" {
    printf 'one ' > a
    printf 'three' > c
    printf 'two ' | tg-tokenize a - c | tg-tokenize -d > got
    printf 'one two three' | cmp - got
    tg-tokenize -o c.npz c
    tg-tokenize a | tg-tokenize -d - c.npz > got
    printf 'one three' | cmp - got
}

@test "archives may follow one another" {
    make_text 3000 > a
    make_text 5000 > b
    tg-tokenize -o a.npz a
    tg-tokenize -o b.npz b
    cat a b > both
    cat a.npz b.npz > both.npz
    cat a.npz b.npz | tg-tokenize -d | cmp - both
    tg-tokenize -d both.npz | cmp - both
    [[ $(tg-tokenize -c both.npz) = 8000 ]]
}

@test "an archive is what the format says" {
    printf 'To be' | tg-tokenize -o t.npz
    run -0 names t.npz
    is_output "kind
version
tokenizer/kind
tokenizer/vocab_size
tokens/00000000"
    run -0 scalars t.npz kind version tokenizer/kind tokenizer/vocab_size
    is_output "tokens
1
bytes
256"
    python3 -m zipfile -t t.npz
}

@test "NumPy reads the ids" {
    slow
    need_numpy
    make_text 1500000 > text
    tg-tokenize -o t.npz text
    run -0 python3 -c '
import numpy as np
z = np.load("t.npz")
ids = np.concatenate([z[n] for n in sorted(z.files) if n.startswith("tokens/")])
assert ids.dtype == np.uint8 and bytes(ids) == open("text", "rb").read()
print(len(ids), z["kind"].item().decode(), z["tokenizer/vocab_size"])
'
    is_output "1500000 tokens 256"
}

@test "an archive that NumPy wrote is read, ids of other widths too" {
    slow
    need_numpy
    local type
    for type in uint8 uint16 uint32; do
        python3 -c '
import sys
import numpy as np
ids = np.frombuffer(b"written by NumPy", dtype=np.uint8).astype(sys.argv[1])
np.savez("n.npz", **{"kind": np.bytes_("tokens"), "version": np.int64(1),
         "tokenizer/kind": np.bytes_("bytes"), "tokenizer/vocab_size": np.int64(256), "tokens/00000000": ids})
' "$type"
        [[ $(tg-tokenize -d n.npz) = "written by NumPy" ]]
        [[ $(tg-tokenize -d < n.npz) = "written by NumPy" ]]
    done
}

# ---- counting

@test "-c counts text and archives, in files and pipes" {
    make_text 123456 > text
    tg-tokenize -o t.npz text
    run -0 --separate-stderr tg-tokenize -c text
    is_output 123456
    run -0 --separate-stderr tg-tokenize -c t.npz
    is_output 123456
    run_pipe 0 'cat text | tg-tokenize -c'
    is_output 123456
    run_pipe 0 'cat t.npz | tg-tokenize -c'
    is_output 123456
    run_pipe 0 'tg-tokenize -c text t.npz - < t.npz'
    is_output 370368
}

@test "-c of a short text: too short to look like anything" {
    local text
    for text in "" P PK PKP; do
        run_pipe 0 "printf '$text' | tg-tokenize -c"
        is_output "${#text}"
        printf '%s' "$text" > text
        run -0 --separate-stderr tg-tokenize -c text
        is_output "${#text}"
    done
}

@test "-c reads from where the descriptor stands" {
    make_text 1000 > text
    run_pipe 0 '{ dd bs=100 count=1 of=/dev/null status=none; tg-tokenize -c; } < text'
    is_output 900
}

@test "-c of a damaged archive is an error, not a number" {
    make_text 1000 > text
    tg-tokenize text | head -c 900 > cut.npz
    run -1 --separate-stderr tg-tokenize -c cut.npz
    is_output ""
    said "cut.npz: "
    run_pipe 1 'cat cut.npz | tg-tokenize -c'
    is_output ""
    said "standard input: "
}

# ---- constant memory, and text that is still arriving

@test "memory does not grow with the text" {
    slow
    need_plain_build
    run_pipe 0 'ulimit -v 100000; head -c 200000000 /dev/zero | tg-tokenize | tg-tokenize -d | wc -c'
    is_output 200000000
    run_pipe 0 'ulimit -v 100000; head -c 200000000 /dev/zero | tg-tokenize | tg-tokenize -c'
    is_output 200000000
}

@test "tokens are written, and decoded, while the text is still arriving" {
    mkfifo in
    tg-tokenize < in 3>&- | tg-tokenize -d > out 3>&- &
    exec 5> in
    make_text 2500000 >&5
    eventually has_bytes out 2097152 # the writer still has the last, unfinished chunk
    exec 5>&-
    wait $!
    [[ $(size out) = 2500000 ]]
}

# change_while_read COMMAND: tg-tokenize writes into a full pipe; COMMAND changes its text before the pipe is read.
change_while_read() {
    yes "a line of text" | head -c 8000000 > text
    run_pipe 0 "tg-tokenize text | { head -c 1; $1; cat; } | tg-tokenize -d > got"
    [[ -z $stderr ]]
}

@test "a text that is changed while it is read gives a sound archive" {
    change_while_read 'yes "the same as before" | head -c 8000000 | dd of=text conv=notrunc status=none'
    [[ $(size got) = 8000000 ]]
}

@test "a text that is shortened while it is read ends there" {
    change_while_read 'truncate -s 1000 text'
    [[ $(size got) -gt 1000 && $(size got) -lt 8000000 ]]
}

@test "on a terminal, a long run shows its progress; a short one and a pipe nothing" {
    slow
    need python3
    run -0 on_terminal '(printf a; taken; sleep 1.2; printf b; taken; sleep 0.3; printf c) | tg-tokenize > t.npz'
    [[ $output =~ '3 bytes, '[1-9] ]]
    tg-tokenize -d t.npz | cmp - <(printf abc)
    run -0 on_terminal 'printf abc | tg-tokenize > t.npz'
    is_output ""
    run -0 --separate-stderr bash -c '(printf a; taken; sleep 1.2; printf b) | tg-tokenize > t.npz'
    [[ -z $stderr ]]
}

# ---- bad input

@test "empty text is an error and leaves no file" {
    run -1 --separate-stderr tg-tokenize < /dev/null
    is_output ""
    said "tg-tokenize: standard input: the text is empty, expected at least one byte"
    : > a
    : > b
    run -1 --separate-stderr tg-tokenize -o t.npz a
    said "a: the text is empty"
    run -1 --separate-stderr tg-tokenize -o t.npz a b
    said "all files: the text is empty"
    run -0 ls -A
    is_output "a
b"
}

@test "an empty file among others is fine" {
    : > a
    printf b > b
    tg-tokenize a b a | tg-tokenize -d > got
    printf b | cmp - got
}

@test "a failure leaves the old file as it was" {
    echo precious > t.npz
    make_text > text
    run -3 --separate-stderr tg-tokenize --force -o t.npz text missing
    said "tg-tokenize: missing: No such file or directory"
    [[ $(< t.npz) = precious ]]
    run -1 --separate-stderr tg-tokenize --force -o t.npz /dev/null
    [[ $(< t.npz) = precious ]]
    run -0 ls -A
    is_output "t.npz
text"
}

@test "a missing file, a directory" {
    local job
    mkdir dir
    for job in "" -d -c; do
        # shellcheck disable=SC2086
        run -3 --separate-stderr tg-tokenize $job missing
        is_output ""
        said "tg-tokenize: missing: No such file or directory"
        # shellcheck disable=SC2086
        run -3 --separate-stderr tg-tokenize $job dir
        is_output ""
        said "tg-tokenize: dir: Is a directory"
        run_pipe 3 "tg-tokenize $job < dir"
        said "tg-tokenize: standard input: Is a directory"
    done
    run -3 --separate-stderr tg-tokenize -o missing/t.npz /etc/passwd
    said "missing/t.npz: "
}

@test "an unreadable file" {
    need_user
    make_text > text
    chmod 000 text
    run -3 --separate-stderr tg-tokenize text
    said "tg-tokenize: text: Permission denied"
}

@test "-d of text, of nothing, of another kind" {
    make_text > text
    run -1 --separate-stderr tg-tokenize -d text
    is_output ""
    said "tg-tokenize: text: "
    run_pipe 1 'tg-tokenize -d < text'
    said "tg-tokenize: standard input: "
    run -1 --separate-stderr tg-tokenize -d /dev/null
    said "tg-tokenize: /dev/null: "
    npz model.npz <<< "kind S - model"
    run -1 --separate-stderr tg-tokenize -d model.npz
    said 'model.npz: the archive has kind "model", expected "tokens"'
    npz foreign.npz <<< "weights f4 2 1.5 2.5"
    run -1 --separate-stderr tg-tokenize -d foreign.npz
    said "foreign.npz: not an archive of tg: the first array is \"weights\", expected \"kind\""
}

@test "an archive cut short anywhere is an error" {
    slow
    local n whole
    make_text 3000 > text
    tg-tokenize -o t.npz text
    whole=$(size t.npz)
    for ((n = 0; n < whole; n += 97)) do
        head -c "$n" t.npz > cut.npz
        run -1 --separate-stderr tg-tokenize -d cut.npz
        said "tg-tokenize: cut.npz: "
        run_pipe 1 'cat cut.npz | tg-tokenize -d'
        said "tg-tokenize: standard input: "
    done
    head -c $((whole - 1)) t.npz > cut.npz
    run -1 --separate-stderr tg-tokenize -d cut.npz
    said "cut.npz: "
}

@test "a flipped bit anywhere is an error" {
    slow
    local at whole
    make_text 700 > text
    tg-tokenize -o t.npz text
    whole=$(size t.npz)
    for ((at = 0; at < whole; at += 41)); do
        cp t.npz bad.npz
        flip bad.npz "$at" $((at % 8))
        run -1 --separate-stderr tg-tokenize -d bad.npz
        said "tg-tokenize: bad.npz: "
    done
}

# The lines of a token archive's head, for npz.
head_of_tokens() {
    printf '%s\n' "kind S - tokens" "version i8 - 1" "tokenizer/kind S - bytes" "tokenizer/vocab_size i8 - 256"
}

@test "ids: out of range, of the wrong type, too many, in no order" {
    slow
    { head_of_tokens; echo "tokens/00000000 u2 3 65 66 300"; } | npz t.npz
    run -1 --separate-stderr tg-tokenize -d t.npz
    said "t.npz: tokens/00000000[2] is 300: the vocabulary has 256 ids"
    run_pipe 1 'cat t.npz | tg-tokenize -c'
    said "standard input: tokens/00000000[2] is 300: the vocabulary has 256 ids"
    { head_of_tokens; echo "tokens/00000000 u4 2 65 4294967295"; } | npz t.npz
    run -1 --separate-stderr tg-tokenize -d t.npz
    said "is 4294967295: the vocabulary has 256 ids"
    { head_of_tokens; echo "tokens/00000000 i8 2 65 66"; } | npz t.npz
    run -1 --separate-stderr tg-tokenize -d t.npz
    said "tokens/00000000 has type i8, expected u1, u2 or u4"
    { head_of_tokens; echo "tokens/00000000 u1 2,2 65 66 67 68"; } | npz t.npz
    run -1 --separate-stderr tg-tokenize -d t.npz
    said "tokens/00000000 has 2 dimensions, expected 1"
    { head_of_tokens; echo "tokens/00000001 u1 2 65 66"; } | npz t.npz
    run -1 --separate-stderr tg-tokenize -d t.npz
    said "tokens/00000001 is out of place: expected tokens/00000000"
    { head_of_tokens; echo "tokens/00000000 u1 1048577 $(yes 7 | head -n 1048577 | tr '\n' ' ')"; } | npz t.npz
    run -1 --separate-stderr tg-tokenize -d t.npz
    said "tokens/00000000 has 1048577 ids, expected at most 1048576"
}

@test "a head that is incomplete, of another version or tokenizer" {
    slow
    head_of_tokens | grep -v version | npz t.npz
    run -1 --separate-stderr tg-tokenize -d t.npz
    said "the second array is \"tokenizer/kind\", expected \"version\""
    head_of_tokens | sed 's/version i8 - 1/version i8 - 2/' | npz t.npz
    run -1 --separate-stderr tg-tokenize -d t.npz
    said "the archive has version 2, expected 1"
    { head_of_tokens | grep -v tokenizer/kind; echo "tokens/00000000 u1 1 65"; } | npz t.npz
    run -1 --separate-stderr tg-tokenize -d t.npz
    said "tokenizer/kind is missing"
    head_of_tokens | sed 's/bytes/words/' | npz t.npz
    run -1 --separate-stderr tg-tokenize -d t.npz
    said 'tokenizer/kind is "words": this version knows "bytes"'
    head_of_tokens | sed 's/256/300/' | npz t.npz
    run -1 --separate-stderr tg-tokenize -d t.npz
    said 'tokenizer/vocab_size must be 256 for "bytes", got 300'
    { head_of_tokens; echo "extra i8 - 1"; } | npz t.npz
    run -1 --separate-stderr tg-tokenize -d t.npz
    said "extra does not belong in a token archive"
    head_of_tokens | npz t.npz
    run -0 --separate-stderr tg-tokenize -c t.npz
    is_output 0
}

# ---- usage

@test "options that do not go together" {
    run -2 --separate-stderr tg-tokenize -d -c
    said "--decode and --count cannot be combined"
    run -2 --separate-stderr tg-tokenize -c -o x
    said "cannot be combined with --output"
    run -2 --separate-stderr tg-tokenize --nonsense
    said "unknown option --nonsense"
}
