import type { HostileCase } from './hostile-case.ts'

const MIB = 1024 ** 2
const PROMPT_NEEDED = 'prompt: is required unless skill or config.skill_spec is given'
const TOO_DEEP = 'The body is nested too deeply: at most 64 levels.'
const NUL = 'Text must not contain NUL characters.'

const post =
  (path: string) =>
  (name: string, body: unknown, detail: string, more: Partial<HostileCase> = {}) =>
    ({
      name,
      method: 'POST',
      path,
      body,
      detail,
      status: 400,
      code: 'invalid_request',
      ...more,
    }) as HostileCase
const create = post('/agent/runs')
const followup = post('/agent/runs/{run}/followups')
const environment = post('/agent/environments')

const nested = (levels: number) => `{"prompt":"x","extra":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
const file = (more: object = {}) => ({ file_name: 'a.txt', mime_type: 'text/plain', data: 'YQ==', ...more })
const withFiles = (...attachments: object[]) => ({ prompt: 'x', attachments })
const withConfig = (config: object) => ({ prompt: 'x', config })
const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`key${i}`, 'x']))
const tooLarge = { status: 413 }
const unavailable = { status: 403, code: 'feature_not_available' } as const

/** Bodies that no honest client sends. Strings and bytes go out as they are, other values as JSON. */
export const HOSTILE_BODIES: HostileCase[] = [
  create('cut-off JSON', '{"prompt":', 'The body is not valid JSON.'),
  create('JSON with a comma too many', '{"prompt":"x",}', 'The body is not valid JSON.'),
  create('two JSON values', '{"prompt":"x"}{}', 'The body is not valid JSON.'),
  create(
    'bytes that are not UTF-8',
    Buffer.from('7b2270726f6d7074223a22ff227d', 'hex'),
    'The body is not valid UTF-8.',
  ),
  create('an empty body', '', 'A JSON body is required.'),
  create('no body at all', undefined, 'A JSON body is required.'),
  create('null', 'null', 'Invalid input: expected object, received null'),
  create('an array', [], 'Invalid input: expected object, received array'),
  create('a string', '"x"', 'Invalid input: expected object, received string'),
  create('an empty object', {}, PROMPT_NEEDED),
  create('a blank prompt', { prompt: ' \n\t' }, PROMPT_NEEDED),
  create('a number as prompt', { prompt: 7 }, 'prompt: Invalid input: expected string, received number'),
  create('null as prompt', { prompt: null }, 'prompt: Invalid input: expected string, received null'),
  create(
    'an object as title',
    { prompt: 'x', title: {} },
    'title: Invalid input: expected string, received object',
  ),
  create(
    'an endless number',
    '{"prompt":"x","priority":1e999}',
    'priority: Invalid input: expected number, received Infinity',
  ),
  create(
    'a priority out of range',
    { prompt: 'x', priority: 101 },
    'priority: Too big: expected number to be <=100',
  ),
  create(
    'half a minute of idling',
    withConfig({ idle_timeout_minutes: 1.5 }),
    'config.idle_timeout_minutes: Invalid input: expected int, received number',
  ),
  create(
    'an idle timeout over an hour',
    withConfig({ idle_timeout_minutes: 61 }),
    'config.idle_timeout_minutes: Too big: expected number to be <=60',
  ),
  create(
    'a budget of nothing',
    { prompt: 'x', budget: { max_tokens: 0 } },
    'budget.max_tokens: Too small: expected number to be >0',
  ),
  create(
    'an unknown harness',
    withConfig({ harness: { type: 'cobol' } }),
    'config.harness.type: this installation has no harness "cobol"; it has oz, claude, codex, gemini, opencode, qwen, goose, runbook.',
  ),
  create(
    'an unknown mode',
    { prompt: 'x', mode: 'yolo' },
    'mode: Invalid option: expected one of "normal"|"plan"|"orchestrate"',
  ),
  create(
    'a plan without doing it',
    { prompt: 'x', mode: 'plan' },
    'This version does not offer mode: plan.',
    unavailable,
  ),
  create(
    'another identity, person and screen',
    {
      prompt: 'x',
      on_behalf_of: 'y',
      config: {
        computer_use_enabled: true,
        skills: ['a', 'b'],
        harness_auth_secrets: { claude_auth_secret_name: 'x' },
      },
    },
    'This version does not offer on_behalf_of, config.computer_use_enabled, config.harness_auth_secrets.',
    unavailable,
  ),
  create('a prompt over 1 MiB', { prompt: 'é'.repeat(MIB / 2 + 1) }, 'prompt: is over 1 MiB', tooLarge),
  create(
    'a title of 513 characters',
    { prompt: 'x', title: 'x'.repeat(513) },
    'title: is over 512 characters',
    tooLarge,
  ),
  create(
    'over 2 MiB without attachments',
    { prompt: 'x', padding: 'x'.repeat(2 * MIB) },
    'The body is over 2 MiB and has no attachments.',
    tooLarge,
  ),
  create(
    'over 2 MiB beside attachments',
    `{"prompt":"x","attachments":[],"padding":[${'[],'.repeat(MIB)}[]]}`,
    'The body is over 2 MiB, even without the data of attachments.',
    tooLarge,
  ),
  create(
    'more fields than anybody has',
    { prompt: 'x', extra: keys(60_000) },
    'The body has too many fields and items.',
    tooLarge,
  ),
  create('over 64 MiB announced', undefined, 'The body is too large.', {
    ...tooLarge,
    headers: [
      ['Content-Type', 'application/json'],
      ['Content-Length', String(64 * MIB + 1)],
    ],
  }),
  post('/agent/environments')(
    'over 2 MiB where nothing large belongs',
    { name: 'x', description: 'x'.repeat(2 * MIB) },
    'The body is too large.',
    tooLarge,
  ),
  create('65 levels', nested(65), TOO_DEEP),
  create('half a million levels', '['.repeat(MIB / 2) + ']'.repeat(MIB / 2), TOO_DEEP),
  create('NUL in the prompt', { prompt: 'a\u0000b' }, NUL),
  create('half a surrogate pair', '{"prompt":"\\ud800"}', 'Text must not contain lone surrogates.'),
  create('NUL in a field name', { prompt: 'x', 'a\u0000': 1 }, NUL),
  create('__proto__', '{"prompt":"x","__proto__":{"admin":true}}', 'A field must not be called __proto__.'),
  create(
    '__proto__ further in',
    '{"prompt":"x","metadata":{"__proto__":"x"}}',
    'A field must not be called __proto__.',
  ),
  create('21 keys of metadata', { prompt: 'x', metadata: keys(21) }, 'metadata: at most 20 keys'),
  create(
    'a metadata key with a blank',
    { prompt: 'x', metadata: { 'a b': 'x' } },
    'metadata.a b: keys are 1 to 64 characters of A-Z, a-z, 0-9, ".", "_", "-"',
  ),
  create(
    'an empty metadata key',
    { prompt: 'x', metadata: { '': 'x' } },
    'metadata.: keys are 1 to 64 characters of A-Z, a-z, 0-9, ".", "_", "-"',
  ),
  create(
    'metadata of 257 bytes',
    { prompt: 'x', metadata: { a: `${'é'.repeat(128)}x` } },
    'metadata.a: values are at most 256 bytes',
  ),
  create(
    'a number as metadata',
    { prompt: 'x', metadata: { a: 1 } },
    'metadata.a: Invalid input: expected string, received number',
  ),
  create('six attachments', withFiles(...Array(6).fill(file())), 'attachments: at most 5 attachments'),
  create(
    'an attachment that climbs',
    withFiles(file({ file_name: '../x' })),
    'attachments.0.file_name: must be a plain file name',
  ),
  create(
    'an attachment called ..',
    withFiles(file({ file_name: '..' })),
    'attachments.0.file_name: must be a plain file name',
  ),
  create(
    'an attachment with a name that no file system takes',
    withFiles(file({ file_name: '漢'.repeat(86) })),
    'attachments.0.file_name: is over 255 bytes',
  ),
  create(
    'an attachment that is not base64',
    withFiles(file({ data: 'a b' })),
    'attachments.0.data: must be base64',
  ),
  create(
    'an attachment that is nothing but padding',
    withFiles(file({ data: `${'='.repeat(MIB)}x` })),
    'attachments.0.data: must be base64',
  ),
  create(
    'two attachments of one name',
    withFiles(file(), file()),
    'attachments: two have the same file_name.',
  ),
  create(
    'an attachment over 10 MB',
    withFiles(file({ data: 'A'.repeat(14 * MIB) })),
    'attachments.0.data: is over 10 MB',
    tooLarge,
  ),
  create(
    'a tool server of both kinds',
    withConfig({ mcp_servers: { a: { command: 'x', url: 'https://x.test' } } }),
    'config.mcp_servers.a: must have exactly one of command and url',
  ),
  create(
    'a shared tool server',
    withConfig({ mcp_servers: { a: { warp_id: 'x' } } }),
    'config.mcp_servers.a: shared tool servers do not exist here: give command or url instead of warp_id',
  ),
  create(
    'a tool server whose password cannot be decoded',
    withConfig({ mcp_servers: { a: { url: 'https://a%zz:b@tools.example/mcp' } } }),
    'config.mcp_servers.a.url: has a "%" in its user name or password that encodes nothing: write "%" itself as %25',
  ),
  create(
    'a tool server on a file',
    withConfig({ mcp_servers: { a: { url: 'file:///etc/passwd' } } }),
    'config.mcp_servers.a.url: must be an http or https address',
  ),
  create(
    'a pool with a quote',
    withConfig({ worker_host: "a'b" }),
    'config.worker_host: must be made of A-Z, a-z, 0-9, ".", "_", "-"',
  ),
  create(
    'an environment that is SQL',
    withConfig({ environment_id: "' or 1=1" }),
    'config.environment_id: there is no environment with this name.',
  ),
  create(
    'an unknown environment',
    withConfig({ environment_id: 'A'.repeat(22) }),
    'config.environment_id: there is no environment with this id.',
  ),
  create('a parent that is no id', { prompt: 'x', parent_run_id: 'x' }, 'parent_run_id: must be a run id'),
  create('a parent in capitals', { prompt: 'x', parent_run_id: '{RUN}' }, 'parent_run_id: must be a run id'),
  create(
    'an unknown parent',
    { prompt: 'x', parent_run_id: '{nowhere}' },
    'parent_run_id: there is no run with this id.',
    { status: 404, code: 'resource_not_found' },
  ),
  create(
    'an unknown conversation',
    { prompt: 'x', conversation_id: '{nowhere}' },
    'conversation_id: there is no conversation with this id.',
    { status: 404, code: 'resource_not_found' },
  ),
  followup('a number as message', { message: 1 }, 'message: Invalid input: expected string, received number'),
  followup(
    'no message and nothing to continue',
    {},
    'message: is required, the run has no saved context to continue.',
  ),
  followup(
    'a blank message',
    { message: ' ' },
    'message: is required, the run has no saved context to continue.',
  ),
  followup(
    'an unknown on_busy',
    { message: 'x', on_busy: 'panic' },
    'on_busy: Invalid option: expected one of "enqueue"|"interrupt"|"reject"',
  ),
  followup(
    'a plan without doing it',
    { message: 'x', mode: 'plan' },
    'This version does not offer mode: plan.',
    unavailable,
  ),
  followup('a message over 1 MiB', { message: 'x'.repeat(MIB + 1) }, 'message: is over 1 MiB', tooLarge),
  post('/agent/runs/{run}/cancel')(
    'an array to cancel',
    [],
    'Invalid input: expected object, received array',
  ),
  environment(
    'a repository that is an option',
    { name: 'x', repositories: [{ url: 'https://x.test/a', ref: '--upload-pack=x' }] },
    'repositories.0.ref: is no ref: it begins with "-". Name a branch such as feature/x, a tag, a whole ref such as refs/pull/7/head, or a commit by its id.',
  ),
  environment(
    'a repository over ftp',
    { name: 'x', repositories: [{ url: 'ftp://x.test/a' }] },
    'repositories.0.url: must be the https address of a repository, git@host:owner/repo, or owner/repo of GitHub; a folder of the worker’s machine is a local_path',
  ),
  environment(
    'credentials in an address',
    { name: 'x', repositories: [{ url: 'https://u:p@x.test/a' }] },
    'repositories.0.url: must hold no credentials',
  ),
  environment(
    'a directory that climbs',
    { name: 'x', repositories: [{ url: 'https://x.test/a', directory: '..' }] },
    'repositories.0.directory: must be one plain folder name',
  ),
  environment(
    'a variable with a blank',
    { name: 'x', variables: { 'A B': 'x' } },
    'variables.A B: must be a variable name',
  ),
  environment(
    'a variable that no process can be started with',
    { name: 'x', variables: { A: 'ä'.repeat(40_000) } },
    'variables.A: is over 64 KiB',
  ),
  environment(
    'more variables than a process can be started with',
    {
      name: 'x',
      variables: Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`V${index}`, ''])),
    },
    'variables: must be at most 1,000 variables',
  ),
  environment(
    'variables larger than a process can be started with',
    {
      name: 'x',
      variables: Object.fromEntries(
        Array.from({ length: 17 }, (_, index) => [`V${index}`, 'x'.repeat(65_000)]),
      ),
    },
    'variables: are over 1 MiB together',
  ),
  environment(
    'a name of nothing',
    { name: ' \t\u00a0\ufeff' },
    'name: Too small: expected string to have >=1 characters',
  ),
  environment('a name with an escape', { name: 'a\u001b[2Jb' }, 'name: must have no control characters'),
  environment('a name of two lines', { name: 'a\u2028b' }, 'name: must have no control characters'),
  environment(
    'a name over 256 characters',
    { name: 'x'.repeat(257) },
    'name: Too big: expected string to have <=256 characters',
  ),
  environment('a name that is a step in a path', { name: '..' }, 'name: is reserved'),
  environment('a name that is a filter', { name: 'empty-environment' }, 'name: is reserved'),
  environment(
    'a name that looks like an id',
    { name: 'A'.repeat(22) },
    'name: must not look like an id (22 characters of A-Z, a-z, 0-9)',
  ),
  environment('no name', { docker_image: 'x' }, 'name: Invalid input: expected string, received undefined'),
  environment(
    'a value that is none',
    { name: 'x', variables: { A: '***' } },
    'variables.A: "***" keeps the value it has, and it has none yet.',
  ),
]
