import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { shellWrites } from '../../src/hook/shell-writes.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'writ-shell-')));
afterAll(() => rmSync(root, { recursive: true, force: true }));
mkdirSync(join(root, 'sub/.claude'), { recursive: true });
mkdirSync(join(root, 'notes'));
writeFileSync(join(root, 'CLAUDE.md'), '');
writeFileSync(join(root, 'sub/.claude/settings.json'), '{}');
writeFileSync(join(root, 'notes/CLAUDE.md'), '');

function writes(command: string): readonly string[] {
  const read = shellWrites(command, {
    cwd: root,
    home: join(root, 'home'),
    environment: { HOME: join(root, 'home'), TARGET: 'CLAUDE.md' },
  });
  expect(read.whole).toBe(true);
  return [...read.paths].map((path) => path.replace(`${root}/`, ''));
}

describe('a command line that writes CLAUDE.md', () => {
  it.each([
    'echo x > CLAUDE.md',
    'echo x >> CLAUDE.md',
    'echo x >| CLAUDE.md',
    'echo x &> CLAUDE.md',
    'echo x 1> CLAUDE.md',
    'echo x >& CLAUDE.md',
    '>CLAUDE.md',
    ': <> CLAUDE.md',
    'cat > CLAUDE.md <<EOF\nhello\nEOF',
    "cat <<'EOF' > CLAUDE.md\nhello\nEOF",
    'cat <<-EOF >CLAUDE.md\n\thello\n\tEOF\n',
    'echo x | tee CLAUDE.md',
    'echo x | tee -a notes.txt CLAUDE.md',
    'echo x | sudo tee CLAUDE.md',
    "sed -i 's/a/b/' CLAUDE.md",
    "sed -i.bak -e 's/a/b/' CLAUDE.md",
    "sed --in-place 's/a/b/' CLAUDE.md",
    "sed -ni '1p' CLAUDE.md",
    "sed -i '' 's/a/b/' CLAUDE.md",
    "perl -pi -e 's/a/b/' CLAUDE.md",
    'mv notes.txt CLAUDE.md',
    'mv CLAUDE.md notes.txt',
    'cp evil.md ./CLAUDE.md',
    'cp notes/CLAUDE.md .',
    'cp -t . notes/CLAUDE.md',
    'install -m 644 evil.md CLAUDE.md',
    'ln -sf evil.md CLAUDE.md',
    'ln CLAUDE.md twin.md',
    'rm CLAUDE.md',
    'rm -f -- CLAUDE.md',
    'rm CLAUDE.*',
    'rm C*.md',
    'rm CLAUD?.md',
    'truncate -s 0 CLAUDE.md',
    'dd if=evil of=CLAUDE.md',
    'curl -o CLAUDE.md https://example.test/x',
    'curl -sSLo CLAUDE.md https://example.test/x',
    'wget -O CLAUDE.md https://example.test/x',
    'git mv notes.md CLAUDE.md',
    'git -C . rm CLAUDE.md',
    'bash -c "echo x > CLAUDE.md"',
    "sh -lc 'cat > CLAUDE.md'",
    "eval 'echo x > CLAUDE.md'",
    'echo "echo x > CLAUDE.md" | sh',
    'bash <<EOF\necho x > CLAUDE.md\nEOF',
    'env A=b echo x > CLAUDE.md',
    'timeout 5 tee CLAUDE.md',
    'echo CLAUDE.md | xargs rm',
    'find . -name CLAUDE.md -delete',
    "find . -name CLAUDE.md -exec sed -i s/a/b/ {} ';'",
    'F=CLAUDE.md; echo x > $F',
    'F=CLAUDE; echo x > "$F.md"',
    'echo x > $TARGET',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell's.
    'echo x > ${TARGET}',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell's.
    'echo x > ${UNSET:-CLAUDE.md}',
    'for f in a.md CLAUDE.md; do echo x > $f; done',
    'tee {notes,CLAUDE}.md',
    'tee {a,{b,CLAUDE}}.md',
    'echo x > CLAU""DE.md',
    "echo x > CLAUDE'.md'",
    'echo x > CLAUDE\\.md',
    "echo x > $'CLAUDE\\x2emd'",
    'echo x > $(echo CLAUDE.md)',
    'echo x > `echo CLAUDE.md`',
    'echo "$(echo x > CLAUDE.md)"',
    'cat <<EOF\n$(echo x > CLAUDE.md)\nEOF',
    'cat <(tee CLAUDE.md)',
    'echo x > $(pwd)/CLAUDE.md',
    'echo x > "$(git rev-parse --show-toplevel)/CLAUDE.md"',
    'cd sub && cd .. && echo x > CLAUDE.md',
    'cd sub; echo x > ../CLAUDE.md',
    '(cd sub && true); echo x > CLAUDE.md',
    'cd no-such-folder; echo x > CLAUDE.md',
    'false && cd /tmp; echo x > CLAUDE.md',
    'if true; then echo x > CLAUDE.md; fi',
    'f() { echo x > CLAUDE.md; }; f',
    'true & echo x > CLAUDE.md',
    'echo x > ./sub/../CLAUDE.md',
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: CLAUDE.md\n@@\n-a\n+b\n*** End Patch\nEOF",
    "git apply <<'EOF'\n--- a/CLAUDE.md\n+++ b/CLAUDE.md\nEOF",
    "python3 -c \"open('CLAUDE.md','w').write('x')\"",
    "python3 - <<'EOF'\nfrom pathlib import Path\nPath('CLAUDE.md').write_text('x')\nEOF",
    "node -e \"require('fs').writeFileSync('CLAUDE.md','x')\"",
    '# a note\necho x > CLAUDE.md # and one more',
    'set -- CLAUDE.md; cp a $1',
    'read f <<< CLAUDE.md; cp a $f',
    "bash -c 'cp a $0' CLAUDE.md",
    'script -c "cp a CLAUDE.md"',
    'xargs -I{} cp a {} <<< CLAUDE.md',
    'trap "cp a CLAUDE.md" EXIT',
    'source <(echo "cp a CLAUDE.md")',
    '. /dev/stdin <<< "cp a CLAUDE.md"',
    'awk \'BEGIN { print 1 > "CLAUDE.md" }\'',
    'exec 3>CLAUDE.md; echo x >&3',
    'echo x | tee >(cat > CLAUDE.md)',
    'while read l; do echo $l; done < a > CLAUDE.md',
    'case x in x) cp a CLAUDE.md;; esac',
    'cp a \\\nCLAUDE.md',
    'Set-Content -Path CLAUDE.md -Value x',
    `rm ${Array.from({ length: 4_500 }, (_, index) => `a${index}`).join(' ')} CLAUDE.md`,
  ])('%s', (command) => {
    expect(writes(command)).toContain('CLAUDE.md');
  });

  it('moves and removes whole folders', () => {
    expect(writes('rm -rf sub')).toContain('sub/.claude/settings.json');
    expect(writes('cp -r sub/.claude .')).toContain('.claude/settings.json');
    expect(writes('mv sub/.claude .')).toContain('.claude/settings.json');
  });
});

