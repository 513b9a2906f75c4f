import { testEscapes } from './escapes.ts'

testEscapes('bubblewrap-root')
