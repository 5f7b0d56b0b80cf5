load helper

tiny() {
    tg-init --n-layer 2 --n-head 2 --n-embd 16 --n-ctx 16 "$@" -o model.npz 2> /dev/null
}

trained() {
    tiny
    make_text 2000 > text
    tg-tokenize text | tg-train --steps 3 --log log.tsv 2> /dev/null
}

# ---- archives

@test "a model: parameters, shape, config, tokenizer, arrays" {
    tiny
    run -0 --separate-stderr tg-info model.npz
    [[ ${lines[0]} = "model.npz: model (an archive of tg), "*KiB ]]
    [[ ${lines[1]} = 'parameters  10,944' ]]
    [[ ${lines[2]} = 'shape       2 layers, 2 heads, width 16, context 16, vocabulary 256' ]]
    [[ ${lines[3]} = 'config      layer_norm_epsilon 1e-05, activation gelu_new, '* ]]
    [[ ${lines[5]} = 'tokenizer   bytes, 256 ids, identity '* ]]
    [[ $(grep -c '^h\.[01]\..* f32  *\[' <<< "$output") = 24 ]]
    [[ -z $stderr ]]
    [[ $output != *$'\n'kind* && $(tg-info --all model.npz) = *$'\n'kind' '*$'\n'config/n_layer' '* ]]
    tg-info | cmp - <(tg-info model.npz)
    mv model.npz other.npz
    TG_MODEL=other.npz tg-info | cmp - <(tg-info other.npz)
    tg-info < other.npz | grep -q '^standard input: model'
}

@test "a trained model: how far, with which settings, the optimizer's arrays" {
    trained
    tg-info model.npz > got
    grep -qx 'training    step 3 of 3' got
    grep -q '^settings    seed 0, batch 12, context 16, ' got
    grep -qx 'optimizer   56 arrays, .*' got
    run -1 grep -q '^opt/' got
    [[ $(tg-info --all model.npz | grep -c '^opt/[mv]/') = 56 ]]
}

@test "a trained model keeps its losses, at most 1024, wherever it was stopped" {
    make_text 2000 > text
    tg-tokenize < text > tokens.npz
    tg-init --n-layer 1 --n-head 1 --n-embd 4 --n-ctx 4 -o model.npz 2> /dev/null
    cp model.npz whole.npz
    tg-info model.npz > got
    run -1 grep -q '^loss' got
    tg-train -m model.npz --steps 40 --batch 1 --log log.tsv tokens.npz 2> /dev/null
    tg-info model.npz > got
    grep -qx 'steps       1 to 40' got
    grep -A 1 '^loss' got | cmp - <(tg-info log.tsv | grep -A 1 '^loss')
    run -1 grep -q 'train/history' got
    tg-info --json model.npz log.tsv | python3 -c '
import json, sys
model, log = (json.loads(line)["history"] for line in sys.stdin)
assert model["step"] == log["step"] == list(range(1, 41)) and "val_loss" not in model
assert all(abs(m - l) <= 5e-7 for m, l in zip(model["loss"], log["loss"]))'
    tg-train -m whole.npz --steps 2500 --batch 1 --dropout 0.1 tokens.npz 2> /dev/null
    tg-info whole.npz | grep -qx 'steps       4 to 2500, one in 4'
    tg-init -f --n-layer 1 --n-head 1 --n-embd 4 --n-ctx 4 -o model.npz 2> /dev/null
    for seconds in 0.1 0.2 3600; do
        timeout -s TERM $seconds tg-train -m model.npz --steps 2500 --batch 1 --dropout 0.1 tokens.npz ||
            (($? >= 124))
    done 2> /dev/null
    cmp model.npz whole.npz
}

@test "tokens, tokenizers, dumps, logits, vocabularies" {
    trained
    tg-tokenize text > tokens.npz
    tg-info tokens.npz > got
    grep -qx 'tokens.npz: tokens (an archive of tg), .*' got
    grep -qx 'tokens      2,000' got
    cat tokens.npz tokens.npz | tg-info > got
    grep -qx 'tokens      4,000 in 2 archives, the first of which is shown' got
    grep -qE '^tokens/00000000 +u8 +\[2000\] +- +2000$' got # a pipe has no offsets
    tg-bpe -n 300 --special '<|endoftext|>' -o bpe.npz text 2> /dev/null
    tg-info bpe.npz | grep -qx 'tokenizer   bpe, 300 ids, split gpt2, 1 special, end of text 299, *'
    tg-tokenize -t bpe.npz --to tokenizer.json > tokenizer.json
    tg-info tokenizer.json | grep -q '^tokenizer   bpe, 300 ids, split gpt2, 1 special, end of text 299'
    tg-attn-dump -p 'To be' -o dump.npz
    tg-info dump.npz > got
    grep -qx 'dump.npz: attention (an archive of tg), .*' got
    grep -qx 'dump/mask   -1e9' got
    grep -qE '^h\.1\.scores +f32 +\[1,2,5,5\] ' got
    tg-eval -p 'To be' --logits -o logits.npz 2> /dev/null
    tg-info logits.npz | grep -qE '^logits/00000000 +f32 +\[5,256\] '
}