describe('a command line that does not', () => {
  it.each([
    'cat CLAUDE.md',
    'grep -n ">" CLAUDE.md',
    'git commit -m "echo x > CLAUDE.md"',
    "git commit -F - <<'EOF'\necho x > CLAUDE.md\nrm CLAUDE.md\nEOF",
    "cat > notes.txt <<'EOF'\n$(echo x > CLAUDE.md)\nEOF",
    'sed -n 1,5p CLAUDE.md',
    'sed "s/x/CLAUDE.md/" a.txt > b.txt',
    'sed -i s/foo/CLAUDE.md/ src/x.ts',
    'cp CLAUDE.md notes.txt',
    'diff CLAUDE.md notes.txt > out.diff',
    'wc -l < CLAUDE.md',
    'echo CLAUDE.md',
    'ls -la 2>&1 | head',
    'npm test 2>/dev/null',
    'echo x > docs/claude.txt',
    'git add CLAUDE.md && git commit -m x',
    'cd sub; echo x > file.txt',
    "writ write CLAUDE.md --class guidance <<'EOF'\nhello\nEOF",
    'echo x > $(mktemp -d)/CLAUDE.md',
    'echo x # > CLAUDE.md',
    'source venv/bin/activate && make CLAUDE.md',
    'git checkout -- CLAUDE.md',
    'awk \'{ if ($1 > 2) print "CLAUDE.md" }\' a.txt',
  ])('%s', (command) => {
    expect(writes(command)).not.toContain('CLAUDE.md');
  });

  it('reads hostile command lines in bounded work', () => {
    const place = { cwd: root, home: root, environment: {} };
    for (const text of [
      '$('.repeat(50_000),
      '`'.repeat(50_001),
      '"'.repeat(50_001),
      '{a,'.repeat(2_000),
      `{${','.repeat(100_000)}`,
      'x|'.repeat(100_000),
      '(('.repeat(50_000),
      '<<A '.repeat(20_000),
    ])
      expect(shellWrites(text, place).paths.size).toBeLessThan(10);
    expect(shellWrites(`tee ${'{a,b}'.repeat(20)}`, place).whole).toBe(false);
  });
});
