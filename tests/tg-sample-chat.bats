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
    slow_unless_sanitized
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

@test "a model, and an adapter, note the template that they were trained on" {
    slow_unless_sanitized
    for i in {1..20}; do
        echo '{"messages": [{"role": "user", "content": "a b"}, {"role": "assistant", "content": "c d"}]}'
    done > talk.jsonl
    mv chatml.npz base.npz
    for t in chatml plain; do
        tg-tokenize -q -m base.npz --chat --template $t -o $t-tokens.npz talk.jsonl
        tg-info $t-tokens.npz | grep -qx "chat_template $t"
        tg-train -q -m base.npz -o $t-whole.npz -n 2 -b 2 -c 32 $t-tokens.npz
        tg-train -q -m base.npz --lora 2 -o $t.npz -n 2 -b 2 -c 32 $t-tokens.npz
        tg-train -q -m base.npz --lora 2 -o $t.npz -n 4 -b 2 -c 32 $t-tokens.npz # resumed
        tg-info $t.npz | grep -qx "chat_template $t"
    done
    ask() { tg-sample --greedy -n 5 --chat "$@" <<< a; }
    for t in chatml plain; do
        ask -m $t-whole.npz --template $t > want 2>&1
        ask -m $t-whole.npz > got 2>&1
        cmp want got
        ask -m base.npz --adapter $t.npz --template $t > want 2>&1
        ask -m base.npz --adapter $t.npz > got 2>&1
        cmp want got
    done
    # another one than that
    run -0 --separate-stderr ask -q -m base.npz --adapter plain.npz --template chatml
    said 'tg-sample: the model was trained on the template plain, and this conversation has chatml'
    # of texts with different templates, or of others, none is known
    make_text 500 | tg-tokenize -q -m base.npz > text-tokens.npz
    cat chatml-tokens.npz plain-tokens.npz > both-tokens.npz
    for text in both text; do
        tg-train -q -m base.npz --lora 2 -o $text.npz -n 1 -b 2 -c 32 $text-tokens.npz
        run -0 tg-info $text.npz
        [[ $output != *chat_template* ]]
    done
    # with the adapter in it, from a pipe as from a file
    tg-convert -q base.npz --adapter plain.npz -o merged.npz
    ask -m merged.npz --template plain > want 2>&1
    ask -m merged.npz > got 2>&1
    cmp want got
    tg-convert -q chatml-whole.npz --to gguf -o whole.gguf
    tg-convert -q - --to gguf < chatml-whole.npz | cmp - whole.gguf
    # of the tokenizer's file
    tg-tokenize -q -m plain-whole.npz --chat talk.jsonl | cmp - plain-tokens.npz
    # for other programs
    tg-convert -q base.npz --chat-template chatml --to hf -o named
    tg-convert base.npz --adapter chatml.npz --to hf -o given 2> err
    grep -qx 'tg-convert: the target has the template chatml, which the model was trained on' err
    cmp {named,given}/chat_template.jinja
    cmp {named,given}/generation_config.json
    tg-convert -q base.npz --adapter chatml.npz --adapter plain.npz --to hf --lossy -o first 2> err
    grep -qx 'tg-convert: plain.npz was trained on the template plain, an adapter before it on chatml' err
    cmp {named,first}/chat_template.jinja
    tg-convert -q named --adapter chatml.npz --to hf -o kept
    cmp {named,kept}/chat_template.jinja
    tg-convert chatml-whole.npz --to gguf -o whole.gguf --force 2> err
    grep -qx 'tg-convert: the target has the template chatml, which the model was trained on' err
    tg-convert base.npz --adapter plain.npz --to hf -o without 2> err
    grep -qx 'tg-convert: the model was trained on the template plain, which other programs do not have' err
    [[ ! -e without/chat_template.jinja ]]
    sed -i 's/im_start/start_of_turn/; s/im_end/end_of_turn/' named/chat_template.jinja
    run -0 --separate-stderr tg-convert -q named --adapter chatml.npz --to hf -o other
    said 'tg-convert: the model was trained on the template chatml, and its files have another one, which is written: --chat-template chatml writes that'
    cmp {named,other}/chat_template.jinja
}

@test "a conversation with a head silenced is that text with it silenced" {
    # of a model whose heads matter
    tg-train -q -m letters.npz -o trained.npz -n 100 -b 2 -c 16 --lr 0.01 letters-of.npz
    local options=(-m trained.npz -n 9 --greedy)
    tg-sample -q "${options[@]}" --ablate '0.*,1.1' --no-prompt --stop $'\n' -p $'user: Who?\nassistant: ' > want
    tg-sample "${options[@]}" --ablate '0.*,1.1' --chat --template plain <<< 'Who?' | cmp - want
    tg-sample "${options[@]}" --chat --template plain <<< 'Who?' > whole
    run -1 cmp -s whole want
}
