#!/usr/bin/env bats
# tg-attn-view of what tg-lens, tg-patch and tg-circuit wrote: heat maps.  Uses the model in docs/data/induction.

load helper
load dumps
load pictures

setup() {
    tg_setup
    ln -s "$ROOT/docs/data/induction" induction
    export TG_MODEL=$PWD/induction
}

# ---- in the terminal

@test "a lens: the most probable tokens, and shades of what is asked for" {
    tg-lens -q -p CatDogCat -o lens.npz
    run -0 --separate-stderr tg-attn-view -w 60 lens.npz
    [[ -z $stderr ]]
    is_output 'token 0   1   2   3   4   5   6   7   8   
      C   a   t   D   o   g   C   a   t   
    0 C . a . t . D . o . g . C . a . t   
    1 C : a . t . D . o . g . C . a . t   
    2 C : S : t : D : I : g : a @ t @ D   
probability of the next token 0 .:-=+*#%@ 0.7265 or more
colours follow the square root: 0.18 is in the middle
layer: blocks that have run, of 2
layer down, token across; in each cell the most probable
token'
    run -0 tg-attn-view -w 60 --show rank lens.npz
    [[ ${lines[5]} =~ ^'rank of the next token 0 .:-=+*#%@ '[0-9]+$ && ${lines[4]} = *'a . t . D   ' ]]
    run -0 tg-attn-view -w 60 --show kl -l 2 lens.npz
    is_output 'token 0   1   2   3   4   5   6   7   8   
      C   a   t   D   o   g   C   a   t   
    2 C . S . t . D . I . g . a . t . D . 
divergence from the output (nats) 0 .:-=+*#%@ 1
layer: blocks that have run, of 2
layer down, token across; in each cell the most probable
token'
    # without tokens, the numbers
    tg-lens -q -p CatDog --top 0 -o lens.npz
    run -0 tg-attn-view --show logit lens.npz
    [[ ${lines[0]} =~ ^'token '(\ +[0-5]){6}\ $ && ${lines[2]} =~ ^\ {4}0(\ +-?[0-9]+\.[0-9]{2}){5}\ +$ ]]
    # a token that is looked for everywhere
    tg-lens -q -p CatDog --target t -o lens.npz
    [[ $(tg-attn-view lens.npz) = *'probability of the target 0 '* ]]
}

@test "numbers are those of the archive" {
    slow_unless_sanitized
    need_numpy
    tg-lens -q -p CatDogCat --top 0 -o lens.npz
    for show in probs rank logit entropy kl; do
        tg-attn-view -w 200 --show $show lens.npz > drawn
        SHOW=$show python3 - << 'END'
import os, numpy as np
a, show = np.load("lens.npz"), os.environ["SHOW"]
value = np.exp(a["lens/logit"] - a["lens/sum"]) if show == "probs" else a["lens/" + show]
shown = [line.split()[1:] for line in open("drawn").read().split("\n")[2:5]]
targets = 8 if show in ("probs", "rank", "logit") else 9
assert [len(row) for row in shown] == [targets] * 3
for row, want in zip(shown, value):
    for text, x in zip(row, want):
        digits = len(text.partition(".")[2])
        assert abs(float(text) - x) <= 0.5001 * 10**-digits and (digits >= 1 or x == int(x)), (text, x)
END
    done
}

