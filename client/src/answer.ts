import { createApiError, RunyardError } from './errors.ts'

/** The body as JSON. */
export async function readJson<T>(response: Response): Promise<T> {
  const text = await response.text()
  if (text !== '') return parseJson(text) as T
  throw new RunyardError(`The server answered ${response.status} with nothing. Is baseURL right?`)
}

/** The body as JSON; undefined when there is none. */
export async function readAny<T>(response: Response): Promise<T> {
  const text = await response.text()
  return (text === '' ? undefined : parseJson(text)) as T
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new RunyardError('The answer is not JSON, so it is not from a Runyard service. Is baseURL right?', {
      cause,
    })
  }
}

export async function readError(response: Response): Promise<RunyardError> {
  const text = await response.text()
  let body: unknown = text
  try {
    body = JSON.parse(text)
  } catch {}
  return createApiError({
    status: response.status,
    status_text: response.statusText,
    body,
    headers: response.headers,
  })
}
