// The page: controls, the panel, the text, pointer and keys.

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

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

// For each token the characters of which it is only a part.
function findShared() {
    const bytes = [], owner = [], shared = Array.from({length: T}, () => new Set());
    for (let t = 0; dump.tokens && t < T; t++) {
        const own = bytesOf(tokenAt(t));
        bytes.push(...own);
        owner.push(...own.map(() => t));
    }
    for (let at = 0, n; at < bytes.length; at += n) {
        const character = bytes[at] < 0xC2 ? "" : characterAt(bytes, at);
        n = Math.max(new TextEncoder().encode(character).length, 1);
        for (let m = at; n > 1 && owner[at] < owner[at + n - 1] && m < at + n; m++)
            shared[owner[m]].add(character);
    }
    return shared;
}

const shared = findShared();

// ", part of “文”", or nothing.
function sharedBy(t) {
    const names = [...shared[t]].map((c) => /[\p{L}\p{N}\p{P}\p{S}]/u.test(c) ? `“${c}”`
        : "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0"));
    return names.length > 0 ? `, part of ${names.join(" and ")}` : "";
}

// ---- the panel: facts about a cell, and its trace

function setRows(table, rows) {
    table.tBodies[0].replaceChildren(...rows.map(([name, ...cells]) => {
        const row = element("tr", "");
        row.append(element("th", name, {scope: "row"}), ...cells.map((text) => element("td", text)));
        return row;
    }));
}

const quoted = (t) => dump.tokens ? ` “${labelAt(t)}”` : "";

function basesOf({i, j, head: h}) {
    const formula = (t, letter) => dump.layout === "bhtd"
        ? [`((b·H + h)·T + ${letter})·D`, `((${b}·${H} + ${h})·${T} + ${t})·${D}`]
        : [`((b·T + ${letter})·H + h)·D`, `((${b}·${T} + ${t})·${H} + ${h})·${D}`];
    return [["q_base", i, "i"], ["k_base", j, "j"]].map(([name, t, letter]) => {
        const [symbols, numbers] = formula(t, letter);
        return [name, String(baseOf(t, h)), `= ${symbols} = ${numbers}`];
    });
}

function showFacts(row) {
    const {i, j, head: h, layer} = view, masked = j > i;
    const id = (t) => (dump.ids ? ` — id ${dump.ids[t]}` : "") + sharedBy(t);
    setRows(byId("facts"), [
        ["query i", String(i), quoted(i) + id(i)],
        ["key j", String(j), quoted(j) + id(j)],
        ["layer, head", `${layer}, ${h}`, `h.${layer}; sequence b = ${b} of ${B}`],
        ...basesOf(view),
        ["offset", String(offsetOf(h, i, j)),
            `= ((b·H + h)·T + i)·T + j = ((${b}·${H} + ${h})·${T} + ${i})·${T} + ${j}`],
        ["score", masked ? MASKED : textOf(Math.fround(row.scores[j])),
            masked ? "" : "as float32"],
        ["mask", masked ? "1" : "0", masked ? "j > i: the score stands for “not looked at”" : "j ≤ i"],
        ["probability", masked ? "0" : textOf(Math.fround(row.probs[j])), masked ? "" : "as float32"],
    ]);
}

// Every product, with where both factors lie and what they are.
function showTerms() {
    const {i, j, head: h, layer} = view, {q, k} = layerOf(layer);
    const body = byId("terms").querySelector("tbody"), rows = [];
    let sum = 0;
    for (let d = 0; j <= i && d < D; d++) {
        const x = q[localBase(i, h) + d], y = k[localBase(j, h) + d], row = element("tr", "");
        sum += x * y;
        row.append(...[d, baseOf(i, h) + d].map((n) => element("td", String(n))), element("td", textOf(x)),
            element("td", String(baseOf(j, h) + d)), ...[y, x * y, sum].map((n) => element("td", textOf(n))));
        rows.push(row);
    }
    body.replaceChildren(...rows);
    return sum;
}

