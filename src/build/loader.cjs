// The command's first file: runs the parts beside it as V8 scripts, with the code V8 compiled at build time where it fits.
'use strict';
const { createHash } = require('node:crypto');
const { closeSync, openSync, readFileSync, readSync } = require('node:fs');
const { join } = require('node:path');
const { Script } = require('node:vm');

const DIGEST = 32;
const parts = new Map();

/** @returns the exports of a part of this folder, each loaded once. */
function load(name) {
  const known = parts.get(name);
  if (known !== undefined) return known.module.exports;
  const filename = join(__dirname, `${name}.part.cjs`);
  const cachedData = compiledCode(name);
  // The build writes ASCII alone, so latin1 is exact and needs no decoding.
  const source = readFileSync(filename, 'latin1');
  const script = new Script(source, cachedData === null ? { filename } : { filename, cachedData });
  const module = { exports: {} };
  parts.set(name, { script, module });
  script.runInThisContext()(module.exports, requirePart, module);
  return module.exports;
}

function requirePart(name) {
  if (name.startsWith('data:')) return (start, end) => readSlice(`${name.slice(5)}.data`, start, end);
  return name.startsWith('part:') ? load(name.slice(5)) : require(name);
}

/** @returns the characters of a data file from one offset to another; fewer where it was cut short, which their reader finds. */
function readSlice(name, start, end) {
  const bytes = Buffer.alloc(end - start);
  const fd = openSync(join(__dirname, name), 'r');
  try {
    return bytes.latin1Slice(0, readSync(fd, bytes, 0, bytes.length, start));
  } finally {
    closeSync(fd);
  }
}

/**
 * @returns what V8 compiled from this very part with this very Node, or null: then the part is compiled as ever. V8 refuses another version, other
 * flags and another length by itself, but takes damaged bytes for code; so the digest is ours.
 */
function compiledCode(name) {
  try {
    const file = readFileSync(cacheFile(name));
    const data = file.subarray(DIGEST);
    return digestOf(data).equals(file.subarray(0, DIGEST)) ? data : null;
  } catch {
    return null;
  }
}

/** The build puts in what each part is called by its content, so that code compiled from another build never fits. */
function cacheFile(name) {
  return join(__dirname, `${name}.${PART_IDS[name]}.${process.version}-${process.arch}.cache`);
}

function digestOf(data) {
  return createHash('sha256').update(data).digest();
}

if (require.main === module) load(DAILY.includes(process.argv[2]) ? 'daily' : 'main');
else module.exports = { load, parts, cacheFile, digestOf };
