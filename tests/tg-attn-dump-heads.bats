# tg-attn-dump --summary and --ablate: reading heads.

load helper

# A model of 2 layers, 2 heads, 8 channels and 16 positions, with scores that differ.
tiny() {
    tg-init --n-layer 2 --n-head 2 --n-embd 8 --n-ctx 16 "$@" -o model.npz 2> /dev/null
}

setup_file() {
    tg_fixtures
    local steps
    make_text 6000 | tg-tokenize > t.npz
    for steps in 20 150; do
        tiny --n-embd 16
        tg-train --batch 16 --warmup 10 --lr 2e-3 --precision float32 --steps $steps -o trained-$steps.npz t.npz 2> /dev/null
    done
}

# The same with 16 channels, trained a little, so that heads differ and matter.
trained() {
    cp "$FIXTURES/trained-${1:-150}.npz" model.npz
}

titles=$'layer\thead\tb\tentropy\tdistance\tdiagonal\tprevious\tfirst\tinduction\ti\tj\tprob\ttoken_i\ttoken_j\tid_i\tid_j\tduplicate'

# ---- a line a head

@test "--summary: the worked examples, by hand" {
    run -0 --separate-stderr tg-attn-dump --example mha --head 1 --query 2 --summary -f tsv
    [[ -z $stderr && ${lines[0]} = "$titles" && ${#lines[@]} = 2 ]]
    # p = 0.57597535 0.14002925 0.28399541
    awk -F '\t' 'NR == 2 {
        h = -(0.57597535 * log(0.57597535) + 0.14002925 * log(0.14002925) + 0.28399541 * log(0.28399541))
        d = $4 - h; if (d > 3e-8 || d < -3e-8) exit 1
        d = $5 - (2 * 0.57597535 + 0.14002925); if (d > 3e-8 || d < -3e-8) exit 1
        exit !($1 == 0 && $2 == 1 && $3 == 0 && $6 == 0.28399541 && $7 == 0.140029245 && $8 == 0.575975345 &&
               $9 == "" && $10 == 2 && $11 == 0 && $12 == 0.575975358 && NF == 17) # prob is a float32
    }' <<< "$output"
    tg-attn-dump --example mha --head 1 --query 2 --summary > got
    tail -n 1 got | awk '{ exit !($1 == 0 && $2 == 1 && $3 == "0.9505" && $4 == "1.29" && $5 == "0.284" &&
        $6 == "0.140" && $7 == "0.576" && $8 == "-" && $9 == 2 && $10 == 0 && $11 == "0.576") }'
}

@test "--summary is what the rows say" {
    trained
    printf 'to be or not tob' > text
    tg-attn-dump -f tsv < text > rows
    tg-attn-dump --summary -f tsv < text > got
    [[ $(wc -l < got) = 5 ]]
    awk -F '\t' '
        NR == FNR { if (FNR > 1 && $4 > 0 && $5 <= $4) {
            k = $1 "." $2; p = $11
            if (p > 0) entropy[k] -= p * log(p)
            distance[k] += p * ($4 - $5)
            if ($5 == $4) diagonal[k] += p
            if ($5 == $4 - 1) previous[k] += p
            if ($5 == 0) first[k] += p }
            next }
        # rows are rounded to float32, by 3e-8 of each p, which a distance takes up to 15 times
        function off(x, sum) { x -= sum / 15; return x > 4.5e-7 || x < -4.5e-7 }
        FNR > 1 { k = $1 "." $2; n++
            if (off($4, entropy[k]) || off($5, distance[k]) || off($6, diagonal[k]) || off($7, previous[k]) ||
                off($8, first[k])) exit bad = 1 }
        END { exit bad || n != 4 }' rows got
}

