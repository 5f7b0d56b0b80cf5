# The page of tg-attn-view --html, in a browser.

load helper
load dumps
load page

# beside MODEL: archives of the text CatDogHenCat: what each layer predicts, the parts of a logit, patches.
beside() {
    tg-lens -q -m "$1" -p CatDogHenCat -o lens.npz
    tg-lens -q -m "$1" -p CatDogHenCat --attribute a-e -o parts.npz
    tg-patch -q -m "$1" -p CatDogHenCat --corrupt CatHenDogCat --answer a --wrong e -o patch.npz
}

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
assert len(re.findall("</script", page)) == 2 + 2 * 3  # the script, the facts, q, k and v of two layers
for word in ("http:", "https:", "//cdn", "src=", "@import", "url(", " onclick", "@DATA@", "@SCRIPT@"):
    assert word not in re.sub("<script type.*?</script>", "", page, flags=re.S), word
facts = json.loads(re.search('id="dump">(.*?)</script>', page, re.S).group(1))
assert facts["tokens"][0] == "</script>" and facts["tokens"][3] == "\\x1B[31mred\\x07"
assert facts["T"] == 12 and facts["layers"] == [0, 1] and facts["dumps"][0]["name"] == "dump.npz"
END
    tg-attn-view --html -l 1 dump.npz > one.html
    [[ $(size one.html) -lt $(size page.html) ]]
}

@test "page: scores and probabilities are the dump's, to the last bit" {
    slow
    need_chromium
    for layout in bthd bhtd; do
        dump $layout.npz T=37 H=3 D=5 B=2 layout=$layout mask=min
        tg-attn-view --html -b 1 -o $layout.html $layout.npz
    done
    pages bthd.html bhtd.html << 'END'
import numpy as np
dump = np.load(file.replace(".html", ".npz"))
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
assert base == [((1 * 3 + 2) * 37 + 3) * 5 if file == "bhtd.html" else ((1 * 37 + 3) * 3 + 2) * 5,
                ((1 * 3 + 2) * 37 + 3) * 37 + 1], base
END
}

@test "page: a model's attention, as tg-attn-dump stores it" {
    slow
    need_chromium
    need_numpy
    tg-init --n-layer 2 --n-head 2 --n-embd 12 --n-ctx 32 --seed 3 -o model.npz 2> /dev/null
    for layout in bthd bhtd; do
        tg-attn-dump -p 'To be, or not to be: that is it' --layout $layout -o $layout.npz
        tg-attn-view --html -o $layout.html $layout.npz
        tg-attn-view -w 60 $layout.npz > one
        tg-attn-dump -p 'To be, or not to be: that is it' --layout $layout -s probs -o - | tg-attn-view -w 60 | cmp - one
    done
    pages bthd.html bhtd.html << 'END'
import numpy as np
dump = np.load(file.replace(".html", ".npz"))
i, j = np.tril_indices(31)
for layer in range(2):
    for h in range(2):
        got = page.run(f"(h => (h.work(Infinity), [Array.from(h.scores), Array.from(h.probs)]))(headOf({layer}, {h}))")
        for numbers, name in zip(got, ("scores", "probs")):
            assert np.array_equal(np.array(numbers, "f4"), dump[f"h.{layer}.{name}"][0, h][i, j]), (layer, h, name)
assert page.run("words.map((word) => word.textContent).join('')") == "To be, or not to be: that is it"
END
}

@test "page: a cell's facts and trace, by keys and by pointer" {
    slow
    need_chromium
    dump dump.npz example=1
    tg-attn-view --html -o page.html dump.npz
    page page.html << 'END'
text = lambda id: page.run(f"byId('{id}').innerText")
table = lambda id: page.run(f"""[...byId('{id}').querySelectorAll('tr')].map((row) => [...row.cells].map((c) => c.textContent))""")
facts = lambda: dict(row[:2] for row in table("facts") if row[0])
page.run("setPanel('trace'); byId('map').focus()")
page.key("ArrowRight")
assert facts() == {"query i": "2", "key j": "1", "layer, head": "0, 0", "q_base": "8", "k_base": "4", "offset": "7",
                   "score": "0", "mask": "0", "probability": "0.23269653"}, facts()
page.key("ArrowLeft")
terms = table("terms")
assert terms[1:] == [["0", "8", "1", "0", "1", "1", "1"], ["1", "9", "0", "1", "0", "0", "1"],
                     ["2", "10", "1", "2", "0", "0", "1"], ["3", "11", "0", "3", "0", "0", "1"]], terms
steps = dict(table("steps"))
assert steps["sum"] == "1" and steps["scale"].endswith("= 0.5") and steps["score"].endswith("= 0.5"), steps
assert steps["max"].startswith("of the row: 0.5, at key 0"), steps
assert steps["their sum"].endswith(": 2.60653066"), steps  # 1 + exp(-0.5) + 1
assert steps["probability"] == "1 / 2.60653066 = 0.38365173", steps
page.key("ArrowUp"), page.key("ArrowRight"), page.key("ArrowRight")
assert facts()["offset"] == "5" and facts()["mask"] == "1" and facts()["score"] == "-1e9", facts()
assert facts()["probability"] == "0" and "masked" in text("steps") and "masked" in text("said")
assert ["", "= ((0·1 + 0)·3 + 1)·3 + 2"] in table("facts"), table("facts")
at = lambda i, j: page.run(f"""(() => {{ const box = byId('map').getBoundingClientRect();
    return [box.left + frame.left + ({j} + 0.5) * frame.cell, box.top + frame.top + ({i} + 0.5) * frame.cell]; }})()""")
# a click chooses; what the pointer crosses is shown under the map, and changes neither panel nor copies
chosen = lambda: (facts()["query i"], facts()["key j"])
page.click(*at(1, 0))
assert chosen() == ("1", "0"), facts()
want = {(2, 1): "score 0, probability 0.23269653 at query 2 “c”, key 1 “b”", (0, 1): "masked at query 0 “a”, key 1 “b”"}
for i, j in want:
    page.mouse("mouseMoved", *at(i, j)); page.settle()
    assert text("here") == want[i, j] and chosen() == ("1", "0"), (text("here"), facts())
    assert page.run("[pointed().i, pointed().j]") == [i, j]
page.mouse("mouseMoved", *page.run("(b => [b.left + 5, b.top + 5])(byId('copy-value').getBoundingClientRect())")); page.settle()
assert text("here").endswith(" at query 1 “b”, key 0 “a”") and page.run("view.here === null")
assert page.run("valueText()") == facts()["probability"] == "0.37754068"
page.click(*at(2, 1))
page.mouse("mouseMoved", *at(0, 0)); page.settle()
assert chosen() == ("2", "1") and page.run("valueText()") == "0.23269653", facts()
END
}

@test "page: it opens at the greatest key of the last query" {
    slow
    need_chromium
    dump all.npz T=9 H=2 L=2
    alter all.npz dump.npz 'a["h.1.q"][0, 8, 1] = 3; a["h.1.k"][:] = 0; a["h.1.k"][0, 5, 1] = 2'
    tg-attn-view --html -l 1 -a 1 -o page.html dump.npz
    page page.html << 'END'
assert page.run("[view.layer, view.head, view.i, view.j]") == [1, 1, 8, 5]
assert page.run("[...document.querySelectorAll('#facts td:nth-child(2)')].slice(0, 2).map((e) => e.textContent)") == ["8", "5"]
END
}

