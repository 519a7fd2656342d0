// Places by name: searched, sorted, quoted, compared and shown on the map.

/** Rows of places as the page has them; `lines` are the numbers of a place's border. */
function readPlaces({ wheres, sentences, rows, borders }) {
  let at = 0;
  return rows.map(([place, where, km, sentence, count, low, high, within, ...box], i) => {
    const size = borders ? borders.sizes[i] : 0;
    const lines = size ? borders.lines.subarray(at, (at += size)) : null;
    return {
      ...{ place, km, count, low, high, within, box, lines },
      where: wheres[where],
      sentence: sentences[sentence],
      isExact: sentences[sentence] === "quote_exact",
    };
  });
}

/** A text without accents and capitals. */
function fold(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/** A folded text without spaces and hyphens. */
function squash(text) {
  return text.replace(/[\s\p{Pd}]+/gu, "");
}

/**
 * How well a folded name fits what is searched for, which is squashed: 0 is the name itself, 3 has
 * it inside a word, 4 has it nowhere.
 */
function rankName(name, wanted) {
  const joined = squash(name);
  if (joined === wanted || joined.startsWith(`${wanted}(`)) return 0;
  if (joined.startsWith(wanted)) return 1;
  if (!joined.includes(wanted)) return 4;
  const starts = [...name.matchAll(/(?<![\p{L}\p{N}])[\p{L}\p{N}]/gu)];
  return starts.some(({ index }) => squash(name.slice(index)).startsWith(wanted)) ? 2 : 3;
}

/** Columns of the cells of a place in a row, as ends of intervals. */
function columnsAt({ box: [top, left, bottom, right], lines }, row) {
  if (!lines) return row >= top && row < bottom ? [left, right] : [];
  // Every line downwards at this row is a side of the place: inside lies between two of them.
  const sides = readBorder(lines).filter(([x, y, end, to]) => x === end && y <= row && row < to);
  return sides.map(([x]) => x).sort((one, other) => one - other);
}

/** Whether two places share cells; on a map of units, `lines` are the units of a place. */
function overlaps(one, other, hasUnits) {
  if (hasUnits && one.lines && other.lines) {
    const units = new Set(one.lines);
    return other.lines.some((unit) => units.has(unit));
  }
  const first = Math.max(one.box[0], other.box[0]);
  const last = Math.min(one.box[2], other.box[2]);
  for (let row = first; row < last; row++) {
    const [ours, theirs] = [one, other].map((each) => columnsAt(each, row));
    for (let i = 0; i + 1 < ours.length; i += 2) {
      for (let j = 0; j + 1 < theirs.length; j += 2) {
        if (ours[i] < theirs[j + 1] && theirs[j] < ours[i + 1]) return true;
      }
    }
  }
  return false;
}

/** The list of places; `show` moves the map to one. */
class Places {
  constructor(given, who, words, show, hasUnits) {
    Object.assign(this, { who, words, show, hasUnits, compared: [] });
    this.step = byId("places").children.length;
    this.most = this.step;
    this.all = readPlaces(given);
    const changed = () => {
      this.most = this.step;
      this.list();
    };
    byId("search").addEventListener("input", changed);
    byId("sort").addEventListener("change", changed);
    byId("more").addEventListener("click", () => this.listMore());
    byId("copy-compared").addEventListener("click", () =>
      copyText(words, byId("compared"), byId("places-status")),
    );
    byId("clear-compared").addEventListener("click", () => {
      this.compared = [];
      this.list();
      this.listCompared();
      byId("search").focus();
    });
    byId("places-tools").hidden = false;
    this.list();
  }

  quote(one) {
    return quote(this.words, this.who, one);
  }

  /** Places whose names have what is searched for: the name itself first, then as is chosen. */
  find(text, order) {
    const wanted = squash(fold(text));
    const rank = new Map();
    const found = this.all.filter((one) => {
      rank.set(one, wanted && rankName(fold(one.place), wanted));
      return rank.get(one) < 4;
    });
    const by = {
      sum: (one, other) => other.low - one.low || other.high - one.high,
      sure: (one, other) => (one.within ?? Infinity) - (other.within ?? Infinity) || 0,
      name: (one, other) => one.place.localeCompare(other.place, undefined, { numeric: true }),
    };
    this.isNamed = found.some((one) => !wanted || rank.get(one) < 3);
    return found.sort((one, other) => rank.get(one) - rank.get(other) || by[order](one, other));
  }

  list() {
    const found = this.find(byId("search").value, byId("sort").value);
    byId("places").replaceChildren(...found.slice(0, this.most).map((one) => this.item(one)));
    byId("more").hidden = found.length <= this.most;
    let name = found.length ? "places_found" : "places_none";
    if (found.length && !this.isNamed) name = "places_similar";
    const shown = Math.min(found.length, this.most);
    byId("places-status").textContent = this.words.text(name, {
      n: this.words.number.format(found.length),
      shown: this.words.number.format(shown),
    });
  }

  listMore() {
    const first = this.most;
    this.most += this.step;
    this.list();
    byId("places").children[first]?.querySelector("button").focus();
  }

  item(one) {
    return makeItem(this.quote(one), (sentence) => {
      const button = (name, longer, act) => makeButton(this.words, name, longer, one.place, act);
      const found = [
        button("copy", "copy_of", () =>
          copyText(this.words, sentence, byId("places-status"), one.isExact),
        ),
        button("show", "show_of", () => this.show(one, this.quote(one))),
      ];
      // Every other place is a part of the whole area.
      const isWhole = one.place === this.words.text("place_whole");
      if (one.sentence === "quote_below" || isWhole) return found;
      const compare_ = button("compare", "compare_of", () => this.compare(one));
      compare_.setAttribute("aria-pressed", String(this.compared.includes(one)));
      return [...found, compare_];
    });
  }

  /** Choose a place to be compared, or no longer; the last two are. */
  compare(one) {
    const others = this.compared.filter((each) => each !== one);
    this.compared = others.length < this.compared.length ? others : [...others, one].slice(-2);
    const focused = document.activeElement?.getAttribute("aria-label");
    this.list();
    const buttons = [...byId("places").querySelectorAll("button")];
    buttons.find((each) => each.getAttribute("aria-label") === focused)?.focus();
    this.listCompared();
  }

  /** Show the places that are compared, by name, and what can be told of them. */
  listCompared() {
    const { words, who } = this;
    const [first, second] = this.compared;
    byId("comparing").hidden = !first;
    byId("copy-compared").hidden = !second;
    if (!second) {
      byId("compared").textContent = first ? words.text("compare_one", { one: first.place }) : "";
      return;
    }
    const shared = overlaps(first, second, this.hasUnits) ? words.text("compare_overlap", { who }) : "";
    const gap = words.language === "ja" || !shared ? "" : " ";
    byId("compared").textContent = bind(compare(words, who, first, second) + gap + shared);
  }
}

/** Give the squares with the most people their buttons. */
function startLargest(given, who, words, show) {
  const list = byId("largest");
  if (!list) return;
  const items = readPlaces(given).map((one) =>
    makeItem(quote(words, who, one), (sentence) => [
      makeButton(words, "copy", "copy_of", one.place, () =>
        copyText(words, sentence, byId("largest-status"), one.isExact),
      ),
      makeButton(words, "show", "show_of", one.place, () => show(one, quote(words, who, one))),
    ]),
  );
  list.replaceChildren(...items);
}