@test "--summary against NumPy, with induction and pairs" {
    slow
    need_numpy
    trained
    printf 'to be or not tob' > text
    tg-attn-dump -f tsv < text > rows
    tg-attn-dump --summary -f tsv < text > got
    python3 -c '
import numpy as np
text = open("text", "rb").read()
T = len(text)
rows = np.loadtxt("rows", skiprows=1, delimiter="\t", usecols=range(11), comments=None)
p = rows[:, 10].reshape(2, 2, T, T)
same = np.array([[0 < j < i and text[j - 1] == text[i] for j in range(T)] for i in range(T)])
asked = same.any(axis=1)
copies = np.array([[j < i and text[j] == text[i] for j in range(T)] for i in range(T)])
i, j = np.indices((T, T))
with np.errstate(divide="ignore", invalid="ignore"):
    weight = np.where(j < i, np.nan_to_num(p * np.log(p * (i + 1)), nan=0.0), -np.inf)
    plogp = np.nan_to_num(p * np.log(p), nan=0.0)
lines = [l.rstrip("\n").split("\t") for l in open("got")][1:]
assert len(lines) == 4 and asked.sum() == 9, asked
for line in lines:
    l, h = int(line[0]), int(line[1])
    q = p[l, h]
    # rows are rounded to float32, by 3e-8 of each p, which a distance takes up to 15 times
    assert abs(float(line[3]) + plogp[l, h].sum(axis=1)[1:].mean()) < 4.5e-7
    assert abs(float(line[4]) - (q * (i - j)).sum(axis=1)[1:].mean()) < 4.5e-7
    assert abs(float(line[8]) - (q * same).sum(axis=1)[asked].mean()) < 4.5e-7
    assert abs(float(line[16]) - (q * copies).sum(axis=1)[copies.any(axis=1)].mean()) < 4.5e-7
    a, b = int(line[9]), int(line[10])
    assert (a, b) == np.unravel_index(weight[l, h].argmax(), (T, T)), line
    assert float(line[11]) == q[a, b]
    assert line[12] == chr(text[a]) and line[13] == chr(text[b])
    assert int(line[14]) == text[a] and int(line[15]) == text[b]
'
}

@test "--summary as text says the same, aligned, in 80 columns" {
    trained
    printf 'to be\n or not\x80\tb' > text
    tg-attn-dump --summary < text > got
    tg-attn-dump --summary -f tsv < text | tail -n +2 > tsv
    [[ $(head -n 1 got) = '# 16 tokens through 2 layers of 2 heads' ]]
    grep -v '^#' got | paste - tsv | awk -F '\t' '
        function off(a, b, most) { return a - b > most || b - a > most }
        { split($1, x, " "); bad = bad || x[1] != $2 || x[2] != $3 || x[9] != $11 || x[10] != $12
          bad = bad || off(x[3], $5, 5.1e-5) || off(x[4], $6, 5.1e-3) || off(x[5], $7, 5.1e-4)
          bad = bad || off(x[6], $8, 5.1e-4) || off(x[7], $9, 5.1e-4) || off(x[8], $10, 5.1e-4)
          bad = bad || off(x[11], $13, 5.1e-4) || index($1, " \"" $14 "\"") == 0 ||
                substr($1, length($1) - length($15) - 1) != "\"" $15 "\"" }
        END { exit bad || NR != 4 }'
    awk 'length > 80 { exit 1 }' got
    # titles stand over the ends of their columns
    [[ $(grep -v '^#' got | awk '{ print index($0, "\"") }' | sort -u | wc -l) = 1 ]]
    # and a head that looks at all keys alike stands above
    grep '^# uniform:' got | awk '{ for (i = 2; i <= 16; i++) { h += log(i); s += 1 / i }
        exit !($3 == sprintf("%.4f", h / 15) && $4 == "4.00" && $5 == sprintf("%.3f", s / 15) && $6 == $5 && $7 == $5) }'
}

@test "--summary and --ablate as JSON lines: the TSV's values by the TSV's names" {
    need python3
    trained 20
    printf 'to "be"\\n\\\n\x80"\t' > text
    tg-attn-dump --summary -f tsv < text > summary.tsv
    tg-attn-dump --summary -f jsonl < text > summary.jsonl
    tg-attn-dump --query 0 --summary -f tsv < text > nothing.tsv
    tg-attn-dump --query 0 --summary -f jsonl < text > nothing.jsonl
    tg-attn-dump --ablate all -f tsv < text > ablate.tsv
    tg-attn-dump --ablate all -f jsonl < text > ablate.jsonl
    python3 -c '
import json
for name in "summary", "nothing", "ablate":
    tsv = [line.rstrip("\n").split("\t") for line in open(name + ".tsv")]
    lines = [json.loads(line) for line in open(name + ".jsonl")]
    assert len(lines) == len(tsv) - 1 == 4
    for values, line in zip(tsv[1:], lines):
        assert list(line) == tsv[0] and len(values) == len(tsv[0])
        for text, value in zip(values, line.values()):
            assert text == "" if value is None else value.replace("\"", "\\x22") == text if type(value) is str else value == float(text)
assert any(set(line["token_i"]) & set("\"\\") for line in map(json.loads, open("summary.jsonl")))
'
}

