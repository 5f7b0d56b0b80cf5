// Maps: canvases.  What stands in `view` is drawn; nothing here changes it.

const byId = (id) => document.getElementById(id);

const view = {
    layer: dump.start.layer, head: dump.start.head, i: 0, j: 0,
    show: dump.show, kind: dump.scale,
    held: false,            // the pointer does not move the cell
    way: "row",             // how the text is coloured
    from: {i: 0, j: 0, n: T} // the square of tokens that the large map shows
};

const scaleOf = (head) => view.show === "probs"
    ? {kind: view.kind, low: 0, high: 1}
    : {kind: "linear", low: head.low, high: head.high};

const tokenAt = (t) => dump.tokens ? dump.tokens[t] : "";

// A token with its blanks visible.
const labelAt = (t) => tokenAt(t).replaceAll(" ", "·");

const styleOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// ---- thumbnails

// Cells along a side, at most: the pixels that page.css gives them.
const MANY = dump.layers.length * H > 48;
const THUMB = MANY ? 30 : 46;

function paint(canvas, cells, side, scale) {
    const image = new ImageData(side, side), out = new Uint32Array(image.data.buffer);
    for (let c = 0; c < cells.length; c++)
        out[c] = Number.isNaN(cells[c]) ? 0 : pixels[stepOf(placeOf(scale, cells[c]))];
    canvas.width = canvas.height = side;
    canvas.getContext("2d").putImageData(image, 0, 0);
}

// The work of one thumbnail: like Head, but the rows are not kept.
class Thumb {
    constructor(layer, h, canvas) {
        Object.assign(this, {layer, h, canvas, rows: 0, low: Infinity, high: -Infinity});
        this.side = Math.min(T, THUMB);
        this.probs = new Float32Array(this.side ** 2).fill(NaN);
        this.scores = new Float32Array(this.side ** 2).fill(NaN);
        this.row = [new Float64Array(T), new Float64Array(T)];
    }

    work(deadline) {
        const data = layerOf(this.layer), [scores, probs] = this.row;
        for (; this.rows < T && performance.now() < deadline; this.rows++) {
            const i = this.rows;
            fillScores(scores, data, this.h, i);
            fillProbs(probs, scores, i + 1);
            reduceRow(this.scores, this.side, T, i, scores, 0, i + 1);
            reduceRow(this.probs, this.side, T, i, probs, 0, i + 1);
        }
        return this.rows === T;
    }

    draw() {
        if (this.rows < T)
            return;
        for (const x of this.scores) {
            this.low = x < this.low ? x : this.low;
            this.high = x > this.high ? x : this.high;
        }
        paint(this.canvas, this[view.show], this.side, scaleOf(this));
    }
}

// ---- the large map

const FONT = "12px system-ui, sans-serif";
const LABEL_STEP = 13;  // pixels between labels along a side, at least
const LABEL_MOST = 130; // pixels of a label; less on a narrow page
const EDGE = 10;        // beside the map, for the halves of the last labels
const VALUE_LEAST = 38; // a cell of so many pixels has its number in it

// Where the map lies on its canvas, in pixels of the page.
let frame = {left: 0, top: 0, size: 0, cell: 1};

const numberOf = (t) => String(t);

function fit(context, text, width) {
    if (context.measureText(text).width <= width)
        return text;
    let low = 0, high = text.length;
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (context.measureText(text.slice(0, middle) + "…").width <= width)
            low = middle;
        else
            high = middle - 1;
    }
    return text.slice(0, low) + "…";
}

const axisLabel = (t) => dump.tokens ? `${numberOf(t)} ${labelAt(t)}` : numberOf(t);

// Room for the widest of the labels in sight, but for not more than `most` of it.
function marginFor(context, first, n, step, most) {
    let widest = 0;
    context.font = "bold " + FONT; // as the chosen one's
    for (let t = first; t < first + n; t += step)
        widest = Math.max(widest, context.measureText(axisLabel(t)).width);
    return Math.min(Math.ceil(widest), most) + 10;
}

