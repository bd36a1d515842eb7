// Writes the reference pages that can be read off the source: docs/commands.md, docs/codes.md, docs/hosts.md, docs/rules.md.
// `node src/build/docs.mjs` writes them; with --check it writes nothing and exits 1 where one is out of date.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { compileHosts } from './compile-hosts.mjs';
import { compileRules } from './compile-rules.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** Loads a source module as it is, without the modules it loads on demand. */
async function load(entry) {
  const onDemand = {
    name: 'leave on-demand imports alone',
    setup: ({ onResolve }) =>
      onResolve({ filter: /./ }, ({ kind, path }) =>
        kind === 'dynamic-import' ? { path, external: true } : undefined,
      ),
  };
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    plugins: [onDemand],
    logLevel: 'warning',
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}

const MADE = '<!-- Made by src/build/docs.mjs. Change the source named below, then run: npm run docs -->';
const cell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ').replaceAll('<', '&lt;');
const code = (text) => `\`${text.replaceAll('|', '\\|')}\``;
const rows = (heads, lines) =>
  [heads, heads.map(() => '---'), ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n');

function renderCommands({ COMMANDS, COMMON }) {
  const option = ([name, { type, multiple }]) =>
    `--${name}${type === 'string' ? ' VALUE' : ''}${multiple ? ' (may be repeated)' : ''}`;
  const sections = COMMANDS.map(({ name, summary, usage, example, options }) =>
    [
      `## writ ${name}`,
      '',
      `${summary[0].toUpperCase()}${summary.slice(1)}.`,
      '',
      '```text',
      usage,
      '```',
      '',
      `Example: \`${example}\``,
      '',
      `Options: ${Object.entries(options).map(option).map(code).join(', ') || 'none of its own'}.`,
    ].join('\n'),
  );
  return `${MADE}

# Commands

Source: \`src/cli/commands.ts\`. Only what is listed here exists; \`writ COMMAND --help\` says the same.

Every command takes ${Object.keys(COMMON)
    .map((name) => code(`--${name}`))
    .join(' and ')}. The root is the git top level, else the current folder. Commands that sign take
\`--as NAME\` and \`--key FILE\` (an OpenSSH private key, or a \`.pub\` whose private half is in ssh-agent), or \`WRIT_AS\` and
\`WRIT_KEY\`. Durations are \`90s\`, \`15m\`, \`8h\`, \`7d\`, or an ISO 8601 time ending in \`Z\`. Results go to stdout, everything
else to stderr. Without a terminal nothing asks: what would be asked is an error that names the flag.

| exit | means |
| --- | --- |
| 0 | nothing was refused |
| 1 | something was quarantined or refused |
| 2 | only from \`writ hook host\`: the host reads it as a refusal |
| 3 | wrong usage or configuration |
| 4 | it could not be checked |

${rows(
  ['command', 'does'],
  COMMANDS.map(({ name, summary }) => [`[\`writ ${name}\`](#writ-${name.replaceAll(' ', '-')})`, cell(summary)]),
)}

${sections.join('\n\n')}
`;
}

const STAGES = {
  discover: 'Discover: finding and reading files',
  parse: 'Parse: the manifest',
  bind: 'Bind: who wrote it',
  verify: 'Verify: who approved it, and does it still hold',
  scan: 'Scan: what the text tries',
  imports: 'Imports: what the text pulls in',
  board: 'Boards',
  host: 'Hosts: what a host does with the file',
  set: 'Set: the policy set, the machine, the workspace as a whole',
  handoff: 'Handoffs: what one agent hands another',
};
const EFFECTS = {
  quarantine: 'quarantined',
  reference: 'at most reference',
  advisory: 'at most advisory',
  note: 'note',
};

function effectsOf(entry) {
  const said = [EFFECTS[entry.effect]];
  if (entry.effectPC) said.push(`${EFFECTS[entry.effectPC]} where policy or constitution is declared`);
  if (entry.effectEvidence) said.push(`${EFFECTS[entry.effectEvidence]} where a class of evidence is declared`);
  if (entry.effectStrict) said.push(`${EFFECTS[entry.effectStrict]} under \`unmanifested: quarantined\``);
  if (entry.everywhere) said.push('for every artifact');
  if (entry.unchecked) said.push('counts as unchecked');
  if (entry.withheld === 'unless-intact') said.push('held in place unless the policy set is pinned and intact');
  if (entry.withheld === 'always' && entry.effect === 'quarantine') said.push('never moved');
  if (entry.adoptable) said.push('a note where the sovereign approved the text');
  if (entry.exceptable) said.push('`writ waive` may except it');
  if (entry.auditable) said.push('may be put in audit');
  return said.join('; ');
}

