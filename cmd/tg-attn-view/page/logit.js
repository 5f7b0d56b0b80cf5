// What makes the logit: a row for each layer, and a column for each head, the MLP and the biases.

const {attribution} = dump; // {position, token, minus, logit, capped, sum, head [L,H], mlp [L], ...}, or nothing

// Columns after the heads: the name of each, and its numbers [L].  Biases only where the model has any.
const otherParts = !attribution ? [] : [["MLP", attribution.mlp], ["bias", attribution.attBias.map((x, l) => x + attribution.mlpBias[l])]]
    .filter(([name, numbers]) => name === "MLP" || numbers.some((x) => x !== 0));

const partAt = (l, c) => c < H ? attribution.head[l * H + c] : otherParts[c - H][1][l];
const partName = (l, c) => c < H ? say("head {0}", `${l}.${c}`) : say("{0} of layer {1}", say(otherParts[c - H][0]), l);

let partMost = 0; // the greatest part, without its sign, once it was asked for
const greatestPart = () => partMost ||= greatest(attribution.head.concat(...otherParts.map(([, numbers]) => numbers))) || 1;

const sumOf = (numbers) => numbers.reduce((sum, x) => sum + x, 0);

// The logit that is explained, as a text.
function logitName() {
    const {token, minus, tokenText, minusText} = attribution, name = nameOfId(token, tokenText);
    return minus < 0 ? say("logit of {0}", name) : say("logit of {0} less that of {1}", name, nameOfId(minus, minusText));
}

// ---- what each cell of a head's map wrote to it: the keys of one query

let writtenKeys = null; // [L,H,T], once it was looked at
let writtenMost = 0;

// Those of a head [T].
function writtenOf(layer, h) {
    writtenKeys ??= decode("attribution.key", Float64Array);
    return writtenKeys.subarray((layer * H + h) * T, (layer * H + h + 1) * T);
}

// The greatest of all heads, without its sign: one scale for all maps.
function mostWritten() {
    writtenOf(0, 0);
    return writtenMost ||= greatest(writtenKeys) || 1;
}

// The archive is of the first dump and of one query.
const hasWritten = (i) => Boolean(attribution) && which === 0 && i === attribution.position;

const writtenText = ({i, j}) => hasWritten(i) ? textOf(writtenOf(view.layer, view.head)[j]) : "0";

// ---- the grid

// Below it, what the cell's head wrote by way of each key, the greatest first.
function showPart(l, c) {
    const keys = c < H ? Array.from(writtenOf(l, c), (x, j) => [j, x]).filter(([j]) => j <= attribution.position)
        .sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]) || a[0] - b[0]) : [];
    byId("part-text").textContent = `${partName(l, c)}${say(": ")}${textOf(partAt(l, c))}`;
    byId("part-keys").querySelector("table").hidden = c >= H;
    setRows(byId("part-keys").querySelector("table"), keys.slice(0, 40).map(([j, x]) => [String(j), firstLabel(j), textOf(x)]));
}

// The parts that are in no layer, those of all layers, their sum and what the model has computed.
function showSumOfParts() {
    const {embedding, positionEmbedding, head, attBias, mlp, mlpBias, normBias, headBias, sum, logit, capped} = attribution;
    setRows(byId("parts").querySelector("table"), [
        ["embedding", embedding], ["position", positionEmbedding], ["all heads", sumOf(head)], ["all MLPs", sumOf(mlp)],
        ["biases of layers", sumOf(attBias) + sumOf(mlpBias)], ["last norm’s bias", normBias], ["output head’s bias", headBias]
    ].filter(([name, x]) => x !== 0 || name.startsWith("all")).concat([["sum", sum], ["logit", logit], ["residue", logit - sum]],
        capped !== logit ? [["after the cap", capped]] : []).map(([name, x]) => [say(name), textOf(x)]));
    [...byId("parts").querySelectorAll("tr")].forEach((line) => line.classList.toggle("total", line.cells[0].textContent === say("sum")));
}

// A head's map, coloured by what its cells wrote, at the key that wrote most; of another part only its layer.
function goToPart(l, c) {
    const i = attribution.position;
    if (c >= H) {
        goToMap(l, view.head, i);
        return;
    }
    goToMap(l, c, i, writtenOf(l, c).reduce((most, x, j, all) => Math.abs(x) > Math.abs(all[most]) ? j : most, 0));
    if (dump.layers.includes(l))
        setShow("written");
}

let partGrid = null;

const makePartGrid = () => new Grid({
    id: "part-grid", rows: dump.nLayer, columns: H + otherParts.length, width: 46,
    name: () => say("What makes the logit"),
    row: String,
    column: (c) => c < H ? String(c) : say(otherParts[c - H][0]),
    cell: (l, c) => {
        const x = partAt(l, c), most = greatestPart();
        return {place: 0.5 + x / most / 2, text: shortText(x), title: `${partName(l, c)}${say(": ")}${textOf(x)}`};
    },
    palette: () => paletteOf("scores"),
    state: () => "",
    chosen: (c) => c === view.head,
    show: showPart,
    go: goToPart,
    first: () => ({r: view.layer, c: view.head})
});

function showLogit() {
    partGrid ??= makePartGrid();
    byId("logit-text").textContent = say("After position {0}, the {1} is {2}.", `${attribution.position}${firstQuoted(attribution.position)}`,
        logitName(), textOf(attribution.logit, 6));
    const most = textOf(greatestPart(), 4);
    showEnds("part-ends", say("part of the logit"), paletteOf("scores"), `-${most}`, most);
    showSumOfParts();
    partGrid.draw();
}

// The list of a query's keys has a column more.
function makeLogit() {
    if (attribution)
        byId("keys").querySelector("thead tr").append(element("th", "wrote", {scope: "col", title: "what it wrote to the logit"}));
    byId("keys").classList.toggle("wrote", Boolean(attribution));
}
