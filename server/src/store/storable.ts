import {
  type KyselyPlugin,
  OperationNodeTransformer,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type QueryResult,
  type RawBuilder,
  type RootOperationNode,
  sql,
  type UnknownRow,
  type ValueNode,
} from 'kysely'
import { storableJson, storableText } from '../contract/storable-text.ts'

/** NUL and lone surrogates as JSON escapes them; preceded by an even number of backslashes, so not mere text about them. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/i

/** A value for a column of type `jsonb`, or to be taken apart as one; in all its strings what cannot be stored is replaced. */
export function json(value: unknown): RawBuilder<unknown> {
  const text = JSON.stringify(value ?? null)
  const storable = UNSTORABLE.test(text) ? JSON.stringify(storableJson(JSON.parse(text))) : text
  return sql`${storable}::jsonb`
}

/** The same, where it may be left out: then none. */
export const asJson = (value: unknown): RawBuilder<unknown> =>
  value === undefined ? sql`null::jsonb` : json(value)

/** Makes every text that is given to the database storable, so that nobody who writes a statement can forget it. */
export class StorableTexts extends OperationNodeTransformer implements KyselyPlugin {
  transformQuery({ node, queryId }: PluginTransformQueryArgs): RootOperationNode {
    return this.transformNode(node, queryId)
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return result
  }

  protected override transformValue(node: ValueNode): ValueNode {
    if (typeof node.value === 'string') return { ...node, value: storableText(node.value) }
    const texts = Array.isArray(node.value) && node.value.some((item) => typeof item === 'string')
    return texts ? { ...node, value: (node.value as unknown[]).map(storableItem) } : node
  }
}

const storableItem = (item: unknown): unknown => (typeof item === 'string' ? storableText(item) : item)
