{{/* What every pod of ours has in common: no root, nothing writable, no capability, the runtime's seccomp profile.
     Call with context. */}}
{{- define "slackwater.podSecurity" -}}
runAsNonRoot: true
{{- $user := include "slackwater.scalar" .context.Values.runAsUser }}
{{- if ne $user "cluster" }}
{{- /* The group, too: Secrets are mounted for it alone. */}}
runAsUser: {{ $user }}
runAsGroup: {{ $user }}
fsGroup: {{ $user }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "slackwater.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Our images are Linux's, and nothing else keeps a pod away from nodes of Windows. Call with the values of a component. */}}
{{- define "slackwater.nodeSelector" -}}
{{- toYaml (merge (dict) (.nodeSelector | default dict) (dict "kubernetes.io/os" "linux")) }}
{{- end }}

{{/* Where pods of one component may run. Call with context, component and its values. */}}
{{- define "slackwater.placement" -}}
nodeSelector:
  {{- include "slackwater.nodeSelector" .values | nindent 2 }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if gt (int (.values.replicas | default 1)) 1 }}
topologySpreadConstraints:
  {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "slackwater.selector" $ | nindent 8 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The head of a pod specification: account, security, pull secrets, priority. */}}
{{- define "slackwater.podHead" -}}
serviceAccountName: slackwater-{{ .component }}
automountServiceAccountToken: true
# Service variables would look like settings of ours (SLACKWATER_EXTENDER_PORT).
enableServiceLinks: false
{{- with .values.imagePullSecrets | default .context.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- $class := .values.priorityClassName | default (ternary "slackwater-control" "" .context.Values.priorityClasses.create) }}
{{- with $class }}
priorityClassName: {{ . | quote }}
{{- end }}
securityContext:
  {{- include "slackwater.podSecurity" . | nindent 2 }}
{{- end }}

{{/* Labels and annotations of pods. `movable`: pods that the cluster autoscaler would keep a node for, because they stand in kube-system or have a
     folder on its disk, say that they may be made anew elsewhere, unless podAnnotations say otherwise. */}}
{{- define "slackwater.podMetadata" -}}
labels:
  {{- include "slackwater.labels" . | nindent 2 }}
  {{- with .values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $movable := ternary (dict "cluster-autoscaler.kubernetes.io/safe-to-evict" "true") dict (.movable | default false) }}
{{- $notes := merge (dict) (.notes | default dict) (.values.podAnnotations | default dict) $movable }}
{{- with $notes }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
