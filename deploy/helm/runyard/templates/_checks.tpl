{{/* Values that each are well and together cannot work. A schema could refuse them too, but not say why. */}}
{{- define "runyard.checks" -}}
{{- if and .Values.database.bundled.enabled .Values.database.secretName }}
{{- fail "Say which PostgreSQL: database.secretName or database.bundled.enabled=true, not both." }}
{{- end }}
{{- if and .Values.files.s3 (or .Values.files.claim.name .Values.files.claim.size) }}
{{- fail "Say where files are kept: files.s3 or files.claim, not both." }}
{{- end }}
{{- with .Values.worker.autoscaling }}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) }}
{{- fail (printf "worker.autoscaling.minReplicas (%d) is more than maxReplicas (%d)." (int .minReplicas) (int .maxReplicas)) }}
{{- end }}
{{- end }}
{{- if eq (include "runyard.sandboxes" .) .Release.Namespace }}
{{- fail (printf "sandboxes.namespace is the release's own, %s: runs need one of their own, and an uninstall would remove it." .Release.Namespace) }}
{{- end }}
{{- if not (regexMatch "^https?://[^/?#@\\s]+$" .Values.publicUrl) }}
{{- fail (printf "publicUrl must be http:// or https:// with a host, and nothing behind it, such as https://runs.example.com, not %s" .Values.publicUrl) }}
{{- end }}
{{- if .Values.serve.ingress.enabled }}
{{- $host := (urlParse .Values.publicUrl).hostname }}
{{- if regexMatch "^(localhost|.*\\.localhost|[0-9.]+|.*:.*)$" $host }}
{{- fail (printf "serve.ingress needs a publicUrl with the host name that people use, such as https://runs.example.com, not %s" .Values.publicUrl) }}
{{- end }}
{{- end }}
{{- end }}
