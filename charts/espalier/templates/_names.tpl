{{- /*
SPDX-FileCopyrightText: The Espalier authors
SPDX-License-Identifier: Apache-2.0
*/ -}}
{{- define "espalier.labels" -}}
app.kubernetes.io/part-of: espalier
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
{{- end }}

{{- /* A reference to an image, from (list root override repository). */ -}}
{{- define "espalier.image" -}}
{{- $root := index . 0 -}}
{{- with index . 1 -}}
{{ . }}
{{- else -}}
{{ printf "%s/%s:%s" $root.Values.image.registry (index . 2) (default $root.Chart.AppVersion $root.Values.image.tag) }}
{{- end -}}
{{- end }}

{{- define "espalier.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "espalier.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* Where pods run, from the values of one of them. */ -}}
{{- define "espalier.scheduling" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- end }}

{{- define "espalier.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* The flags of the controller, one in a line. */ -}}
{{- define "espalier.controllerArgs" -}}
{{- if eq .Values.tenancy "strict" }}
- --tenancy=strict
{{- end }}
{{- if not .Values.approvals.enabled }}
- --approval-address=0
{{- else if .Values.approvals.tlsSecret }}
- --approval-tls-certificate=/etc/espalier/approvals/tls.crt
- --approval-tls-key=/etc/espalier/approvals/tls.key
{{- end }}
{{- $container := include "espalier.image" (list . .Values.images.container "espalier-container") }}
{{- if ne $container (printf "espalier.dev/espalier-container:%s" .Chart.AppVersion) }}
- {{ printf "--container-image=%s" $container | quote }}
{{- end }}
{{- range $name, $value := .Values.controller.flags }}
{{- if kindIs "slice" $value }}
{{- range $value }}
- {{ printf "--%s=%s" $name . | quote }}
{{- end }}
{{- else if kindIs "float64" $value }}
- {{ printf "--%s=%s" $name ($value | toJson) | quote }}
{{- else }}
- {{ printf "--%s=%v" $name $value | quote }}
{{- end }}
{{- end }}
{{- range .Values.controller.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}
