import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Command } from 'commander'
import { WORDS } from '../src/commands.ts'
import { createProgram } from '../src/main.ts'

const WIDTH = 60

function* allCommands(command: Command): Generator<Command> {
  yield command
  for (const each of command.commands) yield* allCommands(each)
}

test('the help of every command is as wide as the terminal', async () => {
  let printed = ''
  const output = {
    getOutHelpWidth: () => WIDTH,
    writeOut: (text: string) => {
      printed += text
    },
  }
  for (const command of allCommands(await createProgram())) {
    printed = ''
    command.configureOutput(output).outputHelp()
    assert.match(printed, /^Usage: /)
    const wide = printed.split('\n').filter((line) => line.length > WIDTH)
    // Usage and examples are lines to copy, and a single word cannot be broken.
    const breakable = wide.filter(
      (line) => !/^Usage: |^ {2}runyard|^In /.test(line) && /\S\s+\S/.test(line.trim()),
    )
    assert.deepEqual(breakable, [], command.name())
  }
})

test('each word loads the module that has its command', async () => {
  const { commands } = await createProgram()
  const wordsOf = (each: Command): string[] => [each.name(), ...each.aliases()]
  assert.deepEqual(new Set(WORDS), new Set(commands.flatMap(wordsOf).filter((word) => word !== 'complete')))
  for (const word of WORDS) {
    const loaded = (await createProgram(word)).commands
    assert.ok(
      loaded.some((each) => wordsOf(each).includes(word)),
      word,
    )
    assert.ok(loaded.length < commands.length, word)
  }
})
