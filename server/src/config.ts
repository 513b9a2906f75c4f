import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import type { S3Place } from './blobs/s3-client.ts'
import { KUBERNETES_SETTINGS, readKubernetes } from './config-kubernetes.ts'
import { MAIL_VARIABLES, readMail } from './config-mail.ts'
import { MODEL_SETTINGS, readModels } from './config-models.ts'
import { HARNESS_NAME } from './contract/agent-config.ts'
import { AppError } from './contract/error.ts'
import { isImagePattern } from './contract/image.ts'
import { MODEL_APIS } from './contract/model.ts'
import { BROKEN_USER, hasBrokenUser } from './contract/percent.ts'
import { AGENT_SILENCE_SECONDS } from './harness/acp-silence.ts'
import { address, flag, networks, number, splitList, whole } from './setting.ts'
import { describeSettings } from './settings-in-force.ts'

const MiB = 1024 ** 2
const AGENTS_EXAMPLE =
  '{"mine": {"command": ["mine", "--acp"], "env": {"KEY": "{token}"}, "provider": "openai"}}'

/** Every environment variable the service reads; `docs/configuration.md` says the same. */
const Variables = z.object({
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres://')
    // pg takes an empty host after a user's name.
    .refine((url) => URL.canParse(url.replace('@/', '@localhost/')), {
      error: 'is no address: write what is special in the password as %XX (# is %23, / is %2F, @ is %40)',
    })
    .refine((url) => !hasBrokenUser(url.replace('@/', '@localhost/')), BROKEN_USER)
    .optional(),
  RUNYARD_DATA_DIR: z.string().min(1).optional(),
  XDG_CACHE_HOME: z.string().default(() => join(homedir(), '.cache')),
  RUNYARD_BLOBS: z
    .string()
    .regex(
      /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/(?!\.{1,2}(\/|$))[A-Za-z0-9._-]+)*\/?$/,
      'must be s3://BUCKET or s3://BUCKET/PREFIX',
    )
    .optional(),
  AWS_ACCESS_KEY_ID: z.string().optional(),
  AWS_SECRET_ACCESS_KEY: z.string().optional(),
  AWS_SESSION_TOKEN: z.string().optional(),
  AWS_REGION: z.string().optional(),
  AWS_ENDPOINT_URL: z.string().optional(),
  AWS_ENDPOINT_URL_S3: z.string().optional(),
  RUNYARD_SECRET_KEY: z.string().min(32, 'must have at least 32 characters').optional(),
  RUNYARD_OLD_SECRET_KEYS: z
    .string()
    .transform(splitList)
    .refine(
      (keys) => keys.every((key) => key.length >= 32),
      'must be keys of at least 32 characters with commas between them',
    )
    .optional(),
  RUNYARD_HOST: z.string().min(1).optional(),
  RUNYARD_PORT: whole(0, 65_535).optional(),
  RUNYARD_PUBLIC_URL: address.optional(),
  RUNYARD_DOWNLOADS_URL: address.optional(),
  RUNYARD_ALLOWED_HOSTS: z.string().optional(),
  RUNYARD_TRUST_PROXY: flag.optional(),
  RUNYARD_SANDBOX: z.enum(['docker', 'bubblewrap', 'kubernetes', 'host']).optional(),
  ...KUBERNETES_SETTINGS,
  RUNYARD_DEFAULT_IMAGE: z.string().min(1).optional(),
  RUNYARD_DOCKER_RUNTIME: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
      'must be the name of a runtime of the Docker engine, such as runsc',
    )
    .optional(),
  RUNYARD_IMAGES: z
    .string()
    .transform(splitList)
    .refine((names) => names.every(isImagePattern), 'must be image names, such as node:* or ghcr.io/acme/*')
    .optional(),
  RUNYARD_ALLOW_WEAK_LIMITS: flag.optional(),
  RUNYARD_ALLOW_SANDBOX_FALLBACK: flag.optional(),
  RUNYARD_EGRESS: z.enum(['none', 'allowlist', 'open']).optional(),
  RUNYARD_EGRESS_RANGES: networks.default([]),
  RUNYARD_PRIVATE_HOSTS: z
    .string()
    .toLowerCase()
    .transform(splitList)
    .refine(
      (hosts) => hosts.every((host) => /^[a-z0-9_.-]+(:\d{1,5})?$/.test(host)),
      'must be names or IPv4 addresses, each perhaps with a port, such as git.internal:8443',
    )
    .optional(),
  ...MAIL_VARIABLES,
  RUNYARD_GIT_HOSTS: z
    .string()
    .toLowerCase()
    .transform(splitList)
    .refine(
      (items) => items.every((item) => /^[a-z0-9_.-]+(:\d{1,5})?=(github|gitlab)$/.test(item)),
      'must be hosts and what they are, such as git.acme.example=gitlab,ghe.acme.example:8443=github',
    )
    .transform((items) => Object.fromEntries(items.map(readGitHost)))
    .optional(),
  RUNYARD_GIT_TOKEN: z
    .string()
    .min(8, 'must have at least 8 characters')
    .transform(readGitToken)
    .refine((read) => read !== null, 'must be a token for github.com, or https://TOKEN@HOST for another host')
    .optional(),
  RUNYARD_LOCAL_REPOS: z.string().min(1).optional(),
  RUNYARD_POOL: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,128}$/)
    .optional(),
  RUNYARD_SERVER: address.optional(),
  RUNYARD_POOL_KEY: z
    .string()
    .trim()
    .regex(/^ryp_[A-Za-z0-9]{46}$/, 'must be a pool key: runyard keys create --pool POOL makes one')
    .optional(),
  RUNYARD_POOL_KEY_FILE: z.string().min(1).optional(),
  RUNYARD_SLOTS: whole(1, 1_000).optional(),
  RUNYARD_GRACE_SECONDS: whole(0, 3_600).optional(),
  RUNYARD_MAX_PREPARED_MB: whole(0, 1_048_576).optional(),
  RUNYARD_WARM_SANDBOXES: whole(0, 100).optional(),
  RUNYARD_MAX_IDLE_SANDBOXES: whole(0, 10_000).optional(),
  RUNYARD_MIN_FREE_PERCENT: whole(0, 100).optional(),
  RUNYARD_MAX_RUN_FILES_MB: whole(1, 1_048_576).optional(),
  RUNYARD_MAX_SNAPSHOT_MB: whole(0, 1_048_576).optional(),
  RUNYARD_SNAPSHOT_SECONDS: whole(1, 86_400).optional(),
  RUNYARD_SNAPSHOT_TURNS: whole(1, 1_000).optional(),
  RUNYARD_MAX_FILES_MB: whole(1, 1_073_741_824).optional(),
  RUNYARD_MAX_MEMORY_MB: whole(64, 1_048_576).optional(),
  RUNYARD_MAX_PIDS: whole(16, 32_768).optional(),
  RUNYARD_MAX_CPUS: number(0.1, 256).optional(),
  RUNYARD_MAX_DISK_MB: whole(64, 16_777_216).optional(),
  RUNYARD_MAX_SETUP_MINUTES: whole(1, 240).optional(),
  RUNYARD_MIN_SCHEDULE_SECONDS: whole(1, 60).default(10),
  RUNYARD_REQUESTS_PER_MINUTE: whole(0, 1_000_000).optional(),
  RUNYARD_CREATES_PER_MINUTE: whole(0, 1_000_000).optional(),
  RUNYARD_MAX_OPEN_RUNS: whole(0, 1_000_000).default(0),
  RUNYARD_MAX_OPEN_RUNS_TOTAL: whole(0, 1_000_000).default(0),
  RUNYARD_AUDIT_DAYS: whole(1, 36_500).default(400),
  RUNYARD_RETENTION_RUN_DAYS: whole(1, 36_500).optional(),
  RUNYARD_RETENTION_WORKSPACE_DAYS: whole(1, 36_500).optional(),
  RUNYARD_RETENTION_ARTIFACT_DAYS: whole(1, 36_500).optional(),
  RUNYARD_METRICS_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{16,256}$/, 'must have 16 to 256 characters, without spaces')
    .optional(),
  RUNYARD_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).optional(),
  ...MODEL_SETTINGS,
  RUNYARD_ACP_AGENTS: z
    .string()
    .default('{}')
    .transform((text, context) => {
      const agents = readAgents(text)
      if (agents) return agents
      context.addIssue({ code: 'custom', message: `must be JSON such as ${AGENTS_EXAMPLE}` })
      return z.NEVER
    }),
  RUNYARD_AGENT_SILENCE_SECONDS: whole(0, 86_400).default(AGENT_SILENCE_SECONDS),
  RUNYARD_TOOLS_DIR: z.string().min(1).optional(),
  NODE_EXTRA_CA_CERTS: z.string().optional(),
})

