import { testEscapes } from './escapes.ts'

await testEscapes('bubblewrap-root')
