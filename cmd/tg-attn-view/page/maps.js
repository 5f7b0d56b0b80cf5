// Maps: canvases.  What stands in `view` is drawn; nothing here changes it.

const byId = (id) => document.getElementById(id);

const view = {
    layer: dump.start.layer, head: dump.start.head,
    i: T - 1, j: NaN,       // the chosen cell, by a click or by keys; NaN: the row's greatest, once it is known
    here: null,             // the cell {i, j} under the pointer
    show: dump.show, kind: dump.scale,
    way: "row",             // how the text is coloured
    of: "one",              // what the map shows: one head, or the "mean" or "max" of those in the table
    panel: "cell",          // what the panel shows: one of PANELS
    card: 0, channel: 0,    // the step that is explained; the channel of the weighted sum,
    out: 0,                 // and that of the projection's output
    lens: "prob",           // what the colours of predictions stand for: one of LENS
    ablated: "change",      // and those of ablations: one of ABLATED
    from: {i: 0, j: 0, n: T} // the square of tokens that the large map shows
};

// What the map's lines and the text follow; the panel and copies stay with the chosen cell.
const pointed = () => view.here ?? view;

// What `show` is called, of one cell and of many.
const QUANTITY = {probs: ["probability", "probabilities"], scores: ["score", "scores"],
    diff: ["difference of probabilities", "differences"], grad: ["gradient", "gradients"],
    written: ["part of the logit", "parts of the logit"]};

const scaleOf = (head, show = view.show) => scaleFor(show, view.kind, head);

const tokenAt = (t) => dump.tokens ? dump.tokens[t] : "";

// A token with its blanks visible.
const labelAt = (t) => tokenAt(t).replaceAll(" ", "·");

const styleOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// ---- thumbnails

// Cells along a side, at most.
const THUMB = dump.layers.length * H > 48 ? 30 : 46;

function paint(canvas, cells, side, scale, show = view.show) {
    const image = new ImageData(side, side), out = new Uint32Array(image.data.buffer);
    const {pixels} = paletteOf(show);
    for (let c = 0; c < cells.length; c++)
        out[c] = Number.isNaN(cells[c]) ? 0 : pixels[stepOf(placeOf(scale, cells[c]))];
    canvas.width = canvas.height = side;
    canvas.getContext("2d").putImageData(image, 0, 0);
}

// Of such numbers a cell that stands for many shows the one furthest from 0.
const isSigned = (show) => ["diff", "grad", "written"].includes(show);

// One thumbnail: the rows as fewer cells.
class Thumb extends Rows {
    constructor(layer, h, canvas) {
        super(layer, h);
        this.canvas = canvas;
    }

    begin() {
        super.begin();
        this.side = Math.min(T, THUMB);
        for (const name of shows())
            this[name] = new Float32Array(this.side ** 2).fill(NaN);
    }

    keep(i) {
        for (const name of shows())
            reduceRow(this[name], this.side, T, i, this.row[SHOWN.indexOf(name)], 0, i + 1, isSigned(name));
    }

    draw() {
        if (this.rows === T)
            paint(this.canvas, this[view.show], this.side, scaleOf(this));
    }
}

// ---- the large map

const LARGE = 1.4; // as in page.css
let isLarge = false;
const largeness = () => isLarge ? LARGE : 1;

const fontOf = (pixels) => isLarge ? `${pixels * LARGE}px system-ui, sans-serif` : `${pixels}px system-ui, sans-serif`;
const LABEL_STEP = 13;  // pixels between labels along a side, at least
const CELL_MOST = 240;  // pixels of a cell: three tokens fill a window
const LABEL_MOST = 130; // pixels of a label; less on a narrow page
const EDGE = 10;        // beside the map, for the halves of the last labels
const VALUE_LEAST = 26; // a cell of so many pixels has its number in it

// Where the map lies on its canvas, in pixels of the page; of several, that is the first, and `lefts` has all.
let frame = {left: 0, top: 0, size: 0, cell: 1, lefts: [0]};

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

const axisLabel = (t, nth) => dump.tokens ? `${t} ${sideLabel(t, nth)}` : String(t);

