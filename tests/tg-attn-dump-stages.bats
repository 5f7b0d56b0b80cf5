# tg-attn-dump: stages, layouts, masks, JSON lines, archives and --check.

load helper

STAGES=(resid x qkv q k v scores probs att out)

# A model of 2 layers, 2 heads, 8 channels and 16 positions.
tiny() {
    tg-init --n-layer 2 --n-head 2 --n-embd 8 --n-ctx 16 "$@" -o model.npz 2> /dev/null
}

# A model whose layer 1 overflows.
huge() {
    tg-init --n-layer 2 --n-head 1 --n-embd 32 --n-ctx 16 -o huge.npz 2> /dev/null
    change_npz huge.npz model.npz 'fill("h.1.attn.c_attn.weight", 3e38)'
}

# ---- stages and layouts

@test "a stage: shape, strides, offset and tokens" {
    tiny
    tg-attn-dump -p 'To be' --stage q > dump
    grep -Fx '# q [B,T,H,D] = [1,5,2,4], strides 40,8,4,1' dump
    grep -Fx '# offset of q[b,t,h,d] = ((b*T + t)*H + h)*D + d' dump
    grep -Fx '#   = ((b*5 + t)*2 + h)*4 + d' dump
    grep -x '#l h b t d offset        value token' dump
    [[ $(grep -c '^ ' dump) = 80 && $(grep '^ ' dump | cut -c -27 | awk '{ print length, NF }' | sort -u) = '27 7' ]]
    [[ $(grep '^ ' dump | awk '$1 == 1 && $2 == 1 && $4 == 3 && $5 == 2 { print $6, $8 }') = '30 "b"' ]]
    tg-attn-dump -p 'To be' --stage q --layout bhtd > dump
    grep -Fx '# q [B,H,T,D] = [1,2,5,4], strides 40,20,4,1' dump
    grep -Fx '# offset of q[b,h,t,d] = ((b*H + h)*T + t)*D + d' dump
    grep -Fx '#   = ((b*2 + h)*5 + t)*4 + d' dump
    [[ $(grep '^ ' dump | awk '$1 == 1 && $2 == 1 && $4 == 3 && $5 == 2 { print $6, $8 }') = '34 "b"' ]]
    tg-attn-dump -p 'To be' --stage qkv > dump
    grep -Fx '# qkv [B,T,3C] = [1,5,24], strides 120,24,1' dump
    grep -Fx '# offset of qkv[b,t,c] = (b*T + t)*3C + c' dump
    grep -Fx '#   = (b*5 + t)*24 + c' dump
    for stage in scores probs; do
        tg-attn-dump -p 'To be' --stage $stage > dump
        grep -Fx '# scores, probs [B,H,T,T] = [1,2,5,5], strides 50,25,5,1' dump
        [[ $(grep -c '^ ' dump) = 100 ]]
    done
}

@test "the worked example's stages" {
    run -0 --separate-stderr tg-attn-dump --example baseline --stage att --query 2 -f tsv
    is_output "$(printf '%s\t' layer head b t d offset && echo value
        printf '%s\t' 0 0 0 2 0 8 && echo 0.383651733
        printf '%s\t' 0 0 0 2 1 9 && echo 0.465393066
        printf '%s\t' 0 0 0 2 2 10 && echo 1.1509552
        printf '%s\t' 0 0 0 2 3 11 && echo 0)"
    tg-attn-dump --example baseline --stage att --query 2 | grep '^ ' | awk '{ print $7 }' > got
    printf '%s\n' 0.38365173 0.46539308 1.15095519 0.00000000 | cmp - got
    tg-attn-dump --example mha --stage v --head 1 --key 1 -f tsv | tail -n 1 > got
    printf '0\t1\t0\t1\t1\t7\t10\n' | cmp - got
    tg-attn-dump --example mha --stage v --head 1 --key 1 --layout bhtd -f tsv | tail -n 1 > got
    printf '0\t1\t0\t1\t1\t9\t10\n' | cmp - got
}