function renderCodes({ CODES, SCAN_CODES }, { DEFAULT_RULES }) {
  const table = (entries) =>
    rows(
      ['code', 'effect', 'meaning', 'cure'],
      entries.map(([name, entry]) => [code(name), effectsOf(entry), cell(entry.meaning), cell(entry.cure)]),
    );
  const sections = Object.entries(STAGES).map(([stage, title]) => {
    const entries = Object.entries(CODES).filter(([, entry]) => entry.stage === stage);
    return `## ${title}\n\n${table(entries)}`;
  });
  const rules = rows(
    ['rule', 'severity', 'what it looks for'],
    DEFAULT_RULES.map(({ id, severity, why }) => [code(`scan/${id}`), severity, cell(why)]),
  );
  const severities = Object.entries(SCAN_CODES).map(([severity, entry]) => `${severity}: ${effectsOf(entry)}`);
  return `${MADE}

# Codes

Source: \`src/model/codes.ts\` and \`policies/defaults/rules/\`. Every finding carries one of these codes and nothing else. The rank of
an artifact is the lowest of the ceiling of its class and the effects of its findings, so another finding can only lower it.
\`writ explain CODE\` prints one row.

${sections.join('\n\n')}

## Scan rules

${severities.map((one) => `- ${one}`).join('\n')}

A scan finding is accepted only through an approval: \`writ approve PATH --accept RULE=REASON\`. A signature alone never silences the scan.

${rules}
`;
}

const FAMILY_TITLES = {
  'forged-role': 'Forged roles and tool results',
  'hidden-unicode': 'Hidden Unicode',
  override: 'Override of instructions',
  authority: 'Spoofed authority',
  concealment: 'Concealment',
  exfiltration: 'Exfiltration',
  coercion: 'Coercion into harmful acts',
  persistence: 'Persistence',
  'remote-instructions': 'Remote instructions',
  safety: 'Safety turned off',
  judge: 'Orders to a judge',
  padding: 'Padding',
  encoded: 'Encoded orders',
  persona: 'Personas without rules',
  'intent-claims-authority': 'Intent: claims authority',
  'intent-mismatch': 'Intent: standing orders',
};
const SHOWN = 3;