// Room for the widest of the labels in sight, but for not more than `most` of it.
function marginFor(context, first, n, step, most) {
    let widest = 0;
    context.font = "bold " + fontOf(12); // as the chosen one's
    for (let t = first; t < first + n; t += step)
        widest = Math.max(widest, context.measureText(axisLabel(t, 2)).width);
    return Math.min(Math.ceil(widest), most) + 10;
}

const windowed = window.matchMedia("(min-width: 64rem) and (min-height: 34rem)"); // as page.css
const HEIGHT_LEAST = 280; // of a map on a page that scrolls

// What the map has room in: its frame, which in a window does not depend on the map.
function roomFor() {
    const box = byId("frame");
    return {
        width: Math.min(box.clientWidth - 8, isSided() ? Infinity : 1400),
        height: windowed.matches ? box.clientHeight - 8 : Math.max(window.innerHeight * 0.6, HEIGHT_LEAST)
    };
}

// `many` maps side by side have the same labels on their left.
function layOut(context, room, many) {
    const {i, j, n} = view.from, gaps = (many - 1) * SIDE_GAP;
    const side = (left, top) => Math.max(Math.min((room.width - left - EDGE - gaps) / many, room.height - top - EDGE), 120);
    const label = Math.min(LABEL_MOST * largeness(), Math.floor(Math.min(room.width, room.height) / 4));
    let left = label, top = label, cell = 0;
    for (let pass = 0; pass < 2; pass++) { // how many labels there are depends on the cells, and these on the labels
        cell = side(left, top) / n;
        const step = Math.max(1, Math.ceil(LABEL_STEP * largeness() / cell));
        left = Math.max(marginFor(context, i, Math.min(n, T - i), step, label), 58 * largeness());
        top = Math.max(marginFor(context, j, Math.min(n, T - j), step, label), 46 * largeness());
    }
    cell = Math.min(side(left, top) / n, CELL_MOST);
    const whole = Math.floor(cell);
    // whole pixels, unless the map would lose too much of its size
    frame = {left, top, cell: whole >= 0.9 * cell ? whole : cell};
    frame.size = frame.cell * n;
    frame.lefts = Array.from({length: many}, (_, nth) => left + nth * (frame.size + SIDE_GAP));
}

// The masked part, below the cells.
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

function drawCells(context, {rows, numbers, show, scale}, left, ratio) {
    const {i: i0, j: j0, n} = view.from, {top, size} = frame;
    const side = Math.min(n, Math.max(1, Math.round(size * ratio)));
    const cells = new Float32Array(side * side).fill(NaN);
    for (let i = i0; i < Math.min(i0 + n, rows); i++)
        reduceRow(cells, side, n, i - i0, numbers, rowStart(i) + j0, Math.min(i + 1 - j0, n), isSigned(show));
    const small = document.createElement("canvas");
    paint(small, cells, side, scale, show);
    context.fillStyle = hatch(context, ratio);
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0); // the pattern in the screen's own pixels
    context.fillRect(left * ratio, top * ratio, size * ratio, size * ratio);
    context.restore();
    context.imageSmoothingEnabled = false;
    context.drawImage(small, left, top, size, size);
}

// A number as a cell shows it: nothing, rather than a 0 that is none.
function shortText(x) {
    const text = x.toFixed(2);
    return x !== 0 && Number(text) === 0 ? "" : text;
}

function drawValues(context, {rows, numbers, show, scale}, left) {
    const {i: i0, j: j0, n} = view.from, {top, cell} = frame, {inks} = paletteOf(show), end = Math.min(i0 + n, rows);
    if (cell < VALUE_LEAST || hidesNumbers())
        return;
    context.font = fontOf(cell < 38 ? 10 : cell < 110 ? 12 : 16);
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let i = i0; i < end; i++) {
        if (show === "written" && !hasWritten(i))
            continue;
        for (let j = Math.max(j0, firstSeen(view.layer, i)); j <= i && j < j0 + n; j++) {
            const x = numbers[rowStart(i) + j], text = Number.isNaN(x) ? "" : shortText(x);
            context.fillStyle = inks[stepOf(placeOf(scale, x))];
            if (context.measureText(text).width <= cell - 2)
                context.fillText(text, left + (j - j0 + 0.5) * cell, top + (i - i0 + 0.5) * cell);
        }
    }
}

