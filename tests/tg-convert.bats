# tg-convert: models of this project and of others; -m with other projects' models.  What other
# programs think of the files is in tests/judges.

load helper

setup_file() {
    tg_fixtures || return 1
    tg-init --n-layer 2 --n-head 2 --n-embd 16 --n-ctx 8 --seed 3 -o model.npz 2> /dev/null
    tg-init -P tinygpt --seed 3 -o tiny.npz 2> /dev/null
    tg-convert model.npz --to hf -o hf
    tg-convert model.npz --to safetensors -o bare.safetensors 2> /dev/null
}

setup() {
    tg_setup
    cp -r "$FIXTURES"/* .
}

# weights FILE: the tensors of an archive, without header and tokenizer.
weights() {
    python3 -c '
import sys, zipfile, hashlib
z = zipfile.ZipFile(sys.argv[1])
for name in z.namelist():
    if name.endswith((".weight.npy", ".bias.npy")):
        print(name, hashlib.md5(z.read(name)).hexdigest())
' "$1"
}

same_weights() {
    diff <(weights "$1") <(weights "$2")
}

# header FILE: the JSON of a safetensors file.
header() {
    python3 -c '
import struct, sys
data = open(sys.argv[1], "rb").read()
n, = struct.unpack("<Q", data[:8])
print(data[8:8 + n].decode())
' "$1"
}

# with_header FILE JSON: FILE with another header.
with_header() {
    python3 -c '
import struct, sys
data = open(sys.argv[1], "rb").read()
n, = struct.unpack("<Q", data[:8])
head = sys.argv[2].encode()
sys.stdout.buffer.write(struct.pack("<Q", len(head)) + head + data[8 + n:])
' "$1" "$2"
}

@test "to Hugging Face's directory and back: the same weights and the same tokens" {
    slow_unless_sanitized
    [[ $(ls hf | tr '\n' ' ') = "config.json model.safetensors tokenizer.json " ]]
    run -0 --separate-stderr tg-convert hf -o back.npz
    converted
    [[ -z $stderr ]]
    same_weights model.npz back.npz
    run -0 scalars back.npz config/n_head config/activation config/tied
    is_output $'2\ngelu_new\n1'
    run -0 tg-tokenize -t hf --ids <<< "Äb"
    is_output $'195\n132\n98\n10'
    header hf/model.safetensors > header.json
    grep -q '"__metadata__":{"format":"pt"}' header.json
    grep -q '"transformer.h.1.mlp.c_proj.bias":{"dtype":"F32","shape":\[16\]' header.json
    [[ $(($(size hf/model.safetensors) % 64)) = 0 ]]
    python3 -c 'import json; c = json.load(open("hf/config.json")); assert c["n_head"] == 2 and c["n_inner"] is None'
}

@test "standard output and -o give the same bytes; the same command gives them again" {
    tg-convert hf -o a.npz
    tg-convert hf > b.npz
    cmp a.npz b.npz
    tg-convert a.npz --to hf -o again
    cmp hf/model.safetensors again/model.safetensors
    cmp hf/config.json again/config.json
    tg-convert hf | tg-attn-dump -m - -p "ab" > a
    tg-attn-dump -m model.npz -p "ab" > b
    cmp a b
    tg-convert model.npz > c.npz
    cmp model.npz c.npz
}

@test "every tool's -m takes what tg-convert takes" {
    tg-attn-dump -m model.npz -p "abc" > want
    run -0 --separate-stderr tg-attn-dump -m hf -p "abc"
    [[ -z $stderr ]] # nothing needs to be converted
    diff want <(echo "$output")
    tg-attn-dump -m hf/model.safetensors -p "abc" | cmp want -
    tg-convert hf --to hf --dtype f16 -o half
    run -0 --separate-stderr tg-attn-dump -m half -p "abc"
    said "half: a Hugging Face checkpoint, "
    said " converted in memory"
    tg-sample -m hf -p "a" -n 5 > a
    TG_MODEL=hf tg-sample -p "a" -n 5 > b
    tg-sample -m model.npz -p "a" -n 5 > c
    cmp a b
    cmp a c
    run -0 --separate-stderr tg-sample -m hf --ids "97 98" -n 2
    echo "abc" | tg-tokenize -m hf > a
    echo "abc" | tg-tokenize -m hf/model.safetensors | cmp a -
    tg-convert hf --to gguf -o model.gguf
    echo "abc" | tg-tokenize -m model.gguf -c 2> /dev/null
    rm half/tokenizer.json
    run -1 --separate-stderr tg-tokenize -m half/model.safetensors < hf/config.json
    said "half/model.safetensors: a safetensors file without a tokenizer"
    run -1 --separate-stderr tg-sample -m - -p "a" < hf/model.safetensors
    said "standard input: not an .npz archive: this is a safetensors file; from a pipe, only tg-convert - takes it"
    run_pipe 0 'tg-convert - < model.gguf | tg-sample -m - -p a -n 1'
    run -1 --separate-stderr bash -c 'tg-sample -m <(cat model.gguf) -p a'
    said "this is a GGUF model; from a pipe, only tg-convert - takes it"
    run -2 --separate-stderr tg-sample -m bare.safetensors -p "a"
    said "bare.safetensors: the file does not give the number of heads"
}

@test "a run begins with another project's model, and never overwrites it" {
    make_text 3000 | tg-tokenize -t hf > tokens.npz
    run -2 --separate-stderr tg-train -m hf --steps 2 tokens.npz
    said "hf: another project's model, which is not overwritten: name the new one with -o FILE"
    cp hf/model.safetensors before
    run -0 --separate-stderr tg-train -m hf --steps 2 -o new.npz tokens.npz
    [[ ${stderr_lines[0]} = "tg-train: hf: a run begins with it" ]]
    cmp hf/model.safetensors before
    run -0 scalars new.npz train/step config/n_head
    is_output $'2\n2'
    run -2 --separate-stderr tg-train -m hf --steps 2 -o bare.safetensors tokens.npz
    said "bare.safetensors: another project's model"
    # continued
    run -0 --separate-stderr tg-train -m new.npz --steps 3 tokens.npz
    run -0 scalars new.npz train/step
    is_output 3
}

@test "types: each value rounded to the nearest" {
    slow_unless_sanitized
    need_numpy
    local type
    for type in f16 bf16; do
        tg-convert model.npz --to safetensors --dtype $type -o $type.safetensors 2> /dev/null
        tg-convert $type.safetensors --heads 2 -o $type.npz 2> /dev/null
        python3 -c '
import numpy as np, sys
a, b = np.load("model.npz"), np.load(sys.argv[1] + ".npz")
for k in a.files:
    if not k.endswith((".weight", ".bias")):
        continue
    if sys.argv[1] == "f16":
        want = a[k].astype(np.float16).astype(np.float32)
    else:
        bits = a[k].view(np.uint32).astype(np.uint64)
        want = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)
    assert np.array_equal(want, b[k]), k
' $type
    done
    run -2 --separate-stderr tg-convert model.npz --dtype f16
    said "tg's models (.npz) are float32"
    run -2 --separate-stderr tg-convert model.npz --to hf --dtype q8_0 -o x
    said "has no type q8_0"
    [[ ! -e x ]]
}

@test "q, k and v apart, and joined again" {
    slow_unless_sanitized
    tg-convert model.npz --to safetensors --split-qkv -o apart.safetensors 2> /dev/null
    header apart.safetensors | grep -q '"h.1.attn.k_proj.weight":{"dtype":"F32","shape":\[16,16\]'
    run -2 --separate-stderr tg-convert apart.safetensors --heads 2
    said "h.0.attn.q_proj.weight: q, k and v are separate; they are joined on request (tg-convert --fuse-qkv)"
    tg-convert apart.safetensors --heads 2 --fuse-qkv -o joined.npz 2> /dev/null
    same_weights model.npz joined.npz
    run -2 --separate-stderr tg-convert model.npz --to hf --split-qkv -o x
    said "only --to safetensors splits them"
}

@test "arrays with other names" {
    slow_unless_sanitized
    need_numpy
    python3 -c '
import numpy as np
a = np.load("model.npz")
named = {}
for k in a.files:
    if k.endswith((".weight", ".bias")):
        x = a[k]
        named["m/" + k.replace(".", "_")] = x.T if ".c_" in k and x.ndim == 2 else x
np.savez("named.npz", **{k: np.ascontiguousarray(v) for k, v in named.items()})
np.savez_compressed("packed.npz", **{k: np.ascontiguousarray(v) for k, v in named.items()})
with open("names", "w") as f:
    print("# theirs, ours", file=f)
    for k in ["wte.weight", "wpe.weight", "ln_f.weight", "ln_f.bias"]:
        print("m/" + k.replace(".", "_"), k, file=f)
    for k in ["ln_1.weight", "ln_1.bias", "ln_2.weight", "ln_2.bias", "attn.c_attn.bias", "attn.c_proj.bias",
              "mlp.c_fc.bias", "mlp.c_proj.bias"]:
        print("m/h_N_" + k.replace(".", "_"), "h.N." + k, file=f)
    for k in ["attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight"]:
        print("m/h_N_" + k.replace(".", "_"), "h.N." + k, "transposed", file=f)
'
    tg-convert named.npz --map names --heads 2 -o a.npz 2> /dev/null
    same_weights model.npz a.npz
    tg-convert packed.npz --map names --heads 2 -o b.npz 2> /dev/null
    cmp a.npz b.npz
    run -1 --separate-stderr tg-convert named.npz --heads 2
    said "is not a tensor of GPT-2"
    sed -i '2s/wte.weight$/what.weight/' names
    run -1 --separate-stderr tg-convert named.npz --map names --heads 2
    said 'names: line 2: "what.weight" is not a parameter'
    run -3 --separate-stderr tg-convert named.npz --map none --heads 2
    said 'none: No such file or directory'
}

@test "what the files do not tell is asked for, or said" {
    slow_unless_sanitized
    run -2 --separate-stderr tg-convert bare.safetensors
    said "bare.safetensors: the file does not give the number of heads: use tg-convert --heads"
    run -2 --separate-stderr tg-convert bare.safetensors --heads 3
    said "3 heads do not divide C = 16"
    run -0 --separate-stderr tg-convert bare.safetensors --heads 2 -o a.npz
    converted
    said "gelu_new"
    same_weights model.npz a.npz
    run -0 --separate-stderr tg-convert bare.safetensors --heads 4 --activation gelu -o a.npz
    converted
    run -0 scalars a.npz config/n_head config/activation tokenizer/kind
    is_output $'4\ngelu\nids'
    run -2 --separate-stderr tg-convert hf --heads 4
    said "hf: the file says 2 heads, not 4"
    run -2 --separate-stderr tg-convert model.npz --heads 4
    said "model.npz: the file says 2 heads, not 4"
    run -2 --separate-stderr tg-convert model.npz --activation silu
    said "model.npz: the file says gelu_new (tanh), not silu"
    run -2 --separate-stderr tg-convert model.npz --map names
    said "model.npz: tg's models (.npz) have the parameters' names: --map is for others"
}

@test "SiLU is named where a format has activations, and refused where it has GELU alone" {
    slow_unless_sanitized
    tg-init --n-layer 1 --n-head 2 --n-embd 16 --activation silu -o silu.npz 2> /dev/null
    run -0 --separate-stderr tg-convert silu.npz --to hf -o silu
    converted
    grep -q '"activation_function": "silu"' silu/config.json
    run -0 --separate-stderr tg-convert silu -o back.npz
    converted
    cmp silu.npz back.npz
    run -2 --separate-stderr tg-convert silu --activation gelu_new
    said "silu: the file says silu, not gelu_new"
    run -2 --separate-stderr tg-convert silu.npz --to gguf
    said "its activation is gelu_new (tanh), the model's silu (--lossy accepts that)"
    run -2 --separate-stderr tg-convert silu.npz --to llmc
    said "its activation is gelu_new (tanh), the model's silu (--lossy accepts that)"
    tg-convert silu.npz --to safetensors -o silu.safetensors 2> /dev/null
    run -0 --separate-stderr tg-convert silu.safetensors --heads 2 --activation silu -o bare.npz
    converted
    same_weights silu.npz bare.npz
    run -0 scalars bare.npz config/activation
    is_output silu
}

@test "what a target cannot hold is refused, or left out and named" {
    slow_unless_sanitized
    run -0 --separate-stderr tg-convert tiny.npz --to hf -o tiny # its bias is all zeros
    converted
    [[ -z $stderr ]]
    tg-sample -m tiny.npz -p a -n 9 > a
    tg-sample -m tiny -p a -n 9 > b
    cmp a b
    make_text 2000 | tg-tokenize -t char | tg-train -m char.npz --steps 1 2> /dev/null
    run -2 --separate-stderr tg-convert char.npz --to hf -o char
    said 'a tokenizer of kind "char" cannot be written as tokenizer.json (--lossy leaves it out)'
    [[ ! -e char ]]
    run -0 --separate-stderr tg-convert char.npz --to hf --lossy -o char
    converted
    said "char: the tokenizer is left out"
    [[ ! -e char/tokenizer.json ]]
    make_text 2000 | tg-tokenize | tg-train -m tiny.npz --steps 1 2> /dev/null # the bias moves
    run -2 --separate-stderr tg-convert tiny.npz --to hf -o x
    said "has no bias of the output head, but lm_head.bias is not zero (--lossy leaves it out)"
    run -0 --separate-stderr tg-convert tiny.npz --to hf --lossy -o x
    converted
    said "x: lm_head.bias is left out"
}

@test "a config that asks for something else" {
    local change
    for change in 's/"gelu_new"/"relu"/' 's/"gpt2"/"mixtral"/' 's/: null/: 7/' \
        's/\(scale_attn_weights": \)true/\1false/' 's/\(inverse_layer_idx": \)false/\1true/'; do
        sed "$change" "$FIXTURES/hf/config.json" > hf/config.json
        run -1 --separate-stderr tg-convert hf
        said "hf: config.json: \""
    done
    sed 's/\(upcast_attn": \)false/\1true/' "$FIXTURES/hf/config.json" > hf/config.json
    run -0 --separate-stderr tg-convert hf -o a.npz
    converted
    said 'hf: "reorder_and_upcast_attn" '
    sed 's/"n_layer": 2/"n_layer": 3/' "$FIXTURES/hf/config.json" > hf/config.json
    run -1 --separate-stderr tg-convert hf
    said "hf: h.2.attn.c_attn.weight is missing"
    echo '{' > hf/config.json
    run -1 --separate-stderr tg-convert hf
    said "hf: config.json: line 2"
}

# wrong_members PRESET: of its config.json, one member after another has a wrong value; the lines of stdin say what
# the message is: MEMBER|VALUE|PATTERN.
wrong_members() {
    local member value words
    tg-init -q -P "$1" -o good.npz --force
    tg-convert -q good.npz --to hf -o "$1"
    cp "$1/config.json" good.json
    while IFS='|' read -r member value words; do
        sed "s/\"$member\": [^,]*/\"$member\": $value/" good.json > "$1/config.json"
        ! cmp -s good.json "$1/config.json" || { echo "there is no $member"; false; }
        run -1 --separate-stderr tg-eval -m "$1" -p a
        [[ $stderr =~ ^tg-eval:\ $1:\ config.json:\ (.*)$ ]] || { echo "$member $value: $stderr"; false; }
        # shellcheck disable=SC2053 # a pattern
        [[ ${BASH_REMATCH[1]} = $words ]] || { echo "$member $value: $stderr"; false; }
    done
}

