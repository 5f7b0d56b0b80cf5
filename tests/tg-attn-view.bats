load helper
load dumps
load pictures

# ---- in the terminal

@test "the worked example, as plain text" {
    slow
    dump dump.npz example=1
    run -0 --separate-stderr tg-attn-view dump.npz
    [[ -z $stderr ]]
    is_output 'layer 0, head 0: 3 tokens
key     0     1     2 
        a     b     c 
0 a  1.00             
1 b  0.38  0.62       
2 c  0.38  0.23  0.38 
probability 0 .:-=+*#%@ 1
colours follow the square root: 0.25 is in the middle
query down, key across; blank: masked'
    run -0 tg-attn-view --show scores dump.npz
    is_output 'layer 0, head 0: 3 tokens
key      0      1      2 
         a      b      c 
0 a   0.50               
1 b   0.00   0.50        
2 c   0.50   0.00   0.50 
score -0.5 .:-=+*#%@ 0.5
query down, key across; blank: masked'
}

@test "a sheet of all heads, one layer's in a row" {
    slow
    dump dump.npz T=4 H=3 L=2
    run -0 tg-attn-view -w 80 dump.npz
    [[ ${lines[0]} =~ ^'  layer 0, head 0   '' '*'layer 0, head 1   '' '*'layer 0, head 2 '' '*$ ]]
    [[ ${lines[1]} =~ ^'  0 1 2 3 '' '*'0 1 2 3 '' '*'0 1 2 3 '' '*$ ]]
    [[ ${lines[2]} =~ ^'0 @@      ' && ${lines[5]} =~ ^'3 ' ]]
    [[ $(grep -c 'layer 1, head 0 .*layer 1, head 1 .*layer 1, head 2' <<< "$output") = 1 ]]
    run -0 tg-attn-view -w 80 -l 1 dump.npz
    [[ $output = *'layer 1, head 2'* && $output != *'layer 0'* ]]
    run -0 tg-attn-view -w 80 -a 1 dump.npz
    [[ $output = *'layer 0, head 1'*'layer 1, head 1'* && $output != *'head 0'* ]]
}

