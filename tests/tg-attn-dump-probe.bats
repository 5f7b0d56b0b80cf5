# tg-attn-dump --probe: built-in texts on which heads show what they do.

load helper

setup_file() {
    tg_fixtures
    tg-init --n-layer 2 --n-head 2 --n-embd 8 --n-ctx 64 -o bytes.npz 2> /dev/null
    tg-init -t ids --vocab-size 100 --n-layer 2 --n-head 2 --n-embd 8 --n-ctx 64 -o ids.npz 2> /dev/null
    printf 'one two three\none two three\n' > words
    tg-bpe -n 300 --min-count 2 -o bpe-vocabulary.npz words 2> /dev/null
    tg-init -t bpe-vocabulary.npz --n-layer 2 --n-head 2 --n-embd 8 --n-ctx 64 -o bpe.npz 2> /dev/null
}

setup() {
    tg_setup
    cp "$FIXTURES"/*.npz .
}

probe() {
    tg-attn-dump -m "$1.npz" --probe "$2" "${@:3}" < /dev/null
}

# The ids of a probe, one a line.
ids() { probe "$1" "$2" --pieces -f tsv | sed 1d | cut -f 2; }

@test "--probe repeat: 24 distinct tokens, and the same again" {
    for model in bytes ids bpe; do
        ids $model repeat > got
        [[ $(wc -l < got) = 48 && $(sort -u got | wc -l) = 24 ]]
        cmp <(head -n 24 got) <(tail -n 24 got)
        ids $model repeat | cmp - got
    done
    # words, where there are enough, and never a special token
    [[ $(probe bytes repeat --pieces -f tsv | cut -f 5 | grep -c '^[A-Za-z]$') = 48 ]]
    [[ $(probe bpe repeat --pieces -f tsv | sed 1d | cut -f 5 | grep -cE '^ ?[A-Za-z]+$') = 48 ]]
    [[ $(ids ids repeat | sort -n | tail -n 1) -lt 100 ]]
}

@test "--probe repeat: no longer than the context" {
    tg-init --n-layer 1 --n-head 1 --n-embd 8 --n-ctx 9 -o bytes.npz 2> /dev/null
    [[ $(ids bytes repeat | wc -l) = 8 && $(ids bytes repeat | sort -u | wc -l) = 4 ]]
    [[ $(ids bytes names | wc -l) = 9 ]]
    tg-init --n-layer 1 --n-head 1 --n-embd 8 --n-ctx 1 -o bytes.npz 2> /dev/null
    run -2 --separate-stderr probe bytes repeat
    said "the model's context is 1 token"
}

@test "--probe names and text: texts" {
    probe bytes names --stage x -f tsv > got
    tg-attn-dump -m bytes.npz -p 'When Mary and John went to the store, John gave a drink to' --stage x -f tsv | cmp - got
    probe bytes text --summary -f tsv > got
    tg-attn-dump -m bytes.npz -p 'Ada Lovelace was born in 1815. Her notes of 1843 describe a mach' --summary -f tsv | cmp - got
    run -2 --separate-stderr probe ids names
    said 'the model has no tokenizer: the only probe for it is repeat'
    run -2 --separate-stderr probe ids text
    said 'the model has no tokenizer'
}

@test "--probe goes with every job, and is the same text for each" {
    list=$(ids bytes repeat | tr '\n' ' ')
    for job in '-f tsv' '--stage q' '--pieces' '--summary' '--ablate all' '--trace 0,1,30,7' '-o -'; do
        # shellcheck disable=SC2086
        cmp <(probe bytes repeat $job) <(tg-attn-dump -m bytes.npz --ids "$list" $job)
    done
    tg-attn-dump -m - --probe repeat -f tsv < bytes.npz | cmp - <(probe bytes repeat -f tsv)
    run -2 --separate-stderr probe bytes repeat --check x.npz
    said '--probe does not go with --check'
}

@test "--probe names a text: another one besides is wrong usage" {
    run -2 --separate-stderr probe bytes repeat -p x
    said '--probe and --prompt name different texts: give only one'
    run -2 --separate-stderr probe bytes names --ids 1
    said '--probe and --ids name different texts: give only one'
    for job in '' '--summary' '--ablate all'; do
        # shellcheck disable=SC2086
        run_pipe 2 "printf abc | tg-attn-dump -m bytes.npz --probe repeat $job"
        said '--probe and standard input name different texts: give only one'
    done
    run -2 --separate-stderr tg-attn-dump --probe repeat --example mha
    said 'name different inputs'
    run -2 --separate-stderr probe bytes repeats
    said 'repeat|names|text'
}
