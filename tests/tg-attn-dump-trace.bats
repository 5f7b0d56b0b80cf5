# tg-attn-dump --trace: one score as a derivation, and its gradient.

load helper

# A model of 2 layers, 2 heads, 8 channels and 16 positions.
tiny() {
    tg-init --n-layer 2 --n-head 2 --n-embd 8 --n-ctx 16 "$@" -o model.npz 2> /dev/null
}

# lively FACTOR: model.npz again with matrices so large that no number is near zero.
lively() {
    need_numpy
    python3 -c '
import sys, numpy as np
arrays = dict(np.load("model.npz"))
rng = np.random.default_rng(1)
for name, a in arrays.items():
    if a.dtype == np.float32:
        arrays[name] = (a * (float(sys.argv[1]) if a.ndim == 2 else 1) + 0.1 * rng.standard_normal(a.shape)).astype(np.float32)
np.savez("model.npz", **arrays)
' "$1"
}

# has LINE...: each is a line of the last run's output.
has() {
    local line
    for line; do
        grep -qFx -e "$line" <<< "$output" || { echo "no line: $line"; echo "$output"; return 1; }
    done
}

# trace ARGUMENT...: run it; it prints and says nothing else.
trace() {
    run -0 --separate-stderr tg-attn-dump "$@"
    [[ -z $stderr ]]
}

# ---- the worked examples

@test "baseline: scores[0,2,1], step by step" {
    trace --example baseline --trace 0,2,1 --through att
    has 'scores[b,i,j] = (sum over c of q[b,i,c] * k[b,j,c]) / sqrt(C)  for j <= i' \
        'q, k, v [B,T,C] = [1,3,4]   scores, probs [B,T,T] = [1,3,3]' \
        'q_base = (b*T + i)*C = (0*3 + 2)*4 = 8' \
        'k_base = (b*T + j)*C = (0*3 + 1)*4 = 4' \
        'scores offset = (b*T + i)*T + j = (0*3 + 2)*3 + 1 = 7' \
        '  0  q.data[8]  = 1.00000000  k.data[4] = 0.00000000  0.00000000  0.00000000' \
        '  1  q.data[9]  = 0.00000000  k.data[5] = 1.00000000  0.00000000  0.00000000' \
        '  2  q.data[10] = 1.00000000  k.data[6] = 0.00000000  0.00000000  0.00000000' \
        '  3  q.data[11] = 0.00000000  k.data[7] = 0.00000000  0.00000000  0.00000000' \
        'sum = 0.00000000' \
        'scale = 1/sqrt(C) = 1/sqrt(4) = 0.50000000' \
        'j > i is 1 > 2: false' \
        'scores[0,2,1] = scores.data[7] = 0.00000000' \
        'max = the greatest of scores.data[6..8] = 0.50000000' \
        '     0       6    0.50000000    1.00000000    0.38365173' \
        '>    1       7    0.00000000    0.60653066    0.23269654' \
        '     2       8    0.50000000    1.00000000    0.38365173' \
        'sum of the exponentials = 2.60653066' \
        'without max: e^0.50000000 + e^0.00000000 + e^0.50000000' \
        '    = 1.64872127 + 1.00000000 + 1.64872127 = 4.29744254' \
        'probs[0,2,1] = probs.data[7] = 0.60653066 / 2.60653066 = 0.23269654' \
        'att[0,2,0] = att.data[8] = 0.38365173' \
        'its head: att.data[8..11] = 0.38365173 0.46539308 1.15095519 0.00000000'
    # the same with the head named, and every channel of the weighted sum
    tg-attn-dump --example baseline --trace 0,0,2,1 --through att | cmp - <(echo "$output")
    for c in 0:0.38365173 1:0.46539308 2:1.15095519 3:0.00000000; do
        trace --example baseline --trace 0,2,1 --through att --channel "${c%:*}"
        has "att[0,2,${c%:*}] = att.data[$((8 + ${c%:*}))] = ${c#*:}"
    done
}

