import type { Command } from 'commander'
import { currentProcess } from '../current-process.ts'
import { openBrowser } from '../open-browser.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'

interface OpenOptions extends ClientOptions {
  print?: boolean
}

export function addOpenCommand(program: Command): void {
  addClientOptions(
    program
      .command('open [run-id]')
      .summary('open the page, or a run in it')
      .description(
        'Prints a link that signs a browser in with your key, once and within a minute. On a terminal it opens the browser, too.',
      )
      .option('--print', 'only print the link'),
  ).action(async (run_id: string | undefined, { print, ...options }: OpenOptions) => {
    const { client, output } = openSession(options)
    // Says at once what is wrong with the id, and not in the browser.
    const path = run_id && `/sessions/${(await client.runs.retrieve(run_id)).run_id}`
    const link = await client.signInLinks.create(path ? { path } : {})
    if (output.format !== 'text') return output.json(link)
    output.line(link.url)
    if (print || !currentProcess().stdout.isTTY) return
    output.note('Opens in the browser. The link works once, within a minute.')
    await openBrowser(link.url, output)
  })
}
