/** JSON, with names as JavaScript writes them. */
export const toTypeScript = (value: unknown): string =>
  JSON.stringify(value, null, 2).replace(/^( *)"([A-Za-z_]\w*)":/gm, '$1$2:')
