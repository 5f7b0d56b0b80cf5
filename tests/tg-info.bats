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
    [[ ${lines[1]} = 'parameters  10,944, in arrays that --all lists' ]]
    [[ ${lines[2]} = 'shape       2 layers, 2 heads, width 16, context 16, vocabulary 256' ]]
    [[ ${lines[3]} = 'config      layer_norm_epsilon 1e-05, activation gelu_new, '* ]]
    [[ ${lines[5]} = 'tokenizer   bytes, 256 ids, identity '* ]]
    [[ ${#lines[@]} = 6 ]]
    [[ -z $stderr ]]
    tg-info --stats model.npz > got
    [[ $(grep -c '^h\.[01]\..* f32  *\[' got) = 24 ]]
    run -1 grep '^kind' got
    [[ $(tg-info --all model.npz) = *$'\n'kind' '*$'\n'config/n_layer' '* ]]
    tg-info | cmp - <(tg-info model.npz)
    mv model.npz other.npz
    TG_MODEL=other.npz tg-info | cmp - <(tg-info other.npz)
    tg-info < other.npz | grep -q '^standard input: model'
}

@test "counts in the rows for the eye have separators, and values as options take them have none" {
    tg-init --n-layer 1 --n-head 1 --n-embd 4 --n-ctx 2048 --vocab-size 10000 -o model.npz 2> note
    grep -qF '1 layer, 1 head, width 4, context 2,048, vocabulary 10,000: ' note
    tg-info model.npz | grep -qx 'shape       1 layer, 1 head, width 4, context 2,048, vocabulary 10,000'
    tg-info --all model.npz | grep -qE '^wte\.weight  +f32  +\[10000,4\] '
    printf '%s\n' $'step\tloss\tval_loss\tlr\tgrad_norm\ttokens_per_s\ttime_s' \
        $'1000\t3.5\t\t1e-3\t1\t100\t1' $'2000\t2.5\t\t1e-3\t1\t100\t2' > log.tsv
    tg-info log.tsv > got
    grep -qx 'steps       1,000 to 2,000, in 2 lines' got
    grep -qx 'loss        3.5000 to 2.5000, least 2.5000 at step 2,000' got
    tg-info --json model.npz | grep -qF '"vocab_size":10000,'
    tg-init -q --n-layer 1 --n-head 1 --n-embd 4 --n-ctx 4 -o small.npz
    make_text 100 | tg-tokenize -q | tg-train -q -n 1000 -m small.npz -b 1
    tg-info small.npz | grep -qx 'training    step 1,000 of 1,000'
}

@test "a trained model: how far, with which settings, the optimizer's arrays" {
    trained
    tg-info model.npz > got
    grep -qx 'training    step 3 of 3' got
    grep -q '^settings    seed 0, batch 12, context 16, ' got
    grep -qx 'optimizer   56 arrays, .*' got
    run -1 grep -q '^opt/' <(tg-info --stats model.npz)
    [[ $(tg-info --all model.npz | grep -c '^opt/[mv]/') = 56 ]]
}

@test "a trained model keeps its losses, at most 1024, wherever it was stopped" {
    slow_unless_sanitized
    make_text 2000 > text
    tg-tokenize < text > tokens.npz
    tg-init --n-layer 1 --n-head 1 --n-embd 4 --n-ctx 4 -o model.npz 2> /dev/null
    cp model.npz whole.npz
    tg-info model.npz > got
    run -1 grep -q '^loss' got
    tg-train -m model.npz --steps 40 --batch 1 --log log.tsv tokens.npz 2> /dev/null
    tg-info model.npz > got
    grep -qx 'steps       1 to 40' got
    grep '^loss' got | cmp - <(tg-info log.tsv | grep '^loss')
    run -1 grep -q 'train/history' <(tg-info --stats model.npz)
    tg-info --json model.npz log.tsv | python3 -c '
import json, sys
model, log = (json.loads(line)["history"] for line in sys.stdin)
assert model["step"] == log["step"] == list(range(1, 41)) and "val_loss" not in model
assert all(abs(m - l) <= 5e-7 for m, l in zip(model["loss"], log["loss"]))'
    tg-train -m whole.npz --steps 2500 --batch 1 --dropout 0.1 tokens.npz 2> /dev/null
    tg-info whole.npz | grep -qx 'steps       4 to 2,500, one in 4'
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
    sed -i 's/"special": true/"special": false/' tokenizer.json
    tg-info tokenizer.json | grep -q '^tokenizer   bpe, 300 ids, split gpt2, 1 added, end of text 299'
    tg-info --json tokenizer.json | grep -q '"special": *0, *"added": *1,'
    tg-attn-dump -p 'To be' -o dump.npz
    tg-info dump.npz > got
    grep -qx 'dump.npz: attention (an archive of tg), .*' got
    grep -qx 'dump/mask   -1e9' got
    grep -qE '^h\.1\.scores +f32 +\[1,2,5,5\] ' got
    tg-eval -p 'To be' --logits -o logits.npz 2> /dev/null
    tg-info logits.npz | grep -qE '^logits/00000000 +f32 +\[5,256\] '
}

@test "offsets and statistics are those that NumPy finds" {
    slow_unless_sanitized
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
    slow_unless_sanitized
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
assert model["train"]["step"] == 3 and model["train"]["lr"] == 0.004
assert model["tokenizer"]["kind"] == "bytes" and model["tokenizer"]["end_of_text"] is None
assert len(model["tokenizer"]["identity"]) == 64 and model["notes"] == []
array = next(a for a in model["arrays"] if a["name"] == "wte.weight")
assert array["shape"] == [256, 16] and array["type"] == "f32" and array["min"] < 0 < array["max"]
assert tokens["tokens"] == 2000 and tokens["archives"] == 1
assert name["file"] == 'na\\xFFme".npz', name["file"]
PY
}

# ---- logs

a_log() {
    printf 'step\tloss\tval_loss\tlr\n1\t4.0\t\t1\n2\t3.0\t3.5\t1\n3\t2.0\t\t1\n4\t2.5\t2.25\t1\n'
}

# curve FROM TO STEP: a log of so many steps, whose loss falls from 8 as a power of the step.
curve() {
    awk -v from="$1" -v to="$2" -v power="$3" 'BEGIN {
        print "step\tloss\tval_loss\tlr"
        for (i = from; i <= to; i++)
            printf "%d\t%.6f\t%s\t1\n", i, 8 * i ^ -power, i % 50 == 0 ? sprintf("%.6f", 9 * i ^ -power) : ""
    }'
}

@test "a log: how it went, and a plot" {
    a_log > log.tsv
    run -0 tg-info log.tsv
    [[ ${lines[0]} = 'log.tsv: log (of tg-train), '* ]]
    [[ ${lines[1]} = 'steps       1 to 4, in 4 lines' ]]
    [[ ${lines[2]} = 'loss        4.0000 to 2.5000, least 2.0000 at step 3' ]]
    [[ ${lines[3]} = 'validation  3.5000 to 2.2500, least 2.2500 at step 4' ]]
    [[ ${lines[4]} = 'plot        * training, o validation' ]]
    [[ ${lines[5]} = '    4.0 +*'* && ${lines[11]} = '    2.0 +'*'*'* && ${lines[13]} = '    step '*1*2*3*4 ]]
    [[ ${#lines[@]} = 14 && $(grep -o o <<< "${output##*validation}") = $'o\no' ]]
    LC_ALL=C.UTF-8 run -0 tg-info log.tsv
    [[ ${lines[5]} = '    4.0 ┤⠉'* || ${lines[5]} = '    4.0 ┤⠒'* || ${lines[5]} = '    4.0 ┤⠢'* ]]
    [[ $(tg-info --json log.tsv) = *'"history":{"step":[1,2,3,4],"loss":[4,3,2,2.5],"val_loss":[null,3.5,null,2.25]}'* ]]
    printf '5\t2.0\n' >> log.tsv
    run -1 --separate-stderr tg-info log.tsv
    said 'log.tsv: line 6 of the log is damaged'
    rm log.tsv
    trained
    tg-info log.tsv | grep -qx 'steps       1 to 3, in 3 lines'
    curve 1 2000 0.3 > log.tsv # from its hundredth part on, on log scales
    run -0 tg-info log.tsv
    [[ ${lines[4]} = *'; log scale of steps' && ${lines[-1]} = 'log step 20 '*' 200 '*' 2000' ]]
    curve 1 9 0 > log.tsv # always the same loss
    run -0 tg-info log.tsv
    [[ $output = *'*******'* ]]
    printf 'step\tloss\tval_loss\tlr\n1\t4.0\t\t1\n' > log.tsv # too short for a plot
    run -0 tg-info log.tsv
    [[ ${#lines[@]} = 3 && ${lines[1]} = 'steps       1 to 1, in 1 line' ]]
    printf 'step\tloss\tval_loss\tlr\n' > log.tsv
    run -0 tg-info log.tsv
    [[ ${#lines[@]} = 1 ]]
}

@test "a model fits a screen of 24 lines: shape, run and curve; on a narrow one, no line is wider" {
    slow_unless_sanitized
    need script
    tg-init -o model.npz 2> /dev/null
    make_text 3000 > text
    tg-tokenize text | tg-train --steps 30 --batch 2 2> /dev/null
    on_terminal 'stty cols 80 rows 24; LC_ALL=C.UTF-8 tg-info model.npz' > got
    (($(wc -l < got) <= 23)) # and the prompt
    grep -q '^shape ' got
    grep -q '^training    step 30 of 30' got
    grep -q '^log step 1 .*20' got
    curve 1 30 0.3 > log.tsv
    for files in model.npz 'model.npz log.tsv'; do
        on_terminal "stty cols 60 rows 40; tg-info $files" | tr -d '\r' | sed 's/\x1b\[[0-9]*m//g' > got
        awk 'length > 60 { print; exit 1 }' got
    done
    on_terminal 'tg-info model.npz log.tsv' | grep -q $'\x1b\\[34mA'
    run -1 grep $'\x1b' <(NO_COLOR=1 on_terminal 'tg-info model.npz log.tsv')
    run -1 grep $'\x1b' <(tg-info model.npz log.tsv)
}

@test "steps that a log has twice: the last time counts" {
    curve 1 30 0.5 > log.tsv
    curve 21 40 0.2 | sed 1d >> log.tsv
    run -0 tg-info log.tsv
    [[ ${lines[1]} = 'steps       1 to 40, in 40 lines, and 10 that later ones replace' ]]
    tg-info -l -f tsv log.tsv > got
    [[ $(cut -f 1 got | sed 1d) = $(seq 40) && $(sed -n '/^25\t/p' got | cut -f 2) = 4.202* ]]
    curve 1 40 0.3 | sed 1d >> log.tsv # from the beginning
    tg-info -l -f tsv log.tsv | cut -f 2 | sed 1d | cmp - <(curve 1 40 0.3 | cut -f 2 | sed '1d; s/\.\{0,1\}0*$//')
    tg-info log.tsv log.tsv | grep -qx 'note: A has 50 steps that later lines replace'
}

# ---- runs, side by side

@test "several runs: how they ended, their losses by step, one plot" {
    curve 1 200 0.2 > a.tsv
    curve 1 100 0.3 | cut -f 1,2,4 | sed 's/\t1$/\t\t1/; s/\tlr/\tval_loss\tlr/' > b.tsv # without validation
    run -0 --separate-stderr tg-info a.tsv b.tsv
    [[ -z $stderr && ${lines[0]} = '   run'*'step     loss  minus A    least val loss  minus A' ]]
    [[ ${lines[1]} = 'A  a.tsv      200   2.7726            2.7726   3.1192' ]]
    [[ ${lines[2]} = 'B  b.tsv      100   2.0095  -0.7631   2.0095' ]]
    [[ $output = *'note: losses are per token: '*'tg-eval'* ]]
    [[ $output = *'steps          A    A val        B    B - A'* ]]
    # the mean of the losses, the last validation, and their difference
    want=$(awk -F '\t' 'FNR > 21 && FNR <= 41 { s[FILENAME] += $2 / 20 } END { print s["a.tsv"], s["b.tsv"] }' a.tsv b.tsv)
    read -r steps a b difference <<< "$(grep '^21-40 ' <<< "$output")"
    [[ $steps = 21-40 && $(printf '%.4f %.4f' $want) = "$a $b" && $difference = -* ]]
    read -r steps a val b difference <<< "$(grep '^41-60 ' <<< "$output")"
    [[ $val = 4.1157 && $difference = -* ]]
    grep -qE '^121-140 +[0-9.]+$' <<< "$output" # B has ended
    [[ $output != *' '$'\n'* ]]
    [[ $output = *$'\nlosses: A training, a validation, + several; log scale of steps\n'* ]]
    plot=${output##*log scale of steps}
    [[ $plot = *AAA* && $plot = *BBB* && $plot = *++* && $plot = *a* && $plot != *b* ]]
    [[ $(tail -n 1 <<< "$output") = 'log step '*' 200' ]]
}

@test "several runs: models, the same file twice, one without losses, another kind between them" {
    trained
    cp model.npz one.npz
    tiny -f
    tg-tokenize text | tg-train --steps 4 --lr 0.01 2> /dev/null
    tg-info one.npz model.npz one.npz > got
    [[ $(sed -n 2,4p got) = 'A  one.npz '*$'\nB  model.npz '*$'\nC  one.npz '*' 0.0000 '* ]]
    grep -qx 'step  *A  *B  *C' got
    [[ $(grep -c '^[1-4]  ' got) = 4 ]]
    run -1 grep -q '^note' got # one tokenizer
    tiny -f
    tg-info one.npz log.tsv model.npz | grep -qx 'C  model.npz'
    # nothing to compare, or not only runs: one after another
    for files in 'one.npz model.npz' 'one.npz text.npz log.tsv'; do
        tg-tokenize text > text.npz
        for file in $files; do
            tg-info $file
            [[ $file = "${files##* }" ]] || echo
        done | cmp - <(tg-info $files)
    done
    tg-info --stats one.npz log.tsv | grep -q '^one.npz: model'
    run -3 --separate-stderr tg-info one.npz log.tsv missing
    [[ -z $output ]] # all or nothing, of a comparison
    said 'missing: '
    tg-bpe -n 300 -o bpe.npz text 2> /dev/null
    tg-init -t bpe.npz --n-layer 1 --n-head 1 --n-embd 8 --n-ctx 8 -o bpe-run.npz 2> /dev/null
    tg-tokenize -t bpe.npz text | tg-train -m bpe-run.npz --steps 3 2> /dev/null
    tg-info one.npz bpe-run.npz | tr '\n' ' ' | grep -q 'the tokenizers differ: no *comparison; tg-eval gives bits per byte'
}

@test "several runs: as TSV, all steps; names that are alike; --losses" {
    a_log > a.tsv
    curve 3 6 1 > b.tsv
    tg-info --losses -f tsv a.tsv b.tsv > got
    printf 'step\tloss a.tsv\tval_loss a.tsv\tloss b.tsv\n1\t4\t\t\n2\t3\t3.5\t\n3\t2\t\t2.666667\n4\t2.5\t2.25\t2\n5\t\t\t1.6\n6\t\t\t1.333333\n' |
        cmp - got
    [[ $(tg-info -l --tsv a.tsv a.tsv | head -n 1) = $'step\tloss a.tsv (A)\tval_loss a.tsv (A)\tloss a.tsv (B)\tval_loss a.tsv (B)' ]]
    tg-info --losses a.tsv | grep -qx 'A  a.tsv        4   2.5000            2.0000   2.2500'
    tiny
    run -1 --separate-stderr tg-info --losses a.tsv model.npz
    said 'model.npz: this model has no losses, expected a log of tg-train or a model that it trained'
    run -2 --separate-stderr tg-info --losses --all a.tsv
    said '--losses shows no arrays: it cannot be combined with --all'
    run -2 --separate-stderr tg-info --losses -f jsonl a.tsv
    said '--losses is a table'
    run -2 --separate-stderr tg-info -f tsv --json a.tsv
    said '--format and --json cannot be combined'
    cmp <(tg-info -f tsv model.npz) <(tg-info --tsv model.npz)
    cmp <(tg-info -f jsonl model.npz) <(tg-info --json model.npz)
    names=()
    for i in {1..27}; do cp a.tsv "$i.tsv"; names+=("$i.tsv"); done
    run -2 --separate-stderr tg-info --losses "${names[@]}"
    said '27 files, --losses compares at most 26'
    [[ $(tg-info "${names[@]}" | grep -c ': log ') = 27 ]]
    [[ $(tg-info "${names[@]:1}" | sed -n 's/^\([A-Z]  [0-9.tsv]*\) .*/\1/p' | tail -n 1) = 'Z  27.tsv' ]]
}

@test "an SVG image of the losses" {
    need python3
    curve 1 300 0.2 > a.tsv
    curve 1 200 0.3 > $'b<&"\x01.tsv'
    tg-info -o plot.svg a.tsv $'b<&"\x01.tsv'
    tg-info --svg a.tsv $'b<&"\x01.tsv' | cmp - plot.svg
    python3 - <<'PY'
import xml.etree.ElementTree as tree
root, n = tree.parse("plot.svg").getroot(), "{http://www.w3.org/2000/svg}"
lines, dots = root.findall(n + "polyline"), root.findall(n + "circle")
assert len(lines) == 2 and len(dots) == 6 + 4, (len(lines), len(dots))
assert lines[0].get("stroke-dasharray") != lines[1].get("stroke-dasharray")
texts = [t.text for t in root.findall(n + "text")]
assert "step" in texts and "100" in texts and "loss, in nats per token; log scales" in texts, texts
assert any(t.startswith('B  b<&"\\x01.tsv: 1.6322; validation (dots): 1.8363') for t in texts), texts
height, width = float(root.get("height")), float(root.get("width"))
for line in lines:
    points = [tuple(map(float, p.split(","))) for p in line.get("points").split()]
    assert all(0 < x < width and 0 < y < height for x, y in points)
    assert points == sorted(points) and len(points) > 50  # falls, from left to right
assert "prefers-color-scheme:dark" in root.find(n + "style").text
PY
    run -2 --separate-stderr tg-info -o plot.png a.tsv
    said 'plot.png: -o writes losses as an SVG image, expected a name that ends in .svg'
    run -2 --separate-stderr tg-info --svg --json a.tsv
    said 'an SVG image has no other format: leave out --json'
    cp a.tsv other.svg
    run -2 --separate-stderr tg-info -o other.svg a.tsv
    said 'other.svg: the log of a run; --force replaces it'
    tg-info -o other.svg --force a.tsv
    tg-info -o other.svg a.tsv $'b<&"\x01.tsv'
    cmp other.svg plot.svg
    ln a.tsv a.svg
    run -2 --separate-stderr tg-info -o a.svg a.tsv
    said 'a.tsv is read, and the output would replace it'
    need_dev_full
    run -3 --separate-stderr bash -c 'tg-info --svg a.tsv > /dev/full'
    said 'standard output: '
}

@test "the recipe for a log" {
    slow_unless_sanitized
    need_numpy
    curve 1 100 0.2 > slow.tsv
    sed -n '/^## A log/,$ { /^```python/,/^```$/ { /^```/d; p } }' "$ROOT/docs/recipes.md" > recipe.py
    echo 'assert best == 100 and log["loss"][0] == 8 and log["step"].size == 100' >> recipe.py
    grep -q genfromtxt recipe.py
    python3 recipe.py
}

@test "runs of a million steps, and numbers of any size" {
    slow
    awk 'BEGIN { print "step\tloss\tval_loss\tlr"; for (i = 1; i <= 1000000; i++) print i "\t" 4 + 1 / i "\t" (i % 1000 ? "" : 4.5) "\t1" }' > a.tsv
    printf 'step\tloss\tval_loss\tlr\n1\t1e300\t0\t1\n2\t1.7e308\t1e-300\t1\n1000000000000\t0\t\t1\n' > b.tsv
    run -0 tg-info a.tsv b.tsv
    (($(wc -L <<< "$output") <= 80))
    tg-info -o plot.svg a.tsv b.tsv
    (($(size plot.svg) < 100000))
    run -1 grep -E 'nan|inf' plot.svg
    [[ $(tg-info -l -f tsv a.tsv b.tsv | wc -l) = 1000002 ]]
    npz bad.npz <<< 'kind S - model
version i8 - 1
train/history/step i8 4 -5 0 7 8
train/history/loss f8 4 nan inf -3 nan'
    run -0 tg-info bad.npz a.tsv
    run -0 tg-info bad.npz
    [[ $output = *'loss        '* ]]
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
    tg-info model.safetensors | grep -qx 'note        the file does not give the number of heads'
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
    said 'missing: No such file or directory'
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

@test "--format is --json or --tsv, and --no-header leaves the titles out" {
    tg-init -q --n-layer 1 --n-head 1 --n-embd 4 --n-ctx 4 -o model.npz
    tg-info --json model.npz > json
    tg-info --tsv model.npz > tsv
    for format in jsonl json; do
        tg-info -f $format model.npz | cmp - json
    done
    tg-info --format tsv model.npz | cmp - tsv
    tg-info -f text model.npz | cmp - <(tg-info model.npz)
    tg-info -t --no-header model.npz model.npz | cmp - <(sed 1d tsv; sed 1d tsv)
    run -2 --separate-stderr tg-info -f text --json model.npz
    said "--format and --json cannot be combined"
}

@test "a model of another family: what its settings change, layers by their numbers" {
    tg-init -q -P baby-gemma3 -o model.npz
    run -0 tg-info model.npz
    [[ $output = *"family gemma3, "*"tied 1"*"n_kv_head 1"*"window 16"* ]]
    [[ $output = *"window_layers 0-4"* ]] # the sixth has none
    [[ $output != *rope_scaling* && $output != *attn_cap* && $output != *rope_factor* ]]
    tg-init -q -P baby-llama -o model.npz
    run -0 tg-info model.npz
    [[ $output = *"family llama"* && $output != *window* ]]
}

@test "the tokens that begin and end a text, the same of an archive and of other files" {
    local file
    tg-init -q -P baby-llama --n-layer 1 -o model.npz
    tg-convert -q model.npz --to hf -o hf
    sed -i 's/"bos_token_id": [^,]*/"bos_token_id": 0/; s/"eos_token_id": [^,]*/"eos_token_id": 3/' hf/config.json
    tg-convert -q hf -o m.npz
    tg-convert -q hf -o m.gguf
    for file in hf m.npz m.gguf; do
        run -0 tg-info "$file"
        [[ $(tr -s ' \n' ' ' <<< "$output") = *" bos_token_id 0, eos_token_id 3"[^,0-9]* ]]
        run -0 tg-info --json "$file"
        [[ $output = *'"bos_token_id":0,"eos_token_id":3},'* ]]
    done
}
