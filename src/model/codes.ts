import { type ArtifactClass, CEILING, canBind } from './artifact-class.ts';
import type { Effect, Finding, FindingCode, FindingDetail } from './finding.ts';
import type { Rank } from './rank.ts';

export type Stage =
  | 'discover'
  | 'parse'
  | 'bind'
  | 'verify'
  | 'scan'
  | 'imports'
  | 'board'
  | 'host'
  | 'set'
  | 'handoff';

/** One row of the table: everything the product knows about a code. */
export interface CodeEntry {
  readonly stage: Stage;
  /** The effect on the artifact's rank. */
  readonly effect: Effect;
  /** The effect where the manifest declares policy or constitution, if it differs. */
  readonly effectPC?: Effect;
  /** The effect where a manifest declares an evidence class, if it differs. */
  readonly effectEvidence?: Effect;
  /** The effect in a workspace with `unmanifested: quarantined`, if it differs. */
  readonly effectStrict?: Effect;
  /** `never`: a quarantine effect moves the file. `unless-intact`: held in place while no pinned, intact policy set judges. `always`: never moved. */
  readonly withheld: 'never' | 'unless-intact' | 'always';
  /** E: it could not be checked; counts as unchecked, never moves a file, exit 4 unless already 1. */
  readonly unchecked?: true;
  /** X: exceptions.yaml may except it. */
  readonly exceptable?: true;
  /** M: policy.yaml may put it in audit. */
  readonly auditable?: true;
  /** Bind codes: a note where the sovereign's approval adopts the text. */
  readonly adoptable?: true;
  /** The artifact loads as an observation because of it. */
  readonly demotes?: true;
  /** About the workspace as a whole: applies to every artifact. */
  readonly everywhere?: true;
  readonly meaning: string;
  readonly cure: string;
  /** The clause it implements. */
  readonly rule: string;
}

const move = { withheld: 'never' } as const;
const approval = { effect: 'note', effectPC: 'quarantine', withheld: 'unless-intact', stage: 'verify' } as const;
const spawnFault = { stage: 'bind', effect: 'reference', adoptable: true, demotes: true, ...move } as const;
const unreadable = { stage: 'discover', effect: 'quarantine', unchecked: true, withheld: 'always' } as const;
const setFault = { stage: 'set', effect: 'reference', everywhere: true, ...move } as const;
/** Nothing lies anywhere to be moved: what is refused is not taken over. */
const handoffFault = { stage: 'handoff', effect: 'quarantine', withheld: 'always' } as const;
const handoffNote = { stage: 'handoff', effect: 'note', ...move } as const;
const setNote = { stage: 'set', effect: 'note', ...move } as const;

