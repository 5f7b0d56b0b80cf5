#!/usr/bin/env bats
# tg-lens: what each layer predicts, and the parts of a logit.  tests/judges/lens.py compares both with transformers.
# Uses the helper program make_family (`make unit`).

load helper

ALL='llama mistral qwen3 gemma2 gemma3 olmo2 neox stablelm nanochat'

# model NAME...: NAME.npz, a small model of each family; gpt2 is one whose vocabulary is padded.
model() {
    local name
    for name; do
        if [[ $name = gpt2 ]]; then
            tg-init -q --n-layer 2 --n-head 2 --n-embd 16 --n-ctx 32 --vocab-size 300 --seed 3 -o gpt2.npz
        else
            "$BUILD/unit/make_family" "$name" > "$name.npz"
        fi
    done
}

induction() {
    ln -s "$ROOT/docs/data/induction" induction
}

# has LINE...: each is a line of the last run's output.
has() {
    local line
    for line; do
        grep -qFx -e "$line" <<< "$output" || { echo "no line: $line"; echo "$output"; return 1; }
    done
}

# table(FILE): the rows of a tab-separated table, each by its titles; parts(FILE): the values of an attribution, by
# (part, layer, head, key, unit).
python_tables='
import json, sys, numpy as np
def table(name):
    titles, *rows = [line.rstrip("\n").split("\t") for line in open(name, newline="\n")]
    assert rows and all(len(row) == len(titles) for row in rows)
    return [dict(zip(titles, row)) for row in rows]
def parts(name):
    rows = table(name)
    found = {(r["part"], *(int(r[c]) if r[c] else None for c in ("layer", "head", "key", "unit"))): float(r["value"]) for r in rows}
    assert len(found) == len(rows)
    return found
def of(found, *part):
    return found[part + (None,) * (5 - len(part))]
'

# ---- predictions