/** The schema of each, by its name. */
export const SETTING_SHAPE = Variables.shape

/** The validated settings of a process, from its environment. */
export type Config = ReturnType<typeof readConfig>

/** Paths are relative to `directory`. Throws `invalid_request` naming the variable. Empty variables count as absent. */
export function readConfig(environment: NodeJS.ProcessEnv = process.env, directory: string = process.cwd()) {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim()))
  const parsed = Variables.safeParse(given)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new AppError('invalid_request', `${issue?.path.join('.')}: ${issue?.message}`)
  }
  const env = parsed.data
  requireOwnOrigin(env)
  const resolvePath = (path: string | undefined) =>
    path === undefined ? undefined : resolve(directory, path)
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return {
    version,
    database_url: env.DATABASE_URL,
    data_dir: resolve(directory, env.RUNYARD_DATA_DIR ?? '.runyard'),
    cache_dir: resolve(directory, env.XDG_CACHE_HOME, 'runyard'),
    s3: readS3(env),
    secret_key: env.RUNYARD_SECRET_KEY,
    old_secret_keys: env.RUNYARD_OLD_SECRET_KEYS ?? [],
    host: env.RUNYARD_HOST ?? '127.0.0.1',
    port: env.RUNYARD_PORT ?? 4200,
    public_url: env.RUNYARD_PUBLIC_URL?.replace(/\/+$/, ''),
    downloads_url: env.RUNYARD_DOWNLOADS_URL?.replace(/\/+$/, ''),
    allowed_hosts: splitList((env.RUNYARD_ALLOWED_HOSTS ?? '').toLowerCase()),
    trust_proxy: env.RUNYARD_TRUST_PROXY ?? false,
    sandbox: env.RUNYARD_SANDBOX,
    default_image: env.RUNYARD_DEFAULT_IMAGE,
    docker_runtime: env.RUNYARD_DOCKER_RUNTIME,
    kubernetes: readKubernetes(env, resolvePath),
    images: env.RUNYARD_IMAGES,
    allow_weak_limits: env.RUNYARD_ALLOW_WEAK_LIMITS ?? false,
    allow_sandbox_fallback: env.RUNYARD_ALLOW_SANDBOX_FALLBACK ?? false,
    egress: env.RUNYARD_EGRESS,
    egress_ranges: env.RUNYARD_EGRESS_RANGES,
    private_hosts: env.RUNYARD_PRIVATE_HOSTS ?? [],
    mail: readMail(env),
    git_hosts: env.RUNYARD_GIT_HOSTS ?? {},
    git_token: env.RUNYARD_GIT_TOKEN,
    acp_agents: env.RUNYARD_ACP_AGENTS,
    agent_silence_ms: env.RUNYARD_AGENT_SILENCE_SECONDS * 1_000,
    tools_dir: resolvePath(env.RUNYARD_TOOLS_DIR),
    has_own_authorities: env.NODE_EXTRA_CA_CERTS !== undefined,
    local_repos: resolvePath(env.RUNYARD_LOCAL_REPOS),
    pool: env.RUNYARD_POOL ?? 'default',
    server: env.RUNYARD_SERVER?.replace(/(\/api\/v1)?\/*$/, ''),
    pool_key: env.RUNYARD_POOL_KEY,
    pool_key_file: resolvePath(env.RUNYARD_POOL_KEY_FILE),
    slots: env.RUNYARD_SLOTS ?? 8,
    grace_ms: (env.RUNYARD_GRACE_SECONDS ?? 10) * 1_000,
    prepared: { max_bytes: (env.RUNYARD_MAX_PREPARED_MB ?? 4_096) * MiB },
    warm: env.RUNYARD_WARM_SANDBOXES ?? 1,
    max_idle: env.RUNYARD_MAX_IDLE_SANDBOXES ?? 20,
    min_free_percent: env.RUNYARD_MIN_FREE_PERCENT ?? 10,
    max_run_files_bytes: (env.RUNYARD_MAX_RUN_FILES_MB ?? 1_024) * MiB,
    snapshots: readSnapshots(env),
    max_files_bytes: env.RUNYARD_MAX_FILES_MB && env.RUNYARD_MAX_FILES_MB * MiB,
    limit_maxima: {
      memory_mb: env.RUNYARD_MAX_MEMORY_MB ?? 8_192,
      pids: env.RUNYARD_MAX_PIDS ?? 4_096,
      cpus: env.RUNYARD_MAX_CPUS ?? 8,
      disk_mb: env.RUNYARD_MAX_DISK_MB ?? 51_200,
      setup_minutes: env.RUNYARD_MAX_SETUP_MINUTES ?? 60,
    },
    min_schedule_seconds: env.RUNYARD_MIN_SCHEDULE_SECONDS,
    requests_per_minute: env.RUNYARD_REQUESTS_PER_MINUTE,
    creates_per_minute: env.RUNYARD_CREATES_PER_MINUTE,
    open_runs: { principal: env.RUNYARD_MAX_OPEN_RUNS, total: env.RUNYARD_MAX_OPEN_RUNS_TOTAL },
    audit_days: env.RUNYARD_AUDIT_DAYS,
    retention: readRetention(env),
    metrics_token: env.RUNYARD_METRICS_TOKEN,
    log_level: env.RUNYARD_LOG_LEVEL,
    /** For people to look at. */
    settings: describeSettings(SETTING_SHAPE, given),
    models: readModels(env),
  }
}

