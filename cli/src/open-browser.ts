import open from 'open'
import type { Output } from './output.ts'

/** Opens an address in the person's browser. Where there is none, on a server for one, it says so and nothing fails. */
export async function openBrowser(url: string, output: Output): Promise<void> {
  const tellNone = () => output.note('No browser was found: open the link yourself.')
  await open(url).then((browser) => browser.once('error', tellNone), tellNone)
}
