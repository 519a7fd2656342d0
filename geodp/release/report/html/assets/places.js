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
    };
  });
}

/** A text without accents and capitals. */
function fold(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/** How well a name fits what is searched for: 0 is the name itself, 3 has it inside a word. */
function rankName(name, wanted) {
  if (name === wanted || name.startsWith(`${wanted} (`)) return 0;
  if (name.startsWith(wanted)) return 1;
  return /[\p{L}\p{N}]/u.test(name[name.indexOf(wanted) - 1]) ? 3 : 2;
}

/** The list of places; `show` moves the map to one. */
class Places {
  constructor(given, who, words, show) {
    Object.assign(this, { who, words, show, compared: [] });
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
    byId("places-tools").hidden = false;
    this.list();
  }

  quote(one) {
    return quote(this.words, this.who, one);
  }

  /** Places whose names have what is searched for: the name itself first, then as is chosen. */
  find(text, order) {
    const wanted = fold(text.trim());
    const rank = new Map();
    const found = this.all.filter((one) => {
      const name = fold(one.place);
      rank.set(one, wanted && rankName(name, wanted));
      return name.includes(wanted);
    });
    const by = {
      sum: (one, other) => other.count - one.count,
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
        button("copy", "copy_of", () => copyText(this.words, sentence, byId("places-status"))),
        button("show", "show_of", () => this.show(one, sentence.textContent)),
      ];
      if (one.sentence === "quote_below") return found;
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
    const [first, second] = this.compared;
    byId("compared").hidden = !first;
    if (second) byId("compared").textContent = compare(this.words, this.who, first, second);
    else if (first) byId("compared").textContent = this.words.text("compare_one");
  }
}

/** Give the squares with the most people their buttons. */
function startLargest(given, who, words, show) {
  const list = byId("largest");
  if (!list) return;
  const items = readPlaces(given).map((one) =>
    makeItem(quote(words, who, one), (sentence) => [
      makeButton(words, "copy", "copy_of", one.place, () =>
        copyText(words, sentence, byId("largest-status")),
      ),
      makeButton(words, "show", "show_of", one.place, () => show(one, sentence.textContent)),
    ]),
  );
  list.replaceChildren(...items);
}
