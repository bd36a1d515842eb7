/**
 * Words by which vendors say that an account is throttled. The contract names no list; this one is ours, from what the programs print and from the
 * lists that public wrappers keep. A bare `429` or `limit reached` is left out: test output is full of both.
 */
const MARKERS =
  /(?<![a-z])rate[ _-]?limit|too many requests|quota exceeded|exceeded your (?:current )?quota|insufficient_quota|resource[ _]exhausted|(?:usage|session|account|daily|weekly|monthly|hour|message|request|token|plan|tpm|rpm) limit (?:reached|exceeded)|(?:hit|reached) your (?:[\w-]+ )?limit|limit will reset|overloaded_error|(?:http|status|error|code)[ :=/]{1,3}429\b|429 too many/i;

/** @returns whether an output says that the vendor throttled the account. */
export function saysRateLimited(output: string): boolean {
  return MARKERS.test(output);
}