// Line breaks, and what no reader would see, spelt out; an example is text that a model might obey, so it stands in code.
function example(text) {
  const plain = text
    .replaceAll('\n', '\u23ce ')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu, (char) => `\\u{${char.codePointAt(0).toString(16)}}`)
    .replace(/(.{1,12}?)\1{9,}/gu, (_run, unit) => `${unit}\u2026`);
  const fence = '`'.repeat(Math.max(1, ...(plain.match(/`+/g) ?? []).map((run) => run.length + 1)));
  const cut = plain.length > 160 ? `${plain.slice(0, 160)}\u2026` : plain;
  return `${fence}${fence.length > 1 ? ' ' : ''}${cut}${fence.length > 1 ? ' ' : ''}${fence}`;
}

function renderRules(files) {
  const sections = Object.entries(FAMILY_TITLES).map(([family, title]) => {
    const inside = files.filter(({ rule }) => rule.family === family);
    const parts = inside.map(({ rule, bad, good }) =>
      [
        `### ${rule.id}`,
        '',
        `${rule.why} Severity: **${rule.severity}**.`,
        '',
        `Counts in: ${rule.contexts.join(', ')}.${rule.weak.length > 0 ? ` One step lower in: ${rule.weak.join(', ')}.` : ''}`,
        '',
        'Found, for example:',
        '',
        ...bad.slice(0, SHOWN).map((text) => `- ${example(text)}`),
        '',
        'Left alone, for example:',
        '',
        ...good.slice(0, SHOWN).map((text) => `- ${example(text)}`),
      ].join('\n'),
    );
    return `## ${title}\n\n${parts.join('\n\n')}`;
  });
  return `${MADE}

# Scan rules

Source: \`policies/defaults/rules/*.yaml\`, ${files.length} rules. docs/codes.md says what a severity does to a rank; docs/contributing.md says how to add a rule.

- A text is read as written and in three more views: **normalised** (look-alike letters folded, invisible ones removed), **hidden** (what a person does
  not see: Tag characters, reversed runs, comments, titles) and **decoded** (base64, hex, binary, escapes, percent and HTML codes, rot13, reversed,
  digits for letters, letters set apart or regrouped; two levels deep).
- Quoted text, code, fenced code and a sentence or section that reports an attack are mentions. A rule counts only in the places listed with it.
- What is \`suspect\` in the open is \`block\` where it is encoded or hidden by characters.
- Suspect passages of two families, or three of any, within 400 characters of each other are \`block\` together.
- Nothing in a text can switch a rule off.

${sections.join('\n\n')}
`;
}

/** What a host reads at most, with where that comes from. */
function renderBudget(budget) {
  const { lines, bytes, chars, skips, head, tail, totalBytes, totalChars, files = [] } = budget;
  const one = [
    ...(lines ? [`${lines} lines`] : []),
    ...(bytes ? [`${bytes} bytes`] : []),
    ...(chars ? [`${chars} characters${budget.body ? ' below the front matter' : ''}`] : []),
  ].join(' or ');
  const names = files.map(code).join(', ');
  const most = totalBytes ? `${totalBytes} bytes` : `${totalChars} characters`;
  const says = [
    ...(skips ? [`no file of more than ${skips} bytes`] : []),
    ...(one === '' ? [] : [`${one} of a file`]),
    ...(head ? [`of a longer one the first ${head} % and the last ${tail} % of that`] : []),
    ...(budget.over === 'chain'
      ? [`${most} of the chain from the root down to a folder, of each folder the first of ${names}`]
      : []),
    ...(budget.over === 'folder' ? [`${most} of one folder's files together, in this order: ${names}`] : []),
  ];
  return [`${code(budget.name)}`, says.join('; '), `${cell(budget.source)}, seen ${budget.at}`];
}

const FEEDS = {
  'file-option': ({ option }) => `as a private file, by ${code(option)}: added to its own prompt`,
  'toml-option': ({ option, key }) =>
    `on the command line, by ${code(`${option} ${key}=...`)}: added to its own prompt, in place of a ${code(key)} of the user. At most 131072 bytes`,
  'file-variable': ({ variable }) =>
    `as a private file, by ${code(variable)}: in place of its built-in prompt, which it adds nothing to`,
  'json-variable': ({ variable }) =>
    `as a private file among the \`instructions\` of ${code(variable)}: added to its own prompt`,
  'plugin-hook': ({ option }) =>
    `by a hook at the start of the session, in a private plugin named by ${code(option)}: added to the session`,
};

