// The page: drawing, moving, keys, the pointer, and what the address keeps.

// ---- drawing when something has changed, and the thumbnails when nothing has

const thumbs = [];
let dirty = false;

function refresh() {
    if (dirty)
        return;
    dirty = true;
    requestAnimationFrame(draw);
}

function showTitle() {
    const window = windowOf(view.layer), title = byId("title"), head = `${view.layer}.${view.head}`;
    const name = isSided() ? sidesTitle() : view.of === "one" ? say("Layer {0}, head {1}", view.layer, view.head) : groupTitle();
    const quantity = (window === Infinity || view.of !== "one" ? say(": ") : say(", window {0}: ", window)) +
        say(QUANTITY[isSided() ? sideShow() : mapShow()][1]);
    const base = pinned && view.show === "diff" && !isSided() && view.of === "one" ? `${pinned.layer}.${pinned.head}` : null;
    title.textContent = (base === head ? say("Choose a head to compare with {0}", head)
        : base ? say("Head {0} − head {1}", head, base) : name + quantity) +
        (view.from.n < T ? say(" ({0} of {1} tokens)", view.from.n, T) : "");
    title.title = title.textContent; // which may be cut
}

function draw() {
    if (isBare) {
        dirty = false;
        ({lens: showLens, patch: showPatch, ablation: showAblation})[view.panel]();
        addressLater();
        return;
    }
    layOutSides();
    const head = mapHead(), done = workOnMaps(head, performance.now() + 40), maps = mapsOf(head);
    dirty = false;
    if (drawMap(head, maps)) {
        drawLegends(maps);
        showTitle();
        showChosenHead();
        markHead();
    }
    showCell();
    showHere();
    showSides(maps);
    showText(head);
    document.body.classList.toggle("hides", hidesNumbers());
    addressLater();
    if (!done)
        refresh();
}

const later = window.requestIdleCallback || ((work) => setTimeout(() => work({timeRemaining: () => 8}), 30));

// The shown layer's heads first.
function nextThumb() {
    const open = thumbs.filter((thumb) => thumb.rows < T);
    return open.find((thumb) => thumb.layer === view.layer) || open[0];
}

