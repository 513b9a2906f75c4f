{{- define "runyard.name" -}}
{{- if contains "runyard" .Release.Name }}{{ .Release.Name }}{{ else }}{{ printf "%s-runyard" .Release.Name }}{{ end -}}
{{- end }}

{{- define "runyard.selector" -}}
app.kubernetes.io/name: runyard
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "runyard.labels" -}}
{{ include "runyard.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "runyard.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Two releases in one namespace must not share it. At most 63 characters, as a namespace may have. */}}
{{- define "runyard.sandboxes" -}}
{{- $release := .Release.Name | replace "." "-" }}
{{- $own := eq $release .Release.Namespace | ternary $release (printf "%s-%s" .Release.Namespace $release) }}
{{- if gt (len $own) 53 }}
{{- $own = printf "%s-%s" ($own | trunc 44 | trimSuffix "-") ($own | sha256sum | trunc 8) }}
{{- end }}
{{- .Values.sandboxes.namespace | default (printf "%s-sandboxes" $own) }}
{{- end }}

{{- define "runyard.secretKeySecret" -}}
{{ .Values.secretKey.secretName | default (printf "%s-secret-key" (include "runyard.name" .)) }}
{{- end }}

{{/*
The entry of a Secret that the chart makes once, encoded: what the cluster has, or a new one. A Secret without the entry, as after a change
of its name, ends the render: with a new key, what was stored with the old one could never be read again.
*/}}
{{- define "runyard.madeOnce" -}}
{{- $made := lookup "v1" "Secret" .namespace .name }}
{{- if and $made (not (dig "data" .entry "" $made)) }}
{{- fail (printf "The Secret %s in the namespace %s has no entry %s. Name the entry that it was made with, or put that value back under this name too." .name .namespace .entry) }}
{{- end }}
{{- dig "data" .entry (randAlphaNum 64 | b64enc) $made }}
{{- end }}

{{/* Volumes cannot be shared by what is nowhere, so this ends a render that names neither. */}}
{{- define "runyard.claim" -}}
{{- if not .Values.files.s3 }}
{{- if not (or .Values.files.claim.name .Values.files.claim.size) }}
{{- fail "Say where files are kept: files.s3 (a bucket), files.claim.name (a volume that all Pods can mount), or files.claim.size (the chart makes one)." }}
{{- end }}
{{- .Values.files.claim.name | default (printf "%s-files" (include "runyard.name" .)) }}
{{- end }}
{{- end }}

{{- define "runyard.databaseEnv" -}}
{{- if .Values.database.bundled.enabled -}}
- name: DATABASE_URL
  value: postgres://runyard@{{ include "runyard.name" . }}-postgres/runyard
- name: PGPASSWORD
  valueFrom: { secretKeyRef: { name: {{ include "runyard.name" . }}-postgres, key: POSTGRES_PASSWORD } }
{{- else -}}
{{- if not .Values.database.secretName }}
{{- fail "Say which PostgreSQL: database.secretName (a Secret with its address), or, for a trial, database.bundled.enabled=true." }}
{{- end -}}
- name: DATABASE_URL
  valueFrom: { secretKeyRef: { name: {{ .Values.database.secretName }}, key: {{ .Values.database.secretEntry }} } }
{{- end }}
{{- end }}

{{/* Of every process that works. Named later counts more: `settings` of a role are appended by its template. */}}
{{- define "runyard.env" -}}
{{ include "runyard.databaseEnv" . }}
- name: RUNYARD_SECRET_KEY
  valueFrom: { secretKeyRef: { name: {{ include "runyard.secretKeySecret" . }}, key: {{ .Values.secretKey.secretEntry }} } }
- name: RUNYARD_PUBLIC_URL
  value: {{ .Values.publicUrl | quote }}
{{- with .Values.files.s3 }}
- name: RUNYARD_BLOBS
  value: {{ . | quote }}
{{- end }}
- name: RUNYARD_DEFAULT_IMAGE
  value: {{ .Values.sandboxes.image | quote }}
{{- with .Values.sandboxes.images }}
- name: RUNYARD_IMAGES
  value: {{ join "," . | quote }}
{{- end }}
{{- end }}

{{- define "runyard.settings" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "runyard.envFrom" -}}
{{- with .Values.environmentSecrets }}
envFrom:
  {{- range . }}
  - secretRef: { name: {{ . }} }
  {{- end }}
{{- end }}
{{- end }}

{{- define "runyard.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "runyard.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "runyard.mounts" -}}
- { name: data, mountPath: /data }
- { name: temporary, mountPath: /tmp }
{{- end }}

{{- define "runyard.volumes" -}}
- name: data
  {{- if include "runyard.claim" . }}
  persistentVolumeClaim: { claimName: {{ include "runyard.claim" . }} }
  {{- else }}
  emptyDir: {}
  {{- end }}
- name: temporary
  emptyDir: {}
{{- end }}

{{- define "runyard.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "runyard.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}
