// Pointer, wheel and keys on the map.

/** Pointer and wheel: pan, zoom, and what is under the pointer. */
function startPointer(view, onHover, onPoint) {
  const { canvas } = view;
  const pixels = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * view.ratio, (event.clientY - box.top) * view.ratio];
  };
  const held = new Map();
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => {
    held.set(event.pointerId, pixels(event));
    canvas.setPointerCapture(event.pointerId);
    moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const at = pixels(event);
    if (!held.has(event.pointerId)) {
      onHover(view.fromPixels(at));
      return;
    }
    const from = held.get(event.pointerId);
    const other = [...held].find(([id]) => id !== event.pointerId)?.[1];
    held.set(event.pointerId, at);
    moved += Math.abs(at[0] - from[0]) + Math.abs(at[1] - from[1]);
    if (other) {
      const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]);
      view.zoom(apart(at) / Math.max(apart(from), 1), other);
    } else if (moved > 4 * view.ratio) {
      view.move(from[0] - at[0], from[1] - at[1]);
    }
  });
  const release = (event) => {
    if (held.delete(event.pointerId) && event.type === "pointerup" && moved <= 4 * view.ratio) {
      onPoint(view.fromPixels(pixels(event)));
    }
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && document.activeElement !== canvas) return;
      event.preventDefault();
      view.zoom(2 ** (-event.deltaY / 300), pixels(event));
    },
    { passive: false },
  );
}

/** Keys on the map: arrows move the cross, plus and minus zoom. */
function startKeys(view, onCross, onKey) {
  const [rows, cols] = view.extent;
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  view.canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=")
      view.zoom(1.5, view.toPixels(view.cross || [cols / 2, rows / 2]));
    else if (event.key === "-") view.zoom(1 / 1.5);
    else if (event.key === "0") view.fit();
    else if (steps[event.key]) {
      const far = Math.max(1, Math.round((event.shiftKey ? 80 : 8) / view.scale));
      const [col, down] = view.cross || [Math.floor(cols / 2) + 0.5, Math.floor(rows / 2) + 0.5];
      const [right, below] = steps[event.key].map((step) => step * far);
      view.cross = [
        Math.min(Math.max(col + right, 0.5), cols - 0.5),
        Math.min(Math.max(down + below, 0.5), rows - 0.5),
      ];
      const [x, y] = view.toPixels(view.cross);
      const inside = x > 0 && y > 0 && x < view.canvas.width && y < view.canvas.height;
      view.move(...(inside ? [0, 0] : [x - view.canvas.width / 2, y - view.canvas.height / 2]));
      onCross(view.cross);
    } else if (!onKey(event.key)) return;
    event.preventDefault();
  });
}
