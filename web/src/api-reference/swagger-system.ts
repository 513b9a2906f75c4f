/** As much of React as Swagger UI hands to its plugins. */
export interface ReactOfSwagger {
  createElement(type: unknown, props: object | null, ...children: unknown[]): unknown
  createContext(first: string): { Provider: unknown }
  useContext(context: object): string
  useState<T>(first: T): [T, (next: T) => void]
}

export interface System {
  React: ReactOfSwagger
  /** A part of Swagger UI by its name; `true`: one that reads the state by itself. */
  getComponent(name: string, is_container?: true): unknown
}
