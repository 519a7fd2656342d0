// Arrays as the page carries them: numbers in bytes of seven bits, deflated, in base64.

async function inflate(text) {
  const raw = Uint8Array.from(atob(text), (mark) => mark.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Whole numbers from 0 to 2^53, the least significant seven bits first. */
function readNumbers(bytes, size) {
  const found = new Float64Array(size);
  let at = 0;
  for (let i = 0; i < size; i++) {
    let value = 0;
    let weight = 1;
    while (bytes[at] >= 128) {
      value += (bytes[at++] - 128) * weight;
      weight *= 128;
    }
    found[i] = value + bytes[at++] * weight;
  }
  return found;
}

/** An array by its kind: sorted keys, whole numbers with their signs, reals, or bits. */
async function unpack(packed) {
  const bytes = await inflate(packed.data);
  if (packed.kind === "bits") {
    return Uint8Array.from({ length: packed.size }, (_, i) => (bytes[i >> 3] >> (i & 7)) & 1);
  }
  if (packed.kind === "real") {
    return new Float64Array(bytes.buffer, 0, packed.size);
  }
  const found = readNumbers(bytes, packed.size);
  if (packed.kind === "sorted") {
    for (let i = 1; i < found.length; i++) found[i] += found[i - 1];
    return found;
  }
  return found.map((n) => (n % 2 ? -(n + 1) / 2 : n / 2));
}

/** All arrays of a document, in place of what was packed. */
async function unpackAll(value) {
  if (value === null || typeof value !== "object") return value;
  if (typeof value.data === "string" && typeof value.kind === "string") return unpack(value);
  const pairs = Object.entries(value).map(async ([name, one]) => [name, await unpackAll(one)]);
  const found = Object.fromEntries(await Promise.all(pairs));
  return Array.isArray(value) ? Object.values(found) : found;
}
