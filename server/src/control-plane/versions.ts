/** Why a worker of this version may not work for a server of that one; `null`: it may. One minor version apart is near enough. */
export function judgeVersion(worker: string, server: string): string | null {
  const [own, other] = [worker, server].map((version) => /^(\d+)\.(\d+)\./.exec(version))
  if (!other) return null
  const [, major, minor] = other
  const is_near = own?.[1] === major && Math.abs(Number(own?.[2]) - Number(minor)) <= 1
  if (is_near) return null
  return `This worker is Runyard ${worker.slice(0, 64)} and the server is ${server}: they may be one minor version apart at most. Install runyard@${server} on the worker's machine.`
}
