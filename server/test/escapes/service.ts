import { randomUUID } from 'node:crypto'
import { createServer } from 'node:net'
import { shell } from '../support/service.ts'
import type { AttackedService, Victim } from './attacked-service.ts'
import { broken, brokenBy, held, NO_DOOR, ONCE, type Probe, type Verdict } from './probe.ts'

const NOWHERE = '01900000-0000-7000-8000-000000000000'

/** Broken when an answer shows the victim's words or, where `ids` are given, its ids. */
async function requireHidden(answers: Response[], victim: Victim, ids: string[] = []): Promise<Verdict> {
  const seen: string[] = []
  for (const answer of answers) {
    const text = await readSome(answer)
    const found = [victim.canary, ...ids].filter((word) => text.includes(word))
    if (found.length > 0) seen.push(`${answer.status} with ${found}`)
    if (answer.status === 302 && answer.headers.get('location')) {
      const download = await (await fetch(answer.headers.get('location') ?? '')).text()
      if (download.includes(victim.canary)) seen.push('a link to its words')
    }
  }
  return brokenBy(seen, answers.map(({ status }) => status).join())
}

/** The beginning of an answer: a stream has no end. */
async function readSome(answer: Response): Promise<string> {
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer.text()
  let text = ''
  for await (const chunk of answer.body ?? []) {
    text += Buffer.from(chunk)
    if (text.length > 0) break
  }
  return text
}

type Reading = [name: string, tries: string, paths: (victim: Victim) => string[], ids?: true]
/** Reading another member's personal run, way by way. */
const READINGS: Reading[] = [
  [
    'get',
    'reads the run',
    ({ run_id, busy }) => [
      `/agent/runs/${run_id}`,
      `/agent/runs/${busy}`,
      `/agent/runs/${run_id.toUpperCase()}`,
    ],
  ],
  [
    'list',
    'lists runs, by every filter',
    ({ uid, run_id }) => [
      '/agent/runs?limit=500',
      `/agent/runs?limit=500&creator=${uid}`,
      `/agent/runs?ancestor_run_id=${run_id}`,
      '/agent/runs?state=INPROGRESS&limit=500',
      '/agent/runs?sort_by=title&limit=500',
    ],
    true,
  ],
  [
    'search',
    'searches for words of the prompt and the metadata',
    ({ canary }) => [
      `/agent/runs?q=${canary}`,
      '/agent/runs?q=Keep&limit=500',
      `/agent/runs?metadata[secret]=${canary}`,
    ],
    true,
  ],
  [
    'events',
    'reads the events',
    ({ run_id }) => [`/agent/runs/${run_id}/events`, `/agent/runs/${run_id}/events?after=0&limit=1000`],
  ],
  ['conversation', 'reads the conversation', ({ run_id }) => [`/agent/runs/${run_id}/conversation`]],
  ['transcript', 'downloads the transcript', ({ run_id }) => [`/agent/runs/${run_id}/transcript`]],
  ['artifact', 'downloads an artifact', ({ artifact_uid }) => [`/agent/artifacts/${artifact_uid}`]],
]

type Writing = [
  name: string,
  tries: string,
  path: (victim: Victim) => string,
  body: (victim: Victim) => object,
]
/** Acting on it. The one that ends the busy run comes last. */
const WRITINGS: Writing[] = [
  [
    'followup',
    'sends it a message',
    ({ run_id }) => `/agent/runs/${run_id}/followups`,
    () => ({ message: 'x', mode: 'plan' }),
  ],
  [
    'parent',
    'makes a child of it',
    () => '/agent/runs',
    ({ run_id }) => ({ prompt: 'x', parent_run_id: run_id, config: { worker_host: 'nobody' } }),
  ],
  [
    'conversation-id',
    'goes on in its conversation',
    () => '/agent/runs',
    ({ conversation_id }) => ({ prompt: 'x', conversation_id, config: { worker_host: 'nobody' } }),
  ],
  ['interrupt', 'interrupts it', ({ busy }) => `/agent/runs/${busy}/interrupt`, () => ({})],
  ['cancel', 'cancels it', ({ busy }) => `/agent/runs/${busy}/cancel`, () => ({})],
]

