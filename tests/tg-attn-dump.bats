load helper

# A model of 2 layers, 2 heads, 8 channels and 16 positions.
tiny() {
    tg-init --n-layer 2 --n-head 2 --n-embd 8 --n-ctx 16 "$@" -o model.npz 2> /dev/null
}

# rows FILE: how many lines of numbers a dump as text has.
rows() {
    grep -vc -e '^#' -e '^$' "$1"
}

# ---- the worked examples

@test "baseline: scores, probabilities, weighted sum and offsets" {
    run -0 --separate-stderr tg-attn-dump --example baseline --query 2 --format tsv
    [[ -z $stderr ]]
    is_output "$(printf '%s\t' layer head b i j q_base k_base offset score masked && echo prob
        printf '%s\t' 0 0 0 2 0 8 0 6 0.5 0 && echo 0.383651733
        printf '%s\t' 0 0 0 2 1 8 4 7 0 0 && echo 0.232696533
        printf '%s\t' 0 0 0 2 2 8 8 8 0.5 0 && echo 0.383651733)"
    tg-attn-dump --example baseline > dump
    grep -Fx '# att.data[8..11] = 0.38365173 0.46539308 1.15095519 0.00000000' dump
    grep -Fx '# q, k, v, att [B,T,C] = [1,3,4], strides 12,4,1' dump
    grep -Fx '# scores, probs [B,T,T] = [1,3,3], strides 9,3,1; one head' dump
    grep -Fx '# scale = 1/sqrt(D) = 1/sqrt(4) = 0.50000000' dump
    grep -Fx '# q_base = (b*T + i)*C = (b*3 + i)*4' dump
    grep -Fx '# offset of scores[b,i,j] = (b*T + i)*T + j = (b*3 + i)*3 + j' dump
    [[ $(rows dump) = 9 ]]
    awk '$4 == 2 && $5 == 0 && $9 == "0.50000000" && $11 == "0.38365173"' dump | grep .
    awk '$4 == 2 && $5 == 1 && $9 == "0.00000000" && $11 == "0.23269654"' dump | grep .
}

@test "mha: head 1 of two, and its offsets" {
    run -0 --separate-stderr tg-attn-dump --example mha --head 1 --query 2 --format tsv
    is_output "$(printf '%s\t' layer head b i j q_base k_base offset score masked && echo prob
        printf '%s\t' 0 1 0 2 0 10 2 15 0.707106769 0 && echo 0.575975358
        printf '%s\t' 0 1 0 2 1 10 6 16 -0.707106769 0 && echo 0.140029252
        printf '%s\t' 0 1 0 2 2 10 10 17 0 0 && echo 0.28399542)"
    tg-attn-dump --example mha > dump
    grep -Fx '# att.data[10..11] = 7.17973050 2.82026950' dump
    grep -Fx '# q, k, v, att [B,T,C] = [1,3,4] seen as [B,T,H,D] = [1,3,2,2]' dump
    grep -Fx '#   strides 12,4,2,1' dump
    grep -Fx '# scores, probs [B,H,T,T] = [1,2,3,3], strides 18,9,3,1' dump
    grep -Fx '#   = ((b*2 + h)*3 + i)*3 + j' dump
    grep -Fx '# scale = 1/sqrt(D) = 1/sqrt(2) = 0.70710678' dump
    grep -Fx '# q_base = ((b*T + i)*H + h)*D = ((b*3 + i)*2 + h)*2' dump
    grep -F 'filled in' dump
    [[ $(rows dump) = 18 ]]
    for number in 0.70710678 -0.70710678 0.57597535 0.14002925 0.28399541; do
        awk -v n="$number" '$2 == 1 && $4 == 2 && ($9 == n || $11 == n)' dump | grep .
    done
}

@test "examples take --heads" {
    tg-attn-dump --example baseline --heads 2 --format tsv > two
    tail -n 1 two > last
    printf '0\t1\t0\t2\t2\t10\t10\t17\t' | cmp -n 18 - last
    [[ $(wc -l < two) = 19 ]]
    run -2 --separate-stderr tg-attn-dump --example mha --heads 3
    said '3 heads do not divide C = 4'
}

