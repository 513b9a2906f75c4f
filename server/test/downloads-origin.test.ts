/** Files on an origin of their own: nothing else is served there, and elsewhere no file is opened. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import type { ArtifactResponse } from '../src/contract/artifact.ts'
import { findChromium, openTab } from './support/browser.ts'
import { freePort } from './support/postgres-server.ts'
import { exchange, formatRequest, type RawAnswer } from './support/raw-http.ts'
import { apiOf, shell, startService, type TestService } from './support/service.ts'

/** Browsers resolve both to this machine. */
const [PAGE, FILES] = ['page.localhost', 'files.localhost']
const HOSTILE = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script></svg>'
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'

describe('downloads on an origin of their own', () => {
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let port: number
  const links = { hostile: '', picture: '' }

  const ask = async (
    host: string,
    path: string,
    headers: Array<[string, string]> = [],
  ): Promise<RawAnswer> => {
    const answer = await exchange(
      `http://127.0.0.1:${port}`,
      formatRequest({ path, headers: [['Host', `${host}:${port}`], ...headers] }),
    )
    assert(answer)
    return answer
  }
  const pathOf = (link: string): string => new URL(link).pathname + new URL(link).search

  before(async () => {
    port = await freePort()
    const env = {
      RUNYARD_PUBLIC_URL: `http://${PAGE}:${port}`,
      RUNYARD_DOWNLOADS_URL: `http://${FILES}:${port}/`,
    }
    service = await startService({ env, port })
    api = apiOf({ ...service, base_url: `http://127.0.0.1:${port}/api/v1` })
    const run_id = await api.create({
      prompt: shell(
        `mkdir -p artifacts && cd artifacts && printf '%s' '${HOSTILE}' > page.svg && echo ${PICTURE} | base64 -d > a.png`,
      ),
    })
    const { state, artifacts } = await api.ended(run_id)
    assert.equal(state, 'SUCCEEDED')
    for (const { data } of artifacts) {
      if (!('artifact_uid' in data) || data.artifact_uid === undefined) continue
      const kept = await api.json<ArtifactResponse>('GET', `/agent/artifacts/${data.artifact_uid}`)
      links[kept.data.content_type === 'image/png' ? 'picture' : 'hostile'] = kept.data.download_url
    }
    const transcript = await api.call('GET', `/agent/runs/${run_id}/transcript`)
    assert.match(transcript.headers.get('location') ?? '', new RegExp(`^http://${FILES}:${port}/downloads/`))
  })
  after(() => service?.stop())

  test('links lead there, where there are files and nothing else', async () => {
    for (const link of Object.values(links)) {
      assert.equal(new URL(link).origin, `http://${FILES}:${port}`)
      const { status, headers } = await ask(FILES, pathOf(link))
      assert.equal(status, 200)
      assert.match(headers.get('content-security-policy') ?? '', /^sandbox; default-src 'none'/)
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
    }
    const { headers } = await ask(FILES, pathOf(links.hostile))
    assert.equal(headers.get('content-type'), 'application/octet-stream')
    assert.match(headers.get('content-disposition') ?? '', /^attachment/)
    const key: Array<[string, string]> = [['Authorization', `Bearer ${service.api_key}`]]
    for (const path of [
      ...['/', '/sign-in', '/docs', '/docs/api', '/assets/mark.svg', '/api/v1/openapi.json', '/nothing'],
      ...['/api/v1/agent/runs', '/healthz', '/downloads', '/web/session'],
    ])
      assert.equal((await ask(FILES, path, key)).status, 404, path)
    assert.equal((await ask(PAGE, '/api/v1/agent/runs', key)).status, 200)
  })

  test('who opens a link elsewhere is sent there, and only the page reads files of its own origin', async () => {
    const path = pathOf(links.picture)
    const read = (site: string, dest: string): Array<[string, string]> => [
      ['Sec-Fetch-Site', site],
      ['Sec-Fetch-Dest', dest],
    ]
    for (const [host, headers] of [
      [PAGE, []],
      ['127.0.0.1', []],
      [PAGE, read('same-origin', 'document')],
      [PAGE, read('same-origin', 'iframe')],
      [PAGE, read('same-origin', 'script')],
      [PAGE, read('cross-site', 'image')],
      [PAGE, read('none', 'empty')],
    ] as Array<[string, Array<[string, string]>]>) {
      const answer = await ask(host, path, headers)
      assert.deepEqual([answer.status, answer.headers.get('location')], [302, links.picture])
    }
    for (const dest of ['empty', 'image'])
      assert.equal((await ask(PAGE, path, read('same-origin', dest))).status, 200)
    // Nor does another way to write the path lead to it: routes are found by what it means.
    const written = await ask(PAGE, path.replace('/downloads/', '/%64ownloads/'))
    assert.deepEqual(
      [written.status, written.headers.get('location')],
      [302, links.picture.replace('/downloads/', '/%64ownloads/')],
    )
    assert.equal((await ask(FILES, path.replace('/downloads/', '/%64ownloads/'))).status, 200)
    // It is no way to anywhere else.
    const odd = await ask(PAGE, '/downloads//evil.example/')
    assert.equal(new URL(odd.headers.get('location') ?? '').origin, `http://${FILES}:${port}`)
  })

  test('Chromium opens files there alone, and runs nothing that is in them', {
    skip: findChromium() ? false : 'there is no Chromium on this machine',
  }, async () => {
    await using tab = await openTab()
    const { page } = tab
    page.on('dialog', () => assert.fail('A script of a file ran.'))
    await page.goto(`http://${PAGE}:${port}/sign-in`)
    const here = `http://${PAGE}:${port}${pathOf(links.picture)}`
    assert.equal(await page.evaluate(async (link) => (await fetch(link)).status, here), 200)
    await page.goto(here)
    assert.equal(page.url(), links.picture)
    const saving = page.waitForEvent('download')
    await page
      .goto(`http://${PAGE}:${port}${pathOf(links.hostile)}`)
      .catch((error: Error) => assert.match(error.message, /Download is starting|ERR_ABORTED/))
    const saved = await saving
    assert.equal(new URL(saved.url()).hostname, FILES)
    assert.equal(readFileSync(await saved.path(), 'utf8'), HOSTILE)
  })
})