const BELOW = 110; // the colour scale, and what is said of the cell
const HEIGHT_LEAST = 320; // of a map that would have more room in width

// As large as lets the whole of it stand in the window, with what is above and below.
function layOut(context, room) {
    const {i, j, n} = view.from;
    const label = Math.min(LABEL_MOST, Math.floor(room / 4));
    const guess = Math.max((room - label) / n, 0.01), step = Math.max(1, Math.ceil(LABEL_STEP / guess));
    const left = Math.max(marginFor(context, i, Math.min(n, T - i), step, label), 58);
    const top = Math.max(marginFor(context, j, Math.min(n, T - j), step, label), 46);
    const above = byId("frame").getBoundingClientRect().top + window.scrollY + top;
    const height = Math.max(window.innerHeight - above - BELOW, HEIGHT_LEAST);
    const most = Math.max(Math.min(room - left, height) - EDGE, 120), cell = most / n;
    const whole = cell >= 2 ? Math.min(Math.floor(cell), 64) : cell;
    frame = {left, top, size: whole * n, cell: whole};
}

// The masked part, behind the cells.
function hatch(context, ratio) {
    const tile = document.createElement("canvas"), size = Math.round(6 * ratio);
    tile.width = tile.height = size;
    const pen = tile.getContext("2d");
    pen.fillStyle = styleOf("--hatch-paper");
    pen.fillRect(0, 0, size, size);
    pen.strokeStyle = styleOf("--hatch");
    pen.lineWidth = ratio;
    pen.beginPath();
    for (const shift of [-size, 0, size]) {
        pen.moveTo(shift - 1, size + 1);
        pen.lineTo(shift + size + 1, -1);
    }
    pen.stroke();
    return context.createPattern(tile, "repeat");
}

function drawCells(context, head, scale, ratio) {
    const {i: i0, j: j0, n} = view.from, {left, top, size} = frame;
    const side = Math.min(n, Math.max(1, Math.round(size * ratio)));
    const cells = new Float32Array(side * side).fill(NaN), numbers = head[view.show];
    for (let i = i0; i < Math.min(i0 + n, head.rows); i++)
        reduceRow(cells, side, n, i - i0, numbers, rowStart(i) + j0, Math.min(i + 1 - j0, n));
    const small = document.createElement("canvas");
    paint(small, cells, side, scale);
    context.fillStyle = hatch(context, ratio);
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0); // the pattern in the screen's own pixels
    context.fillRect(left * ratio, top * ratio, size * ratio, size * ratio);
    context.restore();
    context.imageSmoothingEnabled = false;
    context.drawImage(small, left, top, size, size);
}

function drawValues(context, head, scale) {
    const {i: i0, j: j0, n} = view.from, {left, top, cell} = frame;
    if (cell < VALUE_LEAST)
        return;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let i = i0; i < Math.min(i0 + n, head.rows); i++) {
        for (let j = j0; j <= i && j < j0 + n; j++) {
            const x = head[view.show][rowStart(i) + j];
            context.fillStyle = inks[stepOf(placeOf(scale, x))];
            context.fillText(x.toFixed(2).replace("-", "\u2212"), left + (j - j0 + 0.5) * cell,
                top + (i - i0 + 0.5) * cell);
        }
    }
}

function drawLabel(context, t, side, chosen) {
    context.fillStyle = styleOf(chosen ? "--accent" : "--ink");
    context.font = (chosen ? "bold " : "") + FONT;
    context.fillText(fit(context, axisLabel(t), frame[side] - 8), 0, 0);
}

// The chosen token's label may lie on a part of its neighbours'.
function drawChosenLabel(context, t, side) {
    context.font = "bold " + FONT;
    const width = Math.min(context.measureText(axisLabel(t)).width, frame[side] - 8) + 4;
    context.fillStyle = styleOf("--paper");
    context.fillRect(side === "left" ? -width : -2, -8, width + 2, 16);
    drawLabel(context, t, side, true);
}