@test "offsets and statistics are those that NumPy finds" {
    need_numpy
    trained
    tg-attn-dump -p 'To be' -o dump.npz
    tg-info --stats --tsv model.npz dump.npz > got
    python3 - <<'PY'
import numpy as np
lines = [line.rstrip("\n").split("\t") for line in open("got")]
assert lines[0] == "file name type shape offset bytes min max mean norm not_finite".split()
assert all(len(line) == len(lines[0]) for line in lines)
for path in "model.npz", "dump.npz":
    z, raw = np.load(path), open(path, "rb").read()
    names = [line[1] for line in lines if line[0] == path]
    assert names == z.files
    for _, name, kind, shape, offset, size, *stats in (line for line in lines if line[0] == path):
        a = z[name]
        assert shape == ",".join(map(str, a.shape)), name
        data = a.tobytes()
        assert raw[int(offset):int(offset) + int(size)] == data, name
        if a.dtype.kind == "f" and a.ndim > 0:
            x = a.astype(np.float32).astype(float)
            want = [x.min(), x.max(), x.mean(), np.sqrt((x * x).sum())]
            assert np.allclose([float(s) for s in stats[:4]], want, rtol=1e-8, atol=1e-9), name
            assert stats[4] == "0"
        else:
            assert stats == [""] * 5, name
PY
}

@test "arrays of other programs: compressed, all types, numbers that are not finite" {
    need_numpy
    python3 - <<'PY'
import numpy as np
arrays = dict(a=np.arange(6, dtype="<u2").reshape(2, 3), b=np.array([1, np.nan, -2, np.inf], "<f4"), c=np.array(7, "<i1"),
              d=np.array([0.5, 0.25], "<f8"), e=np.array([], "<f4"), f=np.array(True), g=(np.arange(200000) % 99).astype("<f2"))
np.savez("plain.npz", **arrays)
np.savez_compressed("deflated.npz", **arrays)
PY
    tg-info -s plain.npz > got
    grep -q '^plain.npz: an archive of arrays (.npz), ' got
    grep -qx 'c           7' got
    grep -qE '^b +f32 +\[4\] +[0-9]+ +16 +-2 +1 +-0\.5 +2\.236  2 not finite$' got
    grep -qE '^g +f16 +\[200000\] .* 0 +98 ' got
    tg-info -s --tsv deflated.npz | cut -f 2-4,6- | cmp - <(tg-info -s --tsv plain.npz | cut -f 2-4,6-)
    [[ $(tg-info --tsv deflated.npz | cut -f 5 | sort -u) = $'\noffset' ]]
    run -1 --separate-stderr tg-info --check plain.npz
    said 'plain.npz: b: 2 of 4 numbers are NaN or infinite'
}

@test "--json: an object in a line for each file" {
    need python3
    trained
    tg-tokenize text > tokens.npz
    cp model.npz $'na\xffme".npz'
    tg-info --json --stats model.npz tokens.npz $'na\xffme".npz' > got
    python3 - <<'PY'
import json
model, tokens, name = (json.loads(line) for line in open("got"))
assert model["kind"] == "model" and model["parameters"] == 10944 and model["file"] == "model.npz"
assert model["config"]["n_layer"] == 2 and model["config"]["activation"] == "gelu_new"
assert model["train"]["step"] == 3 and model["train"]["lr"] == 0.002
assert model["tokenizer"]["kind"] == "bytes" and model["tokenizer"]["end_of_text"] is None
assert len(model["tokenizer"]["identity"]) == 64 and model["notes"] == []
array = next(a for a in model["arrays"] if a["name"] == "wte.weight")
assert array["shape"] == [256, 16] and array["type"] == "f32" and array["min"] < 0 < array["max"]
assert tokens["tokens"] == 2000 and tokens["archives"] == 1
assert name["file"] == 'na\\xFFme".npz', name["file"]
PY
}

# ---- logs

