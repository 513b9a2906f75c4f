/** Every probe where all doors stand open, so that it must see a break: by hand, with \`npm run test:escapes -- --open\`. */
import { testEscapes } from './escapes.ts'

testEscapes('open')
