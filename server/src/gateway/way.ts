import { once } from 'node:events'
import { rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { createCheckedFetch } from './checked-fetch.ts'
import { createEgressProxy } from './egress-proxy.ts'
import type { BranchAnswer, BranchRequest, GitRules, ModelListener, Refusal, WayRules } from './gateway.ts'
import { createGitGateway } from './git-gateway.ts'
import { apiUrlOf, kindOf } from './git-host.ts'
import { openTokens } from './git-tokens.ts'
import { createModelGateway } from './model-gateway.ts'
import { publishBranch } from './publish-branch.ts'

/** The gateway's own side of a sandbox's way out. */
export interface Way {
  /** Never throws. */
  publish(request: BranchRequest): Promise<BranchAnswer>
  /** Resolves when no model is at work. */
  idle(): Promise<void>
  limit(tokens_left: number | null): void
  close(): void
}

/** Names of hosts are the agent's words: no more of them than somebody would read. */
const MAX_REFUSALS = 50

/**
 * Listens on a Unix socket at `path`. `onRefusal` is told of each refusal once, and of the first fifty only.
 */
export async function openWay(
  path: string,
  { git, models, ...rules }: WayRules,
  onRefusal: (refusal: Refusal) => void,
  listener: ModelListener,
): Promise<Way> {
  const told = new Set<string>()
  const tell = (refusal: Refusal) => {
    const key = JSON.stringify(refusal)
    if (told.has(key) || told.size === MAX_REFUSALS) return
    told.add(key)
    onRefusal(refusal)
  }
  const { private_hosts } = rules
  const fetch = createCheckedFetch({ hosts: git ? hostsOf(git) : [], private_hosts })
  const tokens = openTokens(fetch)
  const closed = new AbortController()
  const options = { ...tokens, onRefusal: tell, closed: closed.signal }
  const gateway = git ? createGitGateway({ git, private_hosts }, options) : null
  const model_gateway = models ? createModelGateway(models, listener) : null
  const proxy = createEgressProxy(rules, tell, gateway, model_gateway?.answer ?? null)
  const sockets = new Set<Socket>()
  proxy.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  // Of a gateway that was killed.
  rmSync(path, { force: true })
  proxy.listen(path)
  await once(proxy, 'listening')
  return {
    idle: async () => model_gateway?.idle(),
    limit: (tokens_left) => model_gateway?.limit(tokens_left),
    publish: (request) => publishBranch(request, { git, fetch, tokens }),
    close() {
      proxy.close()
      closed.abort()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Where git and the APIs of its hosts are. */
const hostsOf = ({ repositories, kinds }: GitRules): string[] =>
  repositories.flatMap(({ host }) => {
    const kind = kindOf(host, kinds)
    return kind ? [host, new URL(apiUrlOf(kind, host)).host] : [host]
  })
