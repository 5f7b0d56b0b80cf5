load helper

# dump FILE [KEY=VALUE]...: a dump archive made by NumPy.
dump() {
    need_numpy
    python3 "$ROOT/tests/make_dump.py" "$@"
}

# alter FROM TO STATEMENT: another archive, a dictionary `a` of arrays changed by Python.
alter() {
    python3 - "$@" << 'END'
import sys, numpy as np
a = dict(np.load(sys.argv[1]))
exec(sys.argv[3])
np.savez(sys.argv[2], **a)
END
}

need_chromium() {
    need python3
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/tests python3 -c 'import browser, sys; sys.exit(browser.find() is None)' ||
        skip "Chromium is not installed"
}

# page FILE: run Python on standard input with `page`, FILE open in the browser.  At the end nothing
# has been refused, thrown or fetched.
page() {
    cat > page.py
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/tests python3 - "$@" << 'END'
import os, sys
from browser import Browser
with Browser(1400, 1000) as page:
    page.open("file://" + os.path.abspath(sys.argv[1]))
    page.settle()
    exec(compile(open("page.py").read(), "page.py", "exec"))
    assert page.problems == [], page.problems
    assert len(page.requests) == 1, page.requests
END
}

# ---- in the terminal

@test "the worked example, as plain text" {
    slow
    dump dump.npz example=1
    run -0 --separate-stderr tg-attn-view dump.npz
    [[ -z $stderr ]]
    is_output 'layer 0, head 0: 3 tokens
key     0     1     2 
        a     b     c 
0 a  1.00     -     - 
1 b  0.38  0.62     - 
2 c  0.38  0.23  0.38 
probability 0 .:-=+*#%@ 1
colours follow the square root: 0.25 is in the middle
query down, key across; blank or -: masked'
    run -0 tg-attn-view --show scores dump.npz
    is_output 'layer 0, head 0: 3 tokens
key      0      1      2 
         a      b      c 
0 a   0.50      -      - 
1 b   0.00   0.50      - 
2 c   0.50   0.00   0.50 
score -0.5 .:-=+*#%@ 0.5
query down, key across; blank or -: masked'
}

@test "a sheet of all heads, one layer's beside each other" {
    slow
    dump dump.npz T=4 H=3 L=2
    run -0 tg-attn-view -w 80 dump.npz
    [[ ${lines[0]} =~ ^'layer 0, head 0   '' '*'layer 0, head 1   '' '*'layer 0, head 2 '' '*$ ]]
    [[ ${lines[1]} =~ ^'@@      ' ]]
    [[ $(grep -c 'layer 1, head 0 .*layer 1, head 1 .*layer 1, head 2' <<< "$output") = 1 ]]
    run -0 tg-attn-view -w 80 -l 1 dump.npz
    [[ $output = *'layer 1, head 2'* && $output != *'layer 0'* ]]
    run -0 tg-attn-view -w 80 -a 1 dump.npz
    [[ $output = *'layer 0, head 1'*'layer 1, head 1'* && $output != *'head 0'* ]]
}

