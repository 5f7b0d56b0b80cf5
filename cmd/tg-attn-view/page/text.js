// The text: its tokens as words, coloured by the numbers of a row or of a column.

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

// A text with the plurals of things of which there may be one: each number's word is the one after it.
const plural = (text, ...numbers) => numbers.reduce((made, n, at) =>
    language === "en" && n === 1 ? made.replace(new RegExp(`(\\{${at}\\} \\w+)s\\b`), "$1") : made, text);

const sayCount = (text, n) => say(plural(text, n), n);

function element(tag, text, attributes = {}) {
    const made = document.createElement(tag);
    made.textContent = text;
    for (const [name, value] of Object.entries(attributes))
        made.setAttribute(name, value);
    return made;
}

// ---- characters that several tokens share

// The bytes that a label stands for; its escapes are those of tg-attn-dump.
function bytesOf(label) {
    const bytes = [], encoder = new TextEncoder();
    const parts = /\\x([0-9A-F]{2})|\\u([0-9A-F]{4})|\\U([0-9A-F]{8})|\\([nt\\])|[^]/gu;
    for (const [text, byte, short, long, letter] of label.matchAll(parts)) {
        if (byte)
            bytes.push(parseInt(byte, 16));
        else if (short || long)
            bytes.push(...encoder.encode(String.fromCodePoint(parseInt(short || long, 16) % 0x110000)));
        else
            bytes.push(...encoder.encode(letter === "n" ? "\n" : letter === "t" ? "\t" : letter || text));
    }
    return bytes;
}

// The character that begins at bytes[at]; "" if none does.
function characterAt(bytes, at) {
    const first = bytes[at], length = first < 0xC2 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    try {
        return new TextDecoder("utf-8", {fatal: true}).decode(Uint8Array.from(bytes.slice(at, at + length)));
    } catch {
        return "";
    }
}

// For each token the characters of which it is only a part; and groups: the runs of tokens that such
// characters tie together, as {first, end, text}.
function findShared() {
    const bytes = [], owner = [], shared = Array.from({length: T}, () => new Set());
    const tied = new Array(T + 1).fill(false), groups = []; // tied[t]: to t - 1
    for (let t = 0; dump.tokens && t < T; t++) {
        const own = bytesOf(tokenAt(t));
        bytes.push(...own);
        owner.push(...own.map(() => t));
    }
    for (let at = 0, n; at < bytes.length; at += n) {
        const character = bytes[at] < 0xC2 ? "" : characterAt(bytes, at);
        n = Math.max(new TextEncoder().encode(character).length, 1);
        for (let m = at; n > 1 && owner[at] < owner[at + n - 1] && m < at + n; m++) {
            shared[owner[m]].add(character);
            tied[owner[m]] ||= owner[m] > owner[at];
        }
    }
    for (let first = 0, end; first < T; first = end) {
        for (end = first + 1; tied[end]; end++);
        if (end > first + 1)
            groups.push({first, end, text: new TextDecoder().decode(
                Uint8Array.from(bytes.filter((_, at) => owner[at] >= first && owner[at] < end)))});
    }
    return {shared, groups};
}

let {shared, groups} = findShared();

// ", part of “文”", or nothing.
function sharedBy(t) {
    const names = [...shared[t]].map((c) => /[\p{L}\p{N}\p{P}\p{S}]/u.test(c) ? `“${c}”`
        : "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0"));
    return names.length > 0 ? say(", part of {0}", names.join(say(" and "))) : "";
}

const quoted = (t) => dump.tokens ? ` “${labelAt(t)}”` : "";

// ---- words

let words = []; // an element for each token

// A group's characters, with its tokens under them; the pointer on them means the last token.
function nameGroup(group) {
    group.glyph = element("span", group.text, {class: "glyph"});
    group.glyph.dataset.t = group.end - 1;
    for (let t = group.first; t < group.end; t++)
        words[t].textContent = labelAt(t).replaceAll("\\x", "");
}

function makeWords() {
    words = Array.from({length: T}, (_, t) => {
        const word = element("span", dump.tokens ? tokenAt(t) : String(t), {class: "token"});
        word.dataset.t = t;
        return word;
    });
    groups.forEach(nameGroup);
}

function makeGroup({first, end, glyph}) {
    const made = element("span", "", {class: "character"}), parts = element("span", "", {class: "parts"});
    parts.append(...words.slice(first, end));
    made.append(glyph, parts);
    return made;
}

function makeText() {
    makeWords();
    byId("text").replaceChildren();
    const alone = new Set(words.keys()), byFirst = new Map(groups.map((group) => [group.first, group]));
    for (const {first, end} of groups)
        for (let t = first; t < end; t++)
            alone.delete(t);
    const longest = Math.max(0, ...[...alone].map((t) => [...words[t].textContent].length));
    byId("text").classList.toggle("pieces", longest > "\\x00".length); // tokens are not bytes
    for (const [t, word] of words.entries()) {
        if (byFirst.has(t))
            byId("text").append(makeGroup(byFirst.get(t)));
        else if (alone.has(t))
            byId("text").append(word);
        if (!dump.tokens)
            byId("text").append(" ");
        else if (tokenAt(t).endsWith("\\n"))
            byId("text").append(element("br", ""));
    }
    byId("text").append(element("canvas", "", {id: "lines", "aria-hidden": "true"}));
}

// ---- their colours

// The number that a token's background stands for; NaN: masked.
function wordNumber(head, t) {
    const [i, j] = view.way === "row" ? [pointed().i, t] : [t, pointed().j];
    return j > i || i >= head.rows ? NaN : head[mapShow()][rowStart(i) + j];
}

