import type { RunAgentRequest } from '@runyard/client'
import type { Command } from 'commander'
import { readJsonObject } from './read-input.ts'

export interface ResultOption {
  outputSchema?: string
}

export const addResultOption = (command: Command): Command =>
  command.option('--output-schema <file>', 'JSON file with the schema that the result has to satisfy')

/** As a request has it. Whether it is a JSON Schema is for the service to say. */
export const resultOf = async ({
  outputSchema,
}: ResultOption): Promise<Pick<RunAgentRequest, 'output_schema'>> =>
  outputSchema === undefined ? {} : { output_schema: await readJsonObject(outputSchema) }