@test "mha: scores[0,1,2,1], step by step" {
    trace --example mha --trace 0,1,2,1 --through att
    has 'scores[b,h,i,j] = (sum over d of q[b,i,h,d] * k[b,j,h,d]) / sqrt(D)  for j <= i' \
        'q, k, v [B,T,C] = [1,3,4] seen as [B,T,H,D] = [1,3,2,2]' \
        'scores, probs [B,H,T,T] = [1,2,3,3]' \
        'q_base = ((b*T + i)*H + h)*D = ((0*3 + 2)*2 + 1)*2 = 10' \
        'k_base = ((b*T + j)*H + h)*D = ((0*3 + 1)*2 + 1)*2 = 6' \
        '              = ((0*2 + 1)*3 + 2)*3 + 1 = 16' \
        '  0  q.data[10] =  1.00000000  k.data[6] = 0.00000000   0.00000000   0.00000000' \
        '  1  q.data[11] = -1.00000000  k.data[7] = 1.00000000  -1.00000000  -1.00000000' \
        'scale = 1/sqrt(D) = 1/sqrt(2) = 0.70710678' \
        'score = sum * scale = sum / sqrt(2) = -1.00000000 / 1.41421356 = -0.70710678' \
        'scores[0,1,2,1] = scores.data[16] = -0.70710678' \
        '     0      15    0.70710678    1.00000000    0.57597535' \
        '>    1      16   -0.70710678    0.24311673    0.14002925' \
        '     2      17    0.00000000    0.49306869    0.28399541' \
        'without max: e^0.70710678 + e^-0.70710678 + e^0.00000000' \
        '    = 2.02811498 + 0.49306869 + 1.00000000 = 3.52118367' \
        'its head: att.data[10..11] = 7.17973050 2.82026950'
    run -2 --separate-stderr tg-attn-dump --example mha --trace 0,2,1
    said '--trace 0,2,1 must be B,H,I,J, four numbers, because there are 2 heads'
    trace --example mha --heads 1 --trace 0,2,1
    has 'scale = 1/sqrt(C) = 1/sqrt(4) = 0.50000000'
}

@test "indexing: the terms of scores[0,1,0], and why scores[0,1,2] is masked" {
    trace --example indexing --trace 0,1,0
    has 'q_base = (b*T + i)*C = (0*3 + 1)*2 = 2' \
        'k_base = (b*T + j)*C = (0*3 + 0)*2 = 0' \
        'scores offset = (b*T + i)*T + j = (0*3 + 1)*3 + 0 = 3' \
        '  0  q.data[2] = 2.00000000  k.data[0] = 0.00000000  0.00000000  0.00000000' \
        '  1  q.data[3] = 3.00000000  k.data[1] = 0.12500000  0.37500000  0.37500000' \
        'scale = 1/sqrt(C) = 1/sqrt(2) = 0.70710678'
    trace --example indexing --trace 0,1,2 --through att --backward
    has 'q_base = (b*T + i)*C = (0*3 + 1)*2 = 2' \
        'k_base = (b*T + j)*C = (0*3 + 2)*2 = 4' \
        'scores offset = (b*T + i)*T + j = (0*3 + 1)*3 + 2 = 5' \
        'none: the loop stops at j = i = 1; key 2 is masked' \
        'j > i is 2 > 1: true' \
        'key 2 comes after query 1, which must not see it: masked' \
        'scores[0,1,2] = scores.data[5] = -1e9' \
        'key 2: masked, -1e9; exponential 0, probability 0' \
        'probs[0,1,2] = probs.data[5] = 0: the softmax is over the 2 keys that' \
        'dprobs[0,1,2] = dprobs.data[5] = 0: the loop over keys ends at j = i = 1' \
        'dscores[0,1,2] = dscores.data[5] = 0: the score is -1e9 whatever q and k are,' \
        'nothing: a masked score is no function of q and k'
    run -1 grep -e '^>' -e 'q.data.2. ' <<< "$output"
}

