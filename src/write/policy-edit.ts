import { isMap, parseDocument } from 'yaml';

/** One change to `principals` of policy.yaml. */
export type PrincipalEdit =
  | { readonly name: string; readonly role: string }
  | { readonly name: string; readonly gone: true }
  | { readonly name: string; readonly departed: string; readonly keeps: readonly string[] };

/** Edits `principals` and leaves every other line, comments included, as a person wrote it. */
export function editPrincipal(text: string, edit: PrincipalEdit): string {
  const document = parseDocument(text);
  if ('gone' in edit) document.deleteIn(['principals', edit.name]);
  else if ('role' in edit) document.setIn(['principals', edit.name], edit.role);
  else {
    const old = document.getIn(['principals', edit.name], true);
    const fields = isMap(old)
      ? (old.toJSON() as Record<string, unknown>)
      : { role: String((old as { value?: unknown } | undefined)?.value ?? '') };
    document.setIn(
      ['principals', edit.name],
      document.createNode({ ...fields, departed: edit.departed, keeps: [...edit.keeps] }),
    );
  }
  return document.toString({ lineWidth: 0 });
}