const TABLE = {
  // discover
  'path-escapes-root': {
    stage: 'discover',
    effect: 'quarantine',
    ...move,
    meaning: 'A link leads out of the workspace, so the text is not the workspace\u2019s own.',
    cure: 'Replace the link with a regular file inside the workspace.',
    rule: 'decisions.md discover; facts 7.4',
  },
  'path-unreadable': {
    ...unreadable,
    meaning: 'The path could not be read as a regular file.',
    cure: 'Make it a readable regular file, or remove it.',
    rule: 'decisions.md discover; "could not check" is never "clean"',
  },
  'too-large': {
    ...unreadable,
    meaning: 'The file is larger than limits.fileBytes, so it was not judged.',
    cure: 'Split the file, or raise limits.fileBytes in policy.yaml and run: writ trust sign',
    rule: 'decisions.md discover',
  },
  'changed-while-reading': {
    ...unreadable,
    meaning: 'The file changed while it was being read.',
    cure: 'Run the command again once the writer is done.',
    rule: 'decisions.md discover; facts 7.4',
  },
  'discovery-incomplete': {
    stage: 'discover',
    effect: 'note',
    unchecked: true,
    withheld: 'always',
    meaning: 'Part of the workspace could not be searched for init files.',
    cure: 'Make the folder readable, or raise limits.files in policy.yaml and run: writ trust sign',
    rule: 'overview.md: "could not check" is never "clean"',
  },
  'not-text': {
    stage: 'discover',
    effect: 'quarantine',
    ...move,
    meaning: 'The bytes are not UTF-8 text.',
    cure: 'Save the file as UTF-8 without NUL bytes.',
    rule: 'decisions.md discover',
  },
  'hard-linked': {
    stage: 'discover',
    effect: 'advisory',
    auditable: true,
    ...move,
    meaning: 'The file has more than one hard link, so another path can change it.',
    cure: 'Copy the file over itself: cp -p FILE FILE.new && mv FILE.new FILE',
    rule: 'decisions.md discover; facts 7.4',
  },
  'symlink-alias': {
    stage: 'discover',
    effect: 'note',
    ...move,
    meaning: 'The path is a link to another file of this workspace.',
    cure: 'Nothing to do; approvals must name each alias.',
    rule: 'decisions.md discover',
  },
  'path-confusable': {
    stage: 'discover',
    effect: 'reference',
    exceptable: true,
    auditable: true,
    ...move,
    meaning: 'The name only looks like an init path.',
    cure: 'Rename the file to the exact init path, or away from it.',
    rule: 'decisions.md discover; facts 1.8',
  },
  'nested-repository': {
    stage: 'discover',
    effect: 'reference',
    ...move,
    meaning: 'The file belongs to a dependency, a submodule or a nested repository.',
    cure: 'Copy what you want to adopt into the workspace and approve it there.',
    rule: 'decisions.md discover; incident 1',
  },
  'outside-workspace': {
    stage: 'discover',
    effect: 'note',
    ...move,
    meaning: 'A host loads this file from outside the workspace and no user set governs it.',
    cure: 'Govern your home with: writ init --user',
    rule: 'overview.md faces',
  },
  'host-loads-raw': {
    stage: 'host',
    effect: 'note',
    ...move,
    meaning: 'It ranks below binding, but the host reads it as law where it lies.',
    cure: 'Start the host through: writ exec --host NAME -- CMD, or approve the file: writ approve PATH',
    rule: 'overview.md faces',
  },
  'executes-unapproved': {
    stage: 'discover',
    effect: 'quarantine',
    withheld: 'always',
    meaning: 'Executable configuration without approval: hooks, servers or commands that run at load.',
    cure: 'Review it, then: writ approve PATH --class policy',
    rule: 'overview.md faces; incident 6',
  },
  // parse
  'manifest-missing': {
    stage: 'parse',
    effect: 'reference',
    effectStrict: 'quarantine',
    exceptable: true,
    auditable: true,
    demotes: true,
    ...move,
    meaning: 'No context_manifest: the text loads as an observation.',
    cure: 'Give it one: writ approve PATH --class CLASS, or write it through: writ write PATH --class CLASS',
    rule: 'WAJIB 8: required context_manifest',
  },
  'manifest-ambiguous': {
    stage: 'parse',
    effect: 'quarantine',
    ...move,
    meaning: 'Two manifests claim to speak for one text.',
    cure: 'Keep one carrier and remove the other.',
    rule: 'formats.md carriers',
  },
  'manifest-invalid': {
    stage: 'parse',
    effect: 'quarantine',
    ...move,
    meaning: 'It names context_manifest and cannot be read strictly.',
    cure: 'Correct the manifest at the place named, or stamp it anew: writ write PATH --class CLASS --from PATH',
    rule: 'formats.md carriers',
  },
  'sidecar-orphan': {
    stage: 'parse',
    effect: 'note',
    ...move,
    meaning: 'A sidecar manifest lies beside no file.',
    cure: 'Restore the file it describes, or remove the sidecar.',
    rule: 'formats.md carriers',
  },
  'front-matter-unreadable': {
    stage: 'parse',
    effect: 'note',
    ...move,
    meaning: 'The front matter is not valid YAML; it names no manifest, so the file is taken as it is.',
    cure: 'Quote the values that hold `: `, `*` or `#`.',
    rule: 'formats.md: sloppy hosts',
  },
  'manifest-dialect': {
    stage: 'parse',
    effect: 'note',
    ...move,
    meaning: 'The manifest is spelt in a known dialect and was normalised.',
    cure: 'Nothing to do; writ write stamps the standard spelling.',
    rule: 'formats.md dialects',
  },
  'manifest-unknown-field': {
    stage: 'parse',
    effect: 'note',
    ...move,
    meaning: 'The manifest carries a field writ does not know; it is kept in the digest.',
    cure: 'Nothing to do, or remove the field and approve again.',
    rule: 'formats.md carriers',
  },
  'artifact-id-duplicate': {
    stage: 'parse',
    effect: 'reference',
    demotes: true,
    ...move,
    meaning: 'Another artifact carries the same artifact_id.',
    cure: 'Stamp this one anew: writ write PATH --class CLASS --from PATH',
    rule: 'decisions.md parse; hard rule 10',
  },
  // bind
  'writer-unproven': {
    stage: 'bind',
    effect: 'reference',
    adoptable: true,
    demotes: true,
    ...move,
    meaning: 'No proof says who wrote these bytes.',
    cure: 'Write it through: writ write PATH --class CLASS --as NAME --key KEY, or commit it with a known signing key',
    rule: 'WAJIB 8 check 1; write-side bind',
  },
  'author-mismatch': {
    stage: 'bind',
    effect: 'reference',
    adoptable: true,
    demotes: true,
    ...move,
    meaning: 'The manifest names an author who is not the proven writer.',
    cure: 'Let the named author write it: writ write PATH --class CLASS --as AUTHOR --key KEY',
    rule: 'WAJIB 8 check 1',
  },
  'role-forbids-class': {
    stage: 'bind',
    effect: 'reference',
    effectPC: 'quarantine',
    adoptable: true,
    demotes: true,
    ...move,
    meaning: 'The proven writer\u2019s role may not author this class.',
    cure: 'Have an orchestrator or approver write it, or have the sovereign adopt it: writ approve PATH',
    rule: 'WAJIB 8: class is not a free string',
  },
  'level-exceeds-writer': {
    stage: 'bind',
    effect: 'reference',
    effectPC: 'quarantine',
    adoptable: true,
    demotes: true,
    ...move,
    meaning: 'The authority level is above what the writer\u2019s role may claim.',
    cure: 'Write it at a lower --level, or have the sovereign adopt it: writ approve PATH',
    rule: 'overview.md authority levels',
  },
  'spawn-chain-broken': {
    ...spawnFault,
    meaning: 'The writer\u2019s spawn record does not lead back to a known principal.',
    cure: 'Declare the child again: writ spawn ACTOR --role ROLE --pub FILE.pub',
    rule: 'overview.md spawn records',
  },
  'spawn-expired': {
    ...spawnFault,
    meaning: 'The writer\u2019s spawn record has run out.',
    cure: 'Declare the child again: writ spawn ACTOR --role ROLE --pub FILE.pub --expires 8h',
    rule: 'overview.md spawn records',
  },
  'spawn-role-widened': {
    ...spawnFault,
    meaning: 'The writer\u2019s spawn record grants more role or life than its parent had.',
    cure: 'Declare the child with at most the parent\u2019s role and life: writ spawn ACTOR --role specialist --pub FILE.pub',
    rule: 'overview.md spawn records',
  },
  'spawn-collision': {
    ...spawnFault,
    meaning: 'The spawn record reuses a name or key that is already somebody.',
    cure: 'Spawn the child under a new name with a new key.',
    rule: 'overview.md spawn records',
  },
  'spawn-path': {
    ...spawnFault,
    meaning: 'The writer\u2019s spawn record does not reach this path.',
    cure: 'Spawn with --paths that cover it, or let the parent write it.',
    rule: 'overview.md spawn records',
  },
  'source-commit-missing': {
    stage: 'bind',
    effect: 'note',
    ...move,
    meaning: 'The manifest names no source commit.',
    cure: 'Nothing to do; writ write fills it from HEAD.',
    rule: 'WAJIB 8 check 1',
  },
  'source-commit-unknown': {
    stage: 'bind',
    effect: 'note',
    ...move,
    meaning: 'The source commit is not an ancestor of HEAD here.',
    cure: 'In a shallow clone fetch the history: git fetch --unshallow',
    rule: 'WAJIB 8 check 1',
  },
  // verify
  revoked: {
    stage: 'verify',
    effect: 'quarantine',
    ...move,
    meaning: 'It was revoked.',
    cure: 'Write a new version and have it approved; a revocation is never undone.',
    rule: 'overview.md revocations',
  },
  'content-hash-mismatch': {
    stage: 'verify',
    effect: 'quarantine',
    ...move,
    meaning: 'The bytes are not the ones the manifest was made for.',
    cure: 'Restore the bytes, or stamp the new ones: writ write PATH --class CLASS --from PATH',
    rule: 'WAJIB 8: content_hash',
  },
  'content-hash-missing': {
    stage: 'verify',
    effect: 'advisory',
    effectPC: 'quarantine',
    ...move,
    meaning: 'The manifest does not say which bytes it was made for.',
    cure: 'Stamp it: writ write PATH --class CLASS --from PATH',
    rule: 'WAJIB 8: content_hash',
  },
  'approval-missing': {
    ...approval,
    meaning: 'Policy and constitution need approval, and approved_by is empty.',
    cure: 'writ approve PATH --as APPROVER --key KEY',
    rule: 'WAJIB 8 check 3',
  },
  'approval-unproven': {
    ...approval,
    meaning: 'approved_by names someone who gave no valid approval.',
    cure: 'writ approve PATH --as APPROVER --key KEY',
    rule: 'WAJIB 8 check 3',
  },
  'approval-stale': {
    ...approval,
    meaning: 'An approval exists, but not for exactly these bytes, this path and this manifest.',
    cure: 'Review the change and approve it: writ approve PATH --as APPROVER --key KEY',
    rule: 'overview.md approvals',
  },
  'approval-expired': {
    stage: 'verify',
    effect: 'reference',
    demotes: true,
    ...move,
    meaning: 'The approval, or its approver\u2019s key, has run out.',
    cure: 'writ approve PATH --renew --as APPROVER --key KEY',
    rule: 'decisions.md verify',
  },
  'approval-not-yet-valid': {
    stage: 'verify',
    effect: 'reference',
    demotes: true,
    ...move,
    meaning: 'The approval, or its approver\u2019s key, is not valid yet.',
    cure: 'Correct the clock, or approve again: writ approve PATH',
    rule: 'decisions.md verify',
  },
  'approval-too-long': {
    stage: 'verify',
    effect: 'reference',
    demotes: true,
    ...move,
    meaning: 'The approval runs longer than approvals.maxDays allows.',
    cure: 'writ approve PATH --expires 90d',
    rule: 'decisions.md verify',
  },
  'approver-not-permitted': {
    ...approval,
    meaning: 'The approver may not approve this: role, scope or missing touch.',
    cure: 'Have the sovereign or a permitted approver approve it: writ approve PATH',
    rule: 'overview.md classes and levels',
  },
  'approver-is-author': {
    ...approval,
    meaning: 'The only approval comes from the author.',
    cure: 'Have somebody else approve it: writ approve PATH',
    rule: 'WAJIB 8: agents cannot ratify themselves',
  },
  'approval-threshold': {
    ...approval,
    meaning: 'Fewer distinct principals approved than this workspace asks for.',
    cure: 'Have one more approver run: writ approve PATH',
    rule: 'formats.md approvals.threshold',
  },
  expired: {
    stage: 'verify',
    effect: 'reference',
    demotes: true,
    ...move,
    meaning: 'expires_at has passed: it loads as an observation, whatever its class.',
    cure: 'Write it again with a new --expires: writ write PATH --class CLASS --from PATH --expires 7d',
    rule: 'WAJIB 8 check 4',
  },
  'expires-soon': {
    stage: 'verify',
    effect: 'note',
    ...move,
    meaning: 'It runs out within 14 days.',
    cure: 'writ approve PATH --renew',
    rule: 'decisions.md verify',
  },
  'expiry-missing': {
    stage: 'verify',
    effect: 'note',
    ...move,
    meaning: 'A handoff should say when it ends.',
    cure: 'writ write PATH --class operational_handoff --expires 7d',
    rule: 'overview.md classes',
  },
  'not-yet-valid': {
    stage: 'verify',
    effect: 'reference',
    demotes: true,
    ...move,
    meaning: 'created_at lies in the future.',
    cure: 'Correct the clock of the writer, then write it again.',
    rule: 'decisions.md verify',
  },
  'constitution-mismatch': {
    stage: 'verify',
    effect: 'advisory',
    ...move,
    meaning: 'It was written under another constitution than today\u2019s.',
    cure: 'Review it under today\u2019s constitution: writ write PATH --class CLASS --from PATH, then writ approve PATH',
    rule: 'WAJIB 8 check 5',
  },
  superseded: {
    stage: 'verify',
    effect: 'reference',
    demotes: true,
    ...move,
    meaning: 'An approved successor replaced it.',
    cure: 'Remove it, or approve it again on purpose: writ approve PATH',
    rule: 'WAJIB 8: supersession chain',
  },
  'supersession-gap': {
    stage: 'verify',
    effect: 'advisory',
    ...move,
    meaning: 'The chain of what replaced what is broken at this path.',
    cure: 'Write it again with --supersedes ID for what it replaces, then: writ approve PATH',
    rule: 'WAJIB 8: supersession chain',
  },
  'supersession-cycle': {
    stage: 'verify',
    effect: 'advisory',
    ...move,
    meaning: 'Artifacts replace each other in a circle.',
    cure: 'Write a new version that supersedes the right one: writ write PATH --supersedes ID',
    rule: 'WAJIB 8: supersession chain',
  },
  'supersedes-unknown': {
    stage: 'verify',
    effect: 'note',
    ...move,
    meaning: 'It claims to supersede an id that no approval knows.',
    cure: 'Correct --supersedes, or leave it out.',
    rule: 'WAJIB 8: supersession chain',
  },
  'supersedes-higher-authority': {
    stage: 'verify',
    effect: 'quarantine',
    ...move,
    meaning: 'It replaces something its approver could not have approved.',
    cure: 'Have the sovereign approve the replacement: writ approve PATH',
    rule: 'decisions.md verify',
  },
  'binding-claim': {
    stage: 'verify',
    effect: 'note',
    ...move,
    meaning: 'It claims binding: true, which its class or proofs do not carry.',
    cure: 'Nothing to do: the claim has no effect.',
    rule: 'WAJIB 8 hard rules',
  },
  // scan
  'history-incomplete': {
    stage: 'verify',
    effect: 'quarantine',
    unchecked: true,
    withheld: 'always',
    meaning: 'A signed commit may approve it, and the history that would say so is not here.',
    cure: 'Get the history: git fetch --unshallow (in CI: fetch-depth: 0)',
    rule: 'formats.md policy.yaml, commits.approval',
  },
  'scan-incomplete': {
    stage: 'scan',
    effect: 'quarantine',
    unchecked: true,
    withheld: 'always',
    meaning: 'The work budget was spent before every rule saw every byte.',
    cure: 'Split the file, or raise limits.scanWork in policy.yaml and run: writ trust sign',
    rule: 'decisions.md scan',
  },
  'intent-mismatch': {
    stage: 'scan',
    effect: 'note',
    ...move,
    meaning: 'It says it is evidence, but gives standing orders to future agents.',
    cure: 'Write orders as guidance or policy: writ write PATH --class guidance',
    rule: 'WAJIB 8 check 2',
  },
  'intent-claims-authority': {
    stage: 'scan',
    effect: 'reference',
    effectEvidence: 'quarantine',
    auditable: true,
    demotes: true,
    ...move,
    meaning: 'The text declares itself policy, binding, superseding or approved.',
    cure: 'Remove the claim; authority comes from: writ approve PATH',
    rule: 'WAJIB 8 check 2',
  },
  // imports
  'import-unapproved': {
    stage: 'imports',
    effect: 'advisory',
    ...move,
    meaning: 'It pulls in a file that ranks lower and is not covered by its approval.',
    cure: 'Approve the importing file again, which adds its imports: writ approve PATH',
    rule: 'peers.md 4.7',
  },
  'import-missing': {
    stage: 'imports',
    effect: 'advisory',
    ...move,
    meaning: 'It imports a file that is not there, or what it imports could not be judged.',
    cure: 'Restore the imported file, or remove the import.',
    rule: 'decisions.md imports',
  },
  'import-escapes-root': {
    stage: 'imports',
    effect: 'quarantine',
    ...move,
    meaning: 'It imports a file from outside the workspace.',
    cure: 'Copy the file into the workspace and import it from there.',
    rule: 'decisions.md imports',
  },
  // board
  'board-kind-unproven': {
    stage: 'board',
    effect: 'reference',
    demotes: true,
    ...move,
    meaning: 'kind, role and from of a board line are the caller\u2019s word: it loads as an observation.',
    cure: 'Post it with: writ post BOARD --kind KIND --as NAME --key KEY',
    rule: 'WAJIB 8: write-side bind',
  },
  'board-line-unreadable': {
    stage: 'board',
    effect: 'note',
    ...move,
    meaning: 'A line of the board could not be read and was skipped.',
    cure: 'Post through writ post, which appends whole lines only.',
    rule: 'handoffs.md boards',
  },
  // host
  'host-truncates': {
    stage: 'host',
    effect: 'note',
    ...move,
    meaning: 'A host in use here does not read all of this file.',
    cure: 'Shorten the file below the host\u2019s limit.',
    rule: 'decisions.md host; incident 15',
  },
  // set
  'root-unpinned': {
    ...setFault,
    meaning: 'No pin on this machine says who decides here, so nobody is proven.',
    cure: 'In a clone: writ trust pin. In a new workspace: writ init',
    rule: 'overview.md trust',
  },
  'root-mismatch': {
    ...setFault,
    meaning: 'The policy set is not the one this checkout is pinned to.',
    cure: 'If a human changed the root on purpose: writ trust pin --replace, on a terminal',
    rule: 'overview.md trust',
  },
  'policy-unsigned': {
    ...setFault,
    meaning: 'The policy set carries no signature that can be verified.',
    cure: 'writ trust sign --as ROOT --key KEY',
    rule: 'overview.md policy set',
  },
  'policy-altered': {
    ...setFault,
    meaning: 'A file of the policy set is not the one that was signed.',
    cure: 'Restore it (git checkout), or re-sign a wanted edit: writ trust sign',
    rule: 'overview.md policy set',
  },
  'policy-invalid': {
    ...setFault,
    meaning: 'A file of the policy set breaks its format.',
    cure: 'Correct the place named, then: writ trust sign',
    rule: 'formats.md policy.yaml',
  },
  'policy-below-floor': {
    ...setFault,
    meaning: 'The policy set is older than the lowest version still accepted.',
    cure: 'Bring the current policies folder into this checkout.',
    rule: 'overview.md policy set',
  },
  'policy-expired': {
    ...setFault,
    meaning: 'The policy set has run out.',
    cure: 'writ trust sign --as ROOT --key KEY',
    rule: 'overview.md policy set',
  },
  'revocation-missing': {
    ...setFault,
    meaning: 'A revocation that was known here is gone.',
    cure: 'Restore the file under policies/revocations (git checkout).',
    rule: 'overview.md revocations',
  },
  'constitution-unavailable': {
    ...setFault,
    unchecked: true,
    meaning: 'The constitution could not be read, so nothing can be held against it.',
    cure: 'Restore the documents named under constitution.documents.',
    rule: 'WAJIB 8 check 5',
  },
  'state-unavailable': {
    ...setFault,
    unchecked: true,
    meaning: 'writ\u2019s state could not be read, or is shorter than the pin remembers.',
    cure: 'Repair or remove the state file, then: writ trust pin',
    rule: 'overview.md state',
  },
  'proofs-unreadable': {
    ...setFault,
    unchecked: true,
    meaning: 'A folder of proofs could not be read whole, so nobody can be proven.',
    cure: 'Make it a readable folder again (git checkout), with fewer files if there are too many.',
    rule: 'overview.md: "could not check" is never "clean"',
  },
  'statement-invalid': {
    ...setNote,
    meaning: 'A proof file does not parse, or its signature does not verify; it proves nothing.',
    cure: 'Restore or remove the file.',
    rule: 'formats.md statements',
  },
  'policy-file-unlisted': {
    ...setNote,
    meaning: 'A file lies in the policy set that the signature does not list; it is ignored.',
    cure: 'Take it into the set with: writ trust sign, or remove it.',
    rule: 'issue: rules a set does not list',
  },
  'binding-missing': {
    ...setNote,
    meaning: 'A live approval names a path where no such artifact is.',
    cure: 'Restore the file, or revoke its approval: writ revoke PATH --reason TEXT',
    rule: 'decisions.md set',
  },
  'approval-removed': {
    ...setNote,
    meaning: 'The change deletes an approval or a revocation.',
    cure: 'Put the file back; to withdraw an approval use: writ revoke PATH',
    rule: 'decisions.md set',
  },
  'exception-expired': {
    ...setNote,
    meaning: 'An exception has run out.',
    cure: 'Remove it from exceptions.yaml, or renew it: writ waive CODE PATH',
    rule: 'formats.md exceptions',
  },
  'exception-unused': {
    ...setNote,
    meaning: 'An exception matches nothing.',
    cure: 'Remove it from exceptions.yaml, then: writ trust sign',
    rule: 'formats.md exceptions',
  },
  'exception-duplicate': {
    ...setNote,
    meaning: 'Two exceptions say the same.',
    cure: 'Remove one from exceptions.yaml, then: writ trust sign',
    rule: 'formats.md exceptions',
  },
  'quarantine-failed': {
    stage: 'set',
    effect: 'note',
    unchecked: true,
    withheld: 'always',
    meaning: 'The file could not be moved to quarantine; it is withheld where it lies.',
    cure: 'Make the workspace and its quarantine folder writable.',
    rule: 'decisions.md set',
  },
  // handoff
  'handoff-invalid': {
    ...handoffFault,
    meaning: 'It is no handoff: a field of its envelope or of what it hands over is missing, unknown or out of bounds.',
    cure: 'Make it anew: writ handoff create --to NAME --intent TEXT',
    rule: 'FORGE handoff artifact schema',
  },
  'handoff-signature': {
    ...handoffFault,
    meaning: 'Its signature does not verify, or what it hands over is not what was signed.',
    cure: 'Ask the sender for the envelope as it was made; nothing in this one can be relied on.',
    rule: 'handoffs.md transport envelope',
  },
  'handoff-audience': {
    ...handoffFault,
    meaning: 'It is addressed to somebody else, or made for another workspace.',
    cure: 'Have the sender address it to the one who is to take it over: writ handoff create --to NAME',
    rule: 'handoffs.md transport envelope',
  },
  'handoff-expired': {
    ...handoffFault,
    meaning: 'The time to accept it, or to decide about it, has passed or has not begun.',
    cure: 'Have the sender make it anew: writ handoff create --to NAME --intent TEXT',
    rule: 'handoffs.md transport envelope',
  },
  'handoff-replayed': {
    ...handoffFault,
    meaning: 'Its id or nonce was used before: each is good for one handoff.',
    cure: 'Look at the one taken before: writ handoff show ID. A new one needs: writ handoff create',
    rule: 'handoffs.md transport envelope',
  },
  'handoff-chain': {
    ...handoffFault,
    meaning:
      'The chain of hops to it is not whole: one is missing, out of order, altered, or its provenance does not say it.',
    cure: 'Have the sender make it from the envelope it was handed: writ handoff create --prev FILE',
    rule: 'FORGE F11 auditability: full provenance chain',
  },
  'handoff-role': {
    ...handoffFault,
    meaning: 'The sender is not proven, or its role may not hand over this authority.',
    cure: 'Have somebody send it who holds that authority; a child is declared with: writ spawn ACTOR --role ROLE --pub FILE.pub',
    rule: 'handoffs.md: a handoff cannot widen anyone\u2019s authority',
  },
  'handoff-content': {
    ...handoffFault,
    meaning: 'What it says fails the gate: it would be quarantined as a file.',
    cure: 'Take the passage out and make it anew: writ handoff create --to NAME --intent TEXT',
    rule: 'handoffs.md: judged by the same gate; WAJIB 8 check 6',
  },
  'handoff-unclear': {
    ...handoffNote,
    meaning:
      'It adds to the disorder: repeated evidence, an empty step, steps out of order, or an action against a failed floor.',
    cure: 'Say each thing once, in order: writ handoff create',
    rule: 'FORGE F4 clarity',
  },
  'handoff-overclaims': {
    ...handoffNote,
    meaning: 'Evidence claims more confidence than its rung carries.',
    cure: 'Lower the confidence, or raise the rung by observing; the caps are handoffs.rungs in policy.yaml.',
    rule: 'handoffs.md artifact: rung caps',
  },
  'handoff-unanswered': {
    ...handoffNote,
    meaning: 'No signed answer came in time: it was escalated.',
    cure: 'Ask again with: writ handoff send FILE --url URL, or hand it to somebody else.',
    rule: 'FORGE: ACK within 10 s or escalate',
  },
  'handoff-cancel-unproven': {
    ...handoffFault,
    meaning: 'A cancel without the signature of the receiver\u2019s parent or the sovereign.',
    cure: 'The parent of the spawn record runs: writ handoff interrupt TASK --url URL --envelope FILE',
    rule: 'handoffs.md interrupt; WAJIB 8: cancel and resume',
  },
  'handoff-cancel-unconfirmed': {
    ...handoffNote,
    meaning: 'The cancel was not confirmed: nothing new was sent, and it was escalated.',
    cure: 'Stop the child by other means, then interrupt again.',
    rule: 'handoffs.md interrupt',
  },
} as const satisfies Record<string, CodeEntry>;

