# --ids: token ids instead of text; models without a tokenizer.

load helper

# A model of 11 ids without text.
bare() {
    tg-init -t ids --vocab-size 11 --n-layer 2 --n-head 2 --n-embd 16 --n-ctx 16 "$@" -o bare.npz 2> /dev/null
}

tiny() {
    tg-init --n-layer 2 --n-head 2 --n-embd 16 --n-ctx 16 "$@" -o model.npz 2> /dev/null
}

# ---- --ids

@test "--ids: the same as the text of these ids, however they are separated" {
    slow_unless_sanitized
    tiny
    for ids in '84 111 32 98 101' '84,111,32,98,101' $'84\n111\n32\n98\n101\n' $' 84,\t111, 32,,98 101,' '084 111 32 98 101'; do
        for what in "tg-sample -n 9" "tg-attn-dump" "tg-attn-dump --pieces" "tg-attn-dump -s x -f tsv" \
            "tg-attn-dump --summary" "tg-attn-dump --ablate all" "tg-attn-dump --trace 0,0,1,1" "tg-attn-dump -o -"; do
            cmp <($what --ids "$ids") <($what -p 'To be')
        done
    done
}

@test "--ids: a word that is no id of the model is wrong usage" {
    tiny
    for tool in tg-sample tg-attn-dump; do
        for word in 256 99999999999999999999 2147483648; do
            run -2 --separate-stderr $tool --ids "1 $word 3"
            said "--ids has $word: the model's vocabulary has ids 0 to 255"
        done
        for word in -1 +1 1.0 0x1 one '[1' 1e3; do
            run -2 --separate-stderr $tool --ids "1 $word 3"
            said "--ids must be decimal token ids, got '$word'"
        done
        run -2 --separate-stderr $tool --ids $'1 \e[31m 3'
        said "got '\\x1B[31m'"
        for nothing in '' ' , '; do
            run -2 --separate-stderr $tool --ids "$nothing"
            said '--ids must name at least one token id'
        done
        run -2 --separate-stderr $tool --ids 1 -p 1
        said '--prompt and --ids name different texts'
    done
    run -2 --separate-stderr tg-attn-dump --ids 1 --example mha
    said 'name different inputs'
    run -2 --separate-stderr tg-attn-dump --ids 1 --check dump.npz
    said '--ids does not go with --check'
}

@test "--ids: the padding of the embedding is no id" {
    tiny --vocab-size 5000
    run -2 --separate-stderr tg-sample --ids 4000
    said "the model's vocabulary has ids 0 to 255"
}

# ---- a model without a tokenizer

@test "tg-init -t ids: as many ids as --vocab-size" {
    bare
    [[ $(scalars bare.npz tokenizer/kind tokenizer/vocab_size config/vocab_size) = $'ids\n11\n11' ]]
    run -2 --separate-stderr tg-init -t ids
    said '--tokenizer ids needs --vocab-size'
    run -2 --separate-stderr tg-init -t ids --vocab-size 5000000
    said 'expected 1 to 4194304'
    tg-init -t ids --vocab-size 1 --n-layer 1 --n-head 1 --n-embd 4 --n-ctx 4 -o one.npz 2> /dev/null
    [[ $(tg-sample -m one.npz --ids 0 -n 6) = '0 0 0 0 0 0 0 ' ]]
}

@test "a model without a tokenizer writes ids, which --ids takes" {
    bare
    tg-sample -m bare.npz --ids '1 2 10' -n 20 > got
    grep -qxE '1 2 10 (([0-9]|10) ){20}' got
    tg-sample -m bare.npz --ids "$(tg-sample -m bare.npz --ids '1 2 10' -n 5)" -n 0 --no-newline > begin
    cmp -n "$(size begin)" begin got
    tg-sample -m bare.npz --ids '1 2 10' -n 20 --no-prompt | cmp - <(tail -c +8 got)
    [[ $(tg-sample -m bare.npz --ids 3 -n 4 --count 3 | grep -c -x -e --- -e '3 .*') = 5 ]]
    third=$(cut -d' ' -f6 got)
    [[ $(tg-sample -m bare.npz --ids '1 2 10' -n 20 --stop "$third ") != *"$third " ]]
}

@test "a model without a tokenizer refuses text, and says what to give" {
    bare
    for tool in tg-sample 'tg-attn-dump --summary'; do
        run -1 --separate-stderr $tool -m bare.npz -p text
        said 'the model has no tokenizer, only ids 0 to 10: give token ids (--ids), not text'
        run -2 --separate-stderr $tool -m bare.npz < /dev/null
        said '--ids'
    done
    run_pipe 1 'echo text | tg-sample -m bare.npz'
    said 'standard input: the model has no tokenizer'
    run_pipe 1 'echo text | tg-tokenize -m bare.npz'
    said 'the model has no tokenizer'
    run -2 --separate-stderr tg-attn-dump -m bare.npz --ids '1 2' --trace 0,0,1,1 --backward --target 3
    said 'name the token by its id'
    run -1 --separate-stderr tg-attn-dump -m bare.npz --ids '1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7'
    said "17 token ids exceed the model's context of 16"
}

@test "tokens without text are shown as numbers" {
    bare
    tg-attn-dump -m bare.npz --ids '3 10' --pieces -f tsv > got
    cmp got - <<< $'t\tid\tfrom\tto\ttext\n0\t3\t0\t0\t3\n1\t10\t0\t0\t10'
    tg-attn-dump -m bare.npz --ids '3 10' --trace 0,0,1,0 | grep -qF '"10"'
    tg-attn-dump -m bare.npz --ids '3 10' -o dump.npz
    tg-attn-dump -m bare.npz --check dump.npz | grep -q 'all equal$'
}

@test "tokens without text: trained on, counted, written as numbers; not mixed with others" {
    slow_unless_sanitized
    npz ids.npz <<< 'kind S - tokens
version i8 - 1
tokenizer/kind S - ids
tokenizer/vocab_size i8 - 11
tokens/00000000 u1 100 '"$(for i in {1..100}; do printf '%d ' $((i * i % 11)); done)"
    bare
    run -0 --separate-stderr tg-train -m bare.npz --steps 3 ids.npz
    [[ $stderr = *"step 3: loss "* && $stderr != *"bits per byte"* ]] # ids have no text
    tg-train -m new.npz --steps 3 ids.npz 2> /dev/null
    [[ $(scalars new.npz tokenizer/kind tokenizer/vocab_size config/vocab_size) = $'ids\n11\n64' ]]
    [[ $(tg-sample -m new.npz --ids 4 -n 50 -t 50 | tr ' ' '\n' | sort -n | tail -n 1) -le 10 ]]
    tg-attn-dump -m new.npz --summary < /dev/null > /dev/null # its probe
    [[ $(tg-tokenize -d ids.npz | head -c 16) = '1 4 9 5 3 3 5 9 ' ]]
    run -0 --separate-stderr tg-tokenize -c ids.npz
    is_output 100
    [[ -z $stderr ]]
    [[ $(tg-tokenize --ids ids.npz | head -n 2) = $'1\n4' ]]
    [[ $(tg-tokenize --offsets ids.npz | sed -n 2p) = $'1\t0\t0\t1' ]]
    tg-sample -m bare.npz -n 3 < ids.npz > /dev/null
    tiny
    run -1 --separate-stderr tg-sample < ids.npz
    said 'the tokens are of tokenizer "ids" with 11 ids, expected "bytes" with 256 ids'
    run -1 --separate-stderr tg-train --steps 4 -m bare.npz <(tg-tokenize <<< text)
    said 'expected "ids" with 11 ids'
}
