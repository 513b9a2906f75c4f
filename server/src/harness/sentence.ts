/** Somebody else's words at the end of a sentence: with a full stop where they have no end of their own, since more may follow. */
export const endSentence = (text: string): string =>
  /[.!?…]["'”’)\]]?$/.test(text) ? text : `${text.replace(/[,:;]+$/, '')}.`
