/**
 * A page of anything that is read at once ends with the row that reaches this. It is what the database sends and a process
 * holds, so it is counted in bytes of the rows as text, and not exact in bytes of the answer.
 */
export const PAGE_BYTES = 4 * 1024 ** 2
