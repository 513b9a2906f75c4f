import { isRecord } from '../../contract/storable-text.ts'
import type { AnswerReader } from './answer-reader.ts'
import { asCounts, asList, asRecord, asText } from './values.ts'

type Json = Record<string, unknown>

/** Answers of Google's generateContent. https://ai.google.dev/api/generate-content */
export class GoogleAnswer implements AnswerReader {
  read(event: Json): Json[] {
    const { candidates, usageMetadata, promptFeedback } = event
    const [candidate] = asList(candidates).filter(isRecord)
    const counts = asCounts(usageMetadata)
    const blocked = asText(asRecord(promptFeedback).blockReason)
    if (!candidate && !counts && blocked === undefined) return []
    // Google says of a prompt that it refuses nothing where it would answer.
    const told = candidate ?? (blocked === undefined ? undefined : { finishReason: 'SAFETY' })
    return [
      {
        ...(told && { candidates: [readCandidate(told)] }),
        ...(counts && { usageMetadata: counts }),
        ...(isRecord(promptFeedback) && { promptFeedback: { blockReason: blocked } }),
      },
    ]
  }

  end(): Json[] {
    return []
  }

  readWhole(answer: Json): Json[] | null {
    return Array.isArray(answer.candidates) ? this.read(answer) : null
  }
}

function readCandidate({ content, finishReason, finishMessage }: Json): Json {
  const parts = asList(asRecord(content).parts).filter(isRecord).flatMap(readPart)
  return {
    content: { role: 'model', parts },
    ...(asText(finishReason) !== undefined && { finishReason: asText(finishReason) }),
    ...(asText(finishMessage) !== undefined && { finishMessage: asText(finishMessage) }),
  }
}

function readPart({ text, thought, functionCall, ...rest }: Json): Json[] {
  const told = rest.thoughtSignature ?? rest.thought_signature
  const signature = typeof told === 'string' ? { thoughtSignature: told } : {}
  if (isRecord(functionCall)) {
    const { id, name, args, ...more } = functionCall
    const named = { ...(asText(id) !== undefined && { id: asText(id) }), name: asText(name) ?? '' }
    return [{ functionCall: { ...more, ...named, args: readArguments(args) }, ...signature }]
  }
  const said = asText(text)
  if (said === undefined && !('thoughtSignature' in signature)) return []
  return [{ text: said ?? '', ...(thought === true && { thought }), ...signature }]
}

function readArguments(args: unknown): unknown {
  if (typeof args !== 'string') return args ?? {}
  try {
    return JSON.parse(args)
  } catch {
    return args
  }
}
