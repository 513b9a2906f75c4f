/**
 * How servers say that a conversation is too long for the model, and where each wording is from. It is looked for in everything
 * that a refusal says, whatever its status, for some say it with 500, and some in a stream that began with 200.
 */
const WORDINGS: ReadonlyArray<readonly [RegExp, string]> = [
  // Codes and types of errors.
  [
    /context_length_exceeded|context_window_exceeded|ContextWindowExceeded/,
    'OpenAI, Groq, Cerebras, Azure; LiteLLM',
  ],
  [/model_max_prompt_tokens_exceeded/, 'GitHub Copilot'],
  [/exceed_context_size_error/, 'llama.cpp'],
  [/tokens_limit_reached/, 'GitHub Models'],
  [/\brequest_too_large\b|prompt_too_long|input_too_long/, 'Anthropic, OpenAI and others'],
  // Sentences.
  [
    /(maximum|max) (context|prompt|input|sequence) (length|size|window)/i,
    'OpenAI, vLLM, DeepSeek, xAI, OpenRouter, Mistral, Fireworks',
  ],
  [
    /exceeds? (the|your|its|our|this|available|max\w*)?[ \w']{0,40}context (length|size|window|limit)/i,
    'OpenAI, llama.cpp, Ollama',
  ],
  [/context (window|length|size)[^.]{0,40}(exceed|too (small|long)|overflow|full)/i, 'MiniMax, LM Studio'],
  [
    /(exceeds?|longer than|larger than|greater than|more than|over) [^.]{0,60}\b(context|model) (length|window|size|limit)/i,
    'SGLang, LM Studio, Together',
  ],
  [/exceed context limit/i, 'Anthropic'],
  [/context (the )?overflows/i, 'LM Studio'],
  [
    /(prompt|input|request|conversation|message)s? (is|are|was|were) too (long|large)(?! for (image|file))/i,
    'Anthropic, Bedrock, Together',
  ],
  [/(prompt|input) too (long|large)/i, 'Ollama, Cerebras'],
  [/(prompt|input|decoder prompt) \(?(length|tokens?)[^.]{0,40}(longer|greater|more|larger|exceed)/i, 'vLLM'],
  [/too large for model with \d+ maximum/i, 'Mistral'],
  [/(input|prompt) tokens? (count|length)?[^.]{0,40}exceed/i, 'Google, GitHub Copilot, NVIDIA'],
  [/prompt token count [^.]{0,40}exceeds/i, 'GitHub Copilot'],
  [/exceeded model token limit|exceeds? [^.]{0,30}model'?s? (token|context) limit/i, 'Kimi'],
  [/tokens in (the )?(request|prompt) (is |are )?(more|larger|greater) than/i, 'Z.AI'],
  [/(prompt|input)( length| tokens)? exceeds? (the )?(max|limit|allowed)/i, 'Z.AI, Volcengine, Databricks'],
  [/input length[^.]{0,40}exceeds?|exceeds? [^.]{0,40}input (length|limit)/i, 'Volcengine, Databricks'],
  [/range of input length should be/i, 'DashScope'],
  [/too many (input |prompt )?tokens(?! per)/i, 'Cohere, Bedrock'],
  [/tokens in the prompt cannot exceed/i, 'Cohere'],
  [
    /`?inputs`?( tokens)? (must have less than \d+ tokens|\+ `?max_new_tokens`? must be)/i,
    'text-generation-inference',
  ],
  [
    /reduce (the length|your (prompt|messages?|input)|the (size|number) of (the )?(messages|tokens))/i,
    'OpenAI, Groq, Cerebras',
  ],
  [/max_tokens must be at least 1, got -/i, 'vLLM'],
  [/messages\b[^.]{0,40}(string|array) too long/i, 'OpenAI'],
  [
    /(request|prompt|total)[^.]{0,40}(tokens)[^.]{0,40}exceeds?[^.]{0,60}(limit|max|context|window)/i,
    'GitHub Copilot, Baidu, Hunyuan',
  ],
  [/request body too large for .{0,60}model/i, 'GitHub Models'],
  [/上下文.{0,20}(超|过长)|(输入|提示).{0,12}(过长|超过|超出)/, 'Baidu, Hunyuan, Z.AI'],
]

/** Waiting helps against a limit by time, not a summary. */
const RATE =
  /per[ -](minute|hour|day|second|month)|\b[TR]P[MDS]\b|rate[ _-]?limit|too many requests|please wait|throttl/i
/** Limits of the answer, of tools and of files are told in the same words. */
const OTHERS =
  /max_(completion_|output_|new_)?tokens\W+(is )?too large|completion tokens|tools\W.{0,60}too long|(image|file|pdf|document)s? (exceeds|is too large)/i
/** Stands beside those words when the conversation is too long as well. */
const SURELY = /context[ _](length|window|size)|\bcontext limit/i

export const saysTooLong = (evidence: string): boolean =>
  WORDINGS.some(([words]) => words.test(evidence)) &&
  !RATE.test(evidence) &&
  (SURELY.test(evidence) || !OTHERS.test(evidence))