@test "a config whose member has a wrong value is refused with the member's name" {
    slow_unless_sanitized
    wrong_members baby-llama << 'END'
hidden_size|-128|line *, column * (byte *): "hidden_size": expected an integer from 0 to *, got -128
hidden_size|128.5|line *, column * (byte *): "hidden_size": expected an integer from 0 to *, got 128.5
num_key_value_heads|[2]|line *, column * (byte *): "num_key_value_heads": expected a number, got an array
rms_norm_eps|1e999|line *, column * (byte *): "rms_norm_eps": 1e999 is beyond the range of a double
tie_word_embeddings|1|line *, column * (byte *): "tie_word_embeddings": expected true or false, got a number
rope_scaling|{"type": "linear", "factor": "2"}|line *, column * (byte *): "factor": expected a number, got a string
num_attention_heads|3|"num_key_value_heads" is 2, expected a divisor of "num_attention_heads", 3
num_key_value_heads|0|"num_key_value_heads" is 0, expected a divisor of "num_attention_heads", 4
num_hidden_layers|0|"num_hidden_layers" must be between 1 and 112, got 0
max_position_embeddings|0|"max_position_embeddings" must be between 1 and *, got 0
rms_norm_eps|2|"rms_norm_eps" must be between * and 1, got 2
rope_theta|0.5|"rope_theta" must be between 1 and *, got 0.5
rope_scaling|{"type": "linear", "factor": 0.5}|"factor" must be between 1 and *, got 0.5
rope_scaling|{"type": "default", "rope_theta": 0}|"rope_theta" must be between 1 and *, got 0
head_dim|33|33 channels of a head are rotated, expected an even number
END
    wrong_members baby-neox << 'END'
num_hidden_layers|113|"num_hidden_layers" must be between 1 and 112, got 113
layer_norm_eps|0|"layer_norm_eps" must be between * and 1, got 0
rotary_emb_base|0|"rotary_emb_base" must be between 1 and *, got 0
END
    wrong_members baby-gemma3 << 'END'
rope_local_base_freq|-1|"rope_local_base_freq" must be between 0 and *, got -1
END
}

