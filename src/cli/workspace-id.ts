/** Form of a workspace id. */
export const WORKSPACE_ID = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,255}$/;

/** The id a remote proposes: host and path of its URL. Null where it names none. It decides nothing later (overview.md, policy set). */
export function idFromRemote(url: string): string | null {
  const parsed = /^(?:[a-z+]+:\/\/(?:[^@/]+@)?|[^@/]+@)?([A-Za-z0-9.-]+)(?::\d+)?[:/]+(.+?)(?:\.git)?\/*$/.exec(url);
  const proposed = parsed ? `${parsed[1]}/${parsed[2]}` : '';
  return WORKSPACE_ID.test(proposed) ? proposed : null;
}
