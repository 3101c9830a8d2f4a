{{/*
Names are fixed: a cluster has one Slackwater (one scheduler profile, one set of admission policies), whatever the
release is called. helm refuses a second release that would own the same cluster-wide objects.
*/}}
{{- define "slackwater.labels" -}}
{{ include "slackwater.selector" . }}
app.kubernetes.io/version: {{ .context.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .context.Release.Service }}
app.kubernetes.io/part-of: slackwater
helm.sh/chart: {{ printf "%s-%s" .context.Chart.Name .context.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "slackwater.selector" -}}
app.kubernetes.io/name: slackwater
app.kubernetes.io/instance: {{ .context.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "slackwater.metadata" -}}
name: slackwater-{{ .name | default .component }}
{{- if not .clusterWide }}
namespace: {{ .context.Release.Namespace | quote }}
{{- end }}
labels:
  {{- include "slackwater.labels" . | nindent 2 }}
{{- end }}

{{/* A value as plain text. Numbers of a values file are floats to helm, which writes a million as 1e+06: whole ones are written as such. */}}
{{- define "slackwater.scalar" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}
{{- else if or (kindIs "map" .) (kindIs "slice" .) }}{{ toJson . }}
{{- else }}{{ toString . }}
{{- end }}
{{- end }}

{{/* Our own image: registry, name, and a digest where one is given, else the tag. */}}
{{- define "slackwater.image" -}}
{{- include "slackwater.imageOf" (dict "image" .Values.image "tag" (.Values.image.tag | default .Chart.AppVersion)) }}
{{- end }}

{{- define "slackwater.imageOf" -}}
{{- $name := .image.repository }}
{{- if .image.registry }}{{ $name = printf "%s/%s" (trimSuffix "/" .image.registry) .image.repository }}{{ end }}
{{- if .image.digest }}{{ printf "%s@%s" $name .image.digest }}{{ else }}{{ printf "%s:%s" $name .tag }}{{ end }}
{{- end }}

{{/* The scheduler's version follows the API server's, without what a vendor appended (v1.36.4-gke.12 becomes v1.36.4). */}}
{{- define "slackwater.schedulerImage" -}}
{{- $server := semver .Capabilities.KubeVersion.Version }}
{{- $tag := printf "v%d.%d.%d" $server.Major $server.Minor $server.Patch }}
{{- include "slackwater.imageOf" (dict "image" .Values.scheduler.image "tag" (.Values.scheduler.image.tag | default $tag)) }}
{{- end }}

{{- define "slackwater.extenderHost" -}}
slackwater-extender.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "slackwater.extenderUrl" -}}
https://{{ include "slackwater.extenderHost" . }}:{{ .Values.extender.port }}
{{- end }}

{{/* Whether helm talks to a cluster: `helm template` knows no kinds unless it is told them. */}}
{{- define "slackwater.connected" -}}
{{- if .Capabilities.APIVersions.Has "v1/Pod" }}true{{ end }}
{{- end }}