function showSteps(row, sum) {
    const {i, j} = view;
    if (j > i) {
        setRows(byId("steps"), [["masked", `j = ${j} is after i = ${i}: nothing is computed; the score is ` +
            `${MASKED} (dump/mask), the probability 0`]]);
        return;
    }
    const score = row.scores[j], greatest = row.scores.indexOf(row.max), e = Math.exp(score - row.max);
    setRows(byId("steps"), [
        ["sum", `${textOf(sum)}`],
        ["scale", `1/√D = 1/√${D} = ${textOf(1 / Math.sqrt(D))}`],
        ["score", `sum/√D = ${textOf(score)}`],
        ["max", `of the row: ${textOf(row.max)}, at key ${greatest}${quoted(greatest)}`],
        ["exponential", `exp(score \u2212 max) = ${textOf(e)}`],
        ["their sum", `over j = 0 to ${i}: ${textOf(row.sum)}`],
        ["probability", `${textOf(e)} / ${textOf(row.sum)} = ${textOf(row.probs[j])}`],
    ]);
}

function showCell() {
    const {i, j, head, layer} = view, row = rowOf(layer, head, i);
    showFacts(row);
    showSteps(row, showTerms());
    byId("pin").textContent = view.held ? "(held: click or Enter releases it)" : "";
    byId("said").textContent = `query ${i}${quoted(i)}, key ${j}${quoted(j)}: ` + (j > i ? "masked"
        : `score ${textOf(row.scores[j], 5)}, probability ${textOf(row.probs[j], 5)}`);
}

// ---- the text

const words = Array.from({length: T}, (_, t) => {
    const word = element("span", dump.tokens ? tokenAt(t) : String(t), {class: "token"});
    word.dataset.t = t;
    return word;
});

function makeText() {
    const longest = Math.max(...words.map((word) => [...word.textContent].length));
    byId("text").classList.toggle("pieces", longest > "\\x00".length); // tokens are not bytes
    for (const [t, word] of words.entries()) {
        byId("text").append(word);
        if (!dump.tokens)
            byId("text").append(" ");
        else if (tokenAt(t).endsWith("\\n"))
            byId("text").append(element("br", ""));
    }
}

// The number that a token's background stands for; NaN: masked.
function wordNumber(head, t) {
    const [i, j] = view.way === "row" ? [view.i, t] : [t, view.j];
    return j > i || i >= head.rows ? NaN : head[view.show][rowStart(i) + j];
}

function showText(head) {
    const scale = scaleOf(head);
    for (const [t, word] of words.entries()) {
        const x = wordNumber(head, t), step = Number.isNaN(x) ? -1 : stepOf(placeOf(scale, x));
        word.style.backgroundColor = step < 0 ? "" : colors[step];
        word.style.color = step < 0 ? "" : inks[step];
        word.className = "token" + (step < 0 ? " masked" : "") + (t === view.i ? " query" : "") +
            (t === view.j ? " key" : "");
        word.title = `${t}${quoted(t)}${dump.ids ? `, id ${dump.ids[t]}` : ""}${sharedBy(t)}: ` +
            (step < 0 ? "masked" : textOf(x, 5));
    }
    keepInSight(byId("text"), words[view.way === "row" ? view.i : view.j]);
}

// A box scrolls with what is chosen in it, unless the pointer is there.
function keepInSight(box, chosen) {
    const outer = box.getBoundingClientRect(), inner = chosen.getBoundingClientRect();
    if (!box.matches(":hover") && (inner.top < outer.top || inner.bottom > outer.bottom))
        box.scrollTop += inner.top - outer.top - box.clientHeight / 2;
}

// ---- drawing when something has changed, and the thumbnails when nothing has

const thumbs = [];
let dirty = false;

function refresh() {
    if (dirty)
        return;
    dirty = true;
    requestAnimationFrame(draw);
}