function titleOf(head, t) {
    const x = wordNumber(head, t);
    return `${t}${quoted(t)}${dump.ids ? `, id ${dump.ids[t]}` : ""}${sharedBy(t)}: ` +
        (Number.isNaN(x) ? say("masked") : storedText(x));
}

const wordSteps = new Map(); // of each word or glyph, as it is painted; -1: masked

function paintWord(word, step, {colors, inks}) {
    if (wordSteps.get(word) === step)
        return;
    wordSteps.set(word, step);
    word.style.backgroundColor = step < 0 ? "" : colors[step];
    word.style.color = step < 0 ? "" : inks[step];
    word.classList.toggle("masked", step < 0);
}

// ---- lines from a word to those that it attends to most, or from a key's word to those that attend to it

const LINES = 5, LINE_LEAST = 0.04; // lines at most, and the least probability of one

// The words at the other ends, the most probable first: [token, probability].
function endsOf(head) {
    const {i, j} = pointed(), {probs} = head, row = view.way === "row", ends = [];
    for (let t = row ? 0 : j; t < (row ? i + 1 : head.rows); t++) {
        const p = row ? probs[rowStart(i) + t] : probs[rowStart(t) + j];
        if (p >= LINE_LEAST && t !== (row ? i : j))
            ends.push([t, p]);
    }
    return ends.sort((a, b) => b[1] - a[1]).slice(0, LINES);
}

// The middle of a word's lower edge, in the box of the text as it scrolls.
function footOf(word, box, outer) {
    const {left, width, bottom} = word.getBoundingClientRect();
    return [left + width / 2 - outer.left + box.scrollLeft - box.clientLeft, bottom - outer.top + box.scrollTop - box.clientTop];
}

let drawn = ""; // what the lines show
let textWidth = 0; // of the box, as of the last change of the window

// Draw from one foot to others, each with its probability, on a canvas no larger than that.
function drawCurves(canvas, [x, y], ends) {
    const xs = [x, ...ends.map(([to]) => to)], ys = [y, ...ends.map(([, at]) => at)], ratio = window.devicePixelRatio || 1;
    const left = Math.min(...xs) - 3, top = Math.min(...ys) - 3;
    const width = Math.max(...xs) + 3 - left, height = Math.max(...ys) + 10 - top;
    canvas.width = Math.ceil(width * ratio);
    canvas.height = Math.ceil(height * ratio);
    Object.assign(canvas.style, {left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px`});
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, -left * ratio, -top * ratio);
    pen.strokeStyle = styleOf("--ink");
    for (const [to, at, p] of ends) {
        const dip = at === y ? Math.min(9, 3 + Math.abs(to - x) / 30) : 0;
        pen.globalAlpha = 0.25 + 0.75 * p;
        pen.lineWidth = 1 + 1.5 * p;
        pen.beginPath();
        pen.moveTo(x, y);
        pen.bezierCurveTo(x, y + dip, to, at + dip, to, at);
        pen.stroke();
    }
}

function drawLines(head) {
    const box = byId("text"), canvas = byId("lines"), {i, j} = pointed(), ends = endsOf(head);
    canvas.hidden = ends.length === 0;
    if (canvas.hidden)
        return;
    const outer = box.getBoundingClientRect(), foot = (t) => footOf(words[t], box, outer);
    drawCurves(canvas, foot(view.way === "row" ? i : j), ends.map(([t, p]) => [...foot(t), p]));
}

let linesTimer = 0;

// Once nothing moves: a movement is quick, and has no lines.
function linesLater(head) {
    const {i, j} = pointed();
    const key = [which, view.layer, view.head, head.name, view.way, i, j, head.rows, isDark(), textWidth, largeness()].join();
    if (key === drawn || i >= head.rows)
        return;
    drawn = key;
    byId("lines").hidden = true;
    clearTimeout(linesTimer);
    linesTimer = setTimeout(drawLines, 60, head);
}

let marked = []; // the words of the pointed query and key

function markWords() {
    const {i, j} = pointed(), now = [words[i], words[j]];
    if (marked[0] === now[0] && marked[1] === now[1])
        return;
    marked[0]?.classList.remove("query");
    marked[1]?.classList.remove("key");
    now[0].classList.add("query");
    now[1].classList.add("key");
    marked = now;
    keepWordInSight();
}

const keepWordInSight = () => keepInSight(byId("text"), words[view.way === "row" ? pointed().i : pointed().j]);

function showText(head) {
    const scale = mapScale(head), palette = paletteOf(mapShow()), steps = new Int16Array(T);
    for (const [t, word] of words.entries()) {
        const x = wordNumber(head, t);
        steps[t] = Number.isNaN(x) ? -1 : stepOf(placeOf(scale, x));
        paintWord(word, steps[t], palette);
    }
    for (const {first, end, glyph} of groups) // the strongest of its tokens
        paintWord(glyph, steps.subarray(first, end).reduce((a, b) => strength(b) > strength(a) ? b : a), palette);
    markWords();
    linesLater(head);
}

// The tokens are others.
function remakeText() {
    ({shared, groups} = findShared());
    wordSteps.clear();
    marked = [];
    drawn = "";
    makeText();
}

// How far a step is from the paper's colour.
const strength = (step) => step < 0 ? -1 : mapShow() === "probs" ? step : Math.abs(step - STEPS / 2);

// The colours of words must be set again: those of the steps have changed.
const forgetColors = () => wordSteps.clear();

// A box scrolls with what is chosen in it, unless the pointer is there.
function keepInSight(box, chosen) {
    const outer = box.getBoundingClientRect(), inner = chosen.getBoundingClientRect();
    if (!box.matches(":hover") && (inner.top < outer.top || inner.bottom > outer.bottom))
        box.scrollTop += inner.top - outer.top - box.clientHeight / 2;
}
