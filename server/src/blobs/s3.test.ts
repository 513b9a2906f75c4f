/** Blobs on a server that speaks S3 when something goes wrong. */
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { CreateMultipartUploadCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3'
import { type FaultyProxy, startFaultyProxy } from '../../test/support/faulty-proxy.ts'
import { missingS3, type S3Server, startS3 } from '../../test/support/s3-server.ts'
import { openS3Blobs } from './s3.ts'
import { checkS3 } from './s3-check.ts'
import { createS3Client, type S3Place } from './s3-client.ts'

const MiB = 1024 ** 2
const AWAY_MS = 10_000
const AWAY_AT = 10 * MiB
const SLOW_DOWN = [
  'HTTP/1.1 503 Slow Down',
  'content-type: application/xml',
  'connection: close',
  '',
  '<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>',
].join('\r\n')

describe('blobs on S3', { skip: missingS3() }, () => {
  let server: S3Server
  let proxy: FaultyProxy
  let count = 0
  before(async () => {
    server = await startS3()
    proxy = await startFaultyProxy(Number(new URL(server.endpoint).port))
  })
  after(async () => {
    await proxy?.close()
    await server?.stop()
  })

  const open = (options: { patience_ms?: number } = {}) => {
    count += 1
    const place = server.place(`faults-${count}/`)
    const by_proxy = { ...place, endpoint: `http://127.0.0.1:${proxy.port}` }
    return {
      place,
      direct: openS3Blobs(createS3Client(place), place),
      blobs: openS3Blobs(createS3Client(by_proxy, options.patience_ms), place),
    }
  }
  const unfinished = async ({ bucket, prefix, ...place }: S3Place) => {
    const found = await createS3Client({ bucket, prefix, ...place }).send(
      new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix }),
    )
    return (found.Uploads ?? []).length
  }
  /** Not the same anywhere, so that a piece in the wrong place shows. */
  const makeBytes = (bytes: number): Buffer => {
    const words = new Uint32Array(bytes / 4)
    for (let at = 0; at < words.length; at += 1) words[at] = at * 2_654_435_761
    return Buffer.from(words.buffer)
  }
  const pieces = function* (whole: Buffer) {
    for (let at = 0; at < whole.length; at += 65_536) yield whole.subarray(at, at + 65_536)
  }

  test('a store that is away for ten seconds in the middle only holds up writing and reading', async () => {
    const { blobs, direct } = open()
    const whole = makeBytes(24 * MiB)
    await direct.put('read', whole)
    let going: Promise<void> | undefined
    const away = () => {
      going ??= proxy.goAway()
      return going
    }
    const reading = (async () => {
      const data = await blobs.get('read')
      assert(data)
      const read: Buffer[] = []
      let bytes = 0
      for await (const chunk of data as AsyncIterable<Buffer>) {
        bytes += chunk.length
        read.push(chunk)
        if (bytes > AWAY_AT) await away()
      }
      return Buffer.concat(read)
    })()
    const source = async function* () {
      let sent = 0
      for (const piece of pieces(whole)) {
        sent += piece.length
        if (sent > AWAY_AT) await away()
        yield piece
      }
    }
    // More at once than the library's own strategy would try again for.
    const small = away().then(() =>
      Promise.all(Array.from({ length: 40 }, (_, n) => blobs.put(`small/${n}`, Buffer.from('x')))),
    )
    const writing = blobs.put('written', Readable.from(source()))
    await away()
    // This is the fault, not a wait for something.
    await wait(AWAY_MS)
    await proxy.comeBack()
    const [read, written] = await Promise.all([reading, writing, small])
    assert(read.equals(whole))
    assert.equal(written, whole.length)
    const kept = await direct.get('written')
    assert(kept && (await buffer(kept)).equals(whole))
  })

  test('what is put off is tried again', async () => {
    const { blobs } = open()
    proxy.answerWith(SLOW_DOWN, 3)
    assert.equal(await blobs.put('a', Buffer.from('one')), 3)
    proxy.answerWith(SLOW_DOWN, 3)
    const data = await blobs.get('a')
    assert.equal(data && (await text(data)), 'one')
  })

  test('what answers in the place of a store has stored nothing', async () => {
    const { blobs, place } = open()
    const page = '<html>Sign in</html>'
    const answer = `HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: ${page.length}\r\nconnection: close\r\n\r\n${page}`
    proxy.answerWith(answer, 1)
    await assert.rejects(blobs.put('a', Buffer.from('one')), { name: 'BlobsUnavailable' })
    proxy.answerWith(answer, 4)
    const by_proxy = { ...place, endpoint: `http://127.0.0.1:${proxy.port}` }
    await assert.rejects(checkS3(by_proxy), { name: 'S3Refusal' })
    proxy.answerWith(answer, 0)
  })

  test('a download goes on where it was cut, also several times', async () => {
    const { blobs, direct } = open()
    const whole = makeBytes(8 * MiB)
    await direct.put('cut', whole)
    proxy.cutAnswersAt(100, MiB, 70_000, 3 * MiB)
    const data = await blobs.get('cut')
    assert(data && (await buffer(data)).equals(whole))
  })

  for (const [what, change] of [
    ['replaced', 'put'],
    ['removed', 'delete'],
  ] as const)
    test(`a download of what is ${what} meanwhile fails rather than mix`, async () => {
      const { blobs, direct } = open()
      const whole = makeBytes(8 * MiB)
      await direct.put('moving', whole)
      proxy.cutAnswersAt(MiB)
      const data = await blobs.get('moving')
      assert(data)
      if (change === 'put') await direct.put('moving', Buffer.alloc(8 * MiB, 1))
      else await direct.delete('moving')
      await assert.rejects(buffer(data), { name: 'BlobsUnavailable' })
    })

  test('a store that stays away fails each call, and an upload leaves no part once it is back', async () => {
    const { blobs, direct, place } = open({ patience_ms: 200 })
    await direct.put('there', Buffer.from('x'))
    const source = async function* () {
      for (const piece of pieces(makeBytes(20 * MiB))) yield piece
      throw new Error('cut')
    }
    await assert.rejects(blobs.put('cut', Readable.from(source())), /cut/)
    assert.equal(await unfinished(place), 0)
    await proxy.goAway()
    const refused = { name: 'BlobsUnavailable' }
    const unread = Readable.from(pieces(makeBytes(20 * MiB)))
    await assert.rejects(blobs.put('new', unread), refused)
    assert(unread.destroyed)
    await assert.rejects(blobs.get('there'), refused)
    await assert.rejects(blobs.delete('there'), refused)
    await assert.rejects(Array.fromAsync(blobs.list('runs')), refused)
    await proxy.comeBack()
    assert.equal(await direct.get('new'), null)
  })

  test('parts that a killed process left go with a listing', async () => {
    const { direct, place } = open()
    await createS3Client(place).send(
      // The server dates it some years back.
      new CreateMultipartUploadCommand({ Bucket: place.bucket, Key: `${place.prefix}runs/a/artifacts/b` }),
    )
    assert.equal(await unfinished(place), 1)
    await Array.fromAsync(direct.list('runs'))
    assert.equal(await unfinished(place), 0)
  })

  test('more than a page is listed', async () => {
    const { direct } = open()
    const names = Array.from({ length: 120 }, (_, n) => `runs/${n}`)
    for (let at = 0; at < names.length; at += 50)
      await Promise.all(names.slice(at, at + 50).map((name) => direct.put(name, Buffer.alloc(1))))
    const found = await Array.fromAsync(direct.list('runs'))
    assert.deepEqual(found.map(({ key }) => key).sort(), names.sort())
  })

  describe('a start', () => {
    const refusalOf = (change: Partial<S3Place>) =>
      checkS3({ ...server.place('check/'), ...change }).then(
        () => 'no refusal',
        (error: Error) => error.message,
      )

    test('checks that the storage can be used, and leaves nothing', async () => {
      assert.equal(await refusalOf({}), 'no refusal')
      const place = server.place('check/')
      assert.deepEqual(await Array.fromAsync(openS3Blobs(createS3Client(place), place).list('checks')), [])
    })

    test('says in one line what is wrong', async () => {
      const { reader, owner, endpoint } = server
      const wrong = { ...owner, secretAccessKey: 'x'.repeat(40) }
      const unknown = { ...owner, accessKeyId: 'AKIAIOSFODNN7EXAMPLE' }
      const secure = endpoint.replace('http:', 'https:')
      const cases: Array<[Partial<S3Place>, RegExp]> = [
        [{ bucket: 'not-there' }, /^There is no bucket "not-there" at http/],
        [{ credentials: reader }, /^The key may not write in the bucket/],
        [{ credentials: wrong }, /does not know the key, or its secret is another/],
        [{ credentials: unknown }, /does not know the key/],
        [{ endpoint: 'http://127.0.0.1:1' }, /cannot be reached.*ECONNREFUSED/],
        [{ endpoint: 'http://name.invalid' }, /cannot be reached.*(ENOTFOUND|EAI_AGAIN)/],
        [{ endpoint: secure }, /^https:.* does not speak TLS/],
      ]
      await Promise.all(
        cases.map(async ([change, said]) => {
          const refusal = await refusalOf(change)
          assert.match(refusal, said)
          assert(!refusal.includes('\n'))
        }),
      )
    })

    for (const [name, status, said] of [
      ['RequestTimeTooSkewed', '403 Forbidden', /^The clock of this machine is wrong/],
      [
        'AuthorizationHeaderMalformed',
        '400 Bad Request',
        /not in the region us-east-1. Set AWS_REGION=eu-central-1/,
      ],
      [
        'PermanentRedirect',
        '301 Moved Permanently',
        /not in the region us-east-1. Set AWS_REGION=eu-central-1/,
      ],
      ['InternalError', '500 Internal Server Error', /does not answer as it should/],
      ['SomethingNew', '400 Bad Request', /^It cannot list in the bucket .*SomethingNew: why/],
    ] as const)
      test(`says what ${name} means`, async () => {
        const body = `<?xml version="1.0"?><Error><Code>${name}</Code><Message>why</Message><Region>eu-central-1</Region></Error>`
        proxy.answerWith(
          [
            `HTTP/1.1 ${status}`,
            'content-type: application/xml',
            'x-amz-bucket-region: eu-central-1',
            'connection: close',
            '',
            body,
          ].join('\r\n'),
          1_000,
        )
        const said_now = await refusalOf({ endpoint: `http://127.0.0.1:${proxy.port}` })
        proxy.answerWith('', 0)
        assert.match(said_now, said)
        assert(!said_now.includes('\n') && !said_now.includes(server.owner.secretAccessKey))
      })
  })
})
