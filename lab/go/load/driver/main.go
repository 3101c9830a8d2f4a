// Driver is what a real application master is to the cluster: a pod that asks the API server for task pods, stage by
// stage, asks again for those that failed, and ends when all are done. Its play comes in the variable PLAY, as JSON.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	account = "/var/run/secrets/kubernetes.io/serviceaccount/"
	turn    = 500 * time.Millisecond // between two looks at the tasks
	patient = 20                     // looks that may fail in a row: an API server that restarts is waited for
)

// Stage is a number of equal tasks that are asked for once enough tasks of its parents are done.
type Stage struct {
	Name       string    `json:"name"`
	Parents    []string  `json:"parents"`
	StartAfter float64   `json:"startAfter"` // share of the parents' tasks
	Delay      float64   `json:"delay"`      // seconds
	Durations  []float64 `json:"durations"`  // seconds, one for each task
	Pod        string    `json:"pod"`        // a manifest with the words $NAME, $SECONDS, $DRIVER and $UID

	ready time.Time
	asked bool
	done  map[int]bool
}

// Play is all that one driver has to do.
type Play struct {
	Selector string   `json:"selector"` // finds this job's tasks
	Startup  float64  `json:"startup"`
	Stages   []*Stage `json:"stages"`
}

func main() {
	log.SetFlags(0)
	var play Play
	if err := json.Unmarshal([]byte(os.Getenv("PLAY")), &play); err != nil {
		log.Fatalf("PLAY cannot be read: %v", err)
	}
	cluster, err := connect()
	if err != nil {
		log.Fatalf("the API server cannot be reached: %v", err)
	}
	time.Sleep(seconds(play.Startup))
	if err := perform(cluster, &play); err != nil {
		log.Fatal(err)
	}
}

// Perform asks for what is due and looks at what became of it, until every task is done.
func perform(cluster *Cluster, play *Play) error {
	attempts := map[string]int{}
	for failures := 0; ; time.Sleep(turn) {
		tasks, err := cluster.tasks(play.Selector)
		if err == nil {
			err = play.step(cluster, tasks, attempts)
		}
		if err == nil && play.over() {
			return nil
		}
		if failures++; err == nil {
			failures = 0
		} else if failures > patient {
			return err
		}
	}
}

func (play *Play) over() bool {
	for _, stage := range play.Stages {
		if len(stage.done) < len(stage.Durations) {
			return false
		}
	}
	return true
}

func (play *Play) step(cluster *Cluster, tasks map[string]string, attempts map[string]int) error {
	for _, stage := range play.Stages {
		if !stage.asked && !play.due(stage) {
			continue
		}
		stage.asked = true
		for number := range stage.Durations {
			if err := stage.look(cluster, number, tasks, attempts); err != nil {
				return err
			}
		}
	}
	return nil
}

// Look creates a task that is not there and creates it anew, under another name, if it failed.
func (stage *Stage) look(cluster *Cluster, number int, tasks map[string]string, attempts map[string]int) error {
	task := fmt.Sprintf("%s-%d", stage.Name, number)
	name := fmt.Sprintf("%s-%s", os.Getenv("JOB"), task)
	if attempt := attempts[task]; attempt > 1 {
		name = fmt.Sprintf("%s-%d", name, attempt)
	}
	switch phase, known := tasks[name]; {
	case stage.done[number]:
		return nil
	case known && phase == "Succeeded":
		if stage.done == nil {
			stage.done = map[int]bool{}
		}
		stage.done[number] = true
		return nil
	case known && phase != "Failed":
		return nil
	case known || attempts[task] > 0: // it failed, or somebody deleted it
		attempts[task] = max(1, attempts[task]) + 1
		name = fmt.Sprintf("%s-%s-%d", os.Getenv("JOB"), task, attempts[task])
	default:
		attempts[task] = 1
	}
	filled := strings.NewReplacer(
		"$NAME", name, "$SECONDS", fmt.Sprintf("%.3f", stage.Durations[number]),
		"$DRIVER", os.Getenv("POD"), "$UID", os.Getenv("POD_UID"),
	)
	return cluster.create(filled.Replace(stage.Pod))
}

func (play *Play) due(stage *Stage) bool {
	wanted, done := 0.0, 0
	for _, parent := range play.Stages {
		for _, name := range stage.Parents {
			if parent.Name == name {
				wanted += float64(len(parent.Durations)) * stage.StartAfter
				done += len(parent.done)
			}
		}
	}
	if float64(done) < wanted-1e-9 {
		return false
	}
	if stage.ready.IsZero() {
		stage.ready = time.Now()
	}
	return time.Since(stage.ready) >= seconds(stage.Delay)
}

func seconds(number float64) time.Duration { return time.Duration(number * float64(time.Second)) }

// Cluster is the API server as the pod's own service account sees it.
type Cluster struct {
	http *http.Client
	pods string
}

func connect() (*Cluster, error) {
	authority, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return nil, err
	}
	namespace, err := os.ReadFile(account + "namespace")
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, errors.New("ca.crt holds no certificate")
	}
	host := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	return &Cluster{
		http: &http.Client{Transport: transport, Timeout: 10 * time.Second},
		pods: fmt.Sprintf("https://%s/api/v1/namespaces/%s/pods", host, strings.TrimSpace(string(namespace))),
	}, nil
}

// Tasks are the phases of this job's tasks by name.
func (cluster *Cluster) tasks(selector string) (map[string]string, error) {
	body, err := cluster.ask(http.MethodGet, cluster.pods+"?labelSelector="+url.QueryEscape(selector), "")
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct{ Phase string }
		}
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	phases := map[string]string{}
	for _, pod := range list.Items {
		phases[pod.Metadata.Name] = pod.Status.Phase
	}
	return phases, nil
}

func (cluster *Cluster) create(manifest string) error {
	_, err := cluster.ask(http.MethodPost, cluster.pods, manifest)
	return err
}

// Ask sends one request with the token as it is now: the kubelet renews the file. What exists already is as good as made.
func (cluster *Cluster) ask(method, address, body string) ([]byte, error) {
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(method, address, bytes.NewBufferString(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Content-Type", "application/json")
	reply, err := cluster.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	content, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode >= 300 && reply.StatusCode != http.StatusConflict {
		err = fmt.Errorf("the API server answered %d: %.300s", reply.StatusCode, content)
	}
	return content, err
}
