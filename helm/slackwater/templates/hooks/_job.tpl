{{/* One short Job of our own image that runs a script of files/hooks. With a `class` it runs on a full cluster, too. */}}
{{- define "slackwater.hookJob" -}}
apiVersion: batch/v1
kind: Job
metadata:
  {{- include "slackwater.metadata" . | nindent 2 }}
  annotations:
    helm.sh/hook: {{ .hook }}
    helm.sh/hook-weight: "5"
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  backoffLimit: {{ .retries | default 0 }}
  activeDeadlineSeconds: {{ .deadline }}
  template:
    metadata:
      labels:
        {{- include "slackwater.labels" . | nindent 8 }}
    spec:
      {{- if .account }}
      serviceAccountName: slackwater-{{ .component }}
      {{- end }}
      automountServiceAccountToken: {{ .account | default false }}
      enableServiceLinks: false
      restartPolicy: Never
      {{- with .class }}
      priorityClassName: {{ . | quote }}
      {{- end }}
      {{- with .context.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .context.Values.hooks.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      nodeSelector:
        {{- include "slackwater.nodeSelector" .context.Values.hooks | nindent 8 }}
      securityContext:
        {{- include "slackwater.podSecurity" . | nindent 8 }}
      containers:
        - name: {{ .component }}
          image: {{ include "slackwater.image" .context | quote }}
          imagePullPolicy: {{ .context.Values.image.pullPolicy }}
          command: [python, /hooks/{{ .script }}]
          env:
            {{- range $name, $value := .env }}
            - name: {{ $name }}
              value: {{ $value | quote }}
            {{- end }}
          resources:
            {{- toYaml .context.Values.hooks.resources | nindent 12 }}
          securityContext:
            {{- include "slackwater.containerSecurity" . | nindent 12 }}
          volumeMounts:
            - {name: hooks, mountPath: /hooks, readOnly: true}
            {{- range .volumes }}
            - {name: {{ .name }}, mountPath: /{{ .name }}, readOnly: true}
            {{- end }}
      volumes:
        - name: hooks
          configMap:
            name: slackwater-{{ .component }}
        {{- with .volumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end }}

{{/* Account, script and rights of a hook: made just before it and gone after it, so that no such right stays around. */}}
{{- define "slackwater.hookMetadata" -}}
{{- include "slackwater.metadata" . }}
annotations:
  helm.sh/hook: {{ .hook }}
  helm.sh/hook-weight: "-5"
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{- define "slackwater.hookAccount" -}}
{{- $wide := merge (dict "clusterWide" true) . }}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "slackwater.hookMetadata" . | nindent 2 }}
automountServiceAccountToken: false
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  {{- include "slackwater.hookMetadata" $wide | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: slackwater-{{ .component }}
subjects:
  - kind: ServiceAccount
    name: slackwater-{{ .component }}
    namespace: {{ .context.Release.Namespace | quote }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  {{- include "slackwater.hookMetadata" . | nindent 2 }}
data:
  {{ .script }}: |
    {{- .context.Files.Get (printf "files/hooks/%s" .script) | nindent 4 }}
{{- end }}