function requireOwnOrigin(env: z.infer<typeof Variables>): void {
  if (!env.RUNYARD_DOWNLOADS_URL) return
  const wrong = whyNoOrigin(env, new URL(env.RUNYARD_DOWNLOADS_URL))
  if (wrong !== null) throw new AppError('invalid_request', `RUNYARD_DOWNLOADS_URL: ${wrong}`)
}

function whyNoOrigin(env: z.infer<typeof Variables>, downloads: URL): string | null {
  if (!env.RUNYARD_PUBLIC_URL)
    return 'needs RUNYARD_PUBLIC_URL as well: files are to be kept apart from that address'
  const page = new URL(env.RUNYARD_PUBLIC_URL)
  const names = [page.hostname, ...splitList((env.RUNYARD_ALLOWED_HOSTS ?? '').toLowerCase())]
  // Cookies know hosts and no ports, so another port alone would be no other origin to them.
  if (names.includes(downloads.hostname))
    return 'must have another host name than RUNYARD_PUBLIC_URL and RUNYARD_ALLOWED_HOSTS'
  // Browsers say only there what they want a file for, which tells the page from who opens a link.
  const is_trusted = ({ protocol, hostname }: URL) =>
    protocol === 'https:' || /(^|\.)localhost$/.test(hostname)
  return is_trusted(page) && is_trusted(downloads)
    ? null
    : 'must be an https address, and so must RUNYARD_PUBLIC_URL'
}

