// Sentences to quote: what geodp.release.report.html.quotes says of places, of any estimate.

/** Percent of a count that it may be off; a sentence on one that may be off by more says so. */
const VAGUE = 50;

/** Percent up to which a sentence has no percentage. */
const PRECISE = 0.1;

/** An estimate rounded to the first digit of half its interval, outwards, and not below 0. */
function roundEstimate({ count, low, high }) {
  const half = (high - low) / 2;
  const step = half > 0 ? 10 ** Math.max(Math.floor(Math.log10(half)), 0) : 1;
  const [least, most] = [Math.floor(low / step) * step, Math.ceil(high / step) * step];
  return {
    count: Math.max(roundHalfEven(count / step) * step, 0),
    low: Math.max(least, 0),
    high: Math.max(most, 0),
  };
}

/** A whole number next to another; of two that are as near, the even one, as Python has it. */
function roundHalfEven(value) {
  const near = Math.round(value);
  return Math.abs(value % 1) === 0.5 && near % 2 ? near - 1 : near;
}

/** Two digits of a percentage, rounded up. */
function roundUp(percent) {
  const step = 10 ** (Math.floor(Math.log10(percent)) - 1);
  return Number((Math.ceil(percent / step - 1e-9) * step).toPrecision(6));
}

/** The name of the sentence on an estimate, its rounded numbers, and how far it may be off. */
function judge(estimate, words) {
  const rounded = roundEstimate(estimate);
  const { count, low, high } = rounded;
  if (words.isFew(estimate.count)) return { ...rounded, sentence: "quote_below", within: null };
  if (estimate.low === estimate.high) return { ...rounded, sentence: "quote_exact", within: null };
  if (low <= 0 || count <= 0) return { ...rounded, sentence: "quote_few", within: null };
  const within = roundUp((100 * Math.max(high - count, count - low)) / count);
  if (within <= PRECISE) return { ...rounded, sentence: "quote_near", within };
  return { ...rounded, sentence: within <= VAGUE ? "quote" : "quote_unsure", within };
}

/** The sentence on a place, as it was judged. */
function quote(words, who, one) {
  const { place, where = "in", km = null, sentence, count, low, high, within } = one;
  const [c, l, h] = [count, low, high].map((each) => words.number.format(each));
  return words.text(sentence, {
    ...{ who, count: c, low: l, high: h, below: words.below },
    where: words.text(`where_${where}`, { place, km }),
    percent: within === null ? "" : words.percent.format(within),
  });
}

/** The sentence on which of two places has more. */
function compare(words, who, one, other) {
  const [more, less] = one.count >= other.count ? [one, other] : [other, one];
  const name = ({ place, where = "in", km = null }) => words.text(`area_${where}`, { place, km });
  const number = (value) => words.number.format(value);
  return words.text(more.low > less.high ? "compare_more" : "compare_same", {
    ...{ who, more: name(more), less: name(less) },
    ...{ more_low: number(more.low), more_high: number(more.high) },
    ...{ less_low: number(less.low), less_high: number(less.high) },
  });
}

/**
 * Put a sentence with its source on the clipboard; where a browser lets nobody, mark it to be copied
 * by hand. `isExact`: of a public total, whose source tells of no noise.
 */
async function copyText(words, element, status, isExact = false) {
  const source = words.sentences[isExact ? "source_exact" : "source"];
  const gap = words.language === "ja" || !source ? "" : " ";
  const sentence = element.textContent.replaceAll("\u00a0%", " %");
  // A sentence that was marked before has its source already.
  const text = source && sentence.endsWith(source) ? sentence : sentence + gap + source;
  try {
    await navigator.clipboard.writeText(text);
    status.textContent = words.text("copied", { text });
  } catch {
    element.textContent = text;
    getSelection().selectAllChildren(element);
    status.textContent = words.text("copy_by_hand");
  }
}

/** A text whose percent signs stay on the line of their number. */
function bind(text) {
  return text.replaceAll(" %", "\u00a0%");
}

/** A button; `longer` is its name for those who do not see what it stands beside. */
function makeButton(words, name, longer, place, act) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = words.text(name);
  button.setAttribute("aria-label", words.text(longer, { place }));
  button.addEventListener("click", act);
  return button;
}

/** An item of a list: a sentence, and buttons after it. */
function makeItem(text, buttons) {
  const item = document.createElement("li");
  const sentence = document.createElement("p");
  sentence.textContent = bind(text);
  const tools = document.createElement("p");
  tools.className = "buttons";
  tools.append(...buttons(sentence));
  item.append(sentence, tools);
  return item;
}
