import type { ActionCategory } from '../contract/conversation.ts'

/** Names of tools without case, `_` and the tool server's name: those of the built-in agent, of others, and the protocol's kinds. */
const CATEGORIES: ReadonlyArray<[ActionCategory, RegExp]> = [
  ['command', /^(bash\w*|shell\w*|execute\w*|exec|runshellcommand|runcommand|terminal|killshell)$/],
  ['skill', /^(loadskill|skill|activateskill)$/],
  ['review', /^(openpullrequest|review\w*)$/],
  ['documents', /^(plan|updateplan|exitplanmode|todo\w*|submitresult)$/],
  ['computer', /^(computer\w*|screenshot)$/],
  ['search', /^(grep\w*|glob|search\w*|find\w*|ripgrep|fetch\w*|webfetch|websearch|googlewebsearch)$/],
  [
    'files',
    /^(read|readfile|readmanyfiles|write|writefile|edit\w*|multiedit|notebookedit|replace|patch|applypatch|texteditor|list|ls|listdirectory|delete|move|attachartifact)$/,
  ],
]

/** Where names say nothing, whatever has a command for its input runs it; else it is something that the agent was given. */
export function categoryOf(name: string, input: Readonly<Record<string, unknown>>): ActionCategory {
  const [, tool = name] = /^\w+?__(.+)$/.exec(name) ?? []
  const plain = tool.toLowerCase().replaceAll('_', '')
  // A server's tool may be called anything: only an agent's own extension is what its name says.
  const is_own = tool === name || /^developer__/.test(name)
  const found = is_own ? CATEGORIES.find(([, names]) => names.test(plain)) : undefined
  if (found) return found[0]
  return is_own && typeof input.command === 'string' ? 'command' : 'integration'
}
