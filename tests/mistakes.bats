# What the tools answer to ordinary mistakes, and which other spellings they take.
load helper

# one_step ARGS...: a small new model, trained for one step.
one_step() {
    tg-train -c 8 -b 1 -n 1 "$@" 2> /dev/null
}

# ---- commands that a message suggests

@test "the command that continues a run can be pasted, whatever its files are called" {
    slow_unless_sanitized
    local name
    make_text 500 | tg-tokenize > t.npz
    tg-init -P tinygpt -o model.npz
    mkdir "my dir"
    for name in "my model.npz" "it's.npz" '$HOME.npz' '~.npz' 'a;b&c.npz' $'new\nline.npz' $'tab\t\'\\.npz' \
        $'\xff.npz' "gewöhnlich.npz" -x.npz; do
        cp t.npz "./$name"
        cp t.npz "my dir/$name"
        one_step -m "./$name.npz" -o "my dir/out" "my dir/$name" -- "$name"
        run -0 --separate-stderr tg-train -m "./$name.npz" -o "my dir/out" "my dir/$name" -- "$name"
        [[ ${stderr_lines[-1]} = *"to continue: tg-train "* ]] # after the model that is not read
        printf '%s\0' tg-train -m "./$name.npz" -o "my dir/out" --steps 2 > want
        [[ $name != -* ]] || printf '%s\0' -- >> want
        printf '%s\0' "my dir/$name" "$name" >> want
        bash -c "printf '%s\\0' ${stderr#*to continue: }" > got
        cmp got want
        rm "my dir/out"
    done
}

@test "plain names are not quoted, and too many of them are cut" {
    local i files=()
    make_text 500 | tg-tokenize > t.npz
    one_step -m m.npz t.npz
    run -0 --separate-stderr tg-train -m m.npz ./t.npz "$PWD/t.npz"
    said "to continue: tg-train -m m.npz --steps 2 ./t.npz $PWD/t.npz"
    for i in {1..300}; do
        files+=(./././t.npz)
    done
    run -0 --separate-stderr tg-train -m m.npz "${files[@]}"
    [[ $stderr = *"to continue: tg-train -m m.npz --steps 2 ./././t.npz "*"./././t.npz ..." ]]
}

# ---- unknown options

# means TOOL OPTION MEANT: the tool lacks the option and suggests another.
means() {
    run -2 --separate-stderr "$1" "$2" 3
    is_output ""
    said "$1: unknown option $2: did you mean $3? (see $1 --help)"
}

# advises TOOL OPTION SENTENCE: the tool lacks the option, and says more about it.
advises() {
    run -2 --separate-stderr "$1" "$2" 3
    is_output ""
    said "$1: unknown option $2: $3 (see $1 --help)"
}

@test "an option that is misspelt: the nearest one" {
    means tg-init --n_layer --n-layer
    means tg-init --N-Layer --n-layer
    means tg-init --nlayer --n-layer
    means tg-train --setps --steps
    means tg-train --stesp --steps
    means tg-train --stpes --steps
    means tg-train --warm-up --warmup
    means tg-train --sed --seed
    means tg-sample --tempreature --temperature
    means tg-sample --top_k --top-k
    run -2 --separate-stderr tg-sample --topk
    said 'tg-sample: unknown option --topk: did you mean --top-k or --top?'
    means tg-attn-dump --summery --summary
    means tg-attn-view --colour --color
    means tg-info --stat2 --stats
    means tg-eval --strides --stride
    means tg-convert --activaton --activation
    means tg-bpe --min_counts --min-count
    means tg-tokenize --offset2 --offsets
    means tg-train --verison --version
    means tg-train --helpp --help
}

@test "an option that has an option's words, or some of them" {
    means tg-train --warmup-iters --warmup
    means tg-train --random-seed --seed
    means tg-train --fraction --val-fraction
    means tg-train --every "--eval-every or --save-every or --probe-every"
    means tg-init --epsilon --layer-norm-epsilon
}

@test "an option that resembles none is not guessed" {
    local option
    for option in --no-such-thing --x --zz --frobnicate --é --$'\e[31m' --a-very-long-name-that-no-option-of-any-tool-has; do
        run -2 --separate-stderr tg-sample "$option"
        said "tg-sample: unknown option --"
        [[ $stderr != *"did you mean"* && $stderr = *" (see tg-sample --help)" && $stderr != *$'\e'* ]]
    done
}

