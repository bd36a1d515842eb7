import { isObject } from './envelope.ts';

/** What a cloud says at run time, by the name of its key. */
const KEYS: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:(?:running|ready|available|current|actual|desired)_)?(?:pod|replica|container|node)s?_(?:count|running|ready)$/,
    'a pod count',
  ],
  [
    /^(?:pods|replicas)_(?:running|ready|available|count)$|^(?:ready|available|running|current)_(?:pods|replicas)$/,
    'a pod count',
  ],
  [
    /^(?:instance|pod|node|cluster|deployment|service|database|db|runtime)_(?:status|state|health|phase)$/,
    'an instance status',
  ],
  [/^vpc_ids?$/, 'a VPC id'],
  [/^(?:lb|alb|nlb|elb|load_?balancer|ingress)_(?:dns(?:_name)?|hostname|host|ip|address)$/, 'a load-balancer address'],
  [
    /^(?:public|private|external|internal|cluster|pod|node|host|static|elastic)?_?ip(?:s|_address(?:es)?)?$/,
    'an IP address',
  ],
  [
    /^(?:oidc|irsa)_(?:role|role_arn|binding|bindings|iam|subject|thumbprint)s?$|^iam_(?:oidc|workload_identity)_?(?:binding|role)?s?$/,
    'an IAM binding derived from OIDC',
  ],
];

/** The same, by how a value is spelt. */
const VALUES: readonly (readonly [RegExp, string])[] = [
  [/^vpc-[0-9a-f]{8}(?:[0-9a-f]{9})?$/, 'a VPC id'],
  [
    /^[\w.-]{1,253}\.elb\.(?:[\w-]{1,64}\.)?amazonaws\.com(?:\.cn)?\.?$|^[\w-]{1,64}(?:\.[\w-]{1,64})?\.elb\.amazonaws\.com$/i,
    'a load-balancer DNS name',
  ],
  [/^[\w.-]{1,253}\.(?:cloudapp\.azure\.com|cloudfront\.net)\.?$/i, 'a load-balancer DNS name'],
  [/^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?::\d{1,5})?$/, 'an IP address'],
  [
    /^(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}$|^(?=.{3,39}$)(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6})?::(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6})?$/i,
    'an IP address',
  ],
  [
    /^arn:aws[\w-]{0,10}:iam::\d{12}:oidc-provider\/|^system:serviceaccount:[\w-]{1,63}:[\w-]{1,63}$/,
    'an IAM binding derived from OIDC',
  ],
];

/** Words that say how something runs now; only below a key that asks for it, because plain configuration uses them too. */
const STATUS_KEY = /^(?:status|state|health|phase)$/;
const STATUS_WORD =
  /^(?:running|pending|stopped|stopping|terminated|terminating|healthy|unhealthy|crashloopbackoff|available|degraded|succeeded|failed)$/i;

export interface LiveState {
  /** Dotted path within the payload; list items by [n]. */
  readonly path: string;
  readonly what: string;
}

/**
 * Finds live state in a payload of update_contracts: it indexes what exists, and what a cloud says at run time is stale for the next agent
 * (contracts.md). By the names of keys and the spelling of whole values; a text that merely mentions an address is prose. A range (CIDR) is configuration.
 */
export function findLiveState(payload: unknown): readonly LiveState[] {
  const found: LiveState[] = [];
  walk(payload, '', '', found);
  return found;
}

function walk(value: unknown, path: string, key: string, found: LiveState[]): void {
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      walk(item, `${path}[${index}]`, key, found);
    });
    return;
  }
  if (isObject(value)) {
    for (const [name, item] of Object.entries(value)) walk(item, path === '' ? name : `${path}.${name}`, name, found);
    return;
  }
  const what = whatIs(key, value);
  if (what !== null) found.push({ path, what });
}

function whatIs(key: string, value: unknown): string | null {
  if (value === null || value === '') return null;
  const name = key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[\s.-]+/g, '_')
    .toLowerCase();
  const byKey = KEYS.find(([pattern]) => pattern.test(name));
  if (byKey !== undefined) return byKey[1];
  if (typeof value !== 'string' || value.length > 300) return null;
  if (STATUS_KEY.test(name) && STATUS_WORD.test(value)) return 'an instance status';
  return VALUES.find(([pattern]) => pattern.test(value))?.[1] ?? null;
}
