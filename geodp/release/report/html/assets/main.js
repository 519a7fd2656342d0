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
  const { who } = data;
  const view = startMap(surface, readLook(data.look), words, who);
  view.names = data.names;
  view.draw();
  const show = (place, text) => showPlace(view, words, who, place, text);
  if (places) new Places(places, who, words, show, Boolean(view.surface.units));
  startLargest(data.largest, who, words, show);
  globalThis.geodpReport = { surface: view.surface, view };
  document.documentElement.dataset.ready = "yes";
}

function startMap(data, look, words, who) {
  const surface = new Surface(data);
  byId("map-tools").hidden = false;
  byId("map-wait").hidden = true;
  const View = surface.units ? UnitView : MapView;
  const view = new View(byId("map"), surface, look);
  view.projection = new Projection(surface.place, surface.projection);
  startControls(view, words);
  startNotes(view, words);
  const show = (place, text) => showPlace(view, words, who, place, text);
  const areas = surface.form ? new Areas(view, who, words, show) : null;
  const onPoint = (at) => {
    if (areas?.add(at)) return;
    view.cross = at;
    view.draw();
    byId("status").textContent = showReadout(view, words, who, at, true);
  };
  startPointer(view, (at) => showReadout(view, words, who, at, false), onPoint);
  const onCross = (at) => (byId("status").textContent = showReadout(view, words, who, at, true));
  startKeys(view, onCross, (key) => areas?.key(key) || false);
  byId("copy-pinned").addEventListener("click", () =>
    copyText(words, byId("pinned"), byId("status"), byId("pin").dataset.exact === "yes"),
  );
  byId("map-tools").addEventListener("change", () => view.cross && onCross(view.cross));
  byId("zoom-in").addEventListener("click", () => view.zoom(1.5));
  byId("zoom-out").addEventListener("click", () => view.zoom(1 / 1.5));
  byId("zoom-all").addEventListener("click", () => view.fit());
  new ResizeObserver(() => (view.isWhole() ? view.fit() : view.resize())).observe(view.canvas);
  view.fit();
  return view;
}

/** Show a place on the map with its sentence, and read out the value in its middle. */
function showPlace(view, words, who, { place, box, lines, isArea, isExact }, text) {
  view.show(box, lines, isArea);
  view.canvas.focus();
  view.canvas.scrollIntoView({ block: "center" });
  showPin({ heading: words.text("pin_place", { place }), text, isFit: true, isExact });
  byId("status").textContent = `${text} ${showReadout(view, words, who, view.cross, false)}`;
}

if (typeof document === "undefined") {
  const shown = { Words, MapView, UnitView, Areas, Places, readPlaces, describe, pin, coverWater };
  Object.assign(shown, { judge, quote, compare, overlaps, isWater, nearestTown });
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