export type CodeName = keyof typeof TABLE;

/** The closed table of codes (decisions.md). Nothing else may appear in a finding but `scan/<rule>`. */
export const CODES: Readonly<Record<CodeName, CodeEntry>> = TABLE;

/** What a scan rule of a severity does; accepted only through an approval's `accepts`. */
export const SCAN_CODES: Readonly<Record<'block' | 'suspect' | 'notice', CodeEntry>> = {
  block: scanEntry('quarantine'),
  suspect: { ...scanEntry('reference'), demotes: true },
  notice: scanEntry('note'),
};

function scanEntry(effect: Effect): CodeEntry {
  return {
    stage: 'scan',
    effect,
    withheld: 'never',
    meaning: 'The text matches a rule of the injection scan.',
    cure: 'Remove the passage, or accept it knowingly: writ approve PATH --accept RULE=REASON',
    rule: 'WAJIB 8 check 6',
  };
}

/** @returns the table row of a code; a scan rule's row follows its severity, and without one it is read as block. */
export function entryOf(finding: Pick<Finding, 'code' | 'severity'>): CodeEntry {
  return isScanCode(finding.code) ? SCAN_CODES[finding.severity ?? 'block'] : CODES[finding.code];
}

/** @returns whether a code names a scan rule. */
export function isScanCode(code: FindingCode): code is `scan/${string}` {
  return code.startsWith('scan/');
}

