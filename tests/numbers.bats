# Numbers that are not finite, other decimal points, sizes beyond 2^31 and 2^32.

load helper

setup_file() {
    tg_fixtures || return 1
    printf 'abbaabbbabab%.0s' {1..20} > text
    tg-tokenize -t char -o tokens.npz text
    tg-init -t tokens.npz --vocab-size 2 --n-layer 1 --n-head 1 --n-embd 2 --n-ctx 4 -o model.npz 2> /dev/null
    tg-train -m model.npz --steps 3 --batch 1 --log log -o run.npz tokens.npz 2> /dev/null
}

setup() {
    tg_setup
    export OMP_NUM_THREADS=1
    cp "$FIXTURES"/* .
}

# with_value FILE ARRAY FORMAT VALUE: the array's last element becomes the value, with right checksums; to bad.npz
with_value() {
    change_npz "$1" bad.npz '
name, form, value = arguments
new = struct.pack(form, float(value))
members[name] = members[name][:-len(new)] + new
' "${@:2}"
}

# refused WORDS COMMAND...: exit 1, one line with the words, nothing else
refused() {
    run -1 --separate-stderr "${@:2}"
    [[ -z $output ]]
    said "$1"
    tried=$((${tried:-0} + 1))
}

@test "NaN and infinity in weights: every tool names the file, the array and the place" {
    slow
    local value
    for value in nan inf -inf; do
        with_value model.npz wpe.weight '<f' $value
        refused "bad.npz: wpe.weight[7] is $value" tg-sample -m bad.npz -p a
        refused "bad.npz: wpe.weight[7] is $value" tg-attn-dump -m bad.npz -p ab
        refused "bad.npz: wpe.weight[7] is $value" tg-eval -m bad.npz text
        refused "bad.npz: wpe.weight[7] is $value" tg-train -m bad.npz --steps 2 tokens.npz
        refused "bad.npz: wpe.weight[7] is $value" tg-convert bad.npz --to gguf -o out.gguf
        refused "bad.npz: wpe.weight[7] is $value" tg-info --check bad.npz
        with_value run.npz opt/m/wpe.weight '<f' $value
        refused "opt/m/wpe.weight[7] is $value" tg-train -m bad.npz --steps 5 tokens.npz
    done
    [[ ! -e out.gguf ]]
    cases "$tried" "tools and numbers that are not finite"
}

@test "the same in other projects' files, also in halves" {
    slow
    local type file bits
    tg-tokenize -t bytes --to npz > bytes.npz
    tg-init -t ids --vocab-size 8 --n-layer 1 --n-head 1 --n-embd 2 --n-ctx 4 -o whole.npz 2> /dev/null
    for type in f32 f16 bf16; do
        case $type in
            f32) bits='\0\0\200\177' ;;
            f16) bits='\0\174' ;;
            bf16) bits='\200\177' ;;
        esac
        rm -rf hf
        tg-convert whole.npz --to hf --dtype $type -o hf 2> /dev/null
        tg-convert whole.npz --to gguf --dtype $type --force -o m.gguf 2> /dev/null
        rm -f m.bin
        [[ $type = f16 ]] || tg-convert whole.npz --to llmc --dtype $type -o m.bin 2> /dev/null
        put_at_end hf/model.safetensors "$bits"
        refused "is inf: it must be finite" tg-convert hf -o out.npz
        refused "is inf: it must be finite" tg-attn-dump -m hf --ids '0 1'
        refused "is inf: it must be finite" tg-sample -m hf --ids '0 1' -n 2 --precision bf16
        refused "is inf: it must be finite" tg-eval -m hf --ids '0 1'
        put_at_end m.gguf "$bits"
        refused "is inf: it must be finite" tg-convert m.gguf -o out.npz
        [[ ! -e m.bin ]] || { put_at_end m.bin "$bits" && refused "is inf: it must be finite" tg-convert m.bin -o out.npz; }
    done
    [[ ! -e out.npz ]]
    cases "$tried" "files of other projects"
}

# put_at_end FILE BYTES: they replace the last ones
put_at_end() {
    local n
    # shellcheck disable=SC2059
    n=$(printf "$2" | wc -c)
    # shellcheck disable=SC2059
    printf "$2" | dd of="$1" bs=1 seek=$(($(size "$1") - n)) conv=notrunc status=none
}

# What the largest rate does: "a loss that is not finite stops ..." in tg-train.bats.
@test "a learning rate of 1e30 is beyond the range, in options and in a run's file" {
    local rate
    cp run.npz before.npz
    for rate in 1e30 1e300 -1 nan inf 1e999; do
        run -2 --separate-stderr tg-train -m run.npz --steps 9 --lr $rate tokens.npz
        said "--lr must "
    done
    with_value run.npz train/lr '<d' 1e30
    refused "bad.npz: train/lr must be between 0 and 1000, got 1e+30" tg-train -m bad.npz --steps 9 tokens.npz
    cmp run.npz before.npz
}

# ---- a decimal comma

# Builds German's locale in ./locales, unless there is one already.
comma_locale() {
    need localedef
    mkdir -p locales
    localedef -i de_DE -f UTF-8 locales/de_DE.UTF-8 2> /dev/null || [[ -d locales/de_DE.UTF-8 ]] ||
        skip "localedef cannot make a German locale"
    export LOCPATH=$PWD/locales
}

@test "a decimal comma: a program in that locale reads and writes what others do" {
    slow
    make_unit
    comma_locale
    tg-convert model.npz --to hf -o hf --lossy 2> /dev/null
    tg-convert model.npz --to gguf -o m.gguf 2> /dev/null
    "$BUILD/unit/comma" -c hf run.npz log m.gguf > want
    run env LC_ALL=de_DE.UTF-8 "$BUILD/unit/comma" hf run.npz log m.gguf
    [[ $status != 77 ]] || skip "the German locale is not there"
    diff want <(echo "$output")
    [[ $(grep -c 0.5 want) -gt 1 ]]
}

@test "a decimal comma: tools say the same" {
    slow
    comma_locale
    local command
    for command in 'tg-info run.npz' 'tg-info --json --stats run.npz' 'tg-attn-dump -m model.npz -p ab -f jsonl' \
        'tg-eval -m model.npz --tsv text' 'tg-info log' 'tg-train -m model.npz --lr 0.5 --steps 2 -o - tokens.npz'; do
        LC_ALL=C.UTF-8 bash -c "$command" > want 2> /dev/null
        LC_ALL=de_DE.UTF-8 bash -c "$command" > got 2> /dev/null
        cmp want got || { echo "$command" && diff want got; }
    done
    LC_ALL=de_DE.UTF-8 run -2 --separate-stderr tg-train --lr 0,5 tokens.npz
    said "--lr must be a number"
}

# ---- sizes

@test "sizes beyond 2^31, 2^32 and 2^64 in options: the range is said" {
    slow_unless_sanitized
    local size option
    for size in 2147483648 4294967296 4294967297 9223372036854775808 18446744073709551616 1e300; do
        for option in n-layer n-head n-embd n-ctx vocab-size; do
            run --separate-stderr tg-init --$option $size -o out.npz
            [[ ($status = 1 || $status = 2) && ! -e out.npz ]]
            said "$option"
        done
        for option in batch context accumulate; do
            run --separate-stderr tg-train -m model.npz -o out.npz --steps 4 --$option $size tokens.npz
            [[ $status -ge 1 && $status -le 3 && ! -e out.npz ]]
            tried=$((${tried:-0} + 1))
        done
        tried=$((tried + 5))
    done
    cases "$tried" "options with sizes that are too large"
}

# number_options TOOL: its options that take one number, one a line; their value is called by a letter in --help.
number_options() {
    "$1" --help | sed -nE 's/^ +(-.,)? +--([a-z0-9-]+) ([A-Z]|ID)( .*)?$/\2/p'
}

# Of the values every fifth, another one first for each option; make soak: all.
@test "what is no number, in each option of each tool that takes one: wrong usage, and the option is said" {
    slow
    local tool option value status said n=0 k=0 step=5 options
    ! soak || step=1
    local values=('' ' ' nan -nan inf -inf infinity 1e999 -1e999 1e99999999999 0x10 1e 1e+ . - + -- 1.2.3 '1,5' ' 1' '1 '
        1_000 '1;' '1#' 1k1 k --1 1kk ١ $'1\n' "1.$(printf %0100d 0)x")
    for tool in "$BUILD"/bin/tg-*; do
        mapfile -t options < <(number_options "$tool")
        for option in "${options[@]}"; do
            for ((k = (k + 1) % step, i = k; i < ${#values[@]}; i += step)); do
                value=${values[i]} status=0
                "$tool" "--$option=$value" > out 2> err < /dev/null || status=$?
                n=$((n + 1))
                said=$(< err)
                [[ $status = 2 && ! -s out && $said = "${tool##*/}: --$option "* && $said != *$'\n'* ]] && continue
                echo "$tool --$option '$value': status $status: $said"
                return 1
            done
        done
    done
    cases "$n" "options with what is no number"
    [[ $n -gt 300 ]]
}