/** What `writ exec` does for a host: how it is told, what is kept out and how, what is not. */
function renderLaunch(host, inside, launch, seen) {
  if (launch === undefined)
    return [
      '**Under `writ exec`:** no switch of it is known. It is started where all it reads in the workspace at launch binds; what it reads later or outside the',
      'workspace is named. It gets its rules where CMD says `{boot}`, and is not started without where something binds.',
    ];
  const switches = ({ args, env }) =>
    [...args, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)].map(code).join(' ');
  const always = switches(launch);
  const paths = (entries) =>
    [
      ...new Set(entries.map((entry) => code(entry.where === 'home' ? `~/${entry.path}` : (entry.path ?? entry.glob)))),
    ].join(', ') || 'nothing';
  const open = (loads) => inside.filter((entry) => entry.loads === loads && maskOf(entry, launch) === undefined);
  const below = inside.filter((entry) => maskOf(entry, launch) === 'launch');
  const checked =
    seen === undefined
      ? 'Not held against an installed program.'
      : `Held against ${host.title} ${seen.version} on ${seen.at}: its \`--help\`, and what it sends to a server of our own.`;
  return [
    `**Under \`writ exec\`** (${checked} Facts from: ${cell(launch.source)}, seen ${launch.at}.)`,
    '',
    `- The boot context goes in ${FEEDS[launch.feed.by](launch.feed)}.`,
    ...(always === '' ? [] : [`- Always: ${always}.`]),
    ...Object.values(launch.narrow).map(
      (one) =>
        `- Where something it keeps out is there and does not bind: ${switches(one)}; then ${one.says}.${one.unless.length > 0 ? ` It does not work with ${one.unless.map(code).join(' or ')}: there exec refuses.` : ''}`,
    ),
    ...launch.takes.map(
      (one) => `- An approved ${code(one.path)} is handed over as a private copy, by ${code(one.option)}.`,
    ),
    ...(launch.owns.length > 0 ? [`- Not taken in CMD: ${launch.owns.map(code).join(', ')}.`] : []),
    '',
    rows(
      ['read', 'kept out', 'not kept out'],
      [
        [
          'at launch',
          paths(keptOut(launch, inside, 'launch')),
          open('launch').length === 0 ? 'nothing' : `${paths(open('launch'))}: exec refuses unless it binds`,
        ],
        [
          'lazily',
          paths(keptOut(launch, inside, 'lazy')),
          [...open('lazy'), ...below].length === 0
            ? 'nothing'
            : `${paths([...open('lazy'), ...below])}${below.length > 0 ? ' (those of the launch below the folder it starts in)' : ''}: named`,
        ],
        [
          'on spawn',
          paths(keptOut(launch, inside, 'spawn')),
          open('spawn').length === 0 ? 'nothing' : `${paths(open('spawn'))}: named`,
        ],
        [
          'from outside the workspace',
          paths(host.outside.filter((entry) => maskOf(entry, launch) !== undefined)),
          host.outside.every((entry) => maskOf(entry, launch) !== undefined)
            ? 'nothing'
            : `${paths(host.outside.filter((entry) => maskOf(entry, launch) === undefined))}: named`,
        ],
      ],
    ),
  ];
}

function maskOf(entry, launch) {
  return entry.glob === undefined ? launch.outside[`${entry.where} ${entry.path}`] : launch.inside[entry.glob];
}

function keptOut(launch, inside, loads) {
  return inside.filter((entry) => entry.loads === loads && maskOf(entry, launch) !== undefined);
}

