#!/usr/bin/env bats
# tg-attn-dump and tg-attn-view on models of other families than GPT-2: heads that share keys or are not C/H
# wide, windows, scales and caps, norms and rotation of q and k.
# Uses the helper program make_family (`make unit`).

load helper

# model NAME...: NAME.npz, a small model of each.
model() {
    local name
    for name; do
        "$BUILD/unit/make_family" "$name" > "$name.npz"
    done
}

ALL='llama mistral qwen3 gemma2 gemma3 olmo2 neox stablelm nanochat'

# has LINE...: each is a line of the last run's output.
has() {
    local line
    for line; do
        grep -qFx -e "$line" <<< "$output" || { echo "no line: $line"; echo "$output"; return 1; }
    done
}

# Arrays of a dump by NumPy: q, k, v, scores, ... of layer l in d[l]; and g, the heads of keys that heads of
# queries read.
numpy_dump='
import sys, numpy as np
a = np.load(sys.argv[1])
L = int(a["dump/n_layer"])
d = [{k.split(".", 2)[2]: a[k].astype(float) for k in a.files if k.startswith("h.%d." % l)} for l in range(L)]
T, H, D = d[0]["q"].shape[1:]
KV = d[0]["k"].shape[2]
g = np.arange(H) // (H // KV)
'

# ---- what goes with a dump

@test "an archive of one stage has nothing else; of all, also the frequencies of the rotation" {
    slow_unless_sanitized
    need_numpy
    model neox
    tg-attn-dump -m neox.npz -p Cats -s q -o q.npz
    names q.npz | grep '^h' | cmp - <(printf 'h.%s.q\n' 0 1)
    tg-attn-dump -m neox.npz -p Cats -s q --target-id 5 -o gradient.npz
    names gradient.npz | grep '^h' | cmp - <(printf 'h.%s\n' {0,1}.{q,datt,loss})
    tg-attn-dump -m neox.npz -p Cats -o all.npz
    names all.npz | grep -c frequency | grep -qx 2
    for dump in q gradient all; do
        tg-attn-dump -m neox.npz --check $dump.npz | tail -n 1 | grep -q 'all equal$'
    done
}

# ---- what a window hides

@test "keys before the window have the mask's value, wherever keys after the query have it" {
    slow_unless_sanitized
    need_numpy
    model mistral gemma2
    for mask in -1e9 -inf min; do
        tg-attn-dump -m gemma2.npz -p abcdef --mask "$mask" -o d.npz --force
        tg-attn-dump -m gemma2.npz --check d.npz > /dev/null
        python3 -c "$numpy_dump"'
masked = {"-1e9": -1e9, "-inf": -np.inf, "min": -np.finfo(np.float32).max}[sys.argv[2]]
i, j = np.mgrid[:T, :T]
for l, window in enumerate([2, T]):
    seen = (j <= i) & (i - j < window)
    s = d[l]["scores"][0]
    assert (s[:, ~seen] == np.float32(masked)).all() and (abs(s[:, seen]) < 2).all(), s
    assert (d[l]["probs"][0][:, ~seen] == 0).all() and (d[l]["probs"][0][:, seen] > 0).all()
' d.npz "$mask"
        tg-attn-dump -m gemma2.npz -p abcdef --mask "$mask" -f tsv > rows
        awk -F '\t' -v mask="$mask" 'NR > 1 {
            hidden = $5 > $4 || ($1 == 0 && $4 - $5 >= 2)
            value = mask == "min" ? "-3.40282347e+38" : mask == "-inf" ? "-inf" : "-1e+09"
            if ($10 != hidden || hidden != ($9 == value) || hidden != ($11 == "0")) { print; exit bad = 1 }
        } END { exit bad || NR != 433 }' rows
    done
    run -0 --separate-stderr tg-attn-dump -m gemma2.npz -p abc --layer 0 --head 5 --query 2
    has '# mask = 1 where j > i, or i - j >= 2: the score is -1e+09 instead, the probability 0'
    run -0 --separate-stderr tg-attn-dump -m gemma2.npz -p abc --head 5 --query 2
    has '# mask = 1 where j > i, or i - j >= 2 in layer 0: the score is -1e+09 instead, the probability 0'
}

