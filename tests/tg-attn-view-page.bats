# The page of tg-attn-view --html, in a browser.

load helper
load dumps

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
text = lambda id: page.run(f"byId('{id}').innerText")
table = lambda id: page.run(f"""[...byId('{id}').querySelectorAll('tr')].map((row) => [...row.cells].map((c) => c.textContent))""")
facts = lambda: dict(row[:2] for row in table("facts") if row[0])
page.run("byId('map').focus()")
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
page.mouse("mouseMoved", *at(1, 0)); page.settle()
assert (facts()["query i"], facts()["key j"]) == ("1", "0"), facts()
page.click(*at(2, 1))
page.mouse("mouseMoved", *at(0, 0)); page.settle()
assert (facts()["query i"], facts()["key j"]) == ("2", "1"), facts()  # held
page.key("Enter")
page.mouse("mouseMoved", *at(0, 1)); page.settle()
assert (facts()["query i"], facts()["key j"]) == ("0", "1"), facts()
# "held" says that a click releases: so it does, wherever it is
for where in ((1, 0), (2, 0)):
    page.click(*at(1, 0))
    assert text("pin") == "(held: click or Enter releases it)"
    page.mouse("mouseMoved", *at(2, 2)); page.settle()
    assert facts()["query i"] == "1", facts()
    page.click(*at(*where))
    assert text("pin") == "" and facts()["query i"] == str(where[0]), facts()
    page.mouse("mouseMoved", *at(0, 0)); page.settle()
    assert facts()["query i"] == "0", facts()
page.key("Enter")
page.click(*at(2, 1))
assert text("pin") == "" and not page.run("view.held")
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
press("ArrowUp", "[view.i, view.j]", [7, 0])
press("End", "[view.i, view.j]", [7, 7])
press("Home", "[view.i, view.j]", [7, 0])
page.wait("thumbs.every((thumb) => thumb.rows === T)")
assert page.run("thumbs.map((thumb) => thumb.canvas.width)") == [9] * 6
assert page.run("document.querySelectorAll('[aria-pressed=true]').length") == 1
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
assert page.run("[view.i, view.j, view.held]") == [7, 3, True]
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
        dump dump.npz T=$T H=1 L=1 D=4 stages=q,k,probs
        tg-attn-view --html -o page.html dump.npz
        page page.html << 'END'
import base64, numpy as np
probs = np.load("dump.npz")["h.0.probs"][0, 0].astype("f8")
T = len(probs)
page.wait("headOf(0, 0).rows === T")
page.run("byId('map').focus()")
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
hexes = page.run("dump.light.probs")
top = np.sort(np.load("dump.npz")["h.0.probs"][0, 0].max(1))[-1 - T // 10].astype("f8")
top = 1 if top > 0.9 else top
assert page.run("headOf(0, 0).top") == top and (T == 6 or top < 0.9)
size = frame["size"] / side
inset, seen = 3 if T == 6 else 0, 0  # beside the number in the cell
for n in range(100):
    y, x = (n * 7919 % side, n * 104729 % side)
    if abs(x - line[page.run("view.j")]) < (1 if T == 6 else 6) or abs(y - line[page.run("view.i")]) < 6 and T > 6:
        continue  # under the cursor
    got = data[round(frame["top"]) + int(y * size) + inset, round(frame["left"]) + int(x * size) + inset, :3]
    steps = [hexes[n : n + 6] for n in range(0, 1440, 6)]
    if best[y, x] < 0:
        assert got.tobytes().hex() not in steps, (y, x)
    else:
        assert got.tobytes().hex() == steps[int(np.sqrt(min(best[y, x] / top, 1)) * 239 + 0.5)], (y, x, got)
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
assert page.run("document.querySelectorAll('b, script[src], #text *:not(.token):not(br)').length") == 0
assert page.run("words[9].textContent") == "\\u202E rtl"
page.run("byId('map').focus()")
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
    assert page.run("frame.size >= 150"), (width, page.run("frame"))
page.run("byId('map').focus()")
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