@test "C = 2: offsets, and a masked element is printed" {
    tg-init --n-layer 1 --n-head 1 --n-embd 2 --n-ctx 4 -o model.npz 2> /dev/null
    tg-attn-dump -p abc --query 1 --format tsv | cut -f 4-8 > got
    printf '%s\n' $'i\tj\tq_base\tk_base\toffset' $'1\t0\t2\t0\t3' $'1\t1\t2\t2\t4' $'1\t2\t2\t4\t5' | cmp - got
    tg-attn-dump -p abc --query 1 --key 2 --format tsv | cut -f 9-11 > got
    printf '%s\n' $'score\tmasked\tprob' $'-1e+09\t1\t0' | cmp - got
    tg-attn-dump -p abc --query 1 --key 2 | tail -n 2 | head -n 1 > got
    [[ $(awk '{ print $9, $10, $11 }' got) = "-1e+09 1 0" ]]
}

# ---- a model

@test "every layer, head, query and key, by ascending offsets, probabilities adding up to 1" {
    tiny
    tg-attn-dump -p 'To be' --format tsv > dump
    awk -F '\t' '
        NR == 1 { next }
        { n++
          q = ($4 * 2 + $2) * 4; k = ($5 * 2 + $2) * 4; o = ($2 * 5 + $4) * 5 + $5
          if ($3 != 0 || $6 != q || $7 != k || $8 != o || ($5 > $4) != $10) exit bad = 1
          if ($1 * 50 + $8 != n - 1) exit bad = 1
          sum[$1 "," $2 "," $4] += $11 }
        # five numbers below 1, each rounded to float32: by 2^-25 at most
        END { for (r in sum) { rows++; d = sum[r] - 1; if (d > 5 / 2^25 || d < -5 / 2^25) bad = 1 }
              exit bad || n != 100 || rows != 20 }' dump
}

@test "the number of threads does not change a byte" {
    slow
    local n
    # large enough for the threads to share the work
    tg-init --n-layer 2 --n-head 4 --n-embd 64 --n-ctx 128 -o model.npz 2> /dev/null
    make_text 101 > text
    tg-attn-dump --threads 1 < text > want
    for n in 0 2 3 4; do
        tg-attn-dump --threads $n < text | cmp - want
    done
    run -2 --separate-stderr tg-attn-dump --threads 1025 < text
    said '--threads must be between 0 and 1024, got 1025'
}

@test "text and tsv say the same" {
    tiny
    tg-attn-dump -p 'To:be' > text
    tg-attn-dump -p 'To:be' --format tsv | tail -n +2 > tsv
    grep -v -e '^#' -e '^$' text | paste - tsv | awk '
        { for (c = 1; c <= 8; c++) if ($c != $(c + 13)) bad = 1
          if ($10 != $23) bad = 1
          # eight decimals of a double against the same rounded to float32: half a unit of each
          for (c = 9; c <= 11; c++) { d = $c - $(c + 13); if (d < 0) d = -d
              v = $c < 0 ? -$c : $c; if (d > 5.1e-9 + v / 2^24) bad = 1 } }
        END { exit bad || NR != 100 }'
}

@test "text is aligned, and shows the tokens" {
    tiny
    tg-attn-dump -p $'T\nb\t\x80' > dump
    [[ $(grep -v -e '^#' -e '^$' dump | cut -c -60 | awk '{ print length, NF }' | sort -u) = "60 11" ]]
    [[ $(grep -c '^#l h b i j q_base k_base offset        score mask       prob tokens i,j$' dump) = 4 ]]
    grep -F '"\x80" "\n"' dump
    grep -F '"\t"   "\x80"' dump
    [[ $(grep -c -v '^#l ' dump) = $(($(wc -l < dump) - 4)) ]]
    tg-attn-dump -p 'To be' --format tsv > tsv
    [[ $(awk -F '\t' '{ print NF }' tsv | sort -u) = 13 ]]
    run -1 grep '#' tsv
}

@test "--layer, --head, --query and --key choose" {
    tiny
    tg-attn-dump -p 'To be' --format tsv > dump
    tg-attn-dump -p 'To be' -f tsv --layer 1 > got
    awk 'NR == 1 || $1 == 1' dump | cmp - got
    tg-attn-dump -p 'To be' -f tsv --head 0 > got
    awk 'NR == 1 || $2 == 0' dump | cmp - got
    tg-attn-dump -p 'To be' -f tsv --query 3 > got
    awk 'NR == 1 || $4 == 3' dump | cmp - got
    tg-attn-dump -p 'To be' -f tsv --key 4 > got
    awk 'NR == 1 || $5 == 4' dump | cmp - got
    tg-attn-dump -p 'To be' -f tsv -l 0 -a 1 -i 4 -j 2 > got
    awk 'NR == 1 || $1 == 0 && $2 == 1 && $4 == 4 && $5 == 2' dump | cmp - got
    [[ $(wc -l < got) = 2 ]]
}

