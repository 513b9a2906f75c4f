import { cleanText } from './clean-text.ts'
import { currentProcess } from './current-process.ts'
import { oneLine } from './one-line.ts'

/** Loaded when a person is asked: most commands ask nobody. */
const loadPrompts = () => import('@clack/prompts')

/** The person's answer, of several lines maybe; null when there is none, or Ctrl-C. */
export async function askText(question: string, placeholder: string): Promise<string | null> {
  const { isCancel, multiline } = await loadPrompts()
  const { stdin: input, stdout: output } = currentProcess()
  const answer = await multiline({ message: cleanText(question), placeholder, input, output })
  return isCancel(answer) || !answer?.trim() ? null : answer
}

export interface Choice<T extends string> {
  value: T
  label: string
  hint?: string
}

/** Labels are of agents and of other people: none of them may draw on the terminal, or take two lines. */
const cleanChoice = ({ value, label, hint }: Choice<string>): Choice<string> => ({
  value,
  label: oneLine(cleanText(label)),
  ...(hint === undefined ? {} : { hint: oneLine(cleanText(hint)) }),
})

/** What the person chose; null for Ctrl-C. */
export async function askChoice<T extends string>(
  question: string,
  choices: ReadonlyArray<Choice<T>>,
): Promise<T | null> {
  const { isCancel, select } = await loadPrompts()
  const options = choices.map(cleanChoice)
  const { stdin: input, stdout: output } = currentProcess()
  const chosen = await select({ message: cleanText(question), options, input, output })
  return isCancel(chosen) ? null : (choices.find(({ value }) => value === chosen)?.value ?? null)
}

/** The same for lists of any length, of which what is typed leaves those that have it. */
export async function askOne<T extends string>(
  question: string,
  choices: ReadonlyArray<Choice<T>>,
): Promise<T | null> {
  const { autocomplete, isCancel } = await loadPrompts()
  const options = choices.map(cleanChoice)
  const { stdin: input, stdout: output } = currentProcess()
  const asked = { message: cleanText(question), options, maxItems: 10, input, output }
  const chosen = await autocomplete<string>({
    ...asked,
    filter: (typed, { label = '' }) => has(label, typed),
  })
  return isCancel(chosen) ? null : (choices.find(({ value }) => value === chosen)?.value ?? null)
}

const has = (label: string, typed: string): boolean => label.toLowerCase().includes(typed.toLowerCase())

/** What the person typed, unseen; null for Ctrl-C. Asked on standard error, which need not be a result. */
export async function askHidden(question: string): Promise<string | null> {
  const { isCancel, password } = await loadPrompts()
  const { stdin: input, stderr: output } = currentProcess()
  const answer = await password({ message: cleanText(question), input, output })
  return isCancel(answer) ? null : (answer ?? '')
}