@test "--summary chooses layers, heads and queries, and refuses others" {
    trained 20
    tg-attn-dump -p 'To be to' --summary -f tsv > every
    [[ $(cut -f 1,2 every | tr '\t\n' '. ') = "layer.head 0.0 0.1 1.0 1.1 " ]]
    tg-attn-dump -p 'To be to' --summary -f tsv --layer 1 > got
    awk 'NR == 1 || $1 == 1' every | cmp - got
    tg-attn-dump -p 'To be to' --summary -f tsv --head 0 > got
    awk 'NR == 1 || $2 == 0' every | cmp - got
    tg-attn-dump -p 'To be to' --summary -f tsv --query 6 > got
    cut -f 10 got | sort -u | tr '\n' ' ' | grep -x '6 i '
    tg-attn-dump -p 'To be to' --summary -f tsv --query 0 > got # sees itself alone
    [[ $(sed -n 2p got) = $'0\t0\t0\t\t\t\t\t\t\t\t\t\t\t\t\t\t' ]]
    tg-attn-dump -p 'To be to' --summary -f tsv --heads 4 | tail -n 1 | grep $'^1\t3\t'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --summary --layer 2
    said 'layer 2 is out of range: expected 0 to 1'
    [[ -z $output ]]
    run -2 --separate-stderr tg-attn-dump -p 'To be' --summary --head 9
    said 'head 9 is out of range: expected 0 to 1'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --summary --query 5
    said 'query 5 is out of range: expected 0 to 4'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --summary --key 1
    said '--key does not go with --summary, which shows statistics per head'
    run -1 --separate-stderr tg-attn-dump -p 'To be, or not to be' --summary
    said 'the text has 19 tokens'
}

@test "--summary of one token, and of a token that does not come back" {
    tiny
    tg-attn-dump -p T --summary -f tsv > got
    [[ $(sed -n 2p got) = $'0\t0\t0\t\t\t\t\t\t\t\t\t\t\t\t\t\t' && $(wc -l < got) = 5 ]]
    tg-attn-dump -p T --summary | tail -n 1 > got
    [[ $(tr -s ' ' < got) = ' 1 1 - - - - - - - - -' ]]
    tg-attn-dump -p TO --summary -f tsv | sed -n 2p | awk -F '\t' '{ exit !($4 > 0 && $9 == "" && $13 == "O") }'
}

@test "--summary of several sequences" {
    printf '%s\n' 'q f4 2,3,2 0 0 0 0 0 0 0 0 0 0 0 0' 'k f4 2,3,2 1 2 3 4 5 6 7 8 9 10 11 12' \
        'v f4 2,3,2 1 2 3 4 5 6 7 8 9 10 11 12' | npz a.npz
    tg-attn-dump --qkv a.npz --heads 2 --summary -f tsv > got
    [[ $(cut -f 1-3 got | tr '\t\n' '. ') = "layer.head.b 0.0.0 0.1.0 0.0.1 0.1.1 " ]]
    # q = 0: all keys alike
    awk -F '\t' 'NR > 1 { h = (log(2) + log(3)) / 2; d = $4 - h
        if (d > 1e-8 || d < -1e-8 || $5 != 0.75 || $6 != 0.416666667 || $7 != $6 || $8 != $6) exit 1 }' got
    tg-attn-dump --qkv a.npz --heads 2 --summary > got
    grep -E '^# layer head +b entropy' got
    awk '$1 == "#" && $2 == "uniform:" { u = $3; next } !/^#/ { if ($3 > 1 || $4 != u) exit 1; n++ } END { exit n != 4 }' got
}

@test "the number of threads does not change a byte of --summary and --ablate" {
    trained 20
    make_text 16 > text
    tg-attn-dump --threads 1 --summary < text > want
    make_text 5000 > long
    tg-attn-dump --threads 1 --ablate all -f tsv < long > want.loss
    for n in 0 2 3; do
        tg-attn-dump --threads $n --summary < text | cmp - want
        tg-attn-dump --threads $n --ablate all -f tsv < long | cmp - want.loss
    done
}

