/** Makes client/api.md from the sources of the TypeScript library: what `npm run generate` writes beside its types. */
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const directory = fileURLToPath(new URL('../client/src/', import.meta.url))
const HEAD = `# Reference of \`@runyard/client\`

Made from the sources by \`npm run generate\`. The [README](README.md) explains; this page lists.`

/** The whole page as Markdown. */
export function describeClient(): string {
  const entry = `${directory}index.ts`
  const program = ts.createProgram([entry], { allowImportingTsExtensions: true, noEmit: true, types: [] })
  // Binds the files, without which no node knows its text.
  program.getTypeChecker()
  const sources = program.getSourceFiles().filter((source) => source.fileName.startsWith(directory))
  const classes = new Map<string, ts.ClassDeclaration>()
  const interfaces = new Map<string, ts.InterfaceDeclaration>()
  for (const source of sources) {
    for (const statement of source.statements) {
      if (ts.isClassDeclaration(statement) && statement.name) classes.set(statement.name.text, statement)
      if (ts.isInterfaceDeclaration(statement)) interfaces.set(statement.name.text, statement)
    }
  }
  const client = classes.get('Runyard')
  if (!client) throw new Error('The library has no class Runyard.')
  const resources = client.members.filter(ts.isPropertyDeclaration).flatMap((property) => {
    const declared = classes.get(property.type?.getText() ?? '')
    return declared && isPublic(property) ? [{ name: property.name.getText(), declared }] : []
  })
  const parts = [HEAD, '## new Runyard(options)', describeFields(interfaces.get('RunyardOptions'))]
  parts.push('## client', describeMethods('client', client))
  for (const { name, declared } of resources) {
    parts.push(`## client.${name}`, describeMethods(`client.${name}`, declared))
  }
  for (const name of [
    'PageList',
    'RunList',
    'EnvironmentList',
    'SecretList',
    'IdentityList',
    'ScheduleList',
    'FiringList',
    'TriggerList',
    'TriggerDeliveryList',
    'ApiKeyList',
    'PoolList',
    'PrincipalList',
    'AuditList',
    'ShareLinkList',
    'WebhookList',
    'WebhookDeliveryList',
    'WorkspaceFileList',
    'ConversationPages',
    'ManyRunsStream',
    'APIPromise',
  ])
    parts.push(`## ${name}`, describeDoc(classes.get(name)), describeMethods('', classes.get(name)))
  for (const name of [
    'RequestOptions',
    'WaitOptions',
    'StreamOptions',
    'StreamManyOptions',
    'ConnectionOptions',
  ])
    parts.push(`## ${name}`, describeFields(interfaces.get(name)))
  parts.push('## Errors', describeErrors(sources), '## Types', describeTypes(program.getSourceFile(entry)))
  return `${parts.filter(Boolean).join('\n\n')}\n`
}

/** What every promise has needs no line. */
const isPublic = (member: ts.ClassElement): boolean =>
  member.name !== undefined &&
  !ts.isPrivateIdentifier(member.name) &&
  !['then', 'catch', 'finally'].includes(member.name.getText())

function describeMethods(prefix: string, declared: ts.ClassDeclaration | undefined): string {
  const methods = declared?.members.filter(ts.isMethodDeclaration).filter(isPublic) ?? []
  return methods
    .filter((method) => !(method.body && methods.some((other) => !other.body && sameName(other, method))))
    .map((method) => {
      const parameters = method.parameters.map(describeParameter).join(', ')
      const name = method.name.getText()
      const called = name.startsWith('[') ? `for await (… of ${prefix || 'list'})` : `${name}(${parameters})`
      const returned = method.type ? ` → \`${flatten(method.type.getText())}\`` : ''
      const doc = docOf(method)
      return `- \`${prefix && !name.startsWith('[') ? `${prefix}.` : ''}${called}\`${returned}${doc ? `  \n  ${doc}` : ''}`
    })
    .join('\n')
}

const sameName = (a: ts.MethodDeclaration, b: ts.MethodDeclaration): boolean =>
  a.name.getText() === b.name.getText()

function describeParameter(parameter: ts.ParameterDeclaration): string {
  const optional = parameter.questionToken || parameter.initializer ? '?' : ''
  const type = parameter.type ? `: ${flatten(parameter.type.getText())}` : ''
  return `${parameter.name.getText()}${optional}${type}`
}

function describeFields(declared: ts.InterfaceDeclaration | undefined): string {
  const fields = declared?.members.filter(ts.isPropertySignature) ?? []
  const inherited =
    declared?.heritageClauses?.map((clause) => `- what \`${clause.types[0]?.getText()}\` has`) ?? []
  const own = fields.map((field) => {
    const type = flatten(field.type?.getText() ?? '').replace(/ \| undefined$/, '')
    const doc = docOf(field)
    return `- \`${field.name.getText()}\`: \`${type}\`${doc ? `. ${doc}` : ''}`
  })
  return [...inherited, ...own].join('\n')
}

function describeErrors(sources: readonly ts.SourceFile[]): string {
  const file = sources.find((source) => source.fileName.endsWith('/errors.ts'))
  const [, tree = ''] = /^\/\*\*\n([\s\S]*?)\n \*\//.exec(file?.text ?? '') ?? []
  const lines = tree.split('\n').map((line) => line.replace(/^ \* ?/, ''))
  const drawn = lines.filter((line) => line.startsWith('    ')).map((line) => line.slice(4))
  return `\`\`\`\n${drawn.join('\n')}\n\`\`\``
}

function describeTypes(entry: ts.SourceFile | undefined): string {
  const schemas = entry?.statements
    .filter(ts.isExportDeclaration)
    .find((statement) => statement.moduleSpecifier?.getText().includes('schemas.ts'))
  const clause = schemas?.exportClause
  if (!clause || !ts.isNamedExports(clause)) return ''
  return clause.elements
    .filter((element) => element.isTypeOnly)
    .map((element) => `\`${element.name.text}\``)
    .join(', ')
    .concat('. They are the models of `openapi.json`; `ProblemDetails` is `Error` there.')
}

function describeDoc(declared: ts.ClassDeclaration | undefined): string {
  return declared ? docOf(declared) : ''
}

/** The comment as one paragraph, without its example. */
function docOf(node: ts.Node): string {
  const [comment] = ts.getJSDocCommentsAndTags(node)
  const text = comment && ts.isJSDoc(comment) ? (ts.getTextOfJSDocComment(comment.comment) ?? '') : ''
  const lines = text.split('\n').filter((line) => !line.startsWith('    '))
  return flatten(lines.join(' ')).replace(/:$/, '.')
}

const flatten = (text: string): string => text.replace(/\s+/g, ' ').trim()
