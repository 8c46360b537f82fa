{{/* The names of objects. */}}
{{- define "flowdedup.name" -}}
{{- .Release.Name | trunc 48 | trimSuffix "-" -}}
{{- end }}

{{/* The image of a program: list CONTEXT PROGRAM. */}}
{{- define "flowdedup.image" -}}
{{- $context := index . 0 -}}
{{ $context.Values.image.registry }}/flowdedup/{{ index . 1 }}:{{ $context.Values.image.tag | default $context.Chart.AppVersion }}
{{- end }}

{{/* What selects the pods of a component: list CONTEXT COMPONENT. */}}
{{- define "flowdedup.selector" -}}
app.kubernetes.io/name: flowdedup
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* All labels of a component: list CONTEXT COMPONENT. */}}
{{- define "flowdedup.labels" -}}
{{ include "flowdedup.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
{{- end }}
