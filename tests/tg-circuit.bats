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
    tiny
    tg-circuit --tsv > tsv
    [[ $(head -n 1 tsv) = $'layer\thead\tov_norm\tqk_norm\tcopying\tpositive\tduplicate\tprevious\tdiagonal' ]]
    need_numpy
    tg-circuit --json | python3 -c '
import json, sys
for line in sys.stdin:
    print(*["%.9g" % x for x in json.loads(line).values()], sep="\t")' | cmp - <(sed 1d tsv)
}

@test "a head that copies, one that does the opposite, one that attends to the position before" {
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
    for preset in baby baby-llama baby-qwen3 baby-gemma3 baby-neox; do
        tg-init -q -P $preset --n-embd 32 --n-inner 64 --n-layer 2 --force -o model.npz 2> /dev/null ||
            tg-init -q -P $preset --n-embd 32 --n-layer 2 --force -o model.npz
        tg-circuit --tsv > got
        [[ $(wc -l < got) = 9 ]]
        awk -F '\t' -v learned=$([[ $preset = baby ]] && echo 1 || echo 0) \
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
    tiny --n-layer 1
    run -2 --separate-stderr tg-circuit --compose
    said '--compose needs two layers, and the model has one'
}