const readSnapshots = (env: z.infer<typeof Variables>) => ({
  max_bytes: (env.RUNYARD_MAX_SNAPSHOT_MB ?? 1_024) * MiB,
  every_ms: (env.RUNYARD_SNAPSHOT_SECONDS ?? 60) * 1_000,
  turns: env.RUNYARD_SNAPSHOT_TURNS ?? 10,
})

/** In days; null: for ever. */
const readRetention = (env: z.infer<typeof Variables>) => ({
  run: env.RUNYARD_RETENTION_RUN_DAYS ?? null,
  workspace: env.RUNYARD_RETENTION_WORKSPACE_DAYS ?? null,
  artifact: env.RUNYARD_RETENTION_ARTIFACT_DAYS ?? null,
})

const Agents = z.record(
  z.string().regex(HARNESS_NAME),
  z.strictObject({
    command: z.array(z.string().min(1)).min(1),
    env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string()).optional(),
    provider: z.enum(MODEL_APIS).optional(),
  }),
)

function readAgents(text: string): z.infer<typeof Agents> | null {
  try {
    const { data } = Agents.safeParse(JSON.parse(text))
    return data && !Object.hasOwn(data, 'oz') && !Object.hasOwn(data, 'runbook') ? data : null
  } catch {
    return null
  }
}

