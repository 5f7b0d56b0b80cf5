// What each layer predicts: a row for each layer, the last on top, and a column for each position.

const {lens} = dump; // {layers, positions, target, rank, K, ids, texts}, or nothing

let lensArrays = null; // once they were looked at

function readLens() {
    lensArrays ??= Object.fromEntries(["logit", "kl", "entropy", "sum", "top"]
        .map((name) => [name, decode(`lens.${name}`, Float64Array)]));
    return lensArrays;
}

// The place of a cell in arrays [layers,positions]; row 0 of the grid is the last layer.
const lensLayer = (r) => lens.layers.length - 1 - r;
const lensAt = (r, c) => lensLayer(r) * lens.positions.length + c;

// ---- its numbers

const lensProb = (at) => Math.exp(readLens().logit[at] - readLens().sum[at]);
const hasTarget = (at) => lens.target[at % lens.positions.length] >= 0;

// The kth of the most probable tokens.
function lensTop(at, k) {
    const {top, sum} = readLens(), n = at * lens.K + k;
    return {id: lens.ids[n], text: lens.texts?.[n] ?? "", logit: top[n], prob: Math.exp(top[n] - sum[at])};
}

const lensGreatest = (numbers) => Math.max(numbers.reduce((most, x) => Math.max(most, x), 0), 1e-9);

// What colours may stand for: its name, its number, where that lies in the palette, and both ends.
const LENS = {
    prob: {name: "probability of the target", of: (at) => hasTarget(at) ? lensProb(at) : NaN, place: Math.sqrt,
        ends: () => ["0", "1"]},
    rank: {name: "rank of the target", of: (at) => hasTarget(at) ? lens.rank[at] : NaN,
        place: (x) => 1 - Math.log1p(x) / Math.log1p(Math.max(lensMost("rank"), 1)), ends: () => [String(lensMost("rank")), "0"]},
    top: {name: "probability of the first token", of: (at) => lensTop(at, 0).prob, place: Math.sqrt, ends: () => ["0", "1"]},
    entropy: {name: "entropy", of: (at) => readLens().entropy[at], place: (x) => x / lensMost("entropy"),
        ends: () => ["0", textOf(lensMost("entropy"), 4)]},
    kl: {name: "divergence from the last layer", of: (at) => readLens().kl[at], place: (x) => x / lensMost("kl"),
        ends: () => ["0", textOf(lensMost("kl"), 4)]}
};

const lensMosts = {};
const lensMost = (name) => lensMosts[name] ??= lensGreatest(name === "rank" ? lens.rank : readLens()[name]);

// Those that the archive has; the first is shown first.
const lensShows = Object.keys(LENS).filter((name) => name === "top" ? lens?.K > 0
    : !["prob", "rank"].includes(name) || lens?.target.some((id) => id >= 0));

// ---- the grid

// "“d”", or an id.
const tokenName = (id, text) => shownText(text) || String(id);
const lensText = (at) => {
    const {id, text} = lensTop(at, 0);
    return text ? text.replaceAll(" ", "·") : String(id);
};

// A token that an archive names by its id and its text, or in older archives by the id alone.
function nameOfId(id, text) {
    if (text)
        return tokenName(id, text);
    const at = firstTokens.ids?.indexOf(id) ?? -1, k = lens?.ids.indexOf(id) ?? -1, {next} = dumps[0], n = next?.ids.indexOf(id) ?? -1;
    return at >= 0 && firstTokens.tokens ? `“${firstLabel(at)}”` : tokenName(id, lens?.texts?.[k] ?? next?.texts?.[n] ?? "");
}

const layersText = (l) => say(plural("after {0} layers", l), l);

function lensTitle(r, c) {
    const at = lensAt(r, c), {name, of} = LENS[view.lens], x = of(at);
    return `${layersText(lens.layers[lensLayer(r)])}${say(", ")}${lens.positions[c]}${firstQuoted(lens.positions[c])}${say(": ")}` +
        (lens.K > 0 ? `${tokenName(lensTop(at, 0).id, lensTop(at, 0).text)}${say("; ")}` : "") + `${say(name)} ${Number.isNaN(x) ? "—" : textOf(x, 4)}`;
}

// Below the grid: the prediction, and its most probable tokens.
function showPrediction(r, c) {
    const at = lensAt(r, c), t = lens.positions[c], target = lens.target[c], {entropy, kl, logit} = readLens();
    byId("lens-text").textContent = say("{0}, position {1}: entropy {2}, divergence {3} nats", layersText(lens.layers[lensLayer(r)]),
        `${t}${firstQuoted(t)}`, textOf(entropy[at], 6), textOf(kl[at], 6)) + (target < 0 ? "" : say("; target {0}: rank {1}, probability {2}, logit {3}",
        nameOfId(target, lens.targetTexts?.[c]), lens.rank[at], textOf(lensProb(at), 6), storedText(logit[at])));
    byId("lens-top").hidden = lens.K === 0;
    setRows(byId("lens-top").querySelector("table"), Array.from({length: lens.K}, (_, k) => {
        const {id, text, logit: x, prob} = lensTop(at, k);
        return [String(k), String(id), shownText(text), storedText(x), textOf(prob)];
    }));
    [...byId("lens-top").querySelectorAll("tbody tr")].forEach((line, k) => {
        line.classList.toggle("chosen", lens.ids[at * lens.K + k] === target);
        line.cells[4].style.backgroundSize = `${100 * lensTop(at, k).prob}% 70%`;
    });
}

// The layer that ran last before this prediction, at this position; the embedding's row leads to layer 0.
function goToPrediction(r, c) {
    if (isBare)
        return;
    goToMap(Math.max(lens.layers[lensLayer(r)] - 1, 0), view.head, lens.positions[c]);
}

let lensGrid = null;

const makeLensGrid = () => new Grid({
    id: "lens-grid", rows: lens.layers.length, columns: lens.positions.length,
    width: columnWidth([...lens.positions.map(firstLabel), ...(lens.texts ?? []).filter((_, n) => n % lens.K === 0)]),
    name: () => say("What each layer predicts"),
    row: (r) => String(lens.layers[lensLayer(r)]),
    column: (c) => columnText(lens.positions[c]),
    cell: (r, c) => {
        const at = lensAt(r, c), {of, place} = LENS[view.lens], x = of(at);
        return {place: place(x), text: lens.K > 0 ? lensText(at) : Number.isNaN(x) ? "" : shortText(x), title: lensTitle(r, c)};
    },
    palette: () => paletteOf("probs"),
    state: () => view.lens,
    chosen: (c) => !isBare && lens.positions[c] === view.i,
    show: showPrediction,
    go: goToPrediction,
    first: () => {
        const l = isBare ? -1 : lens.layers.indexOf(view.layer + 1);
        return {r: l < 0 ? 0 : lensLayer(l), c: isBare ? lens.positions.length - 1 : Math.max(lens.positions.indexOf(view.i), 0)};
    }
});

function showLens() {
    const {name, ends} = LENS[view.lens];
    lensGrid ??= makeLensGrid();
    showEnds("lens-ends", say(name), paletteOf("probs"), ...ends());
    lensGrid.draw();
}

function setLens(name) {
    view.lens = byId("lens-show").value = name;
    refresh();
}

function makeLens() {
    if (!lens)
        return;
    for (const option of byId("lens-show").options)
        option.hidden = option.disabled = !lensShows.includes(option.value);
    byId("lens-show").addEventListener("change", (event) => setLens(event.target.value));
}
