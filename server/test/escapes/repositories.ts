import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { git, makeRepository } from '../support/git.ts'
import { eventually } from '../support/sandbox-conformance.ts'
import { shell, temporaryDirectory } from '../support/service.ts'
import { printed } from '../support/traces.ts'
import type { AttackedService } from './attacked-service.ts'
import type { Context } from './context.ts'
import { broken, brokenBy, held, type Probe, type Verdict } from './probe.ts'
import { readProcess, treeOf, uniqueName } from './processes.ts'

/** A little over a sandbox's own limit of 1 GiB. */
const LIMIT_MIB = 1_200

/** Prints everything that a run can know of its repository. */
const LOOK = shell(
  'pwd; ls -la; cat * 2>/dev/null; git log --all -p; git status; git for-each-ref; cat .git/config',
)

interface Ground {
  service: AttackedService
  /** A repository of the attacker's, below the folder that is open, and its git directory. */
  own: string
  git_dir: string
  name: string
  /** Outside of that folder: a repository and a file that hold the canary. */
  secret_repository: string
  secret_file: string
  /** A file that nobody makes but what the repository had carried out. */
  trap: string
}

async function prepare(context: Context): Promise<Ground> {
  const service = await context.service()
  const name = uniqueName()
  const own = join(service.repositories, name)
  context.after(() => rmSync(own, { recursive: true, force: true }))
  makeRepository(own)
  const outside = temporaryDirectory('outside')
  chmodSync(outside, 0o777)
  const secret_repository = join(outside, 'secret')
  makeRepository(secret_repository)
  writeFileSync(join(secret_repository, 'file'), context.canary)
  git(secret_repository, 'commit', '--quiet', '-am', 'secret')
  const secret_file = join(outside, 'secret.txt')
  writeFileSync(secret_file, `${context.canary}\n${context.canary} ${context.canary}\n`)
  return {
    service,
    own,
    git_dir: join(own, '.git'),
    name,
    secret_repository,
    secret_file,
    trap: join(outside, 'trap'),
  }
}

/** Everything that the attacker is told of a run in that repository. */
async function toldOf({ service: { attacker } }: Ground, local_path: string): Promise<string> {
  const answer = await attacker.call('POST', '/agent/environments', {
    name: randomUUID(),
    repositories: [{ local_path }],
  })
  if (!answer.ok) return answer.text()
  const { uid } = (await answer.json()) as { uid: string }
  const run_id = await attacker.create({ prompt: LOOK, config: { environment_id: uid } })
  await attacker.ended(run_id, 100)
  return JSON.stringify([await attacker.get(run_id), await attacker.events(run_id)])
}

async function requireUnseen(context: Context, ground: Ground, local_path: string): Promise<Verdict> {
  const text = await toldOf(ground, local_path)
  if (existsSync(ground.trap)) return broken('a command of the repository ran on the host')
  const at = text.indexOf(context.canary)
  return at < 0
    ? held(lastWords(text))
    : broken(`the answers hold the canary: …${text.slice(Math.max(0, at - 60), at + 20)}…`)
}

const lastWords = (text: string): string =>
  /"message":"((?:[^"\\]|\\.)*)"/.exec(text)?.[1]?.slice(0, 120) ?? 'nothing was shown'

