import assert from 'node:assert/strict'
import { test } from 'node:test'
import { printsCall } from './text-calls.ts'

const TOOLS = new Set(['bash', 'read'])
const INPUT = '{"command": "ls"}'

for (const text of [
  `<tool_call>\n{"name": "bash", "arguments": ${INPUT}}\n</tool_call>`,
  `I will look.\n<tool_call>{"name": "bash", "arguments": ${INPUT}}`,
  '<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>',
  '<function_calls>\n<invoke name="bash">\n<parameter name="command">ls</parameter>\n</invoke>\n</function_calls>',
  `[TOOL_CALLS] [{"name": "bash", "arguments": ${INPUT}}]`,
  `<|python_tag|>{"name": "bash", "parameters": ${INPUT}}`,
  `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n\`\`\`json\n${INPUT}\n\`\`\`<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  `<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>${INPUT}<|tool_call_end|><|tool_calls_section_end|>`,
  `<|channel|>commentary to=functions.bash <|constrain|>json<|message|>${INPUT}`,
  `{"name": "bash", "arguments": ${INPUT}}`,
  `Let me see.\n\`\`\`json\n{"name": "bash", "arguments": ${INPUT}}\n\`\`\``,
  `[{"type": "function", "function": {"name": "bash", "parameters": ${INPUT}}}]`,
  `Thought: look.\nAction: bash\nAction Input: ${INPUT}`,
  '<bash>\n<command>ls</command>\n</bash>',
  `<tool_call>\n{"name": "bash", "arguments": ${INPUT}}\n</tool_call>\nI wait for\nthe result.`,
  '[bash(command="ls")]',
  `functools[{"name": "bash", "arguments": ${INPUT}}]`,
  `to=functions.bash json ${INPUT}`,
  '<｜DSML｜function_calls>\n<｜DSML｜invoke name="bash">\n',
])
  test(`a call that is printed is no end: ${text}`, () => {
    assert(printsCall(text, TOOLS))
  })

for (const text of [
  'Done.',
  'Qwen writes `<tool_call>` around {"name": "bash"} and others do not. That is why the parser failed.',
  'The parser of <tool_call> is fixed: it now reads the name and the arguments.\nAll tests of bash pass.',
  'I added a sample:\n\n```xml\n<tool_call>{"name": "bash"}</tool_call>\n```\n\nIt is tested.',
  '```json\n{"name": "my-package", "version": "1.0.0"}\n```',
  '{"name": "bash"}',
  'Fixed the parse of </tool_call> when reading',
  'Kimi names the call as functions.bash:0 and the test passes.',
  'Models write\n\n- `<tool_call>` for Qwen\n- `[TOOL_CALLS]` for Mistral\n\nand bash reads them.',
  '{"name": "launch", "arguments": {}}',
  '<summary>\n<command>ls</command>\n</summary>',
])
  test(`an answer may be about such things: ${text}`, () => {
    assert(!printsCall(text, TOOLS))
  })
