// Regions: the cells whose centre lies inside a polygon, and coordinates in degrees.

const MOST_CELLS = 1 << 20;

/** The centres of the columns and rows of a map, in its own coordinates. */
function centres(place) {
  const [a, , c, , e, f] = place.transform;
  return {
    x: (col) => (c + a * col + (c + a * (col + 1))) / 2,
    y: (row) => (f + e * row + (f + e * (row + 1))) / 2,
  };
}

/** Columns and rows, with fractions, of coordinates. */
function toCells(place, [x, y]) {
  const [a, , c, , e, f] = place.transform;
  return [(x - c) / a, (y - f) / e];
}

/**
 * Rows and columns of the cells whose centre lies inside rings, by the even-odd rule.
 *
 * @param place where the cells lie.
 * @param rings lists of points [x, y]: outlines and holes alike.
 * @returns pairs [row, col]; null for more than 2^20 cells.
 */
function cellsInside(place, rings) {
  const at = centres(place);
  const rows = rings.flat().map((point) => toCells(place, point)[1]);
  const least = rows.reduce((low, row) => Math.min(low, row), Infinity);
  const most = rows.reduce((high, row) => Math.max(high, row), -Infinity);
  const first = Math.max(0, Math.floor(least) - 1);
  const last = Math.min(place.rows - 1, Math.ceil(most) + 1);
  const found = [];
  for (let row = first; row <= last; row++) {
    const y = at.y(row);
    const crossings = rings.flatMap((ring) => crossAt(ring, y)).sort((p, q) => p - q);
    for (let i = 0; i + 1 < crossings.length; i += 2) {
      let col = Math.max(0, Math.floor(toCells(place, [crossings[i], y])[0]) - 1);
      while (col < place.cols && at.x(col) <= crossings[i]) col++;
      for (; col < place.cols && at.x(col) < crossings[i + 1]; col++) found.push([row, col]);
      if (found.length > MOST_CELLS) return null;
    }
  }
  return found;
}

/** Where a ring crosses a parallel. */
function crossAt(ring, y) {
  return ring.flatMap(([x, from], i) => {
    const [next, to] = ring[(i + 1) % ring.length];
    return from > y === to > y ? [] : [x + ((y - from) / (to - from)) * (next - x)];
  });
}

/** Values of a table between its knots, in straight lines. */
class Table {
  constructor({ first, step, steps }, knots, bounds) {
    this.knots = knots;
    this.bounds = bounds;
    let sum = 0;
    this.values = steps.map((each) => first + (sum += each) * step);
  }

  at(x, y) {
    const [west, south, east, north] = this.bounds;
    const most = this.knots - 2;
    const across = ((x - west) / (east - west)) * (this.knots - 1);
    const up = ((y - south) / (north - south)) * (this.knots - 1);
    const col = Math.min(Math.max(Math.floor(across), 0), most);
    const row = Math.min(Math.max(Math.floor(up), 0), most);
    const mix = (low, high, part) => low + (high - low) * part;
    const value = (r, c) => this.values[r * this.knots + c];
    return mix(
      mix(value(row, col), value(row, col + 1), across - col),
      mix(value(row + 1, col), value(row + 1, col + 1), across - col),
      up - row,
    );
  }
}

/** Coordinates of a map in degrees, and back. */
class Projection {
  constructor(place, tables) {
    this.isKnown = place.geographic || tables !== null;
    this.frame = tables ? tables.degrees : place.bounds;
    if (!tables) return;
    const table = (name, bounds) => new Table(tables[name], tables.knots, bounds);
    this.lon = table("lon", tables.map);
    this.lat = table("lat", tables.map);
    this.x = table("x", tables.degrees);
    this.y = table("y", tables.degrees);
  }

  toDegrees([x, y]) {
    return this.lon ? [this.lon.at(x, y), this.lat.at(x, y)] : [x, y];
  }

  fromDegrees([lon, lat]) {
    return this.x ? [this.x.at(lon, lat), this.y.at(lon, lat)] : [lon, lat];
  }

  /** Whether the box around rings in degrees has some of the map. */
  meets(rings) {
    const [west, south, east, north] = this.frame;
    const [left, bottom, right, top] = boxOf(rings);
    return left < east && right > west && bottom < north && top > south;
  }

  /** A ring in the map's coordinates; long edges stay where they are in degrees. */
  moveRing(ring) {
    if (!this.x) return ring;
    return ring.flatMap(([lon, lat], i) => {
      const [toLon, toLat] = ring[(i + 1) % ring.length];
      const parts = Math.max(1, Math.ceil(Math.hypot(toLon - lon, toLat - lat) / 0.05));
      return Array.from({ length: parts }, (_, p) =>
        this.fromDegrees([lon + ((toLon - lon) * p) / parts, lat + ((toLat - lat) * p) / parts]),
      );
    });
  }
}

/** Rings without the point that repeats their first one. */
function openRing(points) {
  const ring = points.map(([x, y]) => [Number(x), Number(y)]);
  if (ring.some((point) => !point.every(Number.isFinite))) throw new Error("coordinates");
  const last = ring[ring.length - 1];
  if (ring.length > 1 && ring[0][0] === last[0] && ring[0][1] === last[1]) ring.pop();
  if (ring.length < 3) throw new Error("ring");
  return ring;
}

/** Polygons of a GeoJSON text: [{name, rings}], in degrees. Throws for anything else. */
function readGeoJSON(text) {
  const given = JSON.parse(text);
  const features = given.type === "FeatureCollection" ? given.features : [given];
  const names = ["name", "NAME", "Name", "id", "ID", "code", "CODE"];
  return features.map((feature) => {
    const geometry = feature.type === "Feature" ? feature.geometry : feature;
    const polygons = { Polygon: [geometry.coordinates], MultiPolygon: geometry.coordinates };
    const own = polygons[geometry.type];
    if (!own) throw new Error("geometry");
    const properties = feature.properties || {};
    const field = names.find((name) => properties[name] !== undefined);
    const name = field ? String(properties[field]) : null;
    return { name, rings: own.flat().map(openRing) };
  });
}

/** A ring of a text with two numbers a line; two points are corners of a rectangle. */
function readPoints(text) {
  const lines = text.split("\n").filter((line) => line.trim());
  const points = lines.map((line) =>
    line
      .trim()
      .split(/[\s,;]+/)
      .map(Number),
  );
  if (points.some((point) => point.length !== 2)) throw new Error("point");
  if (points.length !== 2) return openRing(points);
  const [[west, south], [east, north]] = points;
  return openRing([
    [west, south],
    [east, south],
    [east, north],
    [west, north],
  ]);
}
