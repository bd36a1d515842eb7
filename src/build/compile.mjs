// Turns the data files under policies/defaults into modules, so that no start of the command reads YAML.
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileHosts } from './compile-hosts.mjs';
import { compilePage } from './compile-page.mjs';
import { compileRules } from './compile-rules.mjs';
import { compileTemplate } from './compile-template.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const out = join(root, 'src', 'generated');
mkdirSync(out, { recursive: true });
await compileHosts({ root, out: join(out, 'hosts.ts') });
await compileRules({ root, out });
compileTemplate({ root, out: join(out, 'template.ts') });
compilePage({ root, out: join(out, 'page.ts') });