@test "tg-attn-view draws hidden keys as masked, whatever the dump holds" {
    slow_unless_sanitized
    model mistral
    for mask in -1e9 -inf min; do
        tg-attn-dump -m mistral.npz -p abcdef --mask "$mask" -o d.npz --force
        run -0 --separate-stderr tg-attn-view --show scores --color never d.npz --layer 1
        [[ ${lines[8]} =~ ^'5 f'\ {21,}-?[0-9]\.[0-9] ]]
        [[ $output != *1000000* && $output != *inf* ]]
        tg-attn-dump -m mistral.npz -p abcdef --stage scores --mask "$mask" -o s.npz --force
        tg-attn-view --show scores --color never s.npz --layer 1 | cmp - <(echo "$output")
        tg-attn-view --color never d.npz --layer 1 > probs
        tg-attn-view --color never s.npz --layer 1 | cmp - probs
    done
    # from q and k alone, by the rule that the dump names
    need_numpy
    python3 -c '
import numpy as np
a = np.load("d.npz")
np.savez("qk.npz", **{k: a[k] for k in a.files if not k.startswith("h.") or k[4:] in ("q", "k")})
np.savez("bare.npz", **{k: a[k] for k in a.files if k[4:] not in ("scores", "probs", "att", "x", "out")})'
    tg-attn-view --show scores --color never qk.npz --layer 1 | cmp - <(tg-attn-view --show scores --color never d.npz --layer 1)
    # the page computes them in any case
    tg-attn-view -q -o page.html d.npz
    tg-attn-view -q -o bare.html bare.npz
    cmp <(sed 's/"name": "d.npz"//' page.html) <(sed 's/"name": "bare.npz"//' bare.html)
}

@test "a summary counts the keys that a query sees" {
    model gemma2
    run -0 --separate-stderr tg-attn-dump -m gemma2.npz -p abcdef --summary
    # of two keys: ln 2; of 1 to 6: as without a window
    [[ $output = *$'\n# uniform:    1.3159   1.50 '*$'\n# in window:  0.6931   0.50 '* ]]
    has '#          p ln(p n) is greatest, for n keys that i sees'
    run -0 --separate-stderr tg-attn-dump -m gemma2.npz -p abcdef --summary --layer 1
    [[ $output = *'p ln(p (i + 1))'* && $output != *'in window'* ]]
    run -0 --separate-stderr tg-attn-dump -m gemma2.npz -p abcabc --summary --layer 0 -f tsv
    # the copy of a, and what followed it, is out of sight
    [[ $(cut -f 9 <<< "${lines[1]}") = '' ]]
    awk -F '\t' 'NR > 1 && $10 - $11 != 1 { exit 1 }' <<< "$output"
}

# ---- where numbers lie

@test "the offsets of rows, of heads that share keys" {
    slow_unless_sanitized
    need_numpy
    model llama mistral gemma3
    for layout in bthd bhtd; do
        for name in llama mistral gemma3; do
            tg-attn-dump -m $name.npz -p abcde --layout $layout -o d.npz --force
            tg-attn-dump -m $name.npz -p abcde --layout $layout -f tsv | cut -f 1-10 > rows
            python3 -c '
import sys, numpy as np
a = np.load("d.npz")
rule = float(a["dump/attn_scale"]) if "dump/attn_scale" in a else None
for line in open("rows").read().splitlines()[1:]:
    l, h, b, i, j, q, k, offset, score, masked = (float(x) if n == 8 else int(x) for n, x in enumerate(line.split("\t")))
    D = a["h.0.q"].shape[3]
    qv, kv = [a["h.%d.%s" % (l, n)].ravel()[o:o + D].astype(float) for n, o in (("q", q), ("k", k))]
    assert a["h.%d.scores" % l].ravel()[offset] == np.float32(score)
    assert masked or abs(qv @ kv * (rule or D ** -0.5) - score) < 1e-5, line
'
        done
    done
    run -0 --separate-stderr tg-attn-dump -m llama.npz -p abc --layer 0 --head 5 --query 2
    has '# q, k, v are arrays, as attention reads them; offsets count in each' \
        '# q, att [B,T,H,D] = [1,3,6,4], strides 72,24,4,1' '# k, v [B,T,KV,D] = [1,3,2,4], strides 24,8,4,1' \
        '#   head h of q reads head h/(H/KV) = h/3 of k and v' \
        '# q_base = ((b*T + i)*H + h)*D = ((b*3 + i)*6 + h)*4' \
        '# k_base = ((b*T + j)*KV + h/(H/KV))*D = ((b*3 + j)*2 + h/3)*4'
    run -0 --separate-stderr tg-attn-dump -m llama.npz -p abc --layer 0 --head 5 --query 2 --layout bhtd
    has '# q, k, v are as attention reads them, copied heads first; offsets count in a copy' \
        '# k_base = ((b*KV + h/(H/KV))*T + j)*D = ((b*2 + h/3)*3 + j)*4'
    # one head that is not as wide as C
    run -0 --separate-stderr tg-attn-dump -m mistral.npz -p abc --layer 0
    has '# q, k, v, att [B,T,H,D] = [1,3,1,8], strides 24,8,8,1' '# scale = 1/sqrt(D) = 1/sqrt(8) = 0.35355339'
}

