import { finding } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import { isBelow, type Rank } from '../model/rank.ts';
import type { ImportFact } from '../model/stages.ts';

/**
 * An approval covers what the file pulls in, or the file is capped (peers.md 4.7). Imported files never gain rank here.
 * @param rank the importer's rank before its imports are weighed.
 * @param rankOf the rank of another file of the workspace, null where it was not judged.
 * @param covered `<path> <sha256>` of the subjects of the importer's standing approvals.
 */
export function checkImports(
  imports: readonly ImportFact[],
  rank: Rank,
  rankOf: (path: string) => Rank | null,
  covered: ReadonlySet<string>,
): readonly Finding[] {
  return imports.flatMap((one) => {
    const place = { line: one.line, column: one.column };
    const named = escapePath(one.path);
    if (one.state === 'escapes')
      return [
        finding('import-escapes-root', {
          ...place,
          message:
            one.path === ''
              ? 'It imports a file from outside the workspace.'
              : `It imports ${named}, which leads outside the workspace.`,
        }),
      ];
    if (one.state === 'missing')
      return [
        finding('import-missing', {
          ...place,
          message: `It imports ${named}, which is not there or could not be read.`,
        }),
      ];
    if (one.state === 'home')
      return [
        finding('import-unapproved', {
          ...place,
          message: `It imports ${named} from the home of whoever runs it, which no approval covers.`,
        }),
      ];
    if (one.state === 'remote')
      return [
        finding('import-unapproved', {
          ...place,
          message: `It has its host fetch ${named} at every start, and no approval covers what comes back.`,
          cure: 'Put the text into a file of the workspace and name that file.',
        }),
      ];
    if (one.state === 'unread')
      return [
        finding('import-missing', {
          ...place,
          message: `${one.path === '' ? 'Which files it has its host load' : `What ${named} stands for`} could not be told (${escapePath(one.why ?? '')}), so not all of it was judged.`,
          cure: 'Write it plainly: a list of files of the workspace.',
        }),
      ];
    const imported = rankOf(one.path);
    if (imported === null || !isBelow(imported, rank)) return [];
    if (imported !== 'quarantined' && covered.has(`${one.path} ${one.sha256}`)) return [];
    return [
      finding('import-unapproved', {
        ...place,
        message: `It imports ${named}, which ranks ${imported} and is not covered by its approval.`,
      }),
    ];
  });
}
