/** Text as one line, so that nobody's words pass for a line of ours. */
export const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()
