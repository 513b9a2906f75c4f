import type { Command } from 'commander'
import { Option } from 'commander'
import { currentProcess } from '../current-process.ts'
import { EXIT } from '../failure.ts'
import { openOutput } from '../output.ts'
import { loadService, settingsOf } from '../role.ts'
import { hang } from '../wrap.ts'

interface DoctorOptions {
  dataDir?: string
  sandbox?: 'docker' | 'bubblewrap' | 'kubernetes' | 'host'
  json?: boolean
}

/** `doctor`: what the machine offers, and what is missing. */
export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .summary('say what this machine offers and what is missing')
    .description(
      'Looks at what a start here would look at, tries each sandbox, and says what to do about what is missing. Changes nothing. Exit code 1: the service could not work here.',
    )
    .option('--data-dir <dir>', 'where everything is kept (RUNYARD_DATA_DIR; default .runyard)')
    .addOption(
      new Option('--sandbox <backend>', 'where commands are to run (RUNYARD_SANDBOX)').choices([
        'docker',
        'bubblewrap',
        'kubernetes',
        'host',
      ]),
    )
    .option('--json', 'print each finding as one line of JSON')
    .action(async ({ sandbox, json, ...options }: DoctorOptions) => {
      const { examine } = await loadService()
      const output = openOutput({ format: json ? 'ndjson' : 'text' })
      const { bold, dim, green, red, yellow } = output.colors
      const marks = { good: green('ok  '), weak: yellow('weak'), bad: red('bad ') }
      const counts = { good: 0, weak: 0, bad: 0 }
      let area = ''
      const findings = examine({ ...settingsOf(options), ...(sandbox ? { sandbox } : {}) })
      for await (const finding of findings) {
        counts[finding.state] += 1
        if (json) {
          output.json(finding)
          continue
        }
        if (finding.area !== area) output.line(bold(finding.area))
        area = finding.area
        const write = (mark: string, text: string) =>
          output.line(`  ${mark}  ${hang(output.clean(text), 8, output.columns())}`)
        write(marks[finding.state], finding.says)
        if (finding.fix) write(dim('fix:'), finding.fix)
      }
      if (!json) output.line(`\n${summarize(counts)}`)
      if (counts.bad > 0) currentProcess().exitCode = EXIT.failed
    })
}

function summarize({ weak, bad }: { weak: number; bad: number }): string {
  const could = weak > 0 ? `${weak === 1 ? '1 thing' : `${weak} things`} could be better` : ''
  if (bad > 0) return `${bad === 1 ? '1 thing' : `${bad} things`} must be fixed${could && `; ${could}`}.`
  return could ? `Runyard works here; ${could}.` : 'Runyard works here.'
}
