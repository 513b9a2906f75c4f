/** The cases on workerd: `GET /?url=FAULT_SERVER` answers with the outcomes. */
import { runCases } from './cases.ts'

export default {
  async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url).searchParams.get('url') ?? ''
    return Response.json(await runCases({ url, runtime: 'workerd' }))
  },
}
