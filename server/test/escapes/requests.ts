import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { exchange, formatRequest } from '../support/raw-http.ts'
import { shell } from '../support/service.ts'
import { printed } from '../support/traces.ts'
import { broken, brokenBy, held, NO_DOOR, ONCE, type Probe, SANDBOXED } from './probe.ts'
import { longestStall } from './stall.ts'

const NOWHERE = '01900000-0000-7000-8000-000000000000'

/** What pages of other sites, other readers of answers and odd requests try. */
export const REQUESTS: Probe[] = [
  {
    id: 'service.host-header',
    tries: 'reaches the service by another name, as a page of another site would after rebinding its name',
    short: true,
    on: ONCE,
    shut: NO_DOOR,
    async run(context) {
      const { base_url, keys } = await context.service()
      const names = [
        'evil.example',
        'evil.example:80',
        'localhost.evil.example',
        '127.0.0.1.evil.example',
        '169.254.169.254',
        'localhost@evil.example',
        '[::ffff:7f00:1].evil.example',
      ]
      const answers = await Promise.all(
        names.flatMap((name) =>
          ['/api/v1/agent/runs', '/'].map((path) =>
            exchange(
              base_url,
              formatRequest({
                path,
                headers: [
                  ['Host', name],
                  ['Authorization', `Bearer ${keys.attacker}`],
                ],
              }),
            ),
          ),
        ),
      )
      return brokenBy(
        answers.flatMap((answer, index) =>
          answer && answer.status < 400 ? [`${answer.status} for ${names[index >> 1]}`] : [],
        ),
        'every other name is refused',
      )
    },
  },
  {
    id: 'service.cross-origin',
    tries: 'reads answers from a page of another origin, and acts with a session’s cookie',
    short: true,
    on: ONCE,
    shut: NO_DOOR,
    async run(context) {
      const service = await context.service()
      const run_id = await service.owner.create({ prompt: context.canary, config: { worker_host: 'nobody' } })
      const opened = await fetch(`${service.origin}/web/session`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          origin: service.origin,
          'x-runyard-page': '1',
          authorization: `Bearer ${service.keys.owner}`,
        },
        body: '{}',
      })
      const cookie = opened.headers.getSetCookie()[0]?.split(';')[0]
      if (!cookie) throw new Error(`could not run: ${opened.status} without a cookie`)
      const from = { cookie, origin: 'https://evil.example', 'content-type': 'application/json' }
      const forged = { ...from, 'x-runyard-page': '1' }
      const preflight = {
        origin: from.origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      }
      const at = (path: string, method: string, headers: Record<string, string>, body?: string) =>
        fetch(service.base_url + path, { method, headers, redirect: 'manual', ...(body ? { body } : {}) })
      const answers = await Promise.all([
        at('/agent/runs', 'GET', from),
        at('/agent/runs', 'POST', from, '{"prompt":"x"}'),
        at('/agent/runs', 'GET', forged),
        at('/agent/runs', 'POST', forged, '{"prompt":"x"}'),
        at('/agent/runs', 'POST', { ...forged, origin: 'null' }, '{"prompt":"x"}'),
        at(`/agent/runs/${run_id}/cancel`, 'POST', from, '{}'),
        at('/agent/runs', 'POST', { cookie, 'content-type': 'text/plain' }, '{"prompt":"x"}'),
        at('/agent/runs', 'OPTIONS', preflight),
        fetch(`${service.origin}/web/session`, { headers: forged }),
      ])
      return brokenBy(
        answers.flatMap((answer) => [
          ...(answer.ok ? [`${answer.status} at ${answer.url}`] : []),
          ...(answer.headers.has('access-control-allow-origin') ? [`CORS at ${answer.url}`] : []),
        ]),
        answers.map(({ status }) => status).join(),
      )
    },
  },
  {
    id: 'service.answer-headers',
    tries: 'finds answers with private data in a cache, or has a browser guess their type',
    short: true,
    on: ONCE,
    shut: NO_DOOR,
    async run(context) {
      const { attacker } = await context.service()
      const run_id = await attacker.create({ prompt: 'x', config: { worker_host: 'nobody' } })
      const paths = [
        '/agent/runs',
        `/agent/runs/${run_id}`,
        `/agent/runs/${run_id}/events`,
        `/agent/runs/${run_id}/conversation`,
        `/agent/runs/${run_id}/transcript`,
        '/agent/environments',
        '/agent/models',
        `/agent/runs/${NOWHERE}`,
        '/nothing',
      ]
      const answers = await Promise.all(paths.map((path) => attacker.call('GET', path)))
      answers.push(
        await attacker.call('POST', '/agent/runs', { prompt: 'x', config: { worker_host: 'nobody' } }),
      )
      return brokenBy(
        answers
          .filter(
            ({ headers }) =>
              !/no-store/.test(headers.get('cache-control') ?? '') ||
              headers.get('x-content-type-options') !== 'nosniff',
          )
          .map(({ url, status }) => `${status} ${new URL(url).pathname.replace(/[0-9a-f-]{36}/, 'ID')}`),
        `${answers.length} answers`,
      )
    },
  },
  {
    id: 'service.path-traversal',
    tries: 'reads files of the data directory and of the machine by paths of the web pages',
    short: true,
    on: ONCE,
    shut: NO_DOOR,
    async run(context) {
      const { base_url, data_dir } = await context.service()
      const up = ['../', '..%2f', '%2e%2e/', '..\\', '..%5c', '....//', '%252e%252e/']
      const paths = up.flatMap((step) =>
        ['/assets/', '/sessions/', '/docs/', '/api/v1/', '/'].flatMap((base) => [
          `${base}${step.repeat(12)}etc/passwd`,
          `${base}${step.repeat(12)}${data_dir.slice(1)}/secret-key`,
          `${base}${step}package.json`,
        ]),
      )
      const answers = await Promise.all(
        paths.map(async (path) => ({ path, answer: await exchange(base_url, formatRequest({ path })) })),
      )
      return brokenBy(
        answers
          .filter(
            ({ answer }) => answer && answer.status < 300 && /root:|"dependencies"|"name":/.test(answer.body),
          )
          .map(({ path }) => path),
        `${paths.length} paths`,
      )
    },
  },
  {
    id: 'service.unread-streams',
    tries: 'takes the service down with streams that nobody reads and connections that say nothing',
    on: ONCE,
    shut: NO_DOOR,
    async run(context) {
      const service = await context.service()
      const run_id = await service.attacker.create({
        prompt: shell(`perl -e 'print "x" x (1 << 20) for 1 .. 20'`),
      })
      const { connect } = await import('node:net')
      const { hostname, port } = new URL(service.base_url)
      const stall = longestStall(service.origin)
      const sockets = Array.from({ length: 150 }, (_, index) => {
        const socket = connect({ host: hostname, port: Number(port) })
        socket.on('error', () => {})
        socket.pause()
        const path = `/api/v1/agent/runs/${run_id}/events?follow=true`
        if (index % 2)
          socket.write(
            `GET ${path} HTTP/1.1\r\nHost: localhost:${port}\r\nAuthorization: Bearer ${service.keys.attacker}\r\nAccept: text/event-stream\r\n\r\n`,
          )
        else socket.write('GET / HTTP/1.1\r\nHost: loc')
        return socket
      })
      context.after(() => {
        for (const socket of sockets) socket.destroy()
      })
      await service.attacker.ended(run_id)
      await delay(1_000)
      return stall.judge()
    },
  },
  {
    id: 'service.artifact-links',
    tries: 'has the service keep files of the host as artifacts: by links, hard links, pipes and devices',
    short: true,
    on: SANDBOXED,
    async run(context) {
      const { attacker, data_dir } = await context.service()
      const { mkdtempSync, rmSync, writeFileSync, chmodSync } = await import('node:fs')
      const { tmpdir } = await import('node:os')
      const { join } = await import('node:path')
      const directory = mkdtempSync(join(tmpdir(), 'runyard-secret-'))
      context.after(() => rmSync(directory, { recursive: true }))
      chmodSync(directory, 0o755)
      writeFileSync(join(directory, 'secret.txt'), context.canary)
      const prompts = [
        `mkdir artifacts; cd artifacts; ln -s ${directory}/secret.txt a.txt; ln ${directory}/secret.txt b.txt; ln -s ${directory} d; mkfifo pipe; ln -s /dev/zero zero; ln -s ${data_dir}/secret-key key; cp ${directory}/secret.txt c.txt; true`,
        `ln -s ${directory} artifacts`,
      ]
      const kept: string[] = []
      for (const prompt of prompts) {
        const run_id = await attacker.create({ prompt: shell(prompt) })
        const run = await attacker.ended(run_id)
        for (const { data } of run.artifacts) {
          if (!('artifact_uid' in data)) continue
          const artifact = await attacker.json<{ data: { download_url: string } }>(
            'GET',
            `/agent/artifacts/${data.artifact_uid}`,
          )
          kept.push(await (await fetch(artifact.data.download_url)).text())
        }
      }
      return kept.some((text) => text.includes(context.canary))
        ? broken('a file of the host was kept')
        : held(`${kept.length} artifacts`)
    },
  },
  {
    id: 'service.own-port',
    tries: 'reaches the service itself from a run that was granted no network',
    short: true,
    on: SANDBOXED,
    shut: 'the host backend refuses to run without a network',
    async run(context) {
      const { attacker, base_url } = await context.service()
      const { uid } = await attacker.json<{ uid: string }>('POST', '/agent/environments', {
        name: randomUUID(),
        egress: 'none',
      })
      const { port } = new URL(base_url)
      const command = `for h in 127.0.0.1 172.17.0.1 $(hostname -i 2>/dev/null); do timeout 3 bash -c "exec 3<>/dev/tcp/$h/${port} && echo reached" ; done; echo tried`
      const run_id = await attacker.create({ prompt: shell(command), config: { environment_id: uid } })
      const run = await attacker.ended(run_id)
      const text = printed(await attacker.events(run_id))
      if (!text.includes('tried'))
        throw new Error(`could not run: ${run.status_message?.message} ${text.slice(0, 300)}`)
      return text.includes('reached') ? broken('it answers') : held('it is not there')
    },
  },
]
