// Letters of other scripts that read as a Latin one: each row is the Latin letters, then what looks like them, place by place.
const ROWS: readonly (readonly [string, string])[] = [
  ['ABCEHIJKMOPSTXYaceijopsxyhkmtwqd', 'АВСЕНІЈКМОРЅТХУасеіјорѕхуһкмтԝԛԁ'],
  ['ABEZHIKMNOPTYXaiknouvxyc', 'ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαικησυνχγϲ'],
  ['DRTivYASMEKWHGZSVLCPKBL', 'ᎠᎡᎢᎥᏙᎩᎪᏚᎷᎬᏦᎳᎻᏀᏃᏕᏙᏞᏟᏢᏦᏴᏞ'],
  ['ABCDEFGHIJKLMNOPRSTUVWXYZ', 'ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ'],
  ['abcdefghijklmnoprstuvwyz', 'ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ'],
  ['uonhqgSUOL', 'սօռհզցՏՍՕԼ'],
  ['ilagL', 'ıƖɑɡⅬ'],
  ['-----__', '\u2010\u2012\u2013\u2014\u2212\u02cd\u2017'],
];

let table: ReadonlyMap<string, string> | null = null;

/** What a name reads as: compatibility forms and look-alike letters as Latin, marks and invisible characters gone, dots and blanks at its ends cut, no alternate stream. Case is kept. */
export function fold(name: string): string {
  table ??= new Map(ROWS.flatMap(([latin, alike]) => [...alike].map((char, at) => [char, latin.charAt(at)] as const)));
  let folded = '';
  for (const char of name) {
    const known = table.get(char);
    if (known !== undefined) folded += known;
    else for (const part of char.normalize('NFKD')) folded += table.get(part) ?? part;
  }
  const visible = folded.replace(/[\p{M}\p{Cf}\p{Cc}\u115f\u1160\u3164\uffa0\u2800]/gu, '');
  const cut = visible
    .replace(/:.*$/s, '')
    .trim()
    .replace(/[. ]+$/, '');
  return cut === '' ? name : cut;
}

/** @returns whether a name is printable ASCII without the spellings that file systems drop: what it reads as is then what it is. */
export function isPlain(name: string): boolean {
  return /^[\x21-\x39\x3b-\x7e](?:[\x20-\x39\x3b-\x7e]*[\x21-\x2d\x2f-\x39\x3b-\x7e])?$/.test(name);
}
