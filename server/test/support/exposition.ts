import assert from 'node:assert/strict'

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
// Prometheus reads numbers as Go does, whatever the case of NaN.
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? ([-+]?(?:[0-9.]+(?:e[-+]?[0-9]+)?|Inf)|Na[Nn])$`)
const LABELS = /^(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"(?:,(?!$)|$))*$/
const TYPES = ['counter', 'gauge', 'histogram', 'summary', 'untyped']

/**
 * Every sample of an exposition (Prometheus' text format 0.0.4) by its name and labels, as they are written. Throws where it is not
 * valid: a line that is none, a sample whose type was not said before, one that comes twice, buckets that do not add up.
 */
export function parseExposition(text: string): Map<string, number> {
  assert(text.endsWith('\n'), 'the last line ends')
  const types = new Map<string, string>()
  const samples = new Map<string, number>()
  for (const line of text.split('\n')) {
    if (line === '') continue
    if (line.startsWith('#')) {
      const type = /^# TYPE (\S+) (\S+)$/.exec(line)
      if (!type) assert.match(line, new RegExp(`^# HELP ${NAME} `))
      else {
        assert(!types.has(type[1] ?? ''), `${line}: twice`)
        assert(TYPES.includes(type[2] ?? ''), line)
        types.set(type[1] ?? '', type[2] ?? '')
      }
      continue
    }
    const sample = SAMPLE.exec(line)
    assert(sample, `no sample: ${line}`)
    const [, metric = '', labels = '', value = ''] = sample
    assert.match(labels, LABELS, line)
    const family = [metric, metric.replace(/_(bucket|sum|count)$/, '')].find((one) => types.has(one))
    assert(family, `${metric} has no type`)
    const key = labels ? `${metric}{${labels}}` : metric
    assert(!samples.has(key), `${key}: twice`)
    samples.set(key, Number(value.replace('Inf', 'Infinity')))
  }
  for (const [key, value] of samples) {
    const bucket = /^(.*)_bucket\{le="\+Inf",?(.*)\}$/.exec(key)
    if (bucket)
      assert.equal(samples.get(`${bucket[1]}_count${bucket[2] ? `{${bucket[2]}}` : ''}`), value, key)
  }
  return samples
}
