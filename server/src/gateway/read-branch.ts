import type { CheckedFetch } from './checked-fetch.ts'
import { BrokenLines, FLUSH, readLines, writeLine } from './pkt-line.ts'

/** Between the parts of a command. */
const DELIMITER = '0001'

/**
 * What a branch of a repository is at its host: a commit, `null` where there is none, and `undefined` where the host does not
 * say, as one that knows only the older protocols (gitprotocol-v2(5), `ls-refs`). Throws what `fetch` throws.
 */
export async function readBranch(
  fetch: CheckedFetch,
  {
    url,
    authorization,
    branch,
    sha256,
  }: { url: string; authorization: string; branch: string; sha256: boolean },
): Promise<string | null | undefined> {
  const ref = `refs/heads/${branch}`
  const command = Buffer.concat([
    writeLine('command=ls-refs\n'),
    // A server of the other kind says nothing then.
    ...(sha256 ? [writeLine('object-format=sha256\n')] : []),
    Buffer.from(DELIMITER),
    writeLine(`ref-prefix ${ref}\n`),
    Buffer.from(FLUSH),
  ])
  const answer = await fetch(`${url}/git-upload-pack`, {
    method: 'POST',
    headers: {
      authorization,
      'content-type': 'application/x-git-upload-pack-request',
      'git-protocol': 'version=2',
    },
    body: command.toString(),
  })
  if (answer.status !== 200) return undefined
  try {
    const { lines, is_end } = readLines(Buffer.from(await answer.arrayBuffer()))
    const found = lines.map((line) => line.toString().trimEnd().split(' ')).find(([, name]) => name === ref)
    return found?.[0] ?? (is_end ? null : undefined)
  } catch (error) {
    if (error instanceof BrokenLines) return undefined
    throw error
  }
}
