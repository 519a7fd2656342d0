// Places by name: searched, sorted, quoted and shown on the map.

/** The list of places; `show` moves the map to a box of rows and columns. */
class Places {
  constructor({ who, sentences, rows }, words, show) {
    Object.assign(this, { who, words, show });
    this.step = byId("places").children.length;
    this.most = this.step;
    this.all = rows.map(([place, sentence, count, low, high, within, ...box]) => ({
      ...{ place, count, low, high, within, box },
      sentence: sentences[sentence],
    }));
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

  /** The sentence to quote of a place. */
  quote({ place, sentence, count, low, high, within }) {
    const { who } = this;
    const { number, below } = this.words;
    const [c, l, h] = [count, low, high].map((each) => number.format(each));
    const percent = within === null ? "" : this.words.few.format(within);
    return this.words.say(sentence, { place, who, count: c, low: l, high: h, below, percent });
  }

  /** Places whose names have what is searched for, in the order that is chosen. */
  find(text, order) {
    const plain = (each) => each.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
    const wanted = plain(text.trim());
    const found = this.all.filter(({ place }) => plain(place).includes(wanted));
    const by = {
      sum: (one, other) => other.count - one.count,
      sure: (one, other) => (one.within ?? Infinity) - (other.within ?? Infinity) || 0,
      name: (one, other) => one.place.localeCompare(other.place, undefined, { numeric: true }),
    };
    return found.sort(by[order]);
  }

  list() {
    const found = this.find(byId("search").value, byId("sort").value);
    byId("places").replaceChildren(...found.slice(0, this.most).map((one) => this.item(one)));
    byId("more").hidden = found.length <= this.most;
    const name = found.length ? "places_found" : "places_none";
    const shown = Math.min(found.length, this.most);
    byId("places-status").textContent = this.words.say(name, {
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
    const item = document.createElement("li");
    const said = document.createElement("p");
    said.textContent = this.quote(one);
    item.append(said);
    const tools = document.createElement("p");
    tools.className = "buttons";
    tools.append(this.button("copy", "copy_of", one, () => this.copy(said)));
    tools.append(this.button("show", "show_of", one, () => this.show(one.box)));
    item.append(tools);
    return item;
  }

  button(name, longer, { place }, act) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = this.words.say(name);
    button.setAttribute("aria-label", this.words.say(longer, { place }));
    button.addEventListener("click", act);
    return button;
  }

  /** Put a sentence on the clipboard; where a browser lets nobody, mark it to be copied by hand. */
  async copy(said) {
    try {
      await navigator.clipboard.writeText(said.textContent);
      byId("places-status").textContent = this.words.say("copied", { text: said.textContent });
    } catch {
      getSelection().selectAllChildren(said);
      byId("places-status").textContent = this.words.say("copy_by_hand");
    }
  }
}