function draw() {
    const head = headOf(view.layer, view.head), done = head.work(performance.now() + 40);
    dirty = false;
    byId("title").textContent = `Layer ${view.layer}, head ${view.head}: ` +
        (view.show === "probs" ? "probabilities" : "scores") +
        (view.from.n < T ? ` (${view.from.n} of ${T} tokens)` : "");
    drawMap(head);
    drawLegend(head);
    showText(head);
    showCell();
    for (const thumb of thumbs) {
        const chosen = thumb.layer === view.layer && thumb.h === view.head, button = thumb.canvas.parentNode;
        button.setAttribute("aria-pressed", String(chosen));
        if (chosen)
            keepInSight(byId("heads"), button);
    }
    if (!done)
        refresh();
}

const later = window.requestIdleCallback || ((work) => setTimeout(() => work({timeRemaining: () => 20}), 30));

// The shown layer's heads first.
function nextThumb() {
    const open = thumbs.filter((thumb) => thumb.rows < T);
    return open.find((thumb) => thumb.layer === view.layer) || open[0];
}

function workOnThumbs(idle) {
    const end = performance.now() + clamp(idle.timeRemaining(), 5, 40);
    let next = nextThumb();
    for (; next && performance.now() < end; next = nextThumb())
        if (next.work(end))
            next.draw();
    if (next)
        later(workOnThumbs);
}

// ---- moving

function showWindow(n) {
    const size = clamp(n, Math.min(T, 4), T);
    const first = (t) => clamp(Math.round(t - size / 2), 0, T - size);
    view.from = {i: first(view.i), j: first(view.j), n: size};
    refresh();
}

function moveTo(i, j) {
    const {from} = view;
    view.i = clamp(i, 0, T - 1);
    view.j = clamp(j, 0, T - 1);
    from.i = clamp(from.i, view.i - from.n + 1, view.i);
    from.j = clamp(from.j, view.j - from.n + 1, view.j);
    refresh();
}

function goTo(layer, h) {
    view.layer = layer;
    view.head = h;
    byId("layer").value = layer;
    byId("head").value = h;
    refresh();
}

function nextLayer(by) {
    const at = dump.layers.indexOf(view.layer) + by;
    goTo(dump.layers[clamp(at, 0, dump.layers.length - 1)], view.head);
}

function setShow(show) {
    view.show = byId("show").value = show;
    byId("scale").disabled = show === "scores"; // which are drawn linearly
    thumbs.forEach((thumb) => thumb.draw());
    refresh();
}

function setWay(way) {
    view.way = way;
    document.querySelector(`input[name=way][value=${way}]`).checked = true;
    refresh();
}

function isDark() {
    const theme = document.documentElement.dataset.theme;
    return theme ? theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
}

function showTheme() {
    byId("theme").textContent = isDark() ? "light" : "dark";
    refresh();
}

function changeTheme() {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    showTheme();
}

function hold(held) {
    view.held = held;
    refresh();
}

// ---- keys

const step = (event) => event.shiftKey ? 10 : 1;
const keys = {
    ArrowUp: (event) => moveTo(view.i - step(event), view.j),
    ArrowDown: (event) => moveTo(view.i + step(event), view.j),
    ArrowLeft: (event) => moveTo(view.i, view.j - step(event)),
    ArrowRight: (event) => moveTo(view.i, view.j + step(event)),
    Home: () => moveTo(view.i, 0),
    End: () => moveTo(view.i, view.i),
    "[": () => goTo(view.layer, clamp(view.head - 1, 0, H - 1)),
    "]": () => goTo(view.layer, clamp(view.head + 1, 0, H - 1)),
    "{": () => nextLayer(-1),
    "}": () => nextLayer(1),
    PageUp: () => nextLayer(-1),
    PageDown: () => nextLayer(1),
    Enter: () => hold(!view.held),
    Escape: () => hold(false),
    "+": () => showWindow(Math.ceil(view.from.n / 2)),
    "=": () => showWindow(Math.ceil(view.from.n / 2)),
    "-": () => showWindow(view.from.n * 2),
    "0": () => showWindow(T),
    s: () => setShow(view.show === "probs" ? "scores" : "probs"),
    t: () => setWay(view.way === "row" ? "column" : "row"),
    d: changeTheme,
    "?": () => byId("help").showModal()
};

