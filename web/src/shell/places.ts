/** The pages that can be gone to from anywhere. */
export const PLACES = [{ to: '/', label: 'Runs' }] as const
