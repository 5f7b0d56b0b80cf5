// The map under the wheel and under fingers: its square of tokens grows, shrinks and moves.

function showSquare(i, j, n) {
    const first = (t) => clamp(Math.round(t), 0, T - n);
    view.from = {i: first(i), j: first(j), n};
    refresh();
}

// Show n tokens, so that what lies at `place`, parts of the map's height and width, stays there.
function zoomAround({y, x}, {i, j, n: before}, n) {
    const size = clamp(Math.round(n), Math.min(T, 4), T);
    showSquare(i + y * (before - size), j + x * (before - size), size);
}

function placeUnder(event) {
    const box = byId("map").getBoundingClientRect(), {top, size} = frame, left = leftAt(event.clientX - box.left);
    return {y: clamp((event.clientY - box.top - top) / size, 0, 1),
        x: clamp((event.clientX - box.left - left) / size, 0, 1)};
}

// Where the page scrolls, the wheel scrolls it, unless Ctrl is held, as it is where two fingers pinch a pad.
function onWheel(event) {
    if (!windowed.matches && !event.ctrlKey)
        return;
    event.preventDefault();
    const {n} = view.from, factor = 1.002 ** clamp(event.deltaY, -200, 200);
    zoomAround(placeUnder(event), view.from, factor > 1 ? Math.max(n * factor, n + 1) : Math.min(n * factor, n - 1));
}

const touching = new Map(); // pointers that are down: where, as {x, y}
let grip = null;            // how the map lay when the last of them came or went
let dragged = false;        // since the first came: what follows is no click

function takeHold() {
    const [a, b] = touching.values();
    grip = !a ? null : {
        from: view.from, x: a.x, y: a.y, apart: b ? Math.hypot(a.x - b.x, a.y - b.y) : 0,
        place: b ? placeUnder({clientX: (a.x + b.x) / 2, clientY: (a.y + b.y) / 2}) : null
    };
}

function onDown(event) {
    if (event.button !== 0)
        return;
    dragged = touching.size > 0;
    touching.set(event.pointerId, {x: event.clientX, y: event.clientY});
    takeHold();
}

function onUp(event) {
    touching.delete(event.pointerId);
    takeHold();
}

// Returns whether the move was a gesture.  A map that shows all tokens stays where it is under one finger.
function gesture(event) {
    if (!touching.has(event.pointerId))
        return false;
    touching.set(event.pointerId, {x: event.clientX, y: event.clientY});
    const [a, b] = touching.values(), {from, x, y, apart, place} = grip;
    if (b && apart > 0)
        zoomAround(place, from, from.n * apart / Math.max(Math.hypot(a.x - b.x, a.y - b.y), 1));
    else if (from.n < T && (dragged || Math.hypot(a.x - x, a.y - y) > 5))
        showSquare(from.i - (a.y - y) / frame.cell, from.j - (a.x - x) / frame.cell, from.n);
    else
        return false;
    dragged = true;
    return true;
}

function listenToGestures() {
    const map = byId("map");
    map.addEventListener("wheel", onWheel, {passive: false});
    map.addEventListener("pointerdown", onDown);
    for (const type of ["pointerup", "pointercancel", "pointerleave"])
        map.addEventListener(type, onUp);
}
