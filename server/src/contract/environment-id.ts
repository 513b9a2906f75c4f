const FORM = /^[A-Za-z0-9]{22}$/

/** What environment ids look like on the wire. */
export const isEnvironmentId = (text: string): boolean => FORM.test(text)