@test "so is a GPT-2's" {
    wrong_members baby << 'END'
n_layer|0|"n_layer" must be between 1 and 112, got 0
n_layer|113|"n_layer" must be between 1 and 112, got 113
n_layer|-1|line *, column * (byte *): "n_layer": expected an integer from 0 to *, got -1
n_head|0|"n_head" must be between 1 and *, got 0
n_head|3|3 heads do not divide C = 128, expected one of 1 2 4 8 16 32 64 128
n_positions|0|"n_positions" must be between 1 and *, got 0
vocab_size|0|"vocab_size" must be between 1 and *, got 0
layer_norm_epsilon|-1|"layer_norm_epsilon" must be between * and 1, got -1
END
    sed -i 's/"n_layer": 4/"num_hidden_layers": 113/' good.json # the name of other classes
    cp good.json baby/config.json
    run -1 --separate-stderr tg-info baby
    said 'baby: config.json: "num_hidden_layers" must be between 1 and 112, got 113'
}

@test "a safetensors file cut anywhere" {
    slow_unless_sanitized
    local n size
    size=$(size bare.safetensors)
    for n in $(seq 0 97 4000) $((size - 1)); do
        head -c "$n" bare.safetensors > short
        run -1 --separate-stderr tg-convert short --heads 2
        said "short: "
    done
    cat bare.safetensors <(echo) > longer
    run -1 --separate-stderr tg-convert longer --heads 2
    said "longer: the tensors end at offset $size, the file at $((size + 1))"
}

