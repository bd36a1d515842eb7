import { createHash } from 'node:crypto';
import { PAGE_SCRIPT, PAGE_STYLE } from '../generated/page.ts';
import type { PageData } from '../page/data.ts';

/**
 * The page as one file. It holds no text of the workspace but in one block of data, where `<` never stands as itself, so no text can end the block; the
 * script puts each text in by `textContent`. The policy names the one script and the one style by hash: nothing else runs, and nothing is asked of a network.
 */
export function renderPage(data: PageData): string {
  const json = JSON.stringify(data).replaceAll('<', '\\u003c').replaceAll('\u2028', '\\u2028');
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(PAGE_SCRIPT)}'`,
    `style-src '${hashOf(PAGE_STYLE)}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<meta name="referrer" content="no-referrer">',
    '<meta name="robots" content="noindex">',
    '<title>writ report</title>',
    `<style>${PAGE_STYLE}</style>`,
    '</head>',
    '<body>',
    '<noscript><p class="noscript">This page draws itself from the data inside it and needs its script; nothing is loaded from anywhere. Without it: writ check --verbose</p></noscript>',
    `<script type="application/json" id="data">${json}</script>`,
    `<script>${PAGE_SCRIPT}</script>`,
    '</body>',
    '</html>',
    '',
  ].join('\n');
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