@test "page: an example of three tokens fills the window" {
    slow
    need_chromium
    dump dump.npz example=1
    tg-attn-view --html -o page.html dump.npz
    page page.html << 'END'
for width, height in ((1280, 800), (1920, 1080), (390, 844)):
    page.size(width, height); page.settle()
    room, size, cell = page.run("[roomFor(), frame.size, frame.cell]")
    least = min(room["width"] - 58, room["height"] - 46) - 12 # without labels and edges
    assert size >= 0.85 * least and cell <= 240, (width, room, size)
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
page.run("byId('map').focus()")
def press(key, what, want):
    page.key(key)
    got = page.run(what)
    assert got == want, (key, got)
press("]", "[view.layer, view.head]", [0, 2])
press("]", "[view.layer, view.head]", [0, 2])
press("}", "[view.layer, view.head]", [1, 2])
press("{", "[view.layer, view.head]", [0, 2])
press("}", "[byId('layer').value, byId('head').value]", ["1", "2"])
press("[", "byId('title').textContent", "Layer 1, head 1: probabilities")
press("s", "byId('title').textContent", "Layer 1, head 1: scores")
press("s", "view.show", "probs")
page.key("Home"), press("ArrowUp", "[view.i, view.j]", [7, 0])
press("End", "[view.i, view.j]", [7, 7])
press("Home", "[view.i, view.j]", [7, 0])
page.wait("thumbs.every((thumb) => thumb.rows === T)")
assert page.run("thumbs.map((thumb) => thumb.canvas.width)") == [9] * 6
assert page.run("document.querySelectorAll('.thumb[aria-pressed=true]').length") == 1
page.run("document.querySelectorAll('.thumb')[0].click()"); page.settle()
assert page.run("[view.layer, view.head]") == [0, 0]
page.run("document.querySelector('.thumb[aria-pressed=true]').focus()")
press("ArrowDown", "[view.layer, view.head, document.activeElement.title]", [1, 0, "layer 1, head 0"])
press("ArrowRight", "[view.layer, view.head, document.activeElement.title]", [1, 1, "layer 1, head 1"])
page.key("ArrowUp"), press("ArrowLeft", "[view.layer, view.head]", [0, 0])
page.run("byId('map').focus()")
# the text: backgrounds are the colours of the query's probabilities, or of the key's column
color = "(t) => words[t].style.backgroundColor.match(/\\d+/g)"
want = "(i, t) => [1, 3, 5].map((at) => String(parseInt(palettes.light.probs.colors[stepOf(placeOf({kind: 'log', high: 1}, rowOf(0, 0, i).probs[t]))].slice(at, at + 2), 16)))"
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
page.run("byId('map').focus()")
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
        dump $T.npz T=$T H=1 L=1 D=4 stages=q,k,probs
        tg-attn-view --html -o $T.html $T.npz
    done
    pages 6.html 1300.html << 'END'
import numpy as np
stored = np.load(file.replace(".html", ".npz"))["h.0.probs"][0, 0]
probs = stored.astype("f8")
T = len(probs)
page.wait("headOf(0, 0).rows === T")
page.run("byId('map').focus()")
page.key("ArrowRight"); page.key("Home")
frame = page.run("frame")
side = min(T, round(frame["size"]))
best = np.full((side, side), -1.0)
line = np.arange(T) * side // T
i, j = np.tril_indices(T)
np.maximum.at(best, (line[i], line[j]), probs[i, j])
hexes = page.run("dump.light.probs")
top = np.sort(stored.max(1))[-1 - T // 10].astype("f8")
top = 1 if top > 0.9 else top
assert page.run("headOf(0, 0).top") == top and (T == 6 or top < 0.9)
size = frame["size"] / side
inset = 3 if T == 6 else 0  # next to the number in the cell
steps = [hexes[n : n + 6] for n in range(0, 1440, 6)]
i, j = line[page.run("[view.i, view.j]")]
cells = [(n * 7919 % side, n * 104729 % side) for n in range(100)]
# not under the cursor
cells = [(y, x) for y, x in cells if abs(x - j) >= (1 if T == 6 else 6) and (abs(y - i) >= 6 or T == 6)]
assert len(cells) > 30
points = [[round(frame["left"]) + int(x * size) + inset, round(frame["top"]) + int(y * size) + inset] for y, x in cells]
pixels = page.run("""((points) => { const map = byId('map'), {width} = map;
    const {data} = map.getContext('2d').getImageData(0, 0, width, map.height);
    return points.map(([x, y]) => Array.from(data.subarray(4 * (y * width + x)).subarray(0, 3))); })(""" + f"{points})")
for (y, x), pixel in zip(cells, pixels, strict=True):
    got = bytes(pixel).hex()
    if best[y, x] < 0:
        assert got not in steps, (y, x)
    else:
        assert got == steps[int(np.sqrt(min(best[y, x] / top, 1)) * 239 + 0.5)], (y, x, got)
END
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
assert "id 11 “\\\\xAD\\\\xE6\\\\x96”, part of “中” and “文”".replace("\\\\", "\\") in facts, facts
assert "id 9 “·\\xE4”, part of “中”" in facts, facts
assert page.run("titleOf(headOf(0, 0), 4)") == "4 “\\x87”, id 12, part of “文”: masked"
assert page.run("byId('text').classList.contains('pieces')")
END
    tg-init --n-layer 1 --n-head 1 --n-embd 8 --n-ctx 8 -o bytes.npz 2> /dev/null
    tg-attn-dump -m bytes.npz -p $'ab\xff' -o - | tg-attn-view --html -o page.html
    page page.html << 'END'
assert not page.run("byId('text').classList.contains('pieces')")
END
}

@test "page: 12 x 12 heads are a grid: a row per layer, a column per head, all in sight" {
    slow
    need_chromium
    dump dump.npz T=40 H=12 L=12 D=4 stages=q,k
    tg-attn-view --html -o page.html dump.npz
    page page.html << 'END'
page.wait("thumbs.every((thumb) => thumb.rows === T)")
assert page.run("thumbs.length === 144 && thumbs.every((thumb) => thumb.canvas.width === 30)")
for width, height in ((1100, 800), (1280, 800), (1920, 1080), (900, 700), (400, 800)):
    page.size(width, height)
    page.run("window.dispatchEvent(new Event('resize'))"); page.settle()
    boxes = page.run("thumbs.map(({button}) => { const b = button.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; })")
    assert [len({box[side] for box in boxes}) for side in (0, 1)] == [12, 12], width
    for n, (left, top, right, bottom) in enumerate(boxes):
        assert (left, top) == (boxes[n % 12][0], boxes[n // 12 * 12][1]), (width, n)
        assert right - left > 12 and 0 <= left and right <= width and (width < 1024 or bottom <= height), (width, n)
# one stop for the tab key
assert page.run("thumbs.filter(({button}) => button.tabIndex === 0).length") == 1
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
assert page.run("document.querySelectorAll('b, script[src], #text *:not(.token):not(br):not(canvas)').length") == 0
assert page.run("words[9].textContent") == "\\u202E rtl"
page.run("byId('map').focus()")
for t in range(12):
    page.key("ArrowUp")
    page.key("ArrowRight")
END
}

# In make soak every theme with every language at every width.
@test "page: 1,000 tokens are usable, and nothing is cut off at any width" {
    slow
    need_chromium
    dump dump.npz T=1000 H=4 L=1 D=16 text=words stages=q,k
    tg-attn-view --html -o page.html dump.npz
    dump few.npz T=5 text=words
    tg-attn-view --html -o few.html few.npz
    cat > widths.py << 'END'
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
def check(width, height, *how):
    page.size(width, height)
    page.run("window.dispatchEvent(new Event('resize'))")
    page.settle()
    assert page.run("document.documentElement.scrollWidth <= window.innerWidth"), (width, how)
    cut = page.run("""[...document.querySelectorAll('header *, #large > *, #facts td, #facts th, #steps td, #heads .thumb')]
        .filter((e) => e.offsetParent && (e.getBoundingClientRect().right > innerWidth + 1 ||
            e.getBoundingClientRect().left < 0)).map((e) => e.tagName + '#' + e.id)""")
    assert cut == [], (width, how, cut)
    # a text is cut where it may have any length alone: tokens
    narrow = page.run("""[...document.querySelectorAll(
        'button, header label, .copy, #here, #facts thead *, #facts tr:nth-child(n + 3) > *, #steps th')].filter((e) =>
        e.offsetParent && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1) && getComputedStyle(e).display !==
        'inline').map((e) => [e.tagName + '#' + e.id, e.textContent, e.scrollWidth, e.clientWidth, e.scrollHeight, e.clientHeight])""")
    assert narrow == [], (width, how, narrow)
    assert page.run("byId('map').getBoundingClientRect().width <= byId('frame').clientWidth"), (width, how)
    assert page.run("frame.size >= 150"), (width, how, page.run("frame"))
    assert page.run("outside") == [], (width, how, page.run("outside"))

if file in ("few.html", "page.html"):
    for width, height in ((340, 700), (700, 900), (1100, 800), (1400, 1000), (2200, 1300)):
        check(width, height)
    # any two of theme, language and width are together
    for t, theme in enumerate(("light", "dark")):
        page.theme(theme)
        for l, language in enumerate(("zh", "en")):
            page.run("byId('language').click()"); page.settle()
            assert page.run("document.documentElement.lang").startswith(language)
            for w, (width, height) in enumerate(((340, 700), (1100, 800), (1400, 1000))):
                if soak or (t + l + w) % 2 == 0:
                    check(width, height, theme, language)
else:
    check(390, 844)
page.run("byId('map').focus()")
for key in ("s", "+", "+", "+", "ArrowUp", "s"):
    page.key(key)
assert page.run("outside") == [] and page.run("written") > 100, page.run("outside")
before = page.cpu()[1]
for n in range(20 if file == "page.html" else 4):
    page.key("ArrowUp" if n % 2 else "ArrowRight")
assert page.cpu()[1] - before < 5000 # milliseconds
END
    for T in 100 400; do
        dump $T.npz T=$T H=4 L=1 D=16 text=words stages=q,k
        tg-attn-view --html -o $T.html $T.npz
    done
    pages few.html 100.html 400.html page.html < widths.py
}

# ---- what a reader sees

# contrast.py: WCAG 2's contrast of two colours, as "rgb(1, 2, 3)", "#010203" or bytes.
contrast_module() {
    cat > contrast.py << 'END'
import re
def parts(c):
    if isinstance(c, str):
        c = bytes.fromhex(c[1:]) if c[0] == "#" else [int(x) for x in re.findall("[0-9]+", c)[:3]]
    return c
def luminance(c):
    x = [v / 255 for v in parts(c)]
    x = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in x]
    return 0.2126 * x[0] + 0.7152 * x[1] + 0.0722 * x[2]
def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)
END
}

# Heads that look at everything alike have small numbers; the map must not be all of one colour.
@test "page: the scale follows the data, at 9, 100 and 300 tokens" {
    slow
    need_chromium
    for T in 9 100 300; do
        dump all.npz T=$T H=1 L=1 D=4 stages=q,k
        alter all.npz $T.npz 'a["h.0.q"] = a["h.0.q"] * 0.1'
        tg-attn-view --html -o $T.html $T.npz
    done
    pages 9.html 100.html 300.html << 'END'
import numpy as np
page.wait("headOf(0, 0).rows === T && thumbs[0].rows === T")
steps = "(head) => Array.from(head.probs, (x) => stepOf(placeOf(scaleOf(head), x)))"
T = page.run("T")
own = np.array(page.run(f"({steps})(headOf(0, 0))"))
assert own.max() == 239 and np.median(own) > 60 and (own < 30).mean() < 0.1, (np.median(own), (own < 30).mean())
assert page.run("byId('legend').getAttribute('aria-label')").split()[5].rstrip(";")[-1:] == ("+" if T > 9 else "1")
assert page.run("thumbs[0].top === headOf(0, 0).top")
page.run("setScale('sqrt')"); page.settle()
fixed = np.array(page.run(f"({steps})(headOf(0, 0))"))
assert T == 9 or np.median(fixed) < 40, np.median(fixed)
assert page.run("byId('legend').getAttribute('aria-label')") == "colours: probability from 0 to 1; hatched: masked"
END
}

@test "page: scores diverge around 0, in the colour of the paper" {
    slow
    need_chromium
    dump dump.npz T=30 H=2 L=1
    tg-attn-view --html --show scores -o page.html dump.npz
    contrast_module
    page page.html << 'END'
from contrast import contrast, parts
page.wait("headOf(0, 0).rows === T")
low, high, most = page.run("(({low, high}) => [low, high, Math.max(...headOf(0, 0).scores.map(Math.abs))])(scaleOf(headOf(0, 0)))")
assert low == -high and high > 0 and abs(high - most) < 1e-6, (low, high, most)
for theme in ("light", "dark"):
    page.theme(theme); page.settle()
    paper = page.run("getComputedStyle(document.body).backgroundColor")
    color = lambda x: page.run(f"paletteOf('scores').colors[stepOf(placeOf(scaleOf(headOf(0, 0)), {x}))]")
    assert contrast(color(0), paper) < 1.15, (theme, color(0), paper)
    assert contrast(color(-high), paper) > 5 and contrast(color(high), paper) > 5, theme
    below, above = parts(color(-high / 2)), parts(color(high / 2))
    assert below[2] > below[0] + 40 and above[0] > above[2] + 40, (theme, below, above)
END
}

@test "page: words that nothing attends to are quiet in both themes" {
    slow
    need_chromium
    dump all.npz T=30 H=1 L=1 text=words stages=q,k
    # every query looks at key 3, as soon as there is one
    alter all.npz dump.npz 'a["h.0.q"][:] = 6; a["h.0.k"][:] = 0; a["h.0.k"][0, 3] = 2'
    tg-attn-view --html -o page.html dump.npz
    contrast_module
    page page.html << 'END'
from contrast import contrast
page.wait("headOf(0, 0).rows === T")
for theme in ("light", "dark", "light"):
    page.theme(theme); page.settle()
    paper = page.run("getComputedStyle(document.body).backgroundColor")
    back = lambda t: page.run(f"getComputedStyle(words[{t}]).backgroundColor")
    ink = lambda t: page.run(f"getComputedStyle(words[{t}]).color")
    for t in (0, 2, 4, 20):
        assert contrast(back(t), paper) < 1.15, (theme, t, back(t), paper)
    assert contrast(back(3), paper) > 5, (theme, back(3))
    for t in (0, 3, 20):
        assert contrast(back(t), ink(t)) > 4.5, (theme, t)
# masked words have no ground, and are paler than those that are only not attended to
page.run("moveTo(10, 0)"); page.settle()
assert back(20) == "rgba(0, 0, 0, 0)" and contrast(ink(20), paper) < contrast(ink(8), paper)
END
}

# ---- while one points

at_module() {
    cat > at.py << 'END'
def at(page, i, j):
    return page.run(f"""(() => {{ const box = byId('map').getBoundingClientRect();
        return [box.left + frame.left + ({j} - view.from.j + 0.5) * frame.cell,
            box.top + frame.top + ({i} - view.from.i + 0.5) * frame.cell]; }})()""")
END
}

# With the longest text at each size, with the others at every second; in make soak all.
@test "page: the text is in view while one points, and a word shows its row" {
    slow
    need_chromium
    at_module
    for T in 20 100 300; do
        dump $T.npz T=$T H=2 L=2 text=words stages=q,k
        tg-attn-view --html -o $T.html $T.npz
    done
    pages 20.html 100.html 300.html << 'END'
from at import at
T = page.run("T")
for n, (width, height) in enumerate(((1280, 800), (1920, 1080), (1100, 600), (400, 800))):
    if not soak and T < 300 and n % 2 == (T == 20):
        continue
    page.size(width, height)
    page.run("window.dispatchEvent(new Event('resize'))"); page.settle()
    page.run("window.scrollTo(0, byId('map').getBoundingClientRect().top + scrollY - 10)"); page.settle()
    page.mouse("mouseMoved", *at(page, T - 5, 3)); page.settle()
    assert page.run("pointed().i") == T - 5, (width, page.run("pointed()"))
    top, bottom = page.run("(({top, bottom}) => [top, bottom])(byId('text').getBoundingClientRect())")
    assert 0 < top < bottom <= height, (width, T, top, bottom)
    assert page.run("""(() => { const box = byId('text').getBoundingClientRect(), word = words[pointed().i].getBoundingClientRect();
        return word.top >= box.top - 1 && word.bottom <= box.bottom + 1; })()"""), (width, T)
    assert width < 1024 or page.run("document.documentElement.scrollHeight <= innerHeight"), width
    page.run("window.scrollTo(0, 0)"); page.settle() # it sticks to the lower edge
    top, bottom = page.run("(({top, bottom}) => [top, bottom])(byId('text').getBoundingClientRect())")
    assert 0 < top < bottom <= height, (width, T, top, bottom)
page.size(1280, 800)
page.run("byId('text').scrollTop = 0"); page.settle()
for t in (2, 9, 14):
    x, y = page.run(f"(({{left, top, width, height}}) => [left + width / 2, top + height / 2])(words[{t}].getBoundingClientRect())")
    page.mouse("mouseMoved", x, y); page.settle()
    assert page.run("pointed().i") == t and page.run(f"words[{t}].classList.contains('query')"), t
    assert page.run(f"words[{t}].title").startswith(f"{t} “·"), page.run(f"words[{t}].title")
    assert page.run("words.map((w, n) => w.classList.contains('masked') === n > pointed().i).every((x) => x)")
page.click(x, y)
page.mouse("mouseMoved", x, y - 300); page.settle()
assert page.run("view.i") == 14
page.run("setWay('column')"); page.settle()
page.run("byId('text').scrollTop = 0"); page.settle()
x, y = page.run("(({left, top}) => [left + 3, top + 3])(words[5].getClientRects()[0])")
page.mouse("mouseMoved", x, y); page.settle()
assert page.run("[pointed().i, pointed().j, view.i]") == [14, 5, 14]
END
}

# Each size with one of the two widths of heads, in make soak with both.
@test "page: nothing moves when the pointer crosses the diagonal" {
    slow
    need_chromium
    at_module
    for D in 3 64; do
        dump $D.npz T=40 H=2 L=2 D=$D text=words stages=q,k
        tg-attn-view --html -o $D.html $D.npz
    done
    pages 3.html 64.html << 'END'
from at import at
places = """[window.scrollY, document.documentElement.scrollHeight, byId('cell').scrollHeight, byId('terms').scrollHeight,
    ...[...document.querySelectorAll('main section, main section > *, #facts tr, #steps tr, #facts td:nth-child(2), .copy button')]
        .map((e) => { const b = e.getBoundingClientRect(); return [e.tagName + e.id, b.left, b.top, b.width, b.height]; })]"""
for n, (width, height) in enumerate(((1280, 800), (1400, 560), (700, 900), (390, 700))):
    if not soak and n % 2 == (page.run("D") == 64):
        continue
    page.size(width, height)
    page.run("window.dispatchEvent(new Event('resize'))"); page.settle()
    page.run("window.scrollTo(0, byId('map').getBoundingClientRect().top + scrollY - 10)"); page.settle()
    seen = []
    for i, j in ((20, 3), (20, 19), (20, 20), (20, 21), (20, 39), (0, 39), (39, 0)):
        page.mouse("mouseMoved", *at(page, i, j)); page.settle()
        seen.append(page.run(places))
        page.click(*at(page, i, j))
        assert page.run("[view.i, view.j]") == [i, j], (width, i, j, page.run("[view.i, view.j]"))
        seen.append(page.run(places))
    for other in seen[1:]:
        assert other == seen[0], (width, [pair for pair in zip(seen[0], other) if pair[0] != pair[1]])
# a trace is as far scrolled as before
if page.run("D") == 64:
    page.size(1280, 700)
    page.run("setPanel('trace')"); page.settle()
    page.run("moveTo(20, 3); byId('terms').scrollTop = 450"); page.settle()
    page.run("moveTo(20, 30)"); page.settle()
    page.run("moveTo(20, 4)"); page.settle()
    rows = page.run("[...byId('terms').querySelectorAll('tbody tr')].map((r) => r.cells[0].textContent)")
    assert page.run("byId('terms').scrollTop") == 450 and rows[0] == "30" and len(rows) < 30, rows
    shown = page.run("""(() => { const box = byId('terms').getBoundingClientRect();
        return [...byId('terms').querySelectorAll('tbody tr')].map((r) => r.getBoundingClientRect().top - box.top); })()""")
    assert -15 < shown[0] < 30, shown
END
}

@test "page: the cursor and the focus are seen on every colour" {
    slow
    need_chromium
    at_module
    contrast_module
    dump dump.npz T=12 H=1 L=1 text=words
    tg-attn-view --html -o page.html dump.npz
    page page.html << 'END'
from at import at
from contrast import contrast
page.wait("headOf(0, 0).rows === T")
# black or white is seen on any colour, and the cursor has both
for theme in ("light", "dark"):
    for show in ("probs", "scores"):
        for color in page.run(f"palettes.{theme}.{show}.colors"):
            assert max(contrast(color, "#000000"), contrast(color, "#ffffff")) > 4.5, color
for theme in ("light", "dark"):
    page.theme(theme)
    for i, j in ((11, 0), (0, 0), (5, 4), (3, 9)):
        page.run(f"moveTo({i}, {j})"); page.settle()
        x, y = at(page, i, j)
        half = page.run("frame.cell") / 2
        line = page.pixels(round(x + half) - 3, round(y), 8, 1)[0]
        assert (0, 0, 0) in line and (255, 255, 255) in line, (theme, i, j, line)
    # the ring around the map is whole, and differs from the paper
    page.run("byId('map').focus({focusVisible: true})"); page.settle()
    left, top, right, bottom = [round(x) for x in page.run("(b => [b.left, b.top, b.right, b.bottom])(byId('map').getBoundingClientRect())")]
    paper = page.run("getComputedStyle(document.body).backgroundColor")
    middle = ((left + right) // 2, (top + bottom) // 2)
    for x, y in ((left - 1, middle[1]), (right, middle[1]), (middle[0], top - 1), (middle[0], bottom)):
        near = sum(page.pixels(x - 1, y - 1, 3, 3), [])
        assert max(contrast(color, paper) for color in near) > 7, (theme, x, y, near)
    page.run("document.activeElement.blur()")
    # so is that of the chosen words
    style = page.run("(({outlineColor, boxShadow}) => [outlineColor, boxShadow])(getComputedStyle(words[view.i]))")
    ink = page.run("getComputedStyle(document.body).color")
    assert ink == style[0] and paper in style[1] and contrast(paper, ink) > 7, style
    shadow = page.run("getComputedStyle(words[view.j]).boxShadow")
    assert ink in shadow and paper in shadow, shadow
END
}

# The system's colours, light or dark, with either theme of the page's own.
@test "page: where the system sets the colours, texts, the chosen cell and pressed buttons are seen" {
    slow
    need_chromium
    at_module
    contrast_module
    tg-attn-dump -q -m "$ROOT/docs/data/induction" -p CatDogHenCatDog -o dump.npz
    tg-lens -q -m "$ROOT/docs/data/induction" -p CatDogHenCatDog -o lens.npz
    tg-attn-view -q -o page.html dump.npz lens.npz
    cat > forced.py << 'END'
from at import at
from contrast import contrast
page.wait("headOf(0, 0).rows === T")

# [text, ink, what it stands on] of all texts that are seen
TEXTS = """(() => {
    const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const ground = (e) => /^rgba\\(.*, 0\\)$/.test(getComputedStyle(e).backgroundColor) && e.parentElement ? ground(e.parentElement)
        : getComputedStyle(e).backgroundColor;
    while (walk.nextNode()) {
        const e = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
        if (text && e.checkVisibility() && !e.closest("script, style, option, #said"))
            found.push([text.slice(0, 20), getComputedStyle(e).color, ground(e)]);
    }
    return found; })()"""

def spread(x, y, width, height):
    """The greatest contrast of two pixels there."""
    from contrast import luminance
    colors = sorted({c for row in page.pixels(round(x), round(y), round(width), round(height)) for c in row}, key=luminance)
    return contrast(colors[0], colors[-1])

for system in ("light", "dark"):
    page.theme(system, forced=True); page.settle()
    assert page.run("matchMedia('(forced-colors: active)').matches")
    for own in ("light", "dark"):
        if page.run("isDark()") != (own == "dark"):
            page.run("byId('theme').click()"); page.settle()
        where = (system, own)
        for panel in ("row", "lens", "cell"):
            page.run(f"setPanel('{panel}')"); page.settle()
            texts = page.run(TEXTS)
            assert len(texts) > 100, (where, panel, len(texts))
            pale = [t for t in texts if contrast(t[1], t[2]) < 4.5]
            assert pale == [], (where, panel, pale[:5])
            # the one that is pressed has a line around it
            outlines = page.run("""[...document.querySelectorAll(".tabs button, .thumb, .card")].filter((b) => b.offsetParent).map((b) =>
                [b.getAttribute("aria-pressed"), (({outlineStyle, outlineWidth, outlineColor}) =>
                    [outlineStyle, outlineWidth, outlineColor])(getComputedStyle(b))])""")
            paper = page.run("getComputedStyle(document.body).backgroundColor")
            assert {"true", "false"} == {pressed for pressed, _ in outlines}, (where, outlines)
            for pressed, (style, width, color) in outlines:
                assert (style == "solid" and width == "3px" and contrast(color, paper) >= 3) if pressed == "true" \
                    else style == "none", (where, panel, pressed, style, width, color)
        # what is drawn: the numbers of the legend, the labels of the map
        left, top, width, height = page.run("(b => [b.left, b.top, b.width, b.height])(byId('legend').getBoundingClientRect())")
        assert spread(left, top + 22, width, height - 22) > 4.5, (where, "legend")
        left, top = page.run("(b => [b.left, b.top])(byId('map').getBoundingClientRect())")
        assert spread(left, top + page.run("frame.top"), page.run("frame.left") - 2, 60) > 4.5, (where, "labels")
        # the chosen cell is unlike its neighbour, which has the same number; so are the words of query and key
        size = page.run("frame.cell")
        page.run("moveTo(12, 4)"); page.settle()
        assert page.run("[3, 4].every((j) => headOf(0, 0).probs[12 * 13 / 2 + j] < 1e-3)")
        line = lambda x, y: spread(x - size / 2 - 3, y, 6, 1)
        assert line(*at(page, 12, 4)) > 4.5 > 1.5 > line(*at(page, 12, 2)), (where, line(*at(page, 12, 4)), line(*at(page, 12, 2)))
        query, key, other = page.run("""[12, 4, 2].map((t) => (({outlineStyle, outlineColor, boxShadow}) =>
            [outlineStyle, outlineColor, boxShadow])(getComputedStyle(words[t])))""")
        ground = page.run("getComputedStyle(byId('text')).backgroundColor")
        assert query[0] == "solid" and contrast(query[1], ground) > 4.5 and key[2] != "none", (where, query, key)
        assert other[0] == other[2] == "none", (where, other)
END
    page page.html < forced.py
}

@test "page: keys act where the map has the focus, and nowhere else; the map has a name" {
    slow
    need_chromium
    dump dump.npz T=30 H=3 L=2 text=words
    tg-attn-view --html -o page.html dump.npz
    page page.html << 'END'
state = "JSON.stringify([view.layer, view.head, view.i, view.j, view.show, view.way, view.from, isDark()])"
page.size(700, 500)
page.run("document.activeElement.blur()")
before = page.run(state)
for key in ("ArrowUp", "ArrowLeft", "Home", "End", "[", "]", "{", "}", "Enter", "Escape", "+", "-", "0", "s", "t", "d", "?",
            "PageDown", "PageUp"):
    page.key(key)
    assert page.run(state) == before and not page.run("byId('help').open"), key
page.run("byId('copy-row').focus()")
for key in ("s", "ArrowUp", "t"):
    page.key(key)
    assert page.run(state) == before, key
# the page's own scrolling is left alone, even there
page.run("document.activeElement.blur(); window.scrollTo(0, 0)")
page.key_until("window.scrollY > 100", "PageDown", windowsVirtualKeyCode=34)
page.run("byId('map').focus({preventScroll: true})")
page.key_until("window.scrollY == 0", "PageUp", windowsVirtualKeyCode=33)
assert page.run(state) == before
page.key("s")
assert page.run("view.show") == "scores"
tree = page.call("Accessibility.getFullAXTree")["nodes"]
names = [(n["role"]["value"], n.get("name", {}).get("value")) for n in tree if not n["ignored"]]
assert ("application", "attention of layer 0, head 0: scores of 30 queries by 30 keys") in names, names
page.key("]"), page.key("s")
assert page.run("byId('map').getAttribute('aria-label')") == "attention of layer 0, head 1: probabilities of 30 queries by 30 keys"
# what keys do is said, and what the pointer does is not
page.key("ArrowUp")
assert page.run("byId('said').getAttribute('aria-live')") == "polite"
page.run("window.scrollTo(0, 0)"); page.settle()
box = page.run("(b => [b.left + frame.left + 5, b.top + frame.top + 5])(byId('map').getBoundingClientRect())")
page.mouse("mouseMoved", *box); page.settle()
assert page.run("byId('said').getAttribute('aria-live')") == "off"
END
    grep -q '<noscript>' page.html
}

# Of the widest numbers that there are: sums, products and factors of fifteen characters.  Every second cell at each
# size, in make soak all.
@test "page: no number is cut, and the running sum and the result are in view at 1280 x 800" {
    slow
    need_chromium
    dump all.npz T=300 H=4 L=2 D=64 text=words stages=q,k,v
    alter all.npz dump.npz 'a["h.0.q"][0, 299, 0] = -0.000310951234 * (1 + np.arange(64) / 1e3)'
    tg-attn-view --html -o page.html dump.npz
    page page.html << 'END'
cut = """[...document.querySelectorAll('#facts tr td:nth-child(2), #facts tr td:nth-child(4), #terms td, #steps td, #sums td, '
    + '#keys td:nth-child(n + 3), .card .lines, #measures td, #sum-result')]
    .filter((e) => { const range = document.createRange(); range.selectNodeContents(e);
        const ink = range.getBoundingClientRect(), box = e.getBoundingClientRect();
        return ink.left < box.left - 1 || ink.right > box.right + 1; })
    .map((e) => e.textContent).filter((text) => text && !text.startsWith("of the row"))"""
for n, (width, height) in enumerate(((1280, 800), (1366, 768), (1920, 1080), (853, 533), (390, 844), (1100, 700))):
    page.size(width, height)
    page.run("window.dispatchEvent(new Event('resize'))"); page.settle()
    for m, (j, panel) in enumerate(((0, "cell"), (0, "trace"), (7, "row"), (150, "sum"), (299, "trace"), (299, "row"))):
        if not soak and n % 2 != m % 2:
            continue
        page.run(f"moveTo(299, {j})"); page.run(f"setPanel('{panel}')"); page.settle()
        assert page.run(cut) == [], (width, page.run(cut))
        here = page.run("(e => [e.scrollHeight <= e.clientHeight, e.textContent])(byId('here'))")
        assert here[0] or here[1].index(" at ") < 70, here
    if width >= 1280:
        for panel in "cell", "trace", "row", "sum":
            page.run(f"setPanel('{panel}')"); page.settle()
            assert page.run("byId('cell').scrollHeight <= byId('cell').clientHeight"), (width, panel)
            for box in {"trace": ["terms"], "row": ["keys"], "sum": ["sums"]}.get(panel, []):
                assert page.run(f"byId('{box}').scrollWidth === byId('{box}').clientWidth"), (width, box)
        page.run("setPanel('trace')"); page.settle()
        assert page.run("byId('terms').scrollWidth === byId('terms').clientWidth"), width
        assert page.run("[byId('steps').getBoundingClientRect().bottom, byId('terms').getBoundingClientRect().bottom]"
                        ".every((y) => y <= byId('cell').getBoundingClientRect().bottom)"), width
END
}

# ---- numbers, and what is copied

@test "page: one text for each number, in ASCII; value, row, command and link can be copied" {
    slow
    need_chromium
    need_numpy
    tg-init --n-layer 2 --n-head 2 --n-embd 16 --n-ctx 16 -o model.npz 2> /dev/null
    for more in '--layout bthd' '--layout bhtd --mask=min'; do
        # shellcheck disable=SC2086
        tg-attn-dump -p 'It i" so' $more -o dump.npz
        tg-attn-view --html -o page.html dump.npz
        # shellcheck disable=SC2086
        tg-attn-dump -p 'It i" so' $more -l 1 -a 1 -i 6 -f tsv > row
        page page.html << 'END'
import numpy as np, re
table = lambda id: dict(row[:2] for row in page.run(
    f"[...byId('{id}').querySelectorAll('tr')].map((row) => [...row.cells].map((c) => c.textContent))") if row[0])
scores = np.load("dump.npz")["h.1.scores"][0, 1]
page.allow_clipboard()
# what is said about a copy vanishes soon
page.run("""window.told = [];
new MutationObserver(() => told.push(byId('copied').textContent)).observe(byId('copied'), {childList: true}); 0""")
def copy(what):
    page.run(f"told.length = 0; byId('copy-{what}').click()")
    page.wait(f"told.includes('{what} copied')")
    return page.clipboard()
for show in ("probs", "scores"):
    page.run(f"setShow('{show}')")
    for i, j in ((6, 2), (7, 7), (3, 5), (0, 0)):
        page.run(f"goTo(1, 1); moveTo({i}, {j}); setPanel('trace')"); page.settle()
        facts, steps = table("facts"), table("steps")
        assert np.float32(facts["score"]) == scores[i, j], facts
        if j <= i:
            assert steps["score"] == "sum/√D = " + facts["score"], (facts, steps)
            assert steps["probability"].endswith(" = " + facts["probability"])
            assert page.run("byId('said').textContent").endswith(f"score {facts['score']}, probability {facts['probability']}")
            assert page.run("document.querySelector('#terms tr:last-child td:last-child').textContent") == steps["sum"]
        text = page.run("['facts', 'steps', 'terms', 'said', 'text', 'cards'].map((id) => byId(id).textContent).join()")
        assert not re.search("[\u2212\u2010-\u2012]", text), text
        copied = copy("value")
        assert copied == facts["score" if show == "scores" else "probability"], (copied, facts)
        float(copied)
assert page.run("shortText(0.0041) + shortText(0) + shortText(-0.001) + shortText(0.25)") == "0.000.25"
page.run("moveTo(6, 2)")
assert copy("row") == open("row").read()
open("command", "w").write(copy("command"))
open("score", "w").write(str(float(scores[6, 2])))
link = copy("link")
assert link == page.run("location.href") and "query=6&key=2" in link
END
        bash command > trace
        score=$(sed -n 's/^score = .* = \(-\{0,1\}[0-9.e-]*\).*/\1/p' trace | head -n 1)
        python3 -c 'import sys; a, b = map(float, sys.argv[1:]); assert abs(a - b) < 1e-6, (a, b)' "$score" "$(cat score)"
    done
}

# C is the judge: its shortest text that is read as the same float32, and its nine digits.  Half-way cases are
# multiples of 2^-10.
@test "page: numbers of every exponent are written as they are, and as C writes them" {
    slow
    need_chromium
    dump dump.npz T=3 H=1 L=1 D=4
    tg-attn-view --html -o page.html dump.npz
    page page.html << 'END'
import json, random, struct
random.seed(1)
single = lambda x: struct.unpack("f", struct.pack("f", x))[0]
numbers = [single(d * 10.0**e) for e in range(-45, 39) for d in (1, 1.5, 2.5, 3.14159265, 7.17967463, 9.99999975)
           if d * 10.0**e < 3.4e38]
numbers += [(2 * n + 1) / 1024 for n in range(1000)]
numbers += [n for n in (struct.unpack("f", struct.pack("I", random.getrandbits(31)))[0] for _ in range(20000)) if n < 4e38]
numbers += [0.0] + [-x for x in numbers]
assert {int(f"{abs(x):e}".split("e")[1]) for x in numbers} == set(range(-45, 39))
def shortest(x):
    return next(text for text in (f"{x:.{n}g}" for n in range(6, 10)) if single(float(text)) == x)
page.run(f"window.numbers = {json.dumps(numbers)}; 0")
for name, want in (("storedText", shortest), ("textOf", lambda x: f"{x:.9g}")):
    texts = page.run(f"numbers.map((x) => {name}(x))")
    assert page.run(f"numbers.every((x) => Math.fround(Number({name}(x))) === Math.fround(x))"), name
    wrong = [(x, text, want(x)) for x, text in zip(numbers, texts) if text != want(x)]
    assert not wrong, (name, len(wrong), wrong[:5])
END
}

# Heads that are sure make numbers of all sizes: the model of guide 7 does.
# The page shows one in twenty of 15,000 cells, with the terms of their sums, and every number is compared.
# In make soak all cells.
@test "page: the texts of a sharp model's cells are the numbers that tg-attn-dump prints" {
    slow
    need_chromium
    need_numpy
    longer=$(printf 'CatDogHen%.0s' 1 2 3 4 5)
    for text in CatDogHenCatDogHen "${longer:0:40}"; do
        tg-attn-dump -m "$ROOT/docs/data/induction" -p "$text" -o ${#text}.npz
        tg-attn-view --html -o ${#text}.html ${#text}.npz
        tg-attn-dump -m "$ROOT/docs/data/induction" -p "$text" -f tsv > ${#text}.tsv
    done
    echo 'assert small > 20 or T < 40, small' |
        CELLS=$(soak && echo 1 || echo 0.12) HEADS=$(soak && echo 1 || echo 0.4) every_cell 18.html 40.html
}

# In make soak half of the cells.
@test "page: the texts of cells of the examples, and of 12 x 12 untrained heads, are the numbers that tg-attn-dump prints" {
    slow
    need_chromium
    need_numpy
    for example in baseline mha indexing mask shapes rope gqa; do
        tg-attn-dump --example $example -o $example.npz
        tg-attn-view --html -o $example.html $example.npz
        tg-attn-dump --example $example -f tsv | awk 'NR == 1 || $3 == 0' > $example.tsv # the page's sequence
    done
    echo 'assert page.run("T") >= 2' |
        CELLS=$(soak && echo 0.5 || echo 0.2) every_cell {baseline,mha,indexing,mask,shapes,rope,gqa}.html
    tg-init -q --n-layer 12 --n-head 12 --n-embd 96 --n-ctx 16 -o untrained.npz
    tg-attn-dump -m untrained.npz -p 'To be' -o dump.npz
    tg-attn-view -q --html -o page.html dump.npz
    tg-attn-dump -m untrained.npz -p 'To be' -f tsv > page.tsv
    echo 'assert len(layers) == heads == 12' | CELLS=0.5 HEADS=$(soak && echo 1 || echo 0.03) every_cell page.html
}

@test "page: the copied command runs as pasted, and prints the number" {
    slow
    need_chromium
    need_numpy
    tg-init --n-layer 1 --n-head 2 --n-embd 8 --n-ctx 8 -o "it's \$HOME & co.npz" 2> /dev/null
    tg-init --n-layer 1 --n-head 2 --n-embd 8 --n-ctx 8 -o ./-x.npz 2> /dev/null
    python3 -c 'import numpy as np; r = np.random.default_rng(1); np.savez("a b.npz", **{n: r.standard_normal((2, 4, 6), dtype="f4") for n in "qkv"})'
    count=0
    shown() { # [VIEW OPTION]... -- DUMP OPTION...: the page of that dump
        local view=()
        while [[ $1 != -- ]]; do view+=("$1") && shift; done
        tg-attn-dump "${@:2}" -o dump.npz
        tg-attn-view --html "${view[@]}" -o "$((count += 1)).html" dump.npz
    }
    named() { # SOURCE...: pages of the last dump, if it had such a source: odd-1.html and so on
        alters dump.npz odd 'a["dump/source"] = np.bytes_(word.encode())' "$@"
        local n
        for ((n = 1; n <= $#; n++)); do tg-attn-view --html -o odd-$n.html odd-$n.npz; done
    }
    shown -- --example mha
    shown -- --example baseline --heads 2
    shown -b 1 -- --example shapes --layout bhtd
    shown -b 1 -- --qkv 'a b.npz' --heads 3
    shown -- -m "it's \$HOME & co.npz" -p 'abcd'
    shown -- -m -x.npz -p 'abcd' --heads 4
    shown -- -m "$ROOT/docs/data/induction" -p CatDog
    TG_MODEL=./-x.npz shown -- -p 'abcd'
    # standard input cannot be named: the reader puts a file there
    tg-attn-dump -m - -p abcd -o dump.npz < ./-x.npz
    python3 -c 'import numpy as np; assert "dump/source" not in np.load("dump.npz")'
    # nor is what nobody can have typed: a name that would be a command, or that hides what it is
    named $'-m x\n; touch pwned' $'-m \u202Ex' '--example $(touch pwned)' '--qkv a.npz' '-o x' '-m ' '' \
        "-m '; touch pwned; '"
    mv odd-8.html quoted.html
    pages ./*.html << 'END'
page.allow_clipboard()
page.run("moveTo(2, 1); setShow('scores'); byId('copy-command').click()")
page.wait("byId('copied').textContent.startsWith('command copied')")
open(file.replace(".html", ".command"), "w").write(page.clipboard())
open(file.replace(".html", ".copied"), "w").write(page.run("valueText()") + page.run("byId('copied').textContent"))
END
    pasted() { # N: the Nth command runs, and prints the number
        bash "$1.command" > trace
        python3 -c 'import re, sys
score = re.findall(r"(?m)^score = .* = (-?[0-9.e-]+)", open("trace").read())[0]
want = float(open(sys.argv[1]).read().split("command")[0])
assert abs(float(score) - want) <= 1e-8 + 1e-7 * abs(want), (score, want)' "$1.copied"
    }
    for i in {1..7}; do pasted $i; done
    TG_MODEL=./-x.npz pasted 8
    grep -q '^tg-attn-dump --example mha ' 1.command
    grep -qF "tg-attn-dump --qkv 'a b.npz' --heads 3 --trace 1,0,2,1" 4.command
    for i in {1..7}; do
        grep -q '^tg-attn-dump -m MODEL --ids ' odd-$i.command
        grep -qF 'copied (MODEL: your file)' odd-$i.copied
    done
    run bash quoted.command
    [[ ! -e pwned ]]
}

@test "page: the address keeps the view, and the browser the theme" {
    slow
    need_chromium
    dump dump.npz T=30 H=3 L=2 text=words
    tg-attn-view --html -o page.html dump.npz
    page page.html << 'END'
url = page.run("location.href").split("#")[0]
state = "[view.layer, view.head, view.i, view.j, view.show, view.kind, view.way, view.from.n]"
page.run("moveTo(29, 0); byId('map').focus()")
for key in ("}", "]", "ArrowUp", "ArrowRight", "+", "t", "s"):
    page.key(key)
page.run("byId('scale').value = 'log'; byId('scale').dispatchEvent(new Event('change'))"); page.settle()
want = [1, 1, 28, 1, "scores", "log", "column", 15]
assert page.run(state) == want, page.run(state)
page.wait("location.hash === '#layer=1&head=1&query=28&key=1&show=scores&scale=log&text=column&zoom=15'")
page.call("Page.reload"); page.wait("document.readyState === 'complete'"); page.settle()
assert page.run(state) == want
page.open("about:blank")
page.open(url + "#layer=0&head=2&query=7&key=3"); page.settle()
assert page.run(state) == [0, 2, 7, 3, "probs", "auto", "row", 30]
assert page.run("[byId('head').value, byId('show').value, byId('scale').value]") == ["2", "probs", "auto"]
# another address in the same window
page.run("location.hash = '#layer=1&query=9&show=scores'")
page.wait(f"{state}.slice(0, 5).join() === '1,2,9,3,scores'")
# the view before it was about to become the address
page.run("moveTo(5, 2); location.hash = '#layer=0&query=8&key=1&show=probs'; keepAddress()")
page.wait(f"{state}.slice(0, 5).join() === '0,2,8,1,probs'")
# what makes no sense is left out
page.open("about:blank")
page.open(url + "#layer=77&head=-1&query=1e3&key=99&show=all&scale=__proto__&zoom=x&text=%"); page.settle()
assert page.run(state) == [0, 0, 29, 29, "probs", "auto", "row", 30], page.run(state)
# many moves: the address is written now and then
page.run("for (let n = 0; n < 1000; n++) moveTo(n % 30, 0)"); page.settle()
page.wait("location.hash.includes('query=9&')")
# the theme
assert page.run("isDark()") is False
page.run("byId('theme').click()"); page.settle()
page.open("about:blank")
page.open(url); page.settle()
assert page.run("isDark() && byId('theme').textContent") == "light"
page.requests[1:] = [r for r in page.requests[1:] if r.split("#")[0] not in (url, "about:blank")]
END
}

@test "page: the bytes of one character stand under it" {
    slow
    need_chromium
    tg-init --n-layer 1 --n-head 1 --n-embd 8 --n-ctx 64 -o model.npz 2> /dev/null
    tg-attn-dump -p $'注意 a\xc3\xa9\xff力' -o dump.npz
    tg-attn-view --html -o page.html dump.npz
    page page.html << 'END'
page.wait("headOf(0, 0).rows === T")
groups = page.run("""[...document.querySelectorAll('#text .character')].map((e) => [e.querySelector('.glyph').textContent,
    [...e.querySelectorAll('.token')].map((t) => t.textContent)])""")
assert groups == [["注", ["E6", "B3", "A8"]], ["意", ["E6", "84", "8F"]], ["é", ["C3", "A9"]], ["力", ["E5", "8A", "9B"]]], groups
assert page.run("words.map((w) => Number(w.dataset.t)).join() === [...document.querySelectorAll('#text .token')].map((w) => w.dataset.t).join()")
assert page.run("words[10].textContent") == "\\xFF"
for n in range(4):
    glyph, left, right, top = page.run(f"""(() => {{ const e = document.querySelectorAll('#text .character')[{n}],
        g = e.querySelector('.glyph').getBoundingClientRect(), t = [...e.querySelectorAll('.token')].map((x) => x.getBoundingClientRect());
        return [g.toJSON(), t[0].left, t.at(-1).right, Math.min(...t.map((b) => b.top))]; }})()""")
    assert glyph["bottom"] <= top + 1 and left - 1 <= glyph["left"] and glyph["right"] <= right + 1, (n, glyph, left, right, top)
# the character has the colour of the greatest of its bytes, and means the last
page.run("moveTo(T - 1, 0)"); page.settle()
for n in range(4):
    assert page.run(f"""(() => {{ const {{first, end, glyph}} = groups[{n}], head = headOf(0, 0);
        const most = Math.max(...words.slice(first, end).map((_, t) => head.probs[rowStart(T - 1) + first + t]));
        const want = paletteOf('probs').colors[stepOf(placeOf(scaleOf(head), most))], canvas = document.createElement('i');
        canvas.style.backgroundColor = want;
        return canvas.style.backgroundColor === glyph.style.backgroundColor; }})()"""), n
page.run("document.querySelectorAll('.glyph')[1].dispatchEvent(new PointerEvent('pointermove', {bubbles: true}))"); page.settle()
assert page.run("pointed().i") == 5
END
}

# Processor time, which does not depend on what else the machine does as much as the clock does; the best of
# three.  Of 12 x 12 heads of 300 tokens, with the sizes of GPT-2.  The 16 ms are for a processor that does a plain
# loop in the time named below; a slower one gets more by as much as it is slower at that loop, in the same minute.
@test "page: a movement redraws within 16 ms at 300 tokens of 12 x 12 heads, within 33 ms at 1,000 tokens" {
    slow
    need_chromium
    dump dump.npz T=300 H=12 L=12 D=64 text=words stages=q,k
    tg-attn-view --html -o page.html dump.npz
    dump long.npz T=1000 H=4 L=2 D=32 text=words
    tg-attn-view --html -o long.html long.npz
    pages page.html long.html << 'END'
page.wait("thumbs.every((thumb) => thumb.rows === T)", 120)
page.settle()
def cost(action, n=20):
    before = page.cpu()
    page.run("""(async () => { for (let n = 0; n < %d; n++) { const i = T - 200 + n * 37 %% 200, j = n * 53 %% i; %s;
        await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))); } })()""" % (n, action))
    return [(b - a) / n for a, b in zip(before, page.cpu())]
def loop():
    before = page.cpu()[1]
    page.run("(() => { let x = 1; for (let n = 0; n < 1e8; n++) x = (Math.imul(x, 1664525) + 1013904223) | 0; return x; })()")
    return page.cpu()[1] - before
LOOP = 85 # milliseconds, of a current server's processor; 140 on a Zen 3 of 2.4 GHz
looped = min(loop() for _ in range(3))
limit = (33 if file == "long.html" else 16) * max(1, looped / LOOP)
print(f"# a loop in {looped:.0f} ms: {limit:.1f} ms allowed", file=sys.stderr)
def best(action):
    costs = []
    while len(costs) < 3 and not any(all < limit for _, all in costs):
        costs.append(cost(action))
    assert any(all < limit for _, all in costs), (action, costs, limit)
    return costs
moves = best("moveTo(i, j)")
best("words[i].dispatchEvent(new PointerEvent('pointermove', {bubbles: true}))")
print(f"# script, style and layout {min(moves)[0]:.1f} ms, with painting {min(moves)[1]:.1f} ms", file=sys.stderr)
END
}

# ---- from the probability on: the row, the weighted sum, the steps, the heads

@test "page: the row's list and the weighted sum are what tg-attn-dump prints, in each family and layout" {
    slow
    need_chromium
    need_numpy
    ln -sf "$ROOT/docs/data/induction" .
    tg-init --preset baby-llama --n-layer 2 --n-ctx 32 --seed 3 -o llama.npz 2> /dev/null
    tg-attn-dump -m induction --probe repeat -o induction.npz
    tg-attn-dump -m llama.npz -p 'To be, or not to be' --layout bhtd -o llama-dump.npz
    tg-attn-dump --example mha -o example.npz
    for file in induction llama-dump example; do tg-attn-view -q -o $file.html $file.npz; done
    pages induction.html llama-dump.html example.html << 'END'
import random
import numpy as np
dump = np.load(file.replace(".html", ".npz"))
same = lambda text, stored: np.float32(text) == np.float32(stored)
cells = lambda id: page.run(f"[...byId('{id}').querySelectorAll('tbody tr')].map((row) => [...row.cells].map((c) => c.textContent))")
T, H, D, layers = page.run("[T, H, D, dump.layers]")
random.seed(1)
for n in range(12):
    layer, h, i, d = random.choice(layers), random.randrange(H), random.randrange(T), random.randrange(D)
    scores, probs = dump[f"h.{layer}.scores"][0, h, i], dump[f"h.{layer}.probs"][0, h, i]
    page.run(f"goTo({layer}, {h}); moveTo({i}, 0); setPanel('row'); draw()")
    rows = cells("keys")
    assert 0 < len(rows) <= i + 1
    for key, token, score, p, _, _ in rows:
        assert same(score, scores[int(key)]) and same(p, probs[int(key)]), (layer, h, i, key)
    got = [np.float32(row[3]) for row in rows]
    assert got == sorted(probs[: i + 1])[::-1][: len(got)], (layer, h, i)
    # the sum: each part, where it lies, and the result
    page.run(f"setChannel({d}); setPanel('sum'); draw()")
    at, v, att = page.run(f"baseOf({i}, {h})") + d, dump[f"h.{layer}.v"].ravel(), dump[f"h.{layer}.att"].ravel()
    for key, p, place, x, _, _ in cells("sums"):
        assert same(p, probs[int(key)]) and same(x, v[int(place)]), (layer, h, i, key)
    result = page.run("byId('sum-result').textContent")
    assert result.startswith(f"att.data[{at - d} + {d}] = att.data[{at}] = ") and same(result.split()[-1], att[at]), result
    last = cells("sums")[-1]
    assert int(last[0]) < i or abs(float(last[5]) - att[at]) <= 1e-7 * abs(att[at]), (last, att[at])
    # the texts of all channels: 120 sums, in make soak 500
    if n >= 3 and not soak:
        continue
    shown = page.run("Array.from({length: D}, (_, d) => { setChannel(d); draw(); return byId('sum-result').textContent; })"); page.settle()
    for c, said in enumerate(shown):
        assert said.startswith(f"att.data[{at - d} + {c}] = ") and same(said.split()[-1], att[at - d + c]), (layer, h, i, c, said)
END
}

@test "page: a click in the row's list chooses, and what it points at stands beside the chosen cell" {
    slow
    need_chromium
    dump dump.npz T=40 H=2 L=2 D=8 text=words
    tg-attn-view -q --html -o page.html dump.npz
    page page.html << 'END'
page.size(1400, 900)
middle = lambda n: page.run(f"""(b => [b.left + 20, b.top + b.height / 2])(byId('keys').querySelectorAll('tbody tr')[{n}].getBoundingClientRect())""")
facts = lambda: [row for row in page.run("[...byId('facts').tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent))") if len(row) == 4]
page.run("moveTo(30, 30); setPanel('row')"); page.settle()
first, second = page.run("orderOf(view, rowOf(0, 0, 30)).slice(0, 2)")
page.mouse("mouseMoved", *middle(1)); page.settle()
assert page.run("[pointed().j, view.j]") == [second, 30]
want = page.run(f"[cellScore(rowOf(0, 0, 30), {{i: 30, j: {second}}}), cellProb(rowOf(0, 0, 30), {{i: 30, j: {second}}})]")
assert {r[0]: r[3] for r in facts()}["key j"] == str(second)
assert [r[3] for r in facts() if r[0] in ("score", "probability")] == want
page.click(*middle(0))
assert page.run("view.j") == first
page.mouse("mouseMoved", 5, 5); page.settle()
assert all(r[3] == "" for r in facts()), facts()
END
}

@test "page: steps explain the cell one after the other, by the button, keys, cards and the address" {
    slow
    need_chromium
    dump dump.npz T=12 H=2 L=2 D=4 text=words
    tg-attn-view -q --html -o page.html dump.npz
    dump bare.npz T=12 H=2 L=2 D=4 stages=q,k
    tg-attn-view -q --html -o bare.html bare.npz
    page page.html << 'END'
import os
shown = lambda: page.run("[view.card, view.panel, panels.filter((p) => !byId('of-' + p).hidden).join()]")
assert shown() == [0, "cell", "cell"]
sentences = []
for card, panel in enumerate(("trace", "trace", "trace", "cell", "row", "sum")):
    page.run("cards[%d].button.click()" % card); page.settle()
    assert shown() == [card, panel, panel], shown()
    assert page.run("cards.map((c) => c.button.getAttribute('aria-pressed'))").index("true") == card
    sentences.append(page.run("byId('sentence').textContent"))
assert len(set(sentences)) == 6
page.run("byId('step').click()"); page.settle()
assert shown()[0] == 0
page.run("byId('map').focus()")
page.key("."), page.key("."); page.settle()
assert shown()[0] == 2
page.key(","); page.settle()
assert shown()[0] == 1
page.run("setChannel(3); goToCard(5)"); page.settle()
page.run("keepAddress()")
assert "step=6" in page.run("location.hash") and "channel=3" in page.run("location.hash")
page.run("location.hash = '#query=5&key=2&step=6&channel=3'"); page.settle()
assert shown() == [5, "sum", "sum"] and page.run("[view.i, view.j, view.channel, byId('channel').value]") == [5, 2, 3, "3"]
# a masked cell has no products, and says so
page.run("moveTo(3, 7)"); page.settle()
lines = page.run("cards.map((c) => c.button.querySelector('.lines').textContent)")
assert lines[1] == "not computed" and lines[3] == "j > i\nmasked", lines
# without v there is no sum
page.requests.clear()
page.open("file://" + os.path.abspath("bare.html")); page.settle()
assert page.run("[cards.length, panels.join(), byId('tab-sum').hidden]") == [5, "cell,trace,row,quiz", True]
page.run("setPanel('row')"); page.settle()
assert page.run("byId('keys').querySelectorAll('canvas').length") == 0
END
}

@test "page: the measures of heads are those of tg-attn-dump --summary; they sort, filter and choose" {
    slow
    need_chromium
    ln -sf "$ROOT/docs/data/induction" .
    tg-attn-dump -m induction --probe repeat --summary -f tsv > summary.tsv
    for layout in bthd bhtd; do
        tg-attn-dump -m induction --probe repeat --layout $layout -o $layout.npz
        tg-attn-view -q -o $layout.html $layout.npz
    done
    pages bthd.html bhtd.html << 'END'
lines = [line.rstrip("\n").split("\t") for line in open("summary.tsv")]
names = [lines[0].index(name) for name in ("entropy", "distance", "diagonal", "previous", "first", "induction", "duplicate")]
want = {(int(f[0]), int(f[1])): [f[n] for n in names] for f in lines[1:]}
got = page.run("dump.layers.map((_, l) => dumps[0].measures[l].map((of) => of.map((x) => textOf(x))))")
assert {(l, h): got[l][h] for l in range(2) for h in range(4)} == want, got
order = lambda: page.run("[...byId('measures').tBodies[0].rows].filter((r) => !r.hidden).map((r) => r.cells[0].textContent)")
assert order() == [f"{l}.{h}" for l in range(2) for h in range(4)]
field = lambda: page.run("[byId('least').parentNode.textContent, byId('least').disabled]")
assert field() == ["hide heads whose number is below ", True], field()
page.run("byId('measures').tHead.rows[0].cells[6].firstChild.click()")
assert field() == ["hide heads whose “induction” is below ", False], field()
by = sorted(want, key=lambda at: -float(want[at][5]))
assert order() == [f"{l}.{h}" for l, h in by] and order()[0] == "1.0"
thumb = lambda: page.run("[...thumbs].filter((t) => !t.button.hidden).sort((a, b) => a.button.style.order - b.button.style.order).map((t) => `${t.layer}.${t.h}`)")
assert thumb() == order()
assert page.run("byId('measures').tHead.rows[0].cells[6].getAttribute('aria-sort')") == "descending"
page.run("setLeast(0.5)")
assert order() == ["1.0"] == thumb()
page.run("byId('measures').tBodies[0].rows[0].click()"); page.settle()
assert page.run("[view.layer, view.head]") == [1, 0]
page.run("setLeast(NaN)")
page.run("byId('measures').tHead.rows[0].cells[6].firstChild.click()")
assert order() == [f"{l}.{h}" for l, h in by[::-1]]
END
}

@test "page: the wheel zooms around the pointer, a finger moves the map, two zoom it" {
    slow
    need_chromium
    dump dump.npz T=200 H=1 L=1 text=words
    tg-attn-view -q --html -o page.html dump.npz
    page page.html << 'END'
page.size(1280, 800)
box = page.run("(b => [b.left + frame.left, b.top + frame.top, frame.size])(byId('map').getBoundingClientRect())")
def event(type, x, y, id=1, **more):
    page.run(f"""byId('map').dispatchEvent(new PointerEvent('{type}', {{bubbles: true, pointerId: {id}, button: 0,
        clientX: {x}, clientY: {y}}}))""")
x, y = box[0] + 0.25 * box[2], box[1] + 0.75 * box[2]
for _ in range(6):
    page.run(f"byId('map').dispatchEvent(new WheelEvent('wheel', {{deltaY: -100, clientX: {x}, clientY: {y}, cancelable: true}}))"); page.settle()
i, j, n = page.run("[view.from.i, view.from.j, view.from.n]")
assert n < 100 and abs(i + 0.75 * n - 150) < 4 and abs(j + 0.25 * n - 50) < 4, (i, j, n)
# one finger: what it holds stays under it, and no cell is chosen
chosen = page.run("[view.i, view.j]")
cell = page.run("frame.cell")
event("pointerdown", x, y), event("pointermove", x + 10 * cell, y + 5 * cell), page.settle()
assert page.run("[view.from.i, view.from.j, view.from.n]") == [i - 5, j - 10, n], page.run("view.from")
event("pointerup", x + 10 * cell, y + 5 * cell)
event("click", x + 10 * cell, y + 5 * cell); page.settle()
assert page.run("[view.i, view.j]") == chosen
# two fingers, twice as far apart
event("pointerdown", x, y, 1), event("pointerdown", x + 50, y, 2), event("pointermove", x + 100, y, 2); page.settle()
assert abs(page.run("view.from.n") - n / 2) <= 1, (n, page.run("view.from.n"))
event("pointerup", x, y, 1), event("pointerup", x + 100, y, 2)
page.run("onWheel({deltaY: 1e4, preventDefault() {}, clientX: 0, clientY: 0})")
for _ in range(20):
    page.run(f"byId('map').dispatchEvent(new WheelEvent('wheel', {{deltaY: 200, clientX: {x}, clientY: {y}, cancelable: true}}))")
page.settle()
assert page.run("view.from.n") == 200
# a click after a move that was none still chooses
event("pointerdown", x, y), event("pointerup", x, y)
page.click(x, y)
assert page.run("[view.i, view.j]") != chosen
END
}

@test "page: ink is read on every colour of both themes" {
    slow
    need_chromium
    dump dump.npz T=6 H=1 L=1
    tg-attn-view -q --html -o page.html dump.npz
    page page.html << 'END'
least = page.run("""Math.min(...Object.values(palettes).flatMap((maps) => Object.values(maps)).flatMap(({pixels, inks}) =>
    Array.from(pixels, (p, n) => { const paper = luminance(p) + 0.05, ink = (inks[n] === "#fff" ? 1 : 0) + 0.05;
        return Math.max(paper, ink) / Math.min(paper, ink); })))""")
assert least >= 4.5, least
END
}

@test "a page leaves out v where it would be large, and says so" {
    slow
    dump dump.npz T=64 H=8 L=2 D=2112 stages=q,k,v
    run -0 --separate-stderr tg-attn-view --html -o page.html dump.npz
    [[ $stderr = *"tg-attn-view: without the values v, which would add 11.0 MiB: -l chooses a layer"* ]]
    run -1 grep -q 'id="v0\.0"' page.html
    grep -q '"values": false' page.html
    dump dump.npz T=100 H=8 L=2 D=128 stages=q,k,v
    tg-attn-view -q --force --html -o page.html dump.npz
    grep -q 'id="v0\.0"' page.html
}

@test "page: several dumps of the same tokens: one at a time, and its differences from the first" {
    slow
    need_chromium
    dump one.npz T=20 H=2 L=2 D=4 text=words seed=1
    dump two.npz T=20 H=2 L=2 D=4 text=words seed=2
    dump three.npz T=20 H=2 L=2 D=4 text=words seed=3
    tg-attn-view -q -o page.html one.npz two.npz three.npz
    page page.html << 'END'
import numpy as np
dumps = [np.load(f"{name}.npz") for name in ("one", "two", "three")]
i, j = np.tril_indices(20)
facts = lambda: {row[0]: row[1] for row in page.run("[...byId('facts').tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent))")}
assert page.run("document.title") == "Attention: one.npz to three.npz" and "in the first" not in facts()
for n in (1, 2, 0):
    page.run(f"setDump({n})"); page.settle()
    assert page.run("byId('dump-name').textContent") == f"{n + 1} of 3: {('one', 'two', 'three')[n]}.npz"
    for layer in range(2):
        for h in range(2):
            page.run(f"goTo({layer}, {h})")
            got = page.run(f"(h => (h.work(Infinity), [Array.from(h.scores), Array.from(h.probs), Array.from(h.diff)]))(headOf({layer}, {h}))")
            probs = [dump[f"h.{layer}.probs"][0, h][i, j] for dump in dumps]
            assert np.array_equal(np.float32(got[0]), dumps[n][f"h.{layer}.scores"][0, h][i, j]), (n, layer, h)
            assert np.array_equal(np.float32(got[1]), probs[n]), (n, layer, h)
            assert np.array_equal(np.float32(got[2]), np.float32(np.float64(probs[n]) - probs[0])), (n, layer, h)
page.run("setDump(2); goTo(1, 1); moveTo(12, 3); setShow('diff')"); page.settle()
a, b = (dump["h.1.probs"][0, 1, 12, 3] for dump in (dumps[0], dumps[2]))
assert np.float32(facts()["in the first"]) == a and np.float32(facts()["probability"]) == b
assert facts()["difference"] == page.run("valueText()") and abs(float(facts()["difference"]) - (float(b) - float(a))) < 1e-9
# each has its own measures; the thumbnails are drawn again
measures = lambda: page.run("[...byId('measures').tBodies[0].rows].map((r) => r.cells[1].textContent)")
third = measures()
page.run("byId('map').focus()")
page.key("<"); page.settle()
assert page.run("which") == 1 and measures() != third
page.key(">"); page.settle()
assert page.run("which") == 2 and measures() == third
page.wait("thumbs.every((t) => t.rows === T)")
page.run("keepAddress()")
assert "dump=3" in page.run("location.hash") and "show=diff" in page.run("location.hash")
page.run("location.hash = '#dump=2'"); page.settle()
assert page.run("which") == 1
assert page.run("commandText()").startswith("tg-attn-dump ")
END
}

# A map at `left` has the colours of the numbers, which have the places, at the corners of its cells; NaN: masked.
map_colors() {
    cat > colors.py << 'END'
import numpy as np

def colored(nth, places, name, theme="light"):
    frame, at = page.run("frame"), page.run("[view.i, view.j]")
    hexes, cell = page.run(f"dump.{theme}.{name}"), frame["cell"]
    steps = [hexes[n : n + 6] for n in range(0, 1440, 6)]
    # not under the cursor
    side = range(len(places))
    cells = [(i, j) for i in side for j in side if abs(i - at[0]) >= 2 and abs(j - at[1]) >= 2]
    assert len(cells) > 30
    points = [[round(frame["lefts"][nth] + j * cell) + 3, round(frame["top"] + i * cell) + 3] for i, j in cells]
    pixels = page.run("""((points) => { const map = byId('map'), {width, height} = map;
        const copy = new OffscreenCanvas(width, height).getContext('2d');
        copy.drawImage(map, 0, 0);
        const {data} = copy.getImageData(0, 0, width, height);
        return points.map(([x, y]) => Array.from(data.subarray(4 * (y * width + x)).subarray(0, 3))); })(""" + f"{points})")
    for (i, j), pixel in zip(cells, pixels, strict=True):
        got, place = bytes(pixel).hex(), places[i][j]
        if np.isnan(place):
            assert got not in steps, (nth, i, j)
        else:
            assert got == steps[int(np.floor(np.clip(place, 0, 1) * 239 + 0.5))], (nth, i, j, got, place)
END
}

@test "page: two dumps are side by side, with their difference, where there is room" {
    slow
    need_chromium
    need_numpy
    map_colors
    two_prompts
    page page.html << 'END'
exec(open("colors.py").read())
a, b = (np.load(f"abcdef{c}bcdef.npz") for c in "ax")
boxes = lambda: page.run("""[...byId('sides').children].map((box) => [...box.children].map((e) => e.textContent))""")
rect = lambda of: page.run(f"(r => [r.left, r.top, r.right, r.bottom])({of}.getBoundingClientRect())")
shown = lambda name: page.run(f"getComputedStyle(byId('{name}')).display !== 'none'")
masked = np.triu(np.full((12, 12), np.nan), 1)

def maps(layer, h):
    """What is shown of a head: three arrays, NaN where masked."""
    one, two = (x[f"h.{layer}.{show}"][0, h].astype("f8") + masked for x in (a, b))
    return one, two, two - one

for width, height in (1280, 800), (1920, 1080):
    page.size(width, height)
    assert page.run("[which, isSided(), byId('sided').getAttribute('aria-pressed')]") == [1, True, "true"]
    assert not shown("cell") and shown("sides") and shown("legend-diff") and shown("cards")
    # three squares of one size, next to each other, all in sight, and each below its name
    frame, left, top = page.run("frame"), *rect("byId('map')")[:2]
    assert len(frame["lefts"]) == 3 and frame["size"] > (240 if width == 1280 else 400), frame
    for nth, at in enumerate(frame["lefts"]):
        box = rect(f"byId('sides').children[{nth}]")
        assert abs(box[0] - left - at) < 1.5 and abs(box[2] - box[0] - frame["size"]) < 1.5, (box, frame)
        assert box[3] <= top + frame["top"] - 20 and left + at + frame["size"] <= width, (box, frame)
        assert nth == 0 or at >= frame["lefts"][nth - 1] + frame["size"] + 15, frame
    ends = rect("byId('legend')"), rect("byId('legend-diff')")
    assert ends[0][2] <= ends[1][0] + 1 and ends[1][2] <= width and abs(ends[1][0] + 28 - left - frame["lefts"][2]) < 2, ends
    # their texts, of the chosen cell and of the one under the pointer, whichever map it is in
    for show in "probs", "scores":
        page.run(f"setShow('{show}')")
        for layer, h, i, j in (1, 0, 6, 1), (1, 0, 10, 5), (0, 3, 11, 11), (1, 2, 3, 7):
            page.run(f"goTo({layer}, {h}); moveTo({i}, {j})"); page.settle()
            page.wait("mapHead().rows === T && baseHead().rows === T"); page.settle()
            names, texts = zip(*boxes())
            assert names == ("a: abcdefabcdef.npz", "b: abcdefxbcdef.npz", "b − a"), names
            want = [x[i, j] for x in maps(layer, h)]
            if j > i:
                assert texts == ("masked",) * 3, texts
                continue
            assert [np.float32(x) for x in texts[:2]] == [np.float32(x) for x in want[:2]], (texts, want)
            assert float(texts[2]) == float(f"{want[2]:.9g}"), (texts, want)
        page.run("goTo(1, 0); moveTo(11, 5)"); page.settle()
        for nth, at in enumerate(page.run("frame.lefts")):
            page.mouse("mouseMoved", left + at + 1.5 * page.run("frame.cell"), rect("byId('map')")[1] + page.run("frame.top + 6.5 * frame.cell"))
            page.settle()
            assert page.run("pointed()") == {"i": 6, "j": 1}, nth
            assert np.float32(boxes()[0][1]) == np.float32(maps(1, 0)[0][6, 1]) and page.run("[view.i, view.j]") == [11, 5]
            here = page.run("byId('here').textContent")
            assert here.startswith("a: score ") and "; b: score " in here and here.endswith("query 6 “x”, key 1 “b”"), here
        page.mouse("mouseMoved", 5, 5); page.settle()
        # the colours: one scale for two maps, the third's own
        one, two, less = maps(1, 0)
        most = np.nanmax(np.abs([one, two]))
        for nth, x in enumerate((one, two)):
            colored(nth, np.sqrt(x) if show == "probs" else 0.5 + x / most / 2, show)
        colored(2, 0.5 + less / np.nanmax(np.abs(less)) / 2, "scores")
    page.run("setShow('probs')"); page.settle()
# the tokens of each, and of the difference both where they are not the same; the text and its lines are b's
assert page.run("[0, 1, 2].map((nth) => axisLabel(6, nth))") == ["6 a", "6 x", "6 a/x"]
assert page.run("[0, 1, 2].map((nth) => axisLabel(5, nth))") == ["5 f"] * 3
assert page.run("[...document.querySelectorAll('#text .token')].map((w) => w.textContent).join('')") == "abcdefxbcdef"
assert page.run("byId('title').textContent") == "Layer 1, head 0: probabilities"
assert page.run("byId('map').getAttribute('aria-label')") == "Layer 1, head 0: probabilities of a: abcdefabcdef.npz, of b: abcdefxbcdef.npz, and their difference: 12 queries by 12 keys"
assert page.run("byId('legend-diff').getAttribute('aria-label')").startswith("colours: difference of probabilities from -0.")
# a click chooses in any map
page.click(left + page.run("frame.lefts[2] + 2.5 * frame.cell"), rect("byId('map')")[1] + page.run("frame.top + 7.5 * frame.cell"))
assert page.run("[view.i, view.j]") == [7, 2]
# the first dump alone has nothing to compare, and its panel; the key and the button
page.run("byId('map').focus()")
page.key("<"); page.settle()
assert page.run("[which, isSided(), frame.lefts.length]") == [0, False, 1] and shown("cell") and not shown("sides")
page.key("b"); page.settle()
assert page.run("[which, isSided(), frame.lefts.length]") == [1, True, 3] and not shown("cell")
page.run("byId('sided').click()"); page.settle()
assert page.run("[which, isSided(), frame.lefts.length]") == [1, False, 1] and shown("cell")
page.run("keepAddress()")
assert "sides=0" in page.run("location.hash") and "dump" not in page.run("location.hash")
page.run("location.hash = '#dump=1'"); page.settle()
assert page.run("[which, isSided()]") == [0, False]
page.run("location.hash = '#sides=1&lang=zh'"); page.settle()
assert page.run("[which, isSided(), byId('sided').textContent]") == [1, True, "并排"]
assert not set("ABCDEFGHIJKLMNOPQRSTUVWXYZ") & set(page.run("byId('here').textContent")), page.run("byId('here').textContent")
# where there is no room, one map at a time, as ever
page.size(390, 844)
page.settle()
assert page.run("[isSided(), frame.lefts.length, document.documentElement.scrollWidth]")[:2] == [False, 1]
assert shown("cell") and not shown("sides") and not shown("sided") and not shown("legend-diff")
END
}

@test "page: a head and the one that it is compared with are side by side; of three dumps any with the first" {
    slow
    need_chromium
    need_numpy
    map_colors
    dump one.npz T=20 H=2 L=2 D=4 text=words seed=1
    dump two.npz T=20 H=2 L=2 D=4 text=words seed=2
    dump three.npz T=20 H=2 L=2 D=4 text=words seed=3
    tg-attn-view -q -o alone.html one.npz
    tg-attn-view -q -o many.html one.npz two.npz three.npz
    pages alone.html many.html << 'END'
exec(open("colors.py").read())
boxes = lambda: page.run("""[...byId('sides').children].map((box) => [...box.children].map((e) => e.textContent))""")
shown = lambda name: page.run(f"getComputedStyle(byId('{name}')).display !== 'none'")
one, three = (np.load(name)["h.1.probs"][0, 1].astype("f8") for name in ("one.npz", "three.npz"))
masked = np.triu(np.full((20, 20), np.nan), 1)
assert page.run("isSided()") is False and shown("cell")
if file == "alone.html":
    assert not shown("sided")
    page.run("goTo(0, 0); byId('pin').click()"); page.settle()
    assert page.run("isSided()") is False and shown("sided")  # as before: the differences alone
    page.run("byId('sided').click(); goTo(1, 1); moveTo(12, 3)"); page.settle()
    first, names = np.load("one.npz")["h.0.probs"][0, 0].astype("f8"), ("head 0.0", "head 1.1", "head 1.1 − head 0.0")
    last = one
    assert page.run("byId('title').textContent") == "Heads 0.0 and 1.1: probabilities"
else:
    page.run("goTo(1, 1); moveTo(12, 3); byId('sided').click()"); page.settle()
    assert page.run("which") == 1
    page.run("setDump(2)"); page.settle()
    first, last, names = one, three, ("a: one.npz", "b: three.npz", "b − a")
assert page.run("isSided()") and not shown("cell")
page.wait("mapHead().rows === T && baseHead().rows === T"); page.settle()
got, texts = zip(*boxes())
assert got == names and [np.float32(x) for x in texts[:2]] == [np.float32(first[12, 3]), np.float32(last[12, 3])], texts
assert float(texts[2]) == float(f"{last[12, 3] - first[12, 3]:.9g}"), texts
top = max(x if x <= 0.9 else 1 for x in (np.sort(x.max(1))[-1 - 20 // 10] for x in (first, last)))
for nth, x in enumerate((first, last)):
    colored(nth, np.sqrt(x / top) + masked, "probs")
colored(2, 0.5 + (last - first) / np.abs(last - first).max() / 2 + masked, "scores")
page.run("keepAddress()")
assert "sides=1" in page.run("location.hash")
# the mean of heads is one map
page.run("setOf('mean')"); page.settle()
assert page.run("[isSided(), frame.lefts.length]") == [False, 1] and shown("cell")
END
}

@test "dumps that are not alike are not compared, and only a page has several" {
    dump one.npz T=9 H=2 L=2 D=4 text=words
    dump longer.npz T=10 H=2 L=2 D=4 text=words
    dump heads.npz T=9 H=4 L=2 D=4 text=words
    dump bare.npz T=9 H=2 L=2 D=4 text=none
    alter one.npz window.npz 'b = {}; [b.update({**({"dump/window": np.int64(3), "dump/window_layers": np.uint64(1)} if k == "dump/n_embd" else {}), k: v}) for k, v in a.items()]; a = b'
    for other in longer:"tokens: 10, but 9 in the first dump" heads:"heads: 4, but 2 in the first dump" \
        bare:"it has no tokens, unlike the first dump" \
        window:"its layout, mask, window, scale or cap is not the first dump's"; do
        run -1 --separate-stderr tg-attn-view -o page.html one.npz "${other%%:*}.npz"
        said "${other%%:*}.npz: ${other#*:}"
        [[ ! -e page.html ]]
    done
    run -2 --separate-stderr tg-attn-view -o map.png one.npz longer.npz
    said "unexpected operand 'longer.npz': several dumps make a page, -o FILE.html"
    run -2 --separate-stderr tg-attn-view one.npz longer.npz
    said "several dumps make a page"
}

@test "page: keys work before anything has the focus, where all parts are in view" {
    slow
    need_chromium
    dump dump.npz T=6 H=2 L=1 D=4 text=letters
    tg-attn-view -q -o page.html dump.npz
    page page.html << 'END'
assert page.run("document.activeElement === document.body")
i = page.run("view.i")
page.key("ArrowUp"); page.settle()
assert page.run("view.i") == i - 1
page.key("?"); page.settle()
assert page.run("byId('help').open")
# nothing moves while the list of keys is open
page.key("ArrowUp"); page.settle()
assert page.run("view.i") == i - 1
page.run("byId('help').close(); document.activeElement.blur()")
page.size(700, 900); page.settle()
page.key("ArrowUp"); page.settle()
assert page.run("view.i") == i - 1
END
}

@test "page: where all parts are in view, keys also act after a button was pressed, but not in fields" {
    slow
    need_chromium
    dump dump.npz T=6 H=2 L=1 D=4 text=letters
    tg-attn-view -q -o page.html dump.npz
    page page.html << 'END'
state = lambda: page.run("[view.i, view.j, view.card, view.show, view.head]")
def pressed(key, at, value):
    before = state()
    page.key(key); page.settle()
    before[at] = value
    assert state() == before, (key, state(), before)
page.run("moveTo(3, 2)")
for button in ("step", "tab-row", "copy-value", "pin"):
    page.run(f"setPanel('cell'); moveTo(3, 2); goToCard(0); byId('{button}').focus()"); page.settle()
    pressed("ArrowUp", 0, 2), pressed("ArrowLeft", 1, 1), pressed(".", 2, 1), pressed("s", 3, "scores"), pressed("]", 4, 1)
    page.run("setShow('probs'); goTo(0, 0)"); page.settle()
# a head has its own arrows, and moves one at a time
page.run("moveTo(3, 2); goTo(0, 0); document.querySelector('.thumb[aria-pressed=true]').focus()"); page.settle()
pressed("ArrowRight", 4, 1)
# the list of keys scrolls with the arrows, but the other keys act
page.run("setPanel('row'); byId('keys').focus()"); page.settle()
pressed("ArrowUp", 0, 3), pressed("End", 1, 2), pressed("s", 3, "scores")
# fields have all of them
page.run("setPanel('quiz'); byId('answer').focus()"); page.settle()
for key in ("ArrowLeft", "Home", ".", "s", "]", "d"):
    pressed(key, 0, page.run("view.i"))
assert page.run("byId('answer').value") == ".s]d", page.run("byId('answer').value")
page.run("byId('layer').focus()")
pressed("ArrowUp", 0, page.run("view.i")), pressed(".", 2, page.run("view.card"))
# with Ctrl or Alt they are the browser's
page.run("byId('step').focus()")
page.call("Input.dispatchKeyEvent", type="keyDown", key="s", code="KeyS", modifiers=1); page.settle()
assert page.run("view.show") == "scores"
END
}

@test "page: in Chinese, by the button, the address or the browser, and nothing of it in English" {
    slow
    need_chromium
    dump dump.npz T=14 H=4 L=2 D=4 B=2 text=letters
    alter dump.npz window.npz 'b = {}; [b.update({**({"dump/attn_cap": np.float64(5), "dump/window": np.int64(3), "dump/window_layers": np.uint64(1)} if k == "dump/n_embd" else {}), k: v}) for k, v in a.items()]; a = b'
    dump other.npz T=14 H=4 L=2 D=4 B=2 text=letters seed=5
    tg-attn-view -q -o page.html dump.npz other.npz
    tg-attn-view -q -o window.html window.npz
    for name in gemma3 neox; do
        "$BUILD/unit/make_family" $name > model.npz
        tg-attn-dump -m model.npz -p CatDogHenCat --target-id 5 -o $name.npz
        tg-attn-view -q --title T -o $name.html $name.npz
    done
    "$BUILD/unit/make_family" gemma3 > model.npz
    beside model.npz
    tg-attn-view -q --title T -o gemma3.html gemma3.npz lens.npz parts.npz patch.npz
    pages page.html window.html gemma3.html neox.html << 'END'
import re
# both have the same parts
assert page.run("""Object.entries(CHINESE).filter(([a, b]) => [a, b].map((t) => [...new Set(t.match(/\\{\\d\\}/g))].sort().join())
    .reduce((x, y) => x !== y))""") == []
english = page.run("document.body.innerText")
assert page.run("document.documentElement.lang") == "en"
page.run("byId('language').click()"); page.settle()
assert page.run("document.documentElement.lang") == "zh" and page.run("byId('language').textContent") == "English"
assert page.run("localStorage.getItem('tg-attn-view language')") == "zh"
names = {"query", "key", "token", "softmax", "page", "html", "dump", "npz", "other", "window", "Attention", "English", "tg", "attn",
         "tsv", "exp", "score", "max", "cap", "tanh", "scores", "probs", "data", "att", "float", "sum", "at", "id", "nat", "ASCII",
         "probability", "abcdefghijklmn", "CatDogHenCat", "Ca", "Dog", "Hen", "Cat", "logits", "logit", "proj", "normed", "resid", "out", "dscores", "dscore", "dp", "xA", "xB", "xC", "xD", "xE",
         "cos", "sin", "att", "MLP", "ln", "mask", "Home", "End", "base", "of", "JavaScript", "Shift", "H", "KV"}
seen = set()
for panel in page.run("panels") + ["quiz", "quiz", "quiz", *(["sides"] if page.run("dumps.length > 1") else [])]:
    for i, j in ((9, 4), (3, 7), (9, 1)):
        sides = "setSides(true)" if panel == "sides" else f"setSides(false); setPanel('{panel}')"
        page.run(f"goTo(0, 1); moveTo({i}, {j}); {sides}; draw()")
        # the cards of other cells have other numbers in the same sentences, which say the same beside any panel
        all_cards = (i, j) == (9, 4) and (panel == "cell" or soak)
        for card in range(page.run("cards.length") if all_cards else 1):
            page.run(f"view.card = {card}; draw()")
            seen |= set(re.findall(r"(?<![\\A-Za-z])[A-Za-z]{2,}", page.run("""[document.body.innerText, document.title, byId('map').getAttribute('aria-label'),
                byId('legend').getAttribute('aria-label'), byId('said').textContent, ...[...document.querySelectorAll('[title]')].filter((e) => !e.closest('#text')).map((e) => e.title)].join(' ')""")))
page.run("byId('help').showModal()")
keys = set(re.findall("[A-Za-z]{2,}", page.run("byId('help').innerText")))
assert seen - names == set(), seen - names
assert keys - names == set(), keys - names
page.run("byId('help').close(); keepAddress()")
assert "lang=zh" in page.run("location.hash")
page.run("location.hash = '#lang=en'"); page.settle()
assert page.run("document.documentElement.lang") == "en"
page.run("localStorage.removeItem('tg-attn-view language')")
END
}

@test "page: tokens that are words of the page are not translated" {
    slow
    need_chromium
    need_numpy
    dump dump.npz T=6 H=2 L=1 D=4 text=letters
    alter dump.npz words.npz 'a["dump/text"] = np.array([b"all", b"at", b"cell", b"sum", b"row", b"head"])'
    tg-attn-view -q -o page.html words.npz
    page page.html << 'END'
words = "[...document.querySelectorAll('#text .token')].map((w) => w.textContent)"
tokens = ["all", "at", "cell", "sum", "row", "head"]
assert page.run(words) == tokens and page.run("byId('tab-cell').textContent") == "cell"
for _ in range(2):
    page.run("setLanguage('zh')"); page.settle()
    assert page.run(words) == tokens and page.run("byId('tab-cell').textContent") == "格子"
    page.run("setPanel('row')"); page.settle()
    assert set(page.run("[...byId('keys').querySelectorAll('tbody td:nth-child(2)')].map((c) => c.textContent)")) == set(tokens)
    page.run("setLanguage('en')"); page.settle()
    assert page.run(words) == tokens and page.run("byId('tab-cell').textContent") == "cell"
END
}

@test "page: formulas of shared keys are whole; equal heads differ by 0; the quiz's answer is not heard" {
    slow
    need_chromium
    tg-init -q -P baby-llama --n-layer 2 -o model.npz
    make_text 60 | head -c 60 > text
    tg-attn-dump -q -m model.npz -o dump.npz < text
    tg-attn-view -q -o page.html dump.npz
    page page.html << 'END'
for width, height in ((1280, 800), (1920, 1080), (390, 844)):
    page.size(width, height)
    for h in 0, 3:
        page.run(f"goTo(1, {h}); moveTo(59, 39)"); page.settle()
        cut = page.run("[...byId('facts').querySelectorAll('.formula')].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent)")
        texts = page.run("[...byId('facts').querySelectorAll('.formula')].map((e) => e.textContent)")
        assert cut == [] and "= ((b·T + j)·KV + h/(H/KV))·D" in texts, (width, cut, texts)
page.size(1280, 800)
page.run("goTo(0, 0); changePinned()"); page.settle()
page.wait("mapHead().rows === T"); page.settle()
assert page.run("legendTexts(scaleOf(mapHead()), 300, () => 20)") == ["", "", "0", "", ""]
page.run("drawLegend(byId('legend'), {show: 'diff', scale: scaleOf(mapHead())}, 300)")
assert page.run("byId('legend').getAttribute('aria-label')") == "colours: difference of probabilities from 0 to 0; hatched: masked"
# numbers of a legend have room: fewer digits, or only the ends and the middle
scale = "{kind: 'linear', low: -0.00048353, high: 0.00048353}"
assert page.run(f"legendTexts({scale}, 400, (t) => 5 * t.length)")[4] == "0.0004835"
assert page.run(f"legendTexts({scale}, 200, (t) => 5 * t.length)")[4] == "0.00048"
assert page.run(f"legendTexts({scale}, 170, (t) => 7 * t.length)") == ["-0.00048", "", "0", "", "0.00048"]
page.run("changePinned(); setPanel('cell'); moveTo(59, 39)"); page.settle()
assert ": score " in page.run("byId('said').textContent")
page.run("setPanel('quiz')"); page.settle()
said = page.run("byId('said').textContent")
assert page.run("hidesNumbers()") and said.startswith("query ") and "score" not in said and "probability" not in said, said
END
}

@test "page: axe-core finds no fault in any part, in both themes and languages, on a desk and a phone" {
    slow
    need_chromium
    "$BUILD/unit/make_family" gemma3 > model.npz
    tg-attn-dump -m model.npz -p CatDogHenCat --target-id 5 -o dump.npz
    tg-attn-dump -m model.npz -p CatDogHenDog --target-id 5 -o other.npz
    beside model.npz
    tg-attn-view -q -o page.html dump.npz other.npz lens.npz parts.npz patch.npz
    no_faults page.html << 'END'
steps = ("setDump(1)", "setSides(false)", *(f"setPanel('{panel}')" for panel in page.run("panels")), "setSides(true)", "setShow('scores')", "setSides(false)", "setShow('probs')", "setShow('scores')", "setShow('grad')", "setDump(0), setShow('written')",
                 "setDump(1), setShow('diff')", "changePinned()", "setLarge(true)", "setLarge(false), changeTheme()", "setLanguage('zh')", "byId('help').showModal()", "byId('help').close(), setLanguage('en')")
END
}

@test "page: numbers of a small example can be changed, and what follows changes with them" {
    slow
    need_chromium
    need_numpy
    tg-attn-dump --example mha -o dump.npz
    tg-attn-view -q --html -o page.html dump.npz
    dump large.npz T=20 H=2 L=1 D=8
    tg-attn-view -q --html -o large.html large.npz
    page page.html << 'END'
import os
import numpy as np
dump = np.load("dump.npz")
q, k, v = (dump[f"h.0.{name}"][0].astype("f8") for name in "qkv")
def head(h):
    s = q[:, h] @ k[:, h].T / 2 ** 0.5
    p = np.tril(np.exp(s)) / np.tril(np.exp(s)).sum(1, keepdims=True)
    return s, p, p @ v[:, h]
def check(h):
    page.run(f"goTo(0, {h})"); page.settle()
    s, p, att = head(h)
    rows = page.run(f"Array.from({{length: T}}, (_, i) => {{ const r = rowOf(0, {h}, i); return [...r.probs, ...attOf(layerOf(0), {h}, r, i)]; }})")
    for i, row in enumerate(rows):
        assert np.allclose(row, [*p[i, : i + 1], *att[i]], atol=1e-12), (h, i, row)
    got = page.run(f"(h => (h.work(Infinity), Array.from(h.probs)))(headOf(0, {h}))")
    assert np.allclose(got, p[np.tril_indices(3)], atol=1e-6)
page.run("setPanel('edit'); goTo(0, 1)"); page.settle()
def made(h, i):
    """The panel's scores, probabilities and sum of a query, as float32."""
    page.run(f"goTo(0, {h}); moveTo({i}, 0)"); page.settle()
    last = lambda n: page.run(f"[...byId('vectors').children[{n}].tBodies[0].rows].map((r) => r.lastChild.textContent)")
    att = page.run("[...byId('vectors').children[2].tFoot.rows[0].cells].slice(1).map((c) => c.textContent)")
    chosen = page.run("[...byId('vectors').querySelectorAll('.chosen th')].map((c) => c.textContent)")
    assert chosen == [str(i), "0", "0"] and page.run("byId('edited').textContent").endswith(f"query {i}."), chosen
    s, p, sums = head(h)
    for got, want in ((last(1), s[i, : i + 1]), (last(2), p[i, : i + 1]), (att, sums[i])):
        assert got[len(want) :] == ["masked"] * (len(got) - len(want)), got
        assert [np.float32(x) for x in got[: len(want)]] == [np.float32(x) for x in want], (h, i, got, want)
for h in range(2):
    for i in range(3):
        made(h, i)
page.run("goTo(0, 1)"); page.settle()
inputs = lambda n: page.run(f"[...byId('vectors').children[{n}].querySelectorAll('input')].map((e) => Number(e.value))")
assert [inputs(n) for n in range(3)] == [x[:, 1].ravel().tolist() for x in (q, k, v)]
assert page.run("byId('undo').disabled")
for n, (name, a) in enumerate((("q", q), ("k", k), ("v", v))):
    a[1, 1, 0] = n + 2.5
    page.run(f"""(e => {{ e.value = {n + 2.5}; e.dispatchEvent(new Event('input')); }})(byId('vectors').children[{n}].querySelectorAll('input')[2])"""); page.settle()
    check(1), check(0), made(1, 2), made(1, 1)
assert page.run("['row', 'command', 'link'].every((what) => byId(`copy-${what}`).disabled) && !byId('copy-value').disabled")
assert page.run("getComputedStyle(byId('measures')).display") == "none"
# what is no number changes nothing
page.run("""(e => { e.value = ''; e.dispatchEvent(new Event('input')); })(byId('vectors').children[0].querySelector('input'))"""); page.settle()
check(1)
page.run("byId('undo').click()"); page.settle()
q, k, v = (dump[f"h.0.{name}"][0].astype("f8") for name in "qkv")
check(0), check(1), made(1, 2)
# all of it is in view, in columns below each other
for width, height in ((1280, 800), (1920, 1080), (390, 844)):
    page.size(width, height); page.settle()
    assert page.run("byId('vectors').scrollWidth <= byId('vectors').clientWidth"), width
    rights = page.run("[0, 1, 2].map((n) => [...byId('vectors').children[n].tBodies[0].rows[0].cells].map((c) => Math.round(c.getBoundingClientRect().right)).slice(0, 3))")
    assert rights[0] == rights[1] == rights[2], (width, rights)
page.size(1280, 800)
page.run("setLarge(true)"); page.settle() # for a projector
assert page.run("byId('vectors').scrollWidth <= byId('vectors').clientWidth")
page.run("setLarge(false)"); page.settle()
assert page.run("!byId('copy-row').disabled && getComputedStyle(byId('measures')).display !== 'none'")
page.requests.clear()
page.open("file://" + os.path.abspath("large.html")); page.settle()
assert page.run("[panels.includes('edit'), byId('tab-edit').hidden]") == [False, True]
END
}

@test "page: the quiz asks for a number that the page hides, and knows the answer" {
    slow
    need_chromium
    tg-attn-dump --example mha -o dump.npz
    tg-attn-view -q --html -o page.html dump.npz
    page page.html << 'END'
page.run("setPanel('quiz')"); page.settle()
text = lambda id: page.run(f"byId('{id}').textContent")
def answer(what):
    page.run(f"byId('answer').value = '{what}'; byId('quiz-form').requestSubmit()")
    return text("verdict")
for kind in range(4):
    page.run(f"""question = {{kind: QUESTIONS[{kind}], layer: 0, h: 1, i: 2, j: 1, row: rowOf(0, 1, 2)}}; goTo(0, 1); moveTo(2, 1);
        byId('question').textContent = question.kind.ask(question)"""); page.settle()
    hidden = page.run("[hidesNumbers(), getComputedStyle(byId('here')).visibility, getComputedStyle(byId('card-list')).visibility]")
    assert hidden == [True, "hidden", "hidden"], (kind, hidden)
    right = ["16", "10", "-0.71", "0.14"][kind]
    assert answer("17" if kind < 2 else "0.99").startswith("Not "), text("verdict")
    assert answer(right).startswith("Right: "), (kind, text("verdict"))
    if kind > 1:
        tally = page.run("[tally.asked, tally.right]")
        # a decimal comma, blanks around it, a minus sign, wide digits
        for other in right.replace(".", ","), f"  {right} ", right.replace("-", "−"), "".join(chr(ord(c) + 0xfee0) for c in right):
            assert answer(other).startswith("Right: "), (other, text("verdict"))
        tally = page.run("[tally.asked, tally.right]")
        for other in "1,234.5", "1.234,5", "1 234", "1,234,567", "1’234":
            assert "has groups of thousands" in answer(other), (other, text("verdict"))
        assert answer("one half") == "one half is not a number." and page.run("[tally.asked, tally.right]") == tally
        assert answer("0.1") == "Two decimals at least." and page.run("[tally.asked, tally.right]") == tally
        assert answer(["-0.70711", "0.140029"][kind - 2]).startswith("Right") and answer(["-0.70712", "0.140039"][kind - 2]).startswith("Not")
    page.run("byId('show-answer').click()")
    exact = ["16", "10", "-0.707106781", "0.140029245"][kind]
    assert text("verdict").endswith(f" = {exact}"), text("verdict")
assert text("question") == "Query 2 has the scores 0.7071, -0.7071, 0. What is the probability of key 1?", text("question")
# an offset that is four digits long has no separators
assert page.run("""["1234", " 1234 ", "1,234", "1.234", "1 234", "1'234", "12,34", "x"].map((text) => judge(text, QUESTIONS[0], 1234))""") == [
    "right", "right", *["grouped"] * 4, "wrong", "none"]
assert page.run("""["0,384", "0.384", "0,3835", "1,234", "12,345", "0,38"].map((text) => judge(text, QUESTIONS[3], 0.38365))""") == [
    "right", "right", "wrong", "wrong", "wrong", "right"]
# every question has an answer that it takes, of a cell that is seen
for _ in range(40):
    page.run("byId('next-question').click()"); page.settle()
    i, j, exact = page.run("[question.i, question.j, question.kind.answer(question)]")
    assert 0 <= j <= i < 3
    assert answer(str(exact) if isinstance(exact, int) else f"{exact:.4f}").startswith("Right"), (text("question"), exact)
# in the page's language; and of the numbers as they are now
page.run("changeLanguage()"); page.settle()
assert page.run("byId('question').textContent === question.kind.ask(question)")
page.run("changeLanguage()"); page.settle()
page.run("edit('q', 2, 0, 7)"); page.settle()
assert page.run("question.row.scores.every((x, j) => x === rowOf(0, 1, question.i).scores[j])")
page.run("undoEdits()")
page.run("setPanel('cell')"); page.settle()
assert page.run("getComputedStyle(byId('here')).visibility") == "visible"
END
}
