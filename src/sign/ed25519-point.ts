const P = 2n ** 255n - 19n;
const ORDER_8_Y = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/** y of the points of order 1, 2, 4 and 8: under such a key anybody can make a signature for any message. */
const SMALL_ORDER_Y: readonly bigint[] = [0n, 1n, P - 1n, ORDER_8_Y, P - ORDER_8_Y];

function squareTimes(value: bigint, times: number): bigint {
  let out = value;
  for (let i = 0; i < times; i += 1) out = (out * out) % P;
  return out;
}

/** value^(2^ones - 1): halves the multiplications of plain square-and-multiply. */
function powerOfOnes(value: bigint, ones: number): bigint {
  if (ones === 1) return value;
  const half = powerOfOnes(value, ones >> 1);
  const even = (squareTimes(half, ones >> 1) * half) % P;
  return ones % 2 === 0 ? even : (even * even * value) % P;
}

/** Euler's criterion: value^((P - 1) / 2), with (P - 1) / 2 = (2^250 - 1) * 16 + 6. */
function isSquare(value: bigint): boolean {
  const low = (squareTimes(value, 1) * squareTimes(value, 2)) % P;
  return (squareTimes(powerOfOnes(value, 250), 4) * low) % P === 1n;
}

/** @returns whether 32 bytes are a canonical Ed25519 point (RFC 8032 section 5.1.3) of more than small order. */
export function isEd25519Point(encoded: Uint8Array): boolean {
  if (encoded.length !== 32) return false;
  const hex = Buffer.from(encoded).reverse().toString('hex');
  const y = BigInt.asUintN(255, BigInt(`0x${hex}`));
  if (y >= P || SMALL_ORDER_Y.includes(y)) return false;
  const yy = (y * y) % P;
  return isSquare(((yy - 1n + P) * (D * yy + 1n)) % P);
}