@test "options of other programs" {
    means tg-init --layers --n-layer
    means tg-init --num_layers --n-layer
    means tg-init --heads --n-head
    means tg-init --d-model --n-embd
    means tg-init --block-size --n-ctx
    means tg-train --block-size --context
    means tg-train --batch-size --batch
    means tg-train --learning-rate --lr
    means tg-train --learning_rate --lr
    means tg-train --iters --steps
    means tg-train --max-iters --steps
    means tg-train --grad-clip --clip
    means tg-train --gradient-accumulation-steps --accumulate
    means tg-sample --max-tokens --tokens
    means tg-sample --max_new_tokens --tokens
    means tg-sample --length --tokens
    means tg-sample --num-samples --count
    means tg-sample --num-threads --threads
    means tg-sample --text --prompt
    # their beginnings too
    advises tg-train --n-lay "the shape is chosen with tg-init --n-layer"
    advises tg-train --epoc "the length of a run is a number of --steps, each of --batch times --context tokens"
    means tg-sample --max-new --tokens
    advises tg-train --epochs "the length of a run is a number of --steps, each of --batch times --context tokens"
    advises tg-train --resume "a run that was stopped resumes when the same command is given again"
    advises tg-train --data "a file is named without an option"
    advises tg-sample --input "a file is given on standard input, < FILE"
    advises tg-train --device "tg computes on the processor; there is no other device"
}

@test "an option of another tool: which one" {
    local tool
    for tool in tg-train tg-sample tg-eval; do
        advises $tool --layers "the shape is chosen with tg-init --n-layer"
        advises $tool --n-layer "the shape is chosen with tg-init --n-layer"
        advises $tool --n-embd "the shape is chosen with tg-init --n-embd"
        advises $tool --n-head "the shape is chosen with tg-init --n-head"
    done
    means tg-attn-dump --n-head --heads
    advises tg-sample --n-ctx "the context is the model's: tg-init --n-ctx"
    advises tg-train --tied "that is an option of tg-init, which chooses the shape"
    advises tg-init --dropout "dropout is chosen when training: tg-train --dropout"
    advises tg-train --tokenizer "the tokenizer is that of the tokens, which tg-tokenize -t chooses"
    advises tg-attn-dump --png "tg-attn-view makes pictures of a dump, which -o writes"
    advises tg-attn-view --pdf "it makes PNG and SVG images, HTML pages and text"
}

@test "a long option with one dash is not taken for letters" {
    run -2 --separate-stderr tg-init -output x.npz
    said "tg-init: unknown option -output: did you mean --output? (see tg-init --help)"
    run -2 --separate-stderr tg-train -steps=300
    said "tg-train: unknown option -steps: did you mean --steps?"
    run -2 --separate-stderr tg-train -lr 3e-4
    said "tg-train: unknown option -lr: did you mean --lr?"
    run -2 --separate-stderr tg-sample -help
    said "tg-sample: unknown option -help: did you mean --help?"
    [[ $(ls -A) = "" ]]
    tg-init -outpu
    [[ $(ls -A) = utpu ]]
}

# ---- values

