{{/* Values that cannot work together, each with a sentence that says what to write instead. What one value alone may be is in values.schema.json. */}}
{{- define "slackwater.refusals" -}}
{{- if hasKey .Values.policies "default" }}
{{- fail "policies.default: the policy default is written under policy, not under policies" }}
{{- end }}
{{- if and (include "slackwater.enforces" .) (not (include "slackwater.mutates" .)) }}
{{- fail "a SlackPolicy's mode is enforce, but nothing changes pods at their creation, so no pod would ever be gated or shrunk: set admission.mutating to auto; in tls.mode existing name tls.existing.webhookSecret, too, where the cluster has no MutatingAdmissionPolicy" }}
{{- end }}
{{- if eq .Values.tls.mode "existing" }}
{{- if not (and .Values.tls.existing.extenderSecret .Values.tls.existing.schedulerSecret) }}
{{- fail "tls.mode is existing: name both Secrets in tls.existing.extenderSecret and tls.existing.schedulerSecret (keys tls.crt, tls.key, ca.crt)" }}
{{- end }}
{{- if and (eq (include "slackwater.admission" .) "webhook") (not (and .Values.tls.existing.webhookSecret .Values.tls.existing.webhookAuthority)) }}
{{- fail "tls.mode is existing and pods are changed by the webhook: name its Secret in tls.existing.webhookSecret (keys tls.crt, tls.key) and give its authority as PEM in tls.existing.webhookAuthority" }}
{{- end }}
{{- end }}
{{- if and .Values.monitor.enabled (not .Values.prometheus.url) }}
{{- fail "monitor.enabled needs prometheus.url: the monitor reads its numbers there" }}
{{- end }}
{{- range $key := list "tokenKey" "passwordKey" "caKey" }}
{{- if and (index $.Values.prometheus.auth $key) (not $.Values.prometheus.auth.secret) }}
{{- fail (printf "prometheus.auth.%s is a key of a Secret: name that Secret of the release's namespace in prometheus.auth.secret" $key) }}
{{- end }}
{{- end }}
{{- if and .Values.webhook.hostNetwork (eq (int .Values.webhook.port) 10250) }}
{{- fail "webhook.hostNetwork: kubelet has port 10250 on every node, so give webhook.port one that is free on all of them, such as 10260" }}
{{- end }}
{{- if and .Values.webhook.hostNetwork (lt (int .Values.webhook.port) 1024) }}
{{- fail "webhook.hostNetwork: on a node only root may listen on a port below 1024, and our programs are not: give webhook.port one that is free on all nodes, such as 10260" }}
{{- end }}
{{- if eq (int .Values.operator.healthPort) (int .Values.operator.metricsPort) }}
{{- fail "operator.healthPort and operator.metricsPort are the same port: two servers listen there, so give each its own" }}
{{- end }}
{{- $said := dict "monitor.settings.port" (.Values.monitor.settings | default dict) "extender.settings.server.port" (dig "server" dict (.Values.extender.settings | default dict)) }}
{{- range $name, $settings := $said }}
{{- $port := index $.Values (splitList "." $name | first) "port" }}
{{- if and (kindIs "map" $settings) (hasKey $settings "port") }}
{{- if ne (toString $settings.port) (toString $port) }}
{{- fail (printf "%s: Service and probes go to %s.port, which is %v; set that one alone" $name (splitList "." $name | first) $port) }}
{{- end }}
{{- end }}
{{- end }}
{{- $lasting := list "kube-system" "kube-public" "default" }}{{/* the API server lets nobody delete these */}}
{{- if and .Values.watchdog.enabled (eq .Values.watchdog.namespace .Release.Namespace) (not (has .Release.Namespace $lasting)) }}
{{- fail "watchdog.namespace is the release's own namespace, with which the watchdog would be deleted: name another, or set watchdog.enabled to false" }}
{{- end }}
{{- include "slackwater.refuseLabels" . }}
{{- end }}

{{/* Labels of one's own beside ours: one that stands there twice is read as one or the other, or not at all. */}}
{{- define "slackwater.refuseLabels" -}}
{{- $ours := include "slackwater.labels" (dict "context" . "component" "x") | fromYaml }}
{{- $said := dict }}
{{- range $name := list "extender" "operator" "scheduler" "watchdog" "webhook" "monitor" }}
{{- $_ := set $said (printf "%s.podLabels" $name) (index $.Values $name).podLabels }}
{{- end }}
{{- range $name := list "serviceMonitor" "rules" "dashboards" }}
{{- $_ := set $said (printf "monitoring.%s.labels" $name) (index $.Values.monitoring $name).labels }}
{{- end }}
{{- range $where, $labels := $said }}
{{- range $key, $_ := $labels }}
{{- if hasKey $ours $key }}{{ fail (printf "%s: %s is a label that the chart writes itself; choose another" $where $key) }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