/** Attacks on what git reads: each changes the attacker's own repository. local-repositories.test.ts has the short ones. */
const READS: Array<[name: string, tries: string, spoil: (ground: Ground) => void]> = [
  [
    'alternates',
    'borrows the objects of another repository (objects/info/alternates)',
    ({ git_dir, secret_repository }) => {
      writeFileSync(join(git_dir, 'objects/info/alternates'), `${secret_repository}/.git/objects\n`)
      writeFileSync(join(git_dir, 'refs/heads/main'), `${git(secret_repository, 'rev-parse', 'HEAD')}\n`)
    },
  ],
  [
    'objects-link',
    'has its objects be those of another repository, by a link',
    ({ git_dir, secret_repository }) => {
      rmSync(join(git_dir, 'objects'), { recursive: true })
      symlinkSync(join(secret_repository, '.git/objects'), join(git_dir, 'objects'))
      writeFileSync(join(git_dir, 'refs/heads/main'), `${git(secret_repository, 'rev-parse', 'HEAD')}\n`)
    },
  ],
  [
    'pack-links',
    'links single object folders and packs of another repository into its own',
    ({ git_dir, secret_repository }) => {
      const objects = join(secret_repository, '.git/objects')
      for (const folder of readdirSync(objects)) {
        rmSync(join(git_dir, 'objects', folder), { recursive: true, force: true })
        symlinkSync(join(objects, folder), join(git_dir, 'objects', folder))
      }
      writeFileSync(join(git_dir, 'refs/heads/main'), `${git(secret_repository, 'rev-parse', 'HEAD')}\n`)
    },
  ],
  [
    'refs-link',
    'has its refs and HEAD be those of another repository, with its objects as alternates',
    ({ git_dir, secret_repository }) => {
      rmSync(join(git_dir, 'refs'), { recursive: true })
      symlinkSync(join(secret_repository, '.git/refs'), join(git_dir, 'refs'))
      writeFileSync(join(git_dir, 'objects/info/alternates'), `${secret_repository}/.git/objects\n`)
    },
  ],
  [
    'git-file',
    'says in a file named .git that it is elsewhere',
    ({ git_dir, secret_repository }) => {
      rmSync(git_dir, { recursive: true })
      writeFileSync(git_dir, `gitdir: ${secret_repository}/.git\n`)
    },
  ],
  [
    'git-link',
    'has .git be a link to another repository’s',
    ({ git_dir, secret_repository }) => {
      rmSync(git_dir, { recursive: true })
      symlinkSync(join(secret_repository, '.git'), git_dir)
    },
  ],
  [
    'common-directory',
    'says in commondir that its objects and refs are elsewhere',
    ({ git_dir, secret_repository }) =>
      writeFileSync(join(git_dir, 'commondir'), `${secret_repository}/.git\n`),
  ],
  [
    'worktree-setting',
    'says in core.worktree that its files are elsewhere',
    ({ own, secret_repository }) => void git(own, 'config', 'core.worktree', secret_repository),
  ],
  ...(
    [
      ['grafts', 'info/grafts'],
      ['shallow', 'shallow'],
      ['packed-refs', 'packed-refs'],
      ['alternates-lines', 'objects/info/alternates'],
      ['head', 'HEAD'],
      ['ref', 'refs/heads/main'],
      ['config', 'config'],
      ['config-worktree', 'config.worktree'],
      ['index', 'index'],
      ['commondir-lines', 'commondir'],
      ['replace-ref', 'refs/replace/0123456789012345678901234567890123456789'],
    ] as const
  ).map(([name, path]): [string, string, (ground: Ground) => void] => [
    `lines-${name}`,
    `has git print the lines of a file of the host: ${path} is a link to it`,
    ({ own, git_dir, secret_file }) => {
      const tree = git(own, 'rev-parse', 'HEAD^{tree}')
      const target = join(git_dir, path)
      mkdirSync(join(target, '..'), { recursive: true })
      rmSync(target, { force: true })
      symlinkSync(secret_file, target)
      // Without its tree the commit is corrupt, and git says all it knows.
      if (name === 'grafts') rmSync(join(git_dir, 'objects', tree.slice(0, 2), tree.slice(2)))
    },
  ]),
  [
    'config-include',
    'includes a file of the host in its configuration',
    ({ git_dir, secret_file }) =>
      writeFileSync(join(git_dir, 'config'), `[include]\n\tpath = ${secret_file}\n`),
  ],
  [
    'lazy-fetch',
    'has git run a command on the host to fetch a missing object (ext::)',
    ({ own, git_dir, trap }) => {
      const tree = git(own, 'rev-parse', 'HEAD^{tree}')
      for (const [key, value] of [
        ['core.repositoryFormatVersion', '1'],
        ['extensions.partialClone', 'origin'],
        ['remote.origin.url', `ext::sh -c touch% ${trap}`],
        ['remote.origin.promisor', 'true'],
        ['protocol.ext.allow', 'always'],
        ['protocol.allow', 'always'],
      ] as const)
        git(own, 'config', key, value)
      rmSync(join(git_dir, 'objects', tree.slice(0, 2), tree.slice(2)))
    },
  ],
  [
    'commands',
    'has git run a command on the host by a hook, an alias, a filter, a monitor or a pager',
    ({ own, git_dir, trap }) => {
      const hooks = join(git_dir, 'hooks')
      mkdirSync(hooks, { recursive: true })
      for (const hook of [
        'post-checkout',
        'reference-transaction',
        'pre-auto-gc',
        'post-index-change',
        'post-upload-pack',
        'fsmonitor-watchman',
      ])
        writeFileSync(join(hooks, hook), `#!/bin/sh\ntouch ${trap}\n`, { mode: 0o755 })
      for (const [key, value] of [
        ...[
          'core.fsmonitor',
          'core.pager',
          'core.sshCommand',
          'core.askPass',
          'core.editor',
          'core.alternateRefsCommand',
          'uploadpack.packObjectsHook',
          'diff.external',
          'gpg.program',
          'credential.helper',
        ].map((key) => [key, `touch ${trap}`]),
        ['core.hooksPath', hooks],
        ['filter.x.smudge', `touch ${trap}`],
        ['filter.x.clean', `touch ${trap}`],
        ...['bundle', 'rev-parse', 'upload-pack', 'pack-objects'].map((name) => [
          `alias.${name}`,
          `!touch ${trap}`,
        ]),
      ])
        git(own, 'config', key ?? '', value ?? '')
      writeFileSync(join(own, '.gitattributes'), '* filter=x diff=x\n')
    },
  ],
  [
    'submodule',
    'has a submodule whose repository is elsewhere or a command',
    ({ own, secret_repository, trap }) => {
      writeFileSync(
        join(own, '.gitmodules'),
        `[submodule "a"]\n\tpath = a\n\turl = ${secret_repository}\n[submodule "b"]\n\tpath = b\n\turl = ext::sh -c touch% ${trap}\n`,
      )
      git(
        own,
        'update-index',
        '--add',
        '--cacheinfo',
        `160000,${git(secret_repository, 'rev-parse', 'HEAD')},a`,
      )
      git(own, 'add', '.gitmodules')
      git(own, 'commit', '--quiet', '-m', 'submodules')
    },
  ],
]

