/** The plugin OpenCode runs: it asks writ, and throws where writ refuses or cannot be asked. NODE, WRIT and PLACES stand before it. */
export const OPENCODE_PLUGIN = `import { spawn } from 'node:child_process';

function ask(event, input, cwd) {
  return new Promise((done) => {
    const env = { ...process.env };
    for (const name of ['NODE_OPTIONS', 'NODE_PATH', 'WRIT_ROOT', 'WRIT_CONFIG', 'WRIT_STATE', 'WRIT_AS', 'WRIT_KEY']) delete env[name];
    const child = spawn(NODE, [WRIT, 'hook', 'host', 'opencode', event, '--governed'], { cwd, env: { ...env, ...PLACES } });
    let stdout = '';
    let stderr = '';
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      done({ code: null, stdout: '', stderr: 'writ did not answer in time' });
    }, 30000);
    child.stdout.on('data', (bytes) => { stdout += bytes; });
    child.stderr.on('data', (bytes) => { stderr += bytes; });
    child.stdin.on('error', () => {});
    child.on('error', (error) => {
      clearTimeout(timer);
      done({ code: null, stdout: '', stderr: String(error) });
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      done({ code, stdout, stderr });
    });
    child.stdin.end(JSON.stringify(input));
  });
}

export const WritPlugin = async ({ directory }) => {
  const contexts = new Map();
  const contextOf = async (session) => {
    if (!contexts.has(session)) {
      const said = await ask('session-start', { cwd: directory }, directory);
      let text = '';
      try {
        text = said.stdout === '' ? '' : JSON.parse(said.stdout).additionalContext;
      } catch {}
      if (said.code !== 0) text = 'writ could not judge the init files of this workspace, so none of them binds.';
      contexts.set(session, text);
    }
    return contexts.get(session);
  };
  return {
    'experimental.chat.system.transform': async (input, output) => {
      const text = await contextOf(input?.sessionID ?? '');
      if (text) output.system.push(text);
    },
    'tool.execute.before': async (input, output) => {
      if (/^(?:read|glob|grep|list|ls|todoread|todowrite|webfetch|websearch|question|skill)$/i.test(input.tool)) return;
      const event = { tool: input.tool, sessionID: input.sessionID, callID: input.callID, args: output.args, cwd: directory };
      const said = await ask('tool.execute.before', event, directory);
      if (said.code !== 0) throw new Error(said.stderr.trim() || 'writ: refused');
    },
  };
};
`;