@test "what is out of range is refused with the range" {
    tiny
    run -2 --separate-stderr tg-attn-dump -p 'To be' --layer 2
    said 'layer 2 is out of range: expected 0 to 1'
    [[ -z $output ]]
    run -2 --separate-stderr tg-attn-dump -p 'To be' --head 2
    said 'head 2 is out of range: expected 0 to 1'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --query 5
    said 'query 5 is out of range: expected 0 to 4'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --key 5
    said 'key 5'
    run -2 --separate-stderr tg-attn-dump --example mha --layer 1
    said 'layer 1 is out of range: the only layer is 0'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --layer -1
    said '--layer'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --layer 1x
    said '--layer'
}

@test "--heads runs the whole model with other heads" {
    tiny
    tg-attn-dump -p 'To be' -f tsv --heads 2 > two
    tg-attn-dump -p 'To be' -f tsv | cmp - two
    tg-attn-dump -p 'To be' -f tsv --heads 4 > four
    [[ $(wc -l < four) = 201 ]]
    [[ $(tail -n 1 four | cut -f 1-8) = $'1\t3\t0\t4\t4\t38\t38\t99' ]]
    # the same parameters with another head count in the file
    tg-init --n-layer 2 --n-head 4 --n-embd 8 --n-ctx 16 -o four.npz 2> /dev/null
    tg-attn-dump -m four.npz -p 'To be' -f tsv | cmp - four
    tg-attn-dump -p 'To be' --heads 1 > one
    grep -F 'scores, probs [B,T,T] = [1,5,5]' one
    grep -F '# scale = 1/sqrt(D) = 1/sqrt(8) = 0.35355339' one
    run -2 --separate-stderr tg-attn-dump -p 'To be' --heads 3
    said '3 heads'
    said '8'
    run -2 --separate-stderr tg-attn-dump -p 'To be' --heads 0
    said '--heads must be'
}

# ---- where the text comes from

@test "-p, text on standard input and a token archive give the same" {
    tiny
    tg-attn-dump -p 'To be' -f tsv > want
    printf 'To be' | tg-attn-dump -f tsv | cmp - want
    printf 'To be' > text
    tg-attn-dump -f tsv < text | cmp - want
    tg-tokenize -o t.npz text
    tg-attn-dump -f tsv < t.npz | cmp - want
    tg-tokenize < text | tg-attn-dump -f tsv | cmp - want
    # -p wins over standard input
    printf 'else' | tg-attn-dump -p 'To be' -f tsv | cmp - want
    { printf To; sleep 0.1; printf ' be'; } | tg-attn-dump -f tsv | cmp - want
}

@test "the model from standard input, from TG_MODEL and by -m" {
    tiny
    tg-attn-dump -p 'To be' > want
    mv model.npz other.npz
    tg-attn-dump -m other.npz -p 'To be' | cmp - want
    tg-attn-dump -m - -p 'To be' < other.npz | cmp - want
    cat other.npz | tg-attn-dump -m - -p 'To be' | cmp - want
    TG_MODEL=other.npz tg-attn-dump -p 'To be' | cmp - want
    run_pipe 0 "tg-init 2> /dev/null | tg-attn-dump -m - -p 'To be'"
}

@test "a trained model shows its probe" {
    make_text 3000 > text
    tg-tokenize < text | tg-train --steps 2 --batch 1 2> /dev/null
    tg-attn-dump < /dev/null > dump
    [[ $(head -n 1 dump) = "# 32 tokens of the model's probe through 4 layers of 4 heads" ]]
    [[ $(tg-attn-dump -p abc | head -n 1) = "# 3 tokens through 4 layers of 4 heads" ]]
    [[ $(rows dump) = $((4 * 4 * 32 * 32)) ]]
    tg-attn-dump --heads 2 < /dev/null > dump
    [[ $(rows dump) = $((4 * 2 * 32 * 32)) ]]
}

