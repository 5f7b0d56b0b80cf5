// The panel: facts about a cell, its trace, and what can be copied; cards.js has its row and the weighted sum.

// Rows of a table: the first cell is a heading.  They are kept, and only their texts change; null leaves a cell
// as it is.
function setRows(table, rows) {
    const body = table.tBodies[0];
    while (body.rows.length > rows.length)
        body.deleteRow(-1);
    rows.forEach((cells, r) => {
        const row = body.rows[r] || body.insertRow();
        cells.forEach((text, c) => {
            const cell = row.cells[c] || row.appendChild(element(c === 0 ? "th" : "td", ""));
            if (text !== null && cell.textContent !== text)
                cell.textContent = text;
        });
    });
}

// The same, of rows that begin with a name of the page's own.
const setNamed = (table, rows) => setRows(table, rows.map(([name, ...cells]) => [say(name), ...cells]));

// ---- facts

// A base's formula: in symbols or in numbers, as its parts are.
const baseText = (b, heads, h, T, t, D) => dump.layout === "bhtd" ? `= ((${b}·${heads} + ${h})·${T} + ${t})·${D}`
    : `= ((${b}·${T} + ${t})·${heads} + ${h})·${D}`;

// "offset" and its formula in symbols, then in numbers: the second line spans the table.
function basesOf({i, j, head: h}) {
    const [name, symbol, number] = KV < H ? ["KV", "h/(H/KV)", `${h}/${H / KV}`] : ["H", "h", h];
    return [
        ["q_base", String(baseOf(i, h)), baseText("b", "H", "h", "T", "i", "D")],
        ["", baseText(b, H, h, T, i, D)],
        ["k_base", String(keyBaseOf(j, h)), baseText("b", name, symbol, "T", "j", "D")],
        ["", baseText(b, KV, number, T, j, D)]
    ];
}

// The head of keys that serves the head of queries; nothing where each has its own.
const keyHeadRows = ({head: h}) => KV === H ? []
    : [["key head", String(keyHeadOf(h)), `= h/(H/KV) = ${h}/${H / KV}` + (h % (H / KV) ? say(", rounded down") : "")]];

// Why a cell is masked, or is not; where layers have a window, what this one's does is a second line.
function maskRows({layer, i, j}) {
    const window = windowOf(layer), masked = isMasked(layer, i, j), none = window === Infinity;
    const why = j > i ? "j > i" : none ? "j ≤ i" : masked ? `i - j ≥ ${window}` : `j ≤ i, i - j < ${window}`;
    const said = none ? say("this layer has no window")
        : sayCount(`${masked && j < i ? "hidden by" : j > i ? "after" : "in"} the window of {0} keys`, window);
    return [["mask", masked ? "1" : "0", why], ...(dump.window ? [["", said]] : [])];
}

// `at` may be a place of the shown head that is not the chosen one.
const cellMasked = ({i, j}) => isMasked(view.layer, i, j);
const cellScore = (row, at) => cellMasked(at) ? MASKED : storedText(row.scores[at.j]);
const cellProb = (row, at) => cellMasked(at) ? "0" : storedText(row.probs[at.j]);

// The same facts of the cell under the pointer, where it is another one: a column beside the chosen one's.
function hereOf() {
    const {i, j} = view.here ?? view, h = view.head;
    if (i === view.i && j === view.j)
        return {};
    const row = rowOf(view.layer, h, i), at = {i, j};
    return {"query i": i, "key j": j, q_base: baseOf(i, h), k_base: keyBaseOf(j, h), offset: offsetOf(h, i, j),
        score: cellScore(row, at), probability: cellProb(row, at)};
}

// The difference of two stored probabilities.
const cellDiff = (row, at) => cellMasked(at) ? "0" : textOf(Math.fround(row.probs[at.j]) -
    Math.fround(rowOfBase(view.layer, view.head, at.i).probs[at.j] || 0));

const cellGradient = (row, at) => cellMasked(at) ? "0" : textOf(gradientOf(view, row).dscores[at.j]);

// What the cell wrote to the logit that is explained.
const writtenRows = () => !hasWritten(view.i) ? [] : [["wrote", writtenText(view), say("to the {0}", logitName())]];

// What the first dump, or the head that is compared with, has there.
function comparedRows(row) {
    if (isBase())
        return [];
    const prob = storedText(rowOfBase(view.layer, view.head, view.i).probs[view.j] || 0);
    const name = pinned && `${pinned.layer}.${pinned.head}`;
    return pinned ? [[say("in head {0}", name), cellMasked(view) ? "0" : prob, ""],
        ["difference", cellDiff(row, view), `${view.layer}.${view.head} − ${name}`]]
        : [["in the first", cellMasked(view) ? "0" : prob, dumps[0].name],
            ["difference", cellDiff(row, view), say("of {0} from it", dumps[which].name)]];
}

