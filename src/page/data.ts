/**
 * What the page of `writ report` shows, as it lies in the page. Every text in it is escaped already: nothing in it hides or moves a cursor.
 * Times are unix milliseconds; null where there is none.
 */
export interface PageData {
  readonly schema: 'writ.report/1';
  /** Of the writ that made the page. */
  readonly version: string;
  readonly at: number;
  /** What `writ check` would have ended in. */
  readonly exit: number;
  readonly workspace: {
    /** Null where no policy set stands. */
    readonly id: string | null;
    readonly root: 'pinned' | 'unpinned' | 'mismatch';
    readonly intact: boolean;
    readonly version: number | null;
    readonly constitution: string | null;
    readonly enforcement: 'enforce' | 'observe';
    readonly expiresAt: number | null;
  };
  readonly counts: Readonly<Record<RankWord, number>>;
  /** What concerns the workspace as a whole. */
  readonly findings: readonly PageFinding[];
  readonly texts: readonly PageText[];
  readonly people: readonly PagePerson[];
  readonly versions: readonly PageVersion[];
  /** Everything with an end, the next first; what has ended lately too. */
  readonly ends: readonly PageEnd[];
  readonly held: readonly PageHeld[];
  /** What lies in quarantine/ that writ did not put there, or cannot read. */
  readonly heldFaults: readonly { readonly file: string; readonly why: string }[];
  /** Null where this machine keeps none or they could not be read: the page then says nothing of them. */
  readonly handoffs: readonly PageHandoff[] | null;
  readonly hosts: readonly PageHost[];
  /** Meaning of every code that is used. */
  readonly codes: Readonly<Record<string, string>>;
  /** Lists that were too long and are cut, in words. */
  readonly cut: readonly string[];
}

/** The rank in one word: what of the quarantined stays in place is withheld, what could not be checked is unchecked. */
export type RankWord = 'binding' | 'advisory' | 'reference' | 'quarantine' | 'withheld' | 'unchecked';

export interface PageFinding {
  readonly code: string;
  readonly effect: 'quarantine' | 'reference' | 'advisory' | 'note';
  readonly message: string;
  readonly cure: string;
  /** `accepted`, `excepted`, `audit`, `adopted`: why the effect is milder than the code's; null where it is not. */
  readonly relief: string | null;
  readonly file: string | null;
  readonly line: number | null;
  /** It says that something could not be checked. */
  readonly unchecked: boolean;
}

/** One judged text. */
export interface PageText {
  readonly path: string;
  /** 1-based, on a board; null for a whole file. */
  readonly line: number | null;
  readonly rank: RankWord;
  readonly declared: string | null;
  readonly class: string;
  readonly ceiling: string;
  readonly kind: string;
  readonly id: string | null;
  readonly level: string | null;
  readonly carrier: string | null;
  readonly sha256: string | null;
  readonly bytes: number | null;
  readonly writer: {
    readonly name: string;
    readonly role: string;
    readonly via: string;
    readonly chain: readonly string[];
  } | null;
  /** Who the manifest says wrote it: a claim. */
  readonly author: string | null;
  readonly approvedBy: readonly string[];
  readonly approvalEnds: number | null;
  readonly ends: number | null;
  readonly created: number | null;
  readonly readBy: readonly { readonly host: string; readonly loads: string }[];
  readonly aliasOf: string | null;
  readonly outside: boolean;
  readonly nested: string | null;
  /** Place in `findings` of the one that explains the rank; null where nothing lowers it. */
  readonly reason: number | null;
  readonly findings: readonly PageFinding[];
  /** The command that would raise it first; empty where it stands at its ceiling. */
  readonly raise: string;
}

/** Somebody who may sign here, or once might. */
export interface PagePerson {
  readonly name: string;
  readonly role: string;
  /** `root`: a key the set is signed with; `principal`: listed in the set; `spawned`: declared by a parent. */
  readonly kind: 'root' | 'principal' | 'spawned';
  readonly parent: string | null;
  readonly keys: readonly string[];
  readonly paths: readonly string[];
  /** When the record or the last of the keys ends. */
  readonly ends: number | null;
  /** Why it does not stand; null where it does. */
  readonly fault: string | null;
}

/** One approval that stands or once stood, of one path. */
export interface PageVersion {
  readonly path: string;
  readonly id: string;
  readonly class: string;
  readonly level: string;
  readonly approver: string;
  readonly sha256: string;
  readonly from: number;
  /** When it ran out, was replaced, or will run out. */
  readonly to: number | null;
  readonly state: 'stands' | 'replaced' | 'ended';
  /** Artifact ids of what took its place. */
  readonly by: readonly string[];
}

export interface PageEnd {
  readonly at: number;
  readonly what: 'approval' | 'text' | 'key' | 'spawn' | 'exception' | 'policy set' | 'handoff';
  readonly name: string;
  /** The command that renews it. */
  readonly cure: string;
}

export interface PageHeld {
  readonly id: string;
  readonly path: string;
  readonly bytes: number;
  readonly at: number;
  readonly codes: readonly string[];
}

/** A handoff that is not finished. */
export interface PageHandoff {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly intent: string;
  readonly state: string;
  readonly at: number;
  readonly expiresAt: number | null;
}

/** What one host reads here. */
export interface PageHost {
  readonly name: string;
  readonly title: string;
  /** Its marks lie in the root, or the policy names it. */
  readonly used: boolean;
  /** Judged under this policy set; false where policy.yaml names other hosts only. */
  readonly judged: boolean;
  /** Texts by rank. */
  readonly counts: Readonly<Record<RankWord, number>>;
  readonly launch: number;
  /** Texts below binding that it reads raw at launch, where they lie. */
  readonly raw: number;
  readonly truncated: number;
  /** Day the facts of the profile were seen. */
  readonly seen: string;
}
