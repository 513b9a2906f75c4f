export function toPython(value: unknown, indent = ''): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  // JSON's escapes are among those of Python.
  if (typeof value !== 'object') return JSON.stringify(value)
  const inner = `${indent}    `
  if (Array.isArray(value)) return `[${value.map((item) => toPython(item, indent)).join(', ')}]`
  const lines = Object.entries(value).map(
    ([name, item]) => `${inner}${JSON.stringify(name)}: ${toPython(item, inner)},\n`,
  )
  return `{\n${lines.join('')}${indent}}`
}

/** What stands between the parentheses of a call, one argument a line. A name that Python keeps for itself ends with `_`. */
export function toPythonArguments(positional: readonly string[], named: object): string {
  const lines = [
    ...positional.map((value) => toPython(value)),
    ...Object.entries(named).map(
      ([name, value]) => `${name === 'from' ? 'from_' : name}=${toPython(value, '    ')}`,
    ),
  ]
  if (lines.length <= 1 && !lines[0]?.includes('\n')) return lines.join('')
  return `\n${lines.map((line) => `    ${line},\n`).join('')}`
}
