import { testEscapes } from './escapes.ts'

await testEscapes('docker')
