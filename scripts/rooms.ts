/** Who may import whom (AGENTS.md); docs/architecture.md draws it. */

/** Room → rooms it may import. A room is the longest prefix that matches; its own files are always allowed. */
export const RULES: Record<string, readonly string[]> = {
  'server/src/contract': [],
  'server/src/store': ['server/src/contract'],
  'server/src/log': ['server/src/contract'],
  'server/src/sealing': [],
  'server/src/schema': [],
  'server/src/intake': [
    'server/src/store',
    'server/src/contract',
    'server/src/blobs/blobs.ts',
    'server/src/sealing',
    'server/src/schema/check-schema.ts',
  ],
  'server/src/sandbox': [],
  'server/src/blobs': [],
  'server/src/jobs': [],
  'server/src/gateway': [],
  'server/src/harness': [
    'server/src/contract',
    'server/src/log',
    'server/src/schema/check-schema.ts',
    'server/src/sandbox/sandbox.ts',
  ],
  'server/src/skills': ['server/src/sandbox/sandbox.ts'],
  'server/src/worker': [
    'server/src/store',
    'server/src/contract',
    'server/src/log',
    'server/src/sealing',
    'server/src/blobs/blobs.ts',
    'server/src/gateway/gateway.ts',
    'server/src/harness/harness.ts',
    'server/src/harness/tool-services.ts',
    'server/src/skills',
    'server/src/sandbox/sandbox.ts',
  ],
  'server/src/http': [
    'server/src/store',
    'server/src/intake',
    'server/src/log',
    'server/src/jobs',
    'server/src/contract',
    'server/src/sealing',
    'server/src/blobs/blobs.ts',
  ],
  'server/src': ['server/src/'],
  client: [],
  cli: ['client', 'server/src/main.ts'],
  web: ['client'],
  scripts: ['server', 'client', 'cli'],
  bench: ['server', 'client'],
}
/** Packages that one room alone may use. */
export const PACKAGES: Record<string, string> = {
  kysely: 'server/src/store',
  pg: 'server/src/store',
  '@electric-sql/pglite': 'server/src/store',
  'pg-boss': 'server/src/jobs',
  fastify: 'server/src/http',
  dockerode: 'server/src/sandbox',
  ai: 'server/src/harness',
  '@aws-sdk/client-s3': 'server/src/blobs',
  '@aws-sdk/lib-storage': 'server/src/blobs',
}
export const CONTRACT_PACKAGES = ['zod']
