declare module 'virtual:guides' {
  const guides: ReadonlyArray<{ path: string; title: string }>
  export default guides
}