function renderHosts({ HOSTS, ENTRIES, BUDGETS }, { LAUNCHES }, seen) {
  const flags = (entry) =>
    [
      entry.kind === 'prose' ? '' : entry.kind,
      entry.anyDepth ? 'in every folder' : '',
      entry.hops > 0 ? `imports, ${entry.hops} deep` : '',
      entry.names ? 'names files that are judged with it' : '',
      entry.budget === null ? '' : `at most ${code(BUDGETS[entry.budget].name)}`,
    ]
      .filter((one) => one !== '')
      .join(', ');
  const sections = HOSTS.map((host) => {
    const inside = ENTRIES.filter((entry) => entry.host === host.name);
    const budgets = BUDGETS.filter((one) => one.host === host.name);
    const parts = [
      `## ${host.title} (\`${host.name}\`)`,
      '',
      `Facts from: ${cell(host.source)}, seen ${host.at}.`,
      ...(host.presence.length > 0
        ? [`In use here if one of these is there: ${host.presence.map(code).join(', ')}.`]
        : []),
      '',
      ...(budgets.length === 0 ? [] : [rows(['reads at most', '', 'facts from'], budgets.map(renderBudget)), '']),
      rows(
        ['path in the workspace', 'loaded at', 'notes'],
        inside.map((entry) => [code(entry.glob), entry.loads, flags(entry)]),
      ),
    ];
    if (host.outside.length > 0)
      parts.push(
        '',
        rows(
          ['path outside the workspace', 'where', 'loaded at', 'notes'],
          host.outside.map((entry) => [code(entry.path), entry.where, entry.loads, flags(entry)]),
        ),
      );
    const launch = LAUNCHES.find((one) => one.host === host.name);
    if (host.name !== 'generic') parts.push('', ...renderLaunch(host, inside, launch, seen[host.name]));
    return parts.join('\n');
  });
  return `${MADE}

# Hosts

Source: \`policies/defaults/hosts/*.yaml\`. A host is a program that runs agents. Its profile says which files it reads, and when: at
launch, lazily (when the agent works in a folder or calls a skill), or when it spawns an agent. These paths are the init paths that
\`writ check\` judges, also where git ignores them. \`hosts:\` in policy.yaml narrows the list to the profiles named there; without it
every profile applies, and a file that appears later is judged at once. \`initPaths:\` in policy.yaml adds paths of your own.

"Executable" files (settings, hooks, servers) have no reference rank: approved, or \`executes-unapproved\` and exit 1. A board is judged line by
line. Files outside the workspace are listed with a note, never moved.

What a host does not read of a file, because the file or a chain of files is too long for it, is the note \`host-truncates\`, with the lines lost. It is told for hosts
in use here: one of their marks is there, or policy.yaml names them. Files that configuration names (\`instructions\` and \`{file:...}\` of OpenCode, \`read\`
of aider) are judged as if the host found them by itself; how, says [concepts.md](concepts.md).

What is not covered:

- **A host that is started without \`writ exec\` reads the raw file.** A file that ranks below binding and stays where it lies is law to it: that is the
  note \`host-loads-raw\`. What [\`writ exec\`](exec.md) keeps out, and what it cannot, is said per host below.
- Settings that give a file another name (\`context.fileName\` of Gemini CLI, \`project_doc_fallback_filenames\` of Codex) are judged as
  executable, but the names they give are not followed. Add them under \`initPaths:\`.
- Of the user's own OpenCode and aider configuration in the home the file is listed, but what it names is not followed.
- Texts that never lie in a file writ can see: organisation rules on a server, rules in a user interface, results of tools, web pages,
  what the user types.
- The limits below are the hosts' defaults. Settings that change them (\`project_doc_max_bytes\` of Codex, \`bootstrapMaxChars\` of OpenClaw) are not
  read, and files above the workspace count for no chain.
- Hosts change. Each profile carries the day its facts were seen. A path that is missing here is not judged.

${sections.join('\n\n')}
`;
}

// Both leave a module alone that is as it should be, so this may run beside tests that read it.
await compileHosts({ root, out: join(root, 'src', 'generated', 'hosts.ts') });
const ruleFiles = await compileRules({ root, out: join(root, 'src', 'generated') });
const [commands, common, codes, rules, hosts, launches] = await Promise.all(
  [
    'cli/commands.ts',
    'cli/arguments.ts',
    'model/codes.ts',
    'scan/default-rules.ts',
    'generated/hosts.ts',
    'generated/launch.ts',
  ].map((file) => load(`src/${file}`)),
);
const seen = JSON.parse(readFileSync(join(root, 'src', 'build', 'hosts-seen.json'), 'utf8'));
const pages = {
  'docs/commands.md': renderCommands({ ...commands, ...common }),
  'docs/codes.md': renderCodes(codes, rules),
  'docs/hosts.md': renderHosts(hosts, launches, seen),
  'docs/rules.md': renderRules(ruleFiles),
};
const check = process.argv.includes('--check');
for (const [file, text] of Object.entries(pages)) {
  const path = join(root, file);
  const fresh = existsSync(path) && readFileSync(path, 'utf8') === text;
  if (fresh) continue;
  if (check) {
    console.error(`${file} is out of date: npm run docs`);
    process.exitCode = 1;
  } else {
    writeFileSync(path, text);
    console.error(`wrote ${file}`);
  }
}