// ---- its axes

const axisStep = () => Math.max(1, Math.ceil(LABEL_STEP * largeness() / frame.cell));

// Call draw(t) with the pen at the end of token t's label.
function atLabel(context, side, left, first, t, draw) {
    const {top, cell} = frame, along = (t - first + 0.5) * cell;
    context.save();
    context.textAlign = side === "left" ? "right" : "left";
    context.textBaseline = "middle";
    context.translate(side === "left" ? left - 5 : left + along, side === "left" ? top + along : top - 5);
    context.rotate(side === "left" ? 0 : -Math.PI / 2);
    draw();
    context.restore();
}

function drawLabel(context, side, nth, first, t, chosen) {
    atLabel(context, side, frame.lefts[nth], first, t, () => {
        context.fillStyle = styleOf(chosen ? "--ink" : "--faint");
        context.font = (chosen ? "bold " : "") + fontOf(12);
        context.fillText(fit(context, axisLabel(t, side === "left" ? 2 : nth), frame[side] - 8), 0, 0);
    });
}

// Of the nth map: labels where there is room; the pointed token's takes it from its neighbours.
function drawAxis(context, side, nth, first, at) {
    const chosen = clamp(at, first, first + view.from.n - 1); // a word may be outside the map
    for (let t = first; t < Math.min(first + view.from.n, T); t += axisStep())
        if (Math.abs(t - chosen) * frame.cell >= LABEL_STEP * largeness())
            drawLabel(context, side, nth, first, t, false);
    drawLabel(context, side, nth, first, chosen, true);
}

// What the axes are, in the corner between them.
function drawCorner(context) {
    context.font = fontOf(12);
    context.fillStyle = styleOf("--faint");
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    context.fillText("key →", 1, 12 * largeness());
    context.fillText("query ↓", 1, 28 * largeness());
}

// ---- the cursor: black around white, which is seen on any colour

function twoTone(context, x, y, width, height) {
    context.lineWidth = 1;
    for (const [out, color] of [[0.5, "#fff"], [1.5, "#000"]]) {
        context.strokeStyle = color;
        context.strokeRect(x - out, y - out, width + 2 * out, height + 2 * out);
    }
}

// The chosen cell has a box; two bands meet where the pointer is, or else there too.
function drawCursor(context, left) {
    const {top, size, cell} = frame, shown = Math.max(Math.round(cell), 3), {i, j} = pointed();
    const x = (at) => Math.round(left + (at - view.from.j + 0.5) * cell - shown / 2);
    const y = (at) => Math.round(top + (at - view.from.i + 0.5) * cell - shown / 2);
    context.save();
    context.beginPath();
    context.rect(left - 2, top - 2, size + 4, size + 4);
    context.clip();
    context.globalAlpha = 0.45;
    twoTone(context, left, y(i), size, shown);
    twoTone(context, x(j), top, shown, size);
    context.globalAlpha = 1;
    twoTone(context, x(view.j), y(view.i), shown, shown);
    context.restore();
}

// ---- drawing: what the cursor does not change is kept

const base = document.createElement("canvas");
let baseKey = "";

function drawBase(maps, ratio) {
    const context = base.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = styleOf("--paper");
    context.fillRect(0, 0, base.width, base.height);
    maps.forEach((map, nth) => {
        drawCells(context, map, frame.lefts[nth], ratio);
        drawValues(context, map, frame.lefts[nth]);
    });
    drawCorner(context);
}

function nameMap() {
    byId("map").setAttribute("aria-label", isSided() ? say("{0}: {1} of {2}, of {3}, and their difference: {4} queries by {4} keys",
        sidesTitle(), say(QUANTITY[sideShow()][1]), sideName(0), sideName(1), T) : say("attention of layer {0}, head {1}: {2} of {3} queries by {3} keys",
        view.layer, view.head, say(QUANTITY[mapShow()][1]), T));
}

