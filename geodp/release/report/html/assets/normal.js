// Upper quantiles of the normal law: Wichura (1988), algorithm AS 241, as in Python.

const NEAR = [
  [
    0.0007745450142783414, 0.022723844989269184, 0.2417807251774506, 1.2704582524523684,
    3.6478483247632045, 5.769497221460691, 4.630337846156546, 1.4234371107496835,
  ],
  [
    1.0507500716444169e-9, 0.0005475938084995345, 0.015198666563616457, 0.14810397642748008,
    0.6897673349851, 1.6763848301838038, 2.053191626637759, 1.0,
  ],
];
const FAR = [
  [
    2.0103343992922881e-7, 2.7115555687434876e-5, 0.0012426609473880784, 0.026532189526576124,
    0.29656057182850487, 1.7848265399172913, 5.463784911164114, 6.657904643501103,
  ],
  [
    2.0442631033899397e-15, 1.421511758316446e-7, 1.8463183175100548e-5, 0.0007868691311456133,
    0.014875361290850615, 0.1369298809227358, 0.599832206555888, 1.0,
  ],
];

function evaluate(coefficients, x) {
  return coefficients.reduce((found, each) => found * x + each, 0);
}

/** What a standard normal variable exceeds with a chance of at most 0.075. */
function normalAbove(chance) {
  const r = Math.sqrt(-Math.log(1 - (1 - chance)));
  const [parts, from] = r <= 5 ? [NEAR, 1.6] : [FAR, 5];
  return evaluate(parts[0], r - from) / evaluate(parts[1], r - from);
}
