// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// replayers is the concurrency of the plain client: that of the controllers, which have eight workers each for installations, executions
// and deploy items.
const replayers = 24

// tape contains all writes for one installation, including its creation, in order. Names are replaced by others of the same length, because
// some bodies are in a binary format that contains lengths.
type tape struct {
	writes []write
	names  []string // of objects that are created and do not contain the installation's name
}

const taped = "tape-0000"

// record runs one installation to success on a separate stand and records the writes for it.
func record(b *testing.B, flow lsv1alpha1.Flow) *tape {
	b.Helper()
	s := newServer(b, flow)
	p := newProxy(b, s.server.Config())
	target := testkit.Target(namespace, targetName).Kubeconfig(p.kubeconfig(b)).Build()
	check(b, s.client.Delete(b.Context(), target.DeepCopy()))
	check(b, s.client.Create(b.Context(), target))
	file := filepath.Join(b.TempDir(), "kubeconfig")
	check(b, os.WriteFile(file, []byte(p.kubeconfig(b)), 0o600))
	s.run(b, file)
	s.create(b, []string{"first"})
	s.settle(b)
	p.taken()
	s.create(b, []string{taped})
	s.settle(b)
	return newTape(b, flow, p.taken())
}

func newTape(b *testing.B, flow lsv1alpha1.Flow, writes []write) *tape {
	b.Helper()
	object := installation(flow, taped, leaf{configMap: taped}.blueprint())
	object.APIVersion, object.Kind = "landscaper.gardener.cloud/v1alpha1", "Installation"
	body, err := json.Marshal(object)
	check(b, err)
	made := &tape{writes: []write{{
		method: http.MethodPost, path: "/apis/landscaper.gardener.cloud/v1alpha1/namespaces/" + namespace + "/installations",
		contentType: "application/json", body: body,
	}}}
	for _, w := range writes {
		var content map[string]any
		if strings.HasSuffix(w.contentType, "json") && json.Unmarshal(w.body, &content) == nil {
			metadata, _ := content["metadata"].(map[string]any)
			if name, _ := metadata["name"].(string); w.method == http.MethodPost && !strings.Contains(name, taped) && len(name) > 4 {
				made.names = append(made.names, name)
			}
			delete(metadata, "resourceVersion") // the replay must not cause conflicts
			delete(metadata, "uid")
			w.body, err = json.Marshal(content)
			check(b, err)
		}
		made.writes = append(made.writes, w)
	}
	b.Logf("the tape has %d writes", len(made.writes))
	return made
}

// copyOf returns the tape's write for another installation, whose name has the same length.
func (t *tape) copyOf(w write, installation string) write {
	pairs := []string{taped, installation}
	for _, name := range t.names {
		pairs = append(pairs, name, name[:len(name)-4]+installation[len(installation)-4:])
	}
	rename := strings.NewReplacer(pairs...)
	w.path, w.body = rename.Replace(w.path), []byte(rename.Replace(string(w.body)))
	return w
}

// replay performs only the controllers' writes for count installations, on an API server without controllers.
func replay(b *testing.B, t *tape, count int) time.Duration {
	b.Helper()
	config := newServer(b, lsv1alpha1.FlowJob).server.Config()
	sender, err := rest.HTTPClientFor(config)
	check(b, err)
	t.send(b, sender, config.Host, []string{"warm-9999"}) // the copies count from zero
	return t.send(b, sender, config.Host, names("copy", count))
}

// send sends all writes on the tape for each of the names.
func (t *tape) send(b *testing.B, sender *http.Client, host string, all []string) time.Duration {
	b.Helper()
	queue := make(chan string)
	var workers sync.WaitGroup
	began := time.Now()
	for range replayers {
		workers.Go(func() {
			for name := range queue {
				for _, w := range t.writes {
					if err := send(b.Context(), sender, host, t.copyOf(w, name)); err != nil {
						b.Errorf("replay: %v", err)
					}
				}
			}
		})
	}
	for _, name := range all {
		queue <- name
	}
	close(queue)
	workers.Wait()
	return time.Since(began)
}

func send(ctx context.Context, sender *http.Client, host string, w write) error {
	request, err := http.NewRequestWithContext(ctx, w.method, host+w.path+"?"+w.query, bytes.NewReader(w.body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", w.contentType)
	request.Header.Set("Accept", "application/json")
	response, err := sender.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s %s: %s: %s", w.method, w.path, response.Status, answer)
	}
	return err
}
