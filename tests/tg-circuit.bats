load helper

# A model of 3 layers, 2 heads, 16 channels and 16 positions.
tiny() {
    tg-init --n-layer 3 --n-head 2 --n-embd 16 --n-ctx 16 "$@" -o model.npz 2> /dev/null
}

# ---- heads

@test "a line per head, with titles that say what is computed" {
    tiny
    run -0 --separate-stderr tg-circuit
    [[ ${lines[0]} = '# gpt2: 3 layers of 2 heads, 2 of keys, C = 16, D = 8' ]]
    [[ $output = *'the eigenvalues of W_E OV W_U'* ]]
    [[ ${lines[6]} =~ ^#\ layer\ head\ +ov_norm\ +qk_norm\ copying\ posit\ duplic\ +prev\ +diag$ ]]
    [[ ${lines[7]} =~ ^\ +0\ +0(\ +-?[0-9.]+){7}$ ]]
    [[ ${#lines[@]} = 13 && -z $stderr ]]
    run -0 tg-circuit --no-header
    [[ ${#lines[@]} = 6 ]]
}

@test "tab-separated values and JSON have the same numbers" {
    slow_unless_sanitized
    tiny
    tg-circuit --tsv > tsv
    [[ $(head -n 1 tsv) = $'layer\thead\tov_norm\tqk_norm\tcopying\tpositive\tduplicate\tprevious\tdiagonal' ]]
    need_numpy
    tg-circuit --json | python3 -c '
import json, sys
for line in sys.stdin:
    print(*["%.9g" % x for x in json.loads(line).values()], sep="\t")' | cmp - <(sed 1d tsv)
}

@test "-o: an archive has the numbers of the lines, for NumPy" {
    slow_unless_sanitized
    need_numpy
    tiny
    for options in '' '-l 1' '-a 1' '-l 2 -a 0'; do
        # shellcheck disable=SC2086
        tg-circuit $options --tsv > tsv
        # shellcheck disable=SC2086
        tg-circuit $options -o circuit.npz
        python3 - << 'PY'
import csv, numpy as np
a, rows = np.load("circuit.npz"), list(csv.DictReader(open("tsv"), delimiter="\t"))
assert a.files[:2] == ["kind", "version"] and a["kind"] == b"circuit" and a["version"] == 1
assert a["circuit/n_layer"] == 3 and a["circuit/n_head"] == 2
at = [(l, h) for l in a["circuit/layers"] for h in a["circuit/heads"]]
assert at == [(int(r["layer"]), int(r["head"])) for r in rows]
for name in "ov_norm", "qk_norm", "copying", "positive", "duplicate", "previous", "diagonal":
    x = a["circuit/" + name]
    assert x.shape == (len(a["circuit/layers"]), len(a["circuit/heads"])) and x.dtype == np.float64
    assert np.allclose(x.ravel(), [float(r[name]) for r in rows], rtol=1e-8, atol=0), name
PY
        unzip -qt circuit.npz > unzipped
    done
    tg-circuit --threads 3 -o - | cmp - <(tg-circuit -o -)
    # without learned positions, two numbers are not there
    tg-init -q -P baby-neox --n-layer 1 --n-head 1 --n-embd 8 --n-ctx 8 -o neox.npz
    tg-circuit -m neox.npz -o circuit.npz
    python3 -c 'import numpy as np
a = np.load("circuit.npz")
assert "circuit/diagonal" not in a and "circuit/previous" not in a and "circuit/copying" in a'
}

@test "-o --compose: the pairs, 0 where there is none" {
    slow_unless_sanitized
    need_numpy
    tiny
    for options in '' '-l 2' '-a 1'; do
        # shellcheck disable=SC2086
        tg-circuit --compose $options --tsv > tsv
        # shellcheck disable=SC2086
        tg-circuit --compose $options -o pairs.npz
        python3 - << 'PY'
import csv, numpy as np
a, rows = np.load("pairs.npz"), list(csv.DictReader(open("tsv"), delimiter="\t"))
layers, heads = a["circuit/layers"].tolist(), a["circuit/heads"].tolist()
left = {name: a["circuit/" + name].copy() for name in "qkv"}
for r in rows:
    at = layers.index(int(r["layer"])), heads.index(int(r["head"])), int(r["from_layer"]), int(r["from_head"])
    assert abs(left[r["type"]][at] - float(r["score"])) <= 1e-8 * float(r["score"])
    left[r["type"]][at] = 0
assert all(x.shape == (len(layers), len(heads), 3, 2) and (x == 0).all() for x in left.values())
assert abs(a["circuit/baseline"] - float(rows[0]["baseline"])) < 1e-8
PY
    done
}

@test "-o: what does not go with it, and what is not replaced" {
    tiny
    refused() { run -2 --separate-stderr tg-circuit "${@:2}" && [[ -z $output ]] && said "$1"; }
    refused '--output writes an archive of heads or of pairs: it takes no --tokens' --tokens -o out.npz
    refused '--output writes an archive of heads or of pairs: it takes no --format' --tsv -o out.npz
    refused '--output writes an archive of heads or of pairs: it takes no --no-header' --no-header -o out.npz
    refused 'model.npz is read, and the output would replace it' -o model.npz
    refused 'out.svg: -o writes an archive (.npz), of which tg-attn-view makes pictures' -o out.svg
    tg-lens -m model.npz -p ab -o lens.npz
    refused 'lens.npz: predictions after each layer; --force replaces it' -o lens.npz
    tg-circuit -o lens.npz --force
    tg-circuit --compose -o lens.npz
}

@test "a head that copies, one that does the opposite, one that attends to the position before" {
    slow_unless_sanitized
    tg-init --n-layer 1 --n-head 4 --n-embd 32 --n-ctx 8 --vocab-size 256 -o model.npz 2> /dev/null
    need_numpy
    python3 - <<'PY'
import numpy as np
z = dict(np.load("model.npz"))
rng = np.random.default_rng(0)
w, o = np.zeros((32, 96)), np.zeros((32, 32))
z["wte.weight"][:, :24] = rng.standard_normal((256, 24))
z["wte.weight"][:, 24:] = 0
for head, sign in (0, 1), (1, -1):
    span = slice(8 * head, 8 * head + 8)
    w[span, 64 + 8 * head:72 + 8 * head] = np.eye(8)
    o[span, span] = sign * np.eye(8)
# head 2: position t asks for what position t - 1 answers with
z["wpe.weight"][:] = 0
z["wpe.weight"][:, 24:] = 20 * np.eye(8)
w[24:, 16:24] = 20 * np.eye(8)
w[24:, 48:56] = 20 * np.roll(np.eye(8), 1, axis=1)
# head 3: a token asks for itself
w[:8, 24:32] = w[:8, 56:64] = np.eye(8)
z["h.0.attn.c_attn.weight"][:], z["h.0.attn.c_proj.weight"][:] = w, o
np.savez("model.npz", **z)
PY
    tg-circuit --tsv > got
    awk -F '\t' '$2 == 0 && NR > 1 { exit !($5 > 0.99 && $6 > 0.99) }' got
    awk -F '\t' '$2 == 1 && NR > 1 { exit !($5 < -0.99 && $6 < 0.01) }' got
    awk -F '\t' '$2 == 2 && NR > 1 { exit !($8 > 0.99 && $9 < 0.01) }' got
    awk -F '\t' '$2 == 3 && NR > 1 { exit !($7 > 0.99) }' got
    awk -F '\t' '$2 == 2 { print $5 }' got | cmp - <(echo) # it moves nothing, and has no eigenvalues
}

@test "every family has heads; positions are those of models that learn them" {
    local preset learned
    for preset in baby $BABIES $MORE_BABIES; do
        tg-init -q -P $preset --n-embd 32 --n-inner 64 --n-layer 2 --force -o model.npz 2> /dev/null ||
            tg-init -q -P $preset --n-embd 32 --n-layer 2 --force -o model.npz
        tg-circuit --tsv > got
        [[ $(wc -l < got) = 9 ]]
        learned=0
        [[ $preset != baby ]] || learned=1
        awk -F '\t' -v learned=$learned \
            'NR > 1 && ($3 <= 0 || $5 < -1 || $5 > 1 || $6 < 0 || $6 > 1 || ($8 != "") != learned) { exit 1 }' got
    done
}

@test "one layer, one head; the model from a pipe; any number of threads" {
    tiny
    tg-circuit --tsv > want
    tg-circuit --tsv -l 1 | sed 1d | cmp - <(sed -n 4,5p want)
    tg-circuit --tsv -a 1 | sed 1d | cmp - <(awk 'NR > 1 && $2 == 1' want)
    tg-circuit --tsv -m - < model.npz | cmp - want
    for n in 1 2 3; do
        tg-circuit --tsv --threads $n | cmp - want
    done
    tg-convert model.npz --to hf --lossy -o hf 2> /dev/null
    tg-circuit --tsv -m hf | cmp - want
}

# A GPT-2 of 600 million weights of bf16, zeros in a sparse file, of which one layer is read; a position has a NaN.
@test "a NaN in a model that is read layer by layer: an error in place of lines" {
    slow_unless_sanitized
    need_plain_build
    need python3
    python3 -c '
import json, os
C, L, V, T = 704, 100, 8, 4
def shapes(l):
    h = "transformer.h.%d." % l
    for name, size in ("ln_1", C), ("ln_2", C):
        yield h + name + ".weight", (size,)
        yield h + name + ".bias", (size,)
    for name, i, o in ("attn.c_attn", C, 3 * C), ("attn.c_proj", C, C), ("mlp.c_fc", C, 4 * C), ("mlp.c_proj", 4 * C, C):
        yield h + name + ".weight", (i, o)
        yield h + name + ".bias", (o,)
tensors = [("transformer.wte.weight", (V, C)), ("transformer.wpe.weight", (T, C)), ("transformer.ln_f.weight", (C,)),
           ("transformer.ln_f.bias", (C,)), *(t for l in range(L) for t in shapes(l))]
header, at = {}, 0
for name, shape in tensors:
    size = 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)
    header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
    at += size
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
os.mkdir("large")
with open("large/model.safetensors", "wb") as f:
    f.write(len(text).to_bytes(8, "little") + text)
    f.seek(2 * V * C + 2 * 7, 1)
    f.write(b"\xc0\x7f")
    f.truncate(8 + len(text) + at)
with open("large/config.json", "w") as f:
    json.dump({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": C, "n_layer": L, "n_head": 11,
               "vocab_size": V, "n_positions": T, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"}, f)
'
    run -1 --separate-stderr tg-circuit -q -m large -l 0 --tsv --no-header
    said 'wpe.weight[7] is nan'
    [[ -z $output ]]
}

# ---- pairs

@test "--compose: a line per pair and type, from earlier to later layers" {
    tiny
    tg-circuit --compose --tsv > got
    [[ $(head -n 1 got) = $'type\tfrom_layer\tfrom_head\tlayer\thead\tscore\tbaseline\texcess' ]]
    [[ $(wc -l < got) = $((1 + 3 * 2 * 2 * 3)) ]]
    awk -F '\t' 'NR > 1 && ($2 >= $4 || $6 <= 0 || $6 > 1 || $7 != 0.25 || ($6 - $7 - $8) ^ 2 > 1e-16) { exit 1 }' got
    [[ $(sed 1d got | cut -f 1-5 | sort -u | wc -l) = 36 ]]
    tg-circuit --compose --tsv -l 2 -a 1 | sed 1d | cmp - <(awk '$4 == 2 && $5 == 1' got)
    tg-circuit --compose --tsv --threads 3 | cmp - got
    run -0 --separate-stderr tg-circuit --compose
    [[ ${lines[4]} =~ ^#\ type\ from_layer\ from_head\ layer\ head\ +score\ baseline\ +excess$ && ${#lines[@]} = 41 ]]
    [[ ${lines[5]} =~ ^\ +q\ +0\ +0\ +1\ +0\ +0\.[0-9]{5}\ +0\.25000\ +-?0\.[0-9]{5}$ ]]
    tg-circuit --compose --json | sed -n 2p | grep -q '^{"type":"k","from_layer":0,"from_head":0,"layer":1,"head":0,"score":0\.[0-9]*,'
}

# ---- tokens

@test "--tokens: the ends of directions, or of a token" {
    tiny
    tg-circuit --tokens --tsv > got
    [[ $(head -n 1 got) = $'layer\thead\tcircuit\tdirection\tsize\tend\trank\tvalue\tid\ttoken' ]]
    [[ $(wc -l < got) = $((1 + 3 * 2 * 2 * 3 * 2 * 5)) ]]
    # sizes and values fall
    sed 1d got | awk -F '\t' '$7 > 0 && $8 > value { exit 1 } $4 > 0 && $3 == circuit && $5 > size { exit 1 }
        { value = $8; size = $5; circuit = $3 }'
    tg-circuit --tokens --tsv --threads 3 | cmp - got
    tg-circuit --tokens --tsv -l 1 -a 1 -n 1 -k 2 | sed 1d |
        cmp - <(awk -F '\t' '$1 == 1 && $2 == 1 && $4 == 0 && $7 < 2' got)
    tg-circuit --tokens --token e -k 1 -l 0 -a 0 > text
    [[ $(tail -n 1 text) =~ ^\ +0\ +0\ +qk\ +key\ +0\ +[0-9.]+\ \"[^\ ]+\"$ ]]
    tg-circuit --tokens --token-id 101 -k 1 -l 0 -a 0 | cmp - text
    tg-circuit --tokens --token e -k 300 -l 0 -a 0 --tsv > all
    [[ $(wc -l < all) = $((1 + 4 * 256)) ]]
    [[ $(tg-circuit --tokens --token e -k 1 -l 0 -a 0 --json | sed -n 2p) =~ ^\{\"layer\":0,\"head\":0,\"circuit\":\"ov\",\"end\":\"writes\",\"rank\":0,\"value\":[0-9.e-]+,\"id\":[0-9]+,\"token\":\".+\"\}$ ]]
}

@test "--tokens and NumPy's products agree" {
    slow_unless_sanitized
    tiny
    tg-circuit --tokens --token e -k 256 -l 1 -a 1 --tsv > got
    need_numpy
    python3 - <<'PY'
import numpy as np
z = {k: v.astype(float) for k, v in np.load("model.npz").items() if v.dtype == np.float32}
P = np.eye(16) - 1 / 16
w = P @ np.diag(z["h.1.ln_1.weight"]) @ z["h.1.attn.c_attn.weight"]
q, k, v = (w[:, 16 * i + 8:16 * i + 16] for i in range(3))
E, U = z["wte.weight"], P @ np.diag(z["ln_f.weight"]) @ z["wte.weight"].T
ov, qk = E @ v @ z["h.1.attn.c_proj.weight"][8:] @ U, E @ q @ k.T @ E.T
want = {"writes": ov[101], "reads": ov[:, 101], "key": qk[101], "query": qk[:, 101]}
lines = [line.rstrip("\n").split("\t") for line in open("got")][1:]
assert len(lines) == 4 * 256
for line in lines:
    assert abs(float(line[5]) - want[line[3]][int(line[6])]) < 1e-12, line
PY
}

# ---- mistakes

@test "heads that do not exist, and other mistakes" {
    tiny
    run -2 --separate-stderr tg-circuit -l 3
    said 'layer 3'
    run -2 --separate-stderr tg-circuit -a 2 --compose
    said 'head 2'
    run -2 --separate-stderr tg-circuit -a x
    said 'x'
    run -2 --separate-stderr tg-circuit model.npz
    said "unexpected operand 'model.npz': the model is named with -m"
    run -3 --separate-stderr tg-circuit -m none.npz
    said 'none.npz'
    head -c 3000 model.npz > cut.npz
    run -1 --separate-stderr tg-circuit -m cut.npz
    said 'cut.npz'
    run -2 --separate-stderr tg-circuit --tokens --token ab
    said "--token must be one token, but 'ab' is 2"
    run -2 --separate-stderr tg-circuit --tokens --token-id 256
    said 'token-id 256'
    run -2 --separate-stderr tg-circuit --tokens --token a --token-id 1
    said '--token and --token-id cannot be combined'
    run -2 --separate-stderr tg-circuit --tokens --compose
    said '--compose and --tokens cannot be combined'
    run -2 --separate-stderr tg-circuit --tokens --token a -n 1
    said '--directions does not go with a token'
    for option in '--token a' '--token-id 1' '--top 1' '--directions 1'; do
        run -2 --separate-stderr tg-circuit $option
        said "${option% *} goes with --tokens"
    done
    tg-init -q -t ids --vocab-size 11 --n-layer 1 --n-head 1 --n-embd 4 --n-ctx 4 --force -o model.npz
    tg-circuit --tokens --token-id 3 > /dev/null
    run -2 --separate-stderr tg-circuit --tokens --token a
    said 'the model has no tokenizer: name the token by its id'
    tiny --force
    run -2 --separate-stderr tg-circuit --compose -l 0
    said '--compose needs an earlier layer, and layer 0 has none'
    [[ -z $output ]]
    tiny --force --n-layer 1
    run -2 --separate-stderr tg-circuit --compose
    said '--compose needs two layers, and the model has one'
}