@test "a safetensors file that contradicts itself" {
    slow_unless_sanitized
    local head
    head=$(header bare.safetensors)
    with_header bare.safetensors "${head/\"F32\"/\"I32\"}" > bad
    run -1 --separate-stderr tg-convert bad --heads 2
    said "bad: transformer.wte.weight has type i32, expected floating-point numbers"
    with_header bare.safetensors "${head/\[256,16\]/[16,256]}" > bad
    run -1 --separate-stderr tg-convert bad --heads 2
    said "bad: "
    with_header bare.safetensors "${head/\[0,/[4,}" > bad
    run -1 --separate-stderr tg-convert bad --heads 2
    said "transformer.wte.weight: data_offsets have room for"
    with_header bare.safetensors "${head/wpe.weight/wte.weight}" > bad
    run -1 --separate-stderr tg-convert bad --heads 2
    said "bad: there are two tensors transformer.wte.weight"
    with_header bare.safetensors "{\"a\":$(printf '[%.0s' {1..100000})" > bad
    run -1 --separate-stderr tg-convert bad --heads 2
    said "bad: line 1, column "
}

@test "values that are not finite" {
    python3 -c '
data = bytearray(open("bare.safetensors", "rb").read())
data[-4:] = b"\0\0\xc0\x7f"
open("bad", "wb").write(data)
'
    run -1 --separate-stderr tg-convert bad --heads 2 -o out.npz
    [[ ${stderr_lines[-1]} = "tg-convert: bad: "*"[15] is nan: it must be finite" ]]
    [[ ! -e out.npz && -z $(find . -name '*.tmp*') ]]
}

@test "what is no model" {
    mkdir empty
    run -1 --separate-stderr tg-convert empty
    said "empty: a directory without a model's files: expected config.json and model.safetensors"
    run -3 --separate-stderr tg-convert none
    said "none: No such file or directory"
    echo text > text
    run -1 --separate-stderr tg-convert text
    said "text: expected a model, this is plain text"
    : > nothing
    run -1 --separate-stderr tg-convert nothing
    said "nothing: the file is empty"
    tg-tokenize < text > tokens.npz
    run -2 --separate-stderr tg-convert tokens.npz --to hf -o x
    said "tokens.npz: "
    gzip -c model.npz > model.gz
    run -1 --separate-stderr tg-convert model.gz
    said "gzip data; decompress it first"
}

@test "usage" {
    run -2 --separate-stderr tg-convert
    said "no SOURCE"
    run -2 --separate-stderr tg-convert model.npz out.npz
    said "unexpected operand 'out.npz': the target is named with -o"
    run -2 --separate-stderr tg-convert model.npz --to hf
    said "--to hf writes a directory: name it with -o DIR"
    run -2 --separate-stderr tg-convert model.npz --to onnx
    said "onnx"
    run -3 --separate-stderr tg-convert model.npz --to hf -o text/model
    said "text/model: cannot make the directory"
    run -3 --separate-stderr tg-convert model.npz -o none/model.npz
    said "none/model.npz: "
}

@test "a full device" {
    need_dev_full
    run -3 --separate-stderr tg-convert hf -o /dev/full
    said "/dev/full: "
    run_pipe 3 'tg-convert hf > /dev/full'
    said "standard output: "
}

@test "an old file stays until the new one is complete" {
    echo old > out.npz
    run -1 --separate-stderr tg-convert hf/config.json --force -o out.npz
    [[ $(cat out.npz) = old ]]
    tg-convert hf --force -o out.npz
    same_weights model.npz out.npz
    tg-convert hf --to hf --force -o hf # onto itself
    cmp hf/model.safetensors "$FIXTURES/hf/model.safetensors"
}

@test "a tokenizer that is in the directory already is not left to another model" {
    local file
    tg-init -t ids --vocab-size 8 --n-layer 1 --n-head 1 --n-embd 2 --n-ctx 4 -o ids.npz 2> /dev/null
    for file in tokenizer.json vocab.json merges.txt; do
        mkdir -p old
        echo theirs > old/$file
        run -2 --separate-stderr tg-convert ids.npz --to hf --lossy -o old
        [[ ${stderr_lines[-1]} = \
            "tg-convert: old/$file would be read as this model's tokenizer, but none is written: remove that file, or name"* ]]
        run -0 ls old
        is_output "$file"
        rm old/$file
    done
    tg-convert ids.npz --to hf --lossy -o old
}

@test "a directory that cannot be completed: nothing new is left in it" {
    cp -r hf old
    printf '\0\0\300\177' | dd of=hf/model.safetensors bs=1 seek=4000 conv=notrunc status=none
    run -1 --separate-stderr tg-convert hf --to hf -o new # its directory is removed again
    said "is nan: it must be finite"
    [[ ! -e new ]]
    echo mine > old/tokenizer.json
    cp -r old same
    run -1 --separate-stderr tg-convert hf --to hf --force -o same
    diff -r old same
    run -3 --separate-stderr bash -c 'ulimit -f 8; tg-convert tiny.npz --to hf --lossy -o new'
    said "File too large"
    [[ ! -e new ]]
}

@test "signals leave no temporary file in a directory" {
    slow_unless_sanitized
    need_plain_build
    local signal seconds left
    tg-init -P baby --n-embd 512 --n-head 8 -o wide.npz 2> /dev/null
    for signal in INT TERM HUP QUIT PIPE XCPU; do
        for seconds in 0.02 0.05 0.08; do
            rm -rf wide # a conversion that ended before its signal
            timeout -s "$signal" "$seconds" tg-convert wide.npz --to hf -o wide || (($? == 124))
            for left in wide/.tg-*; do
                [[ ! -e $left ]]
            done
        done
    done
}

@test "a model from a pipe; a device without an end" {
    need_plain_build
    run_pipe 0 'tg-convert <(cat model.npz) --to gguf --lossy -o a.gguf'
    run_pipe 0 'tg-convert <(cat a.gguf) -o b.npz'
    tg-convert a.gguf -o c.npz
    cmp b.npz c.npz
    run -1 --separate-stderr bash -c 'ulimit -v 2000000; tg-convert /dev/zero -o c.npz'
    said "/dev/zero: the input has more than 67108864 bytes"
    run -1 --separate-stderr bash -c 'ulimit -v 2000000; tg-convert <(yes) -o c.npz'
    said "the input has more than 67108864 bytes"
}