@test "an untrained model without a text says what to do" {
    tiny
    run -2 --separate-stderr tg-attn-dump < /dev/null
    said 'not trained'
    said '-p TEXT'
    [[ -z $output ]]
    run -2 --separate-stderr bash -c 'cat model.npz | tg-attn-dump -m -'
    said 'not trained'
}

@test "text as long as the context, longer, of one byte, and empty" {
    tiny
    tg-attn-dump -p 0123456789abcdef -f tsv > dump
    [[ $(wc -l < dump) = $((1 + 4 * 256)) ]]
    run -1 --separate-stderr tg-attn-dump -p 0123456789abcdefg
    said "the text has 17 tokens, which exceeds the model's context of 16"
    said 'head -c 16'
    make_text 100000 > long
    run -1 --separate-stderr tg-attn-dump < long
    said 'the text has 100000 tokens'
    tg-attn-dump -p x -f tsv > dump
    [[ $(wc -l < dump) = 5 ]]
    [[ $(tail -n 1 dump | cut -f 10-) = $'0\t1\tx\tx' ]]
    run -1 --separate-stderr bash -c 'printf "" | tg-attn-dump'
    said 'standard input: empty'
    run -2 --separate-stderr tg-attn-dump -p ''
    said '--prompt must not be empty'
}

# ---- q, k and v

# The second of two sequences is the baseline example.
qkv() {
    npz "$1" << 'END'
v f4 2,3,4 9 9 9 9 9 9 9 9 9 9 9 9  1 0 0 0 0 2 0 0 0 0 3 0
else u1 2 1 2
q f8 2,3,4 9 9 9 9 9 9 9 9 9 9 9 9  1 0 0 0 0 1 0 0 1 0 1 0
k f4 2,3,4 9 9 9 9 9 9 9 9 9 9 9 9  1 0 0 0 0 1 0 0 1 1 0 0
END
}

@test "--qkv takes arrays from any npz" {
    qkv a.npz
    tg-attn-dump --qkv a.npz -f tsv > dump
    [[ $(wc -l < dump) = 19 ]]
    tg-attn-dump --example baseline -f tsv | tail -n +2 | cut -f 9- > want
    awk '$3 == 1' dump | cut -f 9- | cmp - want
    [[ $(tail -n 1 dump | cut -f 1-8) = $'0\t0\t1\t2\t2\t20\t20\t17' ]]
    cat a.npz | tg-attn-dump --qkv - -f tsv | cmp - dump
    tg-attn-dump --qkv a.npz > text
    grep -Fx '# att.data[20..23] = 0.38365173 0.46539308 1.15095519 0.00000000' text
    tg-attn-dump --qkv a.npz --heads 2 -f tsv > two
    [[ $(tail -n 1 two | cut -f 1-8) = $'0\t1\t1\t2\t2\t22\t22\t35' ]]
    run -2 --separate-stderr tg-attn-dump --qkv a.npz --heads 3
    said '3 heads do not divide C = 4'
    run -2 --separate-stderr tg-attn-dump --qkv a.npz --head 1
    said 'head 1'
}

@test "--qkv takes what NumPy wrote" {
    slow
    need_numpy
    python3 -c '
import numpy as np
r = np.random.default_rng(1)
q, k, v = r.normal(size=(3, 2, 5, 6)).astype(np.float32)
np.savez("a.npz", q=q, k=k, v=v)
s = np.einsum("bihd,bjhd->bhij", *(x.astype(float).reshape(2, 5, 3, 2) for x in (q, k))) / np.sqrt(2)
s = np.where(np.tril(np.ones((5, 5))) == 1, s, -1e9)
p = np.exp(s - s.max(-1, keepdims=True))
p /= p.sum(-1, keepdims=True)
np.savetxt("want", np.stack([s.ravel(), p.ravel()], 1).astype(np.float32), fmt="%.9g")'
    tg-attn-dump --qkv a.npz --heads 3 -f tsv > dump
    # in double precision on both sides, then rounded to float32: the same digits
    tail -n +2 dump | sort -s -n -k 8 | cut -f 9,11 | tr '\t' ' ' | cmp - want
    [[ $(wc -l < want) = 150 ]]
}