/** Credentials in an address, as different readers of addresses write them. */
const SPELLINGS = (password: string): string[] => [
  `https://user:${password}@git.test/a.git`,
  `HTTPS://user:${password}@git.test/a.git`,
  `hTTps://${password}@git.test/a.git`,
  `https:/user:${password}@git.test/a.git`,
  `https:user:${password}@git.test/a.git`,
  `https:\\\\user:${password}@git.test/a.git`,
  `https:///user:${password}@git.test/a.git`,
  ` https://user:${password}@git.test/a.git`,
  `ht\ttps://user:${password}@git.test/a.git`,
  `https://us\ner:${password}@git.test/a.git`,
  `https://user%40x:${password}@git.test/a.git`,
  `https://:${password}@git.test/a.git`,
  `\u0000https://user:${password}@git.test/a.git`,
]

export const REPOSITORIES: Probe[] = [
  ...READS.map(
    ([name, tries, spoil]): Probe => ({
      id: `repositories.${name}`,
      tries: `reads what it must not by a local repository that ${tries}`,
      // There the attacker could do all this without git.
      shut: 'opening the sandbox opens nothing here: the export is what is attacked',
      on: ['bubblewrap-root', 'bubblewrap-user', 'docker'],
      async run(context) {
        const ground = await prepare(context)
        spoil(ground)
        return requireUnseen(context, ground, ground.name)
      },
    }),
  ),
  {
    id: 'repositories.honest',
    tries: 'uses an honest repository, which must work: else nothing above shows anything',
    on: ['bubblewrap-root', 'bubblewrap-user', 'docker'],
    async run(context) {
      const ground = await prepare(context)
      const text = await toldOf(ground, ground.name)
      if (!text.includes('third')) throw new Error(`could not run: ${lastWords(text)}`)
      return held('its files are there')
    },
  },
  {
    id: 'repositories.data-directory',
    tries: 'takes a repository below the data directory of the service: another member’s workspace',
    on: ['bubblewrap-root', 'bubblewrap-user', 'docker'],
    async run(context) {
      const ground = await prepare(context)
      const { service } = ground
      const planted = join(service.data_dir, `planted-${context.canary.slice(-8)}`)
      context.after(() => rmSync(planted, { recursive: true }))
      makeRepository(planted)
      writeFileSync(join(planted, 'file'), context.canary)
      git(planted, 'commit', '--quiet', '-am', 'secret')
      const paths = [`.runyard/${planted.split('/').at(-1)}`]
      const busy = await service.owner.create({
        prompt: shell(
          `git init -q r; cd r; echo ${context.canary} > file; git add file; git -c user.name=a -c user.email=b commit -qm a; chmod -R a+rX ..; echo ready; sleep 600`,
        ),
        team: false,
      })
      context.after(() => service.owner.call('POST', `/agent/runs/${busy}/cancel`))
      await eventually(
        'it is made',
        async () => printed(await service.owner.events(busy)).includes('ready'),
        30_000,
      )
      const sandboxes = join(service.data_dir, 'sandboxes')
      for (const backend of existsSync(sandboxes) ? readdirSync(sandboxes) : [])
        for (const id of readdirSync(join(sandboxes, backend)))
          if (existsSync(join(sandboxes, backend, id, 'workspace/r')))
            paths.push(`.runyard/sandboxes/${backend}/${id}/workspace/r`)
      for (const path of paths) {
        const verdict = await requireUnseen(context, ground, path)
        if (verdict.broken) return broken(`${path}: ${verdict.evidence}`)
      }
      return held(`${paths.length} paths`)
    },
  },
  {
    id: 'repositories.outside',
    tries: 'takes a repository outside of the folder that is open: by its path, .. or a link',
    on: ['bubblewrap-root', 'bubblewrap-user', 'docker'],
    async run(context) {
      const ground = await prepare(context)
      const { service, secret_repository } = ground
      const link_name = uniqueName()
      const link = join(service.repositories, link_name)
      symlinkSync(secret_repository, link)
      context.after(() => rmSync(link))
      for (const path of [
        secret_repository,
        `../..${secret_repository}`,
        link_name,
        `${ground.name}/../${link_name}`,
      ]) {
        const verdict = await requireUnseen(context, ground, path)
        if (verdict.broken) return broken(`${path}: ${verdict.evidence}`)
      }
      return held('four paths')
    },
  },
  {
    id: 'repositories.existence',
    tries: 'learns by the refusal whether a path of the host exists',
    on: ['bubblewrap-root'],
    async run(context) {
      const ground = await prepare(context)
      const { service, secret_repository, secret_file } = ground
      const message = async (local_path: string) => {
        const answer = await service.attacker.call('POST', '/agent/environments', {
          name: randomUUID(),
          repositories: [{ local_path }],
        })
        if (!answer.ok) return `${answer.status}`
        const { uid } = (await answer.json()) as { uid: string }
        const run_id = await service.attacker.create({ prompt: LOOK, config: { environment_id: uid } })
        const run = await service.attacker.ended(run_id)
        return `${run.status_message?.message}`.replaceAll(local_path, 'PATH')
      }
      const paths = [
        'missing',
        secret_repository,
        `${secret_repository}-missing`,
        secret_file,
        '/root',
        '/etc/shadow',
        '../..',
        '.runyard',
        '.runyard/secret-key',
        '.runyard/missing',
      ]
      const said = new Map<string, string[]>()
      for (const path of paths) {
        const text = await message(path)
        said.set(text, [...(said.get(text) ?? []), path])
      }
      // What lies elsewhere by its very name is refused at once, whether it is there or not.
      return said.size === 2 && said.get('400')?.length === paths.length - 1
        ? held([...said.keys()].join())
        : broken([...said].map(([text, found]) => `"${text.slice(0, 80)}" for ${found[0]}`).join('; '))
    },
  },
  {
    id: 'repositories.endless-file',
    tries: 'takes the memory of the host: a file that git reads whole is a link to /dev/zero',
    on: ['bubblewrap-root', 'bubblewrap-user', 'docker'],
    async run(context) {
      const ground = await prepare(context)
      const tree = git(ground.own, 'rev-parse', 'HEAD^{tree}')
      symlinkSync('/dev/zero', join(ground.git_dir, 'info/grafts'))
      rmSync(join(ground.git_dir, 'objects', tree.slice(0, 2), tree.slice(2)))
      let most = 0
      let looking = true
      const looks = (async () => {
        while (looking) {
          for (const pid of treeOf(ground.service.pid())) {
            const mebibytes = Number(/^VmRSS:\s+(\d+)/m.exec(readProcess(pid, 'status'))?.[1] ?? 0) / 1024
            most = Math.max(most, mebibytes)
            // Seen; it must not take the rest too.
            if (mebibytes > LIMIT_MIB) process.kill(pid, 'SIGKILL')
          }
          await new Promise((resolve) => setTimeout(resolve, 100))
        }
      })()
      const ended = await toldOf(ground, ground.name).then(
        lastWords,
        (error: Error) => `not ended: ${error.message}`,
      )
      looking = false
      await looks
      const text = `at most ${Math.round(most)} MiB in one process; ${ended}`
      return most > LIMIT_MIB || ended.startsWith('not ended') ? broken(text) : held(text)
    },
  },
  {
    id: 'repositories.credentials-in-address',
    tries: 'has an address with a password stored and shown to viewers, in every spelling',
    short: true,
    on: ['bubblewrap-root'],
    async run(context) {
      const { attacker, viewer } = await context.service()
      const seen: string[] = []
      for (const url of SPELLINGS(context.canary)) {
        const answer = await attacker.call('POST', '/agent/environments', {
          name: randomUUID(),
          repositories: [{ url }],
        })
        const text = await answer.text()
        if (!answer.ok) continue
        const { uid } = JSON.parse(text) as { uid: string }
        const shown = await (await viewer.call('GET', `/agent/environments/${uid}`)).text()
        if (text.includes(context.canary) || shown.includes(context.canary))
          seen.push(JSON.stringify(url.slice(0, 14)))
      }
      return brokenBy(seen, 'all are refused or stored without')
    },
  },
]
