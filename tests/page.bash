# The page of tg-attn-view --html in a browser, for tests.

need_chromium() {
    [[ -z ${TG_BROWSER:-} ]] || return 0 # setup_file has started it
    need python3
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/tests python3 -c 'import browser, sys; sys.exit(browser.find() is None)' ||
        skip "Chromium is not installed"
}

# One browser for all tests of a file.  The environment stays as it is: the files have letters that LC_ALL=C lacks.
setup_file() {
    [[ -z ${TG_QUICK:-} ]] || return 0 # all are slow
    [[ $(PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$BATS_TEST_DIRNAME python3 -c 'import browser; print(browser.find())') = /* ]] || return 0
    export TG_BROWSER=$BATS_FILE_TMPDIR/browser
    PYTHONDONTWRITEBYTECODE=1 python3 "$BATS_TEST_DIRNAME/browser.py" "$TG_BROWSER" > /dev/null 2>&1 3>&- 4>&- < /dev/null &
    echo $! > "$TG_BROWSER.pid"
    eventually test -e "$TG_BROWSER"
}

teardown_file() {
    [[ ! -e $BATS_FILE_TMPDIR/browser.pid ]] || kill "$(cat "$BATS_FILE_TMPDIR/browser.pid")"
}

# page FILE [ARGUMENT]...: run Python on standard input with `page`, FILE open in the browser, and `soak`, whether the long
# version is asked for.  At the end nothing has been refused, thrown or fetched.
page() {
    cat > page.py
    in_browser 1 "$@"
}

# pages FILE...: the same with each FILE in turn, which is `file`, in one browser: it takes a second to start.
pages() {
    cat > page.py
    in_browser $# "$@"
}

# in_browser N FILE...: page.py with each of the first N files; sys.argv begins with the first.
in_browser() {
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/tests python3 - "$@" << 'END'
import os, sys
from browser import Browser
count = int(sys.argv.pop(1))
soak = bool(os.environ.get("TG_SOAK"))  # as helper.bash has it
script = compile(open("page.py").read(), "page.py", "exec")
with Browser(1400, 1000) as page:
    page.count_cpu()
    for file in sys.argv[1:1 + count]:
        page.requests.clear()
        page.open("file://" + os.path.abspath(file))
        page.settle()
        exec(script)
        assert page.problems == [], (file, page.problems)
        assert len(page.requests) == 1, (file, page.requests)
END
}

# every_cell FILE.html...: in each cell, or, with CELLS=X, in that share of them, chosen at random, the pages show the
# offsets, the mask and the numbers that tg-attn-dump -f tsv has printed in FILE.tsv; each row as it is copied has all of
# them.  With HEADS=X, only in about that share of the heads, and one at least.  Then Python on standard input, with
# `page`, and `small`, the number of probabilities near 0.
every_cell() {
    need_numpy
    { cat << 'END'; cat; } > cells.py
import json
import os
import random
import numpy as np
lines = open(file.replace(".html", ".tsv")).read().splitlines(keepends=True)
cells = {tuple(map(int, f[:5])): f for f in (line.rstrip("\n").split("\t") for line in lines[1:])}
T, layers, heads = page.run("[T, dump.layers, H]")
assert len(cells) == len(layers) * heads * T * T
same = lambda text, stored: np.float32(text) == np.float32(stored)
number = lambda formula: str(eval(formula.lstrip("= ").replace("·", "*").replace("/", "//")))
small = sum(f[9] == "0" and float(f[10]) < 1e-9 for f in cells.values())
chosen, share = random.Random(1), float(os.environ.get("CELLS", 1))
some = float(os.environ.get("HEADS", 1))
every = [(layer, h) for layer in layers for h in range(heads)]
for layer, h in [at for at in every if chosen.random() < some] or [chosen.choice(every)]:
    page.run(f"goTo({layer}, {h})"); page.settle()
    keys = [[j for j in range(T) if chosen.random() < share] for _ in range(T)]
    # drawn at once: a frame per row or cell would take minutes
    rows = json.loads(page.run("""(keys => JSON.stringify(Array.from({length: T}, (_, i) => {
        const of = (id) => [...byId(id).querySelectorAll("tr")].map((r) => [r.cells[0].textContent, r.cells[1].textContent]);
        moveTo(i, 0); draw();
        return [rowText(), keys[i].map((j) => { view.j = j; showCell();
            const term = [...byId("terms").querySelector("tbody tr").cells].map((c) => c.textContent);
            return [of("facts"), Object.fromEntries(of("steps")), term, byId("said").textContent, valueText()]; })]; })))(""" + f"{keys})"))
    page.settle()
    for i, (row, shown) in enumerate(rows):
        assert row == lines[0] + "".join("\t".join(cells[layer, h, 0, i, j]) + "\n" for j in range(T))
        for j, (facts, steps, term, said, value) in zip(keys[i], shown, strict=True):
            cell, of = cells[layer, h, 0, i, j], dict(facts)
            score, prob = of["score"], of["probability"]
            assert [of["q_base"], of["k_base"], of["offset"], of["mask"]] == cell[5:8] + cell[9:10], (cell, facts)
            for above, line in zip(facts, facts[1:]):
                assert not line[1].startswith("= ") or number(line[1]) == above[1], (cell, above, line)
            assert [term[1], term[3]] == cell[5:7], (cell, term)
            assert same(score, cell[8]) and same(prob, cell[10]), (cell, score, prob)
            assert value == prob, (cell, value, prob)
            if cell[9] == "0":
                assert steps["score"].split(" = ")[-1] == score, (cell, steps)
                assert steps["probability"].split(" = ")[-1] == prob, (cell, steps)
                assert said.endswith(f"score {score}, probability {prob}"), (cell, said)
            else:
                assert steps["sum"].startswith("not computed: ") and steps["probability"] == "0", (cell, steps)
                assert said.endswith(": masked") and term[5:] == ["—", "—"], (cell, said, term)
END
    pages "$@" < cells.py
}

# no_faults FILE: axe-core finds none on the page, on a desk and a phone, after any of `steps`, a list of JavaScript that
# Python on standard input sets.  A theme that a step sets stays: where one does, what comes before it is judged in the
# light one on the desk, and in the dark one on the phone.
no_faults() {
    need_judge axe_core_python
    AXE=$("$TG_JUDGE_PYTHON" -c 'import axe_core_python, os; print(os.path.dirname(axe_core_python.__file__))')
    export AXE
    { cat; cat << 'END'; } > axe.py
import json, os
page.run(open(os.environ["AXE"] + "/axe.min.js", encoding="utf8").read() + "; 0")
for width, height in ((1280, 800), (390, 844)):
    page.size(width, height)
    for step in steps:
        page.run(step), page.settle()
        found = json.loads(page.run("""axe.run({resultTypes: ["violations"], selectors: false}).then((all) => JSON.stringify({
            passes: all.passes.length,
            faults: all.violations.map(({id, nodes}) => [id, nodes.map((node) => node.failureSummary)])}))"""))
        assert found["faults"] == [] and found["passes"] >= 30, (width, step, found)
page.run("localStorage.clear()")
END
    page "$1" < axe.py
}

# two_prompts: page.html of the attention for two texts of as many tokens, in abcdefabcdef.npz and abcdefxbcdef.npz.
two_prompts() {
    local text
    for text in abcdefabcdef abcdefxbcdef; do
        tg-attn-dump -q -m "$ROOT/docs/data/induction" -p $text -o $text.npz
    done
    tg-attn-view -q -o page.html abcdefabcdef.npz abcdefxbcdef.npz
}
