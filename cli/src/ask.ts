import { cleanText } from './clean-text.ts'

/** Loaded when a person is asked: most commands ask nobody. */
const loadPrompts = () => import('@clack/prompts')

/** The person's answer, of several lines maybe; null when there is none, or Ctrl-C. */
export async function askText(question: string, placeholder: string): Promise<string | null> {
  const { isCancel, multiline } = await loadPrompts()
  const answer = await multiline({ message: cleanText(question), placeholder })
  return isCancel(answer) || !answer?.trim() ? null : answer
}

export interface Choice<T extends string> {
  value: T
  label: string
  hint?: string
}

/** What the person chose; null for Ctrl-C. */
export async function askChoice<T extends string>(
  question: string,
  choices: ReadonlyArray<Choice<T>>,
): Promise<T | null> {
  const { isCancel, select } = await loadPrompts()
  const options: Array<Choice<string>> = [...choices]
  const chosen = await select({ message: cleanText(question), options })
  return isCancel(chosen) ? null : (choices.find(({ value }) => value === chosen)?.value ?? null)
}

/** What the person typed, unseen; null for Ctrl-C. Asked on standard error, which need not be a result. */
export async function askHidden(question: string): Promise<string | null> {
  const { isCancel, password } = await loadPrompts()
  const answer = await password({ message: cleanText(question), output: process.stderr })
  return isCancel(answer) ? null : (answer ?? '')
}
