import { Argument, type Command } from 'commander'
import { COMPLETION_SCRIPTS } from '../completion-scripts.ts'
import { openOutput } from '../output.ts'

type Shell = keyof typeof COMPLETION_SCRIPTS
const SHELLS = Object.keys(COMPLETION_SCRIPTS)

/** `completion` for people, and `complete`, which the shells call with what was typed so far. */
export function addCompletionCommands(program: Command): void {
  program
    .command('completion')
    .summary('let a shell complete commands')
    .description(
      'Prints what lets a shell complete commands, options, ids of runs and names of environments.',
    )
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      `
In ~/.bashrc:                   source <(runyard completion bash)
In ~/.zshrc, after compinit:    source <(runyard completion zsh)
In ~/.config/fish/config.fish:  runyard completion fish | source`,
    )
    .action((shell: Shell) => openOutput({ format: 'text' }).line(COMPLETION_SCRIPTS[shell]))

  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action(async (words: string[]) => {
      const { complete } = await import('../complete.ts')
      const output = openOutput({ format: 'text' })
      // Nobody who presses Tab wants to read why there is nothing to be had.
      const found = await complete(program, words).catch(() => [])
      for (const candidate of found) output.line(candidate.join('\t'))
    })
}