@test "mask: the causal table, every row" {
    rows() {
        tg-attn-dump --example mask --trace "0,$1,0" | awk '/^# 6/ { on = 1 } on && /^[> ] *[0-9]/ {
            sub(/^>/, ""); printf "%s%s %s", n++ ? ", " : "", $3, $5 } END { print "" }'
    }
    [[ $(rows 0) = '0.20000000 1.00000000' ]]
    [[ $(rows 1) = '0.50000000 0.57444252, 0.20000000 0.42555748' ]]
    [[ $(rows 2) = '0.30000000 0.33222499, 0.40000000 0.36716540, 0.20000000 0.30060961' ]]
    [[ $(rows 3) = '0.10000000 0.21383822, 0.30000000 0.26118259, 0.40000000 0.28865141, 0.20000000 0.23632778' ]]
    trace --example mask --trace 0,1,3
    has 'scores[0,1,3] = scores.data[7] = -1e9' '(unmasked it would be 0.20000000)' \
        'keys 2 to 3: masked, -1e9; exponential 0, probability 0'
    # the scores that it hides
    for at in 0,1:0.3 0,2:0.1 0,3:0.4 1,2:0.1 1,3:0.2 2,3:0.1; do
        trace --example mask --trace "0,${at%:*}"
        has "(unmasked it would be ${at#*:}0000000)"
    done
}

