import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { GIT_ENV } from '../../server/test/support/git.ts'

/** A real repository or checkout for tests; nothing of the machine's configuration of git is read. */
export class Repository {
  readonly directory: string

  constructor(directory: string) {
    this.directory = directory
  }

  /** A new one whose first commit has what the script makes. */
  static create(directory: string, script: string): Repository {
    mkdirSync(directory, { recursive: true })
    const repository = new Repository(directory)
    repository.git('init', '--quiet', '--initial-branch', 'main')
    repository.sh(script)
    repository.commit()
    return repository
  }

  clone(directory: string): Repository {
    this.git('clone', '--quiet', this.directory, directory)
    return new Repository(directory)
  }

  git(...args: string[]): string {
    return this.#run('git', args)
  }

  sh(script: string): string {
    return this.#run('sh', ['-ec', script])
  }

  commit(): void {
    this.git('add', '--all')
    this.git('commit', '--quiet', '--allow-empty', '--message', 'Change')
  }

  /** What is staged, as one id: names, modes and contents. */
  tree(): string {
    return this.git('write-tree').trim()
  }

  /** Everything there is, git's own files included. */
  snapshot(): string {
    return this.sh("find . -type f -exec sha256sum {} + -o -printf '%p %l\\n' | sort")
  }

  #run(command: string, args: string[]): string {
    return execFileSync(command, args, {
      cwd: this.directory,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: GIT_ENV,
    })
  }
}
