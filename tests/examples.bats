# Texts with a loss mask: conversations and prompts, of which only what is answered is predicted.

load helper

setup_file() {
    tg_fixtures
    for ((i = 0; i < 300; i++)); do
        printf '{"prompt": "%d+1=", "completion": "%d"}\n' "$i" $((i + 1))
    done > sums.jsonl
    tg-tokenize -q --prompt-completion sums.jsonl > sums.npz
    # a vocabulary with the tokens of all templates
    make_text 3000 > text
    # shellcheck disable=SC2046 # options are words
    tg-bpe -q -n 320 $(printf -- "--special %s " '<|im_start|>' '<|im_end|>' '<|start_header_id|>' '<|end_header_id|>' \
        '<|eot_id|>' '<|begin_of_text|>' '<start_of_turn>' '<end_of_turn>' '<|endoftext|>') -o bpe.npz text
    tg-init -q --n-layer 1 --n-head 2 --n-embd 16 --n-ctx 16 -o untrained.npz
    cat > talk.jsonl << 'END'
{"messages": [{"role": "system", "content": " Be kind. "}, {"role": "user", "content": "Hi\n"}, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Bye"}, {"role": "assistant", "content": "So long <|im_end|>"}]}
END
}

setup() {
    tg_setup
    cp "$FIXTURES"/*.npz "$FIXTURES"/*.jsonl .
}

# field NAME: from --tsv.
field() {
    awk -F '\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) k = i } NR == 2 { print $k }'
}

# show TEMPLATE: the conversation's text, with what is predicted in brackets.
show() {
    tg-tokenize -t bpe.npz --chat --template "$1" --pieces talk.jsonl |
        awk '{ on = /^>/; if (on != was) printf "%s", on ? "[" : "]"; was = on; sub(/^.. ?"/, ""); sub(/"$/, ""); printf "%s", $0 }
             END { print on ? "]" : "" }'
}

@test "prompts and completions: the mask, in --pieces and in an archive" {
    printf '%s\n' '{"prompt": "2+2=", "completion": "4"}' '' '{"completion": "\u0041b", "more": [1], "prompt": "?"}' > two.jsonl
    run -0 --separate-stderr tg-tokenize --prompt-completion --pieces two.jsonl
    [[ $output = $'| "2"\n  "+"\n  "2"\n  "="\n> "4"\n| "?"\n> "A"\n> "b"' ]]
    run -0 --separate-stderr tg-tokenize --prompt-completion -o two.npz two.jsonl
    said "tg-tokenize: 2 documents, 8 tokens, 3 of them predicted"
    tg-tokenize --pieces two.npz | cmp - <(tg-tokenize --prompt-completion --pieces two.jsonl)
    [[ $(tg-tokenize --prompt-completion --count two.jsonl 2> /dev/null) = 8 ]]
    [[ $(tg-tokenize -d two.npz) = '2+2=4?Ab' ]]
    # the end of text is predicted, and what begins one is not
    tg-tokenize -q -t bpe.npz --prompt-completion --bos --pieces two.jsonl > got
    [[ $(head -n 1 got) = '| "<|begin_of_text|>"' && $(grep -c '^> "<|endoftext|>"' got) = 2 ]]
}

@test "JSON lines that are read as text: a note names the options that read them" {
    echo '{"prompt": "2+2=", "completion": "4"}' > two.jsonl
    for options in -c --pieces '-o two.npz' '-t char -o two.npz' '-t bpe.npz -o two.npz'; do
        # shellcheck disable=SC2086 # options are words
        run -0 --separate-stderr tg-tokenize $options two.jsonl two.jsonl
        said "tg-tokenize: two.jsonl is read as text; --chat reads conversations, --prompt-completion examples"
    done
    run -0 --separate-stderr tg-tokenize -q -c two.jsonl
    [[ $output = 38 && -z $stderr ]]
    run -0 --separate-stderr tg-tokenize --prompt-completion -c two.jsonl
    [[ $stderr != *"read as text"* ]]
}

@test "the mask, as NumPy reads it" {
    slow_unless_sanitized
    need_numpy
    printf '%s\n' '{"prompt": "2+2=", "completion": "4"}' '{"prompt": "?", "completion": "Ab"}' > two.jsonl
    tg-tokenize -q --prompt-completion -o two.npz two.jsonl
    python3 - << 'END'
import numpy as np
z = np.load("two.npz")
assert z["mask/00000000"].dtype == np.uint8 and z["mask/00000000"].tolist() == [2, 0, 0, 0, 1, 2, 1, 1]
END
}

@test "a line that is longer than what is read at a time" {
    slow_unless_sanitized
    local long
    long=$(printf 'a%.0s' {1..300000})
    printf '{"prompt": "%s", "completion": "b"}\n{"prompt": "c", "completion": "d"}' "$long" > long.jsonl
    run -0 --separate-stderr tg-tokenize --prompt-completion -o long.npz long.jsonl
    said "tg-tokenize: 2 documents, 300,003 tokens, 2 of them predicted"
    [[ $(tg-tokenize -d long.npz) = "${long}bcd" ]]
}

@test "a byte order mark at the beginning of a file is skipped" {
    printf '%s\n' '{"prompt": "a", "completion": "b"}' > plain.jsonl
    { printf '\xEF\xBB\xBF'; cat plain.jsonl; } > marked.jsonl
    tg-tokenize --prompt-completion --pieces marked.jsonl plain.jsonl marked.jsonl > got
    tg-tokenize --prompt-completion --pieces plain.jsonl plain.jsonl plain.jsonl | cmp - got
    # only there, and only all of it
    cat plain.jsonl marked.jsonl > second.jsonl
    run -1 --separate-stderr tg-tokenize --prompt-completion -o new.npz second.jsonl
    said "tg-tokenize: second.jsonl: line 2, column 1 (byte 0): expected a value, got byte 0xEF"
    for bytes in '\xEF' '\xEF\xBB' '\xEF\xBB{}'; do
        run -1 --separate-stderr tg-tokenize --prompt-completion -o new.npz <(printf %b "$bytes")
        said ": line 1, column 1 (byte 0): expected a value, got byte 0xEF"
    done
    printf '\xEF\xBB\xBF' > marked.jsonl
    run -1 --separate-stderr tg-tokenize --prompt-completion marked.jsonl
    said "tg-tokenize: marked.jsonl: no lines, expected JSON objects"
}

@test "conversations: the four templates" {
    [[ $(show chatml) = '<|im_start|>system\n Be kind. <|im_end|>\n<|im_start|>user\nHi\n<|im_end|>\n<|im_start|>assistant\n[Hello<|im_end|>]\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n[So long <|im_end|><|im_end|>]\n' ]]
    [[ $(show llama3) = '<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe kind.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n[Hello<|eot_id|>]<|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n[So long <|im_end|><|eot_id|>]' ]]
    [[ $(show gemma) = '<|begin_of_text|><start_of_turn>user\n Be kind. \n\nHi<end_of_turn>\n<start_of_turn>model\n[Hello<end_of_turn>]\n<start_of_turn>user\nBye<end_of_turn>\n<start_of_turn>model\n[So long <|im_end|><end_of_turn>]\n' ]]
    [[ $(show plain) = 'system:  Be kind. \nuser: Hi\n\nassistant: [Hello\n]user: Bye\nassistant: [So long <|im_end|>\n<|endoftext|>]' ]]
    # an answer that nobody has asked for, and one to two messages
    echo '{"messages": [{"role": "system", "content": "Be"}, {"role": "assistant", "content": "So"}]}' > talk.jsonl
    [[ $(show chatml) = '<|im_start|>system\nBe<|im_end|>\n<|im_start|>assistant\n[So<|im_end|>]\n' ]]
    echo '{"messages": [{"role": "user", "content": "A"}, {"role": "user", "content": "B"}, {"role": "assistant", "content": "C"}]}' > talk.jsonl
    [[ $(show llama3) = *'user<|end_header_id|>\n\nA<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nB<|eot_id|>'* ]]
    cp "$FIXTURES/talk.jsonl" .
    # what is said makes no token of the template: the last answer has one end
    tg-tokenize -t bpe.npz --chat --pieces talk.jsonl > got # chatml: its tokens are there
    [[ $(grep -c '"<|im_end|>"' got) = 5 ]]
}

@test "gemma refuses roles that do not alternate, as its models' own template does" {
    slow_unless_sanitized
    local roles want
    need python3
    while read -r roles want; do
        python3 - "$roles" > talk.jsonl << 'END'
import json, sys
names = {"s": "system", "u": "user", "a": "assistant"}
print(json.dumps({"messages": [{"role": names[c], "content": c} for c in sys.argv[1]]}))
END
        if [[ $want = fine ]]; then
            tg-tokenize -q -t bpe.npz --chat --template gemma -c talk.jsonl
            continue
        fi
        run -1 --separate-stderr tg-tokenize -t bpe.npz --chat --template gemma -o new.npz talk.jsonl
        [[ $stderr = "tg-tokenize: talk.jsonl: line 1, "*": role ${want/,/, expected }: in template gemma, user and assistant alternate, and the user begins" ]]
        [[ ! -e new.npz ]]
        tg-tokenize -q -t bpe.npz --chat --template llama3 -c talk.jsonl
    done << 'END'
ua fine
uau fine
suaua fine
uua user,assistant
a assistant,user
sa assistant,user
uaa assistant,user
suua user,assistant
END
}

@test "examples that are not as they should be: the line is named, and nothing is written" {
    local cases=(
        '{"prompt": "a"}' 'line 2, column 12 (byte 11): no "completion"'
        '{"prompt": "a", "completion": ""}' 'line 2, column 31 (byte 30): the completion is empty'
        '{"prompt": 1, "completion": "b"}' 'line 2, column 12 (byte 11): expected a string, got a number'
        '{"prompt": "a", "completion": "b"} c' "line 2, column 36 (byte 35): expected the end of the text, got 'c'"
        '["a", "b"]' 'line 2, column 1 (byte 0): expected an object, got an array'
        # other forms of such files
        '{"instruction": "a", "output": "b"}'
        'line 2, column 32 (byte 31): no "prompt", expected {"prompt": "...", "completion": "..."}'
        '{"prompt": "a", "completion": null}' 'line 2, column 31 (byte 30): "completion" is null, expected a string'
        '{"prompt": [{"role": "user", "content": "a"}], "completion": [{"role": "assistant", "content": "b"}]}'
        'line 2, column 12 (byte 11): "prompt" is an array, expected a string; --chat reads {"messages": [{"role": "user", "content": "..."}, ...]}')
    for ((k = 0; k < ${#cases[@]}; k += 2)); do
        printf '{"prompt": "a", "completion": "b"}\n%s\n' "${cases[k]}" > bad.jsonl
        run -1 --separate-stderr tg-tokenize --prompt-completion -o new.npz bad.jsonl
        echo "$stderr"
        said "tg-tokenize: bad.jsonl: ${cases[k + 1]}"
        [[ ! -e new.npz ]]
    done
    cases=(
        '[{"role": "tool", "content": "a"}]' 'column 24 (byte 23): role "tool", expected system, user or assistant'
        '[{"role": "user", "content": "a"}, {"role": "system", "content": "b"}]'
        'column 58 (byte 57): role system, expected user or assistant after the first message'
        '[{"role": "user", "content": "a"}]' 'no answer: no message is an assistant'"'"'s'
        '[{"role": "assistant", "content": ""}]' 'an empty answer'
        '[{"role": "assistant"}]' 'a message without "content"'
        '[{"role": "assistant", "content": null}]' '"content" is null, expected a string'
        'null' '"messages" is null, expected an array')
    for ((k = 0; k < ${#cases[@]}; k += 2)); do
        echo "{\"messages\": ${cases[k]}}" > bad.jsonl
        run -1 --separate-stderr tg-tokenize --chat --template plain -o new.npz bad.jsonl
        echo "$stderr"
        [[ $stderr = "tg-tokenize: bad.jsonl: line 1, "*"${cases[k + 1]}" && ! -e new.npz ]]
    done
    echo '{"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}' > bad.jsonl
    run -1 --separate-stderr tg-tokenize --chat --template plain bad.jsonl
    said 'no "messages", expected {"messages": [{"role": "user", "content": "..."}, ...]}'
    # white space is an answer where the template keeps it
    echo '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": " \n\t"}]}' > bad.jsonl
    for template in llama3 gemma; do
        run -1 --separate-stderr tg-tokenize -t bpe.npz --chat --template $template -o new.npz bad.jsonl
        [[ $stderr = "tg-tokenize: bad.jsonl: line 1, column 82 (byte 81): an answer of white space, which the template drops" ]]
        [[ ! -e new.npz ]]
    done
    for template in chatml plain; do
        tg-tokenize -t bpe.npz --chat --template $template --pieces bad.jsonl | grep -Fqx '> "\t"'
    done
    run -1 --separate-stderr tg-tokenize --prompt-completion /dev/null
    said "tg-tokenize: /dev/null: no lines, expected JSON objects"
}

@test "the tokens of a template that is none of these" {
    chat_of() {
        tg-bpe -q -n 300 --special "<|endoftext|>" "${@/#/--special=}" -o other.npz "$FIXTURES/text"
        run -2 --separate-stderr tg-tokenize -t other.npz --chat talk.jsonl
    }
    chat_of '<|im_start|>' '<|im_sep|>' '<|im_end|>'
    said "tg-tokenize: other.npz: the tokenizer's <|im_sep|> belongs to the template of Phi 4, which is none of chatml|llama3|gemma|plain: --template plain writes roles as text"
    chat_of '<|user|>' '<|assistant|>'
    said "tg-tokenize: other.npz: the tokenizer's <|assistant|> belongs to the template of Phi 3, GLM 4 and others"
    chat_of $'<\xef\xbd\x9cAssistant\xef\xbd\x9c>'
    said "belongs to the template of DeepSeek"
    tg-tokenize -q -t other.npz --chat --template plain talk.jsonl > plain.npz
}

@test "the template of a model, in its own files" {
    mkdir model
    tg-tokenize -t bpe.npz --to tokenizer.json > model/tokenizer.json
    opens() {
        run -0 --separate-stderr tg-tokenize -q -t model "$@" --chat --pieces talk.jsonl
        [[ ${lines[0]} = *"$opening"* || ${lines[1]} = *"$opening"* ]] || { echo "$output"; false; }
    }
    refused() {
        run -1 --separate-stderr tg-tokenize -t model --chat -o new.npz talk.jsonl
        said "tg-tokenize: model/$1"
        [[ ! -e new.npz ]]
    }
    # the tokenizer has the tokens of all
    opening='<|im_start|>' opens
    echo '{"bos_token": "<s>"}' > model/tokenizer_config.json
    opening='<|im_start|>' opens
    echo '{"chat_template": "{{ bos }}<start_of_turn>user\n{{ m }}<end_of_turn>"}' > model/tokenizer_config.json
    opening='<start_of_turn>' opens
    opening='<|start_header_id|>' opens --template llama3
    echo '{"chat_template": [{"name": "tool", "template": "<start_of_turn><end_of_turn>"}, 3,
        {"name": "default", "template": "<|start_header_id|>{{ m }}<|eot_id|>"}]}' > model/tokenizer_config.json
    opening='<|start_header_id|>' opens
    # a file of its own comes first
    echo '{% for m in messages %}<|im_start|>{{ m }}<|im_end|>{% endfor %}' > model/chat_template.jinja
    opening='<|im_start|>' opens
    none='the model'"'"'s template of conversations is none of chatml|llama3|gemma|plain: give one of these with --template'
    echo '<|im_start|>user<|im_sep|>{{ m }}<|im_end|>' > model/chat_template.jinja
    refused "chat_template.jinja: $none"
    opening='<|im_start|>' opens --template chatml
    rm model/chat_template.jinja
    echo '{"chat_template": "<|user|>\n{{ m }}"}' > model/tokenizer_config.json
    refused "tokenizer_config.json: $none"
    echo '{"chat_template": "<|im_' > model/tokenizer_config.json
    refused 'tokenizer_config.json: line 1, column '
}

@test "a template that the tokenizer does not fit, and options that do not go together" {
    run -1 --separate-stderr tg-tokenize --chat --template llama3 talk.jsonl
    said "tg-tokenize: the tokenizer has no special token <|start_header_id|>, which template llama3 needs"
    run -1 --separate-stderr tg-tokenize -t sums.npz --chat --template llama3 talk.jsonl
    said "tg-tokenize: sums.npz: the tokenizer has no special token <|start_header_id|>, which template llama3 needs"
    run -2 --separate-stderr tg-tokenize -m untrained.npz --chat talk.jsonl
    said "tg-tokenize: untrained.npz: the tokenizer has no tokens of chatml, llama3 or gemma: give --template plain"
    run -2 --separate-stderr tg-tokenize -t bytes --chat talk.jsonl
    said "tg-tokenize: the tokenizer has no tokens of chatml, llama3 or gemma: give --template plain"
    run -2 --separate-stderr tg-tokenize --chat talk.jsonl
    said "tg-tokenize: the tokenizer has no tokens of chatml, llama3 or gemma: give --template plain"
    run -2 --separate-stderr tg-tokenize --chat --eot talk.jsonl
    said "tg-tokenize: --chat and --eot cannot be combined"
    run -2 --separate-stderr tg-tokenize --chat --prompt-completion talk.jsonl
    said "tg-tokenize: --chat and --prompt-completion cannot be combined"
    run -2 --separate-stderr tg-tokenize --template plain talk.jsonl
    said "tg-tokenize: --template goes with --chat"
}

@test "training on examples: the same bytes for any number of threads, passes' order, and after a stop" {
    local options=(-m untrained.npz -n 8 -b 4 -a 2 --lr 1e-3 --eval-every 4)
    OMP_NUM_THREADS=1 tg-train "${options[@]}" -o a.npz sums.npz 2> err
    grep -qx 'tg-train: 300 documents, in which 792 tokens are predicted' err
    tg-train -q "${options[@]}" --threads 3 -o b.npz sums.npz
    cmp a.npz b.npz
    killed_after_save c.npz tg-train -q "${options[@]}" -o c.npz --save-every 3 sums.npz
    tg-train -q "${options[@]}" -o c.npz sums.npz
    cmp a.npz c.npz
    # the mask is a part of the text
    tg-tokenize -q <(tg-tokenize -d sums.npz) > plain.npz
    run -0 --separate-stderr tg-train -m a.npz -n 9 plain.npz
    [[ $stderr = *"the text differs from the run's: other tokens, the same number"* ]]
}

@test "the validation loss is that of tg-eval, over the tokens that are predicted" {
    head -n 40 sums.jsonl | tg-tokenize -q --prompt-completion > val.npz
    tg-train -m untrained.npz -o a.npz -n 5 --val val.npz --eval-tokens 0 sums.npz 2> err
    tg-eval --tsv -m a.npz val.npz > got
    [[ $(field scored < got) = 71 && $(field tokens < got) = 261 ]]
    loss=$(sed -n 's/.*validation loss \([0-9.]*\),.*/\1/p' err)
    awk -v a="$loss" -v b="$(field loss < got)" 'BEGIN { exit !((a - b) ^ 2 < 1e-8) }'
    bits=$(sed -n 's/.*, \([0-9.]*\) bits per byte.*/\1/p' err)
    awk -v a="$bits" -v b="$(field bits_per_byte < got)" 'BEGIN { exit !((a - b) ^ 2 < 1e-8) }'
    # --per-token: what is only read has no numbers
    tg-eval -m a.npz --per-token val.npz 2> /dev/null | awk -F '\t' 'NR > 1 { n += $6 != "" } END { exit n != 71 }'
}

@test "texts with and without a mask in a row: the latter are documents of their own" {
    head -n 3 sums.jsonl | tg-tokenize -q --prompt-completion > some.npz
    printf 'xyz' | tg-tokenize -q > plain.npz
    cat plain.npz some.npz plain.npz > val.npz
    tg-eval --tsv -m untrained.npz val.npz > got
    # of each plain text all but the first; 1, 2 and 3 are answers
    [[ $(field scored < got) = 7 && $(field tokens < got) = 21 && $(field windows < got) = 5 ]]
    tg-train -m untrained.npz -o a.npz -n 1 --lr 0 --val val.npz --eval-tokens 0 sums.npz 2> err
    loss=$(sed -n 's/.*validation loss \([0-9.]*\),.*/\1/p' err)
    awk -v a="$loss" -v b="$(field loss < got)" 'BEGIN { exit !((a - b) ^ 2 < 1e-8) }'
    # nothing is predicted
    printf '%s\n' '{"prompt": "", "completion": "a"}' '{"prompt": "", "completion": "b"}' |
        tg-tokenize -q --prompt-completion > none.npz
    run -1 --separate-stderr tg-eval -m untrained.npz none.npz
    [[ $stderr = *": the loss mask marks no token of the text as predicted" ]]
    # blocks are not asked for where another text is validated on
    make_text 3000 | tg-tokenize -q > long.npz
    tg-train -q -m untrained.npz -o base.npz -n 1 --val-blocks 3 long.npz
    tg-train -q -m base.npz -o b.npz -n 2 --val val.npz sums.npz
    run -1 --separate-stderr tg-train -m untrained.npz -o c.npz -n 1 --val-blocks 3 sums.npz
    said "tg-train: of a text with a loss mask whole documents at the end are held out, not the ends of 3 blocks"
}

@test "documents that are longer than the context are cut, and said to be" {
    run -0 --separate-stderr tg-train -m untrained.npz -o a.npz -n 2 -c 6 sums.npz
    [[ $stderr = *"tg-train: 201 documents are longer than the context of 6: each is cut into windows, "* ]]
}

@test "documents that are longer than the model's context are refused, unless --cut is given" {
    local long='{"prompt": "12345678", "completion": "123456789"}' # a token more than the model sees
    printf '%s\n' "${long}" '' "${long/12/123}" > pairs.jsonl
    run -1 --separate-stderr tg-tokenize -m untrained.npz --prompt-completion -o new.npz pairs.jsonl
    said "tg-tokenize: pairs.jsonl: line 3: the document has 18 tokens, expected at most 17, for the model's context of 16; --cut permits more, and tg-train cuts such a document into windows"
    [[ ! -e new.npz ]]
    head -n 1 pairs.jsonl | tg-tokenize -q -m untrained.npz --prompt-completion -o one.npz
    run -0 --separate-stderr tg-train -m untrained.npz -o a.npz -n 1 --val one.npz one.npz
    [[ $stderr != *'longer than the context'* ]]
    tg-tokenize -q -m untrained.npz --cut --prompt-completion -o two.npz pairs.jsonl
    tg-tokenize -q --prompt-completion pairs.jsonl | cmp - two.npz
    run -0 --separate-stderr tg-train -m untrained.npz -o b.npz -n 1 --val one.npz two.npz
    [[ $stderr = *'1 document is longer than the context of 16: each is cut'* ]]
    run -1 --separate-stderr tg-tokenize -m untrained.npz --chat --template plain -c talk.jsonl
    [[ $stderr = "tg-tokenize: talk.jsonl: line 1: the document has 86 tokens, expected at most 17, "* ]]
    for option in '-m untrained.npz' --prompt-completion; do
        # shellcheck disable=SC2086 # options are words
        run -2 --separate-stderr tg-tokenize $option --cut pairs.jsonl
        said "tg-tokenize: --cut goes with --prompt-completion and -m"
    done
}

@test "no other format holds the mask" {
    run -2 --separate-stderr tg-convert --to uint16 sums.npz -o sums.bin
    said "tg-convert: sums.npz: these tokens have a loss mask, which would be lost; tg-train and tg-eval read them as they are"
    [[ ! -e sums.bin ]]
}

@test "it learns to add" {
    slow
    tg-init -q --n-layer 2 --n-head 4 --n-embd 64 --n-ctx 16 -o model.npz
    tg-train -q -n 500 -b 24 sums.npz
    [[ $(tg-eval --tsv sums.npz | field loss) = 0.0* ]]
}

@test "--bos and --eot put nothing before documents with a loss mask, and say so once" {
    tg-init -q -t bpe.npz --n-layer 1 --n-head 2 --n-embd 16 --n-ctx 16 -o model.npz
    echo '{"prompt": "ab", "completion": "a"}' | tg-tokenize -q -m model.npz --prompt-completion -o pairs.npz
    tg-eval -m model.npz --tsv pairs.npz pairs.npz > want 2> err
    [[ ! -s err ]]
    for option in --eot --bos; do
        run -0 --separate-stderr tg-eval -q -m model.npz $option --tsv pairs.npz pairs.npz
        said "tg-eval: documents with a loss mask have what begins them: $option puts nothing there"
        cmp want - <<< "$output"
        # a text has it
        tg-eval -q -m model.npz $option --tsv --no-header -p ab 2> err > got
        [[ ! -s err ]]
        tg-eval -q -m model.npz --no-bos --tsv --no-header -p ab | run ! cmp -s - got
    done
}

# ---- tg-eval --choices

# sum_of FILE N: the sum of the last N log-probabilities of --per-token, and whether all are the greatest.
sum_of() {
    tail -n "$2" "$1" | awk -F '\t' '{ sum += $6; greedy += $7 == 0 } END { printf "%.6f %d\n", sum, greedy == NR }'
}

@test "--choices: the log-probability of each continuation, and the accuracy" {
    need python3
    cat > items.jsonl << 'END'
{"context": "12+1=", "continuations": ["13", "21", "1"], "label": 0}
{"continuations": ["7"], "context": "6+1 "}

{"context": "20+1=", "continuations": ["2", "21"], "label": 1, "more": {}}
END
    tg-train -q -m untrained.npz -o a.npz -n 60 --lr 0.01 sums.npz
    tg-eval -m a.npz --choices items.jsonl -f tsv > got 2> err
    [[ $(head -n 1 got) = $'item\tchoice\ttokens\tbytes\tlogprob\tgreedy\tlabel' && $(wc -l < got) = 7 ]]
    [[ $(cut -f 1-4,7 got | tail -n +2 | tr '\t\n' ' ;') = '0 0 2 2 1;0 1 2 2 0;0 2 1 1 0;1 0 2 1 ;2 0 1 1 0;2 1 2 2 1;' ]]
    for row in '2 2 12+1=13' '3 2 12+1=21' '4 1 12+1=1' '5 2 6+1 7' '7 2 20+1=21'; do
        read -r line n text <<< "$row"
        tg-eval -q -m a.npz -p "$text" --per-token > each
        [[ $(sum_of each "$n") = "$(sed -n "${line}p" got | awk -F '\t' '{ printf "%.6f %d", $5, $6 }')" ]]
    done
    tg-eval -m a.npz --choices items.jsonl > sums
    [[ $(head -n 1 sums) = "items       3, 2 of them with a label" ]]
    tg-eval -q -m a.npz --choices items.jsonl -f jsonl | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
best = lambda c, key: max(range(len(c)), key=lambda i: key(c[i]))
right = 0
for r in rows:
    assert r["best"] == best(r["choices"], lambda c: c["log_prob"])
    assert r["best_per_byte"] == best(r["choices"], lambda c: c["log_prob"] / c["bytes"])
    right += r.get("label") == r["best"]
words = open("sums").read().split()
assert words[words.index("accuracy") + 1] == "%.4f," % (right / 2), words'
}

@test "--choices: a token that crosses the border of the context does not change it" {
    printf 'ab ab ab ab ab ab' > pairs
    tg-bpe -q -n 258 -o ab.npz pairs
    tg-tokenize --pieces -t ab.npz <<< xabc | grep -qx '"ab"'
    tg-init -q -t ab.npz --n-layer 1 --n-head 2 --n-embd 16 --n-ctx 16 -o pairs.npz
    # x ab c has one token after as many as x a: c, which follows x a, as in lm-eval's requests
    echo '{"context": "xa", "continuations": ["bc", "c", "cab"]}' > items.jsonl
    tg-eval -q -m pairs.npz --choices items.jsonl -f tsv > got
    [[ $(cut -f 3,4 got | tail -n +2 | tr '\t\n' ' ;') = '1 2;1 1;2 3;' ]]
    [[ $(sed -n 2p got | cut -f 5) = "$(sed -n 3p got | cut -f 5)" ]]
    [[ $(sed -n 2p got | cut -f 5) != "$(sed -n 4p got | cut -f 5)" ]]
}

@test "--choices: a context longer than the window, and lines that are not as they should be" {
    echo '{"context": "a context that is longer", "continuations": ["yes", "no"]}' > long.jsonl
    run -0 --separate-stderr tg-eval -m untrained.npz --choices long.jsonl -f tsv
    said "tg-eval: 2 continuations do not fit a window of 16 tokens together with the context, whose beginning is left out"
    # the last 17 tokens
    local text='a context that is longeryes'
    tg-eval -q -m untrained.npz -p "${text: -17}" --per-token > each
    [[ $(sum_of each 3) = "$(sed -n 2p <<< "$output" | awk -F '\t' '{ printf "%.6f %d", $5, $6 }')" ]]
    local cases=(
        '{"context": "a"}' 'no "continuations": expected {"context": "...", "continuations": ["...", "..."], "label": 0}'
        '{"context": "a", "continuations": []}' 'there are no continuations'
        '{"context": "a", "continuations": [""]}' 'a continuation is empty'
        '{"context": "a", "continuations": ["b"], "label": 1}' 'label 1, expected 0 to 0'
        '{"context": "a", "continuations": ["bcdefghijklmnopqr"]}'
        'a continuation has 17 tokens, expected at most 16, a window'
        '{"context": "", "continuations": ["b"]}' 'a continuation without a token before it: nothing predicts it')
    for ((k = 0; k < ${#cases[@]}; k += 2)); do
        echo "${cases[k]}" > bad.jsonl
        run -1 --separate-stderr tg-eval -m untrained.npz --choices bad.jsonl
        echo "$stderr"
        [[ $stderr = "tg-eval: bad.jsonl: line 1, "*"${cases[k + 1]}" ]]
    done
    run -2 --separate-stderr tg-eval -m untrained.npz --choices bad.jsonl text
    said "tg-eval: --choices cannot be combined with texts"
    run -2 --separate-stderr tg-eval -m - --choices - < untrained.npz
    said "tg-eval: standard input cannot be both the model and the choices"
}