@test "the sum without the maximum: of a key, of a long row, beyond float32, and of nothing but zeros" {
    slow_unless_sanitized
    trace --example mask --trace 0,0,2
    has 'without max: e^0.20000000 = 1.22140276'
    # four terms are shown; of more, the first two and the last
    trace --example mask --trace 0,3,1
    has 'without max: e^0.10000000 + e^0.30000000 + e^0.40000000 + e^0.20000000' \
        '    = 1.10517092 + 1.34985881 + 1.49182470 + 1.22140276 = 5.16825718'
    printf '%s\n' 'q f4 1,5,1 1 1 1 1 1' 'k f4 1,5,1 0 1 2 3 4' 'v f4 1,5,1 0 0 0 0 0' | npz a.npz
    trace --qkv a.npz --trace 0,3,1
    has 'without max: e^0.00000000 + e^1.00000000 + e^2.00000000 + e^3.00000000'
    trace --qkv a.npz --trace 0,4,1
    has 'without max: e^0.00000000 + e^1.00000000 + ... + e^4.00000000, 5 terms' \
        '    = 1.00000000 + 2.71828183 + ... + 54.59815003 = 85.79102488'
    # exp(88.72) is a float32, exp(88.73) is not; the softmax is right with both, and beyond a double's range
    for at in 88.72: 88.73:88.73000336 1000:1000.00000000; do
        printf '%s\n' "q f4 1,2,1 0 ${at%:*}" 'k f4 1,2,1 0 1' 'v f4 1,2,1 0 0' | npz a.npz
        trace --qkv a.npz --trace 0,1,1
        if [[ -n ${at#*:} ]]; then
            has "without max: the sum, at least e^${at#*:}, exceeds a float32's range"
        else
            [[ $output = *'without max: e^0.00000000 + e^88.7'*' = '* ]]
        fi
        [[ $output = *' / 1.00000000 = 1.00000000' ]]
    done
    printf '%s\n' 'q f4 1,1,1 1' 'k f4 1,1,1 -1000' 'v f4 1,1,1 0' | npz a.npz
    trace --qkv a.npz --trace 0,0,0
    has 'without max: e^-1000.00000000 = 0.00000000'
}

@test "shapes: offsets in [2,4,512] and [2,8,4,4], eight heads or one" {
    slow
    trace --example shapes --trace 1,5,3,2
    has 'q, k, v [B,T,C] = [2,4,512] seen as [B,T,H,D] = [2,4,8,64]' \
        'scores, probs [B,H,T,T] = [2,8,4,4]' \
        'q_base = ((b*T + i)*H + h)*D = ((1*4 + 3)*8 + 5)*64 = 3904' \
        'k_base = ((b*T + j)*H + h)*D = ((1*4 + 2)*8 + 5)*64 = 3392' \
        '              = ((1*8 + 5)*4 + 3)*4 + 2 = 222' \
        'scale = 1/sqrt(D) = 1/sqrt(64) = 0.12500000'
    [[ $(grep -c '^ .*q.data\[' <<< "$output") = 64 ]]
    [[ $output = *'q.data[3904]'*'k.data[3392]'*'q.data[3967]'*'k.data[3455]'* ]]
    trace --example shapes --heads 1 --trace 1,3,2
    has 'scale = 1/sqrt(C) = 1/sqrt(512) = 0.04419417'
    need_numpy
    tg-attn-dump --example shapes -f tsv > dump
    python3 -c '
import numpy as np
n = np.arange(2 * 4 * 512)
q, k = [(((f * n % p) - p // 2) / 64).reshape(2, 4, 8, 64).transpose(0, 2, 1, 3) for f, p in ((37, 101), (53, 103))]
s = q @ k.swapaxes(2, 3) / 8
got = np.loadtxt("dump", skiprows=1)
assert got.shape == (256, 11)
for row in got:
    _, h, b, i, j = row[:5].astype(int)
    assert j > i or abs(row[8] - s[b, h, i, j]) < 1e-9, row'
}

# ---- a model

@test "the trace of every element says what the rows say" {
    slow
    tiny
    tg-attn-dump -p 'To be' --format tsv | tail -n +2 > dump
    while IFS=$'\t' read -r layer head b i j q k offset score masked prob; do
        tg-attn-dump -p 'To be' --layer "$layer" --trace "$b,$head,$i,$j" > trace
        awk -v q="$q" -v k="$k" -v o="$offset" -v s="$score" -v m="$masked" -v p="$prob" '
            # eight decimals here, a float32 there
            function off(a, b) { d = a - b; most = 5.1e-9 + 6e-8 * (b < 0 ? -b : b); return d > most || d < -most }
            /^q_base/ { n += $NF == q }
            /^k_base/ { n += $NF == k }
            $1 ~ /^scores\[/ && $3 == "scores.data[" o "]" { n++; if (m ? $5 != "-1e9" : off($5, s)) exit bad = 1 }
            $1 ~ /^probs\[/ && $3 == "probs.data[" o "]" { n++; if (off(m ? $5 + 0 : $NF, p)) exit bad = 1 }
            END { exit bad || n != 4 }' trace || { echo "$layer $head $i $j"; cat trace; false; }
    done < dump
    [[ $(wc -l < dump) = 100 ]]
}

@test "tokens, layers, and the place in qkv" {
    tiny
    trace -p 'To be' --trace 0,1,4,2
    has '# trace of scores[0,1,4,2], layer 0 of 0 to 1 (choose with --layer)' '# query i = 4 "e", key j = 2 " "' \
        'in qkv [B,T,3C] = [1,5,24], of which q, k and v are slices' \
        '    = qkv.data[(0*5 + 4)*24 + 1*4] = qkv.data[100]' \
        '    = qkv.data[(0*5 + 2)*24 + 8 + 1*4] = qkv.data[60]'
    trace -p 'To be' --layer 1 --trace 0,1,4,2
    has '# trace of scores[0,1,4,2], layer 1 of 0 to 1'
    # one head has the formulas of one head
    trace -p 'To be' --heads 1 --trace 0,4,2
    has 'q_base = (b*T + i)*C = (0*5 + 4)*8 = 32' 'scale = 1/sqrt(C) = 1/sqrt(8) = 0.35355339'
}

# What an independent GPT says: out, loss, and by central differences the gradient of
# a score.
judge() {
    python3 -c '
import re, sys, numpy as np
m = {k: v.astype(float) if v.dtype == np.float32 else v for k, v in np.load("model.npz").items()}
L, H, C = [int(m["config/" + k]) for k in ("n_layer", "n_head", "n_embd")]
ids = np.frombuffer(b"To be or", np.uint8)
T, D = len(ids), C // H
layer, h, i, j, channel, target = map(int, sys.argv[1:])

def norm(x, name):
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + float(m["config/layer_norm_epsilon"])) * m[name + ".weight"] + m[name + ".bias"]

def linear(x, name):
    return x @ m[name + ".weight"] + m[name + ".bias"]

def loss(move):
    x = m["wte.weight"][ids] + m["wpe.weight"][:T]
    for l in range(L):
        n = "h.%d." % l
        q, k, v = [a.reshape(T, H, D).swapaxes(0, 1) for a in np.split(linear(norm(x, n + "ln_1"), n + "attn.c_attn"), 3, 1)]
        s = q @ k.swapaxes(1, 2) / np.sqrt(D)
        if l == layer:
            s[h, i, j] += move
        s = np.where(np.tri(T), s, -np.inf)
        p = np.exp(s - s.max(2, keepdims=True))
        p /= p.sum(2, keepdims=True)
        out = linear((p @ v).swapaxes(0, 1).reshape(T, C), n + "attn.c_proj")
        if l == layer:
            seen = out[i, channel], s[h, i, j], p[h, i, j]
        x = x + out
        f = linear(norm(x, n + "ln_2"), n + "mlp.c_fc")
        f = f / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (f + 0.044715 * f ** 3)))
        x = x + linear(f, n + "mlp.c_proj")
    logits = norm(x, "ln_f")[-1] @ m["wte.weight"].T
    return np.log(np.exp(logits - logits.max()).sum()) + logits.max() - logits[target], seen

want, (out, score, prob) = loss(0)
slope = (loss(1e-5)[0] - loss(-1e-5)[0]) / 2e-5
text = sys.stdin.read()
def got(pattern):
    return float(re.search(pattern, text, re.M).group(1))
# The layers in front are in float32 there: 1e-5 is some 50 roundings of numbers near 10.
for name, a, b in (("out", got(r"^out\[.* = (\S+)$"), out), ("score", got(r"^scores\[.* = (\S+)$"), score),
                   ("prob", got(r"^probs\[0.* = (\S+)$"), prob), ("loss", got(r"^loss = ([0-9.]+)$"), want),
                   ("dscore", got(r"^    = \S+ \* .* = (\S+)$"), slope)):
    assert abs(a - b) < 1e-5 * max(1, abs(b)), (name, a, b)
if layer + 1 < L or i == T - 1:
    assert abs(slope) > 1e-4, slope
' "$@"
}

@test "through out and backward: what NumPy and central differences say" {
    slow
    tiny
    lively 12
    local layer h i j
    for layer in 0 1; do
        for h in 0 1; do
            for at in 7,3 7,7 4,1; do
                i=${at%,*} j=${at#*,}
                tg-attn-dump -p 'To be or' --layer $layer --trace "0,$h,$i,$j" --through out --channel 1,6 \
                    --backward --target x | judge $layer $h "$i" "$j" 6 120
            done
        done
    done
}

@test "through out: offsets of w, the head's share, the bias" {
    tiny
    trace -p 'To be' --trace 0,1,4,2 --through out --channel 3
    has 'c = 7, w offset = m*C + c, att offset = (b*T + i)*C + m' \
        'w is h.0.attn.c_proj.weight [C,C] = [8,8]; head h has m = h*D to h*D + D - 1' \
        'bias.data[7] = 0.00000000'
    [[ $output = *'att.data[32]'*'w.data[7]'*'att.data[39]'*'w.data[63]'* ]]
    grep -Eq '^out\[0,4,7\] = out.data\[39\] = -?[0-9.e-]+$' <<< "$output"
    grep -Eq '^sum = \S+, of which head 1, m = 4 to 7: ' <<< "$output"
    # the head's column by default, else the one that is named
    trace -p 'To be' --trace 0,1,4,2 --through out --channel 3,0
    has 'c = 0, w offset = m*C + c, att offset = (b*T + i)*C + m'
    [[ $output = *'att[0,4,1,3] = att.data[39] = '* ]]
}

@test "backward: a model's loss, and the place of every number" {
    tiny
    trace -p 'To be' --trace 0,1,4,2 --backward --target x
    has 'T-1 = 4 "e", target = 120 "x"' \
        'loss = -log softmax(logits[T-1])[target], the prediction of the next token' \
        'm = h*D + d = 4: dout.data[32..39] times w.data[32..39], summed:' \
        'dq.data[36..39] sums this over the keys j <= i,' 'dk.data[20..23] over the queries i >= j'
    [[ $output = *'datt.data[36]'*'v.data[20]'*'dprobs[0,1,4,2] = dprobs.data[47] = '* ]]
    [[ $output = *'dscores[0,1,4,2] = dscores.data[47]'*'k.data[20]'*'dq.data[36] +='*'q.data[36]'*'dk.data[20] +='* ]]
    tg-attn-dump -p 'To be' --trace 0,1,4,2 --backward --target-id 120 | cmp - <(echo "$output")
    trace -p 'To be' --trace 0,1,4,2 --backward --target $'\n'
    has 'T-1 = 4 "e", target = 10 "\n"'
    # in the last layer an earlier query cannot reach the loss
    trace -p 'To be' --layer 1 --trace 0,1,3,2 --backward --target x
    has 'it is 0: in the last layer only the last query, 4, reaches the loss' \
        "    = $(sed -n 's/^probs\[0.* = //p' <<< "$output") * (0.00000000 - 0.00000000) = 0.00000000"
}

@test "backward without a model: the loss is a channel of the weighted sum" {
    # by hand, from the eight decimals: probs * (v - att), with v = 0, 2, 0 in channel 1
    trace --example baseline --trace 0,2,1 --backward --channel 1
    has 'loss = att[0,2,1] = att.data[9] = 0.46539308' \
        'datt.data[9] = 1, and 0 in the head'"'"'s other channels' \
        'dprobs[0,2,1] = dprobs.data[7] = 2.00000000' \
        'dscores[0,2,1] = dscores.data[7]' \
        '    = 0.23269654 * (2.00000000 - 0.46539308) = 0.35709772' \
        'dscores[j] / sqrt(4) = 0.35709772 / 2.00000000 = 0.17854886' \
        '  1  k.data[5] = 1.00000000  dq.data[9]  += 0.17854886' \
        '  0  q.data[8]  = 1.00000000  dk.data[4] += 0.17854886'
    trace --example mha --trace 0,1,2,0 --backward
    has 'loss = att[0,2,1,0] = att.data[10] = 7.17973050' \
        '    = 0.57597535 * (10.00000000 - 7.17973050) = 1.62440570'
}

@test "q, k and v as given" {
    printf '%s\n' 'q f4 2,2,2 1 2 3 4 5 6 7 8' 'k f4 2,2,2 1 0 0 1 1 1 0 2' 'v f4 2,2,2 1 2 3 4 5 6 7 8' | npz a.npz
    trace --qkv a.npz --trace 1,1,0 --through att --backward
    has '# q, k and v as given' 'q_base = (b*T + i)*C = (1*2 + 1)*2 = 6' \
        'k_base = (b*T + j)*C = (1*2 + 0)*2 = 4' 'sum = 15.00000000' \
        'scores offset = (b*T + i)*T + j = (1*2 + 1)*2 + 0 = 6'
    [[ $output = *'v.data[4] = 5.00000000'*'v.data[6] = 7.00000000'* ]]
    run -2 --separate-stderr tg-attn-dump --qkv a.npz --trace 2,1,0
    said 'sequence 2 is out of range: expected 0 to 1'
}

@test "lines fit 80 columns, headings name code that exists" {
    tg-init --n-layer 2 --n-head 4 --n-embd 256 --n-ctx 32 -o model.npz 2> /dev/null
    make_text 32 > text
    tg-attn-dump --trace 0,3,31,17 --through out --backward --target x < text > trace
    [[ $(awk 'length > 80' trace | wc -l) = 0 ]]
    [[ $(grep -c '^# [0-9]*\. ' trace) = 13 ]]
    # "#    FILE: NAME, NAME" or "#    FILE: CODE"
    sed -n 's/^#    \(lib[^:]*\): \(.*\)/\1 \2/p' trace > places
    [[ $(wc -l < places) = 13 ]]
    while read -r file code; do
        while read -r code; do
            grep -qF -e "$code" "$ROOT/$file" || { echo "$file has no $code"; false; }
        done <<< "${code//, /$'\n'}"
    done < places
}

@test "the number of threads does not change a byte" {
    slow
    tg-init --n-layer 2 --n-head 4 --n-embd 64 --n-ctx 32 -o model.npz 2> /dev/null
    make_text 32 > text
    tg-attn-dump --threads 1 --trace 0,3,31,17 --through out --backward --target x < text > want
    for n in 2 3; do
        tg-attn-dump --threads $n --trace 0,3,31,17 --through out --backward --target x < text | cmp - want
    done
}

# ---- refused

@test "an index that is out of range, or no index" {
    tiny
    run -2 --separate-stderr tg-attn-dump -p 'To be' --trace 1,0,0,0
    said 'sequence 1 is out of range: the only sequence is 0'
    [[ -z $output ]]
    run -2 --separate-stderr tg-attn-dump -p 'To be' --trace 0,2,0,0
    said 'head 2 is out of range: expected 0 to 1'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --trace 0,1,5,0
    said 'query 5 is out of range: expected 0 to 4'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --trace 0,1,4,5
    said 'key 5 is out of range: expected 0 to 4'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --layer 2 --trace 0,1,4,4
    said 'layer 2 is out of range: expected 0 to 1'
    for bad in 1,2 '' ',' 1 1,2,3,4,5 1,2,x 0,-1,0 ' 0,1,0' '0,1,0,' 0,,1,0 0,0,1000000000000000000000; do
        run -2 --separate-stderr tg-attn-dump --example baseline --trace "$bad"
        said "--trace must be B,H,I,J, or B,I,J with one head, got '$bad'"
    done
    run -2 --separate-stderr tg-attn-dump --example baseline --trace 0,2,1 --through att --channel 4
    said "the head's channel 4 is out of range: expected 0 to 3"
    run -2 --separate-stderr tg-attn-dump -p 'To be' --trace 0,1,4,4 --through out --channel 0,8
    said "the output's channel 8 is out of range: expected 0 to 7"
    run -2 --separate-stderr tg-attn-dump --example baseline --trace 0,2,1 --channel x
    said "--channel must be D, or D,C, got 'x'"
}

@test "options that do not fit together" {
    tiny
    for option in '--through att' '--channel 0' --backward '--target x' '--target-id 3'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr tg-attn-dump -p 'To be' $option
        said "${option% *} goes with --trace"
    done
    for option in '--head 1' '--query 4' '--key 2' '--format tsv'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr tg-attn-dump -p 'To be' --trace 0,1,4,2 $option
        said "${option% *} does not go with --trace, which derives a single score"
    done
    run -2 --separate-stderr tg-attn-dump --example mha --trace 0,1,2,1 --through out
    said '--through out needs a model'
    run -2 --separate-stderr tg-attn-dump --example mha --trace 0,1,2,1 --through else
    said 'att|out'
    run -2 --separate-stderr tg-attn-dump --example mha --trace 0,1,2,1 --through att --channel 0,1
    said 'needs --through out'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --trace 0,1,4,2 --backward
    said '--backward needs --target: the loss is that of predicting this token next'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --trace 0,1,4,2 --target x
    said '--target needs --backward'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --trace 0,1,4,2 --backward --target x --target-id 3
    said '--target and --target-id cannot be combined'
    run -2 --separate-stderr tg-attn-dump --example mha --trace 0,1,2,1 --backward --target x
    said '--target needs a model'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --trace 0,1,4,2 --backward --target xyz
    said "--target must be one token, but 'xyz' is 3"
    run -2 --separate-stderr tg-attn-dump -p 'To be' --trace 0,1,4,2 --backward --target ''
    said "--target must be one token, but '' is 0"
    run -2 --separate-stderr tg-attn-dump -p 'To be' --trace 0,1,4,2 --backward --target-id 256
    said 'target 256 is out of range: expected 0 to 255'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --trace 0,1,4,2 --backward --target-id 5000000000
    said 'target 5000000000 is out of range: expected 0 to 255'
}

@test "weights that are finite, but huge; a full disk" {
    slow
    need_dev_full
    tiny
    run -3 --separate-stderr bash -c 'tg-attn-dump --example mha --trace 0,1,2,1 > /dev/full'
    said 'standard output: '
    change_npz model.npz huge.npz 'fill("h.1.attn.c_attn.weight", 3e38)'
    run -1 --separate-stderr tg-attn-dump -m huge.npz -p abc --layer 1 --trace 0,1,2,1
    said 'huge.npz: layer 1, head 1, position 2: attention is not finite'
    [[ -z $output ]]
}

@test "--trace goes with no other view, layout or mask" {
    for option in '--summary' '--layout bhtd' '--mask min' '--stage q' '-o x.npz' '--check x.npz'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr tg-attn-dump --example baseline --trace 0,2,1 $option
        [[ ${#stderr_lines[@]} = 2 || ${#stderr_lines[@]} = 1 ]]
        [[ $stderr = *trace* ]]
        [[ ! -e x.npz ]]
    done
    run -2 --separate-stderr tg-attn-dump --ablate 0.0 --trace 0,2,1
    [[ $stderr = *'cannot be combined'* ]]
}
