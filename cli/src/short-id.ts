/** The name of every argument and option that is the id of a run. */
export const RUN_ID = 'run-id'
export const WHOLE_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Of an id people see its end, which is random: its beginning is the time, so ids of one minute share it. */
const SHOWN = 8
const SHORTEST = 6

/** The end of an id; a text that is no id stays as it is. */
export const shortId = (id: string): string => (WHOLE_ID.test(id) ? id.slice(-SHOWN) : id)

const ANY = '00000000-0000-0000-0000-000000000000'

/** Whether an id may begin with this text. */
export const isBeginning = (text: string): boolean =>
  text !== '' && WHOLE_ID.test(text + ANY.slice(text.length))

/** Whether an id may end with this text, which is long enough to name one. */
export const isEnding = (text: string): boolean =>
  text.length >= SHORTEST && WHOLE_ID.test(ANY.slice(0, -text.length) + text)