@test "--summary of weights that are finite, but huge: the place, and 1" {
    tg-init --n-layer 2 --n-head 1 --n-embd 32 --n-ctx 16 -o model.npz
    edit_rows h.1.attn.c_attn.weight 0 3072 3e38
    run -1 --separate-stderr tg-attn-dump -m edited.npz -p abc --summary
    said 'edited.npz: layer 1, head 0, position 0: attention is not finite'
    run -0 --separate-stderr tg-attn-dump -m edited.npz -p abc --summary --layer 0
    run -1 --separate-stderr tg-attn-dump -m edited.npz -p abc --ablate 0.0
    said 'edited.npz: the loss is not finite'
    [[ -z $output ]]
}

# ---- without heads

# edit_rows TENSOR FROM TO [VALUE]: edited.npz is model.npz with those float32 elements set, 0 by default.
edit_rows() {
    change_npz model.npz edited.npz "fill('$1', ${4:-0}, $2, $3)"
}

@test "--ablate is the loss of the model whose projection has zeros" {
    slow
    need python3
    trained
    make_text 1000 > text
    tg-attn-dump --ablate 1.0 -f tsv < text > got
    [[ $(head -n 1 got) = $'heads\ttokens\tloss\tablated\tchange' && $(wc -l < got) = 2 ]]
    # 16 channels, 2 heads of 8: head 0 meets rows 0 to 7 of [16,16]
    edit_rows h.1.attn.c_proj.weight 0 128
    tg-attn-dump -m edited.npz --ablate 1.0 -f tsv < text > want
    [[ $(cut -f 4 got | tail -n 1) = $(cut -f 3 want | tail -n 1) ]]
    [[ $(cut -f 3,4 got | tail -n 1 | tr '\t' '\n' | sort -u | wc -l) = 2 ]]
    # what is silent already changes nothing
    [[ $(cut -f 5 want | tail -n 1) = 0 ]]
    # all heads of a layer
    tg-attn-dump --ablate '0.*' -f tsv < text > got
    edit_rows h.0.attn.c_proj.weight 0 256
    tg-attn-dump -m edited.npz --ablate 1.1 -f tsv < text > want
    [[ $(cut -f 4 got | tail -n 1) = $(cut -f 3 want | tail -n 1) ]]
    tg-attn-dump --ablate 0.1,0.0 -f tsv < text | cut -f 4 | tail -n 1 | cmp - <(cut -f 4 got | tail -n 1)
    # another reading of the channels: of 4 heads, 2 is rows 8 to 11
    tg-attn-dump --heads 4 --ablate 0.2 -f tsv < text > got
    edit_rows h.0.attn.c_proj.weight 128 192
    tg-attn-dump -m edited.npz --heads 4 --ablate 1.1 -f tsv < text > want
    [[ $(cut -f 4 got | tail -n 1) = $(cut -f 3 want | tail -n 1) ]]
}

@test "--ablate: the loss as it is is the one that training sees" {
    tiny
    make_text 17 | tg-tokenize > t.npz # one window
    tg-attn-dump --ablate 0.0 -f tsv < t.npz | tail -n 1 | cut -f 2-3 > got
    tg-train --steps 1 --batch 1 --precision float32 --log log t.npz 2> /dev/null
    awk -F '\t' 'NR == FNR { n = $1; loss = $2; next } { last = $2 }
        END { d = loss - last; exit !(n == 16 && d < 6e-7 && d > -6e-7) }' got log
}

@test "--ablate all is each head in turn; --layer and --head choose" {
    trained
    make_text 700 > text
    tg-attn-dump --ablate all -f tsv < text > every
    [[ $(cut -f 1 every | tr '\n' ' ') = 'heads 0.0 0.1 1.0 1.1 ' ]]
    for h in 0.0 0.1 1.0 1.1; do
        tg-attn-dump --ablate $h -f tsv < text | tail -n 1 | cmp - <(grep "^$h" every)
    done
    [[ $(tail -n +2 every | cut -f 4 | sort -u | wc -l) = 4 ]]
    tg-attn-dump --ablate all --layer 1 -f tsv < text | cmp - <(grep -v '^0' every)
    tg-attn-dump --ablate all --layer 1 --head 0 -f tsv < text | cmp - <(grep -e h -e '^1.0' every)
    awk -F '\t' 'NR > 1 { d = $5 - ($4 - $3); if ($2 != 699 || d > 1e-8 || d < -1e-8) exit 1 }' every
    tg-attn-dump --ablate all < text | grep -v '^#' | paste - <(tail -n +2 every) | awk '
        function off(a, b) { return a - b > 6e-8 || b - a > 6e-8 }
        $1 != $5 || off($2, $7) || off($3, $8) || off($4, $9) || $4 !~ /^[+-]/ { bad = 1 }
        END { exit bad || NR != 4 }'
    tg-attn-dump --ablate all < text > got
    awk 'length > 80 { exit 1 }' got
    grep -F '# 699 predicted tokens, in windows of at most 16, through 2 layers of 2 heads' got
}