const HERE = ["query i", "key j", "q_base", "k_base", "offset", "score", "probability"];

function showFacts(row) {
    const {i, j, head: h, layer} = view, masked = cellMasked(view), table = byId("facts"), here = hereOf();
    const about = (t) => (dump.ids ? `id ${dump.ids[t]} ` : "") + quoted(t).trim() + sharedBy(t);
    const rows = [
        ["query i", String(i), about(i)],
        ["key j", String(j), about(j)],
        ["layer, head", `${layer}, ${h}`, `h.${layer}` + (B > 1 ? `; b = ${b}, B = ${B}` : "")],
        ...keyHeadRows(view),
        ...basesOf(view),
        ["offset", String(offsetOf(h, i, j)), "= ((b·H + h)·T + i)·T + j"],
        ["", `= ((${b}·${H} + ${h})·${T} + ${i})·${T} + ${j}`],
        ["score", cellScore(row, view), masked ? say("means “not looked at”") : ""],
        ...maskRows(view),
        ["probability", cellProb(row, view), ""],
        ...(dump.gradient ? [["gradient", cellGradient(row, view), say("of the loss of the target")]] : []),
        ...writtenRows(),
        ...comparedRows(row),
        ...(view.of === "one" ? [] : [["the map", mapNumber(view), groupTitle()]])
    ];
    setNamed(table, rows.map((cells) => HERE.includes(cells[0]) ? [...cells, String(here[cells[0]] ?? "")] : cells));
    for (const line of table.tBodies[0].rows) {
        if (line.cells[0].textContent === "")
            line.cells[1].colSpan = 2;
        else {
            const {textContent} = line.cells[2];
            line.cells[2].title = textContent; // a long token may be cut, after its numbers
            line.cells[2].classList.toggle("formula", textContent.startsWith("= "));
        }
    }
}

// ---- the trace

const TERM_HEIGHT = 15; // pixels of a row, as in page.css

// Every product, with where both factors lie and what they are; a masked cell has none.
function showTerms() {
    const {i, j, head: h, layer} = view, {q, k} = layerOf(layer), masked = cellMasked(view), sums = [];
    let sum = 0;
    for (let d = 0; d < D; d++)
        sums.push(sum += q[localBase(i, h) + d] * k[localKeyBase(j, h) + d]);
    setLines(byId("terms"), D, TERM_HEIGHT, (d) => {
        const x = q[localBase(i, h) + d], y = k[localKeyBase(j, h) + d];
        return [String(d), String(baseOf(i, h) + d), storedText(x), String(keyBaseOf(j, h) + d), storedText(y),
            masked ? "—" : textOf(x * y), masked ? "—" : textOf(sums[d])];
    });
    return sum;
}

// What the model sets itself.
const ofModel = (x) => say("{0}, a setting of the model", textOf(x));

// From the sum to the score; a cap is two steps more.
function scoreSteps(sum, score) {
    const scale = dump.attnScale ? ofModel(dump.attnScale) : `1/√D = 1/√${D} = ${textOf(1 / ROOT)}`;
    const product = dump.attnScale ? "sum·scale" : "sum/√D";
    return [["sum", textOf(sum)], ["scale", scale], ...(CAP ? [
        ["s", `${product} = ${textOf(scaled(sum))}`],
        ["cap", ofModel(CAP)],
        ["score", `cap·tanh(s/cap) = ${storedText(score)}`]
    ] : [["score", `${product} = ${storedText(score)}`]])];
}

// The same steps of a masked cell.
function maskedSteps({layer, i, j}) {
    const why = j > i ? say("masked, {0}", `${j} > ${i}`) : say("hidden, {0}", `${i} - ${j} ≥ ${windowOf(layer)}`);
    return [["sum", say("not computed: {0}", why)], ["scale", "—"], ...(CAP ? [["s", "—"], ["cap", "—"]] : []),
        ["score", `${MASKED} (dump/mask)`], ["max", "—"], ["exponential", "—"], ["their sum", "—"],
        ["probability", "0"]];
}

function showSteps(row, sum) {
    const {i, j} = view, table = byId("steps");
    if (cellMasked(view)) {
        setNamed(table, maskedSteps(view));
        return;
    }
    const greatest = row.scores.indexOf(row.max), e = Math.exp(row.scores[j] - row.max);
    setNamed(table, [
        ...scoreSteps(sum, row.scores[j]),
        ["max", say("of the row: {0}, at key {1}", storedText(row.max), `${greatest}${quoted(greatest)}`)],
        ["exponential", `exp(score - max) = ${textOf(e)}`],
        ["their sum", say("over j = {0} to {1}: {2}", row.first, i, textOf(row.sum))],
        ["probability", `${textOf(e)} / ${textOf(row.sum)} = ${storedText(row.probs[j])}`]
    ]);
}

const placeText = ({i, j}) => say("query {0}, key {1}", `${i}${quoted(i)}`, `${j}${quoted(j)}`);

