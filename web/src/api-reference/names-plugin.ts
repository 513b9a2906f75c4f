import type { System } from './swagger-system.ts'

/**
 * What Swagger UI leaves out for people who do not see the page: one `main` and headings in their order, no link within a
 * button, and a name for each list to choose from.
 */
export function namesPlugin({ React }: System) {
  const { createElement: h } = React
  const NameContext = React.createContext('')
  // Its own layout is a `main` of its own, with a heading and a list of servers that the page does not need.
  const layout = ({ getComponent }: System) =>
    h(
      'div',
      { className: 'swagger-ui' },
      h('div', { className: 'scheme-container' }, h(getComponent('AuthorizeBtnContainer', true), null)),
      h(getComponent('errors', true), null),
      h('h2', { className: 'unseen' }, 'Operations'),
      h(getComponent('operations', true), null),
      h(getComponent('Models', true), null),
    )
  // The button around it opens the operation, and puts it into the address.
  const pathText = ({ text }: { text: unknown }) => h('span', null, text)
  const nameFields = (form: unknown) => (props: { description?: string }) =>
    h(NameContext.Provider, { value: props.description ?? '' }, h(form, props))
  const labelled = ({ field, props }: { field: unknown; props: object }) =>
    h('label', null, h('span', { className: 'unseen' }, React.useContext(NameContext)), h(field, props))
  const label = (field: unknown) => (props: object) => h(labelled, { field, props })
  const labelExamples = (list: unknown) => (props: object) =>
    h('label', null, h('span', { className: 'unseen' }, 'Example'), h(list, props))
  // A region without a name, of which each open operation has one.
  const nameAnswers = (answers: unknown) => (props: { path: string; method: string }) => {
    const name = `Answers of ${props.method.toUpperCase()} ${props.path}`
    const ref = (place: HTMLElement | null) =>
      place?.querySelector('.responses-table')?.setAttribute('aria-label', name)
    return h('div', { ref }, h(answers, props))
  }
  return {
    components: { OwnLayout: layout, DeepLink: pathText },
    wrapComponents: {
      JsonSchemaForm: nameFields,
      Select: label,
      TextArea: label,
      ExamplesSelect: labelExamples,
      responses: nameAnswers,
    },
  }
}
