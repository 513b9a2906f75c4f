import GUIDES from 'virtual:guides'

export { GUIDES }

/** A piece of code for each, so that only what is read is fetched. */
const TEXTS = import.meta.glob<string>(['../../../docs/*.md', '../../../docs/tasks/*.md'], {
  query: '?raw',
  import: 'default',
})

/** Its Markdown; `null`: there is no such guide. */
export async function readGuide(path: string): Promise<string | null> {
  return (await TEXTS[`../../../docs/${path}.md`]?.()) ?? null
}

export interface GuideText {
  path: string
  title: string
  text: string
}

/** All of them, to search in; those that did not arrive are left out, and `is_whole` says so. */
export async function readAllGuides(): Promise<{ guides: GuideText[]; is_whole: boolean }> {
  const read = await Promise.allSettled(
    GUIDES.map(async (guide) => ({ ...guide, text: (await readGuide(guide.path)) ?? '' })),
  )
  const guides = read.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
  return { guides, is_whole: guides.length === GUIDES.length }
}