@test "offsets beyond 2^32 are right" {
    slow
    need python3
    # T = 70,000: scores [1,1,T,T] has 4.9e9 elements; one row of it is printed
    python3 -c '
import struct, zipfile
T = 70000
with zipfile.ZipFile("long.npz", "w") as z:
    text = ("{\x27descr\x27: \x27<f4\x27, \x27fortran_order\x27: False, \x27shape\x27: (1, %d, 1), }" % T).ljust(117) + "\n"
    for name in "qkv":
        z.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + b"\0\0\x80\x3f" * T)'
    run -0 --separate-stderr tg-attn-dump --qkv long.npz -i 69999 -j 69999 -f tsv
    [[ $output = *4899999999* ]]
}

@test "a file beyond 4 GiB: what lies there is read" {
    slow
    need python3
    tg-init -t ids --vocab-size 8 --n-layer 1 --n-head 1 --n-embd 2 --n-ctx 4 -o whole.npz 2> /dev/null
    tg-convert whole.npz --to safetensors -o small.safetensors 2> /dev/null
    # a tensor of 4 GiB and 64 bytes before all others, a hole in the file
    python3 -c '
import json, struct
data = open("small.safetensors", "rb").read()
n = struct.unpack("<Q", data[:8])[0]
head, data = json.loads(data[8:8 + n]), data[8 + n:]
gap = (1 << 32) + 64
for name, t in head.items():
    if name != "__metadata__":
        t["data_offsets"] = [at + gap for at in t["data_offsets"]]
head["a"] = {"dtype": "U8", "shape": [gap], "data_offsets": [0, gap]}
text = json.dumps(head).encode()
text += b" " * (-len(text) % 64)
with open("large.safetensors", "wb") as f:
    f.write(struct.pack("<Q", len(text)) + text)
    f.seek(gap, 1)
    f.write(data)' || skip "no files beyond 4 GiB here"
    tg-convert small.safetensors --heads 1 -o small.npz 2> /dev/null
    run -0 --separate-stderr tg-convert large.safetensors --heads 1 --lossy -o large.npz
    converted
    cmp small.npz large.npz
    truncate -s -1 large.safetensors
    refused "large.safetensors" tg-convert large.safetensors --heads 1 --lossy -o x.npz
    rm large.safetensors
    # nothing but zeros
    truncate -s 5G zeros
    refused zeros tg-convert zeros -o x.npz
    refused zeros tg-tokenize -t zeros text
    refused zeros tg-info zeros
    [[ ! -e x.npz ]]
}

