import { VERSION } from '../generated/template.ts';
import { escapeText } from '../model/escaped.ts';
import { REFUSALS, SigningRefused } from '../sign/refusal.ts';
import { parseCall, renderHelp, suggestion } from './arguments.ts';
import { CannotError, type Command, EXIT, type Exit, RefusedError, UsageError } from './command.ts';
import { COMMANDS } from './commands.ts';
import { isDrained, print, tell } from './output.ts';

/** The command `writ`: finds the command by its words, runs it, maps what it says to an exit code. */
async function main(argv: readonly string[]): Promise<number> {
  const [first = '', second = ''] = argv;
  if (first === '' || first === '--help' || first === '-h' || first === 'help') {
    await print(renderOverview());
    return first === '' ? EXIT.usage : EXIT.ok;
  }
  if (first === '--version' || first === '-V') {
    await print(`${VERSION}\n`);
    return EXIT.ok;
  }
  const nested = COMMANDS.find((one) => one.name === `${first} ${second}`);
  const command = nested ?? COMMANDS.find((one) => one.name === first);
  if (!command) return unknown(first, second);
  const call = parseCall(command, argv.slice(nested ? 2 : 1));
  if (call.values.help === true) {
    await print(renderHelp(command));
    return EXIT.ok;
  }
  return command.run(call);
}

async function unknown(first: string, second: string): Promise<Exit> {
  const group = COMMANDS.filter((one) => one.name.startsWith(`${first} `));
  if (group.length > 0) {
    if (second === '--help' || second === '-h') {
      await print(group.map(renderHelp).join('\n'));
      return EXIT.ok;
    }
    const known = group.map((one) => one.name.slice(first.length + 1));
    throw new UsageError(
      `writ ${first} takes ${known.join(', ')}${second === '' ? '' : suggestion(second, known, `writ ${first} `)}`,
    );
  }
  const words = [...new Set(COMMANDS.map((one) => one.name.split(' ')[0] ?? ''))];
  throw new UsageError(`there is no command ${escapeText(first, 64)}${suggestion(first, words, 'writ ')}`);
}

function renderOverview(): string {
  const rows = COMMANDS.map((one) => `  ${one.name.padEnd(20)} ${one.summary}`);
  return `writ ${VERSION}: a document binds an agent only under writ.\n\nUsage: writ COMMAND [options]\n\n${rows.join('\n')}\n\nEvery command takes --help. Start with: writ check\n`;
}

/** Errors never end in 0: wrong usage 3, refused 1, everything else 4. */
async function report(error: unknown): Promise<Exit> {
  // `##[` begins a command of a CI runner wherever it stands in a line.
  const message = escapeText(error instanceof Error ? error.message : String(error), 2_000).replaceAll('##[', '##\\[');
  if (error instanceof UsageError) {
    await tell(`writ: ${message}`);
    return EXIT.usage;
  }
  if ((error as NodeJS.ErrnoException)?.syscall === 'uv_cwd') {
    await tell('writ: the current folder is gone: cd to one that is there');
    return EXIT.unchecked;
  }
  if (error instanceof SigningRefused) {
    await tell(`writ: nothing was signed: ${REFUSALS[error.refused]}`);
    return EXIT.usage;
  }
  if (error instanceof RefusedError) {
    await tell(`writ: refused (${error.code}): ${message}`);
    return EXIT.refused;
  }
  await tell(
    error instanceof CannotError ? `writ: ${message}` : `writ: internal error, nothing was decided: ${message}`,
  );
  if (process.env.WRIT_DEBUG && error instanceof Error) await tell(error.stack ?? '');
  return EXIT.unchecked;
}

void main(process.argv.slice(2))
  .catch(report)
  .catch(() => EXIT.unchecked)
  .then((exit) => {
    process.exitCode = exit;
    // What a command began it has awaited. Taking the heap down costs more than judging a file does.
    if (isDrained()) process.exit();
  });

export type { Command };