{{/* Whether the cluster serves MutatingAdmissionPolicy v1: asked, where helm has asked it for its kinds; else by its version
     (stable, and on, from 1.36). */}}
{{- define "slackwater.hasPolicies" -}}
{{- if include "slackwater.connected" . }}
{{- if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" }}true{{ end }}
{{- else if semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version }}true
{{- end }}
{{- end }}

{{/* How pods are changed at their creation: policy, webhook or off. A webhook needs a certificate, so `auto` does without one
     where all certificates are yours and none was named for it. */}}
{{- define "slackwater.admission" -}}
{{- $asked := .Values.admission.mutating }}
{{- $foreign := and (eq .Values.tls.mode "existing") (not .Values.tls.existing.webhookSecret) }}
{{- if and (eq $asked "auto") (include "slackwater.hasPolicies" .) }}policy
{{- else if eq $asked "auto" }}{{ ternary "off" "webhook" $foreign }}
{{- else if eq $asked "on" }}policy
{{- else }}{{ $asked }}
{{- end }}
{{- end }}

{{- define "slackwater.mutates" -}}
{{- if ne (include "slackwater.admission" .) "off" }}true{{ end }}
{{- end }}

{{/* Where the watchdog runs; the release's own namespace where there is none. */}}
{{- define "slackwater.watchdogNamespace" -}}
{{- ternary .Values.watchdog.namespace .Release.Namespace .Values.watchdog.enabled }}
{{- end }}

{{/* The same where programs must be told: these two are exempt anyway, and images older than the setting refuse its name. */}}
{{- define "slackwater.watchdogElsewhere" -}}
{{- $where := include "slackwater.watchdogNamespace" . }}
{{- if not (has $where (list "kube-system" .Release.Namespace)) }}{{ $where }}{{ end }}
{{- end }}

{{/* Whether a SlackPolicy that the chart writes gates and shrinks pods. */}}
{{- define "slackwater.enforces" -}}
{{- range prepend (.Values.policies | default dict | values) .Values.policy }}
{{- if and (dig "create" true .) (eq (dig "spec" "mode" "" .) "enforce") }}true{{ end }}
{{- end }}
{{- end }}

{{/* Who signs certificates in mode certManager: yours, or an authority of our own. */}}
{{- define "slackwater.issuer" -}}
{{- if .Values.tls.certManager.issuerRef.name }}{{ toYaml .Values.tls.certManager.issuerRef }}
{{- else }}{{ toYaml (dict "name" "slackwater" "kind" "Issuer" "group" "cert-manager.io") }}
{{- end }}
{{- end }}

{{- define "slackwater.extenderSecret" -}}
{{- if eq .Values.tls.mode "existing" }}{{ .Values.tls.existing.extenderSecret }}{{ else }}slackwater-extender-tls{{ end }}
{{- end }}

{{- define "slackwater.webhookSecret" -}}
{{- if eq .Values.tls.mode "existing" }}{{ .Values.tls.existing.webhookSecret }}{{ else }}slackwater-webhook-tls{{ end }}
{{- end }}

{{- define "slackwater.schedulerSecret" -}}
{{- if eq .Values.tls.mode "existing" }}{{ .Values.tls.existing.schedulerSecret }}{{ else }}slackwater-scheduler-tls{{ end }}
{{- end }}

{{/* Whom certificates are from and what they are made from, in short: where it differs, new ones are made in mode helm, and who uses them restarts. */}}
{{- define "slackwater.tlsMark" -}}
{{- $from := .Values.tls.mode }}
{{- if eq $from "helm" }}{{ $from = printf "helm %d" (int .Values.tls.days) }}
{{- else if eq $from "certManager" }}{{ $from = include "slackwater.issuer" . }}
{{- end }}
{{- list $from (include "slackwater.scalar" .Values.tls.renew) .Values.tls.clientName .Values.clusterDomain .Release.Namespace | toJson | sha256sum | trunc 16 }}
{{- end }}

{{/* Whether a Secret of mode helm is whole, fits these values and is not near its end. Without a mark it is somebody else's. Earlier charts
     wrote tls.renew itself as the mark: there the certificate is asked for its name, which stands in it as the tag of a DNS name, a length and
     plain text. Call with context, secret and name. */}}
{{- define "slackwater.tlsFits" -}}
{{- $data := dig "data" dict (.secret | default dict) }}
{{- $notes := dig "metadata" "annotations" dict (.secret | default dict) }}
{{- if and (index $data "tls.crt") (index $data "tls.key") (index $data "ca.crt") (hasKey $notes "slackwater.io/tls-renewal") }}
{{- $mark := index $notes "slackwater.io/tls-renewal" }}
{{- $body := regexReplaceAll "-----[^-]+-----|\\s" (index $data "tls.crt" | b64dec) "" | b64dec }}
{{- $named := contains (printf "\x82%c%s" (len .name) .name) $body }}
{{- $fits := or (hasPrefix (include "slackwater.tlsMark" .context) $mark) (and (eq $mark (.context.Values.tls.renew | toString)) $named) }}
{{- if and $fits (include "slackwater.tlsYoung" $body) }}true{{ end }}
{{- end }}
{{- end }}

{{/* Whether more than a tenth of a certificate's life is left. Its begin and its end are the first two dates in it: a tag, a length, and plain
     digits, with a year of two digits before 2050. */}}
{{- define "slackwater.tlsYoung" -}}
{{- $dates := list }}
{{- range regexFindAll `(\x17\x0d|\x18\x0f[0-9]{2})[0-9]{12}Z` . 2 }}
{{- $date := replace "\x17\x0d" "20" . | trimPrefix "\x18\x0f" }}
{{- $dates = append $dates (toDate "20060102150405Z07:00" $date | unixEpoch) }}
{{- end }}
{{- if eq (len $dates) 2 }}
{{- $life := sub (last $dates) (first $dates) }}
{{- if gt (sub (last $dates) (now | unixEpoch)) (div $life 10) }}true{{ end }}
{{- end }}
{{- end }}

{{/* By the Secrets that are made together, which name each of their certificates must hold. Call with context and of: extender or webhook. */}}
{{- define "slackwater.tlsNames" -}}
{{- $name := printf "slackwater-%s.%s.svc.%s" .of .context.Release.Namespace .context.Values.clusterDomain }}
{{- $names := dict (printf "slackwater-%s-tls" .of) $name }}
{{- if eq .of "extender" }}{{ $_ := set $names "slackwater-scheduler-tls" .context.Values.tls.clientName }}{{ end }}
{{- toJson $names }}
{{- end }}

{{/* Whether the Secrets that are there stay. Called as tlsNames. */}}
{{- define "slackwater.tlsKept" -}}
{{- $kept := true }}
{{- range $secret, $name := include "slackwater.tlsNames" . | fromJson }}
{{- $found := lookup "v1" "Secret" $.context.Release.Namespace $secret }}
{{- if not (include "slackwater.tlsFits" (dict "context" $.context "secret" $found "name" $name)) }}{{ $kept = false }}{{ end }}
{{- end }}
{{- if $kept }}true{{ end }}
{{- end }}

{{/* The mark on Secrets and on pods that read them: with a day where the values are those of before and yet new ones are made, and for as long as
     these are kept. Called as tlsNames. */}}
{{- define "slackwater.tlsNote" -}}
{{- $mark := include "slackwater.tlsMark" .context }}
{{- $found := dict }}
{{- if eq .context.Values.tls.mode "helm" }}{{ $found = lookup "v1" "Secret" .context.Release.Namespace (printf "slackwater-%s-tls" .of) }}{{ end }}
{{- $before := dig "metadata" "annotations" "slackwater.io/tls-renewal" "" ($found | default dict) }}
{{- if not (hasPrefix $mark $before) }}{{ $mark }}
{{- else if include "slackwater.tlsKept" . }}{{ $before }}
{{- else }}{{ $mark }}-{{ now | date "20060102" }}
{{- end }}
{{- end }}

{{/* How the extender and the monitor prove themselves to Prometheus, and which series of it they ask about: the settings' names and values. */}}
{{- define "slackwater.prometheusAccess" -}}
{{- $auth := .Values.prometheus.auth }}
{{- $access := dict }}
{{- with .Values.prometheus.tenant }}{{ $_ := set $access "tenant" . }}{{ end }}
{{- with .Values.prometheus.matchers }}{{ $_ := set $access "matchers" . }}{{ end }}
{{- with $auth.tokenKey }}{{ $_ := set $access "token_file" (printf "/prometheus/%s" .) }}{{ end }}
{{- with $auth.username }}{{ $_ := set $access "username" . }}{{ end }}
{{- with $auth.passwordKey }}{{ $_ := set $access "password_file" (printf "/prometheus/%s" .) }}{{ end }}
{{- with $auth.caKey }}{{ $_ := set $access "ca" (printf "/prometheus/%s" .) }}{{ end }}
{{- toYaml $access }}
{{- end }}

{{/* Values that the release before this one did not know get their defaults: `helm upgrade --reuse-values` reads no new ones. Then
     what cannot work is refused. Every template calls this first, because helm renders them in any order. */}}
{{- define "slackwater.additions" -}}
{{- if and (kindIs "invalid" .Values.runAsUser) (.Capabilities.APIVersions.Has "security.openshift.io/v1") }}
{{- $_ := set .Values "runAsUser" "cluster" }}
{{- end }}
{{- include "slackwater.fill" (dict "values" .Values "defaults" (.Files.Get "files/additions.yaml" | fromYaml)) }}
{{- include "slackwater.forget" .Values }}
{{- include "slackwater.refusals" . }}
{{- end }}

{{/* Forgets names whose value is null: it takes away what a values file before said, and helm leaves it there where the chart has no default. What is handed on as it is may mean something by it. */}}
{{- define "slackwater.forget" -}}
{{- range $name, $value := . }}
{{- if kindIs "invalid" $value }}{{ $_ := unset $ $name }}
{{- else if and (kindIs "map" $value) (not (has $name (list "global" "spec" "settings" "profile" "affinity"))) }}{{ include "slackwater.forget" $value }}
{{- end }}
{{- end }}
{{- end }}

{{/* Sets what is absent (or null, which nothing takes away where no default is) and keeps what is there, be it empty or false. `merge` would take these for absent. What is missing of resources is
     filled in where values beside them are missing, too: otherwise somebody took it away with null. */}}
{{- define "slackwater.fill" -}}
{{- $new := false }}
{{- range $name, $default := .defaults }}
{{- if kindIs "invalid" (index $.values $name) }}{{ $new = true }}{{ $_ := set $.values $name $default }}{{ end }}
{{- end }}
{{- range $name, $default := .defaults }}
{{- if and (or $new (ne $name "resources")) (kindIs "map" $default) (kindIs "map" (index $.values $name)) }}
{{- include "slackwater.fill" (dict "values" (index $.values $name) "defaults" $default) }}
{{- end }}
{{- end }}
{{- end }}
