import { testEscapes } from './escapes.ts'

testEscapes('docker')