# Where a tick is, and where a line's number, there is the cell of that position.
@test "a sheet has positions along its sides" {
    slow
    local T n halves
    for T in 12 40 130; do
        dump all.npz T=$T H=2 L=1 D=2
        alter all.npz dump.npz "a['h.0.probs'][0, :] = np.eye($T); a.pop('h.0.scores')"
        for more in '--color never' '--color 256'; do
            # shellcheck disable=SC2086
            LC_ALL=C.UTF-8 tg-attn-view -w 60 $more --scale linear dump.npz > out
            T=$T python3 - << 'END'
import os, re
text = re.sub("\033\\[[0-9;]*m", "", open("out", encoding="utf8").read())
lines = text.split("\n")
T = int(os.environ["T"])
margin = len(str(T - 1)) + 1
each = re.search("greatest of (\\d+)", text)
per_cell = int(each.group(1)) if each else 1
maps = [m.start() for m in re.finditer("layer", lines[0])]
assert len(maps) == 2 and maps[0] == margin, maps
rows = lines[2 : lines.index("")]
columns = 2 if "▀" not in text and "▄" not in text and len(rows) * per_cell >= T else 1
queries = -(-T // per_cell) / len(rows) > 1 and 2 or 1
ticks = [(m.start(), int(m.group())) for m in re.finditer("\\d+", lines[1])]
assert [n for _, n in ticks].count(0) == 2 and len(ticks) > 2, ticks
for at, n in ticks:
    first = max(m for m in maps if m <= at)
    assert (at - first) / columns * per_cell == n, (at, n, columns)
numbers = [(i, int(row[:margin])) for i, row in enumerate(rows) if row[:margin].strip()]
assert len(numbers) > 1
for i, n in numbers:
    assert i * queries * per_cell == n, (i, n)
END
        done
    done
}

@test "--title stands above the picture" {
    slow
    local title=$'What <b>it</b> looks at \xe2\x80\xae\x1b[1m'
    dump dump.npz T=3 H=2 L=1
    for more in '' '-a 1'; do
        # shellcheck disable=SC2086
        LC_ALL=C.UTF-8 tg-attn-view $more --title "$title" dump.npz > out
        # shellcheck disable=SC2086
        LC_ALL=C.UTF-8 tg-attn-view $more dump.npz | diff <(tail -n +2 out) -
        [[ $(head -n 1 out) = 'What <b>it</b> looks at \u202E\x1B[1m' ]]
    done
    [[ $(tg-attn-view -w 20 --title "$title" dump.npz | head -n 1) = 'What <b>it</b> look~' ]]
    tg-attn-view --svg --title "$title" dump.npz > out.svg
    svg_module
    python3 -c 'import svg
image = svg.Image("out.svg")
assert image.title == image.text[0] == "What <b>it</b> looks at \\u202E\\x1B[1m", image.title
assert not [t for t in image.text if "dump.npz" in t]'
    # the image is as wide as it
    tg-attn-view --svg --title "$(printf '%0200d' 0)" dump.npz > out.svg
    python3 -c 'import svg; assert 1200 < svg.Image("out.svg").size[0] < 1250'
    tg-attn-view --png -o out.png --title "$title" dump.npz
    tg-attn-view --png -o other.png dump.npz
    run -1 cmp -s out.png other.png
    tg-attn-view --html --title "$title" dump.npz > page.html 2> /dev/null
    grep -qF '"title": "What \u003cb\u003eit\u003c/b\u003e looks at ' page.html
}

@test "some heads and layers: a sheet of these, in every format" {
    slow
    dump dump.npz T=4 H=4 L=3
    titles() { grep -o 'layer [0-9], head [0-9]' | paste -sd ';'; }
    local want='layer 0, head 1;layer 0, head 3;layer 2, head 1;layer 2, head 3'
    [[ $(tg-attn-view -w 80 -l 0,2 -a 3,1 dump.npz | titles) = "$want" ]]
    [[ $(tg-attn-view --svg -l 2,0 -a 1,3,1 dump.npz | titles) = "$want" ]]
    tg-attn-view --png -l 0,2 -a 1,3 -o some.png dump.npz
    tg-attn-view --svg -l 0,2 -a 1,3 -o some.svg dump.npz
    png_module
    svg_module
    python3 -c 'import png, svg
rows, _ = png.read("some.png")
assert svg.Image("some.svg").size == (len(rows[0]), len(rows)) and len(svg.Image("some.svg").maps) == 4'
    # one head each of several layers: side by side
    [[ $(tg-attn-view -w 80 -l 0,2 -a 1 dump.npz | sed -n 1p | titles) = 'layer 0, head 1;layer 2, head 1' ]]
    [[ $(tg-attn-view -w 80 -a 0,2 -l 1 dump.npz | sed -n 1p | titles) = 'layer 1, head 0;layer 1, head 2' ]]
    # a row of few maps does not take the next layer's
    [[ $(tg-attn-view -w 40 -a 0,1,2 dump.npz | grep -c layer) = 6 ]]
    # a page has the layers, and all heads
    tg-attn-view --html -l 1,2 -a 2,3 dump.npz > page.html 2> /dev/null
    grep -qF '"start": {"layer": 1, "head": 2}' page.html
    grep -qF '"layers": [1, 2]' page.html
    # what is not drawn need not have what is drawn
    alter dump.npz part.npz 'for n in list(a): n.startswith("h.1.") and n != "h.1.v" and a.pop(n)'
    [[ $(tg-attn-view -w 80 -l 0,2 -a 3,1 part.npz | titles) = "$want" ]]
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

@test "colours depart from the paper: the terminal's as far as it tells, or as --paper says" {
    slow
    dump dump.npz T=4 H=1 L=1
    local dark light
    # Of a probability of 0 and of 1, as --html has them.
    alter dump.npz ends.npz 'a["h.0.probs"][0, 0] = np.eye(4)'
    tg-attn-view --html dump.npz > page.html 2> /dev/null
    python3 - > ends << 'END'
import re
for paper in "dark", "light":
    colors = re.search('"%s": {"probs": "([0-9a-f]*)"' % paper, open("page.html").read()).group(1)
    print(*(";".join(map(str, bytes.fromhex(color))) for color in (colors[:6], colors[-6:])))
END
    { read -r -a dark; read -r -a light; } < ends
    colors_of() { # VARIABLES [OPTION]...
        env "$1" tg-attn-view --color truecolor "${@:2}" ends.npz | grep -o '48;2;[0-9;]*m *[01].00' | tr -s ' ' | sort -u
    }
    for kind in dark light; do
        local -n of=$kind
        printf '48;2;%sm 0.00\n48;2;%sm 1.00\n' "${of[@]}" | sort > $kind.want
    done
    for back in '' '15;0' '0;8' '0;default' '7' '15;default;0'; do
        colors_of COLORFGBG="$back" | diff - dark.want
    done
    for back in '0;15' '0;7' '0;default;15'; do
        colors_of COLORFGBG="$back" | diff - light.want
        colors_of COLORFGBG="$back" --paper dark | diff - dark.want
    done
    colors_of COLORFGBG= --paper light | diff - light.want
    tg-attn-view --color 256 --paper light ends.npz | grep -q '48;5;254m *0.00'
    # images are light unless they are told
    png_module
    COLORFGBG='15;0' tg-attn-view -o light.png ends.npz
    tg-attn-view -o dark.png --paper dark ends.npz
    tg-attn-view -o dark.svg --paper dark ends.npz
    python3 -c 'import png
for name, dark in ("light.png", False), ("dark.png", True):
    rows, palette = png.read(name)
    paper = palette[rows[0][0]]
    ink = palette[max(rows[14], key=lambda n: sum(abs(x - y) for x, y in zip(palette[n], paper)))]
    assert (max(paper) < 40 and min(ink) > 200) if dark else (min(paper) == 255 and max(ink) == 0), (paper, ink)
    assert (max(palette[0]) < 60) == dark'
    grep -q '<rect x="0" y="0" [^>]*fill="#161616"' dark.svg
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
    # 256 colours: dark grey is 0, the ends are the walks'
    grep -q '48;5;234m *0.00 ' 256
    grep -q '48;5;153m *-4.00 ' 256
    grep -q '48;5;223m *4.00 ' 256
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

@test "a long dump shows how far it is, on a terminal only" {
    slow
    dump short.npz T=2 L=1 H=1 D=8 stages=q,k text=none
    alter short.npz long.npz 'a["h.0.q"] = a["h.0.k"] = np.zeros((1, 20000, 1, 8), "f4"); a.pop("dump/ids", 0)'
    shows_on_terminal 'rows: [0-9]+%, [0-9a-z.]+ left' 'tg-attn-view --color never --width 80 long.npz > out'
    run ! shows_on_terminal rows 'bash -c "timeout 3 tg-attn-view --width 80 long.npz 2>&1 | cat > out"'
}

@test "a dump of many heads: the same line" {
    slow
    dump short.npz T=1 L=1 H=1 D=1 stages=q,k text=none
    alter short.npz many.npz 'a["h.0.q"] = a["h.0.k"] = np.zeros((1, 1, 600000, 1), "f4"); a["dump/n_head"] = a["dump/n_embd"] = np.int64(600000)'
    tg-attn-view many.npz 2> err | head -n 1 > out
    [[ $(cat err) = "tg-attn-view: 600,000 maps of 1 x 1 scores: this takes a while; -l and -a choose fewer" ]]
    [[ -s out ]]
}

@test "a long dump without a terminal: one line before the work" {
    slow
    local pid more want status
    dump short.npz T=2 L=1 H=2 D=2 stages=q,k text=none
    alter short.npz long.npz 'a["h.0.q"] = a["h.0.k"] = np.zeros((1, 60000, 2, 2), "f4"); a.pop("dump/ids", 0)'
    for more in '' '-l 0 -a 1'; do
        want='2 maps of 60,000 x 60,000 scores: this takes a while; -l and -a choose fewer'
        [[ -z $more ]] || want='1 map of 60,000 x 60,000 scores: this takes a while'
        rm -f err
        # shellcheck disable=SC2086
        tg-attn-view --width 80 $more -o made.txt long.npz > out 2> err 3>&- &
        pid=$!
        eventually test -s err
        kill $pid
        status=0
        wait $pid || status=$?
        [[ $status = 143 && ! -e made.txt && -z $(find . -name '.tg-*') ]] # it can be ended, and leaves nothing
        diff err <(echo "tg-attn-view: $want")
    done
    run -0 --separate-stderr tg-attn-view --width 80 short.npz
    [[ -z $stderr ]]
}

@test "a file name does not turn its page around" {
    slow_unless_sanitized
    local name=$'a\xe2\x80\xaeb.npz'
    dump "$name" T=3 L=1 H=1
    tg-attn-view --html "$name" > page.html
    run -1 grep $'\xe2\x80\xae' page.html
    grep -F '"name": "a\u005cu202Eb.npz"' page.html
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

@test "tokens that are not bytes have their ids next to them, and columns stay aligned" {
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

# As in the page's text: what characters tie together is one text, where it begins.
@test "characters stand where their bytes begin, except in a page" {
    slow
    tokens dump.npz 97 a 228 '\xE4' 184 '\xB8' 173 '\xAD' 1000 ' \xE6\x96' 1001 '\x87!' 255 '\xFF' 228 '\xE4'
    LC_ALL=C.UTF-8 tg-attn-view -w 120 dump.npz > out
    [[ $(sed -n 3p out | tr -s ' ') = ' a 中 ·文! \xFF \xE4 ' ]]
    [[ $(sed -n '5,12s/ *[01]\.[0-9 .]*$//p' out | sed 's/ *$//' | paste -sd '|') = \
        '0 a|1 中|2|3|4 ·文!|5|6 \xFF|7 \xE4' ]]
    # numbers in a label keep keys' tokens from standing upright; without these they do
    tokens bytes.npz 97 a 228 '\xE4' 184 '\xB8' 173 '\xAD' 98 b
    LC_ALL=C.UTF-8 tg-attn-view -w 25 bytes.npz > out
    [[ $(sed -n 2p out) = 'key  a 中    b ' ]]
    [[ $(sed -n '3,7s/ .*//p' out | xargs) = '0 1 2 3 4' && $(sed -n 4p out) = '1 中 '* ]]
    tg-attn-view -w 120 dump.npz | sed -n 3p | grep -qF '\u4E2D'
    tg-attn-view -o out.svg dump.npz
    svg_module
    python3 -c 'import svg
text = svg.Image("out.svg").text
for label in "0 a", "1 中", "2", "3", "4 ·文!", "5", "6 \\xFF", "7 \\xE4":
    assert text.count(label) >= 2, (label, text)'
    tg-attn-view --html dump.npz 2> /dev/null | grep -qF '"tokens": ["a", "\u005cxE4", "\u005cxB8", "\u005cxAD", '
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

@test "a dump in which heads share keys, or heads are not C/H wide" {
    slow_unless_sanitized
    dump all.npz H=4 L=1 stages=q,k
    alter all.npz same.npz 'a["h.0.k"][:, :, 1::2] = a["h.0.k"][:, :, ::2]'
    alter same.npz shared.npz 'a["h.0.k"] = a["h.0.k"][:, :, ::2].copy()
a = {**{k: a[k] for k in list(a)[:5]}, "dump/n_kv_head": np.int64(2), **a}'
    tg-attn-view --svg < same.npz > one
    tg-attn-view --svg < shared.npz | cmp - one
    # the page has the keys once, and says so
    tg-attn-view --html < same.npz > one 2> /dev/null
    tg-attn-view --html < shared.npz > two 2> /dev/null
    [[ $(size two) -lt $(size one) ]]
    grep -q '"D": 4, "KV": 2, "start"' two
    run -1 grep -q '"KV":' one
    alter all.npz wide.npz 'a = {**{k: a[k] for k in list(a)[:5]}, "dump/head_dim": np.int64(4), **a}
a["dump/n_embd"] = np.int64(24)'
    tg-attn-view --svg < all.npz > one
    tg-attn-view --svg < wide.npz | cmp - one
    tg-attn-view --html < all.npz > one 2> /dev/null
    tg-attn-view --html < wide.npz 2> /dev/null | sed 's/ "C": 24,//' | cmp - one
}

@test "a dump whose scores have a scale, a cap or a window" {
    slow_unless_sanitized
    dump all.npz H=2 L=2 stages=q,k
    with() { # NAME VALUE OUT: all.npz with a setting before dump/n_embd
        alter all.npz "$3" "a = {**{k: a[k] for k in list(a)[:5]}, **dict([(\"dump/$1\", $2)]), **a}"
    }
    for value in -1 nan inf 2e+06; do
        with attn_scale "np.float64('$value')" bad.npz
        run -1 --separate-stderr tg-attn-view bad.npz
        said "bad.npz: dump/attn_scale must be between 0 and 1e+06, got $value"
    done
    with attn_cap "np.float64('-2')" bad.npz
    run -1 --separate-stderr tg-attn-view bad.npz
    said 'bad.npz: dump/attn_cap must be between 0 and 1e+06, got -2'
    tg-attn-view --svg --show scores < all.npz > plain
    # a cap far above all scores changes nothing, nor does a window that no layer has
    with attn_cap 'np.float64(1e6)' same.npz
    tg-attn-view --svg --show scores < same.npz | cmp - plain
    with window 'np.int64(3)' same.npz
    tg-attn-view --svg --show scores < same.npz | cmp - plain
    alter same.npz seen.npz 'a = {**{k: a[k] for k in list(a)[:6]}, "dump/window_layers": np.uint64(1), **a}'
    run -1 cmp -s <(tg-attn-view --svg --show scores < seen.npz) plain
    tg-attn-view --svg --show scores -l 1 < seen.npz | cmp - <(tg-attn-view --svg --show scores -l 1 < all.npz)
    # the page is told the same: nothing of a window that none of its layers has; measures follow the rule
    page_of() { tg-attn-view --html "$@" 2> /dev/null | sed 's/, "measures": .*\]}\], "layout"/, "layout"/'; }
    page_of < all.npz > plain
    page_of -l 1 < all.npz > one
    with window 'np.int64(3)' same.npz
    page_of < same.npz | cmp - plain
    page_of -l 1 < seen.npz | cmp - one
    page_of < seen.npz | sed 's/ "window": {"keys": 3, "layers": \[0\]},//' | cmp - plain
    # and all bits of a setting
    with attn_scale 'np.float64(1) / 3' third.npz
    page_of < third.npz | sed 's/ "attnScale": 0.33333333333333331,//' | cmp - plain
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
    slow_unless_sanitized
    dump dump.npz T=4
    for more in '--png --html' '--ansi --png' '--svg --png' '--svg --html' 'a b' '-l x' '-w 5' '--show v' '--scale log --show scores' '--png --width 40' '--svg --width 40' '--html --color 256' '--html --paper dark' '--paper grey'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr tg-attn-view $more dump.npz
        said 'tg-attn-view: '
    done
    run -2 --separate-stderr tg-attn-view -l 2 dump.npz
    said 'dump.npz: layer 2 is out of range: expected 0 to 1'
    run -2 --separate-stderr tg-attn-view -a 2 dump.npz
    said 'dump.npz: head 2 is out of range: expected 0 to 1'
    run -2 --separate-stderr tg-attn-view -l 0,2 dump.npz
    said 'dump.npz: layer 2 is out of range: expected 0 to 1'
    for list in '0,' ',1' '0,,1' 1-2 '' 99999999999999999 "$(seq -s, 0 64)"; do
        run -2 --separate-stderr tg-attn-view -a "$list" dump.npz
        said "--head must be numbers, separated by commas, at most 64, got '$list'"
    done
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
    for kind in --ansi --png --svg --html; do
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
    refused 'a["dump/source"] = np.arange(4)' 'array "dump/source"'
    refused 'a["dump/source"] = np.bytes_("x" * 1024)' 'array "dump/source": text of 1024 bytes, expected at most 1023'
    refused 'a["dump/text"] = np.arange(4)' 'array dump/text: expected [T] texts of type S'
    refused 'a["dump/ids"] = np.arange(4, dtype="i4")' 'array dump/ids: expected [T] numbers of type i8'
    refused 'a["h.0.q"][0, 1, 1, 2] = np.nan' 'h.0.q[14] is nan: it must be finite'
    refused 'a["h.1.k"][0, 3, 1, 3] = np.inf' 'h.1.k[31] is inf: it must be finite'
    refused 'a["h.00.q"] = a["h.0.q"]' 'array h.00.q: h.0.q was given before'
    alter dump.npz bad.npz 'a["h.1.scores"][0, 1, 2, 1] = -np.inf'
    run -1 --separate-stderr tg-attn-view --show scores bad.npz
    said 'bad.npz: h.1.scores[25] is -inf'
    for number in 1.5 -0.5; do
        alter dump.npz bad.npz "a['h.1.probs'][0, 1, 2, 1] = $number"
        run -1 --separate-stderr tg-attn-view bad.npz
        said "bad.npz: h.1.probs[25] is $number: a probability is between 0 and 1"
        run -1 --separate-stderr tg-info --check bad.npz
    done
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
    run -2 --separate-stderr tg-attn-view -o big.svg big.npz
    said 'pixels, which exceeds 67,108,864: choose a layer and a head with -l and -a'
    [[ ! -e big.svg ]]
    tg-attn-view --png -a 7 -o out.png big.npz
    run -2 on_terminal 'tg-attn-view --png dump.npz'
    [[ $output = *'this is a terminal'* ]]
}

# ---- as an SVG image

@test "SVG: every cell has its colour and number, what is masked is hatched" {
    slow
    dump dump.npz T=6 text=words
    tg-attn-view --svg --scale sqrt -l 1 -a 1 dump.npz > out.svg
    tg-attn-view --html dump.npz > page.html 2> /dev/null
    svg_module
    python3 - << 'END'
import re, numpy as np, svg
image = svg.Image("out.svg")
assert image.title == image.text[0] == "dump.npz: probabilities, 6 tokens", image.title
hexes = re.search('"light": {"probs": "([0-9a-f]*)"', open("page.html").read()).group(1)
probs = np.load("dump.npz")["h.1.probs"][0, 1]
[(x0, y0, side, _)] = image.maps
cell = side // 6
assert cell == 80
for i in range(6):
    for j in range(6):
        step = int(np.sqrt(np.float64(probs[i, j])) * 239 + 0.5)
        want = "#" + hexes[6 * step : 6 * step + 6] if j <= i else "url(#masked)"
        for x in (0, cell - 1):
            for y in (0, cell - 1):
                assert image.at(x0 + j * cell + x, y0 + i * cell + y) == want, (i, j)
assert sum(r[2] for r, _ in image.cells(image.maps[0])) == 6 * 7 // 2 * cell
numbers = [f"{probs[i, j]:.2f}" for i in range(6) for j in range(i + 1)]
assert [t for t in image.text if re.fullmatch("\\d\\.\\d\\d", t) and t != "0.25"] == \
    [n for n in numbers if n != "0.25"]
assert [image.text.count(word) for word in ("key", "query")] == [1, 1]
assert {"0 The", "masked", "layer 1, head 1", "key", "query"} <= set(image.text), image.text
assert image.text[-1] == "probability, colours by square root; query down, key across"
END
    tg-attn-view -o again.svg --scale sqrt -l 1 -a 1 dump.npz
    cmp out.svg again.svg
}

@test "SVG: tokens are text, whatever they contain" {
    slow
    tokens '<&>.npz' 5962 '<&"' 13 ' x' 40792 '中文' 25 '</text>' 7 $'\xef\xbf\xbf]]>' 70000 antidisestablishment 2 $'\e[1m'
    tg-attn-view -o out.svg '<&>.npz'
    grep -F '>0 &lt;&amp;&quot;</text>' out.svg
    grep -F '<title>&lt;&amp;&gt;.npz: probabilities, 7 tokens</title>' out.svg
    svg_module
    python3 - << 'END'
import svg
image = svg.Image("out.svg")
labels = ['0 <&"', "1 ·x", "2 中文", "3 </text>", "4 \ufffd]]>", "5 antidisestablis…", "6 \\x1B[1m"]
for label in labels:
    assert image.text.count(label) == 2, (label, image.text)
for number in "5962", "13", "40792", "25", "7", "70000", "2":
    assert image.text.count(number) == 2, number
END
}

@test "SVG: a sheet has all heads where the PNG has them; neighbours of one colour are one rectangle" {
    slow
    dump all.npz T=40 H=3 L=2
    alter all.npz dump.npz 'a["h.0.probs"][0, 0] = np.tril(np.ones((40, 40))) / np.arange(1, 41)[:, None]'
    tg-attn-view -o out.svg dump.npz
    tg-attn-view -o out.png dump.npz
    svg_module
    png_module
    python3 - << 'END'
import png, svg
image = svg.Image("out.svg")
rows, palette = png.read("out.png")
assert image.size == (len(rows[0]), len(rows))
assert not {"key", "query"} & set(image.text)  # the legend says it, once
assert [t for t in image.text if t.startswith("layer")] == [f"layer {l}, head {h}" for l in (0, 1) for h in (0, 1, 2)]
assert len(image.maps) == 6
for x0, y0, side, _ in image.maps:
    cell = side // 40
    for i in range(40):
        for j in range(40):
            pixel = rows[y0 + i * cell][x0 + j * cell]
            want = "#" + palette[pixel].hex() if pixel < 240 else "url(#masked)"
            assert image.at(x0 + j * cell, y0 + i * cell) == want, (i, j)
cells = [image.cells(map) for map in image.maps]
assert len(cells[0]) == 40 and len(cells[1]) > 400, [len(c) for c in cells]
assert all(sum(r[2] for r, _ in c) == 40 * 41 // 2 * cell for c in cells)
END
}

@test "a PNG says that its letters lack characters; an SVG has them" {
    slow_unless_sanitized
    tokens cjk.npz 1 $'\xe6\xb3\xa8' 2 a 3 b
    tokens ascii.npz 1 x 2 a 3 b
    run -0 --separate-stderr tg-attn-view -o cjk.png cjk.npz
    said "characters that the PNG's font lacks are shown as \\u....; .svg shows them"
    [[ $(grep -c . <<< "$stderr") = 1 ]]
    for name in cjk.svg ascii.png ascii.svg; do
        run -0 --separate-stderr tg-attn-view -o $name ${name%.*}.npz
        [[ -z $stderr ]]
    done
    grep -q $'\xe6\xb3\xa8' cjk.svg
}