/** @returns whether a word is a code of the table. */
export function isCodeName(word: string): word is CodeName {
  return Object.hasOwn(CODES, word);
}

/** Builds a finding of the table; what the detail leaves out comes from the table. */
export function finding(code: CodeName, detail: FindingDetail = {}): Finding {
  return {
    code,
    message: detail.message ?? CODES[code].meaning,
    line: detail.line ?? null,
    column: detail.column ?? null,
    cure: detail.cure ?? CODES[code].cure,
    ...(detail.severity === undefined ? {} : { severity: detail.severity }),
    ...(detail.file === undefined ? {} : { file: detail.file }),
  };
}

/** Which column of the table applies: what the manifest declares, and how strict the workspace is. */
export interface EffectContext {
  readonly declaredClass: ArtifactClass | null;
  /** policy.yaml says `unmanifested: quarantined`. */
  readonly strict: boolean;
}

/** @returns the effect of a table row for one artifact (decisions.md, the effect column). */
export function effectOf(entry: CodeEntry, context: EffectContext): Effect {
  const { declaredClass, strict } = context;
  if (strict && entry.effectStrict !== undefined) return entry.effectStrict;
  if (declaredClass === null) return entry.effect;
  if (canBind(declaredClass)) return entry.effectPC ?? entry.effect;
  return CEILING[declaredClass] === 'reference' ? (entry.effectEvidence ?? entry.effect) : entry.effect;
}

/** The rank an effect allows at most. */
export const CAP: Readonly<Record<Effect, Rank>> = {
  quarantine: 'quarantined',
  reference: 'reference',
  advisory: 'advisory',
  note: 'binding',
};

/** Every code that policy.yaml may put in audit (M). */
export const AUDITABLE: ReadonlySet<CodeName> = new Set(
  (Object.keys(CODES) as CodeName[]).filter((code) => CODES[code].auditable === true),
);
