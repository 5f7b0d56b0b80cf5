// What heads and MLPs are needed for: a row for each layer, and a column for each head and, last, the MLP.

// Each of an archive: {by, name, metric, pairs, model, none, P, part [L,P], and of a circuit whole, named [L,P]}.
const {ablations = []} = dump;
let whichAblation = 0; // the one that is shown
let [ablation] = ablations;

const ABLATED_BY = {zero: "zeros take its place.", mean: "the mean of what it gives on the corrupt prompts takes its place.",
    resample: "what it gives in the corrupt run takes its place."};

const ablationArrays = []; // of each archive {metric, faithfulness, change} [L,P], once they were looked at

function readAblation(nth = whichAblation) {
    const read = (name) => decode(`ablation${nth}.${name}`, Float64Array);
    ablationArrays[nth] ??= {metric: read("value"), faithfulness: read("faithfulness"), change: read("change")};
    return ablationArrays[nth];
}

// The numbers of those that were left out by themselves.
const partsLeftOut = (numbers, {part} = ablation) => Array.from(numbers).filter((_, at) => part[at]);

let ablationMost = 0; // the greatest change, without its sign, once it was asked for: one scale for all archives
const greatestAblation = () => ablationMost ||= Math.max(...ablations.map((one, nth) =>
    greatest(partsLeftOut(readAblation(nth).change, one)))) || 1;

// What colours may stand for: its name, its palette, and both ends.
const leastAndMost = (name) => (numbers => [Math.min(...numbers), Math.max(...numbers)])(partsLeftOut(readAblation()[name]));
const ABLATED = {
    change: {name: "change of the faithfulness", palette: "scores", ends: () => [-greatestAblation(), greatestAblation()]},
    faithfulness: {name: "faithfulness", palette: "probs", ends: () => leastAndMost("faithfulness")},
    metric: {name: "metric", palette: "probs", ends: () => leastAndMost("metric")}
};

// Names as tg-patch has them.
const isMlp = (c) => c === ablation.P - 1;
const ablatedName = (l, c) => `${l}.${isMlp(c) ? "mlp" : c}`;
const ablatedLong = (l, c) => isMlp(c) ? say("{0} of layer {1}", "MLP", l) : say("head {0}", `${l}.${c}`);

// The three numbers of a part as tg-patch -f tsv prints them.
const ablatedNumbers = (at) => ["metric", "faithfulness", "change"].map((name) => textOf(readAblation()[name][at]));

// ---- the grid and the list

function showAblated(r, c) {
    const at = r * ablation.P + c, [metric, faithfulness, change] = ablatedNumbers(at);
    byId("ablated-text").textContent = `${ablatedLong(r, c)}${say(": ")}` + (!ablation.part[at] ? say("not left out by itself")
        : say("{0} {1}, faithfulness {2}, change {3}", say(METRICS[ablation.metric]), metric, faithfulness, change));
    showAblatedList(at);
}

let ablatedOrder = {of: null, places: []}; // of an archive's parts, the greatest change first

function orderOfAblated() {
    const {change} = readAblation();
    if (ablatedOrder.of !== ablation)
        ablatedOrder = {of: ablation, places: [...ablation.part.keys()].filter((at) => ablation.part[at])
            .sort((a, b) => Math.abs(change[b]) - Math.abs(change[a]) || a - b)};
    return ablatedOrder.places;
}

function showAblatedList(chosen) {
    const places = orderOfAblated(), {P} = ablation;
    byId("ablated").style.maxHeight = `${(places.length + 1) * LONG_HEIGHT * largeness() + 4}px`; // no longer than its lines
    const first = setLong("ablated", places.length, (n) => [ablatedName(Math.floor(places[n] / P), places[n] % P), ...ablatedNumbers(places[n])]);
    [...byId("ablated").querySelectorAll("tbody tr")].forEach((line, n) => {
        line.dataset.at = places[first + n];
        line.classList.toggle("chosen", places[first + n] === chosen);
    });
}