@test "--layout moves q_base and k_base, and no score" {
    tiny
    tg-attn-dump -p 'To be' -f tsv > bthd
    tg-attn-dump -p 'To be' -f tsv --layout bthd | cmp - bthd
    tg-attn-dump -p 'To be' -f tsv --layout bhtd > bhtd
    cut -f 1-5,8- bthd > want
    cut -f 1-5,8- bhtd | cmp - want
    awk -F '\t' 'NR > 1 && ($6 != ($2 * 5 + $4) * 4 || $7 != ($2 * 5 + $5) * 4) { bad = 1 }
        END { exit bad || NR != 101 }' bhtd
    run -1 cmp -s bthd bhtd
    tg-attn-dump -p 'To be' --layout bhtd > text
    grep -Fx '# q, k, v, att [B,H,T,D] = [1,2,5,4], a copy of [B,T,C] = [1,5,8]' text
    grep -Fx '# q_base = ((b*H + h)*T + i)*D = ((b*2 + h)*5 + i)*4' text
    grep -F '# att.data[36..39] =' text
    # with one head the layouts are the same
    tg-attn-dump --example baseline -f tsv > one
    tg-attn-dump --example baseline -f tsv --layout bhtd | cmp - one
}

@test "a stage is picked from by layer, head and position" {
    slow
    tiny
    tg-attn-dump -p 'To be' -f tsv --stage k > all
    tg-attn-dump -p 'To be' -f tsv --stage k --layer 1 --head 0 --key 4 > got
    awk 'NR == 1 || $1 == 1 && $2 == 0 && $4 == 4' all | cmp - got
    [[ $(wc -l < got) = 5 ]]
    for stage in q att x qkv out; do
        tg-attn-dump -p 'To be' -f tsv --stage $stage > all
        position=$([[ $stage = [qa] || $stage = att ]] && echo 4 || echo 3)
        tg-attn-dump -p 'To be' -f tsv --stage $stage --query 2 > got
        awk -v p="$position" 'NR == 1 || $p == 2' all | cmp - got
        [[ $(wc -l < got) -gt 8 ]]
    done
    tg-attn-dump -p 'To be' -f tsv --stage att > all
    tg-attn-dump -p 'To be' -f tsv --stage att --head 1 > got
    awk 'NR == 1 || $2 == 1' all | cmp - got
    run -2 --separate-stderr tg-attn-dump -p 'To be' --stage q --key 1
    said '--key does not go with stage q, which has a row per query: use --query'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --stage v --query 1
    said '--query does not go with stage v, which has a row per key: use --key'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --stage out --head 1
    said '--head does not go with stage out, which is not divided into heads'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --stage att --query 5
    said 'query 5 is out of range: expected 0 to 4'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --stage nonsense
    said 'resid|x|qkv|q.proj|k.proj|q.normed|k.normed|q|k|v|scores|probs|att|out'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --layout thbd
    said 'bthd|bhtd'
    for stage in resid x qkv out; do
        run -2 --separate-stderr tg-attn-dump --example mha --stage $stage
        said "stage $stage needs a model"
        run -2 --separate-stderr tg-attn-dump --example mha --stage $stage -o a.npz
        said "stage $stage needs a model"
    done
    [[ ! -e a.npz ]]
}

# ---- masks

