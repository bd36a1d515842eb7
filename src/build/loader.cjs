// The command's first file: loads the parts beside it as V8 scripts, with the code V8 compiled at build time where it fits.
'use strict';
const { createHash } = require('node:crypto');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { Script } = require('node:vm');

const DIGEST = 32;
const parts = new Map();

/** @returns the exports of a part of this folder, each loaded once. */
function load(name) {
  const known = parts.get(name);
  if (known !== undefined) return known.module.exports;
  const filename = join(__dirname, `${name}.part.cjs`);
  const bytes = readFileSync(filename);
  const cachedData = cacheOf(name, bytes);
  // The build writes ASCII alone, so latin1 is exact and needs no decoding.
  const script = new Script(bytes.latin1Slice(), cachedData === undefined ? { filename } : { filename, cachedData });
  const module = { exports: {} };
  parts.set(name, { script, module, bytes });
  script.runInThisContext()(module.exports, requirePart, module);
  return module.exports;
}

function requirePart(name) {
  return name.startsWith('part:') ? load(name.slice(5)) : require(name);
}

/** @returns what V8 compiled from exactly these bytes; undefined where there is nothing for this Node or it was changed. V8 itself refuses other versions and flags. */
function cacheOf(name, bytes) {
  try {
    const file = readFileSync(cacheFile(name));
    const data = file.subarray(DIGEST);
    return digestOf(bytes, data).equals(file.subarray(0, DIGEST)) ? data : undefined;
  } catch {
    return undefined;
  }
}

function cacheFile(name) {
  return join(__dirname, `${name}.${process.version}-${process.arch}.cache`);
}

function digestOf(bytes, data) {
  return createHash('sha256').update(bytes).update(data).digest();
}

if (require.main === module) load('main');
else module.exports = { load, parts, cacheFile, digestOf };