const numbersText = (row, at) => at.j < row.first || at.j > at.i ? say("masked")
    : say("score {0}, probability {1}", storedText(row.scores[at.j]), storedText(row.probs[at.j]));

// The cell under the pointer, or else the chosen one: numbers first, since tokens may be long.
function showHere() {
    const at = pointed();
    const numbers = isSided() ? sidesNumbers(at) : view.of === "one" ? numbersText(rowOf(view.layer, view.head, at.i), at)
        : say("{0}: {1}", groupTitle(), mapNumber(at));
    const wrote = hasWritten(at.i) && view.of === "one" ? say(", wrote {0}", textOf(writtenOf(view.layer, view.head)[at.j], 6)) : "";
    byId("here").textContent = say("{0} at {1}", numbers + wrote, placeText(at));
}

function showCell() {
    const row = rowOf(view.layer, view.head, view.i);
    const parts = partsOf(row);
    showFacts(row);
    showSteps(row, showTerms());
    ({row: () => showKeys(row), sum: () => showSum(row, parts.att), way: showRotation, out: showProjection,
        stream: showResidual, next: showNext, gradient: () => showGradient(parts), lens: showLens, logit: showLogit,
        patch: showPatch, ablation: showAblation, edit: showVectors, quiz: showQuiz})[view.panel]?.();
    showCards(parts);
    byId("said").textContent = hidesNumbers() ? placeText(view)
        : say("{0}: {1}", placeText(view), isSided() ? sidesNumbers(view) : numbersText(row, view));
}

// ---- copying

function valueText() {
    const row = rowOf(view.layer, view.head, view.i);
    if (view.of !== "one")
        return mapNumber(view);
    return {probs: cellProb, scores: cellScore, diff: cellDiff, grad: cellGradient,
        written: () => writtenText(view)}[mapShow()](row, view);
}

// As tg-attn-dump -f tsv prints a number: nine digits, whether they are needed or not.
function printedText(x) {
    const stored = Math.fround(x);
    return Object.is(stored, -0) ? "-0" : textOf(stored);
}

// A token's text as a value of tab-separated text: no reader takes \x22 for quoting.
const fieldOf = (t) => tokenAt(t).replaceAll('"', "\\x22");

// The query's row, byte for byte as tg-attn-dump -f tsv prints it.
function rowText() {
    const {layer, head: h, i} = view, row = rowOf(layer, h, i), named = Boolean(dump.tokens);
    const lines = Array.from({length: T}, (_, j) => [layer, h, b, i, j, baseOf(i, h), keyBaseOf(j, h),
        offsetOf(h, i, j), ...(isMasked(layer, i, j) ? [PRINTED_MASK, 1, 0]
            : [printedText(row.scores[j]), 0, printedText(row.probs[j])]),
        ...(named ? [fieldOf(i), fieldOf(j)] : [])].join("\t"));
    return ["layer\thead\tb\ti\tj\tq_base\tk_base\toffset\tscore\tmasked\tprob"
        + (named ? "\ttoken_i\ttoken_j" : ""), ...lines].join("\n") + "\n";
}

// A file's name as one word for a shell, and not an option.
function shellWord(name) {
    const word = name.startsWith("-") ? `./${name}` : name;
    return /^[\w./+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

// What named the dump's input, as a command line has it; "": the dump does not say.
function sourceText() {
    const [, option, name] = /^(-m|--qkv|--example) (.+)$/u.exec(dumps[which].source) || [];
    if (!option || /\p{C}/u.test(name) || (option === "-m") !== (dump.ids !== null))
        return "";
    return option !== "--example" ? `${option} ${shellWord(name)}` : /^[a-z]+$/.test(name) ? dumps[which].source : "";
}

// The tg-attn-dump that derives the score.
function commandText() {
    const {layer, head: h, i, j} = view, source = sourceText();
    const from = dump.ids ? `${source || "-m MODEL"} --ids '${dump.ids.join(" ")}' --layer ${layer}`
        : source || "--qkv ARRAYS";
    return `tg-attn-dump ${from} --heads ${H} --trace ${b},${h},${i},${j}`;
}

// A dump of standard input has no name to come back to.
function noteOf(what) {
    const missing = dump.ids ? "MODEL" : "ARRAYS";
    return what === "command" && sourceText() === "" ? say(" ({0}: your file)", missing) : "";
}

async function copy(text, what) {
    try {
        await navigator.clipboard.writeText(text);
    } catch { // no permission, or an old browser
        const area = document.body.appendChild(element("textarea", text));
        area.select();
        document.execCommand("copy");
        area.remove();
    }
    byId("copied").textContent = say("{0} copied", say(what)) + noteOf(what);
    setTimeout(() => { byId("copied").textContent = ""; }, 1500);
}

const copies = {
    value: valueText,
    row: rowText,
    command: commandText,
    link: () => { keepAddress(); return window.location.href; }
};
