import { checkSync } from 'recheck'; import { build } from 'esbuild'; import {writeFileSync} from 'node:fs';
const built = await build({ stdin: { contents: `export { DEFAULT_RULES } from './src/generated/rules.ts';`, resolveDir: '/work/main', loader: 'ts' }, bundle: true, format: 'esm', platform: 'node', write: false });
const { DEFAULT_RULES } = await import(`data:text/javascript;base64,${Buffer.from(built.outputFiles[0].contents).toString('base64')}`);
let n=0;
for (const r of DEFAULT_RULES) for (const [i,p] of r.patterns.flat().map(x=>x.pattern).entries()) { n++; const b=performance.now(); let x; try{ x=checkSync(p.source,p.flags.replace('g',''),{timeout:4000, ...(process.argv[2]?{checker:process.argv[2]}:{})}) }catch(e){x={status:'throw '+e.message}} const ms=performance.now()-b; if(x.status!=='safe'||ms>1500) console.log(r.id,i,x.status,x.complexity?.type,x.checker,x.error?.kind,Math.round(ms)+'ms',p.source.slice(0,140)); }
console.log('n',n);
