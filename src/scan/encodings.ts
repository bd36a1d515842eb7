/** Encodings that leave a literal sign in the text; base64, hex and spaced-out letters are told by their shape. */
export const ENCODINGS = ['escape', 'rot13', 'reversed', 'leet', 'binary'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** What each encoding looks like, lower case: escapes, and the words of an order as rot13, backwards or with digits for letters. */
export const SIGNS: Readonly<Record<Encoding, readonly string[]>> = {
  escape: ['\\x', '\\u00', '\\u{', '&#', '%2', '%6', '%7', '%5', '%4', '%0'],
  rot13: [
    'vtaber',
    'qvfertneq',
    'sbetrg',
    'bireevqr',
    'cerivbhf',
    'vafgehpgvba',
    'flfgrz',
    'cebzcg',
    'erirny',
    'nffvfgnag',
  ],
  reversed: ['snoitcurtsni', 'suoiverp', 'erongi', 'tpmorp', 'dragersid', 'laever'],
  binary: ['0110', '01000', '01001', '01010'],
  leet: [
    'n3v3r',
    'n3ver',
    'nev3r',
    '7h3',
    '5y573',
    'y573m',
    'pr0mp7',
    'r3v3',
    'pr3v',
    '53cr37',
    '1n57ruc',
    'gn0r',
    'f0rg',
    '0verr',
    'byp4',
    '53nd',
    '3cr37',
    'd15r3g',
    'ru13',
  ],
};
