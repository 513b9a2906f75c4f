import { askThread, NoAnswer } from './ask-thread.ts'

/** What a filter is asked about. */
export interface Filtered {
  payload: unknown
  /** By their names in lower case. */
  headers: Record<string, string>
}

/** What the thread is asked: whether this is a filter, or what it says. */
export interface FilterQuestion {
  filter: string
  about?: Filtered
}

export interface FilterAnswer {
  passes: boolean
  /** What is wrong with the filter, or with asking it this. */
  wrong: string | null
}

const THREAD = new URL('./filter-thread.ts', import.meta.url)

/** Why this is no filter, with line and column; `null` when it is one: a CEL expression over `payload` and `headers` that says true or false. */
export const checkFilter = async (filter: string): Promise<string | null> => (await ask({ filter })).wrong

/** Whether the filter is true. Where it cannot be told, `wrong` says why. */
export const passesFilter = (filter: string, about: Filtered): Promise<FilterAnswer> => ask({ filter, about })

const ask = (question: FilterQuestion): Promise<FilterAnswer> =>
  askThread<FilterAnswer>(THREAD, question).catch((error: unknown) => {
    if (error instanceof NoAnswer) return { passes: false, wrong: error.message }
    throw error
  })
