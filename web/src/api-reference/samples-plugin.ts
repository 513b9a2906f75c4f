import type { ApiDescription } from './api-description.ts'
import { writeOperationSamples } from './operation-samples.ts'
import type { ReactOfSwagger, System } from './swagger-system.ts'

/** Shows how to send the example of an operation, above its parameters. */
export const samplesPlugin = (api: ApiDescription, base_url: string) => () => ({
  wrapComponents: {
    parameters:
      (Parameters: unknown, { React }: System) =>
      (props: { pathMethod: [path: string, method: string] }) => {
        const [path, method] = props.pathMethod
        return React.createElement(
          'div',
          null,
          React.createElement(Samples, { path, method, api, base_url, React }),
          React.createElement(Parameters, props),
        )
      },
  },
})

interface SamplesProps {
  path: string
  method: string
  api: ApiDescription
  base_url: string
  React: ReactOfSwagger
}

function Samples({ api, base_url, path, method, React }: SamplesProps): unknown {
  const { createElement: h } = React
  const [language, setLanguage] = React.useState('curl')
  const [copied, setCopied] = React.useState(false)
  const operation = api.paths[path]?.[method]
  if (!operation) return null
  const samples: Record<string, string> = writeOperationSamples(operation, method, path, base_url)
  const text = samples[language] ?? ''
  const show = (next: string) => {
    setLanguage(next)
    setCopied(false)
  }
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
  }
  const choices = Object.keys(samples).map((name) =>
    h(
      'button',
      { key: name, type: 'button', 'aria-pressed': name === language, onClick: () => show(name) },
      name,
    ),
  )
  return h(
    'section',
    { className: 'request-samples', 'aria-label': `Request samples of ${method.toUpperCase()} ${path}` },
    h(
      'div',
      { className: 'opblock-section-header' },
      h('h4', null, 'Request sample'),
      h('div', { className: 'choices' }, ...choices),
      // Only secure pages may write to the clipboard.
      'clipboard' in navigator &&
        h('button', { type: 'button', className: 'copy', onClick: copy }, copied ? 'Copied' : 'Copy'),
    ),
    h('pre', { tabIndex: 0 }, h('code', null, text)),
  )
}
