// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd" // authentication by password
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory" // storage in memory
	"github.com/sirupsen/logrus"
	"golang.org/x/crypto/bcrypt"
)

// Options configure a registry. The zero value uses plain HTTP and accepts everybody.
type Options struct {
	// TLS enables TLS, with a certificate of an unknown authority.
	TLS bool
	// Username and Password, if set, are required.
	Username string
	Password string
}

// Registry is a real registry on loopback.
type Registry struct {
	// URL starts with http:// or https://.
	URL string
	// Host is the address with the port.
	Host string
	// CA is the authority of the certificate in PEM, nil without TLS.
	CA []byte

	app *handlers.App

	mutex    sync.Mutex
	fault    Fault
	requests []string
	sent     int64
}

// Fault answers a request instead of the registry, or with its help. It returns false if the registry must answer.
type Fault func(w http.ResponseWriter, r *http.Request, registry http.Handler) bool

// quiet stops the registry from logging every request; as a library, it has no setting for that.
var quiet = sync.OnceFunc(func() { logrus.SetOutput(io.Discard) })

// Start starts a registry, which ends with the test.
func Start(t testing.TB, options Options) *Registry {
	t.Helper()
	users := ""
	if options.Username != "" {
		users = htpasswd(t, options)
	}
	r, stop := serve(options.TLS, users)
	t.Cleanup(stop)
	return r
}

// StartShared starts a registry with zero options, which ends with the process.
func StartShared() *Registry {
	r, _ := serve(false, "")
	return r
}

// serve starts a registry. Users is a file with the permitted users, empty for everybody.
func serve(tls bool, users string) (r *Registry, stop func()) {
	quiet()
	config := &configuration.Configuration{
		Version: configuration.CurrentVersion,
		Storage: configuration.Storage{
			"inmemory":    configuration.Parameters{},
			"maintenance": configuration.Parameters{"uploadpurging": map[any]any{"enabled": false}},
		},
	}
	config.HTTP.Secret = "of a test"
	if users != "" {
		config.Auth = configuration.Auth{"htpasswd": configuration.Parameters{"realm": "test", "path": users}}
	}
	ctx, cancel := context.WithCancel(context.Background())
	r = &Registry{app: handlers.NewApp(ctx, config)}
	server := httptest.NewUnstartedServer(http.HandlerFunc(r.serve))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if tls {
		server.StartTLS()
		r.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	} else {
		server.Start()
	}
	r.URL = server.URL
	_, r.Host, _ = strings.Cut(server.URL, "://")
	return r, func() {
		server.CloseClientConnections()
		server.Close()
		cancel()
		_ = r.app.Shutdown()
	}
}

func htpasswd(t testing.TB, options Options) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(options.Password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "htpasswd")
	if err := os.WriteFile(name, []byte(options.Username+":"+string(hash)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Break makes a fault answer requests; nil ends that.
func (r *Registry) Break(fault Fault) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.fault = fault
}

// Requests returns all requests so far, as method and path.
func (r *Registry) Requests() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]string(nil), r.requests...)
}

// Count returns the number of requests whose method and path contain a text.
func (r *Registry) Count(text string) int {
	count := 0
	for _, request := range r.Requests() {
		if strings.Contains(request, text) {
			count++
		}
	}
	return count
}

// Sent returns the number of bytes in the bodies of all answers so far.
func (r *Registry) Sent() int64 {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.sent
}

// meter counts the bytes sent.
type meter struct {
	http.ResponseWriter
	registry *Registry
}

func (m meter) Write(data []byte) (int, error) {
	m.registry.mutex.Lock()
	m.registry.sent += int64(len(data))
	m.registry.mutex.Unlock()
	return m.ResponseWriter.Write(data)
}

// Unwrap is for http.ResponseController.
func (m meter) Unwrap() http.ResponseWriter { return m.ResponseWriter }

func (r *Registry) serve(w http.ResponseWriter, request *http.Request) {
	w = meter{ResponseWriter: w, registry: r}
	r.mutex.Lock()
	r.requests = append(r.requests, request.Method+" "+request.URL.Path)
	fault := r.fault
	r.mutex.Unlock()
	if fault == nil || !fault(w, request, r.app) {
		r.app.ServeHTTP(w, request)
	}
}
