/** The files a patch touches, in the envelope of apply_patch (`*** Update File: PATH`) or as a unified diff. Relative to where it is applied. */
export function patchPaths(patch: string): readonly string[] {
  const found: string[] = [];
  for (const line of patch.split(/\r?\n/)) {
    const named = /^\s*\*\*\* (?:Add File|Update File|Delete File|Move to):\s*(.+?)\s*$/.exec(line)?.[1];
    if (named !== undefined) found.push(named);
    const header = /^(?:---|\+\+\+) (?:[ab]\/)?([^\t]+?)\s*(?:\t.*)?$/.exec(line)?.[1];
    if (header !== undefined && header !== '/dev/null') found.push(header);
    const renamed = /^(?:rename|copy) (?:from|to) (.+?)\s*$/.exec(line)?.[1];
    if (renamed !== undefined) found.push(renamed);
  }
  return [...new Set(found)];
}