function readGitHost(item: string): [string, 'github' | 'gitlab'] {
  const [host = '', kind] = item.split('=')
  return [host.replace(/:443$/, ''), kind === 'gitlab' ? 'gitlab' : 'github']
}

/** Of one host, and the name that goes with it where it needs one. */
interface GitToken {
  host: string
  username: string | null
  token: string
}

function readGitToken(text: string): GitToken | null {
  if (/^[\x21-\x39\x3b-\x7e]+$/.test(text)) return { host: 'github.com', username: null, token: text }
  const url = URL.parse(text)
  if (url?.protocol !== 'https:' || url.pathname !== '/' || url.search || url.hash) return null
  // A percent sign may stand for itself.
  const [name, password] = [url.username, url.password].map((part) =>
    part.replace(/%[0-7][0-9a-f]/gi, decodeURIComponent),
  )
  if (!name) return null
  return { host: url.host, username: password ? name : null, token: password || name }
}

/** `null` where files are kept in the data directory; what other programs read of `AWS_…` is then not looked at. */
function readS3(env: z.infer<typeof Variables>): S3Place | null {
  if (!env.RUNYARD_BLOBS) return null
  const [bucket = '', ...folders] = env.RUNYARD_BLOBS.slice('s3://'.length).replace(/\/$/, '').split('/')
  const accessKeyId = env.AWS_ACCESS_KEY_ID
  const secretAccessKey = env.AWS_SECRET_ACCESS_KEY
  const [endpoint_name, endpoint] = env.AWS_ENDPOINT_URL_S3
    ? ['AWS_ENDPOINT_URL_S3', env.AWS_ENDPOINT_URL_S3]
    : ['AWS_ENDPOINT_URL', env.AWS_ENDPOINT_URL]
  if (endpoint && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? ''))
    throw new AppError('invalid_request', `${endpoint_name}: must be an http or https address`)
  if (endpoint && hasBrokenUser(endpoint))
    throw new AppError('invalid_request', `${endpoint_name}: ${BROKEN_USER}`)
  if (!endpoint && !env.AWS_REGION)
    throw new AppError('invalid_request', 'AWS_REGION: RUNYARD_BLOBS on Amazon S3 needs the region')
  if (!accessKeyId !== !secretAccessKey)
    throw new AppError(
      'invalid_request',
      'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: one is set without the other',
    )
  return {
    bucket,
    prefix: folders.map((folder) => `${folder}/`).join(''),
    // Stores with an address of their own mostly take any.
    region: env.AWS_REGION ?? 'us-east-1',
    ...(endpoint ? { endpoint } : {}),
    ...(accessKeyId && secretAccessKey
      ? {
          credentials: {
            accessKeyId,
            secretAccessKey,
            ...(env.AWS_SESSION_TOKEN ? { sessionToken: env.AWS_SESSION_TOKEN } : {}),
          },
        }
      : {}),
  }
}
