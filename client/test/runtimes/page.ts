/** The cases in a page of the fault server, which are the outcomes that `outcomes` of the page resolves to. */
import { runCases } from './cases.ts'

const { origin }: { origin: string } = Reflect.get(globalThis, 'location')

Object.assign(globalThis, { outcomes: runCases({ url: origin, runtime: 'browser' }) })
