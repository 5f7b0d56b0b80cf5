# The tools with another tokenizer than bytes: tests/unit/grams.c, whose tokens are single bytes
# and pairs of letters.  What a tool knows of bytes alone shows here.

load helper

setup_file() {
    # `make test` has built them; after a plain `make`, do it here.
    tg_environment || return 1
    make_unit
    grams
    cd "$BATS_FILE_TMPDIR" || return
    yes 'To be, or not to be, that is the question.' | head -n 200 > text
    tg-tokenize -o tokens.npz text
    tg-train -n 20 -b 2 --context 8 -m model.npz tokens.npz 2> said
}

# In front of the tools that know bytes come those that know grams.
grams() {
    tg_setup
    PATH=$BUILD/grams:$PATH
}

setup() {
    grams
    cp "$BATS_FILE_TMPDIR"/{text,tokens.npz,model.npz,said} .
}

@test "tg-tokenize: there and back, in files and pipes" {
    slow_unless_sanitized
    tg-tokenize -d tokens.npz | cmp - text
    tg-tokenize < text | cmp - tokens.npz
    cat text | tg-tokenize | tg-tokenize -d | cmp - text
    make_all_bytes | tg-tokenize | tg-tokenize -d > got
    make_all_bytes | cmp - got
    run -0 scalars tokens.npz tokenizer/kind tokenizer/vocab_size
    is_output "grams
2020"
}

@test "tg-tokenize: a token may span files, and reads" {
    printf 'that' > whole
    printf 't' > a
    printf 'ha' > b
    printf 't' > c
    tg-tokenize whole > want.npz
    tg-tokenize a b c > got.npz
    cmp want.npz got.npz
    { cat a; sleep 0.1; cat b; sleep 0.1; cat c; } | tg-tokenize > got.npz
    cmp want.npz got.npz
    run -0 --separate-stderr tg-tokenize -c got.npz
    is_output 2
    said "tg-tokenize: 4 bytes, 2.000 bytes per token"
}

@test "tg-tokenize -c counts tokens, not bytes" {
    run -0 --separate-stderr tg-tokenize -c tokens.npz
    tokens=$output
    [[ $tokens -gt 0 && $tokens -lt $(size text) ]]
    run -0 --separate-stderr tg-tokenize -c text
    is_output "$tokens"
    run -0 --separate-stderr tg-tokenize -c text tokens.npz
    is_output $((2 * tokens))
}

@test "tg-train starts a model for the tokenizer of its tokens" {
    grep -q "model.npz: a new model" said
    run -0 scalars model.npz config/vocab_size tokenizer/kind tokenizer/vocab_size
    is_output "2048
grams
2020"
    run -0 tg-train -n 22 -m model.npz -o more.npz tokens.npz
}

@test "tg-init: the vocabulary must hold the tokenizer's ids" {
    run -2 --separate-stderr tg-init -o new.npz
    said 'vocab_size 256 is below the 2020 ids of tokenizer "grams"'
    tg-init --vocab-size 2048 -o new.npz
    run -0 scalars new.npz config/vocab_size tokenizer/kind
    is_output "2048
grams"
}

@test "tg-sample prints text" {
    tg-sample -p 'To be, or' -n 20 --greedy > got
    head -c 9 got | cmp - <(printf 'To be, or')
    [[ $(size got) -gt $((9 + 20)) ]]
    tg-tokenize text | tg-sample -n 1 --greedy --no-prompt > from-tokens
    tg-sample -n 1 --greedy --no-prompt < text | cmp - from-tokens
    # the end may come within a token
    tg-sample -p 'To b' -n 50 --greedy --stop e --no-prompt > stopped
    run -1 grep -q e stopped
}

@test "tg-attn-dump shows each token's text" {
    run -0 tg-attn-dump -p 'that' --layer 0 --head 0
    [[ $output = *'"th"'* && $output = *'"at"'* ]]
    run -0 tg-attn-dump -p 'that' --trace 0,0,1,0 --backward --target ' b'
    [[ $output = *'target = '*' " b"'* ]]
    run -2 --separate-stderr tg-attn-dump -p 'that' --trace 0,0,1,0 --backward --target 'ques'
    said "--target must be one token, but 'ques' is 2"
    tg-attn-dump -p 'that' -o dump.npz
    tg-attn-dump --check dump.npz
}

@test "an id that the model has and the tokenizer lacks has no text" {
    tg-init --vocab-size 2100 -o padded.npz 2> /dev/null
    run -0 tg-attn-dump -m padded.npz -p 'that' --trace 0,0,1,0 --backward --target-id 2099
    [[ $output = *'target = 2099 ""'* ]]
}

@test "tg-attn-dump: text that is too long, and how much of it is not" {
    run -1 --separate-stderr tg-attn-dump --summary < text
    said "which exceeds the model's context of 8: shorten it, as with head -c "
    n=${stderr##*head -c }
    n=${n%%;*}
    [[ $n -gt 8 && $n -le 16 ]]
    head -c "$n" text | tg-attn-dump --summary > /dev/null
}

@test "tg-attn-dump --ablate: text and tokens are the same" {
    slow
    tg-attn-dump --ablate all < text > a
    tg-attn-dump --ablate all < tokens.npz > b
    cmp a b
    grep -q "^# $(tg-tokenize -c text | awk '{ print $1 - 1 }' | sed 's/...$/,&/') predicted tokens" a
}

@test "tokens of another tokenizer are refused, with both names" {
    local what='the tokens are of tokenizer "bytes" with 256 ids, expected "grams" with 2020 ids'
    "$BUILD/bin/tg-tokenize" text > bytes.npz
    cp model.npz before.npz
    run -1 --separate-stderr tg-train -m model.npz bytes.npz
    said "$what"
    cmp model.npz before.npz
    run -1 --separate-stderr tg-train -m new.npz tokens.npz bytes.npz
    said "bytes.npz: $what"
    run_pipe 1 'tg-sample < bytes.npz'
    said "standard input: $what"
    run_pipe 1 'tg-attn-dump --ablate all < bytes.npz'
    said "standard input: $what"
    run_pipe 1 'cat tokens.npz bytes.npz | tg-tokenize -d > /dev/null'
    said "standard input: $what"
}

@test "a tokenizer that a build does not know is refused by name" {
    local what='tokenizer/kind is "grams": this version knows "bytes"'
    run -1 --separate-stderr "$BUILD/bin/tg-tokenize" -d tokens.npz
    said "tokens.npz: $what"
    run -1 --separate-stderr "$BUILD/bin/tg-sample" -p x
    said "model.npz: $what"
}
