/** The words of `docs/configuration.md` about each setting, for the service to say them: a name and its sentence stand there once. */
export function generateSettingTexts(page: string): string {
  const texts = Object.fromEntries(
    [...page.matchAll(/^\| (`[A-Z].*?) \| ?(.*?) ?\| (.*) \|$/gm)].flatMap(
      ([, first = '', usual = '', meaning = '']) => {
        const names = [...first.matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name = '']) => name)
        const defaults = usual.split(', ')
        return names.map((name, at) => [
          name,
          {
            default: plain(defaults.length === names.length ? (defaults[at] ?? '') : usual),
            meaning: plain(meaning),
          },
        ])
      },
    ),
  )
  return `// Written by \`npm run generate\` from docs/configuration.md.
export const SETTING_TEXTS: Readonly<Record<string, { default: string; meaning: string }>> = ${JSON.stringify(texts, null, 2)}
`
}

/** Without marks, and without links, which lead nowhere from there. */
const plain = (markdown: string): string =>
  markdown
    .replaceAll(/ \(\[more\]\([^)]*\)\)/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '')
    .trim()
