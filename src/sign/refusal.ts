/** Why a key, a signature, an envelope or a statement is refused, with the sentence a person reads. A closed set: tests name these words. */
export const REFUSALS = {
  'sshsig-format': 'The signature is not a well-formed SSHSIG blob.',
  'sshsig-version': 'The signature has an SSHSIG version other than 1.',
  'sshsig-trailing-bytes': 'Bytes follow the end of the signature.',
  'sshsig-reserved': 'The reserved field of the signature is not empty.',
  'sshsig-key': 'The key inside the signature is of a kind or size that is not accepted.',
  'sshsig-namespace': 'The signature was made for another namespace.',
  'sshsig-hash': 'The signature uses a hash other than sha256 or sha512.',
  'sshsig-algorithm': 'The signature algorithm does not belong to its key, or is too weak.',
  'sshsig-signature-format': 'The inner signature is not well-formed.',
  'signature-invalid': 'The signature does not match the bytes.',
  'envelope-too-large': 'The envelope is larger than 1 MiB.',
  'envelope-not-utf8': 'The envelope is not UTF-8 text.',
  'envelope-json': 'The envelope is not strict JSON.',
  'envelope-shape': 'The envelope lacks payload, payloadType or signatures, or one of them has the wrong type.',
  'envelope-payload-type': 'The payload is not declared as an in-toto statement.',
  'envelope-base64': 'The payload is not canonical base64.',
  'signature-missing': 'The envelope carries no signature.',
  'signature-too-many': 'The envelope carries more than 16 signatures.',
  'signature-base64': 'The signature is not canonical base64.',
  'payload-not-utf8': 'The signed payload is not UTF-8 text.',
  'payload-json': 'The signed payload is not strict JSON.',
  'statement-shape': 'The signed payload is not an in-toto Statement v1.',
  'predicate-type': 'The statement is of no kind that writ knows.',
  'field-missing': 'A field of the statement is missing.',
  'field-unknown': 'The statement holds a field that writ does not know.',
  'field-invalid': 'A field of the statement has a value that is not accepted.',
  'subject-invalid':
    'A subject of the statement is not a workspace-relative path with a sha256 digest, or is named twice.',
  'subject-missing': 'The statement names no subject.',
  'revocation-target': 'A revocation must name exactly one of artifactId, digest, publicKey and actor.',
  'key-unreadable': 'The key file could not be read.',
  'key-not-regular': 'The key is not a regular file.',
  'key-too-large': 'The key file is larger than 64 KiB.',
  'key-format': 'The file is neither an OpenSSH private key nor an SSH public key.',
  'key-unsupported': 'The key is of a kind or size that is not accepted.',
  'ssh-keygen-missing': 'This key needs ssh-keygen, and none was found on PATH outside the current folder.',
  'passphrase-wrong': 'The passphrase was wrong, or there was no terminal to ask for it.',
  'agent-missing': 'The private half of the key is neither in ssh-agent nor beside the public file.',
  'sign-timeout': 'ssh-keygen did not finish within its time limit.',
  'sign-failed': 'ssh-keygen could not sign.',
  'sign-unverified': 'The signature that was made does not verify under the key asked for.',
} as const;

/** One word of the closed set. */
export type Refusal = keyof typeof REFUSALS;

/** A verdict of no. */
export interface Refused {
  readonly refused: Refusal;
  /** The field of the statement it is about, for example `predicate.class`; never text from the input. */
  readonly at?: string;
}

/** Thrown where a signature was asked for and could not be made: by `SigningKey.sign`, and by sealing what would not open again. */
export class SigningRefused extends Error {
  readonly refused: Refusal;

  constructor(refused: Refusal) {
    super(REFUSALS[refused]);
    this.name = 'SigningRefused';
    this.refused = refused;
  }
}