@test "text: what is in the columns, and a line for each token and layer" {
    induction
    run -0 --separate-stderr tg-lens -q -m induction -p 'abca'
    [[ ${lines[0]} = '# 4 tokens through 2 layers' && $output = *$'\n# rank     of the text\'s next token, from 0\n'* ]]
    [[ ${lines[5]} = '#   t layer      kl entropy   rank    prob      logit  token                most probable' ]]
    [[ ${#lines[@]} = 18 && -z $stderr ]]
    for ((n = 6; n < 15; n++)); do
        line="^    $(((n - 6) / 3))     $(((n - 6) % 3)) +[0-9]\.[0-9]{4} +[0-9]\.[0-9]{4} +[0-9]+ 0\.[0-9]{5} +-?[0-9]+\.[0-9]{5}  "
        [[ ${lines[n]} =~ $line'"'[abc]'"'\ {17}(\ '"'[^[:space:]]+'"'\ 0\.[0-9]{3}){3}$ ]]
    done
    # after the last token nothing follows
    [[ ${lines[17]} =~ ^\ {4}3\ {5}2\ \ 0\.0000\ +[0-9.]+\ {6}-\ {7}-\ {10}-\ \ -\ {20}'"'[^[:space:]]+'"'\ 0\.[0-9]{3} ]]
    tg-lens -q -m induction -p abca --no-header | cmp - <(sed 1,6d <<< "$output")
    tg-lens -q -m induction -p abca --target z > target
    grep -qx '# rank     of the target, from 0' target
    [[ $(grep -c '  "z"  ' target) = 12 ]]
    tg-lens -q -m induction -p a --top 0 -l 2 --no-header > one
    [[ $(wc -l < one) = 1 && $(cat one) = *'  -                   ' ]]
    run -0 --separate-stderr tg-lens -m induction -p a
    said 'induction: a Hugging Face checkpoint'
}

@test "TSV and JSON lines have the same values, and titles only once" {
    slow_unless_sanitized
    need_numpy
    induction
    printf 'x"\\\n\ty' > text
    tg-lens -q -m induction --tsv --top 2 < text > rows.tsv
    tg-lens -q -m induction --json -k 2 < text > rows.jsonl
    tg-lens -q -m induction -f tsv -k 2 --no-header < text | cmp - <(sed 1d rows.tsv)
    [[ $(head -n 1 rows.tsv | tr '\t' ' ') = 't id text layer kl entropy target_id target rank prob logit id_1 text_1 prob_1 logit_1 id_2 text_2 prob_2 logit_2' ]]
    tg-lens -q -m induction -f tsv -a y --keys -n 2 < text > parts.tsv
    tg-lens -q -m induction -f jsonl -a y --keys -n 2 < text > parts.jsonl
    tg-lens -q -m induction -f tsv -a y --keys -n 2 --no-header < text | cmp - <(sed 1d parts.tsv)
    [[ $(head -n 1 parts.tsv | tr '\t' ' ') = 'part layer head key unit value token' ]]
    for name in rows parts; do
        python3 -c "$python_tables"'
rows, lines = table(sys.argv[1] + ".tsv"), [json.loads(line) for line in open(sys.argv[1] + ".jsonl")]
assert len(rows) == len(lines) > 17
for row, line in zip(rows, lines):
    assert list(row) == list(line)
    for text, value in zip(row.values(), line.values()):
        if isinstance(value, str):
            assert value.replace("\"", "\\x22") == text, (value, text)
        else:
            assert text == "" if value is None else float(text) == value, (value, text)
' $name
    done
    cut -f 3 rows.tsv | sed 1d | uniq | cmp - <(printf '%s\n' x '\x22' '\' '\n' '\t' y)
}

# Two models of bytes and nine families: the last layer's numbers are those of tg-eval, to the last digit.
@test "the last layer is what the model predicts: tg-eval's logits, ranks, entropies and log-probabilities" {
    slow_unless_sanitized
    need_numpy
    induction
    # shellcheck disable=SC2086
    model gpt2 $ALL
    printf 'To be, or not' > text
    for name in induction gpt2 $ALL; do
        file=$name.npz
        [[ -e $file ]] || file=$name
        tg-eval -q -m "$file" --per-token --top 3 text > "$name.eval"
        tg-eval -q -m "$file" --logits -o "$name.logits" text
        tg-lens -q -m "$file" --tsv < text > "$name.lens"
    done
    # shellcheck disable=SC2086
    python3 -c "$python_tables"'
for name in sys.argv[1:]:
    logits = np.load(name + ".logits")["logits/00000000"]
    evals, rows = table(name + ".eval"), table(name + ".lens")
    layers = 1 + max(int(r["layer"]) for r in rows)
    assert layers == 3 and len(rows) == layers * len(evals)
    assert [(int(r["t"]), int(r["layer"])) for r in rows] == [(t, l) for t in range(len(evals)) for l in range(layers)]
    last = rows[layers - 1::layers]
    for t, row in enumerate(last):
        assert (row["id"], row["text"], row["kl"]) == (evals[t]["id"], evals[t]["text"], "0")
        tops = [(row["id_%d" % k], row["prob_%d" % k], row["logit_%d" % k]) for k in (1, 2, 3)]
        if t + 1 < len(last):
            e = evals[t + 1]
            assert (row["target_id"], row["target"], row["entropy"]) == (e["id"], e["text"], e["entropy"])
            assert row["rank"] == e["rank"]
            assert [i for i, _, _ in tops] == [e["id_%d" % k] for k in (1, 2, 3)]
            for prob, log in [(row["prob"], e["logprob"])] + [(p, e["logprob_%d" % k]) for k, (_, p, _) in enumerate(tops, 1)]:
                assert abs(float(prob) / np.exp(float(log)) - 1) < 1e-8 * max(1, abs(float(log)))
            tops.append((row["target_id"], row["prob"], row["logit"]))
        else:
            assert row["target_id"] == row["target"] == row["rank"] == row["prob"] == row["logit"] == ""
        for i, _, logit in tops:
            assert np.float32(logit) == logits[t, int(i)], (t, i, logit)
' induction gpt2 $ALL
}

@test "each layer: the last norm and the output head of the residual stream; what its numbers are" {
    slow_unless_sanitized
    need_numpy
    model gpt2
    printf 'lens' > text
    tg-lens -q -m gpt2.npz --tsv --top 256 < text > lens.tsv
    tg-attn-dump -q -m gpt2.npz -o dump.npz < text
    tg-eval -q -m gpt2.npz --logits -o logits.npz text
    python3 -c "$python_tables"'
m, d = np.load("gpt2.npz"), np.load("dump.npz")
rows = table("lens.tsv")
T, eps, ids = 4, float(m["config/layer_norm_epsilon"]), list(open("text", "rb").read())
def head(x):
    x = x - x.mean(-1, keepdims=True)
    normed = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * m["ln_f.weight"] + m["ln_f.bias"]
    return normed @ m["wte.weight"].T.astype(float)
streams = [m["wte.weight"][ids] + m["wpe.weight"][:T].astype(float), d["h.1.resid"][0].astype(float)]
wants = [head(x) for x in streams] + [np.load("logits.npz")["logits/00000000"].astype(float)]
log_p = [x - np.log(np.exp(x).sum(-1, keepdims=True)) for x in wants] # of all 300 rows
for r in rows:
    t, l = int(r["t"]), int(r["layer"])
    x, lp = wants[l][t], log_p[l][t]
    tops = [int(r["id_%d" % k]) for k in range(1, 257)]
    assert sorted(tops) == list(range(256)) # the padding has no ids
    got = np.array([float(r["logit_%d" % k]) for k in range(1, 257)])
    assert (np.diff(got) <= 0).all() and abs(got - x[tops]).max() < 1e-5
    assert abs(np.array([float(r["prob_%d" % k]) for k in range(1, 257)]) - np.exp(lp[tops])).max() < 1e-6
    assert abs(float(r["entropy"]) + (np.exp(lp) * lp).sum()) < 1e-5
    kl = (np.exp(log_p[2][t]) * (log_p[2][t] - lp)).sum()
    assert abs(float(r["kl"]) - kl) < 1e-6 and (l == 2 or kl > 1e-5)
    if t + 1 < T:
        assert tops[int(r["rank"])] == int(r["target_id"]) == ids[t + 1]
        assert r["logit"] == r["logit_%d" % (int(r["rank"]) + 1)] and r["prob"] == r["prob_%d" % (int(r["rank"]) + 1)]
'
}

@test "a divergence is never negative: blocks that add nothing" {
    slow_unless_sanitized
    need_numpy
    tg-init -q -t ids --vocab-size 11 --n-layer 2 --n-head 2 --n-embd 16 --n-ctx 16 -o ids.npz
    python3 -c '
import numpy as np
a = np.load("ids.npz")
np.savez("idle.npz", **{k: a[k] * 0 if "c_proj" in k else a[k] for k in a.files})'
    tg-lens -q -m idle.npz --ids '1 2 3 4 5 6 7 8 9' --tsv | cut -f 5 | sed 1d > kl
    awk '$1 < 0 || $1 > 1e-12 { print; bad = 1 } END { exit bad || NR != 27 }' kl
    [[ $(tg-lens -q -m idle.npz --ids '1 2 3 4 5 6 7 8 9') != *-0.0000* ]]
}

@test "--layer, --position and --top choose among the same lines" {
    induction
    model gemma2
    for file in induction gemma2.npz; do
        tg-lens -q -m $file -p 'abcab' --tsv > all
        for layer in 0 1 2; do
            tg-lens -q -m $file -p 'abcab' --tsv --layer $layer | cmp - <(awk -F '\t' -v l=$layer 'NR == 1 || $4 == l' all)
        done
        for position in 0 3 4; do
            tg-lens -q -m $file -p 'abcab' --tsv -t $position | cmp - <(awk -F '\t' -v t=$position 'NR == 1 || $1 == t' all)
        done
        tg-lens -q -m $file -p 'abcab' --tsv -l 1 --position 2 | cmp - <(awk -F '\t' 'NR == 1 || $1 == 2 && $4 == 1' all)
        tg-lens -q -m $file -p 'abcab' --tsv --top 0 | cmp - <(cut -f 1-11 all)
        tg-lens -q -m $file -p 'abcab' --tsv -k 1 | cmp - <(cut -f 1-15 all)
        tg-lens -q -m $file -p 'abcab' --tsv -k 5 | cut -f 1-23 | cmp - all
    done
}

@test "a token that may lack its leading space: a note says how probable both are" {
    spaced_model
    for option in --target --attribute; do
        run -0 --separate-stderr tg-lens -m ab.npz -p a $option b
        [[ $stderr =~ ^'tg-lens: "b" has probability '[0-9.e-]+' after token 0, " b" '[01.]+': a leading space may be missing'$ ]]
        for token in ' b' a x; do
            run -0 --separate-stderr tg-lens -m ab.npz -p a $option "$token"
            [[ -z $stderr ]]
        done
    done
    run -0 --separate-stderr tg-lens -m ab.npz -p a --attribute x-b
    [[ $stderr = *'"b" has probability '* && $stderr != *'"x"'* ]]
    # where it is not probable, and where an id was given
    run -0 --separate-stderr tg-lens -m ab.npz -p $'a b\na b' --position 1 --target b
    [[ -z $stderr ]]
    for option in --target-id --attribute-ids; do
        run -0 --separate-stderr tg-lens -m ab.npz -p a $option 98
        [[ -z $stderr ]]
    done
}

@test "text: large numbers stay in their columns, with fewer decimals" {
    need_numpy
    induction
    tg-convert -q induction -o small.npz
    for factor in 1 300 1e4 1e8; do
        python3 -c 'import sys, numpy as np
np.savez("large.npz", **{n: v * np.float32(sys.argv[1]) if n.startswith("ln_f") else v for n, v in np.load("small.npz").items()})' $factor
        tg-lens -q -m large.npz -p abca > got
        [[ $(grep -c '^ ' got) = 12 ]]
        # where the columns end
        awk '/^ / && (!/^ +[0-9]+ +[0-9]+ +[0-9.e+]+ / || substr($0, 20, 1) != " " || substr($0, 28, 1) != " " ||
            substr($0, 35, 1) != " " || substr($0, 43, 1) != " " || substr($0, 54, 2) != "  " ||
            substr($0, 56, 1) !~ /["-]/) { print; bad = 1 } END { exit bad }' got
        case $factor in
            1) grep -q '^    0     0  [0-9]\.[0-9][0-9][0-9][0-9] ' got ;;
            300) grep -qE '^ +[0-9]+ +[0-9]+ +[0-9]{3,4}\.[0-9]{2,3} ' got ;;
            1e8) grep -q '^ .* [0-9]e+[0-9][0-9] ' got ;;
        esac
    done
}

@test "--target and --target-id: the same token after each position, also the last" {
    slow_unless_sanitized
    need_numpy
    induction
    tg-lens -q -m induction -p 'abcab' --tsv -k 257 > next
    tg-lens -q -m induction -p 'abcab' --tsv -k 257 --target c > target
    tg-lens -q -m induction -p 'abcab' --tsv -k 257 --target-id 67 | cmp - target
    cmp <(cut -f 1-6,12- next) <(cut -f 1-6,12- target)
    cmp <(awk -F '\t' '$1 == 1' next) <(awk -F '\t' '$1 == 1' target)
    python3 -c "$python_tables"'
rows = table("target")
assert len(rows) == 15
for r in rows:
    k = int(r["rank"]) + 1
    assert (r["target_id"], r["target"]) == ("67", "c")
    assert (r["target_id"], r["prob"], r["logit"]) == (r["id_%d" % k], r["prob_%d" % k], r["logit_%d" % k])
'
}

# 60,000 rows: the probabilities of 139 positions fill 64 MiB, so that 150 positions are two blocks.
@test "more positions than fit into a block: the rows of all of them, from blocks that overlap" {
    slow
    need_numpy
    tg-init -q -t ids --vocab-size 60000 --n-layer 1 --n-head 1 --n-embd 4 --n-ctx 256 -o wide.npz
    ids=$(awk 'BEGIN { for (i = 0; i < 150; i++) print i * 397 % 60000 }')
    tg-lens -m wide.npz --ids "$ids" --tsv > lens.tsv
    tg-eval -q -m wide.npz --ids "$ids" --logits -o logits.npz
    python3 -c "$python_tables"'
rows, logits = table("lens.tsv"), np.load("logits.npz")["logits/00000000"]
assert [(int(r["t"]), int(r["layer"])) for r in rows] == [(t, l) for t in range(150) for l in (0, 1)]
for r in rows[1::2]:
    x = logits[int(r["t"])]
    assert r["kl"] == "0" and int(r["id_1"]) == x.argmax() and np.float32(r["logit_1"]) == x.max()
    assert int(r["t"]) == 149 or np.float32(r["logit"]) == x[int(r["target_id"])]
'
    for t in 0 138 139 149; do
        tg-lens -m wide.npz --ids "$ids" --tsv --no-header -t $t | cmp - <(sed 1d lens.tsv | awk -F '\t' -v t=$t '$1 == t')
    done
    tg-lens -m wide.npz --ids "$ids" -o lens.npz
    python3 -c "$python_tables"'
a, rows = np.load("lens.npz"), table("lens.tsv")
want = np.array([[float(r["entropy"]), int(r["id_3"])] for r in rows]).reshape(150, 2, 2).transpose(2, 1, 0)
assert (abs(a["lens/entropy"] - want[0]) < 1e-8 * want[0]).all() and (a["lens/top_ids"][:, :, 2] == want[1]).all()
assert "lens/text" not in a and "lens/top_text" not in a
'
}

# ---- the parts of a logit

@test "text: whose logit it is, its scale, its parts in the order of the model" {
    induction
    run -0 --separate-stderr tg-lens -q -m induction -p 'abca' --attribute b-c
    [[ ${lines[0]} =~ ^'# the logit of "b" (id 66) less that of "c" (id 67) after token 3, "a": '-?[0-9]+\.[0-9]{6}$ ]]
    [[ ${lines[1]} =~ ^"# each part of the stream is multiplied by the last norm's scale in this run, "[0-9.]+$ ]]
    [[ ${lines[2]} = '#part      layer head        value' ]]
    cut -c 1-21 <<< "$output" | sed 1,3d | tr -s ' ' | sed 's/ $//' | cmp - <(printf '%s\n' 'embedding - -' 'position - -' \
        'head 0 '{0..3} 'att_bias 0 -' 'mlp 0 -' 'mlp_bias 0 -' 'head 1 '{0..3} 'att_bias 1 -' 'mlp 1 -' 'mlp_bias 1 -' \
        'norm_bias - -' 'sum - -' 'residue - -' 'logit - -')
    [[ ${lines[-1]} = *"${lines[0]##* }" ]] # the logit
    tg-lens -q -m induction -p 'abca' --attribute b-c --no-header | cmp - <(sed 1,3d <<< "$output")
    run -0 --separate-stderr tg-lens -q -m induction -p 'abca' --attribute b --position 0 --keys --neurons 2
    [[ ${lines[0]} = '# the logit of "b" (id 66) after token 0, "a": '* ]]
    has "# the keys' lines add up to their head's" "# the units' lines are parts of their mlp's" \
        '#part      layer head  key  unit        value token'
    [[ $(grep -c '^key ' <<< "$output") = 8 && $(grep -c '^key .* 65 "a"$' <<< "$output") = 8 ]]
    [[ $(grep -c '^unit ' <<< "$output") = 4 ]]
    # a cap, which Gemma 2 has, and no position and no bias
    model gemma2
    run -0 --separate-stderr tg-lens -m gemma2.npz -p 'abc' -a a
    [[ ${lines[1]} =~ ^'# before the cap of 3 on each logit: '(-?[0-9.]+)', of which these are the parts'$ ]]
    [[ ${lines[-1]} = *" ${BASH_REMATCH[1]}" && ${lines[0]} != *" ${BASH_REMATCH[1]}" ]]
    [[ $output != *bias* && $output != *position* ]]
}

# Eleven models, five runs of each.
@test "parts and residue are the logit, keys are their head, units their MLP, in all families" {
    slow
    need_numpy
    induction
    # shellcheck disable=SC2086
    model gpt2 $ALL
    for name in induction gpt2 $ALL; do
        file=$name.npz
        [[ -e $file ]] || file=$name
        attribute() { tg-lens -q -m "$file" -p 'abcab' -t 3 --attribute-ids "$@"; }
        tg-eval -q -m "$file" --logits -o "$name.logits" -p 'abcab'
        attribute 98-97 -o "$name.parts"
        units=$(tg-info --tsv --all "$name.parts" | sed -n 's/.*attribution\/unit\t[^0-9]*\t*.*2,\([0-9]*\).*/\1/p')
        attribute 98-97 --keys -n "$units" --tsv > "$name.tsv"
        attribute 98 -f tsv > "$name.first"
        attribute 97 -f tsv > "$name.second"
    done
    # shellcheck disable=SC2086
    python3 -c "$python_tables"'
ends = ("sum", "residue", "logit")
for name in sys.argv[1:]:
    p, first, second = parts(name + ".tsv"), parts(name + ".first"), parts(name + ".second")
    a, x = np.load(name + ".parts"), np.load(name + ".logits")["logits/00000000"][3].astype(float)
    total, residue, logit = [of(p, end) for end in ends]
    own = {k: v for k, v in p.items() if k[0] not in ("key", "unit") + ends}
    scale = max(map(abs, own.values()))
    near = lambda a, b: abs(a - b) < 1e-7 * scale
    assert near(sum(own.values()), total) and near(total + residue, logit) and abs(residue) < 1e-5 * scale, name
    heads = [k for k in own if k[0] == "head"]
    assert len(heads) == a["attribution/head"].size >= 2
    for _, l, h, _, _ in heads:
        keys = {k[3]: v for k, v in p.items() if k[0] == "key" and k[1:3] == (l, h)}
        assert list(keys) == [0, 1, 2, 3] and near(sum(keys.values()), of(p, "head", l, h)), name
    for l in (0, 1):
        units = [v for k, v in p.items() if k[0] == "unit" and k[1] == l]
        assert len(units) == a["attribution/unit"].shape[1] > 10 and near(sum(units), of(p, "mlp", l)), name
        assert (np.diff(np.abs(units)) <= 0).all(), name
    # a difference is one
    assert first.keys() == second.keys() == own.keys() | {(end,) + (None,) * 4 for end in ends}
    assert all(near(v, first[k] - second[k]) for k, v in own.items()), name
    # and that of the logits which the model has
    capped, uncapped = float(a["attribution/capped"]), float(a["attribution/logit"])
    assert capped == x[98] - x[97], name
    assert (capped == uncapped) == (name not in ("gemma2", "nanochat")), name
    if capped != uncapped:
        assert abs(3 * (np.tanh(of(first, "logit") / 3) - np.tanh(of(second, "logit") / 3)) - capped) < 1e-6, name
' induction gpt2 $ALL
}

@test "a position, a head, a unit and a bias are what the definition says" {
    slow_unless_sanitized
    need_numpy
    model gpt2
    python3 -c '
import numpy as np
a, r = dict(np.load("gpt2.npz")), np.random.default_rng(1)
np.savez("biased.npz", **{k: r.standard_normal(v.shape).astype("f4") / 3 + ("ln" in k and "weight" in k) if v.dtype == np.float32 else v
                          for k, v in a.items()})'
    tg-attn-dump -m biased.npz -p 'lens' -o dump.npz
    tg-lens -m biased.npz -p 'lens' -t 2 -a s --keys --tsv > parts.tsv
    python3 -c "$python_tables"'
m, d, p = np.load("biased.npz"), np.load("dump.npz"), parts("parts.tsv")
m = {k: m[k].astype(float) if m[k].dtype == np.float32 else m[k] for k in m.files}
x = m["wte.weight"][list(b"lens")] + m["wpe.weight"][:4]
u = m["wte.weight"][ord("s")] * m["ln_f.weight"]
shift = m["wte.weight"][ord("s")] @ m["ln_f.bias"]
u -= u.mean()
# the scale follows from the embedding, and all others from it
scale = of(p, "embedding") / (m["wte.weight"][ord("n")] @ u)
near = lambda a, b: abs(a - b) < 1e-5 * max(1, abs(b))
assert near(of(p, "position"), scale * (m["wpe.weight"][2] @ u)) and near(of(p, "norm_bias"), shift)
for l in (0, 1):
    assert near(of(p, "att_bias", l), scale * (m["h.%d.attn.c_proj.bias" % l] @ u))
    assert near(of(p, "mlp_bias", l), scale * (m["h.%d.mlp.c_proj.bias" % l] @ u))
    for h in (0, 1):
        w = m["h.%d.attn.c_proj.weight" % l][8 * h:8 * h + 8]
        assert near(of(p, "head", l, h), scale * (d["h.%d.att" % l][0, 2, h].astype(float) @ w @ u))
        for j in (0, 1, 2):
            v = d["h.%d.v" % l][0, j, h].astype(float)
            assert near(of(p, "key", l, h, j), scale * d["h.%d.probs" % l][0, h, 2, j] * (v @ w @ u))
# by the stream: what the first block has added
added = d["h.1.resid"][0, 2].astype(float) - x[2]
assert near(of(p, "head", 0, 0) + of(p, "head", 0, 1) + of(p, "att_bias", 0) + of(p, "mlp", 0) + of(p, "mlp_bias", 0), scale * (added @ u))
'
}

@test "parts that a model may lack: biases, gains, a tied head, a bias of the head" {
    slow
    need_numpy
    for options in '--tied no' '--head-bias yes' '--layer-norm-weight no' '--layer-norm-bias no' '--linear-bias no' \
        '--tied no --head-bias yes --layer-norm-weight no --layer-norm-bias no --linear-bias no'; do
        # shellcheck disable=SC2086
        tg-init -q --n-layer 2 --n-head 2 --n-embd 16 --n-ctx 32 $options -o new.npz --force
        python3 -c "$python_tables"'
a, r = np.load("new.npz"), np.random.default_rng(1)
random = lambda k: r.standard_normal(a[k].shape).astype("f4") / 3 + ("ln" in k and "weight" in k)
np.savez("random.npz", **{k: random(k) if a[k].dtype == np.float32 else a[k] for k in a.files})'
        tg-lens -m random.npz -p abcab -a b-c --tsv > parts.tsv
        python3 -c "$python_tables"'
p, m = parts("parts.tsv"), np.load("random.npz")
own = {k: v for k, v in p.items() if k[0] not in ("sum", "residue", "logit")}
scale = max(map(abs, own.values()))
assert abs(sum(own.values()) - of(p, "sum")) < 1e-7 * scale and abs(of(p, "residue")) < 1e-5 * scale, sys.argv[1:]
has = {"norm_bias": "ln_f.bias", "head_bias": "lm_head.bias", "att_bias": "h.0.attn.c_proj.bias", "mlp_bias": "h.0.mlp.c_proj.bias"}
for part, name in has.items():
    assert (name in m) == any(k[0] == part and v != 0 for k, v in own.items()) == any(k[0] == part for k in own), (part, sys.argv[1:])
if "lm_head.bias" in m:
    assert abs(of(p, "head_bias") - (float(m["lm_head.bias"][98]) - float(m["lm_head.bias"][99]))) < 1e-8
' "$options"
    done
}

@test "--attribute --top: the largest parts by their absolute values, and the sum of all" {
    induction
    for more in '' '--keys --neurons 3'; do
        # shellcheck disable=SC2086 # options are words
        attribute() { tg-lens -q -m induction -p abcdefghabc --attribute d-a $more -f tsv "$@"; }
        attribute > all
        tail -n 3 all > ends
        head -n -3 all | sed 1d | awk -F '\t' -v OFS='\t' '{ print $6 < 0 ? -$6 : $6, $0 }' |
            sort -s -t $'\t' -grk 1,1 | cut -f 2- > sorted
        for n in 0 1 4 1000; do
            { head -n 1 all; head -n $n sorted; cat ends; } > want
            attribute --top $n | cmp - want
        done
    done
    [[ $(wc -l < sorted) -gt 100 ]]
    run -0 --separate-stderr tg-lens -q -m induction -p abcdefghabc --attribute d --top 2
    [[ ${lines[2]} = '# the 2 largest of 17 parts, by their absolute values' && ${#lines[@]} = 9 ]]
    [[ ${lines[4]} =~ ^'head           1    0 ' && ${lines[5]} =~ ^'mlp            1    - ' && ${lines[6]} =~ ^sum ]]
}

@test "--attribute: tokens with hyphens, and two that can be told apart in one way only" {
    model gpt2
    first_line() { tg-lens "$@" 2>&1 | head -n 1 | sed 's/ after.*//'; }
    of_bytes() { first_line -m gpt2.npz -p ab --attribute="$1"; }
    [[ $(of_bytes -) = '# the logit of "-" (id 45)' ]]
    [[ $(of_bytes a-b) = '# the logit of "a" (id 97) less that of "b" (id 98)' ]]
    [[ $(of_bytes a--) = '# the logit of "a" (id 97) less that of "-" (id 45)' ]]
    [[ $(of_bytes --a) = '# the logit of "-" (id 45) less that of "a" (id 97)' ]]
    [[ $(of_bytes ---) = '# the logit of "-" (id 45) less that of "-" (id 45)' ]]
    [[ $(first_line -m gpt2.npz -p ab --attribute-ids 97-98) = "$(of_bytes a-b)" ]]
    [[ $(first_line -m gpt2.npz -p ab --attribute-ids 97) = "$(of_bytes a)" ]]
    for i in {1..200}; do printf -- 'a--b--c---d-e\n'; done > text
    tg-bpe -q -n 258 -o bpe.npz text # one pair
    tg-init -q -t bpe.npz --n-layer 1 --n-head 1 --n-embd 8 -o bpe-model.npz
    of_bpe() { first_line -m bpe-model.npz -p ab --attribute="$1"; }
    tg-tokenize -t bpe.npz --pieces <<< 'ab--' | grep -qx -- '"--"'
    [[ $(of_bpe --) = '# the logit of "--" (id 256)' ]]
    [[ $(of_bpe a--) = '# the logit of "a" (id 97) less that of "-" (id 45)' ]]
    [[ $(of_bpe a---) = '# the logit of "a" (id 97) less that of "--" (id 256)' ]]
    [[ $(of_bpe ----) = "tg-lens: --attribute must be a token, or two with a hyphen between them: '----' is two in several ways: give --attribute-ids" ]]
    run -2 --separate-stderr tg-lens -m bpe-model.npz -p ab --attribute=----
    [[ -z $output ]]
}

# ---- archives

@test "archives, read by NumPy, have the numbers of the lines" {
    slow_unless_sanitized
    need_numpy
    induction
    model gemma2
    for file in induction gemma2.npz; do
        tg-lens -q -m $file -p 'abcab' --tsv > lens.tsv
        tg-lens -q -m $file -p 'abcab' -o lens.npz --force
        tg-lens -q -m $file -p 'abcab' -o - | cmp - lens.npz
        tg-lens -q -m $file -p 'abcab' -l 1 -t 2 -k 0 --target b -o one.npz --force
        tg-lens -q -m $file -p 'abcab' -l 1 -t 2 --target b --tsv > one.tsv
        tg-lens -q -m $file -p 'abcab' -t 3 -a b-c --keys -n 3 --tsv > parts.tsv
        tg-lens -q -m $file -p 'abcab' -t 3 -a b-c -o parts.npz --force
        tg-lens -q -m $file -p 'abcab' -a z -o alone.npz --force
        python3 -c "$python_tables"'
a, rows = np.load("lens.npz"), table("lens.tsv")
assert a.files[:2] == ["kind", "version"] and (bytes(a["kind"]), int(a["version"]), int(a["lens/n_layer"])) == (b"lens", 1, 2)
assert list(a["lens/layers"]) == [0, 1, 2] and list(a["lens/positions"]) == [0, 1, 2, 3, 4]
ids = [int(r["id"]) for r in rows[::3]]
assert list(a["lens/ids"]) == ids and list(a["lens/target"]) == ids[1:] + [-1] and b"".join(a["lens/text"]) == b"abcab"
assert list(a["lens/target_text"]) == [b"b", b"c", b"a", b"b", b""]
assert a["lens/top_ids"].shape == a["lens/top_text"].shape == (3, 5, 3)
assert [a["lens/" + n].dtype.str for n in ("ids", "rank", "logit", "kl", "entropy", "sum", "top_logits")] == \
    ["<i8", "<i8", "<f4", "<f8", "<f8", "<f8", "<f4"]
shown = lambda x: float("%.9g" % x)
for n, r in enumerate(rows):
    at = n % 3, n // 3
    assert (shown(a["lens/kl"][at]), shown(a["lens/entropy"][at])) == (float(r["kl"]), float(r["entropy"]))
    for k in (1, 2, 3):
        i, logit = a["lens/top_ids"][at][k - 1], a["lens/top_logits"][at][k - 1]
        assert i == int(r["id_%d" % k]) and logit == np.float32(r["logit_%d" % k])
        assert a["lens/top_text"][at][k - 1].decode() == r["text_%d" % k].replace("\\x22", chr(34))
        assert abs(np.exp(logit - a["lens/sum"][at]) / float(r["prob_%d" % k]) - 1) < 1e-8
    if at[1] == 4:
        assert (a["lens/rank"][at], a["lens/logit"][at]) == (-1, 0)
    else:
        assert a["lens/rank"][at] == int(r["rank"]) and a["lens/logit"][at] == np.float32(r["logit"])

a, (r,) = np.load("one.npz"), table("one.tsv")
assert (list(a["lens/layers"]), list(a["lens/positions"]), list(a["lens/target"])) == ([1], [2], [int(r["target_id"])])
assert a["lens/rank"].shape == (1, 1) and a["lens/rank"][0, 0] == int(r["rank"]) and "lens/top_ids" not in a
assert list(a["lens/target_text"]) == [b"b"]
assert a["lens/logit"][0, 0] == np.float32(r["logit"]) and len(a["lens/ids"]) == 5

a, p = np.load("parts.npz"), parts("parts.tsv")
assert (bytes(a["kind"]), int(a["version"]), int(a["attribution/position"])) == (b"attribution", 1, 3)
assert [int(a["attribution/" + n]) for n in ("token", "minus")] == [ids[1], ids[2]] and list(a["attribution/ids"]) == ids
assert [a["attribution/" + n].shape for n in ("token_text", "minus_text")] == [(), ()]
assert (a["attribution/token_text"].item(), a["attribution/minus_text"].item()) == (b"b", b"c")
assert "attribution/minus_text" not in np.load("alone.npz") and np.load("alone.npz")["attribution/token_text"].item() == b"z"
names = {"position": "position_embedding"}
seen = set()
for (part, *at), value in p.items():
    if part == "residue":
        assert shown(a["attribution/logit"] - a["attribution/sum"]) == value
        continue
    part = names.get(part, part)
    seen.add(part)
    assert shown(a["attribution/" + part][tuple(i for i in at if i is not None)]) == value, (part, at)
rest = {n.split("/")[1] for n in a.files[2:]} - seen - {"ids", "text", "position", "token", "token_text", "minus",
    "minus_text", "capped", "scale"}
for part in rest:
    assert not np.any(a["attribution/" + part]), part # what the model lacks
assert a["attribution/unit"].shape[0] == 2 and abs(a["attribution/unit"].sum(1) - a["attribution/mlp"]).max() < 1e-9
assert not a["attribution/key"][:, :, 4:].any()
' 2>&1
    done
    tg-info lens.npz | grep -qx 'lens/n_layer 2'
    [[ $(names lens.npz | head -n 3 | tr '\n' ' ') = 'kind version lens/ids ' ]]
}

@test "an archive replaces only one of its kind" {
    model gpt2
    cp gpt2.npz want.npz
    run -2 --separate-stderr tg-lens -m gpt2.npz -p ab -o gpt2.npz
    said 'gpt2.npz is read, and the output would replace it'
    cmp gpt2.npz want.npz
    tg-lens -m want.npz -p ab -o out.npz
    cp out.npz first.npz
    tg-lens -m want.npz -p abc -o out.npz
    run ! cmp -s out.npz first.npz
    tg-attn-dump -m want.npz -p ab -o dump.npz
    run -2 --separate-stderr tg-lens -m want.npz -p ab -o dump.npz
    said 'dump.npz'
    tg-lens -m want.npz -p abc -o dump.npz --force
    cmp dump.npz out.npz
    run -2 --separate-stderr tg-lens -m want.npz -p ab -o out.tsv
    said 'out.tsv'
}

# ---- threads, large models

@test "the same bytes with any number of threads" {
    slow_unless_sanitized
    induction
    model gemma3
    for file in induction gemma3.npz; do
        for options in '' '--tsv -k 9' '--json' '-o -' '-a b-c' '-a b --keys -n 5 --tsv' '-a b-c -o -'; do
            # shellcheck disable=SC2086
            tg-lens -q -m $file -p 'abcab' --threads 1 $options > want
            [[ -s want ]]
            for n in 2 3; do
                # shellcheck disable=SC2086
                tg-lens -q -m $file -p 'abcab' --threads $n $options | cmp - want
            done
        done
    done
}

# A Llama of 620 million weights of bf16, of which only the last layer's are not zeros; and one with this layer alone.
# 1.2 GB, mostly holes, are read twice.
@test "a large model, which is read layer by layer: the numbers of a small one" {
    slow
    need_plain_build
    need_numpy
    python3 -c '
import json, os, numpy as np
rng = np.random.default_rng(5)
def bf16(x):
    return (np.asarray(x, "<f4").view("<u4") >> 16).astype("<u2")
C, F, V, KV = 2048, 8192, 64, 512
block = {"input_layernorm": (C,), "post_attention_layernorm": (C,), "self_attn.q_proj": (C, C), "self_attn.o_proj": (C, C),
         "self_attn.k_proj": (KV, C), "self_attn.v_proj": (KV, C), "mlp.gate_proj": (F, C), "mlp.up_proj": (F, C), "mlp.down_proj": (C, F)}
values = {name: bf16(1 + rng.random(shape, "f4") / 2 if len(shape) == 1 else (rng.random(shape, "f4") - 0.5) / 8)
          for name, shape in {**block, "embed_tokens": (V, C), "norm": (C,)}.items()}
for name, L in (("large", 10), ("small", 1)):
    os.mkdir(name)
    tensors = [("model.embed_tokens.weight", "embed_tokens", True), ("model.norm.weight", "norm", True)]
    tensors += [("model.layers.%d.%s.weight" % (l, n), n, l == L - 1) for l in range(L) for n in block]
    header, at = {}, 0
    for full, n, _ in tensors:
        size = 2 * values[n].size
        header[full] = {"dtype": "BF16", "shape": list(values[n].shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(name + "/model.safetensors", "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for full, n, filled in tensors:
            f.write(values[n].tobytes()) if filled else f.seek(2 * values[n].size, 1)
        f.truncate(8 + len(text) + at)
    with open(name + "/config.json", "w") as f:
        json.dump({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": C, "num_hidden_layers": L,
                   "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": F, "vocab_size": V, "rms_norm_eps": 1e-5,
                   "max_position_embeddings": 4096, "hidden_act": "silu", "tie_word_embeddings": True}, f)
'
    for what in '-k 5' '--attribute-ids 7-9 --keys -n 2'; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr tg-lens -m large --ids '1 2 3 4 5' -f tsv $what
        said 'large: a Hugging Face checkpoint, 1.1 GiB read layer by layer'
        # layers 1 to 9, which add nothing, are layer 0; 10 is 1, and the last block, 9, is block 0
        awk -F '\t' -v OFS='\t' -v at="${what:1:1}" '
            NR == 1 { print; next }
            at == "k" && $4 > 0 && $4 < 10 || at == "-" && $2 != "" && $2 < 9 { next }
            at == "k" && $4 == 10 { $4 = 1 }
            at == "-" && $2 == 9 { $2 = 0 }
            { print }' <<< "$output" > large.tsv
        # shellcheck disable=SC2086
        tg-lens -q -m small --ids '1 2 3 4 5' -f tsv $what | tee small.tsv | diff - large.tsv
        [[ $(wc -l < small.tsv) -gt 10 ]]
    done
    # shellcheck disable=SC2016
    run -0 python3 -c '
import resource, subprocess
subprocess.run(["tg-lens", "-q", "-m", "large", "--ids", "1 2 3", "--attribute-ids", "7"], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 20)'
    [[ ${lines[-1]} -le 1 ]] # GiB, of 2.3 in float32
}

# ---- texts

@test "texts: -p, --ids, standard input, archives of tokens, probes" {
    model gpt2
    tg-lens -m gpt2.npz -p 'abcab' > want
    printf abcab | tg-lens -m gpt2.npz | cmp - want
    tg-lens -m gpt2.npz --ids '97 98 99 97 98' | cmp - want
    printf abcab | tg-tokenize | tg-lens -m gpt2.npz | cmp - want
    tg-lens -m - -p abcab < gpt2.npz | cmp - want
    TG_MODEL=gpt2.npz tg-lens -p abcab | cmp - want
    [[ $(tg-lens -m gpt2.npz --probe text < /dev/null | head -n 1) = '# 32 tokens through 2 layers' ]]
    run -2 --separate-stderr tg-lens -m gpt2.npz < /dev/null
    said 'the model is not trained and holds no text: give one with -p TEXT or on standard input'
    make_text 3000 | tg-tokenize | tg-train -q -m gpt2.npz --steps 2 --batch 1 -c 16 2> /dev/null
    [[ $(tg-lens -m gpt2.npz < /dev/null | head -n 1) = "# 32 tokens of the model's probe through 2 layers" ]]
}

@test "a model without a tokenizer: ids, and numbers as texts" {
    tg-init -q -t ids --vocab-size 11 --n-layer 1 --n-head 1 --n-embd 8 --n-ctx 16 -o ids.npz
    run -0 --separate-stderr tg-lens -m ids.npz --ids '1 2 3' --tsv --target-id 10 -k 11
    [[ $(cut -f 3,8 <<< "${lines[1]}") = $'1\t10' && ${#lines[@]} = 7 ]]
    run -0 --separate-stderr tg-lens -m ids.npz --ids '1 2 3' --attribute-ids 3-10
    [[ ${lines[0]} = '# the logit of "3" (id 3) less that of "10" (id 10) after token 2, "3": '* ]]
    run -2 --separate-stderr tg-lens -m ids.npz --ids '1 2 3' --target 3
    said 'the model has no tokenizer: name the token by its id'
    run -2 --separate-stderr tg-lens -m ids.npz --ids '1 2 3' --attribute 3-4
    said 'the model has no tokenizer: name the token by its id'
    tg-lens -m ids.npz --ids '1 2 3' --attribute-ids 3 -o parts.npz
    [[ $(names parts.npz | grep -c text) = 0 ]]
}

# ---- errors

@test "wrong usage is refused" {
    slow_unless_sanitized
    induction
    refused() { run -2 --separate-stderr tg-lens -q -m induction -p abc "$@" < /dev/null && [[ -z $output ]]; }
    refused --target a --target-id 3
    said '--target and --target-id cannot be combined'
    refused -a a --attribute-ids 3
    said '--attribute and --attribute-ids cannot be combined'
    for target in '--target a' '--target-id 3'; do
        for attribute in '--attribute a' '--attribute-ids 3'; do
            # shellcheck disable=SC2086
            refused $target $attribute
            said '--target does not go with --attribute, which names its token'
        done
    done
    refused -a a --layer 1
    said '--layer does not go with --attribute, which adds up all layers'
    refused -a a --top 1 -o a.npz
    said '--top does not go with --attribute and --output, whose archive has all parts'
    refused --keys
    said '--keys goes with --attribute'
    refused --neurons 2
    said '--neurons goes with --attribute'
    for option in '--format text' --no-header '-a a --keys' '-a a --neurons 1'; do
        # shellcheck disable=SC2086
        refused -o out.npz $option
        option=${option#-a a }
        said "--output writes an archive with all numbers: it takes no ${option%% *}"
    done
    refused operand
    said "unexpected operand 'operand': give the text with -p or on standard input"
    refused --ids '1 2'
    said '--prompt and --ids'
    refused --layer 3
    said 'layer 3 is out of range: expected 0 to 2'
    refused --position 3
    said 'position 3 is out of range: expected 0 to 2'
    refused -a a --position 3
    said 'position 3 is out of range: expected 0 to 2'
    refused --top 258
    said "--top 258 exceeds the model's 257 ids"
    refused --neurons 0 -a a
    said '--neurons must be between 1 and'
    refused --neurons 257 -a a
    said '257 units are more than the 256 of an MLP'
    refused --target ab
    said "--target must be one token, but 'ab' is 2"
    refused --target ''
    said "--target must be one token, but '' is 0"
    refused --target-id 257
    said '--target-id 257 is out of range: expected 0 to 256'
    refused --attribute ab
    said "--attribute must be one token, but 'ab' is 2"
    refused --attribute a-bc
    said "--attribute must be a token, or two with a hyphen between them: 'a-bc' is neither"
    refused --attribute=-a
    said "--attribute must be a token, or two with a hyphen between them: '-a' is neither"
    for ids in '' x 1- -1 1-2-3 '1 2' 1-x; do
        refused --attribute-ids="$ids"
        said "--attribute-ids must be an id, or two as ID-ID, got '$ids'"
    done
    refused --attribute-ids 257
    said '--attribute-ids 257 is out of range: expected 0 to 256'
    refused --attribute-ids 3-257
    said '--attribute-ids 257 is out of range: expected 0 to 256'
    [[ ! -e out.npz ]]
}

@test "an archive is not written to a terminal, nor over the text" {
    model gpt2
    [[ $(on_terminal 'tg-lens -m gpt2.npz -p ab -o -') = *'this is a terminal'* ]]
    printf abc > text.npz
    run_pipe 2 'tg-lens -m gpt2.npz -o text.npz < text.npz'
    said 'standard input is read, and the output would replace it'
    [[ $(cat text.npz) = abc ]]
}

@test "bad data is refused, with the file's name" {
    need python3
    model gpt2
    run -2 --separate-stderr tg-lens -m gpt2.npz -p ''
    said '--prompt must not be empty'
    make_text 33 > text
    run_pipe 1 'tg-lens -m gpt2.npz < text'
    said "the text has 33 tokens, which exceeds the model's context of 32"
    run -3 --separate-stderr tg-lens -m absent.npz -p ab
    said 'absent.npz: No such file or directory'
    run -1 --separate-stderr tg-lens -m text -p ab
    said 'text: not an .npz archive'
    head -c 5000 gpt2.npz > cut.npz
    run -1 --separate-stderr tg-lens -m cut.npz -p ab
    said 'cut.npz: '
    # the output head is the embedding: 256 is a row without a token
    change_npz gpt2.npz huge.npz 'fill("wte.weight", 3e38, 256 * 16, 257 * 16)
fill("ln_f.bias", 1e3)'
    run -1 --separate-stderr tg-lens -m huge.npz -p ab --tsv
    said 'huge.npz: position 0 after layer 2: logit 256 is inf: it must be finite'
    run -1 --separate-stderr tg-lens -m huge.npz -p ab -o huge-lens.npz
    said 'huge.npz: position 0 after layer 2: logit 256 is inf: it must be finite'
    [[ ! -e huge-lens.npz ]]
    change_npz gpt2.npz wide.npz 'fill("wte.weight", 3e38, 99 * 16, 100 * 16)
fill("ln_f.bias", 1e3)'
    run -1 --separate-stderr tg-lens -m wide.npz -p ab -a c
    said 'wide.npz: the logit of token 99 at position 1 is not finite'
    [[ -z $output ]]
}

@test "a full disk is noticed" {
    need_dev_full
    model gpt2
    for options in '' --tsv --json '-o -' '-a b' '-a b --json' '-a b -o -'; do
        run -3 --separate-stderr bash -c "tg-lens -m gpt2.npz -p abcab $options > /dev/full"
        said 'standard output: '
    done
}