// In short pieces, so that whoever points does not wait.
function workOnThumbs(idle) {
    const end = performance.now() + clamp(idle.timeRemaining(), 4, 8);
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

const nextHead = (by) => goTo(view.layer, clamp(view.head + by, 0, H - 1));

// After a change of what colours mean.
function recolor() {
    forgetColors();
    thumbs.forEach((thumb) => thumb.draw());
    refresh();
}

function setShow(show) {
    view.show = byId("show").value = show;
    byId("scale").disabled = show !== "probs"; // the others are drawn linearly
    recolor();
}

const nameDump = () => {
    byId("dump-name").textContent = say("{0} of {1}: {2}", which + 1, dumps.length, dumps[which].name);
};

function setDump(nth) {
    const before = which;
    which = clamp(nth, 0, dumps.length - 1);
    byId("dump-number").value = which;
    nameDump();
    if (which === before)
        return;
    if (dumps[which].ids || dumps[before].ids) {
        readTokens();
        remakeText();
    }
    question = null;
    thumbs.forEach((thumb) => thumb.begin()); // again
    showOptions();
    if (!shows().includes(view.show))
        setShow("probs");
    fillMeasures();
    recolor();
    later(workOnThumbs);
}

function showOptions() {
    for (const option of byId("show").options)
        option.hidden = option.disabled = !shows().includes(option.value);
}

const optionOf = (show) => [...byId("show").options].find(({value}) => value === show);

const nameDiff = () => {
    optionOf("diff").textContent = pinned ? say("difference from head {0}", `${pinned.layer}.${pinned.head}`)
        : say("difference from the first");
};

// Compare all heads with this one, or no longer.
function setPinned(head) {
    pinned = head;
    showOptions();
    nameDiff();
    byId("pin").setAttribute("aria-pressed", String(pinned !== null));
    kept.length = 0;
    group = null;
    thumbs.forEach((thumb) => thumb.begin());
    setShow(pinned ? "diff" : "probs");
    later(workOnThumbs);
}

const changePinned = () => setPinned(pinned ? null : {layer: view.layer, head: view.head});

function setScale(kind) {
    view.kind = byId("scale").value = kind;
    recolor();
}

function setWay(way) {
    view.way = way;
    document.querySelector(`input[name=way][value=${way}]`).checked = true;
    refresh();
}

// ---- the theme and the language, which the browser keeps for all pages, if it is allowed to

function keep(what, value) {
    try {
        window.localStorage.setItem(`tg-attn-view ${what}`, value);
    } catch { /* it lasts as long as the page */ }
}

// Which of these was kept; undefined: none.
function keptOf(what, ...all) {
    try {
        const value = window.localStorage.getItem(`tg-attn-view ${what}`);
        return all.find((one) => one === value);
    } catch {
        return undefined;
    }
}

function showTheme() {
    byId("theme").textContent = say(isDark() ? "light" : "dark");
    recolor();
}

function changeTheme() {
    const theme = document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    keep("theme", theme);
    showTheme();
}

function setLarge(large) {
    isLarge = large;
    document.documentElement.toggleAttribute("data-large", large);
    byId("largeness").setAttribute("aria-pressed", String(large));
    onResize();
}

function restoreTheme() {
    const theme = keptOf("theme", "light", "dark");
    if (theme)
        document.documentElement.dataset.theme = theme;
}

function setLanguage(wanted) {
    language = document.documentElement.lang = wanted;
    byId("language").textContent = wanted === "en" ? "中文" : "English";
    sayStated();
    nameDiff();
    sayQuestion();
    describe();
    nameHeads();
    nameDump();
    namePatches();
    if (!isBare)
        sizeCards();
    if (measured.length > 0)
        orderHeads();
    showTheme();
}

function changeLanguage() {
    setLanguage(language === "en" ? "zh" : "en");
    keep("language", language);
}

// The one that was chosen here, or else the browser's.
const firstLanguage = () => keptOf("language", "en", "zh") ?? (window.navigator.language.startsWith("zh") ? "zh" : "en");

// ---- keys, while the map has the focus, and where all parts are in view, everywhere else that has no use for them

const step = (event) => event.shiftKey ? 10 : 1;
const keys = {
    ArrowUp: (event) => moveTo(view.i - step(event), view.j),
    ArrowDown: (event) => moveTo(view.i + step(event), view.j),
    ArrowLeft: (event) => moveTo(view.i, view.j - step(event)),
    ArrowRight: (event) => moveTo(view.i, view.j + step(event)),
    Home: () => moveTo(view.i, 0),
    End: () => moveTo(view.i, view.i),
    "[": () => nextHead(-1),
    "]": () => nextHead(1),
    "{": () => nextLayer(-1),
    "}": () => nextLayer(1),
    "+": () => showWindow(Math.ceil(view.from.n / 2)),
    "=": () => showWindow(Math.ceil(view.from.n / 2)),
    "-": () => showWindow(view.from.n * 2),
    "0": () => showWindow(T),
    s: () => setShow(shows()[(shows().indexOf(view.show) + 1) % shows().length]),
    c: changePinned,
    b: changeSides,
    "<": () => setDump(which - 1),
    ">": () => setDump(which + 1),
    t: () => setWay(view.way === "row" ? "column" : "row"),
    d: changeTheme,
    l: () => setLarge(largeness() === 1),
    ".": () => goToCard(view.card + 1),
    ",": () => goToCard(view.card - 1),
    "?": () => byId("help").showModal()
};

function onKey(event) {
    const action = keys[event.key];
    if (!action || event.ctrlKey || event.altKey || event.metaKey)
        return;
    event.preventDefault();
    byId("said").setAttribute("aria-live", "polite"); // but not what the pointer does
    action(event);
}

// Fields have their own use of all keys, and what scrolls of those that move.
const OWN_KEYS = "dialog, select, input:not([type=radio], [type=range])";

function onPageKey(event) {
    const {target, key, defaultPrevented} = event, moves = /^(Arrow|Home|End)/.test(key);
    if (defaultPrevented || !windowed.matches || isBare || target.closest(OWN_KEYS))
        return;
    if (!moves || target === document.body || target.closest("button"))
        onKey(event);
}

// ---- the pointer

function cellUnder(event) {
    const {top, cell, size} = frame, x = event.offsetX - leftAt(event.offsetX), y = event.offsetY - top;
    if (x < 0 || y < 0 || x >= size || y >= size)
        return null;
    return {i: view.from.i + Math.floor(y / cell), j: view.from.j + Math.floor(x / cell)};
}

// The pointer shows where it is; a click chooses the cell.  On its way to the panel it changes nothing there.
function point(event, cell) {
    byId("said").setAttribute("aria-live", "off");
    view.here = cell;
    if (cell && event.type === "click")
        moveTo(cell.i, cell.j);
    refresh();
}

function onMap(event) {
    if (event.type === "click" ? dragged : gesture(event))
        return;
    point(event, cellUnder(event));
}

function onWord(event) {
    const t = Number(event.target.dataset.t ?? NaN);
    if (Number.isNaN(t))
        return;
    point(event, view.way === "row" ? {i: t, j: clamp(view.j, firstSeen(view.layer, t), t)}
        : {i: clamp(view.i, t, t + windowOf(view.layer) - 1), j: t});
    event.target.title = titleOf(mapHead(), t);
}

// ---- the heads: a row per layer, a column per head

function showChosenHead() {
    for (const {layer, h, button} of thumbs) {
        const chosen = layer === view.layer && h === view.head;
        if (button.getAttribute("aria-pressed") === String(chosen))
            continue;
        button.setAttribute("aria-pressed", String(chosen));
        button.tabIndex = chosen ? 0 : -1; // one stop for the tab key; arrows go on from there
        if (chosen)
            keepInSight(byId("heads"), button);
    }
}

const headMoves = {ArrowUp: () => nextLayer(-1), ArrowDown: () => nextLayer(1),
    ArrowLeft: () => nextHead(-1), ArrowRight: () => nextHead(1)};

function onHeadKey(event) {
    if (!headMoves[event.key])
        return;
    event.preventDefault();
    headMoves[event.key]();
    showChosenHead();
    thumbs.find(({layer, h}) => layer === view.layer && h === view.head).button.focus();
}

function makeThumb(layer, h) {
    const button = element("button", "", {type: "button", class: "thumb", tabindex: -1, "aria-pressed": "false",
        "data-name": `${layer}.${h}`});
    const canvas = button.appendChild(element("canvas", "", {width: 1, height: 1}));
    button.addEventListener("click", () => goTo(layer, h));
    thumbs.push(Object.assign(new Thumb(layer, h, canvas), {button}));
    return button;
}

// In the page's language, as the table's rows.
function nameHeads() {
    for (const {layer, h, button} of thumbs) {
        button.title = say("layer {0}, head {1}", layer, h) + (KV < H ? say(", key head {0}", keyHeadOf(h)) : "");
        button.setAttribute("aria-label", button.title);
    }
    for (const {layer, h, line} of measured)
        line.cells[0].firstChild.setAttribute("aria-label", say("layer {0}, head {1}", layer, h));
}

function makeThumbs() {
    const grid = element("div", "", {class: "heads", id: "thumbs"});
    grid.style.setProperty("--heads", H);
    grid.append(element("span", ""), ...Array.from({length: H}, (_, h) => element("span", String(h))));
    for (const layer of dump.layers)
        grid.append(element("span", String(layer), {class: "layer"}),
            ...Array.from({length: H}, (_, h) => makeThumb(layer, h)));
    byId("heads").append(element("h2", "Heads"), grid, element("p", "Layers down, heads across.", {id: "order"}));
    byId("heads").addEventListener("keydown", onHeadKey);
}

// Small enough for all heads of a layer to be in a row.
function sizeThumbs() {
    const room = windowed.matches ? window.innerWidth * 0.27 : window.innerWidth - 24;
    const size = clamp(Math.floor((room - 30) / H) - 6, 12, 46);
    byId("heads").style.setProperty("--thumb", `${size}px`);
    byId("heads").classList.toggle("small", size < Math.min(T, THUMB));
}

// ---- the start

function makeControls() {
    byId("layer").append(...dump.layers.map((layer) => element("option", String(layer))));
    byId("head").append(...Array.from({length: H}, (_, h) => element("option", String(h))));
    byId("layer").addEventListener("change", (event) => goTo(Number(event.target.value), view.head));
    byId("head").addEventListener("change", (event) => goTo(view.layer, Number(event.target.value)));
    byId("show").addEventListener("change", (event) => setShow(event.target.value));
    showOptions();
    byId("pin").addEventListener("click", changePinned);
    byId("sided").addEventListener("click", changeSides);
    byId("dump-number").addEventListener("input", (event) => setDump(event.target.valueAsNumber));
    byId("scale").addEventListener("change", (event) => setScale(event.target.value));
    for (const [id, key] of [["zoom-in", "+"], ["zoom-out", "-"], ["zoom-all", "0"], ["theme", "d"],
        ["largeness", "l"], ["help-open", "?"]])
        byId(id).addEventListener("click", (event) => keys[key](event));
    for (const button of byId("arrows").children)
        button.addEventListener("click", (event) => keys[button.dataset.key](event));
    byId("language").addEventListener("click", changeLanguage);
    for (const [what, make] of Object.entries(copies))
        byId(`copy-${what}`).addEventListener("click", () => copy(make(), what));
    for (const radio of document.querySelectorAll("input[name=way]"))
        radio.addEventListener("change", () => setWay(radio.value));
}

// As wide as the greatest numbers need.
function sizeTerms() {
    const {style} = byId("terms").querySelector("table"), digits = (n) => `${String(n).length + 0.7}ch`;
    style.setProperty("--d", digits(D));
    style.setProperty("--at", digits(Math.max(baseOf(T - 1, H - 1) + D - 1, 9999)));
}

const layoutOf = (heads) => dump.layout === "bhtd" ? `[B,${heads},T,D]` : `[B,T,${heads},D]`;

// The names of files, or of the first and the last of many.
const namesOf = (files) => files.length > 2 ? say("{0} to {1}", files[0].name, files.at(-1).name) : files.map(({name}) => name).join(", ");

function describe() {
    const names = dump.title ?? namesOf(isBare ? bareFiles() : dumps), counted = plural("{0} layers", dump.nLayer);
    document.title = say(isBare ? `${bareTitle()}: {0}` : "Attention: {0}", names);
    byId("name").textContent = names;
    byId("dumps").hidden = dumps.length === 1;
    byId("dump-number").max = dumps.length - 1;
    byId("shape").textContent = isBare ? say(counted, dump.nLayer) : shapeText();
    if (dump.window)
        byId("hidden").textContent = say(", or hidden by the layer’s window");
}

const shapeText = () => say(plural("{0} tokens, {1} layers of {2} heads, ", T, dump.nLayer, H), T, dump.nLayer, H) +
    (KV < H ? say(plural("KV = {0} heads of keys, ", KV), KV) : "") + `C = ${C}, D = ${D}` +
    (B > 1 ? say(", B = {0}, of which b = {1}", B, b) : "") +
    (KV < H ? say("; q is stored as {0}, k as {1}", layoutOf("H"), layoutOf("KV")) : say("; q and k are stored as {0}", layoutOf("H")));

function onResize() {
    sizeThumbs();
    textWidth = byId("text").clientWidth;
    if (!isBare) {
        sizeCards();
        keepWordInSight();
    }
    refresh();
}

function listen() {
    byId("map").addEventListener("pointermove", onMap);
    byId("map").addEventListener("click", onMap);
    byId("map").addEventListener("keydown", onKey);
    document.addEventListener("keydown", onPageKey); // on a page that scrolls, arrows scroll it
    listenToGestures();
    for (const id of ["map", "text"])
        byId(id).addEventListener("pointerleave", (event) => point(event, null));
    byId("text").addEventListener("pointermove", onWord);
    byId("text").addEventListener("click", onWord);
    byId("terms").addEventListener("scroll", refresh);
    // the window's address may be the old view's again: keepAddress() was waiting to write it
    window.addEventListener("hashchange", (event) => readAddress(event.newURL));
    window.addEventListener("resize", onResize);
    new ResizeObserver(refresh).observe(byId("frame")); // other parts take room from it, or leave some
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
}

// ---- a page without a dump: of archives alone

const bareFiles = () => [...lens ? [lens] : [], ...patches, ...ablations];

// What it is called, and its panel.
const bareTitle = () => panels.length > 1 ? "Results" : {lens: "Lens", patch: "Patching", ablation: "Ablation"}[panels[0]];

// Before its texts are found.
function makeBare() {
    document.body.classList.add("bare");
    document.body.classList.toggle("single", panels.length === 1);
    document.querySelector("h1").firstChild.data = `${bareTitle()} `;
    byId("cell").setAttribute("aria-label", {lens: "What each layer predicts", patch: "What patching changes",
        ablation: "What the model needs"}[panels.length === 1 ? panels[0] : ""] ?? "What the panel shows");
    byId("patch-leads").textContent = "Layers down.";
    byId("ablation-leads").textContent = "Layers down, heads across.";
    byId("lens-leads").remove();
}

// Nothing of it depends on maps.
function startBare() {
    makeBare();
    makeControls();
    makeTabs();
    makeLens();
    makePatches();
    makeAblations();
    findStated();
    listen();
    readAddress(window.location.href);
    showTheme();
}

function start() {
    restoreTheme();
    if (isBare) {
        startBare();
        return;
    }
    makeControls();
    makeThumbs();
    makeMeasures();
    makeCards();
    makeAfter();
    makeLearning();
    makeLens();
    makeLogit();
    makePatches();
    makeAblations();
    sizeThumbs();
    sizeTerms();
    makeText();
    findStated();
    listen();
    readAddress(window.location.href);
    showTheme();
    later(workOnThumbs);
}

start();
