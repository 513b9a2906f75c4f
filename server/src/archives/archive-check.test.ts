import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ArchiveCheck, ArchiveRefused, ArchiveTooLarge } from './archive-check.ts'

const ROOTS = ['workspace', 'home/agent']
const LIMITS = { expanded_bytes: 1024 ** 2, entries: 100 }
const END = Buffer.alloc(1024)

/** An entry of a POSIX tar; `type` is its letter there. */
function entry(
  name: string,
  more: { type?: string; data?: string | Buffer; link?: string; mode?: number } = {},
) {
  const { type = '0', link = '', mode = 0o644 } = more
  const data = Buffer.from(more.data ?? '')
  const header = Buffer.alloc(512)
  const octal = (value: number, offset: number, length: number) =>
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset)
  header.write(name, 0, 'latin1')
  octal(mode, 100, 8)
  octal(data.length, 124, 12)
  header.write('        ', 148)
  header.write(type, 156)
  header.write(link, 157)
  header.write('ustar\x0000', 257)
  return sum(header, data)
}

function sum(header: Buffer, data: Buffer = Buffer.alloc(0)): Buffer {
  header.write('        ', 148)
  const total = header.reduce((all, byte) => all + byte, 0)
  header.write(`${total.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, data, Buffer.alloc((512 - (data.length % 512)) % 512)])
}

/** One line of an extended header says its own length. */
const extended = (...lines: Array<[string, string]>): Buffer =>
  entry('x', {
    type: 'x',
    data: Buffer.from(
      lines
        .map(([key, value]) => {
          const rest = ` ${key}=${value}\n`
          const length = rest.length + String(rest.length + 2).length
          return `${length}${rest}`
        })
        .join(''),
      'latin1',
    ),
  })

function check(archive: Buffer, limits = LIMITS, chunk = archive.length): ArchiveCheck {
  const checked = new ArchiveCheck(ROOTS, limits)
  for (let at = 0; at < archive.length; at += chunk) checked.push(archive.subarray(at, at + chunk))
  checked.end()
  return checked
}

test('what tar makes of a workspace passes, in whatever pieces it comes', () => {
  const place = mkdtempSync(join(tmpdir(), 'archive-'))
  const workspace = join(place, 'workspace')
  mkdirSync(join(workspace, 'd'.repeat(200), 'e'.repeat(200)), { recursive: true })
  writeFileSync(join(workspace, 'd'.repeat(200), 'e'.repeat(200), 'caf\u00e9 = 1\n2'), 'x'.repeat(1000))
  symlinkSync(`/${'l'.repeat(300)}/../x`, join(workspace, 'link'))
  writeFileSync(join(workspace, 'empty'), '')
  execFileSync('ln', [join(workspace, 'empty'), join(workspace, 'hard link')])
  execFileSync('mkfifo', [join(workspace, 'pipe')])
  const archive = execFileSync('tar', [
    '-c',
    '--format=posix',
    '--pax-option=delete=atime,delete=ctime',
    '-C',
    place,
    'workspace',
  ])
  rmSync(place, { recursive: true })
  for (const chunk of [archive.length, 1, 7, 511, 513]) {
    const checked = check(archive, LIMITS, chunk)
    assert.deepEqual([checked.entries, checked.bytes], [8, archive.length])
  }
})

describe('what packing never makes is refused', () => {
  const broken = entry('workspace/a')
  const binary = entry('workspace/a')
  binary[100] = 0x80
  broken[0] = 0x58
  const cases: Record<string, [Buffer, RegExp]> = {
    'an absolute path': [entry('/workspace/a'), /lies elsewhere/],
    'a path that leads up': [entry('workspace/../home/x'), /lies elsewhere/],
    'a path that ends above': [entry('workspace/..'), /lies elsewhere/],
    'another folder': [entry('etc/passwd'), /lies elsewhere/],
    'a folder that begins like one of ours': [entry('workspaces/a'), /lies elsewhere/],
    'a long path elsewhere': [
      Buffer.concat([extended(['path', 'tmp/x']), entry('workspace/a')]),
      /elsewhere/,
    ],
    'a hard link to elsewhere': [entry('workspace/a', { type: '1', link: '/etc/passwd' }), /leads elsewhere/],
    'a long hard link up': [
      Buffer.concat([
        extended(['linkpath', 'workspace/../x']),
        entry('workspace/a', { type: '1', link: 'x' }),
      ]),
      /leads elsewhere/,
    ],
    'a device': [entry('workspace/a', { type: '3' }), /type "3"/],
    'a block device': [entry('workspace/a', { type: '4' }), /type "4"/],
    'a sparse file': [entry('workspace/a', { type: 'S' }), /type "S"/],
    'a long name in another format': [entry('workspace/a', { type: 'L', data: '/etc/x' }), /type "L"/],
    'a header for all that follows': [entry('workspace/a', { type: 'g' }), /type "g"/],
    'a setuid file': [entry('workspace/a', { mode: 0o4755 }), /special bits/],
    'a sparse file in an extended header': [
      Buffer.concat([extended(['GNU.sparse.realsize', '99999999999']), entry('workspace/a')]),
      /more than it may \(GNU.sparse.realsize\)/,
    ],
    attributes: [
      Buffer.concat([extended(['SCHILY.xattr.user.x', '1']), entry('workspace/a')]),
      /more than it may/,
    ],
    'a header about a header': [
      Buffer.concat([extended(['mtime', '1']), extended(['mtime', '1']), entry('workspace/a')]),
      /type "x"/,
    ],
    'a link with content': [entry('workspace/a', { type: '2', link: 'b', data: 'x' }), /has content/],
    'a size that is none': [
      Buffer.concat([extended(['size', '-1']), entry('workspace/a')]),
      /a size is none/,
    ],
    // Tar reads decimal digits, and would go on elsewhere than a reader of more.
    ...Object.fromEntries(
      ['0x200', '1e3', ' 512', '', '+1'].map((size): [string, [Buffer, RegExp]] => [
        `the size "${size}"`,
        [Buffer.concat([extended(['size', size]), entry('workspace/a')]), /a size is none/],
      ]),
    ),
    'a mode in another form, which tar reads': [sum(binary), /special bits/],
    'a wrong checksum': [broken, /header is broken/],
    text: [Buffer.from('x'.repeat(512)), /header is broken/],
    'more behind the end': [Buffer.concat([END, entry('workspace/a')]), /goes on after its end/],
  }
  for (const [name, [archive, said]] of Object.entries(cases))
    test(name, () => {
      assert.throws(
        () => check(Buffer.concat([archive, END])),
        (error: Error) => error instanceof ArchiveRefused && said.test(error.message),
      )
    })

  test('an archive that is cut off', () => {
    const whole = Buffer.concat([entry('workspace/a', { data: 'x' }), END])
    for (const bytes of [0, 100, 512, 1000, 1024, whole.length - 512])
      assert.throws(() => check(whole.subarray(0, bytes)), ArchiveRefused, String(bytes))
  })
})

test('what is too large or too many ends it', () => {
  const archive = Buffer.concat([entry('workspace/a', { data: 'x'.repeat(2000) }), entry('workspace/b'), END])
  assert.equal(check(archive, { expanded_bytes: archive.length, entries: 2 }).entries, 2)
  assert.throws(() => check(archive, { expanded_bytes: archive.length - 1, entries: 2 }), ArchiveTooLarge)
  assert.throws(() => check(archive, { expanded_bytes: archive.length, entries: 1 }), ArchiveTooLarge)
})

test('a file that would be too large is refused before its content comes', () => {
  const large = entry('workspace/holes', { data: Buffer.alloc(LIMITS.expanded_bytes) })
  assert.throws(() => new ArchiveCheck(ROOTS, LIMITS).push(large.subarray(0, 512)), {
    name: 'ArchiveTooLarge',
    message: 'it holds more than 1 MiB',
  })
})