export const SERVICE: Probe[] = [
  ...READINGS.map(
    ([name, tries, paths, ids]): Probe => ({
      id: `service.personal-${name}`,
      tries: `${tries} of another member that is personal`,
      short: true,
      on: ONCE,
      async run(context) {
        const service = await context.service()
        const victim = await service.victim()
        const answers = await Promise.all(
          paths(victim).flatMap((path) => [
            service.attacker.call('GET', path),
            service.viewer.call('GET', path),
          ]),
        )
        return requireHidden(answers, victim, ids ? [victim.run_id, victim.busy] : [])
      },
    }),
  ),
  {
    id: 'service.personal-stream',
    tries: 'follows the event stream of another member’s personal run',
    short: true,
    on: ONCE,
    async run(context) {
      const service = await context.service()
      const victim = await service.victim()
      const headers = { accept: 'text/event-stream' }
      const answers = await Promise.all(
        [victim.run_id, victim.busy].map((id) =>
          service.attacker.call('GET', `/agent/runs/${id}/events?follow=true`, undefined, headers),
        ),
      )
      return requireHidden(answers, victim)
    },
  },
  ...WRITINGS.slice(0, 3).map(writingProbe),
  {
    id: 'service.idempotent-replay',
    tries: 'repeats another member’s request with its Idempotency-Key to get its answer',
    short: true,
    on: ONCE,
    async run(context) {
      const service = await context.service()
      const body = { prompt: context.canary, team: false, config: { worker_host: 'nobody' } }
      const key = { 'idempotency-key': `key-${context.canary}` }
      const send = async (who: AttackedService['owner']) => {
        const answer = await who.call('POST', '/agent/runs', body, key)
        return {
          replayed: answer.headers.get('idempotent-replayed'),
          ...((await answer.json()) as { run_id: string }),
        }
      }
      const [first, second] = [await send(service.owner), await send(service.attacker)]
      return second.run_id === first.run_id || second.replayed
        ? broken('the answer of the other was replayed')
        : held('a run of its own')
    },
  },
  {
    id: 'service.session-data',
    tries:
      'opens the session page of another member’s personal run by forged cookies, tokens and its own key',
    short: true,
    on: ONCE,
    async run(context) {
      const service = await context.service()
      const victim = await service.victim()
      const own = await service.attacker.create({
        prompt: 'x',
        config: { worker_host: 'nobody', session_sharing: { public_access: 'VIEWER' } },
      })
      const { session_link } = await service.attacker.get(own)
      const token = new URL(session_link).hash.replace('#access=', '')
      const share = await service.attacker.json<{ url: string }>('POST', `/agent/runs/${own}/share-links`, {})
      const ask = (path: string, body: object, headers: Record<string, string> = {}) =>
        fetch(service.origin + path, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            origin: service.origin,
            'x-runyard-page': '1',
            ...headers,
          },
          body: JSON.stringify(body),
        })
      const visit = (run_id: string, given: string) => ask('/web/visits', { run_id, token: given })
      const opened = await Promise.all([
        visit(victim.run_id, token),
        visit(victim.run_id, new URL(share.url).hash.replace('#access=', '')),
        visit(victim.run_id, `${Math.ceil(Date.now() / 1000) + 600}.AAAA.AAAA`),
        visit(own, token),
        ask('/web/session', {}, { authorization: `Bearer ${service.keys.attacker}` }),
      ])
      // Each cookie under the name of the victim's run, too.
      const cookies = opened
        .flatMap((answer) => answer.headers.getSetCookie())
        .map((cookie) => cookie.split(';')[0]?.split('=')[1] ?? '')
        .flatMap((value) => [`runyard_session=${value}`, `runyard_visit_${victim.run_id}=${value}`])
      const at = `${service.base_url}/agent/runs/${victim.run_id}`
      const answers = await Promise.all(
        [...cookies, `runyard_visit_${victim.run_id}=AAAA`].flatMap((cookie) =>
          ['1', `visit ${victim.run_id}`, `visit ${own}`].flatMap((page) =>
            [at, `${at}/events`, `${at}/conversation`].map((url) =>
              fetch(url, { headers: { cookie, 'x-runyard-page': page } }),
            ),
          ),
        ),
      )
      return requireHidden(answers, victim)
    },
  },
  {
    id: 'service.session-existence',
    tries: 'learns by the session page whether a run exists',
    short: true,
    on: ONCE,
    shut: NO_DOOR,
    async run(context) {
      const service = await context.service()
      const victim = await service.victim()
      const look = async (id: string) => {
        const answers = await Promise.all(
          ['1', `visit ${id}`].flatMap((page) => [
            fetch(`${service.origin}/sessions/${id}`),
            fetch(`${service.base_url}/agent/runs/${id}`, { headers: { 'x-runyard-page': page } }),
          ]),
        )
        const texts = await Promise.all(
          answers.map(async (answer) => {
            const text = (await answer.text()).replaceAll(/[0-9a-f-]{36}/g, 'ID')
            // The page names a number of its own each time.
            return `${answer.status} ${text.replace(/name="style-nonce" content="[^"]*"/, '')}`
          }),
        )
        return texts.join('\n')
      }
      return (await look(victim.run_id)) === (await look(NOWHERE))
        ? held('both look alike')
        : broken('a run that exists looks different')
    },
  },
  {
    id: 'service.signed-links',
    tries: 'turns a link to its own transcript and artifact into one of another member’s',
    short: true,
    on: ONCE,
    shut: NO_DOOR,
    async run(context) {
      const service = await context.service()
      const victim = await service.victim()
      const own = await service.attacker.create({
        prompt: shell('mkdir artifacts; echo mine > artifacts/mine.txt'),
      })
      const run = await service.attacker.ended(own)
      const transcript = await service.attacker.call('GET', `/agent/runs/${own}/transcript`)
      const [artifact] = run.artifacts.flatMap(({ data }) =>
        'artifact_uid' in data ? [data.artifact_uid] : [],
      )
      const { data } = await service.attacker.json<{ data: { download_url: string } }>(
        'GET',
        `/agent/artifacts/${artifact}`,
      )
      const links = [transcript.headers.get('location') ?? '', data.download_url]
      const forged = links.map((link) =>
        link.replace(own, victim.run_id).replace(artifact ?? ' ', victim.artifact_uid),
      )
      if (links.some((link, index) => link === forged[index])) throw new Error(`could not run: ${links}`)
      return requireHidden(await Promise.all(forged.map((link) => fetch(link))), victim)
    },
  },
  ...WRITINGS.slice(3).map(writingProbe),
  {
    id: 'service.viewer-writes',
    tries: 'starts and stops runs and makes environments with a viewer’s key',
    short: true,
    on: ONCE,
    async run(context) {
      const { viewer, owner } = await context.service()
      const run_id = await owner.create({ prompt: 'x', config: { worker_host: 'nobody' } })
      const answers = await Promise.all([
        viewer.call('POST', '/agent/runs', { prompt: 'x', config: { worker_host: 'nobody' } }),
        viewer.call('POST', `/agent/runs/${run_id}/followups`, { message: 'x' }),
        viewer.call('POST', `/agent/runs/${run_id}/cancel`),
        viewer.call('POST', '/agent/environments', { name: randomUUID() }),
      ])
      return brokenBy(
        answers.filter((answer) => answer.ok).map(({ url }) => url),
        answers.map(({ status }) => status).join(),
      )
    },
  },
  {
    id: 'service.secrets-in-answers',
    tries: 'reads secrets of environments and tool servers in any answer',
    short: true,
    on: ONCE,
    shut: NO_DOOR,
    async run(context) {
      const { owner, attacker, base_url, keys } = await context.service()
      const { uid } = await owner.json<{ uid: string }>('POST', '/agent/environments', {
        name: randomUUID(),
        variables: { SECRET: context.canary },
      })
      const mcp_servers = {
        a: { command: 'x', env: { TOKEN: context.canary } },
        b: { url: `https://u:${context.canary}@tools.test/mcp`, headers: { Authorization: context.canary } },
      }
      const run_id = await owner.create({
        prompt: 'x',
        config: { worker_host: 'nobody', environment_id: uid, mcp_servers, harness: { type: 'oz' } },
      })
      const paths = [
        `/agent/environments/${uid}`,
        '/agent/environments',
        `/agent/runs/${run_id}`,
        '/agent/runs?limit=500',
        `/agent/runs/${run_id}/events`,
        `/agent/runs/${run_id}/conversation`,
        '/agent/models',
      ]
      const texts = await Promise.all(
        [owner, attacker].flatMap((who) => paths.map(async (path) => (await who.call('GET', path)).text())),
      )
      const link = await owner.call('GET', `/agent/runs/${run_id}/transcript`)
      texts.push(await (await fetch(link.headers.get('location') ?? base_url)).text())
      return texts.some((text) => text.includes(context.canary) || text.includes(keys.owner))
        ? broken('a secret stands in an answer')
        : held(`${texts.length} answers hold none`)
    },
  },
  {
    id: 'service.environment-variables',
    tries: 'reads the variables of another member’s environment by running in it',
    on: ONCE,
    async run(context) {
      const { owner, attacker } = await context.service()
      const { uid } = await owner.json<{ uid: string }>('POST', '/agent/environments', {
        name: randomUUID(),
        variables: { SECRET: context.canary },
      })
      const answer = await attacker.call('POST', '/agent/runs', {
        prompt: shell('echo "$SECRET"'),
        config: { harness: { type: 'runbook' }, environment_id: uid },
      })
      if (!answer.ok) return held(`refused with ${answer.status}`)
      const { run_id } = (await answer.json()) as { run_id: string }
      await attacker.ended(run_id)
      const text = JSON.stringify(await attacker.events(run_id))
      return text.includes(context.canary) ? broken('its value was printed') : held('it is not there')
    },
  },
  {
    id: 'service.error-texts',
    tries: 'makes the service print stacks, SQL, paths, or texts of git and the engine in its errors',
    short: true,
    on: ONCE,
    shut: NO_DOOR,
    async run(context) {
      const { attacker, data_dir, repositories } = await context.service()
      const env = async (config: object) => {
        const answer = await attacker.call('POST', '/agent/environments', { name: randomUUID(), ...config })
        if (!answer.ok) return [await answer.text()]
        const { uid } = (await answer.json()) as { uid: string }
        const run_id = await attacker.create({ prompt: 'x', config: { environment_id: uid } })
        await attacker.ended(run_id)
        return [JSON.stringify(await attacker.get(run_id)), JSON.stringify(await attacker.events(run_id))]
      }
      const text = (path: string) => attacker.call('GET', path).then((answer) => answer.text())
      const answers = await Promise.all([
        text('/agent/runs?cursor=%00'),
        text('/agent/runs?q=%27%3B--'),
        text('/agent/runs/%2e%2e%2f'),
        text(`/agent/runs/${"'".repeat(300)}`),
        text('/agent/runs?metadata[a]=%ED%A0%80'),
        attacker
          .call('POST', '/agent/runs', { prompt: 'x\u0000', metadata: { a: '\u0000' } })
          .then((answer) => answer.text()),
        attacker
          .call('POST', '/agent/runs', { prompt: 'x', config: { environment_id: '0000000000000000000000' } })
          .then((answer) => answer.text()),
        ...(await Promise.all([
          env({ repositories: [{ local_path: '../../../../etc' }] }),
          env({ repositories: [{ local_path: 'missing' }] }),
          env({ repositories: [{ local_path: '.' }] }),
          env({ repositories: [{ local_path: '.runyard' }] }),
        ]).then((lists) => lists.flat())),
      ])
      const INSIDE =
        /node_modules|\bat \S+ \(|\bselect\b.*\bfrom\b|syntax error|pglite|kysely|ECONN|fatal:|safe\.directory|dockerode|connect ENOENT/i
      const shown = answers.flatMap((answer) => [
        ...(INSIDE.exec(answer) ?? []),
        ...[data_dir, repositories].filter((path) => answer.includes(path)),
      ])
      return brokenBy([...new Set(shown)], `${answers.length} errors show nothing`)
    },
  },
  {
    id: 'service.environment-limits',
    tries: 'asks for a terabyte of memory, 32,768 processes and 256 processors',
    short: true,
    on: ONCE,
    shut: NO_DOOR,
    async run(context) {
      const { attacker } = await context.service()
      const answers = await Promise.all(
        [
          { memory_mb: 1_048_576 },
          { pids: 32_768 },
          { cpus: 256 },
          { disk_mb: 1_048_576 },
          { setup_minutes: 240 },
        ].map(async (limits) => ({
          limits,
          answer: await attacker.call('POST', '/agent/environments', { name: randomUUID(), limits }),
        })),
      )
      return brokenBy(
        answers.filter(({ answer }) => answer.ok).map(({ limits }) => JSON.stringify(limits)),
        answers.map(({ answer }) => answer.status).join(),
      )
    },
  },
  {
    id: 'service.image-address',
    tries:
      'has the Docker engine call an address of its choice by the name of an image, and reads the answer',
    short: true,
    on: ['docker', 'open'],
    shut: 'the host backend has no engine',
    async run(context) {
      const { attacker } = await context.service()
      let connections = 0
      const server = createServer((socket) => {
        connections++
        socket.on('error', () => {})
        socket.end(
          `HTTP/1.1 500 ${context.canary}\r\nConnection: close\r\nContent-Length: ${context.canary.length}\r\n\r\n${context.canary}`,
        )
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      context.after(() => new Promise((resolve) => server.close(resolve)))
      const address = server.address()
      const port = typeof address === 'object' ? address?.port : 0
      const texts: string[] = []
      for (const docker_image of [
        `127.0.0.1:${port}/x:latest`,
        `localhost:${port}/library/x`,
        `127.0.0.1:${port}/x@sha256:${'a'.repeat(64)}`,
      ]) {
        const answer = await attacker.call('POST', '/agent/environments', {
          name: randomUUID(),
          docker_image,
        })
        if (!answer.ok) continue
        const { uid } = (await answer.json()) as { uid: string }
        const run_id = await attacker.create({ prompt: 'x', config: { environment_id: uid } })
        texts.push(JSON.stringify(await attacker.ended(run_id)))
      }
      if (connections > 0) return broken(`${connections} connections`)
      return texts.some((text) => text.includes(context.canary))
        ? broken('its answer was shown')
        : held('nobody called')
    },
  },
]

function writingProbe([name, tries, path, body]: Writing): Probe {
  return {
    id: `service.personal-${name}`,
    tries: `${tries}: a personal run of another member`,
    short: true,
    on: ONCE,
    async run(context) {
      const service = await context.service()
      const victim = await service.victim()
      const answer = await service.attacker.call('POST', path(victim), body(victim))
      return answer.ok ? broken(`it was allowed: ${answer.status}`) : held(String(answer.status))
    },
  }
}
