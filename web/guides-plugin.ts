import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'

const DOCS = join(import.meta.dirname, '../docs')
const NAME = 'virtual:guides'

/** The guides of `docs` by path and title, for a list that does not wait for their texts. Decisions are for who works on the code. */
export const guides = (): Plugin => ({
  name: 'guides',
  resolveId: (id) => (id === NAME ? `\0${NAME}` : null),
  load(id) {
    if (id !== `\0${NAME}`) return null
    const found = globSync(['*.md', 'tasks/*.md'], { cwd: DOCS }).map((file) => {
      this.addWatchFile(join(DOCS, file))
      const [, title = file] = /^# (.+)$/m.exec(readFileSync(join(DOCS, file), 'utf8')) ?? []
      return { path: file.replaceAll('\\', '/').replace(/\.md$/, ''), title: title.replaceAll('`', '') }
    })
    return `export default ${JSON.stringify(found.sort((a, b) => (a.title < b.title ? -1 : 1)))}`
  },
})