# A probability's shade says between which ninths its root lies.
@test "shades are those of the numbers" {
    slow
    dump dump.npz T=13 H=1 L=1
    for more in '--scale sqrt' ''; do
        # shellcheck disable=SC2086
        tg-attn-view -w 60 -l 0 -a 0 $more dump.npz > out
        SCALE=$more python3 - << 'END'
import os, numpy as np
probs = np.load("dump.npz")["h.0.probs"][0, 0]
top = np.float64(np.sort(probs.max(1))[-1 - 13 // 10])
top = top if top <= 0.9 and not os.environ["SCALE"] else 1
assert top < 0.9 or os.environ["SCALE"]
lines = [line.rstrip("\n") for line in open("out")]
rows = [line for line in lines if line[:2].strip().isdigit()]
assert len(rows) == 13, lines
for i, line in enumerate(rows):
    cells = line[5:]
    assert len(cells) == 26, line
    for j in range(13):
        want = " " if j > i else ".:-=+*#%@"[min(int(np.sqrt(np.float64(probs[i, j]) / top) * 9), 8)]
        assert cells[2 * j : 2 * j + 2] == want * 2, (i, j, line)
assert [line for line in lines if line.startswith("probability")] == [
    "probability 0 .:-=+*#%@ 1" if top == 1 else "probability 0 .:-=+*#%@ " + f"{top:.4g} or more"]
END
    done
}

@test "colours follow the terminal, NO_COLOR and --color" {
    slow
    dump dump.npz T=4
    esc=$'\033'
    colors() { # TERM COLORTERM NO_COLOR [OPTION]...
        local vars="COLORTERM='$2' NO_COLOR='$3'"
        ON_TERM=$1 on_terminal "$vars tg-attn-view ${*:4} dump.npz" > out
        grep -q "$esc\[[34]8;2;" out && echo truecolor
        grep -q "$esc\[[34]8;5;" out && echo 256
        grep -q "$esc" out || echo none
    }
    [[ $(colors xterm-256color truecolor '') = truecolor ]]
    [[ $(colors xterm 24bit '') = truecolor ]]
    [[ $(colors xterm-256color '' '') = 256 ]]
    [[ $(colors xterm '' '') = none ]]
    [[ $(colors dumb truecolor '') = none ]]
    [[ $(colors xterm-256color truecolor 1) = none ]]
    [[ $(colors xterm-256color truecolor '' --color never) = none ]]
    [[ $(colors xterm-256color truecolor '' --color 256) = 256 ]]
    [[ $(colors dumb '' 1 --color truecolor) = truecolor ]]
    COLORTERM=truecolor TERM=xterm-256color tg-attn-view dump.npz > out
    run -1 grep -q "$esc" out
    # what is coloured ends: every line leaves the terminal as it was
    tg-attn-view --color truecolor dump.npz > out
    python3 - << 'END'
import re
for line in open("out"):
    fg = bg = False
    for code in re.findall("\033\\[([0-9;]*)m", line):
        fg = code != "39" if code[0] == "3" else fg
        bg = code != "49" if code[0] == "4" else bg
    assert not fg and not bg, line
END
}

# A head that looks at everything alike: its numbers are small, and still are not dark.
@test "the scale follows the data: 300 tokens are not a dark triangle" {
    slow
    dump all.npz T=300 H=1 L=1 D=4
    alter all.npz dump.npz 'a = {n: a[n] for n in a if not n.endswith(("scores", "probs"))}; a["h.0.q"] = a["h.0.q"] * 0.1'
    for more in '' '--scale sqrt'; do
        # shellcheck disable=SC2086
        tg-attn-view --png $more -o out.png dump.npz
        png_module
        SCALE=$more python3 - << 'END'
import os, png
rows, palette = png.read("out.png")
shown = [x for row in rows[:-60] for x in row if x < 240]
least = sum(x < 30 for x in shown) / len(shown)  # an eighth of the colours
assert least > 0.9 if os.environ["SCALE"] else least < 0.1, least
assert len(set(shown)) > 100 or os.environ["SCALE"]
END
    done
}

@test "scores diverge: 0 has the colour of the paper, and each sign a hue of its own" {
    slow
    dump all.npz T=3 H=1 L=1
    alter all.npz dump.npz 'a["h.0.scores"][0, 0] = [[-4, -1e9, -1e9], [0, 1, -1e9], [2, -2, 4]]'
    tg-attn-view --png --show scores -o out.png dump.npz
    png_module
    python3 - << 'END'
import png
rows, palette = png.read("out.png")
y0 = next(y for y, row in enumerate(rows) if bytes([0] * 40) in row)
x0 = rows[y0].index(bytes([0] * 40))
at = lambda i, j: palette[rows[y0 + 80 * i][x0 + 80 * j]]
assert min(at(1, 0)) > 240, at(1, 0)
for i, j in ((0, 0), (2, 1)):
    assert at(i, j)[2] > at(i, j)[0] + 40, (i, j, at(i, j))  # blue
for i, j in ((1, 1), (2, 0), (2, 2)):
    assert at(i, j)[0] > at(i, j)[2] + 20, (i, j, at(i, j))  # orange
END
    tg-attn-view --show scores dump.npz > out
    grep -xF 'score -4 .:-=+*#%@ 4' out
    for color in 256 truecolor; do
        LC_ALL=C.UTF-8 tg-attn-view --color $color --show scores dump.npz > "$color"
        tg-attn-view --color $color dump.npz > other
        run -1 cmp -s "$color" other
    done
    # 256 colours: black is 0, the ends are the walks'
    grep -q '48;5;16m *0.00 ' 256
    grep -q '48;5;153m *-4.00 ' 256
    grep -q '48;5;222m *4.00 ' 256
}

@test "half blocks hold two queries a line, with the page's colours" {
    slow
    dump dump.npz T=40 H=1 L=1 text=words
    LC_ALL=C.UTF-8 tg-attn-view --color truecolor -w 60 --scale sqrt dump.npz > out
    LC_ALL=C.UTF-8 tg-attn-view --html dump.npz > page.html 2> /dev/null
    python3 - << 'END'
import re, numpy as np
probs = np.load("dump.npz")["h.0.probs"][0, 0]
hexes = re.search('"dark": {"probs": "([0-9a-f]*)"', open("page.html").read()).group(1)
want = [tuple(bytes.fromhex(hexes[n : n + 6])) for n in range(0, len(hexes), 6)]
assert len(want) == 240
got = []
for line in open("out", encoding="utf8").read().split("\n")[2:22]:
    fg = bg = None
    upper, lower = [], []
    for fore, rgb, default, char in re.findall("\033\\[(?:([34])8;2;([0-9;]+)|([34]9))m|(.)", line):
        if rgb:
            color = tuple(map(int, rgb.split(";")))
            fg, bg = (color, bg) if fore == "3" else (fg, color)
        elif default:
            fg, bg = (None, bg) if default == "39" else (fg, None)
        else:
            upper.append({"▀": fg, "▄": bg}.get(char, bg if char == " " else "text"))
            lower.append({"▀": bg, "▄": fg}.get(char, bg if char == " " else "text"))
    got += [upper[-40:], lower[-40:]]
for i in range(40):
    for j in range(40):
        step = int(np.sqrt(np.float64(probs[i, j])) * 239 + 0.5)
        assert got[i][j] == (None if j > i else want[step]), (i, j, got[i][j])
END
}

@test "lines are as wide as asked, as COLUMNS says, or as the terminal" {
    slow
    for T in 5 30 200; do
        dump dump.npz T=$T H=3 text=words
        for width in 20 33 60 80 131; do
            for more in '' '--show scores' '-l 1' '-l 1 -a 2' '-l 0 -a 0 --show scores'; do
                # shellcheck disable=SC2086
                tg-attn-view -w $width $more dump.npz > out
                [[ $(wc -L < out) -le $width ]] || { echo "$T $width $more: $(wc -L < out)"; false; }
            done
        done
    done
    tg-attn-view -w 50 dump.npz > want
    COLUMNS=50 tg-attn-view dump.npz | cmp - want
    on_terminal 'stty cols 50; tg-attn-view --color never dump.npz' | tr -d '\r' | cmp - want
}

@test "many tokens: a cell stands for several, and what stands out is still there" {
    slow
    dump dump.npz T=200 H=2 L=1 D=16
    tg-attn-view -w 60 -l 0 -a 0 dump.npz > out
    grep -x 'each cell: the greatest of 8 x 8' out
    grep -F 'layer 0, head 0: 200 tokens' out
    # the head looks one token back: the greatest stand on the diagonal
    awk '$1 ~ /^[0-9]+-[0-9]*$/ || $2 ~ /^[0-9]+$/ { print }' out | grep -c '@@' > n
    [[ $(cat n) -ge 20 ]]
}

@test "tokens in other scripts and control characters can be read, and do nothing" {
    slow
    dump dump.npz T=12 L=1 H=1 text=hostile
    LC_ALL=C.UTF-8 tg-attn-view -w 120 dump.npz > out
    grep -F $' 5 中文' out
    grep -F '\u202E·rtl' out
    grep -F '\xFF\xFE·bad' out
    tg-attn-view -w 120 dump.npz > out
    grep -F '\u4E2D\u6587' out
    for more in '-w 20' '-w 120' '--color truecolor'; do
        # shellcheck disable=SC2086
        LC_ALL=C.UTF-8 tg-attn-view $more dump.npz | sed 's/\x1b\[[34][89][0-9;]*m//g' > out
        run -1 grep -P '[\x00-\x09\x0b-\x1f\x7f]|\xe2\x80[\x8b-\x8f\xa8-\xae]' out
    done
}

# tokens FILE ID TEXT...: a dump of one head with these tokens.
tokens() {
    dump all.npz T=$(($# / 2)) H=1 L=1 D=8
    python3 - "$@" << 'END'
import sys, numpy as np
a = dict(np.load("all.npz"))
a["dump/ids"] = np.array([int(x) for x in sys.argv[2::2]], "i8")
a["dump/text"] = np.array([x.encode() for x in sys.argv[3::2]])
np.savez(sys.argv[1], **a)
END
}

@test "tokens that are not bytes have their ids beside them, and columns stay aligned" {
    slow
    tokens dump.npz 5962 First 13 ' x' 40792 $'\xe4\xb8\xad\xe6\x96\x87' 25 $'e\xcc\x81' 7 $'\xf0\x9f\x91\x8d\xe2\x80\x8d' \
        70000 antidisestablishment 2 '\xE4\xB8' 1 $'\xcc\x81'
    LC_ALL=C.UTF-8 tg-attn-view -w 120 dump.npz > out
    python3 - << 'END'
import unicodedata
def width(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
lines = open("out", encoding="utf8").read().split("\n")
keys, texts, ids, rows = lines[1], lines[2], lines[3], lines[4:12]
assert len({width(line) for line in lines[1:12]}) == 1, [width(line) for line in lines[1:12]]
assert texts.split() == ["First", "·x", "中文", "e\u0301", "👍\\u200D", "antidisest…", "\\xE4\\xB8", "\\u0301"], texts
assert ids.split() == ["id", "5962", "13", "40792", "25", "7", "70000", "2", "1"], ids
# a column's titles end where its numbers do
end = lambda line, word: width(line[: line.rindex(word) + len(word)])
assert end(texts, "中文") == end(ids, " 40792") == end(keys, " 2")
END
    # a map: an id on each line that is one query
    LC_ALL=C.UTF-8 tg-attn-view -w 48 dump.npz > out
    grep -q '^0 First           5962 @@ ' out
    grep -q '^5 antidisestabl… 70000 ' out
    [[ $(grep -c '^key  *id 0 ' out) = 1 ]] # \xE4\xB8 is not written downwards
    # no room: without
    LC_ALL=C.UTF-8 tg-attn-view -w 34 dump.npz | grep -q '^1 ·x  *[^ 0-9]'
}

@test "a line of several queries has their tokens if there is room" {
    slow
    dump dump.npz T=90 H=1 L=1 text=words
    LC_ALL=C.UTF-8 tg-attn-view -w 140 --color 256 dump.npz | sed 's/\x1b\[[34][89][0-9;]*m//g' > out
    grep -q '^ 0 The ·quick ' out # two of them, with a space between
    LC_ALL=C.UTF-8 tg-attn-view -w 80 --color 256 dump.npz | sed 's/\x1b\[[34][89][0-9;]*m//g' > out
    grep -q '^ 0-3  The·quick·brown·fox ' out
    [[ $(wc -L < out) -le 80 ]]
    dump dump.npz T=90 H=1 L=1 # bytes
    LC_ALL=C.UTF-8 tg-attn-view -w 80 --color 256 dump.npz | sed 's/\x1b\[[34][89][0-9;]*m//g' | grep -q '^ 0-3  *[^a-z ]'
}

@test "a dump of q and k, of scores, or of probs alone gives the same picture" {
    slow
    dump all.npz T=30 mask=-inf
    tg-attn-view -w 60 all.npz > want
    for stages in q,k scores probs probs,k; do
        dump part.npz T=30 mask=-inf stages=$stages
        tg-attn-view -w 60 part.npz | cmp - want
    done
    dump part.npz T=30 layout=bhtd stages=q,k
    tg-attn-view -w 60 part.npz | cmp - want
    tg-attn-view -w 60 --show scores all.npz > want
    for stages in q,k scores; do
        dump part.npz T=30 mask=min stages=$stages
        tg-attn-view -w 60 --show scores part.npz | cmp - want
    done
    dump part.npz stages=probs
    run -1 --separate-stderr tg-attn-view --show scores part.npz
    said 'part.npz: layer 0 lacks scores, or q and k'
    run -1 --separate-stderr tg-attn-view --html part.npz
    said 'part.npz: layer 0 lacks q and k'
    dump part.npz stages=v
    run -1 --separate-stderr tg-attn-view part.npz
    said 'part.npz: layer 0 lacks probs, or scores, or q and k'
    dump part.npz stages=k
    run -1 --separate-stderr tg-attn-view part.npz
    said 'part.npz: layer 0 lacks probs, or scores, or q and k'
}

@test "pipes, compressed archives and standard input" {
    slow
    dump dump.npz T=20 B=3
    tg-attn-view -b 2 dump.npz > want
    run_pipe 0 'cat dump.npz | tg-attn-view -b 2 | cmp - want'
    run_pipe 0 'cat dump.npz | tg-attn-view -b 2 - | cmp - want'
    tg-attn-view -b 2 < dump.npz | cmp - want
    python3 -c 'import numpy as np; np.savez_compressed("packed.npz", **np.load("dump.npz"))'
    tg-attn-view -b 2 packed.npz | cmp - want
    tg-attn-view -b 2 -o out dump.npz
    cmp out want
    tg-attn-view -b 1 dump.npz > other
    run -1 cmp -s other want
}

# ---- what is refused

@test "wrong usage" {
    dump dump.npz T=4
    for more in '--png --html' '--ansi --png' 'a b' '-l x' '-w 5' '--show v' '--scale log --show scores' '--png --width 40' '--html --color 256'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr tg-attn-view $more dump.npz
        said 'tg-attn-view: '
    done
    run -2 --separate-stderr tg-attn-view -l 2 dump.npz
    said 'dump.npz: layer 2 is out of range: expected 0 to 1'
    run -2 --separate-stderr tg-attn-view -a 2 dump.npz
    said 'dump.npz: head 2 is out of range: expected 0 to 1'
    run -2 --separate-stderr tg-attn-view -b 1 dump.npz
    said 'dump.npz: sequence 1 is out of range: the only sequence is 0'
    dump dump.npz T=4 L=1 N=3
    run -2 --separate-stderr tg-attn-view -l 1 dump.npz
    said 'dump.npz: layer 1 is not in the dump'
    alter dump.npz bad.npz 'for n in list(a): n.startswith("h.") and a.pop(n)'
    run -1 --separate-stderr tg-attn-view bad.npz
    said 'bad.npz: the dump has no layers'
    run -2 --separate-stderr tg-attn-view < /dev/null
    said 'no dump: name a file'
    run -3 --separate-stderr tg-attn-view none.npz
    said 'none.npz: No such file'
    need_dev_full
    for kind in --ansi --png --html; do
        run -3 --separate-stderr bash -c "tg-attn-view $kind dump.npz > /dev/full"
        said 'tg-attn-view: standard output: write failed after 0 of '
        said 'No space left'
    done
}

@test "foreign and damaged archives are refused with their numbers" {
    slow
    dump dump.npz T=4
    refused() { # STATEMENT MESSAGE
        alter dump.npz bad.npz "$1"
        for kind in --ansi --html; do
            run -1 --separate-stderr tg-attn-view $kind bad.npz
            said "bad.npz: $2" || { echo "$1"; return 1; }
        done
    }
    refused 'a["kind"] = np.bytes_("tokens")' 'the archive has kind "tokens", expected "attention"'
    refused 'a["version"] = np.int64(2)' 'the archive has version 2, expected 1'
    refused 'del a["dump/layout"]' 'the third array is dump/n_layer, expected dump/layout'
    refused 'a["dump/layout"] = np.bytes_("thbd")' 'dump/layout is "thbd"'
    refused 'a["dump/n_head"] = np.int64(3)' 'dump/n_head 3 does not divide dump/n_embd 8'
    refused 'a["dump/n_head"] = np.int64(0)' 'dump/n_layer is 2 and dump/n_head is 0'
    refused 'del a["dump/n_embd"]' 'array h.0.q comes before'
    refused 'a["dump/n_head"] = np.int64(1)' 'array h.0.q has shape (1, 4, 2, 4), expected (1, 4, 1, 8)'
    refused 'a["dump/mask"] = np.bytes_("0")' 'dump/mask is "0", expected one of -1e9|-inf|min'
    refused 'del a["dump/mask"]' 'array dump/mask is missing'
    refused 'a["dump/n_layer"] = np.int64(1)' 'array h.1.q: the layer must be below dump/n_layer, 1'
    refused 'a["h.0.q"] = a["h.0.q"].astype("f8")' "array h.0.q: elements are 'f8', expected 'f4'"
    refused 'a["h.0.k"] = a["h.0.k"][:, :3].copy()' 'array h.0.k has shape (1, 3, 2, 4), expected (1, 4, 2, 4)'
    refused 'a["h.0.scores"] = a["h.0.scores"][0]' 'array h.0.scores has shape (2, 4, 4), expected (1, 2, 4, 4)'
    refused 'a["dump/ids"] = a["dump/ids"][:2].copy()' 'array dump/text has shape (4), expected (2)' ||
        refused 'a["dump/ids"] = a["dump/ids"][:2].copy()' 'array dump/text has shape (4,), expected (2,)'
    refused 'a["dump/text"] = np.arange(4)' 'array dump/text: expected [T] texts of type S'
    refused 'a["dump/ids"] = np.arange(4, dtype="i4")' 'array dump/ids: expected [T] numbers of type i8'
    refused 'a["h.0.q"][0, 1, 1, 2] = np.nan' 'h.0.q[14] is nan: it must be finite'
    refused 'a["h.1.k"][0, 3, 1, 3] = np.inf' 'h.1.k[31] is inf: it must be finite'
    refused 'a["h.00.q"] = a["h.0.q"]' 'array h.00.q: h.0.q was given before'
    alter dump.npz bad.npz 'a["h.1.scores"][0, 1, 2, 1] = -np.inf'
    run -1 --separate-stderr tg-attn-view --show scores bad.npz
    said 'bad.npz: h.1.scores[25] is -inf'
    alter dump.npz fine.npz 'a["h.1.scores"][0, 1, 2, 3] = np.nan'
    tg-attn-view --show scores fine.npz > one
    tg-attn-view --show scores dump.npz | cmp - one
    head -c 5000 dump.npz > bad.npz
    run -1 --separate-stderr tg-attn-view bad.npz
    said 'bad.npz: '
    cat dump.npz dump.npz > bad.npz
    run -1 --separate-stderr tg-attn-view bad.npz
    said 'bad.npz: data follows the archive with attention'
    echo text > bad.npz
    run -1 --separate-stderr tg-attn-view bad.npz
    said 'bad.npz: '
}

@test "a claim of a huge dump takes no memory" {
    slow
    need_plain_build
    dump dump.npz T=4 stages=q,k
    python3 - << 'END'
import struct, zipfile
from io import BytesIO
source = zipfile.ZipFile("dump.npz")
with zipfile.ZipFile("bad.npz", "w") as z:
    for name in source.namelist():
        data = source.read(name)
        if name == "h.0.q.npy":
            data = data.replace(b"(1, 4, 2, 4), }    ", b"(99999, 99999, 2, 4)")[:128] + data[128:]
            data = data.replace(b"(1, 4, 2, 4)", b"(999999999, 4, 2, 4)")
        z.writestr(name, data)
END
    run -1 --separate-stderr bash -c 'ulimit -v 500000; tg-attn-view bad.npz'
    said 'bad.npz: '
}

# ---- as an image

# pixels FILE: a module that holds a PNG's palette indices, checked on the way.
png_module() {
    cat > png.py << 'END'
import struct, sys, zlib
def read(path):
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, []
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + n]
        assert struct.unpack(">I", data[at + 8 + n : at + 12 + n])[0] == zlib.crc32(kind + body)
        chunks.append((kind, body))
        at += 12 + n
    assert at == len(data)
    kinds = [kind for kind, _ in chunks]
    assert kinds[:2] == [b"IHDR", b"PLTE"] and kinds[-1] == b"IEND" and set(kinds[2:-1]) == {b"IDAT"}
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[0][1])
    assert rest == [8, 3, 0, 0, 0], rest
    flat = zlib.decompress(b"".join(body for kind, body in chunks if kind == b"IDAT"))
    assert len(flat) == height * (width + 1)
    rows = [flat[y * (width + 1) : (y + 1) * (width + 1)] for y in range(height)]
    assert all(row[0] == 0 for row in rows)
    palette = chunks[1][1]
    assert max(flat) < len(palette) // 3
    return [row[1:] for row in rows], [palette[n : n + 3] for n in range(0, len(palette), 3)]
END
}

@test "an image of one head: every cell has its colour, what is masked is hatched" {
    slow
    dump dump.npz T=6 text=words
    tg-attn-view --png --scale sqrt -l 1 -a 1 dump.npz > out.png
    tg-attn-view --html dump.npz > page.html 2> /dev/null
    png_module
    python3 - << 'END'
import re, numpy as np, png
rows, palette = png.read("out.png")
hexes = re.search('"light": {"probs": "([0-9a-f]*)"', open("page.html").read()).group(1)
assert b"".join(palette[:240]).hex() == hexes
probs = np.load("dump.npz")["h.1.probs"][0, 1]
cell = 80
y0 = next(y for y, row in enumerate(rows) if bytes([239] * (cell // 2)) in row)
x0 = rows[y0].index(bytes([239] * (cell // 2)))
for i in range(6):
    for j in range(6):
        corners = {rows[y0 + i * cell + y][x0 + j * cell + x] for y in (0, cell - 1) for x in (0, cell - 1)}
        step = int(np.sqrt(np.float64(probs[i, j])) * 239 + 0.5)
        assert corners == {step} if j <= i else corners <= {244, 245}, (i, j, corners, step)
assert {244, 245} <= set(rows[y0 + cell // 2])  # hatched
assert all(set(rows[y][:4]) == {240} for y in range(len(rows)))  # nothing touches the edge
assert all(row[-4:] == bytes([240] * 4) for row in rows[: y0]) and set(rows[-1]) == {240}
END
}

@test "a sheet of all heads, one pixel a number where there are many" {
    slow
    dump dump.npz T=400 H=3 L=1 D=8
    tg-attn-view --png --scale sqrt -o out.png dump.npz
    png_module
    python3 - << 'END'
import numpy as np, png
rows, _ = png.read("out.png")
probs = np.load("dump.npz")["h.0.probs"][0]
step = np.floor(np.sqrt(probs.astype("f8")) * 239 + 0.5).astype("u1")
last = [bytes(step[h, 399]) for h in range(3)]  # the last query's row, whole, is in the image
assert [sum(row.count(want) for row in rows) for want in last] == [1, 1, 1]
END
    tg-attn-view --png --scale sqrt -o again.png dump.npz
    cmp out.png again.png
}

@test "images: scores, and other scales" {
    slow
    dump dump.npz T=6
    tg-attn-view --png -l 0 -a 0 dump.npz > sqrt.png
    for more in '--scale log' '--scale linear' '--show scores' '-l 0' '-a 0'; do
        # shellcheck disable=SC2086
        tg-attn-view --png -l 0 -a 0 $more dump.npz > other.png
        png_module
        python3 -c 'import png; png.read("other.png")'
        [[ $more = -* && $more = -[la]* ]] || run -1 cmp -s sqrt.png other.png
    done
}

@test "an absurd image is refused with its numbers; so is a terminal" {
    slow
    dump dump.npz T=1 H=1024 D=1 stages=q,k
    alter dump.npz big.npz 'a["h.0.q"] = np.zeros((1, 3000, 1024, 1), "f4"); a["h.0.k"] = a["h.0.q"]
for n in "ids", "text": del a["dump/" + n]
for n in "qk": del a["h.1." + n]'
    run -2 --separate-stderr tg-attn-view --png big.npz
    said 'pixels, which exceeds 67,108,864: choose a layer and a head with -l and -a'
    tg-attn-view --png -a 7 -o out.png big.npz
    run -2 on_terminal 'tg-attn-view --png dump.npz'
    [[ $output = *'this is a terminal'* ]]
}

# ---- as a page

@test "the page is one file, which fetches nothing and runs its own script alone" {
    slow
    dump dump.npz T=12 text=hostile
    run -0 --separate-stderr tg-attn-view --html -o page.html dump.npz
    said 'page size: '
    python3 - << 'END'
import base64, hashlib, json, re
page = open("page.html", encoding="utf8").read()
policy = re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', page).group(1)
assert policy.startswith("default-src 'none'; base-uri 'none'; form-action 'none'; script-src 'sha256-"), policy
digest = lambda text: "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
script = re.search("<script>(.*?)</script>", page, re.S).group(1)
style = re.search("<style>(.*?)</style>", page, re.S).group(1)
assert policy.split("script-src ")[1].split(";")[0] == digest(script)
assert policy.split("style-src ")[1] == digest(style)
assert page.count("<script>") == 1 and page.count("<style>") == 1
assert len(re.findall("</script", page)) == 2 + 2 * 2  # the script, the facts, q and k of two layers
for word in ("http:", "https:", "//cdn", "src=", "@import", "url(", " onclick", "@DATA@", "@SCRIPT@"):
    assert word not in re.sub("<script type.*?</script>", "", page, flags=re.S), word
facts = json.loads(re.search('id="dump">(.*?)</script>', page, re.S).group(1))
assert facts["tokens"][0] == "</script>" and facts["tokens"][3] == "\\x1B[31mred\\x07"
assert facts["T"] == 12 and facts["layers"] == [0, 1] and facts["name"] == "dump.npz"
END
    tg-attn-view --html -l 1 dump.npz > one.html
    [[ $(size one.html) -lt $(size page.html) ]]
}

@test "page: scores and probabilities are the dump's, to the last bit" {
    slow
    need_chromium
    for layout in bthd bhtd; do
        dump dump.npz T=37 H=3 D=5 B=2 layout=$layout mask=min
        tg-attn-view --html -b 1 -o page.html dump.npz
        page page.html << 'END'
import numpy as np
dump = np.load("dump.npz")
for layer in range(2):
    for h in range(3):
        rows = page.run(f"""Array.from({{length: T}}, (_, i) => {{ const r = rowOf({layer}, {h}, i);
            return [Array.from(r.scores, Math.fround), Array.from(r.probs, Math.fround)]; }})""")
        head = page.run(f"(h => (h.work(Infinity), [Array.from(h.scores), Array.from(h.probs)]))(headOf({layer}, {h}))")
        packed = [[], []]
        for i, row in enumerate(rows):
            for which, name in enumerate(("scores", "probs")):
                want = dump[f"h.{layer}.{name}"][1, h, i, : i + 1]
                assert np.array_equal(np.array(row[which], "f4"), want), (layer, h, i, name)
                packed[which] += want.tolist()
        assert head == packed
base = page.run("[baseOf(3, 2), offsetOf(2, 3, 1)]")
assert base == [((1 * 3 + 2) * 37 + 3) * 5 if page.run("dump.layout") == "bhtd" else ((1 * 37 + 3) * 3 + 2) * 5,
                ((1 * 3 + 2) * 37 + 3) * 37 + 1], base
END
    done
}

@test "page: a model's attention, as tg-attn-dump stores it" {
    slow
    need_chromium
    need_numpy
    tg-init --n-layer 2 --n-head 2 --n-embd 12 --n-ctx 32 --seed 3 -o model.npz 2> /dev/null
    for layout in bthd bhtd; do
        tg-attn-dump -p 'To be, or not to be: that is it' --layout $layout -o dump.npz
        tg-attn-view --html -o page.html dump.npz
        page page.html << 'END'
import numpy as np
dump = np.load("dump.npz")
i, j = np.tril_indices(31)
for layer in range(2):
    for h in range(2):
        got = page.run(f"(h => (h.work(Infinity), [Array.from(h.scores), Array.from(h.probs)]))(headOf({layer}, {h}))")
        for numbers, name in zip(got, ("scores", "probs")):
            assert np.array_equal(np.array(numbers, "f4"), dump[f"h.{layer}.{name}"][0, h][i, j]), (layer, h, name)
assert page.run("words.map((word) => word.textContent).join('')") == "To be, or not to be: that is it"
END
        tg-attn-view -w 60 dump.npz > one
        tg-attn-dump -p 'To be, or not to be: that is it' --layout $layout -s probs -o - | tg-attn-view -w 60 | cmp - one
    done
}

@test "page: a cell's facts and trace, by keys and by pointer" {
    slow
    need_chromium
    dump dump.npz example=1
    tg-attn-view --html -o page.html dump.npz
    page page.html << 'END'
text = lambda id: page.run(f"document.getElementById('{id}').innerText").replace("\u2212", "-")
facts = lambda: dict(row.split("\t")[:2] for row in text("facts").split("\n"))
page.key("ArrowRight")
assert facts() == {"query i": "2", "key j": "1", "layer, head": "0, 0", "q_base": "8", "k_base": "4", "offset": "7",
                   "score": "0", "mask": "0", "probability": "0.232696533"}, facts()
page.key("ArrowLeft")
terms = [row.split("\t") for row in text("terms").split("\n")]
assert terms[1:] == [["0", "8", "1", "0", "1", "1", "1"], ["1", "9", "0", "1", "0", "0", "1"],
                     ["2", "10", "1", "2", "0", "0", "1"], ["3", "11", "0", "3", "0", "0", "1"]], terms
steps = dict(row.split("\t") for row in text("steps").split("\n"))
assert steps["sum"] == "1" and steps["scale"].endswith("= 0.5") and steps["score"].endswith("= 0.5"), steps
assert steps["max"].startswith("of the row: 0.5, at key 0"), steps
assert steps["their sum"].endswith(": 2.60653066"), steps  # 1 + exp(-0.5) + 1
assert steps["probability"] == "1 / 2.60653066 = 0.383651731", steps
page.key("ArrowUp"), page.key("ArrowRight"), page.key("ArrowRight")
assert facts()["offset"] == "5" and facts()["mask"] == "1" and facts()["score"] == "-1e9", facts()
assert facts()["probability"] == "0" and "masked" in text("steps") and "masked" in text("said")
at = lambda i, j: page.run(f"""(() => {{ const box = byId('map').getBoundingClientRect();
    return [box.left + frame.left + ({j} + 0.5) * frame.cell, box.top + frame.top + ({i} + 0.5) * frame.cell]; }})()""")
page.mouse("mouseMoved", *at(1, 0)); page.settle()
assert (facts()["query i"], facts()["key j"]) == ("1", "0"), facts()
page.click(*at(2, 1))
page.mouse("mouseMoved", *at(0, 0)); page.settle()
assert (facts()["query i"], facts()["key j"]) == ("2", "1"), facts()  # held
page.key("Enter")
page.mouse("mouseMoved", *at(0, 1)); page.settle()
assert (facts()["query i"], facts()["key j"]) == ("0", "1"), facts()
END
}

@test "page: heads, layers, text, scales, themes and help" {
    slow
    need_chromium
    dump dump.npz T=9 H=3 L=2 text=words
    tg-attn-view --html -l 1 -a 2 -o one.html dump.npz
    page one.html << 'END'
assert page.run("[view.layer, view.head, thumbs.length]") == [1, 2, 3]
END
    tg-attn-view --html --scale log -a 1 -o page.html dump.npz
    page page.html << 'END'
assert page.run("[view.layer, view.head, view.kind]") == [0, 1, "log"]
def press(key, what, want):
    page.key(key)
    got = page.run(what)
    assert got == want, (key, got)
press("]", "[view.layer, view.head]", [0, 2])
press("]", "[view.layer, view.head]", [0, 2])
press("}", "[view.layer, view.head]", [1, 2])
press("PageUp", "[view.layer, view.head]", [0, 2])
press("PageDown", "[byId('layer').value, byId('head').value]", ["1", "2"])
press("[", "byId('title').textContent", "Layer 1, head 1: probabilities")
press("s", "byId('title').textContent", "Layer 1, head 1: scores")
press("s", "view.show", "probs")
press("ArrowUp", "[view.i, view.j]", [7, 0])
press("End", "[view.i, view.j]", [7, 7])
press("Home", "[view.i, view.j]", [7, 0])
page.wait("thumbs.every((thumb) => thumb.rows === T)")
assert page.run("thumbs.map((thumb) => thumb.canvas.width)") == [9] * 6
assert page.run("document.querySelectorAll('[aria-pressed=true]').length") == 1
page.run("document.querySelectorAll('.thumb')[0].click()"); page.settle()
assert page.run("[view.layer, view.head]") == [0, 0]
# the text: backgrounds are the colours of the query's probabilities, or of the key's column
color = "(t) => words[t].style.backgroundColor.match(/\\d+/g)"
want = "(i, t) => [1, 3, 5].map((at) => String(parseInt(colors[stepOf(placeOf({kind: 'log', high: 1}, rowOf(0, 0, i).probs[t]))].slice(at, at + 2), 16)))"
for t in range(8):
    assert page.run(f"({color})({t})") == page.run(f"({want})(7, {t})"), t
assert page.run("words[8].style.backgroundColor") == "" and page.run("words[8].classList.contains('masked')")
press("t", "view.way", "column")
assert page.run(f"({color})(8)") == page.run(f"({want})(8, 0)")
page.run("words[3].click()"); page.settle()
assert page.run("[view.i, view.j]") == [7, 3]
assert page.run("words[2].classList.contains('masked')") and not page.run("words[3].classList.contains('masked')")
# light and dark: as the system has it, until it is chosen
paper = "getComputedStyle(document.body).backgroundColor"
light = page.run(paper)
page.theme("dark"); page.settle()
dark = page.run(paper)
assert light != dark
press("d", paper, light)
press("d", paper, dark)
press("?", "byId('help').open", True)
press("]", "view.head", 0)
page.run("byId('help').close()")
press("]", "view.head", 1)
# the window of tokens
press("+", "view.from.n", 5)
press("+", "view.from.n", 4)
assert page.run("view.from.i + view.from.n > view.i && view.i >= view.from.i")
for _ in range(7):
    page.key("ArrowUp")
assert page.run("[view.i, view.from.i]") == [0, 0]
press("0", "view.from", {"i": 0, "j": 0, "n": 9})
# controls
page.run("byId('scale').value = 'linear'; byId('scale').dispatchEvent(new Event('change'))"); page.settle()
assert page.run("view.kind") == "linear"
END
}

# What the map's canvas shows, at each cell's corner, is the colour of its number.
@test "page: the map's colours, with few tokens and with more than pixels" {
    slow
    need_chromium
    for T in 6 1300; do
        dump dump.npz T=$T H=1 L=1 D=4 stages=q,k,probs
        tg-attn-view --html -o page.html dump.npz
        page page.html << 'END'
import base64, numpy as np
probs = np.load("dump.npz")["h.0.probs"][0, 0].astype("f8")
T = len(probs)
page.wait("headOf(0, 0).rows === T")
page.key("ArrowRight"); page.key("Home")
frame = page.run("frame")
side = min(T, round(frame["size"]))
pixels = page.run("""(() => { const map = byId('map');
    return [map.width, btoa(Array.from(map.getContext('2d').getImageData(0, 0, map.width, map.height).data,
        (x) => String.fromCharCode(x)).join(''))]; })()""")
data = np.frombuffer(base64.b64decode(pixels[1]), "u1").reshape(-1, pixels[0], 4)
best = np.full((side, side), -1.0)
line = np.arange(T) * side // T
i, j = np.tril_indices(T)
np.maximum.at(best, (line[i], line[j]), probs[i, j])
hexes = page.run("dump.colors")
size = frame["size"] / side
inset, seen = 3 if T == 6 else 0, 0  # beside the number in the cell
for n in range(100):
    y, x = (n * 7919 % side, n * 104729 % side)
    if abs(x - line[page.run("view.j")]) < 4 or abs(y - line[page.run("view.i")]) < 4 and T > 6:
        continue  # under the cursor
    got = data[round(frame["top"]) + int(y * size) + inset, round(frame["left"]) + int(x * size) + inset, :3]
    steps = [hexes[n : n + 6] for n in range(0, 1440, 6)]
    if best[y, x] < 0:
        assert got.tobytes().hex() not in steps, (y, x)
    else:
        assert got.tobytes().hex() == steps[int(np.sqrt(best[y, x]) * 239 + 0.5)], (y, x, got)
    seen += 1
assert seen > 30
END
    done
}

@test "page: characters that are several tokens, and where tokens end" {
    slow
    need_chromium
    tokens dump.npz 5 The 9 ' \xE4' 10 '\xB8' 11 '\xAD\xE6\x96' 12 '\x87' 13 '\xFF' 14 '\\' 15 '\u00AD' 16 '\n'
    tg-attn-view --html -o page.html dump.npz
    page page.html << 'END'
assert page.run("shared.map((s) => [...s].join(''))") == ["", "中", "中", "中文", "文", "", "", "", ""]
assert page.run("[...[0, 6, 7, 8].map((t) => bytesOf(tokenAt(t)))]") == [[84, 104, 101], [92], [0xC2, 0xAD], [10]]
page.run("moveTo(3, 1)"); page.settle()
facts = page.run("byId('facts').innerText")
assert "“\\\\xAD\\\\xE6\\\\x96” — id 11, part of “中” and “文”".replace("\\\\", "\\") in facts, facts
assert "“·\\xE4” — id 9, part of “中”" in facts, facts
assert page.run("words[4].title") == "4 “\\x87”, id 12, part of “文”: masked"
assert page.run("byId('text').classList.contains('pieces')")
END
    tg-init --n-layer 1 --n-head 1 --n-embd 8 --n-ctx 8 -o bytes.npz 2> /dev/null
    tg-attn-dump -m bytes.npz -p $'ab\xff' -o - | tg-attn-view --html -o page.html
    page page.html << 'END'
assert not page.run("byId('text').classList.contains('pieces')")
END
}

@test "page: the heads of a large model, soon, and without lying on anything" {
    slow
    need_chromium
    dump dump.npz T=40 H=12 L=12 D=4 stages=q,k
    tg-attn-view --html -o page.html dump.npz
    page page.html << 'END'
page.wait("thumbs.every((thumb) => thumb.rows === T)")
assert page.run("thumbs.length === 144 && thumbs.every((thumb) => thumb.canvas.width === 30)")
for width, least in ((1280, 3), (1920, 6)):
    page.size(width, 900)
    page.settle()
    first = page.run("[...document.querySelectorAll('.thumb')].slice(0, 12).map((e) => e.getBoundingClientRect().top)")
    assert first.count(first[0]) >= least, (width, first)
page.size(900, 600)
page.run("window.scrollTo(0, 1e6)"); page.settle()
heads, words = page.run("['heads', 'words'].map((id) => byId(id).getBoundingClientRect().toJSON())")
assert heads["bottom"] <= words["top"], (heads, words)
END
}

@test "page: hostile tokens are text" {
    slow
    need_chromium
    dump dump.npz T=12 text=hostile
    cp dump.npz '<b>&"x.npz'
    tg-attn-view --html -o page.html '<b>&"x.npz'
    page page.html << 'END'
assert page.run("byId('name').textContent") == '<b>&"x.npz' and "<b>&" in page.run("document.title")
assert page.run("words[0].textContent") == "</script>" and page.run("words[1].textContent") == "<!--"
assert page.run("document.querySelectorAll('b, script[src], #text *:not(.token):not(br)').length") == 0
assert page.run("words[9].textContent") == "\\u202E rtl"
for t in range(12):
    page.key("ArrowUp")
    page.key("ArrowRight")
END
}

@test "page: 1,000 tokens are usable, and nothing is cut off at any width" {
    slow
    need_chromium
    dump dump.npz T=1000 H=4 L=1 D=16 text=words stages=q,k
    tg-attn-view --html -o page.html dump.npz
    dump few.npz T=5 text=words
    tg-attn-view --html -o few.html few.npz
    cat > widths.py << 'END'
import time
# whatever is written on a canvas lies on it
page.run("""window.outside = [];
window.written = 0;
const fillText = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const box = this.measureText(text), transform = this.getTransform();
    for (const [dx, dy] of [[-box.actualBoundingBoxLeft, -box.actualBoundingBoxAscent],
        [box.actualBoundingBoxRight, box.actualBoundingBoxDescent]]) {
        const at = transform.transformPoint(new DOMPoint(x + dx, y + dy));
        if (at.x < -1 || at.y < -1 || at.x > this.canvas.width + 1 || at.y > this.canvas.height + 1)
            outside.push([innerWidth, text]);
    }
    window.written++;
    fillText.apply(this, arguments);
}; 0""")
page.wait("headOf(view.layer, view.head).rows === T && thumbs.every((thumb) => thumb.rows === T)", 60)
for width, height in ((340, 700), (700, 900), (1100, 800), (1400, 1000), (2200, 1300)):
    page.size(width, height)
    page.run("window.dispatchEvent(new Event('resize'))")
    page.settle()
    assert page.run("document.documentElement.scrollWidth <= window.innerWidth"), width
    cut = page.run("""[...document.querySelectorAll('header *, #large > *, #facts td, #facts th, #steps td, #heads .thumb')]
        .filter((e) => e.offsetParent && (e.getBoundingClientRect().right > innerWidth + 1 ||
            e.getBoundingClientRect().left < 0)).map((e) => e.tagName + '#' + e.id)""")
    assert cut == [], (width, cut)
    assert page.run("byId('map').getBoundingClientRect().width <= byId('frame').clientWidth"), width
    assert page.run("frame.size >= 150"), width
for key in ("s", "+", "+", "+", "ArrowUp", "s"):
    page.key(key)
assert page.run("outside") == [] and page.run("written") > 100, page.run("outside")
start = time.monotonic()
for n in range(20):
    page.key("ArrowUp" if n % 2 else "ArrowRight")
assert time.monotonic() - start < 10
END
    page few.html < widths.py
    page page.html < widths.py
}