@test "--qkv refuses what does not fit, with the numbers" {
    slow
    printf '%s\n' 'q f4 1,2,1 1 2' 'k f4 1,2,1 1 2' | npz a.npz
    run -1 --separate-stderr tg-attn-dump --qkv a.npz
    said 'a.npz: array v is missing'
    printf '%s\n' 'q f4 1,2,1 1 2' 'k f4 1,1,2 1 2' 'v f4 1,2,1 1 2' | npz a.npz
    run -1 --separate-stderr tg-attn-dump --qkv a.npz
    said 'a.npz: array k is [1,1,2], the arrays before it are [1,2,1]'
    printf '%s\n' 'q f4 1,2,1 1 nan' 'k f4 1,2,1 1 2' 'v f4 1,2,1 1 2' | npz a.npz
    run -1 --separate-stderr tg-attn-dump --qkv a.npz
    said 'a.npz: q[1] is nan'
    printf '%s\n' 'q f4 1,2,1 1 2' 'k f4 1,2,1 -inf 2' 'v f4 1,2,1 1 2' | npz a.npz
    run -1 --separate-stderr tg-attn-dump --qkv a.npz
    said 'a.npz: k[0] is -inf'
    printf '%s\n' 'q i8 1,2,1 1 2' 'k f4 1,2,1 1 2' 'v f4 1,2,1 1 2' | npz a.npz
    run -1 --separate-stderr tg-attn-dump --qkv a.npz
    said "a.npz: array q: elements are 'i8'"
    printf '%s\n' 'q f4 2,1 1 2' 'k f4 1,2,1 1 2' 'v f4 1,2,1 1 2' | npz a.npz
    run -1 --separate-stderr tg-attn-dump --qkv a.npz
    said 'a.npz: array q has 2 dimensions, expected 3'
    run -3 --separate-stderr tg-attn-dump --qkv missing.npz
    said 'missing.npz: No such file'
}

# ---- bad input

@test "no model: how to get one" {
    run -3 --separate-stderr tg-attn-dump
    said 'model.npz: No such file or directory; make a model with  tg-tokenize < text | tg-train, or see'
    said 'tg-tokenize < text | tg-train'
    said '--example baseline|mha'
    run -3 --separate-stderr tg-attn-dump -m else.npz -p x
    said 'else.npz: No such file or directory; make a model with  tg-tokenize < text | tg-train -m else.npz, or see'
    mkdir dir
    run -1 --separate-stderr tg-attn-dump -m dir -p x
    said "dir: a directory without a model's files"
}

@test "what is not a model, or not a whole one" {
    slow
    tiny
    printf 'hello, world\n' > text
    run -1 --separate-stderr tg-attn-dump -m text -p x
    said 'text: '
    : > empty
    run -1 --separate-stderr tg-attn-dump -m empty -p x
    said 'empty: '
    echo 'a f4 2 1 2' | npz foreign.npz
    run -1 --separate-stderr tg-attn-dump -m foreign.npz -p x
    said 'foreign.npz: '
    tg-tokenize -o tokens.npz text
    run -1 --separate-stderr tg-attn-dump -m tokens.npz -p x
    said 'tokens.npz: '
    said 'tokens'
    for n in 3 100 5000 $(($(size model.npz) - 1)); do
        head -c "$n" model.npz > cut.npz
        run -1 --separate-stderr tg-attn-dump -m cut.npz -p x
        said 'cut.npz: '
        [[ -z $output ]]
        run -1 --separate-stderr bash -c 'cat cut.npz | tg-attn-dump -m - -p x'
        said 'standard input: '
    done
    cp model.npz bad.npz
    flip bad.npz $(($(size bad.npz) / 2)) 3
    run -1 --separate-stderr tg-attn-dump -m bad.npz -p x
    said 'bad.npz: '
}

@test "tokens that are damaged, or of another kind" {
    tiny
    printf 'To be' | tg-tokenize > t.npz
    head -c $(($(size t.npz) - 1)) t.npz > cut.npz
    run -1 --separate-stderr tg-attn-dump < cut.npz
    said 'standard input: '
    run -1 --separate-stderr tg-attn-dump < model.npz
    said 'standard input: '
    echo 'a f4 2 1 2' | npz foreign.npz
    run -1 --separate-stderr tg-attn-dump < foreign.npz
    said 'standard input: '
}