function onKey(event) {
    const own = event.target.closest("select, input, button, #terms, dialog");
    const action = keys[event.key];
    if (!action || event.ctrlKey || event.altKey || event.metaKey || byId("help").open)
        return;
    if (own && (event.key === "Enter" || /^(Arrow|Page|Home|End)/.test(event.key)))
        return; // these mean something there
    event.preventDefault();
    action(event);
}

// ---- the pointer

function cellUnder(event) {
    const {left, top, cell, size} = frame, x = event.offsetX - left, y = event.offsetY - top;
    if (x < 0 || y < 0 || x >= size || y >= size)
        return null;
    return {i: view.from.i + Math.floor(y / cell), j: view.from.j + Math.floor(x / cell)};
}

function onPoint(event) {
    const cell = cellUnder(event);
    if (cell && (!view.held || event.type === "click"))
        moveTo(cell.i, cell.j);
    if (cell && event.type === "click")
        hold(!(view.held && cell.i === view.heldAt?.i && cell.j === view.heldAt?.j));
    if (cell && event.type === "click")
        view.heldAt = cell;
}

function onWord(event) {
    const t = Number(event.target.dataset?.t ?? NaN);
    if (Number.isNaN(t))
        return;
    if (view.way === "row")
        moveTo(t, Math.min(view.j, t));
    else
        moveTo(Math.max(view.i, t), t);
    hold(true);
    view.heldAt = {i: view.i, j: view.j};
}

// ---- the start

function makeThumbs() {
    for (const layer of dump.layers) {
        const group = element("div", "", {class: "layer"});
        group.append(element("h2", `layer ${layer}`));
        for (let h = 0; h < H; h++) {
            const button = element("button", "", {type: "button", class: "thumb",
                "aria-label": `layer ${layer}, head ${h}`, title: `layer ${layer}, head ${h}`});
            const canvas = element("canvas", "", {width: 1, height: 1});
            button.append(canvas, element("span", String(h)));
            button.addEventListener("click", () => goTo(layer, h));
            group.append(button);
            thumbs.push(new Thumb(layer, h, canvas));
        }
        byId("heads").append(group);
    }
    byId("heads").classList.toggle("many", MANY);
}

function makeControls() {
    byId("layer").append(...dump.layers.map((layer) => element("option", String(layer))));
    byId("head").append(...Array.from({length: H}, (_, h) => element("option", String(h))));
    byId("scale").value = view.kind;
    byId("layer").addEventListener("change", (event) => goTo(Number(event.target.value), view.head));
    byId("head").addEventListener("change", (event) => goTo(view.layer, Number(event.target.value)));
    byId("show").addEventListener("change", (event) => setShow(event.target.value));
    byId("scale").addEventListener("change", (event) => {
        view.kind = event.target.value;
        setShow(view.show);
    });
    for (const [id, key] of [["zoom-in", "+"], ["zoom-out", "-"], ["zoom-all", "0"], ["theme", "d"],
        ["help-open", "?"]])
        byId(id).addEventListener("click", (event) => keys[key](event));
    for (const radio of document.querySelectorAll("input[name=way]"))
        radio.addEventListener("change", () => setWay(radio.value));
}

function start() {
    document.title = `Attention: ${dump.name}`;
    byId("name").textContent = dump.name;
    const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
    byId("shape").textContent = `${count(T, "token")}, ${count(dump.nLayer, "layer")} of ` +
        `${count(H, "head")}, C = ${C}, D = ${D}` + (B > 1 ? `, sequence ${b} of ${B}` : "") +
        `; q and k lie as ${dump.layout === "bhtd" ? "[B,H,T,D]" : "[B,T,H,D]"}`;
    makeControls();
    makeThumbs();
    makeText();
    byId("map").addEventListener("pointermove", onPoint);
    byId("map").addEventListener("click", onPoint);
    byId("text").addEventListener("click", onWord);
    document.addEventListener("keydown", onKey);
    window.addEventListener("resize", refresh);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
    moveTo(T - 1, 0);
    goTo(view.layer, view.head);
    setShow(view.show);
    showTheme();
    later(workOnThumbs);
}

start();