@test "--ablate: text, tokens, a file, a pipe and archives in a row are the same text" {
    slow
    trained 20
    make_text 3000 > text
    tg-tokenize < text > t.npz
    tg-attn-dump --ablate 0.1 -f tsv < text > want
    [[ $(tail -n 1 want | cut -f 2) = 2999 ]]
    cat text | tg-attn-dump --ablate 0.1 -f tsv | cmp - want
    (head -c 777 text; sleep 0.2; tail -c +778 text) | tg-attn-dump --ablate 0.1 -f tsv | cmp - want
    tg-attn-dump --ablate 0.1 -f tsv < t.npz | cmp - want
    cat t.npz | tg-attn-dump --ablate 0.1 -f tsv | cmp - want
    head -c 1111 text | tg-tokenize > a.npz
    tail -c +1112 text | tg-tokenize > b.npz
    cat a.npz b.npz | tg-attn-dump --ablate 0.1 -f tsv | cmp - want
    tg-attn-dump --ablate 0.1 -f tsv -p "$(cat text)" > got # $() takes the last newline away
    [[ $(tail -c 1 text | wc -l) = 0 ]]
    cmp got want
    # the model from standard input; its own probe, of 16 tokens
    tg-attn-dump -m - --ablate 0.1 -f tsv -p "$(cat text)" < model.npz | cmp - want
    tg-attn-dump --ablate 0.1 -f tsv < /dev/null | tail -n 1 | cut -f 2 | grep -x 15
}

@test "--ablate: a long text is its windows, side by side, every token but the first predicted once" {
    slow
    trained 20
    make_text 1103 > text # more than are run at a time
    for ((at = 0; at < 1102; at += 16)); do
        tail -c +$((at + 1)) text | head -c 17 | tg-attn-dump --ablate 0.1 -f tsv | tail -n 1
    done > windows
    tg-attn-dump --ablate 0.1 -f tsv < text | tail -n 1 > got
    awk -F '\t' 'NR == FNR { n += $2; loss += $2 * $3; ablated += $2 * $4; next }
        function off(a, b) { return a - b > 1e-7 || b - a > 1e-7 }
        END { exit NR != 70 || n != 1102 || $2 != n || off($3, loss / n) || off($4, ablated / n) }' windows got
}

@test "--ablate: memory does not grow with the text" {
    slow
    need_plain_build
    tg-init --n-layer 1 --n-head 1 --n-embd 2 --n-ctx 64 -o model.npz 2> /dev/null
    # as ids alone 5 million tokens are 20 MB
    make_text 5000000 > text
    (
        ulimit -v 40000
        cat text | OMP_NUM_THREADS=1 tg-attn-dump --ablate 0.0 -f tsv > got 2> /dev/null
    )
    [[ $(tail -n 1 got | cut -f 2) = 4999999 ]]
}

@test "--ablate shows where it stands, on a terminal" {
    slow
    tg-init --n-layer 2 --n-head 2 --n-embd 64 --n-ctx 64 -o model.npz 2> /dev/null
    make_text 60000 > text
    # progress is shown after a second
    on_terminal '{ head -c 30000 text; sleep 1.5; tail -c 30000 text; } | tg-attn-dump --ablate all' > shown
    grep -E $'[0-9,]+ tokens, the next [0-9,]+: [1-4] of 4 heads, ' shown
    grep -F '1.1' shown
    run -0 --separate-stderr bash -c 'head -c 1000 text | tg-attn-dump --ablate all'
    [[ -z $stderr ]]
}

# ---- refused