@test "the header says how scores are scaled and capped" {
    slow_unless_sanitized
    need_numpy
    model gemma2
    run -0 --separate-stderr tg-attn-dump -m gemma2.npz -p abcd --layer 1 --query 3
    has '# score = cap * tanh(s / cap), cap = 1.5' \
        '# s = scale * sum of q.data[q_base + d] * k.data[k_base + d], d = 0..3' \
        '# scale = 0.40000000, a setting of the model'
    tg-attn-dump -m gemma2.npz -p abcd -o d.npz
    python3 -c "$numpy_dump"'
for l in range(L):
    s = 0.4 * np.einsum("ihd,jhd->hij", d[l]["q"][0], d[l]["k"][0][:, g])
    s = 1.5 * np.tanh(s / 1.5)
    got = d[l]["scores"][0]
    assert abs(got - s)[got > -1e9].max() < 1e-6' d.npz
}

# ---- q and k before they are normed and rotated

@test "stages before q and k: as NumPy norms and rotates them" {
    slow_unless_sanitized
    need_numpy
    # shellcheck disable=SC2086
    model $ALL
    for name in $ALL; do
        tg-attn-dump -m $name.npz -p 'To be, or not' -o d.npz --force
        tg-attn-dump -m $name.npz --check d.npz > /dev/null
        python3 -c "$numpy_dump"'
m = np.load(sys.argv[2])
def setting(name, default=0):
    return m["config/" + name].item() if "config/" + name in m else default
width = setting("rope_dim") or D
for l in range(L):
    local = setting("rope_local_theta") > 0 and setting("window_layers") >> l & 1
    theta = setting("rope_local_theta") if local else setting("rope_theta")
    angle = np.arange(T)[:, None] * theta ** (-2 * np.arange(width // 2) / width)
    if setting("unrotated_layers") >> l & 1:
        angle *= 0
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    for n in "qk":
        x = d[l][n + ".proj"][0]
        assert (n + ".normed" in d[l]) == (setting("qk_norm") == 1)
        if n + ".normed" in d[l]:
            gain = "model.layers.%d.self_attn.%s_norm.weight" % (l, n)
            w = m[gain] + setting("norm_offset") if gain in m else np.ones(D)
            rows = x.reshape(-1, len(w))
            y = rows / np.sqrt((rows ** 2).mean(1, keepdims=True) + setting("layer_norm_epsilon")) * w
            assert abs(y.reshape(x.shape) - d[l][n + ".normed"][0]).max() < 1e-5
            x = d[l][n + ".normed"][0]
        a, b, rest = np.split(x, [width // 2, width], 2)
        want = np.concatenate([a * cos - b * sin, b * cos + a * sin, rest], 2)
        assert abs(want - d[l][n][0]).max() < 1e-5, (l, n)
' d.npz $name.npz
    done
    run -0 --separate-stderr tg-attn-dump -m qwen3.npz -p ab --stage k.normed --layer 1 --head 1
    has '# stage k.normed: the keys, normed, before they are rotated' '# k.normed [B,T,KV,D] = [1,2,2,4], strides 16,8,4,1'
    [[ ${#lines[@]} = 16 ]]
}

@test "a stage, a head or a number of heads that the model lacks" {
    model llama
    tg-init --n-layer 1 --n-head 2 --n-embd 8 --n-ctx 16 -o gpt2.npz 2> /dev/null
    for stage in qkv q.normed; do
        run -2 --separate-stderr tg-attn-dump -m llama.npz -p abc --stage $stage
        said "the model has no stage $stage: its family is llama"
        run -2 --separate-stderr tg-attn-dump -m llama.npz -p abc --stage $stage -o d.npz
        said "the model has no stage $stage: its family is llama"
        [[ ! -e d.npz ]]
    done
    run -2 --separate-stderr tg-attn-dump -m gpt2.npz -p abc --stage q.proj
    said 'the model has no stage q.proj: its family is gpt2'
    run -2 --separate-stderr tg-attn-dump --example mha --stage q.proj
    said 'stage q.proj needs a model'
    run -2 --separate-stderr tg-attn-dump -m llama.npz -p abc --stage k --head 3
    said 'head of keys 3 is out of range: expected 0 to 1'
    for heads in 1 10; do
        run -2 --separate-stderr tg-attn-dump -m llama.npz -p abc --heads $heads
        said "the 6 heads of the family llama cannot be read as $heads: they have a width of their own, or are rotated by it"
    done
    tg-attn-dump -m llama.npz -p abc --heads 6 | cmp - <(tg-attn-dump -m llama.npz -p abc)
}

@test "--check of a dump with a stage that the input's family lacks" {
    slow_unless_sanitized
    need_numpy
    model llama
    tg-attn-dump -m llama.npz -p abc -o d.npz
    python3 -c '
import numpy as np
a = dict(np.load("d.npz"))
a["h.0.qkv"] = np.zeros((1, 3, 40), np.float32)
np.savez("more.npz", **a)'
    run -1 --separate-stderr tg-attn-dump -m llama.npz --check more.npz
    said "h.0.qkv is in the dump, but not in the input"
}

# ---- the plain model

# plain MODEL TEXT [OPTION...]: a dump of it, made with these options, is the plain model's, every stage of it.
plain() {
    tg-attn-dump -m "$1" -p "$2" "${@:3}" -o plain.npz --force
    run -0 --separate-stderr tg-attn-dump -m "$1" --check plain.npz --plain
    [[ -z $stderr && ${lines[-1]} = *' elements: all equal' ]]
    sed -n "s/ and the plain model's: the largest difference is .*//p" <<< "$output" > compared
    names plain.npz | grep -E '^h\.[0-9]+\.(resid|x|[qk]\.proj|[qk]\.normed|[qkv]|scores|probs|att|out)$' | cmp - compared
}

@test "--check --plain: the stages of every family are the plain model's" {
    slow
    # shellcheck disable=SC2086
    model $ALL
    for name in $ALL; do
        plain $name.npz 'To be, or not' --layout bhtd --mask min
    done
    plain llama.npz 'To be' --layer 1
    plain gemma3.npz 'To be' --stage k
}

@test "--check --plain: a few steps of training of every preset" {
    slow
    yes 'To be, or not to be, that is the question.' | head -n 50 | tg-tokenize -q -o tokens.npz
    for preset in $BABIES $MORE_BABIES; do
        tg-init -q -P "$preset" -o "$preset.npz"
        tg-train -q -m "$preset.npz" --steps 4 --warmup 1 --lr 0.02 --batch 2 -o trained.npz --force tokens.npz
        plain trained.npz 'To be, or not to be, that'
    done
}

@test "--check --plain finds the stage that is not what the model computes" {
    need_numpy
    model qwen3 gemma3
    for name in qwen3 gemma3; do
        tg-attn-dump -m $name.npz -p 'To be, or not' -o d.npz --force
        python3 -c '
import numpy as np
d = dict(np.load("d.npz"))
def write(name, **changed):
    np.savez(name, **{**d, **changed})
write("unrotated.npz", **{"h.1.k": d["h.1.k.normed"]})
write("unnormed.npz", **{"h.0.q.normed": d["h.0.q.proj"]})
a, b = np.split(d["h.1.q.normed"], 2, 3)
angle = (np.arange(a.shape[1])[:, None] * d["h.1.frequency"])[:, None].astype(np.float32)
cos, sin = np.cos(angle), np.sin(angle)
write("turned.npz", **{"h.1.q": np.concatenate([a * cos + b * sin, b * cos - a * sin], 3)})
write("heads.npz", **{"h.0.att": d["h.0.att"][:, :, ::-1]})
scores = d["h.0.scores"].copy()
scores[0, 5, 4, 4] += 0.1
write("score.npz", **{"h.0.scores": scores})
'
        while read -r file array; do
            run -1 --separate-stderr tg-attn-dump -m $name.npz --check $file.npz --plain --tolerance 1
            [[ $stderr = "tg-attn-dump: $file.npz: $array differs from the plain model's: offset "* ]]
        done << 'END'
unrotated h.1.k
unnormed h.0.q.normed
turned h.1.q
heads h.0.att
score h.0.scores
END
    done
}

@test "--check --plain: numbers near zero among large ones are as exact as these" {
    need_numpy
    model llama
    python3 -c '
import numpy as np
m = dict(np.load("llama.npz"))
m["model.embed_tokens.weight"][:, 0] = 1e5
np.savez("large.npz", **m)'
    tg-attn-dump -m large.npz -p 'To be, or not' -o d.npz
    python3 -c '
import numpy as np
d = dict(np.load("d.npz"))
assert abs(d["h.1.resid"]).max() > 9e4
d["h.1.resid"][0, 2, 3] += 0.05
np.savez("near.npz", **d)
d["h.1.resid"][0, 2, 3] += 0.1
np.savez("far.npz", **d)'
    run -0 --separate-stderr tg-attn-dump -m large.npz --check near.npz --plain --tolerance 1
    run -1 --separate-stderr tg-attn-dump -m large.npz --check far.npz --plain --tolerance 1
    [[ $stderr = "tg-attn-dump: far.npz: h.1.resid differs from the plain model's: offset 23 is "* ]]
}

# Each setting of a model is the plain model's as well: with another one it computes other numbers, first here.
@test "--check --plain goes by every setting" {
    slow
    need_numpy
    model llama mistral gemma2 gemma3 neox olmo2
    cat > settings << 'END'
llama layer_norm_epsilon 0.01 h.0.x
llama rope_theta 50 h.0.q
llama rope_dim 2 h.0.q
llama unrotated_layers 0 h.1.q
llama attn_scale 0.1 h.0.scores
llama activation gelu h.1.resid
mistral window 4 h.0.scores
mistral window_layers 2 h.0.scores
gemma2 embed_scale 2 h.0.resid
gemma2 norm_offset 0.5 h.0.x
gemma2 attn_cap 1 h.0.scores
gemma3 rope_local_theta 50 h.0.q
gemma3 rope_theta 50 h.1.q
neox rope_dim 4 h.0.q
olmo2 layer_norm_epsilon 0.1 h.0.q.normed
END
    for name in $(cut -d ' ' -f 1 settings | uniq); do
        tg-attn-dump -m "$name.npz" -p 'To be, or not' -o "$name-all.npz"
    done
    python3 -c '
import numpy as np
for line in open("settings"):
    name, setting, value, _ = line.split()
    d = np.load(name + "-all.npz")
    np.savez(name + "-dump.npz", **{n: d[n] for n in d if not n.endswith("frequency")})
    m = dict(np.load(name + ".npz"))
    type = m["config/" + setting].dtype
    value = np.array(value, type.kind) if type.kind in "SU" else np.array(float(value)).astype(type)
    np.savez(name + "-" + setting + ".npz", **{**m, "config/" + setting: value})'
    while read -r name setting _ array; do
        run -1 --separate-stderr tg-attn-dump -m "$name-$setting.npz" --check "$name-dump.npz" --plain --tolerance 1
        [[ $stderr = "tg-attn-dump: $name-dump.npz: $array differs from the plain model's: offset "* ]] ||
            { echo "$name $setting: $stderr"; return 1; }
    done < settings
}

# ---- the worked examples

@test "example rope: q and k are what the rotation makes, and the score depends on the distance" {
    run -0 --separate-stderr tg-attn-dump --example rope -f tsv
    [[ -z $stderr ]]
    awk -F '\t' 'NR > 1 && $5 <= $4 {
        want = $4 == $5 ? "1.5" : $4 - $5 == 1 ? "0" : "-0.5"
        if ($9 != want || $6 != $4 * 4 || $7 != $5 * 4) { print; exit bad = 1 }
        n++
    } END { exit bad || n != 6 }' <<< "$output"
    tg-attn-dump --example rope --stage k.proj -f tsv | cut -f 7 | paste -sd ' ' > got
    tg-attn-dump --example rope --stage k -f tsv | cut -f 7 | paste -sd ' ' >> got
    printf '%s\n' 'value 1 1 0 0 1 1 0 0 1 1 0 0' 'value 1 1 0 0 -1 0 0 1 1 -1 0 0' | cmp - got
    run -2 --separate-stderr tg-attn-dump --example rope --stage k.normed
    said 'stage k.normed needs a model'
    run -2 --separate-stderr tg-attn-dump --example rope --heads 2
    said 'the 1 head of the example cannot be read as 2: q and k are rotated by their width'
}

@test "example gqa: two heads read one head of keys" {
    run -0 --separate-stderr tg-attn-dump --example gqa --query 2 --key 1 -f tsv
    [[ -z $stderr ]]
    # head, q_base, k_base, offset
    cut -f 2,6-8 <<< "$output" | tail -n +2 | paste -sd ' ' > got
    printf '0\t16\t4\t7 1\t18\t4\t16 2\t20\t6\t25 3\t22\t6\t34\n' | cmp - got
    run -0 --separate-stderr tg-attn-dump --example gqa --head 3 --query 2
    has '#   head h of q reads head h/(H/KV) = h/2 of k and v' '# att.data[22..23] = 2.82026950 7.17973050'
    run -2 --separate-stderr tg-attn-dump --example gqa --heads 2
    said 'the 4 heads of the example cannot be read as 2: they share keys'
}

@test "the examples rope and gqa in dumps, pictures and pages" {
    for example in rope gqa; do
        for layout in bthd bhtd; do
            tg-attn-dump --example $example --layout $layout -o d.npz --force
            tg-attn-dump --example $example --check d.npz > got
            grep -q 'elements: all equal$' got
            [[ $(grep -c '^h.0.[qk].proj' got) = $([[ $example = rope ]] && echo 2 || echo 0) ]]
            tg-attn-view --show scores --color never -l 0 -a 0 d.npz > shown-$layout
        done
        cmp shown-bthd shown-bhtd
        tg-attn-view --force -o page.html d.npz
    done
    tg-attn-dump --example rope -o d.npz --force
    run -1 --separate-stderr tg-attn-dump --example baseline --check d.npz
    said 'd.npz: h.0.q.proj is in the dump, but not in the input'
}

# ---- traces

# trace ARGUMENT...: run it; it prints and says nothing else.
trace() {
    run -0 --separate-stderr tg-attn-dump "$@"
    [[ -z $stderr ]]
}

@test "every number of a trace that a dump has is the dump's" {
    slow_unless_sanitized
    need_numpy
    # shellcheck disable=SC2086
    model $ALL
    for name in $ALL; do
        tg-attn-dump -m $name.npz -p 'To be?' -o $name.dump.npz
        h=4
        [[ $name != mistral ]] || h=0
        for layer in 0 1; do
            for at in 0,$h,5,0 0,$h,5,4 0,$h,5,5 0,$h,2,4; do
                tg-attn-dump -m $name.npz -p 'To be?' --layer $layer --trace $at --through out > trace-$name-$layer-$at
            done
        done
    done
    python3 -c '
import glob, re, numpy as np

def check(name, l, at, lines, a):
    d = {k.split(".", 2)[2]: a[k].ravel().astype(float) for k in a.files if k.startswith("h." + l)}
    seen, titles = {}, []

    def same(array, offset, text):
        if array in d:
            x = d[array][int(offset)]
            assert abs(float(text) - x) <= 5.1e-9 + 1e-7 * abs(x), (name, l, at, array, offset, text, x)
            seen.setdefault(array, set()).add(int(offset))

    for line in lines:
        if " / " not in line:
            for array, offset, text in re.findall(r"(\S+)\.data\[(\d+)\] *= *(-?[\d.e+-]+)", line):
                same(array, offset, text)
        if re.match(r"# +[a-z]  \S+\.data ", line):
            titles = [re.sub(r"\.data$", "", t) for t in line.split()[2:]]
        elif re.match(r"[> ] +\d+  +\[", line):
            for title, (offset, text) in zip(titles, re.findall(r"\[(\d+)\] *= *(-?[\d.e+-]+)", line)):
                same(titles[0] if title == "b" else title, offset, text)
        else:
            titles = []
    _, h, i, j = map(int, at.split(","))
    (T, H, D), KV = a["h.%s.q" % l].shape[1:], a["h.%s.k" % l].shape[2]
    for n, base in (("q", (i * H + h) * D), ("k", (j * KV + h // (H // KV)) * D)):
        for stage in n, n + ".proj", n + ".normed":
            # a vector that is not rotated is the one before, and is not shown again; nor are products after the query
            if stage in d and (name, l) != ("llama", "1") and not (stage == n and j > i):
                shown = seen[stage]
                assert shown <= set(range(base, base + D)) and len(shown) >= D // 2, (name, at, stage, shown, base)
    assert "out" in seen and len(seen["att"]) >= H * D and "v" in seen and "scores" in seen, (name, at, seen.keys())

for path in glob.glob("trace-*"):
    _, name, l, at = path.split("-")
    check(name, l, at, open(path).read().splitlines(), np.load(name + ".dump.npz"))'
}

@test "traces of the examples rope and gqa" {
    trace --example rope --trace 0,2,1 --through att --backward
    has '# 3. the rotation of q and k' 'q at position 2, angle = 2 * frequency[m]' \
        '  0  6.28318531   1.00000000  0.00000000' '  1  3.14159265  -1.00000000  0.00000000' \
        '  1  [9] =  2.00000000  [11] = -1.00000000  [9] = -2.00000000' \
        'k at position 1, angle = 1 * frequency[m]' '  1  1.57079633   0.00000000  1.00000000' \
        '  1  [5] =  1.00000000  [7] =  0.00000000  [7] =  1.00000000' 'scores[0,2,1] = scores.data[7] = 0.00000000' \
        '# 14. what it adds before the rotation' \
        '  1  [5] =  0.01636335  [7] = -0.00818167  [7] = -0.01636335'
    trace --example gqa --trace 0,3,2,1 --through att --backward
    has 'g = h/(H/KV) = 3/2 = 1' 'q_base = ((b*T + i)*H + h)*D = ((0*3 + 2)*4 + 3)*2 = 22' \
        'k_base = ((b*T + j)*KV + h/(H/KV))*D = ((0*3 + 1)*2 + 3/2)*2 = 6' \
        'scores[0,3,2,1] = scores.data[34] = 0.70710678' 'its head: att.data[22..23] = 2.82026950 7.17973050' \
        'dk.data[6..7] over the queries i >= j, and over heads'
    [[ $output != *rotation* ]]
}

@test "a trace through grouped heads, norms, rotation, scale, window and cap" {
    model gemma2 gemma3 olmo2
    trace -m gemma3.npz -p abcde --trace 0,4,3,2 --through out
    has 'scores[b,h,i,j] = scale * (sum over d of q[b,i,h,d] * k[b,j,g,d])' \
        'scores[b,h,i,j] = -1e9  for j > i, and for i - j >= window' \
        'g = h/(H/KV), rounded down: the head of keys that head h of queries reads' \
        'q, att [B,T,H,D] = [1,5,6,4]   k, v [B,T,KV,D] = [1,5,1,4]' 'g = h/(H/KV) = 4/6 = 0' \
        'q_base = ((b*T + i)*H + h)*D = ((0*5 + 3)*6 + 4)*4 = 88' \
        'k_base = ((b*T + j)*KV + h/(H/KV))*D = ((0*5 + 2)*1 + 4/6)*4 = 8' \
        '# 3. the norms of q and k' '# 4. the rotation of q and k' \
        'pair m of a head is a and b, its channels m and m + 2, with an angle of its own' \
        'q at position 3, angle = 3 * frequency[m]' '  0  3.00000000  -0.98999250  0.14112000' \
        'k at position 2, angle = 2 * frequency[m]' 'scale = 0.40000000, a setting of the model' \
        'j > i is 2 > 3: false' 'i - j >= window is 3 - 2 >= 2: false' \
        'keys 0 to 1: masked, -1e9; exponential 0, probability 0' \
        'w is model.layers.0.self_attn.o_proj.weight [C,Q] = [10,24];' \
        'c = 6, w offset = c*Q + m, att offset = (b*T + i)*Q + m, Q = H*D' \
        'model.layers.0.post_attention_layernorm.weight norms it'
    [[ $output =~ $'\n''without max: e^'[-0-9.]+' + e^'[-0-9.]+$'\n    = ' ]] # of the two keys in the window
    # hidden by the window: there is a score, but it is masked
    trace -m gemma2.npz -p abcde --trace 0,4,3,0 --through att --backward --target x
    has 's = scale * (sum over d of q[b,i,h,d] * k[b,j,g,d])' 'scores[b,h,i,j] = cap * tanh(s / cap)' \
        'cap = 1.50000000, a setting of the model' 'i - j >= window is 3 - 0 >= 2: true' \
        'key 0 lies before the window of query 3, keys 2 to 3: masked' 'scores[0,4,3,0] = scores.data[115] = -1e9' \
        'probs[0,4,3,0] = probs.data[115] = 0: the softmax is over the 2 keys that' \
        'dprobs[0,4,3,0] = dprobs.data[115] = 0: the window of query 3 begins at key 2' \
        'nothing: a masked score is no function of q and k'
    after=$(sed -n 's/^after it score = cap . tanh(s . cap) = //p' <<< "$output")
    has "(unmasked it would be $after)"
    [[ $output != *'before the rotation'* ]]
    # the second layer sees all keys, and has the other base
    trace -m gemma3.npz -p abcde --layer 1 --trace 0,4,3,0
    has '  1  0.30000000   0.95533651  0.29552022'
    [[ $output != *window* ]]
    # a norm over all heads
    trace -m olmo2.npz -p abcde --trace 0,4,3,0 --backward --target x
    has "rstd = 1/sqrt(mean of projected^2 + epsilon), over all heads' channels" \
        'mean = the sum of dnormed * gain * projected * rstd, divided by 24 (q), 8 (k)'
    grep -Eq '^  3  \[91\] = +-?[0-9.e-]+  \[19\] = +' <<< "$output"
}

@test "a trace of a layer that does not rotate, of one head, of heads rotated in part" {
    model llama mistral neox
    trace -m llama.npz -p abcde --layer 1 --trace 0,4,3,2
    has 'layer 1 rotates neither' 'q.data[88..91] = q.proj.data[88..91], not rotated' \
        'k.data[20..23] = k.proj.data[20..23], not rotated'
    trace -m mistral.npz -p abcde --trace 0,3,1
    has 'scores[b,h,i,j] = 1/sqrt(D) * (sum over d of q[b,i,h,d] * k[b,j,h,d])' 'q, k, v, att [B,T,H,D] = [1,5,1,8]' \
        '# trace of scores[0,0,3,1], layer 0 of 0 to 1 (choose with --layer)' \
        'q.data[28..31] = q.proj.data[28..31], not rotated'
    trace -m neox.npz -p abcde --trace 0,4,3,1 --through out --backward --target x
    has 'scores[b,h,i,j] = (sum over d of q[b,i,h,d] * k[b,j,h,d]) / sqrt(D)  for j <= i' \
        'q, k, v [B,T,C] = [1,5,24] seen as [B,T,H,D] = [1,5,6,4]' \
        'dq.proj.data[90..91] = dq.data[90..91], not rotated'
    grep -q '^bias.data\[16\] = ' <<< "$output"
}

@test "lines of such a trace fit 80 columns, its headings name code that exists" {
    model gemma2 olmo2
    for name in gemma2 olmo2; do
        tg-attn-dump -m $name.npz -p abcdef --trace 0,4,4,3 --through out --backward --target x > trace
        awk 'length > 80 { print; bad = 1 } / $/ { print; bad = 1 } END { exit bad }' trace
        # "#    FILE: NAME, NAME" or "#    FILE: CODE"
        sed -n 's/^#    \(lib[^:]*\): \(.*\)/\1 \2/p' trace > places
        [[ $(grep -c '^# [0-9]*\. ' trace) = $(wc -l < places) ]]
        while read -r file code; do
            case $code in
            *'('*) grep -qF -e "$code" "$ROOT/$file" || { echo "$file has no $code"; false; } ;;
            *) while read -r code; do
                grep -qF -e "$code" "$ROOT/$file" || { echo "$file has no $code"; false; }
            done <<< "${code//, /$'\n'}" ;;
            esac
        done < places
    done
}

# sparse_llama DIR: 620 million weights of bf16, zeros that the file system does not store.
sparse_llama() {
    local header at=0 tensors='' layer=0 C=2048 F=8192 V=64 name bytes
    tensor() { # NAME ROWS [COLUMNS]
        bytes=$(($2 * ${3:-1} * 2))
        tensors+=",\"$1\":{\"dtype\":\"BF16\",\"shape\":[$2${3:+,$3}],\"data_offsets\":[$at,$((at + bytes))]}"
        at=$((at + bytes))
    }
    mkdir "$1"
    tensor model.embed_tokens.weight $V $C
    for ((layer = 0; layer < 10; layer++)); do
        name=model.layers.$layer
        tensor $name.input_layernorm.weight $C
        tensor $name.post_attention_layernorm.weight $C
        tensor $name.self_attn.q_proj.weight $C $C
        tensor $name.self_attn.o_proj.weight $C $C
        tensor $name.self_attn.k_proj.weight 512 $C
        tensor $name.self_attn.v_proj.weight 512 $C
        tensor $name.mlp.gate_proj.weight $F $C
        tensor $name.mlp.up_proj.weight $F $C
        tensor $name.mlp.down_proj.weight $C $F
    done
    tensor model.norm.weight $C
    header="{${tensors:1}}"
    header+=$(printf '%*s' $(((8 - ${#header} % 8) % 8)) '')
    printf '%b%s' "\\x$(printf %02x $((${#header} % 256)))\\x$(printf %02x $((${#header} / 256 % 256)))\\0\\0\\0\\0\\0\\0" \
        "$header" > "$1/model.safetensors"
    truncate -s $((8 + ${#header} + at)) "$1/model.safetensors"
    echo '{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":2048,"num_hidden_layers":10,
"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":8192,"vocab_size":64,"rms_norm_eps":1e-5,
"max_position_embeddings":4096,"hidden_act":"silu","tie_word_embeddings":true}' > "$1/config.json"
}

# 1.2 GB of zeros are read twice.
@test "a large model is read layer by layer, in little memory" {
    slow
    need_plain_build
    need python3
    local job
    sparse_llama large
    for job in "tg-attn-dump -a 0 -i 3" "tg-eval"; do
        # shellcheck disable=SC2016
        run -0 --separate-stderr python3 -c '
import resource, subprocess, sys
subprocess.run([*sys.argv[1].split(), "-m", "large", "--ids", "1 2 3 4 5"], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 20)
' "$job"
        said "large: a Hugging Face checkpoint, 1.1 GiB read layer by layer"
        [[ ${lines[-1]} = 0 ]] # GiB
    done
    [[ $output = *"loss        4.158883 nats per token"* ]] # log(64)
}
