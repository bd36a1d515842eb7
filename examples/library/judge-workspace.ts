// Judges a folder as `writ check` does and lists what may bind. Usage: judge-workspace.js FOLDER
import { judgeWorkspace } from 'writ';

const verdicts = await judgeWorkspace({ root: process.argv[2] ?? '.' });
for (const one of verdicts.artifacts) console.log(`${one.rank.padEnd(11)} ${one.path}`);
console.log(`root ${verdicts.workspace.root}, exit ${verdicts.exit}`);
process.exitCode = verdicts.exit;