# large_file KIND ARGUMENT...: a file of more than 4 GiB with holes
large_file() {
    need python3
    local status=0
    python3 -B "$ROOT/tests/large_files.py" "$@" || status=$?
    [[ $status != 77 ]] || skip "no files of 4 GiB with holes here"
    return $status
}

@test "GGUF, llm.c's tokens, and (make soak) archives beyond 4 GiB: what lies there is read" {
    slow
    tg-init -t ids --vocab-size 8 --n-layer 1 --n-head 1 --n-embd 2 --n-ctx 4 -o whole.npz 2> /dev/null
    tg-convert whole.npz --to gguf -o small.gguf 2> /dev/null
    tg-convert small.gguf -o small.npz 2> /dev/null
    large_file gguf small.gguf large.gguf
    run -0 --separate-stderr tg-convert large.gguf --lossy -o large.npz
    converted
    cmp small.npz large.npz
    truncate -s -1 large.gguf
    refused "large.gguf" tg-convert large.gguf --lossy -o x.npz
    rm large.gguf
    large_file llmc large.bin
    run -0 tg-info large.bin
    [[ $output = *"2,147,483,653"* ]]
    truncate -s -1 large.bin
    refused "large.bin: 4294967305 bytes of ids, its header says 2147483653 ids of 2 bytes" tg-info large.bin
    [[ ! -e x.npz ]]
    rm large.bin
    ! soak || large_archives # they are read whole, which takes half a minute
}

# With zip64: an array of that size, and arrays after it.
large_archives() {
    npz small.npz <<< 'q f4 1,2,4 0 1 2 3 4 5 6 7
k f4 1,2,4 1 2 3 4 5 6 7 8
v f4 1,2,4 2 3 4 5 6 7 8 9'
    large_file qkv large.npz
    tg-attn-dump --qkv large.npz | cmp - <(tg-attn-dump --qkv small.npz)
    flip large.npz 4294967300
    refused 'large.npz: member "a.npy" at offset 0: damaged' tg-attn-dump --qkv large.npz
    rm large.npz
    large_file tokens large.npz 5
    run -0 tg-info --check large.npz
    [[ $output = *"1,074,790,400"*"everything is as it should be"* ]]
    rm large.npz
    large_file tokens large.npz 9
    refused "large.npz: tokens/00001024[1048575] is 9: the vocabulary has 8 ids" tg-info --check large.npz
}
