# tg-sample --chat: a conversation, a line of standard input at a time.

load helper

setup_file() {
    tg_fixtures
    tg-init -q --n-layer 2 --n-head 2 --n-embd 16 --n-ctx 256 -o bytes.npz
    # of characters that no answer ends in the middle of, and without a line feed to end it
    printf '%s\n' 'system user assistant: Be kind. Who? And you?' > letters
    tg-tokenize -q -t char letters > letters-of.npz
    tg-init -q -t letters-of.npz --n-layer 2 --n-head 2 --n-embd 16 --n-ctx 256 -o letters.npz
    make_text 3000 > text
    tg-bpe -q -n 300 --special '<|im_start|>' --special '<|im_end|>' --special '<|endoftext|>' -o bpe.npz text
    tg-init -q -t bpe.npz --n-layer 1 --n-head 2 --n-embd 16 --n-ctx 128 -o chatml.npz
}

setup() {
    tg_setup
    cp "$FIXTURES"/*.npz .
}

@test "an answer is what the model says after the whole conversation" {
    local options=(-m letters.npz -n 9) first second text
    # --greedy; and at random, with a number for each place in the conversation
    for seed in greedy 5 6 7; do
        if [[ $seed = greedy ]]; then options+=(--greedy); else options=(-m letters.npz -n 9 --seed "$seed"); fi
        text=$'system: Be kind.\nuser: Who?\nassistant: '
        first=$(tg-sample -q "${options[@]}" --no-prompt --stop $'\n' -p "$text")
        text+=$first$'\nuser: And you?\nassistant: '
        second=$(tg-sample -q "${options[@]}" --no-prompt --stop $'\n' -p "$text")
        printf 'Who?\r\n\nAnd you?' |
            tg-sample "${options[@]}" --chat --template plain --system 'Be kind.' > got
        cmp got <(printf '%s\n' "$first" "$second")
        [[ $first$second ]]
    done
}

@test "a conversation is tokenized as one that is learned" {
    # the model sees the same ids: with room for one more token, the answer is that token
    echo '{"messages": [{"role": "user", "content": "ab <|im_end|>"}, {"role": "assistant", "content": "-"}]}' |
        tg-tokenize -m chatml.npz --chat --ids > ids
    head -n -3 ids > asked # without the answer, its end and the line feed
    tg-sample -q -m chatml.npz --greedy -n 1 --no-prompt --ids "$(tr '\n' ' ' < asked)" > want
    tg-sample -q -m chatml.npz --greedy -n 1 --chat <<< 'ab <|im_end|>' | cmp - want
}

@test "a conversation that is longer than the context" {
    for ((i = 0; i < 9; i++)); do echo "message number $i, which is rather long"; done |
        tg-sample -m bytes.npz --greedy -n 20 --chat --template plain > got 2> err
    [[ $(wc -l < got) -ge 9 ]]
    grep -qx 'tg-sample: the conversation has [0-9]* tokens, and the model sees 256: it has forgotten the beginning' err
    # a message that is longer than all that the model sees
    run -0 --separate-stderr tg-sample -m bytes.npz --greedy -n 3 --chat --template plain <<< "$(printf 'x%.0s' {1..1000})"
    [[ $output && $stderr = "tg-sample: the conversation has 1,0"*" tokens, and the model sees 256: "* ]]
    tg-init -q --n-layer 1 --n-head 2 --n-embd 16 --n-ctx 1 -o one.npz
    tg-sample -q -m one.npz -n 2 --chat --template plain <<< a > got
    [[ -s got ]]
}

@test "SIGINT ends an answer, not the conversation; SIGTERM both" {
    mkfifo messages
    env --default-signal=INT,TERM tg-sample -m bytes.npz --greedy -n 1e9 --chat --template plain < messages > got 2> err &
    child=$!
    exec 9> messages
    echo Who >&9
    eventually test -s got
    kill -INT $child
    eventually grep -q 'ending this answer' err
    echo Why >&9
    sleep 1.2 # one request within a second of the last is the same
    kill -TERM $child
    exec 9>&-
    wait $child || [[ $? = 143 ]]
    [[ $(grep -c 'ending this answer' err) = 2 ]]
}

@test "options that do not go together" {
    run -2 --separate-stderr tg-sample -m bytes.npz --chat -p a
    said "tg-sample: --chat and --prompt cannot be combined"
    run -2 --separate-stderr tg-sample -m bytes.npz --chat --count 2
    said "tg-sample: --chat and --count cannot be combined"
    run -2 --separate-stderr tg-sample -m - --chat --template plain < bytes.npz
    said "tg-sample: standard input cannot be both the model and the messages"
    run -2 --separate-stderr tg-sample -m bytes.npz --system a
    said "tg-sample: --system goes with --chat"
    run -2 --separate-stderr tg-sample -m bytes.npz --chat
    said "tg-sample: bytes.npz: the tokenizer has no tokens of chatml, llama3 or gemma: give --template plain"
    run -1 --separate-stderr tg-sample -m bytes.npz --chat --template gemma
    said "tg-sample: bytes.npz: the tokenizer has no special token <start_of_turn>, which template gemma needs"
}