// A head's map, or of an MLP only its layer.
function goToAblated(r, c) {
    if (!isBare)
        goToMap(r, isMlp(c) ? view.head : c, view.i);
}

let ablationGrid = null;

const ablationShape = () => ({rows: ablation.part.length / ablation.P, columns: ablation.P, width: 46});

const makeAblationGrid = () => new Grid({
    id: "ablation-grid", ...ablationShape(),
    name: () => say("What the model needs"),
    row: String,
    column: (c) => isMlp(c) ? "MLP" : String(c),
    cell: (r, c) => {
        const at = r * ablation.P + c, {name, ends} = ABLATED[view.ablated], [low, high] = ends(), x = readAblation()[view.ablated][at];
        return ablation.part[at] ? {place: high > low ? (x - low) / (high - low) : 1, text: shortText(x),
            title: `${ablatedLong(r, c)}${say(": ")}${say(name)} ${textOf(x, 4)}`} : {place: NaN, text: "", title: ablatedLong(r, c)};
    },
    palette: () => paletteOf(ABLATED[view.ablated].palette),
    state: () => `${whichAblation} ${view.ablated}`,
    chosen: (c) => !isBare && c === view.head,
    show: showAblated,
    go: goToAblated,
    first: () => {
        const [at] = orderOfAblated();
        return {r: Math.floor(at / ablation.P), c: at % ablation.P};
    }
});

// What was run, and what the numbers mean.
function ablationText() {
    const {by, whole, model, none, named, pairs} = ablation, [ofModel, ofNone, ofWhole] = [model, none, whole].map((x) => textOf(x));
    const faithfulness = whole === undefined ? "" : textOf((whole - none) / (model - none));
    return (whole === undefined ? say("Each cell is a run without one head or MLP: {0}", say(ABLATED_BY[by]))
        : say("Each cell is a run of a circuit of {0} members without one of them: {1}", named.filter((x) => x).length, say(ABLATED_BY[by]))) +
        say(" Faithfulness 1: the {0} is that of the model, {1}; 0: that without any head or MLP, {2}.", metricName(ablation), ofModel, ofNone) +
        (whole === undefined ? "" : say(" The circuit itself: {0}, faithfulness {1}.", ofWhole, faithfulness)) +
        (pairs > 1 ? say(" Means of {0} pairs of prompts.", pairs) : "");
}

function showAblation() {
    const {name, palette, ends} = ABLATED[view.ablated];
    ablationGrid ??= makeAblationGrid();
    byId("ablation-text").textContent = ablationText();
    showEnds("ablation-ends", say(name), paletteOf(palette), ...ends().map((x) => textOf(x, 4)));
    ablationGrid.draw();
}

// ---- several archives

function setAblation(nth) {
    whichAblation = clamp(nth, 0, ablations.length - 1);
    ablation = ablations[whichAblation];
    if (ablations.length === 0)
        return;
    byId("ablation-which").value = whichAblation;
    ablationGrid?.become(ablationShape());
    refresh();
}

function setAblated(name) {
    view.ablated = byId("ablation-show").value = name;
    refresh();
}

function onAblated(event) {
    const line = event.target.closest("tbody tr");
    if (line)
        ablationGrid.choose({r: Math.floor(line.dataset.at / ablation.P), c: line.dataset.at % ablation.P});
}

function makeAblations() {
    byId("ablations").hidden = ablations.length < 2;
    byId("ablation-which").append(...ablations.map(({name}, nth) => element("option", name, {value: nth})));
    byId("ablation-which").addEventListener("change", (event) => setAblation(Number(event.target.value)));
    byId("ablation-show").addEventListener("change", (event) => setAblated(event.target.value));
    byId("ablated").addEventListener("scroll", refresh);
    byId("ablated").addEventListener("click", onAblated);
}