@test "a log: bars" {
    printf 'step\tloss\tval_loss\tlr\n1\t4.0\t\t1\n2\t3.0\t3.5\t1\n3\t2.0\t\t1\n4\t2.5\t2.25\t1\n' > log.tsv
    run -0 tg-info log.tsv
    [[ ${lines[0]} = 'log.tsv: log (of tg-train), '* ]]
    [[ ${lines[1]} = 'steps       1 to 4, in 4 lines' ]]
    [[ ${lines[2]} = 'loss        @+_-' ]]
    [[ ${lines[3]} = '            4.0000 to 2.5000, least 2.0000 at step 3' ]]
    [[ ${lines[4]} = 'validation  @_' ]]
    [[ ${lines[5]} = '            3.5000 to 2.2500, least 2.2500 at step 4' ]]
    LC_ALL=C.UTF-8 run -0 tg-info log.tsv
    [[ ${lines[2]} = 'loss        █▅▁▃' ]]
    [[ $(tg-info --json log.tsv) = *'"history":{"step":[1,2,3,4],"loss":[4,3,2,2.5],"val_loss":[null,3.5,null,2.25]}'* ]]
    printf '5\t2.0\n' >> log.tsv
    run -1 --separate-stderr tg-info log.tsv
    said 'log.tsv: line 6 of the log is damaged'
    rm log.tsv
    trained
    tg-info log.tsv | grep -qx 'steps       1 to 3, in 3 lines'
}

# ---- other projects' files

@test "other projects' models, as tg-convert writes them" {
    make_text 3000 > text
    tg-bpe -n 300 -o bpe.npz text 2> /dev/null
    tiny -t bpe.npz
    for format in hf safetensors gguf llmc; do
        tg-convert model.npz --to $format -o "model.$format" 2> /dev/null
        tg-info --check "model.$format" > got
        heads=2
        [[ $format != safetensors ]] || heads='?'
        grep -qxF "shape       2 layers, $heads heads, width 16, context 16, vocabulary 320" got
        grep -qx 'checked     everything is as it should be' got
        tg-info --stats --tsv "model.$format" | awk -F '\t' 'NR > 1 && ($5 == "" || $7 == "" || $11 != 0) { exit 1 }'
    done
    tg-info model.hf | grep -q '^tokenizer   bpe, 300 ids'
    tg-info model.gguf | grep -qx 'general.architecture gpt2'
    tg-info model.safetensors | grep -qx 'note        the file does not tell the number of heads'
}

@test "tensors of a model that is not computed are listed, with a note" {
    need python3
    python3 - <<'PY'
import json, struct
head = json.dumps({"__metadata__": {"by": "a\u00e9\nb"}, "model.x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
head += b" " * (-len(head) % 8)
open("x.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + struct.pack("<2f", 1, -3))
PY
    run -0 tg-info --stats x.safetensors
    [[ ${lines[0]} = 'x.safetensors: a safetensors file, '* ]]
    [[ ${lines[1]} = 'by          a'* ]]
    [[ ${lines[2]} = 'note        no model that tg computes: '* ]]
    grep -qE '^model\.x +f32 +\[2\] +[0-9]+ +8 +-3 +1 +-1 +3\.162$' <<< "$output"
}

# ---- damage, and wrong usage

@test "--check finds a flipped bit, and ids outside the vocabulary" {
    trained
    tg-tokenize text > tokens.npz
    tg-attn-dump -p 'To be' -o dump.npz
    for file in model.npz tokens.npz dump.npz; do
        tg-info --check $file | grep -qx 'checked     everything is as it should be'
        cp $file bad.npz
        flip bad.npz $(($(size bad.npz) / 2)) 3
        run -1 --separate-stderr tg-info --check bad.npz
        said 'bad.npz: '
    done
    npz ids.npz <<< 'kind S - tokens
version i8 - 1
tokenizer/kind S - ids
tokenizer/vocab_size i8 - 3
tokens/00000000 u1 3 0 1 3'
    tg-info ids.npz | grep -qx 'tokens      3'
    run -1 --separate-stderr tg-info --check ids.npz
    said 'ids.npz: '
    run_pipe 2 'cat tokens.npz | tg-info --check'
    said 'standard input: a pipe cannot be checked'
    tg-info --check < tokens.npz | grep -q checked
}

@test "what is not read is refused" {
    printf 'some text' > text
    : > empty
    mkdir directory
    run -1 --separate-stderr tg-info text
    said 'text: expected a model, this is plain text'
    run -1 --separate-stderr tg-info empty
    said 'empty: '
    run -1 --separate-stderr tg-info directory
    said 'directory: '
    run_pipe 1 'tg-info < text'
    said 'standard input is no archive'
    run -3 --separate-stderr tg-info missing
    said 'missing: cannot open: No such file or directory'
    run -2 --separate-stderr tg-info --json --tsv text
    said '--json and --tsv cannot be combined'
    tiny
    head -c 9000 model.npz > cut.npz
    run -1 --separate-stderr tg-info cut.npz
    said 'cut.npz: '
    need_dev_full
    run -3 --separate-stderr bash -c 'tg-info model.npz > /dev/full'
    said 'standard output: No space left'
}