@test "wrong usage" {
    tiny
    run -2 --separate-stderr tg-attn-dump text
    said "unexpected operand 'text'"
    run -2 --separate-stderr tg-attn-dump --nonsense
    said '--nonsense'
    run -2 --separate-stderr tg-attn-dump --format xml -p x
    said 'text|tsv|jsonl'
    run -2 --separate-stderr tg-attn-dump --example else
    said 'baseline|mha'
    run -2 --separate-stderr tg-attn-dump --example mha -p x
    said 'name different inputs: give only one'
    run -2 --separate-stderr tg-attn-dump --example mha --qkv model.npz
    said 'name different inputs: give only one'
    run -2 --separate-stderr tg-attn-dump --qkv model.npz -m model.npz
    said 'name different inputs: give only one'
    run -0 --separate-stderr tg-attn-dump --help
    [[ $output = 'Usage: tg-attn-dump '* && -z $stderr ]]
    run -0 --separate-stderr tg-attn-dump --version
    [[ $output = 'tg-attn-dump '* ]]
}

@test "a full disk, a closed output, and a reader that goes away" {
    need_dev_full
    tiny
    run -3 --separate-stderr bash -c 'tg-attn-dump -p "To be" > /dev/full'
    said 'standard output: '
    run -3 --separate-stderr bash -c 'tg-attn-dump --example mha >&-'
    said 'standard output: '
    run -3 --separate-stderr bash -c 'tg-attn-dump -m - -p x <&-'
    said 'standard input: '
    run -0 --separate-stderr bash -c 'tg-attn-dump -p 0123456789abcdef | head -n 1'
    [[ ${#lines[@]} = 1 && -z $stderr ]]
}

@test "a write error ends the work at once" {
    need_dev_full
    tg-init --n-layer 12 --n-head 8 --n-embd 64 --n-ctx 1024 -o big.npz 2> /dev/null
    make_text 1024 > text
    # 100 million lines: only giving up early ends this in time
    run -3 --separate-stderr timeout 600 bash -c 'tg-attn-dump -m big.npz < text > /dev/full'
    said 'tg-attn-dump: standard output: No space left on device'
    for what in '-f tsv' '--stage q' '--summary -f jsonl' --summary; do
        run -3 --separate-stderr bash -c "head -c 16 text | tg-attn-dump -m big.npz $what > /dev/full"
        said 'tg-attn-dump: standard output: No space left on device'
    done
}

@test "1024 positions need no table of scores" {
    slow
    need_plain_build
    tg-init --n-layer 1 --n-head 16 --n-embd 64 --n-ctx 1024 -o big.npz 2> /dev/null
    make_text 1024 > text
    # 16 heads of 1024 x 1024 scores would be 64 MiB of floats; the stacks of two threads are also in it
    (
        ulimit -v 65536
        OMP_NUM_THREADS=2 tg-attn-dump -m big.npz --head 15 --format tsv < text > dump
    )
    [[ $(wc -l < dump) = 1048577 ]]
    [[ $(tail -n 1 dump | cut -f 1-8) = $'0\t15\t0\t1023\t1023\t65532\t65532\t16777215' ]]
}

@test "weights that are finite, but huge: the place where attention is not, and 1" {
    tg-init --n-layer 2 --n-head 1 --n-embd 32 --n-ctx 16 -o huge.npz
    change_npz huge.npz bad.npz 'fill("h.1.attn.c_attn.weight", 3e38)'
    run -1 --separate-stderr tg-attn-dump -m bad.npz -p abc
    said "tg-attn-dump: bad.npz: layer 1, head 0, position 0: attention is not finite"
    [[ $output != *nan* && $output != *inf* && $output = *"# 3 tokens through 2 layers of 1 head"* ]]
    run -0 --separate-stderr tg-attn-dump -m bad.npz -p abc --layer 0
}

@test "a dump and a summary that take seconds show how far they are, but not where a pager may read" {
    slow
    tg-init --n-layer 32 --n-embd 256 --n-head 8 --n-ctx 1024 -o large.npz 2> /dev/null
    make_text 1024 > text
    shows_on_terminal 'attention: [0-9]+%, [0-9a-z.]+ left' 'tg-attn-dump -m large.npz --summary < text > summary'
    shows_on_terminal 'attention: [0-9]+%, [0-9a-z.]+ left' 'tg-attn-dump -m large.npz -o dump.npz < text'
    run ! shows_on_terminal attention 'bash -c "tg-attn-dump -m large.npz --summary --layer 4 < text | cat > summary"'
    run -0 --separate-stderr tg-attn-dump -m large.npz --summary --layer 4 < text
    [[ -z $stderr ]]
}