@test "a model from standard input: any format, from a pipe or a file" {
    tg-convert hf --to gguf -o a.gguf
    tg-convert model.npz --to llmc --lossy -o a.llmc 2> /dev/null
    for source in model.npz a.gguf a.llmc bare.safetensors; do
        tg-convert "$source" --heads 2 -o named.npz 2> /dev/null
        run_pipe 0 "cat $source | tg-convert - --heads 2 -o out.npz"
        cmp out.npz named.npz
        run_pipe 0 "tg-convert - --heads 2 < $source > out.npz"
        cmp out.npz named.npz
    done
    run_pipe 0 'tg-init -P tinygpt --seed 3 | tg-convert - --to hf --lossy -o piped'
    tg-convert tiny.npz --to hf --lossy -o named 2> /dev/null
    diff -r piped named
}

@test "standard input: what it is, and what it lacks" {
    cp hf/config.json .
    run_pipe 2 'tg-convert - < bare.safetensors > out.npz' # a config.json here is not this file's
    said "standard input: the file does not give the number of heads"
    run_pipe 1 'head -c 3000 model.npz | tg-convert - -o out.npz'
    said "standard input: "
    run_pipe 1 'echo text | tg-convert - -o out.npz'
    said "standard input: not a file of tokens that can be recognized"
    run_pipe 2 'printf abc | tg-tokenize | tg-convert - --to gguf -o out.gguf'
    said "standard input: tokens, no model"
    run_pipe 1 'tg-convert - --to uint16 < model.npz > out.bin'
    said 'standard input: the archive has kind "model", expected "tokens"'
    [[ ! -e out.gguf ]]
}

@test "a part of a checkpoint that is a pipe, or a device" {
    rm hf/model.safetensors
    mkfifo hf/model.safetensors
    run -1 --separate-stderr timeout 600 tg-convert hf -o out.npz
    said "hf/model.safetensors: not a regular file"
    rm hf/model.safetensors
    ln -s /dev/zero hf/model.safetensors
    run -1 --separate-stderr timeout 600 tg-convert hf -o out.npz
    said "hf/model.safetensors: not a regular file"
    rm hf/config.json
    mkfifo hf/config.json
    run -1 --separate-stderr timeout 600 tg-convert hf -o out.npz
    said "hf/config.json: not a regular file"
}

@test "a checkpoint's tokenizer that is a pipe" {
    rm hf/tokenizer.json
    mkfifo hf/tokenizer.json
    run -1 --separate-stderr timeout 600 tg-convert hf -o out.npz
    said "hf/tokenizer.json: not a regular file"
    run -1 --separate-stderr timeout 600 tg-tokenize -t hf --ids < /dev/null
    said "hf/tokenizer.json: not a regular file"
    rm hf/tokenizer.json
    echo '{"a": 0}' > hf/vocab.json
    mkfifo hf/merges.txt
    for name in hf hf/vocab.json; do
        run -1 --separate-stderr timeout 600 tg-tokenize -t $name --ids < /dev/null
        said "hf/merges.txt: not a regular file"
    done
}

@test "a line says what was written, and nothing of it is on standard output" {
    tg-init -q --n-layer 1 --n-head 1 --n-embd 4 --n-ctx 4 -o m.npz
    bytes() { wc -c < "$1"; }
    run -0 --separate-stderr tg-convert m.npz -o m.gguf
    [[ ${stderr_lines[-1]} = "tg-convert: m.gguf: gguf, 1,292 parameters, $(bytes m.gguf | awk '{ printf "%.1f KiB", $1 / 1024 }')" ]]
    [[ -z $output ]]
    run -0 --separate-stderr tg-convert m.npz --to hf -o made
    said "tg-convert: made: hf in 3 files, 1,292 parameters, $(cat made/* | wc -c | awk '{ printf "%.1f KiB", $1 / 1024 }')"
    tg-convert -q m.npz -o m.safetensors 2> left
    tg-convert m.npz --to safetensors -o - 2> err | cmp - m.safetensors
    [[ $(tail -n 1 err) = 'tg-convert: standard output: safetensors, 1,292 parameters' ]]
    run -0 --separate-stderr tg-convert -q m.npz -o quiet.npz
    [[ -z $output && -z $stderr ]]
    run -3 --separate-stderr tg-convert m.npz --to hf -o m.gguf
    [[ $stderr != *parameters* ]]
}