@test "a count may be 1e3, 10k or 1.5M" {
    slow
    local form n
    printf '%01500d' 0 > text
    for form in 1500:1,500 1.5k:1,500 1.5e3:1,500 15e2:1,500 1500e0:1,500 1.500k:1,500 0.0015M:1,500 2k:2,000 1e3:1,000 \
        1E3:1,000 1e+3:1,000 10K:10,000 1M:1,000,000 00012:12 0.00003M:30; do
        run -2 --separate-stderr tg-init --n-ctx ${form%:*} --n-head 3
        said "3 heads do not divide"
        run -0 --separate-stderr tg-init -P tinygpt --n-embd 1 --n-head 1 --n-ctx ${form%:*} -o m.npz
        n=${form#*:}
        [[ $stderr = *", context $n, "* ]]
    done
    run -2 --separate-stderr tg-sample -n 1000000000000G -p x
    said "--tokens must be between "
}

@test "true, false, on and off are yes and no, and types have their usual names" {
    local yes no
    tg-init -P tinygpt --tied yes -o yes.npz
    tg-init -P tinygpt --tied no -o no.npz
    for yes in true on; do
        tg-init -P tinygpt --tied $yes -o got.npz
        cmp got.npz yes.npz
    done
    for no in false off; do
        tg-init -P tinygpt --tied $no -o got.npz
        cmp got.npz no.npz
    done
    run -2 --separate-stderr tg-init --tied maybe
    said "--tied must be one of yes|no, got 'maybe'"
    run -2 --separate-stderr tg-init --preset true
    said "--preset must be one of tinygpt|"
    tg-sample -m yes.npz -p a -n 4 --precision bf16 > want
    tg-sample -m yes.npz -p a -n 4 --precision bfloat16 > got
    cmp got want
    tg-convert yes.npz --to safetensors --dtype bf16 --force -o want
    tg-convert yes.npz --to safetensors --dtype bfloat16 --force -o got
    cmp got want
}

# ---- files

@test "an output that is also an input is refused" {
    make_text 500 > text
    cp text want
    ln -s text link
    ln text hard
    local name
    for name in text ./text link hard; do
        run -2 --separate-stderr tg-tokenize -o "$name" text
        said "tg-tokenize: text is read, and the output would replace it: name another file for the output"
        cmp text want
    done
    run -2 --separate-stderr tg-tokenize -o text link
    said "tg-tokenize: link is read, and"
    run -2 --separate-stderr tg-tokenize want text -o text
    said "tg-tokenize: text is read, and"
    run_pipe 2 'tg-tokenize -o text < text'
    said "tg-tokenize: standard input is read, and"
    run_pipe 2 'tg-tokenize text >> text'
    said "tg-tokenize: text is read, and"
    run_pipe 2 'tg-tokenize < text >> hard'
    said "tg-tokenize: standard input is read, and"
    run -2 --separate-stderr tg-bpe -o text text
    said "tg-bpe: text is read, and"
    cmp text want
    run_pipe 2 'cat text > gone; tg-tokenize gone > gone' # the shell has emptied it
    said "tg-tokenize: gone is read, and"
    # a name that a built-in tokenizer has is no file that is read
    : > bytes
    tg-tokenize -t bytes -o bytes text
    tg-tokenize -d bytes | cmp - text
}

@test "a model, a tokenizer or a dump that is read is no output either" {
    make_text 500 > text
    tg-init -P tinygpt -o model.npz
    tg-attn-dump -p abc -o dump.npz
    cp model.npz want.npz
    cp dump.npz want-dump.npz
    run -2 --separate-stderr tg-tokenize -m model.npz -o model.npz text
    said "tg-tokenize: model.npz is read, and"
    run -2 --separate-stderr tg-tokenize -t model.npz -o model.npz text
    said "tg-tokenize: model.npz is read, and"
    run -2 --separate-stderr tg-attn-dump -p abc -o model.npz
    said "tg-attn-dump: model.npz is read, and"
    printf '%s f4 1,2,1 1 2\n' q k v | npz qkv.npz
    run -2 --separate-stderr tg-attn-dump --qkv qkv.npz -o qkv.npz
    said "tg-attn-dump: qkv.npz is read, and"
    run -2 --separate-stderr tg-eval -p abc --logits -o model.npz
    said "tg-eval: model.npz is read, and"
    run -2 --separate-stderr tg-attn-view --png -o dump.npz dump.npz
    said "tg-attn-view: dump.npz is read, and"
    cmp model.npz want.npz
    cmp dump.npz want-dump.npz
}

@test "neither is a text, a tokenizer or a source of another tool" {
    make_text 500 > text
    cp text want
    tg-init -P tinygpt -o model.npz 2> /dev/null
    tg-bpe -n 260 -o bpe.npz text 2> /dev/null
    cp bpe.npz want.npz
    run -2 --separate-stderr tg-eval --logits -o text text
    said "tg-eval: text is read, and"
    run_pipe 2 'tg-eval --logits -o text < text'
    said "tg-eval: standard input is read, and"
    printf abc > short
    run_pipe 2 'tg-attn-dump -o short < short'
    said "tg-attn-dump: standard input is read, and"
    [[ $(cat short) = abc ]]
    cmp text want
    run -2 --separate-stderr tg-init -t bpe.npz -o bpe.npz
    said "tg-init: bpe.npz is read, and"
    cmp bpe.npz want.npz
    cp model.npz want.npz
    run -2 --separate-stderr tg-convert model.npz --to safetensors --dtype bf16 --lossy -o ./model.npz
    [[ $stderr = *"tg-convert: model.npz is read, and the output would replace it: name another file for the output"* ]]
    run_pipe 2 'tg-convert - --to safetensors --dtype bf16 --lossy -o model.npz < model.npz'
    [[ $stderr = *"tg-convert: standard input is read, and the output would replace it: name another file for the output"* ]]
    cmp model.npz want.npz
    tg-tokenize -o tokens.npz text
    cp tokens.npz want.npz
    run -2 --separate-stderr tg-convert tokens.npz --to uint16 -o tokens.npz
    said "tg-convert: tokens.npz is read, and"
    cmp tokens.npz want.npz
    tg-convert model.npz --to hf --lossy -o hf 2> /dev/null
    cp -r hf want.hf
    run -2 --separate-stderr tg-convert hf/model.safetensors --heads 1 --to hf --dtype bf16 --lossy -o hf
    [[ $stderr = *"tg-convert: hf/model.safetensors is read, and the output would replace it: name another file for the output"* ]]
    diff -r hf want.hf
}

@test "an output does not replace a part of a model or tokenizer in several files" {
    need python3
    local part command
    make_text 2000 > text
    tg-init -t bytes --n-layer 1 --n-embd 8 --n-head 1 --n-ctx 16 -o model.npz 2> /dev/null
    tg-bpe -n 260 -o bpe.json text 2> /dev/null
    tg-convert model.npz --to hf --lossy -o hf 2> /dev/null
    mkdir pair
    python3 - << 'END'
import json
tokenizer = json.load(open("bpe.json"))["model"]
json.dump(tokenizer["vocab"], open("pair/vocab.json", "w"))
open("pair/merges.txt", "w").write("".join((m if isinstance(m, str) else " ".join(m)) + "\n" for m in tokenizer["merges"]))
END
    cp -r hf want.hf
    cp -r hf other
    rm other/tokenizer.json
    ln -s hf/model.safetensors link.npz
    cp -r pair want.pair
    while read -r part command; do
        run -2 --separate-stderr $command
        [[ $stderr = *"$part belongs to "*", which is read: name another file for the output" ]]
    done << 'END'
hf/model.safetensors tg-eval -m hf --logits -o hf/model.safetensors text
hf/config.json tg-eval -m hf/model.safetensors --logits -o hf/config.json text
./hf/model.safetensors tg-attn-dump -m hf -p abc -o ./hf/model.safetensors
hf/model.safetensors tg-sample -m hf -p abc -n 2 --attention hf/model.safetensors
hf/config.json tg-tokenize -m hf -o hf/config.json text
hf/model.safetensors tg-tokenize -m hf -o hf/model.safetensors text
hf/model.safetensors tg-init -t hf -o hf/model.safetensors
hf/model.safetensors tg-convert hf --to hf --dtype bf16 --lossy -o hf
hf/model.safetensors tg-convert hf --to hf --lossy -o hf
pair/merges.txt tg-tokenize -t pair/vocab.json -o pair/merges.txt text
pair/vocab.json tg-tokenize -t pair -o pair/vocab.json text
hf/model.safetensors tg-eval -m hf --logits -o link.npz text
hf/model.safetensors tg-convert other --to hf --dtype bf16 --lossy -t hf -o hf
END
    diff -r hf want.hf
    diff -r pair want.pair
    # other files in their directory may be written, also again
    tg-attn-dump -m hf -p abc -o hf/model-dump.npz
    tg-attn-dump -m hf -p abc -o hf/model-dump.npz
    tg-tokenize -t pair/vocab.json --to tokenizer.json -o pair/tokenizer.json
    tg-tokenize -t pair/vocab.json --to tokenizer.json -o pair/tokenizer.json
}

@test "tg-init does not replace a trained model, unless --force says so" {
    make_text 2000 | tg-tokenize -o t.npz
    tg-init -P tinygpt -o model.npz 2> /dev/null
    tg-init -P tinygpt -s 1 -o model.npz 2> /dev/null # an untrained one is quickly made again
    tg-convert model.npz --lossy -o model.safetensors 2> /dev/null
    tg-train -n 2 t.npz 2> /dev/null
    cp model.npz want.npz
    run -2 --separate-stderr tg-init -o model.npz
    said "tg-init: model.npz: a model that was trained for 2 steps; --force replaces it"
    cmp model.npz want.npz
    cp model.safetensors want
    run -2 --separate-stderr tg-init -o model.safetensors
    said "tg-init: model.safetensors: another project's model; --force replaces it"
    cmp model.safetensors want
    run -0 --separate-stderr tg-init --force -P tinygpt -s 1 -o model.npz
    tg-init -P tinygpt -s 1 2> /dev/null | cmp - model.npz
    echo "not a model" > model.npz
    run -2 --separate-stderr tg-init -P tinygpt -o model.npz
    said "tg-init: model.npz: plain text; --force replaces it"
    : > model.npz
    run -0 --separate-stderr tg-init -P tinygpt -o model.npz
}

# Everything of value that an output might replace, in the directory it makes.
make_valuables() {
    make_text 2000 > text
    tg-tokenize -o t.npz text
    tg-init -P tinygpt -o untrained.npz 2> /dev/null
    cp untrained.npz trained.npz
    tg-train -m trained.npz -n 2 t.npz 2> /dev/null
    tg-train -m untrained.npz -o logged.npz -n 1 --log log.tsv t.npz 2> /dev/null
    tg-bpe -n 260 -o bpe.npz text 2> /dev/null
    tg-attn-dump -m untrained.npz -p abc -o dump.npz
    tg-eval -m untrained.npz -p abc --logits -o logits.npz
    tg-convert untrained.npz --lossy -o weights.safetensors 2> /dev/null
    tg-convert untrained.npz --lossy -o weights.gguf 2> /dev/null
    tg-convert untrained.npz --lossy --to hf -o hf 2> /dev/null
    tg-attn-view -o page.html dump.npz 2> /dev/null
    tg-attn-view -o picture.png dump.npz
    tg-attn-view -o picture.svg dump.npz
    echo '<!DOCTYPE html><p>Mine.' > mine.html
    printf '\0\1binary' > mine.bin
    cp text mine.txt
    gzip -c text > mine.gz
}

@test "no tool replaces a trained model, another project's weights or a file of another kind" {
    slow
    local file what command own
    mkdir valuables
    cd valuables
    make_valuables
    cd ..
    cp -r valuables want
    while read -r own command; do
        while IFS='|' read -r file what; do
            # shellcheck disable=SC2053
            [[ $file != $own ]] || continue # a pattern
            run -2 --separate-stderr $command -o valuables/$file
            [[ ${stderr_lines[-1]} = "${command%% *}: valuables/$file: $what; --force replaces it" ||
                $stderr = "tg-attn-dump: "*": -o writes an archive (.npz)"* ]] || {
                echo "$command -o $file: $stderr"
                return 1
            }
        done << 'END'
trained.npz|a model that was trained for 2 steps
untrained.npz|a model
t.npz|tokens
bpe.npz|a vocabulary
dump.npz|a dump of attention
logits.npz|logits
weights.safetensors|another project's model
weights.gguf|another project's model
hf/model.safetensors|another project's model
hf/config.json|a part of a model, with model.safetensors in the same directory
hf/tokenizer.json|a part of a model, with model.safetensors in the same directory
picture.png|a PNG picture
picture.svg|an SVG picture
page.html|a page of tg-attn-view
mine.html|an HTML page that tg-attn-view has not made
mine.bin|a file of an unknown kind
mine.txt|plain text
mine.gz|gzip data
log.tsv|the log of a run
END
    done << 'END'
untrained.npz tg-init -P tinygpt
untrained.npz tg-convert want/hf --to npz
- tg-convert want/untrained.npz --to safetensors --lossy
t.npz tg-convert want/t.npz --to npz
mine.bin tg-convert want/t.npz --to uint16
t.npz tg-tokenize want/text
mine.txt tg-tokenize --ids want/text
mine.txt tg-tokenize -d want/t.npz
bpe.npz tg-tokenize -t want/bpe.npz --to npz
bpe.npz tg-bpe -n 260 want/text
dump.npz tg-attn-dump --example mha
logits.npz tg-eval -m want/untrained.npz -p abc --logits
END
    diff -r valuables want
}

@test "a picture replaces a picture of its format, and nothing else" {
    slow_unless_sanitized
    local format other
    mkdir valuables
    cd valuables
    make_valuables
    cd ..
    cp -r valuables want
    for format in png svg html ansi; do
        for other in trained.npz t.npz weights.gguf log.tsv mine.html mine.bin; do
            cp valuables/$other other # its name's ending would be another mistake
            run -2 --separate-stderr tg-attn-view --$format -o other want/dump.npz
            [[ $stderr = "tg-attn-view: other: "*"; --force replaces it" ]]
            cmp other valuables/$other
        done
    done
    tg-attn-view -o valuables/picture.png want/dump.npz
    tg-attn-view -o valuables/picture.svg want/dump.npz
    tg-attn-view -o valuables/page.html want/dump.npz 2> /dev/null
    tg-attn-view -o valuables/mine.txt want/dump.npz
    run -2 --separate-stderr tg-attn-view -o valuables/mine.html want/dump.npz
    said "valuables/mine.html: an HTML page that tg-attn-view has not made; --force replaces it"
    tg-attn-view -o valuables/mine.html --force want/dump.npz 2> /dev/null
    cmp valuables/mine.html want/page.html
}

@test "an output replaces one of its kind, an empty file, and with --force anything" {
    slow_unless_sanitized
    local command
    mkdir want
    cd want
    make_valuables
    cd ..
    while read -r command; do
        : > out
        $command -o out 2> /dev/null
        $command -o out 2> /dev/null
        for other in trained.npz t.npz mine.gz weights.gguf; do
            cp want/$other out
            $command --force -o out 2> /dev/null
            ! cmp -s want/$other out
            run -0 tg-info out
        done
    done << 'END'
tg-init -P tinygpt
tg-convert want/hf --to npz
tg-tokenize -t char want/text
tg-bpe -n 270 want/text
tg-attn-dump --example mha
tg-eval -m want/untrained.npz -p abcd --logits
END
    # another project's formats: each time
    tg-convert want/untrained.npz --lossy -o again.gguf 2> /dev/null
    run -2 --separate-stderr tg-convert want/untrained.npz --lossy -o again.gguf
    [[ ${stderr_lines[-1]} = "tg-convert: again.gguf: another project's model; --force replaces it" ]]
    tg-convert want/untrained.npz --lossy --force -o again.gguf 2> /dev/null
    cmp again.gguf want/weights.gguf
    # not what no force replaces
    run -2 --separate-stderr tg-tokenize --force -o want/text want/text
    said "tg-tokenize: want/text is read, and the output would replace it"
}

@test "no output replaces a model that is being trained, with --force neither" {
    slow_unless_sanitized
    local run command
    make_valuables
    tg-convert untrained.npz -o m.npz
    tg-train -m m.npz -n 1000000 --save-every 0 t.npz 2> /dev/null 3>&- &
    run=$!
    eventually test -s .tg-m.npz.lock
    ln -s m.npz link.npz
    while read -r command; do
        run -3 --separate-stderr $command
        [[ ${stderr_lines[-1]} = "${command%% *}: "*".npz: process $run is training it" ]]
    done << 'END'
tg-init -P tinygpt -o m.npz
tg-init -P tinygpt -f -o m.npz
tg-init -P tinygpt -f -o ./link.npz
tg-convert untrained.npz -o m.npz
tg-convert untrained.npz --force -o m.npz
tg-tokenize --force -o m.npz text
tg-bpe -n 260 --force -o m.npz text
tg-attn-dump --example mha --force -o m.npz
tg-eval -m untrained.npz -p abc --logits --force -o m.npz
tg-sample -m untrained.npz -p abc -n 2 --force --attention m.npz
tg-train -m m.npz -n 1 t.npz
END
    run -0 ls -A .tg-m.npz.lock
    kill -KILL $run
    wait $run || true
    # one that remains hinders nobody
    [[ -e .tg-m.npz.lock ]]
    run -0 tg-init -P tinygpt -o m.npz
    run -0 tg-train -m m.npz -n 1 t.npz
    [[ ! -e .tg-m.npz.lock ]]
}

@test "each tool that has an output has --force" {
    local tool
    for tool in "$BUILD"/bin/tg-*; do
        run -0 "$tool" --help
        if [[ $output = *--output* || $output = *--attention* ]]; then
            [[ $output = *--force* ]]
        else
            [[ $output != *--force* ]]
        fi
    done
}

@test "tg-train -o continues its own, refuses what is no model, and replaces it with --force" {
    slow_unless_sanitized
    make_valuables
    cp trained.npz want.npz
    run -0 --separate-stderr tg-train -o trained.npz -n 3 t.npz
    [[ $stderr = *"trained.npz: resuming at step 2 of "* ]]
    cp t.npz out
    run -2 --separate-stderr tg-train -o out -n 1 t.npz
    said "tg-train: out: tokens; --force replaces it"
    cmp out t.npz
    run -2 --separate-stderr tg-train -m hf -o weights.gguf -n 1 t.npz
    said "tg-train: weights.gguf: another project's model; --force replaces it"
    run -0 --separate-stderr tg-train -m untrained.npz --force -o out -n 1 t.npz
    run -0 --separate-stderr tg-train -m untrained.npz --force -o trained.npz -n 1 t.npz
    cmp out trained.npz
    run -2 --separate-stderr tg-train --force -n 1 t.npz
    said "--force goes with -o"
    run -2 --separate-stderr tg-train -m out --force -o out -n 1 t.npz
    said "tg-train: out is read, and the output would replace it"
}

@test "a model that is missing is made only under a name that ends in .npz" {
    slow_unless_sanitized
    local command
    make_text 2000 | tg-tokenize -o t.npz
    for name in gpt2 model.pt model.safetensors; do
        run -3 --separate-stderr tg-train -m $name -n 1 t.npz
        said "tg-train: $name: No such file or directory; a new model needs a name that ends in .npz"
        run -3 --separate-stderr tg-train -m $name -o new.npz -n 1 t.npz
        said "tg-train: $name: No such file or directory; a new model needs a name that ends in .npz"
        [[ ! -e $name && ! -e new.npz ]]
        # nobody is told to make it
        for command in "tg-sample -p a -m" "tg-eval -p a -m" "tg-attn-dump -p a -m" tg-info "tg-convert -o c.npz" \
            "tg-tokenize -t"; do
            run -3 --separate-stderr $command $name
            [[ $stderr = "${command%% *}: $name: No such file or directory" ||
                ($name = gpt2 && $stderr = "tg-tokenize: gpt2: No such file or directory; besides files there are bytes and char") ]]
        done
    done
    run -3 --separate-stderr tg-sample -p a -m "my model.npz"
    said "tg-sample: my model.npz: No such file or directory; make a model with  tg-tokenize < text | tg-train -m 'my model.npz'"
    run -3 --separate-stderr tg-eval -p a
    said "tg-eval: model.npz: No such file or directory; make a model with  tg-tokenize < text | tg-train"
    one_step -m new.npz t.npz
    [[ -s new.npz ]]
}

@test "tg-convert writes no archive under the name of another format, or of a directory" {
    local name
    tg-init -P tinygpt -o model.npz
    mkdir back
    for name in model.pt pytorch_model.bin a.ckpt a.onnx; do
        run -2 --separate-stderr tg-convert model.npz -o $name
        [[ $stderr = "tg-convert: $name: the ending .${name##*.} stands for no format that can be written: use .npz, .safetensors or .gguf, or choose with --to npz|"* ]]
        [[ ! -e $name ]]
    done
    for name in back back/ new/; do
        run -2 --separate-stderr tg-convert model.npz -o $name
        [[ $stderr = "tg-convert: $name is a directory: --to hf writes one"* ]]
    done
    [[ ! -e new ]]
    tg-convert model.npz --to hf --lossy -o back/ 2> /dev/null
    [[ -e back/model.safetensors ]]
    tg-convert model.npz --to llmc --lossy -o model.bin 2> /dev/null # an option says it
    tg-convert model.npz -o model # a name without an ending says nothing
}

@test "a log is no place for anything but a log" {
    local file
    make_text 2000 | tg-tokenize -o t.npz
    tg-init -P tinygpt -o model.npz 2> /dev/null
    cp model.npz other.npz
    cp model.npz want.npz
    cp t.npz want-t.npz
    for file in other.npz t.npz; do
        run -2 --separate-stderr tg-train -n 2 --log $file t.npz
        [[ $stderr = *"tg-train: $file: this is a zip file, expected a log, or a new file for it"* ]]
    done
    # the text that the tokens come from
    make_text 2000 > text
    cp text want-text
    run -2 --separate-stderr tg-train -n 2 --log text t.npz
    [[ $stderr = *"tg-train: text: its first line is not a log's; expected a log, or a new file for it" ]]
    cmp text want-text
    for file in model.npz new.npz; do
        run -2 --separate-stderr tg-train -n 2 -m $file --log $file t.npz
        [[ $stderr = *"tg-train: $file: the log cannot be where the model is saved"* ]]
        run -2 --separate-stderr tg-train -n 2 -m $file --log "$PWD/../${PWD##*/}/$file" t.npz
        [[ $stderr = *"tg-train: $file: the log cannot be where the model is saved"* ]]
    done
    cmp model.npz want.npz
    cmp other.npz want.npz
    cmp t.npz want-t.npz
    [[ ! -e new.npz ]]
}

@test "tokenizing what is no text is warned of, and done" {
    make_text 500 > text
    tg-tokenize -o t.npz text
    run -0 --separate-stderr tg-tokenize -o tt.npz t.npz
    said "tg-tokenize: t.npz: this is a zip file; its bytes are tokenized as if they were text (-d turns token archives back into text)"
    tg-tokenize -d tt.npz | cmp - t.npz
    run_pipe 0 'tg-tokenize < t.npz | tg-tokenize -d | cmp - t.npz'
    said "tg-tokenize: standard input: this is a zip file;"
    run_pipe 0 'tg-tokenize -t char text t.npz > tt.npz'
    said "tg-tokenize: t.npz: this is a zip file;"
    gzip -k text
    run -0 --separate-stderr tg-tokenize -o tt.npz text.gz
    said "tg-tokenize: text.gz: this is gzip data; decompress it first; its bytes are tokenized"
    # not where archives are meant, or other bytes
    run_pipe 0 'make_bytes() { printf "a\0\1\377"; }; make_bytes | tg-tokenize > /dev/null; tg-tokenize -c t.npz
        tg-tokenize --ids t.npz > /dev/null; tg-tokenize text | tg-tokenize -d > /dev/null'
    [[ -z $stderr ]]
}

@test "the ending of -o chooses what tg-attn-view makes" {
    slow_unless_sanitized
    tg-init -P tinygpt -o model.npz
    tg-attn-dump -p abc -o dump.npz
    tg-attn-view --png dump.npz > want.png
    tg-attn-view --svg dump.npz > want.svg
    tg-attn-view --html dump.npz > want.html 2> /dev/null
    tg-attn-view dump.npz > want.txt
    local name
    for name in a.png A.PNG a.b.png; do
        tg-attn-view -o "$name" dump.npz
        cmp "$name" want.png
        tg-attn-view --png -o "$name" dump.npz
        cmp "$name" want.png
    done
    for name in a.svg A.Svg; do
        tg-attn-view -o "$name" dump.npz
        cmp "$name" want.svg
    done
    for name in a.html a.htm A.Html; do
        tg-attn-view -o "$name" dump.npz 2> /dev/null
        cmp "$name" want.html
    done
    for name in a.txt a.ans plain .png dir.png/plain /dev/stdout; do
        mkdir -p dir.png
        tg-attn-view -o "$name" dump.npz > /dev/null
        [[ $name = /dev/* ]] || cmp "$name" want.txt
    done
    # an option also chooses, for a name that says nothing else
    tg-attn-view --png -o a.part dump.npz
    cmp a.part want.png
    rm -rf a.* A.*
    run -2 --separate-stderr tg-attn-view -o a.pdf dump.npz
    said "tg-attn-view: a.pdf: there is no .pdf: formats are PNG (.png), SVG (.svg), HTML (.html) and text (.txt)"
    run -2 --separate-stderr tg-attn-view --png -o a.pdf dump.npz
    said "tg-attn-view: a.pdf: there is no .pdf"
    run -2 --separate-stderr tg-attn-view --png -o a.svg dump.npz
    said "tg-attn-view: a.svg: the ending .svg is not that of --png"
    run -2 --separate-stderr tg-attn-view --svg -o a.png dump.npz
    said "tg-attn-view: a.png: the ending .png is not that of --svg"
    run -2 --separate-stderr tg-attn-view -o a.npz dump.npz
    said "tg-attn-view: a.npz: the ending .npz stands for no format: use .png, .svg, .html or .txt, or choose with --png"
    run -2 --separate-stderr tg-attn-view --png -o a.html dump.npz
    said "tg-attn-view: a.html: the ending .html is not that of --png"
    run -2 --separate-stderr tg-attn-view --html -o a.png dump.npz
    said "tg-attn-view: a.png: the ending .png is not that of --html"
    run -2 --separate-stderr tg-attn-view --ansi -o a.png dump.npz
    said "tg-attn-view: a.png: the ending .png is not that of --ansi"
    run -2 --separate-stderr tg-attn-view -w 40 -o a.png dump.npz
    said "--color and --width are for the terminal, and do not go with --png"
    run -2 --separate-stderr tg-attn-view --color 256 -o a.svg dump.npz
    said "--color and --width are for the terminal, and do not go with --svg"
    [[ ! -e a.svg && ! -e a.pdf && ! -e a.npz && ! -e a.png && ! -e a.html ]]
}

@test "the ending of -o chooses the format of a model and of a vocabulary" {
    make_text 3000 > text
    tg-init -P tinygpt -o model.npz
    local name
    for name in gguf safetensors; do
        tg-convert model.npz --to $name --lossy --force -o want 2> /dev/null
        tg-convert model.npz --lossy -o model.$name 2> /dev/null
        cmp model.$name want
    done
    tg-convert model.npz --to npz --force -o model.gguf # an option wins
    tg-convert model.npz --force -o want
    cmp model.gguf want
    tg-bpe -n 270 --to tokenizer.json --force -o want text
    tg-bpe -n 270 -o vocab.json text
    cmp vocab.json want
    tg-bpe -n 270 --to tiktoken -o want text
    tg-bpe -n 270 -o vocab.tiktoken text
    cmp vocab.tiktoken want
    tg-bpe -n 270 --to npz --force -o vocab.json text # model.safetensors is there
    tg-bpe -n 270 --force -o want text
    cmp vocab.json want
}

@test "an archive is not written under the name of a picture or a table" {
    tg-init -P tinygpt -o model.npz
    run -2 --separate-stderr tg-attn-dump -p abc -o map.png
    said "tg-attn-dump: map.png: -o writes an archive (.npz), of which tg-attn-view makes pictures"
    run -2 --separate-stderr tg-attn-dump -p abc -o scores.tsv
    said "tg-attn-dump: scores.tsv: -o writes an archive (.npz); lines are printed: > FILE"
    [[ ! -e map.png && ! -e scores.tsv ]]
    tg-attn-dump -p abc -o dump
    tg-attn-dump -p abc -o dump.npz
    cmp dump dump.npz
}

# ---- a context that is too short

@test "where the context is too short, the way to a longer one is said" {
    local longer="tg-init --n-ctx makes models with a longer one"
    tg-init -P tinygpt --n-ctx 16 -o model.npz
    make_text 100 > text
    tg-tokenize -o t.npz text
    run -1 --separate-stderr tg-attn-dump -p 12345678901234567
    said "which exceeds the model's context of 16: shorten it, as with head -c 16; $longer"
    run -2 --separate-stderr tg-eval -c 17 text
    said "--context 17 exceeds the model's 16; $longer"
    run -2 --separate-stderr tg-train -c 17 t.npz
    said "--context 17 exceeds the model's 16; $longer"
    run -0 --separate-stderr tg-sample -n 1 -p 12345678901234567
    said "exceeds the context of 16: the model sees the last 8, so that there is room for the new text; $longer"
    tg-init -P tinygpt -t ids --vocab-size 9 --n-ctx 2 -o ids.npz
    run -1 --separate-stderr tg-attn-dump -m ids.npz --ids '1 2 3'
    said "3 token ids exceed the model's context of 2: give fewer; $longer"
}

@test "where the text is too short, a shorter context is said" {
    printf 'a few words' | tg-tokenize > t.npz
    run -1 --separate-stderr tg-train t.npz
    said "the text has 11 tokens, a window of context 64 needs 65: give more text, or a --context of at most 10"
    one_step -c 10 t.npz
}