@test "--mask: what is shown differs, the probabilities do not" {
    tiny
    tg-attn-dump -p 'To be' -f tsv > want
    tg-attn-dump -p 'To be' -f tsv --mask -1e9 | cmp - want
    for mask in -inf min; do
        tg-attn-dump -p 'To be' -f tsv --mask $mask > got
        cut -f 1-8,10- got > some
        cut -f 1-8,10- want | cmp - some
        run -0 awk -F '\t' '$10 == 1 { print $9 }' got
        [[ $(printf '%s\n' "${lines[@]}" | sort -u) = $([[ $mask = min ]] && echo -3.40282347e+38 || echo -inf) ]]
        [[ ${#lines[@]} = 40 ]]
    done
    tg-attn-dump -p 'To be' --mask -inf > text
    grep -Fx '# mask = 1 where j > i: the score is -inf instead, the probability 0' text
    [[ $(grep -c -- ' -inf    1          0 ' text) = 40 ]]
    run -2 --separate-stderr tg-attn-dump -p x --mask -1e10
    said -- '-1e9|-inf|min'
}

@test "--mask: NumPy's softmax over whole rows is the same with each of the three" {
    slow
    need_numpy
    tiny
    for mask in -1e9 -inf min; do
        tg-attn-dump -p 'To be, or not' --mask "$mask" -o "dump$mask.npz"
    done
    python3 - << 'END'
import numpy as np
first, masked = None, set()
for mask in "-1e9", "-inf", "min":
    z = np.load(f"dump{mask}.npz")
    assert z["dump/mask"] == mask.encode()
    for layer in range(2):
        s, p = z[f"h.{layer}.scores"], z[f"h.{layer}.probs"]
        masked.add(float(s[0, 1, 3, 4]))
        assert (np.triu(np.ones(s.shape[2:]), 1) == (s == s[0, 0, 0, 1])).all()
        e = np.exp(s - s.max(-1, keepdims=True))
        mine = e / e.sum(-1, keepdims=True)
        if mask == "-1e9":
            first = first or {}
            first[layer] = (mine, p)
        assert np.array_equal(mine, first[layer][0]) and np.array_equal(p, first[layer][1])
        assert np.abs(mine - p).max() < 1e-6
assert masked == {float(np.float32(-1e9)), -np.inf, float(np.finfo(np.float32).min)}
END
}

# ---- formats

@test "JSON lines have the columns of TSV, and are JSON" {
    slow
    need python3
    tiny
    for stage in '' "${STAGES[@]}"; do
        tg-attn-dump -p 'To "b\' -f tsv ${stage:+--stage $stage} > tsv
        tg-attn-dump -p 'To "b\' -f jsonl ${stage:+--stage $stage} > jsonl
        python3 - << 'END'
import json
def refuse(word):
    raise ValueError(word)
keys, *rows = [line.rstrip("\n").split("\t") for line in open("tsv")]
lines = list(open("jsonl"))
assert len(lines) == len(rows) > 0
for line, row in zip(lines, rows):
    o = json.loads(line, parse_constant=refuse)
    assert list(o) == keys
    for key, text in zip(keys, row):
        if key.startswith("token"):
            assert o[key].replace('"', "\\x22") == text
            continue
        assert o[key] == (text == "1" if key == "masked" else float(text)), (key, text, line)
        assert key != "masked" or isinstance(o[key], bool)
END
    done
    tg-attn-dump --example mha -f jsonl --mask -inf | grep -c '"score":null,"masked":true,"prob":0}$' > count
    [[ $(cat count) = 6 ]]
}

@test "TSV and JSON lines end with the texts of their tokens" {
    tiny
    tg-attn-dump -p 'a"b' --layer 0 --head 0 --query 2 -f tsv | cut -f 4,5,12,13 > got
    printf '%s\t%s\t%s\t%s\n' i j token_i token_j 2 0 b a 2 1 b '\x22' 2 2 b b | cmp - got
    tg-attn-dump -p 'a"b' --layer 0 --head 0 --query 1 --key 0 --json > got
    [[ $(cat got) = *',"prob":'*',"token_i":"\"","token_j":"a"}' ]]
    tg-attn-dump -p 'a"b' --stage v --layer 0 --head 0 --key 1 --tsv > got
    [[ $(cut -f 4,5,8 got | head -n 2) = $'t\td\ttoken\n1\t0\t\\x22' ]]
    # arrays without tokens have no such columns
    [[ $(tg-attn-dump --example baseline -f tsv | head -n 1) = *$'\tmasked\tprob' ]]
    # texts of any length are whole
    tg-attn-dump --ids 300 -m <(tg-init -q -t ids --vocab-size 1000 --n-embd 4 --n-head 1 --n-layer 1 -o -) -f tsv |
        tail -n 1 | cut -f 12- > got
    [[ $(cat got) = $'300\t300' ]]
}

@test "text, TSV and JSON lines do not depend on the threads, nor do archives" {
    slow
    tg-init --n-layer 2 --n-head 4 --n-embd 64 --n-ctx 128 -o model.npz 2> /dev/null
    make_text 101 > text
    for options in '-f jsonl' '-f tsv --head 2' '-s att' '-s out -f tsv' '-s probs --key 3' '-o -'; do
        # shellcheck disable=SC2086
        tg-attn-dump --threads 1 $options < text > want
        for n in 0 2 3 5; do
            # shellcheck disable=SC2086
            tg-attn-dump --threads $n $options < text | cmp - want
        done
    done
}

@test "text fits 80 columns" {
    slow
    tiny
    tg-init --n-layer 1 --n-head 12 --n-embd 768 --n-ctx 1024 -o wide.npz 2> /dev/null
    make_text 1024 > text
    for layout in bthd bhtd; do
        tg-attn-dump -p 'To be, or not to' --layout $layout > dump
        for stage in "${STAGES[@]}"; do
            tg-attn-dump -p 'To be, or not to' --layout $layout --stage $stage >> dump
        done
        # as wide as GPT-2, as long as its context
        tg-attn-dump -m wide.npz --layout $layout --head 11 --query 1023 < text >> dump
        tg-attn-dump -m wide.npz --layout $layout --heads 1 --query 1023 < text >> dump
        tg-attn-dump -m wide.npz --layout $layout --stage qkv --query 1023 < text >> dump
        tg-attn-dump --example baseline >> dump
        tg-attn-dump --example mha >> dump
        awk 'length > 80 { print; bad = 1 } END { exit bad || NR < 1000 }' dump
    done
}

# ---- archives

@test "an archive: its arrays, in order" {
    slow_unless_sanitized
    need_numpy
    tiny
    tg-attn-dump -p $'T\nb\xff' -o d.npz
    {
        printf '%s\n' kind version dump/layout dump/n_layer dump/n_head dump/n_embd dump/mask dump/source dump/ids dump/text
        for n in 0 1; do printf "h.$n.%s\n" "${STAGES[@]}" w_proj b_proj; done
        printf 'next/%s\n' vocab_size ids text logits sum
    } > want
    names d.npz | cmp - want
    scalars d.npz kind version dump/layout dump/n_layer dump/n_head dump/n_embd dump/mask dump/source > got
    printf '%s\n' attention 1 bthd 2 2 8 -1e9 "-m model.npz" | cmp - got
    python3 - << 'END'
import numpy as np
z = np.load("d.npz")
assert z["dump/ids"].tolist() == [84, 10, 98, 255] and z["dump/ids"].dtype == np.int64
assert z["dump/text"].tolist() == [b"T", b"\\n", b"b", b"\\xFF"]
shape = {"resid": (1, 4, 8), "w_proj": (8, 8), "b_proj": (8,), "x": (1, 4, 8), "qkv": (1, 4, 24), "out": (1, 4, 8), "scores": (1, 2, 4, 4), "probs": (1, 2, 4, 4)}
for n in z:
    if n.startswith("h."):
        assert z[n].dtype == np.float32 and z[n].shape == shape.get(n[4:], (1, 4, 2, 4)), n
END
    tg-attn-dump -p $'T\nb\xff' -o - > e.npz
    cmp d.npz e.npz
    tg-attn-dump -p $'T\nb\xff' -o - | cat | cmp - d.npz
    tg-attn-dump -p 'To be' --layer 1 --layout bhtd --stage probs -o one.npz
    names one.npz | tail -n +8 > got
    printf '%s\n' dump/source dump/ids dump/text h.1.probs | cmp - got
    tg-attn-dump --example baseline -o ex.npz
    names ex.npz | tail -n +8 > got
    printf '%s\n' dump/source h.0.{q,k,v,scores,probs,att} | cmp - got
    scalars ex.npz dump/source > got
    printf '%s\n' '--example baseline' | cmp - got
    tg-attn-dump -m - -p 'To be' -o - < model.npz > none.npz
    ! names none.npz | grep dump/source
}

@test "an archive: the gradient of a target, and what the model predicts" {
    slow_unless_sanitized
    need_numpy
    tiny
    tg-attn-dump -p 'To be' --target x -o d.npz
    names d.npz | grep -v '^h\.[01]\.\(resid\|x\|qkv\|[qkv]\|scores\|probs\|att\|out\)$' | tail -n +8 > got
    {
        printf 'dump/%s\n' source target ids text
        printf 'h.%s\n' {0,1}.{w_proj,b_proj,datt,loss}
        printf 'next/%s\n' vocab_size ids text logits sum
    } > want
    cmp got want
    tg-attn-dump -p 'To be' --target-id 120 -o - | cmp - d.npz
    tg-attn-dump --check d.npz | tail -n 1 > got
    [[ $(cat got) = *' elements: all equal' ]]
    # the gradient of a score is that of --trace --backward
    python3 - << 'END' > want
import numpy as np
z = np.load("d.npz")
assert z["dump/target"] == 120 and z["h.0.datt"].dtype == np.float64 and z["h.0.datt"].shape == (1, 5, 8)
assert z["next/vocab_size"] == 256 and z["next/ids"].shape == (5, 10) and z["next/text"].shape == (5, 10)
assert (np.diff(z["next/logits"]) <= 0).all()
p = np.exp(z["next/logits"].astype(float) - z["next/sum"][:, None])
assert (p > 0).all() and (p.sum(1) < 1).all()
datt, v = z["h.1.datt"][0].reshape(5, 2, 4)[4, 1], z["h.1.v"][0, :, 1].astype(float)
p = np.exp(z["h.1.scores"][0, 1, 4].astype(float))
p /= p.sum()
dp = v @ datt
ds = p * (dp - (p * dp).sum())
print("%.6g %.6f" % (ds[2], z["h.1.loss"]))
END
    tg-attn-dump -p 'To be' -l 1 --trace 0,1,4,2 --backward --target x > trace
    awk 'NR == FNR { ds = $1; loss = $2; next }
        /^loss = [0-9]/ { near = ($3 - loss) ^ 2 < 1e-10 }
        /the gradient of the score/ { on = 1 }
        on && /^    = .* = / { found = ($NF - ds) ^ 2 < 1e-12 * ds ^ 2 * 1e4; on = 0 }
        END { exit !near || !found }' want trace
    # the logits are those of tg-eval
    printf 'To be' > text
    tg-eval --logits text > logits.npz
    python3 - << 'END'
import numpy as np
d, e = np.load("d.npz"), np.load("logits.npz")
all = np.concatenate([e[n] for n in sorted(e) if n.startswith("logits/")])
for t, row in enumerate(all):
    assert (row[d["next/ids"][t]] == d["next/logits"][t]).all() and row.max() == d["next/logits"][t, 0], t
END
    # of a layer by itself, without what follows the last one
    tg-attn-dump -p 'To be' -l 0 -o one.npz
    names one.npz > got
    run ! grep next/ got
    names one.npz | grep -c w_proj > got
    [[ $(cat got) = 1 ]]
    run -2 --separate-stderr tg-attn-dump --example mha --target x -o e.npz
    said '--target needs a model'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --target-id 256 -o e.npz
    said 'target 256 is out of range: expected 0 to 255'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --target xy -o e.npz
    said "--target must be one token, but 'xy' is 2"
}

@test "an archive is sound" {
    need unzip
    tiny
    tg-attn-dump -p 'To be' -o d.npz
    unzip -tq d.npz
}

@test "--no-header leaves the numbers" {
    tiny
    for what in '' '--stage q' '--pieces' '--summary' '--ablate all'; do
        # shellcheck disable=SC2086
        for format in tsv jsonl; do
            tg-attn-dump -p 'To be' $what -f $format > all
            tg-attn-dump -p 'To be' $what -f $format --no-header > got
            [[ $format = jsonl ]] || sed -i 1d all
            cmp all got
        done
        # shellcheck disable=SC2086
        tg-attn-dump -p 'To be' $what --no-header > got
        # shellcheck disable=SC2086
        tg-attn-dump -p 'To be' $what | grep -v -e '^#' -e '^$' | cmp - <(grep -v '^# att.data' got)
        [[ $(head -n 1 got) != '#'* && $(head -n 1 got) = *[0-9]* ]]
    done
    run -2 --separate-stderr tg-attn-dump -p ab --trace 0,0,0,0 --no-header
    said '--no-header does not go with --trace'
}

# The promise: np.load, and every number where the lines say that it is.
@test "an archive holds the lines' numbers, bit by bit, at their offsets" {
    slow
    need_numpy
    tiny
    for layout in bthd bhtd; do
        tg-attn-dump -p 'To be, or not' --layout $layout -o d.npz
        for stage in '' "${STAGES[@]}"; do
            tg-attn-dump -p 'To be, or not' --layout $layout -f tsv ${stage:+--stage $stage} > "tsv.$stage"
            tg-attn-dump -p 'To be, or not' --layout $layout -f jsonl ${stage:+--stage $stage} > "jsonl.$stage"
        done
        LAYOUT=$layout python3 - << 'END'
import json, os
import numpy as np
z, layout = np.load("d.npz"), os.environ["LAYOUT"]
assert z["dump/layout"] == layout.encode()
D = 4

def bits(a, b):
    return np.float32(a).tobytes() == np.float32(b).tobytes()

def check(stage, o):
    for name, value in ("scores", "score"), ("probs", "prob"), (stage, "value"):
        if value not in o:
            continue
        a = z[f"h.{o['layer']}.{name}"]
        index = {"scores": "bhij", "probs": "bhij", "x": "btc", "qkv": "btc", "out": "btc"}.get(name, layout)
        place = tuple(o["head" if c == "h" else c] for c in index)
        assert bits(a[place], o[value]) and bits(a.ravel()[o["offset"]], o[value]), (name, o)
        seen.setdefault((o["layer"], name), set()).add(o["offset"])
    if "score" in o and "q_base" in o and not o["masked"]:
        q, k = (z[f"h.{o['layer']}.{n}"].ravel().astype(float)[b:b + D] for n, b in (("q", o["q_base"]), ("k", o["k_base"])))
        assert bits((q * k).sum() / 2, o["score"]) or abs((q * k).sum() / 2 - o["score"]) < 1e-9

for stage in "", "x", "qkv", "q", "k", "v", "scores", "probs", "att", "out":
    seen = {}
    keys, *rows = [line.rstrip("\n").split("\t") for line in open(f"tsv.{stage}")]
    for row in rows:
        o = {key: np.float32(t) if key in ("score", "prob", "value") else int(t) for key, t in zip(keys, row)
             if not key.startswith("token")}
        check(stage, o)
    for line in open(f"jsonl.{stage}"):
        check(stage, json.loads(line))
    for (layer, name), offsets in seen.items():
        assert offsets == set(range(z[f"h.{layer}.{name}"].size)), (layer, name)
    assert len(seen) == (4 if stage == "" else 2)
END
    done
}

@test "stages follow from each other, says NumPy" {
    slow
    need_numpy
    tiny
    tg-attn-dump -p 'To be, or not' --layout bhtd -o d.npz
    python3 - << 'END'
import numpy as np
z, m = np.load("d.npz"), np.load("model.npz")
T, H, D = 13, 2, 4
for n in 0, 1:
    x, qkv, q, k, v, s, p, att, out = (z[f"h.{n}.{name}"].astype(float)
                                       for name in "x qkv q k v scores probs att out".split())
    w, b = (m[f"h.{n}.attn.c_attn.{a}"].astype(float) for a in ("weight", "bias"))
    assert np.abs(x @ w + b - qkv).max() < 1e-6
    for part, a in enumerate((q, k, v)):
        assert np.array_equal(a, qkv[:, :, part * 8:part * 8 + 8].reshape(1, T, H, D).transpose(0, 2, 1, 3))
    mine = np.where(np.tril(np.ones((T, T))) == 1, q @ k.transpose(0, 1, 3, 2) / np.sqrt(D), -1e9)
    assert np.abs(mine - s).max() < 1e-7
    e = np.exp(mine - mine.max(-1, keepdims=True))
    assert np.abs(e / e.sum(-1, keepdims=True) - p).max() < 1e-7
    assert np.abs(p @ v - att).max() < 1e-6
    w, b = (m[f"h.{n}.attn.c_proj.{a}"].astype(float) for a in ("weight", "bias"))
    assert np.abs(att.transpose(0, 2, 1, 3).reshape(1, T, 8) @ w + b - out).max() < 1e-6
END
}

@test "what an archive refuses" {
    tiny
    for option in '--head 1' '--query 1' '--key 1'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr tg-attn-dump -p 'To be' -o d.npz $option
        said "${option% *} does not go with --output, which writes whole arrays"
    done
    run -2 --separate-stderr tg-attn-dump -p 'To be' -o d.npz --format text
    said '--format does not go with --output'
    run -2 --separate-stderr tg-attn-dump -p 'To be' -o d.npz --layer 2
    said 'layer 2 is out of range: expected 0 to 1'
    [[ ! -e d.npz ]]
    run -2 on_terminal "tg-attn-dump -p 'To be' -o -"
    [[ $output = *'terminal'* ]]
}

@test "an archive that cannot be written, or whose numbers are not finite, leaves the old one" {
    slow
    need_dev_full
    tiny
    run -3 --separate-stderr bash -c 'tg-attn-dump -p "To be" -o - > /dev/full'
    said 'standard output: '
    run -3 --separate-stderr tg-attn-dump -p 'To be' -o missing/d.npz
    said 'missing/d.npz'
    huge
    echo old > d.npz
    run -1 --separate-stderr tg-attn-dump -p abc --force -o d.npz
    said 'model.npz: h.1.qkv['
    [[ $(cat d.npz) = old && $(ls -A) = $'d.npz\nhuge.npz\nmodel.npz' ]]
}

# ---- only what is asked for

@test "a layer, a head or a stage costs only itself" {
    huge
    run -1 --separate-stderr tg-attn-dump -p abc
    said 'layer 1, head 0, position 0: attention is not finite'
    tg-attn-dump -p abc --layer 0 > /dev/null
    tg-attn-dump -p abc --layer 0 -o d.npz
    tg-attn-dump -p abc --layer 0 --stage out > /dev/null
    tg-attn-dump -p abc --stage x --layer 1 > /dev/null
    run -1 --separate-stderr tg-attn-dump -p abc --stage qkv
    said 'model.npz: layer 1: qkv['
}

@test "1024 positions as JSON lines, and a stage, need no table of scores" {
    slow
    need_plain_build
    tg-init --n-layer 1 --n-head 16 --n-embd 64 --n-ctx 1024 -o big.npz 2> /dev/null
    make_text 1024 > text
    (
        ulimit -v 65536
        OMP_NUM_THREADS=2 tg-attn-dump -m big.npz --head 15 -f jsonl < text | wc -l > lines
        OMP_NUM_THREADS=2 tg-attn-dump -m big.npz --stage att -f tsv < text | wc -l >> lines
    )
    printf '%d\n' 1048576 65537 | cmp - lines
}

# ---- --check

@test "--check: heads that are not the input's" {
    slow_unless_sanitized
    need_numpy
    tg-attn-dump --example mha -o d.npz
    other() { # NAME VALUE STATEMENT: the dump with a setting before dump/n_embd, and with other arrays
        python3 - "$@" << 'END'
import sys, numpy as np
name, value, statement = sys.argv[1:]
d = np.load("d.npz")
a = {}
for key in d.files:
    if key == "dump/n_embd":
        a[name] = np.int64(value)
    a[key] = d[key]
exec(statement)
np.savez_compressed("x.npz", **a)
END
    }
    other dump/head_dim 1 'for s in "qkv": a[f"h.0.{s}"] = a[f"h.0.{s}"][..., :1].copy()
a["h.0.att"] = a["h.0.att"][..., :1].copy()'
    run -1 --separate-stderr tg-attn-dump --example mha --check x.npz
    said 'x.npz: the dump has [KV,D] = [2,1], the input has [2,2]'
    other dump/n_kv_head 1 'for s in "kv": a[f"h.0.{s}"] = a[f"h.0.{s}"][:, :, :1].copy()'
    run -1 --separate-stderr tg-attn-dump --example mha --check x.npz
    said 'x.npz: the dump has [KV,D] = [1,2], the input has [2,2]'
}

@test "--check computes a dump again" {
    slow
    tiny
    for options in '' '--layout bhtd' '--mask -inf' '--mask min --layer 1' '--heads 4' '--stage probs'; do
        # shellcheck disable=SC2086
        tg-attn-dump -p 'To be' $options -o d.npz
        run -0 --separate-stderr tg-attn-dump --check d.npz
        [[ -z $stderr && ${lines[-1]} = *' elements: all equal' ]]
    done
    [[ ${#lines[@]} = 4 && ${lines[1]} = 'h.0.probs [1,2,5,5]: 50 elements, all equal' ]]
    tg-attn-dump --check - < d.npz | cmp - <(tg-attn-dump --check d.npz)
    cat d.npz | tg-attn-dump --check - --threads 1 | cmp - <(tg-attn-dump --check d.npz)
    mv model.npz other.npz
    tg-attn-dump --check d.npz -m other.npz > /dev/null
    tg-attn-dump --example mha --layout bhtd -o d.npz
    run -0 tg-attn-dump --check d.npz --example mha
    [[ ${lines[-1]} = '6 arrays, 84 elements: all equal' ]]
    printf '%s\n' 'q f4 1,2,2 1 2 3 4' 'k f4 1,2,2 1 2 3 4' 'v f4 1,2,2 1 2 3 4' | npz a.npz
    tg-attn-dump --qkv a.npz --heads 2 -o d.npz
    tg-attn-dump --check d.npz --qkv a.npz > /dev/null
}

@test "--check --plain compares with the plain model" {
    tiny
    tg-attn-dump -p 'To be' --layout bhtd --mask -inf -o d.npz
    run -0 --separate-stderr tg-attn-dump --check d.npz --plain
    [[ -z $stderr && ${lines[-1]} = *' elements: all equal' ]]
    [[ $(grep -c "and the plain model's: the largest difference is " <<< "$output") = 20 ]]
    # one number of the stored x is another
    python3 - << 'END'
import io, zipfile
old = zipfile.ZipFile("d.npz")
with zipfile.ZipFile("other.npz", "w") as new:
    for i in old.infolist():
        data = bytearray(old.read(i))
        if i.filename == "h.1.x.npy":
            data[-1] ^= 0x80
        new.writestr(i.filename, bytes(data))
END
    run -1 --separate-stderr tg-attn-dump --check other.npz --plain --tolerance 1
    [[ $stderr = "tg-attn-dump: other.npz: h.1.x differs from the plain model's: offset "* ]]
    tg-attn-dump --example mha -o e.npz
    run -2 --separate-stderr tg-attn-dump --check e.npz --example mha --plain
    [[ -z $output && $stderr = *'--plain needs a dump of a model'* ]]
}

@test "--check finds the element that differs, and says where" {
    slow
    need_numpy
    tiny
    tg-attn-dump -p 'To be' -o d.npz
    python3 - << 'END'
import numpy as np
z = dict(np.load("d.npz"))
def write(name, **changed):
    np.savez(name, **{**z, **changed})
s = z["h.1.scores"].copy()
s[0, 1, 2, 1] = np.nextafter(s[0, 1, 2, 1], np.float32(9))
write("score.npz", **{"h.1.scores": s})
s = z["h.0.scores"].copy()
s[0, 0, 2, 3] = -1e10
write("masked.npz", **{"h.0.scores": s})
np.savez("untold.npz", **{n: z[n] for n in z if n != "dump/text"})
write("text.npz", **{"dump/text": np.array([b"T", b"o", b"_", b"b", b"e"])})
for n in z:
    if n.startswith("h.0."):
        a = z[n].copy()
        a.ravel()[-1 if not n.endswith("scores") else 0] += 0.25
        write(n + ".npz", **{n: a})
np.savez("same.npz", **z)
END
    tg-attn-dump --check same.npz > /dev/null
    run -0 --separate-stderr tg-attn-dump --check untold.npz
    [[ ${lines[-1]} = '29 arrays, 1,300 elements: all equal' && -z $stderr ]]
    run -1 --separate-stderr tg-attn-dump --check score.npz
    said 'score.npz: 1 of 1,305 elements differ'
    [[ $output = *'h.1.scores [1,2,5,5]: 1 of 50 elements differ, the first at offset 36, [0,1,2,1]: '*' in the dump, '*' computed; the largest difference is '* ]]
    [[ $(grep -c 'all equal' <<< "$output") = 29 ]]
    tg-attn-dump --check score.npz --tolerance 1e-6 > /dev/null
    run -1 --separate-stderr tg-attn-dump --check masked.npz
    said 'masked.npz: 1 of 1,305'
    [[ $output = *'offset 13, [0,0,2,3]: -1e+10 in the dump, -1e+09 computed'* ]]
    run -1 --separate-stderr tg-attn-dump --check text.npz
    said 'text.npz: 1 of 1,305'
    [[ $output = *'dump/text [5]: 1 of 5 differ'* ]]
    for stage in "${STAGES[@]}" w_proj b_proj; do
        run -1 --separate-stderr tg-attn-dump --check h.0.$stage.npz --tolerance 0.1
        said "h.0.$stage.npz: 1 of 1,305"
        [[ $(grep 'h.0.*differ' <<< "$output") = "h.0.$stage ["*'largest difference is 0.25' ]]
    done
}

@test "--check refuses what it cannot compute again" {
    slow
    tiny
    tg-attn-dump -p 'To be' -o d.npz
    tg-init -o other.npz 2> /dev/null
    run -1 --separate-stderr tg-attn-dump --check d.npz -m other.npz
    said 'd.npz: the dump has 2 layers with [B,T,C] = [1,5,8], the input has 4 with [1,5,128]'
    tg-init --n-layer 2 --n-head 2 --n-embd 8 --n-ctx 16 --seed 2 -o other.npz 2> /dev/null
    run -1 --separate-stderr tg-attn-dump --check d.npz -m other.npz
    said 'd.npz: '
    said ' elements differ'
    run -1 --separate-stderr tg-attn-dump --check model.npz
    said 'model.npz: '
    said 'attention'
    head -c $(($(size d.npz) - 1)) d.npz > cut.npz
    run -1 --separate-stderr tg-attn-dump --check cut.npz
    said 'cut.npz: '
    cp d.npz bad.npz
    flip bad.npz $(($(size bad.npz) / 2)) 3
    run -1 --separate-stderr tg-attn-dump --check bad.npz
    said 'bad.npz: '
    run -3 --separate-stderr tg-attn-dump --check missing.npz
    said 'missing.npz: No such file'
    run -3 --separate-stderr tg-attn-dump --check d.npz -m missing.npz
    said 'missing.npz: '
    tg-attn-dump --example mha -o e.npz
    run -2 --separate-stderr tg-attn-dump --check e.npz
    said 'e.npz: the dump has no tokens: give its input with --qkv or --example'
    for option in '-p x' '--layer 0' '--head 0' '--query 0' '--key 0' '--heads 2' '--stage q' '-f text' \
        '--layout bthd' '--mask min'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr tg-attn-dump --check d.npz $option
        said ' does not go with --check, which takes everything from the dump'
    done
    run -2 --separate-stderr tg-attn-dump --check d.npz -o x.npz
    said '--output and --check cannot be combined'
    [[ ! -e x.npz ]]
    run -2 --separate-stderr tg-attn-dump -p x --tolerance 0.1
    said '--tolerance goes with --check'
    run -2 --separate-stderr tg-attn-dump -p x -o x.npz --tolerance 0.1
    said '--tolerance does not go with --output'
    run -2 --separate-stderr tg-attn-dump --check d.npz --tolerance 2
    said '--tolerance must be'
    run -2 --separate-stderr bash -c 'tg-attn-dump --check - -m - < d.npz'
    said 'standard input cannot be both'
}