@test "on a terminal, a long conversion shows its progress; a short one and a pipe nothing" {
    slow
    tg-init -P baby -o baby.npz 2> /dev/null
    run -0 on_terminal '(tg-convert baby.npz --to safetensors | (head -c 1 > /dev/null; sleep 1.3; cat > /dev/null)) 2>&1'
    [[ $output = *' of 3.2 MiB'* ]]
    run -0 on_terminal 'tg-convert baby.npz --to hf -o baby'
    [[ ${#lines[@]} = 1 && $output = 'tg-convert: baby: hf in 3 files, 834,304 parameters, 3.2 MiB'* ]]
    run -0 on_terminal 'tg-convert -q baby.npz --to hf -o again'
    is_output ""
    run -0 --separate-stderr bash -c 'tg-convert baby.npz | (head -c 1 > /dev/null; sleep 1.3; cat > /dev/null)'
    converted
    [[ -z $stderr ]]
}

@test "a file of llm.c's tokens that ends early: how many there are, and should be" {
    { printf '\210\330\064\001\001\0\0\0\100\015\003\0' && head -c 1012 /dev/zero && head -c 300000 /dev/zero; } > short.bin
    for more in '' '--vocab-size 9'; do
        # shellcheck disable=SC2086
        run -1 --separate-stderr tg-convert short.bin $more -o t.npz
        said "short.bin: truncated: 150000 ids, its header says 200000"
    done
}

# ---- files that change

# changed_while_read FILE COMMAND...: its output goes through a pipe to `got`; when the pipe is full, bytes of FILE are
# changed that the command has checked but not yet written.
changed_while_read() {
    head -c 700 /dev/zero | tr '\0' '\1' > others
    run -0 --separate-stderr bash -o pipefail -c '"${@:2}" | {
        at=300000
        [[ $(filled) != 1048576 ]] || at=1049000
        dd if=others of="$1" bs=1 seek=$at conv=notrunc status=none
        cat
    } > got' bash "$@"
}

@test "tokens that change while they are converted: what was checked is written" {
    slow_unless_sanitized
    need python3
    head -c 8000000 /dev/zero > ids.bin
    tg-convert ids.bin --from uint16 --vocab-size 300 -o want.npz 2> /dev/null
    cp want.npz t.npz
    changed_while_read t.npz tg-convert t.npz
    cmp got want.npz
    cp want.npz t.npz
    changed_while_read t.npz tg-convert t.npz --to uint16
    cmp got ids.bin
}

# An instruction model begins and ends a text with tokens of its own, where llama.cpp and transformers stop.
@test "the ids of the beginning and the end of a text survive every conversion" {
    local ids='  "bos_token_id": 1,
  "eos_token_id": 2,'
    cp -r "$ROOT/docs/data/induction" chat
    # as they are the tokenizer's, nothing is said of them
    tg-convert -q chat -o plain.npz
    run -1 --separate-stderr grep token_id <(tg-info plain.npz)
    sed -i 's/"bos_token_id": 0/"bos_token_id": 1/; s/"eos_token_id": 0/"eos_token_id": 2/' chat/config.json
    tg-convert -q chat --to hf -o again
    [[ $(grep _token_id again/config.json) = "$ids" ]]
    tg-convert -q chat -o m.gguf
    tg-info m.gguf > got
    grep -q 'bos_token_id 1$' got
    grep -q 'eos_token_id 2$' got
    tg-convert -q m.gguf -o m2.gguf
    tg-convert -q m2.gguf -o m.npz
    for to in llmc safetensors; do # which have no place for them
        run -0 --separate-stderr tg-convert m.npz --to $to -o "none.$to"
        converted
        [[ $stderr = *": bos_token_id 1 is left out: "* ]]
        [[ $stderr = *": eos_token_id 2 is left out: "* ]]
        run -0 --separate-stderr tg-convert plain.npz --to $to -o "none.$to" --force
        converted
        [[ $stderr != *token_id* ]]
    done
    tg-info m.npz | tr -s ' \n' ' ' | grep -q 'bos_token_id 1, eos_token_id 2 '
    printf 'CatDogHen%.0s' {1..40} | tg-tokenize -m m.npz > t.npz
    tg-train -q -m m.npz -n 1 t.npz
    tg-convert -q m.npz --to hf -o tuned
    [[ $(grep _token_id tuned/config.json) = "$ids" ]]
    # one that is no token is the default of the program that wrote the file; several are left out, which is said
    sed -i 's/"bos_token_id": 1/"bos_token_id": 50256/; s/"eos_token_id": 2/"eos_token_id": [1, 2]/' chat/config.json
    run -0 --separate-stderr tg-convert chat --to hf -o several
    converted
    [[ $stderr = *'"eos_token_id" is not one id, and is left out'* ]]
    [[ $(grep _token_id several/config.json) = '  "bos_token_id": 0,
  "eos_token_id": 0,' ]]
}

# Left out as tensors that GPT-2 does not have, the settings would be lost: exact GELU became tanh.
@test "a model whose arrays another program has sorted: kind comes first, and nothing is left out" {
    slow_unless_sanitized
    need_numpy
    python3 -c '
import numpy as np
z = np.load("model.npz")
np.savez("sorted.npz", **{name: z[name] for name in sorted(z)})
np.savez("kind.npz", wpe=np.zeros(1, "f4"), kind=np.zeros(1, "f4"))'
    run -1 --separate-stderr tg-eval -m sorted.npz -p x
    said "sorted.npz: kind is array"
    said "expected the first: a model of tg in another order"
    [[ $stderr != *--lossy* ]]
    run -1 --separate-stderr tg-convert sorted.npz --lossy --heads 2 -o x.npz
    said "expected the first"
    [[ ! -e x.npz ]]
    run -1 --separate-stderr tg-convert kind.npz --heads 2 -o x.npz # of somebody who has a tensor of that name
    said "is not a tensor of GPT-2"
}

@test "a text ends with a token that exists" {
    slow_unless_sanitized
    need_numpy
    tg-convert -q "$ROOT/docs/data/induction" -o plain.npz
    for id in 256 257; do
        python3 - $id <<'PY'
import sys
import numpy as np
z = np.load("plain.npz")
arrays = {}
for name in z.files:
    arrays[name] = z[name]
    if name == "config/head_bias":
        arrays["config/eos_token_id"] = np.int64(sys.argv[1])
np.savez("changed.npz", **arrays)
PY
        [[ $id = 257 ]] || run -0 tg-info changed.npz
    done
    run -1 --separate-stderr tg-eval -m changed.npz -p x
    said "token 257 begins or ends a text, expected one of 257 tokens"
}

@test "--fuse-qkv is for GPT-2's; tg-info shows other families as they are" {
    tg-init -q -P baby-llama -o model.npz
    run -2 --separate-stderr tg-convert model.npz --fuse-qkv -o joined.npz
    said "model.npz: --fuse-qkv is for GPT-2's, this is of the family llama"
    [[ ! -e joined.npz ]]
    tg-convert -q model.npz -o same.npz
    cmp model.npz same.npz
    run -0 tg-info same.npz
    [[ $output = *"family llama"* ]]
}

# ---- other families

# directories PRESET...: from an archive to one, and back.
directories() {
    local preset
    for preset in "$@"; do
        tg-init -q -P $preset --n-layer 2 --n-embd 32 --seed 4 -o $preset.npz
        run -0 --separate-stderr tg-convert $preset.npz --to hf -o $preset
        converted
        [[ -z $stderr && $(ls $preset | tr '\n' ' ') = "config.json model.safetensors tokenizer.json " ]]
        tg-convert $preset -o back.npz --force
        cmp $preset.npz back.npz
        tg-convert $preset --to hf -o $preset.again
        diff -r $preset $preset.again
        tg-convert $preset --to hf --dtype bf16 -o $preset.half
        grep -q '"torch_dtype": "bfloat16"' $preset.half/config.json
        [[ $(size $preset.half/model.safetensors) -lt $(($(size $preset/model.safetensors) * 6 / 10)) ]]
        tg-sample -q -m $preset -p a -n 5 > a
        tg-sample -q -m $preset.npz -p a -n 5 | cmp a -
    done
}

@test "Hugging Face's directories of other families: the same archive is made of them again" {
    slow_unless_sanitized
    # shellcheck disable=SC2086
    directories $BABIES
    header baby-llama/model.safetensors > header.json
    grep -q '"model.layers.1.mlp.down_proj.weight":{"dtype":"F32","shape":\[32,384\]' header.json
    [[ $(< header.json) != *lm_head* ]] # it is tied
    header baby-neox/model.safetensors |
        grep -q '"gpt_neox.layers.0.attention.query_key_value.weight":{"dtype":"F32","shape":\[96,32\]'
    # a run that begins with such a directory
    make_text 3000 | tg-tokenize > tokens.npz
    tg-train -q -m baby-llama --steps 2 -o tuned.npz tokens.npz
    tg-convert tuned.npz --to hf -o tuned
    diff baby-llama/config.json tuned/config.json
    run -1 cmp -s baby-llama/model.safetensors tuned/model.safetensors
}

@test "Hugging Face's directories of still other families" {
    slow
    # shellcheck disable=SC2086
    directories $MORE_BABIES
}

@test "a Llama with windows is a Mistral; what no class says is refused by name" {
    tg-init -q -P baby-llama --n-layer 2 --n-embd 16 --window 5 -o window.npz
    tg-convert window.npz --to hf -o window
    grep -q '"model_type": "mistral"' window/config.json
    grep -q '"sliding_window": 5' window/config.json
    tg-convert window -o back.npz
    cmp window.npz back.npz
    tg-init -q -P baby-llama --n-layer 2 --n-embd 16 --window 5 --qkv-bias yes -o bias.npz
    run -2 --separate-stderr tg-convert bias.npz --to hf -o no
    said "tg-convert: bias.npz: config/qkv_bias is 1, but Hugging Face's \"mistral\" can only have 0"
    run -2 --separate-stderr tg-convert bias.npz --to hf --lossy -o no # a setting is never left out
    said "tg-convert: bias.npz: config/qkv_bias is 1, but Hugging Face's \"mistral\" can only have 0"
    tg-init -q -P baby-qwen3 --n-layer 2 --n-embd 16 --qk-norm no -o norm.npz
    run -2 --separate-stderr tg-convert norm.npz --to hf -o no
    said "config/qk_norm is 0, but Hugging Face's \"qwen3\" can only have 1"
    run -2 --separate-stderr tg-convert window.npz --to hf --split-qkv -o no
    said "--split-qkv is for GPT-2"
    run -2 --separate-stderr tg-convert window.npz --to hf --dtype q8_0 -o no
    said "a Hugging Face checkpoint has no type q8_0"
    run -2 --separate-stderr tg-convert window.npz --to safetensors -o no.safetensors
    said "has no names for the tensors of a model of the family llama"
    [[ ! -e no && ! -e no.safetensors ]]
}

@test "a SentencePiece tokenizer is left out of a directory on request" {
    python3 -c '
import json
pieces = ["<unk>", "<s>", "</s>", *("<0x%02X>" % b for b in range(256)), "\u2581a", "ab", "\u2581", "a", "b"]
print(json.dumps({
    "added_tokens": [*({"id": i, "content": pieces[i], "special": True} for i in range(3)),
                     {"id": len(pieces), "content": "b a", "special": False}],
    "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False},
    "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "vocab": {p: i for i, p in enumerate(pieces)},
              "merges": [["\u2581", "a"], ["a", "b"]]}}))' > tokenizer.json
    tg-init -q -P baby-llama --n-layer 1 --n-embd 16 -t tokenizer.json -o llama.npz
    run -2 --separate-stderr tg-convert llama.npz --to hf -o dir
    said 'a tokenizer.json cannot hold this vocabulary: token 264, "b\xE2\x96\x81a", is user-defined and has a space'
    said '(--lossy leaves it out)'
    [[ ! -e dir ]]
    run -0 --separate-stderr tg-convert llama.npz --to hf --lossy -o dir
    converted
    said 'dir: the tokenizer is left out: '
    [[ $(ls dir | tr '\n' ' ') = "config.json model.safetensors " ]]
    [[ $(grep _token_id dir/config.json) = '  "bos_token_id": 1,
  "eos_token_id": 2,
  "pad_token_id": null,' ]] # the tokenizer's
    tg-convert -q dir -t tokenizer.json -o back.npz
    cmp llama.npz back.npz
}

@test "a model's template of conversations, and its settings of generation, go where they are read" {
    slow_unless_sanitized
    local template='{% for m in messages %}<|im_start|>{{ m["content"] }}<|im_end|>
{% endfor %}"é"'
    make_text 2000 > text
    tg-bpe -q -n 300 --special '<|im_start|>' --special '<|im_end|>' --special '<|endoftext|>' -o bpe.npz text
    tg-init -q -P baby-qwen3 --n-layer 1 --n-embd 16 -t bpe.npz -o model.npz
    tg-convert -q model.npz --to hf -o plain
    [[ $(ls plain | tr '\n' ' ') = "config.json model.safetensors tokenizer.json " ]]
    # as a file
    cp -r plain of-file
    printf %s "$template" > of-file/chat_template.jinja
    echo '{"eos_token_id": [298, 299]}' > of-file/generation_config.json
    tg-convert -q of-file --to hf -o copy
    diff -r of-file copy
    # in the tokenizer's settings, which are copied
    cp -r plain of-settings
    python3 -c 'import json, sys; print(json.dumps({"chat_template": open(sys.argv[1]).read()}))' \
        of-file/chat_template.jinja > of-settings/tokenizer_config.json
    tg-convert -q of-settings --to hf -o copy2
    diff -r of-settings copy2
    # of GGUF it is a value
    tg-convert -q of-file -o file.gguf
    tg-convert -q of-settings -o settings.gguf
    cmp file.gguf settings.gguf
    grep -qaF "$(head -n 1 of-file/chat_template.jinja)" file.gguf
    tg-convert -q file.gguf --to hf -o back
    cmp of-file/chat_template.jinja back/chat_template.jinja
    echo '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}' > talk.jsonl
    tg-tokenize -q -m file.gguf --chat --pieces talk.jsonl | grep -qF '<|im_start|>'
    # of an archive, which has none, it is given
    tg-convert -q model.npz -o none.gguf
    run -1 grep -qa chat_template none.gguf
    for of in of-file of-settings file.gguf of-file/chat_template.jinja; do
        tg-convert -q model.npz --chat-template $of -o given.gguf --force
        cmp file.gguf given.gguf
        tg-convert -q model.npz --chat-template $of --to hf -o given
        cmp of-file/chat_template.jinja given/chat_template.jinja
        rm -r given
    done
    run -1 --separate-stderr tg-convert model.npz --chat-template ./plain -o no.gguf
    said 'tg-convert: ./plain: no template of conversations'
    run -1 --separate-stderr tg-convert model.npz --chat-template model.npz -o no.gguf
    said 'tg-convert: model.npz: no template of conversations'
    cp -r plain damaged
    echo '{"chat_template": "<|im_' > damaged/tokenizer_config.json
    run -1 --separate-stderr tg-convert damaged -o no.gguf
    said 'tg-convert: damaged: damaged/tokenizer_config.json: line 1, column '
    said ' (--lossy leaves it out)'
    run -0 --separate-stderr tg-convert damaged --lossy -o left.gguf
    converted
    said 'the template of conversations and its settings are left out: damaged/tokenizer_config.json: line 1, column '
    cmp none.gguf left.gguf
    tg-convert -q damaged --lossy --to hf -o left
    [[ ! -e left/tokenizer_config.json ]]
    tg-convert -q damaged -o left.npz
    run -2 --separate-stderr tg-convert plain --chat-template of-file -o no.npz
    said 'tg-convert: --chat-template is for --to hf and --to gguf: other formats have none'
    [[ ! -e no.gguf && ! -e no.npz ]]
}

@test "where a template of conversations comes from, and what is not taken for one" {
    slow_unless_sanitized
    make_text 2000 > text
    tg-bpe -q -n 300 --special '<|im_start|>' --special '<|im_end|>' --special '<|endoftext|>' -o bpe.npz text
    tg-init -q -P baby-qwen3 --n-layer 1 --n-embd 16 -t bpe.npz -o model.npz
    tg-convert -q model.npz --to hf -o of
    cp -r of plain
    echo '<|im_start|>{{ x }}<|im_end|>' > of/chat_template.jinja
    tg-convert -q of -o of.gguf
    # from a stream, and with the weights of a directory
    tg-convert -q - --to gguf < of.gguf | cmp - of.gguf
    tg-convert -q of/model.safetensors -o weights.gguf
    cmp of.gguf weights.gguf
    echo '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}' > talk.jsonl
    tg-tokenize -q -m of/model.safetensors --chat --pieces talk.jsonl | grep -qF '<|im_start|>'
    # a file that is there already would be read in its place
    cp -r of there
    run -2 --separate-stderr tg-convert -q plain --to hf -o there --force
    said "tg-convert: there/chat_template.jinja would be read as this model's template of conversations, but none is written"
    cp -r plain settings
    echo '{"eos_token_id": 1}' > settings/generation_config.json
    run -2 --separate-stderr tg-convert of --to hf -o settings --force
    said "tg-convert: settings/generation_config.json would be read as this model's settings of generation, but none is written"
    [[ ! -e settings/chat_template.jinja ]]
    # a pipe is not waited for
    for name in chat_template.jinja tokenizer_config.json generation_config.json; do
        rm -rf pipe
        cp -r plain pipe
        mkfifo pipe/$name
        run -1 --separate-stderr tg-convert pipe --to hf -o no
        said "tg-convert: pipe: pipe/$name: not a regular file (--lossy leaves it out)"
        [[ $name = generation_config.json ]] || run -1 --separate-stderr tg-tokenize -m pipe --chat talk.jsonl
    done
    tg-convert -q pipe -o pipe.gguf # which has no settings of generation
    # an input is not replaced, and is a file
    cp of.gguf own.gguf
    run -2 --separate-stderr tg-convert model.npz --chat-template own.gguf -o own.gguf --force
    cmp of.gguf own.gguf
    # it is text
    : > empty.jinja
    printf '<|im_start|>\xff<|im_end|>' > bytes.jinja
    run -1 --separate-stderr tg-convert model.npz --chat-template empty.jinja -o no.gguf
    said 'tg-convert: empty.jinja: the template is empty'
    run -1 --separate-stderr tg-convert model.npz --chat-template bytes.jinja -o no.gguf
    said 'tg-convert: bytes.jinja: the template is not UTF-8'
    # weights that are named without their directory
    (cd of && tg-convert -q model.safetensors -o ../named.gguf)
    cmp of.gguf named.gguf
    # the source's settings of generation stay, and may lack the end of an answer
    cp -r plain ends
    echo '{"eos_token_id": 299, "max_length": 298}' > ends/generation_config.json
    run -0 --separate-stderr tg-convert ends --chat-template chatml --to hf -o ended
    converted
    said "tg-convert: generation_config.json is the source's, and lacks token 298, which ends an answer: add it to its eos_token_id"
    echo '{"eos_token_id": [299, 298]}' > ends/generation_config.json
    run -0 --separate-stderr tg-convert ends --chat-template chatml --to hf -o ended --force
    converted
    [[ -z $stderr ]]
    cmp ends/generation_config.json ended/generation_config.json
    # one by its name, which the tokenizer must fit
    tg-convert -q model.npz --chat-template chatml --to hf -o named
    tg-tokenize -q -m named --chat --pieces talk.jsonl | grep -qF '<|im_start|>'
    [[ $(tr -d ' \n' < named/generation_config.json) = '{"eos_token_id":[299,298]}' ]]
    run -1 --separate-stderr tg-convert model.npz --chat-template gemma -o no.gguf
    said 'tg-convert: the tokenizer has no special token <start_of_turn>, which template gemma needs'
    run -2 --separate-stderr tg-convert model.npz --chat-template plain -o no.gguf
    said 'tg-convert: --chat-template: plain is no template of other programs'
    run -0 --separate-stderr tg-convert model.npz -o lacks.gguf
    converted
    said 'tg-convert: model.npz has no template of conversations, but tokens of chatml: --chat-template chatml writes one'
    run -2 --separate-stderr tg-convert model.npz --chat-template - -o no.gguf
    said 'tg-convert: --chat-template names a file: standard input is none'
    run -3 --separate-stderr tg-convert model.npz --chat-template none.jinja -o no.gguf
    said 'tg-convert: none.jinja: no template of these names: chatml|llama3|gemma|plain, and no file: No such file or directory'
    rm plain/tokenizer.json
    run -2 --separate-stderr tg-convert plain --chat-template of -o no.gguf
    said 'tg-convert: --chat-template: plain has no tokenizer of text'
    [[ ! -e no.gguf && ! -e no ]]
}

@test "PEFT's adapter of a model that is a file called config.json" {
    make_text 3000 | tg-tokenize -q > t.npz
    tg-init -q -P baby-llama --n-layer 1 --n-embd 16 -o config.json.npz
    mv config.json.npz config.json
    tg-train -q -m config.json -o adapter.npz --lora 2 -n 1 -b 1 t.npz
    tg-convert -q config.json --adapter adapter.npz --to peft -o peft
    grep -q '"base_model_name_or_path": null' peft/adapter_config.json
}
