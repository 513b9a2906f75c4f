// Written by `npm run generate` from docs/configuration.md.
export const SETTING_TEXTS: Readonly<Record<string, { default: string; meaning: string }>> = {
  "DATABASE_URL": {
    "default": "embedded PGlite in the data directory",
    "meaning": "postgres://…; needed by serve and worker; how to make the database, with ?prepare=false for some poolers"
  },
  "RUNYARD_DATA_DIR": {
    "default": ".runyard",
    "meaning": "embedded database, blobs, sandboxes, keys; for one user alone (made 0700, refused when it is another user's); shared by the processes of one installation, unless blobs are on S3"
  },
  "XDG_CACHE_HOME": {
    "default": "~/.cache",
    "meaning": "in its folder runyard is kept what makes starts fast: compiled code, an empty embedded database; may be deleted at any time"
  },
  "RUNYARD_BLOBS": {
    "default": "the data directory",
    "meaning": "s3://BUCKET or s3://BUCKET/PREFIX: where artifacts and attachments are kept; the same for all processes"
  },
  "AWS_ACCESS_KEY_ID": {
    "default": "what the machine has: a role, a profile",
    "meaning": "the key for it"
  },
  "AWS_SECRET_ACCESS_KEY": {
    "default": "what the machine has: a role, a profile",
    "meaning": "the key for it"
  },
  "AWS_SESSION_TOKEN": {
    "default": "what the machine has: a role, a profile",
    "meaning": "the key for it"
  },
  "AWS_REGION": {
    "default": "us-east-1 where an endpoint is set",
    "meaning": "the bucket's region"
  },
  "AWS_ENDPOINT_URL_S3": {
    "default": "Amazon S3",
    "meaning": "address of another store that speaks S3; buckets are then paths"
  },
  "AWS_ENDPOINT_URL": {
    "default": "Amazon S3",
    "meaning": "address of another store that speaks S3; buckets are then paths"
  },
  "RUNYARD_SECRET_KEY": {
    "default": "made and kept in the data directory",
    "meaning": "at least 32 characters; signs links and encrypts values at rest; the same for all processes, and one that has another is refused"
  },
  "RUNYARD_OLD_SECRET_KEYS": {
    "default": "none",
    "meaning": "further secret keys, separated by commas, that open what is sealed with them: while the key is replaced"
  },
  "RUNYARD_HOST": {
    "default": "127.0.0.1",
    "meaning": "where the API listens"
  },
  "RUNYARD_PORT": {
    "default": "4200",
    "meaning": "where the API listens"
  },
  "RUNYARD_PUBLIC_URL": {
    "default": "http://HOST:PORT",
    "meaning": "what links are made of; its host name is the one answered to"
  },
  "RUNYARD_DOWNLOADS_URL": {
    "default": "RUNYARD_PUBLIC_URL",
    "meaning": "an origin of their own for files that are downloaded"
  },
  "RUNYARD_ALLOWED_HOSTS": {
    "default": "",
    "meaning": "further Host names, separated by commas; loopback names are always allowed"
  },
  "RUNYARD_TRUST_PROXY": {
    "default": "false",
    "meaning": "take client addresses from a proxy's X-Forwarded-*: the last one in X-Forwarded-For, which the proxy added"
  },
  "RUNYARD_SANDBOX": {
    "default": "Docker where it works, else bubblewrap",
    "meaning": "docker, bubblewrap, kubernetes, or host (no isolation)"
  },
  "RUNYARD_KUBECONFIG": {
    "default": "the first file of KUBECONFIG, a Pod's service account, ~/.kube/config",
    "meaning": "how the API server of RUNYARD_SANDBOX=kubernetes is reached"
  },
  "RUNYARD_KUBERNETES_NAMESPACE": {
    "default": "the one of the context or the service account",
    "meaning": "namespace in which Pods are made"
  },
  "RUNYARD_KUBERNETES_POD_TEMPLATE": {
    "default": "none",
    "meaning": "file, YAML or JSON, with what every Pod is to have: node selector, runtime class, volumes"
  },
  "RUNYARD_KUBERNETES_START_SECONDS": {
    "default": "300",
    "meaning": "a Pod that does not run by then is given up"
  },
  "RUNYARD_DEFAULT_IMAGE": {
    "default": "node:24-bookworm",
    "meaning": "image of runs whose environment names none (Docker, Kubernetes)"
  },
  "RUNYARD_DOCKER_RUNTIME": {
    "default": "the engine's default",
    "meaning": "how Docker runs the containers: a runtime its engine has, such as runsc of gVisor. Without RUNYARD_SANDBOX it asks for Docker; where the engine does not have it, the start is refused"
  },
  "RUNYARD_IMAGES": {
    "default": "the default image; dev: also whatever the engine has",
    "meaning": "images that environments may name and that are pulled when missing (Docker), separated by commas; where a serve has none, the lists of its workers count; see below"
  },
  "RUNYARD_ALLOW_WEAK_LIMITS": {
    "default": "false",
    "meaning": "let worker start where limits are weak: without control groups, or with bubblewrap as an ordinary user"
  },
  "RUNYARD_ALLOW_SANDBOX_FALLBACK": {
    "default": "false",
    "meaning": "let bubblewrap take the place of a Docker that does not work. Without it a start is refused where that would change how runs are isolated: the last start had Docker, RUNYARD_DEFAULT_IMAGE is set, or a worker's machine has an engine that does not answer or cannot pull the default image"
  },
  "RUNYARD_EGRESS": {
    "default": "allowlist; dev: open",
    "meaning": "the widest network an environment may ask for: none, allowlist or open (network)"
  },
  "RUNYARD_EGRESS_RANGES": {
    "default": "none",
    "meaning": "networks that requests from sandboxes come from, such as 203.0.113.0/28,2001:db8::/48: what GET /networking/egress-ranges answers, for the allowlists of other services. Name the public addresses of your workers, or of the NAT in front of them"
  },
  "RUNYARD_PRIVATE_HOSTS": {
    "default": "none",
    "meaning": "hosts without a public address that environments may allow and webhooks may be sent to: names or IPv4 addresses, each perhaps with a port, separated by commas; without a port for 80 and 443 alone, so 127.0.0.1:4419 for http://127.0.0.1:4419/"
  },
  "RUNYARD_SMTP_URL": {
    "default": "none",
    "meaning": "the mail server for messages to people: smtps://USER:PASSWORD@mail.example.com (TLS, port 465) or smtp://…:587 (STARTTLS: required if there is a user, unless the server is on this machine; without a user, if the server offers it, and ?requireTLS=true insists). Needs RUNYARD_MAIL_FROM and RUNYARD_MAIL_DOMAINS"
  },
  "RUNYARD_MAIL_FROM": {
    "default": "none",
    "meaning": "who letters come from: an e-mail address, with a name perhaps: Runyard <runyard@example.com>"
  },
  "RUNYARD_MAIL_DOMAINS": {
    "default": "none",
    "meaning": "domains that letters may go to, separated by commas; * for all. Needed with RUNYARD_SMTP_URL"
  },
  "RUNYARD_GIT_TOKEN": {
    "default": "–",
    "meaning": "only for dev: a token for private repositories of github.com, or https://TOKEN@HOST for another host"
  },
  "RUNYARD_GIT_HOSTS": {
    "default": "github.com and gitlab.com are known",
    "meaning": "your own git hosts and whose API they speak, github (GitHub Enterprise Server) or gitlab, separated by commas: git.acme.example=gitlab,ghe.acme.example:8443=github"
  },
  "RUNYARD_ACP_AGENTS": {
    "default": "none",
    "meaning": "JSON: more agents by name, each with command, env, provider; see agents"
  },
  "RUNYARD_AGENT_SILENCE_SECONDS": {
    "default": "900",
    "meaning": "an agent that does nothing for so long in the middle of a turn is stopped; 0: never"
  },
  "RUNYARD_TOOLS_DIR": {
    "default": "agents of the data directory",
    "meaning": "folder of this machine that every sandbox has, read-only, at /opt/runyard: programs of agents; see agents"
  },
  "NODE_EXTRA_CA_CERTS": {
    "default": "none",
    "meaning": "file with certificates (PEM) of your own authorities, which the service then trusts, and so do programs in sandboxes"
  },
  "RUNYARD_LOCAL_REPOS": {
    "default": "none; dev: where it was started",
    "meaning": "folder below which environments may name local repositories; not inside the data directory, and what lies in there is never read"
  },
  "RUNYARD_POOL": {
    "default": "default",
    "meaning": "pool of this worker; default pool of runs that name none"
  },
  "RUNYARD_SERVER": {
    "default": "",
    "meaning": "address of the server, for a worker over HTTPS, which needs no database and no secret key"
  },
  "RUNYARD_POOL_KEY": {
    "default": "",
    "meaning": "its pool key"
  },
  "RUNYARD_POOL_KEY_FILE": {
    "default": "",
    "meaning": "a file with its pool key; read when the worker starts"
  },
  "RUNYARD_SLOTS": {
    "default": "8",
    "meaning": "runs this worker executes at once"
  },
  "RUNYARD_GRACE_SECONDS": {
    "default": "10",
    "meaning": "how long runs may go on when a worker stops"
  },
  "RUNYARD_MAX_PREPARED_MB": {
    "default": "4096",
    "meaning": "MiB of what setup commands left, kept for later runs; what was not used for longest goes first; 0: nothing is kept"
  },
  "RUNYARD_WARM_SANDBOXES": {
    "default": "1",
    "meaning": "sandboxes made in advance of each of the four kinds (image, limits, network) used last, so that a run need not wait for its sandbox; 0: none"
  },
  "RUNYARD_MAX_IDLE_SANDBOXES": {
    "default": "20",
    "meaning": "workspaces kept for follow-ups in one place: a data directory, or a Docker engine"
  },
  "RUNYARD_MIN_FREE_PERCENT": {
    "default": "10",
    "meaning": "what must be free of the disk for runs to be claimed; 0 is never too little"
  },
  "RUNYARD_MAX_RUN_FILES_MB": {
    "default": "1024",
    "meaning": "MiB of artifacts and attachments that one run keeps"
  },
  "RUNYARD_MAX_SNAPSHOT_MB": {
    "default": "1024",
    "meaning": "MiB that the snapshot of one workspace may take up, compressed, and four times as much unpacked; 0: none are taken"
  },
  "RUNYARD_SNAPSHOT_SECONDS": {
    "default": "60",
    "meaning": "between two snapshots while a turn changes files"
  },
  "RUNYARD_SNAPSHOT_TURNS": {
    "default": "10",
    "meaning": "of how many turns of a run the workspace is kept, for forks, 1 to 1000"
  },
  "RUNYARD_MAX_FILES_MB": {
    "default": "as the disk allows",
    "meaning": "MiB of artifacts, attachments and snapshots that the installation keeps, counted every half minute (on S3: every five minutes)"
  },
  "RUNYARD_MAX_MEMORY_MB": {
    "default": "8192",
    "meaning": "the most an environment may ask for: MiB of memory, processes, CPUs"
  },
  "RUNYARD_MAX_PIDS": {
    "default": "4096",
    "meaning": "the most an environment may ask for: MiB of memory, processes, CPUs"
  },
  "RUNYARD_MAX_CPUS": {
    "default": "8",
    "meaning": "the most an environment may ask for: MiB of memory, processes, CPUs"
  },
  "RUNYARD_MAX_DISK_MB": {
    "default": "51200",
    "meaning": "the same for MiB of disk and minutes of setup"
  },
  "RUNYARD_MAX_SETUP_MINUTES": {
    "default": "60",
    "meaning": "the same for MiB of disk and minutes of setup"
  },
  "RUNYARD_MIN_SCHEDULE_SECONDS": {
    "default": "10",
    "meaning": "the least between two due times of a schedule, 1 to 60; serve, dev"
  },
  "RUNYARD_REQUESTS_PER_MINUTE": {
    "default": "600",
    "meaning": "what a person or service account may send in a minute: requests, and creates of runs among them; 0: no limit; serve, dev"
  },
  "RUNYARD_CREATES_PER_MINUTE": {
    "default": "60; dev: 0",
    "meaning": "what a person or service account may send in a minute: requests, and creates of runs among them; 0: no limit; serve, dev"
  },
  "RUNYARD_MAX_OPEN_RUNS": {
    "default": "0",
    "meaning": "runs that may be queued or worked on at once created by one person or service account, and of all; 0: no limit; the same in every process"
  },
  "RUNYARD_MAX_OPEN_RUNS_TOTAL": {
    "default": "0",
    "meaning": "runs that may be queued or worked on at once created by one person or service account, and of all; 0: no limit; the same in every process"
  },
  "RUNYARD_AUDIT_DAYS": {
    "default": "400",
    "meaning": "entries of the audit log older than this are removed"
  },
  "RUNYARD_RETENTION_RUN_DAYS": {
    "default": "for ever",
    "meaning": "how many days after the last change of a run the run, its packed workspaces and its artifacts are removed, 1 to 36500; environments may have fewer; serve, dev"
  },
  "RUNYARD_RETENTION_WORKSPACE_DAYS": {
    "default": "for ever",
    "meaning": "how many days after the last change of a run the run, its packed workspaces and its artifacts are removed, 1 to 36500; environments may have fewer; serve, dev"
  },
  "RUNYARD_RETENTION_ARTIFACT_DAYS": {
    "default": "for ever",
    "meaning": "how many days after the last change of a run the run, its packed workspaces and its artifacts are removed, 1 to 36500; environments may have fewer; serve, dev"
  },
  "RUNYARD_METRICS_TOKEN": {
    "default": "",
    "meaning": "opens /metrics beside keys: 16 to 256 characters; serve, dev"
  },
  "RUNYARD_LOG_LEVEL": {
    "default": "info; dev: warn",
    "meaning": "fatal … trace, silent; JSON lines on standard error"
  },
  "ANTHROPIC_API_KEY": {
    "default": "",
    "meaning": "models of Anthropic"
  },
  "ANTHROPIC_BASE_URL": {
    "default": "",
    "meaning": "models of Anthropic"
  },
  "OPENAI_API_KEY": {
    "default": "",
    "meaning": "OpenAI, or any server with its chat API"
  },
  "OPENAI_BASE_URL": {
    "default": "",
    "meaning": "OpenAI, or any server with its chat API"
  },
  "GOOGLE_GENERATIVE_AI_API_KEY": {
    "default": "",
    "meaning": "Google"
  },
  "GEMINI_API_KEY": {
    "default": "",
    "meaning": "Google"
  },
  "GOOGLE_GEMINI_BASE_URL": {
    "default": "",
    "meaning": "Google"
  },
  "OPENROUTER_API_KEY": {
    "default": "",
    "meaning": "these providers"
  },
  "MISTRAL_API_KEY": {
    "default": "",
    "meaning": "these providers"
  },
  "DEEPSEEK_API_KEY": {
    "default": "",
    "meaning": "these providers"
  },
  "GROQ_API_KEY": {
    "default": "",
    "meaning": "these providers"
  },
  "XAI_API_KEY": {
    "default": "",
    "meaning": "these providers"
  },
  "TOGETHER_API_KEY": {
    "default": "",
    "meaning": "these providers"
  },
  "CEREBRAS_API_KEY": {
    "default": "",
    "meaning": "these providers"
  },
  "FIREWORKS_API_KEY": {
    "default": "",
    "meaning": "these providers"
  },
  "DEEPINFRA_API_KEY": {
    "default": "",
    "meaning": "these providers"
  },
  "DEEPINFRA_TOKEN": {
    "default": "",
    "meaning": "these providers"
  },
  "MOONSHOT_API_KEY": {
    "default": "",
    "meaning": "these providers"
  },
  "DASHSCOPE_API_KEY": {
    "default": "",
    "meaning": "these providers"
  },
  "ALIBABA_API_KEY": {
    "default": "",
    "meaning": "these providers"
  },
  "COHERE_API_KEY": {
    "default": "",
    "meaning": "these providers"
  },
  "CO_API_KEY": {
    "default": "",
    "meaning": "these providers"
  },
  "OPENROUTER_BASE_URL": {
    "default": "the provider's own",
    "meaning": "a proxy that speaks as the provider does"
  },
  "MISTRAL_BASE_URL": {
    "default": "the provider's own",
    "meaning": "a proxy that speaks as the provider does"
  },
  "DEEPSEEK_BASE_URL": {
    "default": "the provider's own",
    "meaning": "a proxy that speaks as the provider does"
  },
  "GROQ_BASE_URL": {
    "default": "the provider's own",
    "meaning": "a proxy that speaks as the provider does"
  },
  "XAI_BASE_URL": {
    "default": "the provider's own",
    "meaning": "a proxy that speaks as the provider does"
  },
  "TOGETHER_BASE_URL": {
    "default": "the provider's own",
    "meaning": "a proxy that speaks as the provider does"
  },
  "CEREBRAS_BASE_URL": {
    "default": "the provider's own",
    "meaning": "a proxy that speaks as the provider does"
  },
  "FIREWORKS_BASE_URL": {
    "default": "the provider's own",
    "meaning": "a proxy that speaks as the provider does"
  },
  "DEEPINFRA_BASE_URL": {
    "default": "the provider's own",
    "meaning": "a proxy that speaks as the provider does"
  },
  "MOONSHOT_BASE_URL": {
    "default": "the provider's own",
    "meaning": "a proxy that speaks as the provider does"
  },
  "DASHSCOPE_BASE_URL": {
    "default": "the provider's own",
    "meaning": "a proxy that speaks as the provider does"
  },
  "COHERE_BASE_URL": {
    "default": "the provider's own",
    "meaning": "a proxy that speaks as the provider does"
  },
  "AZURE_OPENAI_API_KEY": {
    "default": "",
    "meaning": "Azure OpenAI"
  },
  "AZURE_API_KEY": {
    "default": "",
    "meaning": "Azure OpenAI"
  },
  "AZURE_OPENAI_ENDPOINT": {
    "default": "",
    "meaning": "Azure OpenAI"
  },
  "AZURE_RESOURCE_NAME": {
    "default": "",
    "meaning": "Azure OpenAI"
  },
  "AZURE_OPENAI_DEPLOYMENTS": {
    "default": "the v1 API",
    "meaning": "its deployments, separated by commas; a dated version for resources without v1"
  },
  "AZURE_OPENAI_API_VERSION": {
    "default": "the v1 API",
    "meaning": "its deployments, separated by commas; a dated version for resources without v1"
  },
  "RUNYARD_BEDROCK_REGION": {
    "default": "",
    "meaning": "Amazon Bedrock, with the machine's role or this key"
  },
  "AWS_BEARER_TOKEN_BEDROCK": {
    "default": "",
    "meaning": "Amazon Bedrock, with the machine's role or this key"
  },
  "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": {
    "default": "Amazon's own",
    "meaning": "Bedrock inside your network"
  },
  "AWS_ENDPOINT_URL_BEDROCK": {
    "default": "Amazon's own",
    "meaning": "Bedrock inside your network"
  },
  "GOOGLE_VERTEX_PROJECT": {
    "default": "location global",
    "meaning": "Google Vertex, with the machine's service account"
  },
  "GOOGLE_VERTEX_LOCATION": {
    "default": "location global",
    "meaning": "Google Vertex, with the machine's service account"
  },
  "GOOGLE_VERTEX_BASE_URL": {
    "default": "location global",
    "meaning": "Google Vertex, with the machine's service account"
  },
  "RUNYARD_MODEL_ENDPOINTS": {
    "default": "",
    "meaning": "further servers with OpenAI's chat API, as JSON: {\"ollama\": {\"base_url\": \"http://localhost:11434/v1\"}}"
  },
  "RUNYARD_DEFAULT_MODEL": {
    "default": "a table",
    "meaning": "provider/model of runs that name none"
  },
  "RUNYARD_FALLBACK_MODELS": {
    "default": "",
    "meaning": "models that go on when one fails for good, in order, separated by commas; at most 10"
  },
  "RUNYARD_MODEL_PRICES": {
    "default": "public prices",
    "meaning": "file with what you pay for models"
  },
  "RUNYARD_CONTEXT_WINDOWS": {
    "default": "as providers and price lists say, else 128,000",
    "meaning": "tokens that models take in, as JSON: {\"ollama/qwen3\": 32768, \"*\": 65536}"
  },
  "RUNYARD_MAX_OUTPUT_TOKENS": {
    "default": "as the provider has it; 32,000 for models at Anthropic's API that are not Claude",
    "meaning": "tokens that one answer may have, as JSON: {\"ollama/qwen3\": 16384, \"*\": 32000}"
  },
  "RUNYARD_MODEL_SILENCE_SECONDS": {
    "default": "90",
    "meaning": "a provider that sends nothing for so long has broken off its answer"
  },
  "RUNYARD_MODEL_RETRY_SECONDS": {
    "default": "300",
    "meaning": "for so long a provider that fails is asked again"
  }
}