@test "--ablate refuses heads that are not there, or are none" {
    tiny
    run -2 --separate-stderr tg-attn-dump -p abc --ablate 2.0
    said 'layer 2 is out of range: expected 0 to 1'
    run -2 --separate-stderr tg-attn-dump -p abc --ablate 0.0,1.2
    said 'head 2 is out of range: expected 0 to 1'
    run -2 --separate-stderr tg-attn-dump -p abc --ablate '3.*'
    said 'layer 3 is out of range: expected 0 to 1'
    run -2 --separate-stderr tg-attn-dump -p abc --ablate all --layer 7
    said 'layer 7 is out of range'
    for bad in '' 0 0. .0 '0.0,' ,0.0 0.0,,0.1 0.0.0 -1.0 +1.0 0.-1 ' 0.0' '0.0 ' 0,0 a.b '*.0' '*' 0.0x ALL 'all,' all,0.0 \
        99999999999999999999.0 0.99999999999999999999; do
        run -2 --separate-stderr tg-attn-dump -p abc --ablate "$bad"
        said "--ablate must be LAYER.HEAD or LAYER.*, separated by commas, or all, got '$bad'"
        [[ -z $output ]]
    done
}

@test "--summary and --ablate refuse what is for numbers with places" {
    tiny
    for view in --summary '--ablate all'; do
        for option in '--stage q' '--layout bthd' '--mask min' '--key 0' '--through att'; do
            # shellcheck disable=SC2086
            run -2 --separate-stderr tg-attn-dump $view $option
            said "${option% *} does not go with ${view%% *}, which shows "
        done
        for option in '--output x.npz' '--check model.npz' '--trace 0,0,0,0'; do
            # shellcheck disable=SC2086
            run -2 --separate-stderr tg-attn-dump $view $option
            said ' cannot be combined'
        done
    done
    [[ ! -e x.npz ]]
}

@test "--ablate refuses what does not go with it" {
    tiny
    run -2 --separate-stderr tg-attn-dump --example mha --ablate 0.0
    said '--example does not go with --ablate, which shows the loss of a model'
    run -2 --separate-stderr tg-attn-dump --qkv model.npz --ablate 0.0
    said '--qkv does not go with --ablate, which shows the loss of a model'
    run -2 --separate-stderr tg-attn-dump -p abc --ablate 0.0 --layer 0
    said "--layer and --head go with --ablate all: '0.0' already names its heads"
    run -2 --separate-stderr tg-attn-dump -p abc --ablate all --query 0
    said '--query does not go with --ablate'
    run -2 --separate-stderr tg-attn-dump -p abc --ablate all --key 0
    said '--key does not go with --ablate'
    run -2 --separate-stderr tg-attn-dump -p abc --ablate all --summary
    said '--summary and --ablate cannot be combined'
    run -2 --separate-stderr tg-attn-dump -p abc --ablate 0.0 --heads 3
    said '3 heads do not divide C = 8'
    run -3 --separate-stderr tg-attn-dump -m missing.npz -p abc --ablate 0.0
    said 'missing.npz: No such file or directory; make a model with  tg-tokenize < text | tg-train -m missing.npz, or see'
}

@test "--ablate on text that is too short, damaged, or not there" {
    tiny
    run -1 --separate-stderr tg-attn-dump -p a --ablate 0.0
    said 'the text: only one token: a loss needs at least two, one to predict the other from'
    : > empty
    run -1 --separate-stderr tg-attn-dump --ablate 0.0 < empty
    said 'standard input: no tokens: a loss needs at least two'
    run -2 --separate-stderr tg-attn-dump --ablate 0.0 < /dev/null
    said 'the model is not trained and holds no text'
    make_text 3000 | tg-tokenize > t.npz
    head -c 2000 t.npz > cut.npz
    run -1 --separate-stderr tg-attn-dump --ablate 0.0 < cut.npz
    said 'standard input: '
    [[ -z $output ]]
    flip t.npz 1700 2
    run -1 --separate-stderr bash -c 'cat t.npz | tg-attn-dump --ablate 0.0'
    said 'standard input: '
    [[ -z $output ]]
    run -1 --separate-stderr tg-attn-dump --ablate 0.0 < model.npz
    said 'standard input: '
}

@test "--summary and --ablate: a full disk, and a reader that goes away" {
    need_dev_full
    tiny
    run -3 --separate-stderr bash -c 'tg-attn-dump -p "To be" --summary > /dev/full'
    said 'standard output: '
    run -3 --separate-stderr bash -c 'tg-attn-dump -p "To be" --ablate all > /dev/full'
    said 'standard output: '
    run -0 --separate-stderr bash -c 'tg-attn-dump -p "To be" --summary | head -n 1'
    [[ ${#lines[@]} = 1 && -z $stderr ]]
}