@test "the parts of a logit, and what heads take from keys" {
    tg-lens -q -p CatDogCat --attribute D -o parts.npz
    run -0 tg-attn-view parts.npz
    [[ ${lines[0]} =~ ^head(\ +[0-3]){4}\ +att\ bias\ +mlp\ +mlp\ bias\ $ ]]
    [[ ${lines[1]} =~ ^\ +0(\ +-?[0-9]+\.[0-9]{2}){7}\ $ && ${lines[2]} =~ ^\ +1(\ +-?[0-9]+\.[0-9]{2}){7}\ $ ]]
    [[ ${lines[3]} =~ ^'part of the logit -'([0-9.]+)' .:-=+*#%@ '([0-9.]+)$ && ${BASH_REMATCH[1]} = "${BASH_REMATCH[2]}" ]]
    [[ ${lines[4]} =~ ^'logit '[0-9.]+' of "D" after token 8'$ ]]
    [[ ${lines[5]} =~ ^"besides: embedding "[-.0-9]+", position "[-.0-9]+", norm's bias "[-.0-9]+$ ]] # no bias of the head
    [[ ${lines[6]} = 'layer down, head across' ]]
    run -0 tg-attn-view --show keys -l 1 -a 0,2 -w 100 parts.npz
    [[ ${lines[2]} = '1.0 '* && ${lines[3]} = '1.2 '* && ${lines[1]} =~ ^\ +C\ +a\ +t\ +D\ +o\ +g\ +C\ +a\ +t\ $ ]]
    [[ ${lines[4]} = 'part of the logit, by key '* && ${#lines[@]} = 7 ]]
}

@test "tokens of a logit have their texts, also those that the prompt lacks, and in older archives their ids" {
    slow_unless_sanitized
    need_numpy
    tg-lens -q -p CatDogCat --attribute D-P -o parts.npz
    [[ $(tg-attn-view parts.npz) = *' of "D" less "P" after token 8'* ]]
    tg-lens -q -p CatDogCat --attribute $'\n' -o line.npz
    [[ $(tg-attn-view line.npz) = *' of "\n" after token 8'* ]]
    alter parts.npz old.npz 'del a["attribution/token_text"], a["attribution/minus_text"]'
    [[ $(tg-attn-view old.npz) =~ ' of "D" less id '[0-9]+' after token 8' ]]
    alter parts.npz ids.npz 'del a["attribution/text"], a["attribution/token_text"], a["attribution/minus_text"]'
    [[ $(tg-attn-view ids.npz) =~ ' of id '[0-9]+' less id '[0-9]+' after token 8' ]]
    alter parts.npz bad.npz 'a["attribution/minus_text"] = np.array([b"P"])'
    run -1 --separate-stderr tg-attn-view bad.npz
    said 'bad.npz: array attribution/minus_text is S1 of shape (1,), expected S of shape ()'
}

patched=(-q -p CatDogCat --corrupt CatPigCat --answer D --wrong P)

@test "patches: by position, head, both, layer" {
    slow_unless_sanitized
    tg-patch "${patched[@]}" -o patch.npz
    run -0 tg-attn-view patch.npz
    [[ ${lines[1]} =~ ^\ +C\ +a\ +t\ +D/P\ +o/i\ +g\ +C\ +a\ +t\ $ ]]
    [[ ${lines[0]} =~ ^token(\ +[0-8]){9}\ $ && ${lines[2]} =~ ^\ +0\ +0\ +0\ +0\ +0\.99\  ]]
    [[ ${lines[4]} = 'effect of patches of x -'*' .:-=+*#%@ '* && ${lines[5]} = 'diff of "D" less "P": clean '*', corrupt -'* ]]
    # tokens that do not fit side by side are below each other, and those that a column cuts show where they differ
    tg-init -q -P baby -t ids --vocab-size 100000 --n-layer 1 --n-head 1 --n-embd 2 -o ids.npz
    tg-patch -q -m ids.npz --ids '7 99990 12' --corrupt-ids '7 99991 13' --metric kl -o ids-patch.npz
    run -0 tg-attn-view ids-patch.npz
    [[ ${lines[1]} =~ ^\ +7\ +99990\ +12\ $ && ${lines[2]} =~ ^\ +/99991\ +/13\ $ ]]
    need_numpy
    alter ids-patch.npz long.npz 'a["patch/text"] = np.array([b"a", b"responsible", b"x"]); a["patch/corrupt_text"] = np.array([b"a", b"responsibility", b"y"])'
    run -0 tg-attn-view long.npz
    [[ ${lines[1]} =~ ^\ +a\ +resp~ble\ +x\ $ && ${lines[2]} =~ ^\ +/res~ity\ +/y\ $ ]]
    tg-attn-view -o long.svg long.npz
    grep -qF '1 responsible/re' long.svg
    # archives that lack the answers, or their texts
    need_numpy
    alter patch.npz old.npz 'for name in ("answer", "wrong"): del a["patch/" + name], a["patch/" + name + "_text"]'
    [[ $(tg-attn-view old.npz) = *$'\ndiff: clean '* ]]
    alter patch.npz bare.npz 'del a["patch/answer_text"], a["patch/wrong_text"]'
    [[ $(tg-attn-view bare.npz) =~ $'\ndiff of "D" less id '[0-9]+': clean ' ]]
    tg-patch -q -p CatDogCat --corrupt CatPigCat --answer D -o one.npz
    [[ $(tg-attn-view one.npz) = *$'\nprob of "D": clean '* ]]
    tg-patch "${patched[@]}" --path 0.0: -o edges.npz
    [[ $(tg-attn-view edges.npz) = *$'\ndiff of "D" less "P": clean '* ]]
    [[ ${lines[6]} = 'corrupt run with a part of the clean one' && ${lines[7]} = 'layer down, token across' ]]
    tg-patch "${patched[@]}" --site z --direction noise --attribution -o patch.npz
    run -0 tg-attn-view --show metric patch.npz
    [[ ${lines[0]} =~ ^head(\ +[0-3]){4}\ $ && ${lines[3]} = 'diff after patches of z '* ]]
    [[ ${lines[5]} = 'clean run with a part of the corrupt one, estimated to first order' ]]
    tg-patch "${patched[@]}" --site z --each both -o patch.npz
    run -0 tg-attn-view -a 0,3 patch.npz
    [[ ${lines[2]} = '  0.0 '* && ${lines[3]} = '  0.3 '* && ${lines[4]} = '  1.0 '*' 1.00 ' && ${lines[5]} = '  1.3 '* ]]
    printf '%s\n' $'CatDogCat\tCatPigCat\tD\tP' $'DogCatDog\tDogPigDog\tC\tP' > pairs
    tg-patch -q --pairs pairs -o patch.npz
    [[ $(tg-attn-view patch.npz) =~ ^position(\ +[0-8]){9}\ $'\n'\ +0\ .*', means over pairs' ]]
    tg-patch "${patched[@]}" --each layer -o patch.npz
    run -0 tg-attn-view patch.npz
    is_output 'patch  all 
    0 1.00 
    1 1.00 
effect of patches of x -1 .:-=+*#%@ 1
'"${lines[4]}"'
corrupt run with a part of the clean one
layer down, patch across'
}

@test "ablations: of each head and MLP, and of the members of a circuit" {
    slow_unless_sanitized
    need_numpy
    tg-patch "${patched[@]}" --ablate resample -o each.npz
    tg-patch "${patched[@]}" --ablate resample --tsv > each.tsv
    run -0 tg-attn-view each.npz
    [[ ${lines[0]} =~ ^head(\ +[0-3]){4}\ +mlp\ $ ]]
    # the numbers of the table
    awk -F '\t' 'NR > 3 { x = ($4 < 0.005 && $4 > -0.005) ? "0.00" : sprintf("%.2f", $4)
                          printf "%s%s", x, (NR == 8 || NR == 13) ? "\n" : " " }' each.tsv > want
    [[ $(printf '%s\n' "${lines[@]:1:2}" | sed 's/^ *[01]  *//; s/  */ /g; s/ $//') = "$(cat want)" ]]
    [[ ${lines[3]} =~ ^'change of the faithfulness without each head and MLP '-[0-9.]+' .:-=+*#%@ ' ]]
    [[ ${lines[4]} =~ ^'diff of "D" less "P": model '[0-9.]+', none '-?[0-9.e-]+$ && ${lines[5]} = 'ablated: resample' ]]
    tg-patch "${patched[@]}" --ablate zero --keep 0.0,1.0,1.mlp -o kept.npz
    run -0 tg-attn-view --show metric kept.npz
    [[ ${lines[1]} =~ ^\ +0\ +-?[0-9.]+\ +$ && ${lines[2]} =~ ^\ +1\ +-?[0-9.]+\ +-?[0-9.]+\ $ ]]
    [[ ${lines[3]} = 'diff without each member '* && ${lines[5]} =~ ^'circuit of 3, faithfulness '[0-9.]+'; ablated: zero'$ ]]
    run -0 tg-attn-view --show faithfulness -l 1 -a 0,2 kept.npz
    [[ ${lines[0]} =~ ^head\ +0\ +2\ +mlp\ $ && ${lines[1]} =~ ^\ +1\ +[0-9.-]+\ +[0-9.-]+\ $ ]]
    tg-attn-view -o each.png each.npz
    tg-attn-view -o each.svg each.npz
    grep -q 'change of the faithfulness' each.svg
    # of a set there is nothing by itself
    tg-patch "${patched[@]}" --ablate zero --without 0.0 -o set.npz
    run -1 tg-attn-view set.npz
    [[ $output = 'tg-attn-view: set.npz: no head or MLP of it was left out by itself: there is nothing to draw' ]]
}

@test "circuits: heads, and pairs of them" {
    tg-circuit -q -o circuit.npz
    run -0 tg-attn-view circuit.npz
    is_output 'head     0     1     2     3 
   0 -0.17  0.88  0.79  0.84 
   1  1.00  0.13  0.31  0.33 
copying: eigenvalues of W_E OV W_U -0.9999 .:-=+*#%@ 0.9999
layer down, head across'
    run -0 tg-attn-view --show previous -l 0 circuit.npz
    [[ ${lines[1]} =~ ^\ +0\ 1\.00(\ 0\.0[0-9]){3}\ $ && ${lines[2]} = 'attention to the previous position 0 '* ]]
    tg-circuit -q --compose -o pairs.npz
    run -0 tg-attn-view --show k pairs.npz
    is_output 'writer  0.0  0.1  0.2  0.3 
   1.0 0.25 0.18 0.19 0.19 
   1.1 0.13 0.54 0.57 0.54 
   1.2 0.13 0.57 0.58 0.56 
   1.3 0.13 0.60 0.60 0.56 
K-composition 0 .:-=+*#%@ 0.5986
of random matrices: 0.125
reader down, writer across'
    [[ $(tg-attn-view --show v -a 0 pairs.npz | sed -n 2p) = '   1.0 0.042 '* ]]
}

@test "scores of pairs less that of random matrices, on a scale that begins at a score of 0 or before" {
    slow_unless_sanitized
    need_numpy
    tg-circuit -q --compose -o pairs.npz
    run -0 tg-attn-view pairs.npz
    is_output 'writer  0.0  0.1  0.2  0.3 
   1.0 0.12 0.06 0.06 0.07 
   1.1 0.01 0.42 0.45 0.41 
   1.2 0.00 0.45 0.46 0.44 
   1.3 0.01 0.47 0.47 0.43 
K-composition less that of random matrices -0.4736 .:-=+*#%@ 0.4736
of random matrices: 0.125
reader down, writer across'
    cmp <(tg-attn-view pairs.npz) <(tg-attn-view --show k_excess pairs.npz)
    [[ $(tg-attn-view --show v_excess -a 0 pairs.npz) = *$'\n   1.0 -0.083 '*'V-composition less that of random matrices -'* ]]
    # of random matrices, all scores of which are near the baseline: pale, except from 0
    tg-init -q --n-layer 4 --n-head 4 --n-embd 64 --n-ctx 8 -o random.npz
    tg-circuit -q -m random.npz --compose -o random-pairs.npz
    run -0 tg-attn-view -w 200 --show q_excess random-pairs.npz
    [[ $output = *'Q-composition less that of random matrices -0.125 .:-=+*#%@ 0.125'* ]]
    svg_module
    for show in q q_excess; do
        tg-attn-view --show $show -o $show.svg random-pairs.npz
    done
    python3 - << 'END'
import svg
def lightness(name):
    """The mean, of 0 to 255, over the cells, which are wider than the scale's steps."""
    fills = [fill for r, fill in svg.Image(name).rects[1:] if fill[0] == "#" and r[2] >= 8]
    assert len(fills) > 40, len(fills)
    return sum(sum(bytes.fromhex(fill[1:])) / 3 for fill in fills) / len(fills)
pale, dark = lightness("q_excess.svg"), lightness("q.svg")
assert pale > 200 and dark < 140, (pale, dark)
END
    # an archive without a baseline
    alter pairs.npz bare.npz 'del a["circuit/baseline"]'
    cmp <(tg-attn-view bare.npz) <(tg-attn-view --show k pairs.npz | grep -v '^of random')
    run -2 --separate-stderr tg-attn-view --show k_excess bare.npz
    said 'bare.npz: --show k_excess is not of a circuit: expected one of k|q|v'
}

@test "columns that do not fit are drawn in blocks, very many without their texts" {
    tg-lens -q -p CatDogHenCatDogHen -o lens.npz
    run -0 tg-attn-view -w 40 lens.npz
    [[ $(grep -c '^token [0-9]' <<< "$output") = 3 && $(grep -c '^    2 ' <<< "$output") = 3 ]]
    while read -r line; do [[ ${#line} -le 40 ]]; done <<< "$output"
    run -0 tg-attn-view -w 20 lens.npz
    [[ $(grep -c '^token [0-9]' <<< "$output") = 6 ]]
    tg-lens -q --ids "$(seq -s ' ' 0 47)" --target t -o lens.npz
    run -0 tg-attn-view -w 30 lens.npz
    [[ $(grep -c '^token [0-9]' <<< "$output") = 4 && ${lines[0]} =~ ^'token 0   2   4   6   8   10  '\ *$ ]]
    [[ ${lines[1]} =~ ^\ {4}0\ [.:=+*#%@-]{24}$ && $output != *'most probable token'* ]]
    while read -r line; do [[ ${#line} -le 30 ]]; done <<< "$output"
}

@test "colours: cells have them, and are left before the line ends" {
    tg-lens -q -p CatDogCat -o lens.npz
    tg-attn-view --color 256 lens.npz > drawn
    grep -q $'\033\\[48;5;' drawn
    sed $'s/\033\\[[0-9;]*m//g' drawn > plain
    grep -qx '    2 C  S  t  D  I  g  a  t  D  ' plain
    grep $'\033' drawn | while IFS= read -r line; do [[ $line = *$'\033[49m'* ]]; done
    run -0 tg-attn-view --color truecolor --paper light --show entropy lens.npz
    [[ $output = *$'\033[48;2;'* ]]
}

@test "texts that are not ASCII, and texts of other programs, stay on their line" {
    slow_unless_sanitized
    need_numpy
    tg-lens -q -p CatDogCat -o lens.npz
    alter lens.npz other.npz 'a["lens/top_text"] = a["lens/top_text"].copy(); a["lens/top_text"][0, 0, 0] = "\u4e16\x1b[31m\n".encode()
a["lens/text"] = a["lens/text"].copy(); a["lens/text"][1] = "\x1b[2J\u00e9".encode()'
    LC_ALL=C.UTF-8 tg-attn-view -w 120 other.npz > drawn
    [[ $(LC_ALL=C grep -c $'\033' drawn) = 0 && $(wc -l < drawn) = 9 ]]
    grep -q '世' drawn
    LC_ALL=C tg-attn-view -w 120 other.npz > drawn
    LC_ALL=C grep -q '[^ -~]' drawn && false
    tg-attn-view --png -o lens.png other.npz 2> notes
    grep -q "characters that the PNG's font lacks" notes
}

# ---- images

@test "images: cells of the colours of their numbers, and labels" {
    slow_unless_sanitized
    need_numpy
    tg-lens -q -p CatDogCat -o lens.npz
    tg-attn-view -o lens.svg --scale linear lens.npz
    tg-attn-view -o lens.png --scale linear lens.npz
    svg_module
    png_module
    python3 - << 'END'
import numpy as np, png, svg
image = svg.Image("lens.svg")
a = np.load("lens.npz")
assert image.title == "lens.npz: probability of the next token"
texts = image.text
assert texts[:2] == [image.title, "layer"]
assert texts[2:11] == ["%d %s" % (t, c) for t, c in enumerate("CatDogCat")]
cells = [row.tolist() for row in a["lens/top_text"][:, :, 0].astype(str)]
assert texts[11:41] == [x for l, row in enumerate(cells) for x in [str(l)] + row], texts[11:41]
assert texts[41:] == ["0", "0.5", "1", "probability of the next token", "layer down, token across; in each cell the most probable token",
                      "layer: blocks that have run, of 2"]
rows, palette = png.read("lens.png")
assert image.size == (len(rows[0]), len(rows))
rects = image.rects[1:25]  # the last token has no next one
assert len({r[0] for r, _ in rects}) == 8 and len({r[1] for r, _ in rects}) == 3
probs = np.exp(a["lens/logit"].astype(float) - a["lens/sum"])
for n, ((x, y, w, h), fill) in enumerate(rects):
    step = int(probs[n // 8, n % 8] * 239 + 0.5)
    assert rows[y][x] == rows[y + h - 1][x + w - 1] == step
    assert fill == "#" + palette[step].hex()
END
}

@test "images of every kind, light and dark" {
    slow_unless_sanitized
    need_numpy
    tg-lens -q -p CatDogCat --attribute D -o parts.npz
    tg-patch "${patched[@]}" --site z --each both -o patch.npz
    tg-circuit -q -o circuit.npz
    tg-circuit -q --compose -o pairs.npz
    svg_module
    png_module
    for kind in parts patch circuit pairs; do
        tg-attn-view -o $kind.svg $kind.npz
        tg-attn-view -o $kind.png $kind.npz
        tg-attn-view -o dark.png --paper dark --title "A title" --force $kind.npz
        KIND=$kind python3 - << 'END'
import os, png, svg
kind = os.environ["KIND"]
image = svg.Image(kind + ".svg")
rows, palette = png.read(kind + ".png")
assert image.size == (len(rows[0]), len(rows))
want = {"parts": ["0", "3", "mlp", "att bias", "mlp bias", "layer down, head across", "part of the logit"],
        "patch": ["0 C", "8 t", "0.0", "1.3", "layer.head", "layer.head down, token across", "effect of patches of z"],
        "circuit": ["0", "3", "copying: eigenvalues of W_E OV W_U"],
        "pairs": ["1.0", "0.3", "reader", "K-composition less that of random matrices", "of random matrices: 0.125"]}[kind]
assert set(want) <= set(image.text), image.text
dark, colors = png.read("dark.png")
assert max(colors[dark[0][0]]) < 40 and min(palette[rows[0][0]]) == 255
assert any(x < 240 for row in dark for x in row)
END
    done
}

# ---- errors

@test "options that do not go with what is drawn" {
    tg-lens -q -p CatDog -o lens.npz
    tg-lens -q -p CatDog --attribute D -o parts.npz
    tg-patch "${patched[@]}" -o patch.npz
    tg-circuit -q -o circuit.npz
    tg-circuit -q --compose -o pairs.npz
    tg-attn-dump -q -p CatDog -o dump.npz
    refused() { # MESSAGE ARGUMENT...
        run -2 --separate-stderr tg-attn-view "${@:2}"
        [[ -z $output && ${#stderr_lines[@]} = 1 ]] && said "tg-attn-view: $1"
    }
    refused 'lens.npz: --show effect is not of a lens: expected one of probs|rank|logit|entropy|kl' --show effect lens.npz
    refused 'lens.npz: --show scores is not of a lens' --show scores lens.npz
    refused 'parts.npz: --show probs is not of an attribution: expected one of parts|keys' --show probs parts.npz
    refused 'patch.npz: --show rank is not of patches: expected one of effect|metric' --show rank patch.npz
    tg-patch "${patched[@]}" --ablate zero -o ablation.npz
    refused 'ablation.npz: --show effect is not of ablations: expected one of change|faithfulness|metric' --show effect ablation.npz
    tg-patch "${patched[@]}" --path : --attribution -o edges.npz
    refused 'edges.npz: there are no pages of archives of kind "edges"' --html edges.npz
    refused 'circuit.npz: there are no pages of archives of kind "circuit"' --html circuit.npz
    refused 'circuit.npz: --show k is not of a circuit: expected one of copying|positive|' --show k circuit.npz
    refused 'pairs.npz: --show copying is not of a circuit: expected one of k_excess|q_excess|v_excess|k|q|v' --show copying pairs.npz
    refused 'dump.npz: --show kl is not of attention: expected one of probs|scores|steps' --show kl dump.npz
    refused 'lens.npz: --scale is for probabilities, not for --show kl' --scale log --show kl lens.npz
    refused 'lens.npz: --head does not go with a lens' -a 0 lens.npz
    refused 'patch.npz: --head does not go with patches of all heads together' -a 0 patch.npz
    refused 'lens.npz: layer 3 is not in the archive' -l 3 lens.npz
    refused 'parts.npz: head 4 is not in the archive' -a 1,4 parts.npz
    refused 'pairs.npz: layer 0 has no earlier layer' -l 0 pairs.npz
    refused 'lens.npz: --batch does not go with an archive of kind "lens"' -b 1 lens.npz
    refused 'parts.npz: there are no pages of archives of kind "attribution" without a dump before them' --html parts.npz
    refused '--show steps is an SVG image' --show steps lens.npz
    refused 'lens.npz: --show steps is not of a lens' --svg --show steps lens.npz
    tg-init -q -P baby-neox --n-layer 1 --n-head 1 --n-embd 8 --n-ctx 8 -o neox.npz
    tg-circuit -m neox.npz -o circuit.npz --force
    refused 'circuit.npz: the archive has no circuit/previous' --show previous circuit.npz
}

@test "a damaged archive is refused in a line, with its numbers" {
    slow_unless_sanitized
    need_numpy
    tg-lens -q -p CatDog -o lens.npz
    tg-patch "${patched[@]}" -o patch.npz
    tg-circuit -q --compose -o pairs.npz
    refused() { # FILE STATEMENT MESSAGE
        alter "$1" bad.npz "$2"
        run -1 --separate-stderr tg-attn-view bad.npz
        [[ -z $output && ${#stderr_lines[@]} = 1 ]]
        said "bad.npz: $3" || { echo "$2"; return 1; }
        run -1 --separate-stderr tg-info --check bad.npz
    }
    refused lens.npz 'a["kind"] = np.bytes_("model")' 'the archive has kind "model", expected "attention", "lens", "attribution", "patch", "circuit"'
    refused lens.npz 'a["version"] = np.int64(2)' 'the archive has version 2, expected 1'
    refused lens.npz 'del a["lens/kl"]' 'array lens/kl is missing'
    refused lens.npz 'a["lens/kl"] = a["lens/kl"].reshape(6, 3)' 'array lens/kl is f8 of shape (6, 3), expected f8 or f4 of shape (3, 6)'
    refused lens.npz 'a["lens/kl"] = a["lens/kl"].astype("i8")' 'array lens/kl is i8 of shape (3, 6), expected f8 or f4'
    refused lens.npz 'a["lens/kl"][1, 2] = np.nan' 'lens/kl[8] is nan: it must be finite'
    refused lens.npz 'a["lens/layers"][2] = 3' 'lens/layers[2] is 3, which is out of range'
    refused lens.npz 'a["lens/layers"][2] = 1' 'lens/layers[2] is 1, expected an ascending order'
    refused lens.npz 'a["lens/positions"][5] = 6' 'lens/positions[5] is 6, which is out of range'
    refused lens.npz 'a["lens/rank"][0, 0] = -2' 'lens/rank[0] is -2, which is out of range'
    refused lens.npz 'a["lens/ids"] = a["lens/ids"][:0]' 'array lens/ids is i8 of shape (0'
    refused patch.npz 'a["patch/site"] = np.bytes_("y")' 'patch/site is "y", expected one of x|q|k|v'
    refused patch.npz 'a["patch/heads"] = np.array([-1, 0])' 'array patch/value is f8 of shape'
    refused patch.npz 'a["patch/n_layer"] = np.int64(-1)' 'patch/n_layer[0] is -1, which is out of range'
    refused pairs.npz 'del a["circuit/k"]' 'circuit/copying and circuit/k are missing: expected one of them'
    refused pairs.npz 'a["circuit/n_layer"] = np.int64(3)' 'circuit/k has 2 layers of 4 heads, but circuit/n_layer is 3'
    for kind in lens patch pairs; do
        tg-info --check $kind.npz > got
        [[ $(head -n 1 got) =~ ^$kind'.npz: '(lens|patch|circuit)' (an archive of tg), ' ]]
        grep -qx 'checked     everything is as it should be' got
    done
    cat lens.npz lens.npz > bad.npz
    run -1 --separate-stderr tg-attn-view bad.npz
    said 'bad.npz: data follows the archive: expected one archive'
    # what other programs write: compressed, in another precision, with other arrays
    alter lens.npz fine.npz 'a["lens/kl"] = a["lens/kl"].astype("f4"); a["lens/notes"] = np.arange(3); a["more"] = np.arange(2)'
    tg-attn-view --show kl fine.npz | cmp - <(tg-attn-view --show kl lens.npz)
    python3 -c 'import numpy as np
np.savez_compressed("small.npz", **np.load("lens.npz"))'
    tg-attn-view small.npz | cmp - <(tg-attn-view lens.npz)
    tg-attn-view < lens.npz | cmp - <(tg-attn-view lens.npz)
    cat lens.npz | tg-attn-view - | cmp - <(tg-attn-view lens.npz)
}
