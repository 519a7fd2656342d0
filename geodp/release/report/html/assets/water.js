// Water: nobody lives there, whatever the mean of a square around it.

/** All of a square's land in quarters. */
const WHOLE = 4;

/** Margins that a count at sea reaches before it is shown: noise carries some over one. */
const SURE = 3;

/**
 * How the finest squares are covered on the map of a level: by so many quarters as are water. At
 * sea a count is shown where it is far above the noise: the shore may be off, and an islet missing.
 */
function coverWater(surface, level, times, { levelShown, landless }) {
  const { rows, cols, land, counts } = surface;
  if (!land) return null;
  const margin = surface.margin(surface.levels[0]);
  const least = margin === null ? 0 : times * margin;
  const found = new Uint8Array(rows * cols);
  for (let row = 0; row < rows; row++) {
    for (let col = 0; col < cols; col++) {
      const at = row * cols + col;
      if (land[at] === WHOLE || (times === 0 && counts[at] !== 0)) continue;
      const square = surface.squareOf(level, row, col);
      if (levelShown[square] === OUTSIDE && land[at] > 0) continue;
      const hidden = land[at] === 0 && counts[at] < SURE * least && !landless[square];
      if (counts[at] <= 0 || hidden) found[at] = WHOLE - land[at];
    }
  }
  return found;
}

/** Whether a box of cells, [top, left, bottom, right], has no land at all. */
function isWater({ place, cols, land, units }, [top, left, bottom, right]) {
  if (!land || units) return false;
  const { base } = place;
  for (let row = Math.floor(top / base); row * base < bottom; row++) {
    for (let col = Math.floor(left / base); col * base < right; col++) {
      if (land[row * cols + col] > 0) return false;
    }
  }
  return true;
}

/** The cover as a picture of a pixel for each of the finest squares; null without water. */
function paintWater(surface, cover, { water }) {
  if (!cover) return null;
  const { rows, cols } = surface;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [cols, rows];
  const context = canvas.getContext("2d");
  const image = context.createImageData(cols, rows);
  const { northwards } = surface.place;
  cover.forEach((each, at) => {
    const row = Math.floor(at / cols);
    const to = 4 * ((northwards ? rows - 1 - row : row) * cols + (at % cols));
    for (let i = 0; i < 3; i++) image.data[to + i] = water[i];
    image.data[to + 3] = (255 * each) / WHOLE;
  });
  context.putImageData(image, 0, 0);
  return canvas;
}
