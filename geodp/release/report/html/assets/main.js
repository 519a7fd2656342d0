// The page's beginning. Without a browser, what it works out is offered as `geodpReport`.

function readLook(look) {
  const colours = Object.entries(look.colours).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map(parseColour) : parseColour(value),
  ]);
  return { ...look, colours: Object.fromEntries(colours) };
}

async function start() {
  const data = await unpackAll(JSON.parse(byId("data").textContent));
  const { surface, places } = data;
  const words = new Words(document.documentElement.lang, data.words, surface.below);
  const view = startMap(surface, readLook(data.look), words);
  if (places) new Places(places, words, (box) => showBox(view, words, box));
  globalThis.geodpReport = { surface: view.surface, view };
  document.documentElement.dataset.ready = "yes";
}

function startMap(data, look, words) {
  const surface = new Surface(data);
  byId("map-tools").hidden = false;
  byId("map-wait").hidden = true;
  const View = surface.units ? UnitView : MapView;
  const view = new View(byId("map"), surface, look);
  view.projection = new Projection(surface.place, surface.projection);
  startControls(view, words);
  startNotes(view, words);
  const areas = surface.form ? new Areas(view, words) : null;
  startPointer(view, words, (at) => {
    if (areas?.add(at)) return;
    view.cross = at;
    view.draw();
    byId("status").textContent = tell(view, words, at);
  });
  startKeys(view, words, (key) => areas?.key(key) || false);
  byId("zoom-in").addEventListener("click", () => view.zoom(1.5));
  byId("zoom-out").addEventListener("click", () => view.zoom(1 / 1.5));
  byId("zoom-all").addEventListener("click", () => view.fit());
  new ResizeObserver(() => (view.isWhole() ? view.fit() : view.resize())).observe(view.canvas);
  view.fit();
  const [rows, cols] = view.extent;
  tell(view, words, [cols / 2, rows / 2]);
  return view;
}

/** Show a place on the map, and say what stands in its middle. */
function showBox(view, words, box) {
  view.show(box);
  view.canvas.focus();
  view.canvas.scrollIntoView({ block: "center" });
  byId("status").textContent = tell(view, words, view.cross);
}

if (typeof document === "undefined") {
  const shown = { Words, MapView, UnitView, Areas, Places, describe, coverWater };
  const read = { unpackAll, Surface, Projection, cellsInside, readGeoJSON, readPoints };
  globalThis.geodpReport = { ...read, ...shown };
} else if (document.getElementById("map")) {
  start().catch((error) => {
    console.error(error);
    byId("map-tools").hidden = true;
    byId("map-wait").hidden = false;
    byId("map-wait").textContent = byId("map-wait").dataset.failed;
  });
}