function drawAxis(context, side, first, chosen) {
    const {left, top, cell} = frame, n = Math.min(view.from.n, T - first);
    const step = Math.max(1, Math.ceil(LABEL_STEP / cell));
    const at = (t, draw) => {
        const along = (t - first + 0.5) * cell;
        context.save();
        context.translate(side === "left" ? left - 5 : left + along, side === "left" ? top + along : top - 5);
        context.rotate(side === "left" ? 0 : -Math.PI / 2);
        draw(context, t, side);
        context.restore();
    };
    context.textAlign = side === "left" ? "right" : "left";
    context.textBaseline = "middle";
    for (let t = first; t < first + n; t += step)
        if (Math.abs(t - chosen) * cell >= LABEL_STEP)
            at(t, (pen) => drawLabel(pen, t, side, false));
    at(chosen, drawChosenLabel);
}

// What the axes are, in the corner between them.
function drawCorner(context) {
    context.font = FONT;
    context.fillStyle = styleOf("--faint");
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    context.fillText("key →", 1, 12);
    context.fillText("query ↓", 1, 28);
}

function drawCursor(context) {
    const {left, top, size, cell} = frame, shown = Math.max(cell, 3);
    const x = left + (view.j - view.from.j + 0.5) * cell - shown / 2;
    const y = top + (view.i - view.from.i + 0.5) * cell - shown / 2;
    context.lineWidth = 1;
    context.strokeStyle = styleOf("--cross");
    context.strokeRect(left + 0.5, y - 0.5, size - 1, shown + 1);
    context.strokeRect(x - 0.5, top + 0.5, shown + 1, size - 1);
    context.lineWidth = 2;
    context.strokeStyle = styleOf("--accent");
    context.strokeRect(x - 1, y - 1, shown + 2, shown + 2);
}

function drawMap(head) {
    const canvas = byId("map"), ratio = window.devicePixelRatio || 1;
    const context = canvas.getContext("2d"), room = byId("frame").clientWidth;
    context.font = FONT;
    layOut(context, Math.min(room, 1100));
    const width = frame.left + frame.size + EDGE, height = frame.top + frame.size + EDGE;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const scale = scaleOf(head);
    drawCells(context, head, scale, ratio);
    context.font = FONT;
    drawValues(context, head, scale);
    drawAxis(context, "left", view.from.i, view.i);
    drawAxis(context, "top", view.from.j, view.j);
    drawCorner(context);
    drawCursor(context);
}

// ---- the colour scale, with its range

function drawLegend(head) {
    const canvas = byId("legend"), ratio = window.devicePixelRatio || 1, scale = scaleOf(head);
    const width = Math.min(byId("frame").clientWidth, 480), bar = width - 120, height = 44;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = FONT;
    context.textBaseline = "top";
    for (let x = 0; x < bar; x++) {
        context.fillStyle = colors[stepOf(x / (bar - 1))];
        context.fillRect(24 + x, 2, 1.5, 14);
    }
    context.fillStyle = styleOf("--ink");
    context.textAlign = "center";
    const numbers = [0, 0.25, 0.5, 0.75, 1].map((place) => textOf(numberAt(scale, place), 3));
    numbers.forEach((text, n) => {
        context.fillRect(24 + Math.round(n * (bar - 1) / 4), 16, 1, 4);
        const least = n === 0 && scale.kind === "log"; // what is less looks the same
        context.fillText(least ? "≤" + text : text, 24 + n * (bar - 1) / 4, 23);
    });
    context.fillStyle = hatch(context, 1);
    context.fillRect(width - 78, 2, 20, 14);
    context.fillStyle = styleOf("--ink");
    context.textAlign = "left";
    context.fillText("masked", width - 52, 3);
    canvas.setAttribute("aria-label", `colours: ${view.show === "probs" ? "probability" : "score"} from ` +
        `${numbers[0]} to ${numbers[4]}; hatched: masked`);
}
