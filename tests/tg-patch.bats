load helper

# A model of 2 layers, 2 heads, 16 channels and 16 positions, with weights that matter.
tiny() {
    tg-init --n-layer 2 --n-head 2 --n-embd 16 --n-ctx 16 "$@" -o model.npz 2> /dev/null
}

both=(-p 'To be' --corrupt 'To do' --answer ',' --wrong .)

# column NAME: of the TSV on standard input.
column() {
    awk -F '\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 1 { print $at[name] }'
}

# near A B: within 1e-5 of each other.
near() {
    awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(d <= 1e-5 && -d <= 1e-5) }'
}

# ---- sites

@test "the residual stream by layer and position, for the eye" {
    tiny
    run -0 --separate-stderr tg-patch "${both[@]}"
    [[ ${lines[0]} =~ ^'# diff of the last prediction: clean '-?0\.[0-9]{6}', corrupt '-?0\.[0-9]{6}$ ]]
    [[ ${lines[3]} =~ ^'#    site layer     t      metric     effect token'$ ]]
    [[ ${#lines[@]} = 14 && -z $stderr ]]
    # before the prompts part, nothing changes
    [[ ${lines[4]} =~ ^' '+'x     0     0 '.*' 0.00000 "T"'$ ]]
}

@test "all of the stream makes the corrupt run clean" {
    tiny
    tg-patch "${both[@]}" --each layer --tsv > table
    [[ $(wc -l < table) = 3 ]]
    column effect < table | while read -r effect; do near "$effect" 1; done
    tg-patch "${both[@]}" --each layer --direction noise --tsv > noise
    column effect < noise | while read -r effect; do near "$effect" 0; done
    tg-patch "${both[@]}" --direction noise --position 0 --tsv | column effect | while read -r effect; do
        near "$effect" 1
    done
}

@test "a head at a position is a part of the head" {
    tiny
    tg-patch "${both[@]}" --site z --tsv > heads
    tg-patch "${both[@]}" --site z --each both --tsv > all
    [[ $(wc -l < heads) = 5 && $(wc -l < all) = 21 ]]
    tg-patch "${both[@]}" --site z --layer 1 --head 1 --position 4 --tsv > one
    [[ $(tail -n 1 one | cut -f 1-4) = "$(tail -n 1 all | cut -f 1-4)" && $(wc -l < one) = 2 ]]
    near "$(tail -n 1 one | cut -f 7)" "$(tail -n 1 all | cut -f 7)"
    # in the last layer only the last position matters
    near "$(tail -n 1 heads | cut -f 7)" "$(tail -n 1 one | cut -f 7)"
}

@test "TSV and JSON have the same values" {
    tiny
    tg-patch "${both[@]}" --site mlp --tsv > tsv
    tg-patch "${both[@]}" --site mlp --json > json
    [[ $(head -n 1 tsv) = $'site\tlayer\thead\tt\tclean\tcorrupt\tmetric\teffect\ttoken' ]]
    [[ $(wc -l < json) = 10 ]]
    [[ $(sed 's/.*"effect":\(.*\),"token".*/\1/' json) = "$(column effect < tsv)" ]]
    [[ $(head -n 1 json) = '{"site":"mlp","layer":0,"head":null,"t":0,"clean":'*'"token":"T"}' ]]
    run -0 tg-patch "${both[@]}" --site mlp --tsv --no-header
    [[ $output = "$(tail -n +2 tsv)" ]]
}

@test "each metric, and the same results with any number of threads" {
    tiny
    for metric in 'diff --answer , --wrong .' 'prob --answer ,' 'loss --answer ,' kl; do
        # shellcheck disable=SC2086
        tg-patch "${both[@]:0:4}" --metric $metric --threads 1 --tsv > one
        # shellcheck disable=SC2086
        tg-patch "${both[@]:0:4}" --metric $metric --threads 3 --tsv > three
        cmp one three
        [[ $(wc -l < one) = 11 ]]
    done
    tg-patch -p 'To be' --corrupt 'To do' --metric kl --tsv | column clean | while read -r clean; do near "$clean" 0; done
}

@test "ids are the same prompts and answers" {
    tiny
    tg-patch "${both[@]}" --tsv > text
    tg-patch --ids '84 111 32 98 101' --corrupt-ids '84 111 32 100 111' --answer-id 44 --wrong-id 46 --tsv > ids
    cmp text ids
}

@test "an answer that may lack its leading space: a note says how probable both are, once" {
    spaced_model
    prompts=(tg-patch -m ab.npz -p a -c z)
    run -0 --separate-stderr "${prompts[@]}" --answer b --wrong a
    said 'tg-patch: "b" has probability '
    [[ $stderr =~ ' after the clean prompt, " b" '[01.]+': a leading space may be missing'$ ]]
    run -0 --separate-stderr "${prompts[@]}" --answer a --wrong b
    said 'a leading space may be missing'
    for answer in '--answer=a --wrong=x' '--answer-id=98 --wrong-id=97'; do
        # shellcheck disable=SC2086 # options are words
        run -0 --separate-stderr "${prompts[@]}" $answer
        [[ -z $stderr ]]
    done
    printf 'a\tz\tb\ta\na\ty\tb\tx\n' > pairs
    run -0 --separate-stderr tg-patch -m ab.npz --pairs pairs
    said 'a leading space may be missing'
}

@test "what replaces numbers by the same numbers changes nothing, to the last bit" {
    tiny
    tg-patch "${both[@]}" --tsv > x
    # the prompts have their first three tokens in common
    [[ $(tail -n +2 x | cut -f 2,4,8 | grep -c $'^[01]\t[012]\t0$') = 6 ]]
    [[ $(tail -n +2 x | cut -f 2,4,8 | grep -vc $'\t0$') = 4 ]]
}

@test "zeros need no corrupt prompt" {
    tiny
    tg-patch "${both[@]}" --ablate zero --tsv > with
    tg-patch "${both[@]:0:2}" "${both[@]:4}" --ablate zero --tsv > without
    cmp with without
}

# ---- estimates

@test "--attribution estimates what patches do, and is exact where the rest is linear" {
    slow_unless_sanitized
    tiny
    for site in x q k v pattern z att mlp; do
        tg-patch "${both[@]}" --site $site --tsv > patched
        tg-patch "${both[@]}" --site $site --attribution --tsv > estimated
        diff <(cut -f 1-6,9 patched) <(cut -f 1-6,9 estimated)
        # of a fresh model, whose activations are small, the signs of what changes most are right
        paste <(column effect < patched) <(column effect < estimated) |
            awk '$1 > 0.5 && $2 <= 0 || $1 < -0.5 && $2 >= 0 { exit 1 }'
        cmp -s patched estimated && false
        tg-patch "${both[@]}" --site $site --attribution --threads 3 --tsv | cmp - estimated
    done
    # a sum over heads is of the same gradient
    near "$(tg-patch "${both[@]}" --site att --attribution --each layer --layer 1 --tsv | column effect)" \
        "$(tg-patch "${both[@]}" --site z --attribution --layer 1 --tsv | column effect | awk '{ s += $1 } END { printf "%.9f", s }')"
    tg-patch "${both[@]}" --direction noise --attribution --position 0 --tsv | column effect | while read -r effect; do
        near "$effect" 1
    done
}

# ---- pairs

@test "--pairs is the mean of its lines" {
    tiny
    printf '%s\n' $'To be\tTo do\t,\t.' $'be To\tdo To\t.\ta' > pairs
    tg-patch --pairs pairs --site z --tsv | column metric > mean
    for n in 1 2; do
        sed -n ${n}p pairs > one
        tg-patch --pairs one --site z --tsv | column metric > $n
    done
    paste mean 1 2 | while read -r m a b; do near "$m" "$(awk -v a="$a" -v b="$b" 'BEGIN { printf "%.9f", (a + b) / 2 }')"; done
    tg-patch "${both[@]}" --site z --tsv | column metric | cmp - 1
    # from a pipe
    [[ $(tg-patch --pairs - --site z --tsv < pairs | column metric) = "$(cat mean)" ]]
    # lines that say nothing are no pairs
    { echo; sed $'1a\\\n \\\n\t\t\r' pairs; printf '\n\n'; } > blank
    [[ $(wc -l < blank) = 7 && $(tg-patch --pairs blank --site z --tsv | column metric) = "$(cat mean)" ]]
    # a line that is wrong is bad data
    printf 'To be\tTo do\tyes\t.\n' >> pairs
    run -1 tg-patch --pairs pairs
    [[ $output = *"tg-patch: pairs: line 3: the answer must be one token, but 'yes' is 3" ]]
}

# ---- archives

@test "-o: an archive has the same values as the lines, by layer, head and position" {
    slow_unless_sanitized
    need python3 && need_numpy
    tiny
    for options in '' '--site z' '--site z --each both' '--site mlp --attribution --direction noise' '--each layer' \
        '--site q --each both --layer 1 --position 2' '--site k --head 1 --each position'; do
        # shellcheck disable=SC2086
        tg-patch "${both[@]}" $options -o patch.npz
        # shellcheck disable=SC2086
        tg-patch "${both[@]}" $options --tsv > tsv
        python3 - "$options" << 'EOF'
import csv, sys, numpy as np
a = np.load("patch.npz")
rows = list(csv.DictReader(open("tsv"), delimiter="\t", quoting=csv.QUOTE_NONE))
assert a["kind"] == b"patch" and a["version"] == 1 and a.files[:2] == ["kind", "version"]
assert bytes(a["patch/ids"].astype("u1")) == b"To be" and bytes(a["patch/corrupt_ids"].astype("u1")) == b"To do"
assert a["patch/text"].tolist() == [b"T", b"o", b" ", b"b", b"e"] and a["patch/corrupt_text"][3] == b"d"
assert (a["patch/answer"], a["patch/wrong"], a["patch/answer_text"], a["patch/wrong_text"]) == (44, 46, b",", b".")
assert a["patch/site"] == rows[0]["site"].encode() and a["patch/metric"] == b"diff" and a["patch/pairs"] == 1
assert a["patch/direction"] == (b"noise" if "noise" in sys.argv[1] else b"denoise")
assert a["patch/method"] == (b"attribution" if "attribution" in sys.argv[1] else b"patch")
assert a["patch/n_layer"] == 2
axes = [a["patch/" + name] for name in ("layers", "heads", "positions")]
assert a["patch/value"].shape == a["patch/effect"].shape == tuple(len(x) for x in axes)
assert a["patch/value"].size == len(rows)
number = lambda text: int(text) if text else -1
at = [(l, h, t) for l in axes[0] for h in axes[1] for t in axes[2]]
assert at == [(number(r["layer"]), number(r["head"]), number(r["t"])) for r in rows]
same = lambda x, y: np.allclose(np.ravel(x), y, rtol=1e-8, atol=1e-12)
assert same(a["patch/value"], [float(r["metric"]) for r in rows])
assert same(a["patch/effect"], [float(r["effect"]) for r in rows])
assert same(a["patch/clean"], float(rows[0]["clean"])) and same(a["patch/corrupt"], float(rows[0]["corrupt"]))
EOF
        unzip -qt patch.npz
    done
    [[ $(tg-patch "${both[@]}" -o - | cmp - <(tg-patch "${both[@]}" --threads 3 -o -) && echo same) = same ]]
}

@test "-o: tokens are those of the first pair, if all pairs have as many" {
    slow_unless_sanitized
    need python3 && need_numpy
    tiny
    printf '%s\n' $'To be\tTo do\t,\t.' $'be To\tdo To\t.\ta' > pairs
    tg-patch --pairs pairs --site z -o patch.npz
    [[ $(python3 -c 'import numpy as np
a = np.load("patch.npz")
print(bytes(a["patch/ids"].astype("u1")), a["patch/pairs"], "patch/answer" in a.files)') = "b'To be' 2 False" ]]
    tg-patch -p 'To be' -c 'To do' --metric kl -o patch.npz
    [[ $(python3 -c 'import numpy as np
a = np.load("patch.npz")
print(a["patch/answer"], a["patch/wrong"], [name for name in a.files if "answer_" in name or "wrong_" in name])') = "-1 -1 []" ]]
    printf '%s\n' $'To\tDo\t,\t.' >> pairs
    tg-patch --pairs pairs --site z -o patch.npz
    [[ $(python3 -c 'import numpy as np
a = np.load("patch.npz")
print([name for name in a.files if "ids" in name or "text" in name])') = '[]' ]]
    tg-init -q -t ids --vocab-size 11 --n-layer 1 --n-head 1 --n-embd 8 --n-ctx 16 -o ids.npz
    tg-patch -m ids.npz --ids '1 2' --corrupt-ids '1 3' --metric kl -o patch.npz --force
    [[ $(python3 -c 'import numpy as np
a = np.load("patch.npz")
print([name for name in a.files if "ids" in name or "text" in name])') = "['patch/ids', 'patch/corrupt_ids']" ]]
}

# ---- edges

@test "--path: a line for each edge, the direct paths between parts" {
    tiny
    tg-patch "${both[@]}" --path : --tsv > all
    [[ $(head -n 1 all) = $'sender\treceiver\tclean\tcorrupt\tmetric\teffect' ]]
    # of a layer six receivers of heads, that read 1 and 4 senders, and an MLP, that reads two more; the output's 7
    [[ $(wc -l < all) = $((1 + 6 * 1 + 3 + 6 * 4 + 6 + 7)) ]]
    [[ $(sed -n 2p all | cut -f 1,2) = $'embed\t0.0.q' && $(tail -n 1 all | cut -f 1,2) = $'1.mlp\tlogits' ]]
    # lists of edges are lines of these
    tg-patch "${both[@]}" --path embed,0.1:1.0,logits --tsv > some
    [[ $(wc -l < some) = 9 ]]
    [[ $(cut -f 1,2 some | grep -cxFf <(cut -f 1,2 all)) = 9 ]]
    tg-patch "${both[@]}" --path 0.mlp: --tsv | tail -n +2 | cut -f 1 | sort -u > senders
    [[ $(cat senders) = 0.mlp ]]
    # all heads of a layer
    tg-patch "${both[@]}" --path '0.*:1.*.k,1.*' --tsv > every
    tg-patch "${both[@]}" --path 0.0,0.1:1.0,1.1 --tsv | cmp every -
    # for the eye
    run -0 --separate-stderr tg-patch "${both[@]}" --path 0.1:1.mlp
    [[ ${lines[3]} = '# sender receiver      metric     effect' ]]
    [[ ${lines[4]} =~ ^'     0.1    1.mlp '.*[0-9]$ && ${#lines[@]} = 5 && -z $stderr ]]
}

@test "the edges of a head, all together, are its patch" {
    tiny --n-layer 1
    tg-patch "${both[@]}" --site z --direction noise --tsv > of-head
    tg-patch "${both[@]}" --ablate resample --without 0.1:logits,0.1:0.mlp --tsv > edges
    near "$(tail -n 1 of-head | cut -f 7)" "$(tail -n 1 edges | cut -f 2)"
    # and one of them alone is its path
    tg-patch "${both[@]}" --path 0.1:logits --direction noise --tsv > path
    tg-patch "${both[@]}" --ablate resample --without 0.1:logits --tsv > edge
    near "$(tail -n 1 path | cut -f 5)" "$(tail -n 1 edge | cut -f 2)"
}

@test "circuits of edges: all are the model, none the corrupt run" {
    tiny
    everything=$(tg-patch "${both[@]}" --path : --tsv | tail -n +2 | cut -f 1,2 | tr '\t\n' ':,')
    tg-patch "${both[@]}" --ablate resample --keep "${everything%,}" --tsv > all
    [[ $(sed -n 4p all | cut -f 1,3) = $'circuit\t1' ]]
    [[ $(sed -n 5p all | cut -f 1) = without:embed:0.0.q ]]
    tg-patch "${both[@]}" --tsv > x
    near "$(sed -n 3p all | cut -f 2)" "$(sed -n 2p x | cut -f 6)"
    tg-patch "${both[@]}" --ablate resample --without "${everything%,}" --tsv > none
    near "$(sed -n 4p none | cut -f 3)" 0
}

@test "--path --attribution estimates all edges, and with --steps their sum" {
    tiny
    tg-patch "${both[@]}" --path : --tsv > runs
    tg-patch "${both[@]}" --path : --attribution --tsv > estimates
    [[ $(cut -f 1,2 runs) = "$(cut -f 1,2 estimates)" && $(cut -f 6 runs) != "$(cut -f 6 estimates)" ]]
    # the embedding's edges, and the first block's x, make the whole effect
    for what in '--path embed:' '--site x --layer 0'; do
        # shellcheck disable=SC2086
        tg-patch "${both[@]}" $what --attribution --steps 200 --tsv | column effect |
            awk '{ sum += $1 } END { exit !(sum > 0.999 && sum < 1.001) }'
    done
    for threads in 1 3; do
        tg-patch "${both[@]}" --path : --attribution --steps 2 --threads $threads --tsv > "of $threads"
    done
    cmp 'of 1' 'of 3'
}

@test "--path -o: an archive has the same values as the lines, by receiver and sender" {
    slow_unless_sanitized
    need python3 && need_numpy
    tiny
    tg-patch "${both[@]}" --path : --tsv > lines
    tg-patch "${both[@]}" --path : -o edges.npz
    python3 - << 'END'
import numpy as np
z = np.load("edges.npz")
assert bytes(z["kind"]) == b"edges" and z["version"] == 1 and z["edges/steps"] == 0 and z["edges/pairs"] == 1
assert (z["edges/answer"], z["edges/wrong"], z["edges/answer_text"], z["edges/wrong_text"]) == (44, 46, b",", b".")
assert bytes(z["edges/metric"]) == b"diff" and bytes(z["edges/method"]) == b"patch"
senders, receivers = [[x.decode() for x in z["edges/" + name]] for name in ("senders", "receivers")]
seen = np.zeros_like(z["edges/edge"])
for line in open("lines").readlines()[1:]:
    s, r, clean, corrupt, metric, effect = line.split("\t")
    at = receivers.index(r), senders.index(s)
    seen[at] = 1
    for name, x in (("value", metric), ("effect", effect)):
        assert abs(z["edges/" + name][at] - float(x)) <= 1e-8 * max(1, abs(float(x))), line
    assert abs(z["edges/clean"] - float(clean)) < 1e-8 and abs(z["edges/corrupt"] - float(corrupt)) < 1e-8
assert (seen == z["edges/edge"]).all() and (z["edges/effect"][seen == 0] == 0).all()
END
    # only the parts that have edges
    tg-patch "${both[@]}" --path 0.1:1.0.q,logits --attribution --steps 3 -o few.npz
    run -0 tg-info --tsv few.npz
    run -0 tg-attn-view --color never few.npz
    [[ ${lines[0]} =~ ^sender\ +0\.1\ *$ && ${lines[1]} =~ ^' 1.0.q ' && ${lines[2]} =~ ^'logits ' ]]
    [[ $output = *'estimated by integrated gradients'* ]]
    run -2 --separate-stderr tg-attn-view -l 0 few.npz
    [[ $stderr = 'tg-attn-view: few.npz: --layer and --head do not go with edges'* ]]
}

@test "edges that the model lacks are refused in a line" {
    tiny
    while IFS='|' read -r path message; do
        run -2 tg-patch "${both[@]}" --path "$path"
        [[ ${#lines[@]} = 1 && $output = "tg-patch: --path$message" ]]
        run -2 tg-patch "${both[@]}" --ablate zero --keep "0.0:logits,$path"
        [[ ${#lines[@]} = 1 && $output = 'tg-patch: '* ]]
    done << 'EOF'
0.5:logits|: head 5 is out of range: expected 0 to 1
7.mlp:logits|: layer 7 is out of range: expected 0 to 1
0.0:1.0.x|: expected LAYER.HEAD.q, .k or .v, LAYER.HEAD, LAYER.mlp or logits, HEAD a number or *, got '1.0.x'
0.0,:logits|: expected LAYER.HEAD, LAYER.*, LAYER.mlp or embed, got ''
1.0:0.0.q| 1.0:0.0.q names no edge: a receiver reads only from senders before it
EOF
    run -2 tg-patch "${both[@]}" --path 0.0
    [[ $output = "tg-patch: --path must be SENDER:RECEIVER, such as 0.1:1.0.k, got '0.0' "* ]]
    run -2 tg-patch "${both[@]}" --path : --site z
    [[ $output = 'tg-patch: --path does not go with '* ]]
    run -2 tg-patch "${both[@]}" --steps 3
    [[ $output = 'tg-patch: --steps goes with --attribution '* ]]
    run -2 tg-patch "${both[@]}" --ablate zero --without 0.0:logits,1.0
    [[ $output = "tg-patch: --without: expected edges alone, SENDER:RECEIVER with commas between, got '1.0'" ]]
}

# ---- ablation

@test "--ablate: the model, nothing, and each component left out" {
    tiny
    tg-patch "${both[@]}" --ablate zero --tsv > table
    [[ $(column case < table | tr '\n' ' ') = 'model none without:0.0 without:0.1 without:0.mlp without:1.0 without:1.1 without:1.mlp ' ]]
    [[ $(column faithfulness < table | head -n 2 | tr '\n' ' ') = '1 0 ' ]]
    tg-patch "${both[@]}" --ablate zero --without 0.1 --tsv > one
    near "$(tail -n 1 one | cut -f 2)" "$(grep without:0.1 table | cut -f 2)"
}

@test "--ablate -o: an archive has the same values as the lines, by layer and part" {
    slow_unless_sanitized
    need python3 && need_numpy
    tiny
    printf '%s\n' $'To be\tTo do\t,\t.' $'To go\tTo do\t.\ta' > pairs
    while IFS= read -r options; do
        args=("${both[@]}")
        [[ $options != *--pairs* ]] || args=()
        # shellcheck disable=SC2086
        tg-patch "${args[@]}" $options -o ablation.npz
        # shellcheck disable=SC2086
        tg-patch "${args[@]}" $options --tsv > lines
        python3 - "$options" << 'END'
import sys, numpy as np
z = np.load("ablation.npz")
options = sys.argv[1].split()
assert z["kind"] == b"ablation" and z["version"] == 1 and z.files[:2] == ["kind", "version"]
assert z["ablation/by"] == options[1].encode() and z["ablation/metric"] == b"diff"
set_of = [name for name in ("without", "keep") if "--" + name in options]
assert z["ablation/set"] == (set_of or ["each"])[0].encode()
pairs = 2 if "--pairs" in options else 1
assert z["ablation/pairs"] == pairs and ("ablation/answer" in z.files) == (pairs == 1)
assert z["ablation/text"].tolist() == [b"T", b"o", b" ", b"b", b"e"]
assert ("ablation/corrupt_text" in z.files) == (options[1] != "zero")
names = [f"{l}.{p}" for l in range(2) for p in (0, 1, "mlp")]
named = options[-1].split(",") if set_of else []
assert [n for n, x in zip(names, z["ablation/named"].ravel()) if x] == named and z["ablation/named"].shape == (2, 3)
parts = dict.fromkeys(names, (0, 0, 0))
same = lambda x, y: abs(x - float(y)) <= 1e-8 * max(1, abs(float(y)))
for line in open("lines").readlines()[1:]:
    case, *numbers = line.split("\t")
    if case.startswith("without:"):
        parts[case[8:]] = numbers
        assert z["ablation/part"].ravel()[names.index(case[8:])] == 1
    else:
        assert same(z["ablation/" + {"circuit": "whole", "without": "whole"}.get(case, case)], numbers[0]), line
assert z["ablation/part"].sum() == sum(x != (0, 0, 0) for x in parts.values())
assert ("ablation/whole" in z.files) == bool(set_of)
for n, name in enumerate(("value", "faithfulness", "change")):
    assert all(same(x, parts[at][n]) for at, x in zip(names, z["ablation/" + name].ravel(), strict=True)), name
END
        tg-info ablation.npz > info
        grep -q '^ablation.npz: ablation' info
    done << 'END'
--ablate zero
--ablate resample
--ablate resample --keep 0.1,1.mlp
--ablate zero --without 0.0,1.1
--ablate mean --pairs pairs
END
    run -2 tg-patch "${both[@]}" --ablate resample --keep 0.0:logits -o edges.npz
    [[ $output = 'tg-patch: --output writes an archive of heads and MLPs that are ablated, not of edges '* && ! -e edges.npz ]]
}

@test "a circuit of everything is the model, one of resampled parts the corrupt run" {
    tiny
    all=0.0,0.1,0.mlp,1.0,1.1,1.mlp
    tg-patch "${both[@]}" --ablate resample --keep $all --tsv > table
    [[ $(grep ^circuit table | cut -f 3,4) = $'1\t0' ]]
    [[ $(wc -l < table) = 10 ]]
    tg-patch "${both[@]}" --ablate resample --without $all --tsv > table
    near "$(grep ^without table | cut -f 3)" 0
    # with one member less, the circuit is the model without it
    tg-patch "${both[@]}" --ablate zero --tsv > each
    tg-patch "${both[@]}" --ablate zero --keep 0.0,0.1,0.mlp,1.0,1.1 --tsv > kept
    near "$(grep ^circuit kept | cut -f 2)" "$(grep without:1.mlp each | cut -f 2)"
    near "$(grep without:0.0 kept | cut -f 4)" \
        "$(awk '/^circuit/ { c = $3 } /^without:0.0/ { print $3 - c }' kept)"
}

@test "--ablate mean is by position, over the corrupt prompts" {
    tiny
    printf '%s\n' $'To be\tTo do\t,\t.' $'To be\tTo do\t,\t.' > twice
    tg-patch --pairs twice --ablate mean --tsv > mean
    tg-patch "${both[@]}" --ablate resample --tsv > resample
    paste <(column metric < mean) <(column metric < resample) | while read -r a b; do near "$a" "$b"; done
    printf '%s\n' $'To be\tTo do\t,\t.' $'To be\tTo go\t,\t.' > pairs
    tg-patch --pairs pairs --ablate mean --tsv | cmp -s - mean && false
    run -1 tg-patch --pairs <(head -n 1 pairs) --ablate mean
    [[ $output = *'--ablate mean needs two pairs or more' ]]
}

# ---- errors

# says STATUS MESSAGE COMMAND...: one line on standard error, and nothing else.
says() {
    run "-$1" --separate-stderr "${@:3}"
    echo "$stderr"
    [[ -z $output && ${stderr_lines[0]} = "tg-patch: $2"* && ${#stderr_lines[@]} = 1 ]]
}

@test "prompts and answers that do not fit are refused in a line" {
    tiny
    says 1 'the clean prompt has 5 tokens and the corrupt one 4: expected the same number' tg-patch -p 'To be' --corrupt 'To d' \
        --metric kl
    says 1 'the prompts are empty' tg-patch -p '' --corrupt '' --metric kl
    says 1 'the answer and the wrong answer are the same token' tg-patch -p To --corrupt Do --answer a --wrong a
    says 1 'the clean and the corrupt prompt have the same metric' tg-patch -p To --corrupt To --answer a
    says 2 'the prompts have 17 tokens' tg-patch -p aaaaaaaaaaaaaaaaa --corrupt aaaaaaaaaaaaaaaab --metric kl
    says 2 "the answer must be one token, but 'ab' is 2" tg-patch -p To --corrupt Do --answer ab
    says 2 'the wrong answer is id 256' tg-patch -p To --corrupt Do --answer a --wrong-id 256
    says 2 'the corrupt prompt: --corrupt-ids has 300' tg-patch -p To --corrupt-ids '1 300' --answer a
    says 2 "--corrupt-ids must be decimal token ids, got 'b'" tg-patch -p To --corrupt-ids '1 b' --answer a
    says 2 '--corrupt-ids must name at least one token id' tg-patch -p To --corrupt-ids ' ' --answer a
    says 2 '--ids has 300' tg-patch --ids '1 300' --corrupt Do --answer a
    says 2 'there is no answer to measure' tg-patch -p To --corrupt Do
    says 2 '--metric diff needs a wrong answer' tg-patch -p To --corrupt Do --answer a --metric diff
    says 2 'there is no clean prompt' tg-patch --corrupt Do --answer a
    says 2 'there is no corrupt prompt' tg-patch -p To --answer a
    says 2 'there is no corrupt prompt' tg-patch -p To --answer a --ablate resample
    says 2 'a wrong answer is read by --metric diff alone' tg-patch -p To --corrupt Do --answer a --wrong b --metric prob
    says 2 '--metric kl compares whole predictions' tg-patch -p To --corrupt Do --answer a --metric kl
    says 2 '--metric kl has no gradient at the clean run' tg-patch -p To --corrupt Do --metric kl --direction noise \
        --attribution
    printf 'To\tDo\ta\tb\n' > pairs
    says 2 "pairs: line 1: --bos: the model's tokenizer has no token" tg-patch --pairs pairs --bos
}

@test "places that the model lacks are refused in a line" {
    tiny
    says 2 'layer 2 is out of range: expected 0 to 1' tg-patch "${both[@]}" --layer 2
    says 2 'head 2 is out of range: expected 0 to 1' tg-patch "${both[@]}" --site z --head 2
    says 2 '--output writes an archive: it takes no --format' tg-patch "${both[@]}" -o o --tsv
    says 2 '--output writes an archive: it takes no --format' tg-patch "${both[@]}" -o o --ablate zero --tsv
    says 2 '--output writes an archive: it takes no --no-header' tg-patch "${both[@]}" -o o --no-header
    says 2 'model.npz is read, and the output would replace it' tg-patch "${both[@]}" -o model.npz
    says 2 'model.npz is read, and the output would replace it' tg-patch "${both[@]}" -o model.npz --ablate zero
    says 2 'x.png: -o writes an archive (.npz), of which tg-attn-view makes pictures' tg-patch "${both[@]}" -o x.png
    echo text > notes
    says 2 'notes: plain text; --force replaces it' tg-patch "${both[@]}" -o notes
    printf 'To\tDo\ta\tb\n' > pairs
    says 2 'pairs is read, and the output would replace it' tg-patch --pairs pairs -o pairs --force
    says 2 'position 5 is out of range: expected 0 to 4' tg-patch "${both[@]}" --position 5
    says 2 '--keep: layer 2 is out of range' tg-patch "${both[@]}" --ablate zero --keep 2.0
    says 2 '--without: head 2 is out of range' tg-patch "${both[@]}" --ablate zero --without 1.2
    for list in 1 1. .1 1.a 1.mlps '0.0,' ','; do
        says 2 '--keep: expected LAYER.HEAD, LAYER.*, LAYER.mlp or embed, got ' tg-patch "${both[@]}" --ablate zero --keep "$list"
    done
}

@test "options that do not go together are refused in a line" {
    tiny
    for options in '--head 0' '--each head' '--site mlp --each both' '--keep 0.0' '--without 0.0' \
        '--ablate zero --site z' '--ablate zero --keep 0.0 --without 0.0' '--ablate mean' '--each layer --position 0' \
        '--pairs file' '--answer-id 3' 'operand' '--ablate zero --direction denoise' '--ablate zero --steps 0' '--steps 0'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr tg-patch "${both[@]}" $options
        echo "$options: $stderr"
        [[ -z $output && ${#stderr_lines[@]} = 1 ]]
    done
}

@test "a bad file of pairs is named with its line" {
    tiny
    : > empty
    says 1 'empty: there are no pairs' tg-patch --pairs empty
    printf '\n \t\r\n' > blank
    says 1 'blank: there are no pairs: expected a line for each' tg-patch --pairs blank
    printf '\nb\tc\n\nab\n' > blank
    says 1 'blank: line 4: a line has 1 field' tg-patch --pairs blank --metric kl
    printf '%s\n' $'a\tb\tc\td' 'ab' > pairs
    says 1 'pairs: line 2: a line has 1 field' tg-patch --pairs pairs
    printf '%s\n' $'a\tb\tc\td' $'a\tb\tc' > pairs
    says 1 'pairs: line 2: there is no wrong answer' tg-patch --pairs pairs
    printf '%s\n' $'a\tb\tc\td' $'ab\tbc\tc\td' > pairs
    says 1 'pairs: --each position needs prompts of as many tokens' tg-patch --pairs pairs
    says 1 'pairs: --ablate mean needs prompts of as many tokens' tg-patch --pairs pairs --ablate mean
    run -0 tg-patch --pairs pairs --site z
    says 3 'absent' tg-patch --pairs absent
}