// Returns whether anything but the cursor has changed.
function drawMap(head, maps) {
    const canvas = byId("map"), ratio = window.devicePixelRatio || 1, room = roomFor(), {i, j, n} = view.from;
    const key = [language, hidesNumbers(), which, view.layer, view.head, view.show, view.kind, head.name, i, j, n, ...maps.map(({name, rows}) => name + rows), isDark(), largeness(), room.width,
        room.height, ratio].join();
    const changed = key !== baseKey;
    if (changed) {
        layOut(base.getContext("2d"), room, maps.length);
        const width = Math.ceil(frame.lefts.at(-1) + frame.size + EDGE), height = Math.ceil(frame.top + frame.size + EDGE);
        canvas.width = base.width = Math.round(width * ratio);
        canvas.height = base.height = Math.round(height * ratio);
        canvas.style.width = `${width}px`;
        canvas.style.height = `${height}px`;
        canvas.classList.toggle("zoomed", n < T); // then a finger moves the map, not the page
        drawBase(maps, ratio);
        nameMap();
        baseKey = key;
    }
    const context = canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(base, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawAxis(context, "left", 0, view.from.i, pointed().i);
    frame.lefts.forEach((left, nth) => {
        drawAxis(context, "top", nth, view.from.j, pointed().j);
        drawCursor(context, left);
    });
    return changed;
}

// ---- the colour scale, with its range

// Numbers at the ends and between, in as many digits as a bar so wide has room for; else in fewer places.
function legendTexts(scale, bar, widthOf) {
    if (scale.high === scale.low) // a difference that is 0 everywhere
        return ["", "", "0", "", ""];
    const texts = (digits) => [0, 0.25, 0.5, 0.75, 1].map((place) => textOf(numberAt(scale, place), digits));
    const fit = (all) => Math.max(...all.map(widthOf)) <= Math.min(bar / 4 - 6, 56); // a half is left of the bar
    const all = [4, 3, 2].map(texts).find(fit) ?? texts(2).map((text, n) => n % 2 === 0 ? text : "");
    if (scale.low === 0 && scale.high < 1)
        all[4] += "+"; // what is greater looks the same
    if (scale.kind === "log")
        all[0] = "≤" + all[0]; // what is less looks the same
    return all;
}

// Of a map, in a canvas, at most so wide.
function drawLegend(canvas, {show, scale}, most) {
    const large = largeness(), ratio = large * (window.devicePixelRatio || 1);
    const width = Math.min(most / large, 480), bar = width - 124, height = 44;
    const {colors} = paletteOf(show);
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width * large}px`;
    canvas.style.height = `${height * large}px`;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = "12px system-ui, sans-serif"; // as large as the legend
    context.textBaseline = "top";
    for (let x = 0; x < bar; x++) {
        context.fillStyle = colors[stepOf(x / (bar - 1))];
        context.fillRect(28 + x, 2, 1.5, 14);
    }
    context.strokeStyle = styleOf("--line");
    context.strokeRect(27.5, 1.5, bar + 1, 15);
    context.fillStyle = styleOf("--ink");
    context.textAlign = "center";
    const widthOf = (text) => context.measureText(text).width, numbers = legendTexts(scale, bar, widthOf);
    numbers.forEach((text, n) => {
        context.fillRect(28 + Math.round(n * (bar - 1) / 4), 16, 1, 4);
        context.fillText(text, Math.max(28 + n * (bar - 1) / 4, widthOf(text) / 2 + 1), 23);
    });
    context.fillStyle = hatch(context, 1);
    context.fillRect(width - 72, 2, 18, 14);
    context.fillStyle = styleOf("--ink");
    context.textAlign = "left";
    context.fillText(say("masked"), width - 49, 3);
    canvas.setAttribute("aria-label", say("colours: {0} from {1} to {2}; hatched: masked", say(QUANTITY[show][0]),
        numbers[0] || "0", numbers[4] || "0"));
}
